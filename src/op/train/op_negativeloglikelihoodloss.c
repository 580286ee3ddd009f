/* op_negativeloglikelihoodloss.c - ONNX's NegativeLogLikelihoodLoss(input, target, weight): minus the element at the label, over
 * logarithms of probabilities [N, C, d...] and labels [N, d...].  Means and ignored labels are as in SoftmaxCrossEntropyLoss. */
#include "op/rules.h"
#include "op/train/loss.h"

static const as_attr_def attrs[] = {AS_CLASSES_ATTRS};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_classes k;
    as_shape   loss;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_classes_infer(env, n, &n->in[0].shape, n->in[0].dtype, 1, 2, &k, &loss));
    out[0] = as_info(n->in[0].dtype, &loss);
    return ASSAY_OK;
}

/* A multiplication and two additions per label; of the input only the labelled elements are read. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t lines = as_sat_count(&n->in[1].shape), each = as_dtype_bytes(n->in[0].dtype);
    cost.bytes_read -= as_sat_count(&n->in[0].shape) * each;
    if (as_sat_count(&n->in[0].shape))
        cost.bytes_read = as_sat_add(cost.bytes_read, as_sat_mul(lines, each));
    cost.flops = as_sat_mul(3, lines);
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_classes k;
    double     sum = 0.0, total = 0.0;
    AS_TRY(as_classes_read(env, n, &n->in[0].shape, 1, &k));
    AS_TRY(as_classes_check(env, n, &k, &in[1]));
    for (int64_t i = 0; i < k.n * k.inner; i++) {
        int64_t label = as_class_at(&k, &in[1], i);
        double  weight = label < 0 ? 0.0 : as_in_has(n, 2) ? as_view_get(&in[2], label) : 1.0, loss = 0.0;
        if (label >= 0)
            loss = -weight * as_view_get(&in[0], (i / k.inner * k.c + label) * k.inner + i % k.inner);
        if (k.reduction == AS_REDUCE_NONE)
            as_view_set(&out[0], i, loss);
        sum += loss;
        total += weight;
    }
    if (k.reduction != AS_REDUCE_NONE)
        as_view_set(&out[0], 0, k.reduction == AS_REDUCE_MEAN ? sum / total : sum);
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    as_attr attrs_of[3];
    int     n_attrs = 0;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    for (int i = 0; i < n->n_attrs && n_attrs < 2; i++)
        attrs_of[n_attrs++] = n->attrs[i];
    attrs_of[n_attrs++] = (as_attr)AS_ATTR_I("classes", n->in[0].shape.dim[1]);
    d_in[0] = b->node(b, "assay.NegativeLogLikelihoodGrad", (int[]){d_out[0], in[1], as_in_has(n, 2) ? in[2] : -1},
                      as_in_has(n, 2) ? 3 : 2, attrs_of, n_attrs, NULL, 1);
    return ASSAY_OK;
}

static const int64_t plane[] = {0, 4, 2, 1, 3, 0, 2, 2, 4, 1, 1, 0};

static const as_case cases[] = {
    /* By hand: -(6 + 1) / 2. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(2, 0)},
     .given = (const double[]){2, 4, 6, 1, 3, 5},
     .want = (const double[]){-3.5},
     .n_want = 1},
    /* By hand: -(2 * 5 + 3 * 4) / 5. */
    {.name = "weights by hand",
     .n_in = 3,
     .in = {AS_IN(F64, 3, 2), AS_IN_INTS(1, 7, 0), AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("ignore_index", 7)},
     .no_grad = true, /* the weights have no gradient */
     .given = (const double[]){1, 5, 9, 9, 4, 8, 3, 2},
     .want = (const double[]){-4.4},
     .n_want = 1},
    {.name = "planes, sum",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 5, 3, 2), {.dtype = AS_I32, .shape = AS_SHAPE(2, 3, 2), .ints = plane}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("ignore_index", 2), AS_ATTR_S("reduction", "sum")}},
    {.name = "planes, none",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 5, 12), {.dtype = AS_I32, .shape = AS_SHAPE(1, 12), .ints = plane}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("reduction", "none")}},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 3, 4), AS_IN_INTS(1, 2, 0)}},
    {.name = "no examples", .n_in = 2, .in = {AS_IN(F32, 0, 4), {.dtype = AS_I64, .shape = AS_SHAPE(0)}}, .no_grad = true},
};

const as_op as_op_negativeloglikelihoodloss = {
    .name = "NegativeLogLikelihoodLoss",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
