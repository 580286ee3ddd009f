/* call_compare.c - comparisons as calls: of models and options, of programs, and of what a file holds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/duel/duel_facts.h"
#include "base/stage.h"
#include "lab/calls.h"
#include "lab/contest.h"
#include "lab/league.h"
#include "lab/noise.h"
#include "base/command.h"

static bool has_numbers(const assay_trace *t) { return t->state == AS_TRACE_COMPLETE || t->state == AS_TRACE_PARTIAL; }

/* DEVICE when a row has no number, because the caller must know; if no row has one, there is nothing to show. */
static assay_status rows_missing(assay_env *env, assay_trace *const *trials, size_t n, bool *all)
{
    const assay_trace *first = NULL;
    size_t             n_missing = 0;
    for (size_t i = 0; i < n; i++)
        if (!has_numbers(trials[i])) {
            first = first ? first : trials[i];
            n_missing++;
        }
    *all = n_missing && n_missing == n;
    if (!first)
        return ASSAY_OK;
    return n == 1 ? as_fail(env, ASSAY_DEVICE, "compare: %s", first->reason)
                  : as_fail(env, ASSAY_DEVICE, "compare: %zu of %zu rows have no result; %s: %s", n_missing, n, first->name,
                            first->reason);
}

static void expected_add(assay_facts *f, const char *expected)
{
    if (*expected)
        as_facts_find(f, as_facts_group(f, "compare", "Compare"), AS_LEVEL_NOTE, "%s", expected);
}

/* --- Models and options ------------------------------------------------------------------------------------- */

static assay_status contest_give(assay_env *env, as_contest *c, const as_lab_settings *s, const as_store_options *store,
                                 const char *expected, assay_status measured, assay_facts **out)
{
    assay_trace **trials;
    assay_facts  *f = NULL;
    size_t        n;
    bool          nothing;
    as_stage_begin(env, AS_PHASE_ANALYSE, "", (double)NAN, 0);
    AS_TRY(as_contest_trials(env, c, false, &trials, &n));
    assay_status missing = rows_missing(env, trials, n, &nothing);
    if (measured == ASSAY_CANCELLED && !as_trials_have(trials, n))
        return measured;
    if (!n || nothing)
        return n ? missing : measured;
    AS_TRY(as_contest_facts(env, c, s, &f));
    expected_add(f, expected);
    assay_status status = as_contest_trials(env, c, true, &trials, &n);
    if (status != ASSAY_OK) {
        assay_facts_free(f);
        return status;
    }
    as_trials_give(f, trials, n, s);
    AS_TRY(as_facts_give(env, store, "compare", c->title, f, measured, out));
    return missing == ASSAY_OK ? ASSAY_OK : rows_missing(env, (*out)->trials, (*out)->n_trials, &nothing);
}

assay_status assay_compare(assay_env *env, const char *const *what, size_t n, const assay_options *options, assay_facts **out)
{
    static const char *const keys[] = {AS_COMPARE_KEYS, NULL};
    as_lab_settings          s;
    as_contest_options       o;
    as_store_options         store;
    as_contest              *c;
    char                     expected[160];
    if (as_options_is_set(options, "data"))
        return as_league(env, what, n, options, out);
    AS_TRY(as_options_only(env, options, "assay_compare", keys));
    AS_TRY(as_lab_settings_read(env, options, NULL, &s));
    AS_TRY(as_contest_options_read(env, options, &o));
    AS_TRY(as_keep_options_read(env, options, &store));
    AS_TRY(as_contest_read(env, what, (int)n, &o, &c));
    as_noise_expect(env, &store, c->title, &s, expected, sizeof expected);
    assay_status status = as_contest_run(env, c, &s);
    if (status == ASSAY_OK || status == ASSAY_CANCELLED)
        status = contest_give(env, c, &s, &store, expected, status, out);
    as_contest_free(c);
    return status;
}

/* --- Programs ----------------------------------------------------------------------------------------------- */

static assay_status programs_facts(assay_env *env, assay_trace *trial, const as_lab_settings *s, assay_facts **out)
{
    int          n = trial->n_arms - 1;
    as_duel_row *rows = calloc((size_t)n + 1, sizeof *rows);
    if (!rows)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for %d verdicts", n);
    for (int b = 1; b <= n; b++) {
        rows[b - 1] = (as_duel_row){.trial = trial, .a = 0, .b = b, .rules = &s->rules};
        as_duel_judge(trial, 0, b, &s->rules, &rows[b - 1].duel);
    }
    *out = as_facts_of_duels(env, rows, (size_t)n, trial->name);
    free(rows);
    return *out ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the result");
}

static assay_status programs_run(assay_env *env, const char *const *commands, const char *const *const *argvs, int n,
                                 as_lab_settings *s, const as_store_options *store, assay_facts **out)
{
    char         name[256], expected[160];
    assay_trace *trial = NULL;
    assay_facts *f = NULL;
    snprintf(name, sizeof name, "%.120s against %.120s", commands[1], commands[0]);
    as_noise_expect(env, store, name, s, expected, sizeof expected);
    assay_status measured = as_lab_compare_bins(env, name, argvs, commands, n, s, &trial), status = measured;
    if (trial && !has_numbers(trial))
        status = as_fail(env, ASSAY_DEVICE, "%s", trial->reason);
    else if (trial && trial->n_rounds)
        status = programs_facts(env, trial, s, &f);
    if (f) {
        expected_add(f, expected);
        as_trials_give(f, &trial, 1, s);
        status = as_facts_give(env, store, "compare", name, f, measured, out);
    }
    assay_trace_free(trial);
    return status;
}

assay_status assay_compare_programs(assay_env *env, const char *const *commands, size_t n, const assay_options *options,
                                    assay_facts **out)
{
    static const char *const keys[] = {"bin",  "budget",  "timeout", "runs",  "warmup", "clock",
                                       "seed", "samples", "margin",  "alpha", "store",  NULL};
    as_lab_settings          s;
    as_store_options         store;
    as_arena                 arena = {0};
    AS_TRY(as_options_only(env, options, "compare of programs", keys));
    AS_TRY(as_lab_settings_read(env, options, NULL, &s));
    AS_TRY(as_keep_options_read(env, options, &store));
    if (n < 2)
        return as_fail(env, ASSAY_BAD_INPUT, "compare needs a second program: --bin %s is only one", n ? commands[0] : "");
    const char *const **argvs = AS_TAKE(&arena, const char *const *, n);
    assay_status        status = argvs ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for %zu programs", n);
    for (size_t i = 0; i < n && status == ASSAY_OK; i++)
        status = as_command_split(env, commands[i], &arena, &argvs[i]);
    if (status == ASSAY_OK)
        status = programs_run(env, commands, argvs, (int)n, &s, &store, out);
    as_arena_drop(&arena);
    return status;
}
