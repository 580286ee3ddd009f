/* format.h - what the writer and the reader of trace files share; nothing else includes it.
 *
 * The file is described in docs/trace-format.md.  In short: 16 bytes of head, then chunks
 *
 *     type (4 chars) | version (u32) | payload length (u64) | payload | zeros | CRC-32 (u32)
 *
 * little-endian, with so many zeros that a chunk is a multiple of 8 bytes and the CRC is its last four.  So every payload begins
 * at a multiple of 8, and a chunk is complete exactly when its CRC is present and correct. */
#ifndef AS_TRACE_FORMAT_H
#define AS_TRACE_FORMAT_H

#include <string.h>

#include "trace/stream.h"

/* Like PNG's: the high bit and both line ends detect a file that was damaged by a text-mode transfer. */
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
    AS_METRIC_BYTES = 32,
    AS_TURN_BYTES = 88,
    AS_SHOT_BYTES = 8,
    AS_STACK_BYTES = 8,
    AS_LOOK_BYTES = 24,
    AS_STACK_TOTAL_BYTES = 64,
    AS_MEMORY_EVENT_BYTES = 48,
    AS_MEMORY_SITE_BYTES = 72,
    AS_PROGRESS_BYTES = 8,
    AS_STAGE_BYTES = 24,
    AS_TRACE_MAX_ARMS = 1024,
};

/* Zeros between a payload of n bytes and its CRC. */
static inline size_t as_chunk_padding(uint64_t n) { return (size_t)(-(n + AS_CRC_BYTES) & 7); }

/* In the byte order of the file, whatever the machine's.  Not byte by byte: gcc makes a loop of that, which was a third of an
 * event's cost. */
