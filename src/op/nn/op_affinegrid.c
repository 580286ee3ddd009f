/* op_affinegrid.c - for each output pixel the place in the input, in [-1, 1], that a 2-D or 3-D affine transform gives: for GridSample. */
#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "align_corners", .kind = AS_ATTR_INT}, {0}};

/* The places of an axis of `size` pixels. */
static int places(as_builder *b, as_dtype dtype, int64_t size, bool corners, int rank, int axis)
{
    double step = corners ? (size > 1 ? 2.0 / (double)(size - 1) : 0.0) : 2.0 / (double)size,
           first = corners ? -1.0 : -1.0 + step / 2.0;
    int64_t dims[AS_MAX_RANK] = {1, 1, 1};
    int     at = as_b_plus(b, as_b_times(b, as_b_cast(b, as_b_count(b, size), dtype), step), first);
    dims[axis] = size;
    return as_b_shape(b, at, rank, dims);
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    const as_shape *theta = &n->in[0].shape;
    int64_t         size[AS_MAX_RANK], dims[AS_MAX_RANK];
    int             count, axes[4] = {-1, -1, -1, -1};
    bool            corners = as_attr_int(n, "align_corners", 0) != 0;
    as_dtype        dtype = n->in[0].dtype;
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_rule_ints(b->env, n, 1, "size", size, &count));
    int axes_n = count - 2;
    if ((count != 4 && count != 5) || theta->rank != 3 || theta->dim[1] != axes_n || theta->dim[2] != axes_n + 1 ||
        theta->dim[0] != size[0])
        return as_refuse(b->env, n, "theta is %s and size has %d numbers: [N, 2, 3] and 4, or [N, 3, 4] and 5, are needed",
                         AS_SHOW(theta), count);
    int64_t pixels = 1;
    for (int i = 0; i < axes_n; i++) {
        dims[i] = size[2 + i];
        if (dims[i] < 1 || dims[i] > (1 << 20) || (pixels *= dims[i]) > INT32_MAX)
            return as_refuse(b->env, n, "size asks for more pixels than are possible, or for none");
    }
    int all = as_b_ints(b, dims, (size_t)axes_n), grid = -1;
    for (int i = 0; i < axes_n; i++) /* x first: the last axis */
        axes[i] = AS_MAKE(b, "Expand", places(b, dtype, dims[axes_n - 1 - i], corners, axes_n, axes_n - 1 - i), all);
    axes[axes_n] = AS_MAKE(b, "Expand", as_b_scalar(b, dtype, 1.0), all);
    for (int i = 0; i <= axes_n; i++) {
        int column = AS_TO_SHAPE(b, axes[i], pixels, 1);
        grid = grid < 0 ? column : as_b_join(b, 1, grid, column);
    }
    int     y = AS_MAKE(b, "MatMul", grid, AS_TURN(b, in[0], 0, 2, 1)); /* [N, pixels, axes] */
    int64_t shape[AS_MAX_RANK] = {size[0]};
    for (int i = 0; i < axes_n; i++)
        shape[1 + i] = dims[i];
    shape[1 + axes_n] = axes_n;
    out[0] = as_b_shape(b, y, axes_n + 2, shape);
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "2-D",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 3), AS_IN_INTS(1, 1, 2, 3)},
     AS_GIVEN(-0.00999999978, -0.0500000007, -0.0500000007, 0.889999986, 0.479999989, -0.920000017),
     AS_WANT(-0.0183333345, -1.75333333, -0.0250000004, -1.15999997, -0.0316666663, -0.566666663, -0.0683333352, -1.27333331,
             -0.075000003, -0.680000007, -0.0816666707, -0.0866666958)},
    /* By the ONNX reference evaluator. */
    {.name = "3-D, corners",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 3, 4), AS_IN_INTS(1, 1, 2, 2, 2)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("align_corners", 1)},
     AS_GIVEN(0.519999981, 0.0299999993, -0.639999986, -0.219999999, 0.879999995, -0.569999993, 0.629999995, -0.189999998,
              0.170000002, -0.629999995, 0.620000005, 0.159999996),
     AS_WANT(-0.129999995, -1.13, -1.49011612e-08, 0.909999967, 0.629999995, 0.339999974, -0.0699999928, -2.26999998, -1.25999999,
             0.969999969, -0.50999999, -0.920000017, -1.40999997, 0.129999995, 1.24000001, -0.370000005, 1.88999999, 1.58000004,
             -1.35000002, -1.00999999, -0.0199999958, -0.310000002, 0.75, 0.319999993)},
};

const as_op as_op_affinegrid = {
    .name = "AffineGrid",
    .min_in = 2,
    .max_in = 2,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
