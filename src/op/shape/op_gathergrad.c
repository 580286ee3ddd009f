/* op_gathergrad.c - assay.GatherGrad(dY, indices): the gradient of Gather along axis 0, a table's: row dY[i] is added to row indices[i] of
 * a table of zeros, in the order of i. */
#include <stdlib.h>

#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "input_shape", .kind = AS_ATTR_INTS, .required = true}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *dy = &n->in[0].shape, *indices = &n->in[1].shape;
    as_shape        x;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_index(env, n, 1, "indices", true));
    AS_TRY(as_attr_shape(env, n, "input_shape", n->in[0].dtype, &x));
    bool fits = x.rank > 0 && dy->rank == indices->rank + x.rank - 1;
    for (int i = 0; fits && i < dy->rank; i++)
        fits = dy->dim[i] == (i < indices->rank ? indices->dim[i] : x.dim[i - indices->rank + 1]);
    if (!fits)
        return as_refuse(env, n, "dY is %s for indices %s into a table %s", AS_SHOW(dy), AS_SHOW(indices), AS_SHOW(&x));
    out[0] = as_info(n->in[0].dtype, &x);
    return ASSAY_OK;
}

/* One addition per element of dY. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_count(&n->in[0].shape);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t count = as_shape_count(&in[1].shape), size = out[0].shape.dim[0], all = as_shape_count(&out[0].shape);
    int64_t row = size ? all / size : 0, at;
    double *sums = calloc((size_t)all + 1, sizeof *sums);
    if (!sums)
        return as_fail(env, ASSAY_NO_MEMORY, "%s: not enough memory for a table of %lld elements", n->op->name, (long long)all);
    assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < count && status == ASSAY_OK; i++) {
        status = as_index_read(env, n, &in[1], i, size, &at);
        for (int64_t k = 0; status == ASSAY_OK && k < row; k++)
            sums[at * row + k] += as_view_get(&in[0], i * row + k);
    }
    for (int64_t i = 0; i < all; i++)
        as_view_set(&out[0], i, sums[i]);
    free(sums);
    return status;
}

#define TABLE(...) .n_attrs = 1, .attrs = {AS_ATTR_LIST("input_shape", __VA_ARGS__)}

static const as_case cases[] = {
    /* By hand: row 0 is read once, row 2 twice, once counted from the end. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN_INTS(2, 0, -1)},
     TABLE(3, 2),
     AS_GIVEN(1, 2, 3, 4, 50, 60),
     AS_WANT(3, 4, 0, 0, 51, 62)},
    {.name = "rows of 37", .n_in = 2, .in = {AS_IN(F32, 5, 37), AS_IN_INTS(1, 6, 1, 1, 0)}, TABLE(7, 37)},
    {.name = "rows of 16", .n_in = 2, .in = {AS_IN(F32, 4, 16), AS_IN_INTS(1, 0, 1, -1)}, TABLE(3, 16)},
    {.name = "two axes of i32",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 2, 3, 2), {.dtype = AS_I32, .shape = {2, {2, 2}}, .ints = (const int64_t[]){4, 4, 0, -2}}},
     TABLE(5, 3, 2)},
    {.name = "a scalar index", .n_in = 2, .in = {AS_IN(F32, 3), AS_IN_INT(-1)}, TABLE(4, 3)},
    {.name = "single elements", .n_in = 2, .in = {AS_IN(F64, 3), AS_IN_INTS(3, 3, 1)}, TABLE(5)},
    {.name = "no indices",
     .n_in = 2,
     .in = {AS_IN(F32, 0, 2), {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}},
     TABLE(3, 2)},
    {.name = "rows without columns", .n_in = 2, .in = {AS_IN(F32, 1, 0), AS_IN_INTS(1)}, TABLE(3, 0)},
};

const as_op as_op_gathergrad = {
    .name = "assay.GatherGrad",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
