/* roof.h - the machine's limits: the fastest it can be, measured, never taken from a data sheet.  One meter per file: rf_<name>.c.
 *
 * A meter is a loop whose work is known exactly.  It is timed in chunks of one to two milliseconds, in takes that are spread over
 * the session: short, so that some chunks escape the scheduler on a busy machine; several, so that a neighbour who comes and goes is
 * seen as a band and not as a roof.  The third best chunk is the value: the best may be an accident, the mean is the load.
 *
 * The best ever seen of each is kept in a file of the user's cache, and only what enough clean chunks have shown: a measurement on a busy
 * machine can only be too low.  A result above a limit makes just that limit be measured again, on the spot. */
#ifndef AS_ROOF_ROOF_H
#define AS_ROOF_ROOF_H

#include "backend/backend.h"
#include "backend/cpu/kernel.h"
#include "base/arena.h"
#include "base/env.h"
#include "base/pool.h"
#include "sensor/sensor.h"
#include "trace/trace.h"

/* --- Meters ------------------------------------------------------------------------------------------ */

typedef enum as_meter_kind {
    AS_METER_REGISTERS, /* touches no memory */
    AS_METER_L1,        /* once, in half of L1 */
    AS_METER_LEVELS,    /* in every cache and in memory: ".l1", ".l2", ".l3", ".dram" follow its name */
    AS_METER_DRAM,      /* in memory alone: ".dram" follows */
    AS_METER_CLOCK,     /* one thread, no suffix */
    AS_METER_FORK       /* forks of the pool; gives a time, so the lowest is the best; not for one thread */
} as_meter_kind;

enum { AS_METER_STREAMS = 3 };

/* What a pass works on: `bytes` (a multiple of AS_METER_GRAIN) at each of stream[0..n_streams), filled with floats around 1. */
#define AS_METER_GRAIN 1536
typedef struct as_meter_args {
    char    *stream[AS_METER_STREAMS];
    size_t   bytes;
    as_pool *pool; /* AS_METER_FORK */
} as_meter_args;

typedef struct as_meter {
    const char   *name; /* "fma.f32.avx2", "read" */
    const char   *unit; /* "flop/s", "op/s", "byte/s", "element/s", "hertz", "ns" */
    const char   *what; /* what the loop does, for the source of the number */
    as_meter_kind kind;
    unsigned      isa;   /* the CPU must have all of these bits */
    int           rank;  /* of those with one name, the highest is used */
    int           order; /* ascending; the clock comes first */
    int           n_streams;
    int           lanes; /* > 0: a pass issues per_pass / (2 lanes) fused instructions, so the rate gives instructions per cycle */
    /* Work of one pass over args->bytes, in the unit without "/s". */
    double (*per_pass)(size_t bytes);
    void (*run)(const as_meter_args *args, uint64_t n_passes);
} as_meter;

extern const as_meter *const as_rf_table[];

/* --- Chunks: the rules of what is accepted, pure functions ------------------------------------------------------ */

#define AS_CHUNK_AGREE 0.015 /* the best three lie this close together */
#define AS_CHUNK_CPU   0.97  /* CPU time divided by wall time; below this, the chunk was pre-empted */
enum {
    AS_CHUNKS_MAX = 256,
    AS_TAKES_MAX = 8,
    AS_CHUNKS_BEST = 3,
    AS_CHUNKS_CLEAN = 5 /* with fewer clean ones the limit counts as disturbed and is not kept */
};
#define AS_ROOF_NOISE 0.03 /* a measurement that is lower by no more than this confirms the best seen */

typedef struct as_chunks {
    double rate[AS_CHUNKS_MAX]; /* accepted ones, in the order in which they were made */
    int    n, n_rejected;
    double rejected_best[AS_CHUNKS_BEST], rejected_worst; /* by the wall clock, best first */
    double rejected_cpu_best;                             /* by CPU time: no chunk can be better */
    int    take_first[AS_TAKES_MAX];                      /* index of a take's first chunk */
    int    n_takes;
} as_chunks; /* {0} is empty */

