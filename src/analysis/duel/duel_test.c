/* duel_test.c - verdicts on rounds with known differences: what must be found, what must not, and what cannot be told. */
#include "analysis/duel/duel.h"

#include <stdlib.h>

#include "analysis/stat/test_noise.h"
#include "analysis/duel/test_trial.h"
#include "trace/trace_json.h"

static assay_env *fake_env(void)
{
    static assay_env env;
    env = (assay_env){0};
    as_clock_open_fake(&env.clock, 1000);
    return &env;
}

static as_duel_rules rules_at(double margin)
{
    as_duel_rules rules;
    as_duel_rules_standard(&rules);
    rules.margin = margin;
    return rules;
}

/* --- Trials from differences --------------------------------------------------------------------------------------- */

static void turn_add(assay_trace *t, uint32_t launch, uint32_t round, uint32_t arm, uint32_t order, double ns)
{
    t->turns[t->n_turns] = (as_turn){.launch = launch,
                                     .round = round,
                                     .arm = arm,
                                     .order = order,
                                     .start_ns = 1e6 * (double)t->n_turns,
                                     .wall_ns = ns,
                                     .cpu_ns = ns,
                                     .busy = 1,
                                     .steal = 0,
                                     .fma_ns = 50e3,
                                     .copy_ns = 80e3};
    t->n_turns++;
}

/* Candidate 1 over candidate 0 is exp(d[i]) in round i. */
static assay_trace *of_differences(const double *d, size_t n, size_t rounds_a_launch, as_memory_layout memory)
{
    assay_trace *t;
    expect_ok(NULL, as_trace_new_arms(NULL, "planted", 2, &t));
    expect(as_trace_reserve_turns(t, 2 * n, 0));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t launch = (uint32_t)(i / rounds_a_launch), first = i % 3 == 1;
        turn_add(t, launch, i, first, 0, 1e6 * (first ? exp(d[i]) : 1));
        turn_add(t, launch, i, !first, 1, 1e6 * (first ? 1 : exp(d[i])));
        t->n_launches = launch + 1;
    }
    t->n_rounds = (uint32_t)n;
    t->memory = memory;
    t->spent_ns = 2e6 * (double)n;
    t->seed = 7;
    t->arms[0].launch_ns = t->arms[1].launch_ns = 1e6;
    return t;
}

enum { MAX_ROUNDS = 4000 };

/* Normal differences around `centre`. */
static as_duel normal_duel(double centre, double sd, size_t n, uint64_t seed, const as_duel_rules *rules)
{
    double   d[MAX_ROUNDS];
    as_pcg64 g;
    as_duel  duel;
    as_pcg64_seed(&g, seed);
    for (size_t i = 0; i < n; i++)
        d[i] = centre + sd * normal(&g);
    assay_trace *t = of_differences(d, n, n, AS_MEMORY_SHARED);
    as_duel_judge(t, 0, 1, rules, &duel);
    assay_trace_free(t);
    return duel;
}

/* --- The four verdicts ----------------------------------------------------------------------------------------------- */

Test(duel, a_difference_beyond_the_margin_is_slower_or_faster)
{
    as_duel_rules rules = rules_at(0.01);
    as_duel       d = normal_duel(log(1.05), 0.004, 100, 1, &rules);
    expect_eq(d.verdict, AS_SLOWER);
    expect_near(d.ratio, 1.05, 0.002);
    expect(d.lo > 1.01 && d.lo < d.ratio && d.ratio < d.hi && d.hi < 1.06);
    expect(d.confidence >= 0.99);
    expect_str(d.unit, "round");
    expect_eq(d.n_units, 100);
    expect_eq(d.n_rounds, 100);
    expect_eq(d.n_launches, 1);
    expect(d.p_slower < 1e-6 && d.p_faster > 0.99 && d.p_flip < 0.001);
    expect(d.ln_e_slower > 10 && d.ln_e_faster < 0);
    d = normal_duel(-log(1.05), 0.004, 100, 1, &rules);
    expect_eq(d.verdict, AS_FASTER);
    expect_eq(d.severity, AS_SEVERITY_NONE);
    expect_near(d.ratio, 1 / 1.05, 0.002);
    expect(d.p_faster < 1e-6 && d.p_slower > 0.99 && d.p_flip < 0.001);
}

Test(duel, arms_the_other_way_round_give_the_mirrored_verdict)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[50];
    as_duel       ab, ba;
    for (int i = 0; i < 50; i++)
        d[i] = 0.03 + 0.0001 * i;
    assay_trace *t = of_differences(d, 50, 50, AS_MEMORY_SHARED);
    as_duel_judge(t, 0, 1, &rules, &ab);
    as_duel_judge(t, 1, 0, &rules, &ba);
    expect_eq(ab.verdict, AS_SLOWER);
    expect_eq(ba.verdict, AS_FASTER);
    expect_near(ab.ratio * ba.ratio, 1, 1e-12);
    expect_near(ab.lo * ba.hi, 1, 1e-12);
    expect_near(ab.a_ns, ba.b_ns, 0);
    expect_near(ab.a_ns, 1e6, 0);
    expect(ab.b_lo <= ab.b_ns && ab.b_ns <= ab.b_hi && ab.b_ns > 1.03e6);
    assay_trace_free(t);
}

