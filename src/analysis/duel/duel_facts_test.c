/* duel_facts_test.c - the line, the remedy, and facts that hold every input of a verdict. */
#include "analysis/duel/duel_facts.h"

#include <stdlib.h>

#include "analysis/duel/test_trial.h"
#include "base/text.h"

static as_duel example(void)
{
    return (as_duel){.verdict = AS_SLOWER,
                     .severity = AS_SEVERITY_MINOR,
                     .ratio = 1.047,
                     .lo = 1.041,
                     .hi = 1.053,
                     .confidence = .9922,
                     .unit = "launch",
                     .n_units = 16,
                     .a_ns = 1.92e6,
                     .b_ns = 2.01e6};
}

Test(duel_line, is_the_one_line_form_when_there_is_room)
{
    as_duel d = example();
    char    line[AS_LINE_BYTES];
    expect_str(as_duel_line(line, sizeof line, 0, "matmul/512/f32", &d, 4.1e9),
               "matmul/512/f32   1.92 ms -> 2.01 ms   +4.7 % [+4.1, +5.3] 99 %   SLOWER (minor)   16 launches, 4.10 s");
}

Test(duel_line, keeps_to_80_columns_whatever_the_name)
{
    static const char *const names[] = {
        "a", "matmul/512/f32", "layout/strided/transposed/2048x2048x16/bf16/threads=2",
        "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc/a name of many words that goes on and on and on and on/\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc"};
    as_duel d = example();
    char    line[AS_LINE_BYTES];
    for (size_t i = 0; i < AS_COUNT(names); i++)
        for (int v = 0; v < AS_N_VERDICTS; v++) {
            d.verdict = (as_verdict)v, d.severity = AS_SEVERITY_CRITICAL;
            d.ratio = 1.801, d.lo = 1.799, d.hi = 1.803;
            as_duel_line(line, sizeof line, 80, names[i], &d, 4.1e9);
            if (as_text_columns(line) > 80)
                fail("%d columns: %s", as_text_columns(line), line);
            expect_has(line, "[+79.9, +80.3]");
            expect(strstr(line, v == AS_SLOWER   ? "SLOWER (critical)"
                                : v == AS_FASTER ? "FASTER"
                                : v == AS_SAME   ? "SAME"
                                                 : "UNRESOLVED"));
        }
    expect_str(as_duel_line(line, sizeof line, 80, "matmul/512/f32", (as_duel[]){example()}, 4.1e9),
               "matmul/512/f32 1.92 -> 2.01 ms +4.7 % [+4.1, +5.3] SLOWER (minor) n 16, 4.10 s");
}

Test(duel_line, says_that_there_is_no_interval)
{
    as_duel d = example();
    char    line[AS_LINE_BYTES];
    d.lo = d.hi = NAN, d.verdict = AS_UNRESOLVED, d.unit = "round", d.n_units = 1;
    expect_str(as_duel_line(line, sizeof line, 0, "x", &d, NAN),
               "x   1.92 ms -> 2.01 ms   +4.7 % [no interval]   UNRESOLVED   1 round");
}

Test(duel_line, small_changes_keep_the_digits_that_tell_them_apart)
{
    char text[40];
    expect_str(as_change_text(text, sizeof text, 1.00025), "+0.03 %");
    expect_str(as_change_text(text, sizeof text, .985), "-1.5 %");
    expect_str(as_change_text(text, sizeof text, 3.5), "+250 %");
    expect_str(as_change_text(text, sizeof text, NAN), "n/a");
}

