/* plain.c - what the plain kernels share. */
#include "backend/cpu/each/plain.h"

#include <stdio.h>
#include <string.h>

#include "op/rules.h"

/* --- Inner loops -------------------------------------------------------------------------------- */

/* Four terms at a time: y is loaded and stored once for all of them, and the order is the same as one by one. */
static void rows_four(float *restrict y, const float w[4], const float *b0, const float *b1, const float *b2, const float *b3,
                      int64_t n)
{
    float   w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
    int64_t i = 0;
    for (; i + AS_STRIP <= n; i += AS_STRIP)
        for (int l = 0; l < AS_STRIP; l++)
            y[i + l] = (((y[i + l] + w0 * b0[i + l]) + w1 * b1[i + l]) + w2 * b2[i + l]) + w3 * b3[i + l];
    for (; i < n; i++)
        y[i] = (((y[i] + w0 * b0[i]) + w1 * b1[i]) + w2 * b2[i]) + w3 * b3[i];
}

void as_plain_rows(float *restrict y, const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t k, int64_t n)
{
    int64_t t = 0;
    for (; t + 4 <= k; t += 4) {
        const float  w[4] = {a[t * a_step], a[(t + 1) * a_step], a[(t + 2) * a_step], a[(t + 3) * a_step]};
        const float *row = b + t * b_step;
        rows_four(y, w, row, row + b_step, row + 2 * b_step, row + 3 * b_step, n);
    }
    for (; t < k; t++)
        as_plain_scaled(y, 1, b + t * b_step, 1, a[t * a_step], n);
}

static float lanes_sum(const float lane[8])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

float as_plain_dot(const float *a, int64_t a_step, const float *b, int64_t b_step, int64_t n)
{
    float   lane[8] = {0};
    int64_t i = 0;
    if (a_step == 1 && b_step == 1)
        for (; i + 8 <= n; i += 8)
            for (int l = 0; l < 8; l++)
                lane[l] += a[i + l] * b[i + l];
    for (; i < n; i++)
        lane[i % 8] += a[i * a_step] * b[i * b_step];
    return lanes_sum(lane);
}

