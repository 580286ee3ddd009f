/* winograd_body.h - 3x3 convolution by Winograd's F(4x4, 3x3); include one of the simd_*.h before.
 *
 * Four by four outputs cost 36 products per channel instead of 144, in exchange for additions before and after and for accuracy:
 * the transforms mix values of different size, so it is only used when the node allows it (attribute winograd).  Blocks of tiles
 * are small enough that their transforms stay in L2: V[36][tiles][channels], then for a panel of output channels at a time 36 small
 * products into M[36][tiles][panel], and back.  Weights are transformed when they are packed: [panel][36][channels][its 16 or
 * 32]. */
#ifndef AS_BACKEND_CPU_WINOGRAD_BODY_H
#define AS_BACKEND_CPU_WINOGRAD_BODY_H

#include <stdio.h>
#include <string.h>

#include "backend/cpu/conv/conv_tile.h"

enum {
    WINO_IN = 6,
    WINO_OUT = 4,
    WINO_POINTS = WINO_IN * WINO_IN,
    WINO_MIN_CHANNELS = 16,
    WINO_MIN_OUT = VW > 8 ? 17 : 16,
    WINO_V_BYTES = 192 * 1024,
    WINO_GRAIN = 6
};

typedef struct wino_plan {
    as_conv_plan v;
    int64_t      n_down, n_across, n_tiles; /* tiles per image, and in all */
    int64_t      block, n_blocks;           /* tiles of a block */
    int64_t      n_panels;
    size_t       spot_bytes, v_bytes, m_bytes, patch_bytes, weight_bytes;
} wino_plan;

static size_t wino_lines(int64_t n_floats) { return (size_t)(n_floats + 15) / 16 * 64; }

/* The gradient of X with stride 1 is a convolution of dY under turned weights. */
static bool wino_is_gradx(const as_node_ctx *n) { return !strcmp(n->op->name, "assay.ConvGradX"); }

static bool wino_plan_make(const as_node_ctx *n, int n_parts, wino_plan *out)
{
    wino_plan p = {0};
    if (!(wino_is_gradx(n) ? as_convgradx_plan_make(n, 0, 0, CONV_PANEL, &p.v) : as_conv_plan_make(n, 0, CONV_PANEL, &p.v)))
        return false;
    p.n_down = (p.v.w.out[1] + WINO_OUT - 1) / WINO_OUT;
    p.n_across = (p.v.w.out[2] + WINO_OUT - 1) / WINO_OUT;
    p.n_tiles = p.v.n_images * p.n_down * p.n_across;
    p.n_panels = (p.v.n_m + CONV_PANEL - 1) / CONV_PANEL;
    int64_t most = WINO_V_BYTES / (WINO_POINTS * 4 * p.v.n_c), fair = n_parts > 1 ? p.n_tiles / (2 * (int64_t)n_parts) : p.n_tiles;
    most = fair < most ? fair : most;
    p.block = most < WINO_GRAIN ? WINO_GRAIN : most / WINO_GRAIN * WINO_GRAIN;
    p.n_blocks = (p.n_tiles + p.block - 1) / p.block;
    p.spot_bytes = wino_lines(p.block * (int64_t)(sizeof(as_conv_spot) / sizeof(float)));
    p.v_bytes = wino_lines(WINO_POINTS * p.block * p.v.n_c);
    p.m_bytes = wino_lines(WINO_POINTS * p.block * CONV_PANEL);
    p.patch_bytes = wino_lines(WINO_POINTS * p.v.n_c);
    p.weight_bytes = wino_lines(WINO_POINTS * p.v.n_c * CONV_PANEL);
    *out = p;
    return true;
}

static size_t wino_part_bytes(const wino_plan *p)
{
    return p->spot_bytes + p->v_bytes + p->m_bytes + p->patch_bytes + p->weight_bytes;
}

