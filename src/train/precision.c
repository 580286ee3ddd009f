/* precision.c - casts around what lives from the forward to the backward pass. */
#include "train/precision.h"

#include <string.h>

#include "train/rewrite.h"

enum {
    LEAST_BYTES = 4096, /* smaller results are statistics, whose digits matter more than their bytes */
    NEAR = 4            /* nodes: readers so close together share one cast back */
};

const char *as_precision_weights(as_train_precision precision)
{
    static const char *const types[] = {[AS_TRAIN_F32] = "f32", [AS_TRAIN_F16] = "f16", [AS_TRAIN_BF16] = "bf16"};
    return types[precision];
}

typedef struct storer {
    as_rewrite        *r;
    as_train_precision precision;
    const bool        *given;
    int                n_forward;
    bool              *stored;   /* per value: large, f32, a result of the network, read by the backward pass, and no view */
    int               *producer; /* per value: node, -1 */
    int *half, *back, *back_at;  /* per value: ids of the 16-bit one and of the last cast back, with the node that asked for it */
    as_precision_row *rows;
    int              *row; /* per value */
    int               n_rows, n_casts, n_skipped;
} storer;

static bool is_view(const as_node *n) { return n->op->view_only && n->n_out == 1 && n->in[0] >= 0; }

static bool is_network(const storer *s, int node)
{
    return node >= 0 && node < s->n_forward && s->r->from->nodes[node].place.pass == AS_PASS_FORWARD;
}

static uint64_t bytes_of(const storer *s, int value)
{
    const as_tensor_info *info = &s->r->graph.values[value].info;
    return (uint64_t)as_shape_count(&info->shape) * as_dtype_bytes(info->dtype);
}

static bool is_output(const assay_model *m, int value)
{
    for (int i = 0; i < m->n_outputs; i++)
        if (m->outputs[i] == value)
            return true;
    return false;
}

/* Through views to the value whose memory they show. */
static int behind_views(const storer *s, int value)
{
    while (s->producer[value] >= 0 && is_view(&s->r->from->nodes[s->producer[value]]))
        value = s->r->from->nodes[s->producer[value]].in[0];
    return value;
}

static void stored_find(storer *s)
{
    const assay_model *m = s->r->from;
    for (int i = 0; i < m->n_nodes; i++)
        for (int k = 0; k < m->nodes[i].n_out; k++)
            s->producer[m->nodes[i].out[k]] = i;
    for (int i = s->n_forward; i < m->n_nodes; i++)
        for (int k = 0; k < m->nodes[i].n_in && m->nodes[i].place.pass == AS_PASS_BACKWARD; k++) {
            int v = m->nodes[i].in[k] < 0 ? -1 : behind_views(s, m->nodes[i].in[k]);
            if (v >= 0 && is_network(s, s->producer[v]) && !s->given[v] && s->r->graph.values[v].info.dtype == AS_F32 &&
                bytes_of(s, v) >= LEAST_BYTES && !is_output(m, v))
                s->stored[v] = true;
        }
}

/* In the order of the forward pass. */
static void first_skip(storer *s)
{
    const assay_model *m = s->r->from;
    for (int i = 0, left = s->n_skipped; i < s->n_forward && left > 0; i++)
        for (int k = 0; k < m->nodes[i].n_out; k++)
            if (s->stored[m->nodes[i].out[k]]) {
                s->stored[m->nodes[i].out[k]] = false;
                left--;
            }
}

static int cast(storer *s, int value, int id, as_dtype to, const as_train_place *place)
{
    /* ONNX's numbers of element types. */
    as_attr     attr = AS_ATTR_I("to", to == AS_F32 ? 1 : to == AS_F16 ? 10 : 16);
    const char *name = as_arena_printf(&s->r->arena, "%s of %s %d", to == AS_F32 ? "f32" : as_precision_weights(s->precision),
                                       s->r->from->values[value].name, ++s->n_casts);
    as_maker_place(s->r->m, place);
    s->rows[s->row[value]].n_casts++;
    return name ? as_maker_node(s->r->m, "Cast", name, &id, 1, &attr, 1, NULL, 1, NULL) : -1;
}

