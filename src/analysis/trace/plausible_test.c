/* plausible_test.c - the lie detector on numbers that are known to be lies, and on honest ones. */
#include "tests/runner/test.h"

#include <stdio.h>

#include "analysis/trace/plausible.h"
#include "base/env.h"

/* A claim with only its time and its work. */
static as_claim claim(const char *name, const char *family, double ns, double flops, double bytes)
{
    return (as_claim){.name = name,
                      .family = family,
                      .median_ns = ns,
                      .lo_ns = ns,
                      .hi_ns = ns,
                      .flops = flops,
                      .bytes = bytes,
                      .limit = AS_LIMIT_NONE,
                      .floor_ns = 2000,
                      .once_ns = NAN,
                      .twice_ns = NAN};
}

static as_claim matmul(double n, double ns) { return claim("matmul", "matmul/*/f32", ns, 2 * n * n * n, 12 * n * n); }
static as_claim add(double n, double ns) { return claim("add", "elementwise/add/*/f32", ns, n * n, 12 * n * n); }

static void expect_all_refused(as_claim *claims, size_t n, const char *why)
{
    expect_eq(as_claims_judge(claims, n), n);
    for (size_t i = 0; i < n; i++)
        expect_has(claims[i].sentence, why);
}

/* What lazy evaluation around a clock looks like: 1.7 us whatever the operator and the size. */
Test(plausible, refuses_a_constant_time_for_every_operator_and_size)
{
    as_claim claims[] = {matmul(512, 1700), matmul(1024, 1690), matmul(2048, 1720),
                         add(512, 1700),    add(1024, 1700),    add(2048, 1700)};
    expect_all_refused(claims, AS_COUNT(claims), "1.7");
    /* One family alone, and one size of several operators. */
    as_claim adds[] = {add(512, 1700), add(1024, 1710), add(2048, 1700)};
    expect_all_refused(adds, AS_COUNT(adds), "the work");
    as_claim ops[] = {matmul(1024, 1700), add(1024, 1700), claim("relu", "relu/*", 1700, 1 << 20, 8 << 20)};
    expect_all_refused(ops, AS_COUNT(ops), "all 3 cases take 1.70 us");
    /* A sleep is as constant as an empty call. */
    as_claim sleeps[] = {matmul(64, 1e9), matmul(512, 1e9), add(512, 1e9)};
    expect_eq(as_claims_judge(sleeps, AS_COUNT(sleeps)), 3);
}

Test(plausible, lets_honest_times_pass)
{
    /* 88 GFLOP/s and 20 GB/s. */
    as_claim claims[] = {matmul(256, 383e3), matmul(512, 3.05e6), matmul(1024, 24.4e6),
                         add(512, 157e3),    add(1024, 629e3),    add(2048, 2.5e6)};
    expect_eq(as_claims_judge(claims, AS_COUNT(claims)), 0);
    expect_str(claims[0].sentence, "");
    /* Small ones that cost a call and no more. */
    as_claim small[] = {add(4, 310), add(8, 312), add(16, 320), add(32, 330)};
    expect_eq(as_claims_judge(small, AS_COUNT(small)), 0);
    expect_eq(as_claims_judge(NULL, 0), 0);
}

/* The null device takes the time it was given, the same for every size: this is not a lie. */
Test(plausible, lets_a_device_pass_whose_time_is_told)
{
    as_claim claims[] = {matmul(512, 5000), matmul(1024, 5000), matmul(2048, 5000)};
    for (size_t i = 0; i < AS_COUNT(claims); i++) {
        claims[i].told = true;
        claims[i].hash = claims[i].poisoned_hash = 7;
        claims[i].limit = (as_limit){.ns = 1e9, .name = "fma", .on_the_spot = true};
    }
    expect_eq(as_claims_judge(claims, AS_COUNT(claims)), 0);
}

