/* sec_league.c - candidates that learned: verdicts, losses over updates and over time, and every run. */
#include <string.h>

#include "report/pick.h"

static void curves_add(as_doc *d, const assay_facts *f, const char *prefix, const char *title, const char *x, const char *unit)
{
    enum { MOST = 6 };
    const as_fact_group *g = as_facts_group_find(f, "league");
    as_chart_series      lines[MOST];
    int                  n = 0;
    for (int i = 0; i < g->n_series && n < MOST; i++)
        if (!strncmp(g->series[i].key, prefix, strlen(prefix)) && g->series[i].n > 1) {
            lines[n] = as_pick_series(&g->series[i]);
            lines[n].label = g->series[i].label;
            n++;
        }
    if (n)
        as_doc_chart(d, &(as_chart){.kind = "curves",
                                    .group = "league",
                                    .title = title,
                                    .caption = "Training loss, mean over the seeds; logarithmic",
                                    .x = {.label = x, .unit = unit},
                                    .y = {{.label = "loss", .unit = "1", .log = true}},
                                    .series = lines,
                                    .n_series = n});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const char *clock = as_facts_note_find(f, "league.clock");
    if (!as_facts_group_find(f, "league"))
        return;
    as_doc_heading(d, "league", "Candidates that learned");
    as_pick_table(d, f, "league", "candidates");
    as_pick_table(d, f, "league", "verdicts");
    curves_add(d, f, "step.", "Loss against updates", "update", "1");
    curves_add(d, f, "time.", "Loss against time", clock && !strcmp(clock, "CPU") ? "CPU time" : "time", "s");
    as_pick_table(d, f, "league", "runs");
    as_pick_group(d, f, "league");
}

const as_section as_sec_league = {.name = "league", .order = 13, .write = write_section};
