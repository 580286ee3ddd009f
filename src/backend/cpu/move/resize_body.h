/* resize_body.h - the body of k_resize_f32_<machine>.c, after its simd_*.h: Resize by linear and cubic filters.
 *
 * It goes axis by axis, from the last that changes to the first, over a slab of inputs that a few outputs of the first axis need: so
 * what lies between two axes stays in the cache.  Along all axes but the last, whole rows are weighted and added in vectors.  The order
 * of a sum depends on its taps alone. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "op/nn/resize.h"

enum { SLAB_FLOATS = 1 << 15, MAX_TAPS = 1024 };

/* One axis that changes, and the elements between it and the next one. */
typedef struct pass {
    int64_t  in, out, taps, inner; /* inner: how many neighbours move together, in Y's sizes */
    int      axis;
    int32_t *index;
    float   *weight;
} pass;

typedef struct job {
    as_resize r;
    pass      pass[AS_MAX_RANK];
    int       n_passes;
    int64_t   outer, tail; /* tail: elements of X after the first axis that changes */
    int64_t   rows;        /* of the first axis that a slab may hold */
    int64_t   wide;        /* most elements per such row at any stage */
} job;

static bool job_read(const as_node_ctx *n, job *out)
{
    const as_shape *x = &n->in[0].shape, *y = &n->out[0].shape;
    job             j = {.outer = 1, .tail = 1, .wide = 1};
    if (as_resize_read(NULL, n, &j.r) != ASSAY_OK)
        return false;
    for (int i = 0; i < x->rank; i++) {
        bool moves = x->dim[i] != y->dim[i] || j.r.scale[i] != 1.0;
        if (moves)
            j.pass[j.n_passes++] =
                (pass){.in = x->dim[i], .out = y->dim[i], .taps = as_resize_taps(&j.r, i), .inner = 1, .axis = i};
        else if (j.n_passes == 0)
            j.outer *= x->dim[i];
        for (int k = 0; k < j.n_passes - moves; k++)
            j.pass[k].inner *= y->dim[i];
        if (j.n_passes && !(moves && j.n_passes == 1)) {
            j.tail *= x->dim[i];
            j.wide *= x->dim[i] > y->dim[i] ? x->dim[i] : y->dim[i];
        }
    }
    if (j.n_passes) {
        j.rows = SLAB_FLOATS / (j.wide ? j.wide : 1);
        j.rows = j.rows < j.pass[0].taps ? j.pass[0].taps : j.rows;
        j.rows = j.rows < j.pass[0].in ? j.rows : j.pass[0].in;
    }
    *out = j;
    return true;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    job j;
    if (n->in[0].dtype != AS_F32)
        snprintf(why, why_size, "input 0 is %s, needs f32", as_dtype_name(n->in[0].dtype));
    else if (n->in[0].layout != AS_LAYOUT_ROW_MAJOR || n->out[0].layout != AS_LAYOUT_ROW_MAJOR)
        snprintf(why, why_size, "an operand is not row-major");
    else if (!job_read(n, &j) || j.r.mode == AS_RESIZE_NEAREST || j.r.crops)
        snprintf(why, why_size, "it only knows linear and cubic without a crop");
    else {
        for (int i = 0; i < j.n_passes; i++)
            if (j.pass[i].taps > MAX_TAPS || j.pass[i].in > INT32_MAX) {
                snprintf(why, why_size, "axis %d has %lld taps", j.pass[i].axis, (long long)j.pass[i].taps);
                return false;
            }
        return true;
    }
    return false;
}

static size_t up(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t taps_bytes(const job *j)
{
    size_t bytes = 0;
    for (int i = 0; i < j->n_passes; i++)
        bytes += 2 * up((size_t)(j->pass[i].out * j->pass[i].taps) * sizeof(float));
    return bytes;
}

static size_t slab_bytes(const job *j) { return j->n_passes > 1 ? up((size_t)(j->rows * j->wide) * sizeof(float)) : 0; }

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    job j;
    if (as_shape_count(&n->out[0].shape) == 0 || !job_read(n, &j))
        return 0;
    return (taps_bytes(&j) + 2 * slab_bytes(&j)) * (size_t)n_parts;
}

static void taps_make(const job *j, pass *p)
{
    int64_t index[MAX_TAPS];
    double  weight[MAX_TAPS], all[2] = {0.0, 1.0};
    for (int64_t o = 0; o < p->out; o++) {
        as_resize_make(&j->r, p->axis, p->in, o, all, index, weight);
        for (int64_t k = 0; k < p->taps; k++) {
            p->index[o * p->taps + k] = (int32_t)index[k];
            p->weight[o * p->taps + k] = (float)weight[k];
        }
    }
}

/* The sum without the taps whose weight is 0: under one of them may be an infinity. */
static __attribute__((noinline)) float careful(const float *x, const int32_t *index, const float *weight, int64_t taps)
{
    float sum = 0.0f;
    for (int64_t k = 0; k < taps; k++)
        if (weight[k] != 0.0f)
            sum += weight[k] * x[index[k]];
    return sum;
}

V_INLINE void line(const pass *p, const float *restrict x, float *restrict y, int64_t taps)
{
    const int32_t *index = p->index;
    const float   *weight = p->weight;
    for (int64_t o = 0; o < p->out; o++, index += taps, weight += taps) {
        float sum = weight[0] * x[index[0]];
        for (int64_t k = 1; k < taps; k++)
            sum += weight[k] * x[index[k]];
        y[o] = sum == sum ? sum : careful(x, index, weight, taps);
    }
}

