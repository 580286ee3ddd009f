/* k_pad_copy.c - adds elements before and after each axis, in all modes, as runs of bytes, for any dtype and layout.
 *
 * Axes are in the order of memory.  The last padded one and all after it make rows: the part inside the input is one copy. */
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/walk.h"
#include "op/shape/cuts.h"

typedef struct rows {
    as_padding  p;
    int         axis;  /* the last one that is padded; -1: none */
    int64_t     item;  /* bytes of one element of it */
    size_t      bytes; /* of a single element */
    const char *value; /* one element: the constant */
} rows;

static void fill(const rows *r, char *to, int64_t n_items)
{
    if (n_items > 0)
        as_walk_fill(to, r->value, r->bytes, n_items * r->item / (int64_t)r->bytes);
}

/* Items [first, last) of a row that lie outside the input. */
static void outside(const rows *r, const char *from, char *to, int64_t first, int64_t last, int64_t size)
{
    for (int64_t i = first; i < last; i++)
        memcpy(to + i * r->item, from + as_padding_source(r->p.mode, i - r->p.begin[r->axis], size) * r->item, (size_t)r->item);
}

static void row_run(const rows *r, const char *from, char *to, int64_t size, int64_t length)
{
    int64_t shift = r->p.begin[r->axis], first = shift < 0 ? 0 : shift < length ? shift : length;
    int64_t last = size + shift < first ? first : size + shift < length ? size + shift : length;
    if (r->p.mode == AS_PAD_CONSTANT)
        fill(r, to, first);
    else
        outside(r, from, to, 0, first, size);
    if (last > first)
        memcpy(to + first * r->item, from + (first - shift) * r->item, (size_t)((last - first) * r->item));
    if (r->p.mode == AS_PAD_CONSTANT)
        fill(r, to + last * r->item, length - last);
    else
        outside(r, from, to, last, length, size);
}

/* Where row `at` of the output starts in the input, in rows; -1: outside it. */
static int64_t source_row(const rows *r, const as_shape *x, const as_shape *y, int64_t at)
{
    int64_t row = 0, step = 1;
    for (int i = r->axis - 1; i >= 0; i--) {
        int64_t k = at % y->dim[i] - r->p.begin[i];
        at /= y->dim[i];
        if (k < 0 || k >= x->dim[i]) {
            if (r->p.mode == AS_PAD_CONSTANT)
                return -1;
            k = as_padding_source(r->p.mode, k, x->dim[i]);
        }
        row += k * step;
        step *= x->dim[i];
    }
    return row;
}

/* A shape and a padding with their axes as they lie in memory. */
static as_shape shape_in_memory(const as_tensor_info *t)
{
    as_shape shape = t->shape;
    int      axis[AS_MAX_RANK];
    as_memory_axes(t, axis);
    for (int i = 0; i < shape.rank; i++)
        shape.dim[i] = t->shape.dim[axis[i]];
    return shape;
}

static as_padding padding_in_memory(const as_tensor_info *t, const as_padding *p)
{
    as_padding moved = *p;
    int        axis[AS_MAX_RANK];
    as_memory_axes(t, axis);
    for (int i = 0; i < t->shape.rank; i++)
        moved.begin[i] = p->begin[axis[i]], moved.end[i] = p->end[axis[i]];
    return moved;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_memory_is_one(n, 1, why, why_size); }

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    static const char  zeros[8] = {0}; /* a zero of any dtype */
    const as_node_ctx *n = args->ctx;
    const as_shape     sizes[2] = {shape_in_memory(&n->in[0]), shape_in_memory(&n->out[0])}, *x = &sizes[0], *y = &sizes[1];
    rows r = {.bytes = as_dtype_bytes(n->in[0].dtype), .axis = x->rank - 1, .value = as_in_has(n, 2) ? args->in[2].data : zeros};
    if (as_padding_read(NULL, n, &r.p) != ASSAY_OK || as_shape_count(y) == 0) /* infer has read it */
        return;
    r.p = padding_in_memory(&n->in[0], &r.p);
    r.item = (int64_t)r.bytes;
    while (r.axis >= 0 && r.p.begin[r.axis] == 0 && r.p.end[r.axis] == 0)
        r.item *= x->dim[r.axis--];
    if (r.axis < 0) {
        as_plain_copy(args, part, n_parts, scratch);
        return;
    }
    int64_t size = x->dim[r.axis], length = y->dim[r.axis], n_rows = 1, begin, end;
    for (int i = 0; i < r.axis; i++)
        n_rows *= y->dim[i];
    as_share(n_rows, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        char   *to = (char *)args->out[0].data + i * length * r.item;
        int64_t from = source_row(&r, x, y, i);
        if (from < 0 || size == 0)
            fill(&r, to, length);
        else
            row_run(&r, (const char *)args->in[0].data + from * size * r.item, to, size, length);
    }
}

const as_kernel as_k_pad_copy = {
    .name = "pad_copy",
    .op = "Pad",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = accepts,
    .run = run,
};
