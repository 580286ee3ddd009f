/* text_test.c */
#include "base/text.h"

#include <locale.h>
#include <stdlib.h>

#include "tests/runner/test.h"

Test(text, grows_and_stays_terminated)
{
    as_text t = {0};
    for (int i = 0; i < 1000; i++)
        as_text_add(&t, "abc");
    as_text_add_n(&t, "defg", 2);
    as_text_add_n(&t, NULL, 0);
    as_text_printf(&t, "-%d", 42);
    expect_eq(t.length, 3005);
    expect_eq(strlen(t.data), 3005);
    expect_str(t.data + 2997, "abcde-42");
    expect(!t.failed);
    as_text_drop(&t);
    expect(!t.data && !t.length);
}

Test(text, does_nothing_more_after_it_failed)
{
    as_text t = {0};
    as_text_add(&t, "kept");
    as_text_add_n(&t, "x", SIZE_MAX - 2);
    expect(t.failed);
    as_text_add(&t, "lost");
    as_text_printf(&t, "lost");
    expect_str(t.data, "kept");
    as_text_drop(&t);
}

Test(text, parses_whole_numbers_to_the_last_one)
{
    int64_t x = 77;
    expect(as_parse_i64("0", &x) && x == 0);
    expect(as_parse_i64("-0", &x) && x == 0);
    expect(as_parse_i64("+12", &x) && x == 12);
    expect(as_parse_i64("9223372036854775807", &x) && x == INT64_MAX);
    expect(as_parse_i64("-9223372036854775808", &x) && x == INT64_MIN);
    static const char *const bad[] = {"",
                                      "-",
                                      "+",
                                      " 1",
                                      "1 ",
                                      "1x",
                                      "0x10",
                                      "1.0",
                                      "1e3",
                                      "--1",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999",
                                      NULL};
    x = 77;
    for (int i = 0; bad[i]; i++)
        if (as_parse_i64(bad[i], &x))
            fail("\"%s\" was taken as %lld", bad[i], (long long)x);
    expect_eq(x, 77);
}

Test(text, parses_finite_decimals_only)
{
    double x = 77;
    expect(as_parse_f64("1.5", &x) && x == 1.5);
    expect(as_parse_f64("-.5e-3", &x) && x == -.5e-3);
    expect(as_parse_f64("5.", &x) && x == 5);
    expect(as_parse_f64("+1E+2", &x) && x == 100);
    expect(as_parse_f64("0.1", &x) && x == 0.1);
    static const char *const bad[] = {"",    ".",    "e5",   "1e",   "1e+",   "nan",  "inf", "-inf", "0x1p3",
                                      "1,5", " 1.5", "1.5 ", "1..5", "1e999", "1.5.", "--1", NULL};
    x = 77;
    for (int i = 0; bad[i]; i++)
        if (as_parse_f64(bad[i], &x))
            fail("\"%s\" was taken as %g", bad[i], x);
    expect_near(x, 77, 0);
    char zeros[2000];
    memset(zeros, '0', sizeof zeros);
    zeros[sizeof zeros - 1] = '\0';
    expect(!as_parse_f64(zeros, &x));
}

Test(text, numbers_have_a_point_in_every_locale)
{
    static const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8", NULL};
    int                      i = 0;
    while (commas[i] && !setlocale(LC_NUMERIC, commas[i]))
        i++;
    if (!commas[i])
        skip("no locale with a decimal comma is installed");
    double x = 0;
    char   shown[32], number[AS_NUMBER_BYTES];
    bool   parsed = as_parse_f64("1.5", &x), comma = as_parse_f64("1,5", &x);
    as_show(shown, sizeof shown, 12345, "ns");
    as_number(number, 0.1);
    setlocale(LC_NUMERIC, "C");
    expect(parsed && !comma && x == 1.5);
    expect_str(shown, "12.3 us");
    expect_str(number, "0.1");
}

Test(text, parses_durations_with_their_unit)
{
    uint64_t ns = 77;
    expect(as_parse_duration_ns("250ns", &ns) && ns == 250);
    expect(as_parse_duration_ns("5us", &ns) && ns == 5000);
    expect(as_parse_duration_ns("1.5ms", &ns) && ns == 1500000);
    expect(as_parse_duration_ns("2s", &ns) && ns == 2000000000);
    expect(as_parse_duration_ns("0s", &ns) && ns == 0);
    expect(as_parse_duration_ns("1e3us", &ns) && ns == 1000000);
    static const char *const bad[] = {"", "5", "s", "5 s", "-1s", "1.5ns", "2min", "5S", "1e300s", "nans", "20000000000s", NULL};
    ns = 77;
    for (int i = 0; bad[i]; i++)
        if (as_parse_duration_ns(bad[i], &ns))
            fail("\"%s\" was taken as %llu ns", bad[i], (unsigned long long)ns);
    expect_eq(ns, 77);
}

