/* trace_json_steps.c - writes and reads what the candidates of a trial did step by step: the key "layers" of "assay.trial/1".
 *
 * Steps are objects, spans are columns.  Holds only what a diff of layers reads; a trace file has the rest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "trace/trace_json.h"

#define MAX_STEPS ((size_t)1 << 20)
#define MAX_SPANS ((size_t)1 << 24)

/* --- Writing ------------------------------------------------------------------------------------------ */

typedef enum column { RUN, STEP, KIND, BEGIN, LENGTH, N_COLUMNS } column;
static const char *const columns[N_COLUMNS] = {"run", "step", "kind", "begin", "length"};

static bool is_kept(const as_span *s) { return s->kind == AS_SPAN_RUN || s->kind == AS_SPAN_STEP || s->kind == AS_SPAN_DEVICE; }

static int64_t value_of(const as_span *s, column c)
{
    switch (c) {
    case RUN: return s->run;
    case STEP: return s->step;
    case KIND: return s->kind;
    case BEGIN: return (int64_t)s->begin_ticks;
    default: return (int64_t)(s->end_ticks - s->begin_ticks);
    }
}

static void step_write(const as_trace_step *s, as_json *w)
{
    as_json_object(w);
    as_json_key_i64(w, "arm", s->arm);
    as_json_key_text(w, "name", s->name);
    as_json_key_text(w, "op", s->op);
    as_json_key_text(w, "device", s->device);
    as_json_key_text(w, "kernel", s->kernel);
    as_json_key_text(w, "stage", s->stage);
    if (s->n_parts) {
        as_json_key(w, "parts");
        as_json_array(w);
        for (int i = 0; i < s->n_parts; i++)
            as_json_text(w, s->parts[i]);
        as_json_array_end(w);
    }
    as_json_object_end(w);
}

void as_trace_steps_write(const assay_trace *t, as_json *w)
{
    as_json_key(w, "layers");
    as_json_object(w);
    as_json_key_f64(w, "ns_per_tick", t->ns_per_tick);
    as_json_key(w, "steps");
    as_json_array(w);
    for (size_t i = 0; i < t->n_steps; i++)
        step_write(&t->steps[i], w);
    as_json_array_end(w);
    as_json_key(w, "spans");
    as_json_object(w);
    for (int c = 0; c < N_COLUMNS; c++) {
        as_json_key(w, columns[c]);
        as_json_array(w);
        for (size_t i = 0; i < t->n_spans; i++)
            if (is_kept(&t->spans[i]))
                as_json_i64(w, value_of(&t->spans[i], (column)c));
        as_json_array_end(w);
    }
    as_json_object_end(w);
    as_json_object_end(w);
}

/* --- Reading ------------------------------------------------------------------------------------------ */

typedef struct reader {
    assay_env   *env;
    const char  *what, *path;
    assay_trace *t;
} reader;

static assay_status refuse(const reader *r, const char *key, size_t item, const char *why)
{
    return as_fail(r->env, ASSAY_BAD_INPUT, "%s: %s: trial: \"layers\": %s %zu: %s", r->what, r->path, key, item, why);
}

static assay_status no_memory(const reader *r)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "%s: %s: not enough memory for the layers of a trial", r->what, r->path);
}

static const char *text_of(const json_t *o, const char *key) { return json_string_value(json_object_get(o, key)); }

