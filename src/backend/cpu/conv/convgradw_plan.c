/* convgradw_plan.c - how the gradient of a convolution with respect to W is split. */
#include "backend/cpu/conv/convgradw_plan.h"

#include <stdio.h>

#include "backend/cpu/each/plain.h"

enum {
    POSITIONS = 256,         /* of a unit: a panel of dY and a block of X stay near L1, and few rows of X are copied twice */
    SHARES = 16,             /* pieces of work, so that no thread waits long for another */
    SUMS_BYTES = 384 * 1024, /* of the panels that are walked at once: they stay in L2 */
    SHARDS_BYTES = 4 << 20,  /* of all shards */
    FEW_CHANNELS = 4,
    CLOSE_CHANNELS = 32 /* at most: more, and the pixels of a unit share too few sets of L1 */
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceiling(int64_t n, int64_t d) { return (n + d - 1) / d; }
static size_t  line_bytes(int64_t n_floats) { return (size_t)ceiling(n_floats * 4, 64) * 64; }

static void units_make(as_gradw_plan *p)
{
    const as_window *w = &p->w;
    if (!p->n_images || !w->out[1] || !w->out[2])
        return; /* no units */
    int64_t pixels = w->out[1] * w->out[2], rows = most(1, least(w->out[1], POSITIONS / most(1, w->out[2])));
    p->images_unit = pixels <= POSITIONS ? most(1, least(p->n_images, POSITIONS / most(1, pixels))) : 1;
    p->units_image = ceiling(w->out[1], rows);
    p->rows_unit = ceiling(w->out[1], p->units_image);
    p->units_image = ceiling(w->out[1], p->rows_unit);
    p->n_units = p->units_image > 1 ? p->n_images * p->units_image : ceiling(p->n_images, p->images_unit);
    p->positions = p->images_unit * p->rows_unit * w->out[2];
    p->in_rows = (p->rows_unit - 1) * w->stride[1] + (w->kernel[1] - 1) * w->dilation[1] + 1;
    p->in_cols = p->joined ? (w->out[2] - 1) * w->stride[2] + w->kernel[2] : w->in[2];
    if (!p->joined)
        p->in_rows = least(p->in_rows, w->in[1]);
}

static void shards_make(as_gradw_plan *p)
{
    p->panel_floats = p->taps * p->c_group * p->panel;
    p->shard_floats = p->all_panels * (p->panel_floats + p->panel);
    int64_t room = SHARDS_BYTES / most(1, p->shard_floats * 4);
    p->n_shards = least(AS_GRADW_MAX_SHARDS, least(p->n_units, least(room, ceiling(SHARES, most(1, p->all_panels)))));
    p->n_shards = p->n_units ? most(1, p->n_shards) : 0;
    p->panels_at_once = most(1, SUMS_BYTES / most(1, p->panel_floats * 4));
}

bool as_gradw_plan_make(const as_node_ctx *n, int panel, int max_rows, as_gradw_plan *out)
{
    const as_shape *x = &n->in[0].shape, *weight = &n->out[0].shape;
    as_gradw_plan   p = {.n_images = x->dim[0],
                         .n_c = x->dim[1],
                         .n_m = weight->dim[0],
                         .c_group = weight->dim[1],
                         .x_nhwc = n->in[0].layout == AS_LAYOUT_NHWC || x->dim[1] == 1,
                         .dy_nhwc = n->in[1].layout == AS_LAYOUT_NHWC || weight->dim[0] == 1,
                         .sums_dy = n->n_out > 1,
                         .panel = panel};
    if (x->rank > 4 || x->rank != weight->rank || !as_plain_window(n, x, &weight->dim[2], false, &p.w))
        return false;
    p.group = p.w.group;
    p.m_group = p.n_m / p.group;
    p.taps = p.w.kernel[1] * p.w.kernel[2];
    p.depthwise = p.group > 1 && p.c_group == 1 && p.m_group == 1;
    p.joined = !p.depthwise && p.group == 1 && p.n_c <= FEW_CHANNELS && p.w.dilation[2] == 1;
    p.n_panels = ceiling(p.m_group, panel);
    p.all_panels = p.depthwise ? ceiling(p.n_c, panel) : p.group * p.n_panels;
    p.n_blocks = p.joined ? 1 : ceiling(p.c_group, max_rows);
    p.block = p.n_blocks ? ceiling(p.c_group, p.n_blocks) : 0; /* even blocks: 32 channels are 11, 11 and 10 */
    p.copies = p.joined || !p.x_nhwc || (p.taps > 1 && p.n_c > CLOSE_CHANNELS);
    p.pitch = p.joined || !p.copies ? p.n_c : p.block;
    units_make(&p);
    shards_make(&p);
    if (!p.depthwise) {
        p.x_image = p.copies ? p.in_rows * p.in_cols * p.pitch : p.w.in[1] * p.w.in[2] * p.n_c;
        p.x_block = p.copies ? p.images_unit * p.x_image : p.block;
        p.x_bytes = p.copies ? line_bytes(p.x_block * p.n_blocks * p.group) : 0;
        p.dy_bytes = line_bytes(p.positions * panel);
    }
    *out = p;
    return true;
}

size_t as_gradw_scratch_bytes(const as_gradw_plan *p, int n_parts)
{
    return line_bytes(p->n_shards * p->shard_floats) + (size_t)n_parts * (p->x_bytes + p->dy_bytes);
}

bool as_gradw_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_gradw_plan p;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].dtype != AS_F32) {
            snprintf(why, why_size, "input %d is %s, needs f32", i, as_dtype_name(n->in[i].dtype));
            return false;
        }
    if (n->in[0].shape.rank > 4)
        snprintf(why, why_size, "it has %d spatial axes, needs 1 or 2", n->in[0].shape.rank - 2);
    else if (n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "output 0 is not row-major");
    else if (as_shape_count(&n->out[0].shape) == 0)
        snprintf(why, why_size, "it has no weights");
    else if (!as_gradw_plan_make(n, AS_CONV_PANEL, 1, &p))
        snprintf(why, why_size, "its window cannot be read");
    else if (p.depthwise && !(p.x_nhwc && p.dy_nhwc))
        snprintf(why, why_size, "it is depthwise, and input %d is not NHWC", p.x_nhwc);
    else
        return true;
    return false;
}

as_gradw_unit as_gradw_unit_at(const as_gradw_plan *p, int64_t index)
{
    as_gradw_unit u = {.n_images = 1, .n_rows = p->w.out[1]};
    if (p->units_image > 1) {
        u.image = index / p->units_image;
        u.row = index % p->units_image * p->rows_unit;
        u.n_rows = least(p->rows_unit, p->w.out[1] - u.row);
    } else {
        u.image = index * p->images_unit;
        u.n_images = least(p->images_unit, p->n_images - u.image);
    }
    u.in_row = u.row * p->w.stride[1] - p->w.pad_begin[1];
    int64_t end = u.in_row + (u.n_rows - 1) * p->w.stride[1] + (p->w.kernel[1] - 1) * p->w.dilation[1] + 1;
    if (!p->joined) {
        end = most(0, least(end, p->w.in[1]));
        u.in_row = least(most(0, u.in_row), end);
    }
    u.n_in_rows = end - u.in_row;
    return u;
}