static bool wino_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    wino_plan p;
    if (as_attr_int(n, "winograd", 0) != 1) {
        snprintf(why, why_size, "less exact, and --winograd was not given");
        return false;
    }
    if (wino_is_gradx(n) ? !as_convgradx_accepts(n, why, why_size) : !as_conv_accepts(n, why, why_size))
        return false;
    if (!wino_plan_make(n, 1, &p))
        return false;
    const as_window *w = &p.v.w;
    bool             ones = (!wino_is_gradx(n) || as_convgradx_phases(n) == 1) && w->stride[1] == 1 && w->stride[2] == 1 &&
                w->dilation[1] == 1 && w->dilation[2] == 1 && p.v.group == 1;
    if (n->in[0].shape.rank != 4 || w->kernel[1] != 3 || w->kernel[2] != 3 || !ones)
        snprintf(why, why_size, "needs 3x3 with strides, dilations and group 1");
    else if (p.v.n_c < WINO_MIN_CHANNELS || p.v.n_m < WINO_MIN_OUT) /* sixteen channels fill half of a wide panel */
        snprintf(why, why_size, "%lld to %lld channels, needs %d to %d", (long long)p.v.n_c, (long long)p.v.n_m, WINO_MIN_CHANNELS,
                 WINO_MIN_OUT);
    else if (n->in[0].layout != AS_LAYOUT_NHWC ||
             (n->out[0].layout != AS_LAYOUT_NHWC && p.v.pool == 1)) /* pooled, planes are a quarter */
        snprintf(why, why_size, "%s 0 is not NHWC", n->in[0].layout != AS_LAYOUT_NHWC ? "input" : "output");
    else
        return true;
    return false;
}

static size_t wino_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    size_t bytes = 0;
    for (int parts = 1; parts <= n_parts; parts++) {
        wino_plan p;
        if (!wino_plan_make(n, parts, &p))
            return 0;
        size_t all = (size_t)parts * wino_part_bytes(&p);
        bytes = all > bytes ? all : bytes;
    }
    return bytes;
}

/* The real work: 36 products per tile and pair of channels, 228 flops per input channel and 130 per output channel for the
 * transforms, and the memory of the transforms. */
static as_cost wino_issued(const as_node_ctx *n)
{
    wino_plan p;
    as_cost   cost = n->op->cost(n);
    if (!wino_plan_make(n, 1, &p))
        return cost;
    uint64_t tiles = (uint64_t)p.n_tiles, c = (uint64_t)p.v.n_c, m = (uint64_t)p.n_panels * CONV_PANEL;
    uint64_t between = tiles * WINO_POINTS * (c + m) * 4;
    uint64_t out = (uint64_t)(p.v.n_images * p.v.n_m * p.v.w.out[1] * p.v.w.out[2]);
    cost.flops =
        tiles * (2 * WINO_POINTS * c * m + 228 * c + 130 * m) + out * (as_in_has(n, 3) ? 3 : 2) + (p.v.pool > 1 ? out / 4 * 3 : 0);
    cost.bytes_read += between;
    cost.bytes_written += between;
    return cost;
}

/* It reads all weights, four times as many as the direct kernel's, for each block.  The additions of the transforms take about as long
 * as twice as many products. */
static double wino_cost(const as_node_ctx *n)
{
    wino_plan p;
    if (!wino_plan_make(n, 1, &p) || !p.n_blocks)
        return 0.0;
    double c = (double)p.v.n_c, m = (double)(p.n_panels * CONV_PANEL), bytes = (double)p.n_panels * (double)p.weight_bytes;
    double flops = (double)p.n_tiles * (2.0 * WINO_POINTS * c * m + 2.0 * (228.0 * c + 130.0 * m));
    return as_conv_time(flops, bytes, bytes * (double)(p.n_blocks - 1));
}

/* --- Weights: G g G' ------------------------------------------------------------------------------------- */

static void wino_filter(const double g[3], double u[WINO_IN])
{
    u[0] = g[0] / 4.0;
    u[1] = -(g[0] + g[1] + g[2]) / 6.0;
    u[2] = -(g[0] - g[1] + g[2]) / 6.0;
    u[3] = (g[0] + 2.0 * g[1] + 4.0 * g[2]) / 24.0;
    u[4] = (g[0] - 2.0 * g[1] + 4.0 * g[2]) / 24.0;
    u[5] = g[2];
}

