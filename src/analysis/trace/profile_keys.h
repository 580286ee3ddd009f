/* profile_keys.h - the keys that profiling guides read, under their names and in their units: docs/profile-keys.md.
 *
 * One table lists them all; the analysis `profile` fills it in this order, and a test walks it.  Private to analysis/, but for lists and tests. */
#ifndef AS_ANALYSIS_PROFILE_KEYS_H
#define AS_ANALYSIS_PROFILE_KEYS_H

#include <stddef.h>

/* How a key can be had at best. */
typedef enum as_key_class {
    AS_KEY_MEASURED,   /* a clock, a sensor or an allocator's count */
    AS_KEY_DERIVED,    /* a formula over measured and counted numbers */
    AS_KEY_PRIVILEGED, /* a counter that the machine or its rights may refuse; else modelled or unavailable */
    AS_KEY_NEVER,      /* no interface gives it; always unavailable, with the reason */
    AS_N_KEY_CLASSES
} as_key_class;

typedef struct as_profile_key {
    const char *section, *key, *unit; /* "compute", "tflops", "TFLOP/s" */
    const char *label;                /* for people */
    as_key_class class;
    const char *how; /* in one line */
} as_profile_key;

extern const as_profile_key as_profile_keys[];
extern const size_t         as_n_profile_keys;
const char                 *as_key_class_text(as_key_class class); /* "measured" */

#define AS_PROFILE_PREFIX "profile." /* of the groups: "profile.compute" */

#endif
