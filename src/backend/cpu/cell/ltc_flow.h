/* ltc_flow.h - what flows through synapses, on vectors; include a simd_*.h before. */
#ifndef AS_BACKEND_CPU_LTC_FLOW_H
#define AS_BACKEND_CPU_LTC_FLOW_H

#define EACH_Z V_UNROLL for (int i = 0; i < n; i++)

/* z[i] becomes 1 + 2^z[i], whose inverse is the sigmoid.  It is limited to 2^63: a product of two is then still a float, and an
 * opening of 1e-19 counts as closed.  Adding 1.5 * 2^23 + 127 rounds to an integer and leaves the bits of its power; the polynomial
 * is minimax for 2^r, 1.6e-7.  NaN stays NaN. Each line handles all n: one element after the other would fill the CPU's instruction
 * window with waiting instructions. */
V_INLINE void shut(vf *z, int n)
{
    const vf magic = v_set(12582912.0f + 127.0f), one = v_set(1.0f);
    vf       t[4], r[4], p[4];
    EACH_Z   z[i] = v_min(v_set(63.0f), z[i]);
    EACH_Z   z[i] = v_max(v_set(-63.0f), z[i]);
    EACH_Z   t[i] = v_add(z[i], magic);
    EACH_Z   r[i] = v_sub(t[i], magic);
    EACH_Z   r[i] = v_sub(z[i], r[i]);
    EACH_Z   p[i] = v_fma(v_set(1.327647129e-3f), r[i], v_set(9.675541893e-3f));
    EACH_Z   p[i] = v_fma(p[i], r[i], v_set(5.550713092e-2f));
    EACH_Z   p[i] = v_fma(p[i], r[i], v_set(2.402212024e-1f));
    EACH_Z   p[i] = v_fma(p[i], r[i], v_set(6.931469440e-1f));
    EACH_Z   p[i] = v_fma(p[i], r[i], one);
    EACH_Z   z[i] = v_fma(p[i], v_bits(vi_shift_left(vi_bits(t[i]), 23)), one);
}

typedef struct flow {
    vf num, den;
} flow; /* sums of a * erev and of a */

/* Two synapses with one division: p / d + q / e = (p e + q d) / (d e). */
V_INLINE flow flow_two(flow f, vf d, vf e, vf flow_d, vf flow_e, vf open_d, vf open_e)
{
    vf inverse = v_inverse(v_mul(d, e));
    f.num = v_fma(v_fma(flow_d, e, v_mul(flow_e, d)), inverse, f.num);
    f.den = v_fma(v_fma(open_d, e, v_mul(open_e, d)), inverse, f.den);
    return f;
}

V_INLINE flow flow_one(flow f, vf d, vf flow_d, vf open_d)
{
    vf inverse = v_inverse(d);
    return (flow){v_fma(flow_d, inverse, f.num), v_fma(open_d, inverse, f.den)};
}

/* (C v + dt num) / (C + dt den) */
V_INLINE vf step(vf cm, vf v, vf dt, flow f) { return v_mul(v_fma(dt, f.num, v_mul(cm, v)), v_inverse(v_fma(dt, f.den, cm))); }

#endif