/* A call of the second candidate takes 4 times as long and does 8 items: an item takes half the time. */
Test(duel, calls_of_different_numbers_of_items_are_judged_per_item)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[50];
    as_duel       duel;
    for (int i = 0; i < 50; i++)
        d[i] = log(4) + 0.0001 * (i - 25);
    assay_trace *t = of_differences(d, 50, 50, AS_MEMORY_SHARED);
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SLOWER);
    expect(!duel.per_item && isnan(duel.a_items));
    t->arms[0].items = 1, t->arms[1].items = 8;
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_FASTER);
    expect(duel.per_item);
    expect_near(duel.ratio, .5, 1e-3);
    expect_near(duel.b_ns, 4e6, 1e4); /* of a call, as it was */
    expect(as_duel_settled(t, 0, 1, &rules));
    t->arms[0].items = 8; /* the same number: per call */
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SLOWER);
    expect(!duel.per_item);
    assay_trace_free(t);
}

Test(duel, same_needs_a_margin_and_an_interval_within_it)
{
    as_duel_rules rules = rules_at(0.01);
    as_duel       d = normal_duel(0, 0.003, 200, 2, &rules);
    expect_eq(d.verdict, AS_SAME);
    expect(d.lo > 1 / 1.01 && d.hi < 1.01);
    rules.margin = 0;
    d = normal_duel(0, 0.003, 200, 2, &rules);
    expect_eq(d.verdict, AS_UNRESOLVED); /* no number of rounds proves that nothing differs at all */
    expect(!(d.ln_e_same > 0));
}

Test(duel, at_the_margin_nothing_can_be_said)
{
    for (int side = -1; side < 2; side += 2) {
        as_duel_rules rules = rules_at(0.01);
        as_duel       d = normal_duel(side * log1p(0.01), 0.003, 400, 3, &rules);
        expect_eq(d.verdict, AS_UNRESOLVED);
        expect(!d.early);
        expect_eq(d.severity, AS_SEVERITY_NONE);
    }
}

Test(duel, a_wider_margin_makes_a_slower_one_the_same)
{
    static const struct {
        double     margin;
        as_verdict verdict;
    } all[] = {{0, AS_SLOWER}, {0.01, AS_SLOWER}, {0.02, AS_UNRESOLVED}, {0.05, AS_SAME}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        as_duel_rules rules = rules_at(all[i].margin);
        expect_eq(normal_duel(log1p(0.02), 0.003, 300, 4, &rules).verdict, all[i].verdict);
    }
}

Test(duel, too_few_rounds_have_no_interval_and_no_verdict)
{
    as_duel_rules rules = rules_at(0.01);
    as_duel       d = normal_duel(0.5, 0.001, 5, 5, &rules);
    expect_eq(d.verdict, AS_UNRESOLVED);
    expect(isnan(d.lo) && isnan(d.hi) && isnan(d.confidence));
    expect_near(d.ratio, exp(0.5), 0.01); /* the estimate is still reported */
    d = normal_duel(0, 1, 0, 5, &rules);
    expect_eq(d.verdict, AS_UNRESOLVED);
    expect(isnan(d.ratio) && isnan(d.a_ns) && isnan(d.visible) && isnan(d.needed_ns));
    expect_near(d.p_slower, 1, 0);
}

Test(duel, rounds_that_lack_an_arm_do_not_count)
{
    as_duel_rules rules = rules_at(0.01);
    as_duel       duel;
    assay_trace  *t;
    expect_ok(NULL, as_trace_new_arms(NULL, "planted", 3, &t));
    expect(as_trace_reserve_turns(t, 100, 0));
    for (uint32_t r = 0; r < 20; r++) {
        turn_add(t, 0, r, 2, 0, 3e6);
        turn_add(t, 0, r, 0, 1, r == 7 ? NAN : 1e6);
        if (r != 5)
            turn_add(t, 0, r, 1, 2, 2e6);
    }
    t->n_rounds = 20;
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.n_rounds, 18);
    expect_near(duel.ratio, 2, 1e-9);
    as_duel_judge(t, 0, 2, &rules, &duel);
    expect_eq(duel.n_rounds, 19);
    expect_near(duel.ratio, 3, 1e-9);
    assay_trace_free(t);
}

Test(duel, the_decided_clock_is_the_one_that_counts)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[60] = {0};
    as_duel       duel;
    assay_trace  *t = of_differences(d, 60, 60, AS_MEMORY_SHARED);
    for (size_t i = 0; i < t->n_turns; i++)
        if (t->turns[i].arm == 1)
            t->turns[i].wall_ns *= 1.5;
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SLOWER);
    t->by_cpu = true;
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SAME);
    assay_trace_free(t);
}

/* --- Severity -------------------------------------------------------------------------------------------------------------- */

