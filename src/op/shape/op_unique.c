/* op_unique.c - the different elements, or slices of an axis, sorted or in the order in which they appear; where each is first, which one each
 * element is, and how often each appears.  The input must be known while planning, because it decides the shapes. */
#include <stdlib.h>

#include "op/composed.h"

static const as_attr_def attrs[] = {{.name = "axis", .kind = AS_ATTR_INT}, {.name = "sorted", .kind = AS_ATTR_INT}, {0}};

enum { MAX_SLICES = 1 << 28 };

/* The slices in sorted order; equal ones in the order of their places. */
typedef struct slices {
    as_view  view;
    int      axis; /* -1: elements of the flat input */
    int64_t  n, each;
    int64_t *order, *group; /* order[k]: the k-th slice; group[i]: which of the different ones slice i is, in sorted order */
    int64_t  n_groups;
} slices;

static as_view slice_at(const slices *s, int64_t i)
{
    return s->axis < 0 ? as_view_nth(&s->view, i) : as_view_part(&s->view, s->axis, i, 1, 1);
}

static int order_of(const slices *s, int64_t i, int64_t k)
{
    as_view a = slice_at(s, i), b = slice_at(s, k);
    for (int64_t e = 0; e < s->each; e++) {
        as_view x = as_view_nth(&a, e), y = as_view_nth(&b, e);
        int     order = as_element_order(&x, &y);
        if (order)
            return order;
    }
    return 0;
}

static void merge_sort(slices *s, int64_t *room, int64_t begin, int64_t end)
{
    if (end - begin < 2)
        return;
    int64_t middle = begin + (end - begin) / 2, i = begin, k = middle, at = begin;
    merge_sort(s, room, begin, middle);
    merge_sort(s, room, middle, end);
    while (i < middle || k < end)
        room[at++] = k == end || (i < middle && order_of(s, s->order[i], s->order[k]) <= 0) ? s->order[i++] : s->order[k++];
    for (at = begin; at < end; at++)
        s->order[at] = room[at];
}

static assay_status slices_read(assay_env *env, const as_node_ctx *n, const as_view *x, slices *s)
{
    *s = (slices){.view = *x, .axis = -1};
    s->n = as_shape_count(&x->shape);
    s->each = 1;
    if (as_attr_find(n, "axis")) {
        AS_TRY(as_rule_axis(env, n, as_attr_int(n, "axis", 0), x->shape.rank, &s->axis));
        int64_t count = s->n;
        s->n = x->shape.dim[s->axis];
        s->each = s->n ? count / s->n : 0;
    }
    if (s->n > MAX_SLICES)
        return as_refuse(env, n, "%lld slices are too many", (long long)s->n);
    int64_t *room = malloc((size_t)(3 * s->n + 1) * sizeof *room);
    if (!room)
        return as_fail(env, ASSAY_NO_MEMORY, "Unique '%s': not enough memory for %lld slices", n->name ? n->name : "",
                       (long long)s->n);
    s->order = room;
    s->group = room + s->n;
    for (int64_t i = 0; i < s->n; i++)
        s->order[i] = i;
    merge_sort(s, room + 2 * s->n, 0, s->n);
    for (int64_t i = 0; i < s->n; i++) {
        s->n_groups += i == 0 || order_of(s, s->order[i - 1], s->order[i]) != 0;
        s->group[s->order[i]] = s->n_groups - 1;
    }
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_tensor_info *x = &n->in[0];
    slices                s;
    AS_TRY(as_rule_dtype(env, n, 0, 1, AS_SET_ANY));
    if (!x->constant && as_shape_count(&x->shape))
        return as_refuse(env, n, "X (input 0) must be known while planning");
    as_view view = as_view_of((void *)(uintptr_t)x->constant, x->dtype, &x->shape); /* only read */
    AS_TRY(slices_read(env, n, &view, &s));
    as_shape y = AS_SHAPE(s.n_groups);
    if (s.axis >= 0) {
        y = x->shape;
        y.dim[s.axis] = s.n_groups;
    }
    out[0] = as_info(x->dtype, &y);
    for (int i = 1; i < n->n_out; i++)
        out[i] = as_info(AS_I64, &AS_SHAPE(i == 2 ? s.n : s.n_groups));
    free(s.order);
    return ASSAY_OK;
}

/* to[g]: the place of group g in the result; first[g]: its first slice. */
static void outputs_fill(const as_node_ctx *n, const slices *s, const int64_t *to, const int64_t *first, const as_view *out)
{
    for (int64_t g = 0; g < s->n_groups; g++) {
        as_view x = slice_at(s, first[g]),
                y = s->axis < 0 ? as_view_nth(&out[0], to[g]) : as_view_part(&out[0], s->axis, to[g], 1, 1);
        as_view_copy(&y, &x);
        if (n->n_out > 1 && out[1].data)
            as_view_set_i64(&out[1], to[g], first[g]);
        if (n->n_out > 3 && out[3].data)
            as_view_set_i64(&out[3], to[g], 0);
    }
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = to[s->group[i]];
        if (n->n_out > 2 && out[2].data)
            as_view_set_i64(&out[2], i, at);
        if (n->n_out > 3 && out[3].data)
            as_view_set_i64(&out[3], at, as_view_get_i64(&out[3], at) + 1);
    }
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    slices s;
    AS_TRY(slices_read(env, n, &in[0], &s));
    int64_t *room = malloc((size_t)(2 * s.n_groups + 1) * sizeof *room), *to = room, *first = room + s.n_groups, seen = 0;
    bool     sorted = as_attr_int(n, "sorted", 1) != 0, same = s.n_groups == out[0].shape.dim[s.axis < 0 ? 0 : s.axis];
    if (room && same) {
        for (int64_t g = 0; g < s.n_groups; g++)
            to[g] = -1;
        for (int64_t i = 0; i < s.n; i++)
            if (to[s.group[i]] < 0) {
                first[s.group[i]] = i;
                to[s.group[i]] = sorted ? s.group[i] : seen++;
            }
        outputs_fill(n, &s, to, first, out);
    }
    free(s.order);
    free(room);
    if (!room)
        return as_fail(env, ASSAY_NO_MEMORY, "Unique '%s': not enough memory for its results", n->name ? n->name : "");
    return same ? ASSAY_OK
                : as_refuse(env, n, "there are %lld different ones, and when it was planned there were others",
                            (long long)s.n_groups);
}

static const as_case cases[] = {
    /* By the ONNX reference evaluator. */
    {.name = "sorted", .n_in = 1, .in = {AS_IN_INTS(3, 1, 3, 2, 1)}, AS_WANT(1, 2, 3)},
    /* By the ONNX reference evaluator. */
    {.name = "as they come",
     .n_in = 1,
     .in = {AS_IN_INTS(3, 1, 3, 2, 1)},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("sorted", 0)},
     AS_WANT(3, 1, 2)},
    /* By the ONNX reference evaluator. */
    {.name = "rows",
     .n_in = 1,
     .in = {{.dtype = AS_I64, .shape = {.rank = 2, .dim = {3, 2}}, .ints = (const int64_t[]){1, 0, 0, 1, 1, 0}}},
     .n_attrs = 1,
     .attrs = {AS_ATTR_I("axis", 0)},
     AS_WANT(0, 1, 1, 0)},
};

const as_op as_op_unique = {
    .name = "Unique",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 4,
    .known_in = AS_INPUT_BIT(0),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
