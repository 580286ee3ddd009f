/* lower.c - from a bound graph to steps and buffers.
 *
 * Every value has a home device, where it is produced; the first time a step on another device reads it, a transfer gives it a
 * buffer there.  Parameters and constants on the host are used in place, unless their address is not aligned to their element (a
 * file may hold them anywhere): those are copied once for the steps that read them.  A value is steady when it depends only on
 * parameters and constants: the steps that produce, move or pack it belong to the set-up (the prologue), all others to the body. */
#include "plan/lower.h"

#include <stdio.h>
#include <string.h>

#include "plan/edit.h"
#include "plan/variable.h"

typedef struct step_list {
    as_step *items;
    int      n, cap;
} step_list;

/* Weights that were packed: input `input` of a node. */
typedef struct packing {
    int node, input, buffer;
    int next; /* an earlier one of the same value, -1: none */
} packing;

typedef struct lowering {
    assay_env    *env;
    assay_plan   *plan;
    as_graph     *graph;
    as_arena     *arena;
    step_list     stage[2]; /* body, prologue */
    int           cap_buffers;
    int          *home;      /* per value: its device */
    int          *buffer;    /* per value and device: -1 not there yet */
    int          *given;     /* per value: the buffer that stands for the memory of a param or constant itself, -1 none yet */
    bool         *steady;    /* per value */
    bool         *kept;      /* per value: depends on parameters, constants and variables only, so it is a weight in training */
    int          *into;      /* per value: the assay.Join's result that it is written into, -1 none */
    int64_t      *into_at;   /* ... and at which element */
    bool         *is_output; /* per value */
    int          *n_readers; /* per value: inputs of nodes that read it, plus graph outputs */
    int          *reader;    /* per value: the last node that reads it */
    int          *number;    /* per value: its index in the current piece, -1: none yet */
    int          *packing;   /* per value: its last packing, -1: none yet */
    packing      *packings;
    int           n_packings, cap_packings;
    as_pass_note *in_place_note, *join_note;

    as_train_place place; /* of the node that is being lowered */
} lowering;

static assay_status no_memory(assay_env *env, const char *what)
{
    return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory for %s", what);
}

/* Doubles an array in the arena.  The old arrays stay until the plan is freed; together they are no larger than the new one. */
static bool grow(as_arena *arena, void *array, int n, int *capacity, size_t bytes_each)
{
    if (n < *capacity)
        return true;
    int   more = *capacity ? *capacity * 2 : 16;
    void *items = as_arena_take(arena, (size_t)more, bytes_each, alignof(max_align_t)), **slot = array;
    if (!items)
        return false;
    if (n)
        memcpy(items, *slot, (size_t)n * bytes_each);
    *slot = items;
    *capacity = more;
    return true;
}

static assay_status buffer_add(lowering *l, const as_buffer *buffer, int *out)
{
    if (!buffer->name || !grow(l->arena, &l->plan->buffers, l->plan->n_buffers, &l->cap_buffers, sizeof(as_buffer)))
        return no_memory(l->env, "another buffer");
    *out = l->plan->n_buffers;
    l->plan->buffers[l->plan->n_buffers++] = *buffer;
    return ASSAY_OK;
}

static assay_status step_add(lowering *l, bool steady, const as_step *step)
{
    step_list *list = &l->stage[steady];
    if (!step->name || !grow(l->arena, &list->items, list->n, &list->cap, sizeof(as_step)))
        return no_memory(l->env, "another step");
    list->items[list->n++] = *step;
    return ASSAY_OK;
}

static int *slot_of(lowering *l, int value, int device) { return &l->buffer[value * l->plan->n_devices + device]; }

static as_buffer_role role_of(const lowering *l, int value, int device)
{
    if (device == 0 && as_variable_of_value(l->plan, value) >= 0)
        return AS_BUF_VARIABLE;
    switch (l->graph->values[value].role) {
    case AS_ROLE_INPUT: return device == 0 ? AS_BUF_INPUT : AS_BUF_ACTIVATION;
    case AS_ROLE_PARAM: return AS_BUF_PARAM;
    case AS_ROLE_CONSTANT: return AS_BUF_CONSTANT;
    case AS_ROLE_COMPUTED: break;
    }
    return device == 0 && l->is_output[value] ? AS_BUF_OUTPUT : AS_BUF_ACTIVATION;
}

/* A new buffer for a value on a device; no step writes it yet. */
static assay_status value_buffer(lowering *l, int value, int device, int *out)
{
    const as_bound_value *v = &l->graph->values[value];
    as_buffer             buffer = {.name = v->name,
                                    .role = role_of(l, value, device),
                                    .dtype = v->info.dtype,
                                    .shape = v->info.shape,
                                    .bytes = as_info_bytes(&v->info),
                                    .device = device,
                                    .alias_of = -1,
                                    .value = value};
    if (v->data && l->plan->devices[device]->host_memory)
        buffer.outside = v->data;
    AS_TRY(buffer_add(l, &buffer, out));
    *slot_of(l, value, device) = *out;
    return ASSAY_OK;
}

