/* trace_file.c - writes traces: whole (assay_trace_save) or growing while they are recorded.
 *
 * Both write the same chunks with the same code; a growing file only has more and smaller ones.  What refers to
 * something comes after it (spans after steps, readings after sensors), so a reader needs one pass. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "trace/format.h"

enum { RECORDS_PER_CHUNK = 1024, RECORD_MAX_BYTES = 40 };

/* Where the chunks go, and how much of the trace is there already. */
typedef struct sink {
    assay_env  *env;
    FILE       *file;
    const char *path;
    size_t      n_notes, n_steps, n_buffers, n_sensors, n_roofs, n_spans, n_samples, n_warmup, n_readings;
    uint64_t    scalars_hash;
    bool        has_scalars;
} sink;

/* --- Chunks ------------------------------------------------------------------------------------------- */

/* Errors stay in the stream and are found when it is flushed. */
static void chunk_put(sink *s, const char *type, const void *payload, size_t n)
{
    uint8_t head[AS_CHUNK_HEAD_BYTES], tail[8 + AS_CRC_BYTES] = {0};
    size_t  padding = as_chunk_padding(n);
    memcpy(head, type, 4);
    as_le32_put(head + 4, AS_CHUNK_VERSION);
    as_le64_put(head + 8, n);
    uint32_t crc = as_crc32(0, head, sizeof head);
    crc = as_crc32(crc, payload, n);
    crc = as_crc32(crc, tail, padding);
    as_le32_put(tail + padding, crc);
    fwrite(head, 1, sizeof head, s->file);
    fwrite(payload, 1, n, s->file);
    fwrite(tail, 1, padding + AS_CRC_BYTES, s->file);
}

/* A JSON payload grows in memory, because the length goes before it. */
typedef struct json_chunk {
    char   *data;
    size_t  n;
    FILE   *file;
    as_json w;
} json_chunk;

static assay_status no_room(sink *s, const char *type)
{
    return as_fail(s->env, ASSAY_NO_MEMORY, "trace: %s: no memory for a chunk %.4s", s->path, type);
}

static assay_status json_open(sink *s, const char *type, json_chunk *c)
{
    *c = (json_chunk){0};
    c->file = open_memstream(&c->data, &c->n);
    if (!c->file)
        return no_room(s, type);
    as_json_start(&c->w, c->file, false);
    return ASSAY_OK;
}

/* False: no memory.  The data are the caller's to free in any case. */
static bool json_close(json_chunk *c)
{
    as_json_finish(&c->w);
    bool ok = !ferror(c->file);
    return !fclose(c->file) && ok && c->data;
}

static assay_status json_put(sink *s, const char *type, json_chunk *c)
{
    bool ok = json_close(c);
    if (ok)
        chunk_put(s, type, c->data, c->n);
    free(c->data);
    return ok ? ASSAY_OK : no_room(s, type);
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

/* NaN is null; the infinities, which JSON has not either, are text. */
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
        case AS_FIELD_INT: as_json_key_i64(w, f->key, *(const int *)at); break;
        case AS_FIELD_U64: put_u64(w, f->key, *(const uint64_t *)at); break;
        case AS_FIELD_F64: put_f64(w, f->key, *(const double *)at); break;
        }
    }
}

static void object_put(as_json *w, const void *item, const as_field *fields)
{
    as_json_object(w);
    fields_put(w, item, fields);
    as_json_object_end(w);
}

/* --- What is written ------------------------------------------------------------------------------------ */

static assay_status wont_load(sink *s, const char *what, size_t index, const char *why)
{
    return as_fail(s->env, ASSAY_INTERNAL, "trace: %s: not written, because it could not be read again: %s %zu: %s", s->path, what,
                   index, why);
}

