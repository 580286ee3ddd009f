/* zoo_softmax.c - workload: a softmax along the last axis. */
#include "model/zoo/workload.h"

static const as_zoo_param params[] = {
    {"size", "1024x1024", "rows x their length"},
    AS_WORK_DTYPE,
    AS_WORK_LAYOUT,
    {NULL, NULL, NULL},
};

static const as_zoo_choice choices[] = {{"dtype", as_work_dtypes}, {"layout", as_work_layouts}, {NULL, NULL}};
static const as_zoo_axes   axes = {.min_dims = 2, .max_dims = 4, .form = "MxN, LxMxN or KxLxMxN", .rows = "size"};

static void build(as_maker *m, const as_zoo_args *args)
{
    as_work w;
    if (as_work_read(m, args, &w))
        as_work_output(&w, as_work_node1(m, "Softmax", "y", as_work_input(&w, "x", &w.size, true)));
}

const as_zoo as_zoo_softmax = {
    .name = "softmax",
    .help = "workload: a softmax along the last axis",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .build = build,
};