void as_chunks_take(as_chunks *c); /* a new take begins; more than AS_TAKES_MAX go into the last */
/* rate: work per second; cpu_share: CPU time divided by wall time of the slowest thread.  Returns whether it was accepted; a
 * rate that is not positive and finite never is, and neither is one for which there is no space. */
bool as_chunks_add(as_chunks *c, double rate, double cpu_share);
/* Third best of `n` (the worst if there are fewer, NaN if there are none). */
double as_third_best(const double *rate, int n);
/* At least three, and the best is at most `within` above the third. */
bool as_best_agree(const double *rate, int n, double within);
/* Whether the current take has seen enough: five chunks accepted, and the best three agree. */
bool as_chunks_enough(const as_chunks *c);

/* The limit that the chunks give.  Where none was accepted, the band reaches from the worst chunk to what CPU time alone allows. */
typedef struct as_band {
    double value, lo, hi;
    int    n_clean, n_chunks;
    bool   disturbed;
    char   why[160]; /* it is disturbed; "" */
} as_band;
bool as_chunks_band(const as_chunks *c, as_band *out); /* false: no chunk at all */
void as_band_invert(as_band *b);                       /* a rate per second becomes the time of one, in ns */

/* --- Where the levels are, pure functions -------------------------------------------------------------------------- */

typedef struct as_memory_level {
    const char *name;
    size_t      bytes;  /* what a pass walks through, all streams together */
    uint64_t    holds;  /* the whole cache; 0: it is the memory */
    bool        shared; /* shared by all threads; else each thread has one */
} as_memory_level;
typedef struct as_memory_levels {
    as_memory_level level[4];
    int             n;            /* ascending; the last is "dram" */
    char            caution[160]; /* "", or what is wrong */
} as_memory_levels;

/* Half of L1, half of L2, a third of a CPU's share of L3, four times the last cache. */
void as_memory_levels_find(const as_machine *m, as_memory_levels *out);
/* How many CPUs a list such as "0-3,8" names; 0 if it is not a list. */
int as_cpu_list_count(const char *list);
/* "read", "l1", 2 -> "read.l1.t2"; level "" for none, threads 0 for no suffix. */
const char *as_roof_name(char *buf, size_t size, const char *meter, const char *level, int n_threads);

/* --- Limits ------------------------------------------------------------------------------------------------- */

enum { AS_ROOFS_MAX = 256 };

/* Owns its arena, which holds all text; {0} is empty. */
typedef struct as_roofs {
    as_arena       arena;
    as_trace_roof *list;
    int            n;
    uint64_t       unix_s;  /* when they were last measured */
    double         seconds; /* how long that took */
    const char    *key;     /* of the machine, the build, the instruction sets, the device and the threads */
    const char    *device;  /* "cpu", "opencl:0" */
    bool           told;    /* to the device, not measured: not kept either */
} as_roofs;
void                 as_roofs_drop(as_roofs *r);
const as_trace_roof *as_roofs_find(const as_roofs *r, const char *name);

/* Whether it has enough clean chunks to be kept. */
bool as_roof_is_clean(const as_trace_roof *roof);
/* The limit after a new measurement; `kept` is NULL when there was none before.  Interference only makes a measurement worse, so
 * the better of the two is the limit, with its date and band.  A new one that is worse by more than noise is reported as `today`;
 * one that agrees with the kept one within noise clears its flag if it was clean itself; one from too few clean chunks changes
 * nothing.  Texts are borrowed. */
as_trace_roof as_roof_best(const as_trace_roof *kept, const as_trace_roof *fresh);
/* Merges *r, which was just measured, with the limits that were kept.  NO_MEMORY leaves *r as it was. */
assay_status as_roofs_merge(assay_env *env, as_roofs *r, const as_roofs *kept);
/* A band as a record; the caller adds the names and the source. */
as_trace_roof as_roof_of(const as_band *band, uint64_t unix_s);

#define AS_LIMITS_S 4.5 /* what measuring all limits of a device takes */

