/* layer_diff.c - matches the layers of two candidates by what they compute, and compares their times. */
#include "analysis/duel/layer_diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stat/stat.h"
#include "base/text.h"

/* --- Matching: layers of both sides that share a part are one row -------------------------------------------- */

typedef struct matcher {
    as_arena            *arena;
    const as_layer_side *sides[2];
    int                  n[2], n_all; /* layers; those of the second side are numbered after the first's */
    int                 *group;       /* of each layer: another layer of its row; the chain ends at the row's first layer */
} matcher;

typedef struct part {
    const char *text;
    int         layer;
} part;

static const as_layer_time *layer_at(const matcher *m, int i)
{
    return i < m->n[0] ? &m->sides[0]->layers[i] : &m->sides[1]->layers[i - m->n[0]];
}

static int group_of(const matcher *m, int i)
{
    while (m->group[i] != i)
        i = m->group[i] = m->group[m->group[i]];
    return i;
}

/* The lower number wins, so that a row's first layer is the first in the order of the plan. */
static void join(const matcher *m, int i, int k)
{
    int x = group_of(m, i), y = group_of(m, k);
    m->group[x > y ? x : y] = x > y ? y : x;
}

static int by_text(const void *a, const void *b)
{
    const part *x = a, *y = b;
    int         order = strcmp(x->text, y->text);
    return order ? order : (x->layer > y->layer) - (x->layer < y->layer);
}

static bool match(matcher *m)
{
    size_t n = 0, at = 0;
    for (int i = 0; i < m->n_all; i++)
        n += (size_t)(layer_at(m, i)->n_parts ? layer_at(m, i)->n_parts : 1);
    part *parts = AS_TAKE(m->arena, part, n);
    m->group = AS_TAKE(m->arena, int, m->n_all);
    if (!parts || !m->group)
        return false;
    for (int i = 0; i < m->n_all; i++) {
        const as_layer_time *l = layer_at(m, i);
        m->group[i] = i;
        for (int k = 0; k < l->n_parts; k++)
            parts[at++] = (part){l->parts[k], i};
        if (!l->n_parts)
            parts[at++] = (part){l->name, i};
    }
    if (n)
        qsort(parts, n, sizeof *parts, by_text);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(parts[i].text, parts[i - 1].text))
            join(m, parts[i].layer, parts[i - 1].layer);
    return true;
}

/* --- Times ------------------------------------------------------------------------------------------------- */

/* One side of a row while it is summed up. */
typedef struct sum {
    int                  n_layers;
    double               ns;
    double              *each; /* NULL: not known for all of them */
    const as_layer_time *first;
} sum;

static double variance_of_mean(const double *x, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    return squares / (double)(n - 1) / (double)n;
}

/* The difference of two means by Welch: the runs of the two sides are not paired, because interrupted runs are left out. */
static void bounds(as_layer_row *row, const double *a, size_t n_a, const double *b, size_t n_b)
{
    double difference = (isnan(row->b_ns) ? 0 : row->b_ns) - (isnan(row->a_ns) ? 0 : row->a_ns);
    bool   has_a = !isnan(row->a_ns), has_b = !isnan(row->b_ns);
    row->lo = row->hi = (double)NAN;
    if ((has_a && (!a || n_a < 2)) || (has_b && (!b || n_b < 2)))
        return;
    double va = has_a ? variance_of_mean(a, n_a) : 0, vb = has_b ? variance_of_mean(b, n_b) : 0, v = va + vb;
    double below = (has_a ? va * va / (double)(n_a - 1) : 0) + (has_b ? vb * vb / (double)(n_b - 1) : 0);
    double half = v > 0 ? as_student(.025, v * v / below) * sqrt(v) : 0;
    row->lo = difference - half;
    row->hi = difference + half;
}

static bool sum_add(matcher *m, sum *s, const as_layer_time *l, size_t n_runs)
{
    if (!s->n_layers++) {
        s->first = l;
        s->each = l->each ? AS_TAKE(m->arena, double, n_runs) : NULL;
        if (l->each && !s->each)
            return false;
    }
    s->ns += l->ns;
    s->each = l->each ? s->each : NULL;
    for (size_t i = 0; s->each && i < n_runs; i++)
        s->each[i] += l->each[i];
    return true;
}

