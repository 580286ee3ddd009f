/* vmath_check_body.h - the body of vmath_check_<machine>.c, after its simd_*.h; AS_VMATH_CHECK is the function's name. */
#include "backend/cpu/simd/vmath.h"
#include "backend/cpu/simd/vmath_check.h"

static vf one(int function, const as_act_f32 *act, vf x)
{
    switch (function) {
    case AS_CHECK_EXP: return vm_exp(x);
    case AS_CHECK_EXPM1_NEG: return vm_expm1_neg(x);
    case AS_CHECK_LOG: return vm_log(x);
    case AS_CHECK_ERF: return vm_erf(x);
    case AS_CHECK_ERFC_POS: return vm_erfc_pos(x);
    case AS_CHECK_SIN: return vm_sin(x);
    case AS_CHECK_COS: return vm_cos(x);
    case AS_CHECK_ASIN: return vm_asin(x);
    case AS_CHECK_ACOS: return vm_acos(x);
    case AS_CHECK_ATAN: return vm_atan(x);
    default: return vm_act(act, x);
    }
}

void AS_VMATH_CHECK(int function, const as_act *act, const float *x, float *y, size_t n)
{
    as_act_f32 a = vm_act_of(act);
    size_t     i = 0;
    for (; i + VW <= n; i += VW)
        v_store(y + i, one(function, &a, v_load(x + i)));
    if (i < n)
        v_store_n(y + i, (int)(n - i), one(function, &a, v_load_n(x + i, (int)(n - i))));
}
