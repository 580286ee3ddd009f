/* op_shrink.c - x - bias above lambd, x + bias below -lambd, and 0 between. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "bias", .kind = AS_ATTR_FLOAT}, {.name = "lambd", .kind = AS_ATTR_FLOAT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    double bias = as_attr_float(n, "bias", 0.0), lambd = as_attr_float(n, "lambd", 0.5);
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_NUMBER));
    as_dtype wide = as_dtype_is_float(n->in[0].dtype) ? n->in[0].dtype : AS_F64;
    int      x = as_b_cast(b, in[0], wide), above = as_b_versus(b, "Greater", x, lambd), below = as_b_versus(b, "Less", x, -lambd);
    int      y = AS_MAKE(b, "Where", above, as_b_plus(b, x, -bias), as_b_like(b, x, 0.0));
    out[0] = as_b_cast(b, AS_MAKE(b, "Where", below, as_b_plus(b, x, bias), y), n->in[0].dtype);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "hard",
     .n_in = 1,
     .in = {AS_IN(F32, 6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("lambd", 1)},
     AS_GIVEN(-0.289999992, 0.540000021, 0.0900000036, -0.340000004, -1.99000001, -1.63),
     AS_WANT(0, 0, 0, 0, -1.99000001, -1.63)},
    /* By the ONNX reference evaluator. */
    {.name = "soft",
     .n_in = 1,
     .in = {AS_IN(F32, 6)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("lambd", 1), AS_ATTR_F("bias", 1)},
     AS_GIVEN(0.839999974, 0.100000001, 0.779999971, 1.82000005, 0.730000019, -1.78999996),
     AS_WANT(0, 0, 0, 0.820000052, 0, -0.789999962)},
    /* By the ONNX reference evaluator. */
    {.name = "i32",
     .n_in = 1,
     .in = {AS_IN(I32, 5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_F("lambd", 1.5), AS_ATTR_F("bias", 1)},
     AS_GIVEN(0, -3, 1, 0, -3),
     AS_WANT(0, -2, 0, 0, -2)},
};

const as_op as_op_shrink = {
    .name = "Shrink",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
