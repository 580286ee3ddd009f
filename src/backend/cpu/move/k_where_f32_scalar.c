/* k_where_f32_scalar.c - X where the condition holds and Y elsewhere, of floats, with broadcasting. */
#include <stdio.h>

#include "backend/cpu/each/flat.h"

enum { STRIP = 16 };

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (n->out[0].dtype != AS_F32) {
        snprintf(why, why_size, "output 0 is %s, needs f32", as_dtype_name(n->out[0].dtype));
        return false;
    }
    return as_flat_rows_accept(n, 3, why, why_size);
}

static void row(void *out, const void *const *in, const int64_t *step, int64_t n)
{
    float *restrict y = out;
    const uint8_t *c = in[0];
    const float   *a = in[1], *b = in[2];
    int64_t        i = 0;
    if (step[0] && step[1] && step[2]) {
        for (; i + STRIP <= n; i += STRIP)
            for (int l = 0; l < STRIP; l++) {
                float p = a[i + l], q = b[i + l]; /* both are read, so that no branch is needed */
                y[i + l] = c[i + l] ? p : q;
            }
    } else if (step[0] && step[1]) {
        for (float q = *b; i + STRIP <= n; i += STRIP)
            for (int l = 0; l < STRIP; l++) {
                float p = a[i + l];
                y[i + l] = c[i + l] ? p : q;
            }
    } else if (step[0] && step[2]) {
        for (float p = *a; i + STRIP <= n; i += STRIP)
            for (int l = 0; l < STRIP; l++) {
                float q = b[i + l];
                y[i + l] = c[i + l] ? p : q;
            }
    }
    for (; i < n; i++)
        y[i] = c[i * step[0]] ? a[i * step[1]] : b[i * step[2]];
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    as_flat flat;
    as_flat_of(args->ctx, 3, &flat);
    as_flat_rows(&flat, 3, args, part, n_parts, row);
}

const as_kernel as_k_where_f32_scalar = {
    .name = "where_f32_scalar",
    .op = "Where",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "plain C, rows of joined axes",
    .accepts = accepts,
    .run = run,
};
