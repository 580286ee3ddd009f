/* sampler.c - candidates take turns in randomised blocks.
 *
 * The order of running matters more than any statistic.  Candidates that are measured one after the other differ by whatever the
 * machine did meanwhile; candidates that alternate in blocks of some milliseconds, in a random order each round, do not.  For
 * identical candidates the sign of a round's difference is then a fair coin, whatever the noise is: the guarantee comes from this
 * and not from a model.
 *
 * Between the stamps of a sample nothing is allocated, printed or locked; between rounds memory is reserved, the system is read
 * and progress is reported. */
#include "run/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/pool.h"
#include "base/random.h"
#include "base/stats.h"
#include "run/probes.h"
#include "sensor/sensor.h"

#define SAMPLE_NS      50e3
#define SAMPLE_COSTS   200.0  /* readings of the clock in a sample */
#define BLOCK_NS       0.25e6 /* several candidates: a neighbour comes and goes within milliseconds, and must affect both alike */
#define BLOCK_ALONE_NS 4e6
#define MAX_BLOCK_NS   10e6
#define COLD_BLOCK_NS  5e6 /* where blocks start cold: over this time the lower quartile is clean even beside busy neighbours */
#define MAX_WARM_UP_NS 1e9
#define MAX_CALLS      10000000u
#define COIN           0x636f696eu
#define PLACE          0x706c6163u
enum {
    MAX_SAMPLES = 1024,
    MAX_GROWTHS = 40,
    MAX_WARM_UP = 256,
    MAX_WARM_UP_AGAIN = 3,
    MIN_QUARTILE = 8,
    MIN_LAUNCHES = 16,
    PLAN_LAUNCHES = 8, /* after this many, the measured noise decides how many rounds a launch gets */
    COLD_SAMPLES = 64, /* samples of a block that are searched for its cold start */
    COLD_REPEATS = 5,
    MAX_ARMS = 1024
};

typedef struct sampler {
    assay_env                 *env;
    const as_arm              *arms;
    int                        n_arms;
    const as_sampler_settings *settings;
    assay_trace               *trial;
    uint64_t                   begin, last; /* ticks */
    double                     before_ns;   /* time that the trial had taken before it was continued */
    double                     block_ns, told_ns;
    double                    *call_ns;   /* of each candidate, as the calibration measured it */
    double                    *launch_ns; /* sums over launches */
    int                       *order;
    uint32_t                   n_samples;  /* in a block */
    uint64_t                   n_called;   /* of candidate 0, in rounds that are kept */
    double                     warm_ns;    /* sum of one call of each candidate, in the last round of the warm-up; 0: none */
    double                     ready_ns;   /* when the first round that is kept began */
    bool                       warm;       /* one call before each block is not timed */
    uint32_t                   n_cold;     /* samples at the start of each block that are not kept, while the caches refill */
    int                        n_warm_up;  /* rounds per launch that are not kept; -1: not known yet */
    double                     round_ns;   /* time of a round, probes included */
    as_shot                   *shots;      /* of one block */
    double                    *wall, *cpu; /* of one block, for its quantiles */
    as_probes                 *probes;
    as_arena                   arena;
} sampler;

void as_sampler_defaults(as_sampler_settings *s)
{
    *s = (as_sampler_settings){
        .budget_ns = 5000000000u, .warm_up = -1, .memory = AS_MEMORY_FIXED, .probes = true, .cpu = -1, .seed = 1};
}

/* --- Time --------------------------------------------------------------------------------------------- */

/* If the clock went back, every later number would be wrong. */
static assay_status time_spent(sampler *s, double *ns)
{
    uint64_t now = as_clock_now(&s->env->clock);
    if (now < s->last)
        return as_fail(s->env, ASSAY_DEVICE, "measure: %s: the clock %s went back by %.0f ns between two blocks", s->trial->name,
                       s->env->clock.name, as_clock_ns(&s->env->clock, s->last - now));
    s->last = now;
    *ns = s->before_ns + as_clock_ns(&s->env->clock, now - s->begin);
    return ASSAY_OK;
}

/* --- One block ---------------------------------------------------------------------------------------- */

