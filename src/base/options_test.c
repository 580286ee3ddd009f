/* options_test.c - tests with keys that the table must have. */
#include "base/options.h"

#include <stdio.h>

#include "base/env.h"
#include "tests/runner/test.h"

static assay_env      env;
static assay_options *options;

static void start(void) { expect_ok(&env, assay_options_new(&env, &options)); }

static void stop(void)
{
    assay_options_free(options);
    options = NULL;
}

Test(options, give_the_default_until_they_are_set)
{
    start();
    expect_eq(as_options_int(options, "batch"), 1);
    expect(!as_options_is_set(options, "batch"));
    expect_ok(&env, assay_options_set(&env, options, "batch", "8"));
    expect(as_options_is_set(options, "batch"));
    expect_eq(as_options_int(options, "batch"), 8);
    expect_str(as_options_text(options, "batch"), "8");
    expect(as_options_flag(options, "compile"));
    expect_ok(&env, assay_options_set(&env, options, "compile", "off"));
    expect(!as_options_flag(options, "compile"));
    expect(!as_options_text(options, "json"));
    stop();
}

Test(options, the_last_value_counts)
{
    start();
    expect_ok(&env, assay_options_set(&env, options, "batch", "8"));
    expect_ok(&env, assay_options_set(&env, options, "batch", "16"));
    expect_eq(as_options_int(options, "batch"), 16);
    expect_eq(as_options_texts(options, "batch").n, 1);
    stop();
}

Test(options, repeated_ones_keep_their_order)
{
    start();
    expect_eq(as_options_texts(options, "input").n, 0);
    expect_ok(&env, assay_options_set(&env, options, "input", "x=a.npy"));
    expect_ok(&env, assay_options_set(&env, options, "input", "y=b.npy"));
    expect_eq(as_options_texts(options, "input").n, 2);
    expect_str(as_options_texts(options, "input").items[0], "x=a.npy");
    expect_str(as_options_texts(options, "input").items[1], "y=b.npy");
    stop();
}

Test(options, copy_their_values)
{
    start();
    char value[] = "12";
    expect_ok(&env, assay_options_set(&env, options, "batch", value));
    value[0] = '9';
    expect_eq(as_options_int(options, "batch"), 12);
    stop();
}

Test(options, read_durations)
{
    start();
    expect_ok(&env, assay_options_set(&env, options, "time", "1.5ms"));
    expect_eq(as_options_duration_ns(options, "time"), 1500000);
    stop();
}

Test(options, refuse_an_unknown_key_and_name_the_nearest)
{
    start();
    expect_fails(&env, assay_options_set(&env, options, "bacth", "8"), ASSAY_BAD_INPUT,
                 "unknown option \"bacth\"; did you mean \"batch\"?");
    expect_fails(&env, assay_options_set(&env, options, "xyzzyplugh", "8"), ASSAY_BAD_INPUT, "; known: ");
    expect_has(assay_message(&env), "batch");
    expect_fails(&env, assay_options_set(&env, options, "", "8"), ASSAY_BAD_INPUT, "; known: ");
    stop();
}

Test(options, refuse_a_value_outside_its_range_and_keep_the_old_one)
{
    start();
    expect_ok(&env, assay_options_set(&env, options, "batch", "8"));
    expect_fails(&env, assay_options_set(&env, options, "batch", "0"), ASSAY_BAD_INPUT,
                 "option \"batch\": \"0\" is not a whole number in 1..");
    expect_fails(&env, assay_options_set(&env, options, "batch", "99999999999"), ASSAY_BAD_INPUT, "in 1..");
    expect_fails(&env, assay_options_set(&env, options, "batch", "8x"), ASSAY_BAD_INPUT, "\"8x\" is not a whole");
    expect_fails(&env, assay_options_set(&env, options, "batch", ""), ASSAY_BAD_INPUT, "\"\" is not a whole");
    expect_fails(&env, assay_options_set(&env, options, "batch", NULL), ASSAY_BAD_INPUT, "needs a value");
    expect_fails(&env, assay_options_set(&env, options, "compile", "maybe"), ASSAY_BAD_INPUT, "\"maybe\" is not one of: on off");
    expect_fails(&env, assay_options_set(&env, options, "compile", "on off"), ASSAY_BAD_INPUT, "is not one of: on off");
    expect_fails(&env, assay_options_set(&env, options, "compile", ""), ASSAY_BAD_INPUT, "\"\" is not one of: on off");
    expect_fails(&env, assay_options_set(&env, options, "time", "5 parsecs"), ASSAY_BAD_INPUT,
                 "\"5 parsecs\" is not a duration such as 250ns");
    expect_fails(&env, assay_options_set(&env, options, "json", ""), ASSAY_BAD_INPUT, "option \"json\": the file name is empty");
    expect_eq(as_options_int(options, "batch"), 8);
    stop();
}