Test(duel, severity_is_by_the_near_end_of_the_interval)
{
    static const struct {
        double      ratio;
        as_severity severity;
    } all[] = {{1.03, AS_SEVERITY_MINOR}, {1.14, AS_SEVERITY_MINOR}, {1.16, AS_SEVERITY_MODERATE}, {1.29, AS_SEVERITY_MODERATE},
               {1.31, AS_SEVERITY_MAJOR}, {1.49, AS_SEVERITY_MAJOR}, {1.51, AS_SEVERITY_CRITICAL}, {9, AS_SEVERITY_CRITICAL}};
    as_duel_rules rules = rules_at(0.01);
    for (size_t i = 0; i < AS_COUNT(all); i++)
        expect_eq(normal_duel(log(all[i].ratio), 0.002, 100, 6, &rules).severity, all[i].severity);
    as_duel d = normal_duel(log(1.55), 0.15, 60, 6, &rules); /* the estimate is critical, but the near end of the interval is not */
    expect_eq(d.verdict, AS_SLOWER);
    expect(d.ratio > 1.5 && d.lo > 1.3 && d.lo < 1.5);
    expect_eq(d.severity, AS_SEVERITY_MAJOR);
}

Test(duel, severities_can_be_set)
{
    as_duel_rules rules = rules_at(0.01);
    rules.severity[AS_SEVERITY_CRITICAL] = 0.05;
    expect_eq(normal_duel(log(1.06), 0.002, 100, 6, &rules).severity, AS_SEVERITY_CRITICAL);
    expect_str(as_severity_text(AS_SEVERITY_MODERATE), "moderate");
    expect_str(as_verdict_text(AS_UNRESOLVED), "unresolved");
    expect_str(as_verdict_text(AS_N_VERDICTS), "unknown");
}

/* --- Early -------------------------------------------------------------------------------------------------------------------- */

static bool is_settled(const double *d, size_t n, size_t rounds_a_launch, as_memory_layout memory, double margin)
{
    as_duel_rules rules = rules_at(margin);
    assay_trace  *t = of_differences(d, n, rounds_a_launch, memory);
    bool          settled = as_duel_settled(t, 0, 1, &rules);
    assay_trace_free(t);
    return settled;
}

Test(duel, rounds_that_agree_settle_it_early)
{
    double d[40];
    for (int i = 0; i < 40; i++)
        d[i] = 0.02 + 0.001 * (i % 3);
    expect(!is_settled(d, 8, 40, AS_MEMORY_SHARED, 0.01)); /* E = 100 is not 1 in 1000 */
    expect(is_settled(d, 20, 40, AS_MEMORY_SHARED, 0.01));
    expect(!is_settled(d, 40, 40, AS_MEMORY_SHARED, 0.021)); /* some are beyond that margin and some within */
    expect(is_settled(d, 40, 40, AS_MEMORY_SHARED, 0.05));   /* and all within this one */
    expect(!is_settled(d, 0, 40, AS_MEMORY_SHARED, 0.01));
    for (int i = 0; i < 40; i++)
        d[i] = i % 2 ? 0.02 : -0.02;
    expect(!is_settled(d, 40, 40, AS_MEMORY_SHARED, 0.01));
}

Test(duel, what_was_settled_early_stays_so)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[80];
    as_duel       duel;
    for (int i = 0; i < 80; i++)
        d[i] = i < 20 ? 0.02 : i % 2 ? 0.03 : -0.03;
    expect(is_settled(d, 20, 80, AS_MEMORY_SHARED, 0.01));
    assay_trace *t = of_differences(d, 80, 80, AS_MEMORY_SHARED);
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SLOWER);
    expect(duel.early);
    assay_trace_free(t);
}

Test(duel, early_looks_count_launches_where_those_are_the_units)
{
    double d[400];
    for (int i = 0; i < 400; i++)
        d[i] = 0.02;
    expect(is_settled(d, 400, 100, AS_MEMORY_SHARED, 0.01));
    expect(!is_settled(d, 400, 100, AS_MEMORY_RANDOM, 0.01)); /* four of them */
    expect(is_settled(d, 400, 20, AS_MEMORY_RANDOM, 0.01));   /* twenty */
}

/* --- Launches are units -------------------------------------------------------------------------------------------------------- */

Test(duel, many_rounds_of_three_launches_are_three_units)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[600];
    as_pcg64      g;
    as_duel       duel;
    as_pcg64_seed(&g, 8);
    for (int i = 0; i < 600; i++)
        d[i] = 0.02 + 0.004 * (i / 200) + 0.001 * normal(&g);
    static const as_memory_layout apart[] = {AS_MEMORY_RANDOM, AS_MEMORY_RELAUNCHED};
    for (int i = 0; i < 2; i++) {
        assay_trace *t = of_differences(d, 600, 200, apart[i]);
        as_duel_judge(t, 0, 1, &rules, &duel);
        expect_eq(duel.verdict, AS_UNRESOLVED);
        expect_str(duel.unit, "launch");
        expect_eq(duel.n_units, 3);
        expect_eq(duel.n_rounds, 600);
        expect_eq(duel.n_launches, 3);
        expect(isnan(duel.lo));
        expect_near(duel.ratio, exp(0.024), 0.001);
        assay_trace_free(t);
    }
    assay_trace *t = of_differences(d, 600, 200, AS_MEMORY_SHARED); /* where both candidates share the memory, there are 600
                                                                     * units */
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SLOWER);
    expect_eq(duel.n_units, 600);
    assay_trace_free(t);
}

