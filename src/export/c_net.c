/* c_net.c - reads the network from its model, and makes its golden vectors. */
#include "export/c_net.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* A node as the operator sees it, with our own sequence: the model's symbols, states and time spans do not matter. */
typedef struct node {
    as_node_ctx    ctx;
    as_tensor_info info[AS_MAX_IN];
    as_view        in[AS_MAX_IN];
    as_attr        attrs[32];
    const char    *names[AS_MAX_IN];
} node;

static assay_status no_memory(assay_env *env) { return as_fail(env, ASSAY_NO_MEMORY, "export: not enough memory for the weights"); }

/* --- The node ----------------------------------------------------------------------------------------- */

static assay_status node_find(assay_env *env, const assay_model *model, const as_node **out)
{
    as_text found = {0};
    for (int i = 0; i < model->n_nodes && i < 8; i++)
        as_text_printf(&found, "%s%s", i ? ", " : "", model->nodes[i].op->name);
    bool is_one =
        model->n_nodes == 1 && (!strcmp(model->nodes[0].op->name, "assay.CfC") || !strcmp(model->nodes[0].op->name, "assay.LTC"));
    assay_status status = ASSAY_OK;
    if (!is_one)
        status = as_fail(
            env, ASSAY_UNSUPPORTED,
            "export: --c writes networks of one assay.CfC or assay.LTC (cfc: and ltc: of the zoo), and '%s' has %d node%s: %s%s",
            model->name, model->n_nodes, model->n_nodes == 1 ? "" : "s", found.data ? found.data : "",
            model->n_nodes > 8 ? ", ..." : "");
    else
        *out = &model->nodes[0];
    as_text_drop(&found);
    return status;
}

/* An aligned copy of data that may lie anywhere in a file. */
static assay_status value_take(assay_env *env, as_arena *arena, const as_value *v, node *n, int i)
{
    as_shape shape = {.rank = v->dims.rank};
    for (int k = 0; k < shape.rank; k++)
        shape.dim[k] = v->dims.dim[k].size;
    size_t bytes = (size_t)as_shape_count(&shape) * as_dtype_bytes(v->dtype);
    if (!v->data)
        return as_fail(env, ASSAY_UNSUPPORTED, "export: --c: '%s' is not a weight: its values are not known", v->name);
    void *copy = as_arena_take(arena, bytes, 1, 16);
    if (!copy)
        return no_memory(env);
    memcpy(copy, v->data, bytes);
    n->in[i] = as_view_of(copy, v->dtype, &shape);
    n->info[i] = (as_tensor_info){.dtype = v->dtype, .shape = shape, .constant = copy};
    n->names[i] = v->name;
    for (int64_t k = 0; k < as_shape_count(&shape); k++)
        if (!isfinite((float)as_view_get(&n->in[i], k)))
            return as_fail(env, ASSAY_BAD_INPUT, "export: --c: element %lld of '%s' is %g, and a constant in C must be finite",
                           (long long)k, v->name, as_view_get(&n->in[i], k));
    return ASSAY_OK;
}

static void own_put(node *n, int i, float *data, as_shape shape)
{
    n->in[i] = as_view_of(data, AS_F32, &shape);
    n->info[i] = (as_tensor_info){.dtype = AS_F32, .shape = shape};
}

static assay_status node_read(assay_env *env, const assay_model *model, const as_node *from, as_c_net *net, node *n)
{
    bool is_ltc = net->is_ltc;
    int  spans = is_ltc ? AS_LTC_TIMESPANS : (int)AS_CFC_TIMESPANS, h0 = is_ltc ? AS_LTC_H0 : (int)AS_CFC_H0,
        c0 = is_ltc ? AS_LTC_C0 : (int)AS_CFC_C0;
    const as_value *x = &model->values[from->in[0]];
    if (x->role != AS_ROLE_INPUT || x->dims.rank != 3 || x->dims.dim[2].symbol)
        return as_fail(env, ASSAY_UNSUPPORTED, "export: --c: the sequence '%s' is not an input [batch,seq,inputs] of the model",
                       x->name);
    net->n_in = x->dims.dim[2].size;
    if (from->n_in > AS_MAX_IN || from->n_attrs + 1 > (int)AS_COUNT(n->attrs))
        return as_fail(env, ASSAY_INTERNAL, "export: --c: the node '%s' has %d inputs and %d attributes", from->name, from->n_in,
                       from->n_attrs);
    for (int i = 1; i < from->n_in; i++)
        if (from->in[i] >= 0 && i != spans && i != h0 && i != c0)
            AS_TRY(value_take(env, &net->arena, &model->values[from->in[i]], n, i));
    net->x = AS_TAKE(&net->arena, float, AS_C_STEPS * net->n_in);
    net->timespans = AS_TAKE(&net->arena, float, AS_C_STEPS);
    if (!net->x || !net->timespans)
        return no_memory(env);
    own_put(n, 0, net->x, AS_SHAPE(1, AS_C_STEPS, net->n_in));
    own_put(n, spans, net->timespans, AS_SHAPE(1, AS_C_STEPS));
    /* Every step is compared, even where the model only returns the last. */
    int n_attrs = 0;
    for (int i = 0; i < from->n_attrs; i++)
        if (strcmp(from->attrs[i].name, "return_sequences"))
            n->attrs[n_attrs++] = from->attrs[i];
    n->attrs[n_attrs++] = (as_attr)AS_ATTR_I("return_sequences", 1);
    int n_in = from->n_in > spans + 1 ? from->n_in : spans + 1;
    n->ctx = (as_node_ctx){.op = from->op, .name = from->name, .attrs = n->attrs, .n_attrs = n_attrs, .in = n->info, .n_in = n_in};
    return ASSAY_OK;
}

