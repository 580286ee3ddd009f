/* tile.h - products of bytes: tiles in registers, the packing of both operands, and what happens to a sum; include a q_*.h before.
 *
 * The first operand is signed terms, with zeros up to a whole step, the rows of a tile side by side in each step: one stream of memory
 * instead of twelve.  The second operand is stored in panels of Q_COLS
 * columns: for each step of Q_TERMS terms, the bytes of one column side by side.  Sums are exact modulo 2^32, and zero points are
 * taken out afterwards:
 *     sum of (a - za)(b - zb) = sum of ab - za * (sum of b - k * zb) - zb * sum of a
 * Everything is an integer until the result is scaled, so the bits do not depend on how the work is split. */
#ifndef AS_BACKEND_CPU_QUANT_TILE_H
#define AS_BACKEND_CPU_QUANT_TILE_H

#include "backend/cpu/kernel.h"
#include "backend/cpu/quant/round.h"

enum { Q_COLS = Q_VECS * QL, STEP_BYTES = Q_COLS * Q_TERMS, LINE = 64 };

typedef uint32_t qu __attribute__((vector_size(QL * 4)));
typedef uint8_t  u8x16 __attribute__((vector_size(16)));
typedef int8_t   i8x16 __attribute__((vector_size(16)));
typedef uint16_t u16x8 __attribute__((vector_size(16)));
typedef int16_t  i16x16 __attribute__((vector_size(32)));

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t up_to(int64_t a, int64_t unit) { return (a + unit - 1) / unit * unit; }
static inline int64_t steps_of(int64_t k) { return (k + Q_TERMS - 1) / Q_TERMS; }
static inline int64_t panel_bytes_of(int64_t k) { return up_to(steps_of(k) * STEP_BYTES, LINE); }
/* Terms of a row, up to a whole step. */
static inline int64_t row_terms_of(int64_t k) { return steps_of(k) * Q_TERMS; }
/* Rows of the next tile, when `left` remain. */
static inline int height_of(int64_t left)
{
    return left >= Q_ROWS ? Q_ROWS : Q_ROWS > 8 && left >= 8 ? 8 : Q_ROWS > 4 && left >= 4 ? 4 : left >= 2 ? 2 : 1;
}
/* What a byte of the first operand and of a panel must be exclusive-ored with, and what a zero point becomes. */
static inline uint8_t row_flip(as_dtype dtype) { return dtype == AS_U8 ? 0x80 : 0; }
static inline int32_t row_zero(as_dtype dtype, int32_t zero) { return dtype == AS_U8 ? zero - 128 : zero; }
static inline uint8_t panel_flip(as_dtype dtype) { return (dtype == AS_U8) == (Q_BIAS == 0) ? 0x80 : 0; }
static inline int32_t panel_zero(as_dtype dtype, int32_t zero) { return row_zero(dtype, zero) + Q_BIAS; }

/* --- Packing --------------------------------------------------------------------------------------------------- */

