/* conv_body.h - direct convolution on vectors; include one of the simd_*.h before. conv_plan.h says how the work is split,
 * conv_tile.h what happens in registers. */
#ifndef AS_BACKEND_CPU_CONV_BODY_H
#define AS_BACKEND_CPU_CONV_BODY_H

#include <stdio.h>

#include "backend/cpu/conv/conv_tile.h"

/* First layers: the lengths of the walk are constants too, and up to nine taps are unrolled; 27 are three times nine, in a third of
 * the code. n_a 0: the lengths are t's. */
V_INLINE void conv_tile_sums(const conv_tile *t, int n_p, int n_a, int n_b, int run, const float *const x[CONV_PIXELS],
                             vf acc[CONV_PIXELS][CONV_V])
{
    if (!n_a) {
        conv_tile_taps(t, n_p, x, acc);
        return;
    }
    const int     n_out = n_a > 1 ? n_a : run > 3 ? n_b : 1, n_in = n_a * n_b / n_out;
    const int64_t step = n_a > 1 ? t->step_a : t->step_b;
    const float  *w = t->w;
    for (int64_t o = 0, at = 0; o < n_out; o++, at += step, w += n_in * run * CONV_PANEL)
        V_UNROLL for (int b = 0; b < n_in; b++) V_UNROLL for (int k = 0; k < run; k++)
            conv_tile_tap(n_p, x, at + b * t->step_b + k, w + (b * run + k) * CONV_PANEL, acc);
}

V_INLINE void conv_tile_first(const conv_tile *t, int n_a, int n_b, int run)
{
    const int    n_p = CONV_PIXELS;
    vf           acc[CONV_PIXELS][CONV_V];
    const float *x[CONV_PIXELS];
    conv_tile_begin(t, n_p, x, acc);
    /* With so few products per line of output the sums wait for that line: fetching it one tile ahead, 70 -> 78 % of the limit at 3
     * to 32 channels. */
    CONV_EACH_P __builtin_prefetch(t->y + t->spot[n_p + p].to, 1);
    conv_tile_sums(t, n_p, n_a, n_b, run, x, acc);
    conv_tile_end(t, n_p, acc);
}

/* The four pixels of each result of a pool: four walks, each one pixel further, keep the larger value. */
V_INLINE void conv_tile_pool(const conv_tile *t, int n_p, int n_a, int n_b, int run)
{
    vf            acc[CONV_PIXELS][CONV_V];
    const float  *x[CONV_PIXELS];
    float         best[CONV_PIXELS * CONV_PANEL];
    const int64_t hop[3] = {t->right, t->below - t->right, t->right};
    __asm__("" : "=m"(best)); /* makes no code: gcc does not see that the first round writes it before the second reads it */
    conv_tile_begin(t, n_p, x, acc);
    CONV_EACH_P __builtin_prefetch(t->y + t->spot[n_p + p].to, 1);
    for (int i = 0;; i++) {
        conv_tile_sums(t, n_p, n_a, n_b, run, x, acc);
        if (i)
            CONV_EACH_P CONV_EACH_V acc[p][v] = v_larger(v_load(best + p * CONV_PANEL + v * VW), acc[p][v]);
        if (i == 3)
            break;
        CONV_EACH_P CONV_EACH_V
        {
            v_store(best + p * CONV_PANEL + v * VW, acc[p][v]);
            acc[p][v] = v_load(t->bias + v * VW);
        }
        CONV_EACH_P x[p] += hop[i];
    }
    conv_tile_end(t, n_p, acc);
}

V_INLINE void                         conv_tile_pool_walk(const conv_tile *t, int n_p) { conv_tile_pool(t, n_p, 0, 0, 0); }
static __attribute__((noinline)) void conv_tile_full_pool(const conv_tile *t) { conv_tile_pool_walk(t, CONV_PIXELS); }
static void                           conv_tile_some_pool(const conv_tile *t, int n) { CONV_SOME(t, n, conv_tile_pool_walk) }

