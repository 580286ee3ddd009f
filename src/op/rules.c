/* rules.c - what the operator files share. */
#include "op/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

assay_status as_refuse(assay_env *env, const as_node_ctx *n, const char *format, ...)
{
    char    text[900]; /* the env keeps 1024 and cuts what is longer */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return as_fail(env, ASSAY_BAD_INPUT, "%s '%s': %s", n->op->name, n->name ? n->name : "", text);
}

/* --- Checks --- */

assay_status as_rule_dtype(assay_env *env, const as_node_ctx *n, int first, int count, unsigned set)
{
    as_dtype dtype = n->in[first].dtype;
    for (int i = first; i < first + count; i++) {
        if (!as_in_has(n, i))
            continue;
        if (n->in[i].dtype != dtype)
            return as_refuse(env, n, "input %d is %s and input %d is %s: they must be of one dtype", first, as_dtype_name(dtype), i,
                             as_dtype_name(n->in[i].dtype));
    }
    if (set & AS_DTYPE_BIT(dtype))
        return ASSAY_OK;
    char   list[256] = ""; /* all names take 130 */
    size_t used = 0;
    for (int d = AS_NONE + 1; d < AS_N_DTYPES; d++)
        if ((set & AS_DTYPE_BIT(d)) && used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, " %s", as_dtype_name((as_dtype)d));
    return as_refuse(env, n, "input %d is %s and must be one of%s", first, as_dtype_name(dtype), list);
}

assay_status as_rule_axis(assay_env *env, const as_node_ctx *n, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return as_refuse(env, n, "axis %lld is outside of [%d, %d) for an input of rank %d", (long long)axis, -rank, rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return ASSAY_OK;
}

assay_status as_rule_ints(assay_env *env, const as_node_ctx *n, int i, const char *what, int64_t *values, int *count)
{
    const as_tensor_info *t = &n->in[i];
    if (t->dtype != AS_I64 || t->shape.rank != 1)
        return as_refuse(env, n, "%s (input %d) is %s %s and must be an i64 vector", what, i, as_dtype_name(t->dtype),
                         AS_SHOW(&t->shape));
    if (t->shape.dim[0] > AS_MAX_RANK)
        return as_refuse(env, n, "%s (input %d) has %lld values and at most %d are possible", what, i, (long long)t->shape.dim[0],
                         AS_MAX_RANK);
    if (!t->constant && t->shape.dim[0] > 0)
        return as_refuse(env, n, "%s (input %d) must be known while planning", what, i);
    *count = (int)t->shape.dim[0];
    if (*count > 0)
        memcpy(values, t->constant, (size_t)*count * sizeof *values);
    return ASSAY_OK;
}

assay_status as_rule_like(assay_env *env, const as_node_ctx *n, unsigned set, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 1, set));
    out[0] = as_info(n->in[0].dtype, &n->in[0].shape);
    return ASSAY_OK;
}

/* --- Counting --- */

uint64_t as_sat_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

uint64_t as_sat_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* --- Elements --- */

as_view as_view_fix(const as_view *v, const int64_t *index, int count)
{
    as_view part = {.dtype = v->dtype, .shape = {.rank = v->shape.rank - count}};
    int64_t offset = 0;
    for (int i = 0; i < count; i++)
        offset += index[i] * v->stride[i];
    for (int i = count; i < v->shape.rank; i++) {
        part.shape.dim[i - count] = v->shape.dim[i];
        part.stride[i - count] = v->stride[i];
    }
    part.data = v->data && offset ? (char *)v->data + offset * (int64_t)as_dtype_bytes(v->dtype) : v->data; /* empty: no address */
    return part;
}

