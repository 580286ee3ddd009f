/* zoo_mlp_dropout.c - dense layers of any widths with ReLU and dropout between them.  In inference dropout passes its input
 * through: its cost there is that of a node that does nothing. */
#include <stdio.h>

#include "model/zoo/zoo.h"

/* ReLU, then dropout. */
static int between(as_maker *m, size_t i, int x, int64_t units)
{
    char name[32];
    x = as_mlp_relu(m, i, x, units);
    snprintf(name, sizeof name, "drop%zu", i);
    return as_maker_node(m, "Dropout", name, &x, 1, NULL, 0, NULL, 1, NULL);
}

static void build(as_maker *m, const as_zoo_args *args) { as_mlp_build(m, args, between); }

const as_zoo as_zoo_mlp_dropout = {
    .name = "mlp-dropout",
    .help = "dense layers of any widths with ReLU and dropout between them",
    .params = as_mlp_params,
    .build = build,
};
