/* qmatmul_body.h - the body of k_qmatmul_i8_<machine>.c, after its q_*.h: MatMulInteger and QLinearMatMul.
 *
 * Constant weights are packed once, each panel with the sums of its columns; a part packs a B that changes panel by panel.  Rows of A
 * are packed in blocks that stay in L2, with their sums.  Zero points and scales may be one for all, one per row or per column, or
 * differ from matrix to matrix. */
#include <stdio.h>

#include "backend/cpu/product/gemm.h"
#include "backend/cpu/quant/tile.h"

enum { BLOCK_BYTES = 192 * 1024 };

/* Where the operands are among the inputs; -1: the operator does not have it. */
typedef struct places {
    int a, b, a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
} places;

typedef struct product {
    places     at;
    as_qmatmul p;
    int64_t    rows, n, k, n_batches, n_b; /* rows of one product; matrices in B */
    int64_t    n_steps, panel, row_terms, block, n_panels, n_tiles;
    bool       shared; /* one B with one set of parameters: all matrices of A are one tall matrix */
} product;

static places places_of(const as_node_ctx *n)
{
    if (n->op->name[0] == 'M')
        return (places){0, 1, 2, 3, -1, -1, -1, -1};
    return (places){0, 3, 2, 5, 1, 4, 6, 7};
}

static int64_t batch_count(const as_shape *s)
{
    int64_t count = 1;
    for (int i = 0; i + 2 < s->rank; i++)
        count *= s->dim[i];
    return count;
}

/* A parameter of B that differs from matrix to matrix. */
static bool is_stacked(const as_node_ctx *n, int i, int64_t columns)
{
    int64_t count = i >= 0 && as_in_has(n, i) ? as_shape_count(&n->in[i].shape) : 1;
    return count != 1 && count != columns;
}

static product product_of(const as_node_ctx *n)
{
    product g = {.at = places_of(n)};
    if (as_qmatmul_read(NULL, n, g.at.a, g.at.b, &g.p) != ASSAY_OK)
        return g; /* the shape rule refuses such a node */
    g.rows = g.p.y.dim[g.p.y.rank - 2];
    g.n = g.p.y.dim[g.p.y.rank - 1];
    g.k = g.p.k;
    g.n_batches = batch_count(&g.p.y);
    g.n_b = batch_count(&n->in[g.at.b].shape);
    g.shared = g.n_b == 1 && !is_stacked(n, g.at.b_zero, g.n) && !is_stacked(n, g.at.b_scale, g.n);
    if (g.shared) {
        g.rows *= g.n_batches;
        g.n_batches = 1;
    }
    g.n_steps = steps_of(g.k);
    g.panel = panel_bytes_of(g.k) + Q_COLS * (int64_t)sizeof(int32_t); /* and the sums of its columns */
    g.row_terms = row_terms_of(g.k);
    g.block = BLOCK_BYTES / ((g.row_terms + 1) * (int64_t)sizeof(q_term)) / Q_ROWS * Q_ROWS;
    g.block = least(g.block < Q_ROWS ? Q_ROWS : g.block, up_to(g.rows, Q_ROWS));
    g.n_panels = (g.n + Q_COLS - 1) / Q_COLS;
    g.n_tiles = (g.rows + Q_ROWS - 1) / Q_ROWS;
    return g;
}

/* `width` columns of a row-major matrix whose rows are `b_row` bytes apart; bytes outside of it are 0. */
static void panel_pack(const uint8_t *b, int64_t b_row, int64_t k, int64_t width, uint8_t flip, uint8_t *panel)
{
    for (int64_t s = 0; s < steps_of(k); s++)
        for (int64_t j = 0; j < Q_COLS; j += 16) {
            u8x16   line[4] = {{0}};
            int64_t left = width - j < 16 ? width - j : 16;
            for (int t = 0; t < Q_TERMS && left > 0; t++) {
                int64_t row = s * Q_TERMS + t;
                if (row >= k)
                    break;
                if (left == 16)
                    line[t] = u8_load(b + row * b_row + j);
                else
                    memcpy(&line[t], b + row * b_row + j, (size_t)left);
                line[t] ^= flip;
            }
            sixteen_join(line, panel + s * STEP_BYTES + j * Q_TERMS);
        }
}