/* The memory of a param or constant itself; steps of the host read it there if it is aligned, otherwise it can only be copied. */
static assay_status given_buffer(lowering *l, int value, int *out)
{
    const as_bound_value *v = &l->graph->values[value];
    if (l->given[value] < 0) {
        as_buffer buffer = {.name = v->name,
                            .role = role_of(l, value, 0),
                            .dtype = v->info.dtype,
                            .shape = v->info.shape,
                            .bytes = as_info_bytes(&v->info),
                            .outside = v->data,
                            .alias_of = -1,
                            .value = value};
        AS_TRY(buffer_add(l, &buffer, &l->given[value]));
        if (as_dtype_aligned(v->info.dtype, v->data))
            *slot_of(l, value, 0) = l->given[value];
    }
    *out = l->given[value];
    return ASSAY_OK;
}

typedef struct transfer {
    as_step_kind kind;
    const char  *verb, *why;
} transfer;

static const transfer put = {AS_STEP_PUT, "put", "a step on this device reads data of the host"};
static const transfer get = {AS_STEP_GET, "get", "the host needs data of this device"};
static const transfer update = {AS_STEP_UPDATE, "update", "the variable keeps the result for the next step"};

static assay_status transfer_add(lowering *l, int value, const transfer *t, int device, int from, int to)
{
    const as_bound_value *v = &l->graph->values[value];
    int                  *operands = AS_TAKE(l->arena, int, 2);
    if (!operands)
        return no_memory(l->env, "a transfer");
    operands[0] = from;
    operands[1] = to;
    uint64_t bytes = as_info_bytes(&v->info);
    as_step  step = {
         .kind = t->kind,
         .name = as_arena_printf(l->arena, "%s %s", t->verb, v->name),
         .place = l->place,
         .device = device,
         .node = -1,
         .seg = {.in = &operands[0], .out = &operands[1], .n_in = 1, .n_out = 1, .scratch = -1, .packed = AS_NOT_PACKED},
         .choice = {.name = t->verb, .why = t->why},
         .cost = {.bytes_read = bytes, .bytes_written = bytes},
    };
    return step_add(l, l->steady[value], &step);
}

/* An aligned copy of a param or constant, which steps of this device can load. */
static assay_status align_add(lowering *l, int value, int device, int *out)
{
    const as_bound_value *v = &l->graph->values[value];
    size_t                each = as_dtype_bytes(v->info.dtype);
    transfer              align = {
                     AS_STEP_ALIGN, "align",
                     as_arena_printf(l->arena, "the file holds these weights at addresses that are not multiples of %zu bytes, the size of %s",
                                     each, as_dtype_name(v->info.dtype))};
    as_buffer buffer = {.name = as_arena_printf(l->arena, "aligned %s", v->name),
                        .role = AS_BUF_PACKED,
                        .dtype = v->info.dtype,
                        .shape = v->info.shape,
                        .bytes = as_info_bytes(&v->info),
                        .device = device,
                        .alias_of = -1,
                        .value = value};
    int       from;
    if (!align.why)
        return no_memory(l->env, "a reason");
    AS_TRY(given_buffer(l, value, &from));
    AS_TRY(buffer_add(l, &buffer, out));
    *slot_of(l, value, device) = *out;
    return transfer_add(l, value, &align, device, from, *out);
}

/* The buffer of a value on a device; adds a transfer if it is not there yet.  All transfers go through the host. */
static assay_status value_on(lowering *l, int value, int device, int *out)
{
    const as_bound_value *v = &l->graph->values[value];
    if (*slot_of(l, value, device) >= 0) {
        *out = *slot_of(l, value, device);
        return ASSAY_OK;
    }
    int from, to, home = l->home[value];
    if (v->data && l->plan->devices[device]->host_memory) {
        if (!as_dtype_aligned(v->info.dtype, v->data))
            return align_add(l, value, device, out);
        return device == 0 ? given_buffer(l, value, out) : value_buffer(l, value, device, out);
    }
    if (device == home)
        return value_buffer(l, value, device, out);
    AS_TRY(v->data ? given_buffer(l, value, &from) : value_on(l, value, device == 0 ? home : 0, &from));
    AS_TRY(value_buffer(l, value, device, &to));
    AS_TRY(device == 0 ? transfer_add(l, value, &get, home, from, to) : transfer_add(l, value, &put, device, from, to));
    *out = to;
    return ASSAY_OK;
}

/* --- Nodes ------------------------------------------------------------------------------------------- */

static void refusal_count(as_plan_share *share, const as_node_ctx *ctx, const char *why)
{
    if (!share->n_refused++) {
        share->first_refused = ctx->name;
        share->why = why;
    }
}

/* "opencl:0 does not take it (why) and neither does cpu (why)". */
static assay_status nobody(lowering *l, const as_node_ctx *ctx, const as_trace_refusal *refused, int n)
{
    char   text[768] = "";
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof text; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s%s (%s)", i ? " and neither does " : "", refused[i].kernel,
                               i ? "" : " does not take it", refused[i].why);
    if (n == 1)
        return as_fail(l->env, ASSAY_UNSUPPORTED, "plan: %s '%s': %s does not take it: %s", ctx->op->name, ctx->name,
                       refused[0].kernel, refused[0].why);
    return as_fail(l->env, ASSAY_UNSUPPORTED, "plan: %s '%s': %s", ctx->op->name, ctx->name, text);
}

