/* conv_plan.c - how a convolution is split. */
#include "backend/cpu/conv/conv_plan.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "base/cpus.h"
#include "op/rules.h"

/* A strip stays in L2, beside a panel of weights, while all output channels are computed from it: a third of L2, which is not taken
 * for smaller than that of a small machine, or larger than what a core can have for itself. */
enum { STRIP_LEAST = 96 * 1024, STRIP_MOST = 1024 * 1024, MAX_PIXELS = 1024, UNITS_PER_PART = 4, PACK_FLOATS = 4608 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
static int64_t strip_bytes(void) { return most(STRIP_LEAST, least(STRIP_MOST, (int64_t)as_cpu_l2_bytes() / 3)); }
static size_t  line_bytes(int64_t n_floats) { return (size_t)up(n_floats * 4, 64); }

/* --- The walk -------------------------------------------------------------------------------------- */

/* Whether no tap of any output lies outside the input. */
static bool is_inside(const as_window *w)
{
    for (int i = 1; i < 3; i++)
        if (w->pad_begin[i] || as_plain_at(w, i, w->out[i] - 1, w->kernel[i] - 1) >= w->in[i])
            return false;
    return true;
}

static void walk_make(as_conv_plan *v)
{
    const as_window *w = &v->w;
    if (v->planar) {
        v->n_a = v->n_c, v->step_a = v->plane;
        v->n_b = w->kernel[1], v->step_b = w->dilation[1] * v->row;
        v->run = w->kernel[2];
    } else {
        v->joined = w->dilation[2] == 1 && v->pitch == v->c_group;
        v->n_a = v->joined ? 1 : w->kernel[1], v->step_a = w->dilation[1] * v->row;
        v->n_b = v->joined ? w->kernel[1] : w->kernel[2], v->step_b = v->joined ? v->step_a : w->dilation[2] * v->pitch;
        v->run = v->joined ? w->kernel[2] * v->c_group : v->c_group;
    }
}

/* Pitches and the walk for units of `rows` output rows. */
static void strip_make(as_conv_plan *v, int64_t rows)
{
    const as_window *w = &v->w;
    v->strip_rows = (rows - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    v->strip_width = (w->out[2] - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
    v->pitch = v->planar ? 1 : v->depthwise && v->copies ? up(v->n_c, v->panel) : v->n_c;
    v->row = (v->copies ? v->strip_width : w->in[2]) * v->pitch;
    v->plane = v->row * v->strip_rows;
    v->image = !v->copies ? w->in[1] * v->row : v->planar ? v->plane * v->n_c : v->plane;
    walk_make(v);
}

/* Sums of a panel that wait for the pool, and results that wait for the copy into planes. */
static void held_make(as_conv_plan *v)
{
    v->y_bytes = v->pool > 1 ? line_bytes(v->pixels_unit * v->panel) : 0;
    if (!v->y_nhwc)
        v->y_bytes += line_bytes(v->pixels_unit / (v->pool * v->pool) * v->panel);
}

/* How many parts share the channels of a unit, so that n_parts / that many share the units.  More of them read more of the input and
 * less of the weights, and rows that do not divide well may be fewer than panels that do.  A byte that a part reads from beyond L2
 * counts as much as two flops: 50 GB/s beside 100 GFLOP/s, and some of it is hidden. */
static int panel_parts(const as_conv_plan *v, int n_parts)
{
    int64_t height = v->n_images * (v->w.out[1] / v->pool), n_panels = v->group * v->n_panels, pixels = v->w.out[2] * v->pool;
    int64_t line = v->w.in[2] * v->n_c * 4 * v->w.stride[1] * v->pool, panel = v->k * v->panel * 4;
    int     best = 1;
    double  least_cost = 0.0;
    for (int parts = 1; parts <= n_parts && !v->depthwise; parts++) {
        if (n_parts % parts || parts > n_panels)
            continue;
        int64_t rows = (height + n_parts / parts - 1) / (n_parts / parts), panels = (n_panels + parts - 1) / parts;
        int64_t units = most(1, rows * line / strip_bytes());
        double  flops = 2.0 * (double)(rows * pixels) * (double)(panels * v->panel) * (double)v->k;
        double  cost = flops + 2.0 * ((double)(rows * line) + (double)(panels * panel) * (double)units);
        if (parts == 1 || cost < least_cost)
            best = parts, least_cost = cost;
    }
    return best;
}

static void units_make(as_conv_plan *v, int n_parts)
{
    const as_window *w = &v->w;
    int64_t          strip = strip_bytes();
    v->panel_parts = panel_parts(v, n_parts);
    n_parts /= v->panel_parts;
    int64_t grain = v->pool, height = w->out[1] / grain, total = v->n_images * height, rows = height;
    strip_make(v, rows * grain);
    /* Enough units that no part waits long for another: a first guess by pixels, then by the strip's bytes. */
    int64_t shares = v->n_images > 1 ? (int64_t)n_parts * UNITS_PER_PART : n_parts;
    int64_t fair = n_parts > 1 ? most(1, (total + shares - 1) / shares) : total;
    rows = most(1, least(rows, least(fair, MAX_PIXELS / most(1, w->out[2]) / grain)));
    strip_make(v, rows * grain);
    while (v->copies && rows > 1 && v->image * 4 > strip)
        strip_make(v, --rows * grain);
    /* Even strips: 10 rows in strips of at most 4 are 4, 3 and 3, not 4, 4 and 2. */
    v->units_image = (height + rows - 1) / rows;
    if (v->n_images == 1 && v->units_image > 1) /* as many for each part */
        v->units_image = least(height, (v->units_image + n_parts - 1) / n_parts * n_parts);
    v->rows_unit = (height + v->units_image - 1) / v->units_image * grain;
    v->units_image = (w->out[1] + v->rows_unit - 1) / v->rows_unit;
    strip_make(v, v->rows_unit);
    v->images_unit = 1;
    if (v->units_image == 1) {
        int64_t pixels = w->out[1] * w->out[2];
        v->images_unit = least(v->n_images, least(MAX_PIXELS / 2 / most(1, pixels), fair / most(1, height)));
        if (v->copies)
            v->images_unit = least(v->images_unit, strip / 4 / most(1, v->image));
        v->images_unit = most(1, v->images_unit);
    }
    v->n_units = v->units_image > 1 ? v->n_images * v->units_image : (v->n_images + v->images_unit - 1) / v->images_unit;
    v->pixels_unit = v->images_unit * v->rows_unit * w->out[2];
    v->spot_bytes =
        v->deep ? 0 : line_bytes((v->pixels_unit + AS_CONV_MORE_SPOTS) * (int64_t)(sizeof(as_conv_spot) / sizeof(float)));
    v->strip_bytes = v->copies ? line_bytes(v->images_unit * v->image) : 0;
    v->weight_bytes = line_bytes(v->depthwise ? v->k * up(v->n_c, v->panel) : v->k * v->panel);
    held_make(v);
}

/* What follows from the window, the channels and the layouts. */
static void plan_finish(as_conv_plan *v, int n_parts, int panel)
{
    bool none = v->w.kernel[1] == 0 || v->w.kernel[2] == 0; /* a phase that no tap sees: zeros */
    v->r_rows = v->w.out[1], v->r_cols = v->w.out[2];
    v->y_rows = v->r_rows / v->pool, v->y_cols = v->r_cols / v->pool;
    v->w.out[1] = v->y_rows * v->pool, v->w.out[2] = v->y_cols * v->pool;
    v->group = v->w.group;
    v->m_group = v->n_m / v->group;
    v->panel = panel;
    v->n_panels = (v->m_group + panel - 1) / panel;
    v->depthwise = v->group > 1 && v->c_group == 1 && v->m_group == 1;
    v->planar = !v->x_nhwc && v->group == 1 && v->n_c <= AS_CONV_MAX_PLANES && v->w.dilation[2] == 1;
    v->deep = v->depthwise && v->x_nhwc && v->y_nhwc && v->pool == 1;
    v->copies = !none && !v->deep && (!v->x_nhwc || !is_inside(&v->w) || (v->depthwise && v->n_c % panel));
    v->k = v->w.kernel[1] * v->w.kernel[2] * v->c_group;
    v->far = v->n_images * v->y_rows * v->y_cols * v->n_m * 4 > strip_bytes() * 3 / 2;
    v->skips = v->copies && !v->planar && !v->depthwise && v->k > AS_CONV_SHORT &&
               2 * (v->w.kernel[1] + v->w.kernel[2] + 1) <= AS_CONV_MAX_BLOCKS;
    if (n_parts && v->n_images && v->w.out[1] && v->w.out[2])
        units_make(v, n_parts);
    else
        strip_make(v, most(1, v->w.out[1]));
}

bool as_conv_plan_make(const as_node_ctx *n, int n_parts, int panel, as_conv_plan *out)
{
    const as_shape *x = &n->in[0].shape, *weight = &n->in[1].shape;
    as_conv_plan    v = {.n_images = x->dim[0],
                         .n_c = x->dim[1],
                         .n_m = weight->dim[0],
                         .c_group = weight->dim[1],
                         .x_nhwc = n->in[0].layout == AS_LAYOUT_NHWC || x->dim[1] == 1,
                         .y_nhwc = n->out[0].layout == AS_LAYOUT_NHWC || weight->dim[0] == 1,
                         .y_step = {1, 1}};
    if (x->rank != weight->rank || !as_plain_window(n, x, &weight->dim[2], false, &v.w))
        return false;
    int64_t taps = v.w.kernel[1] * v.w.kernel[2];
    v.pool = as_attr_int(n, "pool", 0) == 2 ? 2 : 1;
    v.weights = (as_conv_weights){
        .group = v.n_m / v.w.group * v.c_group * taps, .out = v.c_group * taps, .in = taps, .down = v.w.kernel[2], .right = 1};
    plan_finish(&v, n_parts, panel);
    *out = v;
    return true;
}

/* --- The gradient of X ---------------------------------------------------------------------------------- */

int64_t as_convgradx_phases(const as_node_ctx *n)
{
    as_window w;
    return as_plain_turned_window(n, &w) ? w.stride[1] * w.stride[2] : 1;
}

static int64_t divisor(int64_t a, int64_t b) { return b ? divisor(b, a % b) : a; }

/* Elements p = stride * q + phase of an axis see outputs o = q + base - j * dilation through taps first + j * step. */
typedef struct phase_axis {
    int64_t first, step, n_taps, dilation, base;
} phase_axis;

static phase_axis phase_axis_of(const as_window *w, int axis, int64_t phase)
{
    int64_t    s = w->stride[axis], d = w->dilation[axis], at = phase + w->pad_begin[axis];
    phase_axis a = {.step = s / divisor(s, d)};
    while (a.first < w->kernel[axis] && a.first < a.step && (at - a.first * d) % s)
        a.first++;
    if (a.first >= w->kernel[axis] || a.first >= a.step) /* no tap sees these elements */
        return (phase_axis){.step = 1, .dilation = 1};
    a.n_taps = (w->kernel[axis] - a.first + a.step - 1) / a.step;
    a.dilation = a.step * d / s;
    a.base = (at - a.first * d) / s;
    return a;
}

bool as_convgradx_plan_make(const as_node_ctx *n, int64_t phase, int n_parts, int panel, as_conv_plan *out)
{
    const as_shape *dy = &n->in[0].shape, *weight = &n->in[1].shape;
    as_window       w;
    if (!as_plain_turned_window(n, &w))
        return false;
    as_conv_plan v = {.n_images = dy->dim[0],
                      .n_c = dy->dim[1],
                      .n_m = weight->dim[1] * w.group,
                      .c_group = weight->dim[0] / w.group,
                      .x_nhwc = n->in[0].layout == AS_LAYOUT_NHWC || dy->dim[1] == 1,
                      .y_nhwc = n->out[0].layout == AS_LAYOUT_NHWC || weight->dim[1] * w.group == 1,
                      .pool = 1,
                      .w = w};
    int64_t      taps = w.kernel[1] * w.kernel[2], at[3] = {0, phase / w.stride[2], phase % w.stride[2]};
    phase_axis   a[3];
    for (int i = 1; i < 3; i++) {
        a[i] = phase_axis_of(&w, i, at[i]);
        v.y_step[i - 1] = w.stride[i];
        v.y_at[i - 1] = at[i];
        v.w.in[i] = w.out[i];
        v.w.out[i] = at[i] < w.in[i] ? (w.in[i] - at[i] + w.stride[i] - 1) / w.stride[i] : 0;
        v.w.kernel[i] = a[i].n_taps;
        v.w.stride[i] = 1;
        v.w.dilation[i] = a[i].dilation;
        v.w.pad_begin[i] = (a[i].n_taps - 1) * a[i].dilation - a[i].base;
    }
    if (!a[1].n_taps || !a[2].n_taps || !v.c_group)
        v.w.kernel[1] = v.w.kernel[2] = 0;
    v.weights = (as_conv_weights){.group = v.c_group * weight->dim[1] * taps,
                                  .out = taps,
                                  .in = weight->dim[1] * taps,
                                  .first = (a[1].first + (a[1].n_taps - 1) * a[1].step) * w.kernel[2] + a[2].first +
                                           (a[2].n_taps - 1) * a[2].step,
                                  .down = -a[1].step * w.kernel[2],
                                  .right = -a[2].step};
    plan_finish(&v, n_parts, panel);
    v.y_rows = w.in[1], v.y_cols = w.in[2]; /* of the whole dX */
    *out = v;
    return true;
}

/* --- Taps that lie inside ------------------------------------------------------------------------------- */

/* Taps [begin, end) of an axis. */
typedef struct span {
    int64_t begin, end;
} span;

/* Those that lie inside at output o, or all of them. */
static span taps_at(const as_conv_plan *v, int axis, int64_t o)
{
    span t = {0, v->w.kernel[axis]};
    bool skips = v->skips || v->deep;
    while (skips && t.begin < t.end && as_plain_at(&v->w, axis, o, t.begin) < 0)
        t.begin++;
    while (skips && t.begin < t.end && as_plain_at(&v->w, axis, o, t.end - 1) >= v->w.in[axis])
        t.end--;
    return t;
}

/* --- A kernel's functions ------------------------------------------------------------------------- */

static bool layout_ok(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 1; i < 3; i++)
        if (as_in_has(n, i) && n->in[i].layout != AS_LAYOUT_ROW_MAJOR) {
            snprintf(why, why_size, "input %d is not row-major", i);
            return false;
        }
    if (as_in_has(n, 3) && n->in[3].layout != n->out[0].layout) {
        snprintf(why, why_size, "input 3 has another layout than the output");
        return false;
    }
    return true;
}

static bool operands_ok(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].dtype != AS_F32 && n->in[i].dtype != AS_NONE) {
            snprintf(why, why_size, "input %d is %s, needs f32", i, as_dtype_name(n->in[i].dtype));
            return false;
        }
    if (n->in[0].shape.rank <= 4)
        return true;
    snprintf(why, why_size, "it has %d spatial axes, needs 1 or 2", n->in[0].shape.rank - 2);
    return false;
}

