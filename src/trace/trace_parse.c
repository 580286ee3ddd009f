/* trace_parse.c - reads the contents of the chunks of a trace.  Nothing in them is trusted: every index is checked, and memory
 * grows only with bytes that were really read. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/text.h"
#include "trace/format.h"

typedef as_trace_follow reader;
#define lie as_chunk_lie

assay_status as_chunk_lie(as_trace_follow *r, const char *format, ...)
{
    char    text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return as_fail(r->env, ASSAY_BAD_INPUT, "trace: %s: chunk %s at byte %llu: %s", r->path, r->type, (unsigned long long)r->at,
                   text);
}

static assay_status item_lie(reader *r, const char *why) { return lie(r, "item %zu: %s", r->item, why); }

static assay_status no_room(reader *r)
{
    return as_fail(r->env, ASSAY_NO_MEMORY, "trace: %s: chunk %s at byte %llu: not enough memory for it", r->path, r->type,
                   (unsigned long long)r->at);
}

/* --- JSON values ------------------------------------------------------------------------------------------ */

/* Jansson has checked the UTF-8 and refuses NUL inside a string. */
static assay_status get_text(reader *r, const json_t *object, const char *key, const char **out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return lie(r, "item %zu: \"%s\" is not text", r->item, key);
    *out = json_string_value(value);
    return ASSAY_OK;
}

static bool digits_value(const char *s, uint64_t *out)
{
    uint64_t value = 0;
    if (!*s)
        return false;
    for (; *s; s++)
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return false;
    *out = value;
    return true;
}

static bool u64_value(const json_t *value, uint64_t *out)
{
    if (json_is_string(value))
        return digits_value(json_string_value(value), out);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static assay_status get_u64(reader *r, const json_t *object, const char *key, uint64_t *out)
{
    if (!u64_value(json_object_get(object, key), out))
        return lie(r, "item %zu: \"%s\" is not a count", r->item, key);
    return ASSAY_OK;
}

static assay_status get_int(reader *r, const json_t *object, const char *key, int *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value) || json_integer_value(value) < INT32_MIN || json_integer_value(value) > INT32_MAX)
        return lie(r, "item %zu: \"%s\" is not a whole number of 32 bits", r->item, key);
    *out = (int)json_integer_value(value);
    return ASSAY_OK;
}

static assay_status get_u32(reader *r, const json_t *object, const char *key, uint32_t *out)
{
    uint64_t value;
    AS_TRY(get_u64(r, object, key, &value));
    if (value > UINT32_MAX)
        return lie(r, "item %zu: \"%s\" is more than 32 bits hold", r->item, key);
    *out = (uint32_t)value;
    return ASSAY_OK;
}

static assay_status get_i64(reader *r, const json_t *object, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return lie(r, "item %zu: \"%s\" is not a whole number", r->item, key);
    *out = json_integer_value(value);
    return ASSAY_OK;
}

static assay_status get_bool(reader *r, const json_t *object, const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_boolean(value))
        return lie(r, "item %zu: \"%s\" is neither true nor false", r->item, key);
    *out = json_is_true(value);
    return ASSAY_OK;
}

static assay_status get_chars(reader *r, const json_t *object, const as_field *f, char *out)
{
    const char *text = "";
    AS_TRY(get_text(r, object, f->key, &text));
    if (strlen(text) >= f->size)
        return lie(r, "item %zu: \"%s\" is longer than %zu bytes", r->item, f->key, f->size - 1);
    memcpy(out, text, strlen(text) + 1);
    return ASSAY_OK;
}

static assay_status get_word(reader *r, const json_t *object, const as_field *f, int *out)
{
    const char *text = "";
    AS_TRY(get_text(r, object, f->key, &text));
    for (int i = 0; i < (int)f->size; i++)
        if (!strcmp(text, f->word(i))) {
            *out = i;
            return ASSAY_OK;
        }
    return lie(r, "item %zu: \"%s\" is \"%.40s\", which is not a known word", r->item, f->key, text);
}

static assay_status get_f64(reader *r, const json_t *object, const char *key, double *out)
{
    const json_t *value = json_object_get(object, key);
    const char   *text = json_string_value(value);
    if (json_is_null(value))
        *out = NAN;
    else if (json_is_number(value))
        *out = json_number_value(value);
    else if (text && !strcmp(text, "inf"))
        *out = INFINITY;
    else if (text && !strcmp(text, "-inf"))
        *out = -INFINITY;
    else
        return lie(r, "item %zu: \"%s\" is neither a number nor null", r->item, key);
    return ASSAY_OK;
}

/* The texts live as long as the chunk, not as long as the item. */
static assay_status get_field(reader *r, const json_t *object, const as_field *f, void *at)
{
    switch (f->kind) {
    case AS_FIELD_TEXT_OR_NULL:
        if (json_is_null(json_object_get(object, f->key)))
            return ASSAY_OK;
        return get_text(r, object, f->key, at);
    case AS_FIELD_TEXT: return get_text(r, object, f->key, at);
    case AS_FIELD_CHARS: return get_chars(r, object, f, at);
    case AS_FIELD_WORD: return get_word(r, object, f, at);
    case AS_FIELD_BOOL: return get_bool(r, object, f->key, at);
    case AS_FIELD_INT: return get_int(r, object, f->key, at);
    case AS_FIELD_U32: return get_u32(r, object, f->key, at);
    case AS_FIELD_I64: return get_i64(r, object, f->key, at);
    case AS_FIELD_U64: return get_u64(r, object, f->key, at);
    case AS_FIELD_F64: return get_f64(r, object, f->key, at);
    }
    return ASSAY_OK;
}

