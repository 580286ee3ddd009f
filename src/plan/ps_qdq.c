/* ps_qdq.c - a convolution or a product between DequantizeLinear and QuantizeLinear is computed on the integers: QLinearConv and
 * QLinearMatMul.
 *
 * The sums are then exact, where those of floats are rounded: a result may differ by one quantum, where the rounded sum lies on the other
 * side of a tie.  It is the same wherever floats are exact, too: scales that are powers of two, and sums below 2^24.  A Relu before
 * QuantizeLinear is included where the zero point is the lowest integer, so that saturation does the same.  A bias must be
 * integers with the scale of the sums, which is how quantisers write it. */
#include <math.h>
#include <string.h>

#include "plan/edit.h"
#include "plan/lower.h"

/* What a DequantizeLinear reads. */
typedef struct source {
    int value, scale, zero; /* zero -1: absent */
} source;

static bool is_byte(as_dtype dtype) { return dtype == AS_U8 || dtype == AS_I8; }

static int64_t count_of(const as_graph *g, int value) { return as_shape_count(&g->values[value].info.shape); }

/* The node that dequantises to the value; -1: none.  A small one with known inputs was computed when the graph was bound: it is dead,
 * but what it read is still there. */
static int decoder_of(const as_graph *g, int value)
{
    int producer = value < 0 ? -1 : g->values[value].producer;
    for (int i = 0; value >= 0 && producer < 0 && g->values[value].info.constant && i < g->n_nodes; i++)
        if (g->nodes[i].dead && g->nodes[i].ctx.n_out > 0 && g->nodes[i].out[0] == value)
            producer = i;
    return producer >= 0 && !strcmp(g->nodes[producer].ctx.op->name, "DequantizeLinear") ? producer : -1;
}

/* False when the value is not dequantised by f32 scales, one for all or, where axis >= 0, one per slice of that axis. */
static bool source_of(const as_graph *g, int value, int axis, source *out)
{
    int producer = decoder_of(g, value);
    if (producer < 0)
        return false;
    const as_bound_node *n = &g->nodes[producer];
    const as_node_ctx   *c = &n->ctx;
    int64_t              given = as_attr_int(c, "axis", 1);
    *out = (source){.value = n->in[0], .scale = n->in[1], .zero = as_in_has(c, 2) ? n->in[2] : -1};
    if (c->in[1].dtype != AS_F32 || c->out[0].dtype != AS_F32 || as_attr_int(c, "block_size", 0))
        return false;
    if (c->in[1].shape.rank <= 1 && count_of(g, out->scale) == 1)
        return true;
    return axis >= 0 && (given < 0 ? given + c->in[0].shape.rank : given) == axis;
}

/* Element i of values that are known while planning, constants or parameters. */
static bool known(const as_graph *g, int value, int64_t i, double *out)
{
    const as_bound_value *v = &g->values[value];
    const void           *data = v->info.constant ? v->info.constant : v->data;
    size_t                bytes = as_dtype_bytes(v->info.dtype);
    char                  one[16];
    if (!data || bytes > sizeof one)
        return false;
    memcpy(one, (const char *)data + (size_t)i * bytes, bytes); /* a parameter may be at any address */
    as_view view = as_view_of(one, v->info.dtype, &(as_shape){0});
    *out = as_view_get(&view, 0);
    return true;
}

/* A bias of i32 whose scale is that of the sums, and whose zero point is 0. */
static bool is_bias(const as_graph *g, const source *bias, const source *x, const source *w)
{
    int64_t n = count_of(g, bias->value);
    if (g->values[bias->value].info.dtype != AS_I32)
        return false;
    for (int64_t i = 0; i < n; i++) {
        double b, sx, sw, zero = 0.0;
        if (!known(g, bias->scale, count_of(g, bias->scale) == 1 ? 0 : i, &b) || !known(g, x->scale, 0, &sx) ||
            !known(g, w->scale, count_of(g, w->scale) == 1 ? 0 : i, &sw))
            return false;
        if (bias->zero >= 0 && !known(g, bias->zero, count_of(g, bias->zero) == 1 ? 0 : i, &zero))
            return false;
        if (zero != 0.0 || !(fabs(b - sx * sw) <= 0x1p-20 * fabs(b)))
            return false;
    }
    return true;
}

/* The zero point of a source: its own, or a new constant 0. */
static int zero_of(as_graph *g, const source *s)
{
    if (s->zero >= 0)
        return s->zero;
    uint8_t *none = AS_TAKE(g->arena, uint8_t, 1);
    if (!none)
        return -1;
    *none = 0;
    as_bound_value v = {.name = "no zero point",
                        .role = AS_ROLE_CONSTANT,
                        .info = {.dtype = g->values[s->value].info.dtype, .constant = none},
                        .data = none,
                        .producer = -1,
                        .model_value = -1};
    return as_graph_add_value(g, &v);
}

