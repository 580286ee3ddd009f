/* gemm_body.h - act(alpha * A B + beta * C) on packed panels, written once; include a simd_*.h before.
 *
 * B is stored in panels of TILE_COLS columns, [k][TILE_COLS], with zeros after the last column.  K is cut so that a piece of a
 * panel stays in the L1 cache while a block of rows, which stays in L2, is multiplied with it; unfinished sums stay in Y. Constant
 * weights are packed once, as f32 or in the 16 bits that gemm_tile.h was asked for; each part packs a B that changes for itself, or
 * reads it in place when few rows use it.  A is packed too where it is transposed, or where it is large, so that its rows are pages
 * apart, and many panels use it. */
#ifndef AS_BACKEND_CPU_GEMM_BODY_H
#define AS_BACKEND_CPU_GEMM_BODY_H

#include <stdio.h>
#include <string.h>

#include "backend/cpu/product/gemm.h"
#include "backend/cpu/product/gemm_tile.h"
#include "backend/cpu/simd/vmath.h"
#include "op/rules.h"

enum {
    K_MOST = 320,        /* terms per piece: 20 KiB of a panel, 7.5 KiB of a tile of A; twice that where vectors have sixteen */
    FEW_TILES = 6,       /* up to this many tiles of rows, a piece may have */
    K_MOST_FEW = 800,    /* terms */
    A_MOST = 60 * 1024,  /* floats per block of A: 240 KiB, half of a usual L2 cache */
    B_MOST = 256 * 1024, /* floats that a part packs at a time, unless one panel is larger */
    B_MOST_ALONE = 32 * 1024,  /* where A is not packed: they stay in L2 until the product reads them */
    DIRECT_ROWS = 12,          /* packing costs as much as the product of three rows */
    PACK_A_PANELS = 16,        /* below this many uses, packing A does not pay */
    FRESH_ROWS = 128,          /* up to this many rows, a B that changes is packed piece by piece while its product needs it */
    TURN_ROWS = 8 * TILE_ROWS, /* columns of a turned product that are computed at a time */
    LINE_FLOATS = 16,          /* of a cache line */
    LINE_B = 64 / sizeof(tile_b),
#ifdef TILE_TALL
    FETCH_B = 0, /* CPUs with AVX-512 fetch a panel by themselves: with prefetches they take 4 % longer, with 2 MiB of B 15 % */
#else
    FETCH_B = 1,
#endif
    FETCH_Y_K = 96,     /* from this length on, a tile is long enough to fetch its part of Y meanwhile, */
    FETCH_Y = 8 * 1024, /* which costs 2 % where this many floats of Y, 32 KiB, are in the cache already */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A product as this kernel computes it.  It comes before packed weights, so that a run need not read the node again. */
typedef struct recipe {
    as_gemm      g;
    as_gemm_rows rows;
    int64_t      n_panels, panel;    /* panel: floats of one */
    int64_t      piece;              /* terms of K in a piece */
    int64_t      block;              /* tiles in a block of rows */
    int64_t      group;              /* panels that a part packs at a time, when B changes */
    int64_t      scratch_a, scratch; /* floats per part: for A, in all */
    bool         packs_a;
    bool         reads_b;   /* reads B in place where it is not packed already; with the same bits */
    bool         turns;     /* a B that is not packed comes as rows of the turned product; with the same bits */
    bool         few;       /* few rows: all of K in one piece, and tile by tile instead of panel by panel */
    bool         far;       /* panels take more than half of the L2 cache, so they are fetched ahead */
    bool         fetches_y; /* while a tile is computed */
    bool         bare;      /* a sum is a result */
    bool         plain;     /* a sum needs at most a row of C and two bounds */
    float        low, high;
    as_act_f32   act;
} recipe;

enum { HEAD_FLOATS = (sizeof(recipe) + 63) / 64 * 16 };

/* The length of a piece of K: equal pieces, multiples of four.  A single tile of rows uses each panel once, so it does not cut K; a
 * few tiles use it so seldom that reading it from L2 costs less than keeping sums in Y (64 rows of 784 terms: 2 %). */
static int64_t piece_of(const as_gemm *g)
{
    int64_t most = g->m <= FEW_TILES * TILE_ROWS ? K_MOST_FEW : K_MOST;
    int64_t n_pieces = g->m <= TILE_ROWS ? 1 : (g->k + most - 1) / most;
    return n_pieces <= 1 ? g->k : ((g->k + n_pieces - 1) / n_pieces + 3) / 4 * 4;
}

/* Y = A B' is Y' = B A': where the columns of B lie along K, and there are fewer rows in A than columns in B, B can be read as it is,
 * and A, which is smaller, is packed instead.  Panels of A that are not full would cost more than that saves. */
enum { TURN_MOST = TURN_ROWS + 2 * VW };
static int64_t turned_panels(const as_gemm *g) { return (g->m + TILE_COLS - 1) / TILE_COLS; }
static bool    is_turned(const as_gemm *g)
{
#ifdef TILE_STORED
    (void)g;
    return false;
#else
    return g->b_row == 1 && g->b_step != 1 && g->a_step == 1 && g->n_batches == 1 && g->n_b == 1 && g->k > 0 &&
           g->m > DIRECT_ROWS && g->m <= FRESH_ROWS && g->n >= 2 * g->m && g->n % TILE_COLS == 0 &&
           (turned_panels(g) * TILE_COLS - g->m) * 8 <= g->m;
#endif
}

static recipe recipe_of(const as_node_ctx *n)
{
    recipe         w = {.g = as_gemm_of(n)};
    const as_gemm *g = &w.g;
    as_act_kind    kind = g->act.kind;
    w.rows = as_gemm_rows_of(g->m, TILE_ROWS);
    w.n_panels = (g->n + TILE_COLS - 1) / TILE_COLS;
    w.panel = g->k * TILE_COLS;
    w.piece = piece_of(g);
    w.block = A_MOST / TILE_ROWS / (w.piece > 0 ? w.piece : 1);
    w.block = w.block > 0 ? w.block : 1;
    w.few = g->a_step == 1 && w.piece == g->k &&
            (as_gemm_tiles(&w.rows) == 1 || (as_gemm_tiles(&w.rows) == 2 && w.n_panels * w.panel <= A_MOST));
    w.far = FETCH_B && w.n_panels * w.panel * (int64_t)sizeof(tile_b) > A_MOST * (int64_t)sizeof(float);
    w.fetches_y = w.piece >= FETCH_Y_K && g->m * g->n > FETCH_Y;
    w.packs_a = g->a_step != 1 || (w.n_panels >= PACK_A_PANELS && g->m * g->k > A_MOST);
    w.reads_b = sizeof(tile_b) == sizeof(float) && g->b_step == 1 && g->a_step == 1 && g->m <= DIRECT_ROWS;
    int64_t most = w.packs_a ? B_MOST : B_MOST_ALONE; /* A is packed once per group */
    w.group = w.reads_b || w.panel == 0 || w.panel > most ? 1 : least(most / w.panel, w.n_panels);
    w.turns = is_turned(g);
    w.scratch_a = w.packs_a ? (least(w.block * TILE_ROWS, g->m) * w.piece + 15) / 16 * 16 : 0;
    w.scratch = w.scratch_a + (w.group * w.panel * (int64_t)sizeof(tile_b) + 63) / 64 * 16;
    if (w.turns)
        w.scratch = turned_panels(g) * (w.panel + TURN_MOST * TILE_COLS);
    w.bare = g->alpha == 1.0f && !g->has_c && kind == AS_ACT_NONE;
    w.plain = g->alpha == 1.0f && (!g->has_c || (g->c_row == 0 && g->c_step == 1)) &&
              (kind == AS_ACT_NONE || kind == AS_ACT_RELU || kind == AS_ACT_CLIP);
    w.low = kind == AS_ACT_RELU ? 0.0f : kind == AS_ACT_CLIP ? (float)g->act.alpha : -HUGE_VALF;
    w.high = kind == AS_ACT_CLIP ? (float)g->act.beta : HUGE_VALF;
    w.act = vm_act_of(&g->act);
    return w;
}

/* --- Packing ------------------------------------------------------------------------------------------- */

#ifndef TILE_STORED
/* A panel of a transposed B, whose columns lie along K: VW columns by VW terms at a time are turned in registers, so that a float
 * costs a third of a cycle instead of two.  Weights that change at every run are packed at every run. */
static void panel_turn(const as_gemm *g, const float *b, int64_t width, float *panel)
{
    for (int64_t k = 0; k < g->k; k += VW) {
        int left = (int)least(g->k - k, VW);
        for (int v = 0; v < TILE_VECS; v++) {
            vf square[VW];
            V_UNROLL
            for (int j = 0; j < VW; j++) {
                const float *column = b + (v * VW + j) * g->b_step + k;
                square[j] = v * VW + j >= width ? v_zero() : left == VW ? v_load(column) : v_load_n(column, left);
            }
            v_transpose(square);
            V_UNROLL
            for (int i = 0; i < VW; i++)
                if (i < left)
                    v_store(panel + (k + i) * TILE_COLS + v * VW, square[i]);
        }
    }
}
#endif

/* One panel: `width` columns of B from `b` on. */
static void panel_pack(const as_gemm *g, const float *b, int64_t width, tile_b *panel)
{
    if (g->k == 0)
        return; /* then there is no memory for it either */
#ifndef TILE_STORED
    if (g->b_row == 1 && g->b_step != 1) {
        panel_turn(g, b, width, panel);
        return;
    }
#endif
    if (width < TILE_COLS)
        memset(panel, 0, (size_t)(g->k * TILE_COLS) * sizeof *panel);
    if (sizeof *panel == sizeof *b && g->b_step == 1 && width == TILE_COLS) {
        for (int64_t k = 0; k < g->k; k++)
            memcpy(panel + k * TILE_COLS, b + k * g->b_row, TILE_COLS * sizeof *panel);
        return;
    }
    int64_t k = 0;
    if (g->b_row == 1 && width == TILE_COLS) /* one cache line of each column at a time: reads and writes stay in L1 */
        for (; k + LINE_FLOATS <= g->k; k += LINE_FLOATS)
            for (int j = 0; j < TILE_COLS; j++)
                for (int i = 0; i < LINE_FLOATS; i++)
                    panel[(k + i) * TILE_COLS + tile_place(j)] = tile_store(b[j * g->b_step + k + i]);
    for (; k < g->k; k++)
        for (int64_t j = 0; j < width; j++)
            panel[k * TILE_COLS + tile_place(j)] = tile_store(b[k * g->b_row + j * g->b_step]);
}

/* Fetches the rows of a tile while the one before is packed: they start pages apart, which no CPU predicts. */
static void rows_fetch(const recipe *w, int64_t tile, const float *a, int64_t k)
{
    int64_t row;
    int     n = as_gemm_tile(&w->rows, tile, &row);
    for (int r = 0; r < n; r++)
        for (int64_t i = 0; i < k; i += LINE_FLOATS)
            __builtin_prefetch(a + (row + r) * w->g.a_row + i);
}

/* Tiles [first, end) of rows: whole ones as [k][TILE_ROWS], smaller ones as rows along K. */
static void rows_pack(const recipe *w, int64_t first, int64_t end, const float *a, int64_t k, float *to)
{
    const as_gemm *g = &w->g;
    for (int64_t t = first; t < end; t++) {
        int64_t row;
        int     n = as_gemm_tile(&w->rows, t, &row);
        if (g->a_step == 1 && t + 1 < end)
            rows_fetch(w, t + 1, a, k);
        if (n == TILE_ROWS) {
            const float *from = a + row * g->a_row;
            if (g->a_row == 1) { /* a transposed A: the rows are neighbours */
                for (int64_t i = 0; i < k; i++, from += g->a_step, to += TILE_ROWS)
                    memcpy(to, from, TILE_ROWS * sizeof *to);
                continue;
            }
            for (int64_t i = 0; i < k; i++, from += g->a_step, to += TILE_ROWS) {
                V_UNROLL
                for (int r = 0; r < TILE_ROWS; r++)
                    to[r] = from[r * g->a_row];
            }
            continue;
        }
        for (int r = 0; r < n; r++, to += k)
            for (int64_t i = 0; i < k; i++)
                to[i] = a[(row + r) * g->a_row + i * g->a_step];
    }
}

/* --- What happens to a sum ------------------------------------------------------------------------------- */

/* Everything that the tiles of one panel in one piece of K share. */
typedef struct strip {
    const recipe *w;
    const tile_b *b;
    const tile_b *ahead;   /* the next panel's piece, which is fetched meanwhile, */
    int64_t       n_ahead; /* this many cache lines per tile */
    int64_t       b_row, a_row, k;
    const float  *c;           /* at row 0 and the panel's first column; NULL: none */
    float        *y;           /* likewise */
    int64_t       left;        /* columns from here to the last */
    int           width;       /* those of the panel */
    bool          first, last; /* pieces of K */
    bool          store;       /* whole vectors, as they are */
} strip;

/* The end of a tile through memory, once for all heights: the sums that Y holds already, then alpha, beta * C and the
 * activation. */
static __attribute__((noinline)) void tile_finish(const strip *s, float *sums, int rows, int64_t row)
{
    const as_gemm *g = &s->w->g;
    as_act_f32     act = s->w->act;
    vf             alpha = v_set(g->alpha), beta = v_set(g->beta);
    if (!s->first && s->width < TILE_COLS)
        for (int r = 0; r < rows; r++)
            for (int j = 0; j < s->width; j++)
                sums[r * TILE_COLS + j] += s->y[(row + r) * g->y_row + j];
    if (!s->last) {
        for (int r = 0; r < rows; r++)
            memcpy(s->y + (row + r) * g->y_row, sums + r * TILE_COLS, (size_t)s->width * sizeof *sums);
        return;
    }
    for (int r = 0; r < rows; r++)
        for (int first = 0; first < s->width; first += VW) {
            int    width = s->width - first < VW ? s->width - first : VW;
            vf     x = v_mul(alpha, v_load(sums + r * TILE_COLS + first));
            float *y = s->y + (row + r) * g->y_row + first;
            if (s->c) {
                const float *c = s->c + (row + r) * g->c_row + first * g->c_step;
                x = v_fma(beta, g->c_step == 0 ? v_one(c) : width == VW ? v_load(c) : v_load_n(c, width), x);
            }
            x = vm_act(&act, x);
            if (width == VW)
                v_store(y, x);
            else
                v_store_n(y, width, x);
        }
}

V_INLINE void tile_put(const int rows, float *y, int64_t n, vf sum[TILE_ROWS][TILE_VECS])
{
    V_UNROLL
    for (int r = 0; r < rows; r++, y += n) {
        V_UNROLL
        for (int v = 0; v < TILE_VECS; v++)
            v_store(y + v * VW, sum[r][v]);
    }
}

/* pieces: K may be cut, so that sums are stored in Y or read from it. */
V_INLINE void tile_end(const int rows, const bool pieces, const strip *s, int64_t row, vf sum[TILE_ROWS][TILE_VECS])
{
    const recipe *w = s->w;
    const int64_t n = w->g.y_row;
    float        *y = s->y + row * n;
    if (pieces && !s->first && s->width == TILE_COLS) {
        V_UNROLL
        for (int r = 0; r < rows; r++) {
            V_UNROLL
            for (int v = 0; v < TILE_VECS; v++)
                sum[r][v] = v_add(sum[r][v], v_load(y + r * n + v * VW));
        }
    }
    if (pieces && s->store) {
        tile_put(rows, y, n, sum);
        return;
    }
    if (s->width == TILE_COLS && w->plain) {
        vf low = v_set(w->low), high = v_set(w->high), beta = v_set(w->g.beta);
        V_UNROLL
        for (int v = 0; v < TILE_VECS; v++) {
            vf c = s->c ? v_mul(beta, v_load(s->c + v * VW)) : v_zero();
            V_UNROLL
            for (int r = 0; r < rows; r++)
                v_store(y + r * n + v * VW, v_min(high, v_max(low, v_add(sum[r][v], c))));
        }
        return;
    }
    float sums[TILE_ROWS * TILE_COLS];
    V_UNROLL
    for (int r = 0; r < rows; r++) {
        V_UNROLL
        for (int v = 0; v < TILE_VECS; v++)
            v_store(sums + r * TILE_COLS + v * VW, sum[r][v]);
    }
    tile_finish(s, sums, rows, row);
}

/* --- Strips: tiles of one height, one below the other ------------------------------------------------------- */

V_INLINE void strip_run(const int rows, const bool along, const bool dense, const strip *s, const float *a, int64_t row,
                        int64_t n_tiles)
{
    const int64_t a_row = s->a_row, k = s->k, b_row = dense ? TILE_COLS : s->b_row, n = s->w->g.y_row, n_ahead = s->n_ahead;
    const tile_b *b = s->b, *ahead = s->ahead;
    const bool    far = s->w->fetches_y, bare = s->store && s->first; /* read here: after a store into Y they would be read again */
    float        *y = s->y + row * n;
    for (int64_t t = 0; t < n_tiles; t++, row += rows, y += rows * n) {
        vf sum[TILE_ROWS][TILE_VECS];
        tile_zero(rows, sum);
        for (int64_t l = 0; l < n_ahead; l++)
            __builtin_prefetch(ahead + l * LINE_B, 0, 2);
        ahead += n_ahead * LINE_B;
        if (far) {
            V_UNROLL
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < TILE_COLS; c += LINE_FLOATS)
                    __builtin_prefetch(y + r * n + c, 1);
        }
        tile_add(rows, along, a, a_row, b, b_row, k, sum);
        if (bare)
            tile_put(rows, y, n, sum);
        else
            tile_end(rows, true, s, row, sum);
        a += rows * (along ? a_row : k);
    }
}

