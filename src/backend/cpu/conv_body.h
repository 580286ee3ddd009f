/* conv_body.h - direct convolution on vectors; include one of the simd_*.h before.  conv_plan.h says how the work is cut up,
 * conv_tile.h what happens in registers. */
#ifndef AS_BACKEND_CPU_CONV_BODY_H
#define AS_BACKEND_CPU_CONV_BODY_H

#include "backend/cpu/conv_tile.h"

/* Up to so many products an output, the pool goes with the tiles: sums that wait in scratch would cost more than four ends of a tile. */
enum { CONV_SHORT = 64 };

/* First layers: the walk's lengths are constants too, and all of it is unrolled. */
V_INLINE void conv_tile_taps(const conv_tile *t, int n_a, int n_b, int run, const float *const x[CONV_PIXELS], vf acc[CONV_PIXELS][CONV_V])
{
    const int n_p = CONV_PIXELS;
    CONV_UNROLL(3) for (int a = 0; a < n_a; a++)
        CONV_UNROLL(3) for (int b = 0; b < n_b; b++)
            CONV_UNROLL(9) for (int k = 0; k < run; k++)
                conv_tile_tap(n_p, x, a * t->step_a + b * t->step_b + k, t->w + ((a * n_b + b) * run + k) * AS_CONV_PANEL, acc);
}

V_INLINE void conv_tile_first(const conv_tile *t, int n_a, int n_b, int run)
{
    const int    n_p = CONV_PIXELS;
    vf           acc[CONV_PIXELS][CONV_V];
    const float *x[CONV_PIXELS];
    conv_tile_begin(t, n_p, x, acc);
    /* So few products a line of output wait for the line: fetched one tile ahead, 70 -> 78 % of peak at 3 to 32 channels. */
    CONV_EACH_P __builtin_prefetch(t->y + (n_p + p) * t->step, 1);
    conv_tile_taps(t, n_a, n_b, run, x, acc);
    conv_tile_end(t, n_p, acc);
}

/* The same for the four pixels of each result of a pool. */
V_INLINE void conv_tile_first_pool(const conv_tile *t, int n_a, int n_b, int run)
{
    const int     n_p = CONV_PIXELS;
    vf            acc[CONV_PIXELS][CONV_V];
    const float  *x[CONV_PIXELS];
    float         best[CONV_PIXELS * AS_CONV_PANEL];
    const int64_t hop[3] = { t->right, t->below - t->right, t->right };
    conv_tile_begin(t, n_p, x, acc);
    CONV_EACH_P __builtin_prefetch(t->y + (n_p + p) * t->step, 1);
    for (int i = 0;; i++) {
        conv_tile_taps(t, n_a, n_b, run, x, acc);
        if (i)
            CONV_EACH_P CONV_EACH_V acc[p][v] = conv_larger(v_load(best + p * AS_CONV_PANEL + v * VW), acc[p][v]);
        if (i == 3)
            break;
        CONV_EACH_P CONV_EACH_V {
            v_store(best + p * AS_CONV_PANEL + v * VW, acc[p][v]);
            acc[p][v] = v_load(t->bias + v * VW);
        }
        CONV_EACH_P x[p] += hop[i];
    }
    conv_tile_end(t, n_p, acc);
}

/* 3x3 on 1 channel; on 3 channels of whole pixels; on 3 planes. */
static __attribute__((noinline)) void conv_tile_3x1x3(const conv_tile *t) { conv_tile_first(t, 3, 1, 3); }
static __attribute__((noinline)) void conv_tile_3x1x9(const conv_tile *t) { conv_tile_first(t, 3, 1, 9); }
static __attribute__((noinline)) void conv_tile_3x3x3(const conv_tile *t) { conv_tile_first(t, 3, 3, 3); }
static __attribute__((noinline)) void conv_tile_3x1x3_pool(const conv_tile *t) { conv_tile_first_pool(t, 3, 1, 3); }
static __attribute__((noinline)) void conv_tile_3x1x9_pool(const conv_tile *t) { conv_tile_first_pool(t, 3, 1, 9); }
static __attribute__((noinline)) void conv_tile_3x3x3_pool(const conv_tile *t) { conv_tile_first_pool(t, 3, 3, 3); }

