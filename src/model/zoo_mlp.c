/* zoo_mlp.c - dense layers of any widths with ReLU between them. */
#include "model/zoo.h"

enum { MAX_SIZES = 256 };

static const as_zoo_param params[] = {
    { "sizes", "784x512x256x10", "layer widths, the input's first" },
    { NULL, NULL, NULL },
};

static void build(as_maker *m, const as_zoo_args *args)
{
    int64_t sizes[MAX_SIZES];
    size_t  n = as_zoo_list(m, args, "sizes", 1, 1 << 24, sizes, MAX_SIZES);
    if (n == 1)
        as_maker_fail(m, "sizes=%s: an input width and at least one layer are needed", as_zoo_text(args, "sizes"));
    if (n > 1)
        as_layers_mlp(m, sizes, n);
}

const as_zoo as_zoo_mlp = { .name = "mlp", .help = "dense layers of any widths with ReLU between them", .params = params, .build = build };
