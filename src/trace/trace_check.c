/* trace_check.c - checks what is valid in a trace, so that readers can index and divide without checks of their own. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "trace/format.h"

static bool wrong(char why[AS_FAULT_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(char why[AS_FAULT_BYTES], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, AS_FAULT_BYTES, format, args);
    va_end(args);
    return false;
}

static bool interval_ok(uint64_t begin, uint64_t end, char why[AS_FAULT_BYTES])
{
    if (end < begin)
        return wrong(why, "ends at tick %llu, before it begins at %llu", (unsigned long long)end, (unsigned long long)begin);
    return true;
}

static bool step_index_ok(const assay_trace *t, const char *what, int64_t step, char why[AS_FAULT_BYTES])
{
    if (step < -1 || step >= (int64_t)t->n_steps)
        return wrong(why, "%s is %lld, but the trace has %zu steps", what, (long long)step, t->n_steps);
    return true;
}

bool as_span_ok(const assay_trace *t, const as_span *span, char why[AS_FAULT_BYTES])
{
    if (span->kind > AS_SPAN_USER)
        return wrong(why, "its kind is %u; the last known one is %d", span->kind, AS_SPAN_USER);
    if (span->kind == AS_SPAN_USER && (span->step < 0 || (size_t)span->step >= t->n_frames || span->thread >= t->n_lanes))
        return wrong(why, "its frame is %d of %zu, its thread %u of %zu", span->step, t->n_frames, span->thread, t->n_lanes);
    if (span->kind == AS_SPAN_USER)
        return interval_ok(span->begin_ticks, span->end_ticks, why);
    return interval_ok(span->begin_ticks, span->end_ticks, why) && step_index_ok(t, "its step", span->step, why);
}

bool as_sample_ok(const as_sample *sample, char why[AS_FAULT_BYTES])
{
    if (!sample->n_runs)
        return wrong(why, "a sample of no runs");
    if (sample->n_runs - 1 > UINT32_MAX - sample->first_run)
        return wrong(why, "%u runs from run %u on are more than can be numbered", sample->n_runs, sample->first_run);
    return interval_ok(sample->begin_ticks, sample->end_ticks, why);
}

bool as_reading_ok(const assay_trace *t, const as_reading *reading, char why[AS_FAULT_BYTES])
{
    if (reading->sensor >= t->n_sensors)
        return wrong(why, "its sensor is %u, but the trace has %zu", reading->sensor, t->n_sensors);
    if (t->sensors[reading->sensor].reason)
        return wrong(why, "its sensor %u is one that could not be read", reading->sensor);
    return true;
}

bool as_trace_frame_ok(const assay_trace *t, const as_trace_frame *frame, char why[AS_FAULT_BYTES])
{
    if (frame->line < 0)
        return wrong(why, "its line is %d", frame->line);
    if (frame->context < -1 || frame->context >= (int64_t)t->n_contexts)
        return wrong(why, "its context is %d, but the trace has %zu", frame->context, t->n_contexts);
    return true;
}

bool as_trace_stack_ok(const assay_trace *t, const as_trace_stack *stack, size_t index, char why[AS_FAULT_BYTES])
{
    if (stack->frame < 0 || (size_t)stack->frame >= t->n_frames)
        return wrong(why, "its frame is %d, but the trace has %zu", stack->frame, t->n_frames);
    if (stack->parent < -1 || stack->parent >= (int64_t)index)
        return wrong(why, "it is called from stack %d, which is not before it", stack->parent);
    return true;
}

bool as_look_ok(const assay_trace *t, const as_stack_sample *look, char why[AS_FAULT_BYTES])
{
    if (look->stack >= t->n_stacks || look->lane >= t->n_lanes)
        return wrong(why, "its stack is %u of %zu, its thread %u of %zu", look->stack, t->n_stacks, look->lane, t->n_lanes);
    return look->state < AS_N_STACK_STATES || wrong(why, "its state is %u", look->state);
}

bool as_stack_total_ok(const assay_trace *t, const as_stack_total *x, char why[AS_FAULT_BYTES])
{
    if (x->stack >= t->n_stacks || x->lane >= t->n_lanes)
        return wrong(why, "its stack is %u of %zu, its thread %u of %zu", x->stack, t->n_stacks, x->lane, t->n_lanes);
    if (x->count && (x->min_ticks > x->max_ticks || x->max_ticks > x->sum_ticks))
        return wrong(why, "least %llu, most %llu and sum %llu ticks cannot be", (unsigned long long)x->min_ticks,
                     (unsigned long long)x->max_ticks, (unsigned long long)x->sum_ticks);
    return true;
}

bool as_memory_event_ok(const assay_trace *t, const as_memory_event *e, char why[AS_FAULT_BYTES])
{
    if (e->kind >= AS_N_MEMORY_KINDS)
        return wrong(why, "its kind is %u; the last known one is %d", e->kind, AS_N_MEMORY_KINDS - 1);
    if (e->stack != AS_NO_STACK && e->stack >= t->n_stacks)
        return wrong(why, "its stack is %u, but the trace has %zu", e->stack, t->n_stacks);
    if (e->lane >= t->n_lanes || e->place >= t->n_places || e->to >= t->n_places)
        return wrong(why, "its thread is %u of %zu, its places are %u and %u of %zu", e->lane, t->n_lanes, e->place, e->to,
                     t->n_places);
    return true;
}

bool as_memory_site_ok(const assay_trace *t, const as_memory_site *s, char why[AS_FAULT_BYTES])
{
    if (s->stack != AS_NO_STACK && s->stack >= t->n_stacks)
        return wrong(why, "its stack is %u, but the trace has %zu", s->stack, t->n_stacks);
    if (s->lane >= t->n_lanes)
        return wrong(why, "its thread is %u of %zu", s->lane, t->n_lanes);
    if (s->frees > s->allocs)
        return wrong(why, "%llu blocks of %llu are gone", (unsigned long long)s->frees, (unsigned long long)s->allocs);
    return true;
}

bool as_trace_step_ok(const as_trace_step *step, size_t index, char why[AS_FAULT_BYTES])
{
    for (int i = 0; i < step->n_inputs; i++) {
        if (step->inputs[i] < 0 || (size_t)step->inputs[i] >= index)
            return wrong(why, "its input is step %d, which is not before it", step->inputs[i]);
        if (i && step->inputs[i] <= step->inputs[i - 1])
            return wrong(why, "its inputs do not rise: step %d follows %d", step->inputs[i], step->inputs[i - 1]);
    }
    if (step->arm < 0 || step->arm >= AS_TRACE_MAX_ARMS)
        return wrong(why, "its candidate is %d", step->arm);
    return step->segment >= -1 || wrong(why, "its segment is %d", step->segment);
}

bool as_trace_buffer_ok(const assay_trace *t, const as_trace_buffer *buffer, char why[AS_FAULT_BYTES])
{
    if (buffer->shares < 0)
        return wrong(why, "it shares the memory of buffer %d", buffer->shares);
    if (buffer->align & (buffer->align - 1))
        return wrong(why, "its place is a multiple of %llu, which is not a power of two", (unsigned long long)buffer->align);
    if (buffer->bytes > UINT64_MAX - buffer->offset)
        return wrong(why, "%llu bytes at offset %llu are more than memory can have", (unsigned long long)buffer->bytes,
                     (unsigned long long)buffer->offset);
    return step_index_ok(t, "its first step", buffer->first_step, why) && step_index_ok(t, "its last step", buffer->last_step, why);
}

bool as_trace_sensor_ok(const as_trace_sensor *sensor, char why[AS_FAULT_BYTES])
{
    const char *m = sensor->meaning;
    if (strcmp(m, "delta") && strcmp(m, "level") && strcmp(m, "peak"))
        return wrong(why, "its meaning is \"%.40s\", not delta, level or peak", m);
    return true;
}

bool as_trace_clock_ok(const assay_trace *t, char why[AS_FAULT_BYTES])
{
    if (!isfinite(t->ns_per_tick) || t->ns_per_tick <= 0)
        return wrong(why, "a tick lasts %g ns", t->ns_per_tick);
    if (t->clock_cost_ns < 0 || isinf(t->clock_cost_ns))
        return wrong(why, "reading the clock costs %g ns", t->clock_cost_ns);
    return true;
}

bool as_trace_totals_ok(const assay_trace *t, char why[AS_FAULT_BYTES])
{
    if (t->n_totals && t->n_totals != t->n_steps)
        return wrong(why, "%zu totals, but the trace has %zu steps", t->n_totals, t->n_steps);
    for (size_t i = 0; i < t->n_totals; i++) {
        const as_step_total *total = &t->totals[i];
        if (total->count && (total->min_ticks > total->max_ticks || total->max_ticks > total->sum_ticks))
            return wrong(why, "step %zu: least %llu, most %llu and sum %llu ticks cannot be", i,
                         (unsigned long long)total->min_ticks, (unsigned long long)total->max_ticks,
                         (unsigned long long)total->sum_ticks);
    }
    return true;
}

bool as_trace_arm_ok(const as_trace_arm *arm, char why[AS_FAULT_BYTES])
{
    if (!isnan(arm->items) && !(arm->items > 0 && isfinite(arm->items)))
        return wrong(why, "a call has %g items", arm->items);
    if (!isnan(arm->limit.ns) && !(arm->limit.ns > 0 && isfinite(arm->limit.ns)))
        return wrong(why, "its limit is %g ns", arm->limit.ns);
    return true;
}

bool as_turn_ok(const assay_trace *t, as_turns_seen *seen, const as_turn *turn, char why[AS_FAULT_BYTES])
{
    uint64_t end = (uint64_t)turn->first_shot + turn->n_shots;
    if (turn->arm >= (uint32_t)t->n_arms)
        return wrong(why, "its candidate is %u, but the trace has %d", turn->arm, t->n_arms);
    if (seen->n_turns && (turn->launch < seen->launch || turn->round < seen->round))
        return wrong(why, "launch %u, round %u goes backwards after %u, %u", turn->launch, turn->round, seen->launch, seen->round);
    if (end > seen->n_shots && seen->n_shots)
        return wrong(why, "its samples end at %llu, but there are %llu", (unsigned long long)end,
                     (unsigned long long)seen->n_shots);
    seen->bare = seen->bare || end > seen->n_shots;
    seen->n_turns++;
    seen->launch = turn->launch;
    seen->round = turn->round;
    return true;
}

bool as_shots_ok(const as_turns_seen *seen, char why[AS_FAULT_BYTES])
{
    return !seen->bare || wrong(why, "samples after blocks that have none");
}
