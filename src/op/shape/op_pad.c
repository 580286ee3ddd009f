/* op_pad.c - adds elements before and after each axis (negative pads cut): a constant, or what `reflect`, `edge` and `wrap`
 * find inside.  The pads are known while planning. */
#include "op/shape/move.h"
#include "op/shape/cuts.h"

static const as_attr_def attrs[] = {{.name = "mode", .kind = AS_ATTR_TEXT}, {0}};

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_shape *x = &n->in[0].shape;
    as_shape        y = *x;
    as_padding      p;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_EVERY));
    AS_TRY(as_padding_read(env, n, &p));
    if (as_in_has(n, 2)) {
        if (n->in[2].dtype != n->in[0].dtype)
            return as_refuse(env, n, "data is %s and constant_value (input 2) is %s", as_dtype_name(n->in[0].dtype),
                             as_dtype_name(n->in[2].dtype));
        if (as_shape_count(&n->in[2].shape) != 1)
            return as_refuse(env, n, "constant_value (input 2) is %s and must be one number", AS_SHOW(&n->in[2].shape));
    }
    for (int i = 0; i < x->rank; i++) {
        bool too_large =
            __builtin_add_overflow(y.dim[i], p.begin[i], &y.dim[i]) || __builtin_add_overflow(y.dim[i], p.end[i], &y.dim[i]);
        if (too_large || y.dim[i] < 0)
            return as_refuse(env, n, "axis %d has %lld elements and cannot be padded by %lld and %lld", i, (long long)x->dim[i],
                             (long long)p.begin[i], (long long)p.end[i]);
        if (p.mode != AS_PAD_CONSTANT && x->dim[i] == 0 && y.dim[i] > 0)
            return as_refuse(env, n, "axis %d has no elements that the padding could repeat", i);
    }
    out[0] = as_info(n->in[0].dtype, &y);
    return ASSAY_OK;
}

/* Fills with the constant, then copies the part that input and output share. */
static void pad_constant(const as_padding *p, const as_view *x, const as_view *value, const as_view *y)
{
    as_view from = *x, to = *y;
    if (value)
        as_view_fill(y, value);
    else
        as_view_zero(y);
    for (int i = 0; i < x->shape.rank; i++) {
        int64_t first = p->begin[i] < 0 ? -p->begin[i] : 0, last = x->shape.dim[i] + (p->end[i] < 0 ? p->end[i] : 0);
        int64_t count = last > first ? last - first : 0;
        from = as_view_part(&from, i, first, 1, count);
        to = as_view_part(&to, i, p->begin[i] > 0 ? p->begin[i] : 0, 1, count);
    }
    as_view_copy(&to, &from);
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_padding p;
    int        rank = in[0].shape.rank;
    AS_TRY(as_padding_read(env, n, &p));
    if (p.mode == AS_PAD_CONSTANT) {
        as_view value = {0};
        if (as_in_has(n, 2))
            value = as_view_nth(&in[2], 0);
        pad_constant(&p, &in[0], value.data ? &value : NULL, &out[0]);
        return ASSAY_OK;
    }
    int64_t index[AS_MAX_RANK] = {0}, from[AS_MAX_RANK];
    if (as_shape_count(&out[0].shape) == 0)
        return ASSAY_OK;
    do {
        for (int k = 0; k < rank; k++)
            from[k] = as_padding_source(p.mode, index[k] - p.begin[k], in[0].shape.dim[k]);
        as_view x = as_view_fix(&in[0], from, rank), y = as_view_fix(&out[0], index, rank);
        as_view_copy(&y, &x);
    } while (as_index_next(&out[0].shape, index));
    return ASSAY_OK;
}

