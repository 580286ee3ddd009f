/* op_shape.c - the sizes of the axes from `start` to before `end`, as i64; the elements themselves are not read. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "start", .kind = AS_ATTR_INT}, {.name = "end", .kind = AS_ATTR_INT}, {0}};

/* Negative values count from the end; values beyond the ends are moved to the ends. */
static int bound_of(const as_node_ctx *n, const char *name, int64_t otherwise)
{
    int     rank = n->in[0].shape.rank;
    int64_t at = as_attr_int(n, name, otherwise);
    at += at < 0 ? rank : 0;
    return (int)(at < 0 ? 0 : at > rank ? rank : at);
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int start = bound_of(n, "start", 0), end = bound_of(n, "end", n->in[0].shape.rank);
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    out[0] = as_info(AS_I64, &AS_SHAPE(end > start ? end - start : 0));
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    return (as_cost){.bytes_written = as_sat_count(&n->out[0].shape) * as_dtype_bytes(AS_I64)};
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int start = bound_of(n, "start", 0);
    for (int64_t i = 0; i < out[0].shape.dim[0]; i++)
        as_view_set_i64(&out[0], i, in[0].shape.dim[start + i]);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "all", .n_in = 1, .in = {AS_IN(F32, 2, 3, 5)}, AS_WANT(2, 3, 5)},
    {.name = "from the second",
     .n_in = 1,
     .in = {AS_IN(I8, 2, 3, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("start", 1)},
     AS_WANT(3, 5)},
    {.name = "without the last",
     .n_in = 1,
     .in = {AS_IN(BOOL, 2, 3, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("start", -9), AS_ATTR_I("end", -1)},
     AS_WANT(2, 3)},
    {.name = "the wrong way",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("start", 2), AS_ATTR_I("end", 1)}},
    {.name = "of a scalar", .n_in = 1, .in = {{.dtype = AS_F32}}},
    {.name = "of nothing", .n_in = 1, .in = {AS_IN(F32, 0, 4)}, AS_WANT(0, 4)},
};

const as_op as_op_shape = {
    .name = "Shape",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: the output is an integer and does not depend on the values */
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
