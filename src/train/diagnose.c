/* diagnose.c - which layer gave the first number that is not finite.
 *
 * The batch runs once more in a plan in which no buffer shares its memory with another: afterwards every result is still there, and they
 * are looked at in the order in which they were computed. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/loop_parts.h"

/* The first element that is not finite; -1: all are. */
static int64_t first_bad(const void *data, as_dtype dtype, int64_t n)
{
    as_view v = as_view_of((void *)data, dtype, &AS_SHAPE(n));
    if (dtype == AS_F32) {
        for (int64_t i = 0; i < n; i++)
            if (!isfinite(((const float *)data)[i]))
                return i;
        return -1;
    }
    for (int64_t i = 0; as_dtype_is_float(dtype) && i < n; i++)
        if (!isfinite(as_view_get(&v, i)))
            return i;
    return -1;
}

/* The data themselves: no layer is to blame. */
static bool data_bad(const as_loop *l, const as_train_input *in, char *out, size_t size)
{
    for (int i = 0; i <= in->n_inputs; i++) {
        const as_view *v = i < in->n_inputs ? &in->inputs[i] : in->target;
        int64_t        at = v->data ? first_bad(v->data, v->dtype, as_shape_count(&v->shape)) : -1;
        if (at < 0)
            continue;
        int64_t each = as_shape_count(&v->shape) / (v->shape.dim[0] ? v->shape.dim[0] : 1);
        snprintf(out, size, "the data have %g in example %lld of the batch, %s, number %lld", as_view_get(v, at),
                 (long long)(at / each + 1), i < in->n_inputs ? l->model->values[l->model->inputs[i]].name : "target",
                 (long long)(at % each + 1));
        return true;
    }
    return false;
}

static const void *buffer_data(const assay_instance *t, int buffer)
{
    const as_buffer *b = &t->plan->buffers[buffer];
    return as_slot_host(&t->bindings[b->device], buffer);
}

static bool weights_bad(as_trainer *t, char *out, size_t size)
{
    const as_train_graph *g = as_trainer_graph(t);
    for (int i = 0; i < g->n_parts; i++) {
        as_view v = as_trainer_weight(t, g->parts[i].name);
        int64_t at = first_bad(v.data, v.dtype, as_shape_count(&v.shape));
        if (at >= 0) {
            snprintf(out, size, "the parameter %s had %g already", g->parts[i].name, as_view_get(&v, at));
            return true;
        }
    }
    return false;
}

static bool steps_bad(const assay_instance *t, char *out, size_t size)
{
    const assay_plan *plan = t->plan;
    for (int i = plan->n_prologue; i < plan->n_steps; i++) {
        const as_step *s = &plan->steps[i];
        if (s->kind != AS_STEP_NODE)
            continue;
        for (int k = 0; k < s->seg.n_out; k++) {
            int buffer = s->seg.out[k];
            if (buffer < 0 || plan->buffers[buffer].device)
                continue;
            const as_buffer *b = &plan->buffers[buffer];
            const void      *data = buffer_data(t, buffer);
            int64_t          n = as_shape_count(&b->shape), at = data ? first_bad(data, b->dtype, n) : -1;
            if (at < 0)
                continue;
            as_view v = as_view_of((void *)data, b->dtype, &AS_SHAPE(n));
            snprintf(out, size, "the first layer that gave %g is %s (%s)%s%s", as_view_get(&v, at), s->name, as_step_op(plan, s),
                     s->module && *s->module ? ", module " : "", s->module ? s->module : "");
            return true;
        }
    }
    return false;
}

void as_loop_diagnose(as_loop *l, const as_train_input *in, char *out, size_t size)
{
    as_plan_options how = l->plan;
    as_trainer     *t = NULL;
    as_train_output got;
    char            first[sizeof l->env->message];
    *out = '\0';
    if (data_bad(l, in, out, size))
        return;
    memcpy(first, l->env->message, sizeof first);
    how.reuse = AS_PLAN_NO_REUSE;
    how.in_place = AS_PLAN_IN_PLACE_OFF;
    if (as_trainer_new(l->env, l->model, &l->setup, &how, &t) == ASSAY_OK && as_trainer_take(l->env, t, l->trainer) == ASSAY_OK) {
        /* The random numbers of the step that failed, which was counted already. */
        as_trainer_set_counts(t, as_trainer_updates(l->trainer), l->place.steps ? l->place.steps - 1 : 0);
        if (!weights_bad(l->trainer, out, size) && as_trainer_step(AS_RUN(l->env), t, in, &got) == ASSAY_OK)
            steps_bad(as_trainer_instance(t), out, size);
    }
    as_trainer_free(t);
    memcpy(l->env->message, first, sizeof first);
}
