/* topk_body.h - the body of k_topk_any_<machine>.c: the k largest (or smallest) elements along an axis and their indices, of any number.
 *
 * An element and its place become one unsigned number that grows with the element and, among equals, with the nearness to the
 * beginning: so no two are equal, and the order is total.  Those above the worst of the best so far are collected; when the list is
 * full, a quickselect keeps the best k.  In strips none of whose elements can be among the best, only the comparison runs.  At the end
 * the best are sorted.  A line is never split between parts. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"

enum { STRIP = 32, LINES = 16 /* that are gathered together where the axis is not the last: a cache line of floats */ };

typedef uint64_t                        short_key;
__extension__ typedef unsigned __int128 long_key;

/* --- Sorting: of distinct keys, the largest first -------------------------------------------------------- */

#define SORTING(key)                                                                              \
    static void key##_sort(key *a, int64_t n, key *spare)                                         \
    {                                                                                             \
        enum { RUN = 16 };                                                                        \
        for (int64_t first = 0; first < n; first += RUN) {                                        \
            int64_t end = first + RUN < n ? first + RUN : n;                                      \
            for (int64_t i = first + 1; i < end; i++) {                                           \
                key     x = a[i];                                                                 \
                int64_t j = i;                                                                    \
                for (; j > first && a[j - 1] < x; j--)                                            \
                    a[j] = a[j - 1];                                                              \
                a[j] = x;                                                                         \
            }                                                                                     \
        }                                                                                         \
        key *from = a, *to = spare;                                                               \
        for (int64_t wide = RUN; wide < n; wide *= 2) {                                           \
            for (int64_t first = 0; first < n; first += 2 * wide) {                               \
                int64_t middle = first + wide < n ? first + wide : n;                             \
                int64_t end = first + 2 * wide < n ? first + 2 * wide : n, i = first, j = middle; \
                for (int64_t k = first; k < end; k++) {                                           \
                    bool left = j >= end || (i < middle && from[i] > from[j]);                    \
                    to[k] = left ? from[i] : from[j];                                             \
                    i += left;                                                                    \
                    j += !left;                                                                   \
                }                                                                                 \
            }                                                                                     \
            key *swap = from;                                                                     \
            from = to;                                                                            \
            to = swap;                                                                            \
        }                                                                                         \
        if (from != a)                                                                            \
            memcpy(a, from, (size_t)n * sizeof *a);                                               \
    }                                                                                             \
    /* Moves the k largest to the front.  Where halving fails too often, sorting does it. */      \
    static void key##_select(key *a, int64_t n, int64_t k, key *spare)                            \
    {                                                                                             \
        int64_t low = 0, high = n - 1;                                                            \
        for (int tries = 0; low < high; tries++) {                                                \
            if (tries == 100) {                                                                   \
                key##_sort(a, n, spare);                                                          \
                return;                                                                           \
            }                                                                                     \
            key     p = a[low], q = a[low + (high - low) / 2], r = a[high];                       \
            key     pivot = p < q ? (q < r ? q : p < r ? r : p) : (p < r ? p : q < r ? r : q);    \
            int64_t i = low, j = high;                                                            \
            while (i <= j) {                                                                      \
                while (a[i] > pivot)                                                              \
                    i++;                                                                          \
                while (a[j] < pivot)                                                              \
                    j--;                                                                          \
                if (i <= j) {                                                                     \
                    key swap = a[i];                                                              \
                    a[i++] = a[j];                                                                \
                    a[j--] = swap;                                                                \
                }                                                                                 \
            }                                                                                     \
            if (k - 1 <= j)                                                                       \
                high = j;                                                                         \
            else if (k - 1 >= i)                                                                  \
                low = i;                                                                          \
            else                                                                                  \
                return;                                                                           \
        }                                                                                         \
    }

SORTING(short_key)
SORTING(long_key)

/* --- Keys --------------------------------------------------------------------------------------------------- */

/* A float's bits in an order of unsigned numbers: -0 is 0, and all NaNs are above infinity. */
#define FLOAT_KEY(name, type, top, inf)                                    \
    static inline type name##_order(type bits)                             \
    {                                                                      \
        type size = (type)(bits & (type) ~(top));                          \
        if (size > (inf))                                                  \
            return (type) ~(type)0;                                        \
        return (bits & (top)) ? (type)((top)-size) : (type)((top) + size); \
    }
FLOAT_KEY(half, uint16_t, UINT16_C(0x8000), UINT16_C(0x7c00))
FLOAT_KEY(brain, uint16_t, UINT16_C(0x8000), UINT16_C(0x7f80))
FLOAT_KEY(single, uint32_t, UINT32_C(0x80000000), UINT32_C(0x7f800000))
FLOAT_KEY(whole, uint64_t, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52)