static assay_status get_fields(reader *r, const json_t *object, const as_field *fields, void *item)
{
    for (const as_field *f = fields; f->key; f++)
        if (!f->younger || json_object_get(object, f->key))
            AS_TRY(get_field(r, object, f, (char *)item + f->at));
    return ASSAY_OK;
}

/* The same for an existing item that may be read many times: texts that have changed are copied into the trace. */
static assay_status get_fields_kept(reader *r, const json_t *object, const as_field *fields, void *item)
{
    for (const as_field *f = fields; f->key; f++) {
        void *at = (char *)item + f->at;
        if (f->younger && !json_object_get(object, f->key))
            continue;
        if (f->kind != AS_FIELD_TEXT) {
            AS_TRY(get_field(r, object, f, at));
            continue;
        }
        const char *text = NULL, **kept = at;
        AS_TRY(get_text(r, object, f->key, &text));
        if (*kept && !strcmp(*kept, text))
            continue;
        text = as_trace_keep(r->t, text);
        if (!text)
            return no_room(r);
        *kept = text;
    }
    return ASSAY_OK;
}

/* ["a", "b"] */
static assay_status get_pair(reader *r, const json_t *pair, const char **a, const char **b)
{
    if (json_array_size(pair) != 2 || !json_is_string(json_array_get(pair, 0)) || !json_is_string(json_array_get(pair, 1)))
        return item_lie(r, "not a pair of texts");
    *a = json_string_value(json_array_get(pair, 0));
    *b = json_string_value(json_array_get(pair, 1));
    return ASSAY_OK;
}

/* --- JSON chunks -------------------------------------------------------------------------------------------- */

static assay_status clock_read(reader *r, const json_t *o)
{
    char why[AS_FAULT_BYTES];
    if (r->has_clock)
        return lie(r, "a second clock");
    AS_TRY(get_fields_kept(r, o, as_clock_fields, r->t));
    if (!as_trace_clock_ok(r->t, why))
        return lie(r, "%s", why);
    r->has_clock = true;
    return ASSAY_OK;
}

static assay_status note_read(reader *r, const json_t *o)
{
    const char *key, *value;
    AS_TRY(get_pair(r, o, &key, &value));
    return as_trace_add_note(r->t, key, "%s", value) ? ASSAY_OK : no_room(r);
}

static assay_status refusals_read(reader *r, const json_t *list, as_trace_step *step)
{
    if (!json_is_array(list))
        return item_lie(r, "\"refused\" is not a list");
    size_t n = json_array_size(list);
    step->refused = calloc(n ? n : 1, sizeof *step->refused);
    if (!step->refused)
        return no_room(r);
    step->n_refused = (int)n; /* below 2^31, because each takes more than 8 bytes in the file */
    for (size_t i = 0; i < n; i++)
        AS_TRY(get_pair(r, json_array_get(list, i), &step->refused[i].kernel, &step->refused[i].why));
    return ASSAY_OK;
}

/* Older traces, without the inputs of steps, have no list; then `ints` stays NULL. */
static assay_status inputs_read(reader *r, const json_t *list, as_trace_step *step, int **ints)
{
    if (!list)
        return ASSAY_OK;
    if (!json_is_array(list))
        return item_lie(r, "\"inputs\" is not a list");
    size_t n = json_array_size(list);
    if (n > r->t->n_steps)
        return item_lie(r, "it has more inputs than there are steps before it");
    *ints = calloc(n ? n : 1, sizeof **ints);
    if (!*ints)
        return no_room(r);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > INT32_MAX)
            return item_lie(r, "\"inputs\" contains a value that is not a step");
        (*ints)[i] = (int)json_integer_value(value);
    }
    step->inputs = *ints;
    step->n_inputs = (int)n;
    return ASSAY_OK;
}

/* Steps that are their own and only part have no list.  The texts belong to the JSON: adding the step copies them. */
static assay_status parts_read(reader *r, const json_t *list, as_trace_step *step, const char ***texts)
{
    if (!list)
        return ASSAY_OK;
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > INT32_MAX)
        return item_lie(r, "\"parts\" is not a list");
    *texts = calloc(n ? n : 1, sizeof **texts);
    if (!*texts)
        return no_room(r);
    for (size_t i = 0; i < n; i++)
        if (!((*texts)[i] = json_string_value(json_array_get(list, i))))
            return item_lie(r, "\"parts\" holds what is not a text");
    step->parts = *texts;
    step->n_parts = (int)n;
    return ASSAY_OK;
}

