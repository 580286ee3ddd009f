/* brief_lab_test.c - the first screens of check, history and bench: the verdict first, the worst of many cases, and never more
 * than one screen. */
#include "analysis/duel/duel_facts.h"
#include "analysis/duel/test_trial.h"
#include "report/brief.h"
#include "report/test_report.h"

enum { MANY = 40 };

static int lines_of(const char *text) { return as_test_count(text, "\n"); }

/* --- check --------------------------------------------------------------------------------------------------- */

static as_duel duel_of(as_verdict verdict, double ratio)
{
    return (as_duel){.verdict = verdict,
                     .ratio = ratio,
                     .lo = ratio * .98,
                     .hi = ratio * 1.02,
                     .confidence = .99,
                     .unit = "launch",
                     .by = "launches",
                     .p_slower = verdict == AS_SLOWER ? 1e-9 : 1,
                     .p_faster = verdict == AS_FASTER ? 1e-9 : 1,
                     .ln_e_slower = verdict == AS_SLOWER ? 20 : -1,
                     .ln_e_faster = verdict == AS_FASTER ? 20 : -1,
                     .visible = .1,
                     .needed_ns = NAN,
                     .a_ns = 1e6,
                     .b_ns = 1e6 * ratio,
                     .a_lo = NAN,
                     .a_hi = NAN,
                     .b_lo = NAN,
                     .b_hi = NAN,
                     .n_rounds = 100,
                     .n_units = 10};
}

static char *check_text(assay_env *env, as_check_case *cases, size_t n, as_fail_on fail_on)
{
    as_check_result r;
    as_duel_rules   rules = {.margin = .05, .alpha = .01, .severity = {0, 0, .15, .3, .5}};
    expect_ok(env, as_check_decide(env, cases, n, &rules, .05, fail_on, &r));
    assay_facts *f = as_facts_of_check(env, &r, "check against main");
    char        *text = as_test_report(env, f, 1, "basic", (as_write_settings){.width = 80});
    assay_facts_free(f);
    return text;
}

Test(brief_check, says_first_which_case_is_slower_and_by_how_much)
{
    assay_env    *env = as_test_env();
    as_duel       same = duel_of(AS_SAME, 1), slower = duel_of(AS_SLOWER, 1.12);
    as_check_case cases[] = {{.name = "relu", .duel = &same}, {.name = "matmul/512", .duel = &slower}};
    char         *text = check_text(env, cases, 2, AS_FAIL_ON_SLOWER);
    expect_has(text, "FAIL: 1 of 2 slower: matmul/512 by 12 % (10 to 14)");
    expect(strstr(text, "matmul/512  ") < strstr(text, "relu  "));
    free(text);
    assay_env_free(env);
}

Test(brief_check, passes_when_nothing_is_slower)
{
    assay_env    *env = as_test_env();
    as_duel       same = duel_of(AS_SAME, 1);
    as_check_case cases[] = {{.name = "relu", .duel = &same}};
    char         *text = check_text(env, cases, 1, AS_FAIL_ON_SLOWER);
    expect_has(text, "PASS: none of 1 slower than 5 %");
    free(text);
    assay_env_free(env);
}

Test(brief_check, what_was_stopped_or_not_begun_is_no_pass)
{
    assay_env    *env = as_test_env();
    as_duel       same = duel_of(AS_SAME, 1);
    as_check_case cases[] = {{.name = "relu", .duel = &same}, {.name = "tanh", .duel = &same, .incomplete = "stopped"}};
    char         *text = check_text(env, cases, 2, AS_FAIL_ON_SLOWER);
    expect_has(text, "INCOMPLETE: 1 of 2 stopped before the end");
    free(text);
    text = check_text(env, cases, 0, AS_FAIL_ON_SLOWER);
    expect_has(text, "INCOMPLETE: nothing was checked");
    free(text);
    assay_env_free(env);
}

Test(brief_check, many_cases_of_every_sort_with_long_words_fit_one_screen)
{
    static char   names[MANY][120], why[400];
    assay_env    *env = as_test_env();
    as_duel       same = duel_of(AS_SAME, 1), slower = duel_of(AS_SLOWER, 1.5), faster = duel_of(AS_FASTER, .7);
    as_duel       open = duel_of(AS_UNRESOLVED, 1.04);
    as_check_case cases[MANY];
    memset(why, 'w', sizeof why - 1);
    open.hi = 1.3;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "suite/with/a/very/long/prefix/of/a/name/%d/f32/batch=8,threads=2", i);
        cases[i] = (as_check_case){.name = names[i],
                                   .duel = i % 5 == 0   ? &slower
                                           : i % 5 == 1 ? &faster
                                           : i % 5 == 2 ? &open
                                           : i % 5 == 3 ? &same
                                                        : NULL,
                                   .failure = i % 5 == 4 ? why : NULL};
    }
    char *text = check_text(env, cases, MANY, AS_FAIL_ON_SLOWER);
    expect_has(text, "8 of 40 slower");
    expect_has(text, "more: --report detailed");
    if (lines_of(text) > AS_BRIEF_LINES)
        fail("%d lines:\n%s", lines_of(text), text);
    free(text);
    assay_env_free(env);
}

/* --- history -------------------------------------------------------------------------------------------------- */

static char *history_text(assay_env *env, double step, int n, const char *last_machine)
{
    static char      commits[MANY][24];
    as_history_point points[MANY];
    for (int i = 0; i < n; i++) {
        double ns = 1e6 * (i >= n / 2 ? step : 1) * (1 + .001 * (i % 3));
        snprintf(commits[i], sizeof commits[i], "commit%02d", i);
        points[i] = (as_history_point){.unix_time = 1700000000 + i * 86400,
                                       .run = i + 1,
                                       .commit = commits[i],
                                       .machine = i == n - 1 ? last_machine : "m",
                                       .median = ns,
                                       .lo = ns * .99,
                                       .hi = ns * 1.01};
    }
    assay_facts *f = as_facts_of_history(env, "matmul", points, (size_t)n, NULL);
    char        *text = as_test_report(env, f, 1, "basic", (as_write_settings){.width = 80});
    assay_facts_free(f);
    return text;
}

Test(brief_history, a_step_is_the_news_and_drawn)
{
    assay_env *env = as_test_env();
    char      *text = history_text(env, 1.2, MANY, "m");
    expect_has(text, "it seems 20.0 % slower since 2023-12-04");
    expect_has(text, "(commit20)");
    expect_has(text, "▁▁▁▁");
    expect_has(text, "████");
    expect_has(text, "2023-11-14 to 2023-12-23");
    expect_has(text, "not a proof");
    expect(lines_of(text) <= AS_BRIEF_LINES);
    expect(!strstr(text, "more than one machine"));
    free(text);
    assay_env_free(env);
}

Test(brief_history, what_does_not_change_is_flat_and_few_runs_say_so)
{
    assay_env *env = as_test_env();
    char      *text = history_text(env, 1, MANY, "m");
    expect_has(text, "no change in 40 runs");
    expect(!strstr(text, "█"));
    free(text);
    text = history_text(env, 1.2, 4, "m");
    expect_has(text, "4 runs: too few to find a change");
    free(text);
    assay_env_free(env);
}

Test(brief_history, several_machines_are_told)
{
    assay_env *env = as_test_env();
    char      *text = history_text(env, 1, MANY, "other");
    expect_has(text, "more than one machine");
    free(text);
    assay_env_free(env);
}
