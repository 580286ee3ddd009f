/* zoo_cnn_widen.c - progressive widening: channels grow by a constant step instead of doubling; a plain network of the
 * same depth has most of its weights in the doubled stages. widths=64x128x256 is the doubling network to compare it
 * with. */
#include "model/zoo/cnn_layers.h"

static const as_zoo_param params[] = {AS_CNN_PARAM_WIDTHS("32x64x96"), AS_CNN_PARAM_CLASSES, {NULL, NULL, NULL}};

static void build(as_maker *m, const as_zoo_args *args) { as_layers_cnn(m, args, as_cnn_plain, as_cnn_plain); }

const as_zoo as_zoo_cnn_widen = {
    .name = "cnn-widen",
    .help = "3x3 convolutions that widen step by step, on 3x32x32",
    .params = params,
    .build = build,
};
