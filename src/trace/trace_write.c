/* trace_write.c - writes traces: at once (assay_trace_save, as_trace_bytes) or growing while they are recorded.
 *
 * All write the same chunks with the same code; a growing trace only has more and smaller ones.  A record comes after what it
 * refers to (spans after steps, readings after sensors, turns after their samples), so a reader needs one pass.
 *
 * Chunks are made in one buffer and leave it complete.  Records are packed where they are sent from, and their checksum is
 * computed while they are in the cache: docs/decisions/0015-one-record.md gives the cost of an event. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/format.h"

enum {
    RECORDS_PER_CHUNK = 1024,
    BUFFER_BYTES = 256 << 10, /* fits the second-level cache */
    FRAME_BYTES = AS_CHUNK_HEAD_BYTES + 8 + AS_CRC_BYTES
};

/* How much of a trace is in the stream already: for lists, up to which index; and the number of all records. */
typedef struct sent {
    size_t notes, steps, buffers, sensors, roofs, marks, spans, samples, warmup, readings, metrics, turns, shots;
    size_t contexts, frames, stacks, lanes, places, looks, stack_totals, memory_events, memory_sites;
} sent;

struct as_trace_writer {
    assay_env    *env;
    char         *path;
    int           fd; /* -1: the buffer grows and holds everything */
    bool          owns, failed, has_clock;
    int           error;      /* of the write that failed */
    uint64_t      good_bytes; /* bytes of complete chunks that were sent */
    uint8_t      *buffer;
    size_t        n, capacity;
    sent          of_trace, in_all;
    uint64_t      scalars_hash, arms_hash; /* of their text as last written; 0: never */
    as_turns_seen turns;
    char        **names; /* of metrics: name and unit, one after the other */
    size_t        n_names, cap_names, last_name;
};

/* --- Bytes ------------------------------------------------------------------------------------------- */

/* Sends the contents of the buffer, which are complete chunks.  Errors stay in the writer and are reported at the end of an
 * append. */
static void drain(as_trace_writer *w)
{
    size_t at = 0;
    while (w->fd >= 0 && !w->error && at < w->n) {
        ssize_t n = write(w->fd, w->buffer + at, w->n - at);
        if (n > 0)
            at += (size_t)n;
        else if (n < 0 && errno != EINTR)
            w->error = errno;
    }
    if (w->fd < 0)
        return;
    w->good_bytes += w->error ? 0 : w->n;
    w->n = 0;
}

/* Room for a chunk of this many bytes; NULL: no memory. */
static uint8_t *room(as_trace_writer *w, size_t n)
{
    if (w->n && w->n + n > BUFFER_BYTES)
        drain(w);
    if (w->n + n > w->capacity) {
        size_t   want = 2 * w->capacity > w->n + n ? 2 * w->capacity : w->n + n;
        uint8_t *moved = realloc(w->buffer, want < BUFFER_BYTES ? BUFFER_BYTES : want);
        if (!moved)
            return NULL;
        w->buffer = moved;
        w->capacity = want < BUFFER_BYTES ? BUFFER_BYTES : want;
    }
    return w->buffer + w->n;
}

/* Makes a chunk of a payload of n bytes, before which there is room for the chunk's head. */
static void seal(as_trace_writer *w, const char *type, size_t n)
{
    uint8_t *head = w->buffer + w->n, *tail = head + AS_CHUNK_HEAD_BYTES + n;
    size_t   padding = as_chunk_padding(n);
    memcpy(head, type, 4);
    as_le32_put(head + 4, AS_CHUNK_VERSION);
    as_le64_put(head + 8, n);
    memset(tail, 0, padding);
    as_le32_put(tail + padding, as_crc32(0, head, AS_CHUNK_HEAD_BYTES + n + padding));
    w->n += AS_CHUNK_HEAD_BYTES + n + padding + AS_CRC_BYTES;
}

static assay_status no_room(as_trace_writer *w, const char *type)
{
    return as_fail(w->env, ASSAY_NO_MEMORY, "trace: %s: not enough memory for a chunk %.4s", w->path, type);
}

static assay_status chunk_put(as_trace_writer *w, const char *type, const void *payload, size_t n)
{
    uint8_t *at = room(w, n + FRAME_BYTES);
    if (!at)
        return no_room(w, type);
    memcpy(at + AS_CHUNK_HEAD_BYTES, payload, n);
    seal(w, type, n);
    return ASSAY_OK;
}

/* --- JSON -------------------------------------------------------------------------------------------- */

/* A JSON payload is built in memory, because its length comes first. */
typedef struct json_chunk {
    char   *data;
    size_t  n;
    FILE   *file;
    as_json w;
} json_chunk;

static assay_status json_open(as_trace_writer *s, const char *type, json_chunk *c)
{
    *c = (json_chunk){0};
    c->file = open_memstream(&c->data, &c->n);
    if (!c->file)
        return no_room(s, type);
    as_json_start(&c->w, c->file, false);
    return ASSAY_OK;
}

