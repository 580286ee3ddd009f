/* sweep_test.c - winners, crossovers and choices on duels with known ratios. */
#include "analysis/duel/sweep.h"

#include "tests/runner/test.h"

enum { N = 4 };

/* b over a is `ratio`, known to one part in `width`. */
static as_duel duel_of(double ratio, double width)
{
    return (as_duel){.ratio = ratio,
                     .lo = ratio * (1 - width),
                     .hi = ratio * (1 + width),
                     .a_ns = 100,
                     .b_ns = 100 * ratio,
                     .a_items = NAN,
                     .b_items = NAN,
                     .n_rounds = 80};
}

typedef struct fixture {
    as_duel      duels[N];
    as_sweep_row rows[N];
    as_sweep     sweep;
    as_trace_arm arms[2];
    assay_trace  trial; /* of every row: what ran */
} fixture;

static void fixture_ran(fixture *f, as_work a, as_work b)
{
    for (int i = 0; i < 2; i++)
        f->arms[i] = (as_trace_arm){
            .name = "", .work = i ? b : a, .launch_ns = NAN, .first_ns = {NAN, NAN, NAN}, .ledger = {NAN, NAN, NAN, NAN, NAN}};
    f->trial = (assay_trace){.arms = f->arms, .n_arms = 2};
    for (int i = 0; i < N; i++)
        f->rows[i].trial = &f->trial;
}

/* b starts at twice a's time at 1 and halves with every factor of 4. */
static void fixture_make(fixture *f, double width)
{
    static const char *const arms[] = {"a", "b"}, *const labels[] = {"1", "4", "16", "64"};
    for (int i = 0; i < N; i++) {
        f->duels[i] = duel_of(2 * pow(.5, i + .5), width); /* 1.41, .707, ... */
        f->duels[i].a_items = f->duels[i].b_items = pow(4, i);
        f->rows[i] = (as_sweep_row){.label = labels[i], .value = pow(4, i), .duels = &f->duels[i]};
    }
    f->sweep = (as_sweep){.key = "batch", .arms = arms, .n_arms = 2, .rows = f->rows, .n_rows = N};
}

Test(sweep, the_winner_is_certain_only_beyond_its_interval)
{
    fixture f;
    bool    proved;
    fixture_make(&f, .01);
    expect_eq(as_sweep_winner(&f.sweep, 0, &proved), 0);
    expect(proved);
    expect_eq(as_sweep_winner(&f.sweep, 1, &proved), 1);
    expect(proved);
    fixture_make(&f, .6);
    expect_eq(as_sweep_winner(&f.sweep, 1, &proved), 1);
    expect(!proved);
}

Test(sweep, the_crossover_is_interpolated_in_logarithms)
{
    fixture      f;
    as_crossover c[4];
    fixture_make(&f, .05);
    expect_eq(as_sweep_crossovers(&f.sweep, c, 4), 1);
    expect_eq(c[0].from, 0);
    expect_eq(c[0].to, 1);
    expect_near(c[0].at, 2, 1e-9); /* ratio 1 lies half way, in logarithms, between 1 and 4 */
    /* The low bound is 1 where the ratio is 1 / .95: log2 of that is .074 of a step of 4. */
    expect_near(c[0].lo, pow(4, .5 + log2(.95)), 1e-6);
    expect_near(c[0].hi, pow(4, .5 + log2(1.05)), 1e-6);
    expect(c[0].proved && !c[0].open_lo && !c[0].open_hi);
}

Test(sweep, a_crossover_without_certainty_is_open)
{
    fixture      f;
    as_crossover c[4];
    fixture_make(&f, .5);
    expect_eq(as_sweep_crossovers(&f.sweep, c, 4), 1);
    expect_near(c[0].at, 2, 1e-9);
    expect(c[0].open_lo && !c[0].proved);
    expect_near(c[0].lo, 1, 1e-12);
    f.rows[0].value = NAN; /* no number, no place */
    expect_eq(as_sweep_crossovers(&f.sweep, c, 4), 1);
    expect(isnan(c[0].at) && !c[0].proved);
}

Test(sweep, two_arms_are_compared_through_the_first_with_a_wider_interval)
{
    static const char *const arms[] = {"a", "b", "c"};
    as_duel                  duels[2] = {duel_of(.8, .02), duel_of(.5, .04)};
    as_sweep_row             row = {.label = "x", .value = 1, .duels = duels};
    as_sweep                 s = {.key = "k", .arms = arms, .n_arms = 3, .rows = &row, .n_rows = 1};
    as_relation              r = as_sweep_relation(&s, 0, 1, 2);
    expect_near(r.ratio, .625, 1e-12);
    expect_near(r.lo, .5 * .96 / (.8 * 1.02), 1e-12);
    expect_near(r.hi, .5 * 1.04 / (.8 * .98), 1e-12);
    r = as_sweep_relation(&s, 0, 2, 0);
    expect_near(r.ratio, 2, 1e-12);
}