bool as_convgradx_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_conv_plan v;
    if (!operands_ok(n, why, why_size))
        return false;
    if (n->in[1].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "input 1 is not row-major");
    else if (as_in_has(n, 2) && n->in[2].shape.rank > 1 && n->in[2].layout != n->out[0].layout)
        snprintf(why, why_size, "input 2 has another layout than the output");
    else if (!as_convgradx_plan_make(n, 0, 0, AS_CONV_PANEL, &v))
        snprintf(why, why_size, "its window cannot be read");
    else
        return true;
    return false;
}

bool as_conv_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_conv_plan v;
    if (!operands_ok(n, why, why_size))
        return false;
    if (!layout_ok(n, why, why_size))
        return false;
    if (as_conv_plan_make(n, 0, AS_CONV_PANEL, &v))
        return true;
    snprintf(why, why_size, "its window cannot be read");
    return false;
}

/* The device may run a node in fewer parts than it has threads, and fewer parts have larger units. */
size_t as_conv_scratch_bytes(const as_node_ctx *n, int n_parts, int panel)
{
    size_t bytes = 0;
    for (int parts = 1; parts <= n_parts; parts++) {
        as_conv_plan v;
        if (!as_conv_plan_make(n, parts, panel, &v))
            return 0;
        size_t all = (size_t)parts * as_conv_part_bytes(&v);
        bytes = all > bytes ? all : bytes;
    }
    return bytes;
}