typedef void strip_fn(const strip *s, const float *a, int64_t row, int64_t n_tiles);

#define STRIP(name, rows, along, dense)                                                                      \
    static __attribute__((noinline)) void name(const strip *s, const float *a, int64_t row, int64_t n_tiles) \
    {                                                                                                        \
        strip_run(rows, along, dense, s, a, row, n_tiles);                                                   \
    }
/* Each of these takes a tenth of a second to compile, so there are few: a packed A has whole tiles (rows_pack() stores smaller ones
 * along K), and a packed B has the heights that a product of many rows has (as_gemm_rows_of()). */
STRIP(packed_whole, TILE_ROWS, false, true)
#ifdef TILE_STORED
#define DENSE true
#else
#define DENSE false
#ifdef TILE_TALL
STRIP(dense_8, 8, true, true)
STRIP(dense_9, 9, true, true)
STRIP(dense_10, 10, true, true)
STRIP(dense_11, 11, true, true)
STRIP(dense_12, 12, true, true)
static strip_fn *const dense_strips[TILE_ROWS + 1] = {[8] = dense_8, dense_9, dense_10, dense_11, dense_12};
#else
STRIP(dense_4, 4, true, true)
STRIP(dense_5, 5, true, true)
STRIP(dense_6, 6, true, true)
static strip_fn *const dense_strips[TILE_ROWS + 1] = {[4] = dense_4, dense_5, dense_6};
#endif
#endif
STRIP(along_1, 1, true, DENSE)
STRIP(along_2, 2, true, DENSE)
STRIP(along_3, 3, true, DENSE)
STRIP(along_4, 4, true, DENSE)
STRIP(along_5, 5, true, DENSE)
STRIP(along_6, 6, true, DENSE)
#ifdef TILE_TALL
STRIP(along_7, 7, true, DENSE)
STRIP(along_8, 8, true, DENSE)
STRIP(along_9, 9, true, DENSE)
STRIP(along_10, 10, true, DENSE)
STRIP(along_11, 11, true, DENSE)
STRIP(along_12, 12, true, DENSE)
#define HEIGHTS(name)                                                                                                         \
    {                                                                                                                         \
        NULL, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6, name##_7, name##_8, name##_9, name##_10, name##_11, \
            name##_12                                                                                                         \
    }
