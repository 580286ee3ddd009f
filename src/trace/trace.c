/* trace.c - the trace in memory: growing arrays in one arena.
 *
 * Every string of a trace is its own copy and never NULL, except a sensor's reason, so readers need no checks. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/stats.h"
#include "trace/format.h"

enum { PAGE_BYTES = 4096, FIRST_CAPACITY = 8 };

bool as_trace_clock_take(assay_trace *t, const assay_env *env)
{
    if (t->clock_name && !strcmp(t->clock_name, env->clock.name))
        return true;
    t->clock_name = as_arena_text(&t->arena, env->clock.name);
    t->ns_per_tick = env->clock.ns_per_tick;
    t->clock_cost_ns = env->clock.cost_ns;
    t->start_ticks = as_clock_now(&env->clock);
    return t->clock_name != NULL;
}

assay_status as_trace_new(assay_env *env, assay_trace **out)
{
    assay_trace *t = calloc(1, sizeof *t);
    if (!t)
        return as_fail(env, ASSAY_NO_MEMORY, "trace: not enough memory for a new one");
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    t->start_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    t->clock_name = "";
    t->ns_per_tick = 1;
    t->clock_cost_ns = NAN;
    if (env)
        t->clock_name = NULL;
    if (env ? !as_trace_clock_take(t, env) : !t->clock_name) {
        assay_trace_free(t);
        return as_fail(env, ASSAY_NO_MEMORY, "trace: not enough memory for the clock's name");
    }
    t->complete = true; /* a trace in memory is complete; one that a reader found cut short is not */
    t->detail_why = t->name = t->reason = t->model = t->device = t->compile = t->weights_as = "";
    t->cpu_clock_cost_ns = NAN;
    t->sample_every = 1;
    t->once_ns = t->twice_ns = t->difference = NAN;
    t->look_period_ns = NAN;
    t->origin.pid = (uint32_t)getpid();
    t->plan_ns = t->compile_ns = t->first_run_ns = t->span_cost_ns = NAN;
    *out = t;
    return ASSAY_OK;
}

bool as_trace_arms_add(assay_trace *t, int n)
{
    t->arms = AS_TAKE(&t->arena, as_trace_arm, n);
    if (!t->arms)
        return false;
    t->n_arms = n;
    for (int i = 0; i < n; i++)
        t->arms[i] = (as_trace_arm){.name = "",
                                    .what = "",
                                    .compared = "",
                                    .slow = "",
                                    .elsewhere = "",
                                    .error = NAN,
                                    .items = NAN,
                                    .launch_ns = NAN,
                                    .plan_ns = NAN,
                                    .limit = AS_LIMIT_NONE,
                                    .first_ns = {NAN, NAN, NAN},
                                    .ledger = {NAN, NAN, NAN, NAN, NAN}};
    return true;
}

assay_status as_trace_new_arms(assay_env *env, const char *name, int n_arms, assay_trace **out)
{
    assay_trace *t;
    AS_TRY(as_trace_new(env, &t));
    t->name = as_trace_keep(t, name);
    if (!t->name || !as_trace_arms_add(t, n_arms)) {
        assay_trace_free(t);
        return as_fail(env, ASSAY_NO_MEMORY, "trace: not enough memory for '%s'", name);
    }
    *out = t;
    return ASSAY_OK;
}

int64_t as_trace_unix_time(const assay_trace *t) { return (int64_t)(t->start_unix_ns / 1000000000u); }

void assay_trace_free(assay_trace *t)
{
    if (!t)
        return;
    free(t->turns);
    free(t->shots);
    free(t->spans);
    free(t->samples);
    free(t->warmup);
    free(t->readings);
    free(t->metrics);
    free(t->contexts);
    free(t->frames);
    free(t->lanes);
    free(t->places);
    free(t->stacks);
    free(t->looks);
    free(t->stack_totals);
    free(t->memory_events);
    free(t->memory_sites);
    free(t->frame_index.slots);
    free(t->stack_index.slots);
    as_arena_drop(&t->arena);
    free(t);
}

