/* ps_norm.c - folds a batch normalisation after a convolution or a dense layer into its weights and bias.
 *
 * The new weights depend only on parameters, so the set-up computes them, and again when a parameter changes. */
#include <string.h>

#include "plan/edit.h"
#include "plan/lower.h"

/* x of the normalisation comes from a product with steady weights that has no other reader. */
typedef struct match {
    int product, norm;
    int axis; /* of the weights: the axis of the outputs */
} match;

/* A bias with one value per output; C of a Gemm may be larger. */
static bool bias_fits(const as_graph *g, const as_bound_node *node, int64_t outputs)
{
    if (node->ctx.n_in < 3 || node->in[2] < 0)
        return true;
    const as_shape *shape = &g->values[node->in[2]].info.shape;
    return shape->rank == 1 && shape->dim[0] == outputs && as_edit_is_steady(g, node->in[2]);
}

static bool weights_fit(const as_graph *g, const as_bound_node *node, match *m)
{
    const as_node_ctx *n = &node->ctx;
    bool               dense = !strcmp(n->op->name, "Gemm");
    if (strcmp(n->op->name, "Conv") && !dense)
        return false;
    if (dense && (as_attr_float(n, "alpha", 1.0) != 1.0 || as_attr_float(n, "beta", 1.0) != 1.0))
        return false;
    m->axis = dense && !as_attr_int(n, "transB", 0);
    return as_edit_is_steady(g, node->in[1]) && bias_fits(g, node, n->in[1].shape.dim[m->axis]);
}

static bool norm_matches(const as_graph *g, int id, match *m)
{
    const as_bound_node *norm = &g->nodes[id];
    if (!as_edit_is(norm, "BatchNormalization") || norm->ctx.n_out != 1 || norm->ctx.n_in < 5 ||
        as_attr_int(&norm->ctx, "training_mode", 0))
        return false;
    int product = g->values[norm->in[0]].producer;
    *m = (match){.product = product, .norm = id};
    if (product < 0 || g->nodes[product].dead || as_edit_only_reader(g, norm->in[0]) != id ||
        !weights_fit(g, &g->nodes[product], m))
        return false;
    for (int i = 1; i < 5; i++) /* must come before the product, if computed at all */
        if (!as_edit_is_steady(g, norm->in[i]) || g->values[norm->in[i]].producer >= product ||
            norm->ctx.in[i].dtype != norm->ctx.in[0].dtype)
            return false;
    return true;
}

static const char *name_of(const as_graph *g, const char *what, int value)
{
    return as_arena_printf(g->arena, "%s of %s", what, g->values[value].name);
}

static assay_status fold(assay_env *env, as_graph *g, match m)
{
    int            norm_in[5], weights, bias, b = -1;
    const as_attr *attrs = g->nodes[m.product].ctx.attrs;
    int            n_attrs = g->nodes[m.product].ctx.n_attrs;
    double         epsilon = as_attr_float(&g->nodes[m.norm].ctx, "epsilon", 1e-5);
    memcpy(norm_in, g->nodes[m.norm].in, sizeof norm_in);
    const as_bound_node *product = &g->nodes[m.product];
    int                  x = product->in[0], w = product->in[1], out = g->nodes[m.norm].out[0];
    const char          *name = product->ctx.name, *op = product->ctx.op->name, *module = product->ctx.module;
    const char          *joined = as_edit_name_join(g->arena, name, g->nodes[m.norm].ctx.name);
    if (product->ctx.n_in > 2)
        b = product->in[2];

    as_edit weight = {.op = "assay.NormWeight",
                      .name = name_of(g, "norm", w),
                      .module = module,
                      .in = (int[]){w, norm_in[1], norm_in[4]},
                      .n_in = 3,
                      .attrs = (as_attr[]){AS_ATTR_I("axis", m.axis), AS_ATTR_F("epsilon", epsilon)},
                      .n_attrs = 2,
                      .out = -1};
    AS_TRY(as_edit_insert(env, g, m.product, &weight, &weights));
    as_edit shift = {.op = "assay.NormBias",
                     .name = as_arena_printf(g->arena, "norm of the bias of %s", name),
                     .module = module,
                     .in = (int[]){norm_in[1], norm_in[2], norm_in[3], norm_in[4], b},
                     .n_in = 5,
                     .attrs = (as_attr[]){AS_ATTR_F("epsilon", epsilon)},
                     .n_attrs = 1,
                     .out = -1};
    AS_TRY(as_edit_insert(env, g, m.product + 1, &shift, &bias));
    g->nodes[m.norm + 2].dead = true;
    as_edit whole = {.op = op,
                     .name = joined,
                     .module = module,
                     .in = (int[]){x, weights, bias},
                     .n_in = 3,
                     .attrs = attrs,
                     .n_attrs = n_attrs,
                     .out = out};
    return as_edit_replace(env, g, m.product + 2, &whole);
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    (void)ctx; /* Conv and Gemm stay the same operators, so this works on any device */
    if (as_edit_is_too_large(g, note))
        return ASSAY_OK;
    for (int i = 0; i < g->n_nodes; i++) {
        match m;
        /* Training changes the weights, and with them the same bits must come out where a part is computed again. */
        if (g->nodes[i].ctx.place.pass != AS_PASS_NONE || !norm_matches(g, i, &m))
            continue;
        const as_tensor_info *y = &g->nodes[i].ctx.out[0];
        note->n_changed++;
        note->bytes_saved += as_info_bytes(y);
        AS_TRY(fold(env, g, m));
    }
    return ASSAY_OK;
}

const as_pass as_ps_norm = {
    .name = "norm", .order = 20, .help = "batch normalisations are merged into the weights before them", .run = run};
