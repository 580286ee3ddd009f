/* line_sum.h - sums over a line of neighbours, for the kernels that normalise; include one of the simd_*.h before.
 *
 * The order of a sum depends only on the line's length. */
#ifndef AS_BACKEND_CPU_LINE_SUM_H
#define AS_BACKEND_CPU_LINE_SUM_H

/* The sum of x - mean, or of its square. */
V_INLINE float line_sum(const float *x, int64_t count, float mean, bool square)
{
    vf      a = v_zero(), b = v_zero(), m = v_set(mean);
    int64_t i = 0;
    for (; i + 2 * VW <= count; i += 2 * VW) {
        vf p = v_sub(v_load(x + i), m), q = v_sub(v_load(x + i + VW), m);
        a = square ? v_fma(p, p, a) : v_add(a, p);
        b = square ? v_fma(q, q, b) : v_add(b, q);
    }
    float sum = v_sum(v_add(a, b));
    for (; i < count; i++) {
        float d = x[i] - mean;
        sum += square ? d * d : d;
    }
    return sum;
}

#endif
