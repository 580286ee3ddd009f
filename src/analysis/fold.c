/* fold.c - adds up the steps of a run by the framework's modules: "layer4" or "layer4.1" stands for all steps below it. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/text.h"

enum { FEW_ROWS = 4, MANY_ROWS = 40 };
#define MOST_IN_ONE .6 /* share of the time: a table with one large row says little */

static const as_column columns[] = {{"name", "module"}, {"time", "time"},   {"share", "share"},
                                    {"flops", "work"},  {"bytes", "bytes"}, {"steps", "steps"}};
enum { NAME, TIME, SHARE, FLOPS, BYTES, STEPS, N_COLUMNS };

/* --- Paths ------------------------------------------------------------------------------------------------- */

size_t as_module_prefix(const char *path, int depth)
{
    for (size_t i = 0;; i++)
        if (!path[i] || (path[i] == '.' && --depth == 0))
            return i;
}

int as_module_depth(const char *path)
{
    int n = *path != '\0';
    for (; *path; path++)
        n += *path == '.';
    return n;
}

/* --- Tables that may come from a file ------------------------------------------------------------------------ */

/* "": no module. */
static const char *module_of(const as_table *t, int column, int row)
{
    const char *text = column < 0 ? NULL : t->cells[(size_t)row * (size_t)t->n_columns + (size_t)column].text;
    return text && strcmp(text, "-") ? text : "";
}

bool as_modules_known(const as_table *steps)
{
    int  column = as_column_find(steps, "module");
    bool any = false;
    for (int i = 0; i < steps->n_rows && !any; i++)
        any = *module_of(steps, column, i);
    return any;
}

/* --- Sums ----------------------------------------------------------------------------------------------------- */

/* If a value is missing in one part, it is missing in the sum. */
static assay_metric sum_of(const assay_metric *a, const assay_metric *b)
{
    if (!as_metric_has(a) || !as_metric_has(b) || strcmp(a->unit, b->unit))
        return as_metric_has(a) ? as_metric_unavailable(a->unit, b->reason ? b->reason : "its steps have other units") : *a;
    double sum = a->value + b->value;
    if (a->kind == ASSAY_COUNTED && b->kind == ASSAY_COUNTED && sum >= 0 && sum < 0x1p53)
        return as_metric_counted((uint64_t)sum, a->unit, a->source);
    return as_metric_derived(sum, NAN, NAN, a->n < b->n ? a->n : b->n, a->unit, "sum over the module's steps");
}

typedef struct folder {
    const as_table *steps;
    int             module, from[N_COLUMNS];
    as_table       *out;
    size_t         *slots, n_slots; /* open addressing; row + 1, 0 is free */
} folder;

static as_cell *row_at(const folder *f, size_t row) { return &f->out->cells[row * N_COLUMNS]; }

/* The row of this name, made if there is none; -1: no memory. */
static int row_of(folder *f, as_arena *arena, const char *name, size_t n)
{
    size_t mask = f->n_slots - 1, at = (size_t)as_hash64(name, n) & mask;
    for (; f->slots[at]; at = (at + 1) & mask) {
        const char *other = row_at(f, f->slots[at] - 1)[NAME].text;
        if (strlen(other) == n && !memcmp(other, name, n))
            return (int)f->slots[at] - 1;
    }
    int row = f->out->n_rows;
    if (!(row_at(f, (size_t)row)[NAME].text = as_arena_text_n(arena, name, n)))
        return -1;
    f->slots[at] = (size_t)row + 1;
    f->out->n_rows++;
    return row;
}

static void step_add(const folder *f, int step, as_cell *to, bool is_new)
{
    for (int c = TIME; c < STEPS; c++) {
        const as_cell *from =
            f->from[c] < 0 ? NULL : &f->steps->cells[(size_t)step * (size_t)f->steps->n_columns + (size_t)f->from[c]];
        assay_metric part = from && !from->text ? from->metric : as_metric_unavailable("1", "the steps do not say");
        to[c].metric = is_new ? part : sum_of(&to[c].metric, &part);
    }
    to[STEPS].metric = as_metric_counted(is_new ? 1 : (uint64_t)to[STEPS].metric.value + 1, "1", "plan");
}

static as_table *fold(as_arena *arena, const as_table *steps, int depth)
{
    size_t    n = (size_t)steps->n_rows;
    as_table *out = AS_TAKE(arena, as_table, 1);
    folder    f = {.steps = steps, .module = as_column_find(steps, "module"), .out = out, .n_slots = 16};
    while (f.n_slots < 2 * n)
        f.n_slots *= 2;
    f.slots = AS_TAKE(arena, size_t, f.n_slots);
    as_column *names = AS_TAKE(arena, as_column, N_COLUMNS);
    as_cell   *cells = AS_TAKE(arena, as_cell, n * N_COLUMNS);
    if (!out || !f.slots || !names || !cells)
        return NULL;
    memcpy(names, columns, sizeof columns);
    *out = (as_table){.key = "modules",
                      .label = as_arena_printf(arena, "Modules, folded at depth %d", depth),
                      .columns = names,
                      .n_columns = N_COLUMNS,
                      .cells = cells,
                      .cap_rows = steps->n_rows};
    for (int c = TIME; c < STEPS; c++)
        f.from[c] = as_column_find(steps, columns[c].key);
    for (int i = 0; i < steps->n_rows; i++) {
        const char *path = module_of(steps, f.module, i), *name = *path ? path : AS_MODULE_NONE;
        int         before = out->n_rows;
        int         row = row_of(&f, arena, name, *path ? as_module_prefix(path, depth) : strlen(name));
        if (row < 0)
            return NULL;
        step_add(&f, i, row_at(&f, (size_t)row), row == before);
    }
    return out->label ? out : NULL;
}

/* One row has nearly all of the time. */
static bool is_lopsided(const as_table *t)
{
    double most = 0, sum = 0;
    for (int i = 0; i < t->n_rows; i++) {
        double time = t->cells[(size_t)i * N_COLUMNS + TIME].metric.value;
        sum += isfinite(time) ? time : 0;
        most = isfinite(time) && time > most ? time : most;
    }
    return most > MOST_IN_ONE * sum;
}

const as_table *as_fold_modules(as_arena *arena, const as_table *steps, int depth)
{
    int deepest = 1, module = as_column_find(steps, "module");
    if (depth > 0)
        return fold(arena, steps, depth);
    for (int i = 0; i < steps->n_rows; i++) {
        int its = as_module_depth(module_of(steps, module, i));
        deepest = its > deepest ? its : deepest;
    }
    const as_table *best = fold(arena, steps, 1);
    for (depth = 2; depth <= deepest && best && (best->n_rows < FEW_ROWS || is_lopsided(best)); depth++) {
        const as_table *finer = fold(arena, steps, depth);
        if (!finer || finer->n_rows > MANY_ROWS)
            return finer ? best : NULL;
        best = finer;
    }
    return best;
}
