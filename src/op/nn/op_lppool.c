/* op_lppool.c - the p-norm of a sliding window over 1 to 3 spatial axes: (sum of |x|^p)^(1/p), p is 2 when not given.
 * Padding adds nothing. */
#include <math.h>

#include "op/nn/taps.h"

static const as_attr_def attrs[] = {
    {.name = "auto_pad", .kind = AS_ATTR_TEXT},  {.name = "ceil_mode", .kind = AS_ATTR_INT},
    {.name = "dilations", .kind = AS_ATTR_INTS}, {.name = "kernel_shape", .kind = AS_ATTR_INTS, .required = true},
    {.name = "p", .kind = AS_ATTR_INT},          {.name = "pads", .kind = AS_ATTR_INTS},
    {.name = "strides", .kind = AS_ATTR_INTS},   {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    as_shape  y;
    as_window w;
    int64_t   p = as_attr_int(n, "p", 2);
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_FLOAT));
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    if (p < 1)
        return as_refuse(env, n, "p is %lld and must be at least 1", (long long)p);
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* kernel - 1 additions for every output; special: kernel powers and a root.  The whole window counts, also on padding. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost   cost = as_cost_bytes(n);
    as_shape  y;
    as_window w;
    if (as_pool_read(NULL, n, &n->in[0].shape, &w, &y) == ASSAY_OK) {
        cost.flops = as_sat_mul(as_sat_count(&y), (uint64_t)as_window_count(w.kernel) - 1);
        cost.special = as_sat_mul(as_sat_count(&y), (uint64_t)as_window_count(w.kernel) + 1);
    }
    return cost;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_shape  y;
    as_window w;
    AS_TRY(as_pool_read(env, n, &n->in[0].shape, &w, &y));
    double  power = (double)as_attr_int(n, "p", 2);
    int64_t o[3], k[3], at[3];
    for (int64_t image = 0; image < y.dim[0]; image++)
        for (int64_t c = 0; c < y.dim[1]; c++) {
            as_view x = as_view_fix(&in[0], (int64_t[]){image, c}, 2), norm = as_view_fix(&out[0], (int64_t[]){image, c}, 2);
            AS_EACH3(o, w.out)
            {
                AS_GO_ON(env, n);
                double sum = 0.0;
                AS_EACH3(k, w.kernel)
                if (as_tap_at(&w, o, k, at))
                    sum += pow(fabs(as_view_at(&x, at)), power);
                as_view_put(&norm, o, pow(sum, 1.0 / power));
            }
        }
    return ASSAY_OK;
}

static const as_case cases[] = {
    /* By hand: 3-4-5, 4-3-5; padding adds nothing. */
    {.name = "by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 1, 3)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_LIST("pads", 0, 1)},
     .given = (const double[]){3, -4, 3},
     .want = (const double[]){5, 5, 3},
     .n_want = 3},
    /* By hand: with p = 1, sums of absolute values; elements two apart. */
    {.name = "p 1 by hand",
     .n_in = 1,
     .in = {AS_IN(F64, 1, 1, 4)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2), AS_ATTR_I("p", 1), AS_ATTR_LIST("dilations", 2)},
     .given = (const double[]){1, -2, -3, 4},
     .want = (const double[]){4, 6},
     .n_want = 2},
    {.name = "p 3, SAME_UPPER",
     .n_in = 1,
     .in = {AS_IN(F32, 2, 3, 7, 8)},
     .n_attrs = 4,
     .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3), AS_ATTR_LIST("strides", 2, 2), AS_ATTR_S("auto_pad", "SAME_UPPER"),
               AS_ATTR_I("p", 3)}},
    {.name = "3-D, ceil",
     .n_in = 1,
     .in = {AS_IN(F32, 1, 2, 4, 5, 6)},
     .n_attrs = 3,
     .attrs = {AS_ATTR_LIST("kernel_shape", 2, 3, 2), AS_ATTR_LIST("strides", 3, 1, 2), AS_ATTR_I("ceil_mode", 1)}},
    {.name = "f16", .n_in = 1, .in = {AS_IN(F16, 1, 2, 6, 6)}, .n_attrs = 1, .attrs = {AS_ATTR_LIST("kernel_shape", 3, 3)}},
};

const as_op as_op_lppool = {
    .name = "LpPool",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .grad = NULL,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