bool as_index_next(const as_shape *shape, int64_t *index)
{
    for (int i = shape->rank - 1; i >= 0; i--) {
        if (++index[i] < shape->dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

int64_t as_int_wrap(as_dtype dtype, uint64_t x)
{
    switch (dtype) {
    case AS_I8: return (int8_t)x;
    case AS_U8: return (uint8_t)x;
    case AS_I16: return (int16_t)x;
    case AS_U16: return (uint16_t)x;
    case AS_I32: return (int32_t)x;
    case AS_U32: return (uint32_t)x;
    case AS_I4: return (int64_t)((x & 15) ^ 8) - 8;
    case AS_U4: return (int64_t)(x & 15);
    case AS_I2: return (int64_t)((x & 3) ^ 2) - 2;
    case AS_U2: return (int64_t)(x & 3);
    default: return (int64_t)x;
    }
}

void as_each(const as_view *in, const as_view *out, double (*real)(double))
{
    int64_t count = as_shape_count(&out->shape);
    for (int64_t i = 0; i < count; i++)
        as_view_set(out, i, real(as_view_get(in, i)));
}

void as_each_with(const as_view *in, const as_view *out, double (*real)(double, double, double), double a, double b)
{
    int64_t count = as_shape_count(&out->shape);
    for (int64_t i = 0; i < count; i++)
        as_view_set(out, i, real(as_view_get(in, i), a, b));
}

void as_each_any(const as_view *in, const as_view *out, double (*real)(double), uint64_t (*whole)(uint64_t))
{
    if (as_dtype_is_float(out->dtype)) {
        as_each(in, out, real);
        return;
    }
    int64_t count = as_shape_count(&out->shape);
    for (int64_t i = 0; i < count; i++)
        as_view_set_i64(out, i, as_int_wrap(out->dtype, whole((uint64_t)as_view_get_i64(in, i))));
}

assay_status as_rule_float(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_FLOAT, out);
}

assay_status as_rule_number(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_like(env, n, AS_SET_NUMBER, out);
}

assay_status as_rule_line(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    int axis;
    AS_TRY(as_rule_like(env, n, AS_SET_FLOAT, out));
    return as_rule_axis(env, n, as_attr_int(n, "axis", -1), n->in[0].shape.rank, &axis);
}

assay_status as_rule_all(assay_env *env, const as_node_ctx *n, int first, unsigned set, as_tensor_info *out)
{
    for (int i = first; i < n->n_in; i++)
        if (!as_in_has(n, i))
            return as_refuse(env, n, "input %d of %d is absent", i, n->n_in);
    AS_TRY(as_rule_dtype(env, n, first, n->n_in - first, set));
    as_shape shape = n->in[0].shape, wider;
    for (int i = 1; i < n->n_in; i++) {
        if (!as_shape_broadcast(&shape, &n->in[i].shape, &wider))
            return as_refuse(env, n, "input %d is %s and those before it are %s: they do not broadcast to one shape in range", i,
                             AS_SHOW(&n->in[i].shape), AS_SHOW(&shape));
        shape = wider;
    }
    out[0] = as_info(n->in[first].dtype, &shape);
    return ASSAY_OK;
}

as_cost as_cost_special(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.special = as_sat_count(&n->out[0].shape);
    return cost;
}

assay_status as_eval_copy(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    as_view_copy(&out[0], &in[0]);
    return ASSAY_OK;
}

assay_status as_reshape_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (as_dtype_is_float(n->in[0].dtype))
        d_in[0] = as_b_reshape(b, d_out[0], &n->in[0].shape);
    return ASSAY_OK;
}

/* --- Comparing and logic --- */

as_order as_order_of(const as_view *a, const as_view *b, int64_t i)
{
    if (as_dtype_is_float(a->dtype)) {
        double x = as_view_get(a, i), y = as_view_get(b, i);
        return x < y ? AS_LESS : x > y ? AS_GREATER : x == y ? AS_EQUAL : AS_UNORDERED;
    }
    int64_t x = as_view_get_i64(a, i), y = as_view_get_i64(b, i);
    if (x == y)
        return AS_EQUAL;
    return (a->dtype == AS_U64 ? (uint64_t)x < (uint64_t)y : x < y) ? AS_LESS : AS_GREATER;
}

assay_status as_rule_compare(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_all(env, n, 0, AS_SET_NUMBER, out));
    out[0].dtype = AS_BOOL;
    return ASSAY_OK;
}

void as_each_compare(const as_view *in, const as_view *out, unsigned orders)
{
    as_view a = as_view_broadcast(&in[0], &out->shape), b = as_view_broadcast(&in[1], &out->shape);
    int64_t count = as_shape_count(&out->shape);
    for (int64_t i = 0; i < count; i++)
        as_view_set_i64(out, i, (as_order_of(&a, &b, i) & orders) != 0);
}

assay_status as_rule_logic(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_all(env, n, 0, AS_DTYPE_BIT(AS_BOOL), out);
}

assay_status as_rule_bits(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_all(env, n, 0, AS_SET_INT, out);
}

static uint64_t and (uint64_t a, uint64_t b) { return a & b; }
static uint64_t or (uint64_t a, uint64_t b) { return a | b; }
static uint64_t xor (uint64_t a, uint64_t b) { return a ^ b; }

    static assay_status bits_eval(const as_view *in, const as_view *out, uint64_t (*whole)(uint64_t, uint64_t))
{
    as_each2(&in[0], &in[1], &out[0], NULL, whole); /* never a float */
    return ASSAY_OK;
}

