/* open.c - from a case to a plan. */
#include <stdio.h>
#include <string.h>

#include "lab/cases.h"

bool as_bench_case_is_told(const as_bench_case *c) { return !strncmp(c->plan.device, "null", 4); }

/* A device that computes nothing (null) lacks no kernel. */
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
                   "bench: %s: %s has no kernel for %s in %s; only the reference code is left, and its time means nothing", c->id,
                   c->plan.device, slow->seg.ctx ? slow->seg.ctx->op->name : slow->name, as_dtype_name(dtype));
}

/* "opencl:0 ran 5 of 7 nodes and refused relu1: no kernel for f16": the message for a device that ran only some nodes. */
static void elsewhere_write(const assay_plan *plan, char *buf, size_t size)
{
    for (int d = 1; d < plan->n_devices; d++) {
        const as_plan_share *share = &plan->shares[d];
        size_t               used = strlen(buf);
        if (share->n_refused)
            snprintf(buf + used, size - used, "%s%s ran %d of %d nodes and refused %s: %s", used ? "; " : "",
                     plan->devices[d]->name, share->n_nodes, share->n_nodes + share->n_refused, share->first_refused, share->why);
    }
}

static assay_status subject_fill(assay_env *env, const as_bench_case *c, as_bench_subject *s)
{
    if (!c->lent)
        AS_TRY(as_model_load(env, c->spec, &c->model, &s->own));
    s->model = c->lent ? c->lent : s->own;
    if (c->trains) {
        AS_TRY(as_train_plan_new(env, s->model, &c->train, &c->plan, &s->train, &s->plan));
        AS_TRY(as_train_plan_ready(env, s->train, c->plan.seed, s->plan));
    } else {
        AS_TRY(as_plan_build(env, s->model, &c->plan, &s->plan));
    }
    elsewhere_write(s->plan, s->elsewhere, sizeof s->elsewhere);
    return kernels_check(env, c, s);
}

assay_status as_bench_case_open(assay_env *env, const as_bench_case *c, as_bench_subject *out)
{
    as_bench_subject s = {0};
    assay_status     status = subject_fill(env, c, &s);
    if (status == ASSAY_OK)
        *out = s;
    else
        as_bench_subject_close(&s);
    return status;
}

void as_bench_subject_close(as_bench_subject *s)
{
    assay_plan_free(s->plan);
    as_train_graph_free(s->train);
    assay_model_free(s->own);
    *s = (as_bench_subject){0};
}