static void conv_tile_choose(conv_job *j)
{
    const as_conv_plan *v = &j->v;
    j->tile = conv_tile_full;
    if (v->n_a == 3 && v->n_b == 1 && v->run == 3)
        j->tile = conv_tile_3x1x3, j->tile_pool = conv_tile_3x1x3_pool;
    if (v->n_a == 3 && v->n_b == 1 && v->run == 9)
        j->tile = conv_tile_3x1x9, j->tile_pool = conv_tile_3x1x9_pool;
    if (v->n_a == 3 && v->n_b == 3 && v->run == 3)
        j->tile = conv_tile_3x3x3, j->tile_pool = conv_tile_3x3x3_pool;
}

/* --- A node ----------------------------------------------------------------------------------------- */

static bool conv_job_make(const as_kernel_args *args, int part, int n_parts, void *scratch, conv_job *j)
{
    const as_node_ctx *n = args->ctx;
    as_act             act;
    *j = (conv_job){ .x = args->in[0].data, .bias = as_in_has(n, 2) ? args->in[2].data : NULL,
                     .r = as_in_has(n, 3) ? args->in[3].data : NULL, .y = args->out[0].data };
    if (as_act_read(NULL, n, &act) != ASSAY_OK || !as_conv_plan_make(n, n_parts, &j->v) || !j->v.n_units)
        return false;
    const as_conv_plan *v = &j->v;
    char *at = (char *)scratch + (size_t)part * (v->offset_bytes + v->strip_bytes + v->weight_bytes + v->y_bytes);
    j->offset = (int64_t *)(void *)at;
    j->strip = (float *)(void *)(at += v->offset_bytes);
    j->weight = (float *)(void *)(at += v->strip_bytes);
    j->held = (float *)(void *)(at += v->weight_bytes);
    j->planes = v->pool > 1 ? j->held + (v->rows_held * v->w.out[2] * AS_CONV_PANEL + 15) / 16 * 16 : j->held;
    j->act = vm_act_of(&act);
    conv_clamp(j);
    conv_tile_choose(j);
    j->pools_tiles = v->pool > 1 && j->clamps && !j->r && !v->depthwise && v->k <= CONV_SHORT;
    return true;
}

/* VW pixels of VW channels from rows of 16 into as many planes, of which `some` and n_c exist. */
V_INLINE void conv_planes_block(const conv_job *j, const float *from, int some, int n_c, int64_t at, int64_t plane)
{
    vf r[VW];
    CONV_UNROLL(8) for (int k = 0; k < VW; k++) r[k] = k < some ? v_load(from + k * AS_CONV_PANEL) : v_zero();
    v_transpose(r);
    for (int c = 0; c < n_c; c++, at += plane) {
        vf y = r[c];
        if (j->v.pool == 1 && j->r)
            y = v_add(y, v_load_n(j->r + at, some));
        if (j->v.pool == 1)
            y = vm_act(&j->act, y);
        if (some == VW)
            v_store(j->y + at, y);
        else
            v_store_n(j->y + at, some, y);
    }
}

/* The results of 16 channels from rows of 16 into planes of the row-major output; residual and activation come in here, unless a pool
 * came before. */
static void conv_planes_end(const conv_job *j, const as_conv_unit *u, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    int64_t             plane = v->y_rows * v->y_cols, n = u->n_rows / v->pool * v->y_cols;
    const float        *from = j->planes;
    for (int64_t image = 0; image < u->n_images; image++, from += n * AS_CONV_PANEL)
        for (int c = 0; c < n_m; c += VW) {
            int64_t at = ((u->image + image) * v->n_m + m + c) * plane + u->row / v->pool * v->y_cols;
            for (int64_t i = 0; i < n; i += VW)
                conv_planes_block(j, from + i * AS_CONV_PANEL + c, n - i < VW ? (int)(n - i) : VW, n_m - c < VW ? n_m - c : VW, at + i, plane);
        }
}

