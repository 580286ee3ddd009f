/* compile.c - a compiled plan and the op-by-op plan, as the candidates of a trial. */
#include "lab/compile.h"

#include <stdio.h>

#include "run/sampler.h"
#include "run/run.h"

static assay_status instance_run(assay_env *env, const assay_plan *plan, uint64_t seed, assay_instance **out)
{
    AS_TRY(assay_instance_new(env, plan, out));
    assay_instance_fill(*out, seed);
    return as_instance_step(AS_RUN(env), *out);
}

/* A gain in speed means nothing if the answers differ, so the largest difference is reported with it. */
static assay_status difference(assay_env *env, const assay_plan *const *plans, uint64_t seed, double *out)
{
    assay_instance *instances[AS_N_COMPILE_ARMS] = {NULL};
    assay_status    status = ASSAY_OK;
    for (int i = 0; i < AS_N_COMPILE_ARMS && status == ASSAY_OK; i++)
        status = instance_run(env, plans[i], seed, &instances[i]);
    if (status == ASSAY_OK)
        *out = as_outputs_error(instances[AS_COMPILE_ON], instances[AS_COMPILE_OFF]);
    for (int i = 0; i < AS_N_COMPILE_ARMS; i++)
        assay_instance_free(instances[i]);
    return status;
}

static void trial_note(const assay_plan *const *plans, double error, assay_trace *t)
{
    t->difference = error;
    for (int i = 0; i < AS_N_COMPILE_ARMS; i++)
        t->arms[i].plan_ns = plans[i]->build_ns;
}

static assay_status arms_run(assay_env *env, const assay_plan *const *plans, const as_lab_settings *s, assay_trace **out)
{
    as_arm       arms[AS_N_COMPILE_ARMS] = {{.name = NULL}};
    char         name[256];
    assay_status status = ASSAY_OK;
    snprintf(name, sizeof name, "%.200s, compiled against op by op", plans[AS_COMPILE_ON]->model->source);
    for (int i = 0; i < AS_N_COMPILE_ARMS && status == ASSAY_OK; i++)
        status = as_arm_plan(env, i == AS_COMPILE_ON ? "compile=on" : "compile=off", plans[i], s->sampler.seed, NULL,
                             s->sampler.memory == AS_MEMORY_RANDOM, &arms[i]);
    if (status == ASSAY_OK)
        status = as_lab_compare_arms(env, name, arms, AS_N_COMPILE_ARMS, s, out);
    for (int i = 0; i < AS_N_COMPILE_ARMS; i++)
        if (arms[i].drop)
            arms[i].drop(arms[i].self);
    return status;
}

assay_status as_lab_compile(assay_env *env, const assay_plan *on, const assay_plan *off, bool pin, const as_lab_settings *s,
                            assay_trace **out)
{
    const assay_plan *plans[AS_N_COMPILE_ARMS] = {[AS_COMPILE_OFF] = off, [AS_COMPILE_ON] = on};
    as_pinning        pinnings[AS_N_COMPILE_ARMS] = {{.device = NULL}};
    as_lab_settings   own = *s;
    as_arena          arena = {0};
    assay_trace      *trial = NULL;
    double            error = 0;
    AS_TRY(difference(env, plans, s->sampler.seed, &error));
    own.sampler.cpu = -2; /* each plan has threads of its own: they are pinned here */
    for (int i = 0; i < AS_N_COMPILE_ARMS && pin; i++)
        as_pinning_do(&pinnings[i], plans[i]->devices[0], &arena);
    assay_status status = arms_run(env, plans, &own, &trial);
    for (int i = AS_N_COMPILE_ARMS - 1; i >= 0; i--)
        as_pinning_undo(&pinnings[i]);
    as_arena_drop(&arena);
    if (trial) {
        trial_note(plans, error, trial);
        *out = trial;
    }
    return status;
}
