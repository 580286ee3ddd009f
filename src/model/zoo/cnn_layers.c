/* cnn_layers.c - the common structure of the small image networks. */
#include "model/zoo/cnn_layers.h"

#include <stdio.h>

int as_layer_conv(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out, as_conv_spec spec)
{
    char    weight[64], bias[64];
    int64_t k = spec.kernel, pad = k / 2, fan_in = n_in / spec.group * k * k;
    as_attr attrs[] = {
        AS_ATTR_LIST("kernel_shape", k, k),
        AS_ATTR_LIST("pads", pad, pad, pad, pad),
        AS_ATTR_LIST("strides", spec.stride, spec.stride),
        AS_ATTR_I("group", spec.group),
    };
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    int in[3] = {x, as_maker_param_random(m, weight, &AS_SHAPE(n_out, n_in / spec.group, k, k), fan_in), -1};
    if (spec.bias)
        in[2] = as_maker_param_random(m, bias, &AS_SHAPE(n_out), fan_in);
    return as_maker_node(m, "Conv", name, in, spec.bias ? 3 : 2, attrs, 4, NULL, 1, NULL);
}

int as_layer_batchnorm(as_maker *m, const char *name, int x, int64_t n)
{
    static const struct {
        const char *part;
        bool        ones;
    } params[] = {
        {"weight", true},
        {"bias", false},
        {"running_mean", false},
        {"running_var", true},
    };
    int    in[5] = {x};
    float *ones = AS_TAKE(as_maker_arena(m), float, (size_t)n);
    if (!ones) {
        as_maker_fail(m, "not enough memory for the %lld channels of %s", (long long)n, name);
        return -1;
    }
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1.0f;
    for (int i = 0; i < 4; i++) {
        char label[64];
        snprintf(label, sizeof label, "%s.%s", name, params[i].part);
        in[i + 1] = as_maker_param(m, label, AS_F32, &AS_SHAPE(n), params[i].ones ? ones : NULL, false);
    }
    return as_maker_node(m, "BatchNormalization", name, in, 5, NULL, 0, NULL, 1, NULL);
}

int as_layer_flatten(as_maker *m, int x) { return as_maker_node(m, "Flatten", "flatten", &x, 1, NULL, 0, NULL, 1, NULL); }

int as_layer_image(as_maker *m)
{
    as_dims dims = {.rank = 4, .dim = {{.symbol = "batch"}, {.size = 3}, {.size = 32}, {.size = 32}}};
    return as_maker_input(m, "x", AS_F32, &dims);
}

int as_cnn_plain(as_maker *m, const as_zoo_args *args, int stage, int x, int64_t n_in, int64_t n_out)
{
    char conv[32], relu[32];
    (void)args;
    snprintf(conv, sizeof conv, "conv%d", stage);
    snprintf(relu, sizeof relu, "relu%d", stage);
    return as_layer_relu(m, relu, as_layer_conv3(m, conv, x, n_in, n_out));
}

void as_layers_cnn(as_maker *m, const as_zoo_args *args, as_cnn_block *first, as_cnn_block *block)
{
    int64_t widths[AS_CNN_MAX_STAGES], size = 32;
    size_t  n = as_zoo_list(m, args, "widths", 1, AS_CNN_MAX_WIDTH, widths, AS_CNN_MAX_STAGES);
    int64_t classes = as_zoo_int(m, args, "classes", 1, 1 << 20);
    if (!n || !classes)
        return; /* the maker holds the message */
    int x = as_layer_image(m);
    for (size_t i = 0; i < n; i++, size /= 2) {
        char name[32];
        x = (i ? block : first)(m, args, (int)i + 1, x, i ? widths[i - 1] : 3, widths[i]);
        snprintf(name, sizeof name, "pool%zu", i + 1);
        x = as_layer_pool2(m, name, x);
    }
    x = as_layer_dense(m, "fc1", as_layer_flatten(m, x), widths[n - 1] * size * size, AS_CNN_DENSE, NULL);
    x = as_layer_relu(m, "relu_fc1", x);
    as_maker_output(m, as_layer_dense(m, "fc2", x, AS_CNN_DENSE, classes, "y"));
}