Test(plausible, refuses_both_where_more_work_takes_no_longer)
{
    as_claim claims[] = {add(512, 157e3), add(1024, 190e3), matmul(512, 3e6)};
    expect_eq(as_claims_judge(claims, AS_COUNT(claims)), 2);
    expect_has(claims[0].sentence, "4 times the work takes 1.21 times as long");
    expect(claims[1].refused && !claims[2].refused);
    /* A factor of 1.3 passes: a cache level may hide that much. */
    as_claim enough[] = {add(512, 157e3), add(1024, 205e3)};
    expect_eq(as_claims_judge(enough, AS_COUNT(enough)), 0);
    /* Other families are not compared. */
    as_claim others[] = {add(512, 157e3), matmul(1024, 150e3 * 1000)};
    expect_eq(as_claims_judge(others, AS_COUNT(others)), 0);
}

/* As measured with two threads: 1x1024 times 1024x1024 reads five times the bytes of 256x256, for a sixteenth of the operations. */
Test(plausible, more_operations_on_fewer_bytes_are_not_more_work)
{
    as_claim claims[] = {claim("thin", "matmul/*/f32", 299e3, 2.1e6, 4.2e6),
                         claim("square", "matmul/*/f32", 208e3, 33.6e6, 0.79e6)};
    expect_eq(as_claims_judge(claims, AS_COUNT(claims)), 0);
}

Test(plausible, cases_that_were_not_measured_are_not_judged)
{
    as_claim claims[] = {matmul(512, NAN), matmul(1024, 1e6), matmul(2048, NAN)};
    claims[1].median_ns = claims[1].lo_ns = claims[1].hi_ns = 25e6;
    expect_eq(as_claims_judge(claims, AS_COUNT(claims)), 0);
}

Test(plausible, nothing_is_above_its_limit)
{
    char     sentence[AS_SENTENCE_BYTES];
    as_limit limit = {.ns = 1.04e6, .name = "fma.f32.avx2.t1", .on_the_spot = true};
    expect(as_limit_is_plausible(&limit, 1e6, NAN, sentence, sizeof sentence));
    limit.ns = 1.2e6;
    expect(!as_limit_is_plausible(&limit, 1e6, NAN, sentence, sizeof sentence));
    expect_has(sentence, "at most 1.00 ms, but by fma.f32.avx2.t1, measured again in this session, it must take at least 1.20 ms");
    /* The slow end decides: the interval reaches the limit. */
    expect(as_limit_is_plausible(&limit, 1e6, 1.18e6, sentence, sizeof sentence));
    as_claim c = matmul(512, 1e6);
    c.limit = limit;
    expect_eq(as_claims_judge(&c, 1), 1);
    c.limit.on_the_spot = false; /* a limit that was not measured again refuses nothing */
    expect_eq(as_claims_judge(&c, 1), 0);
}

Test(plausible, twice_the_calls_take_about_twice_as_long)
{
    char sentence[AS_SENTENCE_BYTES];
    expect(as_double_is_plausible(1e6, 2.1e6, sentence, sizeof sentence));
    expect(as_double_is_plausible(1e6, NAN, sentence, sizeof sentence));
    expect(as_double_is_plausible(0, 5, sentence, sizeof sentence));
    expect(!as_double_is_plausible(1e6, 1.01e6, sentence, sizeof sentence));
    expect_has(sentence, "twice the calls take 1.01 times as long");
    expect(!as_double_is_plausible(1e6, 9e6, sentence, sizeof sentence));
    as_claim c = add(512, 157e3);
    c.once_ns = 1e6;
    c.twice_ns = 1e6;
    expect_eq(as_claims_judge(&c, 1), 1);
}

Test(plausible, poisoned_inputs_must_change_the_outputs)
{
    as_claim c = add(512, 157e3);
    c.hash = c.poisoned_hash = 0xabcdef;
    expect_eq(as_claims_judge(&c, 1), 1);
    expect_has(c.sentence, "other inputs give the same outputs (hash 0000000000abcdef)");
    c.poisoned_hash = 0xabcdee;
    expect_eq(as_claims_judge(&c, 1), 0);
    c.hash = c.poisoned_hash = 0; /* not known */
    expect_eq(as_claims_judge(&c, 1), 0);
}
