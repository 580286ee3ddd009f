/* cfc_case.h - the many inputs of the cases of cells: dtype first, then sizes.  For the operators with more inputs than a case has. */
#ifndef AS_OP_CFC_CASE_H
#define AS_OP_CFC_CASE_H

#include "op/cell/cfc.h"

/* A list of inputs outside a case must consist of constant expressions only, and AS_SHAPE is not one. */
#define IN(d, ...)                                                                                                           \
    {                                                                                                                        \
        .dtype = AS_##d, .shape = {.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__} } \
    }
#define WIDE(...) .wide = (const as_case_in[]){__VA_ARGS__}, .n_in = (int)(sizeof((as_case_in[]){__VA_ARGS__}) / sizeof(as_case_in))
#define NONE             \
    {                    \
        .dtype = AS_NONE \
    }
#define LINEAR(d, n, z) IN(d, n, z), IN(d, n)
#define HEADS(d, n, z)  LINEAR(d, n, z), LINEAR(d, n, z), LINEAR(d, n, z), LINEAR(d, n, z)
#define PURE(d, n, z)   IN(d, 1, n), IN(d, 1, n), LINEAR(d, n, z)
#define MEMORY(d, n, i) IN(d, 4 * (n), i), IN(d, 4 * (n)), IN(d, 4 * (n), n)
#define NO_MEMORY       NONE, NONE, NONE
#define NO_STATE        NONE, NONE
#define NO_PROJECTION   NONE, NONE
/* Time spans are never negative. */
#define SPANS .lo = 0.05, .hi = 0.95

#endif
