/* history_facts_test.c - a step is suggested, never called proved; one that went away says so. */
#include "analysis/duel/duel_facts.h"

#include <stdio.h>

#include "analysis/duel/test_trial.h"

enum { N = 60 };

static assay_facts *facts_of(assay_env *env, double step, int from, int to, size_t n)
{
    static char      commits[N][24];
    as_history_point points[N];
    uint64_t         state = 3;
    for (int i = 0; i < (int)n; i++) {
        double ns = 1e6 * (i >= from && i < to ? step : 1) * (1 + .004 * as_planted_draw(&state));
        snprintf(commits[i], sizeof commits[i], "commit%02d", i);
        points[i] = (as_history_point){.unix_time = 1700000000 + i * 86400,
                                       .run = i + 1,
                                       .commit = commits[i],
                                       .machine = "m",
                                       .median = ns,
                                       .lo = ns * .99,
                                       .hi = ns * 1.01};
    }
    return as_facts_of_history(env, "matmul", points, n, NULL);
}

Test(history_facts, a_step_is_nominated_with_what_would_prove_it)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts *f = facts_of(env, 1.08, 40, N, N);
    expect_ok(env, as_facts_check(env, f));
    const as_table *t = as_facts_table_find(f, "history", "changes");
    expect_eq(t->n_rows, 1);
    expect_near(t->cells[0].metric.value, 40, 0);
    expect_str(t->cells[7].text, "nominated");
    const char *text = as_facts_group_find(f, "history")->findings[0].text;
    expect_has(text, "Possible change of +8.1 % at commit40");
    expect_has(text, "To prove it: build commit39 and commit40 and run `assay compare");
    expect_has(text, "assay check");
    expect_eq(as_facts_series_find(f, "history", "median")->n, N);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(history_facts, a_step_that_went_away_says_so)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts    *f = facts_of(env, 1.08, 20, 40, N);
    const as_table *t = as_facts_table_find(f, "history", "changes");
    expect(t->n_rows >= 1);
    expect_str(t->cells[7].text, "went away");
    expect_has(as_facts_group_find(f, "history")->findings[0].text, "is gone");
    assay_facts_free(f);
    assay_env_free(env);
}

Test(history_facts, few_points_and_points_without_a_number_do_no_harm)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts *f = facts_of(env, 1, 0, 0, 3);
    expect_has(as_facts_group_find(f, "history")->findings[0].text, "Only 3 points");
    assay_facts_free(f);
    as_history_point points[] = {{.unix_time = 1700000000, .median = NAN, .lo = NAN, .hi = NAN, .commit = "", .machine = "a"},
                                 {.unix_time = 0, .median = 5, .lo = NAN, .hi = NAN, .machine = "b"}};
    f = as_facts_of_history(env, "x", points, 2, NULL);
    expect_ok(env, as_facts_check(env, f));
    expect_has(as_facts_group_find(f, "history")->findings[1].text, "several machines");
    assay_facts_free(f);
    f = as_facts_of_history(env, "x", NULL, 0, NULL);
    expect_ok(env, as_facts_check(env, f));
    assay_facts_free(f);
    f = as_facts_of_cases(env, NULL, 0, ".assay/runs.db");
    expect_has(as_facts_group_find(f, "history")->findings[0].text, ".assay/runs.db has no cases yet");
    assay_facts_free(f);
    assay_env_free(env);
}