double as_conv_time(double flops, double first_bytes, double again_bytes)
{
    double compute = flops / 200.0, memory = first_bytes / 20.0 + again_bytes / 60.0;
    return compute > memory ? compute : memory;
}

double as_conv_time_of(const as_node_ctx *n, int panel)
{
    as_conv_plan v;
    if (!as_conv_plan_make(n, 1, panel, &v) || !v.n_units)
        return 0.0;
    double wide = (double)(as_conv_panels(&v) * v.panel), bytes = wide * (double)v.k * 4.0;
    double flops = 2.0 * (double)(v.n_images * v.w.out[1] * v.w.out[2]) * wide * (double)v.k;
    return as_conv_time(flops, bytes, bytes * (double)(v.n_units - 1));
}

as_cost as_conv_issued(const as_node_ctx *n)
{
    as_conv_plan v;
    as_cost      cost = n->op->cost(n);
    if (!as_conv_plan_make(n, 0, AS_CONV_PANEL, &v) || !(v.skips || v.deep))
        return cost;
    int64_t across = 0, walked = 0, high = v.w.kernel[1], wide = v.w.kernel[2];
    for (int64_t col = 0; col < v.w.out[2]; col++) {
        span t = taps_at(&v, 2, col);
        across += t.end - t.begin;
    }
    for (int64_t row = 0; row < v.w.out[1]; row++) {
        span t = taps_at(&v, 1, row);
        walked += (t.end - t.begin) * (t.end - t.begin < high && !v.deep ? wide * v.w.out[2] : across);
    }
    uint64_t left_out = (uint64_t)(v.w.out[1] * v.w.out[2] * high * wide - walked);
    uint64_t flops = as_sat_mul(as_sat_mul(2 * left_out, (uint64_t)(v.c_group * v.n_m)), (uint64_t)v.n_images);
    cost.flops -= flops < cost.flops ? flops : 0;
    return cost;
}