/* Taps lie `down` and `right` floats apart. */
static void wino_pack_one(const float *g, int64_t down, int64_t right, int64_t step, float *u)
{
    double half[3][WINO_IN], col[3], full[WINO_IN];
    for (int i = 0; i < 3; i++, g += down)
        wino_filter((double[]){(double)g[0], (double)g[right], (double)g[2 * right]}, half[i]);
    for (int j = 0; j < WINO_IN; j++) {
        for (int i = 0; i < 3; i++)
            col[i] = half[i][j];
        wino_filter(col, full);
        for (int i = 0; i < WINO_IN; i++)
            u[(i * WINO_IN + j) * step] = (float)full[i];
    }
}

static void wino_pack_panel(const wino_plan *p, const float *weight, int64_t panel, float *packed)
{
    static const float     none[1];
    const as_conv_weights *from = &p->v.weights;
    int64_t                step = p->v.n_c * CONV_PANEL;
    for (int64_t c = 0; c < p->v.n_c; c++)
        for (int64_t j = 0; j < CONV_PANEL; j++) {
            int64_t m = panel * CONV_PANEL + j;
            bool    some = m < p->v.n_m;
            wino_pack_one(some ? weight + m * from->out + c * from->in + from->first : none, some ? from->down : 0,
                          some ? from->right : 0, step, packed + c * CONV_PANEL + j);
        }
}

static size_t wino_packed_bytes(const as_node_ctx *n, int input)
{
    wino_plan p;
    return input == 1 && wino_plan_make(n, 1, &p) ? (size_t)p.n_panels * p.weight_bytes : 0;
}

static void wino_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    wino_plan p;
    int64_t   begin, end;
    (void)input;
    if (!wino_plan_make(args->ctx, 1, &p))
        return;
    as_share(p.n_panels, 1, part, n_parts, &begin, &end);
    for (int64_t panel = begin; panel < end; panel++)
        wino_pack_panel(&p, args->in[1].data, panel, (float *)packed + panel * (int64_t)(p.weight_bytes / sizeof(float)));
}

/* --- Input: B' d B --------------------------------------------------------------------------------------- */

V_INLINE void wino_in(const vf d[WINO_IN], vf t[WINO_IN])
{
    vf four = v_set(4.0f), five = v_set(5.0f), two = v_set(2.0f);
    vf a = v_fnma(four, d[2], d[4]), b = v_fnma(four, d[1], d[3]), c = v_sub(d[4], d[2]), e = v_mul(two, v_sub(d[3], d[1]));
    t[0] = v_fma(four, d[0], v_fnma(five, d[2], d[4]));
    t[1] = v_add(a, b);
    t[2] = v_sub(a, b);
    t[3] = v_add(c, e);
    t[4] = v_sub(c, e);
    t[5] = v_fma(four, d[1], v_fnma(five, d[3], d[5]));
}

/* Six by six pixels of n_c channels; V's points lie `step` floats apart. */
static void wino_tile_in(const float *x, int64_t row, int64_t n_c, int64_t step, float *to)
{
    for (int64_t c = 0; c < n_c; c += VW) {
        int n = n_c - c < VW ? (int)(n_c - c) : VW;
        vf  half[WINO_IN][WINO_IN], d[WINO_IN], t[WINO_IN];
        for (int j = 0; j < WINO_IN; j++) {
            V_UNROLL for (int i = 0; i < WINO_IN; i++) d[i] =
                n == VW ? v_load(x + i * row + j * n_c + c) : v_load_n(x + i * row + j * n_c + c, n);
            wino_in(d, t);
            V_UNROLL for (int i = 0; i < WINO_IN; i++) half[i][j] = t[i];
        }
        for (int i = 0; i < WINO_IN; i++) {
            wino_in(half[i], t);
            V_UNROLL for (int j = 0; j < WINO_IN; j++)
            {
                float *at = to + (i * WINO_IN + j) * step + c;
                if (n == VW)
                    v_store(at, t[j]);
                else
                    v_store_n(at, n, t[j]);
            }
        }
    }
}

