/* format.h - what the writer and the reader of trace files agree on; nobody else includes it.
 *
 * The file is described in docs/trace-format.md.  In short: 16 bytes of head, then chunks
 *
 *     type (4 chars) | version (u32) | payload length (u64) | payload | zeros | CRC-32 (u32)
 *
 * little-endian, the zeros such that a chunk is a multiple of 8 bytes and the CRC its last four.  So every payload
 * begins at a multiple of 8, and a chunk is whole exactly when its CRC is there and right. */
#ifndef AS_TRACE_FORMAT_H
#define AS_TRACE_FORMAT_H

#include <string.h>

#include "trace/trace.h"

/* As PNG's: the high bit and both line ends show a file that a text mode has mangled. */
#define AS_TRACE_MAGIC \
    "\x89"             \
    "ASY\r\n\x1a\n"

enum {
    AS_TRACE_VERSION = 1, /* of the file; a change that old readers cannot skip raises it */
    AS_CHUNK_VERSION = 1, /* of every chunk type so far */
    AS_TRACE_HEAD_BYTES = 16,
    AS_CHUNK_HEAD_BYTES = 16,
    AS_CRC_BYTES = 4,
    AS_SPAN_BYTES = 32,
    AS_SAMPLE_BYTES = 32,
    AS_READING_BYTES = 24,
};

/* Zeros between a payload of n bytes and its CRC. */
static inline size_t as_chunk_padding(uint64_t n) { return (size_t)(-(n + AS_CRC_BYTES) & 7); }

/* Byte by byte, so that the order of the file does not depend on the machine's; compilers make one move of it. */
static inline void as_le32_put(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static inline void as_le64_put(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint32_t as_le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t as_le64(const uint8_t *p) { return as_le32(p) | (uint64_t)as_le32(p + 4) << 32; }

/* Whether a record may stand in this trace; if not, `why` gets what is wrong with the numbers.  The reader asks
 * about what it read and the writer about what it is to write: what would not load is not saved. */
#define AS_FAULT_BYTES 160
bool as_span_ok(const assay_trace *t, const as_span *span, char why[AS_FAULT_BYTES]);
bool as_sample_ok(const as_sample *sample, char why[AS_FAULT_BYTES]);
bool as_reading_ok(const assay_trace *t, const as_reading *reading, char why[AS_FAULT_BYTES]);
bool as_trace_step_ok(const as_trace_step *step, size_t index, char why[AS_FAULT_BYTES]);
bool as_trace_buffer_ok(const assay_trace *t, const as_trace_buffer *buffer, char why[AS_FAULT_BYTES]);
bool as_trace_sensor_ok(const as_trace_sensor *sensor, char why[AS_FAULT_BYTES]);
bool as_trace_clock_ok(const assay_trace *t, char why[AS_FAULT_BYTES]);
bool as_trace_totals_ok(const assay_trace *t, char why[AS_FAULT_BYTES]);

/* What an item has as fields of a JSON object, in the order of the file; a NULL key ends a list. */
typedef enum as_field_kind { AS_FIELD_TEXT, AS_FIELD_TEXT_OR_NULL, AS_FIELD_INT, AS_FIELD_U64, AS_FIELD_F64 } as_field_kind;
typedef struct as_field {
    const char   *key;
    as_field_kind kind;
    size_t        at;      /* its place in the item */
    bool          younger; /* files from before it was there have no such key: then the item keeps what it has */
} as_field;
extern const as_field as_clock_fields[], as_scalar_fields[];          /* of the trace itself */
extern const as_field as_step_choice_fields[], as_step_work_fields[]; /* the refused kernels stand between them */
extern const as_field as_buffer_fields[], as_sensor_fields[], as_roof_fields[];

/* "run", "segment", "step", "part"; NULL outside the enum. */
const char *as_detail_text(as_detail detail);
bool        as_detail_find(const char *text, as_detail *out);

#endif
