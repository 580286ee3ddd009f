/* text.h - growing strings, small parsers and how numbers are shown to people. */
#ifndef AS_BASE_TEXT_H
#define AS_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "assay.h"
#include "base/arena.h"

/* A growing string. {0} is empty; `failed` is set when memory runs out, and later calls do nothing. */
typedef struct as_text {
    char  *data; /* NUL-terminated once anything was added */
    size_t length, capacity;
    bool   failed;
} as_text;

void as_text_add(as_text *t, const char *s);
void as_text_add_n(as_text *t, const char *s, size_t n);
void as_text_printf(as_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void as_text_drop(as_text *t);

/* Whole-string parsers: false (out untouched) unless the text is a complete number in range. */
bool as_parse_i64(const char *s, int64_t *out);
bool as_parse_f64(const char *s, double *out);           /* finite, no locale */
bool as_parse_duration_ns(const char *s, uint64_t *out); /* 250ns 5us 1.5ms 2s */
bool as_parse_bytes(const char *s, uint64_t *out);       /* 512 64KiB 1.5MiB 2GiB, or 2G */
bool as_parse_bool(const char *s, bool *out);            /* on off true false 1 0 yes no */

/* Human forms into buf: "12.3 us", "1.50 MiB", "3.21 GFLOP", with three significant digits;
 * unit is a metric unit ("ns", "byte", "flop", "flop/s", "byte/s", "ratio", "1", "celsius" ...).
 * NaN gives "n/a". */
const char *as_show(char *buf, size_t size, double value, const char *unit);
/* The unit that as_show() chooses for a finite value: "ms" for 2.5e6 ns. */
typedef struct as_scale {
    const char *unit;   /* "": a plain number */
    double      value;  /* in that unit */
    double      factor; /* this many of that unit are one of the metric's */
    bool        whole;  /* counted one by one: integers are shown as integers */
} as_scale;
as_scale as_scale_for(double value, const char *unit);

/* A moment in UTC: "2026-11-16", with the minute "2026-11-16 12:29", with the second "2026-11-16 12:29:09", or as ISO 8601
 * "2026-11-16T12:29:09Z"; "unknown" for a moment that no calendar has.  AS_DATE_BYTES are enough for any of them.  Returns
 * buf. */
typedef enum as_date_form { AS_DATE_DAY, AS_DATE_MINUTE, AS_DATE_SECOND, AS_DATE_ISO } as_date_form;
enum { AS_DATE_BYTES = 40 };
const char *as_date_text(char *buf, size_t size, int64_t unix_s, as_date_form form);

/* The closest of `words` (NULL-terminated) to s by edit distance, or NULL when none is near. */
const char *as_nearest(const char *s, const char *const *words);
/* FNV-1a, 64 bit. */
uint64_t as_hash64(const void *data, size_t n);
/* CRC-32 (IEEE, reflected, as zlib); start with 0. */
uint32_t as_crc32(uint32_t crc, const void *data, size_t n);
bool     as_utf8_ok(const char *s, size_t n);
/* Bytes of the valid UTF-8 character at s (which has n bytes), or 0 if there is none. */
size_t as_utf8_length(const char *s, size_t n);
/* Columns of UTF-8 text: one per character. */
int as_text_columns(const char *text);
/* The shortest decimal form that reads back as the same double, with '.' in any locale; buf holds
 * AS_NUMBER_BYTES.  Non-finite values give "nan", "inf" or "-inf". */
#define AS_NUMBER_BYTES 40
const char *as_number(char *buf, double value);

#endif
