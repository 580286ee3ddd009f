/* zoo_mlp_bn.c - dense layers of any widths with batch normalisation and ReLU between them. */
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

/* Batch normalisation, then ReLU. */
static int between(as_maker *m, size_t i, int x, int64_t units)
{
    char name[32];
    snprintf(name, sizeof name, "bn%zu", i);
    return as_mlp_relu(m, i, as_layer_batchnorm(m, name, x, units), units);
}

static void build(as_maker *m, const as_zoo_args *args) { as_mlp_build(m, args, between); }

const as_zoo as_zoo_mlp_bn = {
    .name = "mlp-bn",
    .help = "dense layers of any widths with batch normalisation and ReLU between them",
    .params = as_mlp_params,
    .build = build,
};
