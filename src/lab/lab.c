/* lab.c - cases alone and against each other: opens them, compares them with the reference code, measures them in turns. */
#include "lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stage.h"
#include "base/text.h"
#include "lab/limits.h"
#include "lab/truth.h"
#include "sensor/sensor.h"

/* --- Settings ---------------------------------------------------------------------------------------------- */

static const as_option_member members[] = {
    AS_MEMBER(as_lab_settings, U64, "seed", sampler.seed),
    AS_MEMBER_OR_UNSET(as_lab_settings, NS, "budget", sampler.budget_ns, sampler.keeps_budget),
    AS_MEMBER(as_lab_settings, INT, "runs", sampler.n_rounds),
    AS_MEMBER(as_lab_settings, CHOICE, "layout-of-memory", sampler.memory),
    AS_MEMBER(as_lab_settings, BOOL, "samples", sampler.keep_samples),
    AS_MEMBER(as_lab_settings, BOOL, "check", checks),
    AS_MEMBER(as_lab_settings, SHARE, "margin", rules.margin),
    AS_MEMBER(as_lab_settings, SHARE, "alpha", rules.alpha),
    AS_MEMBER(as_lab_settings, NS, "timeout", timeout_ns),
    AS_MEMBER(as_lab_settings, SHARE, "target-width", target_width),
    {.key = NULL}};

static assay_status warm_up_read(assay_env *env, const char *text, int *out)
{
    int64_t n = -1;
    if (strcmp(text, "auto") && (!as_parse_i64(text, &n) || n < 0 || n > 1000000))
        return as_fail(env, ASSAY_BAD_INPUT, "option --warmup: \"%s\" must be auto or a number of rounds", text);
    *out = (int)n;
    return ASSAY_OK;
}

assay_status as_lab_settings_read(assay_env *env, const assay_options *options, const char *budget, as_lab_settings *out)
{
    *out = (as_lab_settings){.early = true, .isolate = env->clock.kind != AS_CLOCK_FAKE};
    as_sampler_defaults(&out->sampler);
    as_duel_rules_standard(&out->rules);
    AS_TRY(as_options_read(env, options, members, out));
    if (budget && !out->sampler.keeps_budget && !as_parse_duration_ns(budget, &out->sampler.budget_ns))
        return as_fail(env, ASSAY_INTERNAL, "the default budget %s is not a duration", budget);
    out->sampler.by_wall = !strcmp(as_options_text(options, "clock"), "wall");
    return warm_up_read(env, as_options_text(options, "warmup"), &out->sampler.warm_up);
}

double as_lab_expect_s(const as_lab_settings *s)
{
    bool counts = s->sampler.n_rounds && !s->sampler.keeps_budget;
    return counts ? (double)NAN : (double)s->sampler.budget_ns / 1e9;
}

/* --- When to stop --------------------------------------------------------------------------------------- */

typedef struct look {
    const as_lab_settings *s;
    uint32_t               next;
    bool                  *settled;
    int                    n;
} look;

/* Whether every comparison with candidate 0 has its verdict.  A settled comparison stays settled. */
static bool settled(void *arg, const assay_trace *t)
{
    look *l = arg;
    bool  all = true;
    if (t->n_rounds < l->next)
        return false;
    l->next = t->n_rounds + t->n_rounds / 20 + 1; /* the cost of a look grows with the number of rounds */
    for (int b = 1; b < l->n; b++) {
        l->settled[b] = l->settled[b] || as_duel_settled(t, 0, b, &l->s->rules);
        all = all && l->settled[b];
    }
    return all;
}

/* The comparison that needs the most rounds decides. */
static double rounds(void *arg, const assay_trace *t, double launch_ns, double round_ns)
{
    const look *l = arg;
    double      most = 1;
    for (int b = 1; b < l->n; b++)
        most = fmax(most, as_duel_rounds(t, 0, b, launch_ns, round_ns));
    return most;
}

/* Whether the interval is narrow enough. */
static bool narrow(void *arg, const assay_trace *t)
{
    look    *l = arg;
    as_alone alone;
    if (t->n_rounds < l->next)
        return false;
    l->next = t->n_rounds + t->n_rounds / 4 + 1;
    as_alone_judge(t, 0, &alone);
    return alone.hi - alone.lo <= l->s->target_width * alone.median;
}

/* --- Candidates that are plans ---------------------------------------------------------------------------------------- */

typedef struct bench {
    const char                 *name;
    const as_bench_case *const *cases;
    const char *const          *names;
    int                         n;
    const as_lab_settings      *s;
    as_bench_subject           *subjects;
    as_truth                   *truths;
    as_arm                     *arms;
    as_slab                    *slab;
    as_arena                    arena;
} bench;

