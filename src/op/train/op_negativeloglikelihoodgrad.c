/* op_negativeloglikelihoodgrad.c - assay.NegativeLogLikelihoodGrad(d_loss, target, weight): the gradient of NegativeLogLikelihoodLoss,
 * minus d_loss times the label's share of the mean at the label, 0 elsewhere; [N, classes, d...] for labels [N, d...]. */
#include "op/rules.h"
#include "op/train/loss.h"

static const as_attr_def attrs[] = {{.name = "classes", .kind = AS_ATTR_INT, .required = true}, AS_CLASSES_ATTRS};

/* [N, C, d...] */
static assay_status shape_of(assay_env *env, const as_node_ctx *n, as_shape *x)
{
    const as_shape *labels = &n->in[1].shape;
    int64_t         classes = as_attr_int(n, "classes", 0);
    if (labels->rank < 1 || labels->rank >= AS_MAX_RANK || classes < 0)
        return as_refuse(env, n, "the labels are %s and there are %lld classes", AS_SHOW(labels), (long long)classes);
    *x = (as_shape){.rank = labels->rank + 1, .dim = {labels->dim[0], classes}};
    for (int i = 1; i < labels->rank; i++)
        x->dim[i + 1] = labels->dim[i];
    if (!as_shape_ok(x, n->in[0].dtype))
        return as_refuse(env, n, "%s for %lld classes is too large", AS_SHOW(labels), (long long)classes);
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_classes k;
    as_shape   x, loss;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(shape_of(env, n, &x));
    AS_TRY(as_classes_infer(env, n, &x, n->in[0].dtype, 1, 2, &k, &loss));
    if (!as_shape_same(&n->in[0].shape, &loss))
        return as_refuse(env, n, "the gradient of the loss is %s and must be %s", AS_SHOW(&n->in[0].shape), AS_SHOW(&loss));
    out[0] = as_info(n->in[0].dtype, &x);
    return ASSAY_OK;
}

static as_cost cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_mul(2, as_sat_count(&n->in[1].shape));
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_classes k;
    as_shape   x;
    AS_TRY(shape_of(env, n, &x));
    AS_TRY(as_classes_read(env, n, &x, 1, &k));
    AS_TRY(as_classes_check(env, n, &k, &in[1]));
    const as_view *weights = as_in_has(n, 2) ? &in[2] : NULL;
    double         total = k.reduction == AS_REDUCE_MEAN ? as_classes_total(&k, &in[1], weights) : 1.0;
    for (int64_t i = 0; i < k.n * k.inner; i++) {
        int64_t label = as_class_at(&k, &in[1], i);
        double  d = as_view_get(&in[0], k.reduction == AS_REDUCE_NONE ? i : 0);
        for (int64_t c = 0; c < k.c; c++)
            as_view_set(&out[0], (i / k.inner * k.c + c) * k.inner + i % k.inner,
                        c == label ? -d / total * (weights ? as_view_get(weights, label) : 1.0) : 0.0);
    }
    return ASSAY_OK;
}

static const int64_t plane[] = {0, 4, 2, 1, 3, 0, 2, 2, 4, 1, 1, 0};

static const as_case cases[] = {
    /* By hand. */
    {.name = "by hand",
     .n_in = 2,
     .in = {{.dtype = AS_F32}, AS_IN_INTS(2, 0)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("classes", 3)},
     .given = (const double[]){3},
     .want = (const double[]){0, 0, -1.5, -1.5, 0, 0},
     .n_want = 6},
    {.name = "weights by hand",
     .n_in = 3,
     .in = {{.dtype = AS_F32}, AS_IN_INTS(1, 7, 0), AS_IN(F32, 2)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("classes", 2), AS_ATTR_I("ignore_index", 7)},
     .given = (const double[]){10, 3, 2},
     .want = (const double[]){0, -4, 0, 0, -6, 0},
     .n_want = 6},
    {.name = "planes, sum",
     .n_in = 2,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I32, .shape = AS_SHAPE(2, 3, 2), .ints = plane}},
     .n_attrs = 3,
     .attrs = {AS_ATTR_I("classes", 5), AS_ATTR_I("ignore_index", 2), AS_ATTR_S("reduction", "sum")}},
    {.name = "planes, none",
     .n_in = 2,
     .in = {AS_IN(F64, 1, 12), {.dtype = AS_I32, .shape = AS_SHAPE(1, 12), .ints = plane}},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("classes", 5), AS_ATTR_S("reduction", "none")}},
};

const as_op as_op_negativeloglikelihoodgrad = {
    .name = "assay.NegativeLogLikelihoodGrad",
    .min_in = 2,
    .max_in = 3,
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