/* --- Growing ---------------------------------------------------------------------------------------- */

/* Makes room for one more by doubling; the old array stays in the arena, which at most doubles the memory. */
static bool grow(as_arena *arena, void *array, size_t n, size_t *capacity, size_t bytes_each)
{
    if (n < *capacity)
        return true;
    size_t more = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void  *items = as_arena_take(arena, more, bytes_each, alignof(max_align_t));
    if (!items)
        return false;
    void **slot = array;
    if (n)
        memcpy(items, *slot, n * bytes_each);
    *slot = items;
    *capacity = more;
    return true;
}

bool as_trace_grow_heap(void **array, size_t *cap, size_t want, size_t size)
{
    if (want <= *cap)
        return true;
    size_t room = *cap * 2 > want ? *cap * 2 : want;
    void  *moved = room <= SIZE_MAX / size ? realloc(*array, room * size) : NULL;
    if (!moved)
        return false;
    *array = moved;
    *cap = room;
    return true;
}

#define GROW(t, items) grow(&(t)->arena, &(t)->items, (t)->n_##items, &(t)->cap_##items, sizeof *(t)->items)

/* Copies the string; `missing` replaces NULL. */
static bool copy(as_arena *arena, const char **text, const char *missing)
{
    *text = as_arena_text(arena, *text ? *text : missing);
    return *text != NULL;
}

/* A key may be added again: the latest one is found, as in a file that can only grow. */
const char *as_trace_note_find(const assay_trace *t, const char *key)
{
    for (size_t i = t->n_notes; i-- > 0;)
        if (!strcmp(t->notes[i].key, key))
            return t->notes[i].value;
    return NULL;
}

double as_trace_metric_last(const assay_trace *t, const char *name)
{
    for (size_t i = t->n_metrics; i-- > 0;)
        if (!strcmp(t->metrics[i].name, name))
            return t->metrics[i].value;
    return NAN;
}

bool as_trace_add_note(assay_trace *t, const char *key, const char *format, ...)
{
    char    small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    char *value = length < 0 ? NULL : as_arena_take(&t->arena, (size_t)length + 1, 1, 1);
    if (value)
        vsnprintf(value, (size_t)length + 1, format, again);
    va_end(again);
    as_trace_note pair = {key, value};
    if (!value || !copy(&t->arena, &pair.key, "") || !GROW(t, notes))
        return false;
    t->notes[t->n_notes++] = pair;
    return true;
}

int as_trace_add_step(assay_trace *t, const as_trace_step *step)
{
    as_trace_step s = *step;
    as_arena     *a = &t->arena;
    if (!copy(a, &s.name, "") || !copy(a, &s.op, "") || !copy(a, &s.device, "") || !copy(a, &s.kernel, "") ||
        !copy(a, &s.why, "") || !copy(a, &s.module, "") || !copy(a, &s.layer, "") || !copy(a, &s.shapes, "") ||
        !copy(a, &s.stage, "body"))
        return -1;
    s.refused = AS_TAKE(a, as_trace_refusal, step->n_refused);
    if (!s.refused || t->n_steps >= INT32_MAX)
        return -1;
    for (int i = 0; i < step->n_refused; i++) {
        s.refused[i] = step->refused[i];
        if (!copy(a, &s.refused[i].kernel, "") || !copy(a, &s.refused[i].why, ""))
            return -1;
    }
    int *inputs = AS_TAKE(a, int, step->n_inputs);
    if (!inputs || !GROW(t, steps))
        return -1;
    if (step->n_inputs)
        memcpy(inputs, step->inputs, (size_t)step->n_inputs * sizeof *inputs);
    s.inputs = inputs;
    const char **parts = AS_TAKE(a, const char *, step->n_parts);
    for (int i = 0; parts && i < step->n_parts; i++)
        if (!(parts[i] = as_arena_text(a, step->parts[i])))
            return -1;
    if (!parts)
        return -1;
    s.parts = parts;
    t->steps[t->n_steps] = s;
    return (int)t->n_steps++;
}

