/* op_nonmaxsuppression.c - per image and class the boxes with the best scores that do not overlap a better one too much.  How many there are is
 * part of the shape, so all inputs must be known while planning. */
#include <math.h>
#include <stdlib.h>

#include "op/composed.h"

enum { BOXES, SCORES, MOST, IOU, SCORE };

static const as_attr_def attrs[] = {{.name = "center_point_box", .kind = AS_ATTR_INT}, {0}};

typedef struct box {
    double low[2], high[2];
} box;

static box box_at(const as_node_ctx *n, const as_view *boxes, int64_t i)
{
    double v[4];
    box    b;
    for (int k = 0; k < 4; k++)
        v[k] = as_view_get(boxes, 4 * i + k);
    if (as_attr_int(n, "center_point_box", 0)) /* centre x and y, width, height */
        return (box){{v[1] - v[3] / 2, v[0] - v[2] / 2}, {v[1] + v[3] / 2, v[0] + v[2] / 2}};
    for (int k = 0; k < 2; k++) { /* two corners, in any order */
        b.low[k] = fmin(v[k], v[2 + k]);
        b.high[k] = fmax(v[k], v[2 + k]);
    }
    return b;
}

static double area(const box *b) { return (b->high[0] - b->low[0]) * (b->high[1] - b->low[1]); }

static double overlap(const box *a, const box *b)
{
    double size = 1.0;
    for (int k = 0; k < 2; k++)
        size *= fmax(0.0, fmin(a->high[k], b->high[k]) - fmax(a->low[k], b->low[k]));
    double all = area(a) + area(b) - size;
    return area(a) > 0.0 && area(b) > 0.0 && all > 0.0 ? size / all : 0.0;
}

typedef struct picked {
    double  score;
    int64_t at;
} picked;

static int best_first(const void *a, const void *b)
{
    const picked *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : x->at < y->at ? -1 : x->at > y->at;
}

/* Gives the number of boxes; where `out` is not NULL, at most as many as it has rows are written. */
static assay_status run(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out, int64_t *found)
{
    int64_t batch = in[SCORES].shape.dim[0], classes = in[SCORES].shape.dim[1], count = in[SCORES].shape.dim[2];
    int64_t most = as_in_has(n, MOST) ? as_view_get_i64(&in[MOST], 0) : 0;
    double  iou = as_in_has(n, IOU) ? as_view_get(&in[IOU], 0) : 0.0;
    int64_t total = 0;
    *found = 0;
    if (as_shape_count(&in[SCORES].shape) == 0)
        return ASSAY_OK;
    picked *list = malloc((size_t)(count + 1) * sizeof *list);
    if (!list)
        return as_fail(env, ASSAY_NO_MEMORY, "NonMaxSuppression '%s': not enough memory for %lld boxes", n->name ? n->name : "",
                       (long long)count);
    for (int64_t at = 0; at < batch * classes && most > 0; at++) {
        as_view boxes = as_view_fix(&in[BOXES], (int64_t[]){at / classes}, 1);
        int64_t n_list = 0, kept = 0;
        for (int64_t i = 0; i < count; i++) {
            double score = as_view_get(&in[SCORES], at * count + i);
            if (!as_in_has(n, SCORE) || score > as_view_get(&in[SCORE], 0))
                list[n_list++] = (picked){score, i};
        }
        qsort(list, (size_t)n_list, sizeof *list, best_first);
        for (int64_t i = 0; i < n_list && kept < most; i++) {
            box  b = box_at(n, &boxes, list[i].at);
            bool ok = true;
            for (int64_t k = 0; k < kept && ok; k++) {
                box other = box_at(n, &boxes, list[k].at);
                ok = overlap(&b, &other) <= iou;
            }
            if (!ok)
                continue;
            list[kept++] = list[i]; /* those that are kept stand first */
            for (int k = 0; out && total < out->shape.dim[0] && k < 3; k++)
                as_view_set_i64(out, 3 * total + k, k == 0 ? at / classes : k == 1 ? at % classes : list[kept - 1].at);
            total++;
        }
    }
    free(list);
    *found = total;
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    static const char *const names[] = {"boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"};
    as_view                  in[5] = {0};
    int64_t                  found;
    const as_shape          *boxes = &n->in[BOXES].shape, *scores = &n->in[SCORES].shape;
    AS_TRY(as_rule_dtype(env, n, BOXES, 2, AS_DTYPE_BIT(AS_F32)));
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dim[2] != 4 || boxes->dim[0] != scores->dim[0] ||
        boxes->dim[1] != scores->dim[2])
        return as_refuse(env, n, "boxes is %s and scores %s: they must be [batch, boxes, 4] and [batch, classes, boxes]",
                         AS_SHOW(boxes), AS_SHOW(scores));
    for (int i = 0; i < n->n_in; i++) {
        if (!as_in_has(n, i))
            continue;
        if (i >= MOST && (as_shape_count(&n->in[i].shape) != 1 || n->in[i].dtype != (i == MOST ? AS_I64 : AS_F32)))
            return as_refuse(env, n, "%s is %s %s and must be one %s", names[i], as_dtype_name(n->in[i].dtype),
                             AS_SHOW(&n->in[i].shape), i == MOST ? "i64" : "f32");
        if (!n->in[i].constant && as_shape_count(&n->in[i].shape))
            return as_refuse(env, n, "%s (input %d) must be known while planning", names[i], i);
        in[i] = as_view_of((void *)(uintptr_t)n->in[i].constant, n->in[i].dtype, &n->in[i].shape); /* only read */
    }
    AS_TRY(run(env, n, in, NULL, &found));
    out[0] = as_info(AS_I64, &AS_SHAPE(found, 3));
    return ASSAY_OK;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t found;
    AS_TRY(run(env, n, in, &out[0], &found));
    return found == out[0].shape.dim[0]
               ? ASSAY_OK
               : as_refuse(env, n, "%lld boxes are left, and when it was planned there were others", (long long)found);
}