/* The most preferred device that takes the node; the reasons of those before it are kept among the refusals. */
static assay_status choose(lowering *l, int node, const as_node_ctx *ctx, int *device, as_choice *out)
{
    const assay_plan *plan = l->plan;
    as_trace_refusal *refused = AS_TAKE(l->arena, as_trace_refusal, plan->n_devices);
    int               n = 0;
    if (!refused)
        return no_memory(l->env, "the refusals of a step");
    for (int i = 0; i < plan->n_devices; i++) {
        as_device *asked = plan->devices[plan->order[i]];
        as_choice  choice = {0};
        if (asked->caps.takes_graphs) /* it takes pieces only */
            choice.why = plan->claims[plan->order[i]][node].why;
        else
            AS_TRY(asked->backend->choose(l->env, asked, ctx, l->arena, &choice));
        const char *why = choice.why ? choice.why : "no reason given";
        if (!choice.kernel) {
            refusal_count(&plan->shares[plan->order[i]], ctx, why);
            refused[n++] = (as_trace_refusal){asked->name, why};
            continue;
        }
        if (n) {
            as_trace_refusal *all = AS_TAKE(l->arena, as_trace_refusal, choice.n_refused + n);
            if (!all)
                return no_memory(l->env, "the refusals of a step");
            memcpy(all, refused, (size_t)n * sizeof *all);
            if (choice.n_refused)
                memcpy(all + n, choice.refused, (size_t)choice.n_refused * sizeof *all);
            choice.refused = all;
            choice.n_refused += n;
        }
        plan->shares[plan->order[i]].n_nodes++;
        *device = plan->order[i];
        *out = choice;
        return ASSAY_OK;
    }
    return nobody(l, ctx, refused, n);
}

static bool is_given(const lowering *l, int value) { return l->graph->values[value].role != AS_ROLE_COMPUTED; }

/* The value whose memory an alias shares, through aliases of aliases. */
static int alias_source(const lowering *l, int value)
{
    int buffer = l->buffer[value * l->plan->n_devices + l->home[value]];
    if (buffer >= 0 && l->plan->buffers[buffer].alias_of >= 0)
        return l->plan->buffers[l->plan->buffers[buffer].alias_of].value;
    return value;
}

/* A graph output must not share memory with the caller's input or with a weight: it is copied then. */
static bool can_alias(const lowering *l, const as_bound_node *node)
{
    if (!l->plan->compiled || !node->ctx.op->view_only || node->ctx.n_out != 1 || node->out[0] < 0 || node->in[0] < 0)
        return false;
    return !(l->is_output[node->out[0]] && is_given(l, alias_source(l, node->in[0])));
}

/* The value shares the memory of another buffer, from `begin` elements on if it is a part of it, and needs no bytes of its own. */
static assay_status shared_add(lowering *l, int value, int device, int with, const int64_t *begin, as_pass_note *note)
{
    const as_bound_value *v = &l->graph->values[value];
    size_t                skipped = begin ? (size_t)*begin * as_dtype_bytes(v->info.dtype) : 0;
    as_buffer             buffer = {.name = v->name,
                                    .role = role_of(l, value, device),
                                    .dtype = v->info.dtype,
                                    .shape = v->info.shape,
                                    .device = device,
                                    .alias_of = as_buffer_root(l->plan, with),
                                    .alias_begin = l->plan->buffers[with].alias_begin + skipped,
                                    .is_part = begin != NULL,
                                    .shares = with + 1,
                                    .in_place = note == l->in_place_note,
                                    .value = value};
    note->n_changed++;
    note->bytes_saved += as_info_bytes(&v->info);
    return buffer_add(l, &buffer, slot_of(l, value, device));
}

static assay_status alias_add(lowering *l, const as_bound_node *node, as_pass_note *note)
{
    int value = node->out[0], device = l->home[node->in[0]], source;
    AS_TRY(value_on(l, node->in[0], device, &source));
    l->home[value] = device;
    if (!node->ctx.op->view_begin)
        return shared_add(l, value, device, source, NULL, note);
    int64_t begin = node->ctx.op->view_begin(&node->ctx);
    return shared_add(l, value, device, source, &begin, note);
}

/* --- Results that are written into a block ----------------------------------------------------------------- */

/* Whether the step that computes the value may write it into the place that an assay.Join gives it. */
static bool may_be_written_into(const lowering *l, int value)
{
    const as_bound_value *v = &l->graph->values[value];
    return v->role == AS_ROLE_COMPUTED && v->producer >= 0 && !l->is_output[value] && l->into[value] < 0 &&
           v->info.layout == AS_LAYOUT_ROW_MAJOR && as_info_bytes(&v->info) > 0 &&
           !(l->plan->piece_of && l->plan->piece_of[v->producer] >= 0);
}

/* The value whose memory a view (Reshape) shows from its first element on. */
static int behind_views(const lowering *l, int value)
{
    for (;;) {
        int                  producer = l->graph->values[value].producer;
        const as_bound_node *node = producer < 0 ? NULL : &l->graph->nodes[producer];
        if (!node || !node->ctx.op->view_only || node->ctx.op->view_begin || node->in[0] < 0)
            return value;
        value = node->in[0];
    }
}

/* Blocks come after their parts, so that going backwards a block of blocks is known first. */
static void joins_mark(lowering *l)
{
    for (int i = l->graph->n_nodes - 1; i >= 0 && l->plan->compiled; i--) {
        const as_bound_node *node = &l->graph->nodes[i];
        const as_attr       *begins = as_edit_is(node, "assay.Join") ? as_attr_find(&node->ctx, "begins") : NULL;
        for (int k = 0; begins && k < node->ctx.n_in; k++) {
            int value = behind_views(l, node->in[k]);
            if (may_be_written_into(l, value)) {
                l->into[value] = node->out[0];
                l->into_at[value] = begins->ints[k];
            }
        }
    }
}

