/* zoo_gru.c - gated recurrent units over a sequence, with one output at its end. */
#include "model/zoo/rnn_layers.h"

static const as_zoo_param params[] = {AS_RNN_PARAMS, {NULL, NULL, NULL}};

static void build(as_maker *m, const as_zoo_args *args)
{
    /* The reset gate comes after the product, as in torch: one product with R per step instead of two. */
    const as_attr attrs[] = {AS_ATTR_I("linear_before_reset", 1)};
    as_layers_rnn(m, args, &(as_rnn_spec){.op = "GRU", .name = "gru", .n_gates = 3, .attrs = attrs, .n_attrs = 1});
}

const as_zoo as_zoo_gru = {.name = "gru", .help = "GRU layers over a sequence, dense at its end", .params = params, .build = build};