/* False: no memory.  The caller frees the data in any case. */
static bool json_close(json_chunk *c)
{
    as_json_finish(&c->w);
    bool ok = !ferror(c->file);
    return !fclose(c->file) && ok && c->data;
}

static assay_status json_put(as_trace_writer *s, const char *type, json_chunk *c)
{
    assay_status status = json_close(c) ? chunk_put(s, type, c->data, c->n) : no_room(s, type);
    free(c->data);
    return status;
}

/* JSON's integers end at 2^63 - 1 for most readers; beyond that the digits are text. */
static void put_u64(as_json *w, const char *key, uint64_t value)
{
    char digits[24];
    if (key)
        as_json_key(w, key);
    if (value <= INT64_MAX) {
        as_json_u64(w, value);
    } else {
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
        as_json_text(w, digits);
    }
}

/* NaN is null; infinities, which JSON does not have either, are text. */
static void put_f64(as_json *w, const char *key, double value)
{
    as_json_key(w, key);
    if (isinf(value))
        as_json_text(w, value > 0 ? "inf" : "-inf");
    else
        as_json_f64(w, value);
}

static void put_text(as_json *w, const char *key, const char *value) { as_json_key_text(w, key, value ? value : ""); }

static void fields_put(as_json *w, const void *item, const as_field *fields)
{
    for (const as_field *f = fields; f->key; f++) {
        const void *at = (const char *)item + f->at;
        switch (f->kind) {
        case AS_FIELD_TEXT: put_text(w, f->key, *(const char *const *)at); break;
        case AS_FIELD_TEXT_OR_NULL: as_json_key_text(w, f->key, *(const char *const *)at); break;
        case AS_FIELD_CHARS: put_text(w, f->key, at); break;
        case AS_FIELD_WORD: put_text(w, f->key, f->word(*(const int *)at)); break; /* checked before */
        case AS_FIELD_BOOL: as_json_key_bool(w, f->key, *(const bool *)at); break;
        case AS_FIELD_INT: as_json_key_i64(w, f->key, *(const int *)at); break;
        case AS_FIELD_U32: as_json_key_u64(w, f->key, *(const uint32_t *)at); break;
        case AS_FIELD_I64: as_json_key_i64(w, f->key, *(const int64_t *)at); break;
        case AS_FIELD_U64: put_u64(w, f->key, *(const uint64_t *)at); break;
        case AS_FIELD_F64: put_f64(w, f->key, *(const double *)at); break;
        }
    }
}

/* An enum value without a word cannot be written. */
static const char *wordless(const void *item, const as_field *fields)
{
    for (const as_field *f = fields; f->key; f++)
        if (f->kind == AS_FIELD_WORD && *(const unsigned *)(const void *)((const char *)item + f->at) >= f->size)
            return f->key;
    return NULL;
}

static void object_put(as_json *w, const void *item, const as_field *fields)
{
    as_json_object(w);
    fields_put(w, item, fields);
    as_json_object_end(w);
}

/* --- What is written ------------------------------------------------------------------------------------ */

static assay_status wont_load(as_trace_writer *s, const char *what, size_t index, const char *why)
{
    return as_fail(s->env, ASSAY_INTERNAL, "trace: %s: not written, because no program could read it: %s %zu: %s", s->path, what,
                   index, why);
}

static assay_status clock_put(as_trace_writer *s, const assay_trace *t)
{
    char       why[AS_FAULT_BYTES];
    json_chunk c;
    if (s->has_clock)
        return ASSAY_OK;
    if (!as_trace_clock_ok(t, why))
        return wont_load(s, "clock", 0, why);
    AS_TRY(json_open(s, "CLCK", &c));
    object_put(&c.w, t, as_clock_fields);
    s->has_clock = true;
    return json_put(s, "CLCK", &c);
}

static bool note_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    (void)why;
    as_json_array(w);
    as_json_text(w, t->notes[i].key);
    as_json_text(w, t->notes[i].value);
    as_json_array_end(w);
    return true;
}

static bool step_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    const as_trace_step *x = &t->steps[i];
    as_json_object(w);
    fields_put(w, x, as_step_choice_fields);
    as_json_key(w, "refused");
    as_json_array(w);
    for (int j = 0; j < x->n_refused; j++) {
        as_json_array(w);
        as_json_text(w, x->refused[j].kernel);
        as_json_text(w, x->refused[j].why);
        as_json_array_end(w);
    }
    as_json_array_end(w);
    fields_put(w, x, as_step_work_fields);
    as_json_key(w, "inputs");
    as_json_array(w);
    for (int j = 0; j < x->n_inputs; j++)
        as_json_i64(w, x->inputs[j]);
    as_json_array_end(w);
    if (x->n_parts) {
        as_json_key(w, "parts");
        as_json_array(w);
        for (int j = 0; j < x->n_parts; j++)
            as_json_text(w, x->parts[j]);
        as_json_array_end(w);
    }
    as_json_object_end(w);
    return as_trace_step_ok(x, i, why);
}

