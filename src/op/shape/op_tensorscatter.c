/* op_tensorscatter.c - a cache with new elements written into it along an axis, from a place per sample on. */
#include <string.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {.name = "mode", .kind = AS_ATTR_TEXT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape, *u = &n->in[1].shape;
    const char     *mode = as_attr_text(n, "mode", "linear");
    int             axis;
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_EVERY));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -2), x->rank, &axis));
    if (strcmp(mode, "linear") && strcmp(mode, "circular"))
        return as_refuse(env, n, "mode is '%.40s' and must be linear or circular", mode);
    bool ok = axis > 0 && x->rank == u->rank && u->dim[axis] <= x->dim[axis];
    for (int i = 0; ok && i < x->rank; i++)
        ok = i == axis || x->dim[i] == u->dim[i];
    if (!ok)
        return as_refuse(
            env, n, "past_cache is %s and update %s along axis %d: they may differ only there, where update is the smaller one",
            AS_SHOW(x), AS_SHOW(u), axis);
    if (as_in_has(n, 2)) {
        AS_TRY(as_rule_index(env, n, 2, "write_indices", false));
        if (!as_shape_same(&n->in[2].shape, &AS_SHAPE(x->dim[0])))
            return as_refuse(env, n, "write_indices is %s and must have one place for each of %lld samples",
                             AS_SHOW(&n->in[2].shape), (long long)x->dim[0]);
    }
    out[0] = as_info(n->in[0].dtype, x);
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    bool    circular = !strcmp(as_attr_text(n, "mode", "linear"), "circular");
    int     axis, rank = in[0].shape.rank;
    int64_t index[AS_MAX_RANK] = {0};
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", -2), rank, &axis));
    as_view_copy(&out[0], &in[0]);
    if (as_shape_count(&in[1].shape) == 0)
        return ASSAY_OK;
    int64_t size = in[0].shape.dim[axis];
    do {
        int64_t to[AS_MAX_RANK], first = as_in_has(n, 2) ? as_view_get_i64(&in[2], index[0]) : 0;
        memcpy(to, index, sizeof to);
        if (first < 0 || first > size || (!circular && first + in[1].shape.dim[axis] > size))
            return as_refuse(env, n, "sample %lld writes from %lld on, and the cache has %lld places", (long long)index[0],
                             (long long)first, (long long)size);
        to[axis] = (first + index[axis]) % size;
        as_view x = as_view_fix(&in[1], index, rank), y = as_view_fix(&out[0], to, rank);
        as_view_copy(&y, &x);
    } while (as_index_next(&in[1].shape, index));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "from a place",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3, 2), AS_IN(F32, 2, 1, 2), AS_IN(I64, 2)},
     AS_GIVEN(-0.460000008, -0.469999999, 0.219999999, -0.699999988, -0.579999983, 0.439999998, -0.460000008, -0.629999995,
              0.620000005, -0.819999993, -0.74000001, 0.360000014, -0.100000001, -0.219999999, 0.319999993, -0.980000019, 1, 2),
     AS_WANT(-0.460000008, -0.469999999, -0.100000001, -0.219999999, -0.579999983, 0.439999998, -0.460000008, -0.629999995,
             0.620000005, -0.819999993, 0.319999993, -0.980000019)},
    /* By the ONNX reference evaluator. */
    {.name = "around",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 3, 2), AS_IN(F32, 1, 2, 2), AS_IN(I64, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("mode", "circular")},
     AS_GIVEN(-0.479999989, 0.5, 0.870000005, 0.349999994, 0, 0.550000012, 0.129999995, -0.389999986, -0.0399999991, -0.370000005,
              2),
     AS_WANT(-0.0399999991, -0.370000005, 0.870000005, 0.349999994, 0.129999995, -0.389999986)},
};

const as_op as_op_tensorscatter = {
    .name = "TensorScatter",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = 0,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