typedef struct task {
    int64_t length, k;
    bool    largest;
    char   *line; /* one that was gathered */
    void   *keys, *spare;
    int64_t room; /* of keys, at least k + STRIP */
} task;

/* The best k of a line, sorted, as places into `found`.  `bits` is the unsigned type that the order has, and the place takes the lower
 * half of the key.  `better` compares two elements as the machine does: it may say yes too often, and never no to one that is
 * better. */
#define LINE(name, type, key, half_bits, bits, order_of, better)                        \
    static int name##_any(const type *restrict x, type worst, bool largest)             \
    {                                                                                   \
        int found = 0;                                                                  \
        if (largest)                                                                    \
            for (int l = 0; l < STRIP; l++) {                                           \
                type a = x[l], b = worst;                                               \
                found |= better;                                                        \
            }                                                                           \
        else                                                                            \
            for (int l = 0; l < STRIP; l++) {                                           \
                type b = x[l], a = worst;                                               \
                found |= better;                                                        \
            }                                                                           \
        return found;                                                                   \
    }                                                                                   \
    static inline key name##_key(const task *t, type x, int64_t i)                      \
    {                                                                                   \
        bits order = order_of;                                                          \
        return (key)(t->largest ? order : (bits)~order) << half_bits | (bits) ~(bits)i; \
    }                                                                                   \
    static void name##_line(const task *t, const void *from, int64_t *found)            \
    {                                                                                   \
        const type *x = from;                                                           \
        key        *keys = t->keys, limit = 0;                                          \
        int64_t     count = 0, i = 0, k = t->k;                                         \
        while (i < t->length) {                                                         \
            int64_t end = i + STRIP                                                     \
            < t->length ? i + STRIP : t->length;                                        \
            if (limit && end - i == STRIP) {                                            \
                int64_t place = (int64_t)(bits) ~(bits)limit;                           \
                if (!name##_any(x + i, x[place], t->largest)) {                         \
                    i = end;                                                            \
                    continue;                                                           \
                }                                                                       \
            }                                                                           \
            for (; i < end; i++) {                                                      \
                key one = name##_key(t, x[i], i);                                       \
                keys[count] = one;                                                      \
                count += one > limit;                                                   \
            }                                                                           \
            if (count + STRIP > t->room) {                                              \
                key##_select(keys, count, k, t->spare);                                 \
                count = k;                                                              \
                limit = keys[0];                                                        \
                for (int64_t l = 1; l < k; l++)                                         \
                    limit = keys[l] < limit ? keys[l] : limit;                          \
            }                                                                           \
        }                                                                               \
        if (count > k)                                                                  \
            key##_select(keys, count, k, t->spare);                                     \
        key##_sort(keys, k, t->spare);                                                  \
        for (int64_t l = 0; l < k; l++)                                                 \
            found[l] = (int64_t)(bits) ~(bits)keys[l];                                  \
    }

/* Of floats: not a <= b, so that a NaN is looked at. */
LINE(i8, int8_t, short_key, 32, uint32_t, (uint32_t)x ^ UINT32_C(0x80000000), a > b)
LINE(u8, uint8_t, short_key, 32, uint32_t, x, a > b)
LINE(i16, int16_t, short_key, 32, uint32_t, (uint32_t)x ^ UINT32_C(0x80000000), a > b)
LINE(u16, uint16_t, short_key, 32, uint32_t, x, a > b)
LINE(i32, int32_t, short_key, 32, uint32_t, (uint32_t)x ^ UINT32_C(0x80000000), a > b)
LINE(u32, uint32_t, short_key, 32, uint32_t, x, a > b)
LINE(i64, int64_t, long_key, 64, uint64_t, (uint64_t)x ^ (UINT64_C(1) << 63), a > b)
LINE(u64, uint64_t, long_key, 64, uint64_t, x, a > b)
LINE(f16, uint16_t, short_key, 32, uint32_t, half_order(x), half_order(a) > half_order(b))
LINE(bf16, uint16_t, short_key, 32, uint32_t, brain_order(x), brain_order(a) > brain_order(b))

static inline uint32_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return single_order(bits);
}
static inline uint64_t f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return whole_order(bits);
}
LINE(f32, float, short_key, 32, uint32_t, f32_bits(x), !(a <= b))
LINE(f64, double, long_key, 64, uint64_t, f64_bits(x), !(a <= b))