/* --- Weights ------------------------------------------------------------------------------------------ */

int64_t as_conv_panels(const as_conv_plan *v) { return v->depthwise ? up(v->n_c, v->panel) / v->panel : v->group * v->n_panels; }

size_t as_conv_weight_bytes(const as_conv_plan *v) { return line_bytes(v->k * v->panel * as_conv_panels(v)); }

size_t as_conv_packed_bytes(const as_node_ctx *n, int input, int panel)
{
    as_conv_plan v;
    return input == 1 && as_conv_plan_make(n, 0, panel, &v) ? as_conv_weight_bytes(&v) : 0;
}

static void depthwise_pack(const as_conv_plan *v, const float *weight, float *packed)
{
    int64_t wide = up(v->n_c, v->panel);
    for (int64_t t = 0; t < v->k; t++) {
        int64_t at = v->weights.first + t / v->w.kernel[2] * v->weights.down + t % v->w.kernel[2] * v->weights.right;
        for (int64_t c = 0; c < wide; c++)
            packed[t * wide + c] = c < v->n_c ? weight[c * v->weights.group + at] : 0.0f;
    }
}

/* The taps of an input channel and an output channel, `step` floats apart. */
static inline void taps_pack(const as_conv_plan *v, const float *weight, int64_t step, float *packed)
{
    for (int64_t a = 0; a < v->w.kernel[1]; a++)
        for (int64_t b = 0; b < v->w.kernel[2]; b++, packed += step)
            *packed = weight[a * v->weights.down + b * v->weights.right];
}