/* The node that computes what QuantizeLinear `id` reads, perhaps through a Relu that saturation does as well; -1: none.  relu: that Relu. */
static int product_of(const as_graph *g, int id, int *relu)
{
    const as_bound_node *q = &g->nodes[id];
    int                  value = q->in[0], producer = g->values[value].producer;
    double               zero;
    *relu = -1;
    if (producer < 0 || as_edit_only_reader(g, value) != id)
        return -1;
    if (as_edit_is(&g->nodes[producer], "Relu")) {
        double lowest = q->ctx.out[0].dtype == AS_I8 ? -128.0 : 0.0;
        if (as_in_has(&q->ctx, 2) ? !known(g, q->in[2], 0, &zero) || zero != lowest : lowest != 0.0)
            return -1;
        *relu = producer;
        value = g->nodes[producer].in[0];
        producer = g->values[value].producer;
        if (producer < 0 || as_edit_only_reader(g, value) != *relu)
            return -1;
    }
    return as_edit_is(&g->nodes[producer], "Conv") || as_edit_is(&g->nodes[producer], "MatMul") ? producer : -1;
}

static assay_status join(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, as_pass_note *note)
{
    const as_bound_node *q = &g->nodes[id];
    const as_node_ctx   *c = &q->ctx;
    int                  relu, product;
    if (c->in[0].dtype != AS_F32 || c->in[1].dtype != AS_F32 || count_of(g, q->in[1]) != 1 || c->in[1].shape.rank > 1 ||
        !is_byte(c->out[0].dtype) || as_attr_int(c, "block_size", 0) || (product = product_of(g, id, &relu)) < 0)
        return ASSAY_OK;
    const as_bound_node *n = &g->nodes[product];
    bool                 conv = as_edit_is(n, "Conv");
    source               x, w, bias = {.value = -1}, y = {.value = q->out[0], .zero = as_in_has(c, 2) ? q->in[2] : -1};
    int                  rank = n->ctx.in[1].shape.rank;
    if (!source_of(g, n->in[0], -1, &x) ||
        !source_of(g, n->in[1],
                   conv        ? 0
                   : rank == 2 ? 1
                               : -1,
                   &w) ||
        !is_byte(g->values[x.value].info.dtype) || !is_byte(g->values[w.value].info.dtype))
        return ASSAY_OK;
    if (conv && as_in_has(&n->ctx, 2) && (!source_of(g, n->in[2], 0, &bias) || !is_bias(g, &bias, &x, &w)))
        return ASSAY_OK;
    int x_zero = zero_of(g, &x), w_zero = zero_of(g, &w), y_zero = zero_of(g, &y);
    if (x_zero < 0 || w_zero < 0 || y_zero < 0)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for the zero points of '%s'", n->ctx.name);
    q = &g->nodes[id]; /* values may have moved, nodes have not; the names stay */
    int         in[] = {x.value, x.scale, x_zero, w.value, w.scale, w_zero, q->in[1], y_zero, bias.value};
    as_edit     edit = {.op = conv ? "QLinearConv" : "QLinearMatMul",
                        .name = n->ctx.name,
                        .module = n->ctx.module,
                        .in = in,
                        .n_in = bias.value >= 0 ? 9 : 8,
                        .attrs = conv ? n->ctx.attrs : NULL,
                        .n_attrs = conv ? n->ctx.n_attrs : 0,
                        .out = q->out[0]};
    as_node_ctx whole;
    if (as_edit_try(env, g, &edit, &whole) != ASSAY_OK || !as_edit_is_taken(env, ctx, g->arena, &whole))
        return ASSAY_OK; /* a form that the integers do not have */
    note->bytes_saved += as_info_bytes(&g->values[n->out[0]].info);
    g->nodes[product].dead = true;
    if (relu >= 0)
        g->nodes[relu].dead = true;
    note->n_changed++;
    return as_edit_replace(env, g, id, &edit);
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    note->text = "convolutions and products between DequantizeLinear and QuantizeLinear are computed on the integers";
    if (ctx->n_variables || as_edit_is_too_large(g, note))
        return ASSAY_OK; /* training changes floats */
    for (int i = 0; i < g->n_nodes; i++)
        if (as_edit_is(&g->nodes[i], "QuantizeLinear"))
            AS_TRY(join(env, g, ctx, i, note));
    return ASSAY_OK;
}

const as_pass as_ps_qdq = {.name = "qdq",
                           .order = 5,
                           .help = "convolutions and products between DequantizeLinear and QuantizeLinear on the integers",
                           .run = run};
