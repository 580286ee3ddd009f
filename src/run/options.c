/* options.c - how a profile is measured, and how samples are streamed. */
#include <stdio.h>
#include <string.h>

#include "run/run.h"
#include "run/stream.h"

enum { KEPT_RUNS = 128 };
#define MAX_COST 0.005

const as_option_member as_run_members[] = {AS_MEMBER(as_run_settings, U64, "runs", n_runs),
                                           AS_MEMBER(as_run_settings, NS, "time", time_ns),
                                           AS_MEMBER(as_run_settings, BOOL, "pin", pin),
                                           AS_MEMBER(as_run_settings, TEXT, "sensors", sensors),
                                           AS_MEMBER(as_run_settings, CHOICE, "detail", detail),
                                           AS_MEMBER(as_run_settings, CHOICE, "roofs", roofs),
                                           AS_MEMBER(as_run_settings, TEXT, "trace", trace_path),
                                           AS_MEMBER(as_run_settings, BOOL, "enable-ne", asks_ne),
                                           AS_MEMBER(as_run_settings, BOOL, "track-unified", tracks_unified),
                                           AS_MEMBER(as_run_settings, BOOL, "track-bandwidth", tracks_bandwidth),
                                           {.key = NULL}};

assay_status as_run_settings_read(assay_env *env, const assay_options *options, as_run_settings *out)
{
    *out = (as_run_settings){.max_cost = MAX_COST, .kept_runs = KEPT_RUNS};
    return as_options_read(env, options, as_run_members, out);
}

as_roofs_how as_run_roofs_how(as_run_roofs roofs)
{
    return roofs == AS_RUN_ROOFS_MEASURE ? AS_ROOFS_MEASURE : roofs == AS_RUN_ROOFS_LOOK ? AS_ROOFS_LOOK : AS_ROOFS_AUTO;
}

/* --track-bandwidth adds the sensor that is read only when asked for. */
assay_status as_run_sensors_open(assay_env *env, const as_run_settings *s, as_sensors **out)
{
    char        which[512];
    const char *asked = s->sensors ? s->sensors : "all";
    if (!s->tracks_bandwidth)
        return as_sensors_open(env, asked, out);
    snprintf(which, sizeof which, "%s%sdram", strcmp(asked, "none") ? asked : "", strcmp(asked, "none") ? "," : "");
    return as_sensors_open(env, which, out);
}

assay_status as_stream_settings_read(assay_env *env, const assay_options *options, as_stream_settings *out)
{
    static const as_option_member members[] = {AS_MEMBER(as_stream_settings, I64, "rate", rate_hz),
                                               AS_MEMBER(as_stream_settings, NS, "deadline", deadline_ns),
                                               {.key = NULL}};
    const char                   *timespans = as_options_text(options, "timespans");
    *out = (as_stream_settings){.raw = !strcmp(as_options_text(options, "format"), "f32"),
                                .has_timespans = timespans && !strcmp(timespans, "stdin")};
    AS_TRY(as_options_read(env, options, members, out));
    if (as_options_is_set(options, "deadline") && !out->deadline_ns)
        return as_fail(env, ASSAY_BAD_INPUT, "--deadline %s: must be more than 0", as_options_text(options, "deadline"));
    return ASSAY_OK;
}
