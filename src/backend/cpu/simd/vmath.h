/* vmath.h - exp, log, tanh and the like on vectors; include one of the simd_*.h before.
 *
 * All without branches and tables.  Every bound below is asserted over dense sweeps, on all three machines, by vmath_test.c:
 * rel is |got - true| / |true|, abs is |got - true|, true being double's value at the float x.  NaN stays NaN, the infinities
 * give the limits.  A result that float can only hold as a subnormal has the abs bound alone (1.2e-38).
 *
 *                 relative     absolute, where that says more
 *   vm_exp        1.5e-7
 *   vm_expm1_neg  1.5e-7       for x <= 0
 *   vm_log        1.5e-7       of x < 0: NaN; of 0: -inf; subnormals are read as what they are
 *   vm_tanh       2.5e-7       2.0e-7; near zero too, and -0 stays -0
 *   vm_sigmoid    2.5e-7       1.2e-7; below x = -88.3 it is 0
 *   vm_erf        2.5e-7       2.0e-7; near zero too
 *   vm_erfc_pos   7.0e-7 (1 + x^2)          7.0e-7, for x >= 0
 *   vm_gelu       8.0e-7 (1 + x^2 / 2)      2.0e-7 max(1, |x|)
 *   vm_gelu_tanh  4.0e-7 (1 + |x|^3 / 4)    2.0e-7 max(1, |x|), against the same formula; relative from x = -10 up
 *   vm_silu       2.5e-7       2.0e-7 max(1, |x|); below x = -88.3 it is 0
 *   vm_softplus   3.0e-7
 *   vm_elu        2.2e-7
 *   vm_sin        3.0e-7       1.2e-7; up to |x| = 8192, and the library's beyond
 *   vm_cos        3.0e-7       1.2e-7; the same
 *   vm_asin       3.0e-7       beyond [-1, 1] NaN
 *   vm_acos       3.0e-7       3.5e-7; the same
 *   vm_atan       2.5e-7       near zero too, and -0 stays -0 */
#ifndef AS_BACKEND_CPU_VMATH_H
#define AS_BACKEND_CPU_VMATH_H

#include <math.h>

#include "op/math/activation.h"

#define VM_LOG2E      1.44269504f
#define VM_LN2_HI     0.693359375f      /* ten bits: its product with an exponent is exact, with and without FMA */
#define VM_LN2_LO     (-2.12194440e-4f) /* the rest of ln 2 */
#define VM_MAGIC      12582912.0f       /* 1.5 * 2^23: adding it rounds to an integer and leaves it in the low bits */
#define VM_MAGIC_BITS 0x4b400000

/* x = n ln 2 + r, |r| <= ln 2 / 2: gives exp(r) - 1 and n's bits (plus VM_MAGIC_BITS), for |x| < 2^21. */
V_INLINE vf vm_reduced(vf x, vi *n)
{
    vf t = v_fma(x, v_set(VM_LOG2E), v_set(VM_MAGIC)), whole = v_sub(t, v_set(VM_MAGIC));
    vf r = v_fnma(whole, v_set(VM_LN2_LO), v_fnma(whole, v_set(VM_LN2_HI), x));
    vf p = v_fma(v_set(1.393792103e-3f), r, v_set(8.366555907e-3f)); /* minimax for r + r^2 p(r), 1.4e-8 */
    p = v_fma(p, r, v_set(4.166643322e-2f));
    p = v_fma(p, r, v_set(1.666654348e-1f));
    p = v_fma(p, r, v_set(0.5f));
    *n = vi_bits(t);
    return v_fma(v_mul(r, r), p, r);
}

/* 2^n for -126 <= n <= 128, the last being infinity; the magic's bits fall off the top. */
V_INLINE vf vm_power(vi n) { return v_bits(vi_shift_left(vi_add(n, vi_set(127)), 23)); }

