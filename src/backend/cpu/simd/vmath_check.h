/* vmath_check.h - vmath.h's functions over arrays, only for vmath_test.c: one instance per machine. */
#ifndef AS_BACKEND_CPU_VMATH_CHECK_H
#define AS_BACKEND_CPU_VMATH_CHECK_H

#include <stddef.h>

#include "op/math/activation.h"

enum {
    AS_CHECK_EXP = AS_N_ACTS,
    AS_CHECK_EXPM1_NEG,
    AS_CHECK_LOG,
    AS_CHECK_ERF,
    AS_CHECK_ERFC_POS,
    AS_CHECK_SIN,
    AS_CHECK_COS,
    AS_CHECK_ASIN,
    AS_CHECK_ACOS,
    AS_CHECK_ATAN,
    AS_N_CHECKS
};

/* y[i] = function(x[i]); `function` is an as_act_kind or one of the above, `act` has its alpha and beta. */
typedef void (*as_vmath_check)(int function, const as_act *act, const float *x, float *y, size_t n);

void as_vmath_check_scalar(int function, const as_act *act, const float *x, float *y, size_t n);
void as_vmath_check_avx2(int function, const as_act *act, const float *x, float *y, size_t n);
void as_vmath_check_neon(int function, const as_act *act, const float *x, float *y, size_t n);

#endif