/* The buffer of a value that a step on this device is about to write. */
static assay_status result_buffer(lowering *l, int value, int device, int *out)
{
    if (*slot_of(l, value, device) >= 0) { /* a block whose parts were written already */
        *out = *slot_of(l, value, device);
        return ASSAY_OK;
    }
    if (l->into[value] < 0 || device != 0)
        return value_buffer(l, value, device, out);
    int block;
    l->home[l->into[value]] = device;
    AS_TRY(result_buffer(l, l->into[value], device, &block));
    AS_TRY(shared_add(l, value, device, block, &l->into_at[value], l->join_note));
    *out = *slot_of(l, value, device);
    return ASSAY_OK;
}

/* --- In place -------------------------------------------------------------------------------------------- */

/* Every value in that memory must have been read for the last time: each has one reader, and this step is the last of them. */
static bool is_last_read(const lowering *l, int buffer, int node)
{
    int root = as_buffer_root(l->plan, buffer);
    for (int b = 0; b < l->plan->n_buffers; b++) {
        const as_buffer *other = &l->plan->buffers[b];
        if (as_buffer_root(l->plan, b) != root)
            continue;
        if (other->role != AS_BUF_ACTIVATION || other->value < 0 || l->n_readers[other->value] != 1 ||
            (b == buffer && l->reader[other->value] != node))
            return false;
    }
    return true;
}

static bool is_alike(const as_tensor_info *a, const as_tensor_info *b)
{
    return a->dtype == b->dtype && a->layout == b->layout && as_shape_same(&a->shape, &b->shape);
}

/* The step that computes a variable's new value may write it in place, if no later step reads the old value or an alias of it. */
static bool is_update_in_place(const lowering *l, const as_bound_node *node, int node_id, int input, int output, int buffer)
{
    int v = as_variable_of_value(l->plan, node->in[input]);
    if (v < 0 || l->plan->variables[v].output < 0 || l->graph->outputs[l->plan->variables[v].output] != node->out[output] ||
        l->is_output[node->in[input]])
        return false;
    for (int k = 0; k < node->ctx.n_in; k++)
        if (k != input && node->in[k] == node->in[input])
            return false;
    for (int b = 0; b < l->plan->n_buffers; b++) {
        const as_buffer *other = &l->plan->buffers[b];
        if (as_buffer_root(l->plan, b) == buffer && l->reader[other->value] > (b == buffer ? node_id : node_id - 1))
            return false;
    }
    return true;
}

/* Whether the kernel could write the output over the input. */
static bool is_allowed(const as_step *step, const as_node_ctx *ctx, int input, int output)
{
    bool only = ctx->n_out == 1 && input < 32 && (step->choice.in_place >> input & 1u);
    return only || (output < AS_N_IN_PLACE && step->choice.in_place_of[output] == input + 1);
}

/* The input whose memory the output may take over, or -1. */
static int input_to_overwrite(const lowering *l, const as_step *step, int output, bool steady)
{
    const as_bound_node *node = &l->graph->nodes[step->node];
    const as_node_ctx   *ctx = &node->ctx;
    if (steady || l->graph->n_nodes > AS_EDIT_MAX_NODES || !as_info_bytes(&ctx->out[output]) || l->into[node->out[output]] >= 0)
        return -1;
    int found = -1;
    for (int i = 0; i < ctx->n_in; i++) {
        if (!is_allowed(step, ctx, i, output) || node->in[i] < 0 || l->home[node->in[i]] != step->device ||
            l->steady[node->in[i]] || !is_alike(&ctx->in[i], &ctx->out[output]))
            continue;
        if (l->plan->in_place && is_update_in_place(l, node, step->node, i, output, step->seg.in[i]))
            return i; /* the best choice: it also saves the update's copy */
        if (found < 0 && !is_given(l, node->in[i]) && is_last_read(l, step->seg.in[i], step->node))
            found = i;
    }
    return found;
}

/* --- Packing -------------------------------------------------------------------------------------------- */

static bool is_attr_alike(const as_attr *a, const as_attr *b)
{
    if (strcmp(a->name, b->name) || a->kind != b->kind || a->n != b->n)
        return false;
    switch (a->kind) {
    case AS_ATTR_INT: return a->i == b->i;
    case AS_ATTR_FLOAT: return !memcmp(&a->f, &b->f, sizeof a->f);
    case AS_ATTR_TEXT: return !strcmp(a->text, b->text);
    case AS_ATTR_INTS: return !a->n || !memcmp(a->ints, b->ints, a->n * sizeof *a->ints);
    case AS_ATTR_FLOATS: return !a->n || !memcmp(a->floats, b->floats, a->n * sizeof *a->floats);
    default: return a->tensor == b->tensor && a->texts == b->texts;
    }
}

