/* op_split.c - splits a tensor along an axis into parts of the sizes in `split`, or into num_outputs parts that are as equal
 * as possible; without either, into one equal part per output.  A node may have fewer outputs than there are parts: the
 * others are not written. */
#include "op/shape/move.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {.name = "num_outputs", .kind = AS_ATTR_INT}, {0}};

typedef struct parts {
    int     axis, count;
    int64_t size[AS_MAX_OUT];
} parts;

static assay_status parts_given(assay_env *env, const as_node_ctx *n, int64_t whole, parts *out)
{
    int64_t sum = 0;
    AS_TRY(as_rule_numbers(env, n, 1, "split", AS_MAX_OUT, out->size, &out->count));
    for (int i = 0; i < out->count; i++)
        if (out->size[i] < 0 || __builtin_add_overflow(sum, out->size[i], &sum))
            return as_refuse(env, n, "split[%d] is %lld", i, (long long)out->size[i]);
    if (sum != whole)
        return as_refuse(env, n, "split adds up to %lld and axis %d has %lld elements", (long long)sum, out->axis,
                         (long long)whole);
    return ASSAY_OK;
}

static assay_status parts_read(assay_env *env, const as_node_ctx *n, parts *out)
{
    const as_attr *number = as_attr_find(n, "num_outputs");
    AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), n->in[0].shape.rank, &out->axis));
    int64_t whole = n->in[0].shape.dim[out->axis], count = number ? number->i : n->n_out;
    if (as_in_has(n, 1)) {
        if (number)
            return as_refuse(env, n, "both split and num_outputs are given");
        AS_TRY(parts_given(env, n, whole, out));
    } else {
        if (count < 1 || count > AS_MAX_OUT)
            return as_refuse(env, n, "num_outputs is %lld and must be 1 to %d", (long long)count, AS_MAX_OUT);
        if (!number && whole % count)
            return as_refuse(env, n, "axis %d has %lld elements, which are not %lld equal parts", out->axis, (long long)whole,
                             (long long)count);
        int64_t each = whole / count + (whole % count != 0); /* the last may be smaller */
        out->count = (int)count;
        for (int i = 0; i < count; i++, whole -= out->size[i - 1])
            out->size[i] = whole < each ? whole : each;
    }
    if (n->n_out > out->count)
        return as_refuse(env, n, "%d outputs are requested and there are %d parts", n->n_out, out->count);
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    parts    p;
    as_shape y = n->in[0].shape;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    AS_TRY(parts_read(env, n, &p));
    for (int i = 0; i < n->n_out; i++) {
        y.dim[p.axis] = p.size[i];
        out[i] = as_info(n->in[0].dtype, &y);
    }
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    parts   p;
    int64_t at = 0;
    AS_TRY(parts_read(env, n, &p));
    for (int i = 0; i < n->n_out; i++) {
        as_view part = as_view_part(&in[0], p.axis, at, 1, p.size[i]);
        if (out[i].data || as_shape_count(&part.shape) == 0) /* an output that nobody reads has no memory */
            as_view_copy(&out[i], &part);
        at += p.size[i];
    }
    return ASSAY_OK;
}

/* Joins the gradients, with zeros where there is none. */
static assay_status grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in)
{
    (void)in, (void)out;
    parts p;
    int   piece[AS_MAX_OUT];
    bool  any = false;
    for (int i = 0; i < n->n_in; i++)
        d_in[i] = -1;
    for (int i = 0; i < n->n_out; i++)
        any |= d_out[i] >= 0;
    if (!any || !as_dtype_is_float(n->in[0].dtype))
        return ASSAY_OK;
    AS_TRY(parts_read(b->env, n, &p));
    for (int i = 0; i < p.count; i++) {
        as_shape y = n->in[0].shape;
        y.dim[p.axis] = p.size[i];
        piece[i] = i < n->n_out && d_out[i] >= 0 ? d_out[i] : as_b_blank(b, n->in[0].dtype, &y);
        if (piece[i] < 0)
            return ASSAY_OK;
    }
    as_attr axis = AS_ATTR_I("axis", p.axis);
    d_in[0] = b->node(b, "Concat", piece, p.count, &axis, 1, NULL, 1);
    return ASSAY_OK;
}

#define INTO_32(axis_) .n_attrs = 2, .attrs = {AS_ATTR_I("axis", axis_), AS_ATTR_I("num_outputs", 32)}
#define SIZES_32(first_, second_) \
    AS_IN_INTS(first_, second_, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

/* The tests ask for every number of outputs up to 32, so each case has 32 parts; move_test.c has smaller ones. */
static const as_case cases[] = {
    /* By hand: the first two columns. */
    {.name = "sizes by hand",
     .n_in = 2,
     .in = {AS_IN(F32, 2, 4), SIZES_32(2, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 1)},
     AS_GIVEN(1, 2, 3, 4, 5, 6, 7, 8),
     AS_WANT(1, 2, 5, 6)},
    {.name = "rows", .n_in = 2, .in = {AS_IN(F32, 9, 5), SIZES_32(3, 5)}},
    {.name = "equal", .n_in = 1, .in = {AS_IN(F32, 2, 64)}, INTO_32(-1)},
    {.name = "as equal as possible", .n_in = 1, .in = {AS_IN(F64, 50, 3)}, INTO_32(0)},
    {.name = "fewer elements than parts", .n_in = 1, .in = {AS_IN(I16, 7)}, INTO_32(0), .no_grad = true},
    {.name = "nothing", .n_in = 1, .in = {AS_IN(F32, 3, 0)}, .n_attrs = 1, .attrs = {AS_ATTR_I("axis", 1)}},
};

const as_op as_op_split = {
    .name = "Split",
    .min_in = 1,
    .max_in = 2,
    .min_out = 1,
    .max_out = AS_MAX_OUT,
    .known_in = AS_INPUT_BIT(1),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .grad = grad,
    .tolerance = 0.0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
