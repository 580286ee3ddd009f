/* replay.h - the recorded lifetimes once more, with another way to give memory: what would that have saved?
 *
 * Two records can be replayed.  The buffers of a plan, which say everything that the plan's placement depends on: the replay is exact, and
 * building the plan with that option proves it.  And blocks of any program: what was in use can be moved in time, but only the program knows
 * whether it may. */
#ifndef AS_ANALYSIS_MEMORY_REPLAY_H
#define AS_ANALYSIS_MEMORY_REPLAY_H

#include "analysis/memory/lives.h"

/* --- The buffers of a plan ---------------------------------------------------------------------------------- */

typedef enum as_in_place { AS_IN_PLACE_AS_IS, AS_IN_PLACE_ALL, AS_IN_PLACE_NONE } as_in_place;

/* What is done otherwise; {0}: as the plan did it, with reuse. */
typedef struct as_replay {
    bool        no_reuse; /* every buffer has memory of its own */
    bool        eager;    /* all memory is there from the first step on */
    bool        late;     /* none is given back before the last */
    as_in_place in_place;
    uint64_t    batch_from, batch_to; /* items of a run; 0: as it was */
} as_replay;

typedef struct as_plan_memory {
    bool     known;     /* the trace says how the buffers were placed */
    uint64_t actual;    /* bytes of all arenas, as placed */
    uint64_t n_buffers; /* with memory of their own */
    uint64_t n_arenas;
    uint64_t n_taken, n_could; /* buffers that overwrite another, and that could */
    uint64_t scaled;           /* bytes that belong to the items of a run */
} as_plan_memory;

void as_plan_memory_read(const assay_trace *t, as_plan_memory *out);
/* Bytes that all arenas take together then.  False: no memory, or the buffers contradict each other. */
bool as_replay_plan(assay_env *env, const assay_trace *t, const as_replay *how, uint64_t *out);

/* --- Blocks of any program ------------------------------------------------------------------------------------- */

typedef struct as_replayed {
    uint64_t peak;     /* bytes in use at most */
    uint64_t n_blocks; /* that it is about */
    uint64_t n_saved;  /* allocations that are not made */
} as_replayed;

/* Each block exists only from its first use on (lazy), or only to its last (early); only those count whose use is known.  False: no memory. */
bool as_replay_use(const as_lives *l, as_arena *arena, bool lazy, bool early, as_replayed *out);
/* A block takes the memory of one of its size that is freed right after it was allocated. */
bool as_replay_in_place(const as_lives *l, as_arena *arena, as_replayed *out);
/* A pool keeps what is freed, by size rounded up to one of four per power of two, and gives it again. */
bool as_replay_pool(const as_lives *l, as_arena *arena, as_replayed *out);
/* One arena, placed as a plan is: largest first into the tightest gap.  n_blocks 0: there are too many blocks to try. */
bool as_replay_arena(assay_env *env, const as_lives *l, as_arena *arena, as_replayed *out);

#endif
