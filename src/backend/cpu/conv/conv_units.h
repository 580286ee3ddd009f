/* conv_units.h - the units of a direct convolution on vectors, forward or for a gradient; include one of the simd_*.h before.
 * conv_plan.h says how the work is split, conv_tile.h what happens in registers. */
#ifndef AS_BACKEND_CPU_CONV_UNITS_H
#define AS_BACKEND_CPU_CONV_UNITS_H

#include <stdio.h>

#include "backend/cpu/conv/conv_deep.h"
#include "backend/cpu/conv/conv_even.h"

/* First layers: the lengths of the walk are constants too, and up to nine taps are unrolled; 27 are three times nine, in a third of
 * the code. n_a 0: the lengths are t's. */
V_INLINE void conv_tile_sums(const conv_tile *t, int n_p, int n_a, int n_b, int run, const float *const x[CONV_PIXELS],
                             vf acc[CONV_MOST][CONV_V])
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
    vf           acc[CONV_MOST][CONV_V];
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
    vf            acc[CONV_MOST][CONV_V];
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

/* --- A job ------------------------------------------------------------------------------------------- */

/* The job of a plan, v, in this part's own scratch; x, bias, r and y are set. */
static void conv_job_finish(conv_job *j, const as_act *act, char *at)
{
    const as_conv_plan *v = &j->v;
    j->spot = (as_conv_spot *)(void *)at;
    j->strip = (float *)(void *)(at += v->spot_bytes);
    j->weight = (float *)(void *)(at += v->strip_bytes);
    j->held = (float *)(void *)(at += v->weight_bytes);
    j->planes = v->pool > 1 ? j->held + v->pixels_unit * CONV_PANEL : j->held;
    j->act = vm_act_of(act);
    conv_clamp(j);
    conv_tile_choose(j);
    j->fetches = v->far && v->y_nhwc && v->pool == 1 && v->k >= AS_CONV_SHORT;
    /* Twelve lines whose addresses differ by a multiple of 4 KiB share a set of L1, which has eight or twelve places; and a tile of few
     * products is over before twelve pixels gain anything (16 to 96 channels: 97 -> 86 GFLOP/s). */
    bool aliased = v->w.stride[2] * v->pitch % 1024 == 0 || v->n_m % 1024 == 0;
    if (!v->planar && v->w.kernel[1] == 1 && v->w.kernel[2] == 1 && CONV_MOST > CONV_PIXELS && !aliased && v->k >= AS_CONV_SHORT) {
        bool whole = v->w.stride[1] == 1 && v->w.stride[2] == 1 && v->row == v->w.out[2] * v->pitch &&
                     (v->images_unit == 1 || v->image == v->w.out[1] * v->row);
        j->even_run = whole ? v->pixels_unit : v->w.out[2];
    }
    /* Sums of few products that wait in scratch would cost more than four tile ends. */
    j->pools_tiles = v->pool > 1 && j->clamps && !j->r && !v->depthwise && v->k <= AS_CONV_SHORT;
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
            y = conv_join(j->masks, y, v_load_n(j->r + at, some));
        if (j->v.pool == 1)
            y = conv_act(j, y);
        if (some == VW)
            v_store(j->y + at, y);
        else
            v_store_n(j->y + at, some, y);
    }
}

/* The same one by one, for a phase of a gradient: its results are not neighbours. */
static void conv_planes_scatter(const conv_job *j, const as_conv_unit *u, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    const float        *from = j->planes;
    for (int64_t i = 0; i < u->n_images * u->n_rows; i++)
        for (int64_t col = 0; col < v->w.out[2]; col++, from += CONV_PANEL) {
            int64_t row = (u->row + i % u->n_rows) * v->y_step[0] + v->y_at[0];
            int64_t at =
                (((u->image + i / u->n_rows) * v->n_m + m) * v->y_rows + row) * v->y_cols + col * v->y_step[1] + v->y_at[1];
            for (int c = 0; c < n_m; c++, at += v->y_rows * v->y_cols)
                j->y[at] = j->r && j->r[at] <= 0.0f ? 0.0f : from[c];
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
    vf           acc[CONV_MOST][CONV_V];
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

/* 1x1: rows of pixels that are equally far apart; without a stride all rows of a unit are one. */
static void conv_rows_run(const conv_job *j, conv_tile t, int64_t n)
{
    t.even = j->v.w.stride[2] * j->v.pitch;
    for (int64_t now; n > 0; n -= now, t.spot += now) {
        now = n < j->even_run ? n : j->even_run;
        conv_even_run(j->tile, t, now);
    }
}

static void conv_block_run(const conv_job *j, const conv_tile *t, int64_t n)
{
    if (j->v.depthwise)
        conv_deep_run(&j->v, *t, n);
    else if (!j->even_run)
        conv_pixels_run(j->tile, *t, n);
    else
        conv_rows_run(j, *t, n);
}

static void conv_act_spots(const conv_job *j, const conv_tile *t, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        conv_act_row(&j->act, t->y + t->spot[i].to, t->n_m);
}

/* The sums of a unit's pixels; with `acts`, an activation that is not a clamp follows while they are in L1. */
static void conv_sums_run(const conv_job *j, const conv_tile *all, bool acts)
{
    conv_tile t = *all;
    for (const as_conv_block *b = j->block; b < j->block + j->n_blocks; b++) {
        t.x = all->x + b->x, t.w = all->w + b->w;
        t.n_a = b->n_a, t.n_b = b->n_b, t.run = b->run;
        int64_t some = acts ? (j->even_run && j->even_run < CONV_PIXELS * 32 ? j->even_run : CONV_PIXELS * 16) : b->n;
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
    int64_t             row = u->row / v->pool * v->y_step[0] + v->y_at[0];
    int64_t             at = ((u->image * v->y_rows + row) * v->y_cols + v->y_at[1]) * v->n_m + m;
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
                   .masks = j->masks,
                   .fetches = j->fetches,
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
    if (!v->y_nhwc && (v->y_step[0] > 1 || v->y_step[1] > 1))
        conv_planes_scatter(j, u, m, n_m);
    else if (!v->y_nhwc)
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
        if (v->deep) {
            deep_unit(j, &u, w);
            continue;
        }
        if (n != u.n_images * u.n_rows || (v->skips && v->units_image > 1)) {
            int64_t       each = j->pools_tiles ? 2 : 1;
            bool          straight = v->y_nhwc && (v->pool == 1 || j->pools_tiles);
            as_conv_steps to = straight ? as_conv_steps_nhwc(v) : as_conv_steps_panel(v, &u, each);
            j->n_blocks = as_conv_spots(v, &u, each, &to, j->spot, j->block);
        }
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

/* A part of a job under its packed weights. */
static void conv_job_run(conv_job *j, const float *weight, const float *packed, int part, int n_parts)
{
    as_conv_share s = as_conv_share_of(&j->v, part, n_parts);
    if (packed) {
        conv_units_run(j, s.begin, s.end, s.first, s.last, packed + (j->v.depthwise ? 0 : s.first * j->v.k * CONV_PANEL));
        return;
    }
    /* Weights that change in every run: every part packs for itself, one panel at a time; a depthwise convolution has few. */
    int64_t some = j->v.depthwise ? s.last : 1;
    for (int64_t panel = s.first; s.begin < s.end && panel < s.last; panel += some) {
        as_conv_pack_panel(&j->v, weight, panel, j->weight);
        conv_units_run(j, s.begin, s.end, panel, panel + some, j->weight);
    }
}

#endif
