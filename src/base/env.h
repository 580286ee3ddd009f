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

/* What a long call is doing; as_phase_text() has the words. */
typedef enum as_phase {
    AS_PHASE_NONE,
    AS_PHASE_PLAN,
    AS_PHASE_LIMITS,
    AS_PHASE_CHECK,
    AS_PHASE_WARM_UP,
    AS_PHASE_MEASURE,
    AS_PHASE_TRAIN,
    AS_PHASE_REFERENCE,
    AS_PHASE_READ,
    AS_PHASE_ANALYSE,
    AS_PHASE_KEEP,
    AS_PHASE_WRITE,
    AS_N_PHASES
} as_phase;

/* What would be lost if the process ended now. */
typedef enum as_stake { AS_STAKE_NONE, AS_STAKE_HELD /* measured and not stored yet */, AS_STAKE_KEPT } as_stake;

enum { AS_SUBJECT_BYTES = 160, AS_MAX_TEMPORARIES = 8 };
typedef struct as_stage {
    char     subject[AS_SUBJECT_BYTES];
    uint32_t n; /* stages begun so far */
    double   done, expect_s, beyond_s, after_s;
    uint64_t began_ns, told_ns;
} as_stage;

struct assay_env {
    as_clock   clock;  /* the only clock that measuring code reads */
    atomic_int cancel; /* set by assay_cancel() */
    char       message[1024];

    assay_progress progress; /* of calls that take long; NULL: progress is not reported */
    void          *progress_arg;
    as_stage       stage; /* see stage.h */
    atomic_int     phase; /* as_phase */
    atomic_int     stake; /* as_stake */
    /* Files under way, which a process that ends at once removes; NULL: a free place. */
    _Atomic(char *) temporaries[AS_MAX_TEMPORARIES];
};

static inline as_phase as_stage_phase(assay_env *env) { return (as_phase)atomic_load_explicit(&env->phase, memory_order_relaxed); }

/* Stores the sentence (foreign bytes are made printable, over-long text is cut with "...") and
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

/* Whether the environment variable ASSAY_WITHOUT takes this way of measuring away ("pmu,psi"), as on a machine that lacks it: for tests of what
 * assay then does instead.  docs/sensors.md lists the words; as_sensors_open() refuses others. */
bool as_without(const char *rung);

#endif
