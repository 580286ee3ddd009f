/* zoo_ltc.c - liquid time constants on any wiring, with the reference's names and, from the same seed, its values. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/graph/maker.h"
#include "model/zoo/ncp_layers.h"

static const as_zoo_param params[] = {
    AS_NCP_PARAMS,
    {"unfolds", "6", "solver steps per time step"},
    {"implicit", "1", "1: w, cm and gleak through softplus; 0: as they are"},
    {"epsilon", "1e-8", "added to every denominator"},
    {"input_mapping", "affine", "affine, linear or none"},
    {"output_mapping", "affine", "affine, linear or none"},
    {"proj", "0", "outputs of a dense layer after the output mapping; 0: none"},
    {"mixed_memory", "0", "1: an LSTM cell before the state"},
    {"return_sequences", "1", "1: y of every step; 0: of the last"},
    {"timespans", "0", "1: an input timespans [batch,seq]; 0: every step takes 1"},
    {"state", "0", "1: inputs h0 (and c0 with mixed memory); 0: zeros"},
    {NULL, NULL, NULL},
};

enum { MAX_SIZE = 1 << 14, MAX_UNFOLDS = 1000 };

/* Without a wiring every neuron is connected with every other and itself, as in the reference. */
static bool wiring_read(as_maker *m, const as_zoo_args *args, as_wiring *out)
{
    bool has;
    if (!as_ncp_wiring(m, args, out, &has) || has)
        return !as_maker_failed(m);
    as_wiring_spec full = {.kind = AS_WIRING_FULL, .seed = 1111, .self_connections = true};
    int64_t        inputs = as_zoo_int(m, args, "input", 1, 4 * MAX_SIZE);
    full.units = as_zoo_int(m, args, "units", 1, MAX_SIZE);
    full.out = as_zoo_int(m, args, "out", 0, MAX_SIZE);
    if (as_maker_failed(m))
        return false;
    assay_status status = as_wiring_make(as_maker_env(m), &full, (int)inputs, as_maker_arena(m), out);
    if (status != ASSAY_OK)
        as_maker_fail_as(m, status, "%s", assay_message(as_maker_env(m)));
    return status == ASSAY_OK;
}

/* --- Parameters ---------------------------------------------------------------------------------- */

/* The node's inputs, in the order of assay.LTC, which is that of the reference's parameters. */
typedef struct frame {
    as_maker  *m;
    as_mt19937 draws;
    int        in[AS_MAX_IN], n_in;
} frame;

static void push(frame *f, int value) { f->in[f->n_in++] = value; }

/* Adds a parameter of zeros as the next input; returns its elements, or NULL when the maker has failed. */
static float *param(frame *f, const char *name, as_shape shape)
{
    int id = as_maker_param(f->m, name, AS_F32, &shape, NULL, true);
    push(f, id);
    return id < 0 ? NULL : (float *)(uintptr_t)as_maker_value(f->m, id)->data;
}

/* Values as the reference draws them: a uniform number times the width, plus the low end, each step rounded. */
static void drawn(frame *f, const char *name, as_shape shape, double lo, double hi)
{
    float width = (float)(hi - lo), low = (float)lo, *data = param(f, name, shape);
    for (int64_t k = 0; data && k < as_shape_count(&shape); k++)
        data[k] = as_mt19937_uniform(&f->draws) * width + low;
}

static void same(frame *f, const char *name, int64_t count, float value)
{
    float *data = param(f, name, AS_SHAPE(count));
    for (int64_t k = 0; data && k < count; k++)
        data[k] = value;
}

/* Reversal potentials start as the signs of the synapses. */
static void signs(frame *f, const char *name, as_shape shape, const int8_t *adjacency)
{
    float *data = param(f, name, shape);
    for (int64_t k = 0; data && k < as_shape_count(&shape); k++)
        data[k] = (float)adjacency[k];
}

/* Which synapses exist: fixed, so that absent ones cost nothing. */
static void mask(frame *f, const char *name, as_shape shape, const int8_t *adjacency)
{
    int64_t count = as_shape_count(&shape);
    int8_t *data = AS_TAKE(as_maker_arena(f->m), int8_t, count);
    if (!data)
        as_maker_fail_as(f->m, ASSAY_NO_MEMORY, "not enough memory for the %lld elements of '%s'", (long long)count, name);
    for (int64_t k = 0; data && k < count; k++)
        data[k] = adjacency[k] != 0;
    push(f, data ? as_maker_constant_borrow(f->m, name, AS_I8, &shape, data) : -1);
}

static void core(frame *f, const as_wiring *w)
{
    int64_t  n = w->n_units, inputs = w->n_inputs;
    as_shape unit = AS_SHAPE(n), inner = AS_SHAPE(n, n), sensory = AS_SHAPE(inputs, n);
    drawn(f, "rnn_cell.gleak", unit, 0.001, 1.0);
    drawn(f, "rnn_cell.vleak", unit, -0.2, 0.2);
    drawn(f, "rnn_cell.cm", unit, 0.4, 0.6);
    drawn(f, "rnn_cell.sigma", inner, 3.0, 8.0);
    drawn(f, "rnn_cell.mu", inner, 0.3, 0.8);
    drawn(f, "rnn_cell.w", inner, 0.001, 1.0);
    signs(f, "rnn_cell.erev", inner, w->adjacency);
    drawn(f, "rnn_cell.sensory_sigma", sensory, 3.0, 8.0);
    drawn(f, "rnn_cell.sensory_mu", sensory, 0.3, 0.8);
    drawn(f, "rnn_cell.sensory_w", sensory, 0.001, 1.0);
    signs(f, "rnn_cell.sensory_erev", sensory, w->sensory);
    mask(f, "rnn_cell.sparsity_mask", inner, w->adjacency);
    mask(f, "rnn_cell.sensory_sparsity_mask", sensory, w->sensory);
}

