/* zoo_cfc.c - closed-form continuous-time networks: dense with a backbone, or in the layers of a neural circuit.
 *
 * Parameters have the names of the torch reference and, from the same seed, its values; only the recurrent map of a mixed
 * memory and what is drawn after it differ. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/maker.h"
#include "model/zoo/ncp_layers.h"

enum { MAX_UNITS = 1 << 14, MAX_BACKBONE = 20, MAX_CELLS = 3, MAX_INPUTS = 61, FIRST_CELL = 9 };

static const as_zoo_param params[] = {
    AS_NCP_PARAMS,
    {"mode", "default", "default, pure or no_gate"},
    {"activation", "lecun_tanh", "of the backbone: lecun_tanh, tanh, relu, silu or gelu"},
    {"backbone_units", "128", "width of the backbone's layers, or a list 64x64"},
    {"backbone_layers", "1", "layers of the backbone; 0: none"},
    {"backbone_dropout", "0", "dropout in the backbone when training"},
    {"proj", "0", "size of a projection behind the cells; 0: none"},
    {"mixed_memory", "0", "1: an LSTM cell before the cells"},
    {"return_sequences", "1", "1: y has every step; 0: the last"},
    {"semantics", "torch",
     "torch, keras (no tanh on the heads, the gate's sign turned) or enhanced (backbone list, wiring as sizes, projection)"},
    {"timespans", "0", "1: an input `timespans` [batch,seq]"},
    {"state", "0", "1: inputs h0 and, with mixed memory, c0"},
    {NULL, NULL, NULL},
};

typedef struct net {
    as_maker          *m;
    const as_zoo_args *args;
    as_mt19937         g;
    as_wiring          wiring;
    bool               has_wiring, is_torch, is_keras, is_enhanced, is_pure, has_memory, sequences;
    int64_t            n_in, n_state, proj, cut; /* cut: the outputs that keras keeps of a one-layer wiring, 0: all */
    int                n_backbone, n_cells;
    int64_t            width[MAX_BACKBONE], size[MAX_CELLS];
    double             dropout;
    int                in[MAX_INPUTS]; /* of the operator */
} net;

/* --- Keys ------------------------------------------------------------------------------------------ */

static bool word_is(const net *z, const char *key, const char *word) { return !strcmp(as_zoo_text(z->args, key), word); }

static bool word_check(const net *z, const char *key, const char *const *words, const char *all)
{
    for (; *words; words++)
        if (word_is(z, key, *words))
            return true;
    as_maker_fail(z->m, "%s=%s must be one of %s", key, as_zoo_text(z->args, key), all);
    return false;
}

static bool words_check(const net *z)
{
    static const char *const modes[] = {"default", "pure", "no_gate", NULL}, *const semantics[] = {"torch", "keras", "enhanced",
                                                                                                   NULL};
    static const char *const acts[] = {"lecun_tanh", "tanh", "relu", "silu", "gelu", NULL};
    return word_check(z, "mode", modes, "default, pure, no_gate") &&
           word_check(z, "semantics", semantics, "torch, keras, enhanced") &&
           word_check(z, "activation", acts, "lecun_tanh, tanh, relu, silu, gelu");
}

/* Wired cells have no backbone, and the reference refuses one; enhanced may have both, and has no backbone unless asked for one. */
static bool backbone_read(net *z)
{
    static const char *const keys[] = {"backbone_units", "backbone_layers", "backbone_dropout"};
    bool                     given = false;
    size_t                   n;
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        given |= as_zoo_is_given(z->args, keys[i]);
        if (z->has_wiring && !z->is_enhanced && as_zoo_is_given(z->args, keys[i])) {
            as_maker_fail(z->m, "%s=%s: the cells of a wiring have no backbone, except with semantics=enhanced", keys[i],
                          as_zoo_text(z->args, keys[i]));
            return false;
        }
    }
    if (z->has_wiring ? !z->is_enhanced || !given : z->is_enhanced && !given)
        return true;
    int64_t layers = as_zoo_int(z->m, z->args, "backbone_layers", 0, MAX_BACKBONE);
    if (!(n = as_zoo_list(z->m, z->args, "backbone_units", 1, MAX_UNITS, z->width, MAX_BACKBONE)) ||
        !as_ncp_real(z->m, z->args, "backbone_dropout", 0.0, 0.999, &z->dropout))
        return false;
    if (n > 1 && !as_zoo_is_given(z->args, "backbone_layers"))
        layers = (int64_t)n;
    if (n > 1 && layers != (int64_t)n) {
        as_maker_fail(z->m, "backbone_units=%s are %zu widths and backbone_layers=%lld", as_zoo_text(z->args, "backbone_units"), n,
                      (long long)layers);
        return false;
    }
    for (int64_t i = 1; n == 1 && i < layers; i++)
        z->width[i] = z->width[0];
    z->n_backbone = (int)layers;
    return !as_maker_failed(z->m);
}

