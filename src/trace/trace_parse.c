/* trace_parse.c - reads traces.  Nothing in the file is believed: lengths are held against what is there, every
 * index against what it points to, and memory grows only with bytes that were really read. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/format.h"

typedef struct reader {
    assay_env   *env;
    const char  *path;
    assay_trace *t;
    char         type[5]; /* of the chunk being read, and where it begins */
    uint64_t     at;
    size_t       item; /* within the chunk */
    bool         has_clock, has_totals, has_end;
} reader;

static assay_status lie(reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static assay_status lie(reader *r, const char *format, ...)
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
    return as_fail(r->env, ASSAY_NO_MEMORY, "trace: %s: chunk %s at byte %llu: no memory for it", r->path, r->type,
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

/* Texts belong to the chunk, not to the item. */
static assay_status get_field(reader *r, const json_t *object, const as_field *f, void *at)
{
    switch (f->kind) {
    case AS_FIELD_TEXT_OR_NULL:
        if (json_is_null(json_object_get(object, f->key)))
            return ASSAY_OK;
        return get_text(r, object, f->key, at);
    case AS_FIELD_TEXT: return get_text(r, object, f->key, at);
    case AS_FIELD_INT: return get_int(r, object, f->key, at);
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
    assay_trace *t = r->t;
    char         why[AS_FAULT_BYTES];
    if (r->has_clock)
        return lie(r, "a second clock");
    AS_TRY(get_fields(r, o, as_clock_fields, t));
    if (!as_trace_clock_ok(t, why))
        return lie(r, "%s", why);
    t->clock_name = as_arena_text(&t->arena, t->clock_name); /* the text itself is the chunk's */
    r->has_clock = true;
    return t->clock_name ? ASSAY_OK : no_room(r);
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
    step->n_refused = (int)n; /* below 2^31: the file would have to hold more than 8 bytes of each */
    for (size_t i = 0; i < n; i++)
        AS_TRY(get_pair(r, json_array_get(list, i), &step->refused[i].kernel, &step->refused[i].why));
    return ASSAY_OK;
}

/* Traces from before steps knew their inputs have no list; then `ints` stays NULL. */
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
            return item_lie(r, "\"inputs\" holds what is no step");
        (*ints)[i] = (int)json_integer_value(value);
    }
    step->inputs = *ints;
    step->n_inputs = (int)n;
    return ASSAY_OK;
}

static assay_status step_read(reader *r, const json_t *o)
{
    char          why[AS_FAULT_BYTES];
    int          *inputs = NULL;
    as_trace_step step = {0};
    assay_status  status = get_fields(r, o, as_step_choice_fields, &step);
    if (status == ASSAY_OK)
        status = get_fields(r, o, as_step_work_fields, &step);
    if (status == ASSAY_OK)
        status = refusals_read(r, json_object_get(o, "refused"), &step);
    if (status == ASSAY_OK)
        status = inputs_read(r, json_object_get(o, "inputs"), &step, &inputs);
    if (status == ASSAY_OK && !as_trace_step_ok(&step, r->t->n_steps, why))
        status = item_lie(r, why);
    if (status == ASSAY_OK && as_trace_add_step(r->t, &step) < 0)
        status = no_room(r);
    free(step.refused);
    free(inputs);
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
    as_trace_roof x = {.today = (double)NAN, .disturbed = 1}; /* a file from before it was told does not say that it was clean */
    AS_TRY(get_fields(r, o, as_roof_fields, &x));
    x.n_chunks = x.n_chunks > x.n_clean ? x.n_chunks : x.n_clean;
    return as_trace_add_roof(r->t, &x) ? ASSAY_OK : no_room(r);
}

static assay_status state_read(reader *r, const json_t *o)
{
    const char *text = "complete"; /* as were all before it was written down */
    if (json_object_get(o, "state"))
        AS_TRY(get_text(r, o, "state", &text));
    for (int i = 0; i < AS_TRACE_N_STATES; i++)
        if (!strcmp(text, as_trace_state_text((as_trace_state)i))) {
            r->t->state = (as_trace_state)i;
            return ASSAY_OK;
        }
    return lie(r, "\"state\" is \"%.40s\", which is no state of a trace", text);
}

static assay_status scalars_read(reader *r, const json_t *o)
{
    assay_trace *t = r->t;
    const char  *detail = "";
    AS_TRY(get_text(r, o, "detail", &detail));
    if (!as_detail_find(detail, &t->detail))
        return lie(r, "\"detail\" is \"%.40s\", not run, segment, step or part", detail);
    AS_TRY(get_fields(r, o, as_scalar_fields, t));
    AS_TRY(state_read(r, o));
    t->detail_why = as_trace_keep(t, t->detail_why); /* the texts themselves are the chunk's */
    t->model = as_trace_keep(t, t->model);
    t->device = as_trace_keep(t, t->device);
    return t->detail_why && t->model && t->device ? ASSAY_OK : no_room(r);
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
        size_t      n;
    } counts[] = {{"notes", t->n_notes},     {"steps", t->n_steps},     {"buffers", t->n_buffers},
                  {"sensors", t->n_sensors}, {"roofs", t->n_roofs},     {"warmup", t->n_warmup},
                  {"spans", t->n_spans},     {"samples", t->n_samples}, {"readings", t->n_readings}};
    for (size_t i = 0; i < AS_COUNT(counts); i++) {
        uint64_t n;
        AS_TRY(get_u64(r, o, counts[i].key, &n));
        if (n != counts[i].n)
            return lie(r, "the file should hold %llu %s and holds %zu", (unsigned long long)n, counts[i].key, counts[i].n);
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

static bool span_read(assay_trace *t, const uint8_t *p, char why[AS_FAULT_BYTES])
{
    uint32_t kind_thread = as_le32(p + 24);
    as_span  s = {.begin_ticks = as_le64(p),
                  .end_ticks = as_le64(p + 8),
                  .step = (int32_t)as_le32(p + 16),
                  .run = as_le32(p + 20),
                  .kind = (uint16_t)(kind_thread & 0xffff),
                  .thread = (uint16_t)(kind_thread >> 16),
                  .zero = as_le32(p + 28)};
    if (s.zero) {
        snprintf(why, AS_FAULT_BYTES, "its last four bytes are not zero");
        return false;
    }
    return as_span_ok(t, &s, why) && as_trace_add_span(t, &s);
}

static as_sample sample_unpack(const uint8_t *p)
{
    return (as_sample){.begin_ticks = as_le64(p),
                       .end_ticks = as_le64(p + 8),
                       .cpu_ns = as_le64(p + 16),
                       .first_run = as_le32(p + 24),
                       .n_runs = as_le32(p + 28)};
}

static bool sample_read(assay_trace *t, const uint8_t *p, char why[AS_FAULT_BYTES])
{
    as_sample s = sample_unpack(p);
    return as_sample_ok(&s, why) && as_trace_add_sample(t, &s);
}

static bool warmup_read(assay_trace *t, const uint8_t *p, char why[AS_FAULT_BYTES])
{
    as_sample s = sample_unpack(p);
    return as_sample_ok(&s, why) && as_trace_add_warmup(t, &s);
}

static bool reading_read(assay_trace *t, const uint8_t *p, char why[AS_FAULT_BYTES])
{
    as_reading x = {.ticks = as_le64(p), .sensor = as_le32(p + 16), .sample = as_le32(p + 20)};
    uint64_t   bits = as_le64(p + 8);
    memcpy(&x.value, &bits, sizeof x.value);
    return as_reading_ok(t, &x, why) && as_trace_add_reading(t, &x);
}

typedef bool (*record_read)(assay_trace *t, const uint8_t *p, char why[AS_FAULT_BYTES]);

/* Room for at least as many again as there are, so that many small chunks do not cost a copy each. */
static size_t room_for(size_t n, size_t capacity, size_t more) { return more <= capacity - n ? 0 : more > n ? more : n; }

static bool records_reserve(assay_trace *t, const char *type, size_t n)
{
    size_t spans = !strcmp(type, "SPAN") ? room_for(t->n_spans, t->cap_spans, n) : 0;
    size_t samples = !strcmp(type, "SAMP") ? room_for(t->n_samples, t->cap_samples, n) : 0;
    size_t warmup = !strcmp(type, "WARM") ? room_for(t->n_warmup, t->cap_warmup, n) : 0;
    size_t readings = !strcmp(type, "READ") ? room_for(t->n_readings, t->cap_readings, n) : 0;
    return as_trace_reserve(t, spans, samples, warmup, readings);
}

static assay_status records_read(reader *r, size_t bytes_each, record_read read, const uint8_t *payload, size_t n)
{
    char why[AS_FAULT_BYTES] = "";
    if (n % bytes_each)
        return lie(r, "%zu bytes are no whole number of records of %zu", n, bytes_each);
    if (!records_reserve(r->t, r->type, n / bytes_each))
        return no_room(r);
    for (r->item = 0; r->item < n / bytes_each; r->item++)
        if (!read(r->t, payload + r->item * bytes_each, why))
            return item_lie(r, why);
    return ASSAY_OK;
}

/* --- The file ------------------------------------------------------------------------------------------------- */

static const struct chunk_type {
    char        type[5];
    json_shape  shape;
    json_read   json;   /* either this */
    record_read record; /* or that */
    size_t      record_bytes;
} chunk_types[] = {
    {"CLCK", JSON_AN_OBJECT, clock_read, NULL, 0},
    {"NOTE", JSON_EACH_OF_A_LIST, note_read, NULL, 0},
    {"STEP", JSON_EACH_OF_A_LIST, step_read, NULL, 0},
    {"BUFF", JSON_EACH_OF_A_LIST, buffer_read, NULL, 0},
    {"SENS", JSON_EACH_OF_A_LIST, sensor_read, NULL, 0},
    {"ROOF", JSON_EACH_OF_A_LIST, roof_read, NULL, 0},
    {"SCAL", JSON_AN_OBJECT, scalars_read, NULL, 0},
    {"TOTL", JSON_A_LIST, totals_read, NULL, 0},
    {"END ", JSON_AN_OBJECT, end_read, NULL, 0},
    {"SPAN", JSON_A_LIST, NULL, span_read, AS_SPAN_BYTES},
    {"SAMP", JSON_A_LIST, NULL, sample_read, AS_SAMPLE_BYTES},
    {"WARM", JSON_A_LIST, NULL, warmup_read, AS_SAMPLE_BYTES},
    {"READ", JSON_A_LIST, NULL, reading_read, AS_READING_BYTES},
};

static const struct chunk_type *chunk_type_find(const char *type)
{
    for (size_t i = 0; i < AS_COUNT(chunk_types); i++)
        if (!memcmp(chunk_types[i].type, type, 4))
            return &chunk_types[i];
    return NULL;
}

static assay_status chunk_read(reader *r, uint32_t version, const uint8_t *payload, size_t n)
{
    const struct chunk_type *type = chunk_type_find(r->type);
    if (r->has_end)
        return lie(r, "it stands behind the end");
    if (!type)
        return ASSAY_OK;
    if (version != AS_CHUNK_VERSION)
        return lie(r, "its version is %u, and this program reads version %d", version, AS_CHUNK_VERSION);
    if (!r->has_clock && type->json != clock_read)
        return lie(r, "it stands before the clock");
    if (type->json)
        return json_chunk_read(r, type->shape, type->json, payload, n);
    return records_read(r, type->record_bytes, type->record, payload, n);
}

static bool all_zero(const uint8_t *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (data[i])
            return false;
    return true;
}

/* Reads chunk after chunk until the file ends or one is torn: cut short, the very last and with a wrong sum, or
 * zeros to the end of the file, which is what a crash leaves of a file that had grown but was not yet written. */
static assay_status chunks_read(reader *r, const uint8_t *data, size_t n)
{
    for (size_t at = AS_TRACE_HEAD_BYTES; n - at >= AS_CHUNK_HEAD_BYTES;) {
        const uint8_t *chunk = data + at;
        uint64_t       length = as_le64(chunk + 8);
        size_t         left = n - at - AS_CHUNK_HEAD_BYTES;
        if (length > left || as_chunk_padding(length) + AS_CRC_BYTES > left - length)
            return ASSAY_OK;
        size_t   bytes = AS_CHUNK_HEAD_BYTES + (size_t)length + as_chunk_padding(length);
        uint32_t crc = as_crc32(0, chunk, bytes), stored = as_le32(chunk + bytes);
        memcpy(r->type, chunk, 4);
        r->at = at;
        if (crc != stored) {
            if (at + bytes + AS_CRC_BYTES == n || all_zero(chunk, n - at))
                return ASSAY_OK;
            return lie(r, "its checksum is %08x, and its %llu bytes give %08x", stored, (unsigned long long)length, crc);
        }
        AS_TRY(chunk_read(r, as_le32(chunk + 4), chunk + AS_CHUNK_HEAD_BYTES, (size_t)length));
        at += bytes + AS_CRC_BYTES;
    }
    return ASSAY_OK;
}

static assay_status head_read(assay_env *env, const char *path, const uint8_t *data, size_t n)
{
    if (n < AS_TRACE_HEAD_BYTES)
        return as_fail(env, ASSAY_BAD_INPUT, "trace: %s: has %zu bytes, and the head alone takes %d", path, n, AS_TRACE_HEAD_BYTES);
    if (memcmp(data, AS_TRACE_MAGIC, 8))
        return as_fail(env, ASSAY_BAD_INPUT, "trace: %s: not a trace: it does not begin as one", path);
    if (as_le32(data + 8) != AS_TRACE_VERSION)
        return as_fail(env, ASSAY_BAD_INPUT, "trace: %s: its version is %u, and this program reads version %d", path,
                       as_le32(data + 8), AS_TRACE_VERSION);
    if (as_le32(data + 12))
        return as_fail(env, ASSAY_BAD_INPUT, "trace: %s: its flags are %08x, and this program knows none", path,
                       as_le32(data + 12));
    return ASSAY_OK;
}

assay_status as_trace_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, assay_trace **out)
{
    AS_TRY(head_read(env, path, data, n));
    reader r = {.env = env, .path = path};
    AS_TRY(as_trace_new(NULL, &r.t));
    r.t->start_unix_ns = 0; /* unknown until the clock chunk tells */
    assay_status status = chunks_read(&r, data, n);
    if (status != ASSAY_OK) {
        assay_trace_free(r.t);
        return status;
    }
    r.t->complete = r.has_end;
    *out = r.t;
    return ASSAY_OK;
}

assay_status assay_trace_load(assay_env *env, const char *path, assay_trace **out)
{
    as_map map;
    AS_TRY(as_map_open(env, "trace", path, 0, &map));
    assay_status status = as_trace_parse(env, path, map.data, map.bytes, out);
    as_map_close(&map);
    return status;
}
