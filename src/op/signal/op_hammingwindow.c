/* op_hammingwindow.c - the Hamming window of a given size. */
#include "op/signal/signal.h"

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)in;
    as_window_fill(n, &out[0], 25.0 / 46.0, 21.0 / 46.0, 0.0);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "periodic",
     .n_in = 1,
     .in = {AS_IN_INT(6)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("output_datatype", 11)},
     AS_WANT(0.0869565217, 0.315217391, 0.77173913, 1, 0.77173913, 0.315217391)},
    /* By the ONNX reference evaluator. */
    {.name = "symmetric",
     .n_in = 1,
     .in = {AS_IN_INT(5)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("periodic", 0), AS_ATTR_I("output_datatype", 1)},
     AS_WANT(0.0869565234, 0.54347831, 1, 0.543478251, 0.0869565234)},
};

const as_op as_op_hammingwindow = {
    .name = "HammingWindow",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(0),
    .attrs = as_window_attrs,
    .infer = as_window_infer,
    .cost = as_cost_special,
    .eval = eval,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
