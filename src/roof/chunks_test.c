/* chunks_test.c - which chunks are accepted; where the levels are; how a limit is named. */
#include "roof/roof.h"
#include "tests/runner/test.h"

Test(roof, the_third_best_is_the_value)
{
    double rate[] = {5, 9, 1, 7, 8};
    expect_near(as_third_best(rate, 5), 7, 0);
}

Test(roof, of_fewer_than_three_the_worst_is_taken)
{
    double rate[] = {5, 9};
    expect_near(as_third_best(rate, 2), 5, 0);
    expect_near(as_third_best(rate, 1), 5, 0);
    expect(isnan(as_third_best(rate, 0)));
}

Test(roof, equal_chunks_count_one_by_one)
{
    double rate[] = {4, 4, 4, 1};
    expect_near(as_third_best(rate, 4), 4, 0);
}

Test(roof, the_best_three_agree_within_a_margin)
{
    double rate[] = {100, 10, 101, 101.4};
    expect(as_best_agree(rate, 4, 0.015));
    expect(!as_best_agree(rate, 4, 0.013));
    expect(!as_best_agree(rate, 2, 0.9)); /* two chunks cannot agree */
}

Test(roof, a_pre_empted_chunk_is_rejected)
{
    as_chunks c = {0};
    as_chunks_take(&c);
    expect(!as_chunks_add(&c, 100, 0.969));
    expect(!as_chunks_add(&c, 100, (double)NAN));
    expect(as_chunks_add(&c, 100, 0.97));
    expect(as_chunks_add(&c, 100, 1.02)); /* the CPU clock is read outside the stamps */
    expect_eq(c.n, 2);
    expect_eq(c.n_rejected, 2);
}

Test(roof, a_rate_that_cannot_be_is_not_counted_at_all)
{
    as_chunks c = {0};
    expect(!as_chunks_add(&c, (double)INFINITY, 1));
    expect(!as_chunks_add(&c, (double)NAN, 1));
    expect(!as_chunks_add(&c, 0, 1));
    expect(!as_chunks_add(&c, -1, 0.1));
    expect_eq(c.n + c.n_rejected, 0);
    as_band b;
    expect(!as_chunks_band(&c, &b));
}

Test(roof, more_chunks_than_there_is_room_for_are_left_out)
{
    as_chunks c = {0};
    for (int i = 0; i < AS_CHUNKS_MAX; i++)
        expect(as_chunks_add(&c, 1, 1));
    expect(!as_chunks_add(&c, 1, 1));
    for (int i = 0; i < 2 * AS_TAKES_MAX; i++)
        as_chunks_take(&c);
    expect_eq(c.n_takes, AS_TAKES_MAX);
}

Test(roof, a_take_has_enough_with_five_that_agree)
{
    as_chunks c = {0};
    as_chunks_take(&c);
    for (int i = 0; i < 4; i++)
        as_chunks_add(&c, 100, 1);
    expect(!as_chunks_enough(&c));
    as_chunks_add(&c, 90, 1);
    expect(as_chunks_enough(&c));
    as_chunks_take(&c); /* the next one starts empty */
    expect(!as_chunks_enough(&c));
}

Test(roof, a_quiet_band_reaches_from_the_worst_take_to_the_best_chunk)
{
    as_chunks c = {0};
    as_band   b;
    as_chunks_take(&c);
    double first[] = {100, 101, 100.5, 80}, second[] = {99.5, 99.6, 99.7, 50};
    for (int i = 0; i < 4; i++)
        as_chunks_add(&c, first[i], 1);
    as_chunks_take(&c);
    for (int i = 0; i < 4; i++)
        as_chunks_add(&c, second[i], 1);
    expect(as_chunks_band(&c, &b));
    expect_near(b.value, 100, 0);
    expect_near(b.hi, 101, 0);
    expect_near(b.lo, 99.5, 0);
    expect_eq(b.n_clean, 8);
    expect(!b.disturbed);
    expect_str(b.why, "");
}

Test(roof, a_busy_machine_widens_the_band_and_says_so)
{
    as_chunks c = {0};
    as_band   b;
    as_chunks_take(&c);
    for (int i = 0; i < 13; i++)
        as_chunks_add(&c, i ? 100 : 60, 1);
    for (int i = 0; i < 7; i++)
        as_chunks_add(&c, 30, 0.5);
    expect(as_chunks_band(&c, &b));
    expect(b.disturbed);
    expect_str(b.why, "other work interrupted 7 of 20 chunks");
    expect_near(b.value, 100, 0);
    expect_near(b.lo, 60, 0);
}

Test(roof, where_nothing_survived_the_band_ends_at_what_cpu_time_allows)
{
    as_chunks c = {0};
    as_band   b;
    as_chunks_take(&c);
    as_chunks_add(&c, 50, 0.5);
    as_chunks_add(&c, 80, 0.9);
    as_chunks_add(&c, 10, 0.1);
    as_chunks_add(&c, 60, 0.5);
    expect(as_chunks_band(&c, &b));
    expect(b.disturbed);
    expect_str(b.why, "machine too busy: other work interrupted all 4 chunks");
    expect_near(b.value, 50, 0);
    expect_near(b.lo, 10, 0);
    expect_near(b.hi, 120, 1e-9);
}

Test(roof, one_chunk_that_survived_does_not_stand_alone)
{
    as_chunks c = {0};
    as_band   b;
    as_chunks_take(&c);
    as_chunks_add(&c, 100, 1);
    as_chunks_add(&c, 55, 0.5);
    as_chunks_add(&c, 40, 0.4);
    expect(as_chunks_band(&c, &b));
    expect_near(b.value, 100, 0);
    expect_near(b.lo, 55, 0);
    expect_near(b.hi, 110, 1e-9);
    expect_has(b.why, "2 of 3 chunks");
}

