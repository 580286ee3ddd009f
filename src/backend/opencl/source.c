/* source.c - the kernels, in OpenCL C 1.2.  Plain: one work-item per output element, sums in the reference code's order. */
/* needs: OpenCL */
#include "backend/opencl/calls.h"

/* Code as text.  Every use is one line of the program, so a line number in a build log names a kernel. */
#define CL(...) #__VA_ARGS__ "\n"

/* Two operands, broadcast. */
#define CL_TWO(name, op)                                                                                                    \
    CL(__kernel void name(__global float *m, const as_cl_each p) {                                                          \
        i64 i = (i64)get_global_id(0);                                                                                      \
        if (i < p.n)                                                                                                        \
            m[p.at[3] + i] = m[p.at[0] + place(i, p.rank, p.dim, p.step)] op m[p.at[1] + place(i, p.rank, p.dim, p.other)]; \
    })

/* One operand with other strides, unchanged. */
#define CL_MOVE(name, type)                                                \
    CL(__kernel void name(__global type *m, const as_cl_each p) {          \
        i64 i = (i64)get_global_id(0);                                     \
        if (i < p.n)                                                       \
            m[p.at[3] + i] = m[p.at[0] + place(i, p.rank, p.dim, p.step)]; \
    })

/* Operands are never `restrict`: all of them are in one buffer, `m`.  Work-items from n on only fill the last
 * work-group. */
