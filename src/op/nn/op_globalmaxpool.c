/* op_globalmaxpool.c - the maximum of every channel of every image: [N, C, spatial...] to [N, C, 1...].  A NaN wins, as in numpy. */
#include <math.h>

#include "op/reduce/reduce.h"

/* Without elements it is the lowest value, as in ReduceMax. */
static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    int64_t count = as_shape_count(&out[0].shape), length = count ? as_shape_count(&n->in[0].shape) / count : 0;
    for (int64_t i = 0; i < count; i++) {
        double max = -INFINITY;
        for (int64_t j = 0; j < length && !isnan(max); j++) {
            double x = as_view_get(&in[0], i * length + j);
            if (x > max || isnan(x))
                max = x;
        }
        as_view_set(&out[0], i, max);
    }
    return ASSAY_OK;
}

/* As ReduceMax over the spatial axes: elements equal to the maximum share the gradient. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int64_t        axes[AS_MAX_RANK];
    int            rank = n->in[0].shape.rank;
    as_tensor_info max_in[2] = {n->in[0], {.dtype = AS_I64, .shape = {.rank = 1, .dim = {rank - 2}}, .constant = axes}};
    as_node_ctx    max = *n;
    int            d_max[2] = {-1, -1};
    for (int i = 2; i < rank; i++)
        axes[i - 2] = i;
    max.in = max_in;
    max.n_in = 2;
    max.n_attrs = 0;
    AS_TRY(as_reduce_grad_order(b, &max, in, out, d_out, d_max));
    d_in[0] = d_max[0];
    return ASSAY_OK;
}

static const as_case cases[] = {
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 2, 2)},
     .given = (const double[]){1, 4, 3, 2, -3, -1, -2, -4},
     .want = (const double[]){4, -1},
     .n_want = 2},
    {.name = "1-D", .n_in = 1, .in = {AS_IN(F64, 2, 3, 7)}},
    {.name = "2-D", .n_in = 1, .in = {AS_IN(F32, 2, 9, 7, 8)}},
    {.name = "3-D", .n_in = 1, .in = {AS_IN(F32, 1, 2, 3, 4, 5)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 1, 3, 4, 4)}, .no_grad = true},
    {.name = "no images", .n_in = 1, .in = {AS_IN(F32, 0, 3, 4)}},
};

/* L - 1 comparisons per channel of L elements. */
const as_op as_op_globalmaxpool = {
    .name = "GlobalMaxPool",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .infer = as_reduce_infer_planes,
    .cost = as_reduce_cost,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
