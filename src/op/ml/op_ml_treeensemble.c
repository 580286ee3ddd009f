/* op_ml_treeensemble.c - decision trees in the form of ai.onnx.ml 5: leaves apart from branches, and tests for one of several members. */
#include <math.h>

#include "op/ml/forest.h"

static const as_attr_def attrs[] = {
    {.name = "aggregate_function", .kind = AS_ATTR_INT},
    {.name = "leaf_targetids", .kind = AS_ATTR_INTS, .required = true},
    {.name = "leaf_weights", .kind = AS_ATTR_TENSOR, .required = true},
    {.name = "membership_values", .kind = AS_ATTR_TENSOR},
    {.name = "n_targets", .kind = AS_ATTR_INT},
    {.name = "nodes_falseleafs", .kind = AS_ATTR_INTS, .required = true},
    {.name = "nodes_falsenodeids", .kind = AS_ATTR_INTS, .required = true},
    {.name = "nodes_featureids", .kind = AS_ATTR_INTS, .required = true},
    {.name = "nodes_hitrates", .kind = AS_ATTR_TENSOR},
    {.name = "nodes_missing_value_tracks_true", .kind = AS_ATTR_INTS},
    {.name = "nodes_modes", .kind = AS_ATTR_TENSOR, .required = true},
    {.name = "nodes_splits", .kind = AS_ATTR_TENSOR, .required = true},
    {.name = "nodes_trueleafs", .kind = AS_ATTR_INTS, .required = true},
    {.name = "nodes_truenodeids", .kind = AS_ATTR_INTS, .required = true},
    {.name = "post_transform", .kind = AS_ATTR_INT},
    {.name = "tree_roots", .kind = AS_ATTR_INTS, .required = true},
    {0},
};

/* The members of each node that has some, in the order of the nodes: lists that a NaN ends. */
static assay_status members_read(assay_env *env, const as_node_ctx *n, as_tree_node *nodes, size_t n_nodes, as_arena *arena,
                                 const double **out)
{
    const as_attr *a = as_attr_find(n, "membership_values");
    int64_t        count = a ? as_shape_count(&a->tensor->shape) : 0, at = 0;
    double        *values = AS_TAKE(arena, double, count + 1);
    if (!values)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for its members", n->op->name, n->name ? n->name : "");
    for (int64_t i = 0; i < count; i++)
        values[i] = as_view_get(a->tensor, i);
    for (size_t i = 0; i < n_nodes; i++) {
        if (nodes[i].kind != AS_TREE_MEMBER)
            continue;
        nodes[i].first = at;
        while (at < count && !isnan(values[at]))
            at++;
        nodes[i].count = at++ - nodes[i].first;
        if (nodes[i].count < 1)
            return as_refuse(env, n, "node %zu asks for members, and membership_values has none for it", i);
    }
    *out = values;
    return ASSAY_OK;
}

static int64_t child(int64_t id, int64_t is_leaf, int64_t n_nodes, int64_t n_leaves)
{
    int64_t count = is_leaf ? n_leaves : n_nodes;
    return id < 0 || id >= count ? -1 : is_leaf ? n_nodes + id : id;
}

static assay_status forest_read(assay_env *env, const as_node_ctx *n, as_arena *arena, as_forest *f)
{
    const as_attr *features = as_attr_find(n, "nodes_featureids"), *missing = as_attr_find(n, "nodes_missing_value_tracks_true");
    const as_attr *ids = as_attr_find(n, "leaf_targetids"), *roots = as_attr_find(n, "tree_roots");
    const as_attr *modes = as_attr_find(n, "nodes_modes"), *splits = as_attr_find(n, "nodes_splits"),
                  *weights = as_attr_find(n, "leaf_weights");
    const as_attr *ints[] = {as_attr_find(n, "nodes_truenodeids"), as_attr_find(n, "nodes_falsenodeids"),
                             as_attr_find(n, "nodes_trueleafs"), as_attr_find(n, "nodes_falseleafs")};
    size_t         n_nodes = features->n, n_leaves = ids->n;
    bool           ok = as_ml_count(n, "nodes_modes") == n_nodes && as_ml_count(n, "nodes_splits") == n_nodes &&
              as_ml_count(n, "leaf_weights") == n_leaves && (!missing || !missing->n || missing->n == n_nodes);
    for (size_t i = 0; i < AS_COUNT(ints); i++)
        ok = ok && ints[i]->n == n_nodes;
    if (!ok)
        return as_refuse(env, n, "the lists that describe its %zu nodes and %zu leaves have different lengths", n_nodes, n_leaves);
    as_tree_node *nodes = AS_TAKE(arena, as_tree_node, n_nodes + n_leaves + 1);
    double       *leaf_weights = AS_TAKE(arena, double, n_leaves + 1);
    if (!nodes || !leaf_weights)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %zu nodes", n->op->name, n->name ? n->name : "",
                       n_nodes);
    for (size_t i = 0; i < n_nodes; i++) {
        int64_t mode = as_view_get_i64(modes->tensor, (int64_t)i);
        if (mode < AS_TREE_LEQ || mode > AS_TREE_MEMBER)
            return as_refuse(env, n, "node %zu has the mode %lld, which is not known", i, (long long)mode);
        nodes[i] = (as_tree_node){.kind = (int)mode,
                                  .feature = features->ints[i],
                                  .split = as_view_get(splits->tensor, (int64_t)i),
                                  .nan_is_yes = missing && missing->n && missing->ints[i] != 0,
                                  .yes = child(ints[0]->ints[i], ints[2]->ints[i], (int64_t)n_nodes, (int64_t)n_leaves),
                                  .no = child(ints[1]->ints[i], ints[3]->ints[i], (int64_t)n_nodes, (int64_t)n_leaves)};
    }
    for (size_t i = 0; i < n_leaves; i++) {
        nodes[n_nodes + i] = (as_tree_node){.kind = AS_TREE_LEAF, .first = (int64_t)i, .count = 1};
        leaf_weights[i] = as_view_get(weights->tensor, (int64_t)i);
    }
    *f = (as_forest){.nodes = nodes,
                     .n_nodes = (int64_t)(n_nodes + n_leaves),
                     .roots = roots->ints,
                     .n_roots = (int64_t)roots->n,
                     .ids = ids->ints,
                     .weights = leaf_weights,
                     .n_weights = (int64_t)n_leaves};
    return members_read(env, n, nodes, n_nodes, arena, &f->members);
}

