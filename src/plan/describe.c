/* describe.c - the description of a plan in a trace, and the parts that other descriptions share. */
#include <string.h>

#include "plan/lower.h"

const char *as_step_op(const assay_plan *plan, const as_step *step)
{
    switch (step->kind) {
    case AS_STEP_NODE: return plan->graph.nodes[step->node].ctx.op->name;
    case AS_STEP_PACK: return "Pack";
    case AS_STEP_PUT: return "Put";
    case AS_STEP_GET: return "Get";
    case AS_STEP_ALIGN: return "Align";
    case AS_STEP_UPDATE: return "Update";
    case AS_STEP_PIECE: return step->piece->op;
    }
    return "";
}

const char *as_step_stage(const assay_plan *plan, int step) { return step < plan->n_prologue ? "prologue" : "body"; }

static void operand_show(const assay_plan *plan, int buffer, as_text *out)
{
    char shape[192];
    if (buffer < 0) {
        as_text_add(out, "-");
        return;
    }
    const as_buffer *b = &plan->buffers[buffer];
    as_text_printf(out, "%s%s", as_dtype_name(b->dtype), as_shape_show(&b->shape, shape, sizeof shape));
}

static void operands_show(const assay_plan *plan, const int *ids, int n, as_text *out)
{
    for (int i = 0; i < n; i++) {
        as_text_add(out, i ? " " : "");
        operand_show(plan, ids[i], out);
    }
}

void as_step_shapes(const assay_plan *plan, const as_step *step, as_text *out)
{
    const as_seg_step *seg = &step->seg;
    bool               pack = step->kind == AS_STEP_PACK;
    operands_show(plan, pack ? &seg->in[seg->pack_input] : seg->in, pack ? 1 : seg->n_in, out);
    as_text_add(out, " -> ");
    operands_show(plan, pack ? &seg->packed[seg->pack_input] : seg->out, pack ? 1 : seg->n_out, out);
}

/* Of its first operand. */
static as_dtype dtype_of(const assay_plan *plan, const as_step *step)
{
    const as_seg_step *seg = &step->seg;
    int                first = step->kind == AS_STEP_PACK ? seg->in[seg->pack_input] : seg->n_in ? seg->in[0] : -1;
    return first >= 0 ? plan->buffers[first].dtype : AS_NONE;
}

static uint64_t operand_bytes(const assay_plan *plan, int buffer) { return buffer < 0 ? 0 : as_buffer_bytes(plan, buffer); }

uint64_t as_step_working_set(const assay_plan *plan, const as_step *step)
{
    uint64_t sum = operand_bytes(plan, step->seg.scratch);
    for (int i = 0; i < step->seg.n_in; i++)
        sum += operand_bytes(plan, step->seg.in[i]);
    for (int i = 0; i < step->seg.n_out; i++)
        sum += operand_bytes(plan, step->seg.out[i]);
    for (int i = 0; i < AS_N_PACKED; i++)
        sum += operand_bytes(plan, step->seg.packed[i]);
    return sum;
}

/* The bytes it reads that are the same in every run, whatever the batch size. */
static uint64_t weight_bytes(const assay_plan *plan, const as_step *step)
{
    uint64_t sum = 0;
    for (int i = 0; i < step->seg.n_in; i++) {
        const as_buffer *b = step->seg.in[i] < 0 ? NULL : &plan->buffers[as_buffer_root(plan, step->seg.in[i])];
        sum += b && (b->role == AS_BUF_PARAM || b->role == AS_BUF_CONSTANT) ? as_buffer_bytes(plan, step->seg.in[i]) : 0;
    }
    return sum;
}

as_cost as_step_issued(const as_step *step)
{
    const as_cost *c = &step->choice.issued;
    return c->flops || c->special || c->bytes_read || c->bytes_written ? *c : step->cost;
}

/* writers[b]: the step that wrote buffer b last, -1 for none; kept for the buffer whose elements all its aliases show. */
static void input_add(const assay_plan *plan, const int *writers, int buffer, int *inputs, int *n)
{
    int from = buffer < 0 ? -1 : writers[as_buffer_same(plan, buffer)], at = *n;
    for (int i = 0; i < *n; i++)
        if (inputs[i] == from)
            return;
    if (from < 0)
        return;
    for (; at > 0 && inputs[at - 1] > from; at--)
        inputs[at] = inputs[at - 1];
    inputs[at] = from;
    ++*n;
}

static int inputs_find(const assay_plan *plan, const as_step *step, const int *writers, int *inputs)
{
    const as_seg_step *seg = &step->seg;
    int                n = 0;
    for (int i = 0; i < seg->n_in; i++)
        if (step->kind != AS_STEP_PACK || i == seg->pack_input)
            input_add(plan, writers, seg->in[i], inputs, &n);
    for (int i = 0; i < AS_N_PACKED && step->kind != AS_STEP_PACK; i++)
        input_add(plan, writers, seg->packed[i], inputs, &n);
    return n;
}

static void outputs_mark(const assay_plan *plan, const as_step *step, int s, int *writers)
{
    const as_seg_step *seg = &step->seg;
    bool               pack = step->kind == AS_STEP_PACK;
    const int         *out = pack ? &seg->packed[seg->pack_input] : seg->out;
    for (int i = 0; i < (pack ? 1 : seg->n_out); i++)
        if (out[i] >= 0)
            writers[as_buffer_same(plan, out[i])] = s;
}

