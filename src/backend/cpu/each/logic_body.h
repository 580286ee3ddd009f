/* logic_body.h - the body of k_logic_bool_<machine>.c: And, Or, Xor and Not of bools, with broadcasting: bytes, of which all but 0
 * are true. */
#include <string.h>

#include "backend/cpu/each/rows.h"

AS_ROW2(both, uint8_t, uint8_t, (p != 0) & (q != 0))
AS_ROW2(either, uint8_t, uint8_t, (p | q) != 0)
AS_ROW2(one_of, uint8_t, uint8_t, (p != 0) ^ (q != 0))
AS_ROW1(opposite, uint8_t, uint8_t, x == 0)

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    return as_flat_rows_accept(n, n->n_in, why, why_size); /* the operators only take bool */
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const char *op = args->ctx->op->name;
    as_flat     flat;
    as_flat_of(args->ctx, args->ctx->n_in, &flat);
    as_flat_rows(&flat, args->ctx->n_in, args, part, n_parts,
                 op[0] == 'A'   ? both
                 : op[0] == 'O' ? either
                 : op[0] == 'X' ? one_of
                                : opposite);
}

static const char *const also[] = {"Or", "Xor", "Not", NULL};