static bool buffer_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    const as_trace_buffer *x = &t->buffers[i];
    object_put(w, x, as_buffer_fields);
    return as_trace_buffer_ok(t, x, why);
}

static bool sensor_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    const as_trace_sensor *x = &t->sensors[i];
    object_put(w, x, as_sensor_fields);
    return as_trace_sensor_ok(x, why);
}

static bool roof_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    (void)why;
    object_put(w, &t->roofs[i], as_roof_fields);
    return true;
}

static bool mark_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    (void)why;
    object_put(w, &t->marks[i], as_mark_fields);
    return true;
}

static bool context_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    (void)why;
    object_put(w, &t->contexts[i], as_context_fields);
    return true;
}

static bool frame_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    object_put(w, &t->frames[i], as_frame_fields);
    return as_trace_frame_ok(t, &t->frames[i], why);
}

static bool lane_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    (void)why;
    object_put(w, &t->lanes[i], as_lane_fields);
    return true;
}

static bool place_put(as_json *w, const assay_trace *t, size_t i, char *why)
{
    (void)why;
    as_json_text(w, t->places[i]);
    return true;
}

typedef bool (*item_put)(as_json *w, const assay_trace *t, size_t i, char *why);

/* One chunk with the items from *done to n, or none when there is nothing new. */
static assay_status items_put(as_trace_writer *s, const assay_trace *t, const char *type, const char *what, item_put put,
                              size_t *done, size_t n)
{
    char       why[AS_FAULT_BYTES];
    json_chunk c;
    if (*done == n)
        return ASSAY_OK;
    AS_TRY(json_open(s, type, &c));
    as_json_array(&c.w);
    for (size_t i = *done; i < n; i++) {
        if (put(&c.w, t, i, why))
            continue;
        as_json_array_end(&c.w);
        json_close(&c);
        free(c.data);
        return wont_load(s, what, i, why);
    }
    as_json_array_end(&c.w);
    AS_TRY(json_put(s, type, &c));
    *done = n;
    return ASSAY_OK;
}

/* --- Records ----------------------------------------------------------------------------------------- */

static bool span_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_span *x = item;
    (void)s;
    as_le64_put(p, x->begin_ticks);
    as_le64_put(p + 8, x->end_ticks);
    as_le32_put(p + 16, (uint32_t)x->step);
    as_le32_put(p + 20, x->run);
    as_le32_put(p + 24, x->kind | (uint32_t)x->thread << 16);
    as_le32_put(p + 28, 0);
    return as_span_plain(t, x) || as_span_ok(t, x, why);
}

static bool sample_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_sample *x = item;
    (void)s;
    (void)t;
    as_le64_put(p, x->begin_ticks);
    as_le64_put(p + 8, x->end_ticks);
    as_le64_put(p + 16, x->cpu_ns);
    as_le32_put(p + 24, x->first_run);
    as_le32_put(p + 28, x->n_runs);
    return as_sample_ok(x, why);
}

static bool reading_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_reading *x = item;
    (void)s;
    as_le64_put(p, x->ticks);
    as_lef64_put(p + 8, x->value);
    as_le32_put(p + 16, x->sensor);
    as_le32_put(p + 20, x->sample);
    return as_reading_ok(t, x, why);
}

static size_t name_find(as_trace_writer *s, const as_trace_metric *m);

static bool metric_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_trace_metric *x = item;
    (void)t;
    (void)why;
    as_le64_put(p, x->ticks);
    as_le64_put(p + 8, x->step);
    as_lef64_put(p + 16, x->value);
    as_le32_put(p + 24, (uint32_t)name_find(s, x));
    as_le32_put(p + 28, 0);
    return true;
}

static bool turn_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_turn *x = item;
    const uint32_t counts[] = {x->launch, x->round, x->arm, x->order, x->first_shot, x->n_shots, x->switches, 0};
    const double   numbers[] = {x->start_ns, x->wall_ns, x->cpu_ns, x->busy, x->steal, x->fma_ns, x->copy_ns};
    _Static_assert(sizeof counts + sizeof numbers == AS_TURN_BYTES, "all of a turn is in the file");
    for (size_t i = 0; i < AS_COUNT(counts); i++)
        as_le32_put(p + 4 * i, counts[i]);
    for (size_t i = 0; i < AS_COUNT(numbers); i++)
        as_lef64_put(p + sizeof counts + 8 * i, numbers[i]);
    return as_turn_ok(t, &s->turns, x, why);
}

