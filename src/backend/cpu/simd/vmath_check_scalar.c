/* vmath_check_scalar.c - vmath.h on the compiler's own vectors, for its test. */
#include "backend/cpu/simd/simd_plain.h"

#define AS_VMATH_CHECK as_vmath_check_scalar
#include "backend/cpu/simd/vmath_check_body.h"
