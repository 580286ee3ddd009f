/* env_test.c */
#include "base/env.h"

#include <stdlib.h>

#include "base/text.h"
#include "tests/runner/test.h"

Test(env, starts_without_a_message_and_not_cancelled)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_str(assay_message(env), "");
    expect(!as_cancelled(env));
    assay_cancel(env);
    expect(as_cancelled(env));
    assay_env_free(env);
}

Test(env, refuses_to_be_put_nowhere_and_frees_nothing)
{
    expect_eq(assay_env_new(NULL), ASSAY_BAD_INPUT);
    assay_env_free(NULL);
    expect_str(assay_message(NULL), "");
}

Test(env, takes_the_clock_that_the_environment_names)
{
    static const struct {
        const char   *value;
        as_clock_kind kind;
        const char   *why;
    } cases[] = {
        {"fake", AS_CLOCK_FAKE, "ASSAY_CLOCK asks"},
        {"monotonic", AS_CLOCK_MONOTONIC, "ASSAY_CLOCK asks"},
    };
    for (size_t i = 0; i < AS_COUNT(cases); i++) {
        assay_env *env;
        setenv("ASSAY_CLOCK", cases[i].value, 1);
        assay_status status = assay_env_new(&env);
        unsetenv("ASSAY_CLOCK");
        expect_eq(status, ASSAY_OK);
        as_clock clock = env->clock;
        assay_env_free(env);
        expect_eq(clock.kind, cases[i].kind);
        expect_has(clock.why, cases[i].why);
    }
}

Test(env, says_so_when_the_environment_names_an_unknown_clock)
{
    assay_env *env;
    setenv("ASSAY_CLOCK", "sundial", 1);
    assay_status status = assay_env_new(&env);
    unsetenv("ASSAY_CLOCK");
    expect_eq(status, ASSAY_OK);
    as_clock clock = env->clock;
    assay_env_free(env);
    expect(clock.kind != AS_CLOCK_FAKE);
    expect_has(clock.why, "was ignored");
}

Test(env, keeps_the_sentence_and_returns_the_status)
{
    assay_env env = {0};
    expect_eq(as_fail(&env, ASSAY_IO, "npy: %s: %d bytes", "a.npy", 7), ASSAY_IO);
    expect_str(assay_message(&env), "npy: a.npy: 7 bytes");
    expect_eq(as_fail(NULL, ASSAY_DEVICE, "lost"), ASSAY_DEVICE);
}

Test(env, may_quote_the_message_before)
{
    assay_env env = {0};
    as_fail(&env, ASSAY_IO, "inner");
    as_fail(&env, ASSAY_IO, "outer: %s", assay_message(&env));
    expect_str(assay_message(&env), "outer: inner");
}

Test(env, makes_foreign_bytes_printable)
{
    assay_env env = {0};
    as_fail(&env, ASSAY_BAD_INPUT, "%s",
            "a\033[31mb\nc\x7f"
            "d\xff\xc3(e\xc3\xa9 \xc2\x9b");
    expect_str(assay_message(&env), "a?[31mb?c?d?"
                                    "?(e\xc3\xa9 ??");
}

Test(env, cuts_a_long_sentence_between_characters)
{
    assay_env env = {0};
    for (size_t shift = 0; shift < 4; shift++) {
        char text[3000] = {0};
        memset(text, 'x', shift);
        for (size_t i = shift; i + 4 < sizeof text; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        as_fail(&env, ASSAY_BAD_INPUT, "%s", text);
        size_t n = strlen(env.message);
        expect(n < sizeof env.message && n > sizeof env.message - 8);
        expect_str(env.message + n - 3, "...");
        expect(as_utf8_ok(env.message, n));
        expect(!strchr(env.message, '?'));
    }
}

Test(env, keeps_a_sentence_that_just_fits)
{
    assay_env env = {0};
    char      text[sizeof env.message + 1];
    memset(text, 'x', sizeof text);
    text[sizeof env.message - 1] = '\0';
    as_fail(&env, ASSAY_BAD_INPUT, "%s", text);
    expect_str(assay_message(&env), text);
}

Test(env, has_a_text_for_every_status)
{
    for (int i = 0; i < ASSAY_N_STATUS; i++) {
        expect(strlen(assay_status_text((assay_status)i)) > 1);
        for (int j = 0; j < i; j++)
            expect(strcmp(assay_status_text((assay_status)i), assay_status_text((assay_status)j)));
    }
    expect_str(assay_status_text(ASSAY_BAD_INPUT), "bad input");
    expect_str(assay_status_text(ASSAY_N_STATUS), "unknown status");
}
