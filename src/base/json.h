/* json.h - a streaming JSON writer, and reading with jansson.
 *
 * Writing never allocates.  Non-finite numbers become null (JSON has no NaN); strings are escaped and
 * invalid UTF-8 is replaced, so the output always parses.  Misuse (a value without its key) asserts. */
#ifndef AS_BASE_JSON_H
#define AS_BASE_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "assay.h"

typedef struct as_json {
    FILE *file;
    int   depth;
    bool  pretty;   /* two-space indents, short arrays of numbers on one line */
    char  open[64]; /* '{' or '[' per level */
    bool  has_item[64], after_key;
    bool  is_broken[64]; /* the level contains a line break, so its end needs one too */
    int   n_in_line;     /* numbers written since the last line break */
} as_json;

void as_json_start(as_json *w, FILE *file, bool pretty);
void as_json_object(as_json *w); /* { */
void as_json_object_end(as_json *w);
void as_json_array(as_json *w); /* [ */
void as_json_array_end(as_json *w);
void as_json_key(as_json *w, const char *key);
void as_json_text(as_json *w, const char *value); /* NULL writes null */
void as_json_text_n(as_json *w, const char *value, size_t n);
void as_json_f64(as_json *w, double value); /* shortest form that reads back the same */
void as_json_u64(as_json *w, uint64_t value);
void as_json_i64(as_json *w, int64_t value);
void as_json_bool(as_json *w, bool value);
void as_json_null(as_json *w);
void as_json_finish(as_json *w); /* asserts that everything is closed; adds a newline */
/* {"value":..,"unit":..,"kind":..,"source":..,"n":..,"lo":..,"hi":..[,"reason":..]}; false (and
 * nothing written) when the metric may not be shown. */
bool as_json_metric(as_json *w, const assay_metric *m);
#define as_json_key_text(w, k, v) (as_json_key((w), (k)), as_json_text((w), (v)))
#define as_json_key_f64(w, k, v)  (as_json_key((w), (k)), as_json_f64((w), (v)))
#define as_json_key_u64(w, k, v)  (as_json_key((w), (k)), as_json_u64((w), (v)))
#define as_json_key_i64(w, k, v)  (as_json_key((w), (k)), as_json_i64((w), (v)))
#define as_json_key_bool(w, k, v) (as_json_key((w), (k)), as_json_bool((w), (v)))

/* Reading: duplicate keys, trailing bytes, depth above jansson's limit and bad UTF-8 are errors with
 * line and column ("`what`: PATH: line 3, column 7: ...").  json_decref() the result. */
assay_status as_json_parse(assay_env *env, const char *what, const char *path, const char *data, size_t n, json_t **out);
assay_status as_json_load(assay_env *env, const char *what, const char *path, uint64_t max_bytes, json_t **out);

#endif
