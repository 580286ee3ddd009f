/* judge.c - the loss and the score on examples that are not learned from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/loop_parts.h"

/* --- The loss of an answer, in double ------------------------------------------------------------------------------ */

/* -log of the probability of a class: from scores, or from probabilities where the network ends with a Softmax. */
static double class_loss(const as_view *answer, int64_t at, int64_t stride, int64_t classes, int64_t label, bool are_scores)
{
    double most = -INFINITY, sum = 0;
    if (label < 0 || label >= classes)
        return NAN;
    if (!are_scores)
        return -log(fmax(as_view_get(answer, at + label * stride), 1e-38));
    for (int64_t c = 0; c < classes; c++)
        most = fmax(most, as_view_get(answer, at + c * stride));
    for (int64_t c = 0; c < classes; c++)
        sum += exp(as_view_get(answer, at + c * stride) - most);
    return most + log(sum) - as_view_get(answer, at + label * stride);
}

static double number_loss(const char *loss, double y, double t, bool is_logit)
{
    double d = y - t;
    if (!strcmp(loss, "mse"))
        return d * d;
    if (!strcmp(loss, "mae"))
        return fabs(d);
    if (!strcmp(loss, "huber"))
        return fabs(d) < 1 ? .5 * d * d : fabs(d) - .5;
    if (is_logit) /* bce */
        return fmax(y, 0) - y * t + log1p(exp(-fabs(y)));
    return -(t * log(fmax(y, 1e-38)) + (1 - t) * log(fmax(1 - y, 1e-38)));
}

typedef struct sums {
    double  loss;
    int64_t n;
} sums;

/* Scores [rows, C, d...] and labels [rows, d...]. */
static void classes_add(const as_view *answer, const as_view *target, int64_t rows, bool are_scores, sums *s)
{
    int64_t classes = answer->shape.rank > 1 ? answer->shape.dim[1] : 1, inner = 1;
    for (int i = 2; i < answer->shape.rank; i++)
        inner *= answer->shape.dim[i];
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < inner; k++) {
            s->loss +=
                class_loss(answer, r * classes * inner + k, inner, classes, as_view_get_i64(target, r * inner + k), are_scores);
            s->n++;
        }
}

static void numbers_add(const as_train_graph *g, const as_view *answer, const as_view *target, int64_t rows, bool is_logit, sums *s)
{
    int64_t each = as_shape_count(&answer->shape) / (answer->shape.dim[0] ? answer->shape.dim[0] : 1);
    for (int64_t i = 0; i < rows * each; i++) {
        s->loss += number_loss(g->loss, as_view_get(answer, i), as_view_get(target, i), is_logit);
        s->n++;
    }
}

/* --- Batches --------------------------------------------------------------------------------------------------------- */

/* Measures take scores that are above 0 for class 1; a Sigmoid gives probabilities. */
static assay_status measure(as_loop *l, const as_view *answer, const as_view *target, int64_t rows, bool are_scores)
{
    const as_train_graph *g = as_trainer_graph(l->trainer);
    int64_t               n = as_shape_count(&answer->shape);
    as_view               scores = *answer;
    if (!l->metrics)
        return ASSAY_OK;
    if (!strcmp(g->loss, "bce") && !are_scores) {
        if (!l->scores && !(l->scores = calloc((size_t)n, sizeof *l->scores)))
            return as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory to judge answers");
        for (int64_t i = 0; i < n; i++)
            l->scores[i] = as_view_get(answer, i) - .5;
        scores = as_view_of(l->scores, AS_F64, &answer->shape);
    }
    as_view shaped = *target;
    scores.shape.dim[0] = rows;
    if (as_dtype_is_float(target->dtype) && as_shape_count(&target->shape) == as_shape_count(&scores.shape))
        shaped = as_view_of(target->data, target->dtype, &scores.shape);
    return as_metrics_add(l->env, l->metrics, &scores, &shaped, rows);
}

void as_loop_sequences(const as_loop *l, as_view *answer, as_view *target, int64_t *rows)
{
    const as_shape *s = &answer->shape;
    if (!as_trainer_graph(l->trainer)->has_labels || s->rank != 3)
        return;
    int64_t  n = as_shape_count(&target->shape);
    as_shape flat = AS_SHAPE(s->dim[0] * s->dim[1], s->dim[2]);
    *rows *= s->dim[1];
    *answer = as_view_of(answer->data, answer->dtype, &flat);
    *target = as_view_of(target->data, target->dtype, &AS_SHAPE(n));
}

