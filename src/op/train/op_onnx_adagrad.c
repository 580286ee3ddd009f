/* op_onnx_adagrad.c - one step of Adagrad. */
#include "op/train/onnx_optimizer.h"

static const as_attr_def attrs[] = {{.name = "decay_factor", .kind = AS_ATTR_FLOAT},
                                    {.name = "epsilon", .kind = AS_ATTR_FLOAT},
                                    {.name = "norm_coefficient", .kind = AS_ATTR_FLOAT},
                                    {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    int count = 0;
    AS_TRY(as_optimized_count(b->env, n, 3, &count));
    int rate =
        AS_MAKE(b, "Div", in[0],
                as_b_plus(b, as_b_times(b, as_b_cast(b, in[1], n->in[0].dtype), as_attr_float(n, "decay_factor", 0.0)), 1.0));
    for (int i = 0; i < count; i++) {
        int x = in[2 + i], g = as_b_regularized(b, n, x, in[2 + count + i], 0.0);
        int h = AS_MAKE(b, "Add", in[2 + 2 * count + i], AS_MAKE(b, "Mul", g, g));
        int step =
            AS_MAKE(b, "Div", AS_MAKE(b, "Mul", g, rate), as_b_plus(b, AS_MAKE(b, "Sqrt", h), as_attr_float(n, "epsilon", 0.0)));
        out[i] = AS_MAKE(b, "Sub", x, step);
        out[count + i] = h;
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "decay",
     .n_in = 5,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64}, AS_IN(F32, 3), AS_IN(F32, 3), AS_IN(F32, 3)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_F("decay_factor", 0.1), AS_ATTR_F("epsilon", 0.001), AS_ATTR_F("norm_coefficient", 0.01)},
     AS_GIVEN(0.100000001, 2, -0.25999999, 0.720000029, 0.109999999, -0.0399999991, -0.49000001, -0.219999999, 0.0500000007,
              0.119999997, 0.75),
     AS_WANT(-0.244472623, 0.787594259, 0.130398571)},
};

const as_op as_op_onnx_adagrad = {
    .name = "ai.onnx.preview.training.Adagrad",
    .min_in = 5,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = AS_MAX_OUT,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
