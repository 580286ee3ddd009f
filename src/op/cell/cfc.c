/* cfc.c - reads and checks a CfC node, and counts its cost. */
#include "op/cell/cfc.h"

#include <string.h>

#include "op/cell/memory_cell.h"

const as_attr_def as_cfc_attrs[] = {
    {.name = "mode", .kind = AS_ATTR_TEXT},
    {.name = "activation", .kind = AS_ATTR_TEXT},
    {.name = "semantics", .kind = AS_ATTR_TEXT},
    {.name = "backbone", .kind = AS_ATTR_INT},
    {.name = "dropout", .kind = AS_ATTR_FLOAT},
    {.name = "dropout_seed", .kind = AS_ATTR_INT},
    {.name = "training", .kind = AS_ATTR_INT},
    {.name = "return_sequences", .kind = AS_ATTR_INT},
    {0},
};

static const char *const modes[] = {"default", "pure", "no_gate"};
static const char *const acts[] = {"lecun_tanh", "tanh", "relu", "silu", "gelu"};
static const char *const semantics[] = {"torch", "keras", "enhanced"};

/* --- Attributes --------------------------------------------------------------------------------- */

static assay_status word_read(assay_env *env, const as_node_ctx *n, const char *name, const char *const *words, int n_words,
                              int *out)
{
    const char *text = as_attr_text(n, name, words[0]);
    char        all[128] = "";
    for (int i = 0; i < n_words; i++) {
        if (!strcmp(text, words[i])) {
            *out = i;
            return ASSAY_OK;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
    }
    return as_refuse(env, n, "%s is '%s' and must be one of %s", name, text, all);
}

static assay_status attrs_read(assay_env *env, const as_node_ctx *n, as_cfc *c)
{
    int     mode, act, how;
    int64_t backbone = as_attr_int(n, "backbone", 0);
    double  dropout = as_attr_float(n, "dropout", 0.0);
    AS_TRY(word_read(env, n, "mode", modes, AS_COUNT(modes), &mode));
    AS_TRY(word_read(env, n, "activation", acts, AS_COUNT(acts), &act));
    AS_TRY(word_read(env, n, "semantics", semantics, AS_COUNT(semantics), &how));
    if (backbone < 0 || backbone > AS_CFC_MAX_BACKBONE)
        return as_refuse(env, n, "backbone is %lld layers and may be 0 to %d", (long long)backbone, AS_CFC_MAX_BACKBONE);
    if (!(dropout >= 0.0 && dropout < 1.0))
        return as_refuse(env, n, "dropout is %g, outside of [0, 1)", dropout);
    c->mode = (as_cfc_mode)mode;
    c->act = (as_cfc_act)act;
    c->semantics = (as_cfc_semantics)how;
    c->n_backbone = (int)backbone;
    c->dropout = as_attr_int(n, "training", 0) ? dropout : 0.0;
    c->dropout_seed = (uint32_t)as_attr_int(n, "dropout_seed", 0);
    c->sequences = as_attr_int(n, "return_sequences", 1) != 0;
    return ASSAY_OK;
}

/* --- Inputs: each error names the input as the reference does ---------------------------------- */

typedef struct reader {
    assay_env            *env;
    const as_node_ctx    *n;
    const as_tensor_info *in;
    int                   n_in;
} reader;

static bool has(const reader *r, int i) { return i < r->n_in && r->in[i].dtype != AS_NONE; }

static assay_status expect_shape(const reader *r, int i, const char *what, const as_shape *want)
{
    if (!has(r, i))
        return as_refuse(r->env, r->n, "%s is absent and must be %s", what, AS_SHOW(want));
    if (r->in[i].dtype != r->in[AS_CFC_X].dtype)
        return as_refuse(r->env, r->n, "%s is %s and x is %s", what, as_dtype_name(r->in[i].dtype),
                         as_dtype_name(r->in[AS_CFC_X].dtype));
    if (!as_shape_same(&r->in[i].shape, want))
        return as_refuse(r->env, r->n, "%s is %s and must be %s", what, AS_SHOW(&r->in[i].shape), AS_SHOW(want));
    return ASSAY_OK;
}

static assay_status expect_linear(const reader *r, int i, const char *what, int64_t rows, int64_t cols)
{
    char name[64];
    snprintf(name, sizeof name, "%s.weight", what);
    AS_TRY(expect_shape(r, i, name, &AS_SHAPE(rows, cols)));
    snprintf(name, sizeof name, "%s.bias", what);
    return expect_shape(r, i + 1, name, &AS_SHAPE(rows));
}

static assay_status backbone_read(const reader *r, as_cfc *c, int64_t *n_z)
{
    for (int l = 0; l < c->n_backbone; l++) {
        int  i = AS_CFC_CELLS + 2 * l;
        char name[32];
        snprintf(name, sizeof name, "backbone layer %d", l + 1);
        if (!has(r, i + 1) || r->in[i + 1].shape.rank != 1 || r->in[i + 1].shape.dim[0] < 1)
            return as_refuse(r->env, r->n, "the bias of %s (input %d) must be a vector of its width", name, i + 1);
        c->width[l] = r->in[i + 1].shape.dim[0];
        AS_TRY(expect_linear(r, i, name, c->width[l], *n_z));
        *n_z = c->width[l];
    }
    return ASSAY_OK;
}

static assay_status mask_check(const reader *r, const as_cfc *c, const as_cfc_cell *cell)
{
    const as_tensor_info *mask = &r->in[cell->first];
    as_shape              want = AS_SHAPE(cell->n_hidden, cell->n_z);
    if (!has(r, cell->first))
        return ASSAY_OK;
    if (c->semantics == AS_CFC_ENHANCED || c->n_backbone)
        return as_refuse(r->env, r->n, "a mask is given with %s, which has none",
                         c->n_backbone ? "a backbone" : "semantics enhanced");
    if (mask->dtype != AS_I8 && mask->dtype != r->in[AS_CFC_X].dtype)
        return as_refuse(r->env, r->n, "the mask (input %d) is %s and must be i8 or %s", cell->first, as_dtype_name(mask->dtype),
                         as_dtype_name(r->in[AS_CFC_X].dtype));
    if (!as_shape_same(&mask->shape, &want))
        return as_refuse(r->env, r->n, "the mask (input %d) is %s and ff1.weight is %s", cell->first, AS_SHOW(&mask->shape),
                         AS_SHOW(&want));
    return ASSAY_OK;
}

/* How many inputs a cell has. */
static int cell_slots(const as_cfc *c) { return c->mode == AS_CFC_PURE ? 5 : 9; }

static assay_status cell_weights(const reader *r, const as_cfc *c, const as_cfc_cell *cell)
{
    static const char *const heads[] = {"ff1", "ff2", "time_a", "time_b"};
    int                      i = cell->first + 1;
    if (c->mode == AS_CFC_PURE) {
        AS_TRY(expect_shape(r, i, "w_tau", &AS_SHAPE(1, cell->n_hidden)));
        AS_TRY(expect_shape(r, i + 1, "A", &AS_SHAPE(1, cell->n_hidden)));
        return expect_linear(r, i + 2, "ff1", cell->n_hidden, cell->n_z);
    }
    for (int h = 0; h < 4; h++)
        AS_TRY(expect_linear(r, i + 2 * h, heads[h], cell->n_hidden, cell->n_z));
    return ASSAY_OK;
}

/* The size of a cell is that of the bias of its ff1. */
static assay_status cells_read(const reader *r, as_cfc *c)
{
    int     first = AS_CFC_CELLS + 2 * c->n_backbone, slots = cell_slots(c), left = r->n_in - first;
    int64_t n_in = c->n_in;
    if (left < slots || left % slots || left / slots > AS_CFC_MAX_CELLS)
        return as_refuse(r->env, r->n, "%d inputs follow input %d, and a cell of mode %s has %d; there may be 1 to %d cells",
                         left < 0 ? 0 : left, first - 1, modes[c->mode], slots, AS_CFC_MAX_CELLS);
    c->n_cells = left / slots;
    if (c->n_cells > 1 && c->n_backbone)
        return as_refuse(r->env, r->n, "%d cells are given with a backbone, which only a single cell has", c->n_cells);
    for (int l = 0; l < c->n_cells; l++) {
        as_cfc_cell *cell = &c->cell[l];
        int          bias = first + l * slots + (c->mode == AS_CFC_PURE ? 4 : 2);
        *cell = (as_cfc_cell){.first = first + l * slots, .n_in = n_in, .at = c->n_state};
        if (!has(r, bias) || r->in[bias].shape.rank != 1 || r->in[bias].shape.dim[0] < 1)
            return as_refuse(r->env, r->n, "the bias of ff1 (input %d) must be a vector with one number per unit", bias);
        cell->n_hidden = r->in[bias].shape.dim[0];
        cell->n_z = n_in + cell->n_hidden;
        AS_TRY(backbone_read(r, c, &cell->n_z));
        AS_TRY(mask_check(r, c, cell));
        AS_TRY(cell_weights(r, c, cell));
        n_in = cell->n_hidden;
        c->n_state += cell->n_hidden;
    }
    c->n_out = n_in;
    return ASSAY_OK;
}

static assay_status state_check(const reader *r, const as_cfc *c)
{
    if (has(r, AS_CFC_H0))
        AS_TRY(expect_shape(r, AS_CFC_H0, "h0", &AS_SHAPE(c->n_batch, c->n_state)));
    if (has(r, AS_CFC_C0) && !c->has_memory)
        return as_refuse(r->env, r->n, "c0 is given without the weights of a mixed memory");
    if (has(r, AS_CFC_C0))
        AS_TRY(expect_shape(r, AS_CFC_C0, "c0", &AS_SHAPE(c->n_batch, c->n_state)));
    if (has(r, AS_CFC_TIMESPANS))
        AS_TRY(expect_shape(r, AS_CFC_TIMESPANS, "timespans", &AS_SHAPE(c->n_batch, c->n_steps)));
    return ASSAY_OK;
}

static assay_status memory_check(const reader *r, const as_cfc *c)
{
    if (!c->has_memory)
        return ASSAY_OK;
    if (c->semantics != AS_CFC_TORCH)
        return as_refuse(r->env, r->n, "mixed memory is given with semantics %s, whose memory is another cell",
                         semantics[c->semantics]);
    AS_TRY(expect_linear(r, AS_CFC_MEMORY_W, "lstm.input_map", 4 * c->n_state, c->n_in));
    return expect_shape(r, AS_CFC_MEMORY_R, "lstm.recurrent_map.weight", &AS_SHAPE(4 * c->n_state, c->n_state));
}

static assay_status projection_read(const reader *r, as_cfc *c)
{
    c->has_fc = has(r, AS_CFC_FC_W) || has(r, AS_CFC_FC_B);
    c->n_y = c->n_out;
    if (!c->has_fc)
        return ASSAY_OK;
    if (!has(r, AS_CFC_FC_B) || r->in[AS_CFC_FC_B].shape.rank != 1)
        return as_refuse(r->env, r->n, "fc.bias must be a vector with one number per output of the projection");
    c->n_y = r->in[AS_CFC_FC_B].shape.dim[0];
    return expect_linear(r, AS_CFC_FC_W, "fc", c->n_y, c->n_out);
}

assay_status as_cfc_read(assay_env *env, const as_node_ctx *n, const as_tensor_info *in, int n_in, as_cfc *out)
{
    as_cfc          c = {0};
    reader          r = {.env = env, .n = n, .in = in, .n_in = n_in};
    const as_shape *x = &in[AS_CFC_X].shape;
    if (!(AS_DTYPE_BIT(in[AS_CFC_X].dtype) & AS_SET_FLOAT))
        return as_refuse(env, n, "x is %s and must be a float", as_dtype_name(in[AS_CFC_X].dtype));
    if (x->rank != 3 || x->dim[2] < 1)
        return as_refuse(env, n, "x is %s and must be [batch, steps, inputs]", AS_SHOW(x));
    AS_TRY(attrs_read(env, n, &c));
    c.n_batch = x->dim[0];
    c.n_steps = x->dim[1];
    c.n_in = x->dim[2];
    c.has_memory = has(&r, AS_CFC_MEMORY_W) || has(&r, AS_CFC_MEMORY_B) || has(&r, AS_CFC_MEMORY_R);
    AS_TRY(cells_read(&r, &c));
    AS_TRY(state_check(&r, &c));
    AS_TRY(memory_check(&r, &c));
    AS_TRY(projection_read(&r, &c));
    if (!c.sequences && !c.n_steps)
        return as_refuse(env, n, "x is %s: the last of no steps is asked for", AS_SHOW(x));
    *out = c;
    return ASSAY_OK;
}

bool as_cfc_drops_after(const as_cfc *c, int l) { return c->dropout > 0.0 && (l > 0 || c->semantics != AS_CFC_TORCH); }

bool as_cfc_acts_after(const as_cfc *c, int l) { return c->semantics != AS_CFC_ENHANCED || l + 1 < c->n_backbone; }

bool as_cfc_differentiable(const as_cfc *c, const as_tensor_info *in, int n_in, int i)
{
    if (i >= n_in || !as_dtype_is_float(in[i].dtype))
        return false;
    for (int l = 0; l < c->n_cells; l++)
        if (c->cell[l].first == i)
            return false;
    return true;
}

as_shape as_cfc_y_shape(const as_cfc *c)
{
    return c->sequences ? AS_SHAPE(c->n_batch, c->n_steps, c->n_y) : AS_SHAPE(c->n_batch, c->n_y);
}

as_cfc_stash as_cfc_stash_of(const as_cfc *c, bool has_spans)
{
    as_cfc_stash s = {.per_unit = c->mode == AS_CFC_PURE ? 2 : has_spans ? 4 : 3, .n = c->n_state};
    if (c->has_memory) {
        s.c = c->n_state;
        s.m = 2 * c->n_state;
        s.gates = 3 * c->n_state;
        s.n = 7 * c->n_state;
    }
    for (int l = 0; l < c->n_backbone; l++) {
        s.backbone[l] = s.n;
        s.n += 2 * c->width[l];
    }
    for (int l = 0; l < c->n_cells; l++) {
        s.cell[l] = s.n;
        s.n += s.per_unit * c->cell[l].n_hidden;
    }
    return s;
}

/* --- Cost ------------------------------------------------------------------------------------------- */

static uint64_t synapses(const as_cfc_cell *cell, const as_tensor_info *in)
{
    uint64_t              all = as_sat_mul((uint64_t)cell->n_hidden, (uint64_t)cell->n_z), some = 0;
    const as_tensor_info *mask = &in[cell->first];
    if (mask->dtype == AS_NONE || !mask->constant)
        return all;
    as_view view = as_view_of((void *)(uintptr_t)mask->constant, mask->dtype, &mask->shape); /* only read */
    for (uint64_t i = 0; i < all; i++)
        some += as_view_get(&view, (int64_t)i) != 0.0;
    return some;
}

/* Of one step of one sequence.  The other element-wise work is a few flops per unit and is left out, as in the reference's
 * formula. */
static as_cost step_work(const as_cfc *c, const as_tensor_info *in)
{
    as_cost  w = {0};
    uint64_t n_z = (uint64_t)(c->cell[0].n_in + c->cell[0].n_hidden);
    for (int l = 0; l < c->n_backbone; l++) {
        w.flops = as_sat_add(w.flops, as_sat_mul(as_sat_mul(2, n_z), (uint64_t)c->width[l]));
        n_z = (uint64_t)c->width[l];
        if (as_cfc_acts_after(c, l) && c->act != AS_CFC_RELU)
            w.special = as_sat_add(w.special, n_z);
    }
    for (int l = 0; l < c->n_cells; l++) {
        const as_cfc_cell *cell = &c->cell[l];
        uint64_t units = (uint64_t)cell->n_hidden, dense = as_sat_mul(units, (uint64_t)cell->n_z), sparse = synapses(cell, in);
        uint64_t products = c->mode == AS_CFC_PURE ? sparse : as_sat_add(as_sat_mul(2, sparse), as_sat_mul(2, dense));
        bool     tanhs = c->mode != AS_CFC_PURE && c->semantics == AS_CFC_TORCH;
        w.flops = as_sat_add(w.flops, as_sat_mul(2, products));
        w.special = as_sat_add(w.special, as_sat_mul(tanhs ? 3 : 1, units));
    }
    if (c->has_memory) {
        w.flops = as_sat_add(w.flops, as_memory_flops(c->n_in, c->n_state));
        w.special = as_sat_add(w.special, as_memory_special(c->n_state));
    }
    return w;
}

as_cost as_cfc_work(const as_cfc *c, const as_tensor_info *in)
{
    uint64_t steps = as_sat_mul((uint64_t)c->n_batch, (uint64_t)c->n_steps);
    as_cost  one = step_work(c, in);
    as_cost  all = {.flops = as_sat_mul(steps, one.flops), .special = as_sat_mul(steps, one.special)};
    if (c->has_fc)
        all.flops = as_sat_add(all.flops, as_sat_mul(as_sat_mul(c->sequences ? steps : (uint64_t)c->n_batch, 2),
                                                     as_sat_mul((uint64_t)c->n_y, (uint64_t)c->n_out)));
    return all;
}
