/* window.c - the windows of Conv, ConvTranspose, the pools and their gradients. */
#include <math.h>
#include <string.h>

#include "op/nn/taps.h"

/* Larger sizes are of no use and would let an ordinary-looking file ask for any amount of work. */
#define MAX_SIZE ((int64_t)INT32_MAX)

/* A list of n values in [least, MAX_SIZE], or all `otherwise` when it is not given. */
static assay_status list_read(assay_env *env, const as_node_ctx *n, const char *name, size_t count, int64_t least,
                              int64_t otherwise, int64_t *out)
{
    const as_attr *a = as_attr_find(n, name);
    if (a && a->n != count)
        return as_refuse(env, n, "%s has %zu values and needs %zu", name, a->n, count);
    for (size_t i = 0; i < count; i++) {
        out[i] = a ? a->ints[i] : otherwise;
        if (out[i] < least || out[i] > MAX_SIZE)
            return as_refuse(env, n, "%s[%zu] is %lld, outside of %lld to %lld", name, i, (long long)out[i], (long long)least,
                             (long long)MAX_SIZE);
    }
    return ASSAY_OK;
}

static assay_status kernel_read(assay_env *env, const as_node_ctx *n, const int64_t *kernel, as_window *w)
{
    size_t count = (size_t)w->n_axes;
    if (!kernel) {
        if (!as_attr_find(n, "kernel_shape"))
            return as_refuse(env, n, "attribute 'kernel_shape' is missing");
        AS_TRY(list_read(env, n, "kernel_shape", count, 1, 1, w->kernel));
        uint64_t taps = 1;
        for (int i = 0; i < w->n_axes; i++)
            taps = as_sat_mul(taps, (uint64_t)w->kernel[i]);
        /* Unlike weights, a large pooling window does not make the file larger. */
        if (taps > (uint64_t)MAX_SIZE)
            return as_refuse(env, n, "kernel_shape asks for windows of more than %lld elements", (long long)MAX_SIZE);
        return ASSAY_OK;
    }
    int64_t said[3];
    AS_TRY(list_read(env, n, "kernel_shape", count, 1, 1, said));
    for (int i = 0; i < w->n_axes; i++) {
        if (kernel[i] < 1 || kernel[i] > MAX_SIZE)
            return as_refuse(env, n, "the kernel's size %d is %lld, outside of 1 to %lld", i, (long long)kernel[i],
                             (long long)MAX_SIZE);
        if (as_attr_find(n, "kernel_shape") && said[i] != kernel[i])
            return as_refuse(env, n, "kernel_shape[%d] is %lld and the weights have %lld", i, (long long)said[i],
                             (long long)kernel[i]);
        w->kernel[i] = kernel[i];
    }
    return ASSAY_OK;
}

/* The output size of one axis when the pads are known. */
static assay_status axis_explicit(assay_env *env, const as_node_ctx *n, bool ceil_mode, int i, as_window *w)
{
    /* Each factor is below 2^31, so `reach` fits; only the input's own size can overflow the sum. */
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1, padded;
    if (__builtin_add_overflow(w->in[i], w->pad_begin[i] + w->pad_end[i], &padded))
        return as_refuse(env, n, "spatial size %lld with pads %lld and %lld is too large", (long long)w->in[i],
                         (long long)w->pad_begin[i], (long long)w->pad_end[i]);
    if (padded < reach) {
        if (w->in[i] > 0)
            return as_refuse(
                env, n,
                "on spatial axis %d the window of %lld (kernel %lld, dilation %lld) does not fit size %lld with pads %lld and %lld",
                i, (long long)reach, (long long)w->kernel[i], (long long)w->dilation[i], (long long)w->in[i],
                (long long)w->pad_begin[i], (long long)w->pad_end[i]);
        w->out[i] = 0; /* an empty input gives an empty output */
        return ASSAY_OK;
    }
    int64_t room = padded - reach;
    w->out[i] = room / w->stride[i] + 1;
    /* One more window if it starts before the end of the input: out * stride < in + pad_begin, written without the product. */
    if (ceil_mode && room % w->stride[i] && (w->in[i] + w->pad_begin[i] - 1) / w->stride[i] >= w->out[i])
        w->out[i]++;
    return ASSAY_OK;
}

/* SAME: as many outputs as there are strides in the input, with as little padding as possible. */
static void axis_same(bool upper, int i, as_window *w)
{
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
    w->out[i] = w->in[i] / w->stride[i] + (w->in[i] % w->stride[i] != 0);
    w->pad_begin[i] = w->pad_end[i] = 0;
    if (w->out[i] == 0)
        return;
    /* (out - 1) * stride < in, so subtract first: the sum cannot overflow. */
    int64_t missing = reach - (w->in[i] - (w->out[i] - 1) * w->stride[i]);
    if (missing <= 0)
        return;
    w->pad_begin[i] = upper ? missing / 2 : missing - missing / 2;
    w->pad_end[i] = missing - w->pad_begin[i];
}