Test(sweep, choices_follow_their_criterion)
{
    fixture f;
    fixture_make(&f, .01);
    fixture_ran(&f, AS_WORK_INFERENCE, AS_WORK_INFERENCE);
    as_sweep_choice c = as_sweep_choose(&f.sweep, AS_FOR_INFERENCE);
    expect_eq(c.row, 0);
    expect_eq(c.arm, 0);
    expect(c.proved);
    fixture_ran(&f, AS_WORK_TRAINING, AS_WORK_TRAINING);
    c = as_sweep_choose(&f.sweep, AS_FOR_TRAINING);
    expect_eq(c.row, N - 1);
    expect_eq(c.arm, 1);
    expect_near(c.score, 64 * 1e9 / f.duels[N - 1].b_ns, 1);
    expect_near(c.lead, 1 / f.duels[N - 1].ratio - 1, 1e-9);
    c = as_sweep_choose(&f.sweep, AS_FOR_MEMORY);
    expect_eq(c.row, -1);
    expect_str(c.why, "peak memory is not known");
    f.duels[3].a_items = f.duels[3].b_items = NAN;
    c = as_sweep_choose(&f.sweep, AS_FOR_TRAINING);
    expect_eq(c.row, -1);
}

Test(sweep, advises_inference_and_training_from_runs_of_them_alone)
{
    static const struct {
        as_work a, b;
        bool    inference, training;
    } cases[] = {{AS_WORK_INFERENCE, AS_WORK_INFERENCE, true, false},
                 {AS_WORK_TRAINING, AS_WORK_TRAINING, false, true},
                 {AS_WORK_TRAINING, AS_WORK_INFERENCE, false, false},
                 {AS_WORK_OTHER, AS_WORK_OTHER, false, false}};
    fixture f;
    fixture_make(&f, .01);
    expect_eq(as_sweep_choose(&f.sweep, AS_FOR_INFERENCE).row, -1); /* what ran is not known */
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        fixture_ran(&f, cases[i].a, cases[i].b);
        expect_eq(as_sweep_choose(&f.sweep, AS_FOR_INFERENCE).row >= 0, cases[i].inference);
        expect_eq(as_sweep_choose(&f.sweep, AS_FOR_TRAINING).row >= 0, cases[i].training);
        expect(as_sweep_choose(&f.sweep, AS_FOR_LATENCY).row >= 0);
    }
}

/* Batches of 1, 8 and 32 take 4, 10 and 44 us: batch 1 has the fastest call, batch 8 the least time per item. */
static void batches_make(as_duel duels[2], as_sweep_row *row, as_sweep *s)
{
    static const char *const arms[] = {"batch=1", "batch=8", "batch=32"};
    static const double      calls[] = {10000, 44000}, items[] = {8, 32};
    for (int i = 0; i < 2; i++) {
        duels[i] = duel_of(calls[i] / items[i] / 4000, .01);
        duels[i].per_item = true, duels[i].a_items = 1, duels[i].b_items = items[i];
        duels[i].a_ns = 4000, duels[i].b_ns = calls[i];
    }
    *row = (as_sweep_row){.label = "all", .value = NAN, .duels = duels};
    *s = (as_sweep){.key = "case", .arms = arms, .n_arms = 3, .rows = row, .n_rows = 1};
}

Test(sweep, of_batches_the_winner_is_by_the_time_of_an_item)
{
    as_duel      duels[2];
    as_sweep_row row;
    as_sweep     s;
    bool         proved;
    batches_make(duels, &row, &s);
    expect(as_sweep_per_item(&s));
    expect_eq(as_sweep_winner(&s, 0, &proved), 1);
    expect(proved);
    expect_near(as_sweep_ns(&s, 0, 2), 44000, 0);
    expect_near(as_sweep_relation(&s, 0, 1, 2).ratio, 1.1, 1e-12);
}

