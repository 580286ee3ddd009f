/* op_melweightmatrix.c - how much each bin of a spectrum counts for each band of the mel scale: triangles. */
#include <math.h>

#include "op/signal/signal.h"

static const as_attr_def attrs[] = {{.name = "output_datatype", .kind = AS_ATTR_INT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int64_t  bands, length;
    as_dtype dtype = as_dtype_of_code(as_attr_int(n, "output_datatype", 1));
    AS_TRY(as_known_int(env, n, 0, "num_mel_bins", &bands));
    AS_TRY(as_known_int(env, n, 1, "dft_length", &length));
    for (int i = 2; i < 5; i++)
        if (as_shape_count(&n->in[i].shape) != 1 || (i > 2 && !as_dtype_is_float(n->in[i].dtype)) ||
            (i == 2 && n->in[i].dtype != AS_I64 && n->in[i].dtype != AS_I32))
            return as_refuse(env, n, "input %d is %s %s and must be one number", i, as_dtype_name(n->in[i].dtype),
                             AS_SHOW(&n->in[i].shape));
    if (bands < 1 || bands > 65536 || length < 1 || length > (1 << 24) || dtype == AS_NONE ||
        !(AS_SET_NUMBER & AS_DTYPE_BIT(dtype)))
        return as_refuse(env, n, "%lld bands of a transform of %lld are not possible, or output_datatype is not a type of numbers",
                         (long long)bands, (long long)length);
    out[0] = as_info(dtype, &AS_SHAPE(length / 2 + 1, bands));
    return ASSAY_OK;
}

static double mel_of(double hertz) { return 2595.0 * log1p(hertz / 700.0) / log(10.0); }

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t length = as_view_get_i64(&in[1], 0), bins = out[0].shape.dim[0], bands = out[0].shape.dim[1];
    double  rate = (double)as_view_get_i64(&in[2], 0), low = mel_of(as_view_get(&in[3], 0)), high = mel_of(as_view_get(&in[4], 0));
    double  step = (high - low) / (double)(bands + 2);
    for (int64_t k = 0; k < bands; k++) {
        int64_t at[3];
        for (int i = 0; i < 3; i++) {
            double hertz = 700.0 * expm1(((double)(k + i) * step + low) / 2595.0 * log(10.0)),
                   bin = floor((double)(length + 1) * hertz / rate);
            if (!(bin >= 0.0 && bin < (double)bins))
                return as_refuse(env, n, "band %lld ends at bin %g of %lld: sample_rate or the edges do not fit", (long long)k, bin,
                                 (long long)bins);
            at[i] = (int64_t)bin;
        }
        for (int64_t j = 0; j < bins; j++) {
            double up = at[1] == at[0]             ? (j == at[1])
                        : j >= at[0] && j <= at[1] ? (double)(j - at[0]) / (double)(at[1] - at[0])
                                                   : 0.0;
            if (at[2] > at[1] && j >= at[1] && j < at[2])
                up = (double)(at[2] - j) / (double)(at[2] - at[1]);
            as_view_set(&out[0], j * bands + k, up);
        }
    }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "4 bands",
     .n_in = 5,
     .in = {AS_IN_INT(4), AS_IN_INT(16), AS_IN_INT(8192), {.dtype = AS_F32}, {.dtype = AS_F32}},
     AS_GIVEN(0, 4096),
     AS_WANT(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
};

const as_op as_op_melweightmatrix = {
    .name = "MelWeightMatrix",
    .min_in = 5,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(0) | AS_INPUT_BIT(1),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