/* Whether two nodes pack the same: all that packing may know, the node's context and its weights, is the same. */
static bool is_packed_alike(const lowering *l, int one, int other)
{
    const as_bound_node *a = &l->graph->nodes[one], *b = &l->graph->nodes[other];
    if (a->ctx.op != b->ctx.op || a->ctx.n_in != b->ctx.n_in || a->ctx.n_out != b->ctx.n_out || a->ctx.n_attrs != b->ctx.n_attrs)
        return false;
    for (int i = 0; i < a->ctx.n_attrs; i++)
        if (!is_attr_alike(&a->ctx.attrs[i], &b->ctx.attrs[i]))
            return false;
    for (int i = 0; i < a->ctx.n_in; i++) {
        bool weight = (a->in[i] >= 0 && l->kept[a->in[i]]) || (b->in[i] >= 0 && l->kept[b->in[i]]);
        if ((weight && a->in[i] != b->in[i]) || !is_alike(&a->ctx.in[i], &b->ctx.in[i]))
            return false;
    }
    for (int i = 0; i < a->ctx.n_out; i++)
        if (!is_alike(&a->ctx.out[i], &b->ctx.out[i]))
            return false;
    return true;
}

/* The packed form of these weights that an earlier node of the same kind uses, or -1: an unrolled cell packs its weights once. */
static int packing_find(const lowering *l, int node_id, int input, const as_step *step)
{
    for (int i = l->packing[l->graph->nodes[node_id].in[input]]; i >= 0; i = l->packings[i].next) {
        const packing   *p = &l->packings[i];
        const as_buffer *b = &l->plan->buffers[p->buffer];
        if (p->input == input && b->device == step->device && b->bytes == step->choice.packed_bytes[input] &&
            b->packer == step->choice.kernel && is_packed_alike(l, p->node, node_id))
            return p->buffer;
    }
    return -1;
}

static assay_status packing_keep(lowering *l, int node_id, int input, int buffer)
{
    int value = l->graph->nodes[node_id].in[input];
    if (!grow(l->arena, &l->packings, l->n_packings, &l->cap_packings, sizeof *l->packings))
        return no_memory(l->env, "the list of packed weights");
    l->packings[l->n_packings] = (packing){.node = node_id, .input = input, .buffer = buffer, .next = l->packing[value]};
    l->packing[value] = l->n_packings++;
    return ASSAY_OK;
}

/* Weights that the kernel wants in a form of its own are packed once, in the set-up; those that depend on variables, as in training,
 * in every run, unless its kernel prefers to read them in place; values that depend on inputs are not packed.  Packing one operand may read the other weights. */
static assay_status packs_add(lowering *l, int node_id, as_step *step)
{
    const as_bound_node *node = &l->graph->nodes[node_id];
    bool                 steady = true; /* all weights that packing may read */
    for (int k = 0; k < node->ctx.n_in; k++)
        steady = steady && !(node->in[k] >= 0 && l->kept[node->in[k]] && !l->steady[node->in[k]]);
    for (int i = 0; i < AS_N_PACKED && i < node->ctx.n_in; i++) {
        int value = node->in[i];
        if (!step->choice.packed_bytes[i] || value < 0 || !l->kept[value] || (!steady && (step->choice.read_in_place >> i & 1u)))
            continue;
        if (steady && (step->seg.packed[i] = packing_find(l, node_id, i, step)) >= 0)
            continue;
        const char *of = l->graph->values[value].name;
        as_buffer   buffer = {.name = as_arena_printf(l->arena, "packed %s", of),
                              .role = AS_BUF_PACKED,
                              .dtype = AS_U8,
                              .shape = AS_SHAPE((int64_t)step->choice.packed_bytes[i]),
                              .bytes = step->choice.packed_bytes[i],
                              .device = step->device,
                              .alias_of = -1,
                              .packer = step->choice.kernel,
                              .value = value};
        AS_TRY(buffer_add(l, &buffer, &step->seg.packed[i]));
        if (steady)
            AS_TRY(packing_keep(l, node_id, i, step->seg.packed[i]));

        int *in = AS_TAKE(l->arena, int, node->ctx.n_in), *out = AS_TAKE(l->arena, int, node->ctx.n_out);
        if (!in || !out)
            return no_memory(l->env, "a packing step");
        for (int k = 0; k < node->ctx.n_in; k++)
            in[k] = node->in[k] >= 0 && l->kept[node->in[k]] ? step->seg.in[k] : -1;
        for (int k = 0; k < node->ctx.n_out; k++)
            out[k] = -1;
        as_step pack = *step;
        pack.kind = AS_STEP_PACK;
        /* Exporters rename weights, "onnx::MatMul_189"; then the module's name is more useful. */
        const char *module = node->ctx.module ? node->ctx.module : "";
        bool        is_its = !strncmp(of, module, strlen(module));
        pack.name = is_its ? as_arena_printf(l->arena, "pack %s", of) : as_arena_printf(l->arena, "pack weights of %s", module);
        pack.seg = (as_seg_step){.ctx = &node->ctx,
                                 .in = in,
                                 .out = out,
                                 .n_in = node->ctx.n_in,
                                 .n_out = node->ctx.n_out,
                                 .scratch = -1,
                                 .packed = AS_NOT_PACKED,
                                 .pack = true,
                                 .pack_input = i};
        pack.seg.packed[i] = step->seg.packed[i];
        pack.cost = (as_cost){.bytes_read = as_info_bytes(&node->ctx.in[i]), .bytes_written = step->choice.packed_bytes[i]};
        pack.choice.issued = (as_cost){0};
        AS_TRY(step_add(l, steady, &pack));
    }
    return ASSAY_OK;
}