Q_INLINE u8x16 u8_load(const uint8_t *p)
{
    u8x16 x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* One row of k bytes as signed terms, the steps of `height` rows side by side; returns the sum of the terms. */
static int32_t row_pack(const uint8_t *from, int64_t k, uint8_t flip, int height, q_term *to)
{
    enum { UNITS = 16 / Q_TERMS };
    qu      sums = {0};
    int32_t sum = 0;
    int64_t i = 0, step = (int64_t)height * Q_TERMS;
    for (; i + 16 <= k; i += 16, to += UNITS * step) {
        uint8_t flat[16];
        q_term  terms[16];
        u8x16   x = u8_load(from + i) ^ flip;
        memcpy(flat, &x, sizeof flat);
        if (sizeof *to == 1) {
            memcpy(terms, flat, sizeof flat);
        } else {
            i16x16 wide = __builtin_convertvector((i8x16)x, i16x16);
            memcpy(terms, &wide, sizeof terms);
        }
        V_UNROLL
        for (int u = 0; u < UNITS; u++)
            memcpy(to + u * step, terms + u * Q_TERMS, Q_TERMS * sizeof *to);
        V_UNROLL
        for (int j = 0; j < Q_PER; j++)
            sums += (qu)q_load_i8(flat + j * QL);
    }
    for (int64_t t = 0; i + t < up_to(k, Q_TERMS); t++) {
        q_term x = (q_term)(i + t < k ? (int8_t)(from[i + t] ^ flip) : 0);
        to[t / Q_TERMS * step + t % Q_TERMS] = x;
        sum += x;
    }
    for (int j = 0; j < QL; j++)
        sum = (int32_t)((uint32_t)sum + sums[j]);
    return sum;
}

/* Sixteen columns of Q_TERMS lines, the bytes of a column side by side. */
Q_INLINE void sixteen_join(const u8x16 *line, uint8_t *to)
{
    if (Q_TERMS == 1) {
        memcpy(to, line, 16);
        return;
    }
    u8x16 low[2], high[2];
    V_UNROLL
    for (int t = 0; t < Q_TERMS / 2; t++) {
        u8x16 a = line[2 * t % Q_TERMS], b = line[(2 * t + 1) % Q_TERMS];
        low[t] = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        high[t] = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
    if (Q_TERMS == 2) {
        memcpy(to, &low[0], 16);
        memcpy(to + 16, &high[0], 16);
        return;
    }
    u16x8 out[4] = {__builtin_shufflevector((u16x8)low[0], (u16x8)low[1], 0, 8, 1, 9, 2, 10, 3, 11),
                    __builtin_shufflevector((u16x8)low[0], (u16x8)low[1], 4, 12, 5, 13, 6, 14, 7, 15),
                    __builtin_shufflevector((u16x8)high[0], (u16x8)high[1], 0, 8, 1, 9, 2, 10, 3, 11),
                    __builtin_shufflevector((u16x8)high[0], (u16x8)high[1], 4, 12, 5, 13, 6, 14, 7, 15)};
    memcpy(to, out, sizeof out);
}

/* The sum of each column of a panel. */
static void panel_sums(const uint8_t *panel, int64_t n_steps, int32_t *sums)
{
    const q_term one[4] = {1, 1, 1, 1};
    qi           sum[Q_VECS] = {{0}};
    for (int64_t s = 0; s < n_steps; s++) {
        V_UNROLL
        for (int v = 0; v < Q_VECS; v++)
            sum[v] = q_dot(sum[v], q_all(one), q_load_b(panel + s * STEP_BYTES + v * QL * Q_TERMS));
    }
    memcpy(sums, sum, sizeof sum);
}

/* --- A tile ------------------------------------------------------------------------------------------------------ */

enum { TILE_SUMS = Q_ROWS > 8 ? Q_ROWS : 8 };

/* Few rows take several chains of sums, so that one sum does not wait for the one before. */
Q_INLINE void tile_do(int rows, int chains, int vecs, const q_term *a, const uint8_t *panel, int64_t n_steps, int32_t *sums)
{
    qi s[TILE_SUMS][Q_VECS];
    V_UNROLL
    for (int r = 0; r < rows * chains; r++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++)
            s[r][v] = (qi){0};
    }
    int64_t k = 0;
    for (; k + chains <= n_steps; k += chains, panel += chains * STEP_BYTES, a += chains * rows * Q_TERMS) {
        V_UNROLL
        for (int c = 0; c < chains; c++) {
            q_b b[Q_VECS];
            V_UNROLL
            for (int v = 0; v < vecs; v++)
                b[v] = q_load_b(panel + c * STEP_BYTES + v * QL * Q_TERMS);
            V_UNROLL
            for (int r = 0; r < rows; r++) {
                q_a x = q_all(a + (c * rows + r) * Q_TERMS);
                V_UNROLL
                for (int v = 0; v < vecs; v++)
                    s[c * rows + r][v] = q_dot(s[c * rows + r][v], x, b[v]);
            }
        }
    }
    for (; k < n_steps; k++, panel += STEP_BYTES, a += rows * Q_TERMS) {
        V_UNROLL
        for (int r = 0; r < rows; r++) {
            V_UNROLL
            for (int v = 0; v < vecs; v++)
                s[r][v] = q_dot(s[r][v], q_all(a + r * Q_TERMS), q_load_b(panel + v * QL * Q_TERMS));
        }
    }
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < vecs; v++) {
            qu sum = (qu)s[r][v];
            V_UNROLL
            for (int c = 1; c < chains; c++)
                sum += (qu)s[c * rows + r][v];
            memcpy(sums + r * Q_COLS + v * QL, &sum, sizeof sum);
        }
    }
}

#define TILE_OF(name_, rows_, chains_, vecs_)                                                                                  \
    static __attribute__((noinline, unused)) void name_(const q_term *a, const uint8_t *panel, int64_t n_steps, int32_t *sums) \
    {                                                                                                                          \
        tile_do(rows_, chains_, vecs_, a, panel, n_steps, sums);                                                               \
    }
