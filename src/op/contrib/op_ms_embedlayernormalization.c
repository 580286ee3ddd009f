/* op_ms_embedlayernormalization.c - LayerNormalization of the sum of word, position and segment embeddings; how many words count per sample; the
 * sum. */
#include "op/contrib/contrib.h"

enum { IDS, SEGMENTS, WORDS, POSITIONS, SEGMENT_TABLE, GAMMA, BETA, MASK, POSITION_IDS };

static const as_attr_def attrs[] = {
    {.name = "epsilon", .kind = AS_ATTR_FLOAT}, {.name = "mask_index_type", .kind = AS_ATTR_INT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    AS_TRY(as_need(b->env, n,
                   AS_INPUT_BIT(IDS) | AS_INPUT_BIT(WORDS) | AS_INPUT_BIT(POSITIONS) | AS_INPUT_BIT(GAMMA) | AS_INPUT_BIT(BETA)));
    const as_shape *ids = &n->in[IDS].shape;
    if (ids->rank != 2)
        return as_refuse(b->env, n, "input_ids is %s and must be [batch, sequence]", AS_SHOW(ids));
    int sum = AS_MAKE(b, "Gather", in[WORDS], in[IDS]);
    sum = AS_MAKE(b, "Add", sum,
                  AS_MAKE(b, "Gather", in[POSITIONS], as_in_has(n, POSITION_IDS) ? in[POSITION_IDS] : as_b_count(b, ids->dim[1])));
    if (as_in_has(n, SEGMENTS) && as_in_has(n, SEGMENT_TABLE))
        sum = AS_MAKE(b, "Add", sum, AS_MAKE(b, "Gather", in[SEGMENT_TABLE], in[SEGMENTS]));
    out[0] = as_b_layernorm(b, sum, in[GAMMA], in[BETA], as_attr_float(n, "epsilon", 1e-12), NULL, NULL);
    if (n->n_out > 1) {
        int seen = as_in_has(n, MASK) ? as_b_reduce(b, "ReduceSum", as_b_cast(b, in[MASK], AS_I32), 1, false) : -1;
        out[1] = seen >= 0 ? seen : AS_MAKE(b, "Expand", as_b_scalar(b, AS_I32, 0.0), as_b_ints(b, ids->dim, 1));
    }
    if (n->n_out > 2)
        out[2] = sum;
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "segments and a mask",
     .n_in = 8,
     .in = {AS_IN(I32, 2, 3), AS_IN(I32, 2, 3), AS_IN(F32, 5, 4), AS_IN(F32, 6, 4), AS_IN(F32, 2, 4), AS_IN(F32, 4), AS_IN(F32, 4),
            AS_IN(I32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0.001)},
     AS_GIVEN(1, 0, 1, 4, 0, 3, 0, 0, 1, 0, 0, 0, -0.939999998, -0.25999999, 0.5, -0.449999988, 0.730000019, 0.409999996,
              0.310000002, 0.779999971, -0.850000024, -0.639999986, 0.819999993, 0.810000002, -0.839999974, 0.550000012,
              -0.970000029, -0.730000019, -0.779999971, -0.409999996, -0.219999999, 0.819999993, -0.129999995, -0.75, -0.460000008,
              -0.99000001, -0.939999998, -0.140000001, 0.0199999996, -0.5, -0.239999995, -0.790000021, 0.319999993, -0.209999993,
              -0.680000007, -0.00999999978, -0.579999983, -0.419999987, -0.75, 0.560000002, -0.439999998, 0.910000026, -0.189999998,
              -0.689999998, 0.409999996, 0.469999999, 0.75999999, -0.74000001, 0.579999983, 0.720000029, -0.389999986,
              -0.0900000036, 0.239999995, -0.50999999, 0.74000001, 0.400000006, 0.709999979, -0.100000001, 0.0399999991,
              -0.610000014, -0.370000005, 0.460000008, 0, 0, 1, 1, 1, 0),
     AS_WANT(0.927832961, -1.24002361, -0.269071132, 0.436686873, -0.585785031, -0.957019806, 0.755050063, 0.447137296,
             -0.0218211077, -1.11960673, 0.712496519, 0.476708412, 0.24340117, -1.26967931, -0.135813847, 0.355550766, -0.585785031,
             -0.957019806, 0.755050063, 0.447137296, 0.204180062, -1.27702594, 0.295665801, 0.409185797)},
    /* By ONNX Runtime. */
    {.name = "without segments",
     .n_in = 7,
     .in = {AS_IN(I32, 2, 3),
            {.dtype = AS_NONE},
            AS_IN(F32, 5, 4),
            AS_IN(F32, 6, 4),
            {.dtype = AS_NONE},
            AS_IN(F32, 4),
            AS_IN(F32, 4)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_F("epsilon", 0.001)},
     AS_GIVEN(4, 4, 1, 4, 1, 2, 0.0299999993, 0.680000007, -0.670000017, -0.970000029, 0.00999999978, -0.289999992, -0.419999987,
              0.540000021, 0.370000005, -0.829999983, 0.100000001, 0.600000024, 0.819999993, -1, 0.620000005, -0.910000026,
              0.360000014, 0.200000003, 0.899999976, 0.25999999, -0.860000014, 0.340000004, -0.49000001, 0.660000026, -0.939999998,
              -0.349999994, 0.349999994, -0.689999998, 0.289999992, 0.389999986, 0.469999999, 0.75, -0.170000002, -0.720000029,
              -0.479999989, -0.219999999, -0.889999986, 0.419999987, -0.870000005, -0.879999995, 0.860000014, 0.610000014,
              -0.49000001, -0.319999993, 0.649999976, 0.239999995, -0.469999999, -0.100000001, 0.709999979, -1, 0.980000019,
              0.129999995),
     AS_WANT(-0.338638484, -0.909234464, 0.919250369, 0.0194154382, 0.17056787, -1.05702519, 0.185332, 0.192328259, 0.53568989,
             -1.15970969, 1.33944619, -0.0398405641, -0.338638484, -0.909234464, 0.919250369, 0.0194154382, -0.172772467,
             -1.13004088, 0.480595052, 0.0462615266, 0.837057829, -1.36592662, 0.954275668, 0.0025511682)},
};

const as_op as_op_ms_embedlayernormalization = {
    .name = "com.microsoft.EmbedLayerNormalization",
    .min_in = 1,
    .max_in = 9,
    .min_out = 1,
    .max_out = 3,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
