/* profile_diff.c - two profiles side by side: which layers differ.  They were measured at different times, so nothing is proved. */
#include <math.h>

#include "analysis/duel/layer_diff.h"
#include "analysis/trace/evidence.h"

static assay_metric metric_of(const assay_facts *f, const char *key, const char *unit)
{
    const assay_metric *m = as_facts_metric(f, key);
    return m ? *m : as_metric_unavailable(unit, "the profile does not have it");
}

static const char *note_or(const assay_facts *f, const char *key)
{
    const char *text = as_facts_note_find(f, key);
    return text && *text ? text : "-";
}

static void row_add(assay_facts *f, as_table *t, const assay_facts *run, const char *name, double first)
{
    assay_metric latency = metric_of(run, "latency.median", "ns"), memory = metric_of(run, "memory.peak_observed", "byte");
    as_facts_row(f, t,
                 (as_cell[]){{.text = name},
                             {.text = run->title},
                             {.text = note_or(run, "run.started")},
                             {.metric = latency},
                             {.metric = as_number_derived(as_metric_has(&latency) ? latency.value / first : (double)NAN, NAN, NAN,
                                                          1, "1", "median latency / that of the first", "a latency is missing")},
                             {.metric = memory}});
}

assay_status as_facts_of_profiles(assay_env *env, const assay_facts *a, const char *a_name, const assay_facts *b,
                                  const char *b_name, assay_facts **out)
{
    static const char *const columns[] = {"name|profile",  "title|what", "when|measured", "time|latency", "ratio|over the first",
                                          "memory|memory", NULL};
    assay_facts             *f = as_facts_new(env);
    as_layer_side            sides[2];
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the result");
    as_layer_side_of_facts(f, a, a_name, &sides[0]);
    as_layer_side_of_facts(f, b, b_name, &sides[1]);
    for (int i = 0; i < 2; i++)
        if (sides[i].why_not) {
            assay_status status =
                as_fail(env, ASSAY_BAD_INPUT, "compare: %s: only profiles can be compared layer by layer", sides[i].why_not);
            assay_facts_free(f);
            return status;
        }
    assay_metric   first = metric_of(a, "latency.median", "ns");
    as_fact_group *g = as_facts_group(f, "profiles", "Two profiles");
    f->title = as_say(f, "%s against %s", b_name, a_name);
    as_table *t = as_facts_table(f, g, "profiles", "What was measured", columns);
    row_add(f, t, a, a_name, first.value);
    row_add(f, t, b, b_name, first.value);
    as_facts_find(
        f, g, AS_LEVEL_NOTE,
        "The two were measured at different times, so a small difference proves nothing: assay compare measures both in turns.");
    as_layer_diff_add(f, "diff", as_say(f, "By layer: %s against %s", b_name, a_name), &sides[0], &sides[1]);
    return as_facts_done(f, out);
}
