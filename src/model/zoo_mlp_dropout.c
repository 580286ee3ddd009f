/* zoo_mlp_dropout.c - dense layers of any widths with ReLU and dropout between them.  In inference dropout passes its input
 * through: what it costs there is the cost of a node that does nothing. */
#include <stdio.h>

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
    if (n < 2)
        return;
    as_dims dims = { .rank = 2, .dim = { { .symbol = "batch" }, { .size = sizes[0] } } };
    int     x = as_maker_input(m, "x", AS_F32, &dims);
    for (size_t i = 1; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%zu", i);
        x = as_layer_dense(m, name, x, sizes[i - 1], sizes[i], i + 1 < n ? NULL : "y");
        if (i + 1 == n)
            break;
        snprintf(name, sizeof name, "relu%zu", i);
        x = as_layer_relu(m, name, x);
        snprintf(name, sizeof name, "drop%zu", i);
        x = as_maker_node(m, "Dropout", name, &x, 1, NULL, 0, NULL, 1, NULL);
    }
    as_maker_output(m, x);
}

const as_zoo as_zoo_mlp_dropout = {
    .name = "mlp-dropout", .help = "dense layers of any widths with ReLU and dropout between them", .params = params, .build = build,
};