assay_status as_window_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const int64_t *kernel, bool ceil_mode,
                            as_window *out)
{
    if (x->rank < 3 || x->rank > 5)
        return as_refuse(env, n, "X is %s: it must be [N, C, spatial...] with 1 to 3 spatial axes", AS_SHOW(x));
    as_window w = {.n_axes = x->rank - 2, .group = as_attr_int(n, "group", 1)};
    for (int i = 0; i < 3; i++)
        w.in[i] = w.out[i] = w.kernel[i] = w.stride[i] = w.dilation[i] = 1;
    for (int i = 0; i < w.n_axes; i++)
        w.in[i] = x->dim[i + 2];
    if (w.group < 1 || w.group > MAX_SIZE)
        return as_refuse(env, n, "group is %lld, outside of 1 to %lld", (long long)w.group, (long long)MAX_SIZE);

    size_t  count = (size_t)w.n_axes;
    int64_t pads[6];
    AS_TRY(kernel_read(env, n, kernel, &w));
    AS_TRY(list_read(env, n, "strides", count, 1, 1, w.stride));
    AS_TRY(list_read(env, n, "dilations", count, 1, 1, w.dilation));
    AS_TRY(list_read(env, n, "pads", 2 * count, 0, 0, pads));
    bool padded = false;
    for (int i = 0; i < w.n_axes; i++) {
        w.pad_begin[i] = pads[i];
        w.pad_end[i] = pads[i + w.n_axes];
        padded |= pads[i] || pads[i + w.n_axes];
    }

    const char *mode = as_attr_text(n, "auto_pad", "NOTSET");
    bool        upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER"), valid = !strcmp(mode, "VALID");
    if (!same && !valid && strcmp(mode, "NOTSET"))
        return as_refuse(env, n, "auto_pad is '%s' and must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
    if (padded && (same || valid))
        return as_refuse(env, n, "pads and auto_pad '%s' are both given", mode);
    for (int i = 0; i < w.n_axes; i++) {
        if (same)
            axis_same(upper, i, &w);
        else /* VALID rounds down whatever ceil_mode says */
            AS_TRY(axis_explicit(env, n, ceil_mode && !valid, i, &w));
    }
    *out = w;
    return ASSAY_OK;
}

int64_t as_window_count(const int64_t size[3])
{
    /* If one of them is 0, the others may be too large to multiply. */
    return size[0] && size[1] && size[2] ? size[0] * size[1] * size[2] : 0;
}

int64_t as_window_max(const as_window *w, const as_view *plane, const int64_t *o, double *max)
{
    int64_t first = -1, k[3], p[3];
    double  best = -INFINITY;
    AS_EACH3(k, w->kernel)
    {
        if (!as_tap_at(w, o, k, p))
            continue;
        double x = as_view_at(plane, p);
        if (first < 0 || x > best || (isnan(x) && !isnan(best))) {
            best = x;
            first = (p[0] * w->in[1] + p[1]) * w->in[2] + p[2];
        }
    }
    *max = best;
    return first;
}

assay_status as_pool_read(assay_env *env, const as_node_ctx *n, const as_shape *x, as_window *w, as_shape *y)
{
    as_window found;
    int64_t   order = as_attr_int(n, "storage_order", 0);
    if (order != 0 && order != 1)
        return as_refuse(env, n, "storage_order is %lld and must be 0 (row-major) or 1 (column-major)", (long long)order);
    AS_TRY(as_window_read(env, n, x, NULL, as_attr_int(n, "ceil_mode", 0) != 0, &found));
    as_shape shape = {.rank = x->rank, .dim = {x->dim[0], x->dim[1]}};
    for (int i = 0; i < found.n_axes; i++) {
        /* Such a window would hold only padding, and the maximum of no elements is not a number. */
        if (as_attr_find(n, "pads") && (found.pad_begin[i] >= found.kernel[i] || found.pad_end[i] >= found.kernel[i]))
            return as_refuse(env, n, "pads %lld and %lld of spatial axis %d must be smaller than the kernel's %lld",
                             (long long)found.pad_begin[i], (long long)found.pad_end[i], i, (long long)found.kernel[i]);
        shape.dim[i + 2] = found.out[i];
    }
    *w = found;
    *y = shape;
    return ASSAY_OK;
}

int as_attrs_repeat(const as_node_ctx *n, const char *more, const int64_t *ints, size_t n_ints, as_attr *out)
{
    int count = 0;
    for (; count < n->n_attrs; count++)
        out[count] = n->attrs[count];
    if (more)
        out[count++] = (as_attr){.name = more, .kind = AS_ATTR_INTS, .ints = ints, .n = n_ints};
    return count;
}

assay_status as_conv_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, as_conv_shapes *out)
{
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        return as_refuse(env, n, "X is %s and W is %s: both must have rank 3 to 5, and the same", AS_SHOW(x), AS_SHOW(w));
    as_conv_shapes s = {.x = *x, .w = *w};
    AS_TRY(as_window_read(env, n, x, &w->dim[2], false, &s.window));
    int64_t channels;
    if (__builtin_mul_overflow(w->dim[1], s.window.group, &channels) || channels != x->dim[1])
        return as_refuse(env, n, "X is %s and W is %s: %lld channels are not group %lld times %lld", AS_SHOW(x), AS_SHOW(w),
                         (long long)x->dim[1], (long long)s.window.group, (long long)w->dim[1]);
    if (w->dim[0] % s.window.group)
        return as_refuse(env, n, "group %lld does not divide the %lld output channels", (long long)s.window.group,
                         (long long)w->dim[0]);
    s.y = (as_shape){.rank = x->rank, .dim = {x->dim[0], w->dim[0]}};
    for (int i = 0; i < s.window.n_axes; i++)
        s.y.dim[i + 2] = s.window.out[i];
    *out = s;
    return ASSAY_OK;
}