static bool shot_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_shot *x = item;
    (void)t;
    as_lef32_put(p, x->wall_ns);
    as_lef32_put(p + 4, x->cpu_ns);
    s->turns.n_shots++;
    return as_shots_ok(&s->turns, why);
}

static bool stack_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_trace_stack *x = item;
    (void)s;
    as_le32_put(p, (uint32_t)x->parent);
    as_le32_put(p + 4, (uint32_t)x->frame);
    return as_trace_stack_ok(t, x, (size_t)(x - t->stacks), why);
}

static bool look_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_stack_sample *x = item;
    (void)s;
    as_le64_put(p, x->ticks);
    as_le64_put(p + 8, x->weight_ns);
    as_le32_put(p + 16, x->stack);
    as_le32_put(p + 20, x->lane | (uint32_t)x->state << 16);
    return as_look_ok(t, x, why);
}

static bool stack_total_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_stack_total *x = item;
    const uint64_t        counts[] = {x->count, x->sum_ticks, x->min_ticks, x->max_ticks, x->flops, x->bytes};
    (void)s;
    for (size_t i = 0; i < AS_COUNT(counts); i++)
        as_le64_put(p + 8 * i, counts[i]);
    as_le32_put(p + 48, x->stack);
    as_le32_put(p + 52, x->lane);
    as_le64_put(p + 56, 0);
    return as_stack_total_ok(t, x, why);
}

static bool memory_event_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_memory_event *x = item;
    (void)s;
    as_le64_put(p, x->ticks);
    as_le64_put(p + 8, x->took_ticks);
    as_le64_put(p + 16, x->id);
    as_le64_put(p + 24, x->bytes);
    as_le32_put(p + 32, x->stack);
    as_le32_put(p + 36, x->kind | (uint32_t)x->lane << 16);
    as_le32_put(p + 40, x->place | (uint32_t)x->to << 16);
    as_le32_put(p + 44, 0);
    return as_memory_event_ok(t, x, why);
}

static bool memory_site_pack(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_memory_site *x = item;
    (void)s;
    as_le64_put(p, x->ticks);
    as_le64_put(p + 8, x->live_bytes);
    as_le64_put(p + 16, x->peak_bytes);
    as_le64_put(p + 24, x->largest_bytes);
    as_le64_put(p + 32, x->allocs);
    as_le64_put(p + 40, x->frees);
    as_le64_put(p + 48, x->bytes);
    as_le64_put(p + 56, x->temporary);
    as_le32_put(p + 64, x->stack);
    as_le32_put(p + 68, x->lane);
    return as_memory_site_ok(t, x, why);
}

typedef struct record_type {
    const char *type, *what;
    size_t      item_bytes, file_bytes; /* size in memory, in the file */
    size_t      in_all;                 /* its count in `sent` */
    bool (*pack)(as_trace_writer *s, uint8_t *p, const assay_trace *t, const void *item, char *why);
} record_type;

static const record_type spans = {"SPAN", "span", sizeof(as_span), AS_SPAN_BYTES, offsetof(sent, spans), span_pack};
static const record_type samples = {"SAMP", "sample", sizeof(as_sample), AS_SAMPLE_BYTES, offsetof(sent, samples), sample_pack};
static const record_type warmups = {"WARM",          "warm-up sample",       sizeof(as_sample),
                                    AS_SAMPLE_BYTES, offsetof(sent, warmup), sample_pack};
static const record_type readings = {"READ",      "reading", sizeof(as_reading), AS_READING_BYTES, offsetof(sent, readings),
                                     reading_pack};
static const record_type metrics = {"METR",     "metric", sizeof(as_trace_metric), AS_METRIC_BYTES, offsetof(sent, metrics),
                                    metric_pack};
static const record_type turns = {"TURN", "block", sizeof(as_turn), AS_TURN_BYTES, offsetof(sent, turns), turn_pack};
static const record_type shots = {"SHOT", "sample of a block", sizeof(as_shot), AS_SHOT_BYTES, offsetof(sent, shots), shot_pack};

static const record_type stacks = {"STCK", "stack", sizeof(as_trace_stack), AS_STACK_BYTES, offsetof(sent, stacks), stack_pack};
static const record_type looks = {"LOOK", "stack sample", sizeof(as_stack_sample), AS_LOOK_BYTES, offsetof(sent, looks), look_pack};
static const record_type stack_totals = {
    "CALL", "total of a stack", sizeof(as_stack_total), AS_STACK_TOTAL_BYTES, offsetof(sent, stack_totals), stack_total_pack};
static const record_type memory_events = {
    "MEMO", "memory event", sizeof(as_memory_event), AS_MEMORY_EVENT_BYTES, offsetof(sent, memory_events), memory_event_pack};

static const record_type memory_sites = {
    "SITE", "memory site", sizeof(as_memory_site), AS_MEMORY_SITE_BYTES, offsetof(sent, memory_sites), memory_site_pack};

