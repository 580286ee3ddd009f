/* flat.c - element-wise operands in the order of the output's memory. */
#include "backend/cpu/each/flat.h"

#include <stdio.h>
#include <string.h>

#include "backend/cpu/walk.h"

/* The steps of input i along the output's axes, 0 where it repeats. */
static void wide_steps(const as_tensor_info *in, const as_shape *out, int64_t *wide)
{
    int64_t own[AS_MAX_RANK] = {0};
    bool    is_one = in->dtype == AS_NONE || as_shape_count(&in->shape) == 1;
    int     shift = out->rank - in->shape.rank;
    if (!is_one)
        as_memory_steps(in, own);
    for (int i = 0; i < out->rank; i++)
        wide[i] = is_one || i < shift || in->shape.dim[i - shift] == 1 ? 0 : own[i - shift];
}

static bool goes_on(const as_flat *f, int n_in, const int64_t wide[][AS_MAX_RANK], int axis, int64_t dim)
{
    for (int k = 0; k < n_in; k++)
        if (f->step[k][f->rank - 1] != wide[k][axis] * dim)
            return false;
    return true;
}

/* Writes only what is used: kernels call this at every run. */
void as_flat_of(const as_node_ctx *n, int n_in, as_flat *f)
{
    const as_shape *out = &n->out[0].shape;
    int64_t         wide[AS_FLAT_MAX_IN][AS_MAX_RANK], own[AS_MAX_RANK];
    bool            nhwc = n->out[0].layout == AS_LAYOUT_NHWC && out->rank > 2;
    f->count = as_shape_count(out);
    f->rank = 0;
    for (int k = 0; k < n_in; k++)
        wide_steps(&n->in[k], out, wide[k]);
    for (int i = 0; i < out->rank; i++) {
        int     axis = !nhwc || i == 0 ? i : i == out->rank - 1 ? 1 : i + 1;
        int64_t dim = out->dim[axis];
        if (dim == 1)
            continue;
        if (f->rank && goes_on(f, n_in, (const int64_t(*)[AS_MAX_RANK])wide, axis, dim))
            f->rank--;
        else
            f->dim[f->rank] = 1;
        f->dim[f->rank] *= dim;
        for (int k = 0; k < n_in; k++)
            f->step[k][f->rank] = wide[k][axis];
        f->rank++;
    }
    if (f->rank == 0) { /* one element */
        f->rank = 1;
        f->dim[0] = 1;
        for (int k = 0; k < n_in; k++)
            f->step[k][0] = 0;
    }
    own[f->rank - 1] = 1;
    for (int i = f->rank - 1; i > 0; i--)
        own[i - 1] = own[i] * f->dim[i];
    for (int k = 0; k < n_in; k++) {
        bool run = true, one = true;
        for (int i = 0; i < f->rank; i++) {
            run &= f->step[k][i] == own[i];
            one &= f->step[k][i] == 0;
        }
        f->kind[k] = one ? AS_FLAT_ONE : run ? AS_FLAT_RUN : AS_FLAT_STEPS;
    }
}

enum { STRIP = 8 }; /* a trip count that the compiler knows, so that it vectorises the loop */

/* step is 0 or 1. */
static void piece(const float *from, int64_t step, int64_t count, float *restrict to)
{
    int64_t i = 0;
    float   x = *from;
    if (step == 1) {
        memcpy(to, from, (size_t)count * sizeof *to);
        return;
    }
    for (; i + STRIP <= count; i += STRIP)
        for (int l = 0; l < STRIP; l++)
            to[i + l] = x;
    for (; i < count; i++)
        to[i] = x;
}

/* A row that repeats: copied once from the input, then what is there already, twice as much each time. */
static void repeat(const float *row, int64_t length, int64_t at, int64_t count, float *restrict to)
{
    int64_t head = length - at < count ? length - at : count;
    memcpy(to, row + at, (size_t)head * sizeof *to);
    to += head;
    count -= head;
    int64_t done = length < count ? length : count;
    memcpy(to, row, (size_t)done * sizeof *to);
    while (done < count) {
        int64_t n = done < count - done ? done : count - done;
        memcpy(to + done, to, (size_t)n * sizeof *to);
        done += n;
    }
}

void as_flat_gather(const as_flat *f, int i, const float *from, int64_t begin, int64_t count, float *restrict to)
{
    int     inner = f->rank - 1;
    int64_t index[AS_MAX_RANK], rest = begin, at = 0;
    if (inner == 1 && f->step[i][0] == 0 && f->step[i][1] == 1) {
        repeat(from, f->dim[1], begin % f->dim[1], count, to);
        return;
    }
    for (int a = inner; a >= 0; a--) {
        index[a] = rest % f->dim[a];
        rest /= f->dim[a];
        at += index[a] * f->step[i][a];
    }
    while (count > 0) {
        int64_t n = f->dim[inner] - index[inner];
        if (n > count)
            n = count;
        piece(from + at, f->step[i][inner], n, to);
        to += n;
        count -= n;
        at -= index[inner] * f->step[i][inner];
        index[inner] = 0;
        for (int a = inner - 1; a >= 0; a--) { /* the next row */
            at += f->step[i][a];
            if (++index[a] < f->dim[a])
                break;
            at -= f->dim[a] * f->step[i][a];
            index[a] = 0;
        }
    }
}

void as_flat_rows(const as_flat *f, int n_in, const as_kernel_args *args, int part, int n_parts, as_flat_row row)
{
    int         inner = f->rank - 1;
    int64_t     begin, end, step[AS_FLAT_MAX_IN], size = (int64_t)as_dtype_bytes(args->ctx->out[0].dtype);
    const void *in[AS_FLAT_MAX_IN];
    for (int k = 0; k < n_in; k++)
        step[k] = f->step[k][inner];
    as_share(f->count, 64, part, n_parts, &begin, &end);
    while (begin < end) {
        int64_t at = begin % f->dim[inner], rest = begin / f->dim[inner],
                n = f->dim[inner] - at < end - begin ? f->dim[inner] - at : end - begin;
        int64_t from[AS_FLAT_MAX_IN];
        for (int k = 0; k < n_in; k++)
            from[k] = at * step[k];
        for (int a = inner - 1; a >= 0; a--) {
            for (int k = 0; k < n_in; k++)
                from[k] += rest % f->dim[a] * f->step[k][a];
            rest /= f->dim[a];
        }
        for (int k = 0; k < n_in; k++) { /* an absent one has no place */
            const char *data = args->in[k].data;
            in[k] = data ? data + from[k] * (int64_t)as_dtype_bytes(args->ctx->in[k].dtype) : NULL;
        }
        row((char *)args->out[0].data + begin * size, in, step, n);
        begin += n;
    }
}

bool as_flat_rows_accept(const as_node_ctx *n, int n_in, char *why, size_t why_size)
{
    as_flat flat;
    as_flat_of(n, n_in, &flat);
    for (int i = 0; i < n_in; i++)
        if (!as_flat_is_even(&flat, i)) {
            snprintf(why, why_size, "input %d has another layout than the output", i);
            return false;
        }
    return true;
}