static assay_status step_read(reader *r, const json_t *o)
{
    char          why[AS_FAULT_BYTES];
    int          *inputs = NULL;
    const char  **parts = NULL;
    as_trace_step step = {0};
    assay_status  status = get_fields(r, o, as_step_choice_fields, &step);
    if (status == ASSAY_OK)
        status = get_fields(r, o, as_step_work_fields, &step);
    if (status == ASSAY_OK)
        status = refusals_read(r, json_object_get(o, "refused"), &step);
    if (status == ASSAY_OK)
        status = inputs_read(r, json_object_get(o, "inputs"), &step, &inputs);
    if (status == ASSAY_OK)
        status = parts_read(r, json_object_get(o, "parts"), &step, &parts);
    if (status == ASSAY_OK && !as_trace_step_ok(&step, r->t->n_steps, why))
        status = item_lie(r, why);
    if (status == ASSAY_OK && as_trace_add_step(r->t, &step) < 0)
        status = no_room(r);
    free(step.refused);
    free(inputs);
    free(parts);
    return status;
}

static assay_status buffer_read(reader *r, const json_t *o)
{
    char            why[AS_FAULT_BYTES];
    as_trace_buffer b = {0};
    AS_TRY(get_fields(r, o, as_buffer_fields, &b));
    if (!as_trace_buffer_ok(r->t, &b, why))
        return item_lie(r, why);
    return as_trace_add_buffer(r->t, &b) ? ASSAY_OK : no_room(r);
}

static assay_status sensor_read(reader *r, const json_t *o)
{
    char            why[AS_FAULT_BYTES];
    as_trace_sensor s = {0};
    AS_TRY(get_fields(r, o, as_sensor_fields, &s));
    if (!as_trace_sensor_ok(&s, why))
        return item_lie(r, why);
    return as_trace_add_sensor(r->t, &s) >= 0 ? ASSAY_OK : no_room(r);
}

static assay_status roof_read(reader *r, const json_t *o)
{
    as_trace_roof x = {.today = (double)NAN, .disturbed = 1}; /* an older file does not say that it was clean */
    AS_TRY(get_fields(r, o, as_roof_fields, &x));
    x.n_chunks = x.n_chunks > x.n_clean ? x.n_chunks : x.n_clean;
    return as_trace_add_roof(r->t, &x) ? ASSAY_OK : no_room(r);
}

static assay_status scalars_read(reader *r, const json_t *o)
{
    AS_TRY(get_fields_kept(r, o, as_scalar_fields, r->t));
    return r->t->sample_every ? ASSAY_OK : lie(r, "\"sample_every\" is 0");
}

static assay_status mark_read(reader *r, const json_t *o)
{
    as_trace_mark m = {0};
    AS_TRY(get_fields(r, o, as_mark_fields, &m));
    r->n.marks++;
    return as_trace_add_mark(r->t, &m) ? ASSAY_OK : no_room(r);
}

static assay_status context_read(reader *r, const json_t *o)
{
    as_trace_context c = {0};
    AS_TRY(get_fields(r, o, as_context_fields, &c));
    return as_trace_append_context(r->t, &c) ? ASSAY_OK : no_room(r);
}

static assay_status frame_read(reader *r, const json_t *o)
{
    as_trace_frame f = {0};
    char           why[AS_FAULT_BYTES];
    AS_TRY(get_fields(r, o, as_frame_fields, &f));
    if (!as_trace_frame_ok(r->t, &f, why))
        return item_lie(r, why);
    return as_trace_append_frame(r->t, &f) ? ASSAY_OK : no_room(r);
}

static assay_status lane_read(reader *r, const json_t *o)
{
    as_trace_lane l = {0};
    AS_TRY(get_fields(r, o, as_lane_fields, &l));
    return as_trace_add_lane(r->t, &l) >= 0 ? ASSAY_OK : no_room(r);
}

static assay_status place_read(reader *r, const json_t *o)
{
    if (!json_is_string(o))
        return item_lie(r, "not a text");
    return as_trace_append_place(r->t, json_string_value(o)) ? ASSAY_OK : no_room(r);
}

/* The first list sets the number; the last one counts. */
static assay_status arms_read(reader *r, const json_t *list)
{
    assay_trace *t = r->t;
    char         why[AS_FAULT_BYTES];
    size_t       n = json_array_size(list);
    if (!n || n > AS_TRACE_MAX_ARMS || (t->n_arms && n != (size_t)t->n_arms))
        return lie(r, "%zu candidates, but there were %d", n, t->n_arms);
    if (!t->n_arms && !as_trace_arms_add(t, (int)n))
        return no_room(r);
    for (r->item = 0; r->item < n; r->item++) {
        AS_TRY(get_fields_kept(r, json_array_get(list, r->item), as_arm_fields, &t->arms[r->item]));
        if (!as_trace_arm_ok(&t->arms[r->item], why))
            return item_lie(r, why);
    }
    return ASSAY_OK;
}

/* Names of metrics from here on, by their number. */
static assay_status name_read(reader *r, const json_t *o)
{
    const char *name, *unit;
    AS_TRY(get_pair(r, o, &name, &unit));
    if (r->n_names == r->cap_names) {
        size_t                 cap = r->cap_names ? 2 * r->cap_names : 16;
        struct as_metric_name *moved = realloc(r->names, cap * sizeof *moved);
        if (!moved)
            return no_room(r);
        r->names = moved;
        r->cap_names = cap;
    }
    r->names[r->n_names] = (struct as_metric_name){as_trace_keep(r->t, name), as_trace_keep(r->t, unit)};
    if (!r->names[r->n_names].name || !r->names[r->n_names].unit)
        return no_room(r);
    r->n_names++;
    return ASSAY_OK;
}

