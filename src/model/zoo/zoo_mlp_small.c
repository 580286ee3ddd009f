/* zoo_mlp_small.c - the smallest network that is still useful: digits of 28x28 pixels through one hidden layer. */
#include "model/zoo/zoo.h"

static void build(as_maker *m, const as_zoo_args *args)
{
    (void)args;
    as_layers_mlp(m, (const int64_t[]){784, 128, 10}, 3);
}

const as_zoo as_zoo_mlp_small = {.name = "mlp-small", .help = "dense 784-128-10 with ReLU, 101770 parameters", .build = build};
