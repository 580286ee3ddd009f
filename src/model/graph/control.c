/* control.c - If, Loop and Scan, unrolled while a graph is bound.
 *
 * Nothing here runs while the network runs.  For an If, the branch that its known condition takes is inlined; a Loop or a Scan
 * becomes one copy of its body per iteration.  Folding computes conditions on the way, so a condition may depend on shapes and on
 * inputs that are known while planning. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/bind.h"

static const as_attr_def scan_attrs[] = {
    {.name = "num_scan_inputs", .kind = AS_ATTR_INT, .required = true},
    {.name = "scan_input_axes", .kind = AS_ATTR_INTS},
    {.name = "scan_input_directions", .kind = AS_ATTR_INTS},
    {.name = "scan_output_axes", .kind = AS_ATTR_INTS},
    {.name = "scan_output_directions", .kind = AS_ATTR_INTS},
    {0},
};

/* Loop's first two inputs are the trip count and the condition; either may be absent. */
static const as_op controls[] = {
    {.name = "If", .min_in = 1, .max_in = 1, .min_out = 1, .max_out = AS_MAX_OUT, .known_in = AS_INPUT_BIT(0)},
    {.name = "Loop",
     .min_in = 0,
     .max_in = AS_MAX_IN,
     .min_out = 1,
     .max_out = AS_MAX_OUT,
     .known_in = AS_INPUT_BIT(0) | AS_INPUT_BIT(1)},
    {.name = "Scan", .min_in = 1, .max_in = AS_MAX_IN, .min_out = 1, .max_out = AS_MAX_OUT, .attrs = scan_attrs},
};
static const char *const when[] = {
    "written out when its condition is known while planning",
    "written out when its trip count and condition are known while planning",
    "written out, an iteration at a time",
};

const as_op *as_control_find(const char *name)
{
    for (size_t i = 0; i < AS_COUNT(controls); i++)
        if (!strcmp(controls[i].name, name))
            return &controls[i];
    return NULL;
}

const char *as_control_when(const as_op *op) { return when[op - controls]; }

/* --- Words ---------------------------------------------------------------------------------------- */

/* One If, Loop or Scan being unrolled. */
typedef struct job {
    as_binder      *b;
    const as_scope *outer;
    const as_node  *node;
    const char     *name; /* with the names of the nodes around it */
} job;

static assay_status refuse(const job *j, assay_status status, const char *why)
{
    return as_fail(j->b->env, status, "model: %s: %s '%s': %s", j->b->model->name, j->node->op->name, j->name, why);
}

static assay_status no_memory(const job *j) { return refuse(j, ASSAY_NO_MEMORY, "not enough memory to write it out"); }

/* After as_bind_value(), which has left the message. */
static assay_status value_failed(const job *j) { return j->b->g->n_values >= AS_MAX_VALUES ? ASSAY_UNSUPPORTED : ASSAY_NO_MEMORY; }

/* The message "is not known", which names the input to give. */
static assay_status unknown(const job *j, int value, const char *what)
{
    (void)as_fail(j->b->env, ASSAY_UNSUPPORTED, "%s '%s': %s must be known while planning", j->node->op->name, j->name, what);
    return as_bind_unknown(j->b, value, ASSAY_UNSUPPORTED);
}

/* The bound value of input i of the node, -1: absent. */
static int input_of(const job *j, int i)
{
    return i < j->node->n_formal && j->node->in[i] >= 0 ? j->outer->map[j->node->in[i]] : -1;
}

static int output_of(const job *j, int i) { return j->outer->map[j->node->out[i]]; }

/* One known whole number or truth value. */
static bool scalar_known(const job *j, int value, int64_t *out)
{
    const as_tensor_info *info = &j->b->g->values[value].info;
    if (!info->constant || as_shape_count(&info->shape) != 1 || as_dtype_is_float(info->dtype))
        return false;
    as_view view = as_view_of((void *)(uintptr_t)info->constant, info->dtype, &info->shape);
    *out = as_view_get_i64(&view, 0);
    return true;
}