static bool projection_read(net *z)
{
    int64_t out = z->has_wiring ? z->wiring.n_out : as_zoo_int(z->m, z->args, "out", 0, MAX_UNITS);
    z->proj = as_zoo_int(z->m, z->args, "proj", 0, MAX_UNITS);
    if (z->is_enhanced) {
        if (z->proj && out && z->proj != out)
            as_maker_fail(z->m, "proj=%lld and out=%lld are both the size of the projection", (long long)z->proj, (long long)out);
        z->proj = z->proj ? z->proj : out;
        return !as_maker_failed(z->m);
    }
    if (!z->has_wiring && out)
        as_maker_fail(z->m, "out=%lld does not apply with wiring=none: use proj for a projection to that size", (long long)out);
    if (z->has_wiring && z->wiring.n_layers == 1 && out < z->wiring.n_units) {
        if (z->proj)
            as_maker_fail(z->m, "proj=%lld with wiring=%s and out=%lld: the cell gives all its %d units", (long long)z->proj,
                          as_zoo_text(z->args, "wiring"), (long long)out, z->wiring.n_units);
        z->cut = z->is_keras ? out : 0;
    }
    return !as_maker_failed(z->m);
}

static bool keys_read(net *z)
{
    if (!words_check(z) || !as_ncp_wiring(z->m, z->args, &z->wiring, &z->has_wiring))
        return false;
    z->is_torch = word_is(z, "semantics", "torch");
    z->is_keras = word_is(z, "semantics", "keras");
    z->is_enhanced = word_is(z, "semantics", "enhanced");
    z->is_pure = word_is(z, "mode", "pure");
    z->has_memory = as_ncp_flag(z->m, z->args, "mixed_memory");
    z->sequences = as_ncp_flag(z->m, z->args, "return_sequences");
    z->n_in = as_zoo_int(z->m, z->args, "input", 1, 1 << 16);
    if (z->has_memory && !z->is_torch)
        as_maker_fail(z->m, "mixed_memory=1 with semantics=%s: its memory is another cell", as_zoo_text(z->args, "semantics"));
    z->n_cells = z->has_wiring && !z->is_enhanced ? z->wiring.n_layers : 1;
    for (int l = 0; l < z->n_cells; l++) {
        z->size[l] = z->n_cells > 1  ? as_wiring_layer(&z->wiring, l, NULL)
                     : z->has_wiring ? z->wiring.n_units
                                     : as_zoo_int(z->m, z->args, "units", 1, MAX_UNITS);
        z->n_state += z->size[l];
    }
    return !as_maker_failed(z->m) && backbone_read(z) && projection_read(z);
}

/* --- Parameters: made in the reference's order, then drawn in the order in which it draws -------------- */

static float *param(net *z, const char *name, const as_shape *shape, int *id)
{
    *id = as_maker_param(z->m, name, AS_F32, shape, NULL, false);
    return *id < 0 ? NULL : (float *)(uintptr_t)as_maker_value(z->m, *id)->data; /* the maker's own memory, not complete yet */
}

typedef struct linear {
    float  *w, *b;
    int64_t rows, cols;
} linear;

/* `slot` is the operator's input for this weight. */
static linear linear_make(net *z, const char *name, int64_t rows, int64_t cols, int slot)
{
    char   label[128];
    linear l = {.rows = rows, .cols = cols};
    snprintf(label, sizeof label, "%s.weight", name);
    l.w = param(z, label, &AS_SHAPE(rows, cols), &z->in[slot]);
    snprintf(label, sizeof label, "%s.bias", name);
    l.b = param(z, label, &AS_SHAPE(rows), &z->in[slot + 1]);
    return l;
}

static void linear_draw(net *z, const linear *l)
{
    if (!l->w || !l->b)
        return;
    as_torch_uniform(&z->g, as_torch_linear_bound(l->cols), l->w, l->rows * l->cols);
    as_torch_uniform(&z->g, 1.0 / sqrt((double)l->cols), l->b, l->rows);
}

