/* tell_plan_json.c - the plan as one JSON object, "assay.plan/1". */
#include "base/json.h"
#include "lab/tell.h"

static void refusals_write(as_json *w, const as_choice *choice)
{
    as_json_key(w, "refused");
    as_json_array(w);
    for (int i = 0; i < choice->n_refused; i++) {
        as_json_object(w);
        as_json_key_text(w, "kernel", choice->refused[i].kernel);
        as_json_key_text(w, "why", choice->refused[i].why);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static bool step_write(as_json *w, const assay_plan *plan, int s)
{
    const as_step *step = &plan->steps[s];
    as_cost        issued = as_step_issued(step);
    as_text        shapes = {0};
    as_step_shapes(plan, step, &shapes);
    as_json_object(w);
    as_json_key_i64(w, "step", s);
    as_json_key_text(w, "name", step->name);
    as_json_key_text(w, "module", step->module ? step->module : "");
    as_json_key_text(w, "op", as_step_op(plan, step));
    as_json_key_text(w, "stage", as_step_stage(plan, s));
    if (plan->steps[s].place.pass != AS_PASS_NONE) {
        as_json_key_text(w, "pass", as_train_pass_text(plan->steps[s].place.pass));
        as_json_key_text(w, "layer", plan->steps[s].place.layer ? plan->steps[s].place.layer : "");
    }
    as_json_key_i64(w, "segment", step->segment);
    as_json_key_text(w, "device", plan->devices[step->device]->name);
    as_json_key_text(w, "kernel", step->choice.name);
    as_json_key_text(w, "why", step->choice.why);
    refusals_write(w, &step->choice);
    as_json_key_text(w, "shapes", shapes.data);
    as_json_key_u64(w, "flops", step->cost.flops);
    as_json_key_u64(w, "special", step->cost.special);
    as_json_key_u64(w, "bytes_read", step->cost.bytes_read);
    as_json_key_u64(w, "bytes_written", step->cost.bytes_written);
    as_json_key_u64(w, "issued_flops", issued.flops);
    as_json_key_u64(w, "issued_bytes", issued.bytes_read + issued.bytes_written);
    as_json_key_u64(w, "working_set_bytes", as_step_working_set(plan, step));
    as_json_object_end(w);
    bool ok = !shapes.failed;
    as_text_drop(&shapes);
    return ok;
}

static void buffer_write(as_json *w, const assay_plan *plan, int i)
{
    const as_buffer *b = &plan->buffers[i];
    char             shape[192];
    as_json_object(w);
    as_json_key_i64(w, "buffer", i);
    as_json_key_text(w, "name", b->name);
    as_json_key_text(w, "role", as_buffer_role_text(b->role));
    as_json_key_text(w, "dtype", as_dtype_name(b->dtype));
    as_json_key_text(w, "shape", as_shape_show(&b->shape, shape, sizeof shape));
    as_json_key_text(w, "device", plan->devices[b->device]->name);
    as_json_key_u64(w, "bytes", b->bytes);
    as_json_key_u64(w, "offset", b->offset);
    as_json_key_i64(w, "first_step", b->first);
    as_json_key_i64(w, "last_step", b->last);
    as_json_key_bool(w, "outside", b->outside != NULL);
    as_json_key(w, "alias_of");
    if (b->alias_of >= 0)
        as_json_i64(w, b->alias_of);
    else
        as_json_null(w);
    as_json_object_end(w);
}

static void head_write(as_json *w, const assay_plan *plan)
{
    as_json_key_text(w, "schema", "assay.plan/1");
    as_json_key_text(w, "model", plan->model->name);
    as_json_key_text(w, "source", plan->model->source);
    as_json_key(w, "dims");
    as_json_object(w);
    for (int i = 0; i < plan->n_dims; i++)
        as_json_key_i64(w, plan->dims[i].symbol, plan->dims[i].size);
    as_json_object_end(w);
    as_json_key_bool(w, "compile", plan->compiled);
    as_json_key_u64(w, "seed", plan->seed);
    as_json_key_i64(w, "prologue_steps", plan->n_prologue);
    as_json_key_i64(w, "segments", plan->n_segments);
    as_json_key_f64(w, "build_ns", plan->build_ns);
    as_json_key_f64(w, "compile_ns", plan->compile_ns);
    as_json_key(w, "devices");
    as_json_array(w);
    for (int d = 0; d < plan->n_devices; d++) {
        as_json_object(w);
        as_json_key_text(w, "name", plan->devices[d]->name);
        as_json_key_text(w, "text", plan->devices[d]->text);
        as_json_key_i64(w, "threads", plan->devices[d]->n_threads);
        as_json_key_u64(w, "bytes", plan->device_bytes[d]);
        as_json_key_i64(w, "nodes", plan->shares[d].n_nodes);
        as_json_key_i64(w, "nodes_refused", plan->shares[d].n_refused);
        as_json_key_text(w, "first_refused", plan->shares[d].first_refused);
        as_json_key_text(w, "first_refusal", plan->shares[d].why);
        as_json_object_end(w);
    }
    as_json_array_end(w);
}

static void memory_write(as_json *w, const assay_plan *plan)
{
    as_json_key(w, "memory");
    as_json_object(w);
    as_json_key_u64(w, "peak_bytes", assay_plan_peak_bytes(plan));
    as_json_key_u64(w, "lower_bound_bytes", plan->lower_bound_bytes);
    as_json_key_u64(w, "param_bytes", plan->param_bytes);
    as_json_key_u64(w, "activation_bytes", plan->activation_bytes);
    as_json_key_u64(w, "packed_bytes", plan->packed_bytes);
    as_json_key_u64(w, "scratch_bytes", plan->scratch_bytes);
    as_json_key_u64(w, "variable_bytes", plan->variable_bytes);
    as_json_object_end(w);
}

assay_status as_plan_json(assay_env *env, const assay_plan *plan, FILE *file)
{
    return as_plan_json_with(env, plan, NULL, NULL, file);
}

assay_status as_plan_json_with(assay_env *env, const assay_plan *plan, void (*more)(as_json *w, const void *arg), const void *arg,
                               FILE *file)
{
    as_json w;
    bool    ok = true;
    as_json_start(&w, file, true);
    as_json_object(&w);
    head_write(&w, plan);
    memory_write(&w, plan);
    if (more)
        more(&w, arg);
    as_json_key(&w, "passes");
    as_json_array(&w);
    for (int i = 0; i < plan->n_passes; i++) {
        const as_pass_note *note = &plan->passes[i];
        as_json_object(&w);
        as_json_key_text(&w, "pass", note->pass);
        as_json_key_i64(&w, "changed", note->n_changed);
        as_json_key_u64(&w, "bytes_saved", note->bytes_saved);
        as_json_key_text(&w, "text", note->text);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_key(&w, "steps");
    as_json_array(&w);
    for (int s = 0; s < plan->n_steps; s++)
        ok &= step_write(&w, plan, s);
    as_json_array_end(&w);
    as_json_key(&w, "buffers");
    as_json_array(&w);
    for (int i = 0; i < plan->n_buffers; i++)
        buffer_write(&w, plan, i);
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    if (!ok)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to write the shapes of '%s'", plan->model->name);
    if (ferror(file))
        return as_fail(env, ASSAY_IO, "plan: the JSON of '%s' could not be written", plan->model->name);
    return ASSAY_OK;
}