/* --- Output: A' m A --------------------------------------------------------------------------------------- */

V_INLINE void wino_out(const vf m[WINO_IN], vf o[WINO_OUT])
{
    vf s12 = v_add(m[1], m[2]), d12 = v_sub(m[1], m[2]), s34 = v_add(m[3], m[4]), d34 = v_sub(m[3], m[4]);
    o[0] = v_add(v_add(m[0], s12), s34);
    o[1] = v_fma(v_set(2.0f), d34, d12);
    o[2] = v_fma(v_set(4.0f), s34, s12);
    o[3] = v_add(v_fma(v_set(8.0f), d34, d12), m[5]);
}

/* One tile of the output: at most 4x4, VW channels from m on. */
typedef struct wino_place {
    int64_t image, row, col, m;
    int     n_rows, n_cols, n_m;
} wino_place;

/* What few networks need is a separate function: the sixteen pixels of a tile are unrolled, and each would contain all of it. */
static __attribute__((noinline)) vf wino_planes_add(const conv_job *j, const wino_place *at, int i, int k, vf y)
{
    const as_conv_plan *v = &j->v;
    float               sum[VW] = {0};
    for (int c = 0; c < at->n_m; c++)
        sum[c] = j->r[((at->image * v->n_m + at->m + c) * v->r_rows + at->row + i) * v->r_cols + at->col + k];
    return v_add(y, v_load(sum));
}
static __attribute__((noinline)) void wino_planes_store(const conv_job *j, const wino_place *at, int i, int k, vf y)
{
    const as_conv_plan *v = &j->v;
    int64_t             row = at->row / v->pool + i, col = at->col / v->pool + k;
    float               one[VW], *to = j->y + ((at->image * v->n_m + at->m) * v->y_rows + row) * v->y_cols + col;
    v_store(one, y);
    for (int c = 0; c < at->n_m; c++, to += v->y_rows * v->y_cols)
        *to = one[c];
}

/* Output o[i] of column k: bias and residual, and the activation. */
V_INLINE vf wino_finish(const conv_job *j, const wino_place *at, int i, int k, vf y)
{
    const as_conv_plan *v = &j->v;
    if (j->r && v->y_nhwc) {
        const float *r = j->r + ((at->image * v->r_rows + at->row + i) * v->r_cols + at->col + k) * v->n_m + at->m;
        y = conv_join(j->masks, y, at->n_m == VW ? v_load(r) : v_load_n(r, at->n_m));
    } else if (j->r) {
        y = wino_planes_add(j, at, i, k, y);
    }
    return conv_act(j, y);
}

/* Row i and column k of the tile as it is written, pooled or not. */
V_INLINE void wino_store(const conv_job *j, const wino_place *at, int i, int k, vf y)
{
    const as_conv_plan *v = &j->v;
    if (!v->y_nhwc) {
        wino_planes_store(j, at, i, k, y);
        return;
    }
    float *to = j->y + ((at->image * v->y_rows + at->row / v->pool + i) * v->y_cols + at->col / v->pool + k) * v->n_m + at->m;
    if (at->n_m == VW)
        v_store(to, y);
    else
        v_store_n(to, at->n_m, y);
}