/* A block into which all parts were written by the steps that computed them: nothing is left to move. */
static bool is_written_already(const assay_plan *plan, const as_bound_node *node, const int *in, const int *out)
{
    bool is_join = as_edit_is(node, "assay.Join") && out[0] >= 0;
    for (int i = 0; i < node->ctx.n_in && is_join; i++)
        is_join = in[i] >= 0 && plan->buffers[in[i]].is_part && as_buffer_root(plan, in[i]) == as_buffer_root(plan, out[0]);
    return is_join;
}

static assay_status node_add(lowering *l, int node_id, bool steady)
{
    as_bound_node     *node = &l->graph->nodes[node_id];
    const as_node_ctx *ctx = &node->ctx;
    int               *in = AS_TAKE(l->arena, int, ctx->n_in), *out = AS_TAKE(l->arena, int, ctx->n_out);
    if (!in || !out)
        return no_memory(l->env, "the operands of a step");
    as_step step = {
        .kind = AS_STEP_NODE,
        .name = ctx->name,
        .module = ctx->module,
        .place = ctx->place,
        .node = node_id,
        .cost = ctx->op->cost(ctx),
        .seg = {.ctx = ctx, .in = in, .out = out, .n_in = ctx->n_in, .n_out = ctx->n_out, .scratch = -1, .packed = AS_NOT_PACKED}};
    AS_TRY(choose(l, node_id, ctx, &step.device, &step.choice));
    for (int i = 0; i < ctx->n_in; i++) {
        in[i] = -1;
        if (node->in[i] >= 0)
            AS_TRY(value_on(l, node->in[i], step.device, &in[i]));
    }
    AS_TRY(packs_add(l, node_id, &step));
    for (int i = 0; i < ctx->n_out; i++) {
        out[i] = -1;
        if (node->out[i] < 0)
            continue;
        l->home[node->out[i]] = step.device;
        int over = input_to_overwrite(l, &step, i, steady);
        if (over >= 0 && l->plan->in_place) {
            AS_TRY(shared_add(l, node->out[i], step.device, in[over], NULL, l->in_place_note));
            out[i] = *slot_of(l, node->out[i], step.device);
        } else {
            AS_TRY(result_buffer(l, node->out[i], step.device, &out[i]));
            if (over >= 0) { /* nothing overwrites in this plan; the trace says what could */
                l->plan->buffers[out[i]].shares = in[over] + 1;
                l->plan->buffers[out[i]].in_place = true;
            }
        }
    }
    if (is_written_already(l->plan, node, in, out))
        step.cost = (as_cost){0};
    if (step.choice.scratch_bytes) {
        as_buffer scratch = {.name = as_arena_printf(l->arena, "scratch of %s", ctx->name),
                             .role = AS_BUF_SCRATCH,
                             .dtype = AS_U8,
                             .shape = AS_SHAPE((int64_t)step.choice.scratch_bytes),
                             .bytes = step.choice.scratch_bytes,
                             .device = step.device,
                             .alias_of = -1,
                             .value = -1};
        AS_TRY(buffer_add(l, &scratch, &step.seg.scratch));
    }
    return step_add(l, steady, &step);
}

/* --- Pieces ------------------------------------------------------------------------------------------- */

typedef struct piece_maker {
    lowering       *l;
    as_plan_piece  *p;
    as_piece_value *values;
    int            *in, *out;
    int             n_values, n_in, n_out;
} piece_maker;

/* Whether a node outside the piece reads the value, or the value is a graph output. */
static bool leaves(const lowering *l, const as_plan_piece *p, int value)
{
    return l->is_output[value] || l->reader[value] >= p->first + p->n_nodes; /* the last reader, in the order of nodes */
}

static assay_status piece_value(piece_maker *m, int value, bool made_here, int *out)
{
    lowering *l = m->l;
    *out = value < 0 ? -1 : l->number[value];
    if (*out >= 0 || value < 0)
        return ASSAY_OK;
    const as_bound_value *v = &l->graph->values[value];
    as_piece_value       *to = &m->values[m->n_values];
    *to = (as_piece_value){.info = &v->info, .data = v->data, .buffer = -1, .is_result = made_here};
    *out = l->number[value] = m->n_values++;
    if (made_here)
        l->home[value] = m->p->device;
    if (made_here && !leaves(l, m->p, value))
        return ASSAY_OK;
    AS_TRY(made_here ? value_buffer(l, value, m->p->device, &to->buffer) : value_on(l, value, m->p->device, &to->buffer));
    if (made_here)
        m->out[m->n_out++] = to->buffer;
    else
        m->in[m->n_in++] = to->buffer;
    return ASSAY_OK;
}

static assay_status piece_node(piece_maker *m, const as_bound_node *node, as_piece_node *to)
{
    const as_node_ctx *ctx = &node->ctx;
    int               *in = AS_TAKE(m->l->arena, int, ctx->n_in), *out = AS_TAKE(m->l->arena, int, ctx->n_out);
    if (!in || !out)
        return no_memory(m->l->env, "a piece");
    for (int k = 0; k < ctx->n_in; k++)
        AS_TRY(piece_value(m, node->in[k], false, &in[k]));
    for (int k = 0; k < ctx->n_out; k++)
        AS_TRY(piece_value(m, node->out[k], true, &out[k]));
    *to = (as_piece_node){.ctx = ctx, .in = in, .out = out};
    return ASSAY_OK;
}

