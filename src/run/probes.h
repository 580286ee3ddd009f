/* probes.h - two small kernels that show what the machine does to the candidates: a register-only loop (frequency, a neighbour on
 * the core's other thread) and a streaming copy (a neighbour on the memory).  Private to run/. */
#ifndef AS_RUN_PROBES_H
#define AS_RUN_PROBES_H

#include "base/arena.h"
#include "base/env.h"

typedef struct as_probes as_probes;

/* All memory comes from the arena. */
assay_status as_probes_open(assay_env *env, as_arena *arena, as_probes **out);
/* Takes about 50 us; returns ns for each. */
void as_probes_read(as_probes *p, assay_env *env, double *fma_ns, double *copy_ns);

#endif
