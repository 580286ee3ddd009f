/* preload.h - the side of assay of libassay-preload.so: the file in memory that both share, and what the processes in it have.
 * Private to record/. */
#ifndef AS_RECORD_PRELOAD_H
#define AS_RECORD_PRELOAD_H

#include "record/record.h"
#include "record/share.h"

typedef struct as_preload_process {
    as_share_process *at; /* mapped; NULL: not ready, or released */
    uint32_t          n_modules_seen;
    int               lane; /* of its first thread */
    bool              is_released;
} as_preload_process;

typedef struct as_preload {
    int                 fd;
    as_share_head      *head;
    as_preload_process *processes; /* AS_SHARE_MAX_PROCESSES */
    uint32_t            n;         /* that were seen */
    /* Two readings of both clocks, for times that are ticks of the counter. */
    uint64_t counter[2], monotonic_ns[2];
} as_preload;

/* Can the command load the library?  False: why not, one sentence without a full stop. */
bool as_preload_probe(assay_env *env, const as_record_settings *s, char why[AS_RECORD_WHY]);
/* Makes the file and gives the program the variables that lead to it.  On failure nothing is left. */
assay_status as_preload_open(as_recording *r, unsigned what, uint64_t period_ns, as_preload *p);
/* Looks for new processes and for new modules of all; NO_MEMORY or OK.  A process whose id another one has now is given to `ended`
 * first, while its addresses still have their names. */
assay_status as_preload_look(as_recording *r, as_preload *p,
                             assay_status (*ended)(as_recording *r, as_preload *p, uint32_t number));
/* The last look: every process that is left is given to `ended`. */
assay_status as_preload_end(as_recording *r, as_preload *p, assay_status (*ended)(as_recording *r, as_preload *p, uint32_t number));
/* A time of the library as ticks of the trace. */
uint64_t as_preload_ticks(const as_recording *r, const as_preload *p, uint64_t time);
double   as_preload_ns_per_tick(const as_preload *p);
/* Its numbers are in the trace: the memory goes back to the system. */
void as_preload_release(as_preload *p, uint32_t number);
void as_preload_close(as_preload *p);

static inline const void *as_preload_part(const as_preload_process *p, uint64_t offset) { return (const char *)p->at + offset; }

#endif
