/* ps_storage.c - stores weights of products in 16 bits where --weights-as asks for it: half the bytes for layers limited by
 * memory.
 *
 * Gemm, MatMul and assay.FusedGemm with steady f32 weights become assay.FusedGemm with the attribute `weights`, which says how
 * exact it is.  If a weight would become infinite, its layer stays in f32: kernels cannot fail, so this is checked here, where
 * the values of parameters are known.  A parameter that is replaced later is not checked again. */
#include <math.h>
#include <string.h>

#include "plan/edit.h"

enum { MAX_ATTRS = 16 };

typedef struct storage {
    const char *type; /* "f16" or "bf16" */
    bool        is_f16;
    int         n_kept; /* layers that stay in f32 */
    const char *why;    /* why the first of them does */
} storage;

static void keep(storage *s, const char *why)
{
    if (s->n_kept++ == 0)
        s->why = why;
}

/* The first finite value that the type would make infinite. */
static bool overflow_find(const storage *s, const void *data, int64_t count, float *out)
{
    for (int64_t i = 0; i < count; i++) {
        float x; /* parameters lie at any address */
        memcpy(&x, (const char *)data + i * (int64_t)sizeof x, sizeof x);
        if (isfinite(x) && !isfinite(s->is_f16 ? as_f16_to_f32(as_f16_from_f32(x)) : as_bf16_to_f32(as_bf16_from_f32(x)))) {
            *out = x;
            return true;
        }
    }
    return false;
}

static bool is_variable(const as_pass_ctx *ctx, int value)
{
    for (int i = 0; i < ctx->n_variables; i++)
        if (ctx->variables[i].value == value)
            return true;
    return false;
}

/* A variable, or a part or view of one: a weight that training changes.  It is rounded again in every run; one that is too large becomes
 * infinite, and the step that meets it is left out because its gradient is not finite. */
static bool learns(const as_graph *g, const as_pass_ctx *ctx, int value)
{
    for (;;) {
        int producer = g->values[value].producer;
        if (producer < 0)
            return is_variable(ctx, value);
        if (!g->nodes[producer].ctx.op->view_only || g->nodes[producer].in[0] < 0)
            return false;
        value = g->nodes[producer].in[0];
    }
}

/* NULL: the type holds all of them. */
static const char *reason_against(const as_graph *g, const storage *s, int weights)
{
    const as_bound_value *v = &g->values[weights];
    float                 x;
    if (!v->data && s->is_f16)
        return as_arena_printf(g->arena, "'%s' is computed, so its range is not known", v->name);
    if (v->data && overflow_find(s, v->data, as_shape_count(&v->info.shape), &x))
        return as_arena_printf(g->arena, "'%s' has %g, which %s cannot hold", v->name, (double)x, s->type);
    return NULL;
}

static bool is_product(const as_bound_node *node)
{
    return (as_edit_is(node, "Gemm") || as_edit_is(node, "MatMul") || as_edit_is(node, "assay.FusedGemm")) &&
           node->ctx.n_attrs < MAX_ATTRS && node->ctx.in[0].shape.rank >= 2 && node->ctx.in[1].shape.rank == 2 &&
           node->ctx.in[1].dtype == AS_F32 && !as_attr_text(&node->ctx, "weights", NULL);
}

static assay_status store(assay_env *env, as_graph *g, const as_pass_ctx *ctx, int id, storage *s, as_pass_note *note)
{
    const as_bound_node *node = &g->nodes[id];
    int                  weights = node->in[1], n_attrs = node->ctx.n_attrs;
    as_attr              attrs[MAX_ATTRS];
    const char          *why = learns(g, ctx, weights) ? NULL : reason_against(g, s, weights);
    if (why) {
        keep(s, why);
        return ASSAY_OK;
    }
    if (n_attrs)
        memcpy(attrs, node->ctx.attrs, (size_t)n_attrs * sizeof *attrs);
    attrs[n_attrs++] = (as_attr)AS_ATTR_S("weights", s->type);
    as_edit     edit = {.op = "assay.FusedGemm",
                        .name = node->ctx.name,
                        .in = node->in,
                        .n_in = node->ctx.n_in,
                        .attrs = attrs,
                        .n_attrs = n_attrs,
                        .out = node->out[0]};
    as_node_ctx n;
    AS_TRY(as_edit_try(env, g, &edit, &n));
    if (!as_edit_is_taken(env, ctx, g->arena, &n)) {
        keep(s, as_arena_printf(g->arena, "the device has no such kernel for '%s'", node->ctx.name));
        return ASSAY_OK;
    }
    note->n_changed++;
    note->bytes_saved += (uint64_t)as_shape_count(&g->values[weights].info.shape) * 2;
    return as_edit_replace(env, g, id, &edit);
}

static assay_status run(assay_env *env, as_graph *g, const as_pass_ctx *ctx, as_pass_note *note)
{
    bool    is_f16 = !strcmp(ctx->weights_as, "f16");
    storage s = {.type = is_f16 ? "f16" : "bf16", .is_f16 = is_f16};
    if (!strcmp(ctx->weights_as, "f32") || as_edit_is_too_large(g, note))
        return ASSAY_OK;
    for (int i = 0; i < g->n_nodes; i++)
        if (is_product(&g->nodes[i]) && (as_edit_is_steady(g, g->nodes[i].in[1]) || learns(g, ctx, g->nodes[i].in[1])))
            AS_TRY(store(env, g, ctx, i, &s, note));
    const char *text = as_arena_printf(g->arena, "weights of %d product%s are stored as %s, half the bytes%s", note->n_changed,
                                       note->n_changed == 1 ? "" : "s", s.type, s.n_kept ? "" : " of f32");
    if (text && s.n_kept)
        text = as_arena_printf(g->arena, "%s; %d stay%s f32: %s", text, s.n_kept, s.n_kept == 1 ? "s" : "", s.why ? s.why : "");
    if (!text)
        return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to say how weights are stored");
    note->text = text;
    return ASSAY_OK;
}

const as_pass as_ps_storage = {
    .name = "storage", .order = 50, .help = "weights of products are stored in 16 bits where --weights-as asks for it", .run = run};
