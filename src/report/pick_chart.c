/* pick_chart.c - charts out of facts: series, points of tables, and the pictures that bench, compare, check and noise share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_ARMS = 8, MAX_INTERVALS = 60 };

const as_series *as_series_at(const assay_facts *f, const char *group, int i, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "%d.%s", i, what);
    return as_facts_series_find(f, group, key);
}

as_chart_series as_pick_series(const as_series *s)
{
    return (as_chart_series){
        .key = s->key, .label = s->label, .n = s->n, .x = s->x, .y = s->y, .kind = s->kind, .source = s->source};
}

/* --- Points ------------------------------------------------------------------------------------------------- */

bool as_points_take(as_doc *d, as_points *p, int room)
{
    *p = (as_points){.y = AS_TAKE(&d->arena, double, room),
                     .lo = AS_TAKE(&d->arena, double, room),
                     .hi = AS_TAKE(&d->arena, double, room),
                     .names = AS_TAKE(&d->arena, const char *, room),
                     .details = AS_TAKE(&d->arena, const char *, room),
                     .words = AS_TAKE(&d->arena, const char *, room),
                     .roles = AS_TAKE(&d->arena, as_chart_role, room)};
    bool taken = p->y && p->lo && p->hi && p->names && p->details && p->words && p->roles;
    for (int i = 0; taken && i < room; i++)
        p->lo[i] = p->hi[i] = NAN;
    d->failed |= !taken;
    return taken;
}

typedef struct point {
    double        y;
    const char   *name, *detail, *words;
    as_chart_role role;
    size_t        i;
} point;

static int by_value(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->y < y->y ? 1 : x->y > y->y ? -1 : x->i < y->i ? -1 : x->i > y->i;
}

void as_points_sort(as_doc *d, as_points *p)
{
    point *all = AS_TAKE(&d->arena, point, p->n);
    d->failed |= !all;
    if (!all || !p->n)
        return;
    for (size_t i = 0; i < p->n; i++)
        all[i] = (point){p->y[i], p->names[i], p->details[i], p->words[i], p->roles[i], i};
    qsort(all, p->n, sizeof *all, by_value);
    for (size_t i = 0; i < p->n; i++) {
        p->y[i] = all[i].y, p->names[i] = all[i].name, p->details[i] = all[i].detail;
        p->words[i] = all[i].words, p->roles[i] = all[i].role;
    }
}

as_chart_series as_points_series(const as_points *p)
{
    return (as_chart_series){.n = p->n,
                             .y = p->y,
                             .lo = p->lo,
                             .hi = p->hi,
                             .names = p->names,
                             .details = p->details,
                             .words = p->words,
                             .roles = p->roles};
}

/* --- Blocks and probes -------------------------------------------------------------------------------------- */

enum { LANE_TIME, LANE_FMA, LANE_COPY, LANE_BUSY };

typedef struct lanes {
    as_chart        *chart;
    as_chart_series *series; /* room for two per candidate, and the probes */
} lanes;

/* The unit of a lane's numbers is that of its first series. */
static void lane_add(lanes *l, const as_series *s, int lane, as_chart_role role, int group)
{
    if (!s || !s->x)
        return;
    as_chart_series one = as_pick_series(s);
    one.lane = lane, one.role = role, one.group = group;
    if (!l->chart->y[lane].unit)
        l->chart->y[lane].unit = s->y_unit;
    if (!l->chart->x.unit)
        l->chart->x.unit = s->x_unit;
    l->series[l->chart->n_series++] = one;
}

static void arms_add(lanes *l, const assay_facts *f, const char *group, int i, const char *what, int lane)
{
    for (int arm = 0; arm < MAX_ARMS; arm++) {
        char key[32];
        snprintf(key, sizeof key, "%s.%d", what, arm);
        lane_add(l, as_series_at(f, group, i, key), lane, AS_CHART_MAIN, arm);
    }
}

void as_pick_noise(as_doc *d, const assay_facts *f, const char *group, int i, const char *name, bool extra)
{
    as_chart        c = {.kind = "lanes",
                         .group = group,
                         .title = "Noise timeline",
                         .y = {[LANE_TIME] = {.label = "time per call"},
                               [LANE_FMA] = {.label = "compute probe: clock rate, other work on the core"},
                               [LANE_COPY] = {.label = "memory probe: other work on the memory"},
                               [LANE_BUSY] = {.label = "CPU time / wall time"}},
                         .extra = extra};
    as_chart_series series[2 * MAX_ARMS + 2];
    lanes           l = {.chart = &c, .series = series};
    c.series = series;
    c.caption = as_arena_printf(&d->arena, "%s: block by block, with the probes after each block", name);
    arms_add(&l, f, group, i, "blocks", LANE_TIME);
    if (!c.n_series)
        return;
    lane_add(&l, as_series_at(f, group, i, "fma"), LANE_FMA, AS_CHART_MUTED, 0);
    lane_add(&l, as_series_at(f, group, i, "copy"), LANE_COPY, AS_CHART_MUTED, 0);
    arms_add(&l, f, group, i, "busy", LANE_BUSY);
    as_doc_chart(d, &c);
}

/* --- Intervals ---------------------------------------------------------------------------------------------- */

as_chart_role as_chart_role_of(const char *word)
{
    static const struct {
        const char   *begin;
        as_chart_role role;
    } words[] = {{"slower", AS_CHART_BAD},       {"Regression", AS_CHART_BAD}, {"Failed", AS_CHART_BAD},
                 {"unresolved", AS_CHART_WARN},  {"Unstable", AS_CHART_WARN},  {"faster", AS_CHART_GOOD},
                 {"Improvement", AS_CHART_GOOD}, {"noisy", AS_CHART_WARN},     {"suspect", AS_CHART_BAD},
                 {"quiet", AS_CHART_GOOD}};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strncmp(word, words[i].begin, strlen(words[i].begin)))
            return words[i].role;
    return AS_CHART_NOTE;
}

void as_pick_intervals(as_doc *d, const as_table *t, const char *group, const char *word, double margin, const char *caption)
{
    int       change = as_column_find(t, "change"), n = t->n_rows < MAX_INTERVALS ? t->n_rows : MAX_INTERVALS;
    as_points p;
    if (change < 0 || !as_points_take(d, &p, n))
        return;
    for (int i = 0; i < n; i++) {
        const as_cell *cell = as_cell_at(t, i, change);
        bool           bounded = !cell->text && as_metric_has(&cell->metric);
        const char    *status = as_words_at(t, i, word);
        const char    *said = bounded ? as_arena_printf(&d->arena, "%+.1f %%  %s", 100 * cell->metric.value, status) : status;
        p.names[i] = as_words_at(t, i, "case"), p.details[i] = as_words_at(t, i, "interval"), p.words[i] = said;
        p.y[i] = as_cell_value(cell);
        p.lo[i] = bounded ? cell->metric.lo : (double)NAN, p.hi[i] = bounded ? cell->metric.hi : (double)NAN;
        p.roles[i] = as_chart_role_of(status);
    }
    p.n = (size_t)n;
    as_chart_series series = as_points_series(&p);
    as_mark         limit = {.label = "margin", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = margin, .lo = -margin, .hi = margin};
    as_doc_chart(d, &(as_chart){.kind = "intervals",
                                .group = group,
                                .title = caption,
                                .caption = caption,
                                .y = {{.label = "change", .unit = "ratio"}},
                                .series = &series,
                                .n_series = 1,
                                .marks = &limit,
                                .n_marks = margin > 0,
                                .table = t});
}
