/* options_test.c - through keys that the table has to hold. */
#include "base/options.h"

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
    expect_eq(as_options_many(options, "batch"), 1);
    stop();
}

Test(options, repeated_ones_keep_their_order)
{
    start();
    expect_eq(as_options_many(options, "input"), 0);
    expect_ok(&env, assay_options_set(&env, options, "input", "x=a.npy"));
    expect_ok(&env, assay_options_set(&env, options, "input", "y=b.npy"));
    expect_eq(as_options_many(options, "input"), 2);
    expect_str(as_options_item(options, "input", 0), "x=a.npy");
    expect_str(as_options_item(options, "input", 1), "y=b.npy");
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
                 "option \"bacth\": there is none of that name; did you mean \"batch\"?");
    expect_fails(&env, assay_options_set(&env, options, "xyzzyplugh", "8"), ASSAY_BAD_INPUT, "there are: ");
    expect_has(assay_message(&env), "batch");
    expect_fails(&env, assay_options_set(&env, options, "", "8"), ASSAY_BAD_INPUT, "there are: ");
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
    expect_fails(&env, assay_options_set(&env, options, "compile", "maybe"), ASSAY_BAD_INPUT, "\"maybe\" is none of: on off");
    expect_fails(&env, assay_options_set(&env, options, "compile", "on off"), ASSAY_BAD_INPUT, "is none of: on off");
    expect_fails(&env, assay_options_set(&env, options, "compile", ""), ASSAY_BAD_INPUT, "\"\" is none of: on off");
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
    as_options_is_set(options, "batch"); /* looking is not reading */
    expect(as_options_unused(options) != NULL);
    as_options_int(options, "batch");
    expect_str(as_options_unused(options), "input");
    as_options_item(options, "input", 0);
    expect(!as_options_unused(options));
    expect_ok(&env, assay_options_set(&env, options, "batch", "9"));
    expect_str(as_options_unused(options), "batch"); /* the new value has not been read */
    stop();
}

Test(options, the_table_knows_which_verbs_take_them)
{
    const as_option_def def = {.key = "x", .verbs = "run profile"}, any = {.key = "y", .verbs = "*"};
    expect(as_option_takes(&def, "run") && as_option_takes(&def, "profile"));
    expect(!as_option_takes(&def, "ru") && !as_option_takes(&def, "runs") && !as_option_takes(&def, ""));
    expect(!as_option_takes(&def, "run profile"));
    expect(as_option_takes(&any, "anything"));
    expect(as_option_find("batch") && !strcmp(as_option_find("batch")->key, "batch"));
    expect(!as_option_find("bat") && !as_option_find(""));
}

/* Every default has to be a value that the option itself would take. */
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