/* 3x3 on 1 channel; on 3 channels of whole pixels; on 3 planes. */
static __attribute__((noinline)) void conv_tile_1x3x3(const conv_tile *t) { conv_tile_first(t, 1, 3, 3); }
static __attribute__((noinline)) void conv_tile_1x3x9(const conv_tile *t) { conv_tile_first(t, 1, 3, 9); }
static __attribute__((noinline)) void conv_tile_3x3x3(const conv_tile *t) { conv_tile_first(t, 3, 3, 3); }
static __attribute__((noinline)) void conv_tile_1x3x3_pool(const conv_tile *t) { conv_tile_pool(t, CONV_PIXELS, 1, 3, 3); }
static __attribute__((noinline)) void conv_tile_1x3x9_pool(const conv_tile *t) { conv_tile_pool(t, CONV_PIXELS, 1, 3, 9); }
static __attribute__((noinline)) void conv_tile_3x3x3_pool(const conv_tile *t) { conv_tile_pool(t, CONV_PIXELS, 3, 3, 3); }

static void conv_tile_choose(conv_job *j)
{
    const as_conv_plan *v = &j->v;
    j->tile = conv_tile_full, j->tile_pool = conv_tile_full_pool;
    if (v->n_a == 1 && v->n_b == 3 && v->run == 3)
        j->tile = conv_tile_1x3x3, j->tile_pool = conv_tile_1x3x3_pool;
    if (v->n_a == 1 && v->n_b == 3 && v->run == 9)
        j->tile = conv_tile_1x3x9, j->tile_pool = conv_tile_1x3x9_pool;
    if (v->n_a == 3 && v->n_b == 3 && v->run == 3)
        j->tile = conv_tile_3x3x3, j->tile_pool = conv_tile_3x3x3_pool;
}

/* --- A node ----------------------------------------------------------------------------------------- */

static bool conv_job_make(const as_kernel_args *args, int part, int n_parts, void *scratch, conv_job *j)
{
    const as_node_ctx *n = args->ctx;
    as_act             act;
    *j = (conv_job){.x = args->in[0].data,
                    .bias = as_in_has(n, 2) ? args->in[2].data : NULL,
                    .r = as_in_has(n, 3) ? args->in[3].data : NULL,
                    .y = args->out[0].data};
    if (as_act_read(NULL, n, &act) != ASSAY_OK || !as_conv_plan_make(n, n_parts, CONV_PANEL, &j->v) || !j->v.n_units)
        return false;
    const as_conv_plan *v = &j->v;
    char               *at = (char *)scratch + (size_t)part * (v->spot_bytes + v->strip_bytes + v->weight_bytes + v->y_bytes);
    j->spot = (as_conv_spot *)(void *)at;
    j->strip = (float *)(void *)(at += v->spot_bytes);
    j->weight = (float *)(void *)(at += v->strip_bytes);
    j->held = (float *)(void *)(at += v->weight_bytes);
    j->planes = v->pool > 1 ? j->held + v->pixels_unit * CONV_PANEL : j->held;
    j->act = vm_act_of(&act);
    conv_clamp(j);
    conv_tile_choose(j);
    /* Sums of few products that wait in scratch would cost more than four tile ends. */
    j->pools_tiles = v->pool > 1 && j->clamps && !j->r && !v->depthwise && v->k <= AS_CONV_SHORT;
    j->step = v->y_nhwc && (v->pool == 1 || j->pools_tiles) ? v->n_m : CONV_PANEL;
    return true;
}

/* VW pixels of VW channels from rows of CONV_PANEL into planes, of which `some` and n_c exist. */
V_INLINE void conv_planes_block(const conv_job *j, const float *from, int some, int n_c, int64_t at, int64_t plane)
{
    vf r[VW];
    V_UNROLL for (int k = 0; k < VW; k++) r[k] = k < some ? v_load(from + k * CONV_PANEL) : v_zero();
    v_transpose(r);
    for (int c = 0; c < n_c; c++, at += plane) {
        vf y = r[c];
        if (j->v.pool == 1 && j->r)
            y = v_add(y, v_load_n(j->r + at, some));
        if (j->v.pool == 1)
            y = conv_act(j, y);
        if (some == VW)
            v_store(j->y + at, y);
        else
            v_store_n(j->y + at, some, y);
    }
}

/* The results of a panel from its rows into planes of the row-major output; adds residual and activation here, unless a pool
 * came before. */
