/* watch_test.c - a run that leaves its range is seen, and one that does not is left alone. */
#include "train/watch.h"

#include "base/random.h"
#include "tests/runner/test.h"

static double noise(uint64_t i) { return (double)as_philox_uniform(1, 2, 3, i); }

Test(watch, z_scores_are_those_of_the_window_before_the_value)
{
    as_recent w = {.n = 0};
    for (int i = 0; i < 7; i++)
        as_recent_add(&w, i);
    expect(isnan(as_recent_z(&w, 3)));
    as_recent_add(&w, 7);
    expect_near(as_recent_z(&w, 3.5), 0, 1e-12);
    expect_near(as_recent_z(&w, 3.5 + sqrt(6)), 1, 1e-12); /* the deviation of 0 .. 7 is sqrt(6) */
    for (int i = 0; i < 1000; i++)
        as_recent_add(&w, 5);
    expect(isnan(as_recent_z(&w, 6)));
}

Test(watch, a_loss_that_is_not_finite_stops_at_once)
{
    as_watch w;
    as_watch_open(&w, 10, 50);
    expect_eq(as_watch_add(&w, 0, 1, 1, false), AS_WATCH_FINE);
    expect_eq(as_watch_add(&w, 1, NAN, 1, false), AS_WATCH_NOT_FINITE);
    expect_eq(as_watch_add(&w, 1, INFINITY, 1, false), AS_WATCH_NOT_FINITE);
    expect_eq(as_watch_add(&w, 1, 1, INFINITY, false), AS_WATCH_NOT_FINITE);
    expect_eq(as_watch_add(&w, 1, 1, INFINITY, true), AS_WATCH_FINE); /* the loss scale was too large, and is halved */
}

Test(watch, a_loss_far_above_the_best_for_long_has_diverged)
{
    as_watch w;
    as_watch_open(&w, 10, 50);
    for (uint64_t i = 0; i < 200; i++)
        expect_eq(as_watch_add(&w, i, 1 + noise(i), 1, false), AS_WATCH_FINE);
    uint64_t         i = 200;
    as_watch_verdict v = AS_WATCH_FINE;
    for (; i < 400 && v == AS_WATCH_FINE; i++)
        v = as_watch_add(&w, i, 40, 1, false);
    expect_eq(v, AS_WATCH_DIVERGED);
    expect(w.began >= 200 && w.began < 215);
    expect(i >= 250 && i < 270);
    expect(w.n_spikes >= 1);
}

Test(watch, one_bad_batch_is_no_divergence)
{
    as_watch w;
    as_watch_open(&w, 10, 50);
    for (uint64_t i = 0; i < 2000; i++)
        expect_eq(as_watch_add(&w, i, i % 100 == 99 ? 500 : 1 + noise(i), 1, false), AS_WATCH_FINE);
}

static void drift_fill(as_drift *d, uint64_t n, double slope, uint64_t from)
{
    as_drift_open(d, 1);
    for (uint64_t i = 0; i < n; i++)
        as_drift_add(d, i, 100 + 10 * noise(i) + (i % 97 == 0 ? 300 : 0) + (i > from ? slope * (double)(i - from) : 0));
}

Test(watch, a_steady_cost_does_not_creep)
{
    as_drift d;
    as_trend t;
    drift_fill(&d, 10000, 0, 0);
    as_drift_trend(&d, .05, &t);
    expect(t.known && !t.creeps);
    expect(d.n > 16 && d.n <= AS_DRIFT_POINTS);
}

Test(watch, a_cost_that_grows_is_told_with_its_slope_and_beginning)
{
    as_drift d;
    as_trend t;
    drift_fill(&d, 10000, .01, 0);
    as_drift_trend(&d, .05, &t);
    expect(t.creeps);
    expect(t.lo <= .01 && t.hi >= .01 && t.lo > .008);
    drift_fill(&d, 10000, .02, 5000);
    as_drift_trend(&d, .05, &t);
    expect(t.creeps);
    expect(t.since >= 4500 && t.since <= 7000);
}

Test(watch, a_single_step_up_is_not_a_creep)
{
    as_drift d;
    as_trend t;
    as_drift_open(&d, 1);
    for (uint64_t i = 0; i < 10000; i++)
        as_drift_add(&d, i, (i < 4000 ? 100 : 120) + noise(i));
    as_drift_trend(&d, .05, &t);
    expect(t.known && !t.creeps);
}

Test(watch, few_steps_tell_nothing)
{
    as_drift d;
    as_trend t;
    drift_fill(&d, 15, 5, 0);
    as_drift_trend(&d, .05, &t);
    expect(!t.known && !t.creeps);
}
