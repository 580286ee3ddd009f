/* op_col2im.c - blocks that lie side by side in columns added up to the image that they overlap in: the reverse of what a convolution reads. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "dilations", .kind = AS_ATTR_INTS},
                                    {.name = "pads", .kind = AS_ATTR_INTS},
                                    {.name = "strides", .kind = AS_ATTR_INTS},
                                    {0}};

typedef struct blocks {
    int     n_axes;
    int64_t image[AS_MAX_RANK], block[AS_MAX_RANK], dilation[AS_MAX_RANK], pad[2 * AS_MAX_RANK], stride[AS_MAX_RANK],
        steps[AS_MAX_RANK];
    int64_t block_size, n_steps;
} blocks;

static assay_status settings(assay_env *env, const as_node_ctx *n, blocks *out)
{
    blocks b = {.block_size = 1, .n_steps = 1};
    int    n_block;
    AS_TRY(as_rule_ints(env, n, 1, "image_shape", b.image, &b.n_axes));
    AS_TRY(as_rule_ints(env, n, 2, "block_shape", b.block, &n_block));
    for (int i = 0; i < AS_MAX_RANK; i++)
        b.dilation[i] = b.stride[i] = 1;
    size_t n_dilations = as_attr_ints(n, "dilations", b.dilation, AS_MAX_RANK),
           n_strides = as_attr_ints(n, "strides", b.stride, AS_MAX_RANK);
    size_t n_pads = as_attr_ints(n, "pads", b.pad, 2 * AS_MAX_RANK), axes = (size_t)b.n_axes;
    if (b.n_axes < 1 || b.n_axes > AS_MAX_RANK - 2 || n_block != b.n_axes || (n_dilations && n_dilations != axes) ||
        (n_strides && n_strides != axes) || (n_pads && n_pads != 2 * axes))
        return as_refuse(env, n, "image_shape, block_shape, dilations, strides and pads must have a number for each axis");
    for (int i = 0; i < b.n_axes; i++) {
        int64_t *all[] = {&b.image[i], &b.block[i], &b.dilation[i], &b.stride[i]};
        for (size_t k = 0; k < AS_COUNT(all); k++)
            if (*all[k] < 1 || *all[k] > (1 << 24))
                return as_refuse(env, n, "a size of axis %d is %lld and must be 1 to %d", i, (long long)*all[k], 1 << 24);
        if (b.pad[i] < 0 || b.pad[i] > (1 << 24) || b.pad[b.n_axes + i] < 0 || b.pad[b.n_axes + i] > (1 << 24))
            return as_refuse(env, n, "the pads of axis %d are out of range", i);
        int64_t room = b.image[i] + b.pad[i] + b.pad[b.n_axes + i] - b.dilation[i] * (b.block[i] - 1) - 1;
        b.steps[i] = room < 0 ? 0 : room / b.stride[i] + 1;
        if (__builtin_mul_overflow(b.block_size, b.block[i], &b.block_size) ||
            __builtin_mul_overflow(b.n_steps, b.steps[i], &b.n_steps))
            return as_refuse(env, n, "the blocks are too large");
    }
    const as_shape *x = &n->in[0].shape;
    if (x->rank != 3 || x->dim[1] % b.block_size || x->dim[2] != b.n_steps)
        return as_refuse(env, n, "the input is %s; it must be [N, C * %lld, %lld] for these blocks and this image", AS_SHOW(x),
                         (long long)b.block_size, (long long)b.n_steps);
    *out = b;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    blocks b;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(settings(env, n, &b));
    as_shape y = {.rank = b.n_axes + 2, .dim = {n->in[0].shape.dim[0], n->in[0].shape.dim[1] / b.block_size}};
    for (int i = 0; i < b.n_axes; i++)
        y.dim[2 + i] = b.image[i];
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* Which element of the block and which step reaches a pixel: each pair of them that does. */
static double pixel(const blocks *b, const as_view *columns, const int64_t *at)
{
    double sum = 0.0;
    for (int64_t k = 0; k < b->block_size; k++) {
        int64_t rest = k, step = 0, scale = 1;
        bool    hit = true;
        for (int i = b->n_axes - 1; i >= 0 && hit; i--) {
            int64_t in_block = rest % b->block[i], from = at[i] + b->pad[i] - in_block * b->dilation[i];
            rest /= b->block[i];
            hit = from >= 0 && from % b->stride[i] == 0 && from / b->stride[i] < b->steps[i];
            step += hit ? from / b->stride[i] * scale : 0;
            scale *= b->steps[i];
        }
        if (hit)
            sum += as_view_get(columns, k * b->n_steps + step);
    }
    return sum;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    blocks  b;
    int64_t index[AS_MAX_RANK] = {0};
    AS_TRY(settings(env, n, &b));
    if (as_shape_count(&out[0].shape) == 0)
        return ASSAY_OK;
    do {
        AS_GO_ON(env, n);
        as_view image = as_view_fix(&in[0], index, 1), columns = as_view_part(&image, 0, index[1] * b.block_size, 1, b.block_size);
        as_view_put(&out[0], index, pixel(&b, &columns, index + 2));
    } while (as_index_next(&out[0].shape, index));
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "overlapping",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 8, 4), AS_IN_INTS(3, 3), AS_IN_INTS(2, 2)},
     AS_GIVEN(0.170000002, 0.170000002, 0.25999999, 0.430000007, -0.50999999, 0.449999988, 0.939999998, -0.239999995, -0.660000026,
              -0.289999992, 0.209999993, 0.129999995, 0.25, 0.379999995, -0.140000001, -0.639999986, 0.230000004, -0.150000006,
              0.270000011, 0.810000002, 0.200000003, -0.560000002, -0.589999974, 0.860000014, 0.670000017, -0.170000002,
              0.860000014, -0.409999996, 0.349999994, 0.430000007, 0.379999995, -0.469999999),
     AS_WANT(0.170000002, -0.339999974, 0.449999988, -0.400000036, 1.33000004, 0.140000001, 0.209999993, -0.0100000054,
             -0.639999986, 0.230000004, 0.049999997, -0.560000002, 0.940000057, 0.400000036, 1.28999996, 0.860000014, -0.0300000012,
             -0.469999999)},
    /* By the ONNX reference evaluator. */
    {.name = "pads, strides, dilations",
     .n_in = 3,
     .in = {AS_IN(F32, 1, 4, 4), AS_IN_INTS(5, 5), AS_IN_INTS(2, 2)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("dilations", 2, 2), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_LIST("pads", 0, 0, 0, 0)},
     AS_GIVEN(0.75999999, -0.460000008, -0.449999988, 0.689999998, 0.980000019, 0.379999995, -0.610000014, -0.860000014,
              0.270000011, 0.930000007, 0.930000007, -0.219999999, 0.819999993, -0.529999971, 0.400000006, -0.529999971),
     AS_WANT(0.75999999, 0, 0.519999981, 0, 0.379999995, 0, 0, 0, 0, 0, -0.179999977, 0, 1.82999992, 0, -1.38999999, 0, 0, 0, 0, 0,
             0.930000007, 0, 0.180000007, 0, -0.529999971)},
};

const as_op as_op_col2im = {
    .name = "Col2Im",
    .min_in = 3,
    .max_in = 3,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1) | AS_INPUT_BIT(2),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