static void conv_planes_end(const conv_job *j, const as_conv_unit *u, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    int64_t             plane = v->y_rows * v->y_cols, n = u->n_rows / v->pool * v->y_cols;
    int64_t             last =
        n >= VW && !j->r ? n - VW : n; /* does some pixels twice rather than part of a vector; a residual may lie where they go */
    const float *from = j->planes;
    for (int64_t image = 0; image < u->n_images; image++, from += n * CONV_PANEL)
        for (int c = 0; c < n_m; c += VW) {
            int64_t at = ((u->image + image) * v->n_m + m + c) * plane + u->row / v->pool * v->y_cols;
            for (int64_t i = 0; i < n; i += VW) {
                int64_t k = i < last ? i : last < n ? last : i;
                conv_planes_block(j, from + k * CONV_PANEL + c, n - k < VW ? (int)(n - k) : VW, n_m - c < VW ? n_m - c : VW, at + k,
                                  plane);
            }
        }
}

/* --- The pool ----------------------------------------------------------------------------------------- */

/* Residual and activation of one row of sums; its first channel is m. */
static void conv_held_end(const conv_job *j, int64_t image, int64_t row, int64_t m, int n_m, float *sums)
{
    const as_conv_plan *v = &j->v;
    int64_t             step = v->y_nhwc ? v->n_m : 1, next = v->y_nhwc ? 1 : v->r_rows * v->r_cols;
    int64_t             at =
        v->y_nhwc ? ((image * v->r_rows + row) * v->r_cols) * v->n_m + m : ((image * v->n_m + m) * v->r_rows + row) * v->r_cols;
    for (int64_t i = 0; j->r && i < v->w.out[2]; i++)
        for (int c = 0; c < n_m; c++)
            sums[i * CONV_PANEL + c] += j->r[at + i * step + c * next];
    for (int64_t i = 0; i < v->w.out[2] * CONV_PANEL; i += VW)
        v_store(sums + i, conv_act(j, v_load(sums + i)));
}

/* The largest of four: at x, the pixel right of it, and the two below. */
V_INLINE vf conv_largest(const float *x, int64_t below)
{
    vf best = v_larger(v_load(x), v_load(x + CONV_PANEL));
    best = v_larger(best, v_load(x + below));
    return v_larger(best, v_load(x + below + CONV_PANEL));
}

/* One row of results from two rows of a panel's channels, of which n_m exist. */
static void conv_row_pool(const float *x, int64_t n, int n_m, float *y, int64_t step)
{
    int64_t below = 2 * n * CONV_PANEL;
    for (int64_t i = 0; i < n; i++, x += 2 * CONV_PANEL, y += step)
        CONV_EACH_V
        {
            int some = n_m - v * VW;
            if (some >= VW)
                v_store(y + v * VW, conv_largest(x + v * VW, below));
            else if (some > 0)
                v_store_n(y + v * VW, some, conv_largest(x + v * VW, below));
        }
}

/* The rows of a unit, whose sums wait in j->held. */
static void conv_held_pool(const conv_job *j, const as_conv_unit *u, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    float              *sums = j->held;
    for (int64_t i = 0; i < u->n_images * u->n_rows; i += 2, sums += 2 * v->w.out[2] * CONV_PANEL) {
        int64_t image = u->image + i / u->n_rows, row = u->row + i % u->n_rows;
        for (int k = 0; k < 2 && (j->r || !j->clamps); k++)
            conv_held_end(j, image, row + k, m, n_m, sums + k * v->w.out[2] * CONV_PANEL);
        if (v->y_nhwc)
            conv_row_pool(sums, v->y_cols, n_m, j->y + (image * v->y_rows + row / 2) * v->y_cols * v->n_m + m, v->n_m);
        else
            conv_row_pool(sums, v->y_cols, CONV_PANEL, j->planes + i / 2 * v->y_cols * CONV_PANEL, CONV_PANEL);
    }
}

/* --- Depthwise ---------------------------------------------------------------------------------------- */

