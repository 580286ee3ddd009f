/* extreme.h - what Max and Min share: everything but which of two elements wins. */
#ifndef AS_OP_EXTREME_H
#define AS_OP_EXTREME_H

#include "op/rules.h"

assay_status as_extreme_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out);
as_cost      as_extreme_cost(const as_node_ctx *n);
/* `wins` is the order in which an element must be to the best so far to replace it: AS_GREATER for Max, AS_LESS for Min. */
void         as_extreme_eval(const as_node_ctx *n, const as_view *in, const as_view *out, as_order wins);
assay_status as_extreme_grad(as_builder *b, const as_node_ctx *n, const int *in, const int *out, const int *d_out, int *d_in);

#endif