/* Padding with negated pads: what was added is removed, and what was cut gets 0.  The constant gets the removed gradients. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    as_padding p;
    int        rank = n->in[0].shape.rank;
    int64_t    back[2 * AS_MAX_RANK];
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    if (d_out[0] < 0 || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    AS_TRY(as_padding_read(b->env, n, &p));
    if (p.mode != AS_PAD_CONSTANT)
        return as_no_grad(b->env, n, "only that of the mode constant is known");
    for (int i = 0; i < rank; i++) {
        back[i] = -p.begin[i];
        back[rank + i] = -p.end[i];
    }
    d_in[0] = as_b2(b, "Pad", d_out[0], as_b_ints(b, back, (size_t)(2 * rank)));
    if (as_in_has(n, 2)) {
        as_attr flat = AS_ATTR_I("keepdims", 0);
        int     all = b->node(b, "ReduceSum", &d_out[0], 1, &flat, 1, NULL, 1),
            kept = d_in[0] < 0 ? -1 : b->node(b, "ReduceSum", &d_in[0], 1, &flat, 1, NULL, 1);
        d_in[2] = as_b_reshape(b, as_b2(b, "Sub", all, kept), &n->in[2].shape);
    }
    return ASSAY_OK;
}

#define MODE(mode_) .n_attrs = 1, .attrs = {AS_ATTR_S("mode", mode_)}

static const as_case cases[] = {
    /* numpy: pad([[1,2],[3,4]], ((0,1),(2,0)), constant_values=9). */
    {.name = "constant by numpy",
     .n_in = 3,
     .in = {AS_IN(F32, 2, 2), AS_IN_INTS(0, 2, 1, 0), {.dtype = AS_F32}},
     AS_GIVEN(1, 2, 3, 4, 9),
     AS_WANT(9, 9, 1, 2, 9, 9, 3, 4, 9, 9, 9, 9)},
    /* numpy: pad([1,2,3], (4,3), mode). */
    {.name = "reflect by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN_INTS(4, 3)},
     MODE("reflect"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3),
     AS_WANT(1, 2, 3, 2, 1, 2, 3, 2, 1, 2)},
    {.name = "edge by numpy",
     .n_in = 2,
     .in = {AS_IN(I32, 3), AS_IN_INTS(2, 1)},
     MODE("edge"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3),
     AS_WANT(1, 1, 1, 2, 3, 3)},
    {.name = "wrap by numpy",
     .n_in = 2,
     .in = {AS_IN(F32, 3), AS_IN_INTS(4, 2)},
     MODE("wrap"),
     .no_grad = true,
     AS_GIVEN(1, 2, 3),
     AS_WANT(3, 1, 2, 3, 1, 2, 3, 1, 2)},
    /* By hand: one row cut in front, one column added at the end. */
    {.name = "cut by hand", .n_in = 2, .in = {AS_IN(F64, 2, 2), AS_IN_INTS(-1, 0, 0, 1)}, AS_GIVEN(1, 2, 3, 4), AS_WANT(3, 4, 0)},
    {.name = "axes", .n_in = 4, .in = {AS_IN(F32, 2, 3, 5), AS_IN_INTS(1, 2, 0, 1), {.dtype = AS_F32}, AS_IN_INTS(-1, 0)}},
    {.name = "images", .n_in = 2, .in = {AS_IN(F32, 2, 3, 5, 7), AS_IN_INTS(0, 0, 1, 2, 0, 0, 3, 1)}},
    {.name = "edge of images",
     .n_in = 2,
     .in = {AS_IN(F32, 1, 2, 3, 3), AS_IN_INTS(0, 0, 1, 1, 0, 0, 1, 1)},
     MODE("edge"),
     .no_grad = true},
    {.name = "reflect with a cut", .n_in = 2, .in = {AS_IN(F32, 5), AS_IN_INTS(-2, 2)}, MODE("reflect"), .no_grad = true},
    {.name = "reflect of one element", .n_in = 2, .in = {AS_IN(F32, 1), AS_IN_INTS(2, 1)}, MODE("reflect"), .no_grad = true},
    {.name = "cut beyond the data", .n_in = 2, .in = {AS_IN(F32, 2), AS_IN_INTS(-3, 4)}},
    {.name = "nothing to something", .n_in = 2, .in = {AS_IN(F32, 0, 2), AS_IN_INTS(1, 0, 1, 0)}},
    {.name = "bool",
     .n_in = 2,
     .in = {AS_IN(BOOL, 3), AS_IN_INTS(1, 1)},
     .no_grad = true,
     AS_GIVEN(1, 0, 1),
     AS_WANT(0, 1, 0, 1, 0)},
    {.name = "a scalar",
     .n_in = 2,
     .in = {{.dtype = AS_F32}, {.dtype = AS_I64, .shape = {.rank = 1}, .ints = (const int64_t[]){0}}}},
};

const as_op as_op_pad = {
    .name = "Pad",
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(1) | AS_INPUT_BIT(3),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