#define TILE(rows_, chains_) TILE_OF(tile_##rows_, rows_, chains_, Q_VECS)
/* A panel whose columns fill at most half of it. */
TILE_OF(tile_narrow, Q_ROWS, 1, Q_VECS / 2)
#if Q_ROWS == 12
TILE(12, 1)
TILE(8, 1)
#elif Q_ROWS == 6
TILE(6, 1)
#endif
#if Q_ROWS > 2
TILE(4, 1)
#endif
TILE(2, 2)
TILE(1, 4)

/* The tallest tile for the rows that are left and `width` columns: its sums, and how many rows it has. */
static int tile_run(int64_t left, int64_t width, const q_term *a, const uint8_t *panel, int64_t n_steps, int32_t *sums)
{
    if (left >= Q_ROWS && width <= Q_COLS / 2)
        return tile_narrow(a, panel, n_steps, sums), Q_ROWS;
#if Q_ROWS == 12
    if (left >= 12)
        return tile_12(a, panel, n_steps, sums), 12;
    if (left >= 8)
        return tile_8(a, panel, n_steps, sums), 8;
#elif Q_ROWS == 6
    if (left >= 6)
        return tile_6(a, panel, n_steps, sums), 6;
#endif
#if Q_ROWS > 2
    if (left >= 4)
        return tile_4(a, panel, n_steps, sums), 4;
#endif
    if (left >= 2)
        return tile_2(a, panel, n_steps, sums), 2;
    return tile_1(a, panel, n_steps, sums), 1;
}

/* --- What happens to a sum ------------------------------------------------------------------------------------------ */

/* The result of row r and column c is
 *     v = sum + row_add[r] + col_add[c] - row_zero[r] * col_sum[c] - row_sum[r] * col_zero[c]
 * as i32, or rounded: v * scale + zero.  An array that is NULL has nothing to say.  The scale is row_scale[r] or col_scale[c]; with
 * both it is (row_scale[r] * col_scale[c]) / y_scale[r]. */
typedef struct q_out {
    as_dtype       dtype;
    uint8_t       *y;
    int64_t        y_row; /* in elements */
    const int32_t *row_add, *row_zero, *row_sum, *row_y_zero;
    const float   *row_scale, *y_scale;
    const int32_t *col_add, *col_sum, *col_zero;
    const float   *col_scale;
    int32_t        y_zero; /* where row_y_zero is NULL */
    bool           odd;    /* a scale is not a finite number */
} q_out;

/* Which of these a result needs; a constant in each copy of the loop. */
enum {
    WITH_ADD = 1,
    WITH_ZERO = 2,
    WITH_SUM = 4,
    WITH_SCALE = 8,
    WITH_COL_SCALE = 16,
    WITH_BOTH = 32,
    WITH_COL_ADD = 64,
    WITH_ODD = 128
};

static inline unsigned with_of(const q_out *o)
{
    unsigned with =
        (o->row_add ? WITH_ADD : 0) | (o->row_zero ? WITH_ZERO : 0) | (o->row_sum ? WITH_SUM : 0) | (o->col_add ? WITH_COL_ADD : 0);
    if (o->dtype != AS_I32)
        with |= WITH_SCALE | (o->odd ? WITH_ODD : 0) | (o->col_scale ? WITH_COL_SCALE : 0) |
                (o->col_scale && o->row_scale ? WITH_BOTH : 0);
    return with;
}

/* Sixteen results from column j on. */
Q_INLINE void sixteen_finish(unsigned with, const q_out *o, const int32_t *sums, int64_t row, int64_t j, qf low, qf high, qi zero,
                             qi *v)
{
    V_UNROLL
    for (int k = 0; k < Q_PER; k++) {
        int64_t at = j + k * QL;
        qu      x = (qu)q_load_i(sums + at);
        if (with & WITH_ADD)
            x += (uint32_t)o->row_add[row];
        if (with & WITH_COL_ADD)
            x += (qu)q_load_i(o->col_add + at);
        if (with & WITH_ZERO)
            x -= (uint32_t)o->row_zero[row] * (qu)q_load_i(o->col_sum + at);
        if (with & WITH_SUM)
            x -= (uint32_t)o->row_sum[row] * (qu)q_load_i(o->col_zero + at);
        v[k] = (qi)x;
        if (!(with & WITH_SCALE))
            continue;
        qf scale = with & WITH_COL_SCALE ? q_load(o->col_scale + at) : q_set(o->row_scale[row]);
        if (with & WITH_BOTH)
            scale = o->row_scale[row] * scale / o->y_scale[row];
        if (with & WITH_ODD)
            v[k] = q_round(q_float(v[k]) * scale, low, high, zero);
        else
            v[k] = q_nearest(q_within(q_float(v[k]) * scale, low, high)) + zero;
    }
}

