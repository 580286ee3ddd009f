/* k_nearest_copy.c - Resize to the nearest element, as runs of bytes, for any dtype.
 *
 * Each axis has a list of the places that its outputs come from.  A row that comes from the same one as the row before is a copy of it;
 * where every element of a row is repeated equally often, the row needs no list. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/walk.h"
#include "op/nn/resize.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_resize r;
    if (!as_plain_copy_accepts(n, why, why_size))
        return false;
    if (as_resize_read(NULL, n, &r) != ASSAY_OK || r.mode != AS_RESIZE_NEAREST)
        snprintf(why, why_size, "the mode is %s, and it only knows nearest", as_attr_text(n, "mode", "nearest"));
    else if (r.crops)
        snprintf(why, why_size, "it does not crop");
    else
        return true;
    return false;
}

static size_t part_bytes(const as_node_ctx *n)
{
    size_t count = 0;
    for (int i = 0; i < n->out[0].shape.rank; i++)
        count += (size_t)n->out[0].shape.dim[i];
    return (count * sizeof(int64_t) + 63) / 64 * 64;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    return as_shape_count(&n->out[0].shape) ? part_bytes(n) * (size_t)n_parts : 0;
}

/* How often each element of a row is repeated; 0: not equally often. */
static int64_t repeats_of(const int64_t *map, int64_t in, int64_t out)
{
    int64_t each = in && out % in == 0 ? out / in : 0;
    for (int64_t o = 0; each && o < out; o++)
        if (map[o] != o / each)
            return 0;
    return each;
}

#define EXPAND(bits)                                                                                              \
    static void twice_##bits(const uint##bits##_t *restrict x, uint##bits##_t *restrict y, int64_t n)             \
    {                                                                                                             \
        int64_t i = 0;                                                                                            \
        for (; i + 16 <= n; i += 16)                                                                              \
            for (int l = 0; l < 16; l++)                                                                          \
                y[2 * (i + l)] = y[2 * (i + l) + 1] = x[i + l];                                                   \
        for (; i < n; i++)                                                                                        \
            y[2 * i] = y[2 * i + 1] = x[i];                                                                       \
    }                                                                                                             \
    static void row_##bits(const void *from, void *to, const int64_t *map, int64_t each, int64_t in, int64_t out) \
    {                                                                                                             \
        const uint##bits##_t *x = from;                                                                           \
        uint##bits##_t       *y = to;                                                                             \
        if (each == 2)                                                                                            \
            twice_##bits(x, y, in);                                                                               \
        else if (each)                                                                                            \
            for (int64_t i = 0; i < in; i++)                                                                      \
                for (int64_t k = 0; k < each; k++)                                                                \
                    *y++ = x[i];                                                                                  \
        else                                                                                                      \
            for (int64_t o = 0; o < out; o++)                                                                     \
                y[o] = x[map[o]];                                                                                 \
    }
EXPAND(8)
EXPAND(16)
EXPAND(32)
EXPAND(64)

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape, *y = &n->out[0].shape;
    as_resize          r;
    int64_t           *map[AS_MAX_RANK], *next, step[AS_MAX_RANK];
    int64_t            item = (int64_t)as_dtype_bytes(n->in[0].dtype), width = item, begin, end, n_rows = 1, before = -1;
    int                last = y->rank - 1;
    if (as_shape_count(y) == 0 || as_resize_read(NULL, n, &r) != ASSAY_OK)
        return;
    while (last >= 0 && x->dim[last] == y->dim[last] && r.scale[last] == 1.0)
        item *= x->dim[last--];
    if (last < 0) {
        as_plain_copy(args, part, n_parts, scratch);
        return;
    }
    next = (int64_t *)(void *)((char *)scratch + (size_t)part * part_bytes(n));
    as_walk_steps(x, step);
    for (int a = 0; a <= last; a++) {
        double weight, all[2] = {0.0, 1.0};
        map[a] = next;
        next += y->dim[a];
        for (int64_t o = 0; o < y->dim[a]; o++)
            as_resize_make(&r, a, x->dim[a], o, all, &map[a][o], &weight);
        n_rows *= a < last ? y->dim[a] : 1;
    }
    int64_t in = x->dim[last], out = y->dim[last], each = repeats_of(map[last], in, out);
    as_share(n_rows, 1, part, n_parts, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        int64_t at = 0, rest = row;
        for (int a = last - 1; a >= 0; a--) {
            at += map[a][rest % y->dim[a]] * step[a];
            rest /= y->dim[a];
        }
        const char *from = (const char *)args->in[0].data + at * width;
        char       *to = (char *)args->out[0].data + row * out * item;
        if (at == before)
            memcpy(to, to - out * item, (size_t)(out * item));
        else if (item > width)
            for (int64_t o = 0; o < out; o++)
                memcpy(to + o * item, from + map[last][o] * item, (size_t)item);
        else
            (width == 1 ? row_8 : width == 2 ? row_16 : width == 4 ? row_32 : row_64)(from, to, map[last], each, in, out);
        before = at;
    }
}

const as_kernel as_k_nearest_copy = {
    .name = "nearest_copy",
    .op = "Resize",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes, a list of places per axis",
    .accepts = accepts,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