static assay_status judge(as_loop *l, as_loader *loader, sums *s)
{
    const as_train_graph *g = as_trainer_graph(l->trainer);
    bool                  are_scores = !strcmp(g->loss_of, g->answer);
    for (;;) {
        as_batch batch;
        as_view  answer = {.data = NULL};
        AS_TRY(as_loader_next(l->env, loader, &batch));
        if (!batch.n)
            return ASSAY_OK;
        as_feed_views(&l->feed, &batch, l->inputs);
        as_run_ctx   run = as_loop_run_ctx(l, false);
        assay_status status = as_evaluator_run(&run, l->evaluator, l->inputs, l->feed.n_inputs, &answer);
        as_view      target = batch.target;
        int64_t      rows = batch.n;
        as_loop_sequences(l, &answer, &target, &rows);
        if (status == ASSAY_OK && g->has_labels)
            classes_add(&answer, &target, rows, are_scores, s);
        else if (status == ASSAY_OK)
            numbers_add(g, &answer, &target, rows, are_scores, s);
        if (status == ASSAY_OK)
            status = measure(l, &answer, &target, rows, are_scores);
        as_loader_release(loader, &batch);
        as_loop_record_loader(l, loader, AS_LOOP_LOADS_VAL);
        AS_TRY(status);
    }
}

static assay_status loss_keep(as_loop *l, double loss)
{
    if (l->n_val_losses == l->cap_val_losses) {
        int               capacity = l->cap_val_losses ? 2 * l->cap_val_losses : 64;
        as_schedule_loss *made = realloc(l->val_losses, (size_t)capacity * sizeof *made);
        if (!made)
            return as_fail(l->env, ASSAY_NO_MEMORY, "train: not enough memory for a validation loss");
        l->val_losses = made;
        l->cap_val_losses = capacity;
    }
    l->val_losses[l->n_val_losses++] = (as_schedule_loss){(int64_t)l->place.updates, loss};
    return ASSAY_OK;
}

static void measures_take(as_loop *l)
{
    for (int i = 0; l->metrics && i < l->measures.n; i++) {
        as_measured m = as_metrics_value(l->metrics, i);
        char        name[64];
        snprintf(name, sizeof name, "%s.%s", l->val ? "val" : "train", m.name);
        as_loop_record_metric(l, name, "ratio", m.value);
        if (!i) {
            l->judged.score = m.value;
            snprintf(l->score_name, sizeof l->score_name, "%s", m.name);
        }
    }
}

assay_status as_loop_judge(as_loop *l)
{
    sums       s = {.loss = 0};
    as_loader *loader = NULL;
    uint64_t   begin = as_loop_part_begin(l);
    if (!l->val) {
        measures_take(l);
        as_loop_record_confusion(l);
        if (l->metrics)
            as_metrics_reset(l->metrics);
        return ASSAY_OK;
    }
    as_loader_options how = as_loader_evaluating((int64_t)l->place.batch);
    how.threads = l->loading.threads;
    how.prefetch = l->loading.prefetch;
    how.events = true;
    if (l->metrics)
        as_metrics_reset(l->metrics);
    as_evaluator_refresh(l->evaluator);
    AS_TRY(as_loader_open(l->env, l->val, &how, &loader));
    assay_status status = judge(l, loader, &s);
    as_loader_free(loader);
    AS_TRY(status);
    l->judged = (as_judged){.loss = s.n ? s.loss / (double)s.n : NAN, .score = NAN, .n = (uint64_t)s.n};
    as_loop_record_metric(l, "val.loss", "1", l->judged.loss);
    measures_take(l);
    as_loop_record_confusion(l);
    as_loop_part_end(l, AS_LOOP_EVALUATE, begin);
    return loss_keep(l, l->judged.loss);
}

assay_status as_loop_validate(as_loop *l, double *loss, double *score, const char **score_name)
{
    if (l->val)
        AS_TRY(as_loop_judge(l));
    *loss = l->judged.loss;
    *score = l->val ? l->judged.score : NAN;
    *score_name = l->val ? l->score_name : "";
    return ASSAY_OK;
}