#else
#define HEIGHTS(name)                                                    \
    {                                                                    \
        NULL, name##_1, name##_2, name##_3, name##_4, name##_5, name##_6 \
    }
#endif
static strip_fn *const strips[TILE_ROWS + 1] = HEIGHTS(along);
#undef STRIP
#undef DENSE

V_INLINE void line_skip(strip *s, int64_t n_panels)
{
    s->y += n_panels * TILE_COLS;
    s->c = s->c ? s->c + n_panels * TILE_COLS * s->w->g.c_step : NULL;
    s->left -= n_panels * TILE_COLS;
    s->width = (int)least(s->left, TILE_COLS);
}

/* Neighbouring panels with one tile, for a product of few rows: its panels are so short that one call for each would show. */
V_INLINE void line_run(const int rows, const strip *first, const float *a, int64_t row, int64_t n_panels)
{
    strip         s = *first;
    const recipe *w = s.w;
    const int64_t a_row = s.a_row, k = s.k, n = w->g.y_row, panel = w->panel,
                  n_bare = w->bare ? least(n_panels, s.left / TILE_COLS) : 0;
    const tile_b *b = s.b;
    float        *y = s.y + row * n;
    line_skip(&s, n_bare);
    for (int64_t p = 0; p < n_panels; p++, b += panel, y += TILE_COLS) {
        vf sum[TILE_ROWS][TILE_VECS];
        tile_zero(rows, sum);
        tile_add(rows, true, a, a_row, b, TILE_COLS, k, sum);
        if (p < n_bare) {
            tile_put(rows, y, n, sum);
            continue;
        }
        tile_end(rows, false, &s, row, sum);
        line_skip(&s, 1);
    }
}

