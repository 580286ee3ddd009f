/* op_ml_svmclassifier.c - a support vector machine per pair of classes, which vote, or per class when there are no support vectors. */
#include "op/ml/svm.h"

static const as_attr_def attrs[] = {
    {.name = "classlabels_ints", .kind = AS_ATTR_INTS},
    {.name = "classlabels_strings", .kind = AS_ATTR_TEXTS},
    {.name = "coefficients", .kind = AS_ATTR_FLOATS},
    {.name = "kernel_params", .kind = AS_ATTR_FLOATS},
    {.name = "kernel_type", .kind = AS_ATTR_TEXT},
    {.name = "post_transform", .kind = AS_ATTR_TEXT},
    {.name = "prob_a", .kind = AS_ATTR_FLOATS},
    {.name = "prob_b", .kind = AS_ATTR_FLOATS},
    {.name = "rho", .kind = AS_ATTR_FLOATS},
    {.name = "support_vectors", .kind = AS_ATTR_FLOATS},
    {.name = "vectors_per_class", .kind = AS_ATTR_INTS},
    {0},
};

enum { MAX_CLASSES = 1000, MAX_VECTORS = 1 << 24 };

typedef struct machine {
    as_shape       rows;
    as_classes     c;
    int64_t        k, pairs, n_vectors;
    const int64_t *each; /* support vectors of each class */
} machine;

static assay_status machine_read(assay_env *env, const as_node_ctx *n, machine *m)
{
    const as_attr *labels = as_attr_find(n, "classlabels_ints"), *each = as_attr_find(n, "vectors_per_class");
    AS_TRY(as_ml_no_text(env, n, "classlabels_strings"));
    AS_TRY(as_ml_rows(env, n, &m->rows));
    AS_TRY(as_post_read(env, n, &m->c.post));
    if (!labels || labels->n < 2 || labels->n > MAX_CLASSES)
        return as_refuse(env, n, "it must have 2 to %d labels", MAX_CLASSES);
    m->c.labels = labels->ints;
    m->c.n_labels = labels->n;
    m->k = (int64_t)labels->n;
    m->pairs = m->k * (m->k - 1) / 2;
    if (!each || !each->n)
        return ASSAY_OK;
    if (each->n != labels->n)
        return as_refuse(env, n, "vectors_per_class has %zu numbers for %zu labels", each->n, labels->n);
    for (size_t i = 0; i < each->n; i++) {
        if (each->ints[i] < 0 || each->ints[i] > MAX_VECTORS)
            return as_refuse(env, n, "a class has %lld support vectors", (long long)each->ints[i]);
        m->n_vectors += each->ints[i];
    }
    m->each = each->ints;
    return ASSAY_OK;
}

/* The weights of all kernels in the score of every pair i, j: row j - 1 of the coefficients for the vectors of i, row i for those of j. */
static assay_status pairs_build(as_builder *b, const as_node_ctx *n, const machine *m, int *weights, int *votes)
{
    as_arena       arena = {0};
    const as_attr *coef = as_attr_find(n, "coefficients");
    if (!coef || coef->n != (size_t)((m->k - 1) * m->n_vectors))
        return as_refuse(b->env, n, "%zu coefficients are given; %lld support vectors of %lld classes need %lld",
                         coef ? coef->n : 0, (long long)m->n_vectors, (long long)m->k, (long long)((m->k - 1) * m->n_vectors));
    double *w = AS_TAKE(&arena, double, m->n_vectors * m->pairs), *v = AS_TAKE(&arena, double, m->pairs * m->k);
    if (!w || !v) {
        as_arena_drop(&arena);
        return as_fail(b->env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %lld pairs", n->op->name, n->name ? n->name : "",
                       (long long)m->pairs);
    }
    int64_t pair = 0, begin_i = 0;
    for (int64_t i = 0; i < m->k; begin_i += m->each[i++]) {
        int64_t begin_j = begin_i + m->each[i];
        for (int64_t j = i + 1; j < m->k; begin_j += m->each[j++], pair++) {
            for (int64_t s = begin_i; s < begin_i + m->each[i]; s++)
                w[s * m->pairs + pair] = coef->floats[(j - 1) * m->n_vectors + s];
            for (int64_t s = begin_j; s < begin_j + m->each[j]; s++)
                w[s * m->pairs + pair] = coef->floats[i * m->n_vectors + s];
            v[pair * m->k + i] = 1.0; /* a score above 0 is a vote for i, any other one for j */
            v[pair * m->k + j] = -1.0;
        }
    }
    as_view w_view = as_view_of(w, AS_F64, &AS_SHAPE(m->n_vectors, m->pairs)),
            v_view = as_view_of(v, AS_F64, &AS_SHAPE(m->pairs, m->k));
    *weights = as_b_cast(b, b->constant(b, &w_view), AS_F32);
    *votes = as_b_cast(b, b->constant(b, &v_view), AS_F32);
    as_arena_drop(&arena);
    return ASSAY_OK;
}

/* Votes for i are counted as 1, votes against as 0: (sign + 1) / 2 of each pair's side. */
static int label_of(as_builder *b, const machine *m, int scores, int votes)
{
    int won = AS_MAKE(b, "Where", as_b_with(b, "Greater", scores, 0.0), as_b_like(b, scores, 1.0), as_b_like(b, scores, -1.0));
    int count =
        AS_MAKE(b, "MatMul", won, votes); /* votes minus lost pairs: the same order, since all classes are in equally many pairs */
    int best = AS_MAKE_WITH(b, "ArgMax", AS_WITH(AS_ATTR_I("axis", 1), AS_ATTR_I("keepdims", 0)), count);
    return AS_MAKE(b, "Gather", as_b_ints(b, m->c.labels, m->c.n_labels), best);
}