Test(text, parses_byte_counts)
{
    uint64_t n = 77;
    expect(as_parse_bytes("512", &n) && n == 512);
    expect(as_parse_bytes("512B", &n) && n == 512);
    expect(as_parse_bytes("64KiB", &n) && n == 65536);
    expect(as_parse_bytes("1.5MiB", &n) && n == 1572864);
    expect(as_parse_bytes("2GiB", &n) && n == 2147483648);
    expect(as_parse_bytes("18446744073709551615", &n) && n == UINT64_MAX);
    expect(as_parse_bytes("9007199254740993", &n) && n == 9007199254740993);
    static const char *const bad[] = {"", "KiB", "1.5", "-1", "1KB", "1kib", "1 KiB", "18446744073709551616", "1e30GiB", NULL};
    n = 77;
    for (int i = 0; bad[i]; i++)
        if (as_parse_bytes(bad[i], &n))
            fail("\"%s\" was taken as %llu bytes", bad[i], (unsigned long long)n);
    expect_eq(n, 77);
}

Test(text, parses_truth_in_its_usual_words)
{
    static const char *const yes[] = {"on", "true", "1", "yes"}, *const no[] = {"off", "false", "0", "no"};
    for (int i = 0; i < 4; i++) {
        bool x = false, y = true;
        expect(as_parse_bool(yes[i], &x) && x);
        expect(as_parse_bool(no[i], &y) && !y);
    }
    bool x = true;
    expect(!as_parse_bool("", &x) && !as_parse_bool("ON", &x) && !as_parse_bool("2", &x) && x);
}

Test(text, shows_numbers_with_three_digits_and_a_readable_unit)
{
    static const struct {
        double      value;
        const char *unit, *want;
    } cases[] = {
        {12345, "ns", "12.3 us"},
        {5, "ns", "5 ns"},
        {0.1234, "ns", "0.123 ns"},
        {999.4, "ns", "999 ns"},
        {999.6, "ns", "1.00 us"},
        {999999, "ns", "1.00 ms"},
        {2.5e12, "ns", "2500 s"},
        {0.0025, "s", "2.50 ms"},
        {1572864, "byte", "1.50 MiB"},
        {512, "byte", "512 B"},
        {1023, "byte", "1023 B"},
        {1024, "byte", "1.00 KiB"},
        {1048575, "byte", "1.00 MiB"},
        {1e9, "byte/s", "954 MiB/s"},
        {3.21e9, "flop/s", "3.21 GFLOP/s"},
        {1e6, "flop", "1.00 MFLOP"},
        {7, "flop", "7 FLOP"},
        {0.123, "ratio", "12.3 %"},
        {1, "ratio", "100 %"},
        {0.00012, "ratio", "0.0120 %"},
        {5, "1", "5"},
        {12345, "1", "12345"},
        {3.14159, "1", "3.14"},
        {9.999, "1", "10.0"},
        {99.99, "1", "100"},
        {0.09999, "1", "0.100"},
        {0, "ns", "0 ns"},
        {-12345, "ns", "-12.3 us"},
        {45.25, "celsius", "45.2 C"},
        {0.0123, "watt", "12.3 mW"},
        {2.5e9, "hertz", "2.50 GHz"},
        {12345, "1/s", "12.3 k/s"},
        {0.25, "flop/byte", "0.250 flop/byte"},
        {1234567, "sample", "1234567 sample"},
        {1e-9, "1", "1.00e-09"},
        {NAN, "ns", "n/a"},
        {INFINITY, "ns", "inf"},
        {-INFINITY, "ns", "-inf"},
        {5, NULL, "5"},
        {1e300, "ns", "1.00e+291 s"},
    };
    char buf[64];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_str(as_show(buf, sizeof buf, cases[i].value, cases[i].unit), cases[i].want);
    expect_str(as_show(buf, 5, 12345, "ns"), "12.3");
}