/* --- The pool ----------------------------------------------------------------------------------------- */

/* Residual and activation of one row of sums, channel 0 of which is m. */
static void conv_held_end(const conv_job *j, int64_t image, int64_t row, int64_t m, int n_m, float *sums)
{
    const as_conv_plan *v = &j->v;
    int64_t             step = v->y_nhwc ? v->n_m : 1, next = v->y_nhwc ? 1 : v->r_rows * v->r_cols;
    int64_t             at = v->y_nhwc ? ((image * v->r_rows + row) * v->r_cols) * v->n_m + m : ((image * v->n_m + m) * v->r_rows + row) * v->r_cols;
    for (int64_t i = 0; j->r && i < v->w.out[2]; i++)
        for (int c = 0; c < n_m; c++)
            sums[i * AS_CONV_PANEL + c] += j->r[at + i * step + c * next];
    for (int64_t i = 0; i < v->w.out[2] * AS_CONV_PANEL; i += VW)
        v_store(sums + i, vm_act(&j->act, v_load(sums + i)));
}

/* The largest of four: at x, the pixel right of it, and the two below. */
V_INLINE vf conv_largest(const float *x, int64_t below)
{
    vf best = conv_larger(v_load(x), v_load(x + AS_CONV_PANEL));
    best = conv_larger(best, v_load(x + below));
    return conv_larger(best, v_load(x + below + AS_CONV_PANEL));
}

/* One row of results from two rows of 16 channels, of which n_m exist. */
static void conv_row_pool(const float *x, int64_t n, int n_m, float *y, int64_t step)
{
    int64_t below = 2 * n * AS_CONV_PANEL;
    for (int64_t i = 0; i < n; i++, x += 2 * AS_CONV_PANEL, y += step)
        CONV_EACH_V {
            int some = n_m - v * VW;
            if (some >= VW)
                v_store(y + v * VW, conv_largest(x + v * VW, below));
            else if (some > 0)
                v_store_n(y + v * VW, some, conv_largest(x + v * VW, below));
        }
}

/* Rows [first, first + n_rows) of a unit, counted over its images, whose sums wait in j->held. */
static void conv_held_pool(const conv_job *j, const as_conv_unit *u, int64_t first, int64_t n_rows, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    float              *sums = j->held;
    for (int64_t i = first; i < first + n_rows; i += 2, sums += 2 * v->w.out[2] * AS_CONV_PANEL) {
        int64_t image = u->image + i / u->n_rows, row = u->row + i % u->n_rows;
        for (int k = 0; k < 2 && (j->r || !j->clamps); k++)
            conv_held_end(j, image, row + k, m, n_m, sums + k * v->w.out[2] * AS_CONV_PANEL);
        if (v->y_nhwc)
            conv_row_pool(sums, v->y_cols, n_m, j->y + (image * v->y_rows + row / 2) * v->y_cols * v->n_m + m, v->n_m);
        else
            conv_row_pool(sums, v->y_cols, AS_CONV_PANEL, j->planes + i / 2 * v->y_cols * AS_CONV_PANEL, AS_CONV_PANEL);
    }
}

/* --- Depthwise ---------------------------------------------------------------------------------------- */

/* n_p pixels by 16 channels: each tap is one product of vectors. */
V_INLINE void conv_deep_walk(const conv_tile *t, int n_p, const as_conv_plan *plan)
{
    vf           acc[CONV_PIXELS][CONV_V];
    const float *x[CONV_PIXELS], *w = t->w;
    CONV_EACH_P {
        x[p] = t->x + t->offset[p];
        CONV_EACH_V acc[p][v] = v_load(t->bias + v * VW);
    }
    int64_t step_b = plan->w.dilation[2] * plan->pitch, wide = (plan->n_c + AS_CONV_PANEL - 1) / AS_CONV_PANEL * AS_CONV_PANEL;
    for (int64_t a = 0; a < plan->w.kernel[1]; a++) {
        int64_t at = a * t->step_a;
        for (int64_t b = 0; b < plan->w.kernel[2]; b++, at += step_b, w += wide) {
            vf wv[CONV_V];
            CONV_EACH_V wv[v] = v_load(w + v * VW);
            CONV_EACH_P CONV_EACH_V acc[p][v] = v_fma(v_load(x[p] + at + v * VW), wv[v], acc[p][v]);
        }
    }
    conv_tile_end(t, n_p, acc);
}

