/* batchnormgrad_body.h - the body of k_batchnormgrad_f32_<machine>.c, after its simd_*.h: assay.BatchNormGrad in row-major order and in
 * NHWC.
 *
 * Each shard leaves the sums of dY and of dY (X - mean); a second pass computes dX from the batch's sums. */
#include "backend/cpu/norm/batch_shards.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->in[1].layout != n->in[0].layout) {
        snprintf(why, why_size, "input 1 has another layout than input 0");
        return false;
    }
    return batch_accepts(n, why, why_size);
}

enum { OWN_ROWS = 3 /* of each part: what dX subtracts, what it takes of X - mean, its factor */ };

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    batch b = batch_of(n);
    return shards_bytes(&b, n_parts, OWN_ROWS);
}

static void lanes_sums(const float *x, const float *dy, const float *mean, int64_t count, int64_t step, int width, float *sum,
                       float *along)
{
    vf s0 = v_zero(), s1 = v_zero(), a0 = v_zero(), a1 = v_zero(), m = some(mean, width);
    for (int64_t i = 0; i + 1 < count; i += 2) {
        vf d = some(dy + i * step, width), e = some(dy + (i + 1) * step, width);
        s0 = v_add(s0, d);
        s1 = v_add(s1, e);
        a0 = v_fma(d, v_sub(some(x + i * step, width), m), a0);
        a1 = v_fma(e, v_sub(some(x + (i + 1) * step, width), m), a1);
    }
    if (count % 2) {
        vf d = some(dy + (count - 1) * step, width);
        s0 = v_add(s0, d);
        a0 = v_fma(d, v_sub(some(x + (count - 1) * step, width), m), a0);
    }
    put(sum, width, v_add(s0, s1));
    put(along, width, v_add(a0, a1));
}

static void channel_sums(const batch *b, const float *x, const float *dy, float mean, int64_t count, float *sum, float *along)
{
    vf s0 = v_zero(), s1 = v_zero(), a0 = v_zero(), a1 = v_zero(), m = v_set(mean);
    for (int64_t k = 0; k < count; k++, x += b->channels * b->pixels, dy += b->channels * b->pixels) {
        int64_t i = 0;
        for (; i + 2 * VW <= b->pixels; i += 2 * VW) {
            vf d = v_load(dy + i), e = v_load(dy + i + VW);
            s0 = v_add(s0, d);
            s1 = v_add(s1, e);
            a0 = v_fma(d, v_sub(v_load(x + i), m), a0);
            a1 = v_fma(e, v_sub(v_load(x + i + VW), m), a1);
        }
        for (int w; (w = at_most(b->pixels - i)) > 0; i += VW) { /* lanes after the last have dY = 0 */
            vf d = some(dy + i, w);
            s0 = v_add(s0, d);
            a0 = v_fma(d, v_sub(some(x + i, w), m), a0);
        }
    }
    *sum = v_sum(v_add(s0, s1));
    *along = v_sum(v_add(a0, a1));
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    batch        b = batch_of(args->ctx);
    const float *x = args->in[0].data, *dy = args->in[1].data, *mean = args->in[3].data;
    int64_t      begin, end;
    as_share(batch_units(&b), 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t shard = b.side_by_side ? unit : unit / b.channels, rows = shard_rows(&b, shard);
        float  *sums = shard_sums(&b, scratch, shard);
        if (!b.side_by_side) {
            int64_t c = unit % b.channels, at = (shard * b.each * b.channels + c) * b.pixels;
            channel_sums(&b, x + at, dy + at, mean[c], rows, sums + c, sums + b.stride + c);
            continue;
        }
        for (int64_t c = 0; c < b.channels; c += VW) {
            int64_t at = shard * b.each * b.channels + c;
            lanes_sums(x + at, dy + at, mean + c, rows, b.channels, at_most(b.channels - c), sums + c, sums + b.stride + c);
        }
    }
}

/* Part 0 also gives dscale and dB. */
static void sums_join(const as_kernel_args *args, const batch *b, void *scratch, int part, float *less, float *turn, float *factor)
{
    const float *scale = args->in[2].data, *inv = args->in[4].data;
    float       *d_scale = part == 0 && args->ctx->n_out > 1 ? args->out[1].data : NULL;
    float       *d_bias = part == 0 && args->ctx->n_out > 2 ? args->out[2].data : NULL;
    vf           each = v_set(1.0f / (float)(b->side_by_side ? b->rows : b->rows * b->pixels));
    for (int64_t c = 0; c < b->channels; c += VW) {
        int w = at_most(b->channels - c);
        vf  sum = v_zero(), along = v_zero(), k = some(inv + c, w);
        for (int64_t s = 0; s < b->n_shards; s++) {
            const float *sums = shard_sums(b, scratch, s) + c;
            sum = v_add(sum, some(sums, w));
            along = v_add(along, some(sums + b->stride, w));
        }
        put(less + c, w, v_mul(sum, each));
        put(turn + c, w, v_mul(v_mul(k, k), v_mul(along, each)));
        put(factor + c, w, v_mul(some(scale + c, w), k));
        if (d_scale)
            put(d_scale + c, w, v_mul(along, k));
        if (d_bias)
            put(d_bias + c, w, sum);
    }
}

static void row_back(const float *x, const float *dy, float *dx, int64_t count, float mean, float less, float turn, float factor)
{
    vf m = v_set(mean), l = v_set(less), t = v_set(turn), f = v_set(factor);
    for (int64_t i = 0; i < count; i += VW) {
        int n = at_most(count - i);
        put(dx + i, n, v_mul(f, v_fnma(v_sub(some(x + i, n), m), t, v_sub(some(dy + i, n), l))));
    }
}

static void pixel_back(const float *x, const float *dy, float *dx, int64_t count, const float *mean, const float *less,
                       const float *turn, const float *factor)
{
    for (int64_t i = 0; i < count; i += VW) {
        int n = at_most(count - i);
        vf  d = v_sub(some(dy + i, n), some(less + i, n));
        put(dx + i, n, v_mul(some(factor + i, n), v_fnma(v_sub(some(x + i, n), some(mean + i, n)), some(turn + i, n), d)));
    }
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    batch        b = batch_of(args->ctx);
    const float *x = args->in[0].data, *dy = args->in[1].data, *mean = args->in[3].data;
    float       *dx = args->out[0].data;
    int64_t      count = b.rows * b.row * (b.side_by_side ? 1 : b.channels), begin, end;
    if (b.channels == 0)
        return;
    float *less = part_rows(&b, scratch, part, OWN_ROWS), *turn = less + b.stride, *factor = turn + b.stride;
    sums_join(args, &b, scratch, part, less, turn, factor);
    as_share(count, LINE, part, n_parts, &begin, &end);
    for (int64_t at = begin; at < end;) {
        int64_t first = at % b.row, c = b.side_by_side ? first : at / b.row % b.channels,
                width = b.row - first < end - at ? b.row - first : end - at;
        if (b.side_by_side)
            pixel_back(x + at, dy + at, dx + at, width, mean + c, less + c, turn + c, factor + c);
        else
            row_back(x + at, dy + at, dx + at, width, mean[c], less[c], turn[c], factor[c]);
        at += width;
    }
}
