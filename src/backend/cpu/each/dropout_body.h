/* dropout_body.h - the body of k_dropout_f32_<machine>.c, after its simd_*.h: Dropout in training with Philox draws, or the identity.
 *
 * The draws are those of as_philox_uniform(): keyed by seed, node, step and element, so they do not depend on the number of parts.  A
 * counter gives four elements; VW counters are computed side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"

enum { BLOCK = 4 * VW };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (as_attr_find(n, "seed")) {
        snprintf(why, why_size, "the attribute seed asks for numpy's draws");
        return false;
    }
    if (as_in_has(n, 1) && n->in[1].dtype != AS_F32) {
        snprintf(why, why_size, "ratio is %s, needs f32", as_dtype_name(n->in[1].dtype));
        return false;
    }
    return as_kernel_f32_only(n, why, why_size);
}

/* The words of VW counters from `group` on. */
V_INLINE void words_of(const as_kernel_args *args, uint64_t group, vi word[4])
{
    uint64_t seed = args->ctx->seed;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32), low[VW], high[VW];
    for (int i = 0; i < VW; i++) {
        low[i] = (uint32_t)(group + (uint64_t)i);
        high[i] = (uint32_t)((group + (uint64_t)i) >> 32);
    }
    vi a, b, c = vi_set((int32_t)args->ctx->node_id), d = vi_set((int32_t)(uint32_t)args->step);
    memcpy(&a, low, sizeof a);
    memcpy(&b, high, sizeof b);
    for (int round = 0; round < 10; round++) {
        vi p_high, p_low, q_high, q_low;
        vi_mul_wide(a, 0xd2511f53u, &p_high, &p_low);
        vi_mul_wide(c, 0xcd9e8d57u, &q_high, &q_low);
        a = vi_xor(vi_xor(q_high, b), vi_set((int32_t)k0));
        c = vi_xor(vi_xor(p_high, d), vi_set((int32_t)k1));
        b = q_low;
        d = p_low;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    word[0] = a, word[1] = b, word[2] = c, word[3] = d;
}

/* All ones where an element of the block is kept. */
static void block_keep(const as_kernel_args *args, uint64_t block, uint32_t least, uint32_t keep[BLOCK])
{
    vi       word[4];
    uint32_t flat[4][VW];
    words_of(args, block * VW, word);
    memcpy(flat, word, sizeof flat);
    for (int i = 0; i < VW; i++)
        for (int k = 0; k < 4; k++)
            keep[4 * i + k] = -(uint32_t)(flat[k][i] >> 8 >= least);
}

static void training_run(const as_kernel_args *args, float ratio, int part, int n_parts)
{
    const float *x = args->in[0].data;
    float       *y = args->out[0].data;
    uint8_t     *mask = args->ctx->n_out > 1 && args->ctx->out[1].dtype != AS_NONE ? args->out[1].data : NULL;
    int64_t      count = as_shape_count(&args->ctx->in[0].shape), begin, end;
    uint32_t     least = (uint32_t)ceil((double)ratio * 0x1p24); /* of the 24 bits of a draw: it is kept when draw >= ratio */
    vf           scale = v_set((float)(1.0 / (1.0 - (double)ratio)));
    as_share(count, BLOCK, part, n_parts, &begin, &end);
    for (; begin < end; begin += BLOCK) {
        uint32_t keep[BLOCK];
        int      n = end - begin < BLOCK ? (int)(end - begin) : BLOCK;
        block_keep(args, (uint64_t)(begin / BLOCK), least, keep);
        for (int i = 0; i < n; i += VW) {
            vf bits;
            memcpy(&bits, keep + i, sizeof bits);
            if (n - i >= VW)
                v_store(y + begin + i, v_and(bits, v_mul(v_load(x + begin + i), scale)));
            else
                v_store_n(y + begin + i, n - i, v_and(bits, v_mul(v_load_n(x + begin + i, n - i), scale)));
        }
        for (int i = 0; mask && i < n; i++)
            mask[begin + i] = keep[i] & 1u;
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    bool               training = as_in_has(n, 2) && *(const uint8_t *)args->in[2].data != 0;
    float              ratio = as_in_has(n, 1) ? *(const float *)args->in[1].data : 0.5f;
    int64_t            count = as_shape_count(&n->in[0].shape), begin, end;
    if (training && !(ratio >= 0.0f && ratio < 1.0f)) { /* the reference code has the message for it */
        if (part == 0)
            *args->status = n->op->eval(args->env, n, args->in, args->out);
    } else if (training) {
        training_run(args, ratio, part, n_parts);
    } else {
        as_share(count, 16, part, n_parts, &begin, &end);
        if (begin < end && args->out[0].data != args->in[0].data)
            memcpy((float *)args->out[0].data + begin, (const float *)args->in[0].data + begin,
                   (size_t)(end - begin) * sizeof(float));
        if (begin < end && n->n_out > 1 && n->out[1].dtype != AS_NONE)
            memset((uint8_t *)args->out[1].data + begin, 1, (size_t)(end - begin));
    }
}
