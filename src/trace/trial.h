/* trial.h - the record of arms that were measured in turns: one case, its launches, rounds, blocks and samples.
 *
 * A trial is to bench, compare and check what a trace is to profile: self-contained, so that every verdict can be computed again from
 * it alone.  sample < block (some ms of samples of one arm) < round (one block of each arm, in an order drawn by a coin) < launch
 * (fresh process or fresh buffers) < trial.  Samples are never thrown away; a block says what disturbed it.
 *
 * JSON is "assay.trial/1": every block, and the samples where they were asked for.  The same text is what a store keeps. */
#ifndef AS_TRACE_TRIAL_H
#define AS_TRACE_TRIAL_H

#include "base/arena.h"
#include "base/env.h"
#include "base/json.h"
#include "trace/limit.h"

typedef enum as_trial_state {
    AS_TRIAL_COMPLETE,
    AS_TRIAL_PARTIAL, /* stopped from outside: what was measured is kept */
    AS_TRIAL_TIMEOUT, /* a launch was ended after --timeout: there is no number for it */
    AS_TRIAL_FAILED,  /* an arm could not be run, or its answer is wrong */
    AS_TRIAL_REFUSED, /* the numbers cannot be true: the reason says which test they failed */
    AS_TRIAL_N_STATES
} as_trial_state;
const char *as_trial_state_text(as_trial_state state); /* "complete" */

/* Where arms keep their tensors.  Shared: all in the same memory; fixed: each in its own, for the whole trial; random: each launch at
 * another page and cache line; relaunched: each launch is a process. */
typedef enum as_memory_layout {
    AS_MEMORY_SHARED,
    AS_MEMORY_FIXED,
    AS_MEMORY_RANDOM,
    AS_MEMORY_RELAUNCHED,
    AS_N_MEMORY_LAYOUTS
} as_memory_layout;
const char *as_memory_layout_text(as_memory_layout layout); /* "shared" */

typedef struct as_shot {
    float wall_ns, cpu_ns;
} as_shot; /* one sample, divided by its calls; cpu NaN where threads share the work */

typedef struct as_turn { /* one block of one arm */
    uint32_t launch, round;
    uint32_t arm, order; /* order: its place in the round */
    uint32_t first_shot, n_shots;
    double   start_ns;        /* since the trial began */
    double   wall_ns, cpu_ns; /* a call, by the lower quartile of the samples; the median below 8 of them */
    double   busy;            /* CPU time over wall time of the whole block; NaN where threads share the work */
    double   steal;           /* share of the block that the hypervisor took, NaN where the system does not tell */
    double   fma_ns, copy_ns; /* the probes after the block: a register-only loop and a streaming copy; NaN: not probed */
    uint32_t switches;        /* involuntary context switches */
} as_turn;

/* What is counted, not timed: differences are exact.  NaN: not known. */
typedef struct as_ledger {
    double flops, bytes, allocations, launches, peak_bytes;
} as_ledger;

typedef struct as_trial_arm {
    const char *name;        /* "threads=1" */
    const char *what;        /* spec and options, or the command */
    uint64_t    hash;        /* of its outputs; 0: not compared */
    double      error;       /* largest difference of its outputs from the slow truth, NaN: not compared */
    double      items;       /* done by a call: the batch; NaN: not known */
    double      launch_ns;   /* median cost of a launch */
    double      first_ns[3]; /* the first three calls of the first launch, NaN: not had */
    as_ledger   ledger;
    as_limit    limit; /* of a call, by the limits of the device; AS_LIMIT_NONE: not known */
} as_trial_arm;

typedef struct as_trial_note_item {
    const char *key, *value;
} as_trial_note_item;

typedef struct as_trial {
    as_arena            arena;
    const char         *name; /* of the case: "matmul/512x512/f32" */
    as_trial_state      state;
    const char         *reason; /* why it is not complete; "" */
    as_trial_arm       *arms;
    int                 n_arms;
    as_turn            *turns;
    size_t              n_turns, cap_turns;
    as_shot            *shots;
    size_t              n_shots, cap_shots;
    as_trial_note_item *notes;
    int                 n_notes, cap_notes;   /* machine, software, options, what was decided while it ran */
    uint32_t            n_launches, n_rounds; /* whole ones, in all */
    uint32_t            calls;                /* in a sample, the same for all arms */
    bool                by_cpu;               /* verdicts are by thread CPU time, else by wall time */
    as_memory_layout    memory;
    double              clock_cost_ns, block_ns, budget_ns, spent_ns;
    uint64_t            seed;            /* of coins and places */
    int64_t             unix_time;       /* when it began */
    char                fingerprint[17]; /* of the machine */
} as_trial;

assay_status as_trial_new(assay_env *env, const char *name, int n_arms, as_trial **out);
void         as_trial_free(as_trial *t);
/* Room for so many more turns and shots, so that nothing is allocated while it is measured; false: no memory. */
bool        as_trial_reserve(as_trial *t, size_t n_turns, size_t n_shots);
const char *as_trial_keep(as_trial *t, const char *text); /* NULL: no memory */
bool        as_trial_note(as_trial *t, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *as_trial_note_find(const as_trial *t, const char *key);   /* NULL: none */
double      as_trial_note_number(const as_trial *t, const char *key); /* NaN: none, or no number */
/* The decided clock's value of a block. */
static inline double as_turn_ns(const as_trial *t, const as_turn *turn) { return t->by_cpu ? turn->cpu_ns : turn->wall_ns; }
/* Calls of these two arms do different numbers of items, both known: only the time of an item can be compared. */
bool as_trial_per_item(const as_trial *t, int a, int b);

/* One JSON object; samples only when asked. */
void as_trial_write(const as_trial *t, as_json *w, bool with_samples);
/* From an object that as_json_parse() gave; checks every count and index, and names what is wrong by its key. */
assay_status as_trial_read(assay_env *env, const char *what, const char *path, const json_t *object, as_trial **out);

#endif
