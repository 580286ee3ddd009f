/* pinning.h - keeps the threads of a device on a CPU each while something is measured. */
#ifndef AS_RUN_PINNING_H
#define AS_RUN_PINNING_H

#include "backend/backend.h"
#include "base/arena.h"
#include "base/pool.h"

typedef struct as_pinning {
    as_device *device;
    as_pin    *pins; /* one a thread; NULL: nothing is pinned */
    int        n_threads, n_pinned;
    char       why[128]; /* of a thread that could not be pinned */
} as_pinning;

/* Keeps every thread of the device, the calling one among them, on a CPU of its own; *p says how far that went.  Takes its memory from the arena. */
void as_pinning_do(as_pinning *p, as_device *device, as_arena *arena);
/* Gives back what they were allowed before; nothing where nothing was pinned. */
void as_pinning_undo(as_pinning *p);

#endif
