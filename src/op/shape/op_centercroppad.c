/* op_centercroppad.c - cut around the centre, or filled with zeros around it, to a given shape; an odd rest goes to the end. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "axes", .kind = AS_ATTR_INTS}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         want[AS_MAX_RANK], axes[AS_MAX_RANK], pads[2 * AS_MAX_RANK] = {0};
    int             count, y = in[0];
    size_t          n_axes = as_attr_ints(n, "axes", axes, AS_MAX_RANK);
    bool            filled = false;
    unsigned        seen = 0;
    AS_TRY(as_rule_ints(b->env, n, 1, "shape", want, &count));
    if (!as_attr_find(n, "axes"))
        for (n_axes = 0; n_axes < (size_t)x->rank; n_axes++)
            axes[n_axes] = (int64_t)n_axes;
    if (n_axes > AS_MAX_RANK || (size_t)count != n_axes)
        return as_refuse(b->env, n, "shape has %d numbers for %zu axes", count, n_axes);
    for (int i = 0; i < count; i++) {
        int axis;
        AS_TRY(as_rule_axis(b->env, n, axes[i], x->rank, &axis));
        if (want[i] < 0 || (seen & (1u << axis)))
            return as_refuse(b->env, n, "axis %d is asked for twice, or with the size %lld", axis, (long long)want[i]);
        seen |= 1u << axis;
        int64_t has = x->dim[axis];
        if (want[i] < has) {
            int64_t begin = (has - want[i]) / 2;
            y = as_b_cut(b, y, axis, begin, begin + want[i], 1);
        } else if (want[i] > has) {
            pads[axis] = (want[i] - has) / 2;
            pads[x->rank + axis] = want[i] - has - pads[axis];
            filled = true;
        }
    }
    out[0] = filled ? AS_MAKE(b, "Pad", y, as_b_ints(b, pads, 2 * (size_t)x->rank)) : y == in[0] ? AS_MAKE(b, "Identity", y) : y;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "cut and filled",
     .n_in = 2,
     .in = {AS_IN(F32, 3, 2), AS_IN_INTS(2, 5)},
     AS_GIVEN(-0.980000019, -0.400000006, -0.920000017, 0.949999988, 0.100000001, -0.860000014),
     AS_WANT(0, -0.980000019, -0.400000006, 0, 0, 0, -0.920000017, 0.949999988, 0, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "axes",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3, 2), AS_IN_INTS(4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_LIST("axes", 1)},
     AS_GIVEN(-0.319999993, -0.50999999, -0.790000021, 0.540000021, -0.300000012, -0.620000005, 0.829999983, 0.720000029,
              -0.200000003, 0.0900000036, -0.100000001, 0.389999986),
     AS_WANT(-0.319999993, -0.50999999, -0.790000021, 0.540000021, -0.300000012, -0.620000005, 0, 0, 0.829999983, 0.720000029,
             -0.200000003, 0.0900000036, -0.100000001, 0.389999986, 0, 0)},
    /* By the ONNX reference evaluator. */
    {.name = "as it is",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN_INTS(2)},
     AS_GIVEN(-0.569999993, -0.349999994),
     AS_WANT(-0.569999993, -0.349999994)},
};

const as_op as_op_centercroppad = {
    .name = "CenterCropPad",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