static assay_status totals_read(reader *r, const json_t *list)
{
    assay_trace *t = r->t;
    char         why[AS_FAULT_BYTES];
    size_t       n = json_array_size(list);
    if (r->has_totals)
        return lie(r, "totals a second time");
    t->totals = AS_TAKE(&t->arena, as_step_total, n);
    if (!t->totals)
        return no_room(r);
    for (size_t i = 0; i < n; i++) {
        const json_t  *item = json_array_get(list, i);
        as_step_total *total = &t->totals[i];
        if (json_array_size(item) != 4 || !u64_value(json_array_get(item, 0), &total->count) ||
            !u64_value(json_array_get(item, 1), &total->sum_ticks) || !u64_value(json_array_get(item, 2), &total->min_ticks) ||
            !u64_value(json_array_get(item, 3), &total->max_ticks))
            return lie(r, "item %zu: not four counts", i);
    }
    t->n_totals = n;
    r->has_totals = true;
    return as_trace_totals_ok(t, why) ? ASSAY_OK : lie(r, "%s", why);
}

static assay_status end_read(reader *r, const json_t *o)
{
    const assay_trace *t = r->t;
    const struct {
        const char *key;
        uint64_t    n;
        bool        younger;
    } counts[] = {{"notes", t->n_notes, false},
                  {"steps", t->n_steps, false},
                  {"buffers", t->n_buffers, false},
                  {"sensors", t->n_sensors, false},
                  {"roofs", t->n_roofs, false},
                  {"warmup", r->n.warmup, false},
                  {"spans", r->n.spans, false},
                  {"samples", r->n.samples, false},
                  {"readings", r->n.readings, false},
                  {"metrics", r->n.metrics, true},
                  {"marks", r->n.marks, true},
                  {"turns", r->turns.n_turns, true},
                  {"shots", r->turns.n_shots, true},
                  {"contexts", t->n_contexts, true},
                  {"frames", t->n_frames, true},
                  {"lanes", t->n_lanes, true},
                  {"places", t->n_places, true},
                  {"stacks", t->n_stacks, true},
                  {"looks", r->n.looks, true},
                  {"stack_totals", t->n_stack_totals, true},
                  {"memory_events", r->n.memory_events, true},
                  {"memory_sites", r->n.memory_sites, true}};
    for (size_t i = 0; i < AS_COUNT(counts); i++) {
        uint64_t n;
        if (counts[i].younger && !json_object_get(o, counts[i].key))
            continue;
        AS_TRY(get_u64(r, o, counts[i].key, &n));
        if (n != counts[i].n)
            return lie(r, "the file should have %llu %s and has %llu", (unsigned long long)n, counts[i].key,
                       (unsigned long long)counts[i].n);
    }
    r->has_end = true;
    return ASSAY_OK;
}

typedef enum json_shape { JSON_AN_OBJECT, JSON_A_LIST, JSON_EACH_OF_A_LIST } json_shape;

typedef assay_status (*json_read)(reader *r, const json_t *value);

static assay_status json_chunk_read(reader *r, json_shape shape, json_read read, const uint8_t *payload, size_t n)
{
    char    what[64];
    json_t *root;
    snprintf(what, sizeof what, "trace: chunk %s at byte %llu", r->type, (unsigned long long)r->at);
    AS_TRY(as_json_parse(r->env, what, r->path, (const char *)payload, n, &root));
    assay_status status = ASSAY_OK;
    r->item = 0;
    if (shape == JSON_AN_OBJECT ? !json_is_object(root) : !json_is_array(root))
        status = lie(r, "not %s", shape == JSON_AN_OBJECT ? "an object" : "a list");
    else if (shape != JSON_EACH_OF_A_LIST)
        status = read(r, root);
    else
        for (size_t i = 0; i < json_array_size(root) && status == ASSAY_OK; i++) {
            r->item = i;
            status = read(r, json_array_get(root, i));
        }
    json_decref(root);
    return status;
}

/* --- Record chunks -------------------------------------------------------------------------------------------- */

enum { BATCH = 256 };

static bool nothing_behind(const uint8_t *p, char why[AS_FAULT_BYTES])
{
    if (as_le32(p))
        snprintf(why, AS_FAULT_BYTES, "its last four bytes are not zero");
    return !as_le32(p);
}

static bool span_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    uint32_t kind_thread = as_le32(p + 24);
    as_span *s = item;
    *s = (as_span){.begin_ticks = as_le64(p),
                   .end_ticks = as_le64(p + 8),
                   .step = (int32_t)as_le32(p + 16),
                   .run = as_le32(p + 20),
                   .kind = (uint16_t)(kind_thread & 0xffff),
                   .thread = (uint16_t)(kind_thread >> 16)};
    return nothing_behind(p + 28, why) && as_span_ok(r->t, s, why);
}

static bool sample_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_sample *s = item;
    (void)r;
    *s = (as_sample){.begin_ticks = as_le64(p),
                     .end_ticks = as_le64(p + 8),
                     .cpu_ns = as_le64(p + 16),
                     .first_run = as_le32(p + 24),
                     .n_runs = as_le32(p + 28)};
    return as_sample_ok(s, why);
}

