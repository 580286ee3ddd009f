/* forest.h - decision trees in the form that assay.Forest takes: nodes in an order in which children come after their parents. */
#ifndef AS_OP_FOREST_H
#define AS_OP_FOREST_H

#include "op/ml/ml.h"

/* A node of the packed form is four i32: feature, kind, yes, no.  A leaf's `yes` and `no` are its first target and how many it has. */
enum { AS_NODE_FEATURE, AS_NODE_KIND, AS_NODE_YES, AS_NODE_NO, AS_NODE_WIDTH };
/* The first six are the comparisons of ONNX's TreeEnsemble, in its order. */
enum {
    AS_TREE_LEQ,
    AS_TREE_LT,
    AS_TREE_GTE,
    AS_TREE_GT,
    AS_TREE_EQ,
    AS_TREE_NEQ,
    AS_TREE_MEMBER,
    AS_TREE_LEAF,
    AS_TREE_NAN = 16 /* a NaN goes to `yes` */
};
enum { AS_FOREST_X, AS_FOREST_NODES, AS_FOREST_SPLITS, AS_FOREST_IDS, AS_FOREST_WEIGHTS, AS_FOREST_ROOTS, AS_FOREST_N_IN };
typedef enum as_aggregate { AS_AGGREGATE_AVERAGE, AS_AGGREGATE_SUM, AS_AGGREGATE_MIN, AS_AGGREGATE_MAX } as_aggregate;

/* A node as files have it; yes and no are indices of other nodes. */
typedef struct as_tree_node {
    int     kind; /* AS_TREE_MEMBER: one of the members [first, first + count) */
    bool    nan_is_yes;
    int64_t feature, yes, no, first, count; /* first and count of a leaf: its targets */
    double  split;
} as_tree_node;

typedef struct as_forest {
    const as_tree_node *nodes;
    int64_t             n_nodes;
    const int64_t      *roots;
    int64_t             n_roots;
    const double       *members;
    const int64_t      *ids; /* of targets */
    const double       *weights;
    int64_t             n_weights, n_targets, n_features;
    as_aggregate        aggregate;
} as_forest;

/* The raw scores [N, n_targets] of x [N, features]; refuses trees that are not trees, and features and targets that do not exist. */
assay_status as_b_forest(as_builder *b, const as_node_ctx *n, const as_forest *f, int x, int *out);

/* The trees of TreeEnsembleRegressor and TreeEnsembleClassifier, whose targets are in the attributes "<what>_treeids" and so on. */
assay_status as_forest_read(assay_env *env, const as_node_ctx *n, const char *what, as_arena *arena, as_forest *out);
#define AS_FOREST_ATTRS                                                                                                    \
    {.name = "base_values", .kind = AS_ATTR_FLOATS}, {.name = "base_values_as_tensor", .kind = AS_ATTR_TENSOR},            \
        {.name = "nodes_falsenodeids", .kind = AS_ATTR_INTS}, {.name = "nodes_featureids", .kind = AS_ATTR_INTS},          \
        {.name = "nodes_hitrates", .kind = AS_ATTR_FLOATS}, {.name = "nodes_hitrates_as_tensor", .kind = AS_ATTR_TENSOR},  \
        {.name = "nodes_missing_value_tracks_true", .kind = AS_ATTR_INTS}, {.name = "nodes_modes", .kind = AS_ATTR_TEXTS}, \
        {.name = "nodes_nodeids", .kind = AS_ATTR_INTS}, {.name = "nodes_treeids", .kind = AS_ATTR_INTS},                  \
        {.name = "nodes_truenodeids", .kind = AS_ATTR_INTS}, {.name = "nodes_values", .kind = AS_ATTR_FLOATS},             \
        {.name = "nodes_values_as_tensor", .kind = AS_ATTR_TENSOR},                                                        \
    {                                                                                                                      \
        .name = "post_transform", .kind = AS_ATTR_TEXT                                                                     \
    }
/* The numbers of a FLOATS attribute or of its "_as_tensor" form, in the arena; NULL and 0 when neither is given. */
assay_status as_forest_numbers(assay_env *env, const as_node_ctx *n, const char *attr, as_arena *arena, const double **out,
                               size_t *count);

#endif