static inline __attribute__((always_inline)) assay_status records_put_as(as_trace_writer *s, const assay_trace *t,
                                                                         const record_type *type, const void *items, size_t n)
{
    char    why[AS_FAULT_BYTES];
    size_t *in_all = (size_t *)(void *)((char *)&s->in_all + type->in_all);
    for (const char *item = items; n;) {
        size_t   count = n < RECORDS_PER_CHUNK ? n : RECORDS_PER_CHUNK;
        uint8_t *p = room(s, count * type->file_bytes + FRAME_BYTES);
        if (!p)
            return no_room(s, type->type);
        p += AS_CHUNK_HEAD_BYTES;
        for (size_t i = 0; i < count; i++, p += type->file_bytes, item += type->item_bytes)
            if (!type->pack(s, p, t, item, why))
                return wont_load(s, type->what, *in_all + i, why);
        seal(s, type->type, count * type->file_bytes);
        *in_all += count;
        n -= count;
    }
    return ASSAY_OK;
}

/* Most records are spans: for them the compiler inlines the packing into the loop. */
static assay_status records_put(as_trace_writer *s, const assay_trace *t, const record_type *type, const void *items, size_t n)
{
    return type == &spans ? records_put_as(s, t, &spans, items, n) : records_put_as(s, t, type, items, n);
}

/* The records of a list in the trace that are not in the stream yet. */
static assay_status list_put(as_trace_writer *s, const assay_trace *t, const record_type *type, const void *items, size_t n)
{
    size_t *done = (size_t *)(void *)((char *)&s->of_trace + type->in_all);
    if (*done >= n)
        return ASSAY_OK;
    AS_TRY(records_put(s, t, type, (const char *)items + *done * type->item_bytes, n - *done));
    *done = n;
    return ASSAY_OK;
}

/* --- Names of metrics ---------------------------------------------------------------------------------- */

static bool name_is(const as_trace_writer *s, size_t i, const as_trace_metric *m)
{
    return !strcmp(s->names[2 * i], m->name) && !strcmp(s->names[2 * i + 1], m->unit);
}

/* Metrics usually come in the same order in every step: the next name is most often the one after the last. */
static size_t name_find(as_trace_writer *s, const as_trace_metric *m)
{
    for (size_t k = 1; k <= s->n_names; k++) {
        size_t i = (s->last_name + k) % s->n_names;
        if (name_is(s, i, m))
            return s->last_name = i;
    }
    return s->n_names;
}

static bool name_add(as_trace_writer *s, const as_trace_metric *m)
{
    if (s->n_names == s->cap_names) {
        size_t cap = s->cap_names ? 2 * s->cap_names : 16;
        char **moved = realloc(s->names, 2 * cap * sizeof *moved);
        if (!moved)
            return false;
        s->names = moved;
        s->cap_names = cap;
    }
    char *name = strdup(m->name), *unit = strdup(m->unit);
    if (!name || !unit) {
        free(name);
        free(unit);
        return false;
    }
    s->names[2 * s->n_names] = name;
    s->names[2 * s->n_names++ + 1] = unit;
    return true;
}

/* The names that appear in these metrics for the first time. */
static assay_status names_put(as_trace_writer *s, const as_trace_metric *m, size_t n)
{
    json_chunk c;
    size_t     first = s->n_names;
    for (size_t i = 0; i < n; i++)
        if (name_find(s, &m[i]) == s->n_names && !name_add(s, &m[i]))
            return no_room(s, "MNAM");
    if (first == s->n_names)
        return ASSAY_OK;
    AS_TRY(json_open(s, "MNAM", &c));
    as_json_array(&c.w);
    for (size_t i = first; i < s->n_names; i++) {
        as_json_array(&c.w);
        as_json_text(&c.w, s->names[2 * i]);
        as_json_text(&c.w, s->names[2 * i + 1]);
        as_json_array_end(&c.w);
    }
    as_json_array_end(&c.w);
    return json_put(s, "MNAM", &c);
}

/* --- What changes as a whole --------------------------------------------------------------------------- */

/* Written again whenever it changes: the last one counts, and even a file that was cut short has one. */
static assay_status changed_put(as_trace_writer *s, const char *type, json_chunk *c, uint64_t *hash)
{
    assay_status status = json_close(c) ? ASSAY_OK : no_room(s, type);
    uint64_t     now = status == ASSAY_OK ? as_hash64(c->data, c->n) | 1 : 0;
    if (status == ASSAY_OK && now != *hash)
        status = chunk_put(s, type, c->data, c->n);
    *hash = now;
    free(c->data);
    return status;
}

static assay_status scalars_put(as_trace_writer *s, const assay_trace *t)
{
    json_chunk  c;
    const char *key = wordless(t, as_scalar_fields);
    if (key)
        return wont_load(s, key, 0, "its number has no word");
    AS_TRY(json_open(s, "SCAL", &c));
    object_put(&c.w, t, as_scalar_fields);
    return changed_put(s, "SCAL", &c, &s->scalars_hash);
}