/* Input channels [c, end) of n_m output channels as [tap][channel][panel], read in the order of the weights. */
static void channels_pack(const as_conv_plan *v, const float *weight, int64_t c, int64_t end, int64_t n_m, float *packed)
{
    const as_conv_weights *from = &v->weights;
    int64_t                step = (end - c) * v->panel;
    if (from->in < from->out)
        for (int64_t j = 0; j < n_m; j++)
            for (int64_t i = c; i < end; i++)
                taps_pack(v, weight + j * from->out + i * from->in, step, packed + (i - c) * v->panel + j);
    else
        for (int64_t i = c; i < end; i++)
            for (int64_t j = 0; j < n_m; j++)
                taps_pack(v, weight + j * from->out + i * from->in, step, packed + (i - c) * v->panel + j);
}

/* A few channels at a time go through L1: written directly, the taps of a channel are so far apart that they share a set of it. */
void as_conv_pack_panel(const as_conv_plan *v, const float *weight, int64_t panel, float *packed)
{
    if (!v->k)
        return; /* no channels, or a phase without taps: there may be no weights either */
    if (v->depthwise) {
        depthwise_pack(v, weight, packed);
        return;
    }
    const as_conv_weights *from = &v->weights;
    int64_t                first = panel % v->n_panels * v->panel, n_m = least(v->panel, v->m_group - first);
    int64_t                taps = v->w.kernel[1] * v->w.kernel[2], each = taps * v->panel;
    float                  some[PACK_FLOATS];
    weight += panel / v->n_panels * from->group + first * from->out + from->first;
    memset(some, 0, sizeof some);
    if (n_m < v->panel)
        memset(packed, 0, (size_t)(v->k * v->panel) * sizeof *packed);
    /* Planes keep the order of the file, channel first; pixels put the channel last. */
    bool    straight = v->planar || each > PACK_FLOATS;
    int64_t n = straight ? 1 : PACK_FLOATS / most(1, each);
    for (int64_t c = 0, end; c < v->c_group; c = end) {
        end = least(c + n, v->c_group);
        int64_t run = (end - c) * v->panel;
        for (int64_t j = 0; straight && j < n_m; j++)
            taps_pack(v, weight + j * from->out + c * from->in, (v->planar ? 1 : v->c_group) * v->panel,
                      packed + c * (v->planar ? each : v->panel) + j);
        if (straight)
            continue;
        channels_pack(v, weight, c, end, n_m, some);
        for (int64_t t = 0; t < taps; t++)
            memcpy(packed + (t * v->c_group + c) * v->panel, some + t * run, (size_t)run * sizeof *some);
    }
}

