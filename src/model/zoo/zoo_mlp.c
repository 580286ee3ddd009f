/* zoo_mlp.c - dense layers of any widths with ReLU between them. */
#include "model/zoo/zoo.h"

static void build(as_maker *m, const as_zoo_args *args) { as_mlp_build(m, args, as_mlp_relu); }

const as_zoo as_zoo_mlp = {
    .name = "mlp", .help = "dense layers of any widths with ReLU between them", .params = as_mlp_params, .build = build};
