/* loss.c - the rules, the costs and the reference code of the losses and of their gradients. */
#include "op/train/loss.h"

#include <math.h>
#include <string.h>

#include "op/rules.h"

/* --- Means over elements ------------------------------------------------------------------------------------------ */

typedef struct formula {
    const char  *loss, *gradient;
    as_loss_kind kind;
    uint64_t     flops, special, slope_flops, slope_special; /* per element */
} formula;

static const formula formulas[] = {
    {"assay.BceWithLogitsLoss", "assay.BceWithLogitsGrad", AS_LOSS_BCE, 5, 2, 4, 1},
    {"assay.MseLoss", "assay.MseGrad", AS_LOSS_MSE, 3, 0, 2, 0},
    {"assay.MaeLoss", "assay.MaeGrad", AS_LOSS_MAE, 3, 0, 3, 0},
    {"assay.HuberLoss", "assay.HuberGrad", AS_LOSS_HUBER, 6, 0, 4, 0},
};

static const formula *formula_of(const as_node_ctx *n)
{
    for (size_t i = 0; i < AS_COUNT(formulas); i++)
        if (!strcmp(formulas[i].loss, n->op->name) || !strcmp(formulas[i].gradient, n->op->name))
            return &formulas[i];
    return &formulas[0]; /* only these operators have these rules */
}

bool as_loss_read(const as_node_ctx *n, const as_view *rows, as_loss *out)
{
    const as_shape *y = &n->in[0].shape;
    *out = (as_loss){.kind = formula_of(n)->kind,
                     .delta = as_attr_float(n, "delta", 1.0),
                     .of_target = as_attr_int(n, "of_target", 0) != 0,
                     .count = as_shape_count(y)};
    out->counted = out->count;
    if (!rows)
        return true;
    int64_t n_rows = y->rank ? y->dim[0] : 1, first = as_view_get_i64(rows, 0);
    if (first < 0 || first > n_rows)
        return false;
    out->counted = n_rows ? out->count / n_rows * first : 0;
    return true;
}

double as_loss_value(const as_loss *l, double y, double t)
{
    double e = y - t, size = fabs(e);
    switch (l->kind) {
    case AS_LOSS_BCE: return (y > 0.0 ? y : y - y) - y * t + log1p(exp(-fabs(y))); /* y - y keeps a NaN */
    case AS_LOSS_MSE: return e * e;
    case AS_LOSS_MAE: return size;
    case AS_LOSS_HUBER: return size > l->delta ? l->delta * (size - 0.5 * l->delta) : 0.5 * e * e;
    }
    return 0.0;
}

double as_loss_slope(const as_loss *l, double y, double t)
{
    double e = y - t, slope = 0.0;
    switch (l->kind) {
    case AS_LOSS_BCE: return l->of_target ? -y : 1.0 / (1.0 + exp(-y)) - t;
    case AS_LOSS_MSE: slope = 2.0 * e; break;
    case AS_LOSS_MAE: slope = e > 0.0 ? 1.0 : e < 0.0 ? -1.0 : e; break;
    case AS_LOSS_HUBER: slope = e > l->delta ? l->delta : e < -l->delta ? -l->delta : e; break;
    }
    return l->of_target ? -slope : slope;
}

static assay_status pair_check(assay_env *env, const as_node_ctx *n, int rows)
{
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_FLOAT));
    if (!as_shape_same(&n->in[0].shape, &n->in[1].shape))
        return as_refuse(env, n, "y is %s and the target is %s: they must be the same", AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&n->in[1].shape));
    if (as_in_has(n, rows) && (n->in[rows].dtype != AS_I64 || n->in[rows].shape.rank != 0))
        return as_refuse(env, n, "rows is %s %s and must be an i64 scalar", as_dtype_name(n->in[rows].dtype),
                         AS_SHOW(&n->in[rows].shape));
    double delta = as_attr_float(n, "delta", 1.0);
    if (!(delta > 0.0))
        return as_refuse(env, n, "delta is %g and must be more than 0", delta);
    return ASSAY_OK;
}

static assay_status rows_refuse(assay_env *env, const as_node_ctx *n, const as_view *rows)
{
    return as_refuse(env, n, "rows is %lld and y is %s", (long long)as_view_get_i64(rows, 0), AS_SHOW(&n->in[0].shape));
}

assay_status as_loss_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(pair_check(env, n, 2));
    out[0] = as_info(n->in[0].dtype, &(as_shape){0});
    return ASSAY_OK;
}

as_cost as_loss_cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_add(as_sat_mul(formula_of(n)->flops, count), 1);
    cost.special = as_sat_mul(formula_of(n)->special, count);
    return cost;
}

assay_status as_loss_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_loss l;
    double  sum = 0.0;
    if (!as_loss_read(n, as_in_has(n, 2) ? &in[2] : NULL, &l))
        return rows_refuse(env, n, &in[2]);
    for (int64_t i = 0; i < l.counted; i++)
        sum += as_loss_value(&l, as_view_get(&in[0], i), as_view_get(&in[1], i));
    as_view_set(&out[0], 0, sum / (double)l.counted);
    return ASSAY_OK;
}