/* --- Layers ------------------------------------------------------------------------------------------- */

static float *floats_of(as_c_net *net, const as_view *v)
{
    int64_t n = as_shape_count(&v->shape);
    float  *out = AS_TAKE(&net->arena, float, n);
    for (int64_t i = 0; out && i < n; i++)
        out[i] = (float)as_view_get(v, i);
    return out;
}

static bool has(const node *n, int i) { return i < n->ctx.n_in && n->info[i].dtype != AS_NONE; }

/* mask -1: none; only_size: the signs of the mask are ignored. */
static bool linear_read(as_c_net *net, const node *n, int w, int b, int mask, bool only_size, as_c_linear *out)
{
    out->rows = n->in[w].shape.dim[0];
    out->cols = n->in[w].shape.dim[1];
    out->n = out->rows * out->cols;
    out->w = floats_of(net, &n->in[w]);
    out->b = b >= 0 ? floats_of(net, &n->in[b]) : NULL;
    if (!out->w || (b >= 0 && !out->b) || mask < 0 || !has(n, mask))
        return out->w && (b < 0 || out->b);
    float   *kept = AS_TAKE(&net->arena, float, out->n);
    int64_t *from = AS_TAKE(&net->arena, int64_t, out->n), *start = AS_TAKE(&net->arena, int64_t, out->rows + 1), count = 0;
    if (!kept || !from || !start)
        return false;
    for (int64_t r = 0; r < out->rows; r++) {
        start[r] = count;
        for (int64_t k = 0; k < out->cols; k++) {
            double m = as_view_get(&n->in[mask], r * out->cols + k);
            if (m == 0.0)
                continue;
            kept[count] = out->w[r * out->cols + k] * (float)(only_size ? fabs(m) : m);
            from[count++] = k;
        }
    }
    start[out->rows] = count;
    out->w = kept;
    if (count < out->n) { /* a full mask is the same as none */
        out->from = from;
        out->start = start;
    }
    out->n = count;
    return true;
}

static assay_status cfc_read(assay_env *env, const node *n, as_c_net *net)
{
    static const char *const heads[] = {"ff1", "ff2", "time_a", "time_b"};
    as_cfc                  *c = &net->cfc;
    bool                     ok = true, is_torch;
    AS_TRY(as_cfc_read(env, &n->ctx, n->info, n->ctx.n_in, c));
    is_torch = c->semantics == AS_CFC_TORCH;
    net->n_units = c->n_state;
    net->n_out = c->n_y;
    net->has_memory = c->has_memory;
    net->has_fc = c->has_fc;
    for (int l = 0; l < c->n_backbone && ok; l++) {
        snprintf(net->backbone[l].name, sizeof net->backbone[l].name, "backbone_%d", l);
        ok = linear_read(net, n, AS_CFC_CELLS + 2 * l, AS_CFC_CELLS + 2 * l + 1, -1, false, &net->backbone[l]);
    }
    for (int l = 0; l < c->n_cells && ok; l++) {
        bool pure = c->mode == AS_CFC_PURE;
        int  mask = c->cell[l].first, first = mask + (pure ? 3 : 1);
        for (int k = 0; k < (pure ? 1 : 4) && ok; k++) {
            snprintf(net->head[l][k].name, sizeof net->head[l][k].name, "layer_%d_%s", l, heads[k]);
            ok = linear_read(net, n, first + 2 * k, first + 2 * k + 1, k < 2 ? mask : -1, is_torch, &net->head[l][k]);
        }
        if (pure) {
            float *w_tau = floats_of(net, &n->in[mask + 1]);
            for (int64_t i = 0; w_tau && i < c->cell[l].n_hidden; i++)
                w_tau[i] = fabsf(w_tau[i]); /* its sign is ignored */
            net->w_tau[l] = w_tau;
            net->a[l] = floats_of(net, &n->in[mask + 2]);
            ok = ok && net->w_tau[l] && net->a[l];
        }
    }
    if (c->has_memory)
        ok = ok && linear_read(net, n, AS_CFC_MEMORY_W, AS_CFC_MEMORY_B, -1, false, &net->memory_in) &&
             linear_read(net, n, AS_CFC_MEMORY_R, -1, -1, false, &net->memory_rec);
    if (c->has_fc)
        ok = ok && linear_read(net, n, AS_CFC_FC_W, AS_CFC_FC_B, -1, false, &net->fc);
    return ok ? ASSAY_OK : no_memory(env);
}

