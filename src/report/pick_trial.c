/* pick_trial.c - the pictures that bench, compare, check and noise share. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pick.h"

enum { MAX_ARMS = 8, MAX_FOREST = 60 };

const as_series *as_series_at(const assay_facts *f, const char *group, int i, const char *what)
{
    char key[64];
    snprintf(key, sizeof key, "%d.%s", i, what);
    return as_facts_series_find(f, group, key);
}

static void lane_add(as_lane *lane, const as_series *s, int tone)
{
    if (s && s->x && lane->n_lines < MAX_ARMS)
        lane->lines[lane->n_lines++] = (as_lane_line){.label = s->label, .x = s->x, .y = s->y, .n = s->n, .tone = tone};
}

/* The unit of a lane's numbers is that of its first line. */
static void unit_take(as_lane *lane, const as_series *s)
{
    if (s && !lane->unit)
        lane->unit = s->y_unit;
}

static const char *lanes_plain(as_doc *d, const as_lane *lanes, int n)
{
    const char *all = "";
    for (int i = 0; i < n && all; i++)
        for (int k = 0; k < lanes[i].n_lines && all; k++) {
            const as_lane_line *line = &lanes[i].lines[k];
            const char         *one = as_plain_line(&d->arena, line->y, line->n, lanes[i].unit);
            if (!one)
                return NULL;
            all = *one ? as_arena_printf(&d->arena, "%s%s%s%s:\n%s", all, lanes[i].label, lanes[i].n_lines > 1 ? ", " : "",
                                         lanes[i].n_lines > 1 ? as_clean_text(&d->arena, line->label) : "", one)
                       : all;
        }
    return all;
}

void as_pick_noise(as_doc *d, const assay_facts *f, const char *group, int i, const char *name, bool plain)
{
    as_lane lanes[4] = {{.label = "time of a call"},
                        {.label = "FMA probe: frequency, neighbour on the core"},
                        {.label = "copy probe: neighbour on the memory"},
                        {.label = "CPU over wall time"}};
    for (int arm = 0; arm < MAX_ARMS; arm++) {
        char key[32];
        snprintf(key, sizeof key, "blocks.%d", arm);
        const as_series *blocks = as_series_at(f, group, i, key);
        snprintf(key, sizeof key, "busy.%d", arm);
        const as_series *busy = as_series_at(f, group, i, key);
        unit_take(&lanes[0], blocks), unit_take(&lanes[3], busy);
        lane_add(&lanes[0], blocks, arm == 1 ? 2 : arm == 0 ? 0 : arm + 1); /* tone 1 marks what is pinned to the edge */
        lane_add(&lanes[3], busy, arm == 1 ? 2 : arm == 0 ? 0 : arm + 1);
    }
    const as_series *fma = as_series_at(f, group, i, "fma"), *copy = as_series_at(f, group, i, "copy");
    unit_take(&lanes[1], fma), unit_take(&lanes[2], copy);
    lane_add(&lanes[1], fma, 5), lane_add(&lanes[2], copy, 3);
    if (!lanes[0].n_lines)
        return;
    const char *caption = as_arena_printf(&d->arena, "%s: block by block, with the probes after each", name);
    as_pick_chart(d, caption, as_svg_noise(&d->arena, lanes, 4, "Noise timeline"), plain ? lanes_plain(d, lanes, 4) : "");
}

/* --- Forest -------------------------------------------------------------------------------------------------- */

as_level as_level_of(const char *word)
{
    static const struct {
        const char *begin;
        as_level    level;
    } words[] = {{"slower", AS_LEVEL_BAD},       {"Regression", AS_LEVEL_BAD}, {"Failed", AS_LEVEL_BAD},
                 {"unresolved", AS_LEVEL_WARN},  {"Unstable", AS_LEVEL_WARN},  {"faster", AS_LEVEL_GOOD},
                 {"Improvement", AS_LEVEL_GOOD}, {"noisy", AS_LEVEL_WARN},     {"suspect", AS_LEVEL_BAD},
                 {"quiet", AS_LEVEL_GOOD}};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strncmp(word, words[i].begin, strlen(words[i].begin)))
            return words[i].level;
    return AS_LEVEL_NOTE;
}

void as_pick_forest(as_doc *d, const as_table *t, const char *word, double margin, const char *caption)
{
    int name = as_column_find(t, "case"), change = as_column_find(t, "change"), words = as_column_find(t, word),
        n = t->n_rows < MAX_FOREST ? t->n_rows : MAX_FOREST;
    as_forest_row *rows = AS_TAKE(&d->arena, as_forest_row, n);
    if (!rows || change < 0) {
        d->failed |= !rows;
        return;
    }
    for (int i = 0; i < n; i++) {
        const as_cell *cell = as_cell_at(t, i, change);
        bool           bounded = !cell->text && as_metric_has(&cell->metric);
        const char    *status = as_cell_words(as_cell_at(t, i, words));
        const char    *said = bounded ? as_arena_printf(&d->arena, "%+.1f %%  %s", 100 * cell->metric.value, status) : status;
        rows[i] = (as_forest_row){.label = as_cell_words(as_cell_at(t, i, name)),
                                  .words = said,
                                  .detail = as_cell_words(as_cell_at(t, i, as_column_find(t, "interval"))),
                                  .value = as_cell_value(cell),
                                  .lo = bounded ? cell->metric.lo : (double)NAN,
                                  .hi = bounded ? cell->metric.hi : (double)NAN,
                                  .level = as_level_of(status)};
    }
    as_pick_chart(d, caption, as_svg_forest(&d->arena, rows, n, margin, caption),
                  as_plain_forest(&d->arena, rows, n, margin > 0 ? margin : 0));
}