void as_conv_pack(const as_kernel_args *args, int panel, void *packed, int part, int n_parts)
{
    as_conv_plan v;
    int64_t      begin, end;
    if (!as_conv_plan_make(args->ctx, 0, panel, &v))
        return;
    as_share(v.depthwise ? 1 : v.group * v.n_panels, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++)
        as_conv_pack_panel(&v, args->in[1].data, i, (float *)packed + i * v.k * panel);
}

/* --- Units -------------------------------------------------------------------------------------------- */

as_conv_share as_conv_share_of(const as_conv_plan *v, int part, int n_parts)
{
    as_conv_share s;
    as_share(v->n_units, 1, part / v->panel_parts, n_parts / v->panel_parts, &s.begin, &s.end);
    as_share(as_conv_panels(v), 1, part % v->panel_parts, v->panel_parts, &s.first, &s.last);
    return s;
}

as_conv_unit as_conv_unit_at(const as_conv_plan *v, int64_t index)
{
    if (v->units_image == 1) {
        int64_t image = index * v->images_unit;
        return (as_conv_unit){.image = image, .n_images = least(v->images_unit, v->n_images - image), .n_rows = v->w.out[1]};
    }
    int64_t row = index % v->units_image * v->rows_unit;
    return (as_conv_unit){
        .image = index / v->units_image, .n_images = 1, .row = row, .n_rows = least(v->rows_unit, v->w.out[1] - row)};
}

