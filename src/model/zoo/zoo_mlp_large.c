/* zoo_mlp_large.c - digits of 28x28 pixels through three hidden layers. */
#include "model/zoo/zoo.h"

static void build(as_maker *m, const as_zoo_args *args)
{
    (void)args;
    as_layers_mlp(m, (const int64_t[]){784, 512, 512, 256, 10}, 5);
}

const as_zoo as_zoo_mlp_large = {
    .name = "mlp-large", .help = "dense 784-512-512-256-10 with ReLU, 798474 parameters", .build = build};
