/* contest_facts.c - what a comparison found, as facts: the duels, the sweep, and the name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "lab/contest.h"
#include "sensor/sensor.h"

static void sweep_add(assay_facts *f, const as_contest *c, double margin)
{
    as_sweep_row *rows = AS_TAKE(&f->arena, as_sweep_row, c->n_rows);
    int           n = 0;
    for (int i = 0; rows && i < c->n_rows; i++)
        if (c->rows[i].trial && c->rows[i].trial->n_rounds)
            rows[n++] = (as_sweep_row){.label = *c->rows[i].label ? c->rows[i].label : "all",
                                       .value = c->rows[i].value,
                                       .trial = c->rows[i].trial,
                                       .duels = c->rows[i].duels};
    as_sweep sweep = {
        .key = *c->key ? c->key : "case", .arms = c->arms, .n_arms = c->n_arms, .rows = rows, .n_rows = n, .margin = margin};
    if (n > 1 || (n && c->n_arms > 2))
        as_sweep_add(f, &sweep);
}

/* The batch size that all candidates of all rows share; NaN: they differ, or have none. */
static double batch_of(const as_contest *c)
{
    double batch = as_bench_case_items(c->rows[0].cases[0]);
    for (int i = 0; i < c->n_rows; i++)
        for (int arm = 0; arm < c->n_arms; arm++)
            batch = as_bench_case_items(c->rows[i].cases[arm]) == batch ? batch : (double)NAN;
    return batch;
}

/* "batch 1 · CPU, 1 thread · Intel Xeon, 2 cores": what all candidates have in common. */
static const char *settings_say(assay_env *env, as_arena *arena, const as_contest *c)
{
    const as_plan_options *plan = &c->rows[0].cases[0]->plan;
    assay_trace           *sheet = NULL;
    double                 batch = batch_of(c);
    const char            *text = *c->over ? as_arena_printf(arena, "%s · ", c->over) : "";
    if (text && batch > 0)
        text = as_arena_printf(arena, "%sbatch %.0f · ", text, batch);
    if (text && !c->varies_device)
        text = as_arena_printf(arena, "%s%s%s", text, plan->device && strcmp(plan->device, "cpu") ? plan->device : "CPU",
                               c->varies_threads ? " · " : "");
    if (text && !c->varies_threads)
        text = as_arena_printf(arena, "%s%s%d thread%s · ", text, c->varies_device ? "" : ", ",
                               plan->threads > 0 ? plan->threads : 1, plan->threads > 1 ? "s" : "");
    if (!text || as_trace_new(env, &sheet) != ASSAY_OK)
        return text ? text : "";
    as_machine_describe(env, sheet);
    const char *cpu = as_trace_note_find(sheet, "machine.cpu.model");
    int         cores = as_cpu_count();
    text = as_arena_printf(arena, "%s%s, %d core%s", text, cpu ? cpu : "this machine", cores, cores > 1 ? "s" : "");
    assay_trace_free(sheet);
    return text ? text : "";
}

static void title_add(assay_env *env, assay_facts *f, const as_contest *c)
{
    as_facts_note(f, AS_NOTE_NAME, c->name);
    if (c->n_rows)
        as_facts_note(f, AS_NOTE_SETTINGS, settings_say(env, &f->arena, c));
}

assay_status as_contest_facts(assay_env *env, const as_contest *c, const as_lab_settings *s, assay_facts **out)
{
    as_duel_row *rows = calloc((size_t)(c->n_rows * c->n_arms), sizeof *rows);
    size_t       n = 0;
    if (!rows)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the result");
    for (int i = 0; i < c->n_rows; i++)
        for (int b = 1; c->rows[i].trial && b < c->n_arms; b++)
            rows[n++] =
                (as_duel_row){.trial = c->rows[i].trial, .a = 0, .b = b, .duel = c->rows[i].duels[b - 1], .rules = &s->rules};
    assay_facts *f = as_facts_of_duels(env, rows, n, c->title);
    free(rows);
    if (!f)
        return as_fail(env, ASSAY_NO_MEMORY, "compare: not enough memory for the result");
    sweep_add(f, c, s->rules.margin);
    title_add(env, f, c);
    if (strcmp(c->metric, "time"))
        as_facts_note(f, AS_NOTE_METRIC, c->metric);
    return as_facts_done(f, out);
}