static assay_status arms_put(as_trace_writer *s, const assay_trace *t)
{
    json_chunk c;
    char       why[AS_FAULT_BYTES];
    if (!t->n_arms)
        return ASSAY_OK;
    for (int i = 0; i < t->n_arms; i++) {
        const char *key = wordless(&t->arms[i], as_arm_fields);
        if (key || !as_trace_arm_ok(&t->arms[i], why))
            return wont_load(s, "arm", (size_t)i, key ? "its limit has no word" : why);
    }
    AS_TRY(json_open(s, "ARMS", &c));
    as_json_array(&c.w);
    for (int i = 0; i < t->n_arms; i++)
        object_put(&c.w, &t->arms[i], as_arm_fields);
    as_json_array_end(&c.w);
    return changed_put(s, "ARMS", &c, &s->arms_hash);
}

static assay_status news_put(as_trace_writer *s, const assay_trace *t)
{
    sent *done = &s->of_trace;
    AS_TRY(clock_put(s, t));
    AS_TRY(items_put(s, t, "NOTE", "note", note_put, &done->notes, t->n_notes));
    AS_TRY(items_put(s, t, "STEP", "step", step_put, &done->steps, t->n_steps));
    AS_TRY(items_put(s, t, "BUFF", "buffer", buffer_put, &done->buffers, t->n_buffers));
    AS_TRY(items_put(s, t, "SENS", "sensor", sensor_put, &done->sensors, t->n_sensors));
    AS_TRY(items_put(s, t, "ROOF", "roof", roof_put, &done->roofs, t->n_roofs));
    AS_TRY(items_put(s, t, "MARK", "mark", mark_put, &done->marks, t->n_marks));
    AS_TRY(arms_put(s, t));
    AS_TRY(items_put(s, t, "CTXT", "context", context_put, &done->contexts, t->n_contexts));
    AS_TRY(items_put(s, t, "FRAM", "frame", frame_put, &done->frames, t->n_frames));
    AS_TRY(items_put(s, t, "LANE", "thread", lane_put, &done->lanes, t->n_lanes));
    AS_TRY(items_put(s, t, "PLAC", "place", place_put, &done->places, t->n_places));
    AS_TRY(list_put(s, t, &stacks, t->stacks, t->n_stacks));
    AS_TRY(list_put(s, t, &warmups, t->warmup, t->n_warmup));
    AS_TRY(list_put(s, t, &spans, t->spans, t->n_spans));
    AS_TRY(list_put(s, t, &samples, t->samples, t->n_samples));
    AS_TRY(list_put(s, t, &readings, t->readings, t->n_readings));
    if (t->n_metrics > done->metrics)
        AS_TRY(names_put(s, t->metrics + done->metrics, t->n_metrics - done->metrics));
    AS_TRY(list_put(s, t, &metrics, t->metrics, t->n_metrics));
    AS_TRY(list_put(s, t, &looks, t->looks, t->n_looks));
    AS_TRY(list_put(s, t, &stack_totals, t->stack_totals, t->n_stack_totals));
    AS_TRY(list_put(s, t, &memory_events, t->memory_events, t->n_memory_events));
    AS_TRY(list_put(s, t, &memory_sites, t->memory_sites, t->n_memory_sites));
    AS_TRY(list_put(s, t, &shots, t->shots, t->n_shots));
    AS_TRY(list_put(s, t, &turns, t->turns, t->n_turns));
    return scalars_put(s, t); /* after the records that it counts */
}

static assay_status totals_put(as_trace_writer *s, const assay_trace *t)
{
    char       why[AS_FAULT_BYTES];
    json_chunk c;
    if (!as_trace_totals_ok(t, why))
        return wont_load(s, "totals", t->n_totals, why);
    if (!t->n_totals)
        return ASSAY_OK;
    AS_TRY(json_open(s, "TOTL", &c));
    as_json_array(&c.w);
    for (size_t i = 0; i < t->n_totals; i++) {
        as_json_array(&c.w);
        put_u64(&c.w, NULL, t->totals[i].count);
        put_u64(&c.w, NULL, t->totals[i].sum_ticks);
        put_u64(&c.w, NULL, t->totals[i].min_ticks);
        put_u64(&c.w, NULL, t->totals[i].max_ticks);
        as_json_array_end(&c.w);
    }
    as_json_array_end(&c.w);
    return json_put(s, "TOTL", &c);
}

