/* op_part.c - one tensor out of a flat block: `begin` is its first element, `shape` its shape.
 *
 * The trained parameters of a network lie in one block; each is a part of it.  A plan gives the part as a view of the block. */
#include "op/rules.h"

static const as_attr_def attrs[] = {
    {.name = "begin", .kind = AS_ATTR_INT, .required = true},
    {.name = "shape", .kind = AS_ATTR_INTS, .required = true},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *block = &n->in[0].shape;
    int64_t         begin = as_attr_int(n, "begin", 0);
    as_shape        shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_NUMBER));
    AS_TRY(as_attr_shape(env, n, "shape", n->in[0].dtype, &shape));
    if (block->rank != 1)
        return as_refuse(env, n, "the block is %s and must be a vector", AS_SHOW(block));
    if (begin < 0 || begin > block->dim[0] || as_shape_count(&shape) > block->dim[0] - begin)
        return as_refuse(env, n, "%s from element %lld on does not fit a block of %lld", AS_SHOW(&shape), (long long)begin,
                         (long long)block->dim[0]);
    out[0] = as_info(n->in[0].dtype, &shape);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    uint64_t bytes = as_sat_mul(as_sat_count(&n->out[0].shape), as_dtype_bytes(n->out[0].dtype));
    return (as_cost){.bytes_read = bytes, .bytes_written = bytes};
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t begin = as_attr_int(n, "begin", 0), count = as_shape_count(&out[0].shape);
    for (int64_t i = 0; i < count; i++)
        as_view_set(&out[0], i, as_view_get(&in[0], begin + i));
    return ASSAY_OK;
}

static int64_t view_begin(const as_node_ctx *n) { return as_attr_int(n, "begin", 0); }

/* The rest of the block has a gradient of 0. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    (void)out;
    int64_t begin = as_attr_int(n, "begin", 0);
    d_in[0] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    as_attr list[] = {AS_ATTR_LIST("begins", begin), AS_ATTR_I("size", n->in[0].shape.dim[0])};
    d_in[0] = b->node(b, "assay.Join", (int[]){d_out[0]}, 1, list, 2, NULL, 1);
    return ASSAY_OK;
}

#define PART(begin_, ...) .n_attrs = 2, .attrs = {AS_ATTR_I("begin", begin_), AS_ATTR_LIST("shape", __VA_ARGS__)}

static const as_case cases[] = {
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 7)},
     PART(2, 2, 2),
     .given = (const double[]){1, 2, 3, 4, 5, 6, 7},
     .want = (const double[]){3, 4, 5, 6},
     .n_want = 4},
    {.name = "all of it", .n_in = 1, .in = {AS_IN(F64, 12)}, PART(0, 3, 4)},
    {.name = "the last element", .n_in = 1, .in = {AS_IN(F32, 33)}, PART(32, 1)},
    {.name = "an empty part at the end", .n_in = 1, .in = {AS_IN(F32, 16)}, PART(16, 0, 3)},
};

const as_op as_op_part = {
    .name = "assay.Part",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .view_only = true,
    .view_begin = view_begin,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