float as_plain_sum(const float *x, int64_t n)
{
    float   lane[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lane[l] += x[i + l];
    for (; i < n; i++)
        lane[i % 8] += x[i];
    return lanes_sum(lane);
}

void as_plain_scaled(float *restrict y, int64_t y_step, const float *x, int64_t x_step, float w, int64_t n)
{
    int64_t i = 0;
    if (y_step == 1 && x_step == 1)
        for (; i + AS_STRIP <= n; i += AS_STRIP)
            for (int l = 0; l < AS_STRIP; l++)
                y[i + l] += w * x[i + l];
    for (; i < n; i++)
        y[i * y_step] += w * x[i * x_step];
}

void as_plain_add(float *restrict y, const float *x, int64_t n)
{
    int64_t i = 0;
    for (; i + AS_STRIP <= n; i += AS_STRIP)
        for (int l = 0; l < AS_STRIP; l++)
            y[i + l] += x[i + l];
    for (; i < n; i++)
        y[i] += x[i];
}

/* --- Broadcasting ------------------------------------------------------------------------------- */

/* Axes of the output with the steps of both inputs; neighbouring axes are joined where both inputs continue without a jump. */
typedef struct pairs {
    int     rank;
    int64_t dim[AS_MAX_RANK], a[AS_MAX_RANK], b[AS_MAX_RANK];
} pairs;

static pairs pairs_of(const as_view *x, const as_view *y, const as_shape *shape)
{
    as_view wide_x = as_view_broadcast(x, shape), wide_y = as_view_broadcast(y, shape);
    pairs   p = {0};
    for (int i = 0; i < shape->rank; i++) {
        int64_t dim = shape->dim[i], a = wide_x.stride[i], b = wide_y.stride[i];
        if (dim == 1)
            continue;
        int last = p.rank - 1;
        if (last >= 0 && p.a[last] == a * dim && p.b[last] == b * dim) {
            p.dim[last] *= dim;
            p.a[last] = a;
            p.b[last] = b;
            continue;
        }
        p.dim[p.rank] = dim;
        p.a[p.rank] = a;
        p.b[p.rank++] = b;
    }
    if (p.rank == 0) { /* one element */
        p.rank = 1;
        p.dim[0] = 1;
    }
    return p;
}

void as_plain_each2(const as_kernel_args *args, int part, int n_parts, as_plain_row row)
{
    const as_view *out = &args->out[0];
    int64_t        begin, end;
    as_share(as_shape_count(&out->shape), AS_GRAIN, part, n_parts, &begin, &end);
    if (begin >= end)
        return;
    pairs        p = pairs_of(&args->in[0], &args->in[1], &out->shape);
    int          inner = p.rank - 1;
    const float *x = args->in[0].data, *y = args->in[1].data;
    while (begin < end) {
        int64_t at = begin % p.dim[inner], rest = begin / p.dim[inner], n = p.dim[inner] - at;
        int64_t a = at * p.a[inner], b = at * p.b[inner];
        for (int i = inner - 1; i >= 0; i--) {
            a += rest % p.dim[i] * p.a[i];
            b += rest % p.dim[i] * p.b[i];
            rest /= p.dim[i];
        }
        if (n > end - begin)
            n = end - begin;
        row((float *)out->data + begin, x + a, p.a[inner], y + b, p.b[inner], n);
        begin += n;
    }
}

/* --- Windows ------------------------------------------------------------------------------------ */

static void to_the_right(const as_window *w, as_window *out)
{
    *out = (as_window){.n_axes = w->n_axes, .group = w->group};
    for (int i = 0; i < 3; i++) {
        int from = (i + w->n_axes) % 3; /* the real axes end at axis 2, the ones filled in come first */
        out->in[i] = w->in[from];
        out->out[i] = w->out[from];
        out->kernel[i] = w->kernel[from];
        out->stride[i] = w->stride[from];
        out->dilation[i] = w->dilation[from];
        out->pad_begin[i] = w->pad_begin[from];
        out->pad_end[i] = w->pad_end[from];
    }
}

bool as_plain_window(const as_node_ctx *n, const as_shape *x, const int64_t *kernel, bool ceil_mode, as_window *out)
{
    as_window w;
    if (as_window_read(NULL, n, x, kernel, ceil_mode, &w) != ASSAY_OK)
        return false;
    to_the_right(&w, out);
    return true;
}

bool as_plain_turned_window(const as_node_ctx *n, as_window *out)
{
    as_shape       x = as_plain_shape(n, "input_shape");
    as_conv_shapes s;
    if (strcmp(n->op->name, "ConvTranspose"))
        return x.rank == n->in[1].shape.rank && as_plain_window(n, &x, &n->in[1].shape.dim[2], false, out);
    if (as_transposed_read(NULL, n, &n->in[0].shape, &n->in[1].shape, &s) != ASSAY_OK)
        return false;
    to_the_right(&s.window, out);
    return true;
}

void as_plain_taps(const as_window *w, int axis, int64_t k, int64_t *begin, int64_t *end)
{
    int64_t stride = w->stride[axis], shift = w->pad_begin[axis] - k * w->dilation[axis];
    int64_t first = shift > 0 ? (shift + stride - 1) / stride : 0;
    int64_t room = w->in[axis] - 1 + shift; /* the last input that may be read, relative to output 0 */
    int64_t last = room < 0 ? -1 : room / stride;
    *end = last + 1 < w->out[axis] ? last + 1 : w->out[axis];
    *begin = first < *end ? first : *end;
}

bool as_plain_conv_accepts(const as_node_ctx *n, const as_shape *x, const as_shape *w, char *why, size_t why_size)
{
    as_window window;
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (w->rank == x->rank && as_plain_window(n, x, &w->dim[2], false, &window))
        return true;
    snprintf(why, why_size, "its window cannot be read");
    return false;
}

as_shape as_plain_shape(const as_node_ctx *n, const char *attr)
{
    as_shape shape = {0};
    shape.rank = (int)as_attr_ints(n, attr, shape.dim, AS_MAX_RANK);
    return shape;
}

/* --- Copies ------------------------------------------------------------------------------------- */

bool as_plain_copy_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->in[0].layout == AS_LAYOUT_ROW_MAJOR && n->out[0].layout == AS_LAYOUT_ROW_MAJOR)
        return true;
    snprintf(why, why_size, "%s 0 is not row-major", n->in[0].layout == AS_LAYOUT_ROW_MAJOR ? "output" : "input");
    return false;
}

void as_plain_copy(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    int64_t begin, end;
    (void)scratch;
    as_share((int64_t)as_view_bytes(&args->out[0]), 64, part, n_parts, &begin, &end);
    char       *to = args->out[0].data;
    const char *from = args->in[0].data;
    if (begin < end && to != from)
        memcpy(to + begin, from + begin, (size_t)(end - begin));
}
