/* k_pick_copy.c - GatherElements and GatherND: elements, or runs of them, from where the indices point, for any dtype. */
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/move/targets.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size) { return as_plain_copy_accepts(n, why, why_size); }

enum { BLOCK = 512 };

/* Single elements. */
#define PICK(bits)                                                                             \
    static void pick_##bits(const void *from, void *to, const int64_t *restrict at, int64_t n) \
    {                                                                                          \
        const uint##bits##_t *x = from;                                                        \
        uint##bits##_t *restrict y = to;                                                       \
        for (int64_t i = 0; i < n; i++)                                                        \
            y[i] = x[at[i]];                                                                   \
    }
PICK(8)
PICK(16)
PICK(32)
PICK(64)

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_targets p = as_targets_of(args->ctx, &args->in[1]);
    int64_t    bytes = p.run * (int64_t)as_dtype_bytes(args->ctx->in[0].dtype), begin, end;
    if (!as_targets_are_right(&p)) {
        if (part == 0)
            *args->status = args->ctx->op->eval(args->env, args->ctx, args->in, args->out);
        return;
    }
    as_share(bytes ? p.count : 0, bytes < 64 && bytes ? 64 / bytes : 1, part, n_parts, &begin, &end);
    const char *from = args->in[0].data;
    for (int64_t i = begin; i < end; i += BLOCK) {
        int64_t at[BLOCK], n = end - i < BLOCK ? end - i : BLOCK;
        char   *to = (char *)args->out[0].data + i * bytes;
        as_targets_fill(&p, i, n, at);
        if (p.run == 1)
            (bytes == 1 ? pick_8 : bytes == 2 ? pick_16 : bytes == 4 ? pick_32 : pick_64)(from, to, at, n);
        else
            for (int64_t k = 0; k < n; k++)
                memcpy(to + k * bytes, from + at[k] * (bytes / p.run), (size_t)bytes);
    }
}

static const char *const also[] = {"GatherND", NULL};

const as_kernel as_k_pick_copy = {
    .name = "pick_copy",
    .op = "GatherElements",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "runs of bytes",
    .accepts = accepts,
    .run = run,
};
