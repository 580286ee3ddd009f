/* zoo_cnn_cifar.c - cnn-small for colour images of 32x32 pixels. */
#include "model/zoo/cnn_layers.h"

static const as_zoo_param params[] = {AS_CNN_PARAM_CLASSES, {NULL, NULL, NULL}};

static void build(as_maker *m, const as_zoo_args *args)
{
    int64_t classes = as_zoo_int(m, args, "classes", 1, 1 << 20);
    if (!classes)
        return;
    int x = as_layer_image(m);
    x = as_layer_pool2(m, "pool1", as_layer_relu(m, "relu1", as_layer_conv3(m, "conv1", x, 3, 32)));
    x = as_layer_pool2(m, "pool2", as_layer_relu(m, "relu2", as_layer_conv3(m, "conv2", x, 32, 64)));
    x = as_layer_relu(m, "relu3", as_layer_dense(m, "fc1", as_layer_flatten(m, x), 64 * 8 * 8, 128, NULL));
    as_maker_output(m, as_layer_dense(m, "fc2", x, 128, classes, "y"));
}

const as_zoo as_zoo_cnn_cifar = {
    .name = "cnn-cifar",
    .help = "cnn-small on 3x32x32; 545098 parameters",
    .params = params,
    .build = build,
};