assay_status as_conv_grad_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, const as_shape *dy,
                               as_conv_shapes *out)
{
    as_conv_shapes s;
    AS_TRY(as_conv_read(env, n, x, w, &s));
    if (!as_shape_same(&s.y, dy))
        return as_refuse(env, n, "dY is %s, and X %s with W %s gives %s", AS_SHOW(dy), AS_SHOW(x), AS_SHOW(w), AS_SHOW(&s.y));
    *out = s;
    return ASSAY_OK;
}

uint64_t as_window_flops(const as_window *w, const as_shape *y, int64_t channels_per_group)
{
    uint64_t taps = (uint64_t)channels_per_group;
    for (int i = 0; i < 3; i++)
        taps = as_sat_mul(taps, (uint64_t)w->kernel[i]);
    return as_sat_mul(2, as_sat_mul(taps, as_sat_count(y)));
}

assay_status as_conv_bias(assay_env *env, const as_node_ctx *n, int i, const as_conv_shapes *s)
{
    int64_t channels = s->y.dim[1];
    if (as_in_has(n, i) && (n->in[i].shape.rank != 1 || n->in[i].shape.dim[0] != channels))
        return as_refuse(env, n, "B is %s and must be [%lld], one value per output channel", AS_SHOW(&n->in[i].shape),
                         (long long)channels);
    return ASSAY_OK;
}

int as_conv_bias_grad(as_builder *b, int dy, int rank)
{
    int64_t axes[AS_MAX_RANK] = {0};
    as_attr keep = AS_ATTR_I("keepdims", 0);
    for (int i = 2; i < rank; i++)
        axes[i - 1] = i;
    int list = as_b_ints(b, axes, (size_t)rank - 1);
    return list < 0 ? -1 : b->node(b, "ReduceSum", (int[]){dy, list}, 2, &keep, 1, NULL, 1);
}

as_cost as_conv_cost(const as_node_ctx *n, const as_conv_shapes *s, const as_shape *over)
{
    as_cost cost = as_cost_bytes(n);
    cost.flops = as_window_flops(&s->window, over, s->w.dim[1]);
    if (as_in_has(n, 2))
        cost.flops = as_sat_add(cost.flops, as_sat_count(&s->y));
    return cost;
}

assay_status as_attr_shape(assay_env *env, const as_node_ctx *n, const char *name, as_dtype dtype, as_shape *out)
{
    const as_attr *a = as_attr_find(n, name);
    if (!a || a->n > AS_MAX_RANK)
        return as_refuse(env, n, "attribute '%s' must hold at most %d sizes", name, AS_MAX_RANK);
    as_shape shape = {.rank = (int)a->n};
    for (size_t i = 0; i < a->n; i++)
        shape.dim[i] = a->ints[i];
    if (!as_shape_ok(&shape, dtype))
        return as_refuse(env, n, "%s %s has a negative size or is too large", name, AS_SHOW(&shape));
    *out = shape;
    return ASSAY_OK;
}

/* --- ConvTranspose --- */

/* The pads of one axis for an output of `size`; where `size` is larger than the convolution reaches, the rest stays at the end. */
static void axis_cut(int64_t natural, int64_t size, bool upper, int i, as_window *w)
{
    int64_t total = natural > size ? natural - size : 0;
    w->pad_begin[i] = upper ? total / 2 : total - total / 2;
    w->pad_end[i] = total - w->pad_begin[i];
    w->in[i] = size;
}

