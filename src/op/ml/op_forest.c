/* op_forest.c - decision trees: each row of X goes from every root to a leaf, and the leaves' weights are summed, averaged, or their least or
 * greatest taken, per target.  Nodes are packed so that children come after their parents: a walk always ends. */
#include <float.h>
#include <stdlib.h>
#include <math.h>

#include "op/ml/forest.h"

static const as_attr_def attrs[] = {{.name = "aggregate", .kind = AS_ATTR_INT, .required = true},
                                    {.name = "n_targets", .kind = AS_ATTR_INT, .required = true},
                                    {0}};

static assay_status nodes_check(assay_env *env, const as_node_ctx *n)
{
    const int32_t *nodes = n->in[AS_FOREST_NODES].constant, *ids = n->in[AS_FOREST_IDS].constant,
                  *roots = n->in[AS_FOREST_ROOTS].constant;
    int64_t n_nodes = n->in[AS_FOREST_NODES].shape.dim[0], n_weights = n->in[AS_FOREST_IDS].shape.dim[0],
            targets = as_attr_int(n, "n_targets", 0);
    if ((!nodes && n_nodes) || (!ids && n_weights) || (!roots && n->in[AS_FOREST_ROOTS].shape.dim[0]))
        return as_refuse(env, n, "nodes, ids and roots (inputs 1, 3 and 5) must be known while planning");
    for (int64_t i = 0; i < n_nodes; i++) {
        const int32_t *at = &nodes[i * AS_NODE_WIDTH];
        int            kind = at[AS_NODE_KIND] & ~AS_TREE_NAN;
        bool           ok = kind == AS_TREE_LEAF
                                ? at[AS_NODE_YES] >= 0 && at[AS_NODE_NO] >= 0 && (int64_t)at[AS_NODE_YES] + at[AS_NODE_NO] <= n_weights
                                : kind >= AS_TREE_LEQ && kind <= AS_TREE_NEQ && at[AS_NODE_YES] > i && at[AS_NODE_YES] < n_nodes &&
                            at[AS_NODE_NO] > i && at[AS_NODE_NO] < n_nodes && at[AS_NODE_FEATURE] >= 0 &&
                            at[AS_NODE_FEATURE] < n->in[AS_FOREST_X].shape.dim[1];
        if (!ok)
            return as_refuse(env, n, "node %lld is not a leaf with weights and not a branch to later nodes", (long long)i);
    }
    for (int64_t i = 0; i < n_weights; i++)
        if (ids[i] < 0 || ids[i] >= targets)
            return as_refuse(env, n, "weight %lld is of target %d, and there are %lld", (long long)i, ids[i], (long long)targets);
    for (int64_t i = 0; i < n->in[AS_FOREST_ROOTS].shape.dim[0]; i++)
        if (roots[i] < 0 || roots[i] >= n_nodes)
            return as_refuse(env, n, "root %lld is node %d of %lld", (long long)i, roots[i], (long long)n_nodes);
    return ASSAY_OK;
}

static assay_status infer(assay_env *env, const as_node_ctx *n, as_tensor_info *out)
{
    const as_tensor_info *in = n->in;
    int64_t               targets = as_attr_int(n, "n_targets", 0), aggregate = as_attr_int(n, "aggregate", 0);
    AS_TRY(as_rule_dtype(env, n, AS_FOREST_X, 1, AS_DTYPE_BIT(AS_F32) | AS_DTYPE_BIT(AS_F64)));
    bool ok = in[AS_FOREST_X].shape.rank == 2 && in[AS_FOREST_NODES].shape.rank == 2 &&
              in[AS_FOREST_NODES].shape.dim[1] == AS_NODE_WIDTH && in[AS_FOREST_NODES].dtype == AS_I32 &&
              in[AS_FOREST_IDS].dtype == AS_I32 && in[AS_FOREST_ROOTS].dtype == AS_I32;
    for (int i = AS_FOREST_SPLITS; i < AS_FOREST_N_IN; i++)
        ok = ok && in[i].shape.rank == 1;
    ok = ok && in[AS_FOREST_SPLITS].shape.dim[0] == in[AS_FOREST_NODES].shape.dim[0] &&
         in[AS_FOREST_WEIGHTS].shape.dim[0] == in[AS_FOREST_IDS].shape.dim[0];
    for (int i = AS_FOREST_SPLITS; ok && i <= AS_FOREST_WEIGHTS; i += AS_FOREST_WEIGHTS - AS_FOREST_SPLITS)
        ok = in[i].dtype == in[AS_FOREST_X].dtype;
    if (!ok || targets < 1 || aggregate < AS_AGGREGATE_AVERAGE || aggregate > AS_AGGREGATE_MAX)
        return as_refuse(env, n,
                         "X [N, features], nodes i32 [M, 4], splits [M], ids i32 [L], weights [L] and roots i32 [T] are needed");
    AS_TRY(nodes_check(env, n));
    out[0] = as_info(in[AS_FOREST_X].dtype, &AS_SHAPE(in[AS_FOREST_X].shape.dim[0], targets));
    return ASSAY_OK;
}

