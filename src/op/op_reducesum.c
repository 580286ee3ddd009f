/* op_reducesum.c - sums along axes, which are a constant input; without them along all, or along none if
 * noop_with_empty_axes says so. */
#include "op/rules.h"

static const as_attr_def attrs[] = {
    { .name = "keepdims", .kind = AS_ATTR_INT }, { .name = "noop_with_empty_axes", .kind = AS_ATTR_INT }, { 0 },
};

/* Bit i: axis i is summed. */
static assay_status axes_of(assay_env *env, const as_node_ctx *n, unsigned *out)
{
    int      rank = n->in[0].shape.rank, count = 0, axis;
    int64_t  axes[AS_MAX_RANK];
    unsigned set = 0;
    if (as_in_has(n, 1))
        AS_TRY(as_rule_ints(env, n, 1, "axes", axes, &count));
    for (int i = 0; i < count; i++) {
        AS_TRY(as_rule_axis(env, n, axes[i], rank, &axis));
        if (set & (1u << axis))
            return as_refuse(env, n, "axes names axis %d twice", axis);
        set |= 1u << axis;
    }
    if (count == 0 && as_attr_int(n, "noop_with_empty_axes", 0) == 0)
        set = (1u << rank) - 1;
    *out = set;
    return ASSAY_OK;
}

static as_shape shape_of(const as_shape *x, unsigned axes, bool keep)
{
    as_shape y = {0};
    for (int i = 0; i < x->rank; i++) {
        if (!(axes & (1u << i)))
            y.dim[y.rank++] = x->dim[i];
        else if (keep)
            y.dim[y.rank++] = 1;
    }
    return y;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    unsigned axes;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_WIDE));
    AS_TRY(axes_of(env, n, &axes));
    as_shape y = shape_of(&n->in[0].shape, axes, as_attr_int(n, "keepdims", 1) != 0);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* To sum L elements takes L - 1 additions: count(X) - count(Y) in all, none for an empty X. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t x = as_sat_count(&n->in[0].shape), y = as_sat_count(&n->out[0].shape);
    cost.flops = x > y ? x - y : 0;
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    unsigned axes;
    AS_TRY(axes_of(env, n, &axes));
    /* The summed axes moved to the end, so that each output's terms follow one another. */
    as_view x = in[0];
    int     at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < in[0].shape.rank; i++)
            if (((axes >> i) & 1u) == (unsigned)pass) {
                x.shape.dim[at] = in[0].shape.dim[i];
                x.stride[at++] = in[0].stride[i];
            }
    int64_t count = as_shape_count(&out[0].shape), each = count ? as_shape_count(&x.shape) / count : 0;
    bool    is_float = as_dtype_is_float(out[0].dtype);
    for (int64_t i = 0; i < count; i++) {
        double   sum = 0.0;
        uint64_t whole = 0;
        for (int64_t j = 0; j < each; j++) {
            if (is_float)
                sum += as_view_get(&x, i * each + j);
            else
                whole += (uint64_t)as_view_get_i64(&x, i * each + j);
        }
        if (is_float)
            as_view_set(&out[0], i, sum);
        else
            as_view_set_i64(&out[0], i, as_int_wrap(out[0].dtype, whole));
    }
    return ASSAY_OK;
}

/* Each term gets the gradient of its sum. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    unsigned        axes;
    const as_shape *x = &n->in[0].shape;
    AS_TRY(axes_of(b->env, n, &axes));
    as_shape kept = shape_of(x, axes, true);
    int      dy = as_b_reshape(b, d_out[0], &kept);
    d_in[0] = as_shape_same(&kept, x) ? dy : as_b2(b, "Expand", dy, as_b_ints(b, x->dim, (size_t)x->rank));
    return ASSAY_OK;
}

#define AXES(...)                                                                                    \
    { .dtype = AS_I64, .shape = { .rank = 1, .dim = { sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t) } }, \
      .ints = (const int64_t[]){__VA_ARGS__} }

static const as_case cases[] = {
    /* By hand: the rows of [[1,2,3],[4,5,6]]. */
    { .name = "rows by hand", .n_in = 2, .in = { AS_IN(F32, 2, 3), AXES(1) }, .n_attrs = 1, .attrs = { AS_ATTR_I("keepdims", 0) },
      .given = (const double[]){ 1, 2, 3, 4, 5, 6 }, .want = (const double[]){ 6, 15 }, .n_want = 2 },
    /* By hand: the columns. */
    { .name = "columns by hand", .n_in = 2, .in = { AS_IN(F64, 2, 3), AXES(-2) },
      .given = (const double[]){ 1, 2, 3, 4, 5, 6 }, .want = (const double[]){ 5, 7, 9 }, .n_want = 3 },
    /* By hand: without axes, all of them. */
    { .name = "all by hand", .n_in = 1, .in = { AS_IN(I64, 2, 2) }, .no_grad = true,
      .given = (const double[]){ 1, -2, 3, 40 }, .want = (const double[]){ 42 }, .n_want = 1 },
    /* By hand: without axes, nothing is summed when it is a no-op. */
    { .name = "no-op by hand", .n_in = 1, .in = { AS_IN(F32, 3) }, .n_attrs = 1, .attrs = { AS_ATTR_I("noop_with_empty_axes", 1) },
      .given = (const double[]){ 1, 2, 3 }, .want = (const double[]){ 1, 2, 3 }, .n_want = 3 },
    /* By hand: a sum of nothing is 0. */
    { .name = "of nothing by hand", .n_in = 2, .in = { AS_IN(F32, 2, 0), AXES(1) },
      .given = (const double[]){ 0 }, .want = (const double[]){ 0, 0 }, .n_want = 2 },
    { .name = "one element", .n_in = 1, .in = { AS_IN(F32, 1) } },
    { .name = "rows of 7x9", .n_in = 2, .in = { AS_IN(F32, 7, 9), AXES(1) } },
    { .name = "columns of 16x17", .n_in = 2, .in = { AS_IN(F32, 16, 17), AXES(0) }, .n_attrs = 1, .attrs = { AS_ATTR_I("keepdims", 0) } },
    { .name = "all of 31x33", .n_in = 1, .in = { AS_IN(F32, 31, 33) }, .n_attrs = 1, .attrs = { AS_ATTR_I("keepdims", 0) } },
    { .name = "all but channels", .n_in = 2, .in = { AS_IN(F32, 3, 8, 5, 7), AXES(0, 2, 3) }, .n_attrs = 1, .attrs = { AS_ATTR_I("keepdims", 0) } },
    { .name = "f64 outer and inner", .n_in = 2, .in = { AS_IN(F64, 3, 8, 15), AXES(-1, 0) } },
};

const as_op as_op_reducesum = {
    .name = "ReduceSum", .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1, .attrs = attrs,
    .infer = infer, .cost = cost, .eval = eval, .grad = grad,
    .tolerance = 1e-4, .cases = cases, .n_cases = AS_COUNT(cases), /* long f32 sums, as in MatMul */
};