static void panel_make(const product *g, const uint8_t *b, as_dtype dtype, int64_t index, uint8_t *panel)
{
    int64_t first = index * Q_COLS;
    panel_pack(b + first, g->n, g->k, least(g->n - first, Q_COLS), panel_flip(dtype), panel);
    panel_sums(panel, g->n_steps, (int32_t *)(void *)(panel + panel_bytes_of(g->k)));
}

static size_t packed_bytes(const as_node_ctx *n, int input)
{
    product g = product_of(n);
    return input == g.at.b && g.n_batches ? (size_t)(g.n_b * g.n_panels * g.panel) : 0;
}

static void pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    product        g = product_of(args->ctx);
    const uint8_t *b = args->in[input].data;
    int64_t        begin, end;
    as_share(g.n_b * g.n_panels, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        panel_make(&g, b + i / g.n_panels * g.k * g.n, args->in[input].dtype, i % g.n_panels, (uint8_t *)packed + i * g.panel);
}

/* --- Rows and columns of one block -------------------------------------------------------------------------------- */

/* Scratch of one part. */
typedef struct part_memory {
    q_term  *rows;
    uint8_t *panel;
    int32_t *row_add, *row_zero, *row_sum, *row_y_zero;
    float   *row_scale, *y_scale;
    int32_t  col_add[Q_COLS], col_sum[Q_COLS], col_zero[Q_COLS];
    float    col_scale[Q_COLS];
} part_memory;

static int64_t part_bytes(const product *g)
{
    int64_t rows = up_to(g->block * g->row_terms * (int64_t)sizeof(q_term), LINE);
    return rows + up_to(g->panel, LINE) + 6 * up_to(g->block * 4, LINE);
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    product g = product_of(n);
    return (size_t)(part_bytes(&g) * n_parts);
}

static void memory_of(const product *g, uint8_t *at, part_memory *m)
{
    m->rows = (q_term *)(void *)at;
    at += up_to(g->block * g->row_terms * (int64_t)sizeof(q_term), LINE);
    m->panel = at;
    at += up_to(g->panel, LINE);
    int32_t **integers[] = {&m->row_add, &m->row_zero, &m->row_sum, &m->row_y_zero};
    for (size_t i = 0; i < AS_COUNT(integers); i++, at += up_to(g->block * 4, LINE))
        *integers[i] = (int32_t *)(void *)at;
    m->row_scale = (float *)(void *)at;
    m->y_scale = (float *)(void *)(at + up_to(g->block * 4, LINE));
}

/* Where the parameter of a row is; `row` counts over all matrices. */
static int64_t row_at(const as_view *v, int64_t row)
{
    int64_t at = 0;
    for (int d = v->shape.rank - 2; d >= 0; d--) {
        at += row % v->shape.dim[d] * v->stride[d];
        row /= v->shape.dim[d];
    }
    return at;
}

/* Where a matrix begins, or its parameters. */
static int64_t matrix_at(const as_view *v, int64_t batch)
{
    int64_t at = 0;
    for (int d = v->shape.rank - 3; d >= 0; d--) {
        at += batch % v->shape.dim[d] * v->stride[d];
        batch /= v->shape.dim[d];
    }
    return at;
}

static as_view param_of(const as_kernel_args *args, int i, const as_shape *of, int which)
{
    return i >= 0 && as_in_has(args->ctx, i) ? as_qmatmul_param(&args->in[i], of, which) : (as_view){0};
}

typedef struct params {
    as_view a_zero, b_zero, a_scale, b_scale, y_scale, y_zero;
    bool    by_row;      /* a scale or the zero point of the result differs from row to row */
    bool    by_row_zero; /* the zero point of A does */
} params;

static bool has_many(const as_kernel_args *args, int i)
{
    return i >= 0 && as_in_has(args->ctx, i) && as_shape_count(&args->in[i].shape) > 1;
}