/* One comparison per level of an even tree with as many leaves as there are, and one addition per tree. */
static as_cost cost(const as_node_ctx *n)
{
    as_cost  cost = as_cost_bytes(n);
    uint64_t rows = (uint64_t)n->in[AS_FOREST_X].shape.dim[0], trees = (uint64_t)n->in[AS_FOREST_ROOTS].shape.dim[0], levels = 1;
    uint64_t per_tree = trees ? (uint64_t)n->in[AS_FOREST_NODES].shape.dim[0] / trees : 0;
    while (per_tree >>= 1)
        levels++;
    cost.flops = as_sat_mul(as_sat_mul(rows, trees), levels);
    return cost;
}

static bool goes_yes(int kind, double x, double split)
{
    if (isnan(x))
        return (kind & AS_TREE_NAN) || (kind & ~AS_TREE_NAN) == AS_TREE_NEQ;
    switch (kind & ~AS_TREE_NAN) {
    case AS_TREE_LEQ: return x <= split;
    case AS_TREE_LT: return x < split;
    case AS_TREE_GTE: return x >= split;
    case AS_TREE_GT: return x > split;
    case AS_TREE_EQ: return x == split;
    default: return x != split;
    }
}

static int64_t leaf_of(const as_view *in, int64_t row, int64_t at)
{
    for (int64_t features = in[AS_FOREST_X].shape.dim[1];;) {
        const int64_t first = at * AS_NODE_WIDTH;
        int           kind = (int)as_view_get_i64(&in[AS_FOREST_NODES], first + AS_NODE_KIND);
        if ((kind & ~AS_TREE_NAN) == AS_TREE_LEAF)
            return at;
        double x = as_view_get(&in[AS_FOREST_X], row * features + as_view_get_i64(&in[AS_FOREST_NODES], first + AS_NODE_FEATURE));
        bool   yes = goes_yes(kind, x, as_view_get(&in[AS_FOREST_SPLITS], at));
        at = as_view_get_i64(&in[AS_FOREST_NODES], first + (yes ? AS_NODE_YES : AS_NODE_NO));
    }
}

static double combine(as_aggregate how, double a, double b)
{
    return how == AS_AGGREGATE_MIN ? (b < a ? b : a) : how == AS_AGGREGATE_MAX ? (b > a ? b : a) : a + b;
}

static assay_status eval(assay_env *env, const as_node_ctx *n, const as_view *in, const as_view *out)
{
    int64_t      rows = in[AS_FOREST_X].shape.dim[0], trees = in[AS_FOREST_ROOTS].shape.dim[0], targets = out[0].shape.dim[1];
    as_aggregate how = (as_aggregate)as_attr_int(n, "aggregate", AS_AGGREGATE_SUM);
    double       most = in[AS_FOREST_X].dtype == AS_F64 ? DBL_MAX : (double)FLT_MAX;
    double       start = how == AS_AGGREGATE_MIN ? most : how == AS_AGGREGATE_MAX ? -most : 0.0;
    double      *sums = malloc((size_t)targets * sizeof *sums);
    if (!sums)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %lld targets", n->op->name, n->name ? n->name : "",
                       (long long)targets);
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t k = 0; k < targets; k++)
            sums[k] = start;
        for (int64_t t = 0; t < trees; t++) {
            int64_t leaf = leaf_of(in, row, as_view_get_i64(&in[AS_FOREST_ROOTS], t)) * AS_NODE_WIDTH;
            int64_t first = as_view_get_i64(&in[AS_FOREST_NODES], leaf + AS_NODE_YES),
                    count = as_view_get_i64(&in[AS_FOREST_NODES], leaf + AS_NODE_NO);
            for (int64_t k = first; k < first + count; k++) {
                double *sum = &sums[as_view_get_i64(&in[AS_FOREST_IDS], k)];
                *sum = combine(how, *sum, as_view_get(&in[AS_FOREST_WEIGHTS], k));
            }
        }
        for (int64_t k = 0; k < targets; k++)
            as_view_set(&out[0], row * targets + k, how == AS_AGGREGATE_AVERAGE && trees ? sums[k] / (double)trees : sums[k]);
        if (env && as_cancelled(env)) {
            free(sums);
            return as_op_stopped(env, n);
        }
    }
    free(sums);
    return ASSAY_OK;
}

