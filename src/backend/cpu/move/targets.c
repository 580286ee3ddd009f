/* targets.c - where indices point. */
#include "backend/cpu/move/targets.h"

#include <string.h>

#include "backend/cpu/walk.h"

as_targets as_targets_of(const as_node_ctx *n, const as_view *indices)
{
    const as_shape *x = &n->in[0].shape, *shape = &n->in[1].shape;
    as_targets      p = {.indices = indices, .data = *x, .run = 1, .count = as_shape_count(shape)};
    size_t          length = strlen(n->op->name);
    p.each = length > 8 && !strcmp(n->op->name + length - 8, "Elements");
    as_walk_steps(x, p.step);
    if (p.each) {
        int64_t axis = as_attr_int(n, "axis", 0);
        p.axis = (int)(axis < 0 ? axis + x->rank : axis);
        return p;
    }
    p.batch = (int)as_attr_int(n, "batch_dims", 0);
    p.depth = (int)shape->dim[shape->rank - 1];
    p.count = 1;
    for (int i = 0; i < shape->rank - 1; i++)
        p.count *= shape->dim[i];
    for (int i = p.batch + p.depth; i < x->rank; i++)
        p.run *= x->dim[i];
    return p;
}

int64_t as_index_at(const as_view *indices, int64_t i)
{
    int64_t wide;
    int32_t narrow;
    if (indices->dtype == AS_I64) {
        memcpy(&wide, (const char *)indices->data + i * 8, 8);
        return wide;
    }
    memcpy(&narrow, (const char *)indices->data + i * 4, 4);
    return narrow;
}

enum { STRIP = 32 };

/* Strips over restricted pointers, of which the compiler makes vectors: is any outside of [-size, size)?  Then at + size or
 * size - 1 - at is negative, whatever wraps; SSE2 cannot compare 64 bits. */
#define INSIDE(bits)                                                                                        \
    static bool inside_##bits(const int##bits##_t *restrict at, int64_t count, int64_t size)                \
    {                                                                                                       \
        int64_t i = 0;                                                                                      \
        for (; i + STRIP <= count; i += STRIP) {                                                            \
            uint64_t bad = 0;                                                                               \
            for (int l = 0; l < STRIP; l++)                                                                 \
                bad |= ((uint64_t)at[i + l] + (uint64_t)size) | ((uint64_t)size - 1 - (uint64_t)at[i + l]); \
            if (bad >> 63)                                                                                  \
                return false;                                                                               \
        }                                                                                                   \
        for (; i < count; i++)                                                                              \
            if (at[i] < -size || at[i] >= size)                                                             \
                return false;                                                                               \
        return true;                                                                                        \
    }
INSIDE(32)
INSIDE(64)

bool as_indices_are_inside(const as_view *indices, int64_t count, int64_t size)
{
    if (as_dtype_aligned(indices->dtype, indices->data))
        return indices->dtype == AS_I64 ? inside_64(indices->data, count, size) : inside_32(indices->data, count, size);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = as_index_at(indices, i);
        if (at < -size || at >= size)
            return false;
    }
    return true;
}

/* Counted from the beginning; -1: wrong. */
static int64_t place_at(const as_view *indices, int64_t i, int64_t size)
{
    int64_t at = as_index_at(indices, i);
    return at < -size || at >= size ? -1 : at < 0 ? at + size : at;
}

int64_t as_target(const as_targets *p, int64_t i)
{
    const as_shape *shape = &p->indices->shape;
    int64_t         at = 0, rest = i;
    if (p->each) {
        int64_t index = place_at(p->indices, i, p->data.dim[p->axis]);
        if (index < 0)
            return -1;
        for (int a = shape->rank - 1; a >= 0; a--) {
            at += (a == p->axis ? index : rest % shape->dim[a]) * p->step[a];
            rest /= shape->dim[a];
        }
        return at;
    }
    for (int a = shape->rank - 2; a >= 0 && p->batch; a--) {
        if (a < p->batch)
            at += rest % shape->dim[a] * p->step[a];
        rest /= shape->dim[a];
    }
    for (int k = 0; k < p->depth; k++) {
        int64_t index = place_at(p->indices, i * p->depth + k, p->data.dim[p->batch + k]);
        if (index < 0)
            return -1;
        at += index * p->step[p->batch + k];
    }
    return at;
}

/* at[i] = base + index * step + i * next, over aligned indices. */
#define FILL(bits)                                                                                                        \
    static void fill_##bits(const int##bits##_t *restrict index, int64_t count, int64_t size, int64_t base, int64_t step, \
                            int64_t next, int64_t *restrict at)                                                           \
    {                                                                                                                     \
        int64_t i = 0;                                                                                                    \
        if (step == 1 && next == 0)                                                                                       \
            for (; i + STRIP <= count; i += STRIP)                                                                        \
                for (int l = 0; l < STRIP; l++)                                                                           \
                    at[i + l] = base + index[i + l] + (size & -(int64_t)(index[i + l] < 0));                              \
        for (; i < count; i++)                                                                                            \
            at[i] = base + (index[i] < 0 ? index[i] + size : index[i]) * step + i * next;                                 \
    }
FILL(32)
FILL(64)

static void elements_fill(const as_targets *p, int64_t first, int64_t count, int64_t *at)
{
    const as_shape *shape = &p->indices->shape;
    int             last = shape->rank - 1;
    int64_t         wide = shape->dim[last], size = p->data.dim[p->axis], step = p->step[p->axis], next = p->axis == last ? 0 : 1;
    const char     *index = (const char *)p->indices->data + first * (int64_t)as_dtype_bytes(p->indices->dtype);
    while (count > 0) {
        int64_t column = first % wide, rest = first / wide, n = wide - column < count ? wide - column : count, base = 0;
        for (int a = last - 1; a >= 0; a--) {
            base += a == p->axis ? 0 : rest % shape->dim[a] * p->step[a];
            rest /= shape->dim[a];
        }
        base += column * next;
        if (p->indices->dtype == AS_I64)
            fill_64((const int64_t *)(const void *)index, n, size, base, step, next, at);
        else
            fill_32((const int32_t *)(const void *)index, n, size, base, step, next, at);
        index += n * (int64_t)as_dtype_bytes(p->indices->dtype);
        first += n;
        count -= n;
        at += n;
    }
}

void as_targets_fill(const as_targets *p, int64_t first, int64_t count, int64_t *at)
{
    if (p->each && as_dtype_aligned(p->indices->dtype, p->indices->data)) {
        elements_fill(p, first, count, at);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        at[i] = as_target(p, first + i);
}

bool as_targets_are_right(const as_targets *p)
{
    if (p->each)
        return as_indices_are_inside(p->indices, p->count, p->data.dim[p->axis]);
    if (p->depth == 1)
        return as_indices_are_inside(p->indices, p->count, p->data.dim[p->batch]);
    for (int64_t i = 0; i < p->count; i++)
        for (int k = 0; k < p->depth; k++) {
            int64_t at = as_index_at(p->indices, i * p->depth + k), size = p->data.dim[p->batch + k];
            if (at < -size || at >= size)
                return false;
        }
    return true;
}