static const as_case cases[] = {
    /* By hand. */
    {.name = "two of four",
     .n_in = 5,
     .in = {{.dtype = AS_F32,
             .shape = {.rank = 3, .dim = {1, 4, 4}},
             .ints = (const int64_t[]){0, 0, 10, 10, 0, 1, 10, 11, 0, 20, 10, 30, 0, 21, 10, 31}},
            {.dtype = AS_F32, .shape = {.rank = 3, .dim = {1, 1, 4}}, .ints = (const int64_t[]){9, 7, 8, 6}},
            AS_IN_INTS(3),
            {.dtype = AS_F32, .shape = {.rank = 1, .dim = {1}}, .ints = (const int64_t[]){1}},
            {.dtype = AS_F32, .shape = {.rank = 1, .dim = {1}}, .ints = (const int64_t[]){0}}},
     AS_WANT(0, 0, 0, 0, 0, 2, 0, 0, 1)},
    /* By hand. */
    {.name = "by overlap",
     .n_in = 3,
     .in = {{.dtype = AS_F32,
             .shape = {.rank = 3, .dim = {1, 4, 4}},
             .ints = (const int64_t[]){0, 0, 10, 10, 0, 1, 10, 11, 0, 20, 10, 30, 0, 21, 10, 31}},
            {.dtype = AS_F32, .shape = {.rank = 3, .dim = {1, 1, 4}}, .ints = (const int64_t[]){9, 7, 8, 6}},
            AS_IN_INTS(3)},
     AS_WANT(0, 0, 0, 0, 0, 2)},
};

const as_op as_op_nonmaxsuppression = {
    .name = "NonMaxSuppression",
    .min_in = 2,
    .max_in = 5,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(0) | AS_INPUT_BIT(1) | AS_INPUT_BIT(2) | AS_INPUT_BIT(3) | AS_INPUT_BIT(4),
    .attrs = attrs,
    .infer = infer,
    .cost = as_cost_bytes,
    .eval = eval,
    .tolerance = 0,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
