/* op.c - finds operators, reads attributes, makes the checks common to all, and has the builder's helpers. */
#include "op/op.h"

#include <string.h>

#include "base/stage.h"
#include "op/rules.h"

const as_op *as_op_find(const char *name)
{
    for (const as_op *const *op = as_op_table; *op; op++)
        if (!strcmp((*op)->name, name))
            return *op;
    return NULL;
}

/* --- Attributes --- */

const as_attr *as_attr_find(const as_node_ctx *n, const char *name)
{
    for (int i = 0; i < n->n_attrs; i++)
        if (!strcmp(n->attrs[i].name, name))
            return &n->attrs[i];
    return NULL;
}

int64_t as_attr_int(const as_node_ctx *n, const char *name, int64_t otherwise)
{
    const as_attr *a = as_attr_find(n, name);
    return a ? a->i : otherwise;
}

double as_attr_float(const as_node_ctx *n, const char *name, double otherwise)
{
    const as_attr *a = as_attr_find(n, name);
    return a ? a->f : otherwise;
}

const char *as_attr_text(const as_node_ctx *n, const char *name, const char *otherwise)
{
    const as_attr *a = as_attr_find(n, name);
    return a ? a->text : otherwise;
}

size_t as_attr_ints(const as_node_ctx *n, const char *name, int64_t *out, size_t max)
{
    const as_attr *a = as_attr_find(n, name);
    if (!a)
        return 0;
    for (size_t i = 0; i < a->n && i < max; i++)
        out[i] = a->ints[i];
    return a->n;
}

size_t as_attr_texts(const as_node_ctx *n, const char *name, const char **out, size_t max)
{
    const as_attr *a = as_attr_find(n, name);
    if (!a)
        return 0;
    for (size_t i = 0; i < a->n && i < max; i++)
        out[i] = a->texts[i];
    return a->n;
}

/* --- The checks common to all --- */

static const char *const kind_names[] = {
    [AS_ATTR_INT] = "an integer",          [AS_ATTR_FLOAT] = "a float",           [AS_ATTR_TEXT] = "a text",
    [AS_ATTR_INTS] = "a list of integers", [AS_ATTR_FLOATS] = "a list of floats", [AS_ATTR_TENSOR] = "a tensor",
    [AS_ATTR_TEXTS] = "a list of texts",
};

static const char *kind_name(as_attr_kind kind)
{
    return (size_t)kind < AS_COUNT(kind_names) ? kind_names[kind] : "of an unknown kind";
}

static assay_status attr_check(assay_env *env, const as_node_ctx *n, const as_attr *a)
{
    if (!a->name)
        return as_refuse(env, n, "an attribute has no name");
    const as_attr_def *def = n->op->attrs;
    while (def && def->name && strcmp(def->name, a->name))
        def++;
    if (!def || !def->name)
        return as_refuse(env, n, "it has no attribute '%s'", a->name);
    if (def->kind != a->kind)
        return as_refuse(env, n, "attribute '%s' is %s and must be %s", a->name, kind_name(a->kind), kind_name(def->kind));
    bool empty = (a->kind == AS_ATTR_TEXT && !a->text) || (a->kind == AS_ATTR_INTS && a->n && !a->ints) ||
                 (a->kind == AS_ATTR_FLOATS && a->n && !a->floats) || (a->kind == AS_ATTR_TENSOR && !a->tensor) ||
                 (a->kind == AS_ATTR_TEXTS && a->n && !a->texts);
    for (size_t i = 0; !empty && a->kind == AS_ATTR_TEXTS && i < a->n; i++)
        empty = !a->texts[i];
    if (empty)
        return as_refuse(env, n, "attribute '%s' has no value", a->name);
    if (as_attr_find(n, a->name) != a)
        return as_refuse(env, n, "attribute '%s' is given twice", a->name);
    return ASSAY_OK;
}

static assay_status attrs_check(assay_env *env, const as_node_ctx *n)
{
    for (int i = 0; i < n->n_attrs; i++)
        AS_TRY(attr_check(env, n, &n->attrs[i]));
    for (const as_attr_def *def = n->op->attrs; def && def->name; def++)
        if (def->required && !as_attr_find(n, def->name))
            return as_refuse(env, n, "attribute '%s' is missing", def->name);
    return ASSAY_OK;
}

static assay_status inputs_check(assay_env *env, const as_node_ctx *n)
{
    const as_op *op = n->op;
    if (n->n_in < op->min_in || n->n_in > op->max_in)
        return as_refuse(env, n, "it has %d inputs and takes %d to %d", n->n_in, op->min_in, op->max_in);
    if (n->n_out < op->min_out || n->n_out > op->max_out)
        return as_refuse(env, n, "%d outputs are requested and it gives %d to %d", n->n_out, op->min_out, op->max_out);
    for (int i = 0; i < n->n_in; i++) {
        const as_tensor_info *t = &n->in[i];
        if ((unsigned)t->dtype >= AS_N_DTYPES)
            return as_refuse(env, n, "input %d has the unknown dtype %d", i, (int)t->dtype);
        if (t->dtype == AS_NONE && i < op->min_in)
            return as_refuse(env, n, "input %d is absent and it needs the first %d", i, op->min_in);
        if (t->dtype == AS_NONE)
            continue;
        if (t->shape.rank < 0 || t->shape.rank > AS_MAX_RANK)
            return as_refuse(env, n, "input %d has rank %d and at most %d are possible", i, t->shape.rank, AS_MAX_RANK);
        if (!as_shape_ok(&t->shape, t->dtype))
            return as_refuse(env, n, "input %d is %s %s: a size is negative or their product too large", i, as_dtype_name(t->dtype),
                             AS_SHOW(&t->shape));
    }
    return ASSAY_OK;
}