/* The number of each kind of record, so that a missing chunk is detected. */
static assay_status end_put(as_trace_writer *s)
{
    json_chunk c;
    AS_TRY(json_open(s, "END ", &c));
    as_json_object(&c.w);
    put_u64(&c.w, "notes", s->of_trace.notes);
    put_u64(&c.w, "steps", s->of_trace.steps);
    put_u64(&c.w, "buffers", s->of_trace.buffers);
    put_u64(&c.w, "sensors", s->of_trace.sensors);
    put_u64(&c.w, "roofs", s->of_trace.roofs);
    put_u64(&c.w, "marks", s->of_trace.marks);
    put_u64(&c.w, "warmup", s->in_all.warmup);
    put_u64(&c.w, "spans", s->in_all.spans);
    put_u64(&c.w, "samples", s->in_all.samples);
    put_u64(&c.w, "readings", s->in_all.readings);
    put_u64(&c.w, "metrics", s->in_all.metrics);
    put_u64(&c.w, "turns", s->in_all.turns);
    put_u64(&c.w, "shots", s->in_all.shots);
    put_u64(&c.w, "contexts", s->of_trace.contexts);
    put_u64(&c.w, "frames", s->of_trace.frames);
    put_u64(&c.w, "lanes", s->of_trace.lanes);
    put_u64(&c.w, "places", s->of_trace.places);
    put_u64(&c.w, "stacks", s->in_all.stacks);
    put_u64(&c.w, "looks", s->in_all.looks);
    put_u64(&c.w, "stack_totals", s->in_all.stack_totals);
    put_u64(&c.w, "memory_events", s->in_all.memory_events);
    put_u64(&c.w, "memory_sites", s->in_all.memory_sites);
    as_json_object_end(&c.w);
    return json_put(s, "END ", &c);
}

/* A trace from a stream that was cut short stays incomplete when it is written again. */
static assay_status rest_put(as_trace_writer *s, const assay_trace *t)
{
    AS_TRY(news_put(s, t));
    AS_TRY(totals_put(s, t));
    return t->complete ? end_put(s) : ASSAY_OK;
}

/* --- The writer ----------------------------------------------------------------------------------------- */

static void writer_free(as_trace_writer *w)
{
    if (w->owns)
        close(w->fd);
    for (size_t i = 0; i < 2 * w->n_names; i++)
        free(w->names[i]);
    free(w->names);
    free(w->buffer);
    free(w->path);
    free(w);
}

/* Partly sent chunks are cut off again: another chunk after them would make the file unreadable instead of short.  A pipe stays
 * torn. */
static void writer_cut(as_trace_writer *w)
{
    struct stat st;
    w->failed = true;
    if (w->owns && !fstat(w->fd, &st) && S_ISREG(st.st_mode)) {
        int ignored = ftruncate(w->fd, (off_t)w->good_bytes); /* where this fails too, nothing more can be done */
        (void)ignored;
    }
}

/* Makes additions visible; after a failure nothing more is written. */
static assay_status writer_flush(assay_env *env, as_trace_writer *w, assay_status status)
{
    if (status == ASSAY_OK)
        drain(w);
    if (status == ASSAY_OK && w->error)
        status = as_fail(env, ASSAY_IO, "trace: %s: cannot append after byte %llu: %s", w->path, (unsigned long long)w->good_bytes,
                         strerror(w->error));
    if (status != ASSAY_OK)
        writer_cut(w);
    return status;
}

static assay_status writer_new(assay_env *env, const char *path, int fd, as_trace_writer **out)
{
    as_trace_writer *w = calloc(1, sizeof *w);
    if (w)
        *w = (as_trace_writer){.env = env, .fd = fd, .path = strdup(path)};
    uint8_t *head = w && w->path ? room(w, AS_TRACE_HEAD_BYTES) : NULL;
    if (!head) {
        if (w)
            writer_free(w);
        return as_fail(env, ASSAY_NO_MEMORY, "trace: %s: not enough memory to write it", path);
    }
    memset(head, 0, AS_TRACE_HEAD_BYTES);
    memcpy(head, AS_TRACE_MAGIC, 8);
    as_le32_put(head + 8, AS_TRACE_VERSION);
    w->n = AS_TRACE_HEAD_BYTES;
    *out = w;
    return ASSAY_OK;
}

static assay_status writer_begin(assay_env *env, as_trace_writer *w, const assay_trace *t, as_trace_writer **out)
{
    assay_status status = writer_flush(env, w, t ? news_put(w, t) : ASSAY_OK);
    if (status != ASSAY_OK)
        writer_free(w);
    else
        *out = w;
    return status;
}

assay_status as_trace_writer_open_fd(assay_env *env, const char *name, int fd, const assay_trace *t, as_trace_writer **out)
{
    as_trace_writer *w;
    AS_TRY(writer_new(env, name, fd, &w));
    return writer_begin(env, w, t, out);
}