/* m holds the tile's products, `step` floats from point to point. */
static void wino_tile_out(const conv_job *j, const float *m, int64_t step, const float *bias, const wino_place *at)
{
    vf half[WINO_IN][WINO_OUT], d[WINO_IN], o[WINO_OUT], left[WINO_OUT] = {v_zero(), v_zero(), v_zero(), v_zero()},
                                                         b = v_load(bias);
    for (int i = 0; i < WINO_IN; i++) {
        V_UNROLL for (int k = 0; k < WINO_IN; k++) d[k] = v_load(m + (i * WINO_IN + k) * step);
        wino_out(d, half[i]);
    }
    /* Unrolled with an early end, so that o and left stay in registers even at an edge. */
    V_UNROLL for (int k = 0; k < WINO_OUT; k++)
    {
        if (k >= at->n_cols)
            break;
        V_UNROLL for (int i = 0; i < WINO_IN; i++) d[i] = half[i][k];
        wino_out(d, o);
        V_UNROLL for (int i = 0; i < WINO_OUT; i++)
        {
            if (i >= at->n_rows)
                break;
            o[i] = wino_finish(j, at, i, k, v_add(o[i], b));
            if (j->v.pool == 1)
                wino_store(j, at, i, k, o[i]);
        }
        if (j->v.pool == 1)
            continue;
        V_UNROLL for (int i = 0; i < WINO_OUT; i += 2)
        {
            if (i >= at->n_rows)
                break;
            vf two = v_larger(o[i], o[i + 1]);
            if (k % 2)
                wino_store(j, at, i / 2, k / 2, v_larger(left[i], two));
            else
                left[i] = two;
        }
    }
}

/* --- A node -------------------------------------------------------------------------------------------------- */

typedef struct wino_job {
    wino_plan     p;
    conv_job      j;
    as_conv_spot *spot;
    float        *v, *m, *patch, *weight;
} wino_job;

typedef struct wino_spot {
    int64_t image, row, col;
} wino_spot; /* the tile's first output */

static wino_spot wino_spot_at(const wino_plan *p, int64_t tile)
{
    int64_t in_image = tile % (p->n_down * p->n_across);
    return (wino_spot){.image = tile / (p->n_down * p->n_across),
                       .row = in_image / p->n_across * WINO_OUT,
                       .col = in_image % p->n_across * WINO_OUT};
}

/* Where the six by six pixels of a tile are: in the image, or in a copy with zeros around the edge. */
static const float *wino_pixels(const wino_job *w, int64_t tile, int64_t *row)
{
    const as_conv_plan *v = &w->p.v;
    wino_spot           s = wino_spot_at(&w->p, tile);
    int64_t             y0 = s.row - v->w.pad_begin[1], x0 = s.col - v->w.pad_begin[2], wide = v->w.in[2] * v->n_c;
    const float        *image = w->j.x + s.image * v->w.in[1] * wide;
    if (y0 >= 0 && x0 >= 0 && y0 + WINO_IN <= v->w.in[1] && x0 + WINO_IN <= v->w.in[2]) {
        *row = wide;
        return image + y0 * wide + x0 * v->n_c;
    }
    *row = WINO_IN * v->n_c;
    for (int64_t i = 0; i < WINO_IN; i++)
        for (int64_t k = 0; k < WINO_IN; k++) {
            bool   inside = y0 + i >= 0 && y0 + i < v->w.in[1] && x0 + k >= 0 && x0 + k < v->w.in[2];
            float *to = w->patch + (i * WINO_IN + k) * v->n_c;
            if (inside)
                memcpy(to, image + (y0 + i) * wide + (x0 + k) * v->n_c, (size_t)v->n_c * sizeof *to);
            else
                memset(to, 0, (size_t)v->n_c * sizeof *to);
        }
    return w->patch;
}