V_INLINE vf vm_exp(vf x)
{
    vi n;
    vf p = vm_reduced(v_max(v_set(-104.0f), v_min(v_set(89.0f), x)), &n); /* exp(-104) is 0, exp(89) infinite */
    n = vi_sub(n, vi_set(VM_MAGIC_BITS));
    vi half = vi_shift_right(n, 1); /* in two steps, because 2^128 and 2^-150 are not floats */
    return v_mul(v_mul(v_add(v_set(1.0f), p), vm_power(half)), vm_power(vi_sub(n, half)));
}

/* exp(x) where it is a normal float; 0 < result <= 1.2e-38 below, infinity above 88.3. */
V_INLINE vf vm_exp_fast(vf x)
{
    vi n;
    vf p = vm_reduced(v_max(v_set(-87.0f), v_min(v_set(89.0f), x)), &n);
    return v_mul(v_add(v_set(1.0f), p), vm_power(n));
}

/* exp(x) - 1 for x <= 0, exact to its last bits near zero: 2^n p + (2^n - 1). */
V_INLINE vf vm_expm1_neg(vf x)
{
    vi n;
    vf p = vm_reduced(v_max(v_set(-30.0f), x), &n), scale = vm_power(n);
    return v_fma(scale, p, v_sub(scale, v_set(1.0f)));
}

V_INLINE vf vm_log(vf x)
{
    vf tiny = v_lt(x, v_set(1.17549435e-38f)), normal = v_pick(tiny, v_mul(x, v_set(8388608.0f)), x);
    vi e = vi_shift_right(vi_sub(vi_bits(normal), vi_set(0x3f3504f3)), 23); /* the mantissa is in [sqrt(1/2), sqrt(2)) */
    vf f = v_sub(v_bits(vi_sub(vi_bits(normal), vi_shift_left(e, 23))), v_set(1.0f));
    vf n = v_sub(v_from_int(e), v_and(tiny, v_set(23.0f)));
    vf p = v_fma(v_set(8.919315785e-2f), f, v_set(-1.435197145e-1f)); /* minimax for f - f^2/2 + f^3 p(f), 3.4e-8 */
    p = v_fma(p, f, v_set(1.487721801e-1f));
    p = v_fma(p, f, v_set(-1.656543463e-1f));
    p = v_fma(p, f, v_set(1.996536106e-1f));
    p = v_fma(p, f, v_set(-2.500175238e-1f));
    p = v_fma(p, f, v_set(3.333385885e-1f));
    vf ff = v_mul(f, f), rest = v_fma(v_mul(ff, f), p, v_mul(n, v_set(VM_LN2_LO)));
    vf y = v_fma(n, v_set(VM_LN2_HI), v_add(f, v_fnma(v_set(0.5f), ff, rest)));
    y = v_pick(v_lt(x, v_set(HUGE_VALF)), y, x); /* infinity and NaN stay themselves */
    y = v_pick(v_eq(x, v_zero()), v_set(-HUGE_VALF), y);
    return v_pick(v_lt(x, v_zero()), v_set(NAN), y);
}

/* log(1 + e) for 0 <= e <= 1: 2 atanh(e / (2 + e)). */
V_INLINE vf vm_log1p_unit(vf e)
{
    vf s = v_div(e, v_add(e, v_set(2.0f))), z = v_mul(s, s);
    vf p = v_fma(v_set(2.802684009e-1f), z, v_set(2.799858749e-1f)); /* minimax for 2 s + s z p(z), 4.6e-9 */
    p = v_fma(p, z, v_set(4.002173841e-1f));
    p = v_fma(p, z, v_set(6.666641235e-1f));
    return v_fma(v_mul(s, z), p, v_add(s, s));
}

/* With u = 1 - exp(-2 |x|) it is u / (2 - u): u has no cancellation, so a small x keeps all its digits. */
V_INLINE vf vm_tanh(vf x)
{
    vi n;
    vf p = vm_reduced(v_mul(v_set(-2.0f), v_min(v_set(10.0f), v_abs(x))), &n), scale = vm_power(n);
    vf u = v_fnma(scale, p, v_sub(v_set(1.0f), scale));
    return v_xor(v_div(u, v_sub(v_set(2.0f), u)), v_sign_bit(x));
}

