/* layernormgrad_body.h - the body of k_layernormgrad_f32_<machine>.c, after its simd_*.h: assay.LayerNormGrad, line by line.
 *
 * A shard of lines leaves its sums for dScale and dB in scratch; the shards are added in their order, each column by one part.  How many
 * shards there are depends on the shape alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/norm/ends.h"
#include "backend/cpu/norm/line_sum.h"

enum { MOST_SHARDS = 32, SHARD_LINES = 8 };

typedef struct plan {
    int64_t line, lines, each, n_shards, stride;
} plan;

static plan plan_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         axis = as_attr_int(n, "axis", -1);
    plan            p = {.line = 1, .each = SHARD_LINES};
    for (int64_t i = axis < 0 ? axis + x->rank : axis; i < x->rank; i++)
        p.line *= x->dim[i];
    p.lines = p.line ? as_shape_count(x) / p.line : 0;
    if (p.lines > p.each * MOST_SHARDS)
        p.each = (p.lines + MOST_SHARDS - 1) / MOST_SHARDS;
    p.n_shards = (p.lines + p.each - 1) / p.each;
    p.stride = (p.line + 15) / 16 * 16;
    return p;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_kernel_f32_only(n, why, why_size); }

static size_t scratch_bytes(const as_node_ctx *n, int n_parts)
{
    (void)n_parts;
    plan p = plan_of(n);
    return n->n_out > 1 ? (size_t)(p.n_shards * 2 * p.stride) * sizeof(float) : 0;
}

/* One line; sums: dScale, and `stride` later dB, or NULL. */
static void line_run(const plan *p, const float *x, const float *dy, const float *scale, float mean, float inv, bool square,
                     float *dx, float *sums)
{
    vf m = v_set(mean), k = v_set(inv), s = v_zero(), a = v_zero();
    for (int64_t i = 0; i < p->line; i += VW) { /* lanes after the last have dY = 0, so they add nothing */
        int w = at_most(p->line - i);
        vf  d = some(dy + i, w), z = v_mul(v_sub(some(x + i, w), m), k), g = v_mul(d, some(scale + i, w));
        s = v_add(s, g);
        a = v_fma(g, z, a);
        if (sums) {
            put(sums + i, w, v_fma(d, z, some(sums + i, w)));
            put(sums + p->stride + i, w, v_add(some(sums + p->stride + i, w), d));
        }
    }
    vf less = v_set(square ? 0.0f : v_sum(s) / (float)p->line), along = v_set(v_sum(a) / (float)p->line);
    for (int64_t i = 0; i < p->line; i += VW) {
        int w = at_most(p->line - i);
        vf  z = v_mul(v_sub(some(x + i, w), m), k), g = v_mul(some(dy + i, w), some(scale + i, w));
        put(dx + i, w, v_mul(k, v_fnma(z, along, v_sub(g, less))));
    }
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    plan               p = plan_of(n);
    bool               square = as_attr_int(n, "square", 0) != 0;
    float              epsilon = (float)as_attr_float(n, "epsilon", 1e-5f);
    const float       *means = as_in_has(n, 3) ? args->in[3].data : NULL, *invs = as_in_has(n, 4) ? args->in[4].data : NULL;
    int64_t            begin, end;
    as_share(p.n_shards, 1, part, n_parts, &begin, &end);
    for (int64_t shard = begin; shard < end; shard++) {
        float  *sums = n->n_out > 1 && scratch ? (float *)scratch + shard * 2 * p.stride : NULL;
        int64_t last = (shard + 1) * p.each < p.lines ? (shard + 1) * p.each : p.lines;
        if (sums)
            memset(sums, 0, (size_t)(2 * p.stride) * sizeof *sums);
        for (int64_t i = shard * p.each; i < last; i++) {
            const float *x = (const float *)args->in[0].data + i * p.line, *dy = (const float *)args->in[1].data + i * p.line;
            float        mean = square ? 0.0f : means ? means[i] : line_sum(x, p.line, 0.0f, false) / (float)p.line;
            float        inv = invs ? invs[i] : 1.0f / sqrtf(line_sum(x, p.line, mean, true) / (float)p.line + epsilon);
            line_run(&p, x, dy, args->in[2].data, mean, inv, square, (float *)args->out[0].data + i * p.line, sums);
        }
    }
}

static void finish(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    plan    p = plan_of(args->ctx);
    int64_t begin, end;
    as_share(p.line, 16, part, n_parts, &begin, &end);
    for (int out = 1; out < args->ctx->n_out; out++)
        for (int64_t c = begin; c < end; c += VW) {
            int          w = at_most(end - c);
            vf           sum = v_zero();
            const float *from = scratch ? (const float *)scratch + (out - 1) * p.stride + c : NULL;
            for (int64_t s = 0; from && s < p.n_shards; s++)
                sum = v_add(sum, some(from + s * 2 * p.stride, w));
            put((float *)args->out[out].data + c, w, sum);
        }
}