static void cost_add(as_cost *sum, const as_cost *more)
{
    sum->flops = sum->flops + more->flops < sum->flops ? UINT64_MAX : sum->flops + more->flops;
    sum->special = sum->special + more->special < sum->special ? UINT64_MAX : sum->special + more->special;
}

static assay_status piece_scratch(lowering *l, as_plan_piece *p, as_step *step)
{
    as_device *device = l->plan->devices[p->device];
    size_t     bytes = device->backend->piece_scratch ? device->backend->piece_scratch(device, &p->piece) : 0;
    if (!bytes)
        return ASSAY_OK;
    as_buffer scratch = {.name = as_arena_printf(l->arena, "inside of %s", p->name),
                         .role = AS_BUF_SCRATCH,
                         .dtype = AS_U8,
                         .shape = AS_SHAPE((int64_t)bytes),
                         .bytes = bytes,
                         .device = p->device,
                         .alias_of = -1,
                         .value = -1};
    AS_TRY(buffer_add(l, &scratch, &step->seg.scratch));
    p->piece.scratch = step->seg.scratch;
    return ASSAY_OK;
}

/* One step: inputs are brought to the device, outputs get buffers there, and values inside the piece have none. */
static assay_status piece_add(lowering *l, as_plan_piece *p)
{
    const as_graph *g = l->graph;
    int             most = 0;
    for (int i = p->first; i < p->first + p->n_nodes; i++)
        most += g->nodes[i].ctx.n_in + g->nodes[i].ctx.n_out;
    piece_maker    m = {.l = l,
                        .p = p,
                        .values = AS_TAKE(l->arena, as_piece_value, most),
                        .in = AS_TAKE(l->arena, int, most),
                        .out = AS_TAKE(l->arena, int, most)};
    as_piece_node *nodes = AS_TAKE(l->arena, as_piece_node, p->n_nodes);
    if (!m.values || !m.in || !m.out || !nodes)
        return no_memory(l->env, "a piece");
    as_step step = {.kind = AS_STEP_PIECE,
                    .name = p->name,
                    .module = p->module,
                    .place = l->graph->nodes[p->first].ctx.place,
                    .device = p->device,
                    .node = -1,
                    .piece = p,
                    .choice = l->plan->claims[p->device][p->first],
                    .seg = {.in = m.in, .out = m.out, .scratch = -1, .packed = AS_NOT_PACKED}};
    for (int i = 0; i < p->n_nodes; i++) {
        const as_bound_node *node = &g->nodes[p->first + i];
        as_cost              cost = node->ctx.op->cost(&node->ctx);
        AS_TRY(piece_node(&m, node, &nodes[i]));
        cost_add(&step.cost, &cost);
    }
    for (int i = 0; i < p->n_nodes; i++) {
        const as_bound_node *node = &g->nodes[p->first + i];
        for (int k = 0; k < node->ctx.n_in + node->ctx.n_out; k++) {
            int value = k < node->ctx.n_in ? node->in[k] : node->out[k - node->ctx.n_in];
            if (value >= 0)
                l->number[value] = -1;
        }
    }
    l->plan->shares[p->device].n_nodes += p->n_nodes;
    step.seg.n_in = m.n_in;
    step.seg.n_out = m.n_out;
    for (int i = 0; i < m.n_in; i++)
        step.cost.bytes_read += l->plan->buffers[as_buffer_root(l->plan, m.in[i])].bytes;
    for (int i = 0; i < m.n_out; i++)
        step.cost.bytes_written += l->plan->buffers[m.out[i]].bytes;
    p->piece = (as_piece){.nodes = nodes, .values = m.values, .n_nodes = p->n_nodes, .n_values = m.n_values, .scratch = -1};
    AS_TRY(piece_scratch(l, p, &step));
    return step_add(l, p->steady, &step);
}

/* Whether all inputs have the mark.  An operator without inputs may be random, and a random one must run every time. */
static bool all_are(const bool *marks, const as_bound_node *node)
{
    int n_present = 0;
    for (int i = 0; i < node->ctx.n_in; i++)
        if (node->in[i] >= 0) {
            if (!marks[node->in[i]])
                return false;
            n_present++;
        }
    return n_present > 0;
}

/* --- All of it --------------------------------------------------------------------------------------- */

static assay_status ends_add(lowering *l, const int *values, int n, int **out)
{
    int *ids = AS_TAKE(l->arena, int, n);
    if (!ids)
        return no_memory(l->env, "the inputs and outputs");
    for (int i = 0; i < n; i++)
        AS_TRY(value_on(l, values[i], 0, &ids[i]));
    *out = ids;
    return ASSAY_OK;
}

/* After all steps that read them: variables take their new values, unless they were written in place. */
static assay_status updates_add(lowering *l)
{
    if (l->place.pass != AS_PASS_NONE)
        l->place = (as_train_place){.pass = AS_PASS_UPDATE};
    for (int i = 0; i < l->plan->n_variables; i++) {
        as_variable *v = &l->plan->variables[i];
        if (v->output < 0)
            continue;
        int from = l->plan->outputs[v->output];
        v->in_place = as_buffer_root(l->plan, from) == v->buffer;
        if (!v->in_place)
            AS_TRY(transfer_add(l, v->value, &update, 0, from, v->buffer));
    }
    return ASSAY_OK;
}