Test(duel_remedy, is_for_what_was_not_resolved)
{
    as_duel d = example();
    char    text[200];
    expect_str(as_duel_remedy(text, sizeof text, &d, .01, "budget"), "");
    d.verdict = AS_UNRESOLVED, d.visible = .018, d.needed_ns = 9e9;
    expect_str(as_duel_remedy(text, sizeof text, &d, .01, "budget"),
               "smallest detectable change 1.8 %; time to decide about 9.00 s, for a margin of 1 %");
    d.visible = d.needed_ns = NAN;
    expect_has(as_duel_remedy(text, sizeof text, &d, .01, "budget"), "the time to decide is unknown");
    d.spent_ns = 2.05e9, d.interval_ns = 11.3e9;
    expect_str(as_duel_remedy(text, sizeof text, &d, .01, "budget"), "no interval after 2.05 s; --budget 12s should do");
    d.spent_ns = 5e7, d.interval_ns = 2.1e8;
    expect_str(as_duel_remedy(text, sizeof text, &d, .01, "budget"), "no interval after 50.0 ms; --budget 300ms should do");
}

/* Of the first row. */
static const as_cell *cell_of(const assay_facts *f, const char *table, const char *key)
{
    const as_table *t = as_facts_table_find(f, "compare", table);
    for (int c = 0; c < t->n_columns; c++)
        if (!strcmp(t->columns[c].key, key))
            return &t->cells[c];
    fail("no column %s", key);
}

static const assay_metric *input(const assay_facts *f, const char *key) { return &cell_of(f, "inputs", key)->metric; }

