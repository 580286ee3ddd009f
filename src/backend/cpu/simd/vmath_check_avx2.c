/* vmath_check_avx2.c - vmath.h on avx2, for its test. */
#include "backend/cpu/simd/simd_avx2.h"

#define AS_VMATH_CHECK as_vmath_check_avx2
#include "backend/cpu/simd/vmath_check_body.h"
