/* body.h - what the bodies of meters share: loops unrolled by hand, because a compiler may roll up an array of accumulators and
 * then keeps it in memory.  Include one of the simd_*.h before. */
#ifndef AS_ROOF_BODY_H
#define AS_ROOF_BODY_H

#include "roof/roof.h"

/* Twelve chains hide a latency of 4 on 3 ports, or of 6 on 2; machines with 32 registers have up to 4 ports and get 24. */
#define AS_EACH_12(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define AS_EACH_24(X) AS_EACH_12(X) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
#if defined(__aarch64__)
#define AS_EACH   AS_EACH_24
#define AS_CHAINS 24
#else
#define AS_EACH   AS_EACH_12
#define AS_CHAINS 12
#endif

/* Makes the compiler assume that memory changed: it can neither drop a pass nor carry a value over to the next. */
#define AS_PASS_END() __asm__ volatile("" ::: "memory")

#endif