/* What the description of a step needs: which step of the trace wrote a buffer last, room for inputs, the parts of all steps. */
typedef struct describer {
    int           *writers, *inputs;
    as_step_parts *parts;
    int            arm, first; /* first: index in the trace of the plan's first step */
} describer;

static bool is_own_part(const as_step *step, const as_step_parts *parts)
{
    return parts->n == 1 && !strcmp(parts->names[0], step->name);
}

static assay_status step_describe(assay_env *env, const assay_plan *plan, int s, const describer *d, assay_trace *t)
{
    const as_step *step = &plan->steps[s];
    as_cost        issued = as_step_issued(step);
    as_text        shapes = {0};
    as_step_shapes(plan, step, &shapes);
    as_trace_step row = {
        .name = step->name,
        .module = step->module,
        .pass = step->place.pass,
        .layer = step->place.layer,
        .op = as_step_op(plan, step),
        .device = plan->devices[step->device]->name,
        .kernel = step->choice.name,
        .why = step->choice.why,
        .refused = step->choice.refused,
        .n_refused = step->choice.n_refused,
        .shapes = shapes.data,
        .is_f64 = dtype_of(plan, step) == AS_F64,
        .is_i8 = dtype_of(plan, step) == AS_I8 || dtype_of(plan, step) == AS_U8,
        .stage = as_step_stage(plan, s),
        .segment = step->segment,
        .flops = step->cost.flops,
        .special = step->cost.special,
        .bytes_read = step->cost.bytes_read,
        .bytes_written = step->cost.bytes_written,
        .issued_flops = issued.flops,
        .issued_bytes = issued.bytes_read + issued.bytes_written,
        .working_set_bytes = as_step_working_set(plan, step),
        .weight_bytes = weight_bytes(plan, step),
        .inputs = d->inputs,
        .n_inputs = inputs_find(plan, step, d->writers, d->inputs),
        .parts = d->parts[s].names,
        .n_parts = is_own_part(step, &d->parts[s]) ? 0 : d->parts[s].n,
        .arm = d->arm,
    };
    outputs_mark(plan, step, d->first + s, d->writers);
    int index = shapes.failed ? -1 : as_trace_add_step(t, &row);
    as_text_drop(&shapes);
    return index >= 0 ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to record step %d, '%s'", s, step->name);
}

assay_status as_plan_describe_steps(assay_env *env, const assay_plan *plan, int arm, assay_trace *t)
{
    as_arena scratch = {0};
    size_t   most = AS_N_PACKED; /* inputs of a step: its operands and their packed forms */
    for (int s = 0; s < plan->n_steps; s++)
        most = (size_t)plan->steps[s].seg.n_in + AS_N_PACKED > most ? (size_t)plan->steps[s].seg.n_in + AS_N_PACKED : most;
    describer    d = {.writers = AS_TAKE(&scratch, int, plan->n_buffers),
                      .inputs = AS_TAKE(&scratch, int, most),
                      .arm = arm,
                      .first = (int)t->n_steps};
    assay_status status = d.writers && d.inputs ? as_plan_parts(env, plan, &scratch, &d.parts)
                                                : as_fail(env, ASSAY_NO_MEMORY,
                                                          "plan: not enough memory for the edges between %d steps", plan->n_steps);
    for (int b = 0; d.writers && b < plan->n_buffers; b++)
        d.writers[b] = -1;
    for (int s = 0; s < plan->n_steps && status == ASSAY_OK; s++)
        status = step_describe(env, plan, s, &d, t);
    as_arena_drop(&scratch);
    return status;
}

assay_status as_plan_describe(assay_env *env, const assay_plan *plan, assay_trace *t)
{
    AS_TRY(as_plan_describe_steps(env, plan, 0, t));
    bool none = plan->n_steps == 0; /* then there is no step to name */
    for (int i = 0; i < plan->n_buffers; i++) {
        const as_buffer *b = &plan->buffers[i];
        as_trace_buffer  row = {.name = b->name,
                                .role = as_buffer_role_text(b->role),
                                .device = plan->devices[b->device]->name,
                                .bytes = b->bytes,
                                .offset = b->offset,
                                .first_step = none ? -1 : b->first,
                                .last_step = none ? -1 : b->last,
                                .align = b->alias_of < 0 && !b->outside ? plan->devices[b->device]->align : 0,
                                .full_bytes = b->bytes        ? b->bytes
                                              : b->value >= 0 ? as_info_bytes(&plan->graph.values[b->value].info)
                                                              : 0,
                                .shares = b->shares,
                                .in_place = b->in_place};
        if (!as_trace_add_buffer(t, &row))
            return as_fail(env, ASSAY_NO_MEMORY, "plan: not enough memory to record buffer '%s'", b->name);
    }
    t->plan_ns = plan->build_ns;
    t->compile_ns = plan->compile_ns;
    t->peak_bytes_planned = assay_plan_peak_bytes(plan);
    t->param_bytes = plan->param_bytes;
    t->activation_bytes = plan->activation_bytes;
    t->scratch_bytes = plan->scratch_bytes;
    return ASSAY_OK;
}