Test(options, name_the_one_that_was_set_and_never_read)
{
    start();
    expect(!as_options_unused(options));
    expect_ok(&env, assay_options_set(&env, options, "batch", "8"));
    expect_ok(&env, assay_options_set(&env, options, "input", "x=a.npy"));
    as_options_is_set(options, "batch"); /* checking whether it is set does not count as reading */
    expect(as_options_unused(options) != NULL);
    as_options_int(options, "batch");
    expect_str(as_options_unused(options), "input");
    as_options_texts(options, "input");
    expect(!as_options_unused(options));
    expect_ok(&env, assay_options_set(&env, options, "batch", "9"));
    expect_str(as_options_unused(options), "batch"); /* the new value has not been read */
    stop();
}

Test(options, the_table_is_searched_by_key)
{
    expect(as_option_find("batch") && !strcmp(as_option_find("batch")->key, "batch"));
    expect(!as_option_find("bat") && !as_option_find(""));
}

Test(options, percentages_are_checked_when_they_are_set)
{
    static const char *const good[] = {"1%", "1 %", "2.5", "0", "1000%"}, *const bad[] = {"",     "%",   "x",   "-1",
                                                                                          "1001", "nan", "1%2", "inf"};
    start();
    for (size_t i = 0; i < AS_COUNT(good); i++)
        expect_ok(&env, assay_options_set(&env, options, "margin", good[i]));
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(&env, assay_options_set(&env, options, "margin", bad[i]), ASSAY_BAD_INPUT, "is not a percentage");
    expect_fails(&env, assay_options_set(&env, options, "alpha", "0.6"), ASSAY_BAD_INPUT, "is not a share");
    stop();
}

Test(options, those_that_a_call_does_not_take_are_refused_by_name)
{
    static const char *const keys[] = {"batch", "seed", NULL};
    start();
    expect_ok(&env, assay_options_set(&env, options, "batch", "8"));
    expect_ok(&env, as_options_only(&env, options, "it", keys));
    expect_ok(&env, as_options_only(&env, NULL, "it", keys));
    expect_ok(&env, assay_options_set(&env, options, "margin", "2%"));
    expect_fails(&env, as_options_only(&env, options, "it", keys), ASSAY_BAD_INPUT,
                 "it: --margin does not apply; use: batch, seed");
    stop();
}

/* --- Structs --- */

typedef struct sample {
    bool        winograd, batch_is_set;
    int         threads, compile;
    int64_t     batch;
    uint64_t    seed, time_ns;
    const char *device, *seq, *weights;
    as_texts    dims;
    double      margin, alpha;
    int         untouched;
} sample;

static const as_option_member members[] = {AS_MEMBER(sample, BOOL, "winograd", winograd),
                                           AS_MEMBER_OR_UNSET(sample, I64, "batch", batch, batch_is_set),
                                           AS_MEMBER(sample, INT, "threads", threads),
                                           AS_MEMBER(sample, CHOICE, "compile", compile),
                                           AS_MEMBER(sample, U64, "seed", seed),
                                           AS_MEMBER(sample, NS, "time", time_ns),
                                           AS_MEMBER(sample, TEXT, "device", device),
                                           AS_MEMBER(sample, GIVEN, "seq", seq),
                                           AS_MEMBER(sample, TEXT, "weights", weights),
                                           AS_MEMBER(sample, TEXTS, "dim", dims),
                                           AS_MEMBER(sample, SHARE, "margin", margin),
                                           AS_MEMBER(sample, SHARE, "alpha", alpha),
                                           {.key = NULL}};

