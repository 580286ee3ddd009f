/* gemm_tile.h - the register tile of all f32 products: up to TILE_ROWS rows by one panel of TILE_COLS columns.
 *
 * Include one of the simd_*.h before.  B comes as panels, [k][TILE_COLS], so that a step of K reads TILE_VECS neighbouring
 * vectors; A comes as rows (a step of K is the next float) or packed as [k][rows].  B is stored as f32; where TILE_F16 or
 * TILE_BF16 is defined it is stored in 16 bits, which become f32 when they are loaded into registers: half the bytes, the same
 * sums.
 *
 *   vf sum[TILE_ROWS][TILE_VECS];
 *   tile_zero(6, sum);
 *   tile_add(6, true, a, a_row, panel, TILE_COLS, k, sum);
 *
 * `rows` and the flag after it must be constants in every call: every loop over rows is unrolled, and an accumulator that is
 * indexed at run time anywhere makes the compiler keep all of them in memory (32 % of the limit instead of 87 %). */
#ifndef AS_BACKEND_CPU_GEMM_TILE_H
#define AS_BACKEND_CPU_GEMM_TILE_H

#include <stdbool.h>
#include <string.h>

#include "tensor/tensor.h"

/* Rows x vectors: all registers except those for B and one for A, so 12 of 16, or 24 of 32.  Vectors of sixteen use two vectors and
 * twelve rows: four vectors would leave most of a panel empty where there are few columns. */
#ifdef __AVX512F__
#define TILE_TALL
enum { TILE_ROWS = 12, TILE_VECS = 2 };
#else
enum { TILE_ROWS = 6, TILE_VECS = AS_SIMD_REGISTERS >= 32 ? 4 : 2 };
#endif
enum { TILE_COLS = TILE_VECS * VW, TILE_AHEAD = 32, TILE_BASES = TILE_ROWS / 3 };

/* sum += a * b, and the sum stays in its register.  In assembly, because gcc, given v_fma(), sometimes multiplies into a's or b's
 * register, moves the sums around between the steps of K, lacks one register for that, and keeps a sum in memory: 60 % of the
 * limit. */
#if defined __AVX512F__
#define TILE_FMA(sum, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b))
#elif defined __FMA__
#define TILE_FMA(sum, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b))
#elif defined __aarch64__
#define TILE_FMA(sum, a, b) __asm__ volatile("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(a), "w"(b)) /* volatile: in this order */
#else
#define TILE_FMA(sum, a, b) ((sum) = v_fma(a, b, sum))
#endif

/* How B is stored: tile_b, the conversion of a number, the place of a column in its line, and a line as vectors. */
#if defined TILE_F16
#define TILE_STORED "f16"
typedef uint16_t tile_b;
V_INLINE tile_b  tile_store(float x) { return as_f16_from_f32(x); }
V_INLINE int64_t tile_place(int64_t column) { return column; }
V_INLINE void    tile_line(const tile_b *b, vf line[TILE_VECS])
{
    V_UNROLL
    for (int v = 0; v < TILE_VECS; v++)
        line[v] = v_load_f16(b + v * VW);
}
#elif defined TILE_BF16
#define TILE_STORED "bf16"
typedef uint16_t tile_b;
V_INLINE tile_b  tile_store(float x) { return as_bf16_from_f32(x); }
/* Two vectors share their words, one has the low halves and one the high ones: one load, one shift and one mask give both. */
V_INLINE int64_t tile_place(int64_t column) { return column / (2 * VW) * (2 * VW) + column % VW * 2 + column / VW % 2; }
V_INLINE void    tile_line(const tile_b *b, vf line[TILE_VECS])
{
    V_UNROLL
    for (int v = 0; v < TILE_VECS; v += 2) {
        vi words;
        memcpy(&words, b + v * VW, sizeof words);
        line[v] = v_bits(vi_shift_left(words, 16));
        line[v + 1] = v_bits(vi_and(words, vi_set(-0x10000)));
    }
}
#else
typedef float    tile_b;
V_INLINE tile_b  tile_store(float x) { return x; }
V_INLINE int64_t tile_place(int64_t column) { return column; }
V_INLINE void    tile_line(const tile_b *b, vf line[TILE_VECS])
{
    V_UNROLL
    for (int v = 0; v < TILE_VECS; v++)
        line[v] = v_load(b + v * VW);
}
#endif