#define LINE(name, rows)                                                                                      \
    static __attribute__((noinline)) void name(const strip *s, const float *a, int64_t row, int64_t n_panels) \
    {                                                                                                         \
        line_run(rows, s, a, row, n_panels);                                                                  \
    }
LINE(line_1, 1)
LINE(line_2, 2)
LINE(line_3, 3)
LINE(line_4, 4)
LINE(line_5, 5)
LINE(line_6, 6)
#ifdef TILE_TALL
LINE(line_7, 7)
LINE(line_8, 8)
LINE(line_9, 9)
LINE(line_10, 10)
LINE(line_11, 11)
LINE(line_12, 12)
#endif
#undef LINE
static strip_fn *const lines[TILE_ROWS + 1] = HEIGHTS(line);

/* --- The product --------------------------------------------------------------------------------------------- */

/* A share of one matrix product. */
typedef struct share {
    const recipe *w;
    const float  *a, *b, *c; /* row 0, column 0, as in the node */
    float        *y, *scratch;
    as_gemm_part  part;
} share;

/* The strip of a panel and of k terms from k0 on; its B is at b. */
static void strip_turn(const share *x, strip *s, int64_t panel, int64_t k0, int64_t k, const tile_b *b, int64_t b_row)
{
    const as_gemm *g = &x->w->g;
    int64_t        column = panel * TILE_COLS;
    s->w = x->w;
    s->b = s->ahead = b;
    s->n_ahead = 0;
    s->b_row = b_row;
    s->a_row = g->a_row;
    s->k = k;
    s->c = x->c ? x->c + column * g->c_step : NULL;
    s->y = x->y + column;
    s->left = g->n - column;
    s->width = (int)least(s->left, TILE_COLS);
    s->first = k0 == 0;
    s->last = k0 + k == g->k;
    s->store = s->width == TILE_COLS && (x->w->bare || !s->last);
}