static bool reading_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_reading *x = item;
    *x = (as_reading){.ticks = as_le64(p), .value = as_lef64(p + 8), .sensor = as_le32(p + 16), .sample = as_le32(p + 20)};
    return as_reading_ok(r->t, x, why);
}

static bool metric_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_trace_metric *m = item;
    uint32_t         name = as_le32(p + 24);
    if (name >= r->n_names) {
        snprintf(why, AS_FAULT_BYTES, "its name is %u, but there are %zu", name, r->n_names);
        return false;
    }
    *m = (as_trace_metric){.name = r->names[name].name,
                           .unit = r->names[name].unit,
                           .ticks = as_le64(p),
                           .step = as_le64(p + 8),
                           .value = as_lef64(p + 16)};
    return nothing_behind(p + 28, why);
}

static bool turn_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_turn *x = item;
    *x = (as_turn){.launch = as_le32(p),
                   .round = as_le32(p + 4),
                   .arm = as_le32(p + 8),
                   .order = as_le32(p + 12),
                   .first_shot = as_le32(p + 16),
                   .n_shots = as_le32(p + 20),
                   .switches = as_le32(p + 24),
                   .start_ns = as_lef64(p + 32),
                   .wall_ns = as_lef64(p + 40),
                   .cpu_ns = as_lef64(p + 48),
                   .busy = as_lef64(p + 56),
                   .steal = as_lef64(p + 64),
                   .fma_ns = as_lef64(p + 72),
                   .copy_ns = as_lef64(p + 80)};
    return nothing_behind(p + 28, why) && as_turn_ok(r->t, &r->turns, x, why);
}

static bool shot_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    *(as_shot *)item = (as_shot){as_lef32(p), as_lef32(p + 4)};
    r->turns.n_shots++;
    return as_shots_ok(&r->turns, why);
}

static bool stack_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_trace_stack *x = item;
    *x = (as_trace_stack){.parent = (int32_t)as_le32(p), .frame = (int32_t)as_le32(p + 4)};
    return as_trace_stack_ok(r->t, x, r->t->n_stacks, why);
}

static bool look_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_stack_sample *x = item;
    uint32_t         lane_state = as_le32(p + 20);
    *x = (as_stack_sample){.ticks = as_le64(p),
                           .weight_ns = as_le64(p + 8),
                           .stack = as_le32(p + 16),
                           .lane = (uint16_t)(lane_state & 0xffff),
                           .state = (uint16_t)(lane_state >> 16)};
    return as_look_ok(r->t, x, why);
}

static bool stack_total_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_stack_total *x = item;
    uint32_t        lane = as_le32(p + 52);
    *x = (as_stack_total){.count = as_le64(p),
                          .sum_ticks = as_le64(p + 8),
                          .min_ticks = as_le64(p + 16),
                          .max_ticks = as_le64(p + 24),
                          .flops = as_le64(p + 32),
                          .bytes = as_le64(p + 40),
                          .stack = as_le32(p + 48),
                          .lane = (uint16_t)lane};
    if (lane > UINT16_MAX)
        snprintf(why, AS_FAULT_BYTES, "its thread is %u", lane);
    return lane <= UINT16_MAX && nothing_behind(p + 56, why) && nothing_behind(p + 60, why) && as_stack_total_ok(r->t, x, why);
}

static bool memory_event_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_memory_event *x = item;
    uint32_t         kind_lane = as_le32(p + 36), places = as_le32(p + 40);
    *x = (as_memory_event){.ticks = as_le64(p),
                           .took_ticks = as_le64(p + 8),
                           .id = as_le64(p + 16),
                           .bytes = as_le64(p + 24),
                           .stack = as_le32(p + 32),
                           .kind = (uint16_t)(kind_lane & 0xffff),
                           .lane = (uint16_t)(kind_lane >> 16),
                           .place = (uint16_t)(places & 0xffff),
                           .to = (uint16_t)(places >> 16)};
    return nothing_behind(p + 44, why) && as_memory_event_ok(r->t, x, why);
}

static bool memory_site_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    as_memory_site *x = item;
    uint32_t        lane = as_le32(p + 68);
    *x = (as_memory_site){.ticks = as_le64(p),
                          .live_bytes = as_le64(p + 8),
                          .peak_bytes = as_le64(p + 16),
                          .largest_bytes = as_le64(p + 24),
                          .allocs = as_le64(p + 32),
                          .frees = as_le64(p + 40),
                          .bytes = as_le64(p + 48),
                          .temporary = as_le64(p + 56),
                          .stack = as_le32(p + 64),
                          .lane = (uint16_t)lane};
    if (lane >> 16) {
        snprintf(why, AS_FAULT_BYTES, "its thread is %u", lane);
        return false;
    }
    return as_memory_site_ok(r->t, x, why);
}

static bool progress_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    double *done = item;
    (void)r;
    *done = as_lef64(p);
    if (!(*done >= 0 && *done <= 1))
        snprintf(why, AS_FAULT_BYTES, "a share of %g is done", *done);
    return *done >= 0 && *done <= 1;
}