#define NODES_IN(n_, ...)                                                                                            \
    {                                                                                                                \
        .dtype = AS_I32, .shape = {.rank = 2, .dim = {n_, AS_NODE_WIDTH}}, .ints = (const int64_t[]) { __VA_ARGS__ } \
    }
#define LIST_IN(n_, ...)                                                                              \
    {                                                                                                 \
        .dtype = AS_I32, .shape = {.rank = 1, .dim = {n_}}, .ints = (const int64_t[]) { __VA_ARGS__ } \
    }
#define TWO_TREES                                                                                                         \
    NODES_IN(8, 0, AS_TREE_LEQ, 1, 2, 0, AS_TREE_LEAF, 0, 1, 1, AS_TREE_GT | AS_TREE_NAN, 3, 4, 0, AS_TREE_LEAF, 1, 2, 0, \
             AS_TREE_LEAF, 3, 1, 1, AS_TREE_EQ, 6, 7, 0, AS_TREE_LEAF, 0, 0, 0, AS_TREE_LEAF, 4, 1)
#define TWO_TREES_CASE(dtype_, aggregate_)                                                                                   \
    .n_in = 6,                                                                                                               \
    .in = {AS_IN(dtype_, 4, 2), TWO_TREES, AS_IN(dtype_, 8), LIST_IN(5, 0, 0, 1, 1, 0), AS_IN(dtype_, 5), LIST_IN(2, 0, 5)}, \
    .n_attrs = 2, .attrs = {AS_ATTR_I("aggregate", aggregate_), AS_ATTR_I("n_targets", 2)}
#define TWO_TREES_GIVEN AS_GIVEN(0, 9, 2, 9, 2, -1, NAN, NAN, /* splits */ 1, 0, 3, 0, 0, 9, 0, 0, /* weights */ 1, 2, 3, 4, 10)

static const as_case cases[] = {
    /* By hand: tree 0 is x0 <= 1 ? {0: 1} : x1 > 3 (or NaN) ? {0: 2, 1: 3} : {1: 4}; tree 1 is x1 == 9 ? {} : {0: 10}. */
    {.name = "sum by hand", TWO_TREES_CASE(F32, AS_AGGREGATE_SUM), TWO_TREES_GIVEN, AS_WANT(1, 0, 2, 3, 10, 4, 12, 3)},
    {.name = "average by hand", TWO_TREES_CASE(F64, AS_AGGREGATE_AVERAGE), TWO_TREES_GIVEN, AS_WANT(0.5, 0, 1, 1.5, 5, 2, 6, 1.5)},
    {.name = "max", TWO_TREES_CASE(F32, AS_AGGREGATE_MAX), TWO_TREES_GIVEN},
    {.name = "min", TWO_TREES_CASE(F64, AS_AGGREGATE_MIN), TWO_TREES_GIVEN},
    {.name = "many rows of one comparison",
     .n_in = 6,
     .in = {AS_IN(F32, 37, 3),
            NODES_IN(7, 0, 0, 1, 4, 1, 0, 2, 3, 0, AS_TREE_LEAF, 0, 1, 0, AS_TREE_LEAF, 1, 1, 2, 0, 5, 6, 0, AS_TREE_LEAF, 2, 1, 0,
                     AS_TREE_LEAF, 3, 1),
            AS_IN(F32, 7), LIST_IN(4, 0, 0, 0, 0), AS_IN(F32, 4), LIST_IN(3, 0, 1, 4)},
     .n_attrs = 2,
     .attrs = {AS_ATTR_I("aggregate", AS_AGGREGATE_SUM), AS_ATTR_I("n_targets", 1)}},
};

const as_op as_op_forest = {
    .name = "assay.Forest",
    .min_in = AS_FOREST_N_IN,
    .max_in = AS_FOREST_N_IN,
    .min_out = 1,
    .max_out = 1,
    .known_in = AS_INPUT_BIT(AS_FOREST_NODES) | AS_INPUT_BIT(AS_FOREST_IDS) | AS_INPUT_BIT(AS_FOREST_ROOTS),
    .attrs = attrs,
    .infer = infer,
    .cost = cost,
    .eval = eval,
    .tolerance = 1e-5,
    .cases = cases,
    .n_cases = AS_COUNT(cases),
};