assay_status as_op_infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    AS_TRY(inputs_check(env, n));
    AS_TRY(attrs_check(env, n));
    as_tensor_info found[AS_MAX_OUT] = {0};
    AS_TRY(n->op->infer(env, n, found));
    for (int i = 0; i < n->n_out; i++)
        if (!as_shape_ok(&found[i].shape, found[i].dtype))
            return as_refuse(env, n, "output %d would be %s %s, which is too large", i, as_dtype_name(found[i].dtype),
                             AS_SHOW(&found[i].shape));
    memcpy(out, found, (size_t)n->n_out * sizeof *out);
    return ASSAY_OK;
}

as_cost as_cost_bytes(const as_node_ctx *n)
{
    as_cost cost = {0};
    for (int i = 0; i < n->n_in; i++)
        if (as_in_has(n, i))
            cost.bytes_read = as_sat_add(cost.bytes_read, as_sat_count(&n->in[i].shape) * as_dtype_bytes(n->in[i].dtype));
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i].dtype != AS_NONE)
            cost.bytes_written = as_sat_add(cost.bytes_written, as_sat_count(&n->out[i].shape) * as_dtype_bytes(n->out[i].dtype));
    return cost;
}

/* --- The builder's helpers: -1 in gives -1 out, so a failure passes through a formula --- */

int as_b1(as_builder *b, const char *op, int x) { return x < 0 ? -1 : b->node(b, op, &x, 1, NULL, 0, NULL, 1); }

int as_b2(as_builder *b, const char *op, int x, int y)
{
    return x < 0 || y < 0 ? -1 : b->node(b, op, (int[]){x, y}, 2, NULL, 0, NULL, 1);
}

int as_b_scalar(as_builder *b, as_dtype dtype, double value)
{
    double  storage = 0.0; /* eight bytes hold one element of any dtype */
    as_view view = as_view_of(&storage, dtype, &(as_shape){0});
    if (dtype == AS_NONE)
        return -1; /* of a value that failed */
    as_view_set(&view, 0, value);
    return b->constant(b, &view);
}

int as_b_ints(as_builder *b, const int64_t *values, size_t n)
{
    static const int64_t nothing = 0;
    as_shape             shape = {.rank = 1, .dim = {(int64_t)n}};
    /* A view's memory is not const; the builder only reads and copies it. */
    as_view view = as_view_of((void *)(n ? values : &nothing), AS_I64, &shape);
    return b->constant(b, &view);
}

int as_b_reshape(as_builder *b, int x, const as_shape *shape)
{
    if (x < 0 || as_shape_same(&b->info(b, x)->shape, shape))
        return x;
    /* Without allowzero a 0 would mean "copy this size of the input". */
    as_attr allow = AS_ATTR_I("allowzero", 1);
    int     has_zero = 0;
    for (int i = 0; i < shape->rank; i++)
        has_zero |= shape->dim[i] == 0;
    int to = as_b_ints(b, shape->dim, (size_t)shape->rank);
    return to < 0 ? -1 : b->node(b, "Reshape", (int[]){x, to}, 2, &allow, has_zero, NULL, 1);
}

int as_b_transpose(as_builder *b, int x, const int64_t *perm, int rank)
{
    if (x < 0)
        return -1;
    as_attr attr = {.name = "perm", .kind = AS_ATTR_INTS, .ints = perm, .n = (size_t)rank};
    return b->node(b, "Transpose", &x, 1, &attr, 1, NULL, 1);
}

int as_b_sum_to(as_builder *b, int x, const as_shape *shape)
{
    if (x < 0 || as_shape_same(&b->info(b, x)->shape, shape))
        return x;
    as_shape from = b->info(b, x)->shape; /* a copy: the builder may move its infos */
    int64_t  axes[AS_MAX_RANK];
    size_t   n_axes = 0;
    int      extra = from.rank - shape->rank;
    for (int i = 0; i < from.rank; i++)
        if (i < extra || (shape->dim[i - extra] == 1 && from.dim[i] != 1))
            axes[n_axes++] = i;
    if (n_axes) {
        int list = as_b_ints(b, axes, n_axes);
        x = list < 0 ? -1 : b->node(b, "ReduceSum", (int[]){x, list}, 2, NULL, 0, NULL, 1);
    }
    return as_b_reshape(b, x, shape);
}

assay_status as_op_stopped(assay_env *env, const as_node_ctx *n)
{
    return as_fail(env, ASSAY_CANCELLED, "%s '%s': stopped while it was computed", n->op->name, n->name ? n->name : "");
}

assay_status as_op_eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    as_cost cost = n->op->cost ? n->op->cost(n) : as_cost_bytes(n);
    if (env && as_cancelled(env))
        return as_fail(env, ASSAY_CANCELLED, "%s '%s': stopped before it was computed", n->op->name, n->name);
    as_stage_reference(env, n->name, n->op->name,
                       (double)cost.flops + (double)cost.special + ((double)cost.bytes_read + (double)cost.bytes_written) / 4);
    return n->op->eval(env, n, in, out);
}
