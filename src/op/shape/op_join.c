/* op_join.c - tensors in one flat block of `size` elements: input i begins at element begins[i], and the gaps are 0.
 *
 * The gradients of all parameters make one block.  A plan lets their producers write into it, so that nothing is left to move. */
#include "op/rules.h"
#include "op/shape/move.h"

static const as_attr_def attrs[] = {
    {.name = "begins", .kind = AS_ATTR_INTS, .required = true},
    {.name = "size", .kind = AS_ATTR_INT, .required = true},
    {0},
};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_attr *begins = as_attr_find(n, "begins");
    int64_t        size = as_attr_int(n, "size", 0), free_from = 0;
    AS_TRY(as_rule_dtype(env, n, 0, n->n_in, AS_SET_NUMBER));
    if (begins->n != (size_t)n->n_in)
        return as_refuse(env, n, "%d tensors have %zu places", n->n_in, begins->n);
    if (size < 0)
        return as_refuse(env, n, "size is %lld", (long long)size);
    for (int i = 0; i < n->n_in; i++) {
        if (!as_in_has(n, i))
            return as_refuse(env, n, "input %d is absent", i);
        int64_t count = as_shape_count(&n->in[i].shape);
        if (begins->ints[i] < free_from || begins->ints[i] > size || count > size - begins->ints[i])
            return as_refuse(env, n, "%s from element %lld on does not fit between element %lld and the end of a block of %lld",
                             AS_SHOW(&n->in[i].shape), (long long)begins->ints[i], (long long)free_from, (long long)size);
        free_from = begins->ints[i] + count;
    }
    out[0] = as_info(n->in[0].dtype, &AS_SHAPE(size));
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    (void)env;
    const as_attr *begins = as_attr_find(n, "begins");
    as_view_zero(&out[0]);
    for (int i = 0; i < n->n_in; i++)
        for (int64_t k = 0; k < as_shape_count(&in[i].shape); k++)
            as_view_set(&out[0], begins->ints[i] + k, as_view_get(&in[i], k));
    return ASSAY_OK;
}

static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in;
    (void)out;
    const as_attr *begins = as_attr_find(n, "begins");
    for (int i = 0; i < n->n_in; i++) {
        const as_shape *s = &n->in[i].shape;
        d_in[i] = -1;
        if (d_out[0] < 0)
            continue;
        as_attr list[] = {AS_ATTR_I("begin", begins->ints[i]),
                          {.name = "shape", .kind = AS_ATTR_INTS, .ints = s->dim, .n = (size_t)s->rank}};
        d_in[i] = b->node(b, "assay.Part", (int[]){d_out[0]}, 1, list, 2, NULL, 1);
    }
    return ASSAY_OK;
}

#define JOIN(size_, ...) .n_attrs = 2, .attrs = {AS_ATTR_LIST("begins", __VA_ARGS__), AS_ATTR_I("size", size_)}

static const as_case cases[] = {
    {.name = "by hand, with gaps",
     .n_in = 2,
     .in = {AS_IN(F32, 2), AS_IN(F32, 1, 2)},
     JOIN(7, 1, 4),
     .given = (const double[]){1, 2, 3, 4},
     .want = (const double[]){0, 1, 2, 0, 3, 4, 0},
     .n_want = 7},
    {.name = "one", .n_in = 1, .in = {AS_IN(F64, 3, 5)}, JOIN(15, 0)},
    {.name = "three, aligned", .n_in = 3, .in = {AS_IN(F32, 3, 5), AS_IN(F32, 17), AS_IN(F32, 4, 4)}, JOIN(64, 0, 16, 48)},
    {.name = "an empty one", .n_in = 2, .in = {AS_IN(F32, 0), AS_IN(F32, 9)}, JOIN(16, 0, 0)},
};

const as_op as_op_join = {
    .name = "assay.Join",
    .min_in = 1,
    .max_in = AS_MAX_IN,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
