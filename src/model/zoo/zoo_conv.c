/* zoo_conv.c - workload: one convolution, padded so that a stride of 1 keeps the size. */
#include "model/graph/maker.h"
#include "model/zoo/workload.h"

enum { MAX_SIZE = 1 << 16, MAX_KERNEL = 31 };

static const as_zoo_param params[] = {
    {"size", "1x32x56x56", "of the input: NxCxHxW"},
    {"filters", "64", "channels of the result"},
    {"kernel", "3", "its width and height, odd"},
    {"stride", "1", "step of the window"},
    {"groups", "1", "groups of channels; as many as C: depthwise"},
    {NULL, NULL, NULL},
};

static const as_zoo_axes axes = {.min_dims = 4, .max_dims = 4, .form = "NxCxHxW", .rows = "size"};

/* The filters are weights, as in a network: kernels may pack them. */
static void build(as_maker *m, const as_zoo_args *args)
{
    as_work w;
    if (!as_work_read(m, args, &w))
        return;
    int64_t filters = as_zoo_int(m, args, "filters", 1, MAX_SIZE), kernel = as_zoo_int(m, args, "kernel", 1, MAX_KERNEL);
    int64_t stride = as_zoo_int(m, args, "stride", 1, MAX_KERNEL), groups = as_zoo_int(m, args, "groups", 1, MAX_SIZE),
            c = w.size.dim[1];
    if (as_maker_failed(m))
        return;
    if (kernel % 2 == 0)
        as_maker_fail(m, "kernel=%d is even: there is no padding that keeps the size", (int)kernel);
    if (c % groups || filters % groups)
        as_maker_fail(m, "groups=%d must divide the %d channels and the %d filters", (int)groups, (int)c, (int)filters);
    if (as_maker_failed(m))
        return;
    int64_t pad = kernel / 2, fan_in = c / groups * kernel * kernel;
    as_attr attrs[] = {AS_ATTR_LIST("kernel_shape", kernel, kernel), AS_ATTR_LIST("strides", stride, stride),
                       AS_ATTR_LIST("pads", pad, pad, pad, pad), AS_ATTR_I("group", groups)};
    int     in[] = {as_work_input(&w, "x", &w.size, false),
                    as_maker_param_random(m, "weight", &AS_SHAPE(filters, c / groups, kernel, kernel), fan_in),
                    as_maker_param_random(m, "bias", &AS_SHAPE(filters), fan_in)};
    as_maker_output(m, as_maker_node(m, "Conv", "y", in, 3, attrs, (int)AS_COUNT(attrs), NULL, 1, NULL));
}

const as_zoo as_zoo_conv = {
    .name = "conv", .help = "workload: one convolution with bias", .params = params, .axes = &axes, .build = build};