/* n_p pixels by a panel's channels: each tap is one product of vectors. */
V_INLINE void conv_deep_walk(const conv_tile *t, int n_p, const as_conv_plan *plan)
{
    vf           acc[CONV_PIXELS][CONV_V];
    const float *x[CONV_PIXELS], *w = t->w;
    CONV_EACH_P
    {
        x[p] = t->x + t->spot[p].from;
        CONV_EACH_V acc[p][v] = v_load(t->bias + v * VW);
    }
    int64_t step_b = plan->w.dilation[2] * plan->pitch, wide = (plan->n_c + CONV_PANEL - 1) / CONV_PANEL * CONV_PANEL;
    for (int64_t a = 0; a < plan->w.kernel[1]; a++) {
        int64_t at = a * t->step_a;
        for (int64_t b = 0; b < plan->w.kernel[2]; b++, at += step_b, w += wide) {
            vf                      wv[CONV_V];
            CONV_EACH_V             wv[v] = v_load(w + v * VW);
            CONV_EACH_P CONV_EACH_V acc[p][v] = v_fma(v_load(x[p] + at + v * VW), wv[v], acc[p][v]);
        }
    }
    conv_tile_end(t, n_p, acc);
}

static void conv_deep_full(const conv_tile *t, const as_conv_plan *plan) { conv_deep_walk(t, CONV_PIXELS, plan); }
static void conv_deep_one(const conv_tile *t, const as_conv_plan *plan) { conv_deep_walk(t, 1, plan); }

static void conv_deep_run(const as_conv_plan *plan, conv_tile t, int64_t n)
{
    for (; n >= CONV_PIXELS; n -= CONV_PIXELS, t.spot += CONV_PIXELS)
        conv_deep_full(&t, plan);
    for (; n > 0; n--, t.spot++)
        conv_deep_one(&t, plan);
}

/* --- A panel of a unit ---------------------------------------------------------------------------------- */

static void conv_block_run(const conv_job *j, const conv_tile *t, int64_t n)
{
    if (j->v.depthwise)
        conv_deep_run(&j->v, *t, n);
    else
        conv_pixels_run(j->tile, *t, n);
}

static void conv_act_spots(const conv_job *j, const conv_tile *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int m = 0; m < t->n_m; m += VW) {
            int    some = t->n_m - m < VW ? t->n_m - m : VW;
            float *y = t->y + t->spot[i].to + m;
            v_store_n(y, some, conv_act_any(&j->act, v_load_n(y, some)));
        }
}

/* The sums of a unit's pixels; with `acts`, an activation that is not a clamp follows while they are in L1. */
static void conv_sums_run(const conv_job *j, const conv_tile *all, bool acts)
{
    conv_tile t = *all;
    for (const as_conv_block *b = j->block; b < j->block + j->n_blocks; b++) {
        t.x = all->x + b->x, t.w = all->w + b->w;
        t.n_a = b->n_a, t.n_b = b->n_b, t.run = b->run;
        int64_t some = acts ? CONV_PIXELS * 16 : b->n;
        for (int64_t n = b->n, now; n > 0; n -= now, t.spot += now) {
            now = n < some ? n : some;
            conv_block_run(j, &t, now);
            if (acts)
                conv_act_spots(j, &t, now);
        }
    }
}

/* Where a clamp follows the sums of few products, the pool is done with the tiles. */
static void conv_tiles_pool(const conv_job *j, conv_tile t, int64_t n)
{
    t.right = j->v.w.stride[2] * j->v.pitch, t.below = j->v.w.stride[1] * j->v.row;
    for (int n_p; n > 0; n -= n_p, t.spot += n_p) {
        n_p = conv_tile_share(n);
        if (n_p == CONV_PIXELS)
            j->tile_pool(&t);
        else
            conv_tile_some_pool(&t, n_p);
    }
}

/* The channels [m, m + n_m) of a unit's pixels from x under the weights w. */
static void conv_panel_run(const conv_job *j, const as_conv_unit *u, const float *x, const float *w, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    bool                pools_held = v->pool > 1 && !j->pools_tiles;
    int64_t             at = ((u->image * v->y_rows + u->row / v->pool) * v->y_cols) * v->n_m + m;
    float               bias[CONV_PANEL];
    conv_bias(j, m, n_m, bias);
    conv_tile t = {.x = x,
                   .w = w,
                   .bias = bias,
                   .n_m = n_m,
                   .n_a = v->n_a,
                   .step_a = v->step_a,
                   .n_b = v->n_b,
                   .step_b = v->step_b,
                   .run = v->run,
                   .step_wa = v->n_b * v->run * CONV_PANEL,
                   .step_wb = v->run * CONV_PANEL,
                   .lo = j->lo,
                   .hi = j->hi,
                   .spot = j->spot,
                   .y = j->y + at};
    if (pools_held || !v->y_nhwc)
        t.y = pools_held ? j->held : j->planes, t.n_m = CONV_PANEL;
    else
        t.r = j->r ? j->r + at : NULL;
    if (!j->pools_tiles && (pools_held ? j->r != NULL : !v->y_nhwc))
        t.lo = -INFINITY, t.hi = INFINITY; /* the activation waits for the residual, or for the copy into planes */
    if (j->pools_tiles)
        conv_tiles_pool(j, t, j->block[0].n);
    else
        conv_sums_run(j, &t, v->y_nhwc && v->pool == 1 && !j->clamps);
    if (pools_held)
        conv_held_pool(j, u, m, n_m);
    if (!v->y_nhwc)
        conv_planes_end(j, u, m, n_m);
}