/* A new value without a producer yet; -1: see value_failed(). */
static int value_new(const job *j, const char *prefix, const char *name)
{
    as_bound_value made = {
        .name = as_arena_printf(j->b->g->arena, "%s%s", prefix, name), .role = AS_ROLE_COMPUTED, .producer = -1, .model_value = -1};
    return as_bind_value(j->b, &made);
}

/* A constant scalar (or a vector of one); -1: see value_failed(). */
static int number_new(const job *j, const char *prefix, const char *name, as_dtype dtype, int rank, int64_t number)
{
    as_shape shape = {.rank = rank, .dim = {1}};
    void    *data = as_arena_take(j->b->g->arena, 1, 8, 8);
    if (!data)
        return as_bind_value(j->b, &(as_bound_value){0}); /* fails with a message */
    as_view        view = as_view_of(data, dtype, &shape);
    as_bound_value made = {.name = as_arena_printf(j->b->g->arena, "%s%s", prefix, name),
                           .role = AS_ROLE_CONSTANT,
                           .producer = -1,
                           .model_value = -1,
                           .data = data,
                           .info = {.dtype = dtype, .shape = shape, .constant = data}};
    as_view_set_i64(&view, 0, number);
    return as_bind_value(j->b, &made);
}

/* A node of one output, into `out` or (-1) a new value. */
static assay_status op_add(const job *j, const char *op, const char *label, const int *in, int n_in, int64_t axis, bool has_axis,
                           int *out)
{
    as_arena   *arena = j->b->g->arena;
    const char *name = as_arena_printf(arena, "%s/%s", j->name, label);
    as_attr    *attr = AS_TAKE(arena, as_attr, 1);
    if (!name || !attr)
        return no_memory(j);
    if (*out < 0 && (*out = value_new(j, "", name)) < 0)
        return value_failed(j);
    *attr = (as_attr)AS_ATTR_I("axis", axis);
    j->b->module = as_scope_module(j->outer, j->node);
    j->b->place = j->node->place;
    return as_bind_op(j->b, as_op_find(op), name, attr, has_axis, in, n_in, out, 1);
}

static assay_status count_one(const job *j)
{
    if (j->b->n_unrolled++ < AS_MAX_UNROLLED)
        return ASSAY_OK;
    return as_fail(j->b->env, ASSAY_UNSUPPORTED, "model: %s: %s '%s': written out it would be more than %d nodes and iterations",
                   j->b->model->name, j->node->op->name, j->name, AS_MAX_UNROLLED);
}

/* --- Bodies ---------------------------------------------------------------------------------------- */

/* The map of a body with its params, constants and outer values; -1 for the others. */
static assay_status body_open(const job *j, const as_body *body, const char *prefix, int *map)
{
    const assay_model *graph = body->graph;
    as_scope           s = {.model = graph, .map = map, .prefix = prefix, .module = as_scope_module(j->outer, j->node)};
    for (int i = 0; i < graph->n_values; i++) {
        map[i] = -1;
        if (graph->values[i].role == AS_ROLE_PARAM || graph->values[i].role == AS_ROLE_CONSTANT)
            if ((map[i] = as_bind_static(j->b, &s, &graph->values[i])) < 0)
                return value_failed(j);
    }
    for (int i = body->n_formal; i < graph->n_inputs; i++)
        map[graph->inputs[i]] = j->outer->map[j->node->in[body->from[i - body->n_formal]]];
    return ASSAY_OK;
}

static assay_status body_bind(const job *j, const as_body *body, const char *prefix, int *map)
{
    const assay_model *graph = body->graph;
    as_scope           s = {.model = graph, .map = map, .prefix = prefix, .module = as_scope_module(j->outer, j->node)};
    for (int i = 0; i < graph->n_values; i++)
        if (map[i] < 0 && (map[i] = value_new(j, prefix, graph->values[i].name)) < 0)
            return value_failed(j);
    return as_bind_scope(j->b, &s);
}

