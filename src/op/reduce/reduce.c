/* reduce.c - what the operators that fold axes into one value share. */
#include "op/reduce/reduce.h"

#include <math.h>

const as_attr_def as_reduce_attrs[] = {
    {.name = "keepdims", .kind = AS_ATTR_INT},
    {.name = "noop_with_empty_axes", .kind = AS_ATTR_INT},
    {0},
};

/* --- Axes and shapes --- */

assay_status as_reduce_axes(assay_env *env, const as_node_ctx *n, unsigned *out)
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

as_shape as_reduce_shape(const as_shape *x, unsigned axes, bool keep)
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

as_view as_axes_last(const as_view *v, unsigned axes)
{
    as_view x = *v;
    int     at = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < v->shape.rank; i++)
            if (((axes >> i) & 1u) == (unsigned)pass) {
                x.shape.dim[at] = v->shape.dim[i];
                x.stride[at++] = v->stride[i];
            }
    return x;
}

/* --- Elements --- */

as_view as_view_bits(const as_view *v)
{
    as_view bits = *v;
    if (v->dtype == AS_U64)
        bits.dtype = AS_I64;
    return bits;
}

uint64_t as_bits_wrap(as_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case AS_BOOL: return bits != 0;
    case AS_I8: return (uint64_t)(int8_t)bits;
    case AS_U8: return (uint8_t)bits;
    case AS_I16: return (uint64_t)(int16_t)bits;
    case AS_U16: return (uint16_t)bits;
    case AS_I32: return (uint64_t)(int32_t)bits;
    case AS_U32: return (uint32_t)bits;
    default: return bits;
    }
}

static bool is_signed(as_dtype dtype) { return dtype == AS_I8 || dtype == AS_I16 || dtype == AS_I32 || dtype == AS_I64; }

uint64_t as_bits_lowest(as_dtype dtype)
{
    return is_signed(dtype) ? as_bits_wrap(dtype, UINT64_C(1) << (8 * as_dtype_bytes(dtype) - 1)) : 0;
}

uint64_t as_bits_highest(as_dtype dtype) { return is_signed(dtype) ? ~as_bits_lowest(dtype) : as_bits_wrap(dtype, UINT64_MAX); }

uint64_t as_bits_cut(as_dtype dtype, double x)
{
    uint64_t low = as_bits_lowest(dtype), high = as_bits_highest(dtype);
    if (isnan(x))
        return 0;
    if (x <= as_bits_real(dtype, low))
        return low;
    /* The highest 64-bit integer is not a double; converted to one it is the first value that is too large. */
    return x >= as_bits_real(dtype, high) ? high : dtype == AS_U64 ? (uint64_t)x : (uint64_t)(int64_t)x;
}

double as_terms_sum(const as_terms *t)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->count; i++)
        sum += as_term(t, i);
    return sum;
}

uint64_t as_terms_sum_bits(const as_terms *t)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < t->count; i++)
        sum += as_term_bits(t, i);
    return sum;
}

/* --- Rules --- */

assay_status as_reduce_infer(assay_env *env, const as_node_ctx *n, unsigned set, as_tensor_info *out)
{
    unsigned axes;
    AS_TRY(as_rule_dtype(env, n, 0, 1, set));
    AS_TRY(as_reduce_axes(env, n, &axes));
    as_shape y = as_reduce_shape(&n->in[0].shape, axes, as_attr_int(n, "keepdims", 1) != 0);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

assay_status as_reduce_infer_sum(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_reduce_infer(env, n, AS_SET_REDUCE, out);
}

/* None for an empty X. */
assay_status as_reduce_infer_planes(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    if (x->rank < 3)
        return as_refuse(env, n, "X is %s: it must be [N, C, spatial...]", AS_SHOW(x));
    as_shape y = as_reduce_shape(x, ((1u << x->rank) - 1) & ~3u, true);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

as_cost as_reduce_cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t x = as_sat_count(&n->in[0].shape), y = as_sat_count(&n->out[0].shape);
    cost.flops = x > y ? x - y : 0;
    return cost;
}

as_cost as_reduce_cost_changed(const as_node_ctx *n)
{
    as_cost cost = as_reduce_cost(n);
    cost.flops = as_sat_add(cost.flops, as_sat_count(&n->in[0].shape));
    return cost;
}

assay_status as_reduce_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out,
                            double (*real)(const as_terms *t), uint64_t (*whole)(const as_terms *t))
{
    unsigned axes;
    AS_TRY(as_reduce_axes(env, n, &axes));
    bool     is_float = as_dtype_is_float(out[0].dtype);
    as_view  turned = as_axes_last(&in[0], axes), y = as_view_bits(&out[0]);
    int64_t  count = as_shape_count(&out[0].shape);
    as_terms t = {.x = as_view_bits(&turned), .dtype = in[0].dtype};
    t.count = count ? as_shape_count(&turned.shape) / count : 0;
    for (int64_t i = 0; i < count; i++, t.first += t.count) {
        AS_GO_ON(env, n);
        if (is_float)
            as_view_set(&y, i, real(&t));
        else
            as_view_set_i64(&y, i, (int64_t)as_bits_wrap(t.dtype, whole(&t)));
    }
    return ASSAY_OK;
}

