/* check_facts_test.c - every status, every overall, every exit code. */
#include "analysis/duel/duel_facts.h"

#include "tests/runner/test.h"

static assay_env *env_new(void)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    return env;
}

static as_duel duel_of(as_verdict verdict, double ratio, double p)
{
    return (as_duel){.verdict = verdict,
                     .ratio = ratio,
                     .lo = ratio - .005,
                     .hi = ratio + .005,
                     .confidence = .99,
                     .unit = "launch",
                     .n_units = 16,
                     .a_ns = 100,
                     .b_ns = 100 * ratio,
                     .p_slower = verdict == AS_SLOWER ? p : 1,
                     .p_faster = verdict == AS_FASTER ? p : 1,
                     .ln_e_slower = verdict == AS_SLOWER ? 9 : -INFINITY,
                     .ln_e_faster = -INFINITY,
                     .ln_e_same = -INFINITY,
                     .visible = .02,
                     .needed_ns = 9e9};
}

static as_check_result decided(assay_env *env, as_check_case *cases, size_t n, as_fail_on fail_on)
{
    as_check_result r;
    as_duel_rules   rules;
    as_duel_rules_standard(&rules);
    rules.margin = .02;
    expect_ok(env, as_check_decide(env, cases, n, &rules, AS_CHECK_Q, fail_on, &r));
    return r;
}

Test(check, every_verdict_has_its_status)
{
    assay_env *env = env_new();
    as_duel    same = duel_of(AS_SAME, 1, 1), slower = duel_of(AS_SLOWER, 1.1, 1e-5), faster = duel_of(AS_FASTER, .9, 1e-5),
            open = duel_of(AS_UNRESOLVED, 1.02, 1);
    slower.severity = AS_SEVERITY_MINOR;
    as_check_case cases[] = {
        {.name = "same", .duel = &same}, {.name = "slower", .duel = &slower},        {.name = "faster", .duel = &faster},
        {.name = "open", .duel = &open}, {.name = "failed", .failure = "signal 11"}, {.name = "cut", .incomplete = "stopped"}};
    static const as_check_status want[] = {AS_CHECK_PASS,     AS_CHECK_REGRESSION, AS_CHECK_IMPROVEMENT,
                                           AS_CHECK_UNSTABLE, AS_CHECK_FAILED,     AS_CHECK_UNSTABLE};
    as_check_result              r = decided(env, cases, 6, AS_FAIL_ON_SLOWER);
    for (int i = 0; i < 6; i++)
        expect_str(as_check_status_text(cases[i].status), as_check_status_text(want[i]));
    expect_str(cases[1].reason, "slower by at least 9.5 %, above the threshold of 2 %");
    expect_has(cases[3].reason, "time to decide about 9.00 s");
    expect_str(cases[4].reason, "signal 11");
    expect_eq(r.overall, AS_HAS_REGRESSIONS);
    expect_eq(r.exit_code, 1);
    expect_eq(r.n_e_bh, 1);
    assay_env_free(env);
}

/* "Not slower by more than the threshold" is a pass, even if faster and same could not be told apart. */
Test(check, what_cannot_be_slower_passes)
{
    assay_env *env = env_new();
    as_duel    d = duel_of(AS_UNRESOLVED, .97, 1);
    d.lo = .93, d.hi = 1.01;
    as_check_case c = {.name = "x", .duel = &d};
    decided(env, &c, 1, AS_FAIL_ON_UNRESOLVED);
    expect_eq(c.status, AS_CHECK_PASS);
    d.hi = 1.03;
    decided(env, &c, 1, AS_FAIL_ON_SLOWER);
    expect_eq(c.status, AS_CHECK_UNSTABLE);
    assay_env_free(env);
}

Test(check, one_weak_finding_among_many_cases_is_no_regression)
{
    assay_env    *env = env_new();
    as_duel       same = duel_of(AS_SAME, 1, 1), weak = duel_of(AS_SLOWER, 1.04, .004), strong = duel_of(AS_SLOWER, 1.04, 1e-5);
    as_check_case cases[100];
    for (int i = 0; i < 100; i++)
        cases[i] = (as_check_case){.name = "same", .duel = &same};
    cases[7].duel = &weak;
    as_check_result r = decided(env, cases, 100, AS_FAIL_ON_SLOWER);
    expect_eq(cases[7].status, AS_CHECK_UNSTABLE);
    expect_has(cases[7].reason, "not significant among 100 cases");
    expect_eq(r.exit_code, 0);
    cases[7].duel = &strong;
    r = decided(env, cases, 100, AS_FAIL_ON_SLOWER);
    expect_eq(cases[7].status, AS_CHECK_REGRESSION);
    r = decided(env, cases + 7, 1, AS_FAIL_ON_SLOWER);
    expect_eq(r.exit_code, 1);
    /* A trial that stopped early counts by 1 / e, because its p-value is no longer valid. */
    strong.early = true, strong.ln_e_slower = 4.7, strong.p_slower = 1e-9;
    r = decided(env, cases, 100, AS_FAIL_ON_SLOWER);
    expect_eq(cases[7].status, AS_CHECK_UNSTABLE);
    assay_env_free(env);
}