static assay_status head_put(sink *s, const assay_trace *t)
{
    char why[AS_FAULT_BYTES];
    if (!as_trace_clock_ok(t, why))
        return wont_load(s, "clock", 0, why);
    uint8_t head[AS_TRACE_HEAD_BYTES] = {0};
    memcpy(head, AS_TRACE_MAGIC, 8);
    as_le32_put(head + 8, AS_TRACE_VERSION);
    fwrite(head, 1, sizeof head, s->file);

    json_chunk c;
    AS_TRY(json_open(s, "CLCK", &c));
    object_put(&c.w, t, as_clock_fields);
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

typedef bool (*item_put)(as_json *w, const assay_trace *t, size_t i, char *why);

/* One chunk with the items from *done to n, or none when there is nothing new. */
static assay_status items_put(sink *s, const assay_trace *t, const char *type, const char *what, item_put put, size_t *done,
                              size_t n)
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

static bool span_pack(uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_span *x = item;
    as_le64_put(p, x->begin_ticks);
    as_le64_put(p + 8, x->end_ticks);
    as_le32_put(p + 16, (uint32_t)x->step);
    as_le32_put(p + 20, x->run);
    as_le32_put(p + 24, x->kind | (uint32_t)x->thread << 16);
    as_le32_put(p + 28, 0);
    return as_span_ok(t, x, why);
}

static bool sample_pack(uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_sample *x = item;
    (void)t;
    as_le64_put(p, x->begin_ticks);
    as_le64_put(p + 8, x->end_ticks);
    as_le64_put(p + 16, x->cpu_ns);
    as_le32_put(p + 24, x->first_run);
    as_le32_put(p + 28, x->n_runs);
    return as_sample_ok(x, why);
}

static bool reading_pack(uint8_t *p, const assay_trace *t, const void *item, char *why)
{
    const as_reading *x = item;
    uint64_t          bits;
    memcpy(&bits, &x->value, sizeof bits);
    as_le64_put(p, x->ticks);
    as_le64_put(p + 8, bits);
    as_le32_put(p + 16, x->sensor);
    as_le32_put(p + 20, x->sample);
    return as_reading_ok(t, x, why);
}

typedef struct record_type {
    const char *type, *what;
    size_t      item_bytes, file_bytes; /* in memory, in the file */
    bool (*pack)(uint8_t *p, const assay_trace *t, const void *item, char *why);
} record_type;

static const record_type spans = {"SPAN", "span", sizeof(as_span), AS_SPAN_BYTES, span_pack};
static const record_type samples = {"SAMP", "sample", sizeof(as_sample), AS_SAMPLE_BYTES, sample_pack};
static const record_type warmups = {"WARM", "warm-up sample", sizeof(as_sample), AS_SAMPLE_BYTES, sample_pack};
static const record_type readings = {"READ", "reading", sizeof(as_reading), AS_READING_BYTES, reading_pack};

static assay_status records_put(sink *s, const assay_trace *t, const record_type *type, const void *items, size_t *done, size_t n)
{
    uint8_t payload[RECORDS_PER_CHUNK * RECORD_MAX_BYTES];
    char    why[AS_FAULT_BYTES];
    while (*done < n) {
        size_t count = n - *done < RECORDS_PER_CHUNK ? n - *done : RECORDS_PER_CHUNK;
        for (size_t i = 0; i < count; i++) {
            const char *item = (const char *)items + (*done + i) * type->item_bytes;
            if (!type->pack(payload + i * type->file_bytes, t, item, why))
                return wont_load(s, type->what, *done + i, why);
        }
        chunk_put(s, type->type, payload, count * type->file_bytes);
        *done += count;
    }
    return ASSAY_OK;
}

/* Written again whenever they have changed: the last ones count, and a file cut short has some. */
static assay_status scalars_put(sink *s, const assay_trace *t)
{
    const char *detail = as_detail_text(t->detail);
    if (!detail)
        return wont_load(s, "detail", (size_t)t->detail, "no such level");
    json_chunk c;
    AS_TRY(json_open(s, "SCAL", &c));
    as_json *w = &c.w;
    as_json_object(w);
    put_text(w, "detail", detail);
    fields_put(w, t, as_scalar_fields);
    put_text(w, "state", as_trace_state_text(t->state));
    as_json_object_end(w);
    bool ok = json_close(&c);
    if (ok) {
        uint64_t hash = as_hash64(c.data, c.n);
        if (!s->has_scalars || hash != s->scalars_hash)
            chunk_put(s, "SCAL", c.data, c.n);
        s->has_scalars = true;
        s->scalars_hash = hash;
    }
    free(c.data);
    return ok ? ASSAY_OK : no_room(s, "SCAL");
}

static assay_status news_put(sink *s, const assay_trace *t)
{
    AS_TRY(items_put(s, t, "NOTE", "note", note_put, &s->n_notes, t->n_notes));
    AS_TRY(items_put(s, t, "STEP", "step", step_put, &s->n_steps, t->n_steps));
    AS_TRY(items_put(s, t, "BUFF", "buffer", buffer_put, &s->n_buffers, t->n_buffers));
    AS_TRY(items_put(s, t, "SENS", "sensor", sensor_put, &s->n_sensors, t->n_sensors));
    AS_TRY(items_put(s, t, "ROOF", "roof", roof_put, &s->n_roofs, t->n_roofs));
    AS_TRY(scalars_put(s, t));
    AS_TRY(records_put(s, t, &warmups, t->warmup, &s->n_warmup, t->n_warmup));
    AS_TRY(records_put(s, t, &spans, t->spans, &s->n_spans, t->n_spans));
    AS_TRY(records_put(s, t, &samples, t->samples, &s->n_samples, t->n_samples));
    return records_put(s, t, &readings, t->readings, &s->n_readings, t->n_readings);
}

static assay_status totals_put(sink *s, const assay_trace *t)
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

/* How many of each there must have been, so that a chunk that went missing is noticed. */
static assay_status end_put(sink *s, const assay_trace *t)
{
    json_chunk c;
    AS_TRY(json_open(s, "END ", &c));
    as_json_object(&c.w);
    put_u64(&c.w, "notes", t->n_notes);
    put_u64(&c.w, "steps", t->n_steps);
    put_u64(&c.w, "buffers", t->n_buffers);
    put_u64(&c.w, "sensors", t->n_sensors);
    put_u64(&c.w, "roofs", t->n_roofs);
    put_u64(&c.w, "warmup", t->n_warmup);
    put_u64(&c.w, "spans", t->n_spans);
    put_u64(&c.w, "samples", t->n_samples);
    put_u64(&c.w, "readings", t->n_readings);
    as_json_object_end(&c.w);
    return json_put(s, "END ", &c);
}

/* --- Whole ---------------------------------------------------------------------------------------------- */

/* A trace that was read from a file cut short stays one: saving it does not make it complete. */
assay_status assay_trace_save(assay_env *env, const assay_trace *trace, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    sink         s = {.env = env, .file = out.file, .path = path};
    assay_status status = ASSAY_OK;
    AS_TRY_OR(failed, head_put(&s, trace));
    AS_TRY_OR(failed, news_put(&s, trace));
    AS_TRY_OR(failed, totals_put(&s, trace));
    if (trace->complete)
        AS_TRY_OR(failed, end_put(&s, trace));
    return as_out_commit(env, &out);
failed:
    as_out_abandon(&out);
    return status;
}

/* --- Growing -------------------------------------------------------------------------------------------- */

struct as_trace_file {
    sink  sink;
    long  good_bytes; /* whole chunks that reached the file */
    bool  failed;
    char *path;
};

static void file_free(as_trace_file *f)
{
    if (f->sink.file)
        fclose(f->sink.file);
    free(f->path);
    free(f);
}

/* A chunk half written is cut off again: the next one behind it would make the file unreadable, not short.  The
 * stream goes first, since it would send once more what it still holds. */
static void file_cut(as_trace_file *f)
{
    int fd = dup(fileno(f->sink.file));
    fclose(f->sink.file);
    f->sink.file = NULL;
    f->failed = true;
    if (fd < 0)
        return;
    int ignored = ftruncate(fd, f->good_bytes); /* where this fails too, nothing more can be done */
    (void)ignored;
    close(fd);
}

static assay_status file_flush(assay_env *env, as_trace_file *f, assay_status status)
{
    errno = 0;
    if (status == ASSAY_OK && !fflush(f->sink.file) && !ferror(f->sink.file)) {
        f->good_bytes = ftell(f->sink.file);
        return ASSAY_OK;
    }
    if (status == ASSAY_OK)
        status = as_fail(env, ASSAY_IO, "trace: %s: cannot append after byte %ld: %s", f->path, f->good_bytes,
                         errno ? strerror(errno) : "an earlier write failed");
    file_cut(f);
    return status;
}

assay_status as_trace_file_open(assay_env *env, const char *path, const assay_trace *t, as_trace_file **out)
{
    if (!strcmp(path, "-"))
        return as_fail(env, ASSAY_BAD_INPUT, "trace: a trace that grows needs a file, not standard output");
    as_trace_file *f = calloc(1, sizeof *f);
    if (f)
        f->path = strdup(path);
    if (!f || !f->path) {
        free(f);
        return as_fail(env, ASSAY_NO_MEMORY, "trace: %s: no memory to write it", path);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    f->sink = (sink){.env = env, .path = f->path, .file = fd < 0 ? NULL : fdopen(fd, "wb")};
    if (!f->sink.file) {
        assay_status status = as_fail(env, ASSAY_IO, "trace: %s: cannot write: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        file_free(f);
        return status;
    }
    assay_status status = head_put(&f->sink, t);
    if (status == ASSAY_OK)
        status = news_put(&f->sink, t);
    status = file_flush(env, f, status);
    if (status != ASSAY_OK) {
        file_free(f);
        return status;
    }
    *out = f;
    return ASSAY_OK;
}

static assay_status failed_before(assay_env *env, const as_trace_file *f)
{
    return as_fail(env, ASSAY_IO, "trace: %s: an earlier write failed, and the file ends at byte %ld", f->path, f->good_bytes);
}

assay_status as_trace_file_append(assay_env *env, as_trace_file *f, const assay_trace *t)
{
    if (f->failed)
        return failed_before(env, f);
    f->sink.env = env;
    return file_flush(env, f, news_put(&f->sink, t));
}

assay_status as_trace_file_close(assay_env *env, as_trace_file *f, const assay_trace *t)
{
    assay_status status = ASSAY_OK;
    f->sink.env = env;
    if (f->failed) {
        status = failed_before(env, f);
    } else {
        status = news_put(&f->sink, t);
        if (status == ASSAY_OK)
            status = totals_put(&f->sink, t);
        if (status == ASSAY_OK)
            status = end_put(&f->sink, t);
        status = file_flush(env, f, status);
    }
    file_free(f);
    return status;
}

void as_trace_file_abandon(as_trace_file *f)
{
    if (f)
        file_free(f);
}
