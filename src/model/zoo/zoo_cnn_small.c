/* zoo_cnn_small.c - two convolutions and two dense layers for digits of 28x28 pixels.  The outputs are logits: the
 * softmax is left to the loss or to the user. */
#include "model/zoo/zoo.h"

static void build(as_maker *m, const as_zoo_args *args)
{
    (void)args;
    as_dims dims = {.rank = 4, .dim = {{.symbol = "batch"}, {.size = 1}, {.size = 28}, {.size = 28}}};
    int     x = as_maker_input(m, "x", AS_F32, &dims);
    x = as_layer_pool2(m, "pool1", as_layer_relu(m, "relu1", as_layer_conv3(m, "conv1", x, 1, 32)));
    x = as_layer_pool2(m, "pool2", as_layer_relu(m, "relu2", as_layer_conv3(m, "conv2", x, 32, 64)));
    x = as_maker_node(m, "Flatten", "flatten", &x, 1, NULL, 0, NULL, 1, NULL);
    x = as_layer_relu(m, "relu3", as_layer_dense(m, "fc1", x, 64 * 7 * 7, 128, NULL));
    as_maker_output(m, as_layer_dense(m, "fc2", x, 128, 10, "y"));
}

const as_zoo as_zoo_cnn_small = {
    .name = "cnn-small",
    .help = "convolutions of 32 and 64 channels, dense 128 and 10, on 1x28x28; 421642 parameters",
    .build = build,
};