Test(sweep, of_batches_latency_is_of_a_call_and_throughput_of_items)
{
    as_duel      duels[2];
    as_sweep_row row;
    as_sweep     s;
    batches_make(duels, &row, &s);
    as_sweep_choice c = as_sweep_choose(&s, AS_FOR_LATENCY);
    expect_eq(c.arm, 0);
    expect_near(c.score, 4000, 1e-9);
    expect_near(c.lead, 1.5, 1e-9);
    expect(c.proved);
    c = as_sweep_choose(&s, AS_FOR_THROUGHPUT);
    expect_eq(c.arm, 1);
    expect_near(c.score, 8e5, 1e-3);
    expect_near(c.lead, .1, 1e-9);
    expect(c.proved);
}

/* b is twice as fast as a at every value, and 0.5 % faster at 16 than at 1: nobody would take 16 threads for that. */
Test(sweep, of_values_within_the_margin_the_cheaper_is_taken)
{
    fixture f;
    fixture_make(&f, .01);
    f.sweep.margin = .01;
    for (int i = 0; i < N; i++) {
        double b_ns = i == 2 ? 49.75 : i == 3 ? 60 : 50;
        f.duels[i] = duel_of(b_ns / 100, .01);
        f.duels[i].a_items = f.duels[i].b_items = 1;
    }
    as_sweep_choice c = as_sweep_choose(&f.sweep, AS_FOR_LATENCY);
    expect_eq(c.row, 0);
    expect_eq(c.arm, 1);
    expect(c.proved); /* between the candidates */
    expect_has(c.why, "cheaper");
    expect_eq(as_sweep_choose(&f.sweep, AS_FOR_THROUGHPUT).row, 0);
    f.sweep.margin = .001;
    c = as_sweep_choose(&f.sweep, AS_FOR_LATENCY);
    expect_eq(c.row, 2);
    expect_str(c.why, as_purpose_criterion(AS_FOR_LATENCY));
    f.sweep.margin = .3; /* the least memory, where it is known */
    assay_trace  trials[N];
    as_trace_arm arms[N][2];
    fixture_ran(&f, AS_WORK_INFERENCE, AS_WORK_INFERENCE);
    for (int i = 0; i < N; i++) {
        memcpy(arms[i], f.arms, sizeof arms[i]);
        arms[i][1].ledger.peak_bytes = i == 3 ? 10 : 20;
        trials[i] = (assay_trace){.arms = arms[i], .n_arms = 2};
        f.rows[i].trial = &trials[i];
    }
    expect_eq(as_sweep_choose(&f.sweep, AS_FOR_LATENCY).row, 3);
}

Test(sweep, within_the_margin_nothing_is_proved_and_the_cheaper_one_is_taken)
{
    fixture f;
    bool    proved;
    fixture_make(&f, .01);
    f.duels[0] = duel_of(.996, .002); /* certainly faster, but by less than the margin */
    f.sweep.n_rows = 1;
    f.sweep.margin = .01;
    expect_eq(as_sweep_winner(&f.sweep, 0, &proved), 1);
    expect(!proved);
    expect_eq(as_sweep_same(&f.sweep, 0, 1), 0); /* named first, as memory is not known */
    as_sweep_choice c = as_sweep_choose(&f.sweep, AS_FOR_LATENCY);
    expect_eq(c.arm, 0);
    expect(c.same && !c.proved && isnan(c.lead));
    expect_str(c.why, "no difference within the margin: the first one given");
    f.duels[0] = duel_of(.985, .01); /* faster by the estimate, and not proven to be the same either */
    expect_eq(as_sweep_same(&f.sweep, 0, 1), -1);
    c = as_sweep_choose(&f.sweep, AS_FOR_LATENCY);
    expect_eq(c.arm, 1);
    expect(!c.same && !c.proved);
}

Test(sweep, of_two_that_do_not_differ_the_one_with_less_memory_is_taken)
{
    fixture      f;
    assay_trace  trial = {.n_arms = 2};
    as_trace_arm arms[2] = {{.ledger.peak_bytes = 2e6}, {.ledger.peak_bytes = 1e6}};
    trial.arms = arms;
    fixture_make(&f, .01);
    f.duels[0] = duel_of(1.003, .002);
    f.rows[0].trial = &trial;
    f.sweep.n_rows = 1;
    f.sweep.margin = .01;
    as_sweep_choice c = as_sweep_choose(&f.sweep, AS_FOR_LATENCY);
    expect_eq(c.arm, 1);
    expect(c.same);
    expect_str(c.why, "no difference within the margin: needs less memory");
}

Test(sweep, the_time_of_an_arm_follows_from_the_paired_ratio)
{
    fixture f;
    fixture_make(&f, .01);
    f.duels[0].b_ns = 130; /* its own median, raised by a slower hour of the machine */
    f.duels[0].ratio = .93;
    expect_near(as_sweep_ns(&f.sweep, 0, 1), 93, 1e-9);
}
