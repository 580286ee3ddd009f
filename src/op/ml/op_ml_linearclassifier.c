/* op_ml_linearclassifier.c - labels and scores from X times coefficients plus intercepts. */
#include "op/ml/ml.h"

static const as_attr_def attrs[] = {
    {.name = "classlabels_ints", .kind = AS_ATTR_INTS},
    {.name = "classlabels_strings", .kind = AS_ATTR_TEXTS},
    {.name = "coefficients", .kind = AS_ATTR_FLOATS, .required = true},
    {.name = "intercepts", .kind = AS_ATTR_FLOATS},
    {.name = "multi_class", .kind = AS_ATTR_INT}, /* one-vs-rest or not: the numbers are the same */
    {.name = "post_transform", .kind = AS_ATTR_TEXT},
    {0},
};

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_shape       rows;
    as_classes     c = {0};
    const as_attr *labels = as_attr_find(n, "classlabels_ints");
    int            w, bias;
    AS_TRY(as_ml_no_text(b->env, n, "classlabels_strings"));
    AS_TRY(as_ml_rows(b->env, n, &rows));
    AS_TRY(as_post_read(b->env, n, &c.post));
    c.labels = labels ? labels->ints : NULL;
    c.n_labels = labels ? labels->n : 0;
    size_t n_numbers = as_ml_count(n, "coefficients");
    if (rows.dim[1] < 1 || !n_numbers || n_numbers % (size_t)rows.dim[1])
        return as_refuse(b->env, n, "X is %s and there are %zu coefficients: they must be a multiple of the features",
                         AS_SHOW(&n->in[0].shape), n_numbers);
    int64_t columns = (int64_t)n_numbers / rows.dim[1];
    if (columns != 1 && c.n_labels && (size_t)columns != c.n_labels)
        return as_refuse(b->env, n, "%lld classes have coefficients and %zu have labels", (long long)columns, c.n_labels);
    if (columns == 1 && c.n_labels != 2)
        return as_refuse(b->env, n, "one row of coefficients needs 2 labels and has %zu", c.n_labels);
    AS_TRY(as_ml_floats(b, n, "coefficients", AS_F32, &AS_SHAPE(columns, rows.dim[1]), &w));
    int y = AS_MAKE(b, "MatMul", as_b_cast(b, as_b_rows(b, n, in[0]), AS_F32), AS_TURN(b, w, 1, 0));
    if (as_ml_count(n, "intercepts")) {
        AS_TRY(as_ml_floats(b, n, "intercepts", AS_F32, &AS_SHAPE(columns), &bias));
        y = AS_MAKE(b, "Add", y, bias);
    }
    as_b_classes(b, y, &c, n->n_out, out);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "three classes",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, 1, -2, 0.25, 1, 1), AS_ATTR_FLOAT_LIST("intercepts", 0.1, -0.2, 0),
               AS_ATTR_LIST("classlabels_ints", 5, 7, 9), AS_ATTR_S("post_transform", "SOFTMAX")},
     AS_GIVEN(0.930000007, 0.889999986, 0.699999988, -0.0599999987, 0.680000007, -0.74000001, -0.379999995, -0.0700000003),
     AS_WANT(9, 9, 9, 7)},
    /* By ONNX Runtime. */
    {.name = "two classes, one score",
     .n_in = 1,
     .in = {AS_IN(F32, 6, 2)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_FLOAT_LIST("coefficients", 0.5, 1), AS_ATTR_FLOAT_LIST("intercepts", 0.1),
               AS_ATTR_LIST("classlabels_ints", 3, 4), AS_ATTR_S("post_transform", "LOGISTIC")},
     AS_GIVEN(0.479999989, -0.0299999993, -0.730000019, -0.310000002, -0.349999994, -0.400000006, -0.670000017, -0.170000002,
              -0.100000001, 0.550000012, 0.589999974, 0.0399999991),
     AS_WANT(4, 3, 3, 3, 4, 4)},
};

const as_op as_op_ml_linearclassifier = {
    .name = "ai.onnx.ml.LinearClassifier",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
