/* batchnormtrain_body.h - the body of k_batchnormtrain_f32_<machine>.c, after its simd_*.h: BatchNormalization with the batch's own
 * statistics, in row-major order and in NHWC.
 *
 * Each shard leaves its mean and the sum of its squared differences from that mean; the shards' means and sums give the batch's without
 * cancellation, as if it had been read twice, although it comes from memory once.  A second pass normalises. */
#include <math.h>

#include "backend/cpu/norm/batch_shards.h"
#include "backend/cpu/norm/line_sum.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!as_attr_int(n, "training_mode", 0)) {
        snprintf(why, why_size, "the statistics are given");
        return false;
    }
    return batch_accepts(n, why, why_size);
}

enum { OWN_ROWS = 3 /* of each part: mean, variance, factor */ };

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    batch b = batch_of(n);
    return shards_bytes(&b, n_parts, OWN_ROWS);
}

/* Up to VW channels side by side, `count` rows of them. */
static void lanes_stats(const float *x, int64_t count, int64_t step, int width, float *mean, float *squares)
{
    vf s0 = v_zero(), s1 = v_zero(), q0 = v_zero(), q1 = v_zero(), first = some(x, width);
    for (int64_t i = 0; i + 1 < count; i += 2) { /* less the first: a sum of large numbers would lose their differences */
        s0 = v_add(s0, v_sub(some(x + i * step, width), first));
        s1 = v_add(s1, v_sub(some(x + (i + 1) * step, width), first));
    }
    if (count % 2)
        s0 = v_add(s0, v_sub(some(x + (count - 1) * step, width), first));
    vf m = v_fma(v_add(s0, s1), v_set(1.0f / (float)count), first);
    for (int64_t i = 0; i + 1 < count; i += 2) {
        vf p = v_sub(some(x + i * step, width), m), q = v_sub(some(x + (i + 1) * step, width), m);
        q0 = v_fma(p, p, q0);
        q1 = v_fma(q, q, q1);
    }
    if (count % 2) {
        vf p = v_sub(some(x + (count - 1) * step, width), m);
        q0 = v_fma(p, p, q0);
    }
    put(mean, width, m);
    put(squares, width, v_add(q0, q1));
}

/* One channel of some images. */
static void channel_stats(const batch *b, const float *x, int64_t count, float *mean, float *squares)
{
    float sum = 0.0f, square = 0.0f;
    for (int64_t i = 0; i < count; i++)
        sum += line_sum(x + i * b->channels * b->pixels, b->pixels, *x, false);
    float m = *x + sum / (float)(count * b->pixels);
    for (int64_t i = 0; i < count; i++)
        square += line_sum(x + i * b->channels * b->pixels, b->pixels, m, true);
    *mean = m;
    *squares = square;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    batch        b = batch_of(args->ctx);
    const float *x = args->in[0].data;
    int64_t      begin, end;
    if (b.rows * b.row == 0)
        return;
    as_share(batch_units(&b), 1, part, n_parts, &begin, &end);
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t shard = b.side_by_side ? unit : unit / b.channels, rows = shard_rows(&b, shard);
        float  *sums = shard_sums(&b, scratch, shard);
        if (!b.side_by_side) {
            int64_t c = unit % b.channels;
            channel_stats(&b, x + (shard * b.each * b.channels + c) * b.pixels, rows, sums + c, sums + b.stride + c);
            continue;
        }
        for (int64_t c = 0; c < b.channels; c += VW)
            lanes_stats(x + shard * b.each * b.channels + c, rows, b.channels, at_most(b.channels - c), sums + c,
                        sums + b.stride + c);
    }
}

/* The batch's mean and variance from the shards': their means weighted, then their squares and those of their means' differences. */
static void stats_join(const batch *b, void *scratch, float *mean, float *variance)
{
    float per_row = b->side_by_side ? 1.0f : (float)b->pixels, all = (float)b->rows * per_row;
    for (int64_t c = 0; c < b->channels; c += VW) {
        int w = at_most(b->channels - c);
        vf  sum = v_zero(), squares = v_zero(), first = b->n_shards ? some(shard_sums(b, scratch, 0) + c, w) : v_zero();
        for (int64_t s = 1; s < b->n_shards; s++)
            sum = v_fma(v_set((float)shard_rows(b, s) * per_row), v_sub(some(shard_sums(b, scratch, s) + c, w), first), sum);
        vf m = v_add(first, v_div(sum, v_set(all)));
        for (int64_t s = 0; s < b->n_shards; s++) {
            const float *sums = shard_sums(b, scratch, s) + c;
            vf           d = v_sub(some(sums, w), m);
            squares = v_add(squares, v_fma(v_mul(d, d), v_set((float)shard_rows(b, s) * per_row), some(sums + b->stride, w)));
        }
        put(mean + c, w, m);
        put(variance + c, w, v_div(squares, v_set(all)));
    }
}

static void stats_give(const as_kernel_args *args, const batch *b, const float *mean, const float *variance, float epsilon)
{
    const as_node_ctx *n = args->ctx;
    float              keep = (float)as_attr_float(n, "momentum", (double)0.9f);
    const float       *given[2] = {args->in[3].data, args->in[4].data};
    float             *out[5] = {0};
    for (int i = 1; i < n->n_out; i++)
        out[i] = n->out[i].dtype == AS_NONE ? NULL : args->out[i].data;
    for (int64_t c = 0; c < b->channels; c++) {
        if (out[1])
            out[1][c] = given[0][c] * keep + mean[c] * (1.0f - keep);
        if (out[2])
            out[2][c] = given[1][c] * keep + variance[c] * (1.0f - keep);
        if (out[3])
            out[3][c] = mean[c];
        if (out[4])
            out[4][c] = 1.0f / sqrtf(variance[c] + epsilon);
    }
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    batch        b = batch_of(args->ctx);
    const float *x = args->in[0].data, *scale = args->in[1].data, *bias = args->in[2].data;
    float       *y = args->out[0].data, epsilon = (float)as_attr_float(args->ctx, "epsilon", 1e-5f);
    int64_t      count = b.rows * b.row * (b.side_by_side ? 1 : b.channels), begin, end;
    if (b.channels == 0)
        return;
    float *mean = part_rows(&b, scratch, part, OWN_ROWS), *variance = mean + b.stride, *factor = variance + b.stride;
    stats_join(&b, scratch, mean, variance);
    if (part == 0)
        stats_give(args, &b, mean, variance, epsilon);
    for (int64_t c = 0; c < b.channels; c++)
        factor[c] = scale[c] / sqrtf(variance[c] + epsilon);
    as_share(count, LINE, part, n_parts, &begin, &end);
    for (int64_t at = begin; at < end;) {
        int64_t first = at % b.row, c = b.side_by_side ? first : at / b.row % b.channels,
                width = b.row - first < end - at ? b.row - first : end - at;
        if (b.side_by_side)
            pixel_run(x + at, y + at, width, mean + c, factor + c, bias + c);
        else
            row_run(x + at, y + at, width, mean[c], factor[c], bias[c]);
        at += width;
    }
}
