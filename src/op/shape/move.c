/* move.c - what the operators that move elements share. */
#include "op/shape/move.h"

#include <math.h>
#include <string.h>

/* --- Constants and indices --- */

assay_status as_rule_index(assay_env *env, const as_node_ctx *n, int i, const char *what, bool or_i32)
{
    as_dtype dtype = as_in_has(n, i) ? n->in[i].dtype : AS_NONE;
    if (dtype == AS_I64 || (dtype == AS_I32 && or_i32))
        return ASSAY_OK;
    return as_refuse(env, n, "%s (input %d) is %s and must be i64%s", what, i, dtype == AS_NONE ? "absent" : as_dtype_name(dtype),
                     or_i32 ? " or i32" : "");
}

assay_status as_rule_numbers(assay_env *env, const as_node_ctx *n, int i, const char *what, int max, int64_t *values, int *count)
{
    AS_TRY(as_rule_index(env, n, i, what, true));
    const as_tensor_info *t = &n->in[i];
    if (t->shape.rank > 1)
        return as_refuse(env, n, "%s (input %d) is %s and must be a vector", what, i, AS_SHOW(&t->shape));
    int64_t size = as_shape_count(&t->shape);
    if (size > max)
        return as_refuse(env, n, "%s (input %d) has %lld values and at most %d are possible", what, i, (long long)size, max);
    if (!t->constant && size > 0)
        return as_refuse(env, n, "%s (input %d) must be known while planning", what, i);
    for (int64_t k = 0; k < size; k++) {
        int32_t narrow;
        if (t->dtype == AS_I64) {
            memcpy(&values[k], (const char *)t->constant + k * 8, 8);
        } else {
            memcpy(&narrow, (const char *)t->constant + k * 4, 4);
            values[k] = narrow;
        }
    }
    *count = (int)size;
    return ASSAY_OK;
}

assay_status as_rule_axes(assay_env *env, const as_node_ctx *n, int i, int rank, unsigned *out)
{
    int64_t  axes[AS_MAX_RANK];
    int      count, axis;
    unsigned set = 0;
    AS_TRY(as_rule_numbers(env, n, i, "axes", AS_MAX_RANK, axes, &count));
    for (int k = 0; k < count; k++) {
        AS_TRY(as_rule_axis(env, n, axes[k], rank, &axis));
        if (set & (1u << axis))
            return as_refuse(env, n, "axes names axis %d twice", axis);
        set |= 1u << axis;
    }
    *out = set;
    return ASSAY_OK;
}

assay_status as_index_read(assay_env *env, const as_node_ctx *n, const as_view *indices, int64_t i, int64_t size, int64_t *out)
{
    as_view one = as_view_nth(indices, i);
    int64_t index = (int64_t)as_bits_get(&one);
    if (index < -size || index >= size)
        return as_refuse(env, n, "indices[%lld] is %lld, outside of [%lld, %lld)", (long long)i, (long long)index, (long long)-size,
                         (long long)size);
    *out = index < 0 ? index + size : index;
    return ASSAY_OK;
}

/* --- Elements --- */

static void *moved(const as_view *v, int64_t offset)
{
    return v->data && offset ? (char *)v->data + offset * (int64_t)as_dtype_bytes(v->dtype) : v->data; /* empty: no address */
}

as_view as_view_nth(const as_view *v, int64_t i)
{
    int64_t offset = 0;
    for (int axis = v->shape.rank - 1; axis >= 0; axis--) {
        offset += i % v->shape.dim[axis] * v->stride[axis];
        i /= v->shape.dim[axis];
    }
    return (as_view){.data = moved(v, offset), .dtype = v->dtype};
}

as_view as_view_part(const as_view *v, int axis, int64_t start, int64_t step, int64_t count)
{
    as_view part = *v;
    part.shape.dim[axis] = count;
    if (count > 0)
        part.data = moved(v, start * v->stride[axis]);
    part.stride[axis] = count > 1 ? step * v->stride[axis] : 0; /* a step over one element may be any number */
    return part;
}

void as_view_fill(const as_view *v, const as_view *one)
{
    as_view scalar = {.data = one->data, .dtype = one->dtype}, wide = as_view_broadcast(&scalar, &v->shape);
    as_view_copy(v, &wide);
}

void as_view_zero(const as_view *v)
{
    double  storage = 0.0; /* eight zero bytes are 0 in any dtype; f8e8m0 has no 0: its smallest number */
    as_view zero = {.data = &storage, .dtype = v->dtype};
    as_view_fill(v, &zero);
}