Test(duel, half_of_the_rounds_of_a_launch_may_be_disturbed)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[320];
    as_duel       duel;
    for (int i = 0; i < 320; i++)
        d[i] = i % 5 < 2 ? 0.4 : 0.0001 * (i / 20);
    assay_trace *t = of_differences(d, 320, 20, AS_MEMORY_RANDOM);
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SAME);
    expect_eq(duel.n_units, 16);
    assay_trace_free(t);
}

/* --- False alarms ------------------------------------------------------------------------------------------------------------------ */

/* A simulated machine: an autocorrelated level, and a neighbour that comes and goes and makes everything a third slower. */
typedef struct machine {
    as_pcg64 g;
    double   level;
    bool     neighbour;
} machine;

static double machine_block(machine *m)
{
    m->level = 0.9 * m->level + 0.004 * normal(&m->g);
    if (as_pcg64_double(&m->g) < (m->neighbour ? 0.15 : 0.05))
        m->neighbour = !m->neighbour;
    double spike = as_pcg64_double(&m->g) < 0.02 ? 5 * as_pcg64_double(&m->g) : 0;
    return 1e6 * exp(m->level + (m->neighbour ? 0.3 : 0) + 0.001 * normal(&m->g)) * (1 + spike);
}

/* The second candidate does `extra` more; each launch shifts each candidate by up to `place`. */
static assay_trace *machine_trial(uint64_t seed, double extra, double place, uint32_t n_launches, uint32_t rounds_a_launch)
{
    machine      m = {.level = 0};
    assay_trace *t;
    as_pcg64_seed(&m.g, seed);
    expect_ok(NULL, as_trace_new_arms(NULL, "machine", 2, &t));
    expect(as_trace_reserve_turns(t, 2 * (size_t)n_launches * rounds_a_launch, 0));
    for (uint32_t l = 0; l < n_launches; l++) {
        double at[2] = {place * normal(&m.g), place * normal(&m.g) + log1p(extra)};
        for (uint32_t r = 0; r < rounds_a_launch; r++) {
            uint32_t first = as_pcg64_double(&m.g) < 0.5;
            for (uint32_t k = 0; k < 2; k++)
                turn_add(t, l, t->n_rounds, first ^ k, k, machine_block(&m) * exp(at[first ^ k]));
            t->n_rounds++;
        }
    }
    t->n_launches = n_launches;
    t->memory = n_launches > 1 ? AS_MEMORY_RANDOM : AS_MEMORY_SHARED;
    t->seed = seed;
    t->spent_ns = 1e9;
    return t;
}

enum { TRIALS = 400 };

static int machine_count(int trials, double extra, double place, uint32_t n_launches, uint32_t rounds_a_launch, bool pooled,
                         as_verdict a, as_verdict b)
{
    as_duel_rules rules = rules_at(0);
    int           n = 0;
    for (uint64_t i = 0; i < (uint64_t)trials; i++) {
        as_duel      duel;
        assay_trace *t = machine_trial(1000 + i, extra, place, n_launches, rounds_a_launch);
        if (pooled)
            t->memory = AS_MEMORY_SHARED;
        as_duel_judge(t, 0, 1, &rules, &duel);
        n += duel.verdict == a || duel.verdict == b;
        assay_trace_free(t);
    }
    return n;
}

/* One in a hundred would be 4 of 400; 11 or more happen in one of 400 sets of trials. */
Test(duel, identical_arms_on_a_noisy_machine_rarely_differ)
{
    int n = machine_count(TRIALS, 0, 0, 1, 60, false, AS_SLOWER, AS_FASTER);
    if (n > 10)
        fail("%d false alarms in %d trials", n, TRIALS);
}

Test(duel, a_slowdown_on_that_machine_is_found)
{
    int n = machine_count(100, 0.03, 0, 1, 120, false, AS_SLOWER, AS_SLOWER);
    if (n < 95)
        fail("%d of 100 found", n);
}

Test(duel, identical_arms_at_random_places_rarely_differ_and_would_if_rounds_were_pooled)
{
    int n = machine_count(TRIALS, 0, 0.01, 16, 8, false, AS_SLOWER, AS_FASTER),
        pooled = machine_count(100, 0, 0.01, 16, 8, true, AS_SLOWER, AS_FASTER);
    if (n > 10)
        fail("%d false alarms in %d trials", n, TRIALS);
    if (pooled < 10) /* of a quarter of the trials */
        fail("pooled rounds gave %d false alarms, launches %d: this test shows nothing", pooled, n);
}

/* --- The interval --------------------------------------------------------------------------------------------------------------------- */

