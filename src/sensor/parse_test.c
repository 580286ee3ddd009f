/* parse_test.c - the kernel's text files: today's, older ones and broken ones. */
#include <errno.h>
#include <math.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"
#include "tests/runner/test.h"

Test(sensor_parse, psi_takes_the_total_of_the_line_some)
{
    uint64_t us = 7;
    expect(as_psi_some_us("some avg10=0.00 avg60=0.05 avg300=0.09 total=12569757\n"
                          "full avg10=0.00 avg60=0.00 avg300=0.00 total=3\n",
                          &us));
    expect_eq(us, 12569757);
    expect(as_psi_some_us("full total=3\nsome avg10=1.00 total=18446744073709551615", &us));
    expect(us == UINT64_MAX);
}

Test(sensor_parse, psi_refuses_what_is_not_there)
{
    uint64_t us = 7;
    expect(!as_psi_some_us("", &us));
    expect(!as_psi_some_us("some avg10=0.00\nfull total=3\n", &us));
    expect(!as_psi_some_us("some total=\n", &us));
    expect(!as_psi_some_us("some total=-1\n", &us));
    expect(!as_psi_some_us("some total=12x\n", &us));
    expect(!as_psi_some_us("some total=18446744073709551616\n", &us));
    expect(!as_psi_some_us("awesome total=1\n", &us));
    expect_eq(us, 7);
}

Test(sensor_parse, steal_is_the_eighth_number_of_the_line_of_all_cpus)
{
    uint64_t ticks = 7;
    expect(as_stat_steal_ticks("cpu  11328 0 5248 491450 2007 0 108 786 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n", &ticks));
    expect_eq(ticks, 786);
    expect(as_stat_steal_ticks("cpu 1 2 3 4 5 6 7 8", &ticks));
    expect_eq(ticks, 8);
}

Test(sensor_parse, stolen_time_never_falls_or_is_not_told)
{
    double before = as_steal_ns(), after = as_steal_ns();
    expect(isnan(before) ? isnan(after) : before >= 0 && after >= before);
}

Test(sensor_parse, steal_refuses_old_kernels_and_nonsense)
{
    uint64_t ticks = 7;
    expect(!as_stat_steal_ticks("cpu  1 2 3 4 5 6 7\n", &ticks));
    expect(!as_stat_steal_ticks("cpu  1 2 3 4 5 6 7\n8 9\n", &ticks));
    expect(!as_stat_steal_ticks("cpu0 1 2 3 4 5 6 7 8\n", &ticks));
    expect(!as_stat_steal_ticks("cpu  1 2 3 4 5 6 7 8x\n", &ticks));
    expect(!as_stat_steal_ticks("cpu  a b c\n", &ticks));
    expect(!as_stat_steal_ticks("", &ticks));
    expect_eq(ticks, 7);
}

Test(sensor_parse, status_gives_bytes_by_key)
{
    const char *text = "Name:\tassay\nVmPeak:\t  200 kB\nVmHWM:\t    4096 kB\nVmRSS:\t    1234 kB\n";
    uint64_t    bytes = 7;
    expect(as_status_bytes(text, "VmRSS", &bytes));
    expect_eq(bytes, 1234 * 1024);
    expect(as_status_bytes(text, "VmHWM", &bytes));
    expect_eq(bytes, 4096 * 1024);
    bytes = 7;
    expect(!as_status_bytes(text, "VmSwap", &bytes));
    expect(!as_status_bytes(text, "Vm", &bytes));
    expect(!as_status_bytes("VmRSS:\t12 MB\n", "VmRSS", &bytes));
    expect(!as_status_bytes("VmRSS:\tkB\n", "VmRSS", &bytes));
    expect(!as_status_bytes("VmRSS: 18446744073709551615 kB\n", "VmRSS", &bytes));
    expect_eq(bytes, 7);
}

Test(sensor_parse, field_matches_the_whole_key_only)
{
    const char *text = "model\t\t: 1\nmodel name\t: AMD EPYC \nempty\t:\nlast : x";
    char        out[16] = "old";
    expect(as_field_text(text, "model name", out, sizeof out));
    expect_str(out, "AMD EPYC");
    expect(as_field_text(text, "model", out, sizeof out));
    expect_str(out, "1");
    expect(as_field_text(text, "last", out, sizeof out));
    expect_str(out, "x");
    expect(!as_field_text(text, "empty", out, sizeof out));
    expect(!as_field_text(text, "mod", out, sizeof out));
    expect(as_field_text(text, "model name", out, 4));
    expect_str(out, "AMD");
}

Test(sensor_parse, list_holds_whole_words)
{
    expect(as_list_has("avx avx2 fma", "avx2"));
    expect(as_list_has("avx2", "avx2"));
    expect(as_list_has("avx512f avx", "avx"));
    expect(!as_list_has("avx512f avx2", "avx"));
    expect(!as_list_has("", "avx"));
    expect(!as_list_has("avx", ""));
}