static const as_body *body_of(const job *j, const char *name)
{
    for (int i = 0; i < j->node->n_bodies; i++)
        if (!strcmp(j->node->bodies[i].name, name))
            return &j->node->bodies[i];
    return NULL;
}

/* --- If ---------------------------------------------------------------------------------------------- */

static assay_status if_bind(const job *j)
{
    int64_t        condition;
    int            value = input_of(j, 0);
    const as_body *body;
    if (value < 0)
        return refuse(j, ASSAY_BAD_INPUT, "its condition is absent");
    if (j->b->g->values[value].info.dtype != AS_BOOL || as_shape_count(&j->b->g->values[value].info.shape) != 1)
        return refuse(j, ASSAY_BAD_INPUT, "its condition must be one bool");
    if (!scalar_known(j, value, &condition))
        return unknown(j, value, "its condition (input 0)");
    body = body_of(j, condition ? "then_branch" : "else_branch");
    if (!body || body->n_formal || body->graph->n_outputs < j->node->n_out)
        return refuse(j, ASSAY_BAD_INPUT, "a branch is missing, takes inputs or gives too few outputs");
    const assay_model *graph = body->graph;
    const char        *prefix = as_arena_printf(j->b->g->arena, "%s/", j->name);
    int               *map = malloc(((size_t)graph->n_values + 1) * sizeof *map), copied[AS_MAX_OUT] = {0};
    if (!map || !prefix) {
        free(map);
        return no_memory(j);
    }
    assay_status status;
    AS_TRY_OR(done, body_open(j, body, prefix, map));
    /* A result that the branch computes gets the name of the If's output; a value that it only passes on is copied. */
    for (int k = 0; k < j->node->n_out; k++) {
        int v = graph->outputs[k];
        copied[k] = graph->values[v].role != AS_ROLE_COMPUTED || map[v] >= 0;
        if (!copied[k])
            map[v] = output_of(j, k);
    }
    AS_TRY_OR(done, body_bind(j, body, prefix, map));
    for (int k = 0; k < j->node->n_out; k++)
        if (copied[k]) {
            int out = output_of(j, k);
            AS_TRY_OR(done, op_add(j, "Identity", j->b->g->values[out].name, &map[graph->outputs[k]], 1, 0, false, &out));
        }
done:
    free(map);
    return status;
}

/* --- Iterations ---------------------------------------------------------------------------------------- */

/* What Loop and Scan share: one copy of the body per iteration, values carried from one to the next, and values of all iterations
 * that are stacked. */
typedef struct iteration {
    const as_body *body;
    int           *base, *map;                          /* the map of the body before an iteration, and during it */
    int            n_carried, first_carried, first_out; /* in the body's inputs, in its outputs */
    int            carried[AS_MAX_IN];
    int           *stacked[AS_MAX_OUT], n_stacked, n_done, cap;
} iteration;

static assay_status iteration_open(const job *j, const as_body *body, iteration *it)
{
    size_t      n = (size_t)body->graph->n_values + 1;
    const char *prefix = as_arena_printf(j->b->g->arena, "%s/", j->name);
    it->body = body;
    it->base = malloc(n * sizeof *it->base);
    it->map = malloc(n * sizeof *it->map);
    if (!it->base || !it->map || !prefix)
        return no_memory(j);
    return body_open(j, body, prefix, it->base);
}

static void iteration_close(iteration *it)
{
    free(it->base);
    free(it->map);
    for (int k = 0; k < AS_MAX_OUT; k++)
        free(it->stacked[k]);
}

static bool stacked_grow(iteration *it)
{
    if (it->n_done < it->cap)
        return true;
    it->cap = it->cap ? it->cap * 2 : 16;
    for (int k = 0; k < it->n_stacked; k++) {
        int *moved = realloc(it->stacked[k], (size_t)it->cap * sizeof *moved);
        if (!moved)
            return false;
        it->stacked[k] = moved;
    }
    return true;
}

