/* calls.c - the laboratory as calls of the library: what the verbs do, without a terminal. */
#include "base/stage.h"
#include "lab/calls.h"

#include <math.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "lab/baseline.h"
#include "lab/suite.h"

/* The facts own the trials from now on. */
void as_trials_give(assay_facts *f, assay_trace **trials, size_t n, const as_lab_settings *s)
{
    as_facts_trials(f, trials, n, s->sampler.keep_samples);
    f->owns_trials = f->n_trials == n;
    for (size_t i = 0; f->owns_trials && i < n; i++)
        trials[i] = NULL;
}

bool as_trials_have(assay_trace *const *trials, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (trials[i]->n_turns)
            return true;
    return false;
}

/* Stores what was measured and hands it over; the status is that of the measurement. */
assay_status as_facts_give(assay_env *env, const as_store_options *o, const char *kind, const char *title, assay_facts *f,
                           assay_status measured, assay_facts **out)
{
    int64_t id;
    AS_TRY(as_facts_done(f, out)); /* a store that cannot be opened does not lose the result */
    AS_TRY(as_lab_keep(env, o, kind, title, (const assay_trace *const *)f->trials, f->n_trials, f, &id));
    uint64_t n_rounds = 0;
    for (size_t i = 0; i < f->n_trials; i++)
        n_rounds += f->trials[i]->n_rounds;
    return measured == ASSAY_CANCELLED ? as_fail(env, measured, "stopped: %llu rounds are kept", (unsigned long long)n_rounds)
                                       : ASSAY_OK;
}

/* --- Bench ----------------------------------------------------------------------------------------------- */

static assay_status suite_run(assay_env *env, const as_bench_cases *cases, const char *title, const as_store_options *o,
                              const as_lab_settings *s, assay_facts **out)
{
    as_suite    *suite = NULL;
    assay_facts *f = NULL;
    size_t       n_refused;
    assay_status status = as_suite_measure(env, cases, s, &suite), measured = status;
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    if (suite && measured == ASSAY_CANCELLED && !as_trials_have(suite->trials, suite->n_trials)) {
        as_suite_free(suite);
        return measured;
    }
    if (suite)
        status = as_suite_judge(env, suite, &n_refused);
    if (suite && status == ASSAY_OK)
        status = as_suite_facts(env, suite, &f);
    size_t n_missing = suite ? as_suite_missing(suite) : 0, n_trials = suite ? suite->n_trials : 0;
    if (f) {
        as_trials_give(f, suite->trials, n_trials, s);
        status = as_facts_give(env, o, "bench", title, f, measured, out);
    }
    as_suite_free(suite);
    if (*out && measured == ASSAY_CANCELLED)
        return as_fail(env, ASSAY_CANCELLED, "stopped: %zu of %d cases are kept, the last one partial", n_trials, cases->n_items);
    if (status == ASSAY_OK && n_missing)
        return as_fail(env, ASSAY_DEVICE,
                       "bench: %zu of %zu cases have no result: they timed out, failed or were refused; their rows say why",
                       n_missing, n_trials);
    return status;
}

/* The suite's name and what was asked for: "suites/default.txt matmul". */
static assay_status title_make(assay_env *env, const char *suite, const char *const *what, size_t n, as_text *t)
{
    as_text_add(t, suite ? suite : "");
    for (size_t i = 0; i < n; i++)
        as_text_printf(t, "%s%s", t->length ? " " : "", what[i]);
    return t->failed ? as_fail(env, ASSAY_NO_MEMORY, "bench: not enough memory for its title") : ASSAY_OK;
}

assay_status assay_bench(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {AS_BENCH_KEYS, NULL};
    as_lab_settings          s;
    as_case_options          o;
    as_store_options         store;
    as_bench_cases          *cases;
    as_roofs                 roofs = {0};
    AS_TRY(as_options_only(env, options, "assay_bench", keys));
    AS_TRY(as_lab_settings_read(env, options, NULL, &s));
    AS_TRY(as_case_options_read(env, options, &o));
    AS_TRY(as_keep_options_read(env, options, &store));
    AS_TRY(as_bench_cases_read(env, what, (int)n, &o, &cases));
    as_text      title = {0};
    assay_status status = title_make(env, o.suite, what, n, &title);
    if (status == ASSAY_OK)
        status = as_suite_roofs(env, cases, &roofs);
    s.roofs = &roofs;
    s.roofs_how = AS_ROOFS_AUTO;
    if (status == ASSAY_OK)
        status = suite_run(env, cases, title.data ? title.data : "bench", &store, &s, out);
    as_text_drop(&title);
    as_roofs_drop(&roofs);
    as_bench_cases_free(cases);
    return status;
}

