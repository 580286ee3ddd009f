/* extreme.c - the largest or the smallest of all inputs, element by element; a NaN in any of them wins. */
#include <math.h>

#include "op/reduce/extreme.h"

assay_status as_extreme_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    return as_rule_all(env, n, 0, AS_SET_NUMBER, out);
}

/* One comparison for each input after the first. */
as_cost as_extreme_cost(const as_node_ctx *n)
{
    as_cost cost = as_cost_each(n);
    cost.flops = as_sat_mul((uint64_t)(n->n_in - 1), cost.flops);
    return cost;
}

/* Compares one input after the other with the best so far, which is kept in the output. */
void as_extreme_eval(const as_node_ctx *n, const as_view *in, const as_view *out, as_order wins)
{
    int64_t count = as_shape_count(&out[0].shape);
    as_view first = as_view_broadcast(&in[0], &out[0].shape);
    as_view_copy(&out[0], &first);
    for (int k = 1; k < n->n_in; k++) {
        as_view x = as_view_broadcast(&in[k], &out[0].shape);
        for (int64_t i = 0; i < count; i++) {
            as_order order = as_order_of(&x, &out[0], i);
            if (order == AS_UNORDERED)
                as_view_set(&out[0], i, NAN);
            else if (order == wins && as_dtype_is_float(x.dtype))
                as_view_set(&out[0], i, as_view_get(&x, i));
            else if (order == wins)
                as_view_set_i64(&out[0], i, as_view_get_i64(&x, i));
        }
    }
}

/* The first input that equals the output gets the whole gradient, and later ones get none. */
assay_status as_extreme_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    int rest = d_out[0];
    for (int i = 0; i < n->n_in; i++) {
        d_in[i] = -1;
        if (rest < 0 || !as_dtype_is_float(n->in[0].dtype))
            continue;
        int here = as_b2(b, "Equal", in[i], out[0]);
        d_in[i] = as_b_sum_to(b, as_b_only(b, here, rest), &n->in[i].shape);
        rest = as_b_except(b, here, rest);
    }
    return ASSAY_OK;
}
