/* open.c - from a case to a plan. */
#include <string.h>

#include "lab/cases.h"

/* What a model or a plan reads and a case does not say itself. */
static assay_status user_copy(assay_env *env, const as_bench_case *c, assay_options *user, assay_options *to)
{
    static const char *const keys[] = {"seed", "weights", NULL};
    for (int i = 0; keys[i]; i++)
        if (as_options_is_set(user, keys[i]) && (!c->is_workload || strcmp(keys[i], "weights")))
            AS_TRY(assay_options_set(env, to, keys[i], as_options_text(user, keys[i])));
    for (size_t i = 0; !c->is_workload && i < as_options_many(user, "dim"); i++)
        AS_TRY(assay_options_set(env, to, "dim", as_options_item(user, "dim", i)));
    return ASSAY_OK;
}

static assay_status options_fill(assay_env *env, const as_bench_case *c, assay_options *user, assay_options *to)
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", c->threads);
    AS_TRY(user_copy(env, c, user, to));
    AS_TRY(assay_options_set(env, to, "device", c->device));
    AS_TRY(assay_options_set(env, to, "threads", threads));
    for (int i = 0; i < c->n_settings; i++)
        AS_TRY(assay_options_set(env, to, c->settings[i].key, c->settings[i].value));
    return ASSAY_OK;
}

bool as_bench_case_is_told(const as_bench_case *c) { return !strncmp(c->device, "null", 4); }

assay_status as_bench_case_options(assay_env *env, const as_bench_case *c, assay_options *user, assay_options **out)
{
    assay_options *options = NULL;
    AS_TRY(assay_options_new(env, &options));
    assay_status status = options_fill(env, c, user, options);
    if (status == ASSAY_OK)
        *out = options;
    else
        assay_options_free(options);
    return status;
}

/* A device that computes nothing (null) has no kernel that could be missing. */
static const as_step *slow_step(const assay_plan *plan)
{
    for (int i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].choice.slow && plan->devices[plan->steps[i].device]->host_memory)
            return &plan->steps[i];
    return NULL;
}

static assay_status kernels_check(assay_env *env, const as_bench_case *c, as_bench_subject *s)
{
    const as_step *slow = slow_step(s->plan);
    s->slow = slow ? slow->name : NULL;
    if (!slow || !c->is_workload)
        return ASSAY_OK;
    as_dtype dtype = s->model->values[s->model->inputs[0]].dtype;
    if (dtype == AS_F32)
        return ASSAY_OK;
    return as_fail(env, ASSAY_UNSUPPORTED,
                   "bench: %s: %s has no kernel for %s in %s; only the slow truth is left, whose time says nothing", c->id,
                   c->device, slow->seg.ctx ? slow->seg.ctx->op->name : slow->name, as_dtype_name(dtype));
}

static assay_status subject_fill(assay_env *env, const as_bench_case *c, assay_options *user, as_bench_subject *s)
{
    AS_TRY(as_bench_case_options(env, c, user, &s->options));
    AS_TRY(assay_model_load(env, c->spec, s->options, &s->model));
    AS_TRY(assay_plan_build(env, s->model, s->options, &s->plan));
    return kernels_check(env, c, s);
}

assay_status as_bench_case_open(assay_env *env, const as_bench_case *c, assay_options *user, as_bench_subject *out)
{
    as_bench_subject s = {0};
    assay_status     status = subject_fill(env, c, user, &s);
    if (status == ASSAY_OK)
        *out = s;
    else
        as_bench_subject_close(&s);
    return status;
}

void as_bench_subject_close(as_bench_subject *s)
{
    assay_plan_free(s->plan);
    assay_model_free(s->model);
    assay_options_free(s->options);
    *s = (as_bench_subject){0};
}
