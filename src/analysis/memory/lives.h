/* lives.h - memory events brought into order: which block lived from when to when, whose it was, and how much was in use.
 *
 * The order of the events is the order of what happened; ticks are only for people.  An event that contradicts the others (a block that is
 * freed and was never seen, one that is larger than any memory) is counted and left out.  Everything lives in the arena that is given. */
#ifndef AS_ANALYSIS_MEMORY_LIVES_H
#define AS_ANALYSIS_MEMORY_LIVES_H

#include "base/arena.h"
#include "trace/trace.h"

#define AS_NOT_YET UINT32_MAX

/* One block, or one size of a block that was resized. */
typedef struct as_life {
    uint64_t id, bytes;
    uint32_t born, died; /* numbers of events; died AS_NOT_YET: it is alive at the end of the record */
    uint32_t stack;      /* its owner, or AS_NO_STACK */
    uint16_t place, lane;
    uint32_t first_use, last_use; /* events that copied it or moved it; AS_NOT_YET: none did */
    uint64_t most_used;           /* the most bytes that one of them took */
    bool     grown;               /* it goes on after a resize: not an allocation of its own */
} as_life;

typedef struct as_place_count {
    uint64_t live, peak;     /* bytes: at the end, and at most */
    uint32_t peak_event;     /* after which it was reached */
    uint64_t n_live, n_peak; /* blocks */
    bool     inside, has_inside;
    int      outer; /* of a place inside: the place around it, or -1 */
} as_place_count;

typedef struct as_lives {
    const assay_trace *t;
    as_life           *all;
    size_t             n;
    as_place_count    *places; /* per place of the trace */
    /* Over all places that are not inside another. */
    uint64_t peak, live, n_peak, n_live;
    uint32_t peak_event;
    uint64_t allocated, freed; /* bytes, resizes with their differences */
    uint64_t counts[AS_N_MEMORY_KINDS];
    uint64_t odd;                     /* events that were left out */
    uint64_t first_ticks, last_ticks; /* of the events */
} as_lives;

/* False: no memory. */
bool as_lives_read(const assay_trace *t, as_arena *arena, as_lives *out);

static inline bool as_life_at(const as_life *l, uint32_t event) { return l->born <= event && l->died > event; }

/* --- How much was in use ---------------------------------------------------------------------------------- */

/* A change of what is in use.  The order among changes at the same event: what ends before what begins, as a block that is resized does. */
typedef struct as_use_change {
    uint32_t event;
    int64_t  bytes;
} as_use_change;

/* Sorts the changes and gives the most that was in use. */
uint64_t as_use_peak(as_use_change *changes, size_t n);

/* The course of what is in use at a place (-1: at all that are not inside another), thinned to at most max points of which none of the
 * highest is lost; x in seconds since the record began.  Arrays in the arena; 0: nothing happened there, or no memory. */
size_t as_lives_course(const as_lives *l, int place, size_t max, as_arena *arena, double **x, double **y);
/* Mean of what was in use, over time. */
double as_lives_mean(const as_lives *l, int place);

double as_event_s(const as_lives *l, uint32_t event); /* seconds since the record began */

/* --- Owners ------------------------------------------------------------------------------------------------- */

typedef struct as_owner {
    uint32_t    stack; /* AS_NO_STACK: not known, or what no block explains */
    int         place;
    uint64_t    bytes, n_blocks;
    const char *name, *layer, *role; /* texts of the trace, or constants */
} as_owner;

/* Who had the memory at the peak, largest first: their bytes sum to lives->peak.  An allocation that is divided is shown by what was in it
 * when that was fullest, and by what was free then.  NULL: no memory. */
as_owner *as_owners_at_peak(const as_lives *l, as_arena *arena, size_t *n);
/* Name, layer and role of a stack. */
void as_owner_name(const assay_trace *t, uint32_t stack, as_owner *out);

/* --- Holes ---------------------------------------------------------------------------------------------------- */

enum { AS_HOLE_SIZES = 48 }; /* by powers of two */

typedef struct as_holes {
    uint64_t total, free, largest; /* bytes */
    uint64_t n;
    uint64_t sizes[AS_HOLE_SIZES]; /* how many of 2^i to 2^(i+1) - 1 bytes */
} as_holes;

/* What is free between the blocks of a place inside another, after an event.  1 - largest/free is how far it is fragmented.  False: no memory. */
bool as_holes_at(const as_lives *l, int place, uint64_t total, uint32_t event, as_holes *out);

#endif
