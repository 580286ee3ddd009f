/* ends.h - the ends of lines, which do not fill a vector, for the kernels that normalise; include one of the simd_*.h before. */
#ifndef AS_BACKEND_CPU_ENDS_H
#define AS_BACKEND_CPU_ENDS_H

#include <stdint.h>

/* n floats, 1 <= n <= VW; of a shorter one the other lanes are 0. */
V_INLINE vf   some(const float *p, int n) { return n == VW ? v_load(p) : v_load_n(p, n); }
V_INLINE void put(float *p, int n, vf x)
{
    if (n == VW)
        v_store(p, x);
    else
        v_store_n(p, n, x);
}
/* The floats of the next vector, when n are left. */
V_INLINE int at_most(int64_t n) { return n < VW ? (int)n : VW; }

#endif