static inline void as_le32_put(uint8_t *p, uint32_t v)
{
    v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

static inline void as_le64_put(uint8_t *p, uint64_t v)
{
    v = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

static inline void as_lef64_put(uint8_t *p, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    as_le64_put(p, bits);
}

static inline void as_lef32_put(uint8_t *p, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    as_le32_put(p, bits);
}

static inline uint32_t as_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap32(v);
}

static inline uint64_t as_le64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

static inline double as_lef64(const uint8_t *p)
{
    uint64_t bits = as_le64(p);
    double   v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static inline float as_lef32(const uint8_t *p)
{
    uint32_t bits = as_le32(p);
    float    v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* What a turn is checked against: the turns before it in the stream, which need not be in the trace. */
typedef struct as_turns_seen {
    uint64_t n_turns, n_shots;
    uint32_t launch, round; /* of the last turn */
    bool     bare;          /* turns without their samples */
} as_turns_seen;

/* Long lists are moved when they grow, so that no old copies stay in the arena. */
bool as_trace_grow_heap(void **array, size_t *cap, size_t want, size_t size);
/* Like as_trace_add_context() and similar functions, but duplicates are added again, so that a file's indices stay valid. */
bool as_trace_append_context(assay_trace *t, const as_trace_context *context);
bool as_trace_append_frame(assay_trace *t, const as_trace_frame *frame);
bool as_trace_append_stack(assay_trace *t, const as_trace_stack *stack);
bool as_trace_append_place(assay_trace *t, const char *place);

/* Whether a record is valid in this trace; if not, `why` gets the reason.  The reader checks what it read, and the writer what it
 * is about to write: what would not load is not saved. */
#define AS_FAULT_BYTES 160
bool as_span_ok(const assay_trace *t, const as_span *span, char why[AS_FAULT_BYTES]);
/* The same without the reason, for the common case. */
static inline bool as_span_plain(const assay_trace *t, const as_span *span)
{
    return span->kind <= AS_SPAN_DEVICE && span->begin_ticks <= span->end_ticks && span->step >= -1 &&
           span->step < (int64_t)t->n_steps;
}
bool as_sample_ok(const as_sample *sample, char why[AS_FAULT_BYTES]);
bool as_reading_ok(const assay_trace *t, const as_reading *reading, char why[AS_FAULT_BYTES]);
bool as_trace_frame_ok(const assay_trace *t, const as_trace_frame *frame, char why[AS_FAULT_BYTES]);
/* `index` is its own index. */
bool as_trace_stack_ok(const assay_trace *t, const as_trace_stack *stack, size_t index, char why[AS_FAULT_BYTES]);
bool as_look_ok(const assay_trace *t, const as_stack_sample *look, char why[AS_FAULT_BYTES]);
bool as_stack_total_ok(const assay_trace *t, const as_stack_total *total, char why[AS_FAULT_BYTES]);
bool as_memory_event_ok(const assay_trace *t, const as_memory_event *event, char why[AS_FAULT_BYTES]);
bool as_memory_site_ok(const assay_trace *t, const as_memory_site *s, char why[AS_FAULT_BYTES]);
bool as_trace_step_ok(const as_trace_step *step, size_t index, char why[AS_FAULT_BYTES]);
bool as_trace_buffer_ok(const assay_trace *t, const as_trace_buffer *buffer, char why[AS_FAULT_BYTES]);
bool as_trace_sensor_ok(const as_trace_sensor *sensor, char why[AS_FAULT_BYTES]);
bool as_trace_arm_ok(const as_trace_arm *arm, char why[AS_FAULT_BYTES]);
/* Counts the turn if it is valid. */
bool as_turn_ok(const assay_trace *t, as_turns_seen *seen, const as_turn *turn, char why[AS_FAULT_BYTES]);
bool as_shots_ok(const as_turns_seen *seen, char why[AS_FAULT_BYTES]);
bool as_trace_clock_ok(const assay_trace *t, char why[AS_FAULT_BYTES]);
bool as_trace_totals_ok(const assay_trace *t, char why[AS_FAULT_BYTES]);

/* The fields of an item as a JSON object, in the order of the file; a NULL key ends the list. */
typedef enum as_field_kind {
    AS_FIELD_TEXT,
    AS_FIELD_TEXT_OR_NULL,
    AS_FIELD_CHARS, /* text within the item, of `size` bytes with its NUL */
    AS_FIELD_WORD,  /* an enum */
    AS_FIELD_BOOL,
    AS_FIELD_INT,
    AS_FIELD_U32,
    AS_FIELD_U64,
    AS_FIELD_I64,
    AS_FIELD_F64
} as_field_kind;
typedef struct as_field {
    const char   *key;
    as_field_kind kind;
    size_t        at;                /* its place in the item */
    bool          younger;           /* older files do not have this key: then the item keeps its value */
    size_t        size;              /* of CHARS; for a WORD the number of words */
    const char *(*word)(int number); /* of a WORD */
} as_field;
extern const as_field as_clock_fields[], as_scalar_fields[];          /* of the trace itself */
extern const as_field as_step_choice_fields[], as_step_work_fields[]; /* the refused kernels come between them */
extern const as_field as_buffer_fields[], as_sensor_fields[], as_roof_fields[], as_arm_fields[], as_mark_fields[];
extern const as_field as_context_fields[], as_frame_fields[], as_lane_fields[];

/* The reader: follow.c cuts the stream into chunks, trace_parse.c reads what is in them. */
struct as_trace_follow {
    assay_env         *env;
    char              *path;
    as_follow_settings settings;
    assay_trace       *t;
    char               type[5]; /* of the chunk being read, and where it begins */
    uint64_t           at;
    size_t             item; /* within the chunk */
    bool               has_clock, has_totals, has_end;

    /* How many there were, kept or not. */
    struct {
        uint64_t spans, samples, warmup, readings, metrics, marks, looks, memory_events, memory_sites;
    } n;
    as_turns_seen  turns;
    uint32_t       kept_before; /* spans of this run and later ones are folded */
    bool           folds;
    as_step_total *totals; /* of all spans of steps so far */
    size_t         n_totals;
    uint64_t       keeps_every; /* of the samples */
    struct as_metric_name {
        const char *name, *unit;
    } * names; /* in the trace's arena, except the list */
    size_t n_names, cap_names;

    /* The bytes of an incomplete chunk. */
    uint8_t     *held;
    size_t       n_held, cap_held;
    uint64_t     n_bytes; /* in all */
    bool         has_head;
    bool         torn;      /* a chunk with an impossible length: the rest is ignored */
    bool         bad, zero; /* bad: the last chunk has a wrong checksum, so nothing may follow; zero: it was all zeros, and only
                             * zeros may follow */
    uint32_t     stored, computed;
    uint64_t     bad_length;
    assay_status failed;
};

assay_status as_chunk_read(as_trace_follow *r, uint32_t version, const uint8_t *payload, size_t n);
/* Checks that need the whole stream. */
assay_status as_chunks_end(as_trace_follow *r);
assay_status as_chunk_lie(as_trace_follow *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