/* The set-up comes first.  Pointers to a step's choice are set only now, because steps no longer move. */
static assay_status steps_join(lowering *l)
{
    const step_list *body = &l->stage[false], *prologue = &l->stage[true];
    assay_plan      *plan = l->plan;
    plan->n_prologue = prologue->n;
    plan->n_steps = prologue->n + body->n;
    plan->steps = AS_TAKE(l->arena, as_step, plan->n_steps);
    if (!plan->steps)
        return no_memory(l->env, "the steps");
    if (prologue->n)
        memcpy(plan->steps, prologue->items, (size_t)prologue->n * sizeof(as_step));
    if (body->n)
        memcpy(plan->steps + prologue->n, body->items, (size_t)body->n * sizeof(as_step));
    for (int s = 0; s < plan->n_steps; s++) {
        plan->steps[s].seg.choice = &plan->steps[s].choice;
        plan->steps[s].seg.index = s;
        if (plan->steps[s].piece)
            plan->pieces[plan->steps[s].piece - plan->pieces].piece.index = s;
    }
    return ASSAY_OK;
}

static assay_status lower(lowering *l, as_pass_note *alias_note)
{
    as_graph *g = l->graph;
    AS_TRY(ends_add(l, g->inputs, g->n_inputs, &l->plan->inputs));
    for (int i = 0; i < l->plan->n_variables; i++)
        AS_TRY(value_on(l, l->plan->variables[i].value, 0, &l->plan->variables[i].buffer));
    for (int i = 0; i < g->n_nodes; i++) {
        const as_bound_node *node = &g->nodes[i];
        if (node->dead)
            continue;
        l->place = node->ctx.place;
        bool steady = all_are(l->steady, node), kept = all_are(l->kept, node);
        for (int k = 0; k < node->ctx.n_out; k++)
            if (node->out[k] >= 0) {
                l->steady[node->out[k]] = steady;
                l->kept[node->out[k]] = kept;
            }
        int piece = l->plan->piece_of ? l->plan->piece_of[i] : -1;
        if (piece < 0)
            AS_TRY(can_alias(l, node) ? alias_add(l, node, alias_note) : node_add(l, i, steady));
        else if (l->plan->pieces[piece].first == i)
            AS_TRY(piece_add(l, &l->plan->pieces[piece]));
    }
    AS_TRY(ends_add(l, g->outputs, g->n_outputs, &l->plan->outputs));
    AS_TRY(updates_add(l));
    return steps_join(l);
}

static void readers_count(lowering *l)
{
    for (int i = 0; i < l->graph->n_nodes; i++)
        for (int k = 0; !l->graph->nodes[i].dead && k < l->graph->nodes[i].ctx.n_in; k++)
            if (l->graph->nodes[i].in[k] >= 0) {
                l->n_readers[l->graph->nodes[i].in[k]]++;
                l->reader[l->graph->nodes[i].in[k]] = i;
            }
    for (int i = 0; i < l->graph->n_outputs; i++)
        l->n_readers[l->graph->outputs[i]]++;
}

assay_status as_plan_lower(assay_env *env, assay_plan *plan, as_pass_note *alias_note, as_pass_note *in_place_note)
{
    as_graph    *g = &plan->graph;
    as_arena     marks = {0};
    lowering     l = {.env = env,
                      .plan = plan,
                      .graph = g,
                      .arena = &plan->arena,
                      .home = AS_TAKE(&marks, int, g->n_values),
                      .steady = AS_TAKE(&marks, bool, g->n_values),
                      .kept = AS_TAKE(&marks, bool, g->n_values),
                      .into = AS_TAKE(&marks, int, g->n_values),
                      .into_at = AS_TAKE(&marks, int64_t, g->n_values),
                      .is_output = AS_TAKE(&marks, bool, g->n_values),
                      .given = AS_TAKE(&marks, int, g->n_values),
                      .n_readers = AS_TAKE(&marks, int, g->n_values),
                      .reader = AS_TAKE(&marks, int, g->n_values),
                      .number = AS_TAKE(&marks, int, g->n_values),
                      .packing = AS_TAKE(&marks, int, g->n_values),
                      .in_place_note = in_place_note,
                      .join_note = alias_note,
                      .buffer = AS_TAKE(&marks, int, (size_t)g->n_values *(size_t)plan->n_devices)};
    assay_status status;
    if (!l.home || !l.steady || !l.is_output || !l.given || !l.buffer || !l.n_readers || !l.reader || !l.number || !l.kept ||
        !l.into || !l.into_at || !l.packing) {
        status = no_memory(env, "the marks of the graph's values");
    } else {
        for (int i = 0; i < g->n_values * plan->n_devices; i++)
            l.buffer[i] = -1;
        for (int i = 0; i < g->n_values; i++)
            l.given[i] = l.number[i] = l.into[i] = l.packing[i] = -1;
        for (int i = 0; i < g->n_values; i++)
            l.steady[i] = l.kept[i] = g->values[i].role == AS_ROLE_PARAM || g->values[i].role == AS_ROLE_CONSTANT;
        for (int i = 0; i < plan->n_variables; i++)
            l.kept[plan->variables[i].value] = true;
        for (int i = 0; i < g->n_outputs; i++)
            l.is_output[g->outputs[i]] = true;
        readers_count(&l);
        joins_mark(&l);
        status = lower(&l, alias_note);
    }
    as_arena_drop(&marks);
    return status;
}