static assay_status voting(as_builder *b, const as_node_ctx *n, const machine *m, int x, int *out)
{
    int vectors = -1, weights = -1, votes = -1, rho = -1, kernel = -1;
    AS_TRY(as_ml_floats(b, n, "support_vectors", AS_F32, &AS_SHAPE(m->n_vectors, m->rows.dim[1]), &vectors));
    AS_TRY(as_ml_floats(b, n, "rho", AS_F32, &AS_SHAPE(m->pairs), &rho));
    AS_TRY(pairs_build(b, n, m, &weights, &votes));
    AS_TRY(as_b_svm_kernel(b, n, x, vectors, false, &kernel));
    int scores = AS_MAKE(b, "Add", AS_MAKE(b, "MatMul", kernel, weights), rho);
    out[0] = label_of(b, m, scores, votes);
    if (n->n_out < 2)
        return ASSAY_OK;
    const as_attr *a = as_attr_find(n, "prob_a"), *p = as_attr_find(n, "prob_b");
    if (a && a->n && p) {
        as_attr with[] = {AS_ATTR_I("classes", m->k), *a, *p};
        out[1] = as_b_post(b, as_b_node(b, "assay.PairProbability", &scores, 1, with, AS_COUNT(with)), m->c.post);
    } else if (m->k == 2) {
        int both = as_b_join(b, 1, AS_MAKE(b, "Neg", scores), scores);
        out[1] = m->c.post == AS_POST_PROBIT ? both : as_b_post(b, both, m->c.post);
    } else {
        out[1] = as_b_post(b, scores, m->c.post);
    }
    return ASSAY_OK;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    machine m = {0};
    AS_TRY(machine_read(b->env, n, &m));
    int x = as_b_cast(b, as_b_rows(b, n, in[0]), AS_F32);
    if (m.n_vectors)
        return voting(b, n, &m, x, out);
    int            w, scores;
    const as_attr *rho = as_attr_find(n, "rho");
    AS_TRY(as_ml_floats(b, n, "coefficients", AS_F32, &AS_SHAPE(m.k, m.rows.dim[1]), &w));
    if (!rho || rho->n < 1)
        return as_refuse(b->env, n, "attribute 'rho' is missing");
    AS_TRY(as_b_svm_kernel(b, n, x, w, true, &scores));
    as_b_classes(b, as_b_plus(b, scores, rho->floats[0]), &m.c, n->n_out, out);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By ONNX Runtime. */
    {.name = "three classes",
     .n_in = 1,
     .in = {AS_IN(F32, 5, 2)},
     .n_attrs = 7,
     .attrs = {AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2), AS_ATTR_S("kernel_type", "RBF"),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3, 0.3, 0.3),
               AS_ATTR_LIST("classlabels_ints", 3, 4, 5), AS_ATTR_LIST("vectors_per_class", 2, 1, 1),
               AS_ATTR_FLOAT_LIST("coefficients", 0.5, -1, 2, 0.25, 1, -0.5, 0.75, -1.5),
               AS_ATTR_FLOAT_LIST("rho", 0.1, -0.2, 0.05)},
     AS_GIVEN(-0.74000001, -0.540000021, 0.319999993, -0.74000001, -0.550000012, 0.150000006, -0.660000026, 0.560000002,
              0.709999979, -0.930000007),
     AS_WANT(3, 3, 3, 3, 3)},
    /* By ONNX Runtime. */
    {.name = "two classes",
     .n_in = 1,
     .in = {AS_IN(F32, 5, 2)},
     .n_attrs = 7,
     .attrs = {AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2), AS_ATTR_S("kernel_type", "RBF"),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3, 0.3, 0.3),
               AS_ATTR_LIST("classlabels_ints", 3, 4), AS_ATTR_LIST("vectors_per_class", 2, 2),
               AS_ATTR_FLOAT_LIST("coefficients", 0.5, 1, -2, -0.25), AS_ATTR_FLOAT_LIST("rho", 0.1)},
     AS_GIVEN(0.0700000003, 0.589999974, 0.949999988, -0.449999988, -0.660000026, 0.75, 0.819999993, -0.600000024, -0.119999997,
              0.439999998),
     AS_WANT(3, 4, 3, 4, 3)},
    /* By ONNX Runtime. */
    {.name = "probabilities",
     .n_in = 1,
     .in = {AS_IN(F32, 5, 2)},
     .n_attrs = 9,
     .attrs = {AS_ATTR_FLOAT_LIST("kernel_params", 0.5, 0.25, 2), AS_ATTR_S("kernel_type", "RBF"),
               AS_ATTR_FLOAT_LIST("support_vectors", 0.1, 0.2, -0.5, 1, 0.7, -0.3, 0.3, 0.3),
               AS_ATTR_LIST("classlabels_ints", 3, 4), AS_ATTR_LIST("vectors_per_class", 2, 2),
               AS_ATTR_FLOAT_LIST("coefficients", 0.5, 1, -2, -0.25), AS_ATTR_FLOAT_LIST("rho", 0.1),
               AS_ATTR_FLOAT_LIST("prob_a", -1.5), AS_ATTR_FLOAT_LIST("prob_b", 0.1)},
     AS_GIVEN(0.689999998, -0.660000026, 0.330000013, 0.620000005, 0.100000001, -0.670000017, -0.930000007, -0.439999998,
              0.620000005, -0.910000026),
     AS_WANT(4, 4, 4, 3, 4)},
};

const as_op as_op_ml_svmclassifier = {
    .name = "ai.onnx.ml.SVMClassifier",
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
