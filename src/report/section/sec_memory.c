/* sec_memory.c - the memory of a run: the buffers over its steps, and the counts. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

/* The roles of buffers; any other role is in the last group. */
static const char *const roles[] = {"activation", "input", "output", "packed", "scratch", "other"};

/* Parameters are in the model's own memory, not in the arena, so they are not in the picture. */
static bool is_elsewhere(const char *role) { return !strcmp(role, "param"); }

static int group_of(const char *role)
{
    int group = 0;
    while (group + 1 < (int)AS_COUNT(roles) && strcmp(roles[group], role))
        group++;
    return group;
}

static void chart_add(as_doc *d, const as_table *t)
{
    double      *ends[4]; /* first step, after the last, begin, end */
    const char **names = AS_TAKE(&d->arena, const char *, t->n_rows);
    int         *groups = AS_TAKE(&d->arena, int, t->n_rows);
    size_t       n = 0;
    bool         taken = names && groups;
    for (int i = 0; i < 4; i++)
        taken = (ends[i] = AS_TAKE(&d->arena, double, t->n_rows)) && taken;
    d->failed |= !taken;
    for (int i = 0; taken && i < t->n_rows; i++) {
        double size = as_value_at(t, i, "bytes"), at = as_value_at(t, i, "offset"), from = as_value_at(t, i, "first"),
               to = as_value_at(t, i, "last");
        if (!(size > 0) || !isfinite(at) || !isfinite(from) || !isfinite(to) || at < 0 || from < 0 || to < from ||
            is_elsewhere(as_words_at(t, i, "role")))
            continue;
        ends[0][n] = from, ends[1][n] = to + 1, ends[2][n] = at, ends[3][n] = at + size;
        groups[n] = group_of(as_words_at(t, i, "role"));
        names[n++] = as_words_at(t, i, "name");
    }
    as_chart_series series = {
        .n = n, .x = ends[0], .x_end = ends[1], .y = ends[2], .y_end = ends[3], .names = names, .groups = groups};
    as_doc_chart(d, &(as_chart){.kind = "boxes",
                                .group = "memory",
                                .title = "Buffers by lifetime",
                                .caption = "When each buffer is in use (across) and its place in memory (up)",
                                .x = {.label = "step of the plan", .unit = "1"},
                                .y = {{.label = "place in memory", .unit = "byte"}},
                                .series = &series,
                                .n_series = 1,
                                .groups = roles,
                                .n_groups = AS_COUNT(roles),
                                .table = t});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    const as_table *t = as_facts_table_find(f, "memory", "buffers");
    if (!as_facts_group_find(f, "memory"))
        return;
    as_doc_heading(d, "memory", "Memory");
    as_pick_findings(d, f, "memory");
    as_pick_group(d, f, "memory");
    if (t)
        chart_add(d, t);
    as_pick_table(d, f, "memory", "buffers");
}

const as_section as_sec_memory = {.name = "memory", .order = 60, .write = write_section, .part = AS_PART_MEMORY};