static assay_status step_read(const reader *r, const json_t *o, size_t item)
{
    char          why[AS_FAULT_BYTES];
    const json_t *arm = json_object_get(o, "arm"), *parts = json_object_get(o, "parts");
    as_trace_step s = {.name = text_of(o, "name"),
                       .op = text_of(o, "op"),
                       .device = text_of(o, "device"),
                       .kernel = text_of(o, "kernel"),
                       .stage = text_of(o, "stage"),
                       .segment = -1};
    size_t        n = json_array_size(parts);
    if (!s.name || !s.op || !s.device || !s.kernel || !s.stage)
        return refuse(r, "step", item, "name, op, device, kernel or stage is missing or not a text");
    if (!json_is_integer(arm) || json_integer_value(arm) < 0 || json_integer_value(arm) >= r->t->n_arms)
        return refuse(r, "step", item, "its candidate does not exist");
    const char **texts = calloc(n ? n : 1, sizeof *texts);
    if (!texts)
        return no_memory(r);
    assay_status status = ASSAY_OK;
    for (size_t i = 0; i < n && status == ASSAY_OK; i++)
        if (!(texts[i] = json_string_value(json_array_get(parts, i))))
            status = refuse(r, "step", item, "\"parts\" holds what is not a text");
    s.arm = (int)json_integer_value(arm);
    s.parts = texts;
    s.n_parts = (int)n;
    if (status == ASSAY_OK && !as_trace_step_ok(&s, r->t->n_steps, why))
        status = refuse(r, "step", item, why);
    if (status == ASSAY_OK && as_trace_add_step(r->t, &s) < 0)
        status = no_memory(r);
    free(texts);
    return status;
}

static assay_status span_read(const reader *r, const json_t *const *lists, size_t item)
{
    char    why[AS_FAULT_BYTES];
    int64_t v[N_COLUMNS];
    for (int c = 0; c < N_COLUMNS; c++) {
        const json_t *value = json_array_get(lists[c], item);
        if (!json_is_integer(value))
            return refuse(r, "span", item, "holds what is not a whole number");
        v[c] = json_integer_value(value);
    }
    if (v[RUN] < 0 || v[RUN] > UINT32_MAX || v[STEP] < -1 || v[STEP] > INT32_MAX || v[KIND] < 0 || v[KIND] > UINT16_MAX ||
        v[BEGIN] < 0 || v[LENGTH] < 0 || v[BEGIN] > INT64_MAX - v[LENGTH])
        return refuse(r, "span", item, "a number is outside its range");
    as_span s = {.run = (uint32_t)v[RUN],
                 .step = (int32_t)v[STEP],
                 .kind = (uint16_t)v[KIND],
                 .begin_ticks = (uint64_t)v[BEGIN],
                 .end_ticks = (uint64_t)(v[BEGIN] + v[LENGTH])};
    if (!as_span_ok(r->t, &s, why))
        return refuse(r, "span", item, why);
    return as_trace_add_span(r->t, &s) ? ASSAY_OK : no_memory(r);
}

assay_status as_trace_steps_read(assay_env *env, const char *what, const char *path, const json_t *layers, assay_trace *t)
{
    reader        r = {.env = env, .what = what, .path = path, .t = t};
    const json_t *steps = json_object_get(layers, "steps"), *spans = json_object_get(layers, "spans"), *lists[N_COLUMNS];
    double        tick = json_number_value(json_object_get(layers, "ns_per_tick"));
    if (!json_is_array(steps) || json_array_size(steps) > MAX_STEPS || !(tick > 0) || !isfinite(tick))
        return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: trial: \"layers\": steps or ns_per_tick are missing or cannot be", what,
                       path);
    t->ns_per_tick = tick;
    for (size_t i = 0; i < json_array_size(steps); i++)
        AS_TRY(step_read(&r, json_array_get(steps, i), i));
    for (int c = 0; c < N_COLUMNS; c++) {
        lists[c] = json_object_get(spans, columns[c]);
        if (!json_is_array(lists[c]) || json_array_size(lists[c]) != json_array_size(lists[0]))
            return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: trial: \"layers\": spans: \"%s\" is missing or has another length", what,
                           path, columns[c]);
    }
    size_t n = json_array_size(lists[0]);
    if (n > MAX_SPANS || !as_trace_reserve(t, n, 0, 0, 0))
        return no_memory(&r);
    for (size_t i = 0; i < n; i++)
        AS_TRY(span_read(&r, lists, i));
    return ASSAY_OK;
}
