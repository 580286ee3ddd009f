/* k_logic_bool_scalar.c - And, Or, Xor and Not of bools, with broadcasting: bytes, of which all but 0 are true. */
#include <string.h>

#include "backend/cpu/each/flat.h"

enum { STRIP = 16 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    return as_flat_rows_accept(n, n->n_in, why, why_size); /* the operators only take bool */
}

#define ROW(name, operation)                                                           \
    static void name(void *out, const void *const *in, const int64_t *step, int64_t n) \
    {                                                                                  \
        uint8_t *restrict y = out;                                                     \
        const uint8_t *a = in[0], *b = in[1];                                          \
        int64_t        i = 0;                                                          \
        if (step[0] && step[1])                                                        \
            for (; i + STRIP <= n; i += STRIP)                                         \
                for (int l = 0; l < STRIP; l++)                                        \
                    y[i + l] = (uint8_t)((a[i + l] != 0) operation(b[i + l] != 0));    \
        for (; i < n; i++)                                                             \
            y[i] = (uint8_t)((a[i * step[0]] != 0) operation(b[i * step[1]] != 0));    \
    }

ROW(both, &)
ROW(either, |)
ROW(one_of, ^)

static void not(void *out, const void *const *in, const int64_t *step, int64_t n)
{
    uint8_t *restrict y = out;
    const uint8_t *a = in[0];
    int64_t        i = 0;
    if (step[0])
        for (; i + STRIP <= n; i += STRIP)
            for (int l = 0; l < STRIP; l++)
                y[i + l] = a[i + l] == 0;
    for (; i < n; i++)
        y[i] = a[i * step[0]] == 0;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const char *op = args->ctx->op->name;
    int         n_in = args->ctx->n_in;
    as_flat     flat;
    as_flat_of(args->ctx, n_in, &flat);
    as_flat_rows(&flat, n_in, args, part, n_parts,
                 !strcmp(op, "And")   ? both
                 : !strcmp(op, "Or")  ? either
                 : !strcmp(op, "Xor") ? one_of
                                      : not );
}

static const char *const also[] = {"Or", "Xor", "Not", NULL};

const as_kernel as_k_logic_bool_scalar = {
    .name = "logic_bool_scalar",
    .op = "And",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, strips of bytes",
    .accepts = accepts,
    .run = run,
};