/* Output and pads of one axis.  `size` 0: no output_shape. */
static assay_status axis_transposed(assay_env *env, const as_node_ctx *n, const char *mode, int64_t more, int64_t size, int i,
                                    as_window *w)
{
    int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1, natural;
    bool    upper = !strcmp(mode, "SAME_UPPER"), same = upper || !strcmp(mode, "SAME_LOWER");
    if (w->out[i] < 1)
        return as_refuse(env, n, "X has size 0 on spatial axis %d", i);
    if (__builtin_mul_overflow(w->out[i], w->stride[i], &natural) ||
        __builtin_add_overflow(natural - w->stride[i], reach + more, &natural))
        return as_refuse(env, n, "spatial size %lld with stride %lld is too large", (long long)w->out[i], (long long)w->stride[i]);
    if (size || same) {
        axis_cut(natural, size ? size : w->out[i] * w->stride[i], upper, i, w);
        return ASSAY_OK;
    }
    w->in[i] = natural - w->pad_begin[i] - w->pad_end[i];
    if (w->in[i] < 1)
        return as_refuse(env, n, "on spatial axis %d pads %lld and %lld leave nothing of %lld", i, (long long)w->pad_begin[i],
                         (long long)w->pad_end[i], (long long)natural);
    return ASSAY_OK;
}

static assay_status transposed_channels(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, int64_t group,
                                        int64_t *out)
{
    if (x->dim[1] != w->dim[0] || x->dim[1] % group)
        return as_refuse(env, n, "X is %s and W is %s: their %lld and %lld channels must be the same and a multiple of group %lld",
                         AS_SHOW(x), AS_SHOW(w), (long long)x->dim[1], (long long)w->dim[0], (long long)group);
    if (__builtin_mul_overflow(w->dim[1], group, out))
        return as_refuse(env, n, "W is %s: %lld groups of %lld channels are too many", AS_SHOW(w), (long long)group,
                         (long long)w->dim[1]);
    return ASSAY_OK;
}

assay_status as_transposed_read(assay_env *env, const as_node_ctx *n, const as_shape *x, const as_shape *w, as_conv_shapes *out)
{
    if (x->rank < 3 || x->rank > 5 || w->rank != x->rank)
        return as_refuse(env, n, "X is %s and W is %s: both must have rank 3 to 5, and the same", AS_SHOW(x), AS_SHOW(w));
    as_window win = {.n_axes = x->rank - 2, .group = as_attr_int(n, "group", 1)};
    for (int i = 0; i < 3; i++)
        win.in[i] = win.out[i] = win.kernel[i] = win.stride[i] = win.dilation[i] = 1;
    if (win.group < 1 || win.group > MAX_SIZE)
        return as_refuse(env, n, "group is %lld, outside of 1 to %lld", (long long)win.group, (long long)MAX_SIZE);
    size_t  count = (size_t)win.n_axes;
    int64_t pads[6], more[3], size[3] = {0};
    AS_TRY(kernel_read(env, n, &w->dim[2], &win));
    AS_TRY(list_read(env, n, "strides", count, 1, 1, win.stride));
    AS_TRY(list_read(env, n, "dilations", count, 1, 1, win.dilation));
    AS_TRY(list_read(env, n, "pads", 2 * count, 0, 0, pads));
    AS_TRY(list_read(env, n, "output_padding", count, 0, 0, more));
    if (as_attr_find(n, "output_shape"))
        AS_TRY(list_read(env, n, "output_shape", count, 1, 1, size));
    const char *mode = as_attr_text(n, "auto_pad", "NOTSET");
    bool        padded = false, set = strcmp(mode, "NOTSET") != 0;
    if (set && strcmp(mode, "SAME_UPPER") && strcmp(mode, "SAME_LOWER") && strcmp(mode, "VALID"))
        return as_refuse(env, n, "auto_pad is '%s' and must be NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
    as_conv_shapes s = {.x = *x, .w = *w, .y = {.rank = x->rank, .dim = {x->dim[0]}}};
    AS_TRY(transposed_channels(env, n, x, w, win.group, &s.y.dim[1]));
    for (int i = 0; i < win.n_axes; i++) {
        win.out[i] = x->dim[i + 2];
        win.pad_begin[i] = pads[i];
        win.pad_end[i] = pads[i + win.n_axes];
        padded |= pads[i] || pads[i + win.n_axes];
        AS_TRY(axis_transposed(env, n, mode, more[i], size[i], i, &win));
        s.y.dim[i + 2] = win.in[i];
    }
    if (padded && set)
        return as_refuse(env, n, "pads and auto_pad '%s' are both given", mode);
    s.window = win;
    *out = s;
    return ASSAY_OK;
}