Test(sensor_parse, cache_sizes_have_a_letter)
{
    uint64_t bytes = 7;
    expect(as_cache_bytes("32K", &bytes) && bytes == 32768);
    expect(as_cache_bytes("16M", &bytes) && bytes == 16u << 20);
    expect(as_cache_bytes("512", &bytes) && bytes == 512);
    bytes = 7;
    expect(!as_cache_bytes("", &bytes));
    expect(!as_cache_bytes("K", &bytes));
    expect(!as_cache_bytes("32KB", &bytes));
    expect(!as_cache_bytes("32T", &bytes));
    expect(!as_cache_bytes("18446744073709551615K", &bytes));
    expect_eq(bytes, 7);
}

Test(sensor_parse, a_counter_that_wrapped_goes_on)
{
    expect_eq(as_counter_delta(10, 15, 100), 5);
    expect_eq(as_counter_delta(90, 5, 100), 15);
    expect_eq(as_counter_delta(100, 0, 100), 0);
    expect_eq(as_counter_delta(500, 20, 100), 20); /* a wrong range does not make a huge number */
}

Test(sensor_parse, a_refused_counter_says_why_and_what_to_do)
{
    char      why[256];
    const int no_pmu[] = {ENOENT, ENODEV, ENXIO, EOPNOTSUPP};
    for (size_t i = 0; i < 4; i++) {
        as_perf_refusal(no_pmu[i], 2, why, sizeof why);
        expect_has(why, "without a PMU");
    }
    as_perf_refusal(EACCES, 3, why, sizeof why);
    expect_has(why, "sysctl kernel.perf_event_paranoid=2");
    as_perf_refusal(EPERM, 4, why, sizeof why);
    expect_has(why, "perf_event_paranoid is 4");
    as_perf_refusal(EPERM, 1, why, sizeof why);
    expect_has(why, "CAP_PERFMON");
    as_perf_refusal(EPERM, -9, why, sizeof why);
    expect_has(why, "cannot be read");
    as_perf_refusal(ENOSYS, 2, why, sizeof why);
    expect_has(why, "seccomp");
    as_perf_refusal(EINVAL, 2, why, sizeof why);
    expect_has(why, "Invalid argument");
}

Test(sensor_parse, a_count_is_believed_within_five_per_cent)
{
    expect(as_perf_count_ok(1000000, 1000000));
    expect(as_perf_count_ok(1050000, 1000000));
    expect(as_perf_count_ok(950000, 1000000));
    expect(!as_perf_count_ok(1050001, 1000000));
    expect(!as_perf_count_ok(949999, 1000000));
    expect(!as_perf_count_ok(0, 1000000));
}

Test(sensor_parse, a_file_of_one_number)
{
    int64_t value = 7;
    expect_eq(as_file_write(NULL, as_test_path("n"), "-12\n", 4), ASSAY_OK);
    expect(as_file_i64(as_test_path("n"), &value));
    expect_eq(value, -12);
    expect_eq(as_file_write(NULL, as_test_path("n"), "12 13\n", 6), ASSAY_OK);
    expect(!as_file_i64(as_test_path("n"), &value));
    expect(!as_file_i64(as_test_path("absent"), &value));
    expect_eq(value, -12);
}

Test(sensor, finds_the_group_that_counts_memory)
{
    char path[64] = "untouched";
    bool old = false;
    expect(as_cgroup_path("9:name=systemd:/\n4:cpu,memory:/a/b\n0::/c\n", path, sizeof path, &old));
    expect_str(path, "/a/b");
    expect(old);
    expect(as_cgroup_path("0::/user.slice/x\n", path, sizeof path, &old));
    expect_str(path, "/user.slice/x");
    expect(!old);
    expect(as_cgroup_path("0::/\n", path, sizeof path, &old));
    expect_str(path, "");
    snprintf(path, sizeof path, "untouched");
    expect(!as_cgroup_path("4:memoryx:/a\n", path, sizeof path, &old));
    expect(!as_cgroup_path("", path, sizeof path, &old));
    expect(!as_cgroup_path("0:", path, sizeof path, &old));
    expect(!as_cgroup_path("0::nothing", path, sizeof path, &old));
    expect_str(path, "untouched");
}

Test(sensor, reads_a_number_of_memory_stat_by_its_whole_key)
{
    uint64_t value = 7;
    expect(as_stat_number("anon 1\ninactive_file 4096\nactive_file 2\n", "inactive_file", &value));
    expect_eq(value, 4096);
    expect(!as_stat_number("inactive_file_x 1\ntotal_inactive_file 3\n", "inactive_file", &value));
    expect(!as_stat_number("inactive_file 12x\n", "inactive_file", &value));
    expect_eq(value, 4096);
}