Test(duel, the_sign_interval_wins_where_a_neighbour_comes_and_goes)
{
    as_duel_rules rules = rules_at(0.01);
    double        d[200];
    as_pcg64      g;
    as_duel       duel;
    as_pcg64_seed(&g, 10);
    for (int i = 0; i < 200; i++)
        d[i] = 0.02 + (i % 5 < 3 ? 0.0005 * normal(&g) : (i % 2 ? 0.3 : -0.3) + 0.01 * normal(&g));
    assay_trace *t = of_differences(d, 200, 200, AS_MEMORY_SHARED);
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_str(duel.by, "sign");
    expect(duel.hi - duel.lo < 0.002);
    expect(duel.confidence >= 0.996);
    expect_eq(duel.verdict, AS_SLOWER);
    assay_trace_free(t);
    expect_str(normal_duel(0.02, 0.003, 200, 11, &rules).by, "signed rank");
}

Test(duel, a_smaller_alpha_gives_a_wider_interval)
{
    as_duel_rules rules = rules_at(0.01);
    as_duel       standard = normal_duel(0, 0.01, 100, 12, &rules);
    rules.alpha = 0.0001;
    as_duel strict = normal_duel(0, 0.01, 100, 12, &rules);
    expect(strict.hi - strict.lo > standard.hi - standard.lo);
    expect(strict.confidence >= 1 - 0.4 * 0.0001);
}

/* --- The smallest detectable change
 * ------------------------------------------------------------------------------------------------------------ */

Test(duel, four_times_the_rounds_see_half_the_effect)
{
    as_duel_rules rules = rules_at(0);
    double        once = normal_duel(0, 0.01, 250, 13, &rules).visible, four = normal_duel(0, 0.01, 1000, 14, &rules).visible;
    expect(once > 0.0015 && once < 0.004);
    expect_near(once / four, 2, 0.3);
    expect_near(normal_duel(0, 0.02, 250, 13, &rules).visible / once, 2, 0.1); /* twice the noise gives twice the change */
}

Test(duel, what_is_called_visible_is_mostly_found_and_a_third_of_it_is_not)
{
    as_duel_rules rules = rules_at(0.01);
    double        visible = normal_duel(0, 0.01, 200, 15, &rules).visible;
    int           n = 0, half = 0;
    expect(visible > 0.01); /* beyond the margin, which comes first */
    for (uint64_t i = 0; i < 100; i++) {
        n += normal_duel(log1p(visible), 0.01, 200, 2000 + i, &rules).verdict == AS_SLOWER;
        half += normal_duel(log1p(0.01 + (visible - 0.01) / 3), 0.01, 200, 2000 + i, &rules).verdict == AS_SLOWER;
    }
    if (n < 85)
        fail("%d of 100 found at %g", n, visible);
    if (half > 50)
        fail("%d of 100 found at a third of it", half);
}

Test(duel, the_time_needed_grows_as_the_estimate_nears_the_margin)
{
    as_duel_rules rules = rules_at(0.01);
    double        far = normal_duel(log(1.03), 0.01, 100, 16, &rules).needed_ns,
           near = normal_duel(log(1.0135), 0.01, 100, 16, &rules).needed_ns;
    expect(isfinite(far) && far > 0);
    expect(near > 4 * far);
    expect(normal_duel(log(1.03), 0.03, 100, 16, &rules).needed_ns > 4 * far);
}

Test(duel, the_time_needed_suffices)
{
    as_duel_rules rules = rules_at(0.01);
    as_duel       d = normal_duel(log(1.0135), 0.015, 100, 19, &rules);
    expect_eq(d.verdict, AS_UNRESOLVED);
    expect_near(d.ratio, 1.0135, 0.0008);   /* this is closer to the margin than a quarter of it, so the answer is for that
                                             * quarter */
    size_t n = (size_t)(d.needed_ns / 2e6); /* a round takes 2 ms */
    expect(n > 100 && n < MAX_ROUNDS);
    int found = 0;
    for (uint64_t i = 0; i < 40; i++)
        found += normal_duel(log(d.ratio), 0.015, n, 3000 + i, &rules).verdict == AS_SLOWER;
    if (found < 34)
        fail("%d of 40 found after %zu rounds at %g", found, n, d.ratio);
}

/* --- What disturbed it ------------------------------------------------------------------------------------------------------------------------ */

static void disturbed(void (*plant)(as_turn *turn), int share, as_disturbance *out, char (*said)[160], int *n)
{
    double       d[100] = {0};
    assay_trace *t = of_differences(d, 100, 100, AS_MEMORY_SHARED);
    for (int i = 0; i < share; i++)
        plant(&t->turns[2 * i]);
    as_disturbance_find(t, out);
    *n = as_disturbance_say(out, said, 3);
    assay_trace_free(t);
}

static void slow_fma(as_turn *turn) { turn->fma_ns *= 1.2, turn->copy_ns *= 1.5, turn->busy = 0.5; }
static void slow_copy(as_turn *turn) { turn->copy_ns *= 1.5, turn->busy = 0.5; }
static void low_busy(as_turn *turn) { turn->busy = 0.9; }
static void stolen(as_turn *turn) { turn->steal = 0.02; }
static void unknown(as_turn *turn) { turn->fma_ns = turn->copy_ns = turn->busy = turn->steal = NAN; }

