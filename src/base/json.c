/* json.c - a streaming JSON writer, and reading with jansson. */
#include "base/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/env.h"
#include "base/file.h"
#include "base/metric.h"
#include "base/text.h"

enum { NUMBERS_PER_LINE = 16 };

void as_json_start(as_json *w, FILE *file, bool pretty) { *w = (as_json){.file = file, .pretty = pretty}; }

static void line_break(as_json *w)
{
    fputc('\n', w->file);
    for (int i = 0; i < w->depth; i++)
        fputs("  ", w->file);
    w->is_broken[w->depth] = true;
    w->n_in_line = 0;
}

/* Writes the separator between this item and the one before.  Numbers of an array share a line. */
static void item_start(as_json *w, bool is_number)
{
    bool is_first = !w->has_item[w->depth];
    bool in_array = w->depth && w->open[w->depth] == '[';
    w->has_item[w->depth] = true;
    if (!w->depth) {
        assert(is_first && "one value a document");
        return;
    }
    if (!is_first)
        fputc(',', w->file);
    if (!w->pretty)
        return;
    if (!in_array || !is_number || w->n_in_line >= NUMBERS_PER_LINE)
        line_break(w);
    else if (!is_first)
        fputc(' ', w->file);
    w->n_in_line++;
}

static void value_start(as_json *w, bool is_number)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    assert((!w->depth || w->open[w->depth] == '[') && "a value in an object needs its key");
    item_start(w, is_number);
}

static void level_open(as_json *w, char bracket)
{
    value_start(w, false);
    assert(w->depth + 1 < (int)AS_COUNT(w->open) && "too deep");
    fputc(bracket, w->file);
    w->depth++;
    w->open[w->depth] = bracket;
    w->has_item[w->depth] = w->is_broken[w->depth] = false;
    w->n_in_line = 0;
}

static void level_close(as_json *w, char bracket)
{
    assert(w->depth && w->open[w->depth] == bracket && !w->after_key);
    bool is_broken = w->is_broken[w->depth];
    w->depth--;
    if (is_broken)
        line_break(w);
    fputc(bracket == '{' ? '}' : ']', w->file);
}

void as_json_object(as_json *w) { level_open(w, '{'); }

void as_json_object_end(as_json *w) { level_close(w, '{'); }

void as_json_array(as_json *w) { level_open(w, '['); }

void as_json_array_end(as_json *w) { level_close(w, '['); }

/* NUL becomes the replacement character too: readers in C, jansson among them, refuse \u0000. */
static void write_string(FILE *file, const char *s, size_t n)
{
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    fputc('"', file);
    for (size_t i = 0; i < n;) {
        size_t        length = as_utf8_length(s + i, n - i);
        unsigned char c = (unsigned char)s[i];
        const char   *name = NULL;
        for (size_t j = 0; j + 1 < sizeof names && !name; j += 2)
            if (names[j] == s[i])
                name = names + j + 1;
        if (name) {
            fputc('\\', file);
            fputc(*name, file);
        } else if (!length || !c) {
            fputs("\xef\xbf\xbd", file);
        } else if (c < 0x20) {
            fprintf(file, "\\u%04x", c);
        } else {
            fwrite(s + i, 1, length, file);
        }
        i += length ? length : 1;
    }
    fputc('"', file);
}

void as_json_key(as_json *w, const char *key)
{
    assert(w->depth && w->open[w->depth] == '{' && !w->after_key && "a key belongs in an object");
    item_start(w, false);
    write_string(w->file, key, strlen(key));
    fputs(w->pretty ? ": " : ":", w->file);
    w->after_key = true;
}

void as_json_text_n(as_json *w, const char *value, size_t n)
{
    value_start(w, false);
    write_string(w->file, value, n);
}

void as_json_text(as_json *w, const char *value)
{
    if (value)
        as_json_text_n(w, value, strlen(value));
    else
        as_json_null(w);
}

void as_json_f64(as_json *w, double value)
{
    char number[AS_NUMBER_BYTES];
    value_start(w, true);
    fputs(isfinite(value) ? as_number(number, value) : "null", w->file);
}

void as_json_u64(as_json *w, uint64_t value)
{
    if (value > INT64_MAX) { /* most readers, jansson too, refuse it as an integer */
        as_json_f64(w, (double)value);
        return;
    }
    value_start(w, true);
    fprintf(w->file, "%" PRIu64, value);
}

void as_json_i64(as_json *w, int64_t value)
{
    value_start(w, true);
    fprintf(w->file, "%" PRId64, value);
}

void as_json_bool(as_json *w, bool value)
{
    value_start(w, true);
    fputs(value ? "true" : "false", w->file);
}

void as_json_null(as_json *w)
{
    value_start(w, true);
    fputs("null", w->file);
}

void as_json_finish(as_json *w)
{
    assert(!w->depth && w->has_item[0] && !w->after_key && "all is closed");
    fputc('\n', w->file);
}

bool as_json_metric(as_json *w, const assay_metric *m)
{
    if (!as_metric_ok(m, NULL))
        return false;
    as_json_object(w);
    as_json_key_f64(w, "value", m->value);
    as_json_key_text(w, "unit", m->unit);
    as_json_key_text(w, "kind", assay_kind_text(m->kind));
    as_json_key_text(w, "source", m->source);
    as_json_key_u64(w, "n", m->n);
    as_json_key_f64(w, "lo", m->lo);
    as_json_key_f64(w, "hi", m->hi);
    if (m->reason)
        as_json_key_text(w, "reason", m->reason);
    as_json_object_end(w);
    return true;
}

/* --- Reading ------------------------------------------------------------------------------ */

assay_status as_json_parse(assay_env *env, const char *what, const char *path, const char *data, size_t n, json_t **out)
{
    json_error_t error;
    json_t      *root = json_loadb(data, n, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        assay_status status = json_error_code(&error) == json_error_out_of_memory ? ASSAY_NO_MEMORY : ASSAY_BAD_INPUT;
        return as_fail(env, status, "%s: %s: line %d, column %d: %s", what, path, error.line, error.column, error.text);
    }
    *out = root;
    return ASSAY_OK;
}

assay_status as_json_load(assay_env *env, const char *what, const char *path, uint64_t max_bytes, json_t **out)
{
    as_map map;
    AS_TRY(as_map_open(env, what, path, max_bytes, &map));
    assay_status status = as_json_parse(env, what, path, (const char *)map.data, map.bytes, out);
    as_map_close(&map);
    return status;
}
