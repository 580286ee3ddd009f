/* vmath_check_neon.c - vmath.h on neon, for its test. */
#include "backend/cpu/simd/simd_neon.h"

#define AS_VMATH_CHECK as_vmath_check_neon
#include "backend/cpu/simd/vmath_check_body.h"
