/* env.h - the context of every call: clock, last message, cancel flag, progress callback.
 *
 * Errors: `return as_fail(env, ASSAY_BAD_INPUT, "npy: %s: header says %llu bytes ...", path, ...)`.
 * Say what was being done, to what, with the numbers. env may be NULL (the message is lost). */
#ifndef AS_BASE_ENV_H
#define AS_BASE_ENV_H

#include <signal.h>
#include <stdatomic.h>

#include "assay.h"
#include "base/clock.h"

struct assay_env {
    as_clock   clock;  /* the only clock that measuring code reads */
    atomic_int cancel; /* set by assay_cancel() */
    char       message[1024];

    assay_progress progress; /* of calls that take long; NULL: progress is not reported */
    void          *progress_arg;
};

/* Stores the message (foreign bytes are made printable, over-long text is cut with "...") and
 * returns `status`. */
assay_status as_fail(assay_env *env, assay_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static inline bool as_cancelled(assay_env *env) { return atomic_load_explicit(&env->cancel, memory_order_relaxed) != 0; }

#define AS_TRY(call)                   \
    do {                               \
        assay_status as_try_ = (call); \
        if (as_try_ != ASSAY_OK)       \
            return as_try_;            \
    } while (0)

/* For functions with a cleanup label: sets `status` and jumps. */
#define AS_TRY_OR(label, call)  \
    do {                        \
        status = (call);        \
        if (status != ASSAY_OK) \
            goto label;         \
    } while (0)

#define AS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
