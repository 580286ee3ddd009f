/* zoo_layout.c - workload: the same elements in another order. */
#include <string.h>

#include "model/graph/maker.h"
#include "model/zoo/workload.h"

static const as_zoo_param params[] = {
    {"kind", "transpose", "transpose (the last two axes), nchw-nhwc or copy"},
    {"size", "1024x1024", "of the input; nchw-nhwc takes NxCxHxW, or HxW for an image 1x3xHxW"},
    {"dtype", "f32", "f32, f16, bf16 or f64: moved, not converted"},
    {NULL, NULL, NULL},
};

static const char *const   kinds[] = {"transpose", "nchw-nhwc", "copy", NULL};
static const as_zoo_choice choices[] = {{"kind", kinds}, {"dtype", as_work_dtypes}, {NULL, NULL}};
static const as_zoo_axes   axes = {.variant = "kind", .min_dims = 2, .max_dims = 4, .form = "MxN, LxMxN or NxCxHxW"};

enum { CHANNELS = 3 };

/* A slice that takes everything: an element-wise copy through memory that no pass may remove. */
static int copied(as_maker *m, int x, const as_shape *shape)
{
    int64_t n = shape->rank, starts[AS_MAX_RANK] = {0};
    int     in[] = {x, as_work_ints(m, "starts", starts, (size_t)n), as_work_ints(m, "ends", shape->dim, (size_t)n)};
    return as_maker_node(m, "Slice", "y", in, 3, NULL, 0, NULL, 1, NULL);
}

static int turned(as_maker *m, int x, bool nhwc, int rank)
{
    int64_t perm[AS_MAX_RANK] = {0, 2, 3, 1};
    for (int i = 0; !nhwc && i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    as_attr attr = {.name = "perm", .kind = AS_ATTR_INTS, .ints = perm, .n = (size_t)rank};
    return as_maker_node(m, "Transpose", "y", &x, 1, &attr, 1, NULL, 1, NULL);
}

static void build(as_maker *m, const as_zoo_args *args)
{
    as_work     w;
    as_dims     dims;
    const char *kind = as_zoo_word(m, args, "kind");
    if (!as_work_read(m, args, &w))
        return;
    bool nhwc = !strcmp(kind, "nchw-nhwc");
    if (nhwc && w.size.rank == 2)
        w.size = AS_SHAPE(1, CHANNELS, w.size.dim[0], w.size.dim[1]);
    if (nhwc && w.size.rank != 4) {
        as_maker_fail(m, "size=%s: nchw-nhwc takes NxCxHxW or HxW", as_zoo_text(args, "size"));
        return;
    }
    as_dims_of_shape(&w.size, &dims);
    int x = as_maker_input(m, "x", w.dtype, &dims);
    as_maker_output(m, !strcmp(kind, "copy") ? copied(m, x, &w.size) : turned(m, x, nhwc, w.size.rank));
}

const as_zoo as_zoo_layout = {
    .name = "layout",
    .help = "workload: the same elements in another order",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .build = build,
};