Test(options, a_struct_is_filled_with_defaults_and_with_what_was_set)
{
    sample s = {.untouched = 3};
    expect_ok(&env, as_options_read(&env, NULL, members, &s));
    expect(!s.winograd && !s.batch_is_set && !s.seq && !s.weights && !s.dims.n);
    expect_eq(s.batch, 1);
    expect_eq(s.threads, 1);
    expect_eq(s.compile, 0);
    expect_eq(s.time_ns, 1000000000);
    expect_str(s.device, "cpu");
    expect_near(s.margin, 0.01, 0);
    expect_near(s.alpha, 0.01, 0);
    expect_eq(s.untouched, 3);
    start();
    static const char *const set[][2] = {{"winograd", "on"}, {"batch", "1"},  {"threads", "2"},   {"compile", "off"},
                                         {"seed", "7"},      {"time", "5ms"}, {"device", "null"}, {"seq", "3"},
                                         {"weights", "w"},   {"dim", "a=1"},  {"dim", "b=2"},     {"margin", "2.5 %"},
                                         {"alpha", "0.05"}};
    for (size_t i = 0; i < AS_COUNT(set); i++)
        expect_ok(&env, assay_options_set(&env, options, set[i][0], set[i][1]));
    expect_ok(&env, as_options_read(&env, options, members, &s));
    expect(s.winograd && s.batch_is_set);
    expect_eq(s.threads, 2);
    expect_eq(s.compile, 1);
    expect_eq(s.seed, 7);
    expect_eq(s.time_ns, 5000000);
    expect_str(s.seq, "3");
    expect_eq(s.dims.n, 2);
    expect_str(s.dims.items[1], "b=2");
    expect_near(s.margin, 0.025, 1e-15);
    expect_near(s.alpha, 0.05, 0);
    expect(!as_options_unused(options)); /* all of them were looked at */
    stop();
}

Test(options, a_list_is_not_one_number)
{
    sample s;
    start();
    expect_ok(&env, assay_options_set(&env, options, "threads", "1,2"));
    expect_fails(&env, as_options_read(&env, options, members, &s), ASSAY_BAD_INPUT, "--threads: 1,2 is a list");
    stop();
}

Test(options, one_member_is_set_by_its_key_and_checked)
{
    sample s;
    expect_ok(&env, as_options_read(&env, NULL, members, &s));
    expect_ok(&env, as_member_set(&env, members, "batch", "8", &s));
    expect(s.batch_is_set);
    expect_eq(s.batch, 8);
    expect_ok(&env, as_member_set(&env, members, "seq", "4", &s));
    expect_str(s.seq, "4");
    expect_fails(&env, as_member_set(&env, members, "batch", "x", &s), ASSAY_BAD_INPUT, "\"x\" is not a whole number");
    expect_eq(s.batch, 8);
    expect(as_member_find(members, "dim") && !as_member_find(members, "json"));
}

Test(options, what_is_not_the_default_is_written_as_words_and_reads_the_same)
{
    as_arena    arena = {0};
    const char *words[32], *const dims[] = {"a=1", "b=2"};
    int    n = 0;
    sample s, again;
    expect_ok(&env, as_options_read(&env, NULL, members, &s));
    expect(as_members_words(&arena, members, &s, words, 32, &n));
    expect_eq(n, 0);
    s.winograd = s.batch_is_set = true;
    s.compile = 1;
    s.time_ns = 1500;
    s.weights = "my weights.safetensors";
    s.dims = (as_texts){dims, 2};
    s.margin = 0.025;
    expect(as_members_words(&arena, members, &s, words, 32, &n));
    static const char *const want[] = {"--winograd=on",          "--batch=1", "--compile=off", "--time=1500ns", "--weights",
                                       "my weights.safetensors", "--dim=a=1", "--dim=b=2",     "--margin=2.5%"};
    expect_eq(n, AS_COUNT(want));
    start();
    for (int i = 0; i < n; i++) {
        char key[32];
        expect_str(words[i], want[i]);
        const char *equals = strchr(words[i], '=');
        snprintf(key, sizeof key, "%.*s", (int)(equals ? equals - words[i] - 2 : (int)strlen(words[i]) - 2), words[i] + 2);
        expect_ok(&env, assay_options_set(&env, options, key, equals ? equals + 1 : words[++i]));
    }
    expect_ok(&env, as_options_read(&env, options, members, &again));
    expect(again.winograd && again.batch_is_set && again.compile == 1 && again.time_ns == 1500 && again.dims.n == 2);
    expect_str(again.weights, s.weights);
    expect_near(again.margin, 0.025, 1e-15);
    n = 0;
    expect(!as_members_words(&arena, members, &s, words, 3, &n)); /* no room */
    stop();
    as_arena_drop(&arena);
}

/* Every default must be a value that the option itself accepts. */
Test(options, the_tables_defaults_and_examples_are_allowed)
{
    start();
    for (const as_option_def *def = as_option_table; def->key; def++) {
        if (def->standard)
            expect_ok(&env, assay_options_set(&env, options, def->key, def->standard));
        if (def->example)
            expect_ok(&env, assay_options_set(&env, options, def->key, def->example));
    }
    stop();
}

Test(options, freeing_none_is_fine) { assay_options_free(NULL); }