/* Going through a body's values takes time, too: this many count as one node. */
enum { VALUES_A_NODE = 100 };

/* One iteration, its other formal inputs set in the map. */
static assay_status iteration_run(const job *j, iteration *it, const char *prefix)
{
    const assay_model *graph = it->body->graph;
    int                before = j->b->g->n_nodes;
    j->b->n_unrolled += graph->n_values / VALUES_A_NODE;
    for (int k = 0; k < it->n_carried; k++)
        it->map[graph->inputs[it->first_carried + k]] = it->carried[k];
    AS_TRY(count_one(j));
    AS_TRY(body_bind(j, it->body, prefix, it->map));
    for (; before < j->b->g->n_nodes; before++)
        AS_TRY(count_one(j));
    if (!stacked_grow(it))
        return no_memory(j);
    for (int k = 0; k < it->n_carried; k++)
        it->carried[k] = it->map[graph->outputs[it->first_out + k]];
    for (int k = 0; k < it->n_stacked; k++)
        it->stacked[k][it->n_done] = it->map[graph->outputs[it->first_out + it->n_carried + k]];
    it->n_done++;
    return ASSAY_OK;
}

/* [x0, x1, ...] along a new axis, into `out`: a tree of Concat, because the number of inputs of one is limited. */
static assay_status stack(const job *j, int *values, int n, int64_t axis, int out)
{
    int axes = number_new(j, j->name, "/axes", AS_I64, 1, axis);
    if (axes < 0)
        return value_failed(j);
    if (n == 1)
        return op_add(j, "Unsqueeze", "unsqueeze", (int[]){values[0], axes}, 2, 0, false, &out);
    for (int i = 0; i < n; i++) {
        int wide = -1;
        AS_TRY(count_one(j));
        AS_TRY(op_add(j, "Unsqueeze", "unsqueeze", (int[]){values[i], axes}, 2, 0, false, &wide));
        values[i] = wide;
    }
    while (n > AS_MAX_IN) {
        int kept = 0;
        for (int i = 0; i < n; i += AS_MAX_IN) {
            int part = -1, count = n - i < AS_MAX_IN ? n - i : AS_MAX_IN;
            if (count == 1)
                part = values[i];
            else
                AS_TRY(op_add(j, "Concat", "concat", values + i, count, axis, true, &part));
            values[kept++] = part;
        }
        n = kept;
    }
    return op_add(j, "Concat", "concat", values, n, axis, true, &out);
}

static assay_status iteration_give(const job *j, iteration *it, const int64_t *axes, const int64_t *backwards)
{
    for (int k = 0; k < j->node->n_out; k++) {
        int out = output_of(j, k), s = k - it->n_carried;
        if (s < 0) {
            AS_TRY(op_add(j, "Identity", j->b->g->values[out].name, &it->carried[k], 1, 0, false, &out));
            continue;
        }
        if (!it->n_done)
            return as_fail(j->b->env, ASSAY_UNSUPPORTED,
                           "model: %s: %s '%s': it has no iteration, so the shape of its output '%s' is not known",
                           j->b->model->name, j->node->op->name, j->name, j->b->g->values[out].name);
        for (int i = 0; backwards && backwards[s] && i < it->n_done / 2; i++) {
            int last = it->n_done - 1 - i, held = it->stacked[s][i];
            it->stacked[s][i] = it->stacked[s][last];
            it->stacked[s][last] = held;
        }
        AS_TRY(stack(j, it->stacked[s], it->n_done, axes ? axes[s] : 0, out));
    }
    return ASSAY_OK;
}

/* --- Loop ------------------------------------------------------------------------------------------------ */