/* The end of the outputs from o on that have the same taps inside; *t gets these taps. */
static int64_t band_end(const as_conv_plan *v, int axis, int64_t o, int64_t last, span *t)
{
    *t = taps_at(v, axis, o);
    for (o++; v->skips && o < last; o++) {
        span next = taps_at(v, axis, o);
        if (next.begin != t->begin || next.end != t->end)
            return o;
    }
    return last;
}

static as_conv_block block_make(const as_conv_plan *v, span rows, span cols)
{
    int64_t n_rows = rows.end - rows.begin, n_cols = cols.end - cols.begin, wide = v->w.kernel[2] * v->c_group;
    if (!v->skips)
        return (as_conv_block){.n_a = v->n_a, .n_b = v->n_b, .run = v->run};
    as_conv_block to = {.n_a = n_rows,
                        .n_b = n_cols,
                        .run = v->c_group,
                        .w = (rows.begin * wide + cols.begin * v->c_group) * v->panel,
                        .x = rows.begin * v->step_a + cols.begin * v->w.dilation[2] * v->pitch};
    if (v->joined)
        to.n_a = 1, to.n_b = n_rows, to.run = n_cols * v->c_group;
    return to;
}

/* Rows and columns of a unit's images. */
typedef struct area {
    int64_t row, row_end, col, col_end;
} area;

static as_conv_spot *area_fill(const as_conv_plan *v, const as_conv_unit *u, const area *r, int64_t each, const as_conv_steps *to,
                               as_conv_spot *spot)
{
    as_conv_spot down = {.from = each * v->w.stride[1] * v->row, .to = to->row};
    as_conv_spot right = {.from = each * v->w.stride[2] * v->pitch, .to = to->pixel};
    for (int64_t image = 0; image < u->n_images; image++)
        for (int64_t row = r->row / each; row < r->row_end / each; row++) {
            int64_t      col = r->col / each;
            as_conv_spot at = {.from = image * v->image + row * down.from + col * right.from,
                               .to = image * to->image + row * down.to + col * right.to};
            for (; col < r->col_end / each; col++, at.from += right.from, at.to += right.to)
                *spot++ = at;
        }
    return spot;
}

as_conv_steps as_conv_steps_nhwc(const as_conv_plan *v)
{
    int64_t row = v->y_cols * v->n_m;
    return (as_conv_steps){.image = v->y_rows * row, .row = v->y_step[0] * row, .pixel = v->y_step[1] * v->n_m};
}

as_conv_steps as_conv_steps_panel(const as_conv_plan *v, const as_conv_unit *u, int64_t each)
{
    int64_t row = v->w.out[2] / each * v->panel;
    return (as_conv_steps){.image = u->n_rows / each * row, .row = row, .pixel = v->panel};
}

int as_conv_spots(const as_conv_plan *v, const as_conv_unit *u, int64_t each, const as_conv_steps *to, as_conv_spot *spot,
                  as_conv_block *block)
{
    const as_window *w = &v->w;
    int              n = 0;
    for (int64_t row = u->row, row_end; row < u->row + u->n_rows; row = row_end) {
        span a, b;
        row_end = band_end(v, 1, row, u->row + u->n_rows, &a);
        for (int64_t col = 0, col_end; col < w->out[2]; col = col_end) {
            col_end = band_end(v, 2, col, w->out[2], &b);
            if (a.end - a.begin < w->kernel[1])
                b = (span){0, w->kernel[2]}, col_end = w->out[2];
            as_conv_spot *first = spot;
            spot = area_fill(v, u, &(area){row - u->row, row_end - u->row, col, col_end}, each, to, spot);
            block[n] = block_make(v, a, b);
            block[n++].n = spot - first;
        }
    }
    for (int i = 0; i < AS_CONV_MORE_SPOTS; i++)
        spot[i] = spot[-1];
    return n;
}

