/* zoo_cnn_large.c - three stages of two 3x3 convolutions each, the width doubling from stage to stage, and three dense
 * layers, for colour images of 32x32 pixels. */
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

enum { N_STAGES = 3 };

static const as_zoo_param params[] = {
    {"width", "32", "channels of the first stage; 2 and 4 times as many in the next"},
    AS_CNN_PARAM_CLASSES,
    {NULL, NULL, NULL},
};

static void build(as_maker *m, const as_zoo_args *args)
{
    int64_t width = as_zoo_int(m, args, "width", 1, AS_CNN_MAX_WIDTH), classes = as_zoo_int(m, args, "classes", 1, 1 << 20);
    if (!width || !classes)
        return;
    int     x = as_layer_image(m);
    int64_t n_in = 3;
    for (int stage = 1; stage <= N_STAGES; stage++, width *= 2) {
        char name[32];
        for (int half = 1; half <= 2; half++, n_in = width) {
            snprintf(name, sizeof name, "conv%d_%d", stage, half);
            x = as_layer_conv3(m, name, x, n_in, width);
            snprintf(name, sizeof name, "relu%d_%d", stage, half);
            x = as_layer_relu(m, name, x);
        }
        snprintf(name, sizeof name, "pool%d", stage);
        x = as_layer_pool2(m, name, x);
    }
    x = as_layer_relu(m, "relu_fc1", as_layer_dense(m, "fc1", as_layer_flatten(m, x), n_in * 4 * 4, 256, NULL));
    x = as_layer_relu(m, "relu_fc2", as_layer_dense(m, "fc2", x, 256, 128, NULL));
    as_maker_output(m, as_layer_dense(m, "fc3", x, 128, classes, "y"));
}

const as_zoo as_zoo_cnn_large = {
    .name = "cnn-large",
    .help = "six convolutions of 32 to 128 channels, dense 256, 128 and 10, on 3x32x32; 845738 parameters",
    .params = params,
    .build = build,
};
