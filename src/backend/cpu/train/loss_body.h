/* loss_body.h - the body of k_loss_f32_<machine>.c, after its simd_*.h: the means of f(y, target) over elements.
 *
 * Blocks are summed in a vector of floats, blocks and shards in double, in an order that depends on the shape alone. */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/simd/vmath.h"
#include "op/train/loss.h"

enum { SHARD = 4096, BLOCK = 256 };

static int64_t n_shards(const as_node_ctx *n) { return (as_shape_count(&n->in[0].shape) + SHARD - 1) / SHARD; }

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n_parts;
    return (size_t)(n_shards(n) ? n_shards(n) : 1) * sizeof(double);
}

V_INLINE vf value_of(as_loss_kind kind, vf delta, vf y, vf t)
{
    vf e = v_sub(y, t), size = v_abs(e), near = v_mul(v_mul(v_set(0.5f), e), e);
    switch (kind) {
    case AS_LOSS_BCE: return v_add(v_fnma(y, t, v_max(v_zero(), y)), vm_log1p_unit(vm_exp(v_neg(v_abs(y)))));
    case AS_LOSS_MSE: return v_mul(e, e);
    case AS_LOSS_MAE: return size;
    case AS_LOSS_HUBER: return v_pick(v_gt(size, delta), v_mul(delta, v_fnma(v_set(0.5f), delta, size)), near);
    }
    return e;
}

/* The lanes after the end are those of y = t = 0; of a logit of 0 the loss is not 0, so they are left out. */
V_INLINE double block_sum(as_loss_kind kind, vf delta, const float *y, const float *t, int64_t n)
{
    vf      sum = v_zero();
    int64_t i = 0;
    for (; i + VW <= n; i += VW)
        sum = v_add(sum, value_of(kind, delta, v_load(y + i), v_load(t + i)));
    double total = (double)v_sum(sum);
    if (i < n) {
        float last[VW];
        v_store(last, value_of(kind, delta, v_load_n(y + i, (int)(n - i)), v_load_n(t + i, (int)(n - i))));
        for (int k = 0; k < n - i; k++)
            total += (double)last[k];
    }
    return total;
}

V_INLINE double shard_sum(as_loss_kind kind, float delta, const float *y, const float *t, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i += BLOCK)
        sum += block_sum(kind, v_set(delta), y + i, t + i, n - i < BLOCK ? n - i : BLOCK);
    return sum;
}

static double shard_any(const as_loss *l, const float *y, const float *t, int64_t n)
{
    switch (l->kind) {
    case AS_LOSS_BCE: return shard_sum(AS_LOSS_BCE, 0.0f, y, t, n);
    case AS_LOSS_MSE: return shard_sum(AS_LOSS_MSE, 0.0f, y, t, n);
    case AS_LOSS_MAE: return shard_sum(AS_LOSS_MAE, 0.0f, y, t, n);
    case AS_LOSS_HUBER: return shard_sum(AS_LOSS_HUBER, (float)l->delta, y, t, n);
    }
    return 0.0;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    as_loss      l;
    int64_t      begin, end;
    const float *y = args->in[0].data, *t = args->in[1].data;
    double      *sums = scratch;
    if (!as_loss_read(args->ctx, as_in_has(args->ctx, 2) ? &args->in[2] : NULL, &l)) {
        if (part == 0) /* it has the message */
            *args->status = args->ctx->op->eval(args->env, args->ctx, args->in, args->out);
        return;
    }
    as_share((l.counted + SHARD - 1) / SHARD, 1, part, n_parts, &begin, &end);
    for (int64_t s = begin; s < end; s++)
        sums[s] = shard_any(&l, y + s * SHARD, t + s * SHARD, l.counted - s * SHARD < SHARD ? l.counted - s * SHARD : SHARD);
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts;
    as_loss l;
    double *sums = scratch;
    if (part != 0 || !as_loss_read(args->ctx, as_in_has(args->ctx, 2) ? &args->in[2] : NULL, &l))
        return;
    int64_t n = (l.counted + SHARD - 1) / SHARD;
    for (int64_t step = 1; step < n; step *= 2)
        for (int64_t i = 0; i + step < n; i += 2 * step)
            sums[i] += sums[i + step];
    *(float *)args->out[0].data = (float)((n ? sums[0] : 0.0) / (double)l.counted);
}

static const char *const also[] = {"assay.MaeLoss", "assay.HuberLoss", "assay.BceWithLogitsLoss", NULL};
