/* k_reducesum_f32_scalar.c - sums along axes: rows are added up where the last axis stays, summed where it goes. */
#include "backend/cpu/plain.h"

#include <stdio.h>
#include <string.h>

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    if (!as_in_has(n, 1) || n->in[1].constant || as_shape_count(&n->in[1].shape) == 0)
        return true;
    snprintf(why, why_size, "input 1, the axes, is not known while planning");
    return false;
}

/* Axes of X as an odometer: sizes and steps of those that stay and of those that go, the innermost group apart. */
typedef struct odometer { int rank; int64_t dim[AS_MAX_RANK], step[AS_MAX_RANK], count; } odometer;

typedef struct sums {
    odometer stay, go;
    int64_t  inner;       /* neighbours that all stay, or all go */
    bool     inner_goes;
} sums;

static unsigned axes_of(const as_node_ctx *n)
{
    int            rank = n->in[0].shape.rank;
    int64_t        count = as_in_has(n, 1) ? as_shape_count(&n->in[1].shape) : 0;
    const int64_t *axes = as_in_has(n, 1) ? n->in[1].constant : NULL;
    unsigned       set = 0;
    for (int64_t i = 0; i < count; i++)
        set |= 1u << (axes[i] < 0 ? axes[i] + rank : axes[i]);
    return count == 0 && as_attr_int(n, "noop_with_empty_axes", 0) == 0 ? (1u << rank) - 1 : set;
}

static sums sums_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    unsigned        axes = axes_of(n);
    int64_t         step[AS_MAX_RANK], all = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        step[i] = all;
        all *= x->dim[i];
    }
    sums s = { .inner = 1, .stay.count = 1, .go.count = 1 };
    int  outer = x->rank;
    while (outer > 0 && x->dim[outer - 1] == 1) /* an axis of one element belongs to either */
        outer--;
    s.inner_goes = outer > 0 && (axes >> (outer - 1) & 1u);
    while (outer > 0 && (x->dim[outer - 1] == 1 || (axes >> (outer - 1) & 1u) == s.inner_goes))
        s.inner *= x->dim[--outer];
    for (int i = 0; i < outer; i++) {
        odometer *o = axes >> i & 1u ? &s.go : &s.stay;
        o->dim[o->rank] = x->dim[i];
        o->step[o->rank++] = step[i];
        o->count *= x->dim[i];
    }
    return s;
}

static int64_t offset(const odometer *o, int64_t at)
{
    int64_t sum = 0;
    for (int i = o->rank - 1; i >= 0; i--) {
        sum += at % o->dim[i] * o->step[i];
        at /= o->dim[i];
    }
    return sum;
}

/* Each output of its own: the sums of its runs, added in order. */
static void run_goes(const sums *s, const float *x, float *y, int part, int n_parts)
{
    int64_t begin, end;
    as_share(s->stay.count, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float *from = x + offset(&s->stay, i);
        float        sum = 0.0f;
        for (int64_t j = 0; j < s->go.count; j++)
            sum += as_plain_sum(from + offset(&s->go, j), s->inner);
        y[i] = sum;
    }
}

/* A row of neighbours that stay, in pieces so that threads can share even a single row. */
static void run_stays(const sums *s, const float *x, float *y, int part, int n_parts)
{
    enum { COLUMNS = 256 };
    int64_t n_blocks = (s->inner + COLUMNS - 1) / COLUMNS, begin, end;
    as_share(s->stay.count * n_blocks, 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t i = unit / n_blocks, first = unit % n_blocks * COLUMNS, width = s->inner - first < COLUMNS ? s->inner - first : COLUMNS;
        float  *row = y + i * s->inner + first;
        const float *from = x + offset(&s->stay, i) + first;
        memset(row, 0, (size_t)width * sizeof *row);
        for (int64_t j = 0; j < s->go.count; j++)
            as_plain_add(row, from + offset(&s->go, j), width);
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    if (as_shape_count(&args->out[0].shape) == 0)
        return;
    sums s = sums_of(args->ctx);
    (s.inner_goes ? run_goes : run_stays)(&s, args->in[0].data, args->out[0].data, part, n_parts);
}

const as_kernel as_k_reducesum_f32_scalar = {
    .name = "reducesum_f32_scalar", .op = "ReduceSum", .isa = AS_ISA_SCALAR, .rank = 10, .why = "plain C, row by row",
    .accepts = accepts, .run = run,
};