assay_status as_trace_writer_open(assay_env *env, const char *path, const assay_trace *t, as_trace_writer **out)
{
    as_trace_writer *w;
    if (!strcmp(path, "-"))
        return as_fail(env, ASSAY_BAD_INPUT, "trace: a trace that grows needs a file, not standard output");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return as_fail(env, ASSAY_IO, "trace: %s: cannot write: %s", path, strerror(errno));
    assay_status status = writer_new(env, path, fd, &w);
    if (status != ASSAY_OK) {
        close(fd);
        return status;
    }
    w->owns = true;
    return writer_begin(env, w, t, out);
}

/* Every call begins here. */
static assay_status writer_ready(assay_env *env, as_trace_writer *w)
{
    w->env = env;
    return w->failed ? as_fail(env, ASSAY_IO, "trace: %s: an earlier write failed, and the file ends at byte %llu", w->path,
                               (unsigned long long)w->good_bytes)
                     : ASSAY_OK;
}

assay_status as_trace_writer_append(assay_env *env, as_trace_writer *w, const assay_trace *t)
{
    AS_TRY(writer_ready(env, w));
    return writer_flush(env, w, news_put(w, t));
}

assay_status as_trace_writer_progress(assay_env *env, as_trace_writer *w, double done, const assay_trace *t)
{
    uint8_t payload[AS_PROGRESS_BYTES];
    AS_TRY(writer_ready(env, w));
    as_lef64_put(payload, done);
    assay_status status = t ? news_put(w, t) : ASSAY_OK;
    if (status == ASSAY_OK)
        status = chunk_put(w, "PROG", payload, sizeof payload);
    return writer_flush(env, w, status);
}

assay_status as_trace_writer_stage(assay_env *env, as_trace_writer *w, const as_trace_stage *stage)
{
    uint8_t payload[AS_STAGE_BYTES] = {0};
    AS_TRY(writer_ready(env, w));
    as_le32_put(payload, (uint32_t)stage->phase);
    as_lef64_put(payload + 8, stage->expect_s);
    as_lef64_put(payload + 16, stage->beyond_s);
    return writer_flush(env, w, chunk_put(w, "STAG", payload, sizeof payload));
}

/* The buffer is sent when it is full, and a failure is found then. */
static assay_status stream_put(assay_env *env, as_trace_writer *w, const assay_trace *t, const record_type *type, const void *items,
                               size_t n)
{
    assay_status status = records_put(w, t, type, items, n);
    return status == ASSAY_OK && !w->error ? ASSAY_OK : writer_flush(env, w, status);
}

assay_status as_trace_writer_spans(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_span *items, size_t n)
{
    AS_TRY(writer_ready(env, w));
    return stream_put(env, w, t, &spans, items, n);
}

assay_status as_trace_writer_samples(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_sample *items, size_t n)
{
    AS_TRY(writer_ready(env, w));
    return stream_put(env, w, t, &samples, items, n);
}

assay_status as_trace_writer_metrics(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_trace_metric *m, size_t n)
{
    AS_TRY(writer_ready(env, w));
    assay_status status = names_put(w, m, n);
    return status == ASSAY_OK ? stream_put(env, w, t, &metrics, m, n) : writer_flush(env, w, status);
}

assay_status as_trace_writer_looks(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_stack_sample *items, size_t n)
{
    AS_TRY(writer_ready(env, w));
    return stream_put(env, w, t, &looks, items, n);
}

assay_status as_trace_writer_memory_events(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_memory_event *items,
                                           size_t n)
{
    AS_TRY(writer_ready(env, w));
    return stream_put(env, w, t, &memory_events, items, n);
}

assay_status as_trace_writer_close(assay_env *env, as_trace_writer *w, const assay_trace *t)
{
    assay_status status = writer_ready(env, w);
    if (status == ASSAY_OK)
        status = writer_flush(env, w, rest_put(w, t));
    writer_free(w);
    return status;
}

void as_trace_writer_abandon(as_trace_writer *w)
{
    if (w)
        writer_free(w);
}

/* --- Whole ---------------------------------------------------------------------------------------------- */

assay_status assay_trace_save(assay_env *env, const assay_trace *trace, const char *path)
{
    as_out           out;
    as_trace_writer *w;
    AS_TRY(as_out_open(env, path, &out));
    assay_status status = as_trace_writer_open_fd(env, path, fileno(out.file), NULL, &w);
    if (status == ASSAY_OK)
        status = as_trace_writer_close(env, w, trace);
    if (status == ASSAY_OK)
        return as_out_commit(env, &out);
    as_out_abandon(&out);
    return status;
}

assay_status as_trace_bytes(assay_env *env, const assay_trace *t, uint8_t **data, size_t *n)
{
    as_trace_writer *w;
    AS_TRY(writer_new(env, t->name, -1, &w));
    assay_status status = rest_put(w, t);
    if (status == ASSAY_OK) {
        *data = w->buffer;
        *n = w->n;
        w->buffer = NULL;
    }
    writer_free(w);
    return status;
}