static assay_status build(as_builder *b, const as_node_ctx *n, as_arena *arena, int x, int *out)
{
    as_forest f;
    as_shape  rows;
    int64_t   post = as_attr_int(n, "post_transform", 0), aggregate = as_attr_int(n, "aggregate_function", AS_AGGREGATE_SUM);
    AS_TRY(as_rule_dtype(b->env, n, 0, 1, AS_SET_FLOAT));
    if (n->in[0].dtype == AS_F32 || n->in[0].dtype == AS_F64)
        AS_TRY(as_ml_rows(b->env, n, &rows));
    else if (n->in[0].shape.rank != 2)
        return as_refuse(b->env, n, "X is %s and must be [rows, features]", AS_SHOW(&n->in[0].shape));
    else
        rows = n->in[0].shape;
    if (post < 0 || post >= AS_N_POSTS || aggregate < AS_AGGREGATE_AVERAGE || aggregate > AS_AGGREGATE_MAX)
        return as_refuse(b->env, n, "post_transform is %lld and aggregate_function %lld: they must be 0 to 4 and 0 to 3",
                         (long long)post, (long long)aggregate);
    AS_TRY(forest_read(b->env, n, arena, &f));
    f.n_features = rows.dim[1];
    f.n_targets = as_attr_int(n, "n_targets", 1);
    f.aggregate = (as_aggregate)aggregate;
    AS_TRY(as_b_forest(b, n, &f, as_b_rows(b, n, x), out));
    *out = as_b_cast(b, as_b_post(b, *out, (as_post)post), n->in[0].dtype);
    return ASSAY_OK;
}

static assay_status expand(as_builder *b, const as_node_ctx *n, const int *in, int *out)
{
    as_arena     arena = {0};
    assay_status status = build(b, n, &arena, in[0], &out[0]);
    as_arena_drop(&arena);
    return status;
}

#define NUMBERS(name_, n_, ...)                                                                                           \
    {                                                                                                                     \
        .name = (name_), .kind = AS_ATTR_TENSOR, .tensor = &(const as_view)                                               \
        {                                                                                                                 \
            .data = (void *)(uintptr_t)(const double[]){__VA_ARGS__}, .dtype = AS_F64, .shape = {.rank = 1, .dim = {n_}}, \
            .stride = {                                                                                                   \
                1                                                                                                         \
            }                                                                                                             \
        }                                                                                                                 \
    }

static const as_case cases[] = {
    /* By hand: node 0 is x0 <= 1 ? node 1 : leaf 2 (10 to target 1); node 1 is x1 in {3, 4} ? leaf 0 (1 to target 0) : leaf 1 (5 to target 1). */
    {.name = "members by hand",
     .n_in = 1,
     .in = {AS_IN(F32, 4, 2)},
     .n_attrs = 13,
     .attrs = {AS_ATTR_LIST("nodes_featureids", 0, 1), NUMBERS("nodes_modes", 2, 0, 6), NUMBERS("nodes_splits", 2, 1, 0),
               AS_ATTR_LIST("nodes_truenodeids", 1, 0), AS_ATTR_LIST("nodes_trueleafs", 0, 1),
               AS_ATTR_LIST("nodes_falsenodeids", 2, 1), AS_ATTR_LIST("nodes_falseleafs", 1, 1),
               AS_ATTR_LIST("leaf_targetids", 0, 1, 1), NUMBERS("leaf_weights", 3, 1, 5, 10), AS_ATTR_LIST("tree_roots", 0),
               AS_ATTR_I("n_targets", 2), NUMBERS("membership_values", 3, 3, 4, NAN), AS_ATTR_I("aggregate_function", 1)},
     AS_GIVEN(0, 3, 0, 4, 0, 5, 2, 3),
     AS_WANT(1, 0, 1, 0, 0, 5, 0, 10)},
};

const as_op as_op_ml_treeensemble = {
    .name = "ai.onnx.ml.TreeEnsemble",
    .min_in = 1,
    .max_in = 1,
    .min_out = 1,
    .max_out = 1,
    .attrs = attrs,
    AS_COMPOSED,
    .expand = expand,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