/* `width` results of row `row`, to y from element `first` on.  Sums and what belongs to columns may be read up to a multiple of 16. */
Q_INLINE void line_finish(unsigned with, const q_out *o, const int32_t *sums, int64_t row, int64_t first, int64_t width)
{
    int32_t zero = o->row_y_zero ? o->row_y_zero[row] : o->y_zero;
    qi      z = q_set_i(zero), v[Q_PER];
    qf      low = q_set((float)(q_lowest(o->dtype) - zero)), high = q_set((float)(q_highest(o->dtype) - zero));
    int64_t bytes = with & WITH_SCALE ? 1 : 4, j = 0;
    uint8_t flat[64], *y = o->y + first * bytes;
    for (; j + 16 <= width; j += 16, y += 16 * bytes) {
        sixteen_finish(with, o, sums, row, j, low, high, z, v);
        if (with & WITH_SCALE)
            q_store_8(y, v);
        else
            memcpy(y, v, 64);
    }
    if (j == width)
        return;
    sixteen_finish(with, o, sums, row, j, low, high, z, v);
    if (with & WITH_SCALE)
        q_store_8(flat, v);
    else
        memcpy(flat, v, 64);
    memcpy(y, flat, (size_t)((width - j) * bytes));
}

/* n rows from `row` on, whose sums are `pitch` apart. */
Q_INLINE void lines_finish(unsigned with, const q_out *o, const int32_t *sums, int64_t pitch, int64_t row, int n, int64_t first,
                           int64_t width)
{
    for (int r = 0; r < n; r++)
        line_finish(with, o, sums + r * pitch, row + r, first + r * o->y_row, width);
}

/* Fetches the place of a tile's results while its sums are computed: rows of y are pages apart, which no CPU predicts. */
Q_INLINE void rows_fetch(const q_out *o, int64_t row, int64_t end, int64_t at)
{
    int64_t bytes = o->dtype == AS_I32 ? 4 : 1;
    for (int64_t r = row; r < end && r < row + Q_ROWS; r++)
        for (int64_t i = 0; i < Q_COLS * bytes; i += LINE)
            __builtin_prefetch(o->y + (r * o->y_row + at) * bytes + i, 1);
}

/* One row of any width. */
static __attribute__((noinline, unused)) void row_finish(const q_out *from, const int32_t *sums, int64_t row, int64_t first,
                                                         int64_t width)
{
    const q_out o = *from; /* one that y cannot overlap */
    if (with_of(&o) == (WITH_ADD | WITH_SCALE))
        line_finish(WITH_ADD | WITH_SCALE, &o, sums, row, first, width);
    else
        line_finish(with_of(&o), &o, sums, row, first, width);
}

/* Rows [row, row + n) of the block and `width` columns from column `at` of y on. */
static __attribute__((noinline, unused)) void rows_finish(const q_out *from, const int32_t *sums, int64_t row, int n, int64_t at,
                                                          int64_t width)
{
    const q_out copy = *from, *o = &copy; /* one that y cannot overlap */
    unsigned    with = with_of(o);
    int64_t     first = row * o->y_row + at;
    switch (with) {
    case WITH_ADD | WITH_SCALE: /* QLinearConv */ lines_finish(WITH_ADD | WITH_SCALE, o, sums, Q_COLS, row, n, first, width); break;
    case WITH_ADD: lines_finish(WITH_ADD, o, sums, Q_COLS, row, n, first, width); break;
    case WITH_ADD | WITH_COL_ADD: lines_finish(WITH_ADD | WITH_COL_ADD, o, sums, Q_COLS, row, n, first, width); break;
    case WITH_ADD | WITH_COL_ADD | WITH_SCALE | WITH_COL_SCALE: /* QLinearMatMul */
        lines_finish(WITH_ADD | WITH_COL_ADD | WITH_SCALE | WITH_COL_SCALE, o, sums, Q_COLS, row, n, first, width);
        break;
    default: lines_finish(with, o, sums, Q_COLS, row, n, first, width); break;
    }
}

#endif
