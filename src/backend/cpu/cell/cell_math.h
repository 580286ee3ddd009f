/* cell_math.h - tanh and sigmoid in the forms that recurrent cells need, after a simd_*.h: where several share a division, or where
 * v_inverse() is cheaper than one. */
#ifndef AS_BACKEND_CPU_CELL_MATH_H
#define AS_BACKEND_CPU_CELL_MATH_H

#include "backend/cpu/simd/vmath.h"

/* |tanh(x)| is u / (2 - u). */
V_INLINE vf tanh_part(vf x)
{
    vi n;
    vf p = vm_reduced(v_mul(v_set(-2.0f), v_min(v_set(10.0f), v_abs(x))), &n), scale = vm_power(n);
    return v_fnma(scale, p, v_sub(v_set(1.0f), scale));
}
V_INLINE vf tanh_of(vf x)
{
    vf u = tanh_part(x);
    return v_xor(v_mul(u, v_inverse(v_sub(v_set(2.0f), u))), v_sign_bit(x));
}

/* Limited to e^-60 from below, so that a product of denominators is still a normal number. */
V_INLINE vf gate_part(vf x) { return v_add(v_set(1.0f), vm_exp_fast(v_neg(v_max(v_set(-60.0f), x)))); }

/* The first n_gates become their sigmoids, the n_tanh after them their tanh.  All go through every operation together: one alone is a
 * chain in which each operation waits for the one before, and a CPU sees few chains ahead. */
V_INLINE void squash(const int n_gates, const int n_tanh, vf *x)
{
    const int n = n_gates + n_tanh;
    vf        t[4], r[4], p[4];
    vi        whole[4];
    V_UNROLL
    for (int i = 0; i < n; i++) /* the exponent of e: -x, limited to e^60 and e^-87; or -2 |x| */
        r[i] = i < n_gates ? v_max(v_set(-87.0f), v_min(v_set(60.0f), v_neg(x[i])))
                           : v_mul(v_set(-2.0f), v_min(v_set(10.0f), v_abs(x[i])));
    V_UNROLL
    for (int i = 0; i < n; i++)
        t[i] = v_fma(r[i], v_set(VM_LOG2E), v_set(VM_MAGIC));
    V_UNROLL
    for (int i = 0; i < n; i++) {
        whole[i] = vi_bits(t[i]);
        t[i] = v_sub(t[i], v_set(VM_MAGIC));
    }
    V_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = v_fnma(t[i], v_set(VM_LN2_HI), r[i]);
    V_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = v_fnma(t[i], v_set(VM_LN2_LO), r[i]);
    V_UNROLL
    for (int i = 0; i < n; i++)
        p[i] = v_fma(v_set(1.393792103e-3f), r[i], v_set(8.366555907e-3f));
    V_UNROLL
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_set(4.166643322e-2f));
    V_UNROLL
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_set(1.666654348e-1f));
    V_UNROLL
    for (int i = 0; i < n; i++)
        p[i] = v_fma(p[i], r[i], v_set(0.5f));
    V_UNROLL
    for (int i = 0; i < n; i++) {
        t[i] = vm_power(whole[i]);
        p[i] = v_fma(v_mul(r[i], r[i]), p[i], r[i]); /* e^r - 1 */
    }
    V_UNROLL
    for (int i = 0; i < n; i++) /* 1 + e, or u = 1 - e without cancellation, of which tanh is u / (2 - u) */
        p[i] = i < n_gates ? v_fma(t[i], p[i], v_add(t[i], v_set(1.0f))) : v_fnma(t[i], p[i], v_sub(v_set(1.0f), t[i]));
    V_UNROLL
    for (int i = 0; i < n; i++)
        t[i] = v_inverse(i < n_gates ? p[i] : v_sub(v_set(2.0f), p[i]));
    V_UNROLL
    for (int i = 0; i < n; i++)
        x[i] = i < n_gates ? t[i] : v_xor(v_mul(p[i], t[i]), v_sign_bit(x[i]));
}

#endif