typedef struct as_roof_settings {
    as_device *device; /* use the meters of this device; NULL, or a device of the back end cpu: the CPU's, for n_threads */
    int        n_threads;
    double     budget_s;   /* 0: the default, at most 5 s in all */
    size_t     dram_bytes; /* 0: as as_memory_levels_find() says; tests use less */
    /* Which limits, by name; NULL: all. */
    bool (*wants)(const void *arg, const char *name);
    const void *wants_arg;
    void (*progress)(void *arg, double done); /* may be NULL */
    void     *progress_arg;
    uint64_t *walked_bytes; /* gets the size of the buffers, if it was larger than what is there; freed by then.  May be NULL */
} as_roof_settings;

/* Measures with every meter that this CPU can run, for one thread and for n_threads, or only those that are wanted; the result may
 * be empty. CANCELLED leaves *out untouched. */
assay_status as_roofs_measure(assay_env *env, const as_roof_settings *settings, as_roofs *out);
/* The same with the meters of settings->device; as_roofs_measure() calls it for a device that has its own. */
assay_status as_roofs_measure_device(assay_env *env, const as_roof_settings *settings, as_roofs *out);
/* Measures the multiply-add point alone, for about 10 ms; false when there was no undisturbed chunk.  `name` gets the limit's
 * name. */
bool as_roofs_probe(assay_env *env, char *name, size_t size, double *rate);

/* --- The cache ----------------------------------------------------------------------------------------------- */

/* Whether the limits of this device are the CPU's own, measured by src/roof. */
static inline bool as_roofs_of_cpu(const as_device *device) { return !device || !device->backend->meters_open; }
void               as_roofs_key(char out[17], const as_device *device, int n_threads);
/* The file of this key in $ASSAY_CACHE_DIR, $XDG_CACHE_HOME/assay or ~/.cache/assay; false where there is no such directory. */
bool as_roofs_path(char *out, size_t size, const char *key);
/* The number of threads in the key of the file that has the limits for n_threads: those for one thread are also in the file for all
 * CPUs. */
int as_roofs_home(const as_device *device, int n_threads);
/* Trusts nothing: another schema or key, an impossible number or a repeated name gives BAD_INPUT with a message. */
assay_status as_roofs_parse(assay_env *env, const char *path, const char *data, size_t n, const char *key, as_roofs *out);
assay_status as_roofs_load(assay_env *env, const char *path, const char *key, as_roofs *out);
/* Saves the clean ones, and only if there are any.  Creates missing folders; the file is written completely or not at all. */
assay_status as_roofs_save(assay_env *env, const char *path, const as_roofs *r);

typedef enum as_roofs_how {
    AS_ROOFS_LOOK,   /* the cached ones as they are, or none */
    AS_ROOFS_AUTO,   /* the cached ones; measures what they lack and what a short look at the multiply-adds contradicts */
    AS_ROOFS_MEASURE /* always measured; the better ones are kept */
} as_roofs_how;

/* Adds the limits of the devices in a list to a trace as as_roofs_describe() does; only those of devices that a step of the trace
 * runs on. */
assay_status as_roofs_add(assay_env *env, as_roofs_how how, const as_roof_settings *settings, as_device *const *devices,
                          int n_devices, assay_trace *t);
/* `source` gets where they come from, and what was wrong with the cache: "measured in 2.3 s; ...".  With LOOK, or under a fake
 * clock, r->n may be 0.  With more threads than CPUs the limits are those of all CPUs. */
assay_status as_roofs_get(assay_env *env, as_roofs_how how, const as_roof_settings *settings, as_roofs *r, char *source,
                          size_t source_size);
/* A step of the trace that was ever faster than its limit contradicts that limit.  Measures just those limits again, for some 50 ms
 * each, and adds them to the trace again as on_the_spot, and to the cache.  Does nothing without a contradiction. n: how many; may
 * be NULL. */
assay_status as_roofs_recheck(assay_env *env, const as_roof_settings *settings, as_device *const *devices, int n_devices,
                              assay_trace *t, int *n);
/* As records of the trace, with the notes "roofs.when" and "roofs.source". */
assay_status as_roofs_describe(assay_env *env, const as_roofs *r, const char *source, assay_trace *t);
/* "2026-03-01T12:00:00Z" */
const char *as_roofs_when(const as_roofs *r, char *buf, size_t size);

#endif
