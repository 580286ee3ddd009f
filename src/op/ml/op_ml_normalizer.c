/* op_ml_normalizer.c - each row divided by its largest element, by the sum of its sizes (L1) or by its length (L2); a row for which that is
 * 0 stays as it is. */
#include <string.h>

#include "op/ml/ml.h"

static const as_attr_def attrs[] = {{.name = "norm", .kind = AS_ATTR_TEXT}, {0}};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape    rows;
    const char *norm = as_attr_text(n, "norm", "MAX");
    AS_TRY(as_ml_rows(b->env, n, &rows));
    if (strcmp(norm, "MAX") && strcmp(norm, "L1") && strcmp(norm, "L2"))
        return as_refuse(b->env, n, "norm is '%.40s' and must be MAX, L1 or L2", norm);
    int x = as_b_cast(b, in[0], AS_F32), last = n->in[0].shape.rank - 1;
    int by = as_b_reduce(b, !strcmp(norm, "MAX") ? "ReduceMax" : !strcmp(norm, "L1") ? "ReduceL1" : "ReduceL2", x, last, true);
    out[0] = AS_MAKE(b, "Div", x, AS_MAKE(b, "Where", as_b_with(b, "Equal", by, 0.0), as_b_like(b, by, 1.0), by));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "max",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("norm", "MAX")},
     AS_GIVEN(0.879999995, 0.400000006, 0.449999988, 0.709999979, 0.709999979, 0.720000029),
     AS_WANT(1, 0.454545468, 0.511363626, 0.986111045, 0.986111045, 1)},
    /* By ONNX Runtime. */
    {.name = "l1",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("norm", "L1")},
     AS_GIVEN(-0.310000002, 0.860000014, -0.469999999, 0.5, -0.49000001, 0.699999988),
     AS_WANT(-0.189024374, 0.524390221, -0.286585361, 0.295857966, -0.289940834, 0.41420117)},
    /* By ONNX Runtime. */
    {.name = "l2 and a row of zeros",
     .n_in = 1,
     .in = {AS_IN(F32, 3, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("norm", "L2")},
     AS_GIVEN(3, 4, 0, 0, -1, 1),
     AS_WANT(0.600000024, 0.800000012, 0, 0, -0.707106769, 0.707106769)},
};

const as_op as_op_ml_normalizer = {
    .name = "ai.onnx.ml.Normalizer",
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
