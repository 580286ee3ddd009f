/* view.c - strided views: finding, reading, writing, copying and comparing elements.
 *
 * Elements are moved with memcpy, which compiles to one load or store: a view may then point to
 * memory of any declared type and alignment without undefined behaviour. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "tensor/tensor.h"

/* --- Where an element is -------------------------------------------------------------------- */

/* Row-major strides of a shape.  A dim of 0 counts as 1, as in as_shape_ok(). */
as_view as_view_of(void *data, as_dtype dtype, const as_shape *shape)
{
    assert(shape->rank >= 0 && shape->rank <= AS_MAX_RANK);
    as_view v = {.data = data, .dtype = dtype, .shape = *shape};
    int64_t stride = 1;
    for (int i = shape->rank - 1; i >= 0; i--) {
        v.stride[i] = stride;
        /* Only an unchecked shape overflows; it wraps here, and its count saturates. */
        (void)__builtin_mul_overflow(stride, shape->dim[i] ? shape->dim[i] : 1, &stride);
    }
    return v;
}

/* The count, and whether logical order is memory order; in one pass, because every access needs both. */
static inline bool is_dense(const as_view *v, int64_t *count)
{
    int64_t n = 1;
    bool    dense = true, overflow = false;
    for (int i = v->shape.rank - 1; i >= 0; i--) {
        dense &= v->shape.dim[i] == 1 || v->stride[i] == n;
        overflow |= __builtin_mul_overflow(n, v->shape.dim[i], &n);
    }
    assert(!overflow && "as_shape_ok() comes before a view");
    (void)overflow;
    *count = n;
    return dense || n == 0;
}

bool as_view_contiguous(const as_view *v)
{
    int64_t count;
    return is_dense(v, &count);
}

size_t as_view_bytes(const as_view *v) { return (size_t)as_shape_count(&v->shape) * as_dtype_bytes(v->dtype); }

as_view as_view_broadcast(const as_view *v, const as_shape *shape)
{
    as_view wide = {.data = v->data, .dtype = v->dtype, .shape = *shape};
    int     shift = shape->rank - v->shape.rank;
    assert(shift >= 0);
    for (int i = 0; i < v->shape.rank; i++) {
        bool same = v->shape.dim[i] == shape->dim[i + shift];
        assert(same || v->shape.dim[i] == 1);
        wide.stride[i + shift] = same ? v->stride[i] : 0;
    }
    return wide;
}

/* Offsets are in elements. */
static inline int64_t offset_i(const as_view *v, int64_t i)
{
    int64_t count;
    bool    dense = is_dense(v, &count);
    assert(i >= 0 && i < count);
    if (dense)
        return i;
    int64_t offset = 0;
    for (int axis = v->shape.rank - 1; axis >= 0; axis--) {
        int64_t dim = v->shape.dim[axis];
        offset += i % dim * v->stride[axis];
        i /= dim;
    }
    return offset;
}

static inline int64_t offset_at(const as_view *v, const int64_t *index)
{
    int64_t offset = 0;
    for (int axis = 0; axis < v->shape.rank; axis++) {
        assert(index[axis] >= 0 && index[axis] < v->shape.dim[axis]);
        offset += index[axis] * v->stride[axis];
    }
    return offset;
}

/* Walks all elements in logical order without a division per element. */
typedef struct walk {
    const as_view *view;
    int64_t        index[AS_MAX_RANK], offset;
} walk;

static inline void walk_on(walk *w)
{
    const as_view *v = w->view;
    for (int axis = v->shape.rank - 1; axis >= 0; axis--) {
        w->offset += v->stride[axis];
        if (++w->index[axis] < v->shape.dim[axis])
            return;
        w->offset -= v->stride[axis] * v->shape.dim[axis];
        w->index[axis] = 0;
    }
}

/* --- What an element is --------------------------------------------------------------------- */

