/* rnn_layers.c - the common structure of the recurrent networks. */
#include "model/zoo/rnn_layers.h"

#include <stdio.h>

enum { MAX_SIZE = 1 << 16, MAX_LAYERS = 64 };

static int reshape(as_maker *m, const char *name, int x, const int64_t *dims, int64_t rank)
{
    char    to[64];
    int64_t copy[AS_MAX_RANK];
    for (int64_t i = 0; i < rank; i++)
        copy[i] = dims[i];
    snprintf(to, sizeof to, "%s.shape", name);
    as_view view = as_view_of(copy, AS_I64, &AS_SHAPE(rank));
    return as_maker_node(m, "Reshape", name, (int[]){x, as_maker_constant(m, to, &view)}, 2, NULL, 0, NULL, 1, NULL);
}

/* All the steps of one layer; its outputs go to outs: every step [steps,1,batch,units] and, with n_out 2, the last one
 * [1,batch,units]. */
static void layer(as_maker *m, const as_rnn_spec *spec, const char *name, int x, int64_t n_in, int64_t units, int *outs, int n_out)
{
    char    label[3][64];
    as_attr attrs[AS_RNN_MAX_ATTRS + 1] = {AS_ATTR_I("hidden_size", units)};
    int64_t rows = spec->n_gates * units;
    for (int i = 0; i < spec->n_attrs; i++)
        attrs[i + 1] = spec->attrs[i];
    for (int i = 0; i < 3; i++)
        snprintf(label[i], sizeof label[i], "%s.%c", name, "WRB"[i]);
    /* One fan-in for all three, as in torch. */
    int w = as_maker_param_random(m, label[0], &AS_SHAPE(1, rows, n_in), units);
    int r = as_maker_param_random(m, label[1], &AS_SHAPE(1, rows, units), units);
    int b = as_maker_param_random(m, label[2], &AS_SHAPE(1, 2 * rows), units);
    as_maker_node(m, spec->op, name, (int[]){x, w, r, b}, 4, attrs, spec->n_attrs + 1, outs, n_out, NULL);
}

void as_layers_rnn(as_maker *m, const as_zoo_args *args, const as_rnn_spec *spec)
{
    int64_t inputs = as_zoo_int(m, args, "inputs", 1, MAX_SIZE), steps = as_zoo_int(m, args, "steps", 1, MAX_SIZE);
    int64_t units = as_zoo_int(m, args, "units", 1, MAX_SIZE), layers = as_zoo_int(m, args, "layers", 1, MAX_LAYERS);
    int64_t outputs = as_zoo_int(m, args, "outputs", 1, MAX_SIZE);
    if (!inputs || !steps || !units || !layers || !outputs)
        return; /* the maker holds the message */
    as_dims dims = {.rank = 3, .dim = {{.symbol = "batch"}, {.size = steps}, {.size = inputs}}};
    as_attr perm[] = {AS_ATTR_LIST("perm", 1, 0, 2)};
    int     x = as_maker_input(m, "x", AS_F32, &dims), outs[2] = {-1, -1};
    /* Users have a batch of sequences; the operator's usual layout has time first, and few runtimes support the other. */
    x = as_maker_node(m, "Transpose", "time_first", &x, 1, perm, 1, NULL, 1, NULL);
    for (int64_t i = 1; i <= layers; i++) {
        char name[32], join[64];
        snprintf(name, sizeof name, "%s%d", spec->name, (int)i);
        snprintf(join, sizeof join, "%s_steps", name);
        layer(m, spec, name, x, i == 1 ? inputs : units, units, outs, i == layers ? 2 : 1);
        if (i < layers)
            x = reshape(m, join, outs[0], (int64_t[]){steps, -1, units}, 3);
    }
    x = reshape(m, "last", outs[1], (int64_t[]){-1, units}, 2);
    as_maker_output(m, as_layer_dense(m, "fc", x, units, outputs, "y"));
}