static void mapping(frame *f, const as_zoo_args *args, const char *side, int64_t count)
{
    char key[32], w[32], b[32];
    snprintf(key, sizeof key, "%s_mapping", side);
    snprintf(w, sizeof w, "rnn_cell.%s_w", side);
    snprintf(b, sizeof b, "rnn_cell.%s_b", side);
    const char *kind = as_zoo_text(args, key);
    bool        affine = !strcmp(kind, "affine"), linear = !strcmp(kind, "linear");
    if (!affine && !linear && strcmp(kind, "none"))
        as_maker_fail(f->m, "%s=%s must be affine, linear or none", key, kind);
    if (affine || linear)
        same(f, w, count, 1.0f);
    else
        push(f, -1);
    if (affine)
        same(f, b, count, 0.0f);
    else
        push(f, -1);
}

/* --- The memory cell ----------------------------------------------------------------------------- */

static void memory(frame *f, int64_t inputs, int64_t units)
{
    int64_t rows = 4 * units;
    float  *w = param(f, "lstm.input_map.weight", AS_SHAPE(rows, inputs)), *b = param(f, "lstm.input_map.bias", AS_SHAPE(rows));
    float  *r = param(f, "lstm.recurrent_map.weight", AS_SHAPE(rows, units));
    if (!w || !b || !r)
        return;
    /* The layers draw their defaults first, then the cell overwrites them with its own. */
    as_torch_uniform(&f->draws, as_torch_linear_bound(inputs), w, rows * inputs);
    as_torch_uniform(&f->draws, 1.0 / sqrt((double)inputs), b, rows);
    as_torch_uniform(&f->draws, as_torch_linear_bound(units), r, rows * units);
    as_torch_uniform(&f->draws, as_torch_xavier_bound(inputs, rows), w, rows * inputs);
    as_torch_uniform(&f->draws, 0.1, b, rows);
    as_torch_orthogonal(&f->draws, r, rows, units);
}

/* --- The network --------------------------------------------------------------------------------- */

static void projection(frame *f, int64_t from, int64_t to)
{
    float *w = param(f, "fc.weight", AS_SHAPE(to, from)), *b = param(f, "fc.bias", AS_SHAPE(to));
    if (!w || !b)
        return;
    as_torch_uniform(&f->draws, as_torch_linear_bound(from), w, to * from);
    as_torch_uniform(&f->draws, 1.0 / sqrt((double)from), b, to);
}

static void absent(frame *f, int count)
{
    while (count--)
        push(f, -1);
}

static int input(frame *f, const char *name, bool wanted, const as_dim *second)
{
    as_dims dims = {.rank = 2, .dim = {{.symbol = "batch"}, *second}};
    return wanted ? as_maker_input(f->m, name, AS_F32, &dims) : -1;
}

static void build(as_maker *m, const as_zoo_args *args)
{
    frame     f = {.m = m};
    as_wiring w;
    double    epsilon;
    bool      implicit = as_ncp_flag(m, args, "implicit"), mixed = as_ncp_flag(m, args, "mixed_memory");
    bool      sequences = as_ncp_flag(m, args, "return_sequences"), timespans = as_ncp_flag(m, args, "timespans");
    bool      state = as_ncp_flag(m, args, "state");
    int64_t   unfolds = as_zoo_int(m, args, "unfolds", 1, MAX_UNFOLDS), proj = as_zoo_int(m, args, "proj", 0, MAX_SIZE);
    if (!as_ncp_real(m, args, "epsilon", 0.0, 1.0, &epsilon) || as_maker_failed(m) || !wiring_read(m, args, &w))
        return;
    int64_t inputs = w.n_inputs;
    as_mt19937_seed(&f.draws, (uint32_t)as_maker_seed(m));
    as_dims dims = {.rank = 3, .dim = {{.symbol = "batch"}, {.symbol = "seq"}, {.size = inputs}}};
    push(&f, as_maker_input(m, "x", AS_F32, &dims));
    core(&f, &w);
    mapping(&f, args, "input", inputs);
    mapping(&f, args, "output", w.n_out);
    if (mixed)
        memory(&f, inputs, w.n_units);
    else
        absent(&f, 3);
    if (proj)
        projection(&f, w.n_out, proj);
    else
        absent(&f, 2);
    push(&f, input(&f, "h0", state, &(as_dim){.size = w.n_units}));
    push(&f, input(&f, "c0", state && mixed, &(as_dim){.size = w.n_units}));
    push(&f, input(&f, "timespans", timespans, &(as_dim){.symbol = "seq"}));
    as_attr attrs[] = {AS_ATTR_I("unfolds", unfolds), AS_ATTR_I("implicit", implicit), AS_ATTR_F("epsilon", epsilon),
                       AS_ATTR_I("return_sequences", sequences), AS_ATTR_I("output_size", w.n_out)};
    int     outs[3] = {-1, -1, -1};
    as_maker_node(m, "assay.LTC", "ltc", f.in, f.n_in, attrs, (int)AS_COUNT(attrs), outs, mixed ? 3 : 2,
                  (const char *const[]){"y", "h_n", "c_n"});
    for (int i = 0; i < 2 + mixed; i++)
        as_maker_output(m, outs[i]);
}

const as_zoo as_zoo_ltc = {
    .name = "ltc", .help = "liquid time constants on a wiring, over a sequence", .params = params, .build = build};
