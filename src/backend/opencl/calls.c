/* calls.c - nodes as kernel calls, and the reasons why a node is refused. */
/* needs: OpenCL */
#include "backend/opencl/calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

_Static_assert(AS_MAX_RANK == 8, "params.h has 8 written out");

typedef struct no {
    char  *why;
    size_t size;
} no;

static bool refuse(const no *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool refuse(const no *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(to->why, to->size, format, args);
    va_end(args);
    return false;
}

/* --- Elements ----------------------------------------------------------------------------------- */

/* Strides of the shape itself, row-major. */
static void steps_of(const as_shape *shape, i64 *step)
{
    as_view v = as_view_of(NULL, AS_F32, shape);
    memcpy(step, v.stride, sizeof v.stride);
}

/* Strides of `shape` repeated to `wide`. */
static void steps_broadcast(const as_shape *shape, const as_shape *wide, i64 *step)
{
    as_view v = as_view_of(NULL, AS_F32, shape), w = as_view_broadcast(&v, wide);
    memcpy(step, w.stride, sizeof w.stride);
}

/* Joins axes that follow one another in both operands and drops those of size 1: a kernel divides once per axis, and operands of
 * the same shape need no division at all. */
static void axes_join(as_cl_each *p)
{
    int64_t rank = 0;
    for (int64_t i = 0; i < p->rank; i++) {
        if (p->dim[i] == 1)
            continue;
        bool joins = rank > 0 && p->step[rank - 1] == p->dim[i] * p->step[i] && p->other[rank - 1] == p->dim[i] * p->other[i];
        if (!joins)
            rank++;
        p->dim[rank - 1] = joins ? p->dim[rank - 1] * p->dim[i] : p->dim[i];
        p->step[rank - 1] = p->step[i];
        p->other[rank - 1] = p->other[i];
    }
    p->rank = rank;
}

static bool flat(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    (void)n, (void)to;
    c->params.flat = (as_cl_flat){.n = c->n};
    c->params_bytes = sizeof c->params.flat;
    return true;
}

static void each_start(const as_shape *shape, as_cl_call *c)
{
    c->params.each = (as_cl_each){.n = c->n, .rank = shape->rank};
    memcpy(c->params.each.dim, shape->dim, sizeof shape->dim);
    c->params_bytes = sizeof c->params.each;
}

static bool broadcast(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    const as_shape *y = &n->out[0].shape;
    (void)to;
    each_start(y, c);
    steps_broadcast(&n->in[0].shape, y, c->params.each.step);
    steps_broadcast(&n->in[1].shape, y, c->params.each.other);
    axes_join(&c->params.each);
    return true;
}

/* --- Moving --------------------------------------------------------------------------------------- */

static void move_start(const as_node_ctx *n, const as_shape *shape, as_cl_call *c)
{
    c->element_bytes = as_dtype_bytes(n->in[0].dtype);
    c->kernel = c->element_bytes == 1   ? "move_1_cl"
                : c->element_bytes == 2 ? "move_2_cl"
                : c->element_bytes == 4 ? "move_4_cl"
                                        : "move_8_cl";
    each_start(shape, c);
}

static bool reshape(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    (void)to;
    move_start(n, &AS_SHAPE(c->n), c);
    c->params.each.step[0] = 1;
    return true;
}

static bool transpose(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         perm[AS_MAX_RANK], step[AS_MAX_RANK];
    bool            given = as_attr_ints(n, "perm", perm, AS_MAX_RANK) != 0;
    (void)to;
    move_start(n, &n->out[0].shape, c);
    steps_of(x, step);
    for (int i = 0; i < x->rank; i++)
        c->params.each.step[i] = step[given ? perm[i] : x->rank - 1 - i];
    axes_join(&c->params.each);
    return true;
}

static bool expand(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    (void)to;
    move_start(n, &n->out[0].shape, c);
    steps_broadcast(&n->in[0].shape, &n->out[0].shape, c->params.each.step);
    axes_join(&c->params.each);
    return true;
}

/* --- Products and sums ------------------------------------------------------------------------------ */

static bool gemm(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape, *y = &n->out[0].shape;
    bool            flip_a = as_attr_int(n, "transA", 0) != 0, flip_b = as_attr_int(n, "transB", 0) != 0, has_c = as_in_has(n, 2);
    (void)to;
    as_cl_product p = {.n = c->n,
                       .rows = y->dim[0],
                       .cols = y->dim[1],
                       .inner = a->dim[!flip_a],
                       .has_c = has_c,
                       .a_row = flip_a ? 1 : a->dim[1],
                       .a_col = flip_a ? a->dim[1] : 1,
                       .b_row = flip_b ? 1 : b->dim[1],
                       .b_col = flip_b ? b->dim[1] : 1,
                       .alpha = (float)as_attr_float(n, "alpha", 1.0),
                       .beta = (float)as_attr_float(n, "beta", 1.0)};
    if (has_c) {
        int64_t step[AS_MAX_RANK];
        steps_broadcast(&n->in[2].shape, y, step);
        p.c_row = step[0];
        p.c_col = step[1];
        c->in[2] = 2;
    }
    c->params.product = p;
    c->params_bytes = sizeof p;
    return true;
}

/* The batch axes of an operand under those of y, which has n_batch of them. */
static void batch_steps(const as_shape *x, const as_shape *batch, i64 *step)
{
    as_shape own = *x;
    int64_t  one = 1, wide[AS_MAX_RANK] = {0};
    own.rank = x->rank > 2 ? x->rank - 2 : 0;
    for (int i = own.rank; i < x->rank; i++)
        one *= x->dim[i];
    steps_broadcast(&own, batch, wide);
    for (int i = 0; i < batch->rank; i++)
        step[i] = wide[i] * one;
}

static bool matmul(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    const as_shape *a = &n->in[0].shape, *b = &n->in[1].shape, *y = &n->out[0].shape;
    bool            row = a->rank == 1, column = b->rank == 1;
    (void)to;
    as_cl_product p = {.n = c->n,
                       .rows = row ? 1 : a->dim[a->rank - 2],
                       .cols = column ? 1 : b->dim[b->rank - 1],
                       .inner = a->dim[a->rank - 1],
                       .alpha = 1.0f};
    p.a_row = p.inner;
    p.a_col = 1;
    p.b_row = column ? 1 : p.cols;
    p.b_col = 1;
    as_shape batch = *y;
    batch.rank = y->rank - !row - !column;
    p.rank = batch.rank;
    memcpy(p.dim, batch.dim, sizeof p.dim);
    batch_steps(a, &batch, p.a_step);
    batch_steps(b, &batch, p.b_step);
    c->params.product = p;
    c->params_bytes = sizeof p;
    return true;
}

static bool reduce_sum(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         n_axes = as_in_has(n, 1) ? as_shape_count(&n->in[1].shape) : 0, step[AS_MAX_RANK];
    const int64_t  *axes = n_axes ? n->in[1].constant : NULL;
    unsigned        summed = n_axes || as_attr_int(n, "noop_with_empty_axes", 0) ? 0 : (1u << x->rank) - 1;
    if (n_axes && !axes)
        return refuse(to, "the axes are computed by the network");
    for (int64_t i = 0; i < n_axes; i++)
        summed |= 1u << (axes[i] < 0 ? axes[i] + x->rank : axes[i]);
    as_cl_sums p = {.n = c->n, .n_terms = 1};
    steps_of(x, step);
    for (int i = 0; i < x->rank; i++) {
        if (summed & (1u << i)) {
            p.term_dim[p.term_rank] = x->dim[i];
            p.term_step[p.term_rank++] = step[i];
            p.n_terms *= x->dim[i];
        } else {
            p.dim[p.rank] = x->dim[i];
            p.step[p.rank++] = step[i];
        }
    }
    c->params.sums = p;
    c->params_bytes = sizeof p;
    return true;
}

static bool softmax(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         axis = as_attr_int(n, "axis", -1), inner = 1;
    (void)to;
    axis += axis < 0 ? x->rank : 0;
    for (int64_t i = axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    if (c->n)
        c->n /= x->dim[axis]; /* one work-item per line */
    c->params.lines = (as_cl_lines){.n = c->n, .length = x->dim[axis], .inner = inner};
    c->params_bytes = sizeof c->params.lines;
    return true;
}

/* --- Windows ------------------------------------------------------------------------------------------ */

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* Pairs of an output and a tap that lie on the input, not on its padding. */
static uint64_t taps_inside(const as_window *w)
{
    uint64_t all = 1;
    for (int i = 0; i < 3; i++) {
        uint64_t inside = 0;
        for (int64_t k = 0; k < w->kernel[i]; k++) {
            /* 0 <= o * stride + from < in, for o in [0, out). */
            int64_t from = k * w->dilation[i] - w->pad_begin[i];
            int64_t lo = from < 0 ? (-from + w->stride[i] - 1) / w->stride[i] : 0;
            int64_t hi = from < w->in[i] ? (w->in[i] - from - 1) / w->stride[i] + 1 : 0;
            hi = hi < w->out[i] ? hi : w->out[i];
            inside += hi > lo ? (uint64_t)(hi - lo) : 0;
        }
        all = times(all, inside);
    }
    return all;
}

static void window_set(const as_window *w, const as_shape *x, const as_shape *y, as_cl_call *c)
{
    as_cl_window p = {.n = c->n,
                      .images = x->dim[0],
                      .x_channels = x->dim[1],
                      .y_channels = y->dim[1],
                      .x_group = x->dim[1] / w->group,
                      .y_group = y->dim[1] / w->group};
    for (int i = 0; i < 3; i++) {
        p.in[i] = w->in[i];
        p.out[i] = w->out[i];
        p.taps[i] = w->kernel[i];
        p.stride[i] = w->stride[i];
        p.dilation[i] = w->dilation[i];
        p.pad[i] = w->pad_begin[i];
    }
    c->params.window = p;
    c->params_bytes = sizeof p;
}

/* Conv and its gradients: the same multiply-adds, but none on padding, which the op's own cost does count. */
static bool conv_any(const as_node_ctx *n, const as_shape *x, const as_shape *w, const as_shape *y, as_cl_call *c, const no *to)
{
    as_window window;
    if (as_window_read(NULL, n, x, &w->dim[2], false, &window) != ASSAY_OK)
        return refuse(to, "its window cannot be read");
    window_set(&window, x, y, c);
    c->issued = n->op->cost(n);
    c->issued.flops =
        times(times(2, taps_inside(&window)), times(times((uint64_t)x->dim[0], (uint64_t)y->dim[1]), (uint64_t)w->dim[1]));
    return true;
}

static bool conv(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    if (!conv_any(n, &n->in[0].shape, &n->in[1].shape, &n->out[0].shape, c, to))
        return false;
    if (as_in_has(n, 2)) {
        c->params.window.has_bias = 1;
        c->in[2] = 2;
        if (__builtin_add_overflow(c->issued.flops, (uint64_t)c->n, &c->issued.flops))
            c->issued.flops = UINT64_MAX;
    }
    return true;
}

static bool conv_grad_x(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    if (as_in_has(n, 2))
        return refuse(to, "the kernel does not apply the mask of a Relu");
    return conv_any(n, &n->out[0].shape, &n->in[1].shape, &n->in[0].shape, c, to);
}

static bool conv_grad_w(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    return conv_any(n, &n->in[0].shape, &n->out[0].shape, &n->in[1].shape, c, to);
}

static bool pool_any(const as_node_ctx *n, const as_shape *y, as_cl_call *c, as_window *window, const no *to)
{
    if (as_window_read(NULL, n, &n->in[0].shape, NULL, as_attr_int(n, "ceil_mode", 0) != 0, window) != ASSAY_OK)
        return refuse(to, "its window cannot be read");
    window_set(window, &n->in[0].shape, y, c);
    return true;
}

static bool max_pool(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    as_window window;
    return pool_any(n, &n->out[0].shape, c, &window, to);
}

/* Every element under a window goes through all of the window. */
static bool max_pool_grad(const as_node_ctx *n, as_cl_call *c, const no *to)
{
    as_window window;
    if (as_attr_int(n, "relu", 0) == 1)
        return refuse(to, "the kernel does not go through the Relu");
    if (!pool_any(n, &n->in[1].shape, c, &window, to))
        return false;
    c->issued = n->op->cost(n);
    for (int i = 0; i < 3; i++)
        c->issued.flops = times(c->issued.flops, (uint64_t)window.kernel[i]);
    return true;
}

/* --- The table ------------------------------------------------------------------------------------------ */

typedef struct rule {
    const char *op, *kernel; /* kernel NULL: by the element's size, any dtype */
    int         n_in;        /* operands; the rule adds an optional third */
    bool (*make)(const as_node_ctx *n, as_cl_call *c, const no *to);
} rule;

static const rule rules[] = {
    {"Add", "add_f32_cl", 2, broadcast},
    {"Sub", "sub_f32_cl", 2, broadcast},
    {"Mul", "mul_f32_cl", 2, broadcast},
    {"Relu", "relu_f32_cl", 1, flat},
    {"Sigmoid", "sigmoid_f32_cl", 1, flat},
    {"Tanh", "tanh_f32_cl", 1, flat},
    {"assay.ReluGrad", "relu_grad_f32_cl", 2, flat},
    {"MatMul", "product_f32_cl", 2, matmul},
    {"Gemm", "product_f32_cl", 2, gemm},
    {"ReduceSum", "reduce_sum_f32_cl", 1, reduce_sum},
    {"Softmax", "softmax_f32_cl", 1, softmax},
    {"Conv", "conv_f32_cl", 2, conv},
    {"assay.ConvGradX", "conv_grad_x_f32_cl", 2, conv_grad_x},
    {"assay.ConvGradW", "conv_grad_w_f32_cl", 2, conv_grad_w},
    {"MaxPool", "max_pool_f32_cl", 1, max_pool},
    {"assay.MaxPoolGrad", "max_pool_grad_f32_cl", 2, max_pool_grad},
    {"Reshape", NULL, 1, reshape},
    {"Flatten", NULL, 1, reshape},
    {"Transpose", NULL, 1, transpose},
    {"Expand", NULL, 1, expand},
};

static bool operands_ok(const as_node_ctx *n, const rule *r, const no *to)
{
    if (n->n_out > 1)
        return refuse(to,
                      strcmp(n->op->name, "MaxPool") ? "it needs %d outputs; the kernel computes only the first"
                                                     : "it needs %d outputs; the kernel does not compute Indices",
                      n->n_out);
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i].layout != AS_LAYOUT_ROW_MAJOR)
            return refuse(to, "input %d is not row-major", i);
    if (n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        return refuse(to, "the output is not row-major");
    for (int i = 0; r->kernel && i < r->n_in; i++)
        if (!(AS_CL_DTYPES >> n->in[i].dtype & 1u))
            return refuse(to, "input %d is %s; the kernel needs f32", i, as_dtype_name(n->in[i].dtype));
    return true;
}

bool as_cl_call_make(const as_node_ctx *n, as_cl_call *out, char *why, size_t why_size)
{
    no          to = {why, why_size};
    const rule *r = NULL;
    for (size_t i = 0; i < AS_COUNT(rules); i++)
        if (!strcmp(rules[i].op, n->op->name))
            r = &rules[i];
    if (!r)
        return refuse(&to, "there is no OpenCL kernel for %s", n->op->name);
    as_cl_call c = {.kernel = r->kernel, .in = {0, r->n_in > 1 ? 1 : -1, -1}, .element_bytes = sizeof(float)};
    if (!operands_ok(n, r, &to))
        return false;
    c.n = as_shape_count(&n->out[0].shape);
    if (!r->make(n, &c, &to))
        return false;
    *out = c;
    return true;
}
