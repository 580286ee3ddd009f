/* op_ms_fusedgemm.c - an activation of Gemm. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {
    {.name = "activation", .kind = AS_ATTR_TEXT},
    {.name = "activation_alpha", .kind = AS_ATTR_FLOAT},
    {.name = "activation_beta", .kind = AS_ATTR_FLOAT},
    {.name = "activation_gamma", .kind = AS_ATTR_FLOAT},
    {.name = "alpha", .kind = AS_ATTR_FLOAT},
    {.name = "beta", .kind = AS_ATTR_FLOAT},
    {.name = "transA", .kind = AS_ATTR_INT},
    {.name = "transB", .kind = AS_ATTR_INT},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    static const char *const own[] = {"activation", "activation_alpha", "activation_beta", "activation_gamma", NULL};
    as_attr                  gemm[8];
    return as_b_activation(b, n, as_b_node(b, "Gemm", in, n->n_in, gemm, as_attrs_without(n, own, gemm, 8)), &out[0]);
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "leaky",
     .n_in = 3,
     .in = {AS_IN(F32, 3, 4), AS_IN(F32, 4, 2), AS_IN(F32, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_S("activation", "LeakyRelu"), AS_ATTR_F("activation_alpha", 0.3)},
     AS_GIVEN(0.379999995, -0.140000001, -0.639999986, 0.230000004, -0.150000006, 0.270000011, 0.810000002, 0.200000003,
              -0.560000002, -0.589999974, 0.860000014, 0.670000017, -0.170000002, 0.860000014, -0.409999996, 0.349999994,
              0.430000007, 0.379999995, -0.469999999, 0.75999999, -0.460000008, -0.449999988),
     AS_WANT(-0.25515002, -0.0721800029, -0.0872699991, -0.00740999589, -0.0204000063, -0.0906299949)},
};

const as_op as_op_ms_fusedgemm = {
    .name = "com.microsoft.FusedGemm",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
