/* op_range.c - start, start + delta, ... up to limit, exclusive: three numbers known while planning. */
#include "op/shape/move.h"

#include <math.h>

static assay_status number_of(assay_env *env, const as_node_ctx *n, int i, as_view *out)
{
    static const char *const names[] = {"start", "limit", "delta"};
    const as_tensor_info    *t = &n->in[i];
    if (t->shape.rank > 1 || as_shape_count(&t->shape) != 1)
        return as_refuse(env, n, "%s (input %d) is %s and must be one number", names[i], i, AS_SHOW(&t->shape));
    if (!t->constant)
        return as_refuse(env, n, "%s (input %d) must be known while planning", names[i], i);
    union {
        const void *read;
        void       *view;
    } data = {t->constant};
    *out = (as_view){.data = data.view, .dtype = t->dtype};
    return ASSAY_OK;
}

/* ceil((limit - start) / delta), at least 0. */
static assay_status count_of(assay_env *env, const as_node_ctx *n, const as_view *v, int64_t *out)
{
    if (as_dtype_is_float(v[0].dtype)) {
        double start = as_view_get(&v[0], 0), limit = as_view_get(&v[1], 0), delta = as_view_get(&v[2], 0),
               count = ceil((limit - start) / delta);
        if (delta == 0.0 || !isfinite(delta) || !(count < 0x1p62))
            return as_refuse(env, n, "from %g to %g by %g is not a range of numbers", start, limit, delta);
        *out = count > 0.0 ? (int64_t)count : 0;
        return ASSAY_OK;
    }
    int64_t start = as_view_get_i64(&v[0], 0), limit = as_view_get_i64(&v[1], 0), delta = as_view_get_i64(&v[2], 0);
    if (delta == 0)
        return as_refuse(env, n, "from %lld to %lld by 0 is not a range of numbers", (long long)start, (long long)limit);
    uint64_t way = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit,
             step = delta > 0 ? (uint64_t)delta : -(uint64_t)delta;
    bool     any = delta > 0 ? limit > start : limit < start;
    uint64_t count = any ? (way - 1) / step + 1 : 0;
    if (count > INT64_MAX)
        return as_refuse(env, n, "from %lld to %lld by %lld are more numbers than 63 bits count", (long long)start,
                         (long long)limit, (long long)delta);
    *out = (int64_t)count;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_view  v[3];
    as_shape y = {.rank = 1};
    AS_TRY(as_rule_dtype(env, n, 0, 3, AS_SET_FLOAT | AS_DTYPE_BIT(AS_I16) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64)));
    for (int i = 0; i < 3; i++)
        AS_TRY(number_of(env, n, i, &v[i]));
    AS_TRY(count_of(env, n, v, &y.dim[0]));
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_view start = as_view_nth(&in[0], 0), delta = as_view_nth(&in[2], 0);
    for (int64_t i = 0; i < out[0].shape.dim[0]; i++) {
        as_view one = as_view_nth(&out[0], i);
        if (as_dtype_is_float(out[0].dtype))
            as_view_set(&one, 0, as_view_get(&start, 0) + (double)i * as_view_get(&delta, 0));
        else
            as_bits_set(&one, as_bits_get(&start) + (uint64_t)i * as_bits_get(&delta));
    }
    return ASSAY_OK;
}

#define NUMBER(dtype_, value_)                                     \
    {                                                              \
        .dtype = AS_##dtype_, .ints = (const int64_t[]) { value_ } \
    }

static const as_case cases[] = {
    /* numpy: arange(1, 5, 2) and arange(10, 4, -3). */
    {.name = "f32 by numpy", .n_in = 3, .in = {NUMBER(F32, 1), NUMBER(F32, 5), NUMBER(F32, 2)}, AS_WANT(1, 3)},
    {.name = "i32 backwards by numpy", .n_in = 3, .in = {NUMBER(I32, 10), NUMBER(I32, 4), NUMBER(I32, -3)}, AS_WANT(10, 7)},
    {.name = "i64", .n_in = 3, .in = {NUMBER(I64, -3), NUMBER(I64, 4), NUMBER(I64, 3)}, AS_WANT(-3, 0, 3)},
    {.name = "vectors of one", .n_in = 3, .in = {AS_IN_INTS(0), AS_IN_INTS(3), AS_IN_INTS(1)}, AS_WANT(0, 1, 2)},
    {.name = "i16", .n_in = 3, .in = {NUMBER(I16, 5), NUMBER(I16, 8), NUMBER(I16, 2)}, AS_WANT(5, 7)},
    {.name = "the wrong way", .n_in = 3, .in = {NUMBER(F64, 3), NUMBER(F64, 0), NUMBER(F64, 1)}},
};

const as_op as_op_range = {
    .name = "Range",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(2),
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval, /* no gradient: its inputs are known while planning, so none of them is learned */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases), /* an f32 kernel may add delta repeatedly */
};