Test(text, writes_the_shortest_number_that_reads_back)
{
    static const struct {
        double      value;
        const char *want;
    } cases[] = {
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {5, "5"},
        {-0.0, "-0.0"},
        {1e22, "1e+22"},
        {123456, "123456"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {NAN, "nan"},
        {-INFINITY, "-inf"},
    };
    char buf[AS_NUMBER_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_str(as_number(buf, cases[i].value), cases[i].want);
        if (isfinite(cases[i].value))
            expect(strtod(buf, NULL) == cases[i].value);
    }
}

Test(text, finds_the_nearest_word)
{
    static const char *const words[] = {"batch", "threads", "compile", "time", "seed", NULL};
    expect_str(as_nearest("bacth", words), "batch");
    expect_str(as_nearest("thread", words), "threads");
    expect_str(as_nearest("Compile", words), "compile");
    expect_str(as_nearest("sed", words), "seed");
    expect(!as_nearest("quantum", words));
    expect(!as_nearest("", words));
    expect(!as_nearest("x", words));
    char large[500];
    memset(large, 'b', sizeof large);
    large[sizeof large - 1] = '\0';
    expect(!as_nearest(large, words));
    expect(!as_nearest("batch", (const char *const[]){NULL}));
}

Test(text, checksums_match_their_published_values)
{
    expect_eq(as_crc32(0, "123456789", 9), 0xcbf43926);
    expect_eq(as_crc32(as_crc32(0, "12345", 5), "6789", 4), 0xcbf43926);
    expect_eq(as_crc32(0, NULL, 0), 0);
    /* Every length at which the algorithm changes, compared with a bit-by-bit version. */
    unsigned char bytes[700];
    uint32_t      slow = UINT32_MAX;
    for (size_t n = 0; n < sizeof bytes; n++) {
        expect_eq(as_crc32(0, bytes, n), ~slow);
        expect_eq(as_crc32(as_crc32(0, bytes, n / 3), bytes + n / 3, n - n / 3), ~slow);
        bytes[n] = (unsigned char)(n * 167 + n / 7);
        slow ^= bytes[n];
        for (int bit = 0; bit < 8; bit++)
            slow = (slow >> 1) ^ (slow & 1 ? 0xedb88320u : 0);
    }
    expect(as_hash64("", 0) == 0xcbf29ce484222325u);
    expect(as_hash64("a", 1) == 0xaf63dc4c8601ec8cu);
    expect(as_hash64("foobar", 6) == 0x85944171f73967e8u);
}

Test(text, tells_good_utf8_from_bad)
{
    static const char *const good[] = {
        "", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf", NULL};
    static const char *const bad[] = {"\x80",
                                      "\xc3",
                                      "\xc3(",
                                      "\xc0\xaf",
                                      "\xc1\xbf",
                                      "\xe0\x80\xaf",
                                      "\xe2\x82",
                                      "\xed\xa0\x80",
                                      "\xf0\x80\x80\xaf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "a\xfe",
                                      NULL};
    for (int i = 0; good[i]; i++)
        if (!as_utf8_ok(good[i], strlen(good[i])))
            fail("good case %d was refused", i);
    for (int i = 0; bad[i]; i++)
        if (as_utf8_ok(bad[i], strlen(bad[i])))
            fail("bad case %d was taken", i);
    expect(as_utf8_ok("a\0b", 3));
    expect_eq(as_utf8_length("\xe2\x82\xac", 3), 3);
    expect_eq(as_utf8_length("\xe2\x82\xac", 2), 0);
    expect_eq(as_utf8_length("", 0), 0);
}

Test(text, dates_are_of_utc_and_what_no_calendar_has_is_unknown)
{
    char buf[AS_DATE_BYTES];
    expect_str(as_date_text(buf, sizeof buf, 0, AS_DATE_DAY), "1970-01-01");
    expect_str(as_date_text(buf, sizeof buf, 951827696, AS_DATE_MINUTE), "2000-02-29 12:34");
    expect_str(as_date_text(buf, sizeof buf, 951827696, AS_DATE_SECOND), "2000-02-29 12:34:56");
    expect_str(as_date_text(buf, sizeof buf, 951827696, AS_DATE_ISO), "2000-02-29T12:34:56Z");
    expect_str(as_date_text(buf, sizeof buf, INT64_MAX, AS_DATE_ISO), "unknown");
    expect_str(as_date_text(buf, sizeof buf, INT64_MIN, AS_DATE_DAY), "unknown");
    expect_str(as_date_text(buf, 5, 0, AS_DATE_DAY), "unkn"); /* not enough space: cut, but always terminated */
}