static void conv_deep_full(const conv_tile *t, const as_conv_plan *plan) { conv_deep_walk(t, CONV_PIXELS, plan); }
static void conv_deep_one(const conv_tile *t, const as_conv_plan *plan) { conv_deep_walk(t, 1, plan); }

static void conv_deep_run(const as_conv_plan *plan, conv_tile t, int64_t n)
{
    for (; n >= CONV_PIXELS; n -= CONV_PIXELS, conv_tile_skip(&t, CONV_PIXELS))
        conv_deep_full(&t, plan);
    for (; n > 0; n--, conv_tile_skip(&t, 1))
        conv_deep_one(&t, plan);
}

/* --- A panel of a unit ---------------------------------------------------------------------------------- */

static void conv_sums_run(const conv_job *j, const conv_tile *t, int64_t n)
{
    if (j->v.depthwise)
        conv_deep_run(&j->v, *t, n);
    else
        conv_pixels_run(j->tile, *t, n);
}

static void conv_act_rows(const as_act_f32 *act, float *y, int64_t step, int64_t n_rows, int n_m)
{
    for (int64_t i = 0; i < n_rows; i++, y += step)
        for (int m = 0; m < n_m; m += VW) {
            int n = n_m - m < VW ? n_m - m : VW;
            v_store_n(y + m, n, vm_act(act, v_load_n(y + m, n)));
        }
}

/* Into the output itself; an activation that is no clamp follows while the pixels are in L1. */
static void conv_pixels_out(const conv_job *j, const as_conv_unit *u, conv_tile t, int64_t n, int64_t m)
{
    const as_conv_plan *v = &j->v;
    int64_t             at = ((u->image * v->y_rows + u->row) * v->y_cols) * v->n_m + m, some = j->clamps ? n : CONV_PIXELS * 16;
    t.y = j->y + at, t.step = v->n_m;
    t.r = j->r ? j->r + at : NULL;
    for (int64_t i = 0; i < n; i += some, conv_tile_skip(&t, some)) {
        int64_t now = n - i < some ? n - i : some;
        conv_sums_run(j, &t, now);
        if (!j->clamps)
            conv_act_rows(&j->act, t.y, t.step, now, t.n_m);
    }
}

/* Into scratch, some rows at a time, and from there by the pool. */
static void conv_pixels_pool(const conv_job *j, const as_conv_unit *u, conv_tile t, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    int64_t             n_rows = u->n_images * u->n_rows;
    t.y = j->held, t.step = t.n_m = AS_CONV_PANEL;
    if (j->r)
        t.lo = -INFINITY, t.hi = INFINITY;
    for (int64_t row = 0; row < n_rows; row += v->rows_held, t.offset += v->rows_held * v->w.out[2]) {
        int64_t now = n_rows - row < v->rows_held ? n_rows - row : v->rows_held;
        conv_sums_run(j, &t, now * v->w.out[2]);
        conv_held_pool(j, u, row, now, m, n_m);
    }
}

/* Where a clamp follows the sums, the pool goes with the tiles: four walks for the same results, each a pixel on, keep the larger. */
static void conv_tiles_pool(const conv_job *j, conv_tile t, int64_t n)
{
    float best[CONV_PIXELS * AS_CONV_PANEL];
    t.right = j->v.w.stride[2] * j->v.pitch, t.below = j->v.w.stride[1] * j->v.row;
    for (int n_p; n > 0; n -= n_p, conv_tile_skip(&t, n_p)) {
        conv_tile one = t;
        n_p = conv_tile_share(n);
        if (n_p == CONV_PIXELS && j->tile_pool) {
            j->tile_pool(&t);
            continue;
        }
        one.y = best, one.step = one.n_m = AS_CONV_PANEL;
        for (int i = 0; i < 4; i++) {
            if (i == 3)
                one.y = t.y, one.step = t.step, one.n_m = t.n_m;
            one.x = t.x + i / 2 * t.below + i % 2 * t.right;
            conv_tile_run(j->tile, &one, n_p);
            one.best = best;
        }
    }
}

