/* k_any_reference.c - the operator's own eval: slow, exact, for any dtype and layout, and for every op that no faster kernel takes.
 *
 * One thread does it all, because an eval cannot be split.  It can fail (an eval may need memory); of the other kernels only Gather
 * and LTC can. */
#include "backend/cpu/kernel.h"

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    (void)n, (void)why, (void)why_size;
    return true;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)n_parts, (void)scratch;
    if (part != 0)
        return;
    as_node_ctx now = *args->ctx;
    now.step = (uint32_t)args->step;
    *args->status = as_op_eval(args->env, &now, args->in, args->out);
}

const as_kernel as_k_any_reference = {
    .name = "any_reference",
    .op = "*",
    .isa = AS_ISA_SCALAR,
    .rank = 0,
    .why = "reference code, one thread",
    .accepts = accepts,
    .run = run,
};