Test(duel_facts, hold_every_input_of_the_decision)
{
    assay_env    *env;
    as_duel_rules rules;
    as_duel_row   row = {.a = 0, .b = 1, .rules = &rules};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_duel_rules_standard(&rules);
    rules.margin = .02;
    assay_trace *t = as_planted_trial(env, (as_planted){.ratio = 1.05});
    as_duel_judge(t, 0, 1, &rules, &row.duel);
    row.trial = t;
    assay_facts *f = as_facts_of_duels(env, &row, 1, "old against new");
    expect_ok(env, as_facts_check(env, f));
    expect_near(input(f, "ratio")->value, row.duel.ratio, 0);
    expect_near(input(f, "margin")->value, .02, 0);
    expect_near(input(f, "alpha")->value, rules.alpha, 0);
    expect_near(input(f, "p_slower")->value, row.duel.p_slower, 0);
    expect_near(input(f, "sigma_round")->value, row.duel.variance.sigma_round, 0);
    expect_near(as_facts_metric(f, "compare.slower")->value, 1, 0);
    const as_series *d = as_facts_series_find(f, "compare", "0.differences");
    expect(d && d->n == 80);
    expect_near(d->y[0],
                as_turn_ns(t, &t->turns[t->turns[0].arm == 1 ? 0 : 1]) / as_turn_ns(t, &t->turns[t->turns[0].arm == 0 ? 0 : 1]) - 1,
                1e-12);
    expect(as_facts_series_find(f, "compare", "0.blocks.1") && as_facts_series_find(f, "compare", "0.copy"));
    const as_fact_group *g = as_facts_group_find(f, "compare");
    expect_eq(g->findings[0].level, AS_LEVEL_BAD);
    expect_has(g->findings[0].text, "SLOWER (minor)");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(duel_facts, say_when_the_ledger_is_the_same_or_not)
{
    assay_env  *env;
    as_duel_row row = {.a = 0, .b = 1};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_trace *t = as_planted_trial(env, (as_planted){0});
    row.trial = t, row.duel = example();
    assay_facts    *f = as_facts_of_duels(env, &row, 1, NULL);
    const as_table *table = as_facts_table_find(f, "compare", "duels");
    expect_str(table->cells[table->n_columns - 1].text, "peak memory +1.00 MiB");
    assay_facts_free(f);
    t->arms[1].ledger = t->arms[0].ledger;
    f = as_facts_of_duels(env, &row, 1, NULL);
    table = as_facts_table_find(f, "compare", "duels");
    expect_str(table->cells[table->n_columns - 1].text, "identical");
    const as_fact_group *g = as_facts_group_find(f, "compare");
    expect_has(g->findings[g->n_findings - 1].text, "both did the same work");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(duel_line, says_that_it_is_per_item)
{
    as_duel d = example();
    char    line[AS_LINE_BYTES];
    d.per_item = true, d.a_items = 1, d.b_items = 8, d.a_ns = 4000, d.b_ns = 9904, d.ratio = .3095, d.lo = .297, d.hi = .318,
    d.verdict = AS_FASTER;
    expect_str(as_duel_line(line, sizeof line, 0, "batch=8", &d, NAN),
               "batch=8   4.00 us -> 1.24 us per item   -69.0 % [-70.3, -68.2] 99 %   FASTER   16 launches");
    expect_str(as_duel_line(line, sizeof line, 80, "batch=8", &d, 4.1e9),
               "batch=8 4.00 -> 1.24 us/item -69.0 % [-70.3, -68.2] FASTER 16 launches, 4.10 s");
}

/* An item of the second candidate takes 5 % less; a call, which does 8 items, takes 7.6 times as long. */
Test(duel_facts, of_batches_have_the_times_of_an_item_beside_those_of_a_call)
{
    assay_env    *env;
    as_duel_rules rules;
    as_duel_row   row = {.a = 0, .b = 1, .rules = &rules};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_duel_rules_standard(&rules);
    assay_trace *t = as_planted_trial(env, (as_planted){.ratio = .95 * 8});
    t->arms[0].items = 1, t->arms[1].items = 8;
    as_duel_judge(t, 0, 1, &rules, &row.duel);
    row.trial = t;
    assay_facts *f = as_facts_of_duels(env, &row, 1, "mlp by batch");
    expect_ok(env, as_facts_check(env, f));
    expect_near(cell_of(f, "duels", "b_item")->metric.value, cell_of(f, "duels", "b_time")->metric.value / 8, 1e-6);
    expect_str(cell_of(f, "duels", "verdict")->text, "faster");
    expect_str(cell_of(f, "inputs", "per")->text, "item");
    expect_near(input(f, "a_items")->value, 1, 0);
    expect_near(input(f, "b_items")->value, 8, 0);
    expect_near(as_facts_series_find(f, "compare", "0.differences")->y[0], -.05, .02);
    expect_has(as_facts_group_find(f, "compare")->findings[1].text, "judged per item: calls of 1 and 8 items take");
    assay_facts_free(f);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(sweep_facts, have_values_crossovers_guide_and_lines)
{
    assay_env               *env;
    static const char *const arms[] = {"one", "two"};
    as_duel      duels[2] = {{.ratio = 1.2, .lo = 1.19, .hi = 1.21, .a_items = 1, .b_items = 1, .a_ns = 100, .b_ns = 120},
                             {.ratio = .8, .lo = .79, .hi = .81, .a_items = 4, .b_items = 4, .a_ns = 400, .b_ns = 320}};
    as_sweep_row rows[2] = {{.label = "batch=1", .value = 1, .duels = &duels[0]},
                            {.label = "batch=4", .value = 4, .duels = &duels[1]}};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_facts *f = as_facts_new(env);
    as_sweep_add(f, &(as_sweep){.key = "batch", .arms = arms, .n_arms = 2, .rows = rows, .n_rows = 2});
    expect_ok(env, as_facts_check(env, f));
    expect_eq(as_facts_table_find(f, "sweep", "values")->n_rows, 2);
    expect_eq(as_facts_table_find(f, "sweep", "crossovers")->n_rows, 1);
    expect_eq(as_facts_table_find(f, "sweep", "guide")->n_rows, AS_N_PURPOSES - 2); /* what ran is not known, so the guide says
                                                                                     * nothing about its use */
    expect_near(as_facts_series_find(f, "sweep", "ratio.1")->y[1], .8, 1e-12);
    expect_has(as_facts_group_find(f, "sweep")->findings[0].text, "From one to two: the winner changes at batch 1.8");
    assay_facts_free(f);
    assay_env_free(env);
}
