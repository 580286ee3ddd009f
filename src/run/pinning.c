/* pinning.c - keeps the measuring thread on one CPU, and lets it go again afterwards. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "run/runner.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <string.h>

bool as_pinning_do(as_pinning *p, char *why, size_t why_size)
{
    *p = (as_pinning){0};
#ifdef __linux__
    cpu_set_t set;
    _Static_assert(sizeof set <= sizeof p->saved, "the set of CPUs fits");
    if (sched_getaffinity(0, sizeof set, &set)) {
        snprintf(why, why_size, "the CPUs that this thread may use could not be read");
        return false;
    }
    memcpy(p->saved, &set, sizeof set);
#endif
    p->done = as_pin_self(0, why, why_size);
    return p->done;
}

/* Threads made later inherit what this one may use: a plan built after a profile must not find itself on one CPU. */
void as_pinning_undo(as_pinning *p)
{
#ifdef __linux__
    if (p->done) {
        cpu_set_t set;
        memcpy(&set, p->saved, sizeof set);
        sched_setaffinity(0, sizeof set, &set);
    }
#endif
    p->done = false;
}
