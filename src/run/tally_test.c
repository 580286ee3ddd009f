/* tally_test.c */
#include "run/tally.h"

#include "base/metric.h"
#include "tests/runner/test.h"

Test(tally, counts_short_durations_exactly)
{
    as_tally t;
    expect(as_tally_open(&t));
    for (uint64_t ns = 0; ns < 4096; ns++)
        as_tally_add(&t, ns);
    for (uint64_t r = 0; r < 4096; r++)
        expect(as_tally_rank(&t, r) == (double)r);
    expect(isnan(as_tally_rank(&t, 4096)));
    as_tally_drop(&t);
}

Test(tally, is_within_one_in_4096_for_any_duration)
{
    as_tally t;
    expect(as_tally_open(&t));
    for (uint64_t ns = 1; ns < UINT64_C(1) << 62; ns = ns * 3 / 2 + 1) {
        as_tally_add(&t, 0);
        as_tally_add(&t, UINT64_MAX);
        as_tally_add(&t, ns);
        expect(fabs(as_tally_rank(&t, 1) - (double)ns) <= (double)ns / 4096);
        as_tally_drop(&t);
        expect(as_tally_open(&t));
    }
    as_tally_drop(&t);
}

Test(tally, keeps_the_least_and_the_largest_exactly)
{
    as_tally t;
    expect(as_tally_open(&t));
    as_tally_add(&t, 1000003);
    as_tally_add(&t, 123456789);
    expect_eq(t.min_ns, 1000003);
    expect_eq(t.max_ns, 123456789);
    expect(as_tally_rank(&t, 0) >= 1000003 && as_tally_rank(&t, 1) <= 123456789);
    as_tally_drop(&t);
}

Test(tally, shows_a_quantile_only_when_the_count_supports_it)
{
    as_tally t;
    char     reason[64];
    expect(as_tally_open(&t));
    for (uint64_t i = 0; i < 661; i++)
        as_tally_add(&t, i);
    assay_metric m = as_tally_quantile(&t, 0.99, "clock", reason, sizeof reason);
    expect_eq(m.kind, ASSAY_UNAVAILABLE);
    expect(!strcmp(m.reason, "needs 662 values, there are 661"));
    as_tally_add(&t, 661);
    m = as_tally_quantile(&t, 0.99, "clock", reason, sizeof reason);
    expect_eq(m.kind, ASSAY_MEASURED);
    expect(m.value == 654 && m.lo < m.value && m.hi > m.value);
    expect_eq(m.n, 662);
    m = as_tally_quantile(&t, 0.5, "clock", reason, sizeof reason);
    expect(m.value == 330);
    as_tally_drop(&t);
}
