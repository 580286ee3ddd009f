/* zoo_cnn_bn.c - convolution, batch normalisation, ReLU. The convolutions have no bias: the normalisation would subtract it
 * again with the mean. */
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

static const as_zoo_param params[] = {AS_CNN_PARAM_WIDTHS("32x64x128"), AS_CNN_PARAM_CLASSES, {NULL, NULL, NULL}};

static int block(as_maker *m, const as_zoo_args *args, int stage, int x, int64_t n_in, int64_t n_out)
{
    char conv[32], norm[32], relu[32];
    (void)args;
    snprintf(conv, sizeof conv, "conv%d", stage);
    snprintf(norm, sizeof norm, "bn%d", stage);
    snprintf(relu, sizeof relu, "relu%d", stage);
    x = as_layer_conv(m, conv, x, n_in, n_out, (as_conv_spec){.kernel = 3, .stride = 1, .group = 1, .bias = false});
    return as_layer_relu(m, relu, as_layer_batchnorm(m, norm, x, n_out));
}

static void build(as_maker *m, const as_zoo_args *args) { as_layers_cnn(m, args, block, block); }

const as_zoo as_zoo_cnn_bn = {
    .name = "cnn-bn",
    .help = "3x3 convolutions with batch normalisation, on 3x32x32",
    .params = params,
    .build = build,
};