static params params_of(const as_kernel_args *args, const product *g)
{
    const places *at = &g->at;
    return (params){.a_zero = param_of(args, at->a_zero, &g->p.a, 0),
                    .b_zero = param_of(args, at->b_zero, &g->p.b, 1),
                    .a_scale = param_of(args, at->a_scale, &g->p.y, 0),
                    .b_scale = param_of(args, at->b_scale, &g->p.y, 1),
                    .y_scale = param_of(args, at->y_scale, &g->p.y, 0),
                    .y_zero = param_of(args, at->y_zero, &g->p.y, 0),
                    .by_row_zero = has_many(args, at->a_zero),
                    .by_row = has_many(args, at->a_scale) || has_many(args, at->y_scale) || has_many(args, at->y_zero)};
}

/* Packs rows [first, first + n) and sets what belongs to them; `from` counts over all matrices. */
static void block_make(const product *g, const params *p, const uint8_t *a, as_dtype dtype, int64_t from, int64_t n, part_memory *m)
{
    int64_t tile = 0;
    for (int64_t r = 0; r < n; r++) {
        tile = r == tile + height_of(n - tile) ? r : tile; /* the first row of its tile */
        int32_t zero = p->a_zero.data ? q_at(dtype, p->a_zero.data, row_at(&p->a_zero, from + r)) : 0;
        m->row_sum[r] = row_pack(a + r * g->k, g->k, row_flip(dtype), height_of(n - tile),
                                 m->rows + tile * g->row_terms + (r - tile) * Q_TERMS);
        m->row_zero[r] = row_zero(dtype, zero);
    }
    for (int64_t r = 0; p->by_row && r < n; r++) {
        m->row_scale[r] = ((const float *)p->a_scale.data)[row_at(&p->a_scale, from + r)];
        m->y_scale[r] = ((const float *)p->y_scale.data)[row_at(&p->y_scale, from + r)];
        m->row_y_zero[r] = q_at(p->y_zero.dtype, p->y_zero.data, row_at(&p->y_zero, from + r));
    }
}

/* What belongs to the columns of a panel: sum - k * zero, the zero point, the scale. */
static void columns_make(const product *g, const params *p, as_dtype dtype, int64_t batch, int64_t index, const uint8_t *panel,
                         part_memory *m)
{
    int64_t        first = index * Q_COLS, width = least(g->n - first, Q_COLS), last = g->p.y.rank - 1;
    const int32_t *sums = (const int32_t *)(const void *)(panel + panel_bytes_of(g->k));
    int64_t        zero_at = p->b_zero.data ? matrix_at(&p->b_zero, batch) : 0;
    int64_t        scales_at = p->b_scale.data ? matrix_at(&p->b_scale, batch) : 0;
    for (int64_t j = 0; j < Q_COLS; j++) {
        int64_t at = zero_at + (p->b_zero.data ? (first + (j < width ? j : 0)) * p->b_zero.stride[last] : 0);
        m->col_zero[j] = panel_zero(dtype, p->b_zero.data ? q_at(dtype, p->b_zero.data, at) : 0);
        m->col_sum[j] = (int32_t)((uint32_t)sums[j] - (uint32_t)g->k * (uint32_t)m->col_zero[j]);
    }
    if (!p->b_scale.data)
        return;
    const float *scale = (const float *)p->b_scale.data + scales_at, *a = p->a_scale.data, *y = p->y_scale.data;
    for (int64_t j = 0; j < Q_COLS; j++) {
        m->col_scale[j] = scale[(first + (j < width ? j : 0)) * p->b_scale.stride[last]];
        if (!p->by_row)
            m->col_scale[j] = *a * m->col_scale[j] / *y;
    }
}