/* The function for tiles of this height; packed: their rows of A are packed, as [k][rows]. */
static strip_fn *strip_of(const strip *s, int height, bool packed)
{
    if (packed)
        return packed_whole;
#ifndef TILE_STORED
    if (s->b_row == TILE_COLS && dense_strips[height])
        return dense_strips[height];
#else
    (void)s;
#endif
    return strips[height];
}

/* Tiles [first, end) with one panel; `a` is A's row 0, or the block that holds them packed. */
static void tiles_run(const strip *s, bool packed, const float *a, int64_t first, int64_t end)
{
    const as_gemm_rows *rows = &s->w->rows;
    strip               lower;
    int64_t             row, start;
    as_gemm_tile(rows, first, &start);
    for (int64_t t = first, n; t < end; t += n) {
        int          height = as_gemm_tile(rows, t, &row);
        bool         whole = height == TILE_ROWS;
        const float *from = a + (packed ? (row - start) * s->k : row * s->a_row);
        n = whole ? least(end, rows->n_whole) - t : 1;
        if (packed && !whole) {
            lower = *s;
            lower.a_row = s->k;
            strip_of(s, height, false)(&lower, from, row, n);
        } else {
            strip_of(s, height, packed)(s, from, row, n);
        }
    }
}

/* The part's tiles with panels [first, end), which start at b. */
static void panels_run(const share *x, int64_t first, int64_t end, const tile_b *b)
{
    const recipe *w = x->w;
    strip         s;
    if (w->few) {
        for (int64_t t = x->part.tile[0], row; t < x->part.tile[1]; t++) {
            int height = as_gemm_tile(&w->rows, t, &row);
            strip_turn(x, &s, first, 0, w->g.k, b, TILE_COLS);
            lines[height](&s, x->a + row * w->g.a_row, row, end - first);
        }
        return;
    }
    for (int64_t t = x->part.tile[0], t_end; t < x->part.tile[1]; t = t_end) {
        t_end = least(t + w->block, x->part.tile[1]);
        int64_t k0 = 0;
        do { /* at least once: without terms the sums are zeros, and C and the activation still apply */
            int64_t k = least(w->piece, w->g.k - k0);
            if (w->packs_a)
                rows_pack(w, t, t_end, x->a + k0 * w->g.a_step, k, x->scratch);
            for (int64_t p = first; p < end; p++) {
                strip_turn(x, &s, p, k0, k, b + (p - first) * w->panel + k0 * TILE_COLS, TILE_COLS);
                if (w->far && p + 1 < end) {
                    s.ahead = s.b + w->panel;
                    s.n_ahead = (k * TILE_COLS / LINE_B + t_end - t - 1) / (t_end - t);
                }
                tiles_run(&s, w->packs_a, w->packs_a ? x->scratch : x->a + k0, t, t_end);
            }
            k0 += k;
        } while (k0 < w->g.k);
    }
}

