/* winograd.c - the accuracy that the faster, less exact convolutions cost, on the inputs at hand. */
#include "run/sampler.h"
#include "run/run.h"

/* The exact plan on the inputs of an instance that has run. */
static assay_status exact_run(assay_env *env, const assay_plan *exact, const assay_instance *instance, double *error)
{
    assay_instance *other;
    AS_TRY(assay_instance_new(env, exact, &other));
    for (int i = 0; i < exact->graph.n_inputs; i++) {
        as_view to = as_instance_input(other, i), from = as_instance_input(instance, i);
        as_view_copy(&to, &from);
    }
    assay_status status = as_instance_step(AS_RUN(env), other);
    if (status == ASSAY_OK)
        *error = as_outputs_error(instance, other);
    assay_instance_free(other);
    return status;
}

assay_status as_run_winograd_error(assay_env *env, const assay_instance *instance, const as_plan_options *options, double *error)
{
    assay_plan     *exact = NULL;
    as_plan_options other = *options;
    other.winograd = false;
    AS_TRY(as_plan_build(env, instance->plan->model, &other, &exact));
    assay_status status = exact_run(env, exact, instance, error);
    assay_plan_free(exact);
    return status;
}

assay_status as_run_winograd_note(assay_env *env, const assay_plan *plan, const as_plan_options *options, uint64_t seed,
                                  assay_trace *trace)
{
    assay_instance *instance;
    double          error;
    AS_TRY(assay_instance_new(env, plan, &instance));
    assay_instance_fill(instance, seed);
    assay_status status = as_instance_step(AS_RUN(env), instance);
    if (status == ASSAY_OK)
        status = as_run_winograd_error(env, instance, options, &error);
    assay_instance_free(instance);
    if (status == ASSAY_OK && !as_trace_add_note(trace, "winograd.error", "%.3g", error))
        status = as_fail(env, ASSAY_NO_MEMORY, "run: not enough memory for the note on Winograd's error");
    return status;
}
