/* dynamic_body.h - the body of k_dynamicquantize_f32_<machine>.c, after its q_*.h: DynamicQuantizeLinear.  `run` finds the range of
 * each part's share, `finish` joins the ranges, which gives the same bits in any order, and quantises. */
#include <math.h>
#include <stdio.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/quant/round.h"

enum { RANGE_FLOATS = 16 }; /* per part: least and most, alone in a cache line */

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const float *x = args->in[0].data;
    float       *range = (float *)scratch + (int64_t)part * RANGE_FLOATS, ends[2] = {0.0f, 0.0f};
    int64_t      begin, end;
    qf           least[4] = {{0}}, most[4] = {{0}}; /* as many chains as hide the latency */
    as_share(as_shape_count(&args->in[0].shape), 64, part, n_parts, &begin, &end);
    int64_t i = begin;
    for (; i + 4 * QL <= end; i += 4 * QL)
        for (int k = 0; k < 4; k++) {
            qf v = q_load(x + i + k * QL);
            least[k] = q_least(least[k], v);
            most[k] = q_most(most[k], v);
        }
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < QL; j++) {
            ends[0] = least[k][j] < ends[0] ? least[k][j] : ends[0];
            ends[1] = most[k][j] > ends[1] ? most[k][j] : ends[1];
        }
    for (; i < end; i++) {
        ends[0] = x[i] < ends[0] ? x[i] : ends[0];
        ends[1] = x[i] > ends[1] ? x[i] : ends[1];
    }
    memcpy(range, ends, sizeof ends);
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const float *x = args->in[0].data, *range = scratch;
    uint8_t     *y = args->out[0].data;
    float        least = 0.0f, most = 0.0f;
    int64_t      begin, end;
    for (int p = 0; p < n_parts; p++, range += RANGE_FLOATS) {
        least = range[0] < least ? range[0] : least;
        most = range[1] > most ? range[1] : most;
    }
    float scale = most == least ? 1.0f : (most - least) / 255.0f, zero = rintf(fminf(fmaxf(-least / scale, 0.0f), 255.0f));
    qf    low = q_set(0.0f - zero), high = q_set(255.0f - zero), s = q_set(scale);
    qi    z = q_set_i((int32_t)zero), v[Q_PER];
    as_share(as_shape_count(&args->in[0].shape), 64, part, n_parts, &begin, &end);
    int64_t i = begin;
    for (; i + 16 <= end; i += 16) {
        V_UNROLL
        for (int k = 0; k < Q_PER; k++)
            v[k] = q_round(q_load(x + i + k * QL) / s, low, high, z);
        q_store_8(y + i, v);
    }
    if (i < end) {
        float   rest[16] = {0};
        uint8_t to[16];
        memcpy(rest, x + i, (size_t)(end - i) * sizeof *rest);
        for (int k = 0; k < Q_PER; k++)
            v[k] = q_round(q_load(rest + k * QL) / s, low, high, z);
        q_store_8(to, v);
        memcpy(y + i, to, (size_t)(end - i));
    }
    if (part == 0 && args->ctx->n_out > 1 && args->out[1].data)
        *(float *)args->out[1].data = scale;
    if (part == 0 && args->ctx->n_out > 2 && args->out[2].data)
        *(uint8_t *)args->out[2].data = (uint8_t)zero;
}

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n;
    return (size_t)n_parts * RANGE_FLOATS * sizeof(float);
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->in[0].layout == AS_LAYOUT_ROW_MAJOR && n->out[0].layout == AS_LAYOUT_ROW_MAJOR)
        return true; /* the operator itself takes f32 only */
    snprintf(why, why_size, "an operand is not row-major");
    return false;
}
