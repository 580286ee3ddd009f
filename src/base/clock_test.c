/* clock_test.c - nothing here judges a duration: only order, and relations that load cannot break. */
#include "base/clock.h"

#include "tests/runner/test.h"

Test(clock, fake_only_moves_when_it_is_moved)
{
    as_clock clock;
    as_clock_open_fake(&clock, 7);
    expect_eq(as_clock_now(&clock), 7);
    as_clock_advance(&clock, 1000);
    expect_eq(as_clock_now(&clock), 1007);
    expect_near(as_clock_ns(&clock, 1007), 1007.0, 0);
    expect_str(clock.name, "fake");
    expect_near(clock.cost_ns, 0, 0);
}

Test(clock, real_ones_are_not_moved_by_advance)
{
    as_clock clock;
    as_clock_open_monotonic(&clock);
    as_clock_advance(&clock, UINT64_C(1) << 62);
    expect(as_clock_now(&clock) < UINT64_C(1) << 62);
    expect_eq(clock.fake_ticks, 0);
}

Test(clock, monotonic_never_goes_back)
{
    uint64_t last = as_monotonic_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = as_monotonic_ns();
        expect(now >= last);
        last = now;
    }
}

Test(clock, cpu_time_grows_with_work_and_a_thread_has_no_more_than_its_process)
{
    uint64_t        before = as_thread_cpu_ns();
    volatile double x = 1;
    while (as_thread_cpu_ns() < before + 1000000)
        for (int i = 0; i < 1000; i++)
            x = x * 0.5 + 1;
    uint64_t thread = as_thread_cpu_ns();
    expect(as_process_cpu_ns() >= thread - before);
}

Test(clock, opened_states_what_it_is)
{
    as_clock clock;
    as_clock_open(&clock);
    expect(clock.kind == AS_CLOCK_COUNTER || clock.kind == AS_CLOCK_MONOTONIC);
    expect((clock.kind == AS_CLOCK_COUNTER) == (clock.why[0] == '\0'));
    expect(clock.ns_per_tick > 0);
    expect(clock.cost_ns > 0);
    expect(clock.calibration_spread >= 0 && clock.calibration_spread <= 1e-3);
}

/* Brackets the counter's elapsed time between two readings of the monotonic clock: true however long
 * the test is pre-empted. 0.3 % is three times the error that the calibration may have. */
Test(clock, counter_agrees_with_the_monotonic_clock)
{
    as_clock clock;
    as_clock_open(&clock);
    if (clock.kind != AS_CLOCK_COUNTER)
        skip("no counter here: %s", clock.why);
    uint64_t outer0 = as_monotonic_ns(), ticks0 = as_clock_now(&clock), inner0 = as_monotonic_ns();
    while (as_monotonic_ns() < inner0 + 20000000) {
    }
    uint64_t inner1 = as_monotonic_ns(), ticks1 = as_clock_now(&clock), outer1 = as_monotonic_ns();
    double   ns = as_clock_ns(&clock, ticks1 - ticks0);
    expect(ns >= (double)(inner1 - inner0) * 0.997 - 100);
    expect(ns <= (double)(outer1 - outer0) * 1.003 + 100);
}

Test(clock, cost_of_a_call_is_positive)
{
    expect(as_clock_cost_ns(as_monotonic_ns) > 0);
    expect(as_clock_cost_ns(as_thread_cpu_ns) > 0);
}