V_INLINE void tile_zero(const int rows, vf sum[TILE_ROWS][TILE_VECS])
{
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < TILE_VECS; v++)
            sum[r][v] = v_zero();
    }
}

/* One step of K, `at` floats after a[].  Rows along K: three from one pointer and one distance, and one pointer for every three. */
V_INLINE void tile_step(const int rows, const bool along, const float *const a[TILE_BASES], int64_t at, int64_t a_row,
                        const tile_b *b, vf sum[TILE_ROWS][TILE_VECS])
{
    vf line[TILE_VECS];
    tile_line(b, line);
    if (along)
        __asm__(
            ""
            : "+r"(
                a_row)); /* or gcc keeps a_row + 1, a_row + 2, ... in more registers than there are, and one of them in a vector's */
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        vf x = v_one(along ? a[r / 3] + r % 3 * a_row + at : a[0] + r + at);
        V_UNROLL
        for (int v = 0; v < TILE_VECS; v++)
            TILE_FMA(sum[r][v], x, line[v]);
    }
}

/* sum += A B over k terms, each element's in order; few rows have two or four sums per element, over every second or fourth
 * term, because they would wait for each other otherwise. along: A(r, k) is a[r * a_row + k], else a[k * rows + r] and
 * a_row is not read.  B(k, c) is b[k * b_row + c]. */
V_INLINE void tile_add(const int rows, const bool along, const float *a, int64_t a_row, const tile_b *b, int64_t b_row, int64_t k,
                       vf sum[TILE_ROWS][TILE_VECS])
{
    const int    a_step = along ? 1 : rows, n_bases = along ? (rows + 2) / 3 : 1;
    const float *base[TILE_BASES];
    int64_t      i = 0;
    V_UNROLL
    for (int j = 0; j < n_bases; j++)
        base[j] = a + 3 * j * a_row;
    if (rows >= 4) {
        for (; i + 4 <= k; i += 4) {
            V_UNROLL
            for (int u = 0; u < 4; u++)
                tile_step(rows, along, base, u * a_step, a_row, b + u * b_row, sum);
            V_UNROLL
            for (int j = 0; j < n_bases; j++)
                base[j] += 4 * a_step;
            b += 4 * b_row;
        }
    } else {
        vf more[3][TILE_ROWS][TILE_VECS];
        V_UNROLL
        for (int s = 0; s < 3; s++)
            tile_zero(rows, more[s]);
        for (; i + 4 <= k; i += 4) {
            /* One row waits only for B: fetching 2 KiB ahead, cnn-cifar at batch 1, a quarter of which is such a product, takes 8 %
             * less. */
            V_UNROLL
            for (int at = 0; rows == 1 && at < 4 * TILE_COLS; at += (int)(64 / sizeof *b))
                __builtin_prefetch(b + (at / TILE_COLS + TILE_AHEAD) * b_row + at % TILE_COLS);
            tile_step(rows, along, base, 0, a_row, b, sum);
            tile_step(rows, along, base, a_step, a_row, b + b_row, more[0]);
            tile_step(rows, along, base, 2 * a_step, a_row, b + 2 * b_row, rows == 1 ? more[1] : sum);
            tile_step(rows, along, base, 3 * a_step, a_row, b + 3 * b_row, rows == 1 ? more[2] : more[0]);
            base[0] += 4 * a_step;
            b += 4 * b_row;
        }
        V_UNROLL
        for (int r = 0; r < rows; r++) {
            V_UNROLL
            for (int v = 0; v < TILE_VECS; v++) {
                sum[r][v] = v_add(sum[r][v], more[0][r][v]);
                if (rows == 1)
                    sum[r][v] = v_add(sum[r][v], v_add(more[1][r][v], more[2][r][v]));
            }
        }
    }
    for (; i < k; i++) {
        tile_step(rows, along, base, 0, a_row, b, sum);
        V_UNROLL
        for (int j = 0; j < n_bases; j++)
            base[j] += a_step;
        b += b_row;
    }
}

#endif