#ifndef TILE_STORED
/* B in place, cut as if it were packed, with the same bits; only a last panel that is not whole is copied. */
static void direct_run(const share *x)
{
    const as_gemm *g = &x->w->g;
    int64_t        left = g->n % TILE_COLS, k0 = 0;
    strip          s;
    if (left && x->part.panel[1] == x->w->n_panels)
        panel_pack(g, x->b + g->n - left, left, x->scratch);
    do {
        int64_t k = least(x->w->piece, g->k - k0);
        for (int64_t p = x->part.panel[0]; p < x->part.panel[1]; p++) {
            bool whole = g->n - p * TILE_COLS >= TILE_COLS;
            strip_turn(x, &s, p, k0, k, whole ? x->b + k0 * g->b_row + p * TILE_COLS : x->scratch + k0 * TILE_COLS,
                       whole ? g->b_row : TILE_COLS);
            tiles_run(&s, false, x->a + k0, x->part.tile[0], x->part.tile[1]);
        }
        k0 += k;
    } while (k0 < g->k);
}
#endif

#ifndef TILE_STORED
/* What few products need after their sums: a factor, a full C, an activation that is not a clamp.  A function of its own, whose loop
 * is not unrolled: each copy would contain all of vm_act(). */
static void turned_act(const recipe *w, const float *sums, int n, const float *c, float *y)
{
    const as_gemm *g = &w->g;
    as_act_f32     act = w->act;
    for (int i = 0; i < n; i++) {
        vf sum = v_mul(v_set(g->alpha), v_load(sums + i * VW));
        if (c)
            sum = v_fma(v_set(g->beta), g->c_step ? v_load(c + i * g->c_row) : v_one(c + i * g->c_row), sum);
        v_store(y + i * g->y_row, vm_act(&act, sum));
    }
}

