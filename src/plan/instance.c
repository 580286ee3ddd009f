/* instance.c - what changes while a plan runs: one allocation per device, and the place of every buffer in it. */
#include <stdlib.h>
#include <string.h>

#include "plan/lower.h"

void as_plan_clock(assay_env *env, const assay_plan *plan)
{
    for (int d = 0; d < plan->n_devices; d++)
        if (plan->devices[d]->tells_time && env->clock.kind != AS_CLOCK_FAKE)
            as_clock_open_fake(&env->clock, 0);
}

static void slots_fill(assay_instance *instance)
{
    const assay_plan *plan = instance->plan;
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *root = &plan->buffers[as_buffer_root(plan, i)];
        union {
            const void *given;
            void       *slot;
        } outside = {root->outside}; /* kernels only read it */
        size_t begin = plan->buffers[i].alias_begin,
               offset = root->offset + begin + (root->device == 0 ? instance->host_offset : 0);
        if (outside.slot)
            outside.slot = (char *)outside.slot + begin;
        instance->slots[i] = (as_slot){.offset = offset, .outside = outside.slot, .bytes = as_buffer_bytes(plan, i)};
    }
}

static void inputs_fill(assay_instance *instance)
{
    const assay_plan *plan = instance->plan;
    for (int i = 0; i < plan->graph.n_inputs; i++)
        if (plan->given && plan->given[i].path) {
            as_view view = as_instance_input(instance, i);
            as_view_copy(&view, &plan->given[i].tensor.view);
        }
}

static assay_status memory_take(assay_env *env, assay_instance *instance, int d, const as_mem *host)
{
    const assay_plan *plan = instance->plan;
    size_t            bytes = (size_t)plan->device_bytes[d] + (d == 0 ? instance->host_offset : 0);
    if (d != 0 || !host)
        return as_device_alloc(env, plan->devices[d], bytes, &instance->memory[d]);
    if (host->bytes < bytes)
        return as_fail(env, ASSAY_INTERNAL, "instance: '%s' needs %zu bytes and was given %zu", plan->model->name, bytes,
                       host->bytes);
    instance->memory[d] = *host;
    instance->host_is_lent = true;
    return ASSAY_OK;
}

assay_status assay_instance_new(assay_env *env, const assay_plan *plan, assay_instance **out)
{
    return as_instance_new_at(env, plan, 0, NULL, out);
}

assay_status as_instance_new_at(assay_env *env, const assay_plan *plan, size_t offset, const as_mem *host, assay_instance **out)
{
    assay_instance *instance = calloc(1, sizeof *instance);
    as_plan_clock(env, plan);
    if (!instance)
        return as_fail(env, ASSAY_NO_MEMORY, "instance: not enough memory for one of '%s'", plan->model->name);
    instance->plan = plan;
    instance->prologue_due = true;
    instance->host_offset = offset;
    instance->memory = AS_TAKE(&instance->arena, as_mem, plan->n_devices);
    instance->bindings = AS_TAKE(&instance->arena, as_bindings, plan->n_devices);
    instance->slots = AS_TAKE(&instance->arena, as_slot, plan->n_buffers);
    assay_status status = ASSAY_OK;
    if (!instance->memory || !instance->bindings || !instance->slots)
        status = as_fail(env, ASSAY_NO_MEMORY, "instance: not enough memory for the places of %d buffers", plan->n_buffers);
    for (int d = 0; d < plan->n_devices && status == ASSAY_OK; d++) {
        status = memory_take(env, instance, d, host);
        instance->bindings[d] = (as_bindings){.base = &instance->memory[d], .slots = instance->slots, .n_slots = plan->n_buffers};
    }
    if (status != ASSAY_OK) {
        assay_instance_free(instance);
        return status;
    }
    slots_fill(instance);
    inputs_fill(instance);
    as_instance_reset(instance);
    *out = instance;
    return ASSAY_OK;
}

void as_instance_release(assay_instance *instance)
{
    for (int d = instance->host_is_lent ? 1 : 0; instance->memory && d < instance->plan->n_devices; d++)
        as_device_drop(instance->plan->devices[d], &instance->memory[d]);
}