static assay_status loop_run(const job *j, iteration *it)
{
    const assay_model *graph = it->body->graph;
    int64_t            trips = INT64_MAX, condition = 1;
    int                m = input_of(j, 0), cond = input_of(j, 1);
    if (m >= 0 && !scalar_known(j, m, &trips))
        return unknown(j, m, "its trip count (input 0)");
    if (cond >= 0 && !scalar_known(j, cond, &condition))
        return unknown(j, cond, "its condition (input 1)");
    for (int64_t i = 0; i < trips && condition; i++) {
        const char *prefix = as_arena_printf(j->b->g->arena, "%s[%" PRId64 "]/", j->name, i);
        if (!prefix)
            return no_memory(j);
        memcpy(it->map, it->base, (size_t)graph->n_values * sizeof *it->map);
        int number = number_new(j, prefix, "iteration", AS_I64, 0, i), go_on = number_new(j, prefix, "condition", AS_BOOL, 0, 1);
        if (number < 0 || go_on < 0)
            return value_failed(j);
        it->map[graph->inputs[0]] = number;
        it->map[graph->inputs[1]] = go_on;
        AS_TRY(iteration_run(j, it, prefix));
        if (i + 1 == trips)
            break;
        int next = it->map[graph->outputs[0]];
        if (!scalar_known(j, next, &condition))
            return unknown(j, next, "the condition after an iteration");
        if (!condition && cond < 0)
            return refuse(j, ASSAY_UNSUPPORTED,
                          "its body gives a false condition and it has no condition of its own, which ONNX does not define");
    }
    return iteration_give(j, it, NULL, NULL);
}

static assay_status loop_bind(const job *j)
{
    const as_body *body = body_of(j, "body");
    iteration      it = {.first_carried = 2, .first_out = 1};
    if (!body || body->n_formal < 2)
        return refuse(j, ASSAY_BAD_INPUT, "its body is missing or takes fewer than two inputs");
    it.n_carried = body->n_formal - 2;
    it.n_stacked = body->graph->n_outputs - 1 - it.n_carried;
    if (it.n_carried > AS_MAX_IN || it.n_stacked < 0 || it.n_stacked > AS_MAX_OUT || j->node->n_out > it.n_carried + it.n_stacked)
        return refuse(j, ASSAY_BAD_INPUT, "its body gives too few outputs, or it carries too many values");
    for (int k = 0; k < it.n_carried; k++)
        if ((it.carried[k] = input_of(j, 2 + k)) < 0)
            return refuse(j, ASSAY_BAD_INPUT, "its body carries more values than it is given");
    if (j->node->n_formal > 2 + it.n_carried)
        return refuse(j, ASSAY_BAD_INPUT, "it is given more values than its body carries");
    assay_status status = iteration_open(j, body, &it);
    if (status == ASSAY_OK)
        status = loop_run(j, &it);
    iteration_close(&it);
    return status;
}

/* --- Scan ------------------------------------------------------------------------------------------------- */

typedef struct scan {
    int     n_in;
    int64_t length, axes[AS_MAX_IN], backwards[AS_MAX_IN], out_axes[AS_MAX_IN], out_backwards[AS_MAX_IN];
} scan;

static assay_status scan_list(const job *j, const as_node_ctx *ctx, const char *name, int n, int64_t *out)
{
    memset(out, 0, AS_MAX_IN * sizeof *out);
    size_t given = as_attr_ints(ctx, name, out, AS_MAX_IN);
    if (given && given != (size_t)n)
        return as_fail(j->b->env, ASSAY_BAD_INPUT, "model: %s: Scan '%s': attribute '%s' has %zu values and %d are needed",
                       j->b->model->name, j->name, name, given, n);
    return ASSAY_OK;
}

