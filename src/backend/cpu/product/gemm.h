/* gemm.h - what the product kernels share besides arithmetic: a Gemm, MatMul, assay.FusedGemm or assay.FusedMatMul as one
 * description, how its rows are cut into tiles, and which part computes which of them.
 *
 * Everything here depends only on the node (and the split on the number of parts): which tile an element belongs to, and where
 * its sum over K is interrupted, is the same in any number of parts, so its bits are too. */
#ifndef AS_BACKEND_CPU_GEMM_H
#define AS_BACKEND_CPU_GEMM_H

#include "backend/cpu/kernel.h"
#include "op/math/activation.h"

/* act(alpha * A B + beta * C) for every matrix of a batch.  Steps are in floats. */
typedef struct as_gemm {
    int64_t m, n, k;
    int64_t a_row, a_step; /* from row to row, from term to term */
    int64_t b_row, b_step; /* from term to term, from column to column */
    int64_t c_row, c_step; /* 0 repeats */
    bool    has_c;
    float   alpha, beta;
    as_act  act;
    int64_t y_row; /* from row to row; columns are neighbours */
    int     rank;  /* of the batch */
    int64_t dim[AS_MAX_RANK], a_skip[AS_MAX_RANK], b_skip[AS_MAX_RANK], y_skip[AS_MAX_RANK]; /* in floats; 0 repeats */
    int64_t n_batches, n_b;                                                                  /* products; matrices in B */
    bool    loose; /* B's matrices need not follow one another, so it cannot be packed before */
} as_gemm;

as_gemm as_gemm_of(const as_node_ctx *n);
/* Where the batch-th product finds its matrices, in floats. */
typedef struct as_gemm_at {
    int64_t a, b, y;
} as_gemm_at;
as_gemm_at as_gemm_batch(const as_gemm *g, int64_t batch);
/* False + why when the columns of the result are not neighbours. */
bool as_gemm_is_plain(const as_node_ctx *n, char *why, size_t why_size);

/* Rows as tiles of `whole`, six or twelve, and up to three smaller ones at the end: a tile of less than four rows (of twelve: less
 * than eight) would leave the multipliers idle, so by sixes 8 is 4 + 4 and 13 is 5 + 4 + 4. */
typedef struct as_gemm_rows {
    int64_t n_whole;
    int     whole, n_rest, rest[3];
} as_gemm_rows;
as_gemm_rows          as_gemm_rows_of(int64_t m, int whole);
static inline int64_t as_gemm_tiles(const as_gemm_rows *r) { return r->n_whole + r->n_rest; }
int                   as_gemm_tile(const as_gemm_rows *r, int64_t tile,
                                   int64_t *row); /* its number of rows; *row: the first; tile may equal the number of tiles */

/* A share of the work: batches, tiles of rows, panels of columns, each [begin, end). */
typedef struct as_gemm_part {
    int64_t batch[2], tile[2], panel[2];
} as_gemm_part;
/* The grid of n_parts whose slowest part has the least work; among equals, the one that cuts rows least. */
as_gemm_part as_gemm_split(int64_t n_batches, int64_t n_tiles, int64_t n_panels, int part, int n_parts);

#endif