static bool stage_unpack(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES])
{
    uint32_t phase = as_le32(p);
    double   expect = as_lef64(p + 8), beyond = as_lef64(p + 16);
    bool     ok = phase < AS_N_PHASES && !(expect < 0) && beyond >= 0;
    (void)r;
    *(as_trace_stage *)item = (as_trace_stage){(as_phase)phase, expect, beyond};
    if (!ok)
        snprintf(why, AS_FAULT_BYTES, "stage %u takes %g s, %g of them beyond the budget", phase, expect, beyond);
    return ok;
}

/* --- Records kept, added to totals, or handed on ----------------------------------------------------------------------------- */

/* Makes room for at least as many again, so that many small chunks do not cost a copy each; not above `most`, if given. */
static size_t room_for(size_t n, size_t capacity, size_t more, size_t most)
{
    size_t wanted = more > n ? more : n;
    wanted = most && n + wanted > most && n + more <= most ? most - n : wanted;
    return more <= capacity - n ? 0 : wanted;
}

/* Steps may have been added since the last spans. */
static bool totals_fit(reader *r)
{
    size_t n = r->t->n_steps;
    if (n <= r->n_totals)
        return true;
    as_step_total *moved = realloc(r->totals, n * sizeof *moved);
    if (!moved)
        return false;
    memset(moved + r->n_totals, 0, (n - r->n_totals) * sizeof *moved);
    r->totals = moved;
    r->n_totals = n;
    return true;
}

/* From here on only runs before this one are kept, because they are complete. */
static void fold_from(reader *r, uint32_t run)
{
    assay_trace *t = r->t;
    size_t       n = 0;
    r->folds = true;
    r->kept_before = run;
    for (size_t i = 0; i < t->n_spans; i++)
        if (t->spans[i].run < run)
            t->spans[n++] = t->spans[i];
    t->n_spans = n;
}

static bool spans_take(reader *r, const void *items, size_t n)
{
    const as_span *spans = items;
    assay_trace   *t = r->t;
    size_t         most = r->settings.kept_spans;
    r->n.spans += n;
    if (r->settings.spans) {
        r->settings.spans(r->settings.arg, t, spans, n);
        return true;
    }
    if (!totals_fit(r) || !as_trace_reserve(t, room_for(t->n_spans, t->cap_spans, n, most + BATCH), 0, 0, 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        const as_span *s = &spans[i];
        if (s->kind == AS_SPAN_STEP && s->step >= 0)
            as_step_total_add(&r->totals[s->step], s->end_ticks - s->begin_ticks);
        if (s->kind == AS_SPAN_USER) { /* they belong to no run: the first ones are kept */
            t->user_spans_left += t->n_spans >= most;
            if (t->n_spans < most)
                as_trace_add_span(t, s);
            continue;
        }
        if (r->folds && s->run >= r->kept_before)
            continue;
        if (t->n_spans >= most)
            fold_from(r, s->run < r->kept_before || !r->folds ? s->run : r->kept_before);
        if (!r->folds || s->run < r->kept_before)
            as_trace_add_span(t, s);
    }
    return true;
}

/* Too many: every second one is enough for the statistics. */
static void samples_thin(reader *r)
{
    assay_trace *t = r->t;
    for (size_t i = 0; 2 * i < t->n_samples; i++)
        t->samples[i] = t->samples[2 * i];
    t->n_samples = (t->n_samples + 1) / 2;
    r->keeps_every *= 2;
}

static bool samples_take(reader *r, const void *items, size_t n)
{
    const as_sample *samples = items;
    assay_trace     *t = r->t;
    size_t           most = r->settings.kept_samples;
    uint64_t         first = r->n.samples;
    r->n.samples += n;
    if (r->settings.samples) {
        r->settings.samples(r->settings.arg, t, samples, n);
        return true;
    }
    if (!as_trace_reserve(t, 0, room_for(t->n_samples, t->cap_samples, n, most + BATCH), 0, 0))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (t->n_samples >= most)
            samples_thin(r);
        if ((first + i) % r->keeps_every == 0)
            as_trace_add_sample(t, &samples[i]);
    }
    return true;
}

static bool warmup_take(reader *r, const void *items, size_t n)
{
    assay_trace *t = r->t;
    r->n.warmup += n;
    if (!as_trace_reserve(t, 0, 0, room_for(t->n_warmup, t->cap_warmup, n, 0), 0))
        return false;
    for (size_t i = 0; i < n; i++)
        as_trace_add_warmup(t, (const as_sample *)items + i);
    return true;
}

static bool readings_take(reader *r, const void *items, size_t n)
{
    assay_trace *t = r->t;
    r->n.readings += n;
    if (r->settings.readings) {
        r->settings.readings(r->settings.arg, t, items, n);
        return true;
    }
    if (!as_trace_reserve(t, 0, 0, 0, room_for(t->n_readings, t->cap_readings, n, 0)))
        return false;
    for (size_t i = 0; i < n; i++)
        as_trace_add_reading(t, (const as_reading *)items + i);
    return true;
}

static bool metrics_take(reader *r, const void *items, size_t n)
{
    r->n.metrics += n;
    if (r->settings.metrics)
        r->settings.metrics(r->settings.arg, r->t, items, n);
    else
        for (size_t i = 0; i < n; i++)
            if (!as_trace_add_metric(r->t, (const as_trace_metric *)items + i))
                return false;
    return true;
}