static void xavier_draw(net *z, float *w, int64_t rows, int64_t cols)
{
    if (w)
        as_torch_uniform(&z->g, as_torch_xavier_bound(cols, rows), w, rows * cols);
}

static void fill(float *to, int64_t n, float value)
{
    for (int64_t i = 0; to && i < n; i++)
        to[i] = value;
}

/* Which input reaches which unit of cell l; all of its units are connected with each other. */
static void mask_make(net *z, const char *prefix, int l, int64_t n_in, int slot)
{
    const as_wiring *w = &z->wiring;
    int64_t          n = z->size[l], n_z = n_in + n;
    char             name[96];
    int             *units = AS_TAKE(as_maker_arena(z->m), int, n), *before = AS_TAKE(as_maker_arena(z->m), int, n_in);
    int8_t          *mask = AS_TAKE(as_maker_arena(z->m), int8_t, n * n_z);
    if (!units || !before || !mask) {
        as_maker_fail_as(z->m, ASSAY_NO_MEMORY, "not enough memory for a mask of %lld synapses", (long long)(n * n_z));
        return;
    }
    as_wiring_layer(w, l, units);
    if (l)
        as_wiring_layer(w, l - 1, before);
    for (int64_t to = 0; to < n; to++)
        for (int64_t from = 0; from < n_z; from++)
            mask[to * n_z + from] = from >= n_in ? 1
                                    : l          ? w->adjacency[(int64_t)before[from] * w->n_units + units[to]]
                                                 : w->sensory[from * w->n_units + units[to]];
    for (int64_t i = 0; z->is_torch && i < n * n_z; i++) /* stored without signs, as in the reference's files */
        mask[i] = mask[i] != 0;
    snprintf(name, sizeof name, "%ssparsity_mask", prefix);
    z->in[slot] = as_maker_constant_borrow(z->m, name, AS_I8, &AS_SHAPE(n, n_z), mask);
}

/* A cell whose inputs begin at `slot`; returns where they end. */
static int cell_make(net *z, int l, int64_t n_in, int slot)
{
    static const char *const heads[] = {"ff1", "ff2", "time_a", "time_b"};
    char                     prefix[64], name[96];
    linear                   all[MAX_BACKBONE + 4];
    int                      n_all = 0, n_heads = z->is_pure ? 1 : 4;
    int64_t                  n = z->size[l], n_z = n_in + n;
    float                   *w_tau = NULL, *a = NULL;
    bool                     wired = z->has_wiring && !z->is_enhanced;
    snprintf(prefix, sizeof prefix, "rnn_cell.");
    if (wired) {
        snprintf(prefix, sizeof prefix, "rnn_cell.layer_%d.", l);
        mask_make(z, prefix, l, n_in, slot);
    }
    if (z->is_pure) {
        int first = slot + 2 * z->n_backbone + 1;
        snprintf(name, sizeof name, "%sw_tau", prefix);
        w_tau = param(z, name, &AS_SHAPE(1, n), &z->in[first]);
        snprintf(name, sizeof name, "%sA", prefix);
        a = param(z, name, &AS_SHAPE(1, n), &z->in[first + 1]);
    }
    for (int k = 0; k < z->n_backbone; k++, slot += 2) {
        /* The position in the reference's list of layers: activations have one too, and dropouts from the second layer on. */
        snprintf(name, sizeof name, "%sbackbone.%d", prefix, k < 2 || z->dropout == 0.0 ? 2 * k : 3 * k - 1);
        all[n_all++] = linear_make(z, name, z->width[k], n_z, slot);
        n_z = z->width[k];
    }
    slot += z->is_pure ? 3 : 1;
    for (int k = 0; k < n_heads; k++, slot += 2) {
        snprintf(name, sizeof name, "%s%s", prefix, heads[k]);
        all[n_all++] = linear_make(z, name, n, n_z, slot);
    }
    for (int k = 0; k < n_all; k++)
        linear_draw(z, &all[k]);
    xavier_draw(z, w_tau, 1, n);
    xavier_draw(z, a, 1, n);
    for (int k = 0; k < n_all; k++)
        xavier_draw(z, all[k].w, all[k].rows, all[k].cols);
    if (z->is_torch)
        return slot;
    for (int k = 0; k < n_all; k++)
        fill(all[k].b, all[k].rows, 0.0f);
    fill(w_tau, n, 0.0f);
    fill(a, n, 1.0f);
    return slot;
}