static double lower_quartile(double *x, size_t n)
{
    as_sort(x, n);
    return as_quantile_sorted(x, n, n < MIN_QUARTILE ? 0.5 : 0.25);
}

static assay_status shots_check(sampler *s, const as_arm *arm, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(s->shots[i].wall_ns >= 0) || s->shots[i].cpu_ns < 0)
            return as_fail(s->env, ASSAY_DEVICE,
                           "measure: %s: %s: a sample took %g ns of wall time and %g ns of CPU time: the clock went back",
                           s->trial->name, arm->name, (double)s->shots[i].wall_ns, (double)s->shots[i].cpu_ns);
    return ASSAY_OK;
}

static void turn_summarise(sampler *s, as_turn *turn)
{
    double wall = 0, cpu = 0;
    for (uint32_t i = 0; i < turn->n_shots; i++) {
        wall += s->wall[i] = (double)s->shots[i].wall_ns;
        cpu += s->cpu[i] = (double)s->shots[i].cpu_ns;
    }
    turn->busy = wall > 0 ? cpu / wall : NAN;
    turn->wall_ns = lower_quartile(s->wall, turn->n_shots);
    turn->cpu_ns = isnan(cpu) ? NAN : lower_quartile(s->cpu, turn->n_shots);
}

/* With a fixed number of calls, the last block has fewer samples, and the last sample fewer calls. */
static void block_size(const sampler *s, bool kept, uint32_t *calls, uint32_t *n)
{
    *calls = s->trial->calls;
    *n = s->n_samples;
    if (!kept || !s->settings->n_calls)
        return;
    uint64_t left = s->settings->n_calls - s->n_called;
    if (left / *calls < *n)
        *n = left < *calls ? 1 : (uint32_t)(left / *calls);
    if (left < *calls)
        *calls = (uint32_t)left;
}

static assay_status block_run(sampler *s, int arm, bool kept, as_turn *turn)
{
    const as_arm *a = &s->arms[arm];
    uint32_t      calls;
    AS_TRY(time_spent(s, &turn->start_ns));
    block_size(s, kept, &calls, &turn->n_shots);
    AS_TRY(a->block(s->env, a->self, s->warm, calls, s->n_cold + turn->n_shots, s->shots, &turn->switches));
    AS_TRY(shots_check(s, a, s->n_cold + turn->n_shots));
    memmove(s->shots, s->shots + s->n_cold, turn->n_shots * sizeof *s->shots);
    if (kept && !arm)
        s->n_called += (uint64_t)calls * turn->n_shots;
    turn_summarise(s, turn);
    turn->fma_ns = turn->copy_ns = turn->steal = NAN;
    if (s->probes)
        as_probes_read(s->probes, s->env, &turn->fma_ns, &turn->copy_ns);
    return ASSAY_OK;
}

/* --- One round ---------------------------------------------------------------------------------------- */

static void order_draw(sampler *s, uint32_t launch, uint64_t draw)
{
    for (int i = 0; i < s->n_arms; i++)
        s->order[i] = i;
    for (int i = s->n_arms - 1; i > 0; i--) {
        int k = (int)(as_philox_uniform(s->settings->seed, COIN, launch, draw * MAX_ARMS + (uint64_t)i) * (float)(i + 1));
        int kept = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = kept;
    }
}

static void turn_keep(sampler *s, as_turn *turn)
{
    assay_trace *t = s->trial;
    turn->first_shot = (uint32_t)t->n_shots;
    if (s->settings->keep_samples) {
        memcpy(t->shots + t->n_shots, s->shots, turn->n_shots * sizeof *s->shots);
        t->n_shots += turn->n_shots;
    }
    t->turns[t->n_turns++] = *turn;
}

/* CPU time that the hypervisor took so far; read only where probes are on. */
static double stolen_ns(const sampler *s) { return s->probes ? as_steal_ns() : NAN; }