/* All scanned axes must have the same size. */
static assay_status scan_read(const job *j, iteration *it, scan *out)
{
    const as_node_ctx ctx = {.op = j->node->op, .name = j->name, .attrs = j->node->attrs, .n_attrs = j->node->n_attrs};
    int64_t           n_in = as_attr_int(&ctx, "num_scan_inputs", 0);
    if (n_in < 1 || n_in > j->node->n_formal || j->node->n_formal != it->body->n_formal)
        return refuse(j, ASSAY_BAD_INPUT, "num_scan_inputs, its inputs and those of its body do not agree");
    out->n_in = (int)n_in;
    it->n_carried = j->node->n_formal - out->n_in;
    it->n_stacked = it->body->graph->n_outputs - it->n_carried;
    if (it->n_stacked < 0 || it->n_stacked > AS_MAX_OUT || j->node->n_out > it->n_carried + it->n_stacked)
        return refuse(j, ASSAY_BAD_INPUT, "its body gives too few outputs, or too many");
    AS_TRY(scan_list(j, &ctx, "scan_input_axes", out->n_in, out->axes));
    AS_TRY(scan_list(j, &ctx, "scan_input_directions", out->n_in, out->backwards));
    AS_TRY(scan_list(j, &ctx, "scan_output_axes", it->n_stacked, out->out_axes));
    AS_TRY(scan_list(j, &ctx, "scan_output_directions", it->n_stacked, out->out_backwards));
    for (int k = 0; k < j->node->n_formal; k++) {
        int x = input_of(j, k), s = k - it->n_carried;
        if (x < 0)
            return refuse(j, ASSAY_BAD_INPUT, "an input is absent");
        if (s < 0) {
            it->carried[k] = x;
            continue;
        }
        const as_shape *shape = &j->b->g->values[x].info.shape;
        if (out->axes[s] < -shape->rank || out->axes[s] >= shape->rank)
            return refuse(j, ASSAY_BAD_INPUT, "scan_input_axes names an axis that its input does not have");
        int64_t size = shape->dim[out->axes[s] < 0 ? out->axes[s] + shape->rank : out->axes[s]];
        if (s && size != out->length)
            return refuse(j, ASSAY_BAD_INPUT, "its inputs do not have one length");
        out->length = size;
    }
    return ASSAY_OK;
}

static assay_status scan_run(const job *j, iteration *it, const scan *s)
{
    const assay_model *graph = it->body->graph;
    for (int64_t i = 0; i < s->length; i++) {
        const char *prefix = as_arena_printf(j->b->g->arena, "%s[%" PRId64 "]/", j->name, i);
        if (!prefix)
            return no_memory(j);
        memcpy(it->map, it->base, (size_t)graph->n_values * sizeof *it->map);
        for (int k = 0; k < s->n_in; k++) {
            int part = -1, index = number_new(j, prefix, "index", AS_I64, 0, s->backwards[k] ? s->length - 1 - i : i);
            if (index < 0)
                return value_failed(j);
            AS_TRY(count_one(j));
            AS_TRY(op_add(j, "Gather", "gather", (int[]){input_of(j, it->n_carried + k), index}, 2, s->axes[k], true, &part));
            it->map[graph->inputs[it->n_carried + k]] = part;
        }
        AS_TRY(iteration_run(j, it, prefix));
    }
    return iteration_give(j, it, s->out_axes, s->out_backwards);
}

static assay_status scan_bind(const job *j)
{
    const as_body *body = body_of(j, "body");
    iteration      it = {.body = body};
    scan           s;
    if (!body)
        return refuse(j, ASSAY_BAD_INPUT, "its body is missing");
    AS_TRY(scan_read(j, &it, &s));
    assay_status status = iteration_open(j, body, &it);
    if (status == ASSAY_OK)
        status = scan_run(j, &it, &s);
    iteration_close(&it);
    return status;
}

/* --- All three --------------------------------------------------------------------------------------------- */

assay_status as_bind_control(as_binder *b, const as_scope *s, const as_node *node)
{
    job j = {.b = b, .outer = s, .node = node};
    /* Cuts very long nested names. */
    if (!(j.name = as_arena_printf(b->g->arena, "%.256s%.256s", s->prefix, node->name)))
        return as_fail(b->env, ASSAY_NO_MEMORY, "model: %s: not enough memory to bind node '%s'", b->model->name, node->name);
    return node->op == &controls[0] ? if_bind(&j) : node->op == &controls[1] ? loop_bind(&j) : scan_bind(&j);
}