bool as_trace_add_buffer(assay_trace *t, const as_trace_buffer *buffer)
{
    as_trace_buffer b = *buffer;
    if (!copy(&t->arena, &b.name, "") || !copy(&t->arena, &b.role, "") || !copy(&t->arena, &b.device, "") || !GROW(t, buffers))
        return false;
    t->buffers[t->n_buffers++] = b;
    return true;
}

int as_trace_add_sensor(assay_trace *t, const as_trace_sensor *sensor)
{
    as_trace_sensor s = *sensor;
    as_arena       *a = &t->arena;
    if (!copy(a, &s.name, "") || !copy(a, &s.unit, "1") || !copy(a, &s.source, "") || !copy(a, &s.meaning, "level") ||
        (s.reason && !copy(a, &s.reason, "")) || t->n_sensors >= INT32_MAX || !GROW(t, sensors))
        return -1;
    t->sensors[t->n_sensors] = s;
    return (int)t->n_sensors++;
}

bool as_trace_add_roof(assay_trace *t, const as_trace_roof *roof)
{
    as_trace_roof r = *roof;
    if (!copy(&t->arena, &r.name, "") || !copy(&t->arena, &r.unit, "1") || !copy(&t->arena, &r.source, "") ||
        !copy(&t->arena, &r.device, "cpu") || !GROW(t, roofs))
        return false;
    t->roofs[t->n_roofs++] = r;
    return true;
}

/* Names repeat: one of the last few metrics usually has them already, so a long run takes no memory for them. */
static bool metric_names(assay_trace *t, as_trace_metric *m)
{
    enum { LOOK_BACK = 64 };
    m->name = m->name ? m->name : "";
    m->unit = m->unit ? m->unit : "1";
    for (size_t i = t->n_metrics, k = 0; i-- > 0 && k < LOOK_BACK; k++)
        if (!strcmp(t->metrics[i].name, m->name) && !strcmp(t->metrics[i].unit, m->unit)) {
            m->name = t->metrics[i].name;
            m->unit = t->metrics[i].unit;
            return true;
        }
    return copy(&t->arena, &m->name, "") && copy(&t->arena, &m->unit, "1");
}

bool as_trace_add_metric(assay_trace *t, const as_trace_metric *metric)
{
    as_trace_metric m = *metric;
    if (!metric_names(t, &m) || !as_trace_grow_heap((void **)&t->metrics, &t->cap_metrics, t->n_metrics + 1, sizeof *t->metrics))
        return false;
    t->metrics[t->n_metrics++] = m;
    return true;
}

bool as_trace_add_mark(assay_trace *t, const as_trace_mark *mark)
{
    as_trace_mark m = *mark;
    if (!copy(&t->arena, &m.name, "") || !GROW(t, marks))
        return false;
    t->marks[t->n_marks++] = m;
    return true;
}

const char *as_trace_keep(assay_trace *t, const char *text) { return as_arena_text(&t->arena, text); }

/* --- Candidates in turns ---------------------------------------------------------------------------------- */

static const char *const state_names[AS_TRACE_N_STATES] = {"complete", "partial", "timeout", "failed", "refused"};
static const char *const layout_names[AS_N_MEMORY_LAYOUTS] = {"shared", "fixed", "random", "relaunched"};

const char *as_trace_state_text(as_trace_state state)
{
    return (unsigned)state < AS_TRACE_N_STATES ? state_names[state] : "unknown";
}
const char *as_work_text(as_work work)
{
    static const char *const names[] = {
        [AS_WORK_OTHER] = "other", [AS_WORK_INFERENCE] = "inference", [AS_WORK_TRAINING] = "training"};
    return (unsigned)work < AS_N_WORKS ? names[work] : "unknown";
}

