/* sec_train_run.c - a training run: curves, what it learned, where time and memory went, confusion. */
#include <math.h>
#include <string.h>

#include "report/pick.h"

typedef struct curves {
    const char *title, *caption, *label, *unit;
    const char *keys[3]; /* series of the facts */
    bool        log;
} curves;

static const curves all[] = {
    {"Loss",
     "Loss of each update, mean of each epoch, and loss on the examples that are not learned from; logarithmic",
     "loss",
     "1",
     {"loss", "epoch_loss", "val_loss"},
     true},
    {"Score", "After each epoch, on the examples that are not learned from", "score", "ratio", {"score", NULL, NULL}, false},
    {"Learning rate", "As the optimiser's kernel applied it", "rate", "1", {"rate", NULL, NULL}, false},
    {"Gradient", "Norm of the whole gradient, before clipping; logarithmic", "norm", "1", {"norm", NULL, NULL}, true},
    {"Speed", "Samples per second, smoothed", "samples/s", "1/s", {"speed", NULL, NULL}, false}};

static void curve_add(as_doc *d, const assay_facts *f, const curves *c)
{
    as_chart_series     series[3];
    as_mark             marks[1];
    int                 n = 0, n_marks = 0;
    size_t              points = 0;
    const assay_metric *best = !strcmp(c->title, "Loss") ? as_metric_find(f, "train.best_possible") : NULL;
    for (int i = 0; i < 3 && c->keys[i]; i++) {
        const as_series *s = as_facts_series_find(f, "train", c->keys[i]);
        if (!s)
            continue;
        series[n] = as_pick_series(s);
        series[n].label = s->label;
        points += s->n;
        n++;
    }
    if (best)
        marks[n_marks++] = (as_mark){.label = "lowest possible", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = best->value};
    if (points < 2)
        return;
    as_doc_chart(d, &(as_chart){.kind = "curves",
                                .group = "train",
                                .title = c->title,
                                .caption = c->caption,
                                .x = {.label = "update", .unit = "1"},
                                .y = {{.label = c->label, .unit = c->unit, .log = c->log}},
                                .series = series,
                                .n_series = n,
                                .marks = marks,
                                .n_marks = n_marks});
}

/* A table of names, amounts and shares as bars. */
static void bars_add(as_doc *d, const assay_facts *f, const char *key, const char *column, const char *title, const char *caption,
                     const char *unit)
{
    const as_table *t = as_facts_table_find(f, "train", key);
    as_points       p;
    if (!t || !as_points_take(d, &p, t->n_rows))
        return;
    for (int i = 0; i < t->n_rows; i++) {
        double y = as_value_at(t, i, column);
        if (!(y > 0))
            continue;
        p.names[p.n] = as_words_at(t, i, "name");
        p.y[p.n++] = y;
    }
    as_chart_series series = as_points_series(&p);
    as_doc_chart(d, &(as_chart){.kind = "bars",
                                .group = "train",
                                .title = title,
                                .caption = caption,
                                .y = {{.label = column, .unit = unit}},
                                .series = &series,
                                .n_series = 1,
                                .table = t});
}

typedef struct lane {
    double *begin, *end;
    int    *kinds;
    size_t  n;
} lane;

static bool lane_take(as_doc *d, lane *l, size_t room)
{
    if (!l->begin)
        *l = (lane){AS_TAKE(&d->arena, double, room), AS_TAKE(&d->arena, double, room), AS_TAKE(&d->arena, int, room), 0};
    return l->begin && l->end && l->kinds;
}

/* The place of a text in a list, to which it is added where it is not there yet; -1: no room. */
static int place_of(const char **list, int *n, int most, const char *text)
{
    int i = 0;
    while (i < *n && strcmp(list[i], text))
        i++;
    if (i == *n && *n < most)
        list[(*n)++] = text;
    return i < most ? i : -1;
}