/* One zero point for all columns takes a number per row, one for all rows a number per column; others take a product per element. */
static void zeros_set(const params *p, part_memory *m, int64_t n, q_out *o)
{
    bool same = true;
    for (int j = 1; j < Q_COLS; j++)
        same = same && m->col_zero[j] == m->col_zero[0];
    o->row_add = same && m->col_zero[0] ? m->row_add : NULL;
    o->row_sum = same ? NULL : m->row_sum;
    for (int64_t r = 0; o->row_add && r < n; r++)
        m->row_add[r] = (int32_t)(0u - (uint32_t)m->row_sum[r] * (uint32_t)m->col_zero[0]);
    bool one = !p->by_row_zero;
    o->row_zero = one ? NULL : m->row_zero;
    o->col_add = one && m->row_zero[0] ? m->col_add : NULL;
    for (int j = 0; o->col_add && j < Q_COLS; j++)
        m->col_add[j] = (int32_t)(0u - (uint32_t)m->row_zero[0] * (uint32_t)m->col_sum[j]);
    if (o->col_scale)
        o->odd = p->by_row || !q_all_finite(m->col_scale, Q_COLS);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    product g = product_of(args->ctx);
    if (!g.rows || !g.n || !g.n_batches)
        return;
    as_gemm_part   s = as_gemm_split(g.n_batches, g.n_tiles, g.n_panels, part, n_parts);
    params         p = params_of(args, &g);
    as_view        a = as_qmatmul_operand(&g.p, &args->in[g.at.a], 0), b = as_qmatmul_operand(&g.p, &args->in[g.at.b], 1);
    const uint8_t *packed = args->packed[g.at.b];
    as_dtype       da = a.dtype, db = b.dtype;
    part_memory    m;
    q_out          o = {.dtype = args->out[0].dtype, .y_row = g.n, .col_sum = m.col_sum, .col_zero = m.col_zero};
    int32_t        sums[Q_ROWS * Q_COLS];
    memory_of(&g, (uint8_t *)scratch + part_bytes(&g) * part, &m);
    if (p.b_scale.data) {
        o.col_scale = m.col_scale;
        o.row_scale = p.by_row ? m.row_scale : NULL;
        o.y_scale = p.by_row ? m.y_scale : NULL;
        o.row_y_zero = p.by_row ? m.row_y_zero : NULL;
        o.y_zero = q_at(p.y_zero.dtype, p.y_zero.data, 0);
    }
    int64_t y_bytes = o.dtype == AS_I32 ? 4 : 1, end = least(s.tile[1] * Q_ROWS, g.rows);
    for (int64_t batch = s.batch[0]; batch < s.batch[1]; batch++)
        for (int64_t row = s.tile[0] * Q_ROWS; row < end; row += g.block) {
            int64_t n = least(g.block, end - row), b_at = matrix_at(&b, batch), matrix = g.k > 0 ? b_at / (g.k * g.n) : 0;
            block_make(&g, &p, (const uint8_t *)a.data + (g.shared ? 0 : matrix_at(&a, batch)) + row * g.k, da,
                       batch * g.rows + row, n, &m);
            o.y = (uint8_t *)args->out[0].data + (batch * g.rows + row) * g.n * y_bytes;
            for (int64_t i = s.panel[0]; i < s.panel[1]; i++) {
                const uint8_t *panel = packed ? packed + (matrix * g.n_panels + i) * g.panel : m.panel;
                if (!packed)
                    panel_make(&g, (const uint8_t *)b.data + b_at, db, i, m.panel);
                columns_make(&g, &p, db, batch, i, panel, &m);
                zeros_set(&p, &m, n, &o);
                for (int64_t r = 0; r < n;) {
                    rows_fetch(&o, r, n, i * Q_COLS);
                    int height = tile_run(n - r, g.n - i * Q_COLS, m.rows + r * g.row_terms, panel, g.n_steps, sums);
                    rows_finish(&o, sums, r, height, i * Q_COLS, least(g.n - i * Q_COLS, Q_COLS));
                    r += height;
                }
            }
        }
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    product g = product_of(n);
    if (g.at.a_scale >= 0 && n->in[g.at.a_scale].dtype != AS_F32) {
        snprintf(why, why_size, "scales are %s, needs f32", as_dtype_name(n->in[g.at.a_scale].dtype));
        return false;
    }
    if (n->in[g.at.a].layout == AS_LAYOUT_ROW_MAJOR && n->in[g.at.b].layout == AS_LAYOUT_ROW_MAJOR &&
        n->out[0].layout == AS_LAYOUT_ROW_MAJOR)
        return true;
    snprintf(why, why_size, "an operand is not row-major");
    return false;
}

static const char *const also[] = {"QLinearMatMul", NULL};
