/* op_softmaxcrossentropygrad.c - assay.SoftmaxCrossEntropyGrad(scores, labels, d_loss, weights): the gradient of
 * SoftmaxCrossEntropyLoss, (softmax(scores) - 1 at the label) times d_loss and the label's share of the mean; 0 where the label is
 * ignored.  The logarithms of the softmax may stand for the scores: they have the same softmax. */
#include <math.h>

#include "op/rules.h"
#include "op/train/loss.h"

static const as_attr_def attrs[] = {AS_CLASSES_ATTRS};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_classes k;
    as_shape   loss;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_classes_infer(env, n, &n->in[0].shape, n->in[0].dtype, 1, 3, &k, &loss));
    if (n->in[2].dtype != n->in[0].dtype || !as_shape_same(&n->in[2].shape, &loss))
        return as_refuse(env, n, "the gradient of the loss is %s %s and must be %s %s", as_dtype_name(n->in[2].dtype),
                         AS_SHOW(&n->in[2].shape), as_dtype_name(n->in[0].dtype), AS_SHOW(&loss));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* Softmax's, and a multiplication per score. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_add(as_sat_mul(4, count), as_sat_count(&n->in[1].shape));
    cost.special = count;
    return cost;
}

static void line_eval(const as_classes *k, const as_view *x, const as_view *y, int64_t first, int64_t label, double share)
{
    double max = -INFINITY, sum = 0.0;
    for (int64_t c = 0; c < k->c; c++)
        max = fmax(max, as_view_get(x, first + c * k->inner));
    for (int64_t c = 0; c < k->c; c++)
        sum += exp(as_view_get(x, first + c * k->inner) - max);
    for (int64_t c = 0; c < k->c; c++) {
        double soft = exp(as_view_get(x, first + c * k->inner) - max) / sum;
        as_view_set(y, first + c * k->inner, label < 0 ? 0.0 : share * (soft - (c == label ? 1.0 : 0.0)));
    }
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_classes k;
    AS_TRY(as_classes_read(env, n, &n->in[0].shape, 1, &k));
    AS_TRY(as_classes_check(env, n, &k, &in[1]));
    const as_view *weights = as_in_has(n, 3) ? &in[3] : NULL;
    double         total = k.reduction == AS_REDUCE_MEAN ? as_classes_total(&k, &in[1], weights) : 1.0;
    for (int64_t i = 0; i < k.n * k.inner; i++) {
        int64_t label = as_class_at(&k, &in[1], i);
        double  d = as_view_get(&in[2], k.reduction == AS_REDUCE_NONE ? i : 0);
        double  share = label < 0 ? 0.0 : d / total * (weights ? as_view_get(weights, label) : 1.0);
        line_eval(&k, &in[0], &out[0], i / k.inner * k.c * k.inner + i % k.inner, label, share);
    }
    return ASSAY_OK;
}

static const int64_t plane[] = {0, 4, 2, 1, 3, 0, 2, 2, 4, 1, 1, 0};

static const as_case cases[] = {
    /* By hand: the softmax of the first line is 1/8, 2/8, 5/8, of the second 1/3 each; half of 3 for each of two. */
    {.name = "by hand",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 3), AS_IN_INTS(2, 0), {.dtype = AS_F32}},
     .given = (const double[]){0, 0.6931471805599453, 1.6094379124341003, 7, 7, 7, 3},
     .want = (const double[]){0.1875, 0.375, -0.5625, -1, 0.5, 0.5},
     .n_want = 6},
    /* By hand: the second is ignored; 2 and 5 of a weight of 7. */
    {.name = "weights by hand",
     .n_in = 4,
     .in = {AS_IN(F64, 3, 2), AS_IN_INTS(0, -1, 1), {.dtype = AS_F64}, AS_IN(F64, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("ignore_index", -1)},
     .given = (const double[]){1, 1, 5, 6, 0, 0, 7, 2, 5},
     .want = (const double[]){-1, 1, 0, 0, 2.5, -2.5},
     .n_want = 6},
    {.name = "sum",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 33), AS_IN_INTS(32, 0), {.dtype = AS_F32}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("reduction", "sum")}},
    {.name = "none",
     .n_in = 3,
     .in = {AS_IN(F32, 7, 9), AS_IN_INTS(8, 0, 3, 3, 1, 5, 7), AS_IN(F32, 7)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("ignore_index", 3), AS_ATTR_S("reduction", "none")},
     .lo = -4,
     .hi = 4},
    {.name = "17 classes", .n_in = 3, .in = {AS_IN(F32, 5, 17), AS_IN_INTS(16, 0, 3, 8, 15), {.dtype = AS_F32}}, .lo = -4, .hi = 4},
    {.name = "planes",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 5, 3, 2), {.dtype = AS_I32, .shape = AS_SHAPE(2, 3, 2), .ints = plane}, {.dtype = AS_F32}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("ignore_index", 2)},
     .lo = -2,
     .hi = 2},
    {.name = "planes, weights, none",
     .n_in = 4,
     .in = {AS_IN(F32, 1, 5, 12), {.dtype = AS_I32, .shape = AS_SHAPE(1, 12), .ints = plane}, AS_IN(F32, 1, 12), AS_IN(F32, 5)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_S("reduction", "none")},
     .lo = 0.5,
     .hi = 2},
    {.name = "f16", .n_in = 3, .in = {AS_IN(F16, 3, 4), AS_IN_INTS(1, 2, 0), {.dtype = AS_F16}}},
    {.name = "no examples", .n_in = 3, .in = {AS_IN(F32, 0, 4), {.dtype = AS_I64, .shape = AS_SHAPE(0)}, {.dtype = AS_F32}}},
};

const as_op as_op_softmaxcrossentropygrad = {
    .name = "assay.SoftmaxCrossEntropyGrad",
    .min_in = 3,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval, /* no gradient: this is a gradient itself, and second derivatives are not built */
    .tolerance = 1e-6,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