/* A row per thread, of which the series of its spans name it as their source; a colour per kind of span. */
static void timeline_add(as_doc *d, const assay_facts *f)
{
    enum { MOST_ROWS = 24, MOST_KINDS = 12 };
    const as_fact_group *g = as_facts_group_find(f, "train");
    const assay_metric  *hidden = as_metric_find(f, "train.overlap");
    const char         **rows = AS_TAKE(&d->arena, const char *, MOST_ROWS), **kinds = AS_TAKE(&d->arena, const char *, MOST_KINDS);
    as_chart_series     *series = AS_TAKE(&d->arena, as_chart_series, MOST_ROWS);
    lane                 lanes[MOST_ROWS] = {{.n = 0}};
    int                  n_rows = 0, n_kinds = 0;
    double               first = INFINITY;
    size_t               room = 0;
    for (int i = 0; i < g->n_series; i++)
        for (size_t k = 0; k < g->series[i].n && !strncmp(g->series[i].key, "span.", 5); k++, room++)
            first = fmin(first, g->series[i].x[k]);
    bool taken = rows && kinds && series && room;
    d->failed |= !rows || !kinds || !series;
    for (int i = 0; taken && i < g->n_series; i++) {
        const as_series *s = &g->series[i];
        if (strncmp(s->key, "span.", 5))
            continue;
        int row = place_of(rows, &n_rows, MOST_ROWS, s->source), kind = place_of(kinds, &n_kinds, MOST_KINDS, s->label);
        if (row < 0 || kind < 0)
            continue;
        lane *l = &lanes[row];
        taken = lane_take(d, l, room);
        for (size_t k = 0; taken && k < s->n; k++, l->n++) {
            l->begin[l->n] = (s->x[k] - first) * 1e-9;
            l->end[l->n] = (s->y[k] - first) * 1e-9;
            l->kinds[l->n] = kind;
        }
        series[row] = (as_chart_series){.label = s->source,
                                        .n = l->n,
                                        .x = l->begin,
                                        .x_end = l->end,
                                        .y = l->end,
                                        .groups = l->kinds,
                                        .kind = ASSAY_MEASURED,
                                        .source = s->source};
    }
    char        share[32];
    const char *caption = "What the threads did, one thing after the other, around the end of an epoch";
    if (hidden)
        caption = as_arena_printf(&d->arena, "%s; steps and evaluation hid %s of the time in which the loader prepared batches",
                                  caption, as_show(share, sizeof share, hidden->value, "ratio"));
    if (taken && n_rows && caption)
        as_doc_chart(d, &(as_chart){.kind = "timeline",
                                    .group = "train",
                                    .title = "Timeline",
                                    .caption = caption,
                                    .x = {.label = "time", .unit = "s"},
                                    .y = {{.label = "end", .unit = "s"}},
                                    .series = series,
                                    .n_series = n_rows,
                                    .groups = kinds,
                                    .n_groups = n_kinds,
                                    .extra = true});
}

static void write_section(as_doc *d, const assay_facts *f)
{
    static const char *const hero[] = {"train.val_loss",      "train.score",  "train.epoch_loss",
                                       "train.samples_per_s", "train.memory", NULL};
    static const char *const notes[] = {"train.", NULL};
    if (!as_facts_group_find(f, "train"))
        return;
    as_doc_heading(d, "training", "Training");
    as_pick_findings(d, f, "train");
    as_pick_facts(d, f, AS_BLOCK_HERO, hero);
    for (size_t i = 0; i < AS_COUNT(all); i++)
        curve_add(d, f, &all[i]);
    as_pick_table(d, f, "train", "confusion");
    bars_add(d, f, "time", "time", "Where the time went", "Time of the loop's own thread, by what it did", "ns");
    as_pick_table(d, f, "train", "time");
    timeline_add(d, f);
    as_pick_table(d, f, "train", "threads");
    bars_add(d, f, "memory", "bytes", "Memory of a step", "Bytes by what they are for, as the plan counts them", "byte");
    as_pick_table(d, f, "train", "memory");
    as_pick_table(d, f, "train", "epochs");
    as_pick_group(d, f, "train");
    as_pick_notes(d, f, notes);
}

const as_section as_sec_train_run = {.name = "train_run", .order = 12, .write = write_section};
