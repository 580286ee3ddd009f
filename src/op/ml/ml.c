/* ml.c - what the operators of ai.onnx.ml share. */
#include "op/ml/ml.h"

#include <math.h>
#include <string.h>

assay_status as_post_read(assay_env *env, const as_node_ctx *n, as_post *out)
{
    static const char *const words[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char              *word = as_attr_text(n, "post_transform", "NONE");
    for (int i = 0; i < AS_N_POSTS; i++)
        if (!strcmp(words[i], word)) {
            *out = (as_post)i;
            return ASSAY_OK;
        }
    return as_refuse(env, n, "post_transform is '%.40s' and must be NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", word);
}

/* exp(x - max) / sum, but what is 0 stays nearly 0: it counts as x * exp(-max). */
static int softmax_zero(as_builder *b, int x)
{
    int most = as_b_reduce(b, "ReduceMax", x, 1, true), is_zero = as_b_with(b, "LessOrEqual", AS_MAKE(b, "Abs", x), 1e-7);
    int e = AS_MAKE(b, "Exp", AS_MAKE(b, "Sub", x, most)), z = AS_MAKE(b, "Mul", x, AS_MAKE(b, "Exp", AS_MAKE(b, "Neg", most)));
    int parts = AS_MAKE(b, "Where", is_zero, z, e), sum = as_b_reduce(b, "ReduceSum", parts, 1, true),
        none = as_b_with(b, "Equal", sum, 0.0);
    int safe = AS_MAKE(b, "Where", none, as_b_like(b, sum, 1.0), sum);
    return AS_MAKE(b, "Where", none, as_b_like(b, x, 0.5), AS_MAKE(b, "Div", parts, safe));
}

/* sqrt(2) * the inverse of erf at 2 x - 1, by Winitzki's formula with 0.147, which ONNX Runtime uses. */
static int probit(as_builder *b, int x)
{
    int y = as_b_plus(b, as_b_times(b, x, 2.0), -1.0), inside = as_b_plus(b, AS_MAKE(b, "Neg", AS_MAKE(b, "Mul", y, y)), 1.0);
    int log = AS_MAKE(b, "Log", inside), v = as_b_plus(b, as_b_times(b, log, 0.5), 2.0 / (3.14159265358979323846 * 0.147));
    int root = AS_MAKE(b, "Sqrt", AS_MAKE(b, "Sub", AS_MAKE(b, "Mul", v, v), as_b_times(b, log, 1.0 / 0.147)));
    int size = AS_MAKE(b, "Sqrt", AS_MAKE(b, "Sub", root, v));
    return as_b_times(b, AS_MAKE(b, "Mul", AS_MAKE(b, "Sign", y), size), 1.41421356);
}

int as_b_post(as_builder *b, int x, as_post post)
{
    switch (post) {
    case AS_POST_SOFTMAX: return as_b_softmax(b, x, -1);
    case AS_POST_LOGISTIC: return AS_MAKE(b, "Sigmoid", x);
    case AS_POST_SOFTMAX_ZERO: return softmax_zero(b, x);
    case AS_POST_PROBIT: return probit(b, x);
    default: return x;
    }
}

#define AS_SET_ML (AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F64) | AS_DTYPE_BIT(AS_I32) | AS_DTYPE_BIT(AS_I64))

assay_status as_ml_rows(assay_env *env, const as_node_ctx *n, as_shape *out)
{
    const as_shape *x = &n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ML));
    if (x->rank != 1 && x->rank != 2)
        return as_refuse(env, n, "X is %s and must be [rows, features] or [features]", AS_SHOW(x));
    *out = x->rank == 2 ? *x : AS_SHAPE(1, x->dim[0]);
    return ASSAY_OK;
}

int as_b_rows(as_builder *b, const as_node_ctx *n, int x)
{
    const as_shape *shape = &n->in[0].shape;
    if (shape->rank == 1)
        x = AS_TO_SHAPE(b, x, 1, shape->dim[0]);
    return as_b_cast(b, x, n->in[0].dtype == AS_F64 ? AS_F64 : AS_F32);
}

assay_status as_ml_no_text(assay_env *env, const as_node_ctx *n, const char *attr)
{
    if (!as_attr_find(n, attr))
        return ASSAY_OK;
    return as_fail(env, ASSAY_UNSUPPORTED, "%s '%s': %s is a list of texts; tensors of the type string are not supported",
                   n->op->name, n->name ? n->name : "", attr);
}

size_t as_ml_count(const as_node_ctx *n, const char *attr)
{
    const as_attr *a = as_attr_find(n, attr);
    return !a ? 0 : a->kind == AS_ATTR_TENSOR ? (size_t)as_shape_count(&a->tensor->shape) : a->n;
}

assay_status as_ml_floats(as_builder *b, const as_node_ctx *n, const char *attr, as_dtype dtype, const as_shape *shape, int *out)
{
    const as_attr *a = as_attr_find(n, attr);
    size_t         count = a ? a->n : 0;
    if (!as_shape_ok(shape, AS_F64) || count != (size_t)as_shape_count(shape))
        return as_refuse(b->env, n, "%s has %zu numbers and must have those of %s", attr, count, AS_SHOW(shape));
    /* A view's memory is not const; the builder only reads and copies it. */
    static const double nothing = 0.0;
    as_view             view = as_view_of((void *)(uintptr_t)(count ? a->floats : &nothing), AS_F64, shape);
    int                 wide = b->constant(b, &view);
    *out = as_b_cast(b, wide, dtype);
    return ASSAY_OK;
}

/* labels[k] for each k. */
static int labels_of(as_builder *b, int best, const as_classes *c)
{
    return AS_MAKE(b, "Gather", as_b_ints(b, c->labels, c->n_labels), best);
}

static void two_classes(as_builder *b, int s, const as_classes *c, int n_out, int *out)
{
    int64_t n_rows = as_b_dim(b, s, 0);
    int     is_second = as_b_with(b, "Greater", AS_TO_SHAPE(b, s, n_rows), c->is_share ? 0.5 : 0.0);
    int     labels = as_b_ints(b, c->labels, c->n_labels), second = as_b_cast(b, is_second, AS_I64);
    out[0] = c->n_labels == 2 ? AS_MAKE(b, "Gather", labels, second) : second;
    if (n_out < 2)
        return;
    if (c->is_share) {
        out[1] = as_b_join(b, 1, as_b_plus(b, AS_MAKE(b, "Neg", s), 1.0), s);
        return;
    }
    int both = as_b_join(b, 1, AS_MAKE(b, "Neg", s), s);
    out[1] = c->post == AS_POST_PROBIT ? both : as_b_post(b, both, c->post);
}

void as_b_classes(as_builder *b, int scores, const as_classes *c, int n_out, int *out)
{
    if (as_b_dim(b, scores, 1) == 1) {
        two_classes(b, scores, c, n_out, out);
        return;
    }
    int best = AS_MAKE_WITH(b, "ArgMax", AS_WITH(AS_ATTR_I("axis", 1), AS_ATTR_I("keepdims", 0)), scores);
    out[0] = c->n_labels ? labels_of(b, best, c) : best;
    if (n_out > 1)
        out[1] = as_b_post(b, scores, c->post);
}