static bool turns_take(reader *r, const void *items, size_t n)
{
    assay_trace *t = r->t;
    if (r->settings.turns) {
        r->settings.turns(r->settings.arg, t, items, n);
        return true;
    }
    if (!as_trace_reserve_turns(t, n, 0))
        return false;
    memcpy(t->turns + t->n_turns, items, n * sizeof *t->turns);
    t->n_turns += n;
    return true;
}

static bool shots_take(reader *r, const void *items, size_t n)
{
    assay_trace *t = r->t;
    if (r->settings.shots) {
        r->settings.shots(r->settings.arg, t, items, n);
        return true;
    }
    if (!as_trace_reserve_turns(t, 0, n))
        return false;
    memcpy(t->shots + t->n_shots, items, n * sizeof *t->shots);
    t->n_shots += n;
    return true;
}

static bool stack_take(reader *r, const void *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!as_trace_append_stack(r->t, (const as_trace_stack *)items + i))
            return false;
    return true;
}

static bool looks_take(reader *r, const void *items, size_t n)
{
    r->n.looks += n;
    if (r->settings.looks)
        r->settings.looks(r->settings.arg, r->t, items, n);
    else
        for (size_t i = 0; i < n; i++)
            if (!as_trace_add_look(r->t, (const as_stack_sample *)items + i))
                return false;
    return true;
}

static bool stack_totals_take(reader *r, const void *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!as_trace_add_stack_total(r->t, (const as_stack_total *)items + i))
            return false;
    return true;
}

static bool memory_events_take(reader *r, const void *items, size_t n)
{
    r->n.memory_events += n;
    if (r->settings.memory_events)
        r->settings.memory_events(r->settings.arg, r->t, items, n);
    else
        for (size_t i = 0; i < n; i++)
            if (!as_trace_add_memory_event(r->t, (const as_memory_event *)items + i))
                return false;
    return true;
}

static bool memory_sites_take(reader *r, const void *items, size_t n)
{
    r->n.memory_sites += n;
    for (size_t i = 0; i < n; i++)
        if (!as_trace_add_memory_site(r->t, (const as_memory_site *)items + i))
            return false;
    return true;
}

static bool progress_take(reader *r, const void *items, size_t n)
{
    if (r->settings.progress && n)
        r->settings.progress(r->settings.arg, ((const double *)items)[n - 1]);
    return true;
}

static bool stage_take(reader *r, const void *items, size_t n)
{
    if (r->settings.stage && n)
        r->settings.stage(r->settings.arg, (const as_trace_stage *)items + n - 1);
    return true;
}

typedef struct record_type {
    size_t file_bytes, item_bytes;
    bool (*unpack)(reader *r, const uint8_t *p, void *item, char why[AS_FAULT_BYTES]);
    bool (*take)(reader *r, const void *items, size_t n);
} record_type;

static const record_type spans = {AS_SPAN_BYTES, sizeof(as_span), span_unpack, spans_take};
static const record_type samples = {AS_SAMPLE_BYTES, sizeof(as_sample), sample_unpack, samples_take};
static const record_type warmup = {AS_SAMPLE_BYTES, sizeof(as_sample), sample_unpack, warmup_take};
static const record_type readings = {AS_READING_BYTES, sizeof(as_reading), reading_unpack, readings_take};
static const record_type metrics = {AS_METRIC_BYTES, sizeof(as_trace_metric), metric_unpack, metrics_take};
static const record_type turns = {AS_TURN_BYTES, sizeof(as_turn), turn_unpack, turns_take};
static const record_type shots = {AS_SHOT_BYTES, sizeof(as_shot), shot_unpack, shots_take};
static const record_type stack = {AS_STACK_BYTES, sizeof(as_trace_stack), stack_unpack, stack_take};
static const record_type looks = {AS_LOOK_BYTES, sizeof(as_stack_sample), look_unpack, looks_take};
static const record_type stack_totals = {AS_STACK_TOTAL_BYTES, sizeof(as_stack_total), stack_total_unpack, stack_totals_take};
static const record_type memory_events = {AS_MEMORY_EVENT_BYTES, sizeof(as_memory_event), memory_event_unpack, memory_events_take};
static const record_type memory_sites = {AS_MEMORY_SITE_BYTES, sizeof(as_memory_site), memory_site_unpack, memory_sites_take};
static const record_type progress = {AS_PROGRESS_BYTES, sizeof(double), progress_unpack, progress_take};
static const record_type stage = {AS_STAGE_BYTES, sizeof(as_trace_stage), stage_unpack, stage_take};

static assay_status records_read(reader *r, const record_type *type, const uint8_t *payload, size_t n)
{
    char why[AS_FAULT_BYTES] = "";
    union {
        as_span         span;
        as_sample       sample;
        as_reading      reading;
        as_trace_metric metric;
        as_turn         turn;
    } items[BATCH]; /* the largest of them */
    if (n % type->file_bytes)
        return lie(r, "%zu bytes are not a whole number of records of %zu bytes", n, type->file_bytes);
    n /= type->file_bytes;
    size_t at_once = type == &stack ? 1 : BATCH; /* a stack may refer to the one just before it */
    for (r->item = 0; r->item < n;) {
        size_t count = n - r->item < at_once ? n - r->item : at_once;
        for (size_t i = 0; i < count; i++, r->item++, payload += type->file_bytes)
            if (!type->unpack(r, payload, (char *)items + i * type->item_bytes, why))
                return item_lie(r, why);
        if (!type->take(r, items, count))
            return no_room(r);
    }
    return ASSAY_OK;
}