static void expect_only(void (*plant)(as_turn *turn), as_disturbance want, const char *sentence)
{
    as_disturbance d;
    char           said[3][160];
    int            n;
    disturbed(plant, 40, &d, said, &n);
    expect_near(d.frequency, want.frequency, 1e-9);
    expect_near(d.dram, want.dram, 1e-9);
    expect_near(d.preempted, want.preempted, 1e-9);
    expect_near(d.stolen, want.stolen, 1e-9);
    expect_eq(n, sentence ? 1 : 0);
    if (sentence)
        expect_has(said[0], sentence);
    disturbed(plant, 9, &d, said, &n); /* 4.5 % of the blocks are not worth reporting */
    expect_eq(n, 0);
}

Test(duel, disturbances_are_told_apart)
{
    expect_only(slow_fma, (as_disturbance){.frequency = 0.2}, "the core was more than 1.1 times slower in 20 % of the blocks");
    expect_only(slow_copy, (as_disturbance){.dram = 0.2}, "memory was more than 1.3 times slower in 20 % of the blocks");
    expect_only(low_busy, (as_disturbance){.preempted = 0.2}, "other work took this CPU in 20 % of the blocks");
    expect_only(stolen, (as_disturbance){.stolen = 0.2}, "hypervisor took more than 1 % of the time in 20 % of the blocks");
    expect_only(unknown, (as_disturbance){.stolen = 0}, NULL);
}

Test(duel, the_largest_disturbance_is_said_first)
{
    as_disturbance d = {.frequency = 0.1, .dram = 0.3, .preempted = 0.2, .stolen = 0.15};
    char           said[4][160];
    expect_eq(as_disturbance_say(&d, said, 3), 3);
    expect_has(said[0], "memory was more than 1.3 times slower");
    expect_has(said[1], "other work took this CPU");
    expect_has(said[2], "hypervisor");
    expect_eq(as_disturbance_say(&d, said, 4), 4);
    expect_has(said[3], "the core was more than 1.1 times slower");
}

Test(duel, a_verdict_comes_with_what_disturbed_it)
{
    assay_env    *env = fake_env();
    as_duel_rules rules = rules_at(0.01);
    as_duel       duel;
    assay_trace  *t = as_planted_trial(env, (as_planted){.ratio = 1.05, .neighbour = 0.4, .n_rounds = 10});
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_SLOWER);
    expect(duel.n_reasons >= 1);
    expect_has(duel.reasons[0], "memory was more than 1.3 times slower");
    assay_trace_free(t);
}

/* --- One candidate alone
 * ------------------------------------------------------------------------------------------------------------------------------ */

static as_alone alone_of(size_t n_blocks, size_t n_shots, double (*ns)(size_t i))
{
    assay_trace *t;
    as_alone     alone;
    expect_ok(NULL, as_trace_new_arms(NULL, "alone", 1, &t));
    expect(as_trace_reserve_turns(t, n_blocks, n_blocks * n_shots));
    for (size_t i = 0; i < n_blocks; i++) {
        turn_add(t, 0, (uint32_t)i, 0, 0, ns(i * (n_shots ? n_shots : 1)));
        t->turns[i].first_shot = (uint32_t)t->n_shots;
        t->turns[i].n_shots = (uint32_t)n_shots;
        for (size_t k = 0; k < n_shots; k++)
            t->shots[t->n_shots++] = (as_shot){(float)ns(i * n_shots + k), (float)NAN};
    }
    as_alone_judge(t, 0, &alone);
    assay_trace_free(t);
    return alone;
}

/* 1000 .. 1018 ns in an order without a trend. */
static double wavy(size_t i) { return 1000 + 2 * (double)(i * 7 % 10); }
static double throttled(size_t i) { return wavy(i) * (i < 600 ? 1 : 1.3); }
static double ragged(size_t i) { return 1000 + 100 * (double)(i * 7 % 10); }

Test(alone, quantiles_are_shown_only_where_samples_support_them)
{
    static const struct {
        size_t n;
        bool   p5, p99;
    } all[] = {{10, false, false}, {661, true, false}, {662, true, true}, {3000, true, true}};
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        as_alone a = alone_of(1, all[i].n, wavy);
        expect_eq(a.n_samples, all[i].n);
        expect_near(a.min, 1000, 0);
        expect(a.p25 <= a.median && a.median <= a.p75);
        expect_eq(isnan(a.p5), !all[i].p5);
        expect_eq(isnan(a.p95), !all[i].p5);
        expect_eq(isnan(a.p99), !all[i].p99);
        if (all[i].p99)
            expect(a.p99 <= 1018 && a.p99 >= a.p95);
    }
    as_alone a = alone_of(1, 3000, wavy);
    expect(a.p99_lo <= a.p99 && a.p99 <= a.p99_hi);
    expect_near(a.median, 1009, 1.01);
}

Test(alone, an_interval_needs_forty_values)
{
    as_alone few = alone_of(1, 39, wavy), many = alone_of(1, 400, wavy);
    expect(isnan(few.lo) && isnan(few.hi) && isnan(few.n_effective));
    expect(many.lo <= many.median && many.median <= many.hi && many.hi <= 1018);
    expect(many.confidence >= 0.95 && many.n_effective > 0);
}