V_INLINE vf vm_sigmoid(vf x) { return v_div(v_set(1.0f), v_add(v_set(1.0f), vm_exp_fast(v_neg(x)))); }

/* erfc(x) for x >= 0: exp(-x^2) times a polynomial in 1 / (1 + 0.3 x), whose range has no end. */
V_INLINE vf vm_erfc_pos(vf x)
{
    vf q = v_div(v_set(1.0f), v_fma(v_set(0.3f), x, v_set(1.0f)));
    vf p = v_fma(v_set(-1.295552254e-1f), q, v_set(4.857324958e-1f)); /* minimax for exp(x^2) erfc(x), 2.5e-8, to x = 10.5 */
    p = v_fma(p, q, v_set(-5.126585960e-1f));
    p = v_fma(p, q, v_set(5.481982827e-1f));
    p = v_fma(p, q, v_set(-9.501771629e-2f));
    p = v_fma(p, q, v_set(2.151018232e-1f));
    p = v_fma(p, q, v_set(1.482879519e-1f));
    p = v_fma(p, q, v_set(1.707235277e-1f));
    p = v_fma(p, q, v_set(1.691874415e-1f));
    return v_mul(v_mul(p, q), vm_exp(v_neg(v_mul(x, x))));
}

V_INLINE vf vm_erf(vf x)
{
    vf a = v_abs(x), z = v_mul(x, x), far = v_sub(v_set(1.0f), vm_erfc_pos(a));
    vf p = v_fma(v_set(-3.865420877e-5f), z, v_set(-4.478803021e-4f)); /* minimax for erf(x) / x to |x| = 1, 6e-8 */
    p = v_fma(p, z, v_set(4.789097235e-3f));
    p = v_fma(p, z, v_set(-2.664568275e-2f));
    p = v_fma(p, z, v_set(1.127867848e-1f));
    p = v_fma(p, z, v_set(-3.761220276e-1f));
    p = v_fma(p, z, v_set(1.128379107f));
    return v_pick(v_lt(a, v_set(1.0f)), v_mul(x, p), v_or(far, v_sign_bit(x)));
}

/* x P(N < x): computes the tail itself, not 1 minus something, so a large negative x keeps its digits. */
V_INLINE vf vm_gelu(vf x)
{
    vf low = v_max(v_set(-15.0f), x), tail = v_mul(v_set(0.5f), vm_erfc_pos(v_mul(v_abs(low), v_set(0.707106781f))));
    return v_mul(low, v_pick(v_lt(low, v_zero()), tail, v_sub(v_set(1.0f), tail)));
}

/* x / 2 (1 + tanh(u)) is x sigmoid(2 u). */
V_INLINE vf vm_gelu_tanh(vf x)
{
    vf low = v_max(v_set(-15.0f), x), inner = v_fma(v_mul(low, low), v_set(0.0713548162726f), v_set(1.59576912160573f));
    return v_mul(low, vm_sigmoid(v_mul(low, inner)));
}

V_INLINE vf vm_silu(vf x)
{
    vf low = v_max(v_set(-100.0f), x); /* there the quotient is 0 */
    return v_div(low, v_add(v_set(1.0f), vm_exp_fast(v_neg(low))));
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)). */
V_INLINE vf vm_softplus(vf x) { return v_add(v_max(v_zero(), x), vm_log1p_unit(vm_exp(v_neg(v_abs(x))))); }

V_INLINE vf vm_elu(vf x, float alpha)
{
    return v_pick(v_lt(x, v_zero()), v_mul(v_set(alpha), vm_expm1_neg(v_min(v_zero(), x))), x);
}

/* --- Circular functions ------------------------------------------------------------------------- */