/* --- The line protocol -------------------------------------------------------------------------------------- */

static assay_status case_speak(assay_env *env, const as_bench_case *c, FILE *in, FILE *out)
{
    as_bench_subject subject = {0};
    as_arm           arm = {0};
    AS_TRY(as_bench_case_open(env, c, &subject));
    assay_status status = as_arm_plan(env, c->name, subject.plan, c->plan.seed, NULL, true, &arm);
    if (status == ASSAY_OK)
        status = as_arm_speak(env, &arm, in, out);
    if (arm.drop) {
        arm.land(arm.self);
        arm.drop(arm.self);
    }
    as_bench_subject_close(&subject);
    return status;
}

FILE *as_stream_of(int fd, const char *mode)
{
    int   own = dup(fd);
    FILE *file = own < 0 ? NULL : fdopen(own, mode);
    if (!file && own >= 0)
        close(own);
    return file;
}

static assay_status files_speak(assay_env *env, const as_bench_case *c, int in_fd, int out_fd)
{
    FILE        *in = as_stream_of(in_fd, "r"), *out = as_stream_of(out_fd, "w");
    assay_status status =
        in && out ? case_speak(env, c, in, out)
                  : as_fail(env, ASSAY_IO, "speak: cannot open file descriptor %d: %s", in ? out_fd : in_fd, strerror(errno));
    if (in)
        fclose(in);
    if (out)
        fclose(out); /* every answer was flushed when it was written */
    return status;
}

assay_status assay_speak(assay_env *env, const char *what, const assay_options *options, int in_fd, int out_fd)
{
    static const char *const keys[] = {AS_BENCH_KEYS, "speak", NULL};
    as_case_options          o;
    as_bench_cases          *cases;
    AS_TRY(as_options_only(env, options, "speak", keys));
    AS_TRY(as_case_options_read(env, options, &o));
    AS_TRY(as_bench_cases_read(env, &what, what ? 1 : 0, &o, &cases));
    assay_status status = cases->n_items == 1 ? files_speak(env, &cases->items[0], in_fd, out_fd)
                                              : as_fail(env, ASSAY_BAD_INPUT,
                                                        "bench: --speak answers for one case, but %d are given", cases->n_items);
    as_bench_cases_free(cases);
    return status;
}

/* --- Check -------------------------------------------------------------------------------------- */

static assay_status check_judge(assay_env *env, as_check *c, const char *name, const as_check_options *o, assay_facts **out,
                                int *exit_code)
{
    as_check_result result;
    char            title[128];
    size_t          n = 0;
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    AS_TRY(as_check_decide(env, c->cases, (size_t)c->n, &o->lab.rules, AS_CHECK_Q, o->fail_on, &result));
    snprintf(title, sizeof title, "check against %.64s", name);
    assay_facts *f = as_facts_of_check(env, &result, title);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "check: not enough memory for the result");
    for (int i = 0; i < c->n; i++) /* moves the existing trials together */
        if (c->trials[i]) {
            assay_trace *t = c->trials[i];
            c->trials[i] = NULL;
            c->trials[n++] = t;
        }
    as_trials_give(f, c->trials, n, &o->lab);
    *exit_code = result.exit_code;
    return as_facts_give(env, &o->store, "check", f->title, f, ASSAY_OK, out);
}

assay_status as_check_run(assay_env *env, const char *baseline, const as_check_options *o, assay_facts **out, int *exit_code)
{
    as_store    *store = NULL;
    as_baseline *b = NULL;
    as_check     c = {0};
    AS_TRY(as_store_check_name(env, "check", baseline));
    AS_TRY(as_lab_store(env, &o->store, false, &store));
    assay_status status = as_baseline_load(env, store, baseline, &b);
    if (status == ASSAY_OK)
        status = as_baseline_check(env, store, b, o->cross_machine, &o->lab, &c);
    as_store_close(store);
    if (status == ASSAY_OK) {
        status = check_judge(env, &c, baseline, o, out, exit_code);
        as_check_drop(&c);
    }
    as_baseline_free(b);
    return status;
}

assay_status assay_check(assay_env *env, const char *baseline, const assay_options *options, assay_facts **out, int *exit_code)
{
    static const char *const keys[] = {"baseline", AS_CHECK_KEYS, NULL}; /* the verb takes the baseline's name from an option */
    as_check_options         o;
    AS_TRY(as_options_only(env, options, "assay_check", keys));
    AS_TRY(as_check_options_read(env, options, &o));
    return as_check_run(env, baseline, &o, out, exit_code);
}