/* kept: the round goes into the trial; otherwise only the sum of its block times is returned, for the warm-up. */
static assay_status round_run(sampler *s, uint32_t launch, uint64_t draw, bool kept, double *sum)
{
    assay_trace *t = s->trial;
    size_t       first = t->n_turns, first_shot = t->n_shots;
    double       begin_ns, end_ns, steal_begin = stolen_ns(s);
    AS_TRY(time_spent(s, &begin_ns));
    if (!as_trace_reserve_turns(t, (size_t)s->n_arms, s->settings->keep_samples ? (size_t)s->n_arms * s->n_samples : 0))
        return as_fail(s->env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for another round", t->name);
    order_draw(s, launch, draw);
    *sum = 0;
    for (int k = 0; k < s->n_arms; k++) {
        as_turn      turn = {.launch = launch, .round = t->n_rounds, .arm = (uint32_t)s->order[k], .order = (uint32_t)k};
        assay_status one = block_run(s, s->order[k], kept, &turn);
        if (one != ASSAY_OK) { /* half a round is not a pair */
            t->n_turns = first;
            t->n_shots = first_shot;
            return one;
        }
        *sum += as_turn_ns(t, &turn);
        if (kept)
            turn_keep(s, &turn);
    }
    assay_status status = time_spent(s, &end_ns);
    if (status != ASSAY_OK) {
        t->n_turns = first;
        t->n_shots = first_shot;
        return status;
    }
    s->round_ns = end_ns - begin_ns;
    double steal = (stolen_ns(s) - steal_begin) / s->round_ns;
    for (size_t i = first; i < t->n_turns; i++)
        t->turns[i].steal = steal;
    t->n_rounds += kept;
    return ASSAY_OK;
}

/* --- How many calls per sample, how many samples per block ------------------------------------------------- */

/* Doubles the calls until three samples in a row last long enough.  The shortest counts, so that a pre-empted sample does not
 * decide. */
static assay_status arm_calibrate(sampler *s, int arm, double sample_ns, double most_ns, uint32_t *calls)
{
    const as_arm *a = &s->arms[arm];
    uint32_t      c = 1, switches;
    if (s->settings->calls) { /* given by the caller; the launch has measured how long a call takes */
        *calls = s->settings->calls;
        s->call_ns[arm] = fmax(s->call_ns[arm], 1e-3);
        return ASSAY_OK;
    }
    for (int growth = 0; growth < MAX_GROWTHS; growth++) {
        as_shot shots[3];
        bool    one = s->call_ns[arm] > most_ns; /* calls so long that one is enough */
        AS_TRY(a->block(s->env, a->self, !growth && !one, c, one ? 1 : 3, shots, &switches));
        double shortest = (double)shots[0].wall_ns;
        for (int i = 1; i < (one ? 1 : 3); i++)
            shortest = fmin(shortest, (double)shots[i].wall_ns);
        if (s->env->clock.kind == AS_CLOCK_FAKE && !(shortest > 0)) /* otherwise the budget would never be spent */
            return as_fail(s->env, ASSAY_DEVICE, "measure: %s: %s: a call takes 0 ns by the clock %s", s->trial->name, a->name,
                           s->env->clock.name);
        s->call_ns[arm] = fmax(shortest, 1e-3);
        double want = ceil(sample_ns / s->call_ns[arm]);
        if (want <= c || c >= MAX_CALLS || as_cancelled(s->env))
            break;
        c = want > 10.0 * c ? 10 * c : (uint32_t)want;
        c = c > MAX_CALLS ? MAX_CALLS : c;
    }
    *calls = c > *calls ? c : *calls;
    return ASSAY_OK;
}

/* A call as long as a block has no cold start worth measuring. */
static bool is_warmed(const sampler *s, double call_ns) { return call_ns * 2 <= s->block_ns; }

static assay_status calibrate(sampler *s)
{
    assay_trace *t = s->trial;
    double       cost = t->by_cpu ? as_clock_cost_ns(as_thread_cpu_ns) + s->env->clock.cost_ns : s->env->clock.cost_ns;
    t->clock_cost_ns = s->env->clock.kind == AS_CLOCK_FAKE ? 0 : cost;
    t->calls = 1;
    double slowest = 0, most = (double)s->settings->budget_ns / (20.0 * s->n_arms);
    for (int i = 0; i < s->n_arms; i++) {
        double first = t->arms[i].first_ns[2];
        s->call_ns[i] = isnan(first) ? 0 : first;
        AS_TRY(
            arm_calibrate(s, i, fmax(fmax(SAMPLE_NS, s->settings->sample_ns), SAMPLE_COSTS * t->clock_cost_ns), most, &t->calls));
        slowest = fmax(slowest, s->call_ns[i]);
    }
    if (s->settings->n_calls && t->calls > s->settings->n_calls)
        t->calls = (uint32_t)s->settings->n_calls;
    double n = s->settings->samples_a_block ? s->settings->samples_a_block : s->block_ns / (slowest * t->calls);
    s->n_samples = n < 1 ? 1 : n > MAX_SAMPLES ? MAX_SAMPLES : (uint32_t)n;
    s->warm = is_warmed(s, slowest);
    t->block_ns = slowest * t->calls * s->n_samples;
    return ASSAY_OK;
}

static bool is_single(const sampler *s)
{
    return s->settings->memory == AS_MEMORY_SHARED || s->settings->memory == AS_MEMORY_FIXED;
}

/* --- The cold start of a block ---------------------------------------------------------------------------- */

/* How many samples pass before they are as fast as the last half, to within a tenth. */
static uint32_t cold_of(const double *ns, uint32_t n, double *scratch)
{
    double   steady = as_median(ns + n / 2, n - n / 2, scratch);
    uint32_t cold = 0;
    while (cold < n / 2 && ns[cold] > 1.1 * steady)
        cold++;
    return cold;
}

/* Samples of one candidate right after the others have run; the minimum of several tries, because a pre-emption adds time that is
 * not the candidate's. */
static assay_status cold_sample(sampler *s, int arm, uint32_t n, bool first, double *least)
{
    const as_arm *a = &s->arms[arm];
    uint32_t      switches;
    AS_TRY(a->block(s->env, a->self, s->warm, s->trial->calls, n, s->shots, &switches));
    AS_TRY(shots_check(s, a, n));
    for (uint32_t i = 0; i < n; i++) {
        double ns = (double)(s->trial->by_cpu ? s->shots[i].cpu_ns : s->shots[i].wall_ns);
        least[i] = first ? ns : fmin(least[i], ns);
    }
    return ASSAY_OK;
}

/* Candidates with buffers of their own evict each other's from the caches, so a short block would time the refill and not the
 * work: a walk through 1 MiB that takes 16 ns per hop when warm took 80 ns in blocks of one call, and 2 % more hops hardly showed
 * (estimates of 0.2 to 0.4 %, none resolved).  In this case the samples of each block are not kept until the times are steady,
 * and blocks are longer.  Their length was chosen from some tries of 5 s at a changing load of 5 to 8, in which more samples per
 * block (3, 8, 16, 24) mostly gave less noise; it is not an optimum. */
static assay_status cold_find(sampler *s)
{
    double sample = s->trial->block_ns / s->n_samples, budget = (double)s->settings->budget_ns / (20.0 * COLD_REPEATS * s->n_arms),
           most = floor(fmin(MAX_BLOCK_NS, budget) / fmax(sample, 1)); /* at most a twentieth of the budget */
    uint32_t n = most < COLD_SAMPLES ? (uint32_t)most : COLD_SAMPLES, found = 0;
    if (is_single(s) || s->n_arms < 2 || s->settings->samples_a_block || s->settings->n_calls || n < 4)
        return ASSAY_OK;
    double *least = AS_TAKE(&s->arena, double, (size_t)s->n_arms *n);
    if (!least)
        return as_fail(s->env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d candidates", s->trial->name, s->n_arms);
    for (int k = 0; k < COLD_REPEATS && !as_cancelled(s->env); k++)
        for (int i = 0; i < s->n_arms; i++)
            AS_TRY(cold_sample(s, i, n, k == 0, least + (size_t)i * n));
    for (int i = 0; i < s->n_arms; i++) {
        uint32_t cold = cold_of(least + (size_t)i * n, n, s->wall);
        found = cold > found ? cold : found;
    }
    s->n_cold = found;
    if (!found)
        return ASSAY_OK;
    uint32_t kept = COLD_BLOCK_NS > 3 * sample ? (uint32_t)(COLD_BLOCK_NS / sample) : 3;
    s->n_samples = s->trial->n_turns || s->n_samples > kept ? s->n_samples : kept; /* a continued trial keeps its block length */
    s->trial->block_ns = sample * s->n_samples;
    if (!s->trial->n_turns)
        as_trace_add_note(s->trial, "cold",
                          "the first %u samples of each block are dropped: the caches held another candidate's data", found);
    return ASSAY_OK;
}

/* --- Launches ------------------------------------------------------------------------------------------- */

/* Launches are in random order, too: the first to launch gets other pages than the second, so with a fixed order the same
 * candidate would always be slower. */
static assay_status launch_all(sampler *s, uint32_t launch)
{
    order_draw(s, launch, (uint64_t)1 << 34);
    for (int k = 0; k < s->n_arms; k++) {
        int           i = s->order[k];
        const as_arm *a = &s->arms[i];
        double        begin, end;
        as_trace_arm  info = s->trial->arms[i];
        uint64_t      seed = (uint64_t)(as_philox_uniform(s->settings->seed, PLACE, launch, (uint64_t)i) * 16777216.0f);
        AS_TRY(time_spent(s, &begin));
        AS_TRY(a->launch(s->env, a->self, seed, &info));
        AS_TRY(time_spent(s, &end));
        s->launch_ns[i] += end - begin;
        if (!launch)
            s->trial->arms[i] = info;
        s->trial->arms[i].launch_ns = s->launch_ns[i] / (launch + 1);
    }
    return ASSAY_OK;
}

static void land_all(sampler *s)
{
    for (int i = 0; i < s->n_arms; i++)
        s->arms[i].land(s->arms[i].self);
}

/* Where each block begins with samples that are not kept, these also warm up later launches. */
static int warm_up_again(const sampler *s, int n)
{
    int most = s->n_cold ? 0 : MAX_WARM_UP_AGAIN;
    return n < most ? n : most;
}

static double share_done(const sampler *s, double spent_ns)
{
    const as_sampler_settings *settings = s->settings;
    double                     done;
    if (settings->n_calls)
        done = (double)s->n_called / (double)settings->n_calls;
    else if (settings->n_rounds)
        done = (double)s->trial->n_rounds / settings->n_rounds;
    else if (settings->measure_ns)
        done = (spent_ns - s->ready_ns) / (double)settings->measure_ns;
    else
        done = spent_ns / (double)settings->budget_ns;
    return done < 1 ? done : 1;
}

static void tell(sampler *s, as_phase phase, double spent_ns)
{
    const as_sampler_settings *settings = s->settings;
    if (!settings->progress || spent_ns - s->told_ns < 1e8)
        return;
    s->told_ns = spent_ns;
    settings->progress(settings->progress_arg, phase, share_done(s, spent_ns), s->trial);
}

/* The first launch finds out how many rounds the warm-up needs; later launches do as many, but at most three. */
static assay_status warm_up(sampler *s, uint32_t launch)
{
    double y[MAX_WARM_UP], cap = fmin((double)s->settings->budget_ns / 10, MAX_WARM_UP_NS), spent, begin;
    int    fixed = s->settings->warm_up >= 0 ? s->settings->warm_up : s->n_warm_up;
    int    most = fixed >= 0 ? fixed : MAX_WARM_UP, n = 0;
    AS_TRY(time_spent(s, &begin));
    for (spent = begin; n < most && !as_cancelled(s->env); n++) {
        if (fixed < 0 && (spent - begin > cap || (n && as_steady_reached(y, (size_t)n))))
            break;
        double sum;
        AS_TRY(round_run(s, launch, ((uint64_t)1 << 32) + (uint64_t)n, false, &sum));
        if (n < MAX_WARM_UP)
            y[n] = sum;
        s->warm_ns = sum;
        AS_TRY(time_spent(s, &spent));
        tell(s, launch ? AS_PHASE_MEASURE : AS_PHASE_WARM_UP, spent);
    }
    if (!launch) {
        s->trial->warm_up_rounds = (uint32_t)n;
        s->n_warm_up = warm_up_again(s, n);
    }
    return ASSAY_OK;
}

/* More launches are better than more rounds as long as a launch costs no more than its rounds; below 16 launches the interval
 * gets wide. */
static uint32_t rounds_of_launch(const sampler *s, double spent_ns, double launch_cost_ns)
{
    const as_sampler_settings *settings = s->settings;
    if (settings->rounds_a_launch)
        return settings->rounds_a_launch;
    if (is_single(s))
        return UINT32_MAX;
    double left = (double)settings->budget_ns - spent_ns, round = fmax(s->round_ns, fmax(s->n_arms * s->trial->block_ns, 1));
    double n = fmax(4, launch_cost_ns / round);
    if (left < (MIN_LAUNCHES - 1) * (launch_cost_ns + n * round)) /* 16 must fit */
        n = (left / (MIN_LAUNCHES - 1) - launch_cost_ns) / round;
    return n < 1 ? 1 : n > 100000 ? 100000 : (uint32_t)n;
}

/* True: the trial ends here. */
static bool is_over(const sampler *s, double spent_ns, double next_ns)
{
    const as_sampler_settings *settings = s->settings;
    if (as_cancelled(s->env))
        return true;
    if (settings->n_calls || settings->measure_ns)
        return share_done(s, spent_ns) >= 1;
    bool spent = s->trial->n_rounds > 0 && spent_ns + next_ns > (double)settings->budget_ns;
    if (settings->n_rounds)
        return s->trial->n_rounds >= settings->n_rounds || (settings->keeps_budget && spent);
    return spent;
}

static assay_status rounds_run(sampler *s, uint32_t launch, uint32_t n, bool *over)
{
    double spent, sum;
    for (uint32_t i = 0; i < n && !*over; i++) {
        AS_TRY(time_spent(s, &spent));
        *over = is_over(s, spent, s->round_ns);
        if (*over)
            break;
        AS_TRY(round_run(s, launch, i, true, &sum));
        tell(s, AS_PHASE_MEASURE, spent);
        if (s->settings->between) {
            AS_TRY(time_spent(s, &spent));
            AS_TRY(s->settings->between(s->settings->hook_arg, share_done(s, spent)));
        }
        /* A launch is a unit when memory is not shared: incomplete launches are not looked at. */
        if (is_single(s) || i + 1 == n)
            *over = s->settings->enough && s->settings->enough(s->settings->enough_arg, s->trial);
    }
    return ASSAY_OK;
}

/* The first launch also calibrates: the next one costs only its launches and warm-up. */
static double next_launch_ns(const sampler *s)
{
    double n = fmax(s->trial->n_launches, 1), sum = s->n_warm_up * s->round_ns;
    for (int i = 0; i < s->n_arms; i++)
        sum += s->launch_ns[i] / n;
    return sum;
}

/* A continued trial keeps the length of its launches, so that they stay alike; the last one may have been cut short. */
static uint32_t rounds_before(const sampler *s)
{
    uint32_t n = 0, n_launches = s->trial->n_launches, whole = n_launches > 1 ? n_launches - 2 : 0;
    for (size_t i = 0; i < s->trial->n_turns; i++)
        n += s->trial->turns[i].launch == whole && !s->trial->turns[i].order;
    return is_single(s) ? UINT32_MAX : n;
}

/* The cost of launches and rounds, from the second launch on, because the first also calibrates. */
typedef struct costs {
    double launch_ns, rounds_ns;
} costs;

/* Once, when the noise is known: where launches differ more than the rounds of one launch, short launches give more information
 * in the same time.  There must be time for as many launches again. */
static uint32_t rounds_plan(const sampler *s, const costs *c, uint32_t first_round, double spent_ns, uint32_t n_rounds)
{
    const as_sampler_settings *settings = s->settings;
    double                     n_launches = PLAN_LAUNCHES - 1, n = s->trial->n_rounds - first_round;
    if (!settings->rounds || settings->rounds_a_launch || is_single(s) || n < 1)
        return n_rounds;
    double launch = c->launch_ns / n_launches, round = fmax(c->rounds_ns / n, 1);
    /* Rounds beyond four times a launch's cost hardly save a launch, and eight launches are too few to predict the others. */
    double most =
        fmin((((double)settings->budget_ns - spent_ns) / PLAN_LAUNCHES - launch) / round, fmax(4 * launch / round, n_rounds));
    double best = fmin(settings->rounds(settings->enough_arg, s->trial, launch, round), most);
    /* Never a single round: beside busy neighbours an occasional round is far off, and eight launches do not show that. */
    return best < 2 ? (most < 2 ? 1 : 2) : best > 100000 ? 100000 : (uint32_t)lround(best);
}

/* A phase begins or ends at the last reading of the clock. */
static void mark(sampler *s, const char *phase, bool ends)
{
    as_trace_add_mark(s->trial, &(as_trace_mark){.name = phase, .ticks = s->last - s->trial->start_ticks, .ends = ends});
}

static assay_status launches_run(sampler *s)
{
    const as_sampler_settings *settings = s->settings;
    bool                       over = false;
    uint32_t                   first = s->trial->n_launches, n_rounds = first ? rounds_before(s) : 0;
    double                     launch_cost = first ? next_launch_ns(s) : 0, spent, ready, end;
    costs                      cost = {0, 0};
    uint32_t                   first_round = 0; /* of the second launch */
    for (uint32_t launch = first; !over && !(settings->max_launches && launch >= settings->max_launches); launch++) {
        AS_TRY(time_spent(s, &spent));
        if (launch && ((launch > first && is_single(s)) || is_over(s, spent, launch_cost + s->round_ns)))
            break;
        if (launch == first)
            mark(s, "warm-up", false);
        AS_TRY(launch_all(s, launch));
        if (!launch)
            AS_TRY(calibrate(s));
        if (launch == first)
            AS_TRY(cold_find(s));
        double unused;
        if (!launch && s->settings->warm_up != 0) /* measures a round, before planning uses its time */
            AS_TRY(round_run(s, launch, (uint64_t)1 << 33, false, &unused));
        AS_TRY(warm_up(s, launch));
        if (!launch && settings->ready)
            AS_TRY(
                settings->ready(settings->hook_arg, s->warm_ns > 0 ? s->warm_ns : s->call_ns[0], s->trial->calls * s->n_samples));
        AS_TRY(time_spent(s, &ready));
        if (launch == first) {
            mark(s, "warm-up", true);
            mark(s, "measure", false);
        }
        if (!launch)
            s->ready_ns = ready;
        launch_cost = launch ? ready - spent : next_launch_ns(s);
        if (!n_rounds)
            n_rounds = rounds_of_launch(s, ready, launch_cost);
        AS_TRY(rounds_run(s, launch, n_rounds, &over));
        land_all(s);
        s->trial->n_launches = launch + 1;
        AS_TRY(time_spent(s, &end));
        if (!launch)
            first_round = s->trial->n_rounds;
        else
            cost.launch_ns += ready - spent, cost.rounds_ns += end - ready;
        if (!first && launch + 1 == PLAN_LAUNCHES)
            n_rounds = rounds_plan(s, &cost, first_round, end, n_rounds);
    }
    mark(s, "measure", true);
    return ASSAY_OK;
}

/* --- The whole ------------------------------------------------------------------------------------------ */

static assay_status sampler_open(sampler *s)
{
    s->call_ns = AS_TAKE(&s->arena, double, s->n_arms);
    s->launch_ns = AS_TAKE(&s->arena, double, s->n_arms);
    s->order = AS_TAKE(&s->arena, int, s->n_arms);
    s->shots = AS_TAKE(&s->arena, as_shot, MAX_SAMPLES + COLD_SAMPLES);
    s->wall = AS_TAKE(&s->arena, double, MAX_SAMPLES);
    s->cpu = AS_TAKE(&s->arena, double, MAX_SAMPLES);
    if (!s->call_ns || !s->launch_ns || !s->order || !s->shots || !s->wall || !s->cpu)
        return as_fail(s->env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for %d candidates", s->trial->name, s->n_arms);
    double block = s->settings->block_ns > 0 ? s->settings->block_ns : s->n_arms > 1 ? BLOCK_NS : BLOCK_ALONE_NS;
    s->block_ns = block < MAX_BLOCK_NS ? block : MAX_BLOCK_NS;
    s->n_warm_up = -1;
    if (s->settings->probes && s->env->clock.kind != AS_CLOCK_FAKE)
        AS_TRY(as_probes_open(s->env, &s->arena, &s->probes));
    return ASSAY_OK;
}

static assay_status trial_begin(sampler *s)
{
    assay_trace               *t = s->trial;
    const as_sampler_settings *settings = s->settings;
    t->by_cpu = !settings->by_wall && s->env->clock.kind != AS_CLOCK_FAKE;
    for (int i = 0; i < s->n_arms; i++) {
        t->by_cpu = t->by_cpu && s->arms[i].by_cpu;
        t->arms[i].name = as_trace_keep(t, s->arms[i].name);
        t->arms[i].what = as_trace_keep(t, s->arms[i].what);
        if (!t->arms[i].name || !t->arms[i].what)
            return as_fail(s->env, ASSAY_NO_MEMORY, "measure: %s: not enough memory for the names of its candidates", t->name);
    }
    t->memory = settings->memory;
    t->budget_ns = (double)settings->budget_ns;
    t->seed = settings->seed;
    as_machine_fingerprint(t->fingerprint);
    s->before_ns = (double)settings->spent_ns;
    s->begin = s->last = as_clock_now(&s->env->clock);
    return ASSAY_OK;
}

/* The calibration is taken from the record of the first launches: blocks of another length would not be comparable. */
static void trial_go_on(sampler *s)
{
    assay_trace *t = s->trial;
    double       launches = 0;
    s->n_warm_up = warm_up_again(s, (int)t->warm_up_rounds);
    s->n_samples = t->turns[0].n_shots;
    s->warm = is_warmed(s, t->block_ns / ((double)t->calls * s->n_samples));
    for (int i = 0; i < s->n_arms; i++)
        launches += s->launch_ns[i] = t->arms[i].launch_ns * t->n_launches;
    s->round_ns = (t->spent_ns - launches) / t->n_rounds;
    s->before_ns = t->spent_ns + (double)s->settings->spent_ns;
    t->budget_ns = (double)s->settings->budget_ns;
    as_trace_add_note(t, "went_on", "after %u launches and %u rounds, to %.9g s in all", t->n_launches, t->n_rounds,
                      t->budget_ns / 1e9);
    s->begin = s->last = as_clock_now(&s->env->clock);
}

static void trial_end(sampler *s, assay_status status)
{
    assay_trace *t = s->trial;
    double       spent;
    if (time_spent(s, &spent) == ASSAY_OK)
        t->spent_ns = spent;
    if (status != ASSAY_OK && status != ASSAY_CANCELLED) {
        const char *reason = as_trace_keep(t, assay_message(s->env));
        t->state = status == ASSAY_TIMED_OUT ? AS_TRACE_TIMEOUT : AS_TRACE_FAILED;
        t->reason = reason ? reason : "";
    } else if (as_cancelled(s->env)) {
        t->state = AS_TRACE_PARTIAL;
        t->reason = "stopped early";
    }
}

assay_status as_sampler_run(assay_env *env, const as_arm *arms, int n_arms, const as_sampler_settings *settings, assay_trace *trial)
{
    if (n_arms < 1 || n_arms > MAX_ARMS || n_arms != trial->n_arms)
        return as_fail(env, ASSAY_INTERNAL, "measure: %s: %d candidates for a trial of %d", trial->name, n_arms, trial->n_arms);
    sampler      s = {.env = env, .arms = arms, .n_arms = n_arms, .settings = settings, .trial = trial};
    as_pin       pin = {0};
    char         why[128] = "";
    assay_status status = sampler_open(&s);
    if (status == ASSAY_OK && trial->n_turns)
        trial_go_on(&s);
    else if (status == ASSAY_OK)
        status = trial_begin(&s);
    if (status == ASSAY_OK) {
        bool alone = true; /* a device places threads of its own */
        for (int i = 0; i < n_arms; i++)
            alone = alone && arms[i].by_cpu;
        if (settings->cpu >= -1 && alone && !as_pin_self(&pin, settings->cpu < 0 ? as_cpu_self() : settings->cpu, why, sizeof why))
            as_trace_add_note(trial, "pinned", "no: %s", why);
        status = launches_run(&s);
        land_all(&s);
        as_pin_undo(&pin);
    }
    if (status == ASSAY_OK && as_cancelled(env))
        status = as_fail(env, ASSAY_CANCELLED, "measure: %s: stopped after %u rounds", trial->name, trial->n_rounds);
    trial_end(&s, status);
    as_arena_drop(&s.arena);
    return status;
}
