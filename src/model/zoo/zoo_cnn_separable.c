/* zoo_cnn_separable.c - depthwise separable convolutions: one 3x3 filter per channel, then a 1x1 convolution that mixes
 * the channels.  Fewer weights and flops than a full 3x3, but one more activation to write and read. */
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

static const as_zoo_param params[] = {AS_CNN_PARAM_WIDTHS("32x64x128"), AS_CNN_PARAM_CLASSES, {NULL, NULL, NULL}};

static int block(as_maker *m, const as_zoo_args *args, int stage, int x, int64_t n_in, int64_t n_out)
{
    char depth[32], point[32], relu[32];
    (void)args;
    snprintf(depth, sizeof depth, "depthwise%d", stage);
    snprintf(point, sizeof point, "pointwise%d", stage);
    snprintf(relu, sizeof relu, "relu%d_depthwise", stage);
    x = as_layer_conv(m, depth, x, n_in, n_in, (as_conv_spec){.kernel = 3, .stride = 1, .group = n_in, .bias = true});
    x = as_layer_relu(m, relu, x);
    x = as_layer_conv(m, point, x, n_in, n_out, (as_conv_spec){.kernel = 1, .stride = 1, .group = 1, .bias = true});
    snprintf(relu, sizeof relu, "relu%d", stage);
    return as_layer_relu(m, relu, x);
}

static void build(as_maker *m, const as_zoo_args *args) { as_layers_cnn(m, args, as_cnn_plain, block); }

const as_zoo as_zoo_cnn_separable = {
    .name = "cnn-separable",
    .help = "depthwise 3x3 and pointwise 1x1 convolutions, on 3x32x32",
    .params = params,
    .build = build,
};