Test(alone, without_samples_blocks_are_what_is_summed_up)
{
    as_alone a = alone_of(100, 0, wavy);
    expect_eq(a.n_samples, 100);
    expect_eq(a.n_blocks, 100);
    expect_near(a.min, 1000, 0);
    expect_near(a.wall_median, a.median, 0);
    a = alone_of(0, 0, wavy);
    expect(isnan(a.median) && isnan(a.min));
    expect_str(a.noise, "unknown");
}

Test(alone, the_word_for_its_noise_says_whether_it_was_steady)
{
    as_alone quiet = alone_of(100, 10, wavy), noisy = alone_of(100, 10, ragged), suspect = alone_of(100, 10, throttled);
    expect_str(quiet.noise, "quiet");
    expect_eq(quiet.steady, AS_STEADY_FLAT);
    expect_str(noisy.noise, "noisy");
    expect_str(suspect.noise, "suspect");
    expect_eq(suspect.steady, AS_STEADY_SLOWDOWN);
    expect_near(quiet.busy, 1, 0);
    expect_near(quiet.contaminated, 0, 0);
}

Test(alone, blocks_that_waited_for_the_cpu_make_it_noisy)
{
    double       d[100] = {0};
    as_alone     a;
    assay_trace *t = of_differences(d, 100, 100, AS_MEMORY_SHARED);
    for (size_t i = 0; i < 60; i++)
        t->turns[i].busy = 0.5;
    as_alone_judge(t, 0, &a);
    expect_near(a.contaminated, 0.3, 1e-9);
    expect_near(a.busy, 1, 0);
    expect_str(a.noise, "noisy");
    expect_eq(a.n_reasons, 1);
    assay_trace_free(t);
}

/* --- Few units, far apart ------------------------------------------------------------------------------------------------------------------------ */

/* Trials of n launches, one round each, with these logarithms of b over a. */
static assay_trace *few(assay_env *env, const double *d, int n)
{
    assay_trace *t = as_planted_trial(env, (as_planted){.n_launches = n, .n_rounds = 1});
    for (size_t i = 0; i < t->n_turns; i++)
        t->turns[i].cpu_ns = 1e6 * (t->turns[i].arm ? exp(d[t->turns[i].launch]) : 1);
    return t;
}

Test(duel, a_tenth_of_the_time_is_faster_after_three_launches)
{
    assay_env    *env = fake_env();
    as_duel_rules rules = rules_at(0.01);
    const double  d[] = {log(0.1), log(0.104), log(0.097)};
    as_duel       duel;
    assay_trace  *t = few(env, d, 3);
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_FASTER);
    expect_str(duel.by, "size");
    expect(duel.lo < 0.1 && duel.hi > 0.1 && duel.hi < 0.2);
    assay_trace_free(t);
    t = few(env, d, 2); /* two may agree by chance */
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_eq(duel.verdict, AS_UNRESOLVED);
    expect(duel.needed_ns > t->spent_ns);
    assay_trace_free(t);
}

/* Each launch gets one of two speeds by chance.  With three launches, Student's interval alone would be wrong in a quarter of the
 * trials. */
Test(duel, the_luck_of_few_launches_decides_nothing)
{
    assay_env    *env = fake_env();
    as_duel_rules rules = rules_at(0.01);
    uint64_t      state = 5;
    for (int k = 0; k < 300; k++) {
        int    n = 3 + k % 6;
        double d[8];
        for (int i = 0; i < n; i++)
            d[i] = (as_planted_draw(&state) > 0 ? 0.35 : -0.35) + 1e-4 * as_planted_draw(&state);
        assay_trace *t = few(env, d, n);
        as_duel      duel;
        as_duel_judge(t, 0, 1, &rules, &duel);
        expect_eq(duel.verdict, AS_UNRESOLVED);
        assay_trace_free(t);
    }
}

/* --- What is reported
 * --------------------------------------------------------------------------------------------------------------------------- */

Test(duel, what_did_not_suffice_is_never_said_to_suffice)
{
    assay_env *env = fake_env();
    int        n_unresolved = 0;
    for (uint64_t i = 0; i < 300; i++) {
        as_duel_rules rules = rules_at(i % 3 ? 0.01 : 0);
        assay_trace  *t = as_planted_trial(env, (as_planted){.ratio = 1 + 0.002 * (double)(i % 12),
                                                             .noise = 0.02 + 0.02 * (double)(i % 5),
                                                             .n_launches = 1 + (int)(i % 23),
                                                             .n_rounds = 1 + (int)(i % 4),
                                                             .seed = 900 + i});
        as_duel       duel;
        as_duel_judge(t, 0, 1, &rules, &duel);
        n_unresolved += duel.verdict == AS_UNRESOLVED;
        if (duel.verdict == AS_UNRESOLVED)
            expect(isnan(duel.needed_ns) ? duel.n_rounds < 2 : duel.needed_ns > t->spent_ns);
        else
            expect(duel.needed_ns > 0 && duel.needed_ns <= t->spent_ns); /* it was enough */
        assay_trace_free(t);
    }
    expect(n_unresolved > 100);
}

