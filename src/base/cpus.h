/* cpus.h - which CPUs a thread may use, how to pin it, and where the workers of a pool go.
 *
 * A system without affinity has none of this: as_pin_self() reports that, and places stay
 * off. */
#ifndef AS_BASE_CPUS_H
#define AS_BASE_CPUS_H

#include <pthread.h>
#include <stdatomic.h>

#include "assay.h"

enum { AS_CPU_SET_BYTES = 1024 };

int as_cpu_count(void); /* number of CPUs that the calling thread may use; ask before pinning it */
/* Bytes of the second-level cache of a core, or of those that share one; 0: the system does not tell.  Read once. */
size_t as_cpu_l2_bytes(void);
int    as_cpu_self(void); /* which of these it is on now, counted from 0; 0 where the system does not tell */

/* Keeps the calling thread on the index-th CPU that it may use, until as_pin_undo() in the same thread restores what it had
 * before; threads created later inherit it.  False + why where this is not possible. */
typedef struct as_pin {
    bool          done;
    unsigned char saved[AS_CPU_SET_BYTES];
} as_pin;
bool as_pin_self(as_pin *pin, int index, char *why, size_t why_size);
void as_pin_undo(as_pin *pin);

/* Keeps the workers of a pool off the CPU of the thread that calls it and off each other's CPUs: a scheduler that wakes a
 * worker beside its caller leaves both on one CPU for milliseconds.  The caller itself may run anywhere.  Each worker may
 * use every n-th of the caller's CPUs, except the one the caller is on; with more threads than CPUs nothing is done. */
typedef struct as_places {
    bool          on;       /* the workers have been placed among `allowed` */
    int           home;     /* the caller's CPU when it last looked; -1: not yet */
    atomic_int    n_pinned; /* workers that pinned themselves: if there are any, all stay where they are */
    unsigned char allowed[AS_CPU_SET_BYTES];
} as_places;

void as_places_init(as_places *p);
void as_places_join(as_places *p);        /* a worker calls this for itself: it may pin itself to any CPU that its caller may use */
bool as_places_stale(const as_places *p); /* the calling thread is on another CPU than at the last look */

/* Checks where the calling thread is and what it may use.  True: move every worker with as_places_move(). */
bool as_places_look(as_places *p, int n_threads);
void as_places_move(const as_places *p, pthread_t worker, int part, int n_threads);

/* Whether worker `part` (>= 1) of n_threads may use the i-th of those CPUs that are not the caller's. */
static inline bool as_place_has(int i, int part, int n_threads) { return i % (n_threads - 1) == part - 1; }

#endif