static assay_status ltc_read(assay_env *env, const node *n, as_c_net *net)
{
    AS_TRY(as_ltc_load(env, &n->ctx, n->in, &net->arena, &net->ltc));
    const as_ltc *s = &net->ltc.s;
    bool          ok = true;
    net->n_units = s->n_units;
    net->n_out = s->n_out;
    net->has_memory = s->memory;
    net->has_fc = has(n, AS_LTC_FC_W);
    if (net->has_memory)
        ok = linear_read(net, n, AS_LTC_MEMORY_W, AS_LTC_MEMORY_B, -1, false, &net->memory_in) &&
             linear_read(net, n, AS_LTC_MEMORY_R, -1, -1, false, &net->memory_rec);
    if (net->has_fc)
        ok = ok && linear_read(net, n, AS_LTC_FC_W, has(n, AS_LTC_FC_B) ? AS_LTC_FC_B : -1, -1, false, &net->fc);
    return ok ? ASSAY_OK : no_memory(env);
}

/* --- Golden vectors ------------------------------------------------------------------------------------- */

static void sequence_draw(as_c_net *net, uint64_t seed)
{
    as_view x = as_view_of(net->x, AS_F32, &AS_SHAPE(AS_C_STEPS, net->n_in)),
            spans = as_view_of(net->timespans, AS_F32, &AS_SHAPE(AS_C_STEPS));
    as_random_input(seed, "x", &x);
    as_random_input(seed, "timespans", &spans);
    for (int t = 0; t < AS_C_STEPS; t++)
        net->timespans[t] =
            t < AS_C_STEPS / 2 ? 1.0f : 1.05f + net->timespans[t]; /* the default one first, then irregular ones, never 0 */
}

static assay_status golden_make(assay_env *env, const node *n, as_c_net *net)
{
    net->y = AS_TAKE(&net->arena, float, AS_C_STEPS * net->n_out);
    net->h = AS_TAKE(&net->arena, float, net->n_units);
    net->c = AS_TAKE(&net->arena, float, net->n_units);
    if (!net->y || !net->h || !net->c)
        return no_memory(env);
    as_tensor_info info[3];
    as_node_ctx    ctx = n->ctx;
    as_view        out[3] = {as_view_of(net->y, AS_F32, &AS_SHAPE(1, AS_C_STEPS, net->n_out)),
                             as_view_of(net->h, AS_F32, &AS_SHAPE(1, net->n_units)),
                             as_view_of(net->c, AS_F32, &AS_SHAPE(1, net->n_units))};
    ctx.n_out = net->has_memory ? 3 : 2;
    AS_TRY(ctx.op->infer(env, &ctx, info));
    ctx.out = info;
    if (info[0].dtype != AS_F32 || !as_shape_same(&info[0].shape, &out[0].shape))
        return as_fail(env, ASSAY_UNSUPPORTED, "export: --c: the network computes in %s, and C source is written for f32",
                       as_dtype_name(info[0].dtype));
    return ctx.op->eval(env, &ctx, n->in, out);
}

assay_status as_c_net_read(assay_env *env, const assay_model *model, uint64_t seed, as_c_net *net)
{
    const as_node *from = NULL;
    AS_TRY(node_find(env, model, &from));
    net->source = model->source ? model->source : model->name;
    net->is_ltc = !strcmp(from->op->name, "assay.LTC");
    node *n = AS_TAKE(&net->arena, node, 1);
    if (!n)
        return no_memory(env);
    snprintf(net->memory_in.name, sizeof net->memory_in.name, "memory_in");
    snprintf(net->memory_rec.name, sizeof net->memory_rec.name, "memory_rec");
    snprintf(net->fc.name, sizeof net->fc.name, "fc");
    AS_TRY(node_read(env, model, from, net, n));
    sequence_draw(net, seed);
    AS_TRY(net->is_ltc ? ltc_read(env, n, net) : cfc_read(env, n, net));
    return golden_make(env, n, net);
}

void as_c_net_drop(as_c_net *net) { as_arena_drop(&net->arena); }
