/* compile_facts.c - compiled against op by op: the verdict, and separate times for planning, first call and steady state. */

#include <math.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/trace/evidence.h"

static void arm_add(assay_facts *f, as_fact_group *g, const assay_trace *t, as_compile_arm arm, assay_metric steady)
{
    const char *name = arm == AS_COMPILE_ON ? "on" : "off";
    as_facts_add(f, g, as_say(f, "compile.%s.plan", name), as_say(f, "compile %s: planning", name),
                 as_number_measured(t->arms[arm].plan_ns, NAN, NAN, 1, "ns", "clock around planning", "planning was not timed"));
    as_facts_add(
        f, g, as_say(f, "compile.%s.first", name), as_say(f, "compile %s: first call, with set-up", name),
        as_number_measured(t->arms[arm].first_ns[0], NAN, NAN, 1, "ns", "clock around the first call", "it did not start"));
    as_facts_add(f, g, as_say(f, "compile.%s.steady", name), as_say(f, "compile %s: steady state", name), steady);
}

void as_compile_add(assay_facts *f, const assay_trace *t, const as_duel_rules *rules)
{
    const char *none = "no round finished", *clock = as_trial_clock_text(t);
    as_duel_row row = {.trial = t, .a = AS_COMPILE_OFF, .b = AS_COMPILE_ON, .rules = rules, .option = "time"};
    as_duel    *d = &row.duel;
    as_duel_judge(t, row.a, row.b, rules, d);
    as_fact_group *g = as_facts_group(f, "compile", "Compiled against op by op");
    as_duel_findings(f, g, "compiled", &row, true);
    if (!isnan(t->difference))
        as_facts_find(f, g, AS_LEVEL_NOTE, "Their outputs on the same inputs differ by at most %.3g, as |a - b| / (1 + |b|).",
                      t->difference);
    arm_add(f, g, t, AS_COMPILE_ON, as_duel_b_metric(d, clock));
    arm_add(f, g, t, AS_COMPILE_OFF, as_number_measured(d->a_ns, d->a_lo, d->a_hi, d->n_rounds, "ns", clock, none));
    as_facts_add(f, g, "compile.ratio", "off / on: how many times faster compiled code is",
                 as_number_derived(1 / d->ratio, 1 / d->hi, 1 / d->lo, d->n_units, "1", "1 / paired ratio of the rounds", none));
}
