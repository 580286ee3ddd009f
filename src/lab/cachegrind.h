/* cachegrind.h - what cachegrind writes.  Private to lab/. */
#ifndef AS_LAB_CACHEGRIND_H
#define AS_LAB_CACHEGRIND_H

#include <stdbool.h>

typedef struct as_cachegrind {
    double instructions, accesses; /* accesses: loads and stores */
    double l1_misses, ll_misses;   /* of the simulated first and last level */
} as_cachegrind;

/* The line "summary:" of an output file, by the names of its line "events:". */
bool as_cachegrind_parse(const char *text, as_cachegrind *out);

#endif
