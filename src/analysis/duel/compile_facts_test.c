/* compile_facts_test.c - two plans that took turns at planted speeds. */
#include "analysis/duel/duel_facts.h"

#include "analysis/duel/test_trial.h"

typedef struct bed {
    assay_env   *env;
    assay_trace *trial;
    assay_facts *facts;
} bed;

/* ratio: time of the compiled plan over that of the other. */
static bed bed_open(double ratio, int n_launches)
{
    bed           b = {.env = NULL};
    as_duel_rules rules;
    as_duel_rules_standard(&rules);
    expect_eq(assay_env_new(&b.env), ASSAY_OK);
    b.trial = as_planted_trial(b.env, (as_planted){.ns = 1e6, .ratio = ratio, .n_launches = n_launches});
    b.trial->arms[1].plan_ns = 1000;
    b.trial->difference = 1e-7;
    b.facts = as_facts_new(b.env);
    expect(b.facts);
    as_compile_add(b.facts, b.trial, &rules);
    expect_ok(b.env, as_facts_check(b.env, b.facts));
    expect_ok(b.env, b.facts->status);
    return b;
}

static void bed_close(bed *b)
{
    assay_facts_free(b->facts);
    assay_trace_free(b->trial);
    assay_env_free(b->env);
}

static bool says(const bed *b, as_level level, const char *part)
{
    const as_fact_group *g = as_facts_group_find(b->facts, "compile");
    for (int i = 0; g && i < g->n_findings; i++)
        if (g->findings[i].level == level && strstr(g->findings[i].text, part))
            return true;
    return false;
}

Test(compile, the_ratio_and_the_verdict_are_those_of_a_comparison)
{
    bed           b = bed_open(0.4, 16);
    as_duel       duel;
    as_duel_rules rules;
    as_duel_rules_standard(&rules);
    as_duel_judge(b.trial, AS_COMPILE_OFF, AS_COMPILE_ON, &rules, &duel);
    const assay_metric *ratio = as_facts_metric(b.facts, "compile.ratio");
    expect(ratio);
    expect_near(ratio->value, 2.5, 0.02);
    expect_near(ratio->value, 1 / duel.ratio, 1e-12);
    expect_near(ratio->lo, 1 / duel.hi, 1e-12);
    expect_near(ratio->hi, 1 / duel.lo, 1e-12);
    expect_eq(ratio->n, 16);
    expect(says(&b, AS_LEVEL_GOOD, "FASTER"));
    bed_close(&b);
}

Test(compile, planning_first_call_and_steady_state_are_told_apart)
{
    bed b = bed_open(0.4, 16);
    expect_near(as_facts_metric(b.facts, "compile.on.plan")->value, 1000, 0);
    expect_eq(as_facts_metric(b.facts, "compile.off.plan")->kind, ASSAY_UNAVAILABLE);
    expect_near(as_facts_metric(b.facts, "compile.off.first")->value, 4e6, 0);
    expect_near(as_facts_metric(b.facts, "compile.on.steady")->value, 0.4e6, 0.01e6);
    expect_near(as_facts_metric(b.facts, "compile.off.steady")->value, 1e6, 0.01e6);
    expect(says(&b, AS_LEVEL_NOTE, "differ by at most 1e-07"));
    bed_close(&b);
}

Test(compile, a_plan_that_became_slower_is_bad)
{
    bed b = bed_open(1.2, 16);
    expect(says(&b, AS_LEVEL_BAD, "SLOWER (moderate)"));
    expect(as_facts_metric(b.facts, "compile.ratio")->hi < 1);
    bed_close(&b);
}

Test(compile, equal_plans_are_the_same)
{
    bed b = bed_open(1, 16);
    expect(says(&b, AS_LEVEL_GOOD, "SAME"));
    bed_close(&b);
}

Test(compile, few_launches_have_no_interval_and_say_what_would_help)
{
    bed b = bed_open(0.5, 3);
    expect(isnan(as_facts_metric(b.facts, "compile.ratio")->lo));
    expect(says(&b, AS_LEVEL_WARN, "UNRESOLVED"));
    expect(says(&b, AS_LEVEL_NOTE, "no interval after"));
    expect(says(&b, AS_LEVEL_NOTE, "--time"));
    bed_close(&b);
}