const char as_cl_source[] =
    /* A multiply and an add stay two roundings, as in the reference code; OpenCL's default would fuse them. */
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "typedef long i64;\n"
#define AS_CL_STRUCT(name, ...) CL(typedef struct name{__VA_ARGS__} name;)
#include "backend/opencl/params.h"
#undef AS_CL_STRUCT

    /* --- Element by element --------------------------------------------------------------------- */

    /* Where element i of a row-major shape lies under other strides. */
    CL(i64 place(i64 i, i64 rank, const i64 *dim, const i64 *step) {
        i64 at = 0;
        for (i64 d = rank - 1; d >= 0; d--) {
            at += i % dim[d] * step[d];
            i /= dim[d];
        }
        return at;
    })

    /* Not x > 0 ? x : 0, which would hide a NaN. */
    CL(__kernel void relu_f32_cl(__global float *m, const as_cl_flat p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        float x = m[p.at[0] + i];
        m[p.at[3] + i] = x <= 0.0f ? 0.0f : x;
    })

        CL(__kernel void relu_grad_f32_cl(__global float *m, const as_cl_flat p) {
            i64 i = (i64)get_global_id(0);
            if (i >= p.n)
                return;
            m[p.at[3] + i] = m[p.at[0] + i] <= 0.0f ? 0.0f : m[p.at[1] + i];
        })

    /* Takes exp only of values <= 0, so that it never overflows. */
    CL(__kernel void sigmoid_f32_cl(__global float *m, const as_cl_flat p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        float x = m[p.at[0] + i];
        float e = exp(-fabs(x));
        m[p.at[3] + i] = (x < 0.0f ? e : 1.0f) / (1.0f + e);
    })

        CL(__kernel void tanh_f32_cl(__global float *m, const as_cl_flat p) {
            i64 i = (i64)get_global_id(0);
            if (i < p.n)
                m[p.at[3] + i] = tanh(m[p.at[0] + i]);
        })

            CL_TWO(add_f32_cl, +) CL_TWO(sub_f32_cl, -) CL_TWO(mul_f32_cl, *)

    /* --- Moving: Reshape, Flatten, Transpose, Expand, by element size ----------------------------- */

    CL_MOVE(move_1_cl, uchar) CL_MOVE(move_2_cl, ushort) CL_MOVE(move_4_cl, uint) CL_MOVE(move_8_cl, ulong)

    /* --- Products and sums ------------------------------------------------------------------------- */

    CL(__kernel void product_f32_cl(__global float *m, const as_cl_product p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        i64   col = i % p.cols;
        i64   row = i / p.cols % p.rows;
        i64   batch = i / p.cols / p.rows;
        i64   a = p.at[0] + place(batch, p.rank, p.dim, p.a_step) + row * p.a_row;
        i64   b = p.at[1] + place(batch, p.rank, p.dim, p.b_step) + col * p.b_col;
        float sum = 0.0f;
        for (i64 k = 0; k < p.inner; k++)
            sum += m[a + k * p.a_col] * m[b + k * p.b_row];
        sum *= p.alpha;
        if (p.has_c)
            sum += p.beta * m[p.at[2] + row * p.c_row + col * p.c_col];
        m[p.at[3] + i] = sum;
    })

        CL(__kernel void reduce_sum_f32_cl(__global float *m, const as_cl_sums p) {
            i64 i = (i64)get_global_id(0);
            if (i >= p.n)
                return;
            i64   x = p.at[0] + place(i, p.rank, p.dim, p.step);
            float sum = 0.0f;
            for (i64 k = 0; k < p.n_terms; k++)
                sum += m[x + place(k, p.term_rank, p.term_dim, p.term_step)];
            m[p.at[3] + i] = sum;
        })

    /* One work-item per line; shifted by the largest, so that nothing overflows. */
    CL(__kernel void softmax_f32_cl(__global float *m, const as_cl_lines p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        i64   first = i / p.inner * p.inner * p.length + i % p.inner;
        i64   x = p.at[0] + first;
        i64   y = p.at[3] + first;
        float largest = -INFINITY;
        float sum = 0.0f;
        for (i64 k = 0; k < p.length; k++)
            largest = fmax(largest, m[x + k * p.inner]);
        for (i64 k = 0; k < p.length; k++)
            sum += exp(m[x + k * p.inner] - largest);
        for (i64 k = 0; k < p.length; k++)
            m[y + k * p.inner] = exp(m[x + k * p.inner] - largest) / sum;
    })

    /* --- Windows ----------------------------------------------------------------------------------- */

    /* The position in the input that tap k of output o reads, negative for padding. */
    CL(i64 tap(const as_cl_window *p, int axis, i64 o, i64 k) {
        i64 at = o * p->stride[axis] - p->pad[axis] + k * p->dilation[axis];
        return at < p->in[axis] ? at : -1;
    })

    /* The output whose tap k reads position `at`, -1 for none. */
    CL(i64 untap(const as_cl_window *p, int axis, i64 at, i64 k) {
        i64 from = at + p->pad[axis] - k * p->dilation[axis];
        i64 o = from / p->stride[axis];
        return from >= 0 && o * p->stride[axis] == from && o < p->out[axis] ? o : -1;
    })

        CL(__kernel void conv_f32_cl(__global float *m, const as_cl_window p) {
            i64 i = (i64)get_global_id(0);
            if (i >= p.n)
                return;
            i64   o2 = i % p.out[2];
            i64   o1 = i / p.out[2] % p.out[1];
            i64   o0 = i / p.out[2] / p.out[1] % p.out[0];
            i64   line = i / p.out[2] / p.out[1] / p.out[0];
            i64   channel = line % p.y_channels;
            i64   x = line / p.y_channels * p.x_channels + channel / p.y_group * p.x_group;
            i64   w = p.at[1] + channel * p.x_group * p.taps[0] * p.taps[1] * p.taps[2];
            float sum = 0.0f;
            for (i64 c = 0; c < p.x_group; c++)
                for (i64 k0 = 0; k0 < p.taps[0]; k0++)
                    for (i64 k1 = 0; k1 < p.taps[1]; k1++)
                        for (i64 k2 = 0; k2 < p.taps[2]; k2++) {
                            i64 p0 = tap(&p, 0, o0, k0);
                            i64 p1 = tap(&p, 1, o1, k1);
                            i64 p2 = tap(&p, 2, o2, k2);
                            if (p0 >= 0 && p1 >= 0 && p2 >= 0)
                                sum += m[p.at[0] + (((x + c) * p.in[0] + p0) * p.in[1] + p1) * p.in[2] + p2] *
                                       m[w + ((c * p.taps[0] + k0) * p.taps[1] + k1) * p.taps[2] + k2];
                        }
            m[p.at[3] + i] = sum + (p.has_bias ? m[p.at[2] + channel] : 0.0f);
        })

    /* Inputs are dY and W. */
    CL(__kernel void conv_grad_x_f32_cl(__global float *m, const as_cl_window p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        i64   p2 = i % p.in[2];
        i64   p1 = i / p.in[2] % p.in[1];
        i64   p0 = i / p.in[2] / p.in[1] % p.in[0];
        i64   line = i / p.in[2] / p.in[1] / p.in[0];
        i64   c = line % p.x_channels;
        i64   image = line / p.x_channels;
        i64   first = c / p.x_group * p.y_group;
        float sum = 0.0f;
        for (i64 y = first; y < first + p.y_group; y++)
            for (i64 k0 = 0; k0 < p.taps[0]; k0++)
                for (i64 k1 = 0; k1 < p.taps[1]; k1++)
                    for (i64 k2 = 0; k2 < p.taps[2]; k2++) {
                        i64 o0 = untap(&p, 0, p0, k0);
                        i64 o1 = untap(&p, 1, p1, k1);
                        i64 o2 = untap(&p, 2, p2, k2);
                        if (o0 >= 0 && o1 >= 0 && o2 >= 0)
                            sum +=
                                m[p.at[0] + (((image * p.y_channels + y) * p.out[0] + o0) * p.out[1] + o1) * p.out[2] + o2] *
                                m[p.at[1] + (((y * p.x_group + c % p.x_group) * p.taps[0] + k0) * p.taps[1] + k1) * p.taps[2] + k2];
                    }
        m[p.at[3] + i] = sum;
    })

    /* Inputs are X and dY. */
    CL(__kernel void conv_grad_w_f32_cl(__global float *m, const as_cl_window p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        i64   k2 = i % p.taps[2];
        i64   k1 = i / p.taps[2] % p.taps[1];
        i64   k0 = i / p.taps[2] / p.taps[1] % p.taps[0];
        i64   line = i / p.taps[2] / p.taps[1] / p.taps[0];
        i64   y = line / p.x_group;
        i64   x = y / p.y_group * p.x_group + line % p.x_group;
        float sum = 0.0f;
        for (i64 image = 0; image < p.images; image++)
            for (i64 o0 = 0; o0 < p.out[0]; o0++)
                for (i64 o1 = 0; o1 < p.out[1]; o1++)
                    for (i64 o2 = 0; o2 < p.out[2]; o2++) {
                        i64 p0 = tap(&p, 0, o0, k0);
                        i64 p1 = tap(&p, 1, o1, k1);
                        i64 p2 = tap(&p, 2, o2, k2);
                        if (p0 >= 0 && p1 >= 0 && p2 >= 0)
                            sum += m[p.at[0] + (((image * p.x_channels + x) * p.in[0] + p0) * p.in[1] + p1) * p.in[2] + p2] *
                                   m[p.at[1] + (((image * p.y_channels + y) * p.out[0] + o0) * p.out[1] + o1) * p.out[2] + o2];
                    }
        m[p.at[3] + i] = sum;
    })

    /* The largest element under a window and its position in its plane, -1 for an empty window.  The first of equal ones wins;
     * a NaN is larger than any number. */
    CL(i64 winner(__global const float *plane, const as_cl_window *p, i64 o0, i64 o1, i64 o2, float *largest) {
        i64   first = -1;
        float best = -INFINITY;
        for (i64 k0 = 0; k0 < p->taps[0]; k0++)
            for (i64 k1 = 0; k1 < p->taps[1]; k1++)
                for (i64 k2 = 0; k2 < p->taps[2]; k2++) {
                    i64 p0 = tap(p, 0, o0, k0);
                    i64 p1 = tap(p, 1, o1, k1);
                    i64 p2 = tap(p, 2, o2, k2);
                    if (p0 < 0 || p1 < 0 || p2 < 0)
                        continue;
                    i64   at = (p0 * p->in[1] + p1) * p->in[2] + p2;
                    float x = plane[at];
                    if (first < 0 || x > best || (isnan(x) && !isnan(best))) {
                        best = x;
                        first = at;
                    }
                }
        *largest = best;
        return first;
    })

        CL(__kernel void max_pool_f32_cl(__global float *m, const as_cl_window p) {
            i64 i = (i64)get_global_id(0);
            if (i >= p.n)
                return;
            i64   o2 = i % p.out[2];
            i64   o1 = i / p.out[2] % p.out[1];
            i64   o0 = i / p.out[2] / p.out[1] % p.out[0];
            i64   line = i / p.out[2] / p.out[1] / p.out[0];
            float largest;
            winner(m + p.at[0] + line * p.in[0] * p.in[1] * p.in[2], &p, o0, o1, o2, &largest);
            m[p.at[3] + i] = largest;
        })

    /* Inputs are X and dY. A gather: every element asks each window that it is in for its maximum, so no two work-items write to
     * one place. */
    CL(__kernel void max_pool_grad_f32_cl(__global float *m, const as_cl_window p) {
        i64 i = (i64)get_global_id(0);
        if (i >= p.n)
            return;
        i64   plane = p.in[0] * p.in[1] * p.in[2];
        i64   line = i / plane;
        i64   me = i % plane;
        i64   p2 = me % p.in[2];
        i64   p1 = me / p.in[2] % p.in[1];
        i64   p0 = me / p.in[2] / p.in[1];
        float sum = 0.0f;
        /* Taps backwards: the windows in the order of the outputs. */
        for (i64 k0 = p.taps[0] - 1; k0 >= 0; k0--)
            for (i64 k1 = p.taps[1] - 1; k1 >= 0; k1--)
                for (i64 k2 = p.taps[2] - 1; k2 >= 0; k2--) {
                    i64   o0 = untap(&p, 0, p0, k0);
                    i64   o1 = untap(&p, 1, p1, k1);
                    i64   o2 = untap(&p, 2, p2, k2);
                    float largest;
                    if (o0 >= 0 && o1 >= 0 && o2 >= 0 && winner(m + p.at[0] + line * plane, &p, o0, o1, o2, &largest) == me)
                        sum += m[p.at[1] + ((line * p.out[0] + o0) * p.out[1] + o1) * p.out[2] + o2];
                }
        m[p.at[3] + i] = sum;
    });
