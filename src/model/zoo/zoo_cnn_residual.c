/* zoo_cnn_residual.c - blocks of two 3x3 convolutions with a skip around them.  From stage to stage the width doubles and
 * the size halves; there the skip is a 1x1 convolution with the same stride, elsewhere it costs one addition. */
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

enum { N_STAGES = 3, MAX_BLOCKS = 64 };

static const as_zoo_param params[] = {
    {"width", "16", "channels of the first stage; 2 and 4 times as many in the next"},
    {"blocks", "1", "blocks per stage"},
    AS_CNN_PARAM_CLASSES,
    {NULL, NULL, NULL},
};

static int block(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out, int64_t stride)
{
    char part[64];
    int  skip = x;
    if (stride > 1) {
        snprintf(part, sizeof part, "%s_skip", name);
        skip = as_layer_conv(m, part, x, n_in, n_out, (as_conv_spec){.kernel = 1, .stride = stride, .group = 1, .bias = true});
    }
    snprintf(part, sizeof part, "%s_conv1", name);
    x = as_layer_conv(m, part, x, n_in, n_out, (as_conv_spec){.kernel = 3, .stride = stride, .group = 1, .bias = true});
    snprintf(part, sizeof part, "%s_relu1", name);
    x = as_layer_relu(m, part, x);
    snprintf(part, sizeof part, "%s_conv2", name);
    x = as_layer_conv3(m, part, x, n_out, n_out);
    snprintf(part, sizeof part, "%s_add", name);
    x = as_maker_node(m, "Add", part, (int[]){x, skip}, 2, NULL, 0, NULL, 1, NULL);
    snprintf(part, sizeof part, "%s_relu2", name);
    return as_layer_relu(m, part, x);
}

static void build(as_maker *m, const as_zoo_args *args)
{
    int64_t width = as_zoo_int(m, args, "width", 1, AS_CNN_MAX_WIDTH), blocks = as_zoo_int(m, args, "blocks", 1, MAX_BLOCKS);
    int64_t classes = as_zoo_int(m, args, "classes", 1, 1 << 20), n_in = width;
    if (!width || !blocks || !classes)
        return;
    int x = as_layer_relu(m, "relu1", as_layer_conv3(m, "conv1", as_layer_image(m), 3, width));
    for (int stage = 1; stage <= N_STAGES; stage++, width *= 2)
        for (int64_t i = 1; i <= blocks; i++, n_in = width) {
            char name[32];
            snprintf(name, sizeof name, "block%d_%d", stage, (int)i);
            x = block(m, name, x, n_in, width, stage > 1 && i == 1 ? 2 : 1);
        }
    x = as_layer_flatten(m, as_layer_pool2(m, "pool", x));
    as_maker_output(m, as_layer_dense(m, "fc", x, n_in * 4 * 4, classes, "y"));
}

const as_zoo as_zoo_cnn_residual = {
    .name = "cnn-residual",
    .help = "blocks of two 3x3 convolutions with skips around them, on 3x32x32",
    .params = params,
    .build = build,
};
