/* layout.c - the lifetime and the place of each buffer, and which steps make a segment. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "plan/lower.h"
#include "base/place.h"

/* More memory than any supported machine has: a larger plan comes from a typing error in a dimension. */
#define MAX_PLAN_BYTES (UINT64_C(1) << 40)

/* --- Lifetimes ----------------------------------------------------------------------------------------- */

static void live_at(as_buffer *b, int step)
{
    b->first = step < b->first ? step : b->first;
    b->last = step > b->last ? step : b->last;
}

/* An alias keeps the memory that it shares alive. */
static void touch(assay_plan *plan, int buffer, int step)
{
    if (buffer < 0)
        return;
    live_at(&plan->buffers[buffer], step);
    live_at(&plan->buffers[as_buffer_root(plan, buffer)], step);
}

static void step_touch(assay_plan *plan, int s)
{
    const as_seg_step *seg = &plan->steps[s].seg;
    for (int i = 0; i < seg->n_in; i++) {
        bool packed = i < AS_N_PACKED && seg->packed[i] >= 0 && !seg->pack;
        if (!packed || !plan->steps[s].choice.packed_alone) /* the packed form stands for it */
            touch(plan, seg->in[i], s);
    }
    for (int i = 0; i < seg->n_out; i++)
        touch(plan, seg->out[i], s);
    for (int i = 0; i < AS_N_PACKED; i++)
        touch(plan, seg->packed[i], s);
    touch(plan, seg->scratch, s);
}

static void lifetimes_find(assay_plan *plan)
{
    int end = plan->n_steps > 0 ? plan->n_steps - 1 : 0;
    for (int i = 0; i < plan->n_buffers; i++)
        plan->buffers[i].first = INT_MAX, plan->buffers[i].last = -1;
    for (int s = 0; s < plan->n_steps; s++)
        step_touch(plan, s);
    for (int i = 0; i < plan->graph.n_inputs; i++) {
        touch(plan, plan->inputs[i], 0);
        touch(plan, plan->inputs[i], end);
    }
    for (int i = 0; i < plan->n_variables; i++) {
        touch(plan, plan->variables[i].buffer, 0);
        touch(plan, plan->variables[i].buffer, end);
    }
    for (int i = 0; i < plan->graph.n_outputs; i++)
        touch(plan, plan->outputs[i], end);
    for (int i = 0; i < plan->n_buffers; i++) {
        as_buffer *b = &plan->buffers[i];
        if (b->last < 0)
            b->first = b->last = 0;
        /* The set-up does not run every time: its results must stay alive through every run. */
        if (b->first < plan->n_prologue && b->last >= plan->n_prologue)
            b->last = end;
    }
}

/* --- Memory -------------------------------------------------------------------------------------------- */

static bool is_ours(const as_buffer *b) { return b->alias_of < 0 && !b->outside; }

static assay_status device_place(assay_env *env, assay_plan *plan, int device, as_place_item *items)
{
    size_t n = 0;
    int    end = plan->n_steps > 0 ? plan->n_steps - 1 : 0;
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        if (b->device == device && is_ours(b))
            items[n++] =
                (as_place_item){.bytes = b->bytes, .first = plan->reuse ? b->first : 0, .last = plan->reuse ? b->last : end};
    }
    AS_TRY(as_place(env, items, n, plan->devices[device]->align, &plan->device_bytes[device]));
    for (int i = 0, k = 0; i < plan->n_buffers; i++) /* what is needed at once does not depend on how it was placed */
        if (plan->buffers[i].device == device && is_ours(&plan->buffers[i])) {
            items[k].first = plan->buffers[i].first;
            items[k++].last = plan->buffers[i].last;
        }
    uint64_t least = as_place_lower_bound(items, n, plan->n_steps);
    if (plan->device_bytes[device] > MAX_PLAN_BYTES || least > MAX_PLAN_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT, "plan: an instance of '%s' needs %llu bytes on %s; %llu are allowed",
                       plan->model->name, (unsigned long long)plan->device_bytes[device], plan->devices[device]->name,
                       (unsigned long long)MAX_PLAN_BYTES);
    uint64_t most = plan->devices[device]->caps.max_bytes;
    if (most && plan->device_bytes[device] > most)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: an instance of '%s' needs %llu bytes on %s, which has at most %llu",
                       plan->model->name, (unsigned long long)plan->device_bytes[device], plan->devices[device]->name,
                       (unsigned long long)most);
    plan->lower_bound_bytes += least;
    n = 0;
    for (int i = 0; i < plan->n_buffers; i++)
        if (plan->buffers[i].device == device && is_ours(&plan->buffers[i]))
            plan->buffers[i].offset = items[n++].offset;
    return ASSAY_OK;
}

static int by_begin(const void *a, const void *b)
{
    const as_extent *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : 0;
}

