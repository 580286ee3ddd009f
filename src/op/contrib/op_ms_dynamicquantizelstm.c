/* op_ms_dynamicquantizelstm.c - LSTM with weights of 8 bits, [directions, inputs, 4 * hidden].  The weights are brought back to f32 in the
 * set-up, and the states are not rounded to 8 bits in every step, as ONNX Runtime does: results differ by that rounding. */
#include "op/contrib/contrib.h"

enum { X, W, R, B, LENGTHS, H0, C0, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO };

static const as_attr_def attrs[] = {
    {.name = "activation_alpha", .kind = AS_ATTR_FLOATS}, {.name = "activation_beta", .kind = AS_ATTR_FLOATS},
    {.name = "activations", .kind = AS_ATTR_TEXTS},       {.name = "clip", .kind = AS_ATTR_FLOAT},
    {.name = "direction", .kind = AS_ATTR_TEXT},          {.name = "hidden_size", .kind = AS_ATTR_INT},
    {.name = "input_forget", .kind = AS_ATTR_INT},        {0},
};

/* One scale per direction, or one per direction and column. */
static int widened(as_builder *b, int x, int64_t directions)
{
    as_shape shape = as_b_info(b, x).shape;
    int64_t  columns = shape.rank == 2 ? shape.dim[1] : 1;
    return AS_TO_SHAPE(b, x, directions, 1, columns);
}

static int weights(as_builder *b, as_dtype dtype, int w, int scale, int zero)
{
    int64_t directions = as_b_dim(b, w, 0);
    int     x = AS_MAKE(b, "Sub", as_b_cast(b, w, dtype), as_b_cast(b, widened(b, zero, directions), dtype));
    return AS_TURN(b, AS_MAKE(b, "Mul", x, as_b_cast(b, widened(b, scale, directions), dtype)), 0, 2, 1);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n,
                   AS_INPUT_BIT(X) | AS_INPUT_BIT(W) | AS_INPUT_BIT(R) | AS_INPUT_BIT(W_SCALE) | AS_INPUT_BIT(W_ZERO) |
                       AS_INPUT_BIT(R_SCALE) | AS_INPUT_BIT(R_ZERO)));
    int outs[3] = {-1, -1, -1};
    if (n->in[W].shape.rank != 3 || n->in[R].shape.rank != 3)
        return as_refuse(b->env, n, "W is %s and R is %s: both must be [directions, inputs, 4 * hidden]", AS_SHOW(&n->in[W].shape),
                         AS_SHOW(&n->in[R].shape));
    int lstm[] = {in[X],
                  weights(b, n->in[X].dtype, in[W], in[W_SCALE], in[W_ZERO]),
                  weights(b, n->in[X].dtype, in[R], in[R_SCALE], in[R_ZERO]),
                  as_in_or_none(n, in, B),
                  as_in_or_none(n, in, LENGTHS),
                  as_in_or_none(n, in, H0),
                  as_in_or_none(n, in, C0),
                  as_in_or_none(n, in, P)};
    b->node(b, "LSTM", lstm, 8, n->attrs, n->n_attrs, outs, n->n_out);
    for (int i = 0; i < n->n_out; i++)
        out[i] = outs[i];
    return ASSAY_OK;
}

static const as_case_in wide[] = {AS_IN(F32, 3, 1, 3), AS_IN(I8, 1, 3, 8), AS_IN(I8, 1, 2, 8), AS_IN(F32, 1, 16),
                                  {.dtype = AS_NONE},  {.dtype = AS_NONE}, {.dtype = AS_NONE}, {.dtype = AS_NONE},
                                  AS_IN(F32, 1),       AS_IN(I8, 1),       AS_IN(F32, 1),      AS_IN(I8, 1)};

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "by the reference LSTM of its weights",
     .n_in = 12,
     .wide = wide,
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("hidden_size", 2)},
     AS_GIVEN(0.300000012, 0.610000014, 0.889999986, 0.230000004, 0.600000024, 0.649999976, 0.129999995, -0.219999999, 0.629999995,
              -45, 18, 15, -54, 10, 68, 89, -26, 70, -120, -121, 14, 89, -32, -92, -124, -52, -67, 19, -43, -84, 112, 124, -29, 85,
              -77, 20, 105, 69, 109, 97, -84, -67, 5, 5, 47, -34, 0, 10, 86, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
              0.00999999978, 0, 0.0120000001, 0),
     AS_WANT(0.110423982, -0.066818364, 0.152648181, -0.133768365, 0.295056462, -0.138915479)},
};

const as_op as_op_ms_dynamicquantizelstm = {
    .name = "com.microsoft.DynamicQuantizeLSTM",
    .min_in = 3,
    .max_in = 12,
    .min_out = 1,
    .max_out = 3,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-4,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