typedef void (*line_run)(const task *t, const void *from, int64_t *found);
static const line_run lines[AS_N_DTYPES] = {
    [AS_I8] = i8_line,   [AS_U8] = u8_line,   [AS_I16] = i16_line, [AS_U16] = u16_line, [AS_I32] = i32_line,   [AS_U32] = u32_line,
    [AS_I64] = i64_line, [AS_U64] = u64_line, [AS_F16] = f16_line, [AS_F32] = f32_line, [AS_BF16] = bf16_line, [AS_F64] = f64_line};

/* --- The node ------------------------------------------------------------------------------------------------- */

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!as_plain_copy_accepts(n, why, why_size))
        return false;
    if (n->in[0].dtype == AS_NONE || !lines[n->in[0].dtype] || as_shape_count(&n->in[0].shape) > INT32_MAX) {
        snprintf(why, why_size, "it does not order %lld elements of %s", (long long)as_shape_count(&n->in[0].shape),
                 as_dtype_name(n->in[0].dtype));
        return false;
    }
    return true;
}

static int axis_of(const as_node_ctx *n)
{
    int64_t axis = as_attr_int(n, "axis", -1);
    return (int)(axis < 0 ? axis + n->in[0].shape.rank : axis);
}

/* Room for k best and as many more before a selection. */
static int64_t room_of(int64_t length, int64_t k)
{
    int64_t room = 2 * k + 2 * STRIP;
    return room < length + STRIP
    ? room : length + STRIP;
}

static size_t up(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* Keys, spare keys, places, and gathered lines, of one part. */
static size_t part_bytes(const as_node_ctx *n, size_t *keys, size_t *places)
{
    const as_shape *x = &n->in[0].shape;
    int             axis = axis_of(n);
    int64_t         length = x->dim[axis], k = n->out[0].shape.dim[axis];
    size_t          bytes = as_dtype_bytes(n->in[0].dtype);
    *keys = up((size_t)room_of(length, k) * (bytes == 8 ? sizeof(long_key) : sizeof(short_key)));
    *places = up((size_t)k * sizeof(int64_t));
    return 2 * *keys + *places + up(LINES * (size_t)length * bytes);
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    size_t keys, places;
    return as_shape_count(&n->out[0].shape) ? (size_t)n_parts * part_bytes(n, &keys, &places) : 0;
}

/* `count` neighbouring lines, one after the other. */
static void gather(const char *from, int64_t length, int64_t inner, int count, size_t bytes, char *to)
{
    for (int64_t i = 0; i < length; i++, from += inner * (int64_t)bytes)
        for (int c = 0; c < count; c++)
            memcpy(to + ((int64_t)c * length + i) * (int64_t)bytes, from + (int64_t)c * (int64_t)bytes, bytes);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    const as_shape    *x = &n->in[0].shape;
    if (as_shape_count(&n->out[0].shape) == 0)
        return;
    size_t   keys, places, bytes = as_dtype_bytes(n->in[0].dtype), all = part_bytes(n, &keys, &places);
    int      axis = axis_of(n);
    char    *mine = (char *)scratch + (size_t)part * all, *values = args->out[0].data, *line = mine + 2 * keys + places;
    int64_t *found = (int64_t *)(void *)(mine + 2 * keys), *where = n->n_out > 1 ? args->out[1].data : NULL, inner = 1, begin, end;
    task     t = {.length = x->dim[axis],
                  .k = n->out[0].shape.dim[axis],
                  .largest = as_attr_int(n, "largest", 1) != 0,
                  .keys = mine,
                  .spare = mine + keys};
    t.room = room_of(t.length, t.k);
    for (int i = axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    int64_t outer = as_shape_count(x) / t.length / inner, groups = (inner + LINES - 1) / LINES;
    as_share(outer * groups, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t     o = unit / groups, first = unit % groups * LINES;
        int         count = inner - first < LINES ? (int)(inner - first) : LINES;
        const char *from = (const char *)args->in[0].data + (o * t.length * inner + first) * (int64_t)bytes;
        if (inner > 1)
            gather(from, t.length, inner, count, bytes, line);
        for (int c = 0; c < count; c++) {
            const char *one = inner > 1 ? line + (int64_t)c * t.length * (int64_t)bytes : from;
            lines[n->in[0].dtype](&t, one, found);
            for (int64_t k = 0; k < t.k; k++) {
                int64_t to = (o * t.k + k) * inner + first + c;
                if (values)
                    memcpy(values + to * (int64_t)bytes, one + found[k] * (int64_t)bytes, bytes);
                if (where)
                    where[to] = found[k];
            }
        }
    }
}