/* The side with fewer steps gives the name: "conv1+relu" rather than its two parts. */
static const char *row_name(matcher *m, const sum *a, const sum *b)
{
    const sum *s = !b->n_layers || (a->n_layers && a->n_layers <= b->n_layers) ? a : b;
    if (s->n_layers == 1 || m->sides[0]->named)
        return s->first->name;
    return as_arena_printf(m->arena, "%s and %d more", s->first->n_parts ? s->first->parts[0] : s->first->name, s->n_layers - 1);
}

static double change_of(const as_layer_row *r) { return (isnan(r->b_ns) ? 0 : r->b_ns) - (isnan(r->a_ns) ? 0 : r->a_ns); }

static int greatest_first(const void *a, const void *b)
{
    const as_layer_row *x = a, *y = b;
    double              dx = fabs(change_of(x)), dy = fabs(change_of(y));
    return x->outside != y->outside ? (x->outside ? 1 : -1) : dx != dy ? (dx > dy ? -1 : 1) : strcmp(x->name, y->name);
}

/* The time of each run that no layer explains. */
static bool outside_make(matcher *m, as_layer_row *row)
{
    double *each[2] = {NULL, NULL}, ns[2];
    for (int s = 0; s < 2; s++) {
        const as_layer_side *side = m->sides[s];
        ns[s] = side->whole_ns;
        each[s] = side->whole_each ? AS_TAKE(m->arena, double, side->n_runs) : NULL;
        if (side->whole_each && !each[s])
            return false;
        for (size_t i = 0; each[s] && i < side->n_runs; i++)
            each[s][i] = side->whole_each[i];
        for (int k = 0; k < side->n_layers; k++) {
            ns[s] -= side->layers[k].ns;
            each[s] = side->layers[k].each ? each[s] : NULL;
            for (size_t i = 0; each[s] && i < side->n_runs; i++)
                each[s][i] -= side->layers[k].each[i];
        }
    }
    *row = (as_layer_row){.name = "outside of layers", .a_ns = ns[0], .b_ns = ns[1], .outside = true};
    bounds(row, each[0], m->sides[0]->n_runs, each[1], m->sides[1]->n_runs);
    return true;
}

static bool rows_make(matcher *m, as_layer_diff *out)
{
    sum *sums = AS_TAKE(m->arena, sum, 2 * (size_t)m->n_all);
    out->rows = AS_TAKE(m->arena, as_layer_row, m->n_all + 1);
    if (!sums || !out->rows)
        return false;
    for (int i = 0; i < m->n_all; i++) {
        int side = i >= m->n[0];
        if (!sum_add(m, &sums[2 * group_of(m, i) + side], layer_at(m, i), m->sides[side]->n_runs))
            return false;
    }
    for (int i = 0; i < m->n_all; i++) {
        const sum *a = &sums[2 * i], *b = a + 1;
        if (!a->n_layers && !b->n_layers)
            continue;
        as_layer_row *row = &out->rows[out->n_rows++];
        *row = (as_layer_row){
            .name = row_name(m, a, b), .a_ns = a->n_layers ? a->ns : (double)NAN, .b_ns = b->n_layers ? b->ns : (double)NAN};
        if (!row->name)
            return false;
        bounds(row, a->each, m->sides[0]->n_runs, b->each, m->sides[1]->n_runs);
    }
    return outside_make(m, &out->rows[out->n_rows++]);
}

bool as_layer_diff_make(as_arena *arena, const as_layer_side *a, const as_layer_side *b, as_layer_diff *out)
{
    matcher m = {.arena = arena, .sides = {a, b}, .n = {a->n_layers, b->n_layers}, .n_all = a->n_layers + b->n_layers};
    *out = (as_layer_diff){.whole = {.name = "whole run", .a_ns = a->whole_ns, .b_ns = b->whole_ns}};
    if (!match(&m) || !rows_make(&m, out))
        return false;
    bounds(&out->whole, a->whole_each, a->n_runs, b->whole_each, b->n_runs);
    qsort(out->rows, (size_t)out->n_rows, sizeof *out->rows, greatest_first);
    return true;
}
