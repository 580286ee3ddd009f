/* call_selftest.c - does the laboratory hold what it promises on this machine?  As calls. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/options.h"
#include "lab/calls.h"
#include "lab/load.h"
#include "lab/selftest.h"

/* --- Facts --------------------------------------------------------------------------------------------------- */

static const char *const columns[] = {"name|comparisons",
                                      "what|what is compared",
                                      "kind|kind",
                                      "budget|time of a trial",
                                      "margin|margin",
                                      "extra|slowdown",
                                      "alarms|false alarms",
                                      "alarms_trials|trials",
                                      "alarms_share|share of false alarms",
                                      "alarms_claim|at most",
                                      "alarms_verdict|verdict",
                                      "found|found",
                                      "found_trials|trials",
                                      "found_share|share found",
                                      "found_claim|at least",
                                      "found_verdict|verdict",
                                      NULL};

static const char *kind_of(const as_cell_def *d) { return d->where == AS_CELL_SUITE ? "suite" : d->same ? "same" : "slowdown"; }

/* Five cells: count, trials, share with its bounds, claim, verdict. */
static void count_put(as_cell *at, const as_cell_count *c, double claim, bool broken)
{
    static const char source[] = "comparisons whose answer is known";
    at[0].metric = as_metric_counted((uint64_t)c->k, "1", source);
    at[1].metric = as_metric_counted((uint64_t)c->n, "1", source);
    at[2].metric = c->n ? as_metric_derived((double)c->k / (double)c->n, c->lo, c->hi, (uint64_t)c->n, "ratio",
                                            "count / trials, exact binomial bounds of 95 %")
                        : as_metric_unavailable("ratio", "not asked for");
    at[3].metric = as_metric_modelled(claim, NAN, NAN, "ratio", "what assay claims");
    at[4].text = !c->n ? "-" : broken ? "BROKEN" : "holds";
}

static void cell_add(assay_facts *f, as_table *t, const as_cell_result *r)
{
    static const char source[] = "definition of the cell";
    as_cell           cells[AS_COUNT(columns) - 1] = {{.text = r->def->name}, {.text = r->def->what}, {.text = kind_of(r->def)}};
    cells[3].metric = as_metric_modelled(r->def->budget_s, NAN, NAN, "s", source);
    cells[4].metric = as_metric_modelled(r->def->margin, NAN, NAN, "ratio", source);
    cells[5].metric = as_metric_modelled(r->def->extra, NAN, NAN, "ratio", source);
    count_put(&cells[6], &r->alarms, r->def->alarms_claim, r->alarms_broken);
    count_put(&cells[11], &r->power, r->def->power_claim, r->power_broken);
    as_facts_row(f, t, cells);
}

static assay_status facts_make(assay_env *env, const as_cell_result *results, assay_facts **out)
{
    assay_facts *f = as_facts_new(env);
    uint64_t     n_broken = 0;
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "selftest: not enough memory for its table");
    f->title = as_facts_keep(f, "selftest");
    as_fact_group *g = as_facts_group(f, "selftest", "Comparisons whose answer is known");
    as_table      *t = as_facts_table(f, g, "cells", "Counts and claims", columns);
    for (const as_cell_result *r = results; r->def; r++) {
        cell_add(f, t, r);
        n_broken += r->alarms_broken || r->power_broken;
    }
    as_facts_add(f, g, "selftest.broken", "comparisons that contradict their claim",
                 as_metric_counted(n_broken, "1", "claims that lie outside of their bounds"));
    return as_facts_done(f, out);
}

/* --- The calls ----------------------------------------------------------------------------------------------- */

assay_status assay_selftest(assay_env *env, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {AS_SELFTEST_KEYS, NULL};
    char                     self[4096], message[sizeof env->message];
    AS_TRY(as_options_only(env, options, "selftest", keys));
    AS_TRY(as_self_path(env, self, sizeof self));
    as_selftest_settings s = {.full = as_options_flag(options, "full"),
                              .cells = as_options_text(options, "cells"),
                              .state = as_options_text(options, "state"),
                              .seed = (uint64_t)as_options_int(options, "seed"),
                              .self = self};
    as_cell_result      *results = calloc((size_t)as_selftest_n_cells() + 1, sizeof *results);
    if (!results)
        return as_fail(env, ASSAY_NO_MEMORY, "selftest: not enough memory for its table");
    assay_status measured = as_selftest_run(env, &s, results), status = measured;
    snprintf(message, sizeof message, "%s", assay_message(env));
    if (measured == ASSAY_OK || measured == ASSAY_CANCELLED)
        status = facts_make(env, results, out);
    free(results);
    return status == ASSAY_OK && measured != ASSAY_OK ? as_fail(env, measured, "%s", message) : status;
}

static assay_status load_speak(assay_env *env, const char *what, FILE *in, FILE *out)
{
    char     kind[32];
    double   extra;
    as_load *load = NULL;
    as_arm   arm = {0};
    AS_TRY(as_load_parse(env, what, kind, sizeof kind, &extra));
    AS_TRY(as_load_new(env, kind, &load));
    assay_status status = as_load_arm(env, load, kind, extra, &arm);
    if (status == ASSAY_OK)
        status = as_arm_speak(env, &arm, in, out);
    if (arm.drop)
        arm.drop(arm.self);
    as_load_free(load);
    return status;
}

assay_status assay_selftest_speak(assay_env *env, const char *what, int in_fd, int out_fd)
{
    FILE        *in = as_stream_of(in_fd, "r"), *out = as_stream_of(out_fd, "w");
    assay_status status =
        in && out ? load_speak(env, what, in, out)
                  : as_fail(env, ASSAY_IO, "selftest: cannot open file descriptor %d: %s", in ? out_fd : in_fd, strerror(errno));
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return status;
}