static void halves_add(storer *s, int node)
{
    const as_node *n = &s->r->from->nodes[node];
    for (int k = 0; k < n->n_out; k++) {
        int v = n->out[k];
        if (!s->stored[v])
            continue;
        s->row[v] = s->n_rows;
        s->rows[s->n_rows++] =
            (as_precision_row){.layer = as_arena_text(as_maker_arena(s->r->m), n->place.layer ? n->place.layer : n->name),
                               .value = as_arena_text(as_maker_arena(s->r->m), s->r->from->values[v].name),
                               .elements = bytes_of(s, v) / 4};
        s->half[v] = cast(s, v, s->r->ids[v], s->precision == AS_TRAIN_F16 ? AS_F16 : AS_BF16, &n->place);
    }
}

/* The id of the f32 value that a node of the backward pass reads instead of v. */
static int back_from(storer *s, int v, int node)
{
    const as_node *reader = &s->r->from->nodes[node];
    int            root = behind_views(s, v), in[AS_MAX_IN], out[AS_MAX_OUT];
    if (!s->stored[root])
        return s->r->ids[v];
    if (s->back[root] < 0 || node - s->back_at[root] > NEAR)
        s->back[root] =
            cast(s, root, s->half[root], AS_F32, &(as_train_place){.pass = AS_PASS_BACKWARD, .layer = reader->place.layer});
    s->back_at[root] = node;
    if (root == v)
        return s->back[root];
    const as_node *view = &s->r->from->nodes[s->producer[v]];
    char           prefix[32];
    snprintf(prefix, sizeof prefix, "f32 %d ", ++s->n_casts);
    as_rewrite_inputs(s->r, s->producer[v], in);
    in[0] = back_from(s, view->in[0], node);
    as_rewrite_node(s->r, s->producer[v], in, prefix, AS_PASS_BACKWARD, out);
    return out[0];
}

static void nodes_write(storer *s)
{
    const assay_model *m = s->r->from;
    for (int i = 0; i < m->n_nodes && !as_maker_failed(s->r->m); i++) {
        int in[AS_MAX_IN];
        as_rewrite_inputs(s->r, i, in);
        for (int k = 0; k < m->nodes[i].n_in && m->nodes[i].place.pass == AS_PASS_BACKWARD; k++)
            if (m->nodes[i].in[k] >= 0)
                in[k] = back_from(s, m->nodes[i].in[k], i);
        as_rewrite_node(s->r, i, in, NULL, AS_PASS_NONE, NULL);
        halves_add(s, i);
    }
}

static assay_status storer_make(assay_env *env, as_rewrite *r, storer *s)
{
    size_t n = (size_t)r->from->n_values + 1;
    s->given = as_rewrite_given(r->from, &r->arena);
    s->n_forward = as_rewrite_backward(r->from);
    s->stored = AS_TAKE(&r->arena, bool, n);
    s->producer = AS_TAKE(&r->arena, int, n);
    s->half = AS_TAKE(&r->arena, int, n);
    s->back = AS_TAKE(&r->arena, int, n);
    s->back_at = AS_TAKE(&r->arena, int, n);
    s->row = AS_TAKE(&r->arena, int, n);
    s->rows = AS_TAKE(as_maker_arena(r->m), as_precision_row, n);
    if (!s->given || !s->stored || !s->producer || !s->half || !s->back || !s->back_at || !s->row || !s->rows)
        return as_fail(env, ASSAY_NO_MEMORY, "training: not enough memory to plan what is stored in 16 bits");
    for (size_t i = 0; i < n; i++)
        s->producer[i] = s->half[i] = s->back[i] = -1;
    return ASSAY_OK;
}

assay_status as_precision_apply(assay_env *env, as_train_precision precision, int n_skipped, assay_model **model, as_precision *out)
{
    as_rewrite   r;
    storer       s = {.r = &r, .precision = precision, .n_skipped = n_skipped};
    assay_status status = as_rewrite_begin(env, *model, &r);
    if (status == ASSAY_OK)
        status = storer_make(env, &r, &s);
    if (status == ASSAY_OK) {
        stored_find(&s);
        first_skip(&s);
        nodes_write(&s);
    }
    AS_TRY(as_rewrite_end(&r, status, model));
    *out = (as_precision){.rows = s.rows, .n_rows = s.n_rows, .n_skipped = n_skipped};
    for (int i = 0; i < s.n_rows; i++)
        out->saved_bytes += s.rows[i].elements * 2;
    return ASSAY_OK;
}