static void wino_panel_run(const wino_job *w, int64_t first, int64_t n, int64_t panel, const float *u)
{
    const as_conv_plan *v = &w->p.v;
    static const float  zeros[CONV_PANEL];
    float               bias[CONV_PANEL];
    int64_t             m = panel * CONV_PANEL;
    int                 n_m = v->n_m - m < CONV_PANEL ? (int)(v->n_m - m) : CONV_PANEL;
    conv_bias(&w->j, m, n_m, bias);
    conv_tile t = {
        .spot = w->spot, .bias = zeros, .n_m = CONV_PANEL, .n_a = 1, .n_b = 1, .run = v->n_c, .lo = -INFINITY, .hi = INFINITY};
    for (int64_t point = 0; point < WINO_POINTS; point++) {
        t.x = w->v + point * w->p.block * v->n_c;
        t.w = u + point * v->n_c * CONV_PANEL;
        t.y = w->m + point * w->p.block * CONV_PANEL;
        conv_pixels_run(conv_tile_full, t, n);
    }
    for (int64_t i = 0; i < n; i++) {
        wino_spot s = wino_spot_at(&w->p, first + i);
        int64_t   n_rows = v->w.out[1] - s.row, n_cols = v->w.out[2] - s.col;
        for (int c = 0; c < n_m; c += VW) {
            wino_place at = {.image = s.image,
                             .row = s.row,
                             .col = s.col,
                             .m = m + c,
                             .n_rows = n_rows < WINO_OUT ? (int)n_rows : WINO_OUT,
                             .n_cols = n_cols < WINO_OUT ? (int)n_cols : WINO_OUT,
                             .n_m = n_m - c < VW ? n_m - c : VW};
            wino_tile_out(&w->j, w->m + i * CONV_PANEL + c, w->p.block * CONV_PANEL, bias + c, &at);
        }
    }
}

/* Blocks [begin, end) under the panels [first, last), whose weights start at u. */
static void wino_blocks_run(const wino_job *w, int64_t begin, int64_t end, int64_t first, int64_t last, const float *u)
{
    for (int64_t block = begin; block < end; block++) {
        int64_t tile = block * w->p.block, n = w->p.n_tiles - tile < w->p.block ? w->p.n_tiles - tile : w->p.block, row;
        for (int64_t i = 0; i < n; i++) {
            const float *x = wino_pixels(w, tile + i, &row);
            wino_tile_in(x, row, w->p.v.n_c, w->p.block * w->p.v.n_c, w->v + i * w->p.v.n_c);
        }
        for (int64_t panel = first; panel < last; panel++)
            wino_panel_run(w, tile, n, panel, u + (panel - first) * (int64_t)(w->p.weight_bytes / sizeof(float)));
    }
}

static void wino_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    bool               gradx = wino_is_gradx(n);
    int                r = gradx ? 2 : 3; /* the mask, or the residual */
    wino_job           w = {.j = {.x = args->in[0].data,
                                  .bias = !gradx && as_in_has(n, 2) ? args->in[2].data : NULL,
                                  .r = as_in_has(n, r) ? args->in[r].data : NULL,
                                  .masks = gradx,
                                  .y = args->out[0].data}};
    as_act             act = {0};
    int64_t            begin, end;
    if (as_shape_count(&n->out[0].shape) == 0 || (!gradx && as_act_read(NULL, n, &act) != ASSAY_OK) ||
        !wino_plan_make(n, n_parts, &w.p))
        return;
    char *at = (char *)scratch + (size_t)part * wino_part_bytes(&w.p);
    w.spot = (as_conv_spot *)(void *)at;
    w.v = (float *)(void *)(at += w.p.spot_bytes);
    w.m = (float *)(void *)(at += w.p.v_bytes);
    w.patch = (float *)(void *)(at += w.p.m_bytes);
    w.weight = (float *)(void *)(at + w.p.patch_bytes);
    w.j.v = w.p.v;
    w.j.act = vm_act_of(&act);
    conv_clamp(&w.j);
    for (int64_t i = 0; i < w.p.block; i++)
        w.spot[i] = (as_conv_spot){.from = i * w.p.v.n_c, .to = i * CONV_PANEL};
    as_share(w.p.n_blocks, 1, part, n_parts, &begin, &end);
    if (args->packed[1]) {
        wino_blocks_run(&w, begin, end, 0, w.p.n_panels, args->packed[1]);
        return;
    }
    for (int64_t panel = 0; begin < end && panel < w.p.n_panels; panel++) {
        wino_pack_panel(&w.p, args->in[1].data, panel, w.weight);
        wino_blocks_run(&w, begin, end, panel, panel + 1, w.weight);
    }
}

static const char *const wino_also[] = {"assay.ConvGradX", NULL};

#endif
