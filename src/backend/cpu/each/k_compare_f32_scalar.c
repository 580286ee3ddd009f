/* k_compare_f32_scalar.c - Greater, Less, Equal and the like, of floats, to bool, with broadcasting. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/each/flat.h"

enum { STRIP = 32 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    for (int i = 0; i < 2; i++)
        if (n->in[i].dtype != AS_F32) {
            snprintf(why, why_size, "input %d is %s, needs f32", i, as_dtype_name(n->in[i].dtype));
            return false;
        }
    return as_flat_rows_accept(n, 2, why, why_size);
}

#define ROW(name, relation)                                                            \
    static void name(void *out, const void *const *in, const int64_t *step, int64_t n) \
    {                                                                                  \
        uint8_t *restrict y = out;                                                     \
        const float *a = in[0], *b = in[1];                                            \
        int64_t      i = 0;                                                            \
        if (step[0] && step[1]) {                                                      \
            for (; i + STRIP <= n; i += STRIP)                                         \
                for (int l = 0; l < STRIP; l++)                                        \
                    y[i + l] = a[i + l] relation b[i + l];                             \
        } else if (step[0]) {                                                          \
            for (float q = *b; i + STRIP <= n; i += STRIP)                             \
                for (int l = 0; l < STRIP; l++)                                        \
                    y[i + l] = a[i + l] relation q;                                    \
        }                                                                              \
        for (; i < n; i++)                                                             \
            y[i] = a[i * step[0]] relation b[i * step[1]];                             \
    }

ROW(greater, >)
ROW(less, <)
ROW(greater_or_equal, >=)
ROW(less_or_equal, <=)
ROW(equal, ==)

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const char *op = args->ctx->op->name;
    as_flat     flat;
    as_flat_of(args->ctx, 2, &flat);
    as_flat_rows(&flat, 2, args, part, n_parts,
                 !strcmp(op, "Greater")          ? greater
                 : !strcmp(op, "Less")           ? less
                 : !strcmp(op, "GreaterOrEqual") ? greater_or_equal
                 : !strcmp(op, "LessOrEqual")    ? less_or_equal
                                                 : equal);
}

static const char *const also[] = {"Less", "GreaterOrEqual", "LessOrEqual", "Equal", NULL};

const as_kernel as_k_compare_f32_scalar = {
    .name = "compare_f32_scalar",
    .op = "Greater",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, rows of joined axes",
    .accepts = accepts,
    .run = run,
};