/* --- A part --------------------------------------------------------------------------------------------- */

/* Units [begin, end) under the panels [first, last), whose weights start at w. */
static void conv_units_run(conv_job *j, int64_t begin, int64_t end, int64_t first, int64_t last, const float *w)
{
    const as_conv_plan *v = &j->v;
    int64_t             n = -1, step = v->depthwise ? CONV_PANEL : v->k * CONV_PANEL;
    for (int64_t i = begin; i < end; i++) {
        as_conv_unit u = as_conv_unit_at(v, i);
        if (n != u.n_images * u.n_rows || (v->skips && v->units_image > 1))
            j->n_blocks = as_conv_spots(v, &u, j->pools_tiles ? 2 : 1, j->step, j->spot, j->block);
        n = u.n_images * u.n_rows;
        const float *x = as_conv_strip(v, &u, j->x, j->strip);
        for (int64_t panel = first; panel < last; panel++) {
            int64_t g = v->depthwise ? 0 : panel / v->n_panels, at = (v->depthwise ? panel : panel % v->n_panels) * CONV_PANEL;
            int64_t left = (v->depthwise ? v->n_c : v->m_group) - at;
            conv_panel_run(j, &u, x + (v->depthwise ? at : g * v->c_group), w + (panel - first) * step, g * v->m_group + at,
                           left < CONV_PANEL ? (int)left : CONV_PANEL);
        }
    }
}

static void conv_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    conv_job j;
    int64_t  begin, end, n_panels;
    if (!conv_job_make(args, part, n_parts, scratch, &j))
        return;
    as_share(j.v.n_units, 1, part, n_parts, &begin, &end);
    n_panels = j.v.depthwise ? (j.v.n_c + CONV_PANEL - 1) / CONV_PANEL : j.v.group * j.v.n_panels;
    if (args->packed[1]) {
        conv_units_run(&j, begin, end, 0, n_panels, args->packed[1]);
        return;
    }
    /* Weights that change in every run: every part packs for itself, one panel at a time; a depthwise convolution has few. */
    int64_t some = j.v.depthwise ? n_panels : 1;
    for (int64_t panel = 0; begin < end && panel < n_panels; panel += some) {
        as_conv_pack_panel(&j.v, args->in[1].data, panel, j.weight);
        conv_units_run(&j, begin, end, panel, panel + some, j.weight);
    }
}

/* --- The kernel's other functions ------------------------------------------------------------------------- */

static const char *const conv_also[] = {"Conv", NULL};

/* Sixteen channels would fill half of a wide panel, and take as long as a full panel of half the width. */
static bool conv_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_conv_plan v;
    if (!as_conv_accepts(n, why, why_size) || !as_conv_plan_make(n, 0, CONV_PANEL, &v))
        return false;
    int64_t channels = v.depthwise ? v.n_c : v.m_group;
    if (VW <= 8 || channels > AS_CONV_PANEL)
        return true;
    snprintf(why, why_size, "%lld channels fill no more than half of a panel of %d", (long long)channels, (int)CONV_PANEL);
    return false;
}

static size_t conv_scratch_bytes(const as_node_ctx *n, int n_parts) { return as_conv_scratch_bytes(n, n_parts, CONV_PANEL); }
static size_t conv_packed_bytes(const as_node_ctx *n, int input) { return as_conv_packed_bytes(n, input, CONV_PANEL); }
static void   conv_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    (void)input;
    as_conv_pack(args, CONV_PANEL, packed, part, n_parts);
}

#endif