uint64_t as_bits_get(const as_view *one)
{
    union {
        uint8_t  u8;
        int8_t   i8;
        uint16_t u16;
        int16_t  i16;
        uint32_t u32;
        int32_t  i32;
        uint64_t u64;
    } x = {0};
    memcpy(&x, one->data, as_dtype_bytes(one->dtype));
    switch (one->dtype) {
    case AS_I8:
    case AS_I4:
    case AS_I2: return (uint64_t)(int64_t)x.i8;
    case AS_U8:
    case AS_U4:
    case AS_U2: return x.u8;
    case AS_BOOL: return x.u8 != 0;
    case AS_I16: return (uint64_t)(int64_t)x.i16;
    case AS_U16: return x.u16;
    case AS_I32: return (uint64_t)(int64_t)x.i32;
    case AS_U32: return x.u32;
    default: return x.u64;
    }
}

void as_bits_set(const as_view *one, uint64_t x)
{
    union {
        uint8_t  u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
    } low = {0};
    size_t bytes = as_dtype_bytes(one->dtype);
    switch (bytes) {
    case 1: low.u8 = one->dtype == AS_BOOL ? x != 0 : (uint8_t)as_int_wrap(one->dtype, x); break;
    case 2: low.u16 = (uint16_t)x; break;
    case 4: low.u32 = (uint32_t)x; break;
    default: low.u64 = x;
    }
    memcpy(one->data, &low, bytes);
}