assay_status as_loss_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0)
        return ASSAY_OK;
    int     operands[] = {in[0], in[1], d_out[0], as_in_has(n, 2) ? in[2] : -1};
    as_attr attrs[] = {AS_ATTR_I("of_target", 0), AS_ATTR_F("delta", as_attr_float(n, "delta", 1.0))};
    for (int i = 0; i < 2;
         i++) { /* the target's, which is seldom wanted, is a node of its own: nothing reads it, nothing runs it */
        attrs[0].i = i;
        d_in[i] = b->node(b, formula_of(n)->gradient, operands, as_in_has(n, 2) ? 4 : 3, attrs, as_attr_find(n, "delta") ? 2 : 1,
                          NULL, 1);
    }
    return ASSAY_OK;
}

assay_status as_loss_grad_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(pair_check(env, n, 3));
    if (n->in[2].dtype != n->in[0].dtype || n->in[2].shape.rank != 0)
        return as_refuse(env, n, "the gradient of the loss is %s %s and must be a scalar of y's dtype %s",
                         as_dtype_name(n->in[2].dtype), AS_SHOW(&n->in[2].shape), as_dtype_name(n->in[0].dtype));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

as_cost as_loss_grad_cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t count = as_sat_count(&n->in[0].shape);
    cost.flops = as_sat_add(as_sat_mul(formula_of(n)->slope_flops, count), 1);
    cost.special = as_sat_mul(formula_of(n)->slope_special, count);
    return cost;
}

assay_status as_loss_grad_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_loss l;
    if (!as_loss_read(n, as_in_has(n, 3) ? &in[3] : NULL, &l))
        return rows_refuse(env, n, &in[3]);
    double share = as_view_get(&in[2], 0) / (double)l.counted;
    for (int64_t i = 0; i < l.count; i++)
        as_view_set(&out[0], i, i < l.counted ? share * as_loss_slope(&l, as_view_get(&in[0], i), as_view_get(&in[1], i)) : 0.0);
    return ASSAY_OK;
}

/* --- Classes -------------------------------------------------------------------------------------------------------- */

assay_status as_classes_read(assay_env *env, const as_node_ctx *n, const as_shape *x, int labels, as_classes *out)
{
    const char    *text = as_attr_text(n, "reduction", "mean");
    const as_attr *ignore = as_attr_find(n, "ignore_index");
    as_classes     k = {.has_ignore = ignore != NULL, .ignore = ignore ? ignore->i : 0, .inner = 1};
    if (x->rank < 2)
        return as_refuse(env, n, "the scores are %s and must be [N, C, d...]", AS_SHOW(x));
    as_shape want = {.rank = x->rank - 1, .dim = {x->dim[0]}};
    for (int i = 2; i < x->rank; i++) {
        want.dim[i - 1] = x->dim[i];
        k.inner *= x->dim[i];
    }
    if (!as_shape_same(&n->in[labels].shape, &want))
        return as_refuse(env, n, "the labels are %s and must be %s", AS_SHOW(&n->in[labels].shape), AS_SHOW(&want));
    k.n = x->dim[0];
    k.c = x->dim[1];
    if (!strcmp(text, "mean"))
        k.reduction = AS_REDUCE_MEAN;
    else if (!strcmp(text, "sum"))
        k.reduction = AS_REDUCE_SUM;
    else if (!strcmp(text, "none"))
        k.reduction = AS_REDUCE_NONE;
    else
        return as_refuse(env, n, "unknown reduction '%s'; known: mean, sum, none", text);
    *out = k;
    return ASSAY_OK;
}

int64_t as_class_at(const as_classes *k, const as_view *labels, int64_t i)
{
    int64_t label = as_view_get_i64(labels, i);
    if (k->has_ignore && label == k->ignore)
        return -1;
    return label >= 0 && label < k->c ? label : -2;
}

double as_classes_total(const as_classes *k, const as_view *labels, const as_view *weights)
{
    double total = 0.0;
    for (int64_t i = 0; i < k->n * k->inner; i++) {
        int64_t label = as_class_at(k, labels, i);
        if (label >= 0)
            total += weights ? as_view_get(weights, label) : 1.0;
    }
    return total;
}

assay_status as_classes_check(assay_env *env, const as_node_ctx *n, const as_classes *k, const as_view *labels)
{
    for (int64_t i = 0; i < k->n * k->inner; i++)
        if (as_class_at(k, labels, i) == -2)
            return as_refuse(env, n, "label %lld is %lld and there are %lld classes", (long long)i,
                             (long long)as_view_get_i64(labels, i), (long long)k->c);
    return ASSAY_OK;
}

assay_status as_classes_infer(assay_env *env, const as_node_ctx *n, const as_shape *x, as_dtype dtype, int labels, int weights,
                              as_classes *k, as_shape *loss)
{
    as_dtype of = n->in[labels].dtype;
    if (of != AS_I32 && of != AS_I64)
        return as_refuse(env, n, "the labels are %s and must be i32 or i64", as_dtype_name(of));
    AS_TRY(as_classes_read(env, n, x, labels, k));
    if (as_in_has(n, weights) && (n->in[weights].dtype != dtype || !as_shape_same(&n->in[weights].shape, &AS_SHAPE(k->c))))
        return as_refuse(env, n, "the weights are %s %s and must be %s [%lld], one per class", as_dtype_name(n->in[weights].dtype),
                         AS_SHOW(&n->in[weights].shape), as_dtype_name(dtype), (long long)k->c);
    *loss = k->reduction == AS_REDUCE_NONE ? n->in[labels].shape : (as_shape){0};
    return ASSAY_OK;
}
