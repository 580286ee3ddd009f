/* rnn_layers.h - the structure that the recurrent networks share.  Private to model/. */
#ifndef AS_MODEL_RNN_LAYERS_H
#define AS_MODEL_RNN_LAYERS_H

#include "model/zoo/zoo.h"

/* An ONNX recurrent operator: W [1,n_gates*units,inputs], R [1,n_gates*units,units], B [1,2*n_gates*units]. */
typedef struct as_rnn_spec {
    const char    *op;   /* "LSTM" */
    const char    *name; /* of the layers: "lstm" gives lstm1, lstm2, with lstm1.W, lstm1.R, lstm1.B */
    int64_t        n_gates;
    const as_attr *attrs; /* besides hidden_size; at most AS_RNN_MAX_ATTRS */
    int            n_attrs;
} as_rnn_spec;

enum { AS_RNN_MAX_ATTRS = 4 };

/* x [batch,steps,inputs] goes through the layers; the last layer's state after the last step goes through a dense
 * layer to y [batch,outputs].  Reads the keys of AS_RNN_PARAMS. */
void as_layers_rnn(as_maker *m, const as_zoo_args *args, const as_rnn_spec *spec);

#define AS_RNN_PARAMS                                                                                                 \
    {"inputs", "16", "numbers per step"}, {"steps", "32", "steps of a sequence"}, {"units", "64", "units per layer"}, \
        {"layers", "1", "layers, one on the other"},                                                                  \
    {                                                                                                                 \
        "outputs", "10", "outputs after the last step"                                                                \
    }

#endif
