/* gradnorm_body.h - the body of k_gradnorm_f32_<machine>.c, after its simd_*.h: the 2-norm of a block, its squares summed in double.
 *
 * Shards of a fixed size, each in sixteen sums side by side, and a fixed tree over the shards: the bits depend on the block alone, not
 * on parts and not on the machine.  The vectors are the compiler's, because the simd_*.h have no doubles; they are as wide as the
 * machine's, or twice that where those have two doubles: gcc splits wider ones badly (AVX2: 6 GB/s instead of 31). */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel.h"

enum { SHARD = 8192, N_SUMS = 16, WIDTH = VW > 4 ? VW / 2 : 4, N_VECTORS = N_SUMS / WIDTH };

typedef float  vh __attribute__((vector_size(WIDTH * sizeof(float))));
typedef double vd __attribute__((vector_size(WIDTH * sizeof(double))));

static int64_t n_shards(const as_node_ctx *n) { return (as_shape_count(&n->in[0].shape) + SHARD - 1) / SHARD; }

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n_parts;
    return (size_t)(n_shards(n) ? n_shards(n) : 1) * sizeof(double);
}

static double shard_sum(const float *x, int64_t n)
{
    vd      sums[N_VECTORS] = {{0}};
    double  each[N_SUMS], sum = 0.0;
    int64_t i = 0;
    for (; i + N_SUMS <= n; i += N_SUMS) {
        V_UNROLL
        for (int k = 0; k < N_VECTORS; k++) {
            vh p;
            memcpy(&p, x + i + k * WIDTH, sizeof p);
            vd wide = __builtin_convertvector(p, vd);
            sums[k] += wide * wide;
        }
    }
    memcpy(each, sums, sizeof each);
    for (int k = 0; k < N_SUMS / 2; k++)
        sum += each[k] + each[k + N_SUMS / 2];
    for (; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    int64_t      count = as_shape_count(&args->ctx->in[0].shape), begin, end;
    const float *x = args->in[0].data;
    double      *sums = scratch;
    as_share(n_shards(args->ctx), 1, part, n_parts, &begin, &end);
    for (int64_t s = begin; s < end; s++)
        sums[s] = shard_sum(x + s * SHARD, count - s * SHARD < SHARD ? count - s * SHARD : SHARD);
}

/* Neighbours first, then pairs of neighbours, and so on. */
static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts;
    double *sums = scratch;
    if (part != 0)
        return;
    int64_t n = n_shards(args->ctx);
    for (int64_t step = 1; step < n; step *= 2)
        for (int64_t i = 0; i + step < n; i += 2 * step)
            sums[i] += sums[i + step];
    double scale = as_in_has(args->ctx, 1) ? fabs((double)*(const float *)args->in[1].data) : 1.0;
    *(float *)args->out[0].data = (float)((n ? sqrt(sums[0]) : 0.0) / scale);
}
