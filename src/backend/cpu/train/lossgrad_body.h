/* lossgrad_body.h - the body of k_lossgrad_f32_<machine>.c, after its simd_*.h: the gradients of the means over elements. */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/simd/vmath.h"
#include "op/train/loss.h"

enum { GRAIN = 1024 };

V_INLINE vf slope_of(as_loss_kind kind, bool of_target, vf delta, vf y, vf t)
{
    vf e = of_target ? v_sub(t, y) : v_sub(y, t);
    switch (kind) {
    case AS_LOSS_BCE: return of_target ? v_neg(y) : v_sub(vm_sigmoid(y), t);
    case AS_LOSS_MSE: return v_add(e, e);
    case AS_LOSS_MAE: return v_pick(v_gt(v_abs(e), v_zero()), v_or(v_set(1.0f), v_sign_bit(e)), e); /* 0 and NaN as they are */
    case AS_LOSS_HUBER: return v_max(v_neg(delta), v_min(delta, e));
    }
    return e;
}

V_INLINE void stretch(as_loss_kind kind, bool of_target, float delta, float share, const float *y, const float *t, float *d,
                      int64_t n)
{
    vf      k = v_set(share), far = v_set(delta);
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        v_store(d + i, v_mul(k, slope_of(kind, of_target, far, v_load(y + i), v_load(t + i))));
    if (i < n)
        v_store_n(d + i, (int)(n - i),
                  v_mul(k, slope_of(kind, of_target, far, v_load_n(y + i, (int)(n - i)), v_load_n(t + i, (int)(n - i)))));
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_loss      l;
    int64_t      begin, end;
    const float *y = args->in[0].data, *t = args->in[1].data;
    float       *d = args->out[0].data;
    if (!as_loss_read(args->ctx, as_in_has(args->ctx, 3) ? &args->in[3] : NULL, &l)) {
        if (part == 0) /* it has the message */
            *args->status = args->ctx->op->eval(args->env, args->ctx, args->in, args->out);
        return;
    }
    float share = (float)((double)*(const float *)args->in[2].data / (double)l.counted);
    as_share(l.count, GRAIN, part, n_parts, &begin, &end);
    int64_t until = end < l.counted ? end : l.counted, n = until > begin ? until - begin : 0;
    switch (l.kind) {
    case AS_LOSS_BCE: stretch(AS_LOSS_BCE, l.of_target, 0.0f, share, y + begin, t + begin, d + begin, n); break;
    case AS_LOSS_MSE: stretch(AS_LOSS_MSE, l.of_target, 0.0f, share, y + begin, t + begin, d + begin, n); break;
    case AS_LOSS_MAE: stretch(AS_LOSS_MAE, l.of_target, 0.0f, share, y + begin, t + begin, d + begin, n); break;
    case AS_LOSS_HUBER: stretch(AS_LOSS_HUBER, l.of_target, (float)l.delta, share, y + begin, t + begin, d + begin, n); break;
    }
    if (begin + n < end)
        memset(d + begin + n, 0, (size_t)(end - begin - n) * sizeof *d);
}

static const char *const also[] = {"assay.MaeGrad", "assay.HuberGrad", "assay.BceWithLogitsGrad", NULL};