assay_status as_eval_and(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    return bits_eval(in, out, and);
}

assay_status as_eval_or(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    return bits_eval(in, out, or);
}

assay_status as_eval_xor(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env, (void)n;
    return bits_eval(in, out, xor);
}

/* --- Helpers for gradients --- */

static int scalar_like(as_builder *b, int x, double k) { return x < 0 ? -1 : as_b_scalar(b, b->info(b, x)->dtype, k); }

int as_b_times(as_builder *b, int x, double k) { return as_b2(b, "Mul", x, scalar_like(b, x, k)); }

int as_b_plus(as_builder *b, int x, double k) { return as_b2(b, "Add", x, scalar_like(b, x, k)); }

int as_b_versus(as_builder *b, const char *op, int x, double k) { return as_b2(b, op, x, scalar_like(b, x, k)); }

int as_b_where(as_builder *b, int condition, int x, int y)
{
    return condition < 0 || x < 0 || y < 0 ? -1 : b->node(b, "Where", (int[]){condition, x, y}, 3, NULL, 0, NULL, 1);
}

int as_b_only(as_builder *b, int condition, int x) { return as_b_where(b, condition, x, scalar_like(b, x, 0.0)); }

int as_b_except(as_builder *b, int condition, int x) { return as_b_where(b, condition, scalar_like(b, x, 0.0), x); }

int as_b_zeros(as_builder *b, int x)
{
    if (x < 0)
        return -1;
    as_shape shape = b->info(b, x)->shape; /* a copy: the builder may move its infos */
    int      zero = scalar_like(b, x, 0.0);
    return shape.rank == 0 ? zero : as_b2(b, "Expand", zero, as_b_ints(b, shape.dim, (size_t)shape.rank));
}

assay_status as_step_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)out;
    d_in[0] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    d_in[0] = as_b_zeros(b, in[0]);
    return ASSAY_OK;
}

/* --- Add, Sub, Mul, Div --- */

assay_status as_rule_broadcast(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(as_rule_dtype(env, n, 0, 2, AS_SET_NUMBER));
    as_shape shape;
    if (!as_shape_broadcast(&n->in[0].shape, &n->in[1].shape, &shape))
        return as_refuse(env, n, "A is %s and B is %s: they do not broadcast to one shape in range", AS_SHOW(&n->in[0].shape),
                         AS_SHOW(&n->in[1].shape));
    out[0] = as_info(n->in[0].dtype, &shape);
    return ASSAY_OK;
}

as_cost as_cost_each(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_sat_count(&n->out[0].shape);
    return cost;
}

void as_each2(const as_view *a, const as_view *b, const as_view *out, double (*real)(double, double),
              uint64_t (*whole)(uint64_t, uint64_t))
{
    as_view wide_a = as_view_broadcast(a, &out->shape), wide_b = as_view_broadcast(b, &out->shape);
    bool    is_float = as_dtype_is_float(out->dtype);
    int64_t count = as_shape_count(&out->shape);
    for (int64_t i = 0; i < count; i++) {
        if (is_float) {
            as_view_set(out, i, real(as_view_get(&wide_a, i), as_view_get(&wide_b, i)));
        } else {
            uint64_t bits = whole((uint64_t)as_view_get_i64(&wide_a, i), (uint64_t)as_view_get_i64(&wide_b, i));
            as_view_set_i64(out, i, as_int_wrap(out->dtype, bits));
        }
    }
}

/* --- Sum and Mean --------------------------------------------------------------------------------- */

void as_each_sum(const as_node_ctx *n, const as_view *in, const as_view *out, double by)
{
    int64_t count = as_shape_count(&out[0].shape);
    as_view wide[AS_MAX_IN];
    for (int k = 0; k < n->n_in; k++)
        wide[k] = as_view_broadcast(&in[k], &out[0].shape);
    for (int64_t i = 0; i < count; i++) {
        double sum = as_view_get(&wide[0], i);
        for (int k = 1; k < n->n_in; k++)
            sum += as_view_get(&wide[k], i);
        as_view_set(&out[0], i, sum / by);
    }
}

void as_sum_grad(as_builder *b, const as_node_ctx *n, int d, int *d_in)
{
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = as_b_sum_to(b, d, &n->in[i].shape);
}