/* The channels [m, m + n_m) of a unit's n pixels from x under the weights w. */
static void conv_panel_run(const conv_job *j, const as_conv_unit *u, int64_t n, const float *x, const float *w, int64_t m, int n_m)
{
    const as_conv_plan *v = &j->v;
    float               bias[AS_CONV_PANEL];
    conv_bias(j, m, n_m, bias);
    conv_tile t = { .x = x, .w = w, .bias = bias, .n_m = n_m, .n_a = v->n_a, .step_a = v->step_a, .n_b = v->n_b, .step_b = v->step_b,
                    .run = v->run, .lo = j->lo, .hi = j->hi, .offset = j->offset };
    if (j->pools_tiles) {
        t.y = v->y_nhwc ? j->y + (u->image * v->y_rows + u->row / 2) * v->y_cols * v->n_m + m : j->planes;
        t.step = v->y_nhwc ? v->n_m : AS_CONV_PANEL, t.n_m = v->y_nhwc ? n_m : AS_CONV_PANEL;
        conv_tiles_pool(j, t, n / 4);
    } else if (v->pool > 1) {
        conv_pixels_pool(j, u, t, m, n_m);
    } else if (v->y_nhwc) {
        conv_pixels_out(j, u, t, n, m);
    } else {
        t.y = j->planes, t.step = t.n_m = AS_CONV_PANEL;
        t.lo = -INFINITY, t.hi = INFINITY;
        conv_sums_run(j, &t, n);
    }
    if (!v->y_nhwc)
        conv_planes_end(j, u, m, n_m);
}

/* --- A part --------------------------------------------------------------------------------------------- */

/* Units [begin, end) under the panels [first, last), whose weights start at w. */
static void conv_units_run(const conv_job *j, int64_t begin, int64_t end, int64_t first, int64_t last, const float *w)
{
    const as_conv_plan *v = &j->v;
    int64_t             n = -1, step = v->depthwise ? AS_CONV_PANEL : v->k * AS_CONV_PANEL;
    for (int64_t i = begin; i < end; i++) {
        as_conv_unit u = as_conv_unit_at(v, i);
        if (n != u.n_images * u.n_rows * v->w.out[2])
            n = as_conv_offsets(v, &u, j->pools_tiles ? 2 : 1, j->offset);
        const float *x = as_conv_strip(v, &u, j->x, j->strip);
        for (int64_t panel = first; panel < last; panel++) {
            int64_t g = v->depthwise ? 0 : panel / v->n_panels, at = (v->depthwise ? panel : panel % v->n_panels) * AS_CONV_PANEL;
            int64_t left = (v->depthwise ? v->n_c : v->m_group) - at;
            conv_panel_run(j, &u, n, x + (v->depthwise ? at : g * v->c_group), w + (panel - first) * step, g * v->m_group + at,
                           left < AS_CONV_PANEL ? (int)left : AS_CONV_PANEL);
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
    n_panels = j.v.depthwise ? (j.v.n_c + AS_CONV_PANEL - 1) / AS_CONV_PANEL : j.v.group * j.v.n_panels;
    if (args->packed[1]) {
        conv_units_run(&j, begin, end, 0, n_panels, args->packed[1]);
        return;
    }
    /* Weights that change every run: packed a panel at a time, by every part for itself; a depthwise convolution has few. */
    int64_t some = j.v.depthwise ? n_panels : 1;
    for (int64_t panel = 0; begin < end && panel < n_panels; panel += some) {
        as_conv_pack_panel(&j.v, args->in[1].data, panel, j.weight);
        conv_units_run(&j, begin, end, panel, panel + some, j.weight);
    }
}

static const char *const conv_also[] = { "Conv", NULL };

#endif