/* --- Gradients --- */

bool as_reduce_grad_start(as_builder *b, const as_node_ctx *n, const int *out, const int *d_out, int *d_in, int *d_kept,
                          int *y_kept)
{
    unsigned axes;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype) || as_reduce_axes(b->env, n, &axes) != ASSAY_OK)
        return false;
    as_shape kept = as_reduce_shape(&n->in[0].shape, axes, true);
    *d_kept = as_b_reshape(b, d_out[0], &kept);
    if (y_kept)
        *y_kept = as_b_reshape(b, out[0], &kept);
    return true;
}

int as_reduce_grad_sum(as_builder *b, const as_node_ctx *n, int x)
{
    unsigned axes;
    int64_t  list[AS_MAX_RANK];
    size_t   count = 0;
    if (x < 0 || as_reduce_axes(b->env, n, &axes) != ASSAY_OK)
        return -1;
    for (int i = 0; i < n->in[0].shape.rank; i++)
        if (axes & (1u << i))
            list[count++] = i;
    return count ? as_b2(b, "ReduceSum", x, as_b_ints(b, list, count)) : x;
}

assay_status as_reduce_grad_order(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int dy, y;
    if (!as_reduce_grad_start(b, n, out, d_out, d_in, &dy, &y))
        return ASSAY_OK;
    as_dtype dtype = n->in[0].dtype;
    int      equal = as_b2(b, "Equal", in[0], y), one = as_b_scalar(b, dtype, 1.0), zero = as_b_scalar(b, dtype, 0.0);
    int      won = equal < 0 || one < 0 || zero < 0 ? -1 : b->node(b, "Where", (int[]){equal, one, zero}, 3, NULL, 0, NULL, 1);
    d_in[0] = as_b2(b, "Mul", won, as_b2(b, "Div", dy, as_reduce_grad_sum(b, n, won)));
    return ASSAY_OK;
}

/* --- ArgMax, ArgMin, ReduceMax, ReduceMin --- */

const as_attr_def as_arg_attrs[] = {
    {.name = "axis", .kind = AS_ATTR_INT},
    {.name = "keepdims", .kind = AS_ATTR_INT},
    {.name = "select_last_index", .kind = AS_ATTR_INT},
    {0},
};

assay_status as_arg_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    int             axis;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_REDUCE_NUMBER));
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), x->rank, &axis));
    as_shape y = as_reduce_shape(x, 1u << axis, as_attr_int(n, "keepdims", 1) != 0);
    if (x->dim[axis] == 0 && as_shape_count(&y) > 0)
        return as_refuse(env, n, "the input is %s: along axis %d there is no element to point at", AS_SHOW(x), axis);
    out[0] = as_info(AS_I64, &y);
    return ASSAY_OK;
}

/* 1: term i beats term best; 0: they are equal; -1: it does not. */
static int duel(const as_terms *t, int64_t i, int64_t best, bool largest)
{
    if (!as_dtype_is_float(t->dtype)) {
        uint64_t a = as_term_bits(t, i), b = as_term_bits(t, best);
        return a == b ? 0 : as_bits_less(t->dtype, a, b) != largest ? 1 : -1;
    }
    double a = as_term(t, i), b = as_term(t, best);
    if (isnan(a) || isnan(b))
        return (isnan(a) != 0) - (isnan(b) != 0);
    return a == b ? 0 : (a < b) != largest ? 1 : -1;
}

int64_t as_terms_best(const as_terms *t, bool largest, bool last)
{
    int64_t best = 0;
    for (int64_t i = 1; i < t->count; i++)
        if (duel(t, i, best, largest) + last > 0)
            best = i;
    return best;
}

assay_status as_arg_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out, bool largest)
{
    int axis;
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), n->in[0].shape.rank, &axis));
    as_view  turned = as_axes_last(&in[0], 1u << axis);
    as_terms t = {.x = as_view_bits(&turned), .dtype = in[0].dtype, .count = n->in[0].shape.dim[axis]};
    int64_t  count = as_shape_count(&out[0].shape);
    bool     last = as_attr_int(n, "select_last_index", 0) != 0;
    for (int64_t i = 0; i < count; i++, t.first += t.count)
        as_view_set_i64(&out[0], i, as_terms_best(&t, largest, last));
    return ASSAY_OK;
}
