/* zoo_matmul.c - workload: one product of two matrices. */
#include "model/zoo/workload.h"

static const as_zoo_param params[] = {
    {"size", "512x512", "MxKxN: MxK times KxN; MxN: MxN times NxN"},
    AS_WORK_DTYPE,
    AS_WORK_LAYOUT,
    {NULL, NULL, NULL},
};

static const as_zoo_choice choices[] = {{"dtype", as_work_dtypes}, {"layout", as_work_layouts}, {NULL, NULL}};
static const as_zoo_axes   axes = {.min_dims = 2, .max_dims = 3, .form = "MxN or MxKxN", .rows = "size"};

/* The layout is that of B: every kernel reads A by rows. */
static void build(as_maker *m, const as_zoo_args *args)
{
    as_work w;
    if (!as_work_read(m, args, &w))
        return;
    const int64_t *d = w.size.dim, n = d[w.size.rank - 1];
    int            a = as_work_input(&w, "a", &AS_SHAPE(d[0], d[1]), false), b = as_work_input(&w, "b", &AS_SHAPE(d[1], n), true);
    as_work_output(&w, as_maker_node(m, "MatMul", "y", (int[]){a, b}, 2, NULL, 0, NULL, 1, NULL));
}

const as_zoo as_zoo_matmul = {
    .name = "matmul",
    .help = "workload: a product of two matrices",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .build = build,
};
