/* k_forest_f32_scalar.c - decision trees, many rows at once: rows go down a tree side by side, one level per turn, so that their loads overlap,
 * and a comparison selects the next node instead of branching. */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"

/* As in op/ml/forest.h: inputs, and the four numbers of a node. */
enum { X, NODES, SPLITS, IDS, WEIGHTS, ROOTS };
enum { FEATURE, KIND, YES, NO, WIDTH };
enum { LEQ = 0, LT = 1, LEAF = 7, NAN_YES = 16 };
enum { SIDE = 16, BLOCK = 128 }; /* rows side by side, and rows that use a tree while it is in the cache */
enum { AVERAGE, SUM, MIN, MAX };

static int kind_of(const int32_t *node) { return node[KIND] & ~NAN_YES; }

/* The comparison that all branches make; -1: they differ, or there is none. */
static int only_kind(const as_node_ctx *n)
{
    const int32_t *nodes = n->in[NODES].constant;
    int            only = -1;
    for (int64_t i = 0; nodes && i < n->in[NODES].shape.dim[0]; i++) {
        int kind = kind_of(&nodes[i * WIDTH]);
        if (kind == LEAF)
            continue;
        if (only >= 0 && kind != only)
            return -1;
        only = kind;
    }
    return only;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    int kind = only_kind(n);
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (kind != LEQ && kind != LT) {
        snprintf(why, why_size, "its branches compare in different ways");
        return false;
    }
    return true;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    return (size_t)n_parts * BLOCK * (size_t)n->out[0].shape.dim[1] * sizeof(double);
}

/* The leaves of one tree for up to SIDE rows. */
static inline void walk(const int32_t *nodes, const float *splits, int32_t root, bool strict, const float *x, int64_t features,
                        int n_rows, int32_t *at)
{
    bool moved = true;
    for (int r = 0; r < n_rows; r++)
        at[r] = root;
    while (moved) {
        moved = false;
        for (int r = 0; r < n_rows; r++) {
            const int32_t *node = &nodes[(int64_t)at[r] * WIDTH];
            float          v = x[r * features + node[FEATURE]], split = splits[at[r]];
            bool           is_leaf = (node[KIND] & ~NAN_YES) == LEAF;
            bool           yes = (strict ? v < split : v <= split) | ((v != v) & ((node[KIND] & NAN_YES) != 0));
            int32_t        next = yes ? node[YES] : node[NO];
            next = is_leaf ? at[r] : next;
            moved |= next != at[r];
            at[r] = next;
        }
    }
}

static inline void add(double *sum, double w, int64_t how)
{
    *sum = how == MIN ? (w < *sum ? w : *sum) : how == MAX ? (w > *sum ? w : *sum) : *sum + w;
}

static void block(const as_kernel_args *a, bool strict, int64_t how, int64_t first, int n_rows, double *sums)
{
    const int32_t *nodes = a->in[NODES].data, *ids = a->in[IDS].data, *roots = a->in[ROOTS].data;
    const float   *x = a->in[X].data, *splits = a->in[SPLITS].data, *weights = a->in[WEIGHTS].data;
    int64_t        features = a->in[X].shape.dim[1], targets = a->out[0].shape.dim[1], trees = a->in[ROOTS].shape.dim[0];
    double         start = how == MIN ? (double)FLT_MAX : how == MAX ? -(double)FLT_MAX : 0.0;
    float         *y = (float *)a->out[0].data + first * targets;
    for (int64_t i = 0; i < n_rows * targets; i++)
        sums[i] = start;
    for (int64_t t = 0; t < trees; t++)
        for (int r = 0; r < n_rows; r += SIDE) {
            int32_t at[SIDE];
            int     n = n_rows - r < SIDE ? n_rows - r : SIDE;
            if (strict)
                walk(nodes, splits, roots[t], true, x + (first + r) * features, features, n, at);
            else
                walk(nodes, splits, roots[t], false, x + (first + r) * features, features, n, at);
            for (int k = 0; k < n; k++) {
                const int32_t *leaf = &nodes[(int64_t)at[k] * WIDTH];
                for (int64_t i = leaf[YES]; i < (int64_t)leaf[YES] + leaf[NO]; i++)
                    add(&sums[(r + k) * targets + ids[i]], (double)weights[i], how);
            }
        }
    for (int64_t i = 0; i < n_rows * targets; i++)
        y[i] = (float)(how == AVERAGE && trees ? sums[i] / (double)trees : sums[i]);
}

/* All branches make the comparison of the first one. */
static bool is_strict(const as_kernel_args *a)
{
    const int32_t *nodes = a->in[NODES].data;
    int64_t        i = 0, n = a->in[NODES].shape.dim[0];
    while (i < n && kind_of(&nodes[i * WIDTH]) == LEAF)
        i++;
    return i < n && kind_of(&nodes[i * WIDTH]) == LT;
}

static int64_t shares(const as_node_ctx *n) { return (n->in[X].shape.dim[0] + SIDE - 1) / SIDE; }

static void run(const as_kernel_args *a, int part, int n_parts, void *scratch)
{
    int64_t begin, end, how = as_attr_int(a->ctx, "aggregate", SUM);
    double *sums = (double *)scratch + (int64_t)part * BLOCK * a->out[0].shape.dim[1];
    bool    strict = is_strict(a);
    as_share(a->in[X].shape.dim[0], SIDE, part, n_parts, &begin, &end);
    for (int64_t row = begin; row < end; row += BLOCK)
        block(a, strict, how, row, (int)(end - row < BLOCK ? end - row : BLOCK), sums);
}

const as_kernel as_k_forest_f32_scalar = {
    .name = "forest_f32_scalar",
    .op = "assay.Forest",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "16 rows go down a tree side by side",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
    .shares = shares,
};