Test(check, exit_codes_follow_fail_on)
{
    static const struct {
        as_severity      severity;
        as_fail_on       fail_on;
        int              exit_code;
        as_check_overall overall;
    } want[] = {{AS_SEVERITY_MINOR, AS_FAIL_ON_SLOWER, 1, AS_HAS_REGRESSIONS},
                {AS_SEVERITY_MINOR, AS_FAIL_ON_MAJOR, 0, AS_HAS_REGRESSIONS},
                {AS_SEVERITY_MODERATE, AS_FAIL_ON_MAJOR, 0, AS_HAS_REGRESSIONS},
                {AS_SEVERITY_MAJOR, AS_FAIL_ON_MAJOR, 1, AS_HAS_REGRESSIONS},
                {AS_SEVERITY_MAJOR, AS_FAIL_ON_CRITICAL, 0, AS_HAS_REGRESSIONS},
                {AS_SEVERITY_CRITICAL, AS_FAIL_ON_CRITICAL, 3, AS_HAS_CRITICAL_REGRESSIONS},
                {AS_SEVERITY_CRITICAL, AS_FAIL_ON_SLOWER, 3, AS_HAS_CRITICAL_REGRESSIONS},
                {AS_SEVERITY_MINOR, AS_FAIL_ON_UNRESOLVED, 1, AS_HAS_REGRESSIONS}};
    assay_env *env = env_new();
    for (size_t i = 0; i < AS_COUNT(want); i++) {
        as_duel d = duel_of(AS_SLOWER, 1.1, 1e-6);
        d.severity = want[i].severity;
        as_check_case   c = {.name = "x", .duel = &d};
        as_check_result r = decided(env, &c, 1, want[i].fail_on);
        expect_eq(r.exit_code, want[i].exit_code);
        expect_eq(r.overall, want[i].overall);
    }
    assay_env_free(env);
}

Test(check, failures_and_what_is_missing_are_exit_5_and_unresolved_is_4_only_when_asked)
{
    assay_env    *env = env_new();
    as_duel       same = duel_of(AS_SAME, 1, 1), open = duel_of(AS_UNRESOLVED, 1.02, 1);
    as_check_case failed[] = {{.name = "a", .duel = &same}, {.name = "b", .failure = "signal 11"}},
                  cut[] = {{.name = "a", .duel = &same}, {.name = "b", .duel = &same, .incomplete = "stopped"}};
    as_check_case   unresolved[] = {{.name = "a", .duel = &open}}, pass[] = {{.name = "a", .duel = &same}};
    as_check_result r = decided(env, failed, 2, AS_FAIL_ON_SLOWER);
    expect_eq(r.exit_code, 5);
    expect_str(as_check_overall_text(r.overall), "HasFailures");
    r = decided(env, cut, 2, AS_FAIL_ON_SLOWER);
    expect_eq(r.exit_code, 5);
    expect_str(as_check_overall_text(r.overall), "Incomplete");
    r = decided(env, unresolved, 1, AS_FAIL_ON_SLOWER);
    expect_eq(r.exit_code, 0);
    r = decided(env, unresolved, 1, AS_FAIL_ON_UNRESOLVED);
    expect_eq(r.exit_code, 4);
    r = decided(env, pass, 1, AS_FAIL_ON_UNRESOLVED);
    expect_eq(r.exit_code, 0);
    expect_str(as_check_overall_text(r.overall), "AllPass");
    r = decided(env, pass, 0, AS_FAIL_ON_SLOWER);
    expect_eq(r.exit_code, 5); /* a check of nothing checked nothing */
    assay_env_free(env);
}

Test(check, fail_on_is_read_by_name)
{
    as_fail_on f;
    expect(as_fail_on_read("critical", &f) && f == AS_FAIL_ON_CRITICAL);
    expect(as_fail_on_read("unresolved", &f) && f == AS_FAIL_ON_UNRESOLVED);
    expect(!as_fail_on_read("never", &f));
}

Test(check_facts, say_the_verdict_first_and_keep_every_case)
{
    assay_env      *env = env_new();
    as_duel         same = duel_of(AS_SAME, 1, 1), slower = duel_of(AS_SLOWER, 1.1, 1e-5);
    as_check_case   cases[] = {{.name = "a", .duel = &same}, {.name = "b", .duel = &slower}, {.name = "c", .failure = "signal 11"}};
    as_check_result r = decided(env, cases, 3, AS_FAIL_ON_SLOWER);
    assay_facts    *f = as_facts_of_check(env, &r, "check against main");
    expect_ok(env, as_facts_check(env, f));
    const as_fact_group *g = as_facts_group_find(f, "check");
    expect_str(g->findings[0].text, "HasRegressions: of 3 cases 1 passed, 1 regressed, 0 improved, 0 are not decided, 1 failed.");
    expect_eq(as_facts_table_find(f, "check", "cases")->n_rows, 3);
    expect_eq(as_facts_table_find(f, "check", "annotations")->n_rows, 3);
    expect_str(as_facts_note_find(f, "check.status"), "HasRegressions");
    expect_near(as_facts_metric(f, "check.exit_code")->value, 1, 0);
    expect(!as_facts_group_find(f, "compare")); /* no trials were kept */
    assay_facts_free(f);
    assay_env_free(env);
}
