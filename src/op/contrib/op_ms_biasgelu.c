/* op_ms_biasgelu.c - Gelu of A + B. */
#include "op/contrib/contrib.h"

static const as_attr_def attrs[] = {{0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    (void)n;
    out[0] = AS_MAKE(b, "Gelu", AS_MAKE(b, "Add", in[0], in[1]));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "row",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN(F32, 3)},
     AS_GIVEN(0.910000026, 0.319999993, 0.790000021, 0.610000014, 0.479999989, 0.800000012, 0.75999999, 1, -0.660000026),
     AS_WANT(1.59074247, 1.19668877, 0.0717231855, 1.25307941, 1.37723386, 0.0777937919)},
};

const as_op as_op_ms_biasgelu = {
    .name = "com.microsoft.BiasGelu",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