/* The range of an integer dtype as doubles; the upper end is the first value that is too large. */
static uint64_t saturated(as_dtype dtype, double x)
{
    if (as_dtype_bits(dtype) < 8)
        return fabs(x) < 0x1p63 ? (uint64_t)(int64_t)x : 0; /* whoever stores it keeps the low bits */
    int      bits = 8 * (int)as_dtype_bytes(dtype);
    bool     is_signed = dtype == AS_I8 || dtype == AS_I16 || dtype == AS_I32 || dtype == AS_I64;
    uint64_t top = is_signed ? (UINT64_C(1) << (bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (isnan(x))
        return 0;
    if (x >= ldexp(1.0, is_signed ? bits - 1 : bits))
        return top;
    if (!is_signed)
        return x <= 0.0 ? 0 : (uint64_t)x;
    return x <= -ldexp(1.0, bits - 1) ? ~top : (uint64_t)(int64_t)x;
}

/* u64 is the only integer that as_view_set_i64 cannot take.  Beyond 53 bits, the last bit that is kept records whether a
 * bit was lost, so that rounding again to a shorter float gives the same as one rounding. */
static double sticky(uint64_t x) { return x < UINT64_C(1) << 53 ? (double)x : (double)((x >> 11) | ((x & 2047) != 0)) * 2048.0; }

static void real_of_u64(const as_view *dst, uint64_t x) { as_view_set(dst, 0, dst->dtype == AS_F64 ? (double)x : sticky(x)); }

static void small_of(const as_view *dst, const as_view *src, const as_cast *how)
{
    double x = as_view_get(src, 0);
    if (src->dtype == AS_U64 || (src->dtype == AS_I64 && x >= 0.0)) /* f8e8m0 reaches as far, and a negative one is large enough */
        x = sticky(as_bits_get(src));
    *(uint8_t *)dst->data = as_small_from_f64(dst->dtype, x, how->saturate, how->round);
}

assay_status as_cast_read(assay_env *env, const as_node_ctx *n, as_cast *out)
{
    const char *round = as_attr_text(n, "round_mode", "up");
    bool        is_up = !strcmp(round, "up"), is_down = !strcmp(round, "down");
    if (!is_up && !is_down && strcmp(round, "nearest"))
        return as_refuse(env, n, "round_mode is '%.40s' and must be up, down or nearest", round);
    *out = (as_cast){as_attr_int(n, "saturate", 1) != 0, is_up ? AS_E8M0_UP : is_down ? AS_E8M0_DOWN : AS_E8M0_NEAREST};
    return ASSAY_OK;
}

void as_view_cast(const as_view *dst, const as_view *src, const as_cast *how)
{
    int64_t count = as_shape_count(&dst->shape);
    bool    from_float = as_dtype_is_float(src->dtype), to_float = as_dtype_is_float(dst->dtype),
         to_small = as_dtype_is_small_float(dst->dtype);
    if ((from_float && to_float && !to_small) || dst->dtype == src->dtype) {
        as_view_copy(dst, src);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        as_view to = as_view_nth(dst, i), from = as_view_nth(src, i);
        if (to_small) {
            small_of(&to, &from, how);
        } else if (from_float) {
            double x = as_view_get(&from, 0);
            as_bits_set(&to, dst->dtype == AS_BOOL ? x != 0.0 : saturated(dst->dtype, x));
        } else if (!to_float) {
            as_bits_set(&to, as_bits_get(&from));
        } else if (src->dtype == AS_U64) {
            real_of_u64(&to, as_bits_get(&from));
        } else {
            as_view_set_i64(&to, 0, (int64_t)as_bits_get(&from));
        }
    }
}

int as_element_order(const as_view *a, const as_view *b)
{
    if (as_dtype_is_float(a->dtype)) {
        double x = as_view_get(a, 0), y = as_view_get(b, 0);
        if (isnan(x) || isnan(y))
            return (isnan(x) != 0) - (isnan(y) != 0);
        return (x > y) - (x < y);
    }
    uint64_t x = as_bits_get(a), y = as_bits_get(b);
    if (a->dtype == AS_U64)
        return (x > y) - (x < y);
    return ((int64_t)x > (int64_t)y) - ((int64_t)x < (int64_t)y);
}

void as_blocks(const as_view *depth, const as_view *space, int64_t block, bool column_first, as_view *depth6, as_view *space6)
{
    const int64_t *s = space->shape.dim, *t = space->stride, *d = depth->stride;
    int64_t        channels = s[1], h = depth->shape.dim[2], w = depth->shape.dim[3];
    as_shape       shape = AS_SHAPE(s[0], channels, h, block, w, block);
    /* The depth axis is [block, block, C] (depth, column, row) or [C, block, block]. */
    int64_t channel = column_first ? block * block * d[1] : d[1], row = (column_first ? block : block * channels) * d[1],
            column = (column_first ? 1 : channels) * d[1];
    *space6 = (as_view){
        .data = space->data, .dtype = space->dtype, .shape = shape, .stride = {t[0], t[1], block * t[2], t[2], block * t[3], t[3]}};
    *depth6 =
        (as_view){.data = depth->data, .dtype = depth->dtype, .shape = shape, .stride = {d[0], channel, d[2], row, d[3], column}};
}

/* --- Scatter --- */

assay_status as_reduction_read(assay_env *env, const as_node_ctx *n, as_reduction *out)
{
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    const char              *name = as_attr_text(n, "reduction", "none");
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(name, names[i])) {
            *out = (as_reduction)i;
            return ASSAY_OK;
        }
    return as_refuse(env, n, "reduction is '%.40s' and must be none, add, mul, max or min", name);
}

static void reduce_one(const as_view *to, const as_view *from, as_reduction how)
{
    int order;
    switch (how) {
    case AS_REDUCE_ADD:
    case AS_REDUCE_MUL:
        if (as_dtype_is_float(to->dtype)) {
            double x = as_view_get(to, 0), y = as_view_get(from, 0);
            as_view_set(to, 0, how == AS_REDUCE_ADD ? x + y : x * y);
        } else {
            uint64_t x = as_bits_get(to), y = as_bits_get(from);
            as_bits_set(to, how == AS_REDUCE_ADD ? x + y : x * y);
        }
        return;
    case AS_REDUCE_MAX:
    case AS_REDUCE_MIN:
        order = as_element_order(from, to);
        /* numpy's minimum lets a NaN win as its maximum does. */
        if (as_dtype_is_float(to->dtype) && (isnan(as_view_get(from, 0)) || isnan(as_view_get(to, 0))))
            order = how == AS_REDUCE_MAX ? order : -order;
        if (how == AS_REDUCE_MAX ? order > 0 : order < 0)
            as_view_copy(to, from);
        return;
    default: as_view_copy(to, from);
    }
}

void as_reduce_into(const as_view *dst, const as_view *src, as_reduction how)
{
    if (how == AS_REDUCE_NONE) {
        as_view_copy(dst, src);
        return;
    }
    int64_t count = as_shape_count(&dst->shape);
    for (int64_t i = 0; i < count; i++) {
        as_view to = as_view_nth(dst, i), from = as_view_nth(src, i);
        reduce_one(&to, &from, how);
    }
}

/* --- Costs and gradients --- */

as_cost as_cost_picked(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t whole = as_sat_count(&n->in[0].shape) * as_dtype_bytes(n->in[0].dtype);
    /* Where the total saturated at the largest number, subtracting from it would mean nothing, so it stays. */
    if (cost.bytes_read != UINT64_MAX)
        cost.bytes_read = as_sat_add(cost.bytes_read - whole, cost.bytes_written);
    return cost;
}

as_cost as_scatter_cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_bytes(n);
    if (as_attr_text(n, "reduction", "none")[0] != 'n')
        cost.flops = as_sat_count(&n->in[2].shape);
    return cost;
}

int as_b_blank(as_builder *b, as_dtype dtype, const as_shape *shape)
{
    int zero = as_b_scalar(b, dtype, 0.0);
    return shape->rank == 0 ? zero : as_b2(b, "Expand", zero, as_b_ints(b, shape->dim, (size_t)shape->rank));
}

assay_status as_no_grad(assay_env *env, const as_node_ctx *n, const char *why)
{
    return as_fail(env, ASSAY_UNSUPPORTED, "%s '%s': no gradient: %s", n->op->name, n->name ? n->name : "", why);
}