/* Each lane on its own, so that a lane has the same bits whatever its neighbours are. */
static __attribute__((noinline, unused)) vf vm_far(vf x, vf near, bool is_cos)
{
    float in[VW], out[VW];
    v_store(in, x);
    v_store(out, near);
    for (int i = 0; i < VW; i++)
        if (!(fabsf(in[i]) <= 8192.0f))
            out[i] = is_cos ? cosf(in[i]) : sinf(in[i]);
    return v_load(out);
}

/* x is k pi/2 + r; pi/2 in three parts, of which k times the first two is exact with and without FMA. */
V_INLINE vf vm_circular(vf x, bool is_cos)
{
    vf k = v_round(v_mul(x, v_set(0.636619772f)));
    vi n = vi_add(v_to_int(k), vi_set(is_cos));
    vf r = v_fnma(k, v_set(7.54979e-8f), v_fnma(k, v_set(4.837512969970703125e-4f), v_fnma(k, v_set(1.5703125f), x)));
    vf z = v_mul(r, r), s = v_fma(v_set(-1.951408453e-4f), z, v_set(8.332155049e-3f)); /* minimax for r + r z s(z), 4e-9 */
    vf c = v_fma(v_set(2.443484542e-5f), z, v_set(-1.388733708e-3f));                  /* for 1 - z/2 + z^2 c(z), 1e-10 */
    s = v_fma(v_mul(v_fma(s, z, v_set(-1.666665459e-1f)), z), r, r);
    c = v_fma(v_mul(v_fma(c, z, v_set(4.166664627e-2f)), z), z, v_fnma(v_set(0.5f), z, v_set(1.0f)));
    vf odd = v_bits(vi_shift_right(vi_shift_left(n, 31), 31)), sign = v_sign_bit(v_bits(vi_shift_left(n, 30)));
    vf y = v_xor(v_pick(odd, c, s), sign);
    y = is_cos ? y : v_pick(v_eq(x, v_zero()), x, y); /* -0 stays -0 */
    if (v_sum(v_and(v_lt(v_abs(x), v_set(8192.0f)), v_set(1.0f))) == (float)VW)
        return y;
    return vm_far(x, y, is_cos);
}
V_INLINE vf vm_sin(vf x) { return vm_circular(x, false); }
V_INLINE vf vm_cos(vf x) { return vm_circular(x, true); }

/* atan(x) is pi/4 + atan((x - 1) / (x + 1)), and pi/2 - atan(1 / x). */
V_INLINE vf vm_atan(vf x)
{
    vf a = v_abs(x), far = v_gt(a, v_set(2.41421356f)), middle = v_gt(a, v_set(0.414213562f));
    vf above = v_pick(far, v_set(-1.0f), v_sub(a, v_set(1.0f))), below = v_pick(far, a, v_add(a, v_set(1.0f)));
    vf t = v_pick(middle, v_div(above, below), a), z = v_mul(t, t);
    vf p = v_fma(v_set(8.036037618e-2f), z, v_set(-1.387284994e-1f)); /* minimax for t + t z p(z) to tan(pi/8), 2.1e-8 */
    p = v_fma(p, z, v_set(1.997733028e-1f));
    p = v_fma(p, z, v_set(-3.333294128e-1f));
    vf start = v_pick(far, v_set(1.57079633f), v_and(middle, v_set(0.785398163f)));
    return v_or(v_add(start, v_fma(v_mul(p, z), t, t)), v_sign_bit(x));
}

/* asin(a) for 0 <= a <= 1/2 as a + a z p(z), z = a^2. */
V_INLINE vf vm_asin_small(vf a, vf z)
{
    vf p = v_fma(v_set(4.223054439e-2f), z, v_set(2.414099031e-2f)); /* minimax, 5e-9 */
    p = v_fma(p, z, v_set(4.547834298e-2f));
    p = v_fma(p, z, v_set(7.495232667e-2f));
    p = v_fma(p, z, v_set(1.666675413e-1f));
    return v_fma(v_mul(p, z), a, a);
}