Test(roof, takes_that_differ_are_a_disturbance)
{
    as_chunks c = {0};
    as_band   b;
    for (int take = 0; take < 2; take++) {
        as_chunks_take(&c);
        for (int i = 0; i < 5; i++)
            as_chunks_add(&c, take ? 100 : 80, 1);
    }
    expect(as_chunks_band(&c, &b));
    expect(b.disturbed);
    expect_str(b.why, "repetitions differ by 25 %");
    expect_near(b.lo, 80, 0);
}

Test(roof, a_best_chunk_far_above_the_third_is_a_disturbance)
{
    as_chunks c = {0};
    as_band   b;
    as_chunks_take(&c);
    double rate[] = {100, 110, 120, 80, 81};
    for (int i = 0; i < 5; i++)
        as_chunks_add(&c, rate[i], 1);
    expect(as_chunks_band(&c, &b));
    expect_has(b.why, "20.0 % above the third");
    expect_near(b.lo, 80, 0);
    expect_near(b.hi, 120, 0);
}

/* --- Levels --------------------------------------------------------------------------------------------- */

static as_machine machine_with(uint64_t l1, uint64_t l2, uint64_t l3, const char *shares_l3)
{
    as_machine m = {.cores = {.known = true, .value = 4}, .memory_bytes = {.known = true, .value = (uint64_t)64 << 30}};
    uint64_t   bytes[] = {l1, l2, l3};
    m.caches[m.n_caches++] = (as_machine_cache){.level = 1, .type = "Instruction", .bytes = 12345};
    for (int i = 0; i < 3; i++) {
        if (!bytes[i])
            continue;
        as_machine_cache c = {.level = i + 1, .bytes = bytes[i]};
        snprintf(c.type, sizeof c.type, i ? "Unified" : "Data");
        snprintf(c.shared, sizeof c.shared, "%s", i == 2 ? shares_l3 : "0");
        m.caches[m.n_caches++] = c;
    }
    return m;
}

Test(roof, levels_are_half_of_l1_and_l2_a_third_of_the_share_of_l3_and_four_times_the_last)
{
    as_machine       m = machine_with(32 << 10, 512 << 10, 32 << 20, "0-1");
    as_memory_levels l;
    as_memory_levels_find(&m, &l);
    expect_eq(l.n, 4);
    expect_eq(l.level[0].bytes, 16 << 10);
    expect_eq(l.level[1].bytes, 256 << 10);
    expect_eq(l.level[2].bytes, (16 << 20) / 3);
    expect_eq(l.level[3].bytes, 128 << 20);
    expect_str(l.level[3].name, "dram");
    expect_str(l.caution, "");
}

Test(roof, a_machine_without_l3_has_three_levels)
{
    as_machine       m = machine_with(128 << 10, 12 << 20, 0, "");
    as_memory_levels l;
    as_memory_levels_find(&m, &l);
    expect_eq(l.n, 3);
    expect_str(l.level[1].name, "l2");
    expect_str(l.level[2].name, "dram");
    expect_eq(l.level[2].bytes, 64 << 20);
}

Test(roof, where_it_is_not_told_who_shares_a_cache_all_do)
{
    as_machine       m = machine_with(64 << 10, 1 << 20, 48 << 20, "");
    as_memory_levels l;
    as_memory_levels_find(&m, &l);
    expect_eq(l.level[2].bytes, (12 << 20) / 3);
}

Test(roof, caches_that_are_not_told_are_guessed_with_a_caution)
{
    as_machine       m = {0};
    as_memory_levels l;
    as_memory_levels_find(&m, &l);
    expect_eq(l.n, 2);
    expect_str(l.level[0].name, "l1");
    expect_has(l.caution, "cache sizes are unknown");
}

Test(roof, memory_is_walked_through_in_an_eighth_of_it_at_most)
{
    as_machine       m = machine_with(32 << 10, 512 << 10, 64 << 20, "0");
    as_memory_levels l;
    m.memory_bytes.value = (uint64_t)1 << 30;
    as_memory_levels_find(&m, &l);
    expect_eq(l.level[l.n - 1].bytes, 128 << 20);
    expect_has(l.caution, "only 128 MiB");
}

Test(roof, a_list_of_cpus_is_counted_or_refused)
{
    expect_eq(as_cpu_list_count("0"), 1);
    expect_eq(as_cpu_list_count("0-3,8"), 5);
    expect_eq(as_cpu_list_count("0-1,4-5"), 4);
    expect_eq(as_cpu_list_count(""), 0);
    expect_eq(as_cpu_list_count("3-1"), 0);
    expect_eq(as_cpu_list_count("0-"), 0);
    expect_eq(as_cpu_list_count("-1"), 0);
    expect_eq(as_cpu_list_count("0;1"), 0);
    expect_eq(as_cpu_list_count("0-99999999999999999999"), 0);
}

Test(roof, names_are_meter_level_and_threads)
{
    char buf[64];
    expect_str(as_roof_name(buf, sizeof buf, "read", "l1", 2), "read.l1.t2");
    expect_str(as_roof_name(buf, sizeof buf, "fma.f32.avx2", "", 1), "fma.f32.avx2.t1");
    expect_str(as_roof_name(buf, sizeof buf, "clock.core", "", 0), "clock.core");
    expect_str(as_roof_name(buf, 8, "fma.f32.avx2", "", 1), "fma.f32");
}