bool as_instance_watch(assay_instance *instance)
{
    const assay_plan *plan = instance->plan;
    int               n = 0;
    for (int s = 0; s < plan->n_prologue; s++)
        n += as_step_is_transfer(plan->steps[s].kind);
    instance->stamps = AS_TAKE(&instance->arena, as_transfer_stamp, n);
    instance->cap_stamps = instance->stamps ? n : 0;
    return instance->stamps != NULL;
}

void assay_instance_free(assay_instance *instance)
{
    if (!instance)
        return;
    as_instance_release(instance);
    as_arena_drop(&instance->arena);
    free(instance);
}

void as_instance_refresh(assay_instance *instance)
{
    uint64_t step = instance->step;
    instance->prologue_due = true;
    inputs_fill(instance);
    as_instance_reset(instance);
    instance->step = step;
}

static as_view view_of(const assay_instance *instance, int buffer)
{
    const as_buffer *b = &instance->plan->buffers[buffer];
    return as_view_of(as_slot_host(&instance->bindings[0], buffer), b->dtype, &b->shape);
}

as_view as_instance_input(const assay_instance *instance, int i) { return view_of(instance, instance->plan->inputs[i]); }
as_view as_instance_output(const assay_instance *instance, int i) { return view_of(instance, instance->plan->outputs[i]); }

static int param_find(const as_graph *g, const char *name)
{
    for (int i = 0; i < g->n_values; i++)
        if (g->values[i].role == AS_ROLE_PARAM && !strcmp(g->values[i].name, name))
            return i;
    return -1;
}

assay_status as_instance_set_param(assay_env *env, assay_instance *instance, const char *name, const as_view *view)
{
    const assay_plan *plan = instance->plan;
    int               value = param_find(&plan->graph, name);
    for (int i = 0; i < plan->n_variables; i++)
        if (plan->variables[i].input < 0 && !strcmp(plan->variables[i].name, name))
            return as_instance_set(env, instance, name, view); /* a parameter that steps change has memory of its own */
    if (value < 0)
        return as_fail(env, ASSAY_NOT_FOUND, "instance: the model '%s' has no parameter '%s'", plan->model->name, name);
    const as_tensor_info *info = &plan->graph.values[value].info;
    char                  want[192], got[192];
    if (view->dtype != info->dtype || !as_shape_same(&view->shape, &info->shape))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: parameter '%s' is %s%s and was given %s%s", name,
                       as_dtype_name(info->dtype), as_shape_show(&info->shape, want, sizeof want), as_dtype_name(view->dtype),
                       as_shape_show(&view->shape, got, sizeof got));
    if (!as_view_contiguous(view))
        return as_fail(env, ASSAY_BAD_INPUT, "instance: parameter '%s' was given values that are not row-major and contiguous",
                       name);
    if (!as_dtype_aligned(view->dtype, view->data))
        return as_fail(env, ASSAY_BAD_INPUT,
                       "instance: parameter '%s' was given values at an address that is not a multiple of %zu, the size of %s",
                       name, as_dtype_bytes(view->dtype), as_dtype_name(view->dtype));
    if (as_info_bytes(info))
        for (int i = 0; i < plan->n_buffers; i++) {
            const as_buffer *root = &plan->buffers[as_buffer_root(plan, i)];
            if (root->value == value && root->outside)
                instance->slots[i].outside = (char *)view->data + plan->buffers[i].alias_begin;
        }
    instance->prologue_due = true;
    return ASSAY_OK;
}

/* --- One run ------------------------------------------------------------------------------------------- */

static assay_status transfer_run(const as_run_ctx *run, assay_instance *instance, const as_step *step)
{
    as_device         *device = instance->plan->devices[step->device];
    const as_bindings *host = &instance->bindings[0];
    bool               put = step->kind != AS_STEP_GET;
    int                near = put ? step->seg.in[0] : step->seg.out[0], far = put ? step->seg.out[0] : step->seg.in[0];
    const as_slot     *slot = &instance->slots[far];
    if (!slot->bytes)
        return ASSAY_OK;
    if (step->kind == AS_STEP_UPDATE) {
        memcpy(as_slot_host(host, far), as_slot_host(host, near), slot->bytes);
        return ASSAY_OK;
    }
    return put ? device->backend->put(run, device, &instance->memory[step->device], slot->offset, as_slot_host(host, near),
                                      slot->bytes)
               : device->backend->get(run, device, &instance->memory[step->device], slot->offset, as_slot_host(host, near),
                                      slot->bytes);
}