/* One line of single elements. */
static void line_run(const pass *p, const float *x, float *y)
{
    if (p->taps == 2)
        line(p, x, y, 2);
    else if (p->taps == 4)
        line(p, x, y, 4);
    else
        line(p, x, y, p->taps);
}

/* y = the weighted sum of rows of `n` floats; `first` is the index of the row at x. */
static void rows_add(const pass *p, int64_t o, int64_t first, const float *x, float *y, int64_t n)
{
    const float *from[MAX_TAPS];
    float        weight[MAX_TAPS];
    int          count = 0;
    for (int64_t k = o * p->taps; k < (o + 1) * p->taps; k++)
        if (p->weight[k] != 0.0f) {
            from[count] = x + (p->index[k] - first) * n;
            weight[count++] = p->weight[k];
        }
    if (count == 0) {
        memset(y, 0, (size_t)n * sizeof *y);
        return;
    }
    if (count == 1 && weight[0] == 1.0f) {
        memcpy(y, from[0], (size_t)n * sizeof *y);
        return;
    }
    for (int64_t i = 0; i < n; i += VW) {
        int some = n - i < VW ? (int)(n - i) : VW;
        vf  sum = v_zero();
        if (some == VW) {
            for (int k = 0; k < count; k++)
                sum = v_fma(v_load(from[k] + i), v_set(weight[k]), sum);
            v_store(y + i, sum);
        } else {
            for (int k = 0; k < count; k++)
                sum = v_fma(v_load_n(from[k] + i, some), v_set(weight[k]), sum);
            v_store_n(y + i, some, sum);
        }
    }
}

/* A whole axis of `outer` blocks. */
static void pass_run(const pass *p, const float *x, float *y, int64_t outer)
{
    for (int64_t i = 0; i < outer; i++, x += p->in * p->inner, y += p->out * p->inner) {
        if (p->inner == 1) {
            line_run(p, x, y);
            continue;
        }
        for (int64_t o = 0; o < p->out; o++)
            rows_add(p, o, 0, x, y + o * p->inner, p->inner);
    }
}

/* The inputs [*low, *high] that output o reads; grows what is there. */
static void reach(const pass *p, int64_t o, int64_t *low, int64_t *high)
{
    for (int64_t k = o * p->taps; k < (o + 1) * p->taps; k++) {
        *low = p->index[k] < *low ? p->index[k] : *low;
        *high = p->index[k] > *high ? p->index[k] : *high;
    }
}

/* Outputs [o, end) of the first axis, from the inputs [low, high]. */
static void slab_run(const job *j, const float *x, float *y, int64_t o, int64_t end, int64_t low, int64_t high, float *slab[2])
{
    const pass  *first = &j->pass[0];
    const float *from = x + low * j->tail;
    int64_t      size = (high - low + 1) * j->tail;
    int          turn = 0;
    for (int i = j->n_passes - 1; i > 0; i--) {
        const pass *p = &j->pass[i];
        int64_t     outer = size / (p->in * p->inner);
        pass_run(p, from, slab[turn], outer);
        from = slab[turn];
        size = outer * p->out * p->inner;
        turn = !turn;
    }
    for (; o < end; o++)
        rows_add(first, o, low, from, y + o * first->inner, first->inner);
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    job j;
    if (as_shape_count(&args->out[0].shape) == 0 || !job_read(args->ctx, &j))
        return;
    int64_t      begin, end;
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    if (j.n_passes == 0) {
        as_share(j.outer, 64, part, n_parts, &begin, &end);
        if (begin < end)
            memcpy(y + begin, x + begin, (size_t)(end - begin) * sizeof *y);
        return;
    }
    char  *mine = (char *)scratch + (size_t)part * (taps_bytes(&j) + 2 * slab_bytes(&j));
    float *slab[2];
    for (int i = 0; i < j.n_passes; i++) {
        pass  *p = &j.pass[i];
        size_t bytes = up((size_t)(p->out * p->taps) * sizeof(float));
        p->index = (int32_t *)(void *)mine;
        p->weight = (float *)(void *)(mine + bytes);
        mine += 2 * bytes;
        taps_make(&j, p);
    }
    slab[0] = (float *)(void *)mine;
    slab[1] = (float *)(void *)(mine + slab_bytes(&j));
    pass *first = &j.pass[0];
    bool  single = j.n_passes == 1 && first->inner == 1;
    as_share(j.outer * (single ? 1 : first->out), 1, part, n_parts, &begin, &end);
    for (int64_t row = begin; row < end;) {
        if (single) {
            line_run(first, x + row * first->in, y + row * first->out);
            row++;
            continue;
        }
        int64_t image = row / first->out, o = row % first->out, stop = o + 1, low = INT64_MAX, high = -1;
        reach(first, o, &low, &high);
        while (stop < first->out && row + stop - o < end) {
            int64_t next_low = low, next_high = high;
            reach(first, stop, &next_low, &next_high);
            if (next_high - next_low + 1 > j.rows && j.n_passes > 1)
                break;
            low = next_low, high = next_high;
            stop++;
        }
        slab_run(&j, x + image * first->in * j.tail, y + image * first->out * first->inner, o, stop, low, high, slab);
        row += stop - o;
    }
}
