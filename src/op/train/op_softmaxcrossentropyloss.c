/* op_softmaxcrossentropyloss.c - ONNX's SoftmaxCrossEntropyLoss(scores, labels, weights): minus the logarithm of the softmax of the
 * labelled class, over scores [N, C, d...] and labels [N, d...]; output 1, when asked for, is the logarithm of the softmax.
 *
 * reduction "mean" divides by the sum of the weights of the labels, so by the number of labels without weights; labels equal to
 * ignore_index count nowhere, and the mean of none is NaN. */
#include <math.h>

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
    out[1] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* As LogSoftmax, and a negation and an addition per label. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape), lines = as_sat_count(&n->in[1].shape);
    cost.flops = as_sat_add(as_sat_mul(n->n_out > 1 ? 4 : 3, count), lines);
    cost.special = as_sat_add(count, lines);
    return cost;
}

static double log_sum(const as_view *x, int64_t first, const as_classes *k, double *max)
{
    double sum = 0.0;
    *max = -INFINITY;
    for (int64_t c = 0; c < k->c; c++)
        *max = fmax(*max, as_view_get(x, first + c * k->inner));
    for (int64_t c = 0; c < k->c; c++)
        sum += exp(as_view_get(x, first + c * k->inner) - *max);
    return log(sum);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_classes k;
    double     sum = 0.0, total = 0.0;
    AS_TRY(as_classes_read(env, n, &n->in[0].shape, 1, &k));
    AS_TRY(as_classes_check(env, n, &k, &in[1]));
    for (int64_t i = 0; i < k.n * k.inner; i++) {
        int64_t first = i / k.inner * k.c * k.inner + i % k.inner, label = as_class_at(&k, &in[1], i);
        double  max, shift = log_sum(&in[0], first, &k, &max), weight = label < 0 ? 0.0 : 1.0, loss = 0.0;
        for (int64_t c = 0; c < k.c && n->n_out > 1; c++)
            as_view_set(&out[1], first + c * k.inner, as_view_get(&in[0], first + c * k.inner) - max - shift);
        if (label >= 0) {
            weight = as_in_has(n, 2) ? as_view_get(&in[2], label) : 1.0;
            loss = -weight * (as_view_get(&in[0], first + label * k.inner) - max - shift);
        }
        if (k.reduction == AS_REDUCE_NONE)
            as_view_set(&out[0], i, loss);
        sum += loss;
        total += weight;
    }
    if (k.reduction != AS_REDUCE_NONE)
        as_view_set(&out[0], 0, k.reduction == AS_REDUCE_MEAN ? sum / total : sum);
    return ASSAY_OK;
}

/* Of the loss, one fused node; of the logarithms, what LogSoftmax has: d - softmax(x) times the sum of d. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] >= 0)
        d_in[0] = b->node(b, "assay.SoftmaxCrossEntropyGrad", (int[]){in[0], in[1], d_out[0], as_in_has(n, 2) ? in[2] : -1},
                          as_in_has(n, 2) ? 4 : 3, n->attrs, n->n_attrs, NULL, 1);
    if (n->n_out > 1 && d_out[1] >= 0) {
        int64_t axis = 1;
        as_attr attr = AS_ATTR_I("axis", axis);
        int     soft = b->node(b, "Softmax", in, 1, &attr, 1, NULL, 1);
        int     sum = as_b2(b, "ReduceSum", d_out[1], as_b_ints(b, &axis, 1));
        int     more = as_b2(b, "Sub", d_out[1], as_b2(b, "Mul", soft, sum));
        d_in[0] = d_in[0] < 0 ? more : as_b2(b, "Add", d_in[0], more);
    }
    return ASSAY_OK;
}

static const int64_t plane[] = {0, 4, 2, 1, 3, 0, 2, 2, 4, 1, 1, 0};

static const as_case cases[] = {
    /* By hand: the exponentials of 0, ln 2, ln 5 add up to 8; of equal scores each is 1/3. */
    {.name = "by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(2, 0)},
     .given = (const double[]){0, 0.6931471805599453, 1.6094379124341003, 7, 7, 7},
     .want = (const double[]){0.78430795895692275},
     .n_want = 1},
    /* By hand: ln 8 times 2 and, of the ignored one, nothing; divided by the weight 2. */
    {.name = "weights and an ignored label by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(0, 1), AS_IN(F32, 3)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("ignore_index", 1)},
     .no_grad = true, /* the weights have no gradient; loss_test.c checks that of the scores */
     .given = (const double[]){0, 0.6931471805599453, 1.6094379124341003, 7, 7, 7, 2, 3, 5},
     .want = (const double[]){2.0794415416798357},
     .n_want = 1},
    {.name = "ignored beyond the classes, sum",
     .n_in = 2,
     .in = {AS_IN(F64, 3, 2), AS_IN_INTS(-100, 0, 1)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("ignore_index", -100), AS_ATTR_S("reduction", "sum")},
     .given = (const double[]){1, 2, 4, 4, -3, -3},
     .want = (const double[]){1.3862943611198906},
     .n_want = 1},
    {.name = "none",
     .n_in = 2,
     .in = {AS_IN(F32, 7, 9), AS_IN_INTS(8, 0, 3, 3, 1, 5, 7)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("ignore_index", 3), AS_ATTR_S("reduction", "none")},
     .lo = -4,
     .hi = 4},
    {.name = "17 classes", .n_in = 2, .in = {AS_IN(F32, 5, 17), AS_IN_INTS(16, 0, 3, 8, 15)}, .lo = -4, .hi = 4},
    {.name = "planes",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 5, 3, 2), {.dtype = AS_I32, .shape = AS_SHAPE(2, 3, 2), .ints = plane}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("ignore_index", 2)},
     .lo = -2,
     .hi = 2},
    {.name = "planes, weights",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 5, 12), {.dtype = AS_I32, .shape = AS_SHAPE(1, 12), .ints = plane}, AS_IN(F32, 5)},
     .no_grad = true,
     .lo = 0.5,
     .hi = 2},
    {.name = "f16", .n_in = 2, .in = {AS_IN(F16, 3, 4), AS_IN_INTS(1, 2, 0)}},
    {.name = "no examples", .n_in = 2, .in = {AS_IN(F32, 0, 4), {.dtype = AS_I64, .shape = AS_SHAPE(0)}}, .no_grad = true},
};

const as_op as_op_softmaxcrossentropyloss = {
    .name = "SoftmaxCrossEntropyLoss",
    .min_in = 2,
    .max_in = 3,
    .min_out = 1,
    .max_out = 2,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
