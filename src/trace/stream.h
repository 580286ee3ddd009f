/* stream.h - the trace as a stream of chunks (docs/trace-format.md): written to a file, a pipe or memory, and read while it grows.
 *
 * An incomplete chunk is ignored.  So a stream that ends anywhere, because its writer was killed or the disk was full, is a trace
 * that ends a little earlier. */
#ifndef AS_TRACE_STREAM_H
#define AS_TRACE_STREAM_H

#include "base/env.h"
#include "trace/trace.h"

/* A stage of the work begins; only in a stream. */
typedef struct as_trace_stage {
    as_phase phase;
    double   expect_s; /* NaN: not known */
    double   beyond_s;
} as_trace_stage;

/* --- Writing --------------------------------------------------------------------------------------------- */

/* Owns its buffer, which is written when it is full and after each append.  After a failure it writes nothing more: a file is cut
 * back to its last complete chunk. */
typedef struct as_trace_writer as_trace_writer;

/* Writes to a file under its final name, from its beginning.  t (NULL: nothing is known yet) is appended at once. */
assay_status as_trace_writer_open(assay_env *env, const char *path, const assay_trace *t, as_trace_writer **out);
/* Writes to a pipe or a file whose descriptor the caller keeps; `name` is for messages. */
assay_status as_trace_writer_open_fd(assay_env *env, const char *name, int fd, const assay_trace *t, as_trace_writer **out);
/* Appends what was added to t since the last call. */
assay_status as_trace_writer_append(assay_env *env, as_trace_writer *w, const assay_trace *t);
/* The share of the work that is done; t as above, or NULL. */
assay_status as_trace_writer_progress(assay_env *env, as_trace_writer *w, double done, const assay_trace *t);
/* The current stage and how long it will take (base/stage.h). */
assay_status as_trace_writer_stage(assay_env *env, as_trace_writer *w, const as_trace_stage *stage);
/* Records that go only to the stream, not to t, which has what they refer to: for a recorder that runs for hours.  They are
 * written when the buffer is full or with the next append. */
assay_status as_trace_writer_spans(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_span *spans, size_t n);
assay_status as_trace_writer_samples(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_sample *samples, size_t n);
assay_status as_trace_writer_metrics(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_trace_metric *m, size_t n);
assay_status as_trace_writer_looks(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_stack_sample *looks,
                                   size_t n);
assay_status as_trace_writer_memory_events(assay_env *env, as_trace_writer *w, const assay_trace *t, const as_memory_event *events,
                                           size_t n);
/* Appends, writes the end chunk and frees, also when it fails. */
assay_status as_trace_writer_close(assay_env *env, as_trace_writer *w, const assay_trace *t);
void         as_trace_writer_abandon(as_trace_writer *w); /* no end chunk; NULL is fine */

/* The stream of a whole trace in memory, to be freed. */
assay_status as_trace_bytes(assay_env *env, const assay_trace *t, uint8_t **data, size_t *n);

/* --- Reading --------------------------------------------------------------------------------------------- */

enum {
    AS_KEPT_SPANS = 1 << 18, /* spans of the first runs that are kept, 8 MiB; later ones only count in the totals of their steps */
    AS_KEPT_SAMPLES = 1 << 21, /* at most this many, 64 MiB; with more, every second one is kept, then every fourth ...
                                * (sample_every) */
};

/* What a follower does with records.  A function gets its records as they arrive, checked against the trace so far, and they are
 * not kept: a reader that only needs sums works in constant memory.  NULL: they are kept in the trace. */
typedef struct as_follow_settings {
    size_t kept_spans, kept_samples; /* 0: AS_KEPT_... */
    void  *arg;
    void (*spans)(void *arg, const assay_trace *t, const as_span *spans, size_t n);
    void (*samples)(void *arg, const assay_trace *t, const as_sample *samples, size_t n);
    void (*readings)(void *arg, const assay_trace *t, const as_reading *readings, size_t n);
    void (*metrics)(void *arg, const assay_trace *t, const as_trace_metric *metrics, size_t n);
    void (*turns)(void *arg, const assay_trace *t, const as_turn *turns, size_t n);
    void (*shots)(void *arg, const assay_trace *t, const as_shot *shots, size_t n);
    void (*looks)(void *arg, const assay_trace *t, const as_stack_sample *looks, size_t n);
    void (*memory_events)(void *arg, const assay_trace *t, const as_memory_event *events, size_t n);
    void (*progress)(void *arg, double done);
    void (*stage)(void *arg, const as_trace_stage *stage);
    /* After each whole chunk of a known type. */
    void (*chunk)(void *arg, const assay_trace *t, const char *type);
} as_follow_settings;

typedef struct as_trace_follow as_trace_follow;

/* settings NULL: everything is kept, as a loader does. */
assay_status as_trace_follow_new(assay_env *env, const char *path, const as_follow_settings *settings, as_trace_follow **out);
/* Feeds bytes of the stream, in order, split anywhere; an incomplete chunk waits for the rest.  A chunk with a wrong checksum or
 * invalid content is BAD_INPUT with its offset, and the follower then takes nothing more. */
assay_status as_trace_follow_feed(assay_env *env, as_trace_follow *f, const void *data, size_t n);
/* The trace so far; it grows with the next bytes. */
const assay_trace *as_trace_follow_trace(const as_trace_follow *f);
bool               as_trace_follow_ended(const as_trace_follow *f); /* the end chunk was there */

typedef enum as_follow_news {
    AS_FOLLOW_GREW,  /* some bytes were read */
    AS_FOLLOW_QUIET, /* nothing arrived in time: the writer is slow, or has ended */
    AS_FOLLOW_ENDED, /* the end chunk was read */
    AS_FOLLOW_CLOSED /* a pipe without a writer */
} as_follow_news;
/* Reads what a growing file or a pipe has; waits at most this long for it. */
assay_status as_trace_follow_poll(assay_env *env, as_trace_follow *f, int fd, int timeout_ms, as_follow_news *news);

/* No more bytes will come.  Frees the follower; out gets the trace, complete or not (NULL: it is freed, too).  A stream without a whole head is BAD_INPUT. */
assay_status as_trace_follow_finish(assay_env *env, as_trace_follow *f, assay_trace **out);
void         as_trace_follow_free(as_trace_follow *f);

/* A whole stream in memory (borrowed during the call): a follower that is fed once.  assay_trace_load() is the same from a file. */
assay_status as_trace_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, assay_trace **out);

#endif