static void memory_make(net *z)
{
    int64_t rows = 4 * z->n_state;
    linear  input = linear_make(z, "lstm.input_map", rows, z->n_in, 4);
    float  *rec = param(z, "lstm.recurrent_map.weight", &AS_SHAPE(rows, z->n_state), &z->in[6]);
    if (!input.w || !input.b || !rec)
        return;
    linear_draw(z, &input);
    as_torch_uniform(&z->g, as_torch_linear_bound(z->n_state), rec, rows * z->n_state);
    xavier_draw(z, input.w, rows, z->n_in);
    as_torch_uniform(&z->g, 0.1, input.b, rows);
    as_torch_orthogonal(&z->g, rec, rows, z->n_state);
}

/* --- The network ---------------------------------------------------------------------------------------- */

static void inputs_make(net *z)
{
    as_dims state = {.rank = 2, .dim = {{.symbol = "batch"}, {.size = z->n_state}}};
    as_dims x = {.rank = 3, .dim = {{.symbol = "batch"}, {.symbol = "seq"}, {.size = z->n_in}}},
            spans = {.rank = 2, .dim = {x.dim[0], x.dim[1]}};
    bool has_state = as_ncp_flag(z->m, z->args, "state");
    for (int i = 0; i < MAX_INPUTS; i++)
        z->in[i] = -1;
    z->in[0] = as_maker_input(z->m, "x", AS_F32, &x);
    if (has_state)
        z->in[1] = as_maker_input(z->m, "h0", AS_F32, &state);
    if (has_state && z->has_memory)
        z->in[2] = as_maker_input(z->m, "c0", AS_F32, &state);
    if (as_ncp_flag(z->m, z->args, "timespans"))
        z->in[3] = as_maker_input(z->m, "timespans", AS_F32, &spans);
}

/* keras uses the first units of a one-layer wiring as its outputs. */
static int outputs_cut(net *z, int y)
{
    int64_t numbers[3] = {0, z->cut, z->sequences ? 2 : 1};
    int     in[4] = {y};
    for (int i = 0; i < 3; i++) {
        as_view view = as_view_of(&numbers[i], AS_I64, &AS_SHAPE(1));
        in[i + 1] = as_maker_constant(z->m, NULL, &view);
    }
    const char *name = "y";
    return as_maker_node(z->m, "Slice", "motor", in, 4, NULL, 0, NULL, 1, &name);
}

static void build(as_maker *m, const as_zoo_args *args)
{
    net *z = AS_TAKE(as_maker_arena(m), net, 1);
    if (!z) {
        as_maker_fail_as(m, ASSAY_NO_MEMORY, "not enough memory for its keys");
        return;
    }
    *z = (net){.m = m, .args = args};
    as_mt19937_seed(&z->g, (uint32_t)as_maker_seed(m));
    if (!keys_read(z))
        return; /* the maker holds the message */
    inputs_make(z);
    int slot = FIRST_CELL;
    for (int l = 0; l < z->n_cells; l++)
        slot = cell_make(z, l, l ? z->size[l - 1] : z->n_in, slot);
    if (z->has_memory)
        memory_make(z);
    if (z->proj) {
        linear fc = linear_make(z, "fc", z->proj, z->size[z->n_cells - 1], 7);
        linear_draw(z, &fc);
        if (!z->is_torch)
            fill(fc.b, fc.rows, 0.0f);
    }
    if (as_maker_failed(m))
        return;
    as_attr     attrs[] = {AS_ATTR_S("mode", as_zoo_text(args, "mode")),
                           AS_ATTR_S("activation", as_zoo_text(args, "activation")),
                           AS_ATTR_S("semantics", as_zoo_text(args, "semantics")),
                           AS_ATTR_I("backbone", z->n_backbone),
                           AS_ATTR_I("return_sequences", z->sequences),
                           AS_ATTR_F("dropout", z->dropout)};
    const char *names[] = {z->cut ? "all" : "y", "h_n", "c_n"};
    int         outs[3];
    as_maker_node(m, "assay.CfC", "cfc", z->in, slot, attrs, z->dropout > 0.0 ? 6 : 5, outs, z->has_memory ? 3 : 2, names);
    if (as_maker_failed(m))
        return;
    as_maker_output(m, z->cut ? outputs_cut(z, outs[0]) : outs[0]);
    as_maker_output(m, outs[1]);
    if (z->has_memory)
        as_maker_output(m, outs[2]);
}

const as_zoo as_zoo_cfc = {
    .name = "cfc",
    .help = "closed-form continuous-time cells, dense or in a neural circuit",
    .params = params,
    .build = build,
};
