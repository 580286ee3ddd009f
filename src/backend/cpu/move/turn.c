/* turn.c - Transpose and Relayout as walks. */
#include "backend/cpu/move/turn.h"

#include <string.h>

/* Row-major to NHWC and back: transposes channels and pixels in every image. */
static as_walk relayout_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         count = as_shape_count(x), channels = x->rank > 1 ? x->dim[1] : 1;
    as_walk         w = as_walk_new(0);
    if (n->in[0].layout == n->out[0].layout || x->rank < 3 || count == 0) {
        as_walk_axis(&w, count, 1);
        return w;
    }
    int64_t pixels = count / x->dim[0] / channels;
    bool    to_row_major = n->in[0].layout == AS_LAYOUT_NHWC;
    as_walk_axis(&w, x->dim[0], channels * pixels);
    as_walk_axis(&w, to_row_major ? channels : pixels, 1);
    as_walk_axis(&w, to_row_major ? pixels : channels, to_row_major ? channels : pixels);
    return w;
}

as_walk as_turn_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         perm[AS_MAX_RANK], step[AS_MAX_RANK];
    as_walk         w = as_walk_new(0);
    if (!strcmp(n->op->name, "assay.Relayout"))
        return relayout_of(n);
    bool given = as_attr_ints(n, "perm", perm, AS_MAX_RANK) > 0;
    as_walk_steps(x, step);
    for (int i = 0; i < x->rank; i++) {
        int64_t from = given ? perm[i] : x->rank - 1 - i;
        as_walk_axis(&w, x->dim[from], step[from]);
    }
    return w;
}