/* What lies between the buffers of the body on the host: aligned copies of weights that were packed, and other steps of the set-up. */
static assay_status idle_find(assay_env *env, assay_plan *plan)
{
    enum { LEAST = 1 << 16 }; /* less is not worth a call of the system */
    as_extent *used = calloc((size_t)plan->n_buffers + 1, sizeof *used);
    plan->idle = AS_TAKE(&plan->arena, as_extent, plan->n_buffers + 1);
    if (!used || !plan->idle) {
        free(used);
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to place %d buffers", plan->n_buffers);
    }
    int    n = 0;
    size_t at = 0, end = (size_t)plan->device_bytes[0];
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        if (b->device == 0 && is_ours(b) && b->last >= plan->n_prologue)
            used[n++] = (as_extent){b->offset, b->offset + b->bytes};
    }
    qsort(used, (size_t)n, sizeof *used, by_begin);
    used[n++] = (as_extent){end, end};
    for (int i = 0; i < n; i++) {
        if (used[i].begin >= at + LEAST)
            plan->idle[plan->n_idle++] = (as_extent){at, used[i].begin};
        at = used[i].end > at ? used[i].end : at;
    }
    free(used);
    return ASSAY_OK;
}

static void add_up(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX;
}

static void totals_count(assay_plan *plan)
{
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        switch (b->role) {
        case AS_BUF_PARAM:
            if (b->device == 0)
                add_up(&plan->param_bytes, b->bytes);
            break;
        case AS_BUF_INPUT:
        case AS_BUF_OUTPUT:
        case AS_BUF_ACTIVATION: add_up(&plan->activation_bytes, b->bytes); break;
        case AS_BUF_SCRATCH: add_up(&plan->scratch_bytes, b->bytes); break;
        case AS_BUF_PACKED: add_up(&plan->packed_bytes, b->bytes); break;
        case AS_BUF_VARIABLE: add_up(&plan->variable_bytes, b->bytes); break;
        case AS_BUF_CONSTANT: break;
        }
    }
}

assay_status as_plan_place(assay_env *env, assay_plan *plan)
{
    lifetimes_find(plan);
    totals_count(plan);
    plan->device_bytes = AS_TAKE(&plan->arena, uint64_t, plan->n_devices);
    as_place_item *items = calloc((size_t)plan->n_buffers + 1, sizeof *items);
    assay_status   status = ASSAY_OK;
    if (!items || !plan->device_bytes)
        status = as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to place %d buffers", plan->n_buffers);
    for (int d = 0; d < plan->n_devices && status == ASSAY_OK; d++)
        status = device_place(env, plan, d, items);
    free(items);
    if (status != ASSAY_OK)
        return status;
    for (int i = 0; i < plan->n_buffers; i++)
        plan->buffers[i].offset = plan->buffers[as_buffer_root(plan, i)].offset + plan->buffers[i].alias_begin;
    return plan->n_prologue ? idle_find(env, plan) : ASSAY_OK;
}

/* --- Segments ------------------------------------------------------------------------------------------ */

static bool is_transfer(const as_step *s) { return as_step_is_transfer(s->kind); }

static bool may_join(const assay_plan *plan, int s)
{
    const as_step *a = &plan->steps[s - 1], *b = &plan->steps[s];
    return plan->compiled && s != plan->n_prologue && a->device == b->device && !is_transfer(a) && !is_transfer(b) && !a->piece &&
           !b->piece;
}

assay_status as_plan_segments(assay_env *env, assay_plan *plan)
{
    plan->segments = AS_TAKE(&plan->arena, as_plan_segment, plan->n_steps);
    as_seg_step *seg_steps = AS_TAKE(&plan->arena, as_seg_step, plan->n_steps);
    if (!plan->segments || !seg_steps)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the segments of %d steps", plan->n_steps);
    for (int s = 0; s < plan->n_steps; s++) {
        as_step *step = &plan->steps[s];
        if (s == 0 || !may_join(plan, s))
            plan->segments[plan->n_segments++] = (as_plan_segment){
                .device = step->device, .first = s, .prologue = s < plan->n_prologue, .seg = {.steps = &seg_steps[s]}};
        seg_steps[s] = step->seg;
        step->segment = plan->n_segments - 1;
        as_plan_segment *segment = &plan->segments[plan->n_segments - 1];
        segment->n_steps = ++segment->seg.n_steps;
    }
    uint64_t begin = as_clock_now(&env->clock);
    for (int i = 0; i < plan->n_segments; i++) {
        as_plan_segment *segment = &plan->segments[i];
        if (is_transfer(&plan->steps[segment->first]))
            continue;
        as_device           *device = plan->devices[segment->device];
        const as_plan_piece *piece = plan->steps[segment->first].piece;
        AS_TRY(piece ? device->backend->compile_piece(env, device, &piece->piece, &segment->code)
                     : device->backend->compile(env, device, &segment->seg, &segment->code));
    }
    plan->compile_ns = as_clock_ns(&env->clock, as_clock_now(&env->clock) - begin);
    return ASSAY_OK;
}