static assay_status subject_open(assay_env *env, bench *b, int i, const as_sampler_settings *sampler, assay_trace *t)
{
    const char *name = b->names ? b->names[i] : b->cases[i]->name;
    t->arms[i].name = as_trace_keep(t, name);
    t->arms[i].items = as_bench_case_items(b->cases[i]);
    t->arms[i].work = b->cases[i]->work;
    as_stage_begin(env, AS_PHASE_PLAN, b->name, NAN, 0);
    AS_TRY(as_bench_case_open(env, b->cases[i], &b->subjects[i]));
    AS_TRY(as_arm_plan(env, name, b->subjects[i].plan, sampler->seed, b->slab, sampler->memory == AS_MEMORY_RANDOM, &b->arms[i]));
    /* A device with simulated time has installed its clock by now, and the first chunk of a trace states the clock. */
    if (!t->n_turns && !as_trace_clock_take(t, env))
        return as_fail(env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for the name of the clock", b->name);
    if (sampler->progress)
        sampler->progress(sampler->progress_arg, AS_PHASE_PLAN, 0, t);
    return ASSAY_OK;
}

/* --- Answers before times ------------------------------------------------------------------------------------- */

/* Checking may take this share of the budget.  Where not everything fits, fewer rows of each candidate are compared.  One row is
 * compared in any case; if that takes more than the share, it is announced before it starts. */
static const double CHECK_SHARE = 0.25;
#define TELL_BEYOND_S 1.0

/* The unchecked candidate with the least work: its time shows how fast the reference code is, before the large ones start. */
static int smallest(const as_truth_work *work, const bool *done, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (!done[i] && (best < 0 || work[i].all < work[best].all))
            best = i;
    return best;
}

static double check_expect_s(const as_truth_work *work, int n, double share_s, double *beyond_s)
{
    double all = 0, least = 0;
    for (int i = 0; i < n; i++) {
        all += work[i].all / AS_REFERENCE_RATE;
        least += work[i].least / AS_REFERENCE_RATE;
    }
    *beyond_s = least - share_s > TELL_BEYOND_S ? least - share_s : 0;
    return fmax(fmin(all, share_s), least);
}

static assay_status answers_check(assay_env *env, bench *b, const as_sampler_settings *sampler)
{
    as_truth_work *work = AS_TAKE(&b->arena, as_truth_work, b->n);
    bool          *done = AS_TAKE(&b->arena, bool, b->n);
    double         left_s = CHECK_SHARE * (double)sampler->budget_ns / 1e9, rate = AS_REFERENCE_RATE, beyond_s;
    if (!work || !done)
        return as_fail(env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d candidates", b->name, b->n);
    for (int i = 0; i < b->n; i++)
        work[i] = as_truth_ask(b->cases[i], &b->subjects[i]);
    double expect_s = check_expect_s(work, b->n, left_s, &beyond_s);
    if (b->s->checks)
        as_stage_begin(env, AS_PHASE_CHECK, b->name, expect_s, beyond_s);
    for (int k = 0; k < b->n; k++) {
        int       i = smallest(work, done, b->n);
        as_truth *truth = &b->truths[i];
        done[i] = true;
        if (!b->s->checks) {
            as_truth_skip(truth);
            continue;
        }
        AS_TRY(as_truth_check(env, b->cases[i], &b->subjects[i], sampler->seed, rate * fmax(left_s, 0) / (b->n - k), truth));
        if (truth->wrong)
            return as_fail(env, ASSAY_DEVICE, "%s: its answer is wrong: %s", b->cases[i]->name, truth->sentence);
        left_s -= truth->seconds;
        if (truth->seconds > 1e-3) /* a shorter time mostly measures the clock */
            rate = truth->work / truth->seconds;
        as_stage_done(env, (k + 1.0) / b->n);
    }
    return ASSAY_OK;
}

/* A text that explains a number is not worth a failure: without memory it is left out. */
static void text_keep(assay_trace *t, const char **to, const char *text)
{
    const char *kept = text ? as_trace_keep(t, text) : NULL;
    *to = kept ? kept : "";
}

static void arms_note(const bench *b, assay_trace *t)
{
    for (int i = 0; i < b->n; i++) {
        as_trace_arm *a = &t->arms[i];
        a->error = b->truths[i].error;
        a->hash = a->hash ? a->hash : b->truths[i].hash;
        a->poisoned_hash = b->truths[i].poisoned_hash;
        text_keep(t, &a->compared, b->truths[i].compared);
        text_keep(t, &a->slow, b->subjects[i].slow);
        text_keep(t, &a->elsewhere, b->subjects[i].elsewhere);
    }
}

/* One sample by the clock that decides, in ns. */
static assay_status sample_take(assay_env *env, const as_arm *arm, const assay_trace *t, uint32_t calls, double *ns)
{
    as_shot  shot;
    uint32_t switches;
    AS_TRY(arm->block(env, arm->self, false, calls, 1, &shot, &switches));
    *ns = (double)(t->by_cpu ? shot.cpu_ns : shot.wall_ns) * calls;
    return ASSAY_OK;
}

/* Twice the calls must take about twice as long: a sample that does not grow with its work measures something else.  Measures
 * pairs in turns and notes the ratio within their interval that is nearest to 2, so that noise alone refuses nothing. */
static void doubled_note(assay_env *env, const as_arm *arm, const as_sampler_settings *s, assay_trace *t)
{
    enum { N = 15 };
    double       once[N], ratio[N], scratch[N], cover;
    size_t       lo, hi;
    as_trace_arm info = t->arms[0];
    if (!t->calls || 3.0 * N * t->block_ns > (double)s->budget_ns / 4 || arm->launch(env, arm->self, 0, &info) != ASSAY_OK)
        return;
    int n = 0;
    for (double twice; n < N; n++) {
        if (sample_take(env, arm, t, t->calls, &once[n]) != ASSAY_OK ||
            sample_take(env, arm, t, 2 * t->calls, &twice) != ASSAY_OK || !(once[n] > 0))
            break;
        ratio[n] = twice / once[n];
    }
    arm->land(arm->self);
    if (n < N || !as_median_ranks(N, 0.99, &lo, &hi, &cover))
        return;
    as_sort(ratio, N);
    double median = as_median(once, N, scratch), nearest = ratio[lo] > 2 ? ratio[lo] : ratio[hi] < 2 ? ratio[hi] : 2;
    t->once_ns = median;
    t->twice_ns = median * nearest;
}

static assay_status bench_run(assay_env *env, bench *b, as_sampler_settings *sampler, assay_trace *t)
{
    bool     again = t->n_turns > 0;
    uint64_t begin = as_monotonic_ns();
    b->subjects = AS_TAKE(&b->arena, as_bench_subject, b->n);
    b->truths = AS_TAKE(&b->arena, as_truth, b->n);
    b->arms = AS_TAKE(&b->arena, as_arm, b->n);
    look l = {.s = b->s, .next = b->n > 1 ? 0 : 40, .settled = AS_TAKE(&b->arena, bool, b->n), .n = b->n};
    if (!b->subjects || !b->truths || !b->arms || !l.settled)
        return as_fail(env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d candidates", b->name, b->n);
    if (sampler->memory == AS_MEMORY_SHARED)
        AS_TRY(as_slab_new(env, &b->slab));
    for (int i = 0; i < b->n; i++)
        AS_TRY(subject_open(env, b, i, sampler, t));
    if (!again)
        AS_TRY(answers_check(env, b, sampler));
    if (env->clock.kind != AS_CLOCK_FAKE) /* measuring keeps at least half of the budget: a longer check was announced before it
                                           * began */
        sampler->spent_ns = (uint64_t)fmin((double)(as_monotonic_ns() - begin), (double)sampler->budget_ns / 2);
    if (b->n > 1 && b->s->early && !sampler->n_rounds) {
        sampler->enough = settled;
        sampler->rounds = rounds;
        sampler->enough_arg = &l;
    } else if (b->n == 1 && b->s->target_width > 0) {
        sampler->enough = narrow;
        sampler->enough_arg = &l;
    }
    assay_status status = as_sampler_run(env, b->arms, b->n, sampler, t);
    if (status == ASSAY_OK && !again)
        arms_note(b, t);
    if (status == ASSAY_OK && !again && b->n == 1 && b->subjects[0].train)
        status = as_train_note(env, b->subjects[0].train, b->subjects[0].plan, t);
    if (status == ASSAY_OK && b->n > 1 && b->s->layers)
        status = as_arms_detail(env, b->arms, b->n, sampler, t);
    for (int i = 0; i < b->n && status == ASSAY_OK; i++)
        status = as_lab_limit_find(env, b->s, b->subjects[i].plan, t, i);
    if (status == ASSAY_OK && b->n == 1 && env->clock.kind != AS_CLOCK_FAKE)
        doubled_note(env, &b->arms[0], sampler, t);
    return status;
}

static void bench_close(bench *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->arms && b->arms[i].drop) {
            b->arms[i].land(b->arms[i].self);
            b->arms[i].drop(b->arms[i].self);
        }
        if (b->subjects)
            as_bench_subject_close(&b->subjects[i]);
    }
    as_slab_free(b->slab);
    as_arena_drop(&b->arena);
}

static assay_status bench_job(assay_env *env, void *arg, as_sampler_settings *sampler, assay_trace **out)
{
    bench *b = arg;
    if (!*out)
        AS_TRY(as_trace_new_arms(env, b->name, b->n, out));
    assay_trace *t = *out;
    assay_status status = bench_run(env, b, sampler, t);
    bench_close(b);
    if (status != ASSAY_OK && status != ASSAY_CANCELLED && status != ASSAY_NO_MEMORY) {
        if (t->state == AS_TRACE_COMPLETE) { /* it failed before the sampler could set the state */
            const char *reason = as_trace_keep(t, assay_message(env));
            t->state = AS_TRACE_FAILED;
            t->reason = reason ? reason : "";
        }
        return ASSAY_OK;
    }
    return status;
}

/* The caller owns what was measured, also when it was stopped; a trial that the caller owned before stays the caller's. */
static assay_status trial_give(assay_status status, assay_trace *t, assay_trace **out)
{
    if (status == ASSAY_OK || status == ASSAY_CANCELLED)
        *out = t;
    else if (t != *out)
        assay_trace_free(t);
    return status;
}

static assay_status bench_do(assay_env *env, bench *b, assay_trace **out)
{
    if (b->s->isolate)
        return as_lab_isolated(env, b->name, b->n, bench_job, b, b->s, out);
    as_sampler_settings sampler = b->s->sampler;
    assay_trace        *t = *out;
    assay_status        status = bench_job(env, b, &sampler, &t);
    return trial_give(status, t, out);
}

assay_status as_lab_measure(assay_env *env, const as_bench_case *c, const as_lab_settings *s, assay_trace **out)
{
    as_lab_settings own = *s;
    own.sampler.keep_samples = true;
    bench b = {.name = c->name, .cases = &c, .n = 1, .s = &own};
    return bench_do(env, &b, out);
}

assay_status as_lab_compare(assay_env *env, const char *name, const as_bench_case *const *cases, const char *const *names, int n,
                            const as_lab_settings *s, assay_trace **out)
{
    bench b = {.name = name, .cases = cases, .names = names, .n = n, .s = s};
    return bench_do(env, &b, out);
}

/* --- Candidates that are programs, or the caller's own --------------------------------------------------------------------- */

typedef struct told {
    assay_env             *env;
    const as_lab_settings *s;
    const char            *name;
} told;

static void pass_on(void *arg, as_phase phase, double done, const assay_trace *t)
{
    const told *to = arg;
    if (t->n_turns)
        atomic_store_explicit(&to->env->stake, AS_STAKE_HELD, memory_order_relaxed);
    as_stage_begin(to->env, phase, to->name, as_lab_expect_s(to->s), 0);
    as_stage_done(to->env, done);
}

assay_status as_lab_compare_arms(assay_env *env, const char *name, const as_arm *arms, int n, const as_lab_settings *s,
                                 assay_trace **out)
{
    as_sampler_settings sampler = s->sampler;
    told                to = {env, s, name};
    look                l = {.s = s, .settled = calloc((size_t)n, sizeof(bool)), .n = n};
    assay_trace        *t = *out;
    if (!l.settled)
        return as_fail(env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d candidates", name, n);
    if (s->early && !sampler.n_rounds && n > 1) {
        sampler.enough = settled;
        sampler.rounds = rounds;
        sampler.enough_arg = &l;
    }
    sampler.progress = pass_on;
    sampler.progress_arg = &to;
    assay_status status = t ? ASSAY_OK : as_trace_new_arms(env, name, n, &t);
    if (status == ASSAY_OK)
        status = as_sampler_run(env, arms, n, &sampler, t);
    free(l.settled);
    if (status == ASSAY_DEVICE || status == ASSAY_TIMED_OUT) /* the trace says so */
        status = ASSAY_OK;
    return trial_give(status, t, out);
}

assay_status as_lab_compare_bins(assay_env *env, const char *name, const char *const *const *argvs, const char *const *names, int n,
                                 const as_lab_settings *s, assay_trace **out)
{
    as_lab_settings own = *s;
    as_arm         *arms = calloc((size_t)n, sizeof *arms);
    assay_status    status =
        arms ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d programs", name, n);
    own.sampler.memory = AS_MEMORY_RELAUNCHED;
    for (int i = 0; i < n && status == ASSAY_OK; i++)
        status = as_arm_bin(env, names[i], argvs[i], s->timeout_ns, &arms[i]);
    if (status == ASSAY_OK)
        status = as_lab_compare_arms(env, name, arms, n, &own, out);
    for (int i = 0; i < n && arms; i++)
        if (arms[i].drop)
            arms[i].drop(arms[i].self);
    free(arms);
    return status;
}
