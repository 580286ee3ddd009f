/* zoo_cnn_bottleneck.c - 1x1 down, 3x3 on the few channels, 1x1 up again.  A plain network spends its flops on the
 * 3x3; this one saves them there, and the two 1x1 cost activations instead. */
#include <inttypes.h>
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

static const as_zoo_param params[] = {
    AS_CNN_PARAM_WIDTHS("32x64x128"),
    {"reduce", "4", "the 3x3 has width/reduce channels"},
    AS_CNN_PARAM_CLASSES,
    {NULL, NULL, NULL},
};

static int block(as_maker *m, const as_zoo_args *args, int stage, int x, int64_t n_in, int64_t n_out)
{
    static const struct {
        const char *part;
        int64_t     kernel;
    } convs[] = {{"down", 1}, {"mid", 3}, {"up", 1}};
    int64_t reduce = as_zoo_int(m, args, "reduce", 1, AS_CNN_MAX_WIDTH);
    if (!reduce)
        return -1;
    if (n_out % reduce) {
        as_maker_fail(m, "stage %d has %" PRId64 " channels, and reduce=%" PRId64 " does not divide them", stage, n_out, reduce);
        return -1;
    }
    const int64_t width[] = {n_in, n_out / reduce, n_out / reduce, n_out};
    for (int i = 0; i < 3; i++) {
        char conv[32], relu[32];
        snprintf(conv, sizeof conv, "conv%d_%s", stage, convs[i].part);
        snprintf(relu, sizeof relu, "relu%d_%s", stage, convs[i].part);
        x = as_layer_conv(m, conv, x, width[i], width[i + 1],
                          (as_conv_spec){.kernel = convs[i].kernel, .stride = 1, .group = 1, .bias = true});
        x = as_layer_relu(m, relu, x);
    }
    return x;
}

static void build(as_maker *m, const as_zoo_args *args) { as_layers_cnn(m, args, as_cnn_plain, block); }

const as_zoo as_zoo_cnn_bottleneck = {
    .name = "cnn-bottleneck",
    .help = "1x1-3x3-1x1 convolutions, narrow in the middle, on 3x32x32",
    .params = params,
    .build = build,
};