/* Above 1/2 it is pi/2 - 2 asin(sqrt((1 - a) / 2)). */
V_INLINE vf vm_asin(vf x)
{
    vf a = v_abs(x), large = v_gt(a, v_set(0.5f)), half = v_mul(v_set(0.5f), v_sub(v_set(1.0f), a));
    vf z = v_pick(large, half, v_mul(a, a)), y = vm_asin_small(v_pick(large, v_sqrt(half), a), z);
    y = v_pick(large, v_sub(v_set(1.57079633f), v_add(y, y)), y);
    return v_or(v_pick(v_gt(a, v_set(1.0f)), v_set(NAN), y), v_sign_bit(x));
}

/* Near 1 it is 2 asin(sqrt((1 - x) / 2)), which keeps its digits. */
V_INLINE vf vm_acos(vf x)
{
    vf a = v_abs(x), large = v_gt(a, v_set(0.5f)), half = v_mul(v_set(0.5f), v_sub(v_set(1.0f), a));
    vf z = v_pick(large, half, v_mul(a, a)), y = vm_asin_small(v_pick(large, v_sqrt(half), a), z);
    vf twice = v_add(y, y), edge = v_pick(v_lt(x, v_zero()), v_sub(v_set(3.14159265f), twice), twice);
    vf inside = v_sub(v_set(1.57079633f), v_or(y, v_sign_bit(x)));
    return v_pick(v_gt(a, v_set(1.0f)), v_set(NAN), v_pick(large, edge, inside));
}

V_INLINE vf vm_clip(vf x, float lo, float hi) { return v_min(v_set(hi), v_max(v_set(lo), x)); }
V_INLINE vf vm_relu(vf x) { return v_max(v_zero(), x); }
V_INLINE vf vm_leakyrelu(vf x, float alpha) { return v_pick(v_lt(x, v_zero()), v_mul(v_set(alpha), x), x); }
V_INLINE vf vm_hardsigmoid(vf x, float alpha, float beta) { return vm_clip(v_fma(v_set(alpha), x, v_set(beta)), 0.0f, 1.0f); }
V_INLINE vf vm_hardswish(vf x) { return v_mul(x, vm_hardsigmoid(x, 1.0f / 6.0f, 0.5f)); }

/* --- A fused activation ------------------------------------------------------------------------- */

typedef struct as_act_f32 {
    as_act_kind kind;
    float       alpha, beta;
} as_act_f32;

V_INLINE as_act_f32 vm_act_of(const as_act *act)
{
    return (as_act_f32){.kind = act->kind, .alpha = (float)act->alpha, .beta = (float)act->beta};
}

/* One jump when the kind varies, none when the caller's kind is a constant for the compiler. */
V_INLINE vf vm_act(const as_act_f32 *act, vf x)
{
    switch (act->kind) {
    case AS_ACT_NONE:
    case AS_N_ACTS: break;
    case AS_ACT_RELU: return vm_relu(x);
    case AS_ACT_LEAKYRELU: return vm_leakyrelu(x, act->alpha);
    case AS_ACT_CLIP: return vm_clip(x, act->alpha, act->beta);
    case AS_ACT_SIGMOID: return vm_sigmoid(x);
    case AS_ACT_TANH: return vm_tanh(x);
    case AS_ACT_HARDSIGMOID: return vm_hardsigmoid(x, act->alpha, act->beta);
    case AS_ACT_HARDSWISH: return vm_hardswish(x);
    case AS_ACT_ELU: return vm_elu(x, act->alpha);
    case AS_ACT_GELU: return vm_gelu(x);
    case AS_ACT_GELU_TANH: return vm_gelu_tanh(x);
    case AS_ACT_SILU: return vm_silu(x);
    case AS_ACT_SOFTPLUS: return vm_softplus(x);
    }
    return x;
}

#endif