/* The end of the turned product: `rows` of them, from column `column` of Y on, each with TILE_COLS rows of Y from `row` on.  What
 * happens to a sum is what happens in tile_end(). */
static void turned_end(const share *x, const float *sums, int64_t rows, int64_t row, int64_t column)
{
    const recipe  *w = x->w;
    const as_gemm *g = &w->g;
    vf             beta = v_set(g->beta), low = v_set(w->low), high = v_set(w->high);
    for (int64_t first = 0; first < rows; first += VW)
        for (int v = 0; v < TILE_VECS && row + v * VW < g->m; v++) {
            vf           square[VW];
            float       *y = x->y + (row + v * VW) * g->y_row + column + first;
            const float *c = x->c ? x->c + (row + v * VW) * g->c_row + (column + first) * g->c_step : NULL;
            int          n = (int)least(g->m - row - v * VW, VW);
            V_UNROLL
            for (int i = 0; i < VW; i++)
                square[i] = v_load(sums + (first + i) * TILE_COLS + v * VW);
            v_transpose(square);
            if (w->plain && !w->bare) { /* adding nothing would make 0 of -0 */
                vf add = c ? v_mul(beta, v_load(c)) : v_zero();
                V_UNROLL
                for (int i = 0; i < VW; i++)
                    square[i] = v_min(high, v_max(low, v_add(square[i], add)));
            }
            if (!w->plain && !w->bare) {
                float kept[VW * VW];
                V_UNROLL
                for (int i = 0; i < VW; i++)
                    v_store(kept + i * VW, square[i]);
                turned_act(w, kept, n, c, y);
                continue;
            }
            V_UNROLL
            for (int i = 0; i < VW; i++)
                if (i < n)
                    v_store(y + i * g->y_row, square[i]);
        }
}

/* The part's columns of Y as rows of the turned product, in blocks that stay in L2 for all panels of A. */
static void turned_run(const share *x, int part, int n_parts)
{
    const as_gemm *g = &x->w->g;
    const int64_t  n_panels = turned_panels(g), panel = x->w->panel;
    int64_t        begin, end, height;
    as_share(g->n, VW, part, n_parts, &begin, &end);
    recipe w = {
        .g = {.m = g->n, .n = n_panels * TILE_COLS, .k = g->k, .a_row = g->b_step, .a_step = 1, .y_row = TILE_COLS, .alpha = 1.0f},
        .piece = x->w->piece,
        .panel = panel,
        .bare = true};
    float  *panels = x->scratch, *sums = panels + n_panels * panel;
    as_gemm from = {.k = g->k, .b_row = 1, .b_step = g->a_row};
    for (int64_t p = 0; p < n_panels && begin < end; p++)
        panel_pack(&from, x->a + p * TILE_COLS * g->a_row, least(g->m - p * TILE_COLS, TILE_COLS), panels + p * panel);
    for (int64_t at = begin; at < end; at += height) {
        height = end - at <= TURN_MOST ? end - at : TURN_ROWS;
        w.rows = as_gemm_rows_of(height, TILE_ROWS);
        for (int64_t k0 = 0; k0 < g->k; k0 += w.piece)
            for (int64_t p = 0; p < n_panels; p++) {
                strip s;
                share turned = {.w = &w,
                                .y = sums /* each panel's sums have rows of their own */ + p * (TURN_MOST - 1) * TILE_COLS};
                strip_turn(&turned, &s, p, k0, least(w.piece, g->k - k0), panels + p * panel + k0 * TILE_COLS, TILE_COLS);
                tiles_run(&s, false, x->b + at * g->b_step + k0, 0, as_gemm_tiles(&w.rows));
            }
        for (int64_t p = 0; p < n_panels; p++)
            turned_end(x, sums + p * TURN_MOST * TILE_COLS, height, p * TILE_COLS, at);
    }
}
#endif

/* B in panels that the part packs for itself. */
static void fresh_run(const share *x)
{
    const recipe *w = x->w;
    tile_b       *panels = (void *)(x->scratch + w->scratch_a);
    for (int64_t p = x->part.panel[0], end; p < x->part.panel[1]; p = end) {
        end = least(p + w->group, x->part.panel[1]);
        for (int64_t i = p; i < end; i++)
            panel_pack(&w->g, x->b + i * TILE_COLS * w->g.b_step, least(w->g.n - i * TILE_COLS, TILE_COLS),
                       panels + (i - p) * w->panel);
        panels_run(x, p, end, panels);
    }
}