/* For a few floats: a call of memset costs more. */
static void zeros_fill(float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = 0.0f;
}

/* The same for a row of a plane. */
static void floats_copy(float *to, const float *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        memcpy(to + i, from + i, 8 * sizeof *to);
    for (; i < n; i++)
        to[i] = from[i];
}

/* One row of the input between the zeros of its padding; columns [begin, end) of the strip are inside. */
static void row_fill(const as_conv_plan *v, const float *x, int64_t begin, int64_t end, float *to)
{
    int64_t plane = v->w.in[1] * v->w.in[2], wide = v->pitch;
    zeros_fill(to, begin * wide);
    zeros_fill(to + end * wide, (v->strip_width - end) * wide);
    if (v->x_nhwc && wide == v->n_c) {
        memcpy(to + begin * wide, x, (size_t)((end - begin) * wide) * sizeof *to);
        return;
    }
    for (int64_t col = begin; wide != v->n_c && col < end; col++)
        zeros_fill(to + col * wide + v->n_c, wide - v->n_c);
    if (v->x_nhwc) {
        for (int64_t col = begin; col < end; col++)
            memcpy(to + col * wide, x + (col - begin) * v->n_c, (size_t)v->n_c * sizeof *to);
        return;
    }
    for (int64_t c = 0; c < v->n_c; c++)
        for (int64_t col = begin; col < end; col++)
            to[col * wide + c] = x[c * plane + col - begin];
}

static void planes_fill(const as_conv_plan *v, const float *x, int64_t begin, int64_t end, float *to)
{
    int64_t plane = v->w.in[1] * v->w.in[2];
    for (int64_t c = 0; c < v->n_c; c++, x += plane, to += v->plane) {
        zeros_fill(to, begin);
        floats_copy(to + begin, x, end - begin);
        zeros_fill(to + end, v->strip_width - end);
    }
}

static void image_fill(const as_conv_plan *v, const as_conv_unit *u, const float *x, float *to)
{
    const as_window *w = &v->w;
    int64_t begin = most(0, least(w->pad_begin[2], v->strip_width)), end = least(w->in[2] + w->pad_begin[2], v->strip_width);
    int64_t step = v->x_nhwc ? w->in[2] * v->n_c : w->in[2], first = u->row * w->stride[1] - w->pad_begin[1];
    int64_t cut = most(0, -w->pad_begin[2]) * (v->x_nhwc ? v->n_c : 1); /* what a phase does not see of a row */
    int64_t n_rows = (u->n_rows - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    if (end < begin)
        end = begin;
    for (int64_t i = 0; i < n_rows; i++, to += v->row) {
        bool         inside = first + i >= 0 && first + i < w->in[1];
        int64_t      stop = inside ? end : begin;
        const float *from = inside ? x + (first + i) * step + cut : x;
        if (v->planar)
            planes_fill(v, from, begin, stop, to);
        else
            row_fill(v, from, begin, stop, to);
    }
}

const float *as_conv_strip(const as_conv_plan *v, const as_conv_unit *u, const float *x, float *strip)
{
    int64_t image = v->w.in[1] * v->w.in[2] * v->n_c;
    x += u->image * image;
    if (!v->copies)
        return v->k ? x + u->row * v->w.stride[1] * v->row : x;
    for (int64_t i = 0; i < u->n_images; i++)
        image_fill(v, u, x + i * image, strip + i * v->image);
    return strip;
}