const char *as_memory_layout_text(as_memory_layout l) { return (unsigned)l < AS_N_MEMORY_LAYOUTS ? layout_names[l] : "unknown"; }

bool as_trace_reserve_turns(assay_trace *t, size_t n_turns, size_t n_shots)
{
    return as_trace_grow_heap((void **)&t->turns, &t->cap_turns, t->n_turns + n_turns, sizeof *t->turns) &&
           as_trace_grow_heap((void **)&t->shots, &t->cap_shots, t->n_shots + n_shots, sizeof *t->shots);
}

bool as_trace_per_item(const assay_trace *t, int a, int b)
{
    double x = t->arms[a].items, y = t->arms[b].items;
    return x > 0 && y > 0 && x != y; /* false for NaN */
}

/* --- The hot records -------------------------------------------------------------------------------- */

/* Makes room for `more` beyond n; touches every page now, not between two stamps. */
static bool reserve(void *array, size_t n, size_t *capacity, size_t more, size_t bytes_each)
{
    size_t want;
    if (__builtin_add_overflow(n, more, &want))
        return false;
    if (want <= *capacity)
        return true;
    unsigned char *items = want <= SIZE_MAX / bytes_each ? realloc(*(void **)array, want * bytes_each) : NULL;
    if (!items)
        return false;
    for (size_t i = n * bytes_each; i < want * bytes_each; i += PAGE_BYTES)
        ((volatile unsigned char *)items)[i] = 0;
    *(void **)array = items;
    *capacity = want;
    return true;
}

#define RESERVE(t, items, more) reserve(&(t)->items, (t)->n_##items, &(t)->cap_##items, (more), sizeof *(t)->items)

bool as_trace_reserve(assay_trace *t, size_t n_spans, size_t n_samples, size_t n_warmup, size_t n_readings)
{
    return RESERVE(t, spans, n_spans) && RESERVE(t, samples, n_samples) && RESERVE(t, warmup, n_warmup) &&
           RESERVE(t, readings, n_readings);
}

bool as_trace_add_span(assay_trace *t, const as_span *span)
{
    if (t->n_spans == t->cap_spans)
        return false;
    t->spans[t->n_spans++] = *span;
    return true;
}

bool as_trace_add_sample(assay_trace *t, const as_sample *sample)
{
    if (t->n_samples == t->cap_samples)
        return false;
    t->samples[t->n_samples++] = *sample;
    return true;
}

bool as_trace_add_warmup(assay_trace *t, const as_sample *sample)
{
    if (t->n_warmup == t->cap_warmup)
        return false;
    t->warmup[t->n_warmup++] = *sample;
    return true;
}

bool as_trace_add_reading(assay_trace *t, const as_reading *reading)
{
    if (t->n_readings == t->cap_readings)
        return false;
    t->readings[t->n_readings++] = *reading;
    return true;
}

double as_trace_run_bound_ns(const assay_trace *t)
{
    enum { MOST = 1024 }; /* the quartile of this many, evenly spaced, is as good as that of all */
    const double slack = 1.25;
    double       ns[MOST];
    size_t       n = 0, every = t->n_samples / MOST + 1;
    if (*t->device && strncmp(t->device, "cpu", 3))
        return (double)INFINITY;
    for (size_t i = 0; i < t->n_samples; i += every) {
        const as_sample *s = &t->samples[i];
        if (s->n_runs && s->end_ticks > s->begin_ticks)
            ns[n++] = (double)(s->end_ticks - s->begin_ticks) * t->ns_per_tick / s->n_runs;
    }
    if (!n)
        return (double)INFINITY;
    as_sort(ns, n);
    return slack * as_quantile_sorted(ns, n, .25);
}

double as_trace_spans_ns(const assay_trace *t, uint64_t n_spans)
{
    return t->span_cost_ns > 0 && isfinite(t->span_cost_ns) ? (double)n_spans * t->span_cost_ns : 0;
}
