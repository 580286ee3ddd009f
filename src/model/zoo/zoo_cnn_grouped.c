/* zoo_cnn_grouped.c - 3x3 convolutions in groups: each group of outputs sees only its own group of inputs, so weights and
 * flops shrink by the number of groups, but activations do not. */
#include <inttypes.h>
#include <stdio.h>

#include "model/zoo/cnn_layers.h"

static const as_zoo_param params[] = {
    AS_CNN_PARAM_WIDTHS("32x64x128"),
    {"groups", "4", "groups of channels; must divide every width"},
    AS_CNN_PARAM_CLASSES,
    {NULL, NULL, NULL},
};

static int block(as_maker *m, const as_zoo_args *args, int stage, int x, int64_t n_in, int64_t n_out)
{
    char    conv[32], relu[32];
    int64_t groups = as_zoo_int(m, args, "groups", 1, AS_CNN_MAX_WIDTH);
    if (!groups)
        return -1;
    if (n_in % groups || n_out % groups) {
        as_maker_fail(m, "stage %d has %" PRId64 " channels in and %" PRId64 " out, and groups=%" PRId64 " does not divide both",
                      stage, n_in, n_out, groups);
        return -1;
    }
    snprintf(conv, sizeof conv, "conv%d", stage);
    snprintf(relu, sizeof relu, "relu%d", stage);
    x = as_layer_conv(m, conv, x, n_in, n_out, (as_conv_spec){.kernel = 3, .stride = 1, .group = groups, .bias = true});
    return as_layer_relu(m, relu, x);
}

static void build(as_maker *m, const as_zoo_args *args) { as_layers_cnn(m, args, as_cnn_plain, block); }

const as_zoo as_zoo_cnn_grouped = {
    .name = "cnn-grouped",
    .help = "3x3 convolutions in groups of channels, on 3x32x32",
    .params = params,
    .build = build,
};