Test(duel, the_time_of_b_that_is_shown_is_on_the_side_of_the_change)
{
    assay_env    *env = fake_env();
    as_duel_rules rules = rules_at(0.01);
    assay_trace  *t = as_planted_trial(env, (as_planted){.ratio = 0.93});
    for (size_t i = 0; i < t->n_turns; i++) /* the machine was slower in most of the later rounds, and b's median with it */
        t->turns[i].cpu_ns *= t->turns[i].round % 5 == (t->turns[i].arm ? 1 : 0) ? 0.5 : 1;
    as_duel duel;
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_near(as_duel_b_ns(&duel) / duel.a_ns, duel.ratio, 1e-12);
    duel.ratio = NAN;
    expect_near(as_duel_b_ns(&duel), duel.b_ns, 0); /* without a pair: b's own time */
    assay_trace_free(t);
}

Test(duel, launches_that_differ_are_told_from_rounds_that_do)
{
    assay_env    *env = fake_env();
    as_duel_rules rules = rules_at(0.01);
    uint64_t      state = 3;
    for (int lucky = 0; lucky < 2; lucky++) {
        assay_trace *t = as_planted_trial(env, (as_planted){.n_launches = 20, .n_rounds = 6});
        double       luck[20];
        as_duel      duel;
        for (int i = 0; i < 20; i++)
            luck[i] = 0.08 * as_planted_draw(&state);
        for (size_t i = 0; i < t->n_turns; i++)
            t->turns[i].cpu_ns = 1e6 * (1 + (lucky && t->turns[i].arm ? luck[t->turns[i].launch] : 0) +
                                        (lucky ? 0.01 : 0.08) * as_planted_draw(&state));
        as_duel_judge(t, 0, 1, &rules, &duel);
        expect_eq(as_duel_luck(&duel), lucky);
        double few_rounds = as_duel_rounds(t, 0, 1, 10e6, 10e6); /* launches that cost as much as rounds */
        expect(lucky ? few_rounds < 1.5 : few_rounds > 2);
        assay_trace_free(t);
    }
}

/* --- Again from the record ---------------------------------------------------------------------------------------------------------------------- */

static assay_trace *again(assay_env *env, const assay_trace *t)
{
    char        *text = NULL;
    size_t       n;
    as_json      w;
    json_t      *root = NULL;
    assay_trace *back = NULL;
    FILE        *file = open_memstream(&text, &n);
    expect(file);
    as_json_start(&w, file, false);
    as_trace_json_write(t, &w, true);
    as_json_finish(&w);
    fclose(file);
    expect_ok(env, as_json_parse(env, "test", "t.json", text, n, &root));
    expect_ok(env, as_trace_json_read(env, "test", "t.json", root, &back));
    json_decref(root);
    free(text);
    return back;
}

static void duel_text(const as_duel *d, char *out, size_t size)
{
    snprintf(
        out, size,
        "%d %d %d %.17g %.17g %.17g %.17g %s %s %zu %zu %zu %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %d %s",
        (int)d->verdict, (int)d->severity, d->early, d->ratio, d->lo, d->hi, d->confidence, d->by, d->unit, d->n_units, d->n_rounds,
        d->n_launches, d->p_slower, d->p_faster, d->p_flip, d->ln_e_slower, d->ln_e_faster, d->ln_e_same, d->variance.sigma_launch,
        d->variance.sigma_round, d->visible, d->needed_ns, d->a_ns, d->b_ns, d->a_lo, d->a_hi, d->b_lo, d->b_hi, d->n_reasons,
        d->n_reasons ? d->reasons[0] : "");
}

static void alone_text(const as_alone *a, char *out, size_t size)
{
    snprintf(out, size, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %zu %d %.17g %.17g %s", a->median,
             a->lo, a->hi, a->confidence, a->min, a->p5, a->p25, a->p75, a->p95, a->p99, a->p99_lo, a->n_effective, a->n_samples,
             (int)a->steady, a->busy, a->contaminated, a->noise);
}

Test(duel, a_verdict_from_the_record_is_the_verdict)
{
    assay_env    *env = fake_env();
    as_duel_rules rules = rules_at(0.01);
    for (uint64_t i = 0; i < 8; i++) {
        assay_trace *t = as_planted_trial(
            env, (as_planted){
                     .ratio = 1 + 0.01 * (double)(i % 4), .seed = 50 + i, .n_shots = i % 2 ? 9 : 0, .neighbour = i % 3 ? 0.2 : 0});
        t->memory = i % 2 ? AS_MEMORY_SHARED : AS_MEMORY_RANDOM;
        t->by_cpu = i < 4;
        assay_trace *back = again(env, t);
        as_duel      before, after;
        as_alone     alone_before, alone_after;
        char         want[2048], got[2048];
        as_duel_judge(t, 0, 1, &rules, &before);
        as_duel_judge(back, 0, 1, &rules, &after);
        duel_text(&before, want, sizeof want);
        duel_text(&after, got, sizeof got);
        expect_str(got, want);
        as_alone_judge(t, 1, &alone_before);
        as_alone_judge(back, 1, &alone_after);
        alone_text(&alone_before, want, sizeof want);
        alone_text(&alone_after, got, sizeof got);
        expect_str(got, want);
        assay_trace_free(back);
        assay_trace_free(t);
    }
}
