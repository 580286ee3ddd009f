/* layers.c - the layers that zoo files share. */
#include <stdio.h>

#include "model/zoo/zoo.h"

int as_layer_dense(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out, const char *out)
{
    char    weight[64], bias[64];
    as_attr attrs[] = {AS_ATTR_I("transB", 1)};
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    int w = as_maker_param_random(m, weight, &AS_SHAPE(n_out, n_in), n_in);
    int b = as_maker_param_random(m, bias, &AS_SHAPE(n_out), n_in);
    return as_maker_node(m, "Gemm", name, (int[]){x, w, b}, 3, attrs, 1, NULL, 1, out ? &out : NULL);
}

int as_layer_relu(as_maker *m, const char *name, int x) { return as_maker_node(m, "Relu", name, &x, 1, NULL, 0, NULL, 1, NULL); }

int as_layer_conv3(as_maker *m, const char *name, int x, int64_t n_in, int64_t n_out)
{
    char    weight[64], bias[64];
    as_attr attrs[] = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("pads", 1, 1, 1, 1)};
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    int w = as_maker_param_random(m, weight, &AS_SHAPE(n_out, n_in, 3, 3), n_in * 9);
    int b = as_maker_param_random(m, bias, &AS_SHAPE(n_out), n_in * 9);
    return as_maker_node(m, "Conv", name, (int[]){x, w, b}, 3, attrs, 2, NULL, 1, NULL);
}

int as_layer_pool2(as_maker *m, const char *name, int x)
{
    as_attr attrs[] = {AS_ATTR_LIST("kernel_shape", 2, 2), AS_ATTR_LIST("strides", 2, 2)};
    return as_maker_node(m, "MaxPool", name, &x, 1, attrs, 2, NULL, 1, NULL);
}

int as_mlp_relu(as_maker *m, size_t i, int x, int64_t units)
{
    char name[32];
    (void)units;
    snprintf(name, sizeof name, "relu%zu", i);
    return as_layer_relu(m, name, x);
}

static void mlp_layers(as_maker *m, const int64_t *sizes, size_t n, as_mlp_between *between)
{
    as_dims dims = {.rank = 2, .dim = {{.symbol = "batch"}, {.size = sizes[0]}}};
    int     x = as_maker_input(m, "x", AS_F32, &dims);
    for (size_t i = 1; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%zu", i);
        x = as_layer_dense(m, name, x, sizes[i - 1], sizes[i], i + 1 < n ? NULL : "y");
        if (i + 1 < n)
            x = between(m, i, x, sizes[i]);
    }
    as_maker_output(m, x);
}

void as_layers_mlp(as_maker *m, const int64_t *sizes, size_t n) { mlp_layers(m, sizes, n, as_mlp_relu); }

enum { MAX_SIZES = 256 };

const as_zoo_param as_mlp_params[] = {
    {"sizes", "784x512x256x10", "layer widths, the input's first"},
    {NULL, NULL, NULL},
};

void as_mlp_build(as_maker *m, const as_zoo_args *args, as_mlp_between *between)
{
    int64_t sizes[MAX_SIZES];
    size_t  n = as_zoo_list(m, args, "sizes", 1, 1 << 24, sizes, MAX_SIZES);
    if (n == 1)
        as_maker_fail(m, "sizes=%s: an input width and at least one layer are needed", as_zoo_text(args, "sizes"));
    if (n > 1)
        mlp_layers(m, sizes, n, between);
}
