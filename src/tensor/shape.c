/* shape.c - sizes of tensors: counting without overflow, comparing, showing, broadcasting. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "tensor/tensor.h"

int64_t as_shape_count(const as_shape *shape)
{
    assert(shape->rank >= 0 && shape->rank <= AS_MAX_RANK);
    int64_t count = 1;
    /* Saturates: an unchecked shape gives a count that no memory can hold, not a small one that
     * something would be allocated for. */
    for (int i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(count, shape->dim[i], &count))
            return INT64_MAX;
#ifdef AS_PLANT_UB
    /* A planted fault: CI builds with it and demands that UBSan makes the tests fail. */
    volatile int64_t planted = INT64_MAX;
    planted = planted * (count + 2);
#endif
    return count;
}

bool as_shape_ok(const as_shape *shape, as_dtype dtype)
{
    if (shape->rank < 0 || shape->rank > AS_MAX_RANK)
        return false;
    int64_t bytes = (int64_t)as_dtype_bytes(dtype);
    if (!bytes)
        return false;
    /* A dim of 0 counts as 1 here: strides are products of the other dims and must not overflow
     * either, and the answer must not depend on where the 0 is. */
    for (int i = 0; i < shape->rank; i++)
        if (shape->dim[i] < 0 || __builtin_mul_overflow(bytes, shape->dim[i] ? shape->dim[i] : 1, &bytes))
            return false;
    return true;
}

bool as_shape_same(const as_shape *a, const as_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *as_shape_show(const as_shape *shape, char *buf, size_t size)
{
    if (!size)
        return "";
    int    rank = shape->rank < AS_MAX_RANK ? shape->rank : AS_MAX_RANK;
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i <= rank && at < size; i++) { /* one more for the closing bracket */
        int wrote;
        if (i == rank)
            wrote = snprintf(buf + at, size - at, i ? "]" : "[]");
        else
            wrote = snprintf(buf + at, size - at, "%c%" PRId64, i ? ',' : '[', shape->dim[i]);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    return buf;
}

/* The dim of `shape` at axis `axis` of a result of rank `rank`: shapes are aligned at the right. */
static int64_t dim_under(const as_shape *shape, int axis, int rank)
{
    int own = axis - (rank - shape->rank);
    return own < 0 ? 1 : shape->dim[own];
}

bool as_shape_broadcast(const as_shape *a, const as_shape *b, as_shape *out)
{
    as_shape both = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < both.rank; i++) {
        int64_t da = dim_under(a, i, both.rank), db = dim_under(b, i, both.rank);
        if (da != db && da != 1 && db != 1)
            return false;
        both.dim[i] = da == 1 ? db : da;
    }
    /* Two shapes that can be counted may give one that cannot: [2^40,1] and [1,2^40]. */
    if (!as_shape_ok(&both, AS_U8))
        return false;
    *out = both;
    return true;
}