/* Towards zero, as ONNX Cast and C; out of range saturates; NaN gives 0. */
static int64_t i64_of(double x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

/* The same for u64, as its bits. */
static uint64_t u64_of(double x)
{
    if (!(x > 0.0))
        return 0;
    return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* To f32 by rounding to odd: the last bit records that something was lost, so that a second rounding
 * to f16 or bf16 gives the same as one rounding.  The nearest f32 would double-round: 1 + 2^-11 +
 * 2^-40 would become a tie in f16 and go down. */
static float f32_sticky(double x)
{
    float    near = (float)x;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (isnan(x) || (double)near == x || bits & 1)
        return near;
    bits += fabs((double)near) > fabs(x) ? UINT32_MAX : 1; /* one step towards x, which is odd */
    memcpy(&near, &bits, sizeof bits);
    return near;
}

/* The same for i64 to f64: beyond 2^53 the last of the 53 kept bits is the sticky bit. */
static double f64_sticky(int64_t x)
{
    if (x > -(INT64_C(1) << 53) && x < INT64_C(1) << 53)
        return (double)x;
    int64_t kept = x / 2048, lost = x % 2048;
    if (lost && !(kept & 1))
        kept += lost > 0 ? 1 : -1;
    return (double)(kept * 2048);
}

/* And for u64. */
static double f64_sticky_u64(uint64_t x)
{
    if (x <= INT64_MAX)
        return f64_sticky((int64_t)x);
    return (double)((x / 2048 | (x % 2048 != 0)) * 2048);
}

/* Each case has its size, instead of a table, so that an access calls no function. */
static inline unsigned char *element(const as_view *v, int64_t offset, size_t bytes)
{
    return (unsigned char *)v->data + offset * (int64_t)bytes;
}

#define LOAD(x, v, offset)  memcpy(&(x), element((v), (offset), sizeof(x)), sizeof(x))
#define STORE(x, v, offset) memcpy(element((v), (offset), sizeof(x)), &(x), sizeof(x))

/* A u64 is returned as its bits. */
static inline int64_t load_i64(const as_view *v, int64_t offset)
{
    int64_t  x64;
    int32_t  x32;
    uint32_t u32;
    int16_t  x16;
    uint16_t u16;
    switch (v->dtype) {
    case AS_I8:
    case AS_I4:
    case AS_I2: return (int8_t)*element(v, offset, 1);
    case AS_U8:
    case AS_U4:
    case AS_U2: return *element(v, offset, 1);
    case AS_BOOL: return *element(v, offset, 1) != 0; /* files may hold any byte */
    case AS_I16: LOAD(x16, v, offset); return x16;
    case AS_U16: LOAD(u16, v, offset); return u16;
    case AS_I32: LOAD(x32, v, offset); return x32;
    case AS_U32: LOAD(u32, v, offset); return u32;
    default:
        assert(v->dtype == AS_I64 || v->dtype == AS_U64);
        LOAD(x64, v, offset);
        return x64;
    }
}

static inline double load(const as_view *v, int64_t offset)
{
    double   x64;
    float    x32;
    uint16_t x16;
    switch (v->dtype) {
    case AS_F64: LOAD(x64, v, offset); return x64;
    case AS_F32: LOAD(x32, v, offset); return (double)x32;
    case AS_F16: LOAD(x16, v, offset); return (double)as_f16_to_f32(x16);
    case AS_BF16: LOAD(x16, v, offset); return (double)as_bf16_to_f32(x16);
    case AS_F8E4M3FN:
    case AS_F8E4M3FNUZ:
    case AS_F8E5M2:
    case AS_F8E5M2FNUZ:
    case AS_F8E8M0:
    case AS_F6E2M3:
    case AS_F6E3M2:
    case AS_F4E2M1: return as_small_to_f64(v->dtype, *element(v, offset, 1));
    case AS_U64: return (double)(uint64_t)load_i64(v, offset);
    default: return (double)load_i64(v, offset);
    }
}

/* A u64 is stored from its bits. */
static inline void store_i64(const as_view *v, int64_t offset, int64_t x)
{
    int32_t  x32;
    uint32_t u32;
    int16_t  x16;
    uint16_t u16;
    switch (v->dtype) {
    case AS_I8: *element(v, offset, 1) = (unsigned char)clamp(x, INT8_MIN, INT8_MAX); return;
    case AS_U8: *element(v, offset, 1) = (unsigned char)clamp(x, 0, UINT8_MAX); return;
    case AS_I4: *element(v, offset, 1) = (unsigned char)clamp(x, -8, 7); return;
    case AS_U4: *element(v, offset, 1) = (unsigned char)clamp(x, 0, 15); return;
    case AS_I2: *element(v, offset, 1) = (unsigned char)clamp(x, -2, 1); return;
    case AS_U2: *element(v, offset, 1) = (unsigned char)clamp(x, 0, 3); return;
    case AS_BOOL: *element(v, offset, 1) = x != 0; return;
    case AS_I16:
        x16 = (int16_t)clamp(x, INT16_MIN, INT16_MAX);
        STORE(x16, v, offset);
        return;
    case AS_U16:
        u16 = (uint16_t)clamp(x, 0, UINT16_MAX);
        STORE(u16, v, offset);
        return;
    case AS_I32:
        x32 = (int32_t)clamp(x, INT32_MIN, INT32_MAX);
        STORE(x32, v, offset);
        return;
    case AS_U32:
        u32 = (uint32_t)clamp(x, 0, UINT32_MAX);
        STORE(u32, v, offset);
        return;
    default:
        assert(v->dtype == AS_I64 || v->dtype == AS_U64);
        STORE(x, v, offset);
        return;
    }
}

static inline void store(const as_view *v, int64_t offset, double x)
{
    float    x32;
    uint16_t x16;
    switch (v->dtype) {
    case AS_F64: STORE(x, v, offset); return;
    case AS_F32:
        x32 = (float)x;
        STORE(x32, v, offset);
        return;
    case AS_F16:
        x16 = as_f16_from_f32(f32_sticky(x));
        STORE(x16, v, offset);
        return;
    case AS_BF16:
        x16 = as_bf16_from_f32(f32_sticky(x));
        STORE(x16, v, offset);
        return;
    case AS_F8E4M3FN:
    case AS_F8E4M3FNUZ:
    case AS_F8E5M2:
    case AS_F8E5M2FNUZ:
    case AS_F8E8M0:
    case AS_F6E2M3:
    case AS_F6E3M2:
    case AS_F4E2M1: *element(v, offset, 1) = as_small_from_f64(v->dtype, x, false, AS_E8M0_NEAREST); return;
    case AS_BOOL:
        *element(v, offset, 1) = x != 0.0; /* 0.5 is true, which i64_of() would lose */
        return;
    case AS_U64: store_i64(v, offset, (int64_t)u64_of(x)); return;
    default: store_i64(v, offset, i64_of(x)); return;
    }
}

/* Like store_i64, for any dtype: rounds once. */
static inline void store_any_i64(const as_view *v, int64_t offset, int64_t x)
{
    if (!as_dtype_is_float(v->dtype))
        store_i64(v, offset, x);
    else
        store(v, offset, v->dtype == AS_F64 ? (double)x : f64_sticky(x));
}

/* Copies an integer element from one view to another, by value. */
static inline void convert_i64(const as_view *dst, int64_t to, const as_view *src, int64_t from)
{
    int64_t x = load_i64(src, from);
    if (src->dtype == AS_U64 && x < 0) { /* 2^63 or more */
        if (as_dtype_is_float(dst->dtype))
            store(dst, to, dst->dtype == AS_F64 ? (double)(uint64_t)x : f64_sticky_u64((uint64_t)x));
        else
            store_i64(dst, to, dst->dtype == AS_U64 ? x : INT64_MAX);
        return;
    }
    store_any_i64(dst, to, dst->dtype == AS_U64 && x < 0 ? 0 : x);
}

double as_view_get(const as_view *v, int64_t i) { return load(v, offset_i(v, i)); }

void as_view_set(const as_view *v, int64_t i, double x) { store(v, offset_i(v, i), x); }

int64_t as_view_get_i64(const as_view *v, int64_t i)
{
    int64_t offset = offset_i(v, i);
    return as_dtype_is_float(v->dtype) ? i64_of(load(v, offset)) : load_i64(v, offset);
}

void as_view_set_i64(const as_view *v, int64_t i, int64_t x) { store_any_i64(v, offset_i(v, i), x); }

double as_view_at(const as_view *v, const int64_t *index) { return load(v, offset_at(v, index)); }

void as_view_put(const as_view *v, const int64_t *index, double x) { store(v, offset_at(v, index), x); }

/* --- Whole views ---------------------------------------------------------------------------- */

void as_view_copy(const as_view *dst, const as_view *src)
{
    int64_t count, n_src;
    bool    dst_dense = is_dense(dst, &count), src_dense = is_dense(src, &n_src);
    assert(count == n_src);
    if (count != n_src || !count)
        return;
    /* The same dtype moves bits, so that NaN payloads stay; bool does not, so that every byte we write is 0 or 1. */
    bool   as_bits = dst->dtype == src->dtype && dst->dtype != AS_BOOL, from_float = as_dtype_is_float(src->dtype);
    size_t bytes = as_dtype_bytes(dst->dtype);
    if (as_bits && dst_dense && src_dense) {
        memmove(dst->data, src->data, (size_t)count * bytes);
        return;
    }
    walk to = {.view = dst}, from = {.view = src};
    for (int64_t i = 0; i < count; i++, walk_on(&to), walk_on(&from)) {
        if (as_bits)
            memmove(element(dst, to.offset, bytes), element(src, from.offset, bytes), bytes);
        else if (from_float)
            store(dst, to.offset, load(src, from.offset));
        else
            convert_i64(dst, to.offset, src, from.offset);
    }
}

static double error_of(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0.0;
    if (!isfinite(a) || !isfinite(b))
        return INFINITY;
    double diff = fabs(a - b); /* it may overflow for finite f64: halves do not, and the 1 does not matter there */
    return isinf(diff) ? fabs(a / 2 - b / 2) / (fabs(b) / 2) : diff / (1.0 + fabs(b));
}

/* Integers are subtracted as integers: beyond 2^53, neighbours are the same double. */
static double error_of_i64(const as_view *a, int64_t at_a, const as_view *b, int64_t at_b)
{
    int64_t  x = load_i64(a, at_a), y = load_i64(b, at_b);
    bool     big_x = a->dtype == AS_U64 && x < 0, big_y = b->dtype == AS_U64 && y < 0; /* 2^63 or more, and so the larger */
    bool     x_larger = big_x == big_y ? x > y : big_x;
    uint64_t diff = x_larger ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
    double   size = fabs(load(b, at_b));
    /* A negative i64 and a large u64 may differ by more than 64 bits. */
    if (big_x != big_y && (big_x ? y : x) < 0)
        return fabs(load(a, at_a) - load(b, at_b)) / (1.0 + size);
    return (double)diff / (1.0 + size);
}

bool as_view_fits(const as_view *v, as_dtype dtype)
{
    if (v->dtype == dtype)
        return true;
    if (as_dtype_is_float(v->dtype) || as_dtype_is_float(dtype))
        return as_dtype_is_float(v->dtype) && as_dtype_is_float(dtype);
    if (v->dtype == AS_BOOL || dtype == AS_BOOL)
        return false;
    int64_t count, word; /* one element, converted and compared */
    as_view one = as_view_of(&word, dtype, &(as_shape){0});
    walk    at = {.view = v};
    is_dense(v, &count);
    for (int64_t i = 0; i < count; i++, walk_on(&at)) {
        convert_i64(&one, 0, v, at.offset);
        if (error_of_i64(&one, 0, v, at.offset) != 0.0)
            return false;
    }
    return true;
}

double as_view_error(const as_view *a, const as_view *b)
{
    if (!as_shape_same(&a->shape, &b->shape))
        return INFINITY;
    bool    is_float = as_dtype_is_float(a->dtype) || as_dtype_is_float(b->dtype);
    int64_t count = as_shape_count(&a->shape);
    walk    wa = {.view = a}, wb = {.view = b};
    double  largest = 0.0;
    for (int64_t i = 0; i < count; i++, walk_on(&wa), walk_on(&wb)) {
        double error = is_float ? error_of(load(a, wa.offset), load(b, wb.offset)) : error_of_i64(a, wa.offset, b, wb.offset);
        if (error > largest)
            largest = error;
    }
    return largest;
}