static void gemm_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    recipe        own;
    const float  *packed = args->packed ? args->packed[1] : NULL;
    const tile_b *panels = packed ? (const void *)(packed + HEAD_FLOATS) : NULL;
    const recipe *w = (const void *)packed;
    if (!packed) {
        own = recipe_of(args->ctx);
        w = &own;
    }
    const as_gemm *g = &w->g;
    if (g->m == 0 || g->n == 0)
        return;
    float none[16]; /* with an inner size of 0 there is no scratch, and nothing is stored */
    share x = {.w = w,
               .c = g->has_c ? args->in[2].data : NULL,
               .scratch = scratch ? (float *)scratch + part * w->scratch : none,
               .part = as_gemm_split(g->n_batches, as_gemm_tiles(&w->rows), w->n_panels, part, n_parts)};
    for (int64_t batch = x.part.batch[0]; batch < x.part.batch[1]; batch++) {
        as_gemm_at at = as_gemm_batch(g, batch);
        x.a = (const float *)args->in[0].data + at.a;
        x.b = (const float *)args->in[1].data + at.b;
        x.y = (float *)args->out[0].data + at.y;
        int64_t b = g->k ? at.b / (g->k * g->n) : 0;
        if (panels)
            panels_run(&x, x.part.panel[0], x.part.panel[1], panels + (b * w->n_panels + x.part.panel[0]) * w->panel);
#ifndef TILE_STORED
        else if (w->turns)
            turned_run(&x, part, n_parts);
        else if (w->reads_b)
            direct_run(&x);
#endif
        else
            fresh_run(&x);
    }
}

/* --- The kernel's other functions ------------------------------------------------------------------------------- */

/* Weights are stored as the node asks, by this kernel or by another. */
static bool gemm_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
#ifdef TILE_STORED
    const char *own = TILE_STORED;
#else
    const char *own = "f32";
#endif
    const char *asked = as_attr_text(n, "weights", "f32");
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (strcmp(asked, own)) {
        snprintf(why, why_size, "weights must be stored as %s; this kernel stores %s", asked, own);
        return false;
    }
    if (!as_gemm_is_plain(n, why, why_size))
        return false;
    int64_t columns = as_gemm_of(n).n;
    if (TILE_COLS <= 16 || columns > TILE_COLS / 2)
        return true;
    /* They would take as long as in a panel of half the width, which has half as many bytes. */
    snprintf(why, why_size, "%lld columns fill no more than half of a panel of %d", (long long)columns, (int)TILE_COLS);
    return false;
}

static size_t gemm_packed_bytes(const as_node_ctx *n, int input)
{
    if (input != 1)
        return 0;
    recipe w = recipe_of(n);
    if (w.g.loose)
        return 0;
    return HEAD_FLOATS * sizeof(float) + (size_t)(w.g.n_b * w.n_panels * w.panel) * sizeof(tile_b);
}

static void gemm_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    recipe  w = recipe_of(args->ctx);
    tile_b *panels = (void *)((float *)packed + HEAD_FLOATS);
    int64_t begin, end;
    if (part == 0)
        memcpy(packed, &w, sizeof w);
    as_share(w.g.n_b * w.n_panels, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % w.n_panels * TILE_COLS;
        panel_pack(&w.g, (const float *)args->in[input].data + i / w.n_panels * w.g.k * w.g.n + first * w.g.b_step,
                   least(w.g.n - first, TILE_COLS), panels + i * w.panel);
    }
}

#ifndef TILE_STORED
/* Packing B where a panel is used writes it into the cache that the product reads it from.  Many rows use a panel often, and share
 * what threads packed together. */
static bool gemm_reads_in_place(const as_node_ctx *n, int input)
{
    recipe w = recipe_of(n);
    return input == 1 && (w.turns || (w.g.m <= FRESH_ROWS && !w.packs_a));
}
#endif

static size_t gemm_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    return (size_t)n_parts * (size_t)recipe_of(n).scratch * sizeof(float);
}

/* Columns after the last are computed too; all rows are real ones. */
static as_cost gemm_issued(const as_node_ctx *n)
{
    recipe  w = recipe_of(n);
    as_cost cost = n->op->cost(n);
    int64_t more = w.n_panels * TILE_COLS - w.g.n;
    cost.flops =
        as_sat_add(cost.flops, as_sat_mul(as_sat_mul(2 * (uint64_t)more, (uint64_t)(w.g.n_batches * w.g.m)), (uint64_t)w.g.k));
    return cost;
}

#endif