/* --- A chunk --------------------------------------------------------------------------------------------------- */

static const struct chunk_type {
    char               type[5];
    json_shape         shape;
    json_read          json;   /* either this */
    const record_type *record; /* or that */
} chunk_types[] = {
    {"CLCK", JSON_AN_OBJECT, clock_read, NULL},
    {"NOTE", JSON_EACH_OF_A_LIST, note_read, NULL},
    {"STEP", JSON_EACH_OF_A_LIST, step_read, NULL},
    {"BUFF", JSON_EACH_OF_A_LIST, buffer_read, NULL},
    {"SENS", JSON_EACH_OF_A_LIST, sensor_read, NULL},
    {"ROOF", JSON_EACH_OF_A_LIST, roof_read, NULL},
    {"MARK", JSON_EACH_OF_A_LIST, mark_read, NULL},
    {"ARMS", JSON_A_LIST, arms_read, NULL},
    {"MNAM", JSON_EACH_OF_A_LIST, name_read, NULL},
    {"SCAL", JSON_AN_OBJECT, scalars_read, NULL},
    {"TOTL", JSON_A_LIST, totals_read, NULL},
    {"END ", JSON_AN_OBJECT, end_read, NULL},
    {"SPAN", JSON_A_LIST, NULL, &spans},
    {"SAMP", JSON_A_LIST, NULL, &samples},
    {"WARM", JSON_A_LIST, NULL, &warmup},
    {"READ", JSON_A_LIST, NULL, &readings},
    {"METR", JSON_A_LIST, NULL, &metrics},
    {"TURN", JSON_A_LIST, NULL, &turns},
    {"SHOT", JSON_A_LIST, NULL, &shots},
    {"CTXT", JSON_EACH_OF_A_LIST, context_read, NULL},
    {"FRAM", JSON_EACH_OF_A_LIST, frame_read, NULL},
    {"LANE", JSON_EACH_OF_A_LIST, lane_read, NULL},
    {"PLAC", JSON_EACH_OF_A_LIST, place_read, NULL},
    {"STCK", JSON_A_LIST, NULL, &stack},
    {"LOOK", JSON_A_LIST, NULL, &looks},
    {"CALL", JSON_A_LIST, NULL, &stack_totals},
    {"MEMO", JSON_A_LIST, NULL, &memory_events},
    {"SITE", JSON_A_LIST, NULL, &memory_sites},
    {"PROG", JSON_A_LIST, NULL, &progress},
    {"STAG", JSON_A_LIST, NULL, &stage},
};

static const struct chunk_type *chunk_type_find(const char *type)
{
    for (size_t i = 0; i < AS_COUNT(chunk_types); i++)
        if (!memcmp(chunk_types[i].type, type, 4))
            return &chunk_types[i];
    return NULL;
}

assay_status as_chunk_read(as_trace_follow *r, uint32_t version, const uint8_t *payload, size_t n)
{
    const struct chunk_type *type = chunk_type_find(r->type);
    if (r->has_end)
        return lie(r, "it comes after the end");
    if (!type)
        return ASSAY_OK;
    if (version != AS_CHUNK_VERSION)
        return lie(r, "its version is %u; this program reads version %d", version, AS_CHUNK_VERSION);
    if (!r->has_clock && type->json != clock_read && type->record != &progress && type->record != &stage)
        return lie(r, "it comes before the clock");
    AS_TRY(type->json ? json_chunk_read(r, type->shape, type->json, payload, n) : records_read(r, type->record, payload, n));
    if (r->settings.chunk)
        r->settings.chunk(r->settings.arg, r->t, r->type);
    return ASSAY_OK;
}

/* Samples without their block, which was cut off, are dropped. */
static void shots_trim(assay_trace *t)
{
    uint64_t end = 0;
    for (size_t i = 0; i < t->n_turns; i++) {
        uint64_t at = (uint64_t)t->turns[i].first_shot + t->turns[i].n_shots;
        end = at > end ? at : end;
    }
    if (end < t->n_shots)
        t->n_shots = (size_t)end;
}

assay_status as_chunks_end(as_trace_follow *r)
{
    assay_trace *t = r->t;
    t->complete = r->has_end;
    t->sample_every *= r->keeps_every;
    if (!t->complete)
        shots_trim(t);
    if (!r->folds || r->has_totals)
        return ASSAY_OK;
    t->totals = AS_TAKE(&t->arena, as_step_total, r->n_totals);
    if (!t->totals)
        return no_room(r);
    memcpy(t->totals, r->totals, r->n_totals * sizeof *t->totals);
    t->n_totals = r->n_totals;
    if (t->n_totals != t->n_steps)
        t->n_totals = 0; /* steps that came after the last span */
    return ASSAY_OK;
}
