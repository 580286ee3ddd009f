/* zoo_lstm.c - long short-term memory over a sequence, with one output at its end. */
#include "model/zoo/rnn_layers.h"

static const as_zoo_param params[] = {AS_RNN_PARAMS, {NULL, NULL, NULL}};

static void build(as_maker *m, const as_zoo_args *args)
{
    as_layers_rnn(m, args, &(as_rnn_spec){.op = "LSTM", .name = "lstm", .n_gates = 4});
}

const as_zoo as_zoo_lstm = {
    .name = "lstm", .help = "LSTM layers over a sequence, dense at its end", .params = params, .build = build};