/* A device writes the spans of its steps; those of transfers and whole segments are written here. */
static assay_status segment_run(const as_run_ctx *run, assay_instance *instance, const as_plan_segment *segment)
{
    const assay_plan  *plan = instance->plan;
    as_device         *device = plan->devices[segment->device];
    const as_step     *step = &plan->steps[segment->first];
    bool               transfer = as_step_is_transfer(step->kind);
    const as_recorder *recorder = as_run_recorder(run, AS_DETAIL_SEGMENT);
    bool               stamped = transfer && segment->prologue && instance->n_stamps < instance->cap_stamps;
    uint64_t           begin = recorder || stamped ? as_clock_now(run->clock) : 0;
    AS_TRY(transfer ? transfer_run(run, instance, step)
                    : device->backend->execute(run, device, segment->code, &instance->bindings[segment->device]));
    if (!recorder && !stamped)
        return ASSAY_OK;
    uint64_t end = as_clock_now(run->clock);
    if (stamped)
        instance->stamps[instance->n_stamps++] = (as_transfer_stamp){segment->first, begin, end};
    if (!recorder)
        return ASSAY_OK;
    if (transfer && recorder->detail >= AS_DETAIL_STEP)
        as_ring_add(&recorder->rings[0], AS_SPAN_STEP, segment->first, begin, end);
    as_ring_add(&recorder->rings[0], AS_SPAN_SEGMENT, segment->first, begin, end);
    return ASSAY_OK;
}

static void forget(const assay_model *model, const as_buffer *b)
{
    as_map_forget(&model->weights.map, b->outside, b->bytes);
    for (const as_map_link *link = model->maps; link; link = link->next)
        as_map_forget(&link->map, b->outside, b->bytes);
    for (const as_model_link *link = model->lenders; link; link = link->next)
        forget(link->model, b);
}

/* After the set-up: weights that only the set-up read (it packed them, or sent them to a device) need not stay in memory beside what
 * it made of them.  The file still has them, for the next set-up.  Copies that only the set-up used are given back, too. */
static void weights_forget(const assay_instance *instance)
{
    enum { LEAST = 4096 };
    const assay_plan *plan = instance->plan;
    for (int i = 0; i < plan->n_idle && !instance->host_is_lent; i++)
        as_memory_forget((char *)instance->memory[0].host + instance->host_offset + plan->idle[i].begin,
                         plan->idle[i].end - plan->idle[i].begin);
    for (int i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].outside && plan->buffers[i].bytes >= LEAST && plan->buffers[i].last < plan->n_prologue)
            forget(plan->model, &plan->buffers[i]);
}

/* Shapes and steps were made for these values: with others the answer would be silently wrong. */
static assay_status fixed_check(assay_env *env, const assay_instance *instance)
{
    const as_graph *g = &instance->plan->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const as_bound_value *v = &g->values[g->inputs[i]];
        as_view               view = as_instance_input(instance, i);
        if (v->info.constant && as_info_bytes(&v->info) && memcmp(view.data, v->info.constant, as_info_bytes(&v->info)))
            return as_fail(env, ASSAY_BAD_INPUT,
                           "instance: shapes depend on the input '%s', whose values differ from those that the plan was made for",
                           v->name);
    }
    return ASSAY_OK;
}

assay_status as_instance_step(const as_run_ctx *run, assay_instance *instance)
{
    const assay_plan *plan = instance->plan;
    as_run_ctx        now = *run;
    now.step = instance->step;
    if (plan->n_fixed)
        AS_TRY(fixed_check(run->env, instance));
    for (int i = 0; i < plan->n_segments; i++) {
        if (instance->prologue_due && !plan->segments[i].prologue) {
            weights_forget(instance);
            instance->prologue_due = false;
        }
        if (!plan->segments[i].prologue || instance->prologue_due)
            AS_TRY(segment_run(&now, instance, &plan->segments[i]));
    }
    instance->prologue_due = false;
    instance->step++;
    return ASSAY_OK;
}

uint64_t as_instance_peak_bytes(const assay_instance *instance)
{
    uint64_t sum = 0;
    for (int d = 0; d < instance->plan->n_devices; d++)
        sum += instance->plan->devices[d]->peak_bytes;
    return sum;
}
