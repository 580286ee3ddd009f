/* forest.c - reads decision trees from attributes, checks them, and packs them for assay.Forest. */
#include "op/ml/forest.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 1 << 28 };

/* --- Packing ----------------------------------------------------------------------------------------- */

/* A place that a node's index goes to: the word of a packed node; -1 for a root. */
typedef struct place {
    int64_t node, word;
} place;

typedef struct packer {
    const as_forest *f;
    int32_t         *nodes;
    double          *splits;
    int64_t          n, cap;
    place           *stack;
    bool            *seen;
} packer;

static int64_t emit(packer *p, const as_tree_node *t, int kind, double split)
{
    int32_t *at = &p->nodes[p->n * AS_NODE_WIDTH];
    at[AS_NODE_FEATURE] = (int32_t)t->feature;
    at[AS_NODE_KIND] = kind | (t->nan_is_yes ? AS_TREE_NAN : 0);
    at[AS_NODE_YES] = (int32_t)t->first;
    at[AS_NODE_NO] = (int32_t)t->count;
    p->splits[p->n] = split;
    return p->n++;
}

static assay_status tree_check(assay_env *env, const as_node_ctx *n, const packer *p, int64_t i)
{
    const as_forest *f = p->f;
    if (i < 0 || i >= f->n_nodes)
        return as_refuse(env, n, "a branch leads to node %lld of %lld", (long long)i, (long long)f->n_nodes);
    const as_tree_node *t = &f->nodes[i];
    if (t->kind == AS_TREE_LEAF) {
        for (int64_t k = t->first; k < t->first + t->count; k++)
            if (f->ids[k] < 0 || f->ids[k] >= f->n_targets)
                return as_refuse(env, n, "a leaf has the target %lld of %lld", (long long)f->ids[k], (long long)f->n_targets);
        return ASSAY_OK;
    }
    if (p->seen[i])
        return as_refuse(env, n, "two branches lead to node %lld, so it is not a tree", (long long)i);
    if (t->feature < 0 || t->feature >= f->n_features)
        return as_refuse(env, n, "node %lld reads feature %lld of %lld", (long long)i, (long long)t->feature,
                         (long long)f->n_features);
    return ASSAY_OK;
}

/* A node that asks for one of several members is a chain of equal ones, which all lead to the same node. */
static assay_status tree_pack(assay_env *env, const as_node_ctx *n, packer *p, int64_t root, int32_t *at)
{
    int64_t depth = 0;
    p->stack[depth++] = (place){root, -1};
    *at = (int32_t)p->n;
    while (depth) {
        place top = p->stack[--depth];
        AS_TRY(tree_check(env, n, p, top.node));
        const as_tree_node *t = &p->f->nodes[top.node];
        int64_t             first = p->n, count = t->kind == AS_TREE_MEMBER ? t->count : 1;
        if (first + count > p->cap)
            return as_refuse(env, n, "its branches share nodes or members, so it is not a tree");
        p->seen[top.node] = true;
        if (top.word >= 0)
            p->nodes[top.word] = (int32_t)first;
        if (t->kind == AS_TREE_LEAF) {
            emit(p, t, AS_TREE_LEAF, 0.0);
            continue;
        }
        for (int64_t k = 0; k < count; k++) {
            int64_t i = emit(p, t, t->kind == AS_TREE_MEMBER ? AS_TREE_EQ : t->kind,
                             t->kind == AS_TREE_MEMBER ? p->f->members[t->first + k] : t->split);
            p->nodes[i * AS_NODE_WIDTH + AS_NODE_NO] = (int32_t)(i + 1);
            p->nodes[i * AS_NODE_WIDTH + AS_NODE_YES] = (int32_t)(first + count); /* the next one packed */
        }
        p->stack[depth++] = (place){t->no, (first + count - 1) * AS_NODE_WIDTH + AS_NODE_NO};
        p->stack[depth++] = (place){t->yes, -1};
    }
    return ASSAY_OK;
}

static int constant_of(as_builder *b, const void *data, as_dtype dtype, const as_shape *shape)
{
    /* A view's memory is not const; the builder only reads and copies it. */
    as_view view = as_view_of((void *)(uintptr_t)data, dtype, shape);
    return b->constant(b, &view);
}

static assay_status pack(as_builder *b, const as_node_ctx *n, const as_forest *f, as_arena *arena, int x, int *out)
{
    int64_t n_members = 0;
    for (int64_t i = 0; i < f->n_nodes; i++)
        n_members += f->nodes[i].kind == AS_TREE_MEMBER ? f->nodes[i].count : 0;
    packer   p = {.f = f, .cap = 2 * f->n_nodes + n_members + f->n_roots};
    int32_t *roots = AS_TAKE(arena, int32_t, f->n_roots + 1), *ids = AS_TAKE(arena, int32_t, f->n_weights + 1);
    p.nodes = AS_TAKE(arena, int32_t, p.cap * AS_NODE_WIDTH);
    p.splits = AS_TAKE(arena, double, p.cap);
    p.stack = AS_TAKE(arena, place, p.cap + 2);
    p.seen = AS_TAKE(arena, bool, f->n_nodes + 1);
    if (!roots || !ids || !p.nodes || !p.splits || !p.stack || !p.seen)
        return as_fail(b->env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %lld nodes", n->op->name, n->name ? n->name : "",
                       (long long)f->n_nodes);
    for (int64_t i = 0; i < f->n_roots; i++)
        AS_TRY(tree_pack(b->env, n, &p, f->roots[i], &roots[i]));
    for (int64_t i = 0; i < f->n_weights; i++)
        ids[i] = (int32_t)f->ids[i];
    as_dtype dtype = as_b_info(b, x).dtype;
    as_attr  attrs[] = {AS_ATTR_I("aggregate", f->aggregate), AS_ATTR_I("n_targets", f->n_targets)};
    int      in[AS_FOREST_N_IN] = {[AS_FOREST_X] = x,
                                   [AS_FOREST_NODES] = constant_of(b, p.nodes, AS_I32, &AS_SHAPE(p.n, AS_NODE_WIDTH)),
                                   [AS_FOREST_SPLITS] = as_b_cast(b, constant_of(b, p.splits, AS_F64, &AS_SHAPE(p.n)), dtype),
                                   [AS_FOREST_IDS] = constant_of(b, ids, AS_I32, &AS_SHAPE(f->n_weights)),
                                   [AS_FOREST_WEIGHTS] =
                                       as_b_cast(b, constant_of(b, f->weights, AS_F64, &AS_SHAPE(f->n_weights)), dtype),
                                   [AS_FOREST_ROOTS] = constant_of(b, roots, AS_I32, &AS_SHAPE(f->n_roots))};
    *out = as_b_node(b, "assay.Forest", in, AS_FOREST_N_IN, attrs, AS_COUNT(attrs));
    return ASSAY_OK;
}

assay_status as_b_forest(as_builder *b, const as_node_ctx *n, const as_forest *f, int x, int *out)
{
    as_arena arena = {0};
    if (f->n_nodes > MAX_NODES || f->n_weights > MAX_NODES || f->n_targets < 1 || f->n_targets > MAX_NODES || f->n_roots < 1)
        return as_refuse(b->env, n, "%lld nodes, %lld trees, %lld weights and %lld targets are not possible", (long long)f->n_nodes,
                         (long long)f->n_roots, (long long)f->n_weights, (long long)f->n_targets);
    assay_status status = pack(b, n, f, &arena, x, out);
    as_arena_drop(&arena);
    return status;
}

/* --- Reading ------------------------------------------------------------------------------------------- */

assay_status as_forest_numbers(assay_env *env, const as_node_ctx *n, const char *attr, as_arena *arena, const double **out,
                               size_t *count)
{
    const char    *other = as_arena_printf(arena, "%s_as_tensor", attr);
    const as_attr *list = as_attr_find(n, attr), *tensor = other ? as_attr_find(n, other) : NULL;
    *out = NULL;
    *count = 0;
    if (!other)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %s", n->op->name, n->name ? n->name : "", attr);
    if (list && (!tensor || list->n)) {
        *out = list->floats;
        *count = list->n;
    } else if (tensor) {
        int64_t size = as_shape_count(&tensor->tensor->shape);
        double *copy = AS_TAKE(arena, double, size + 1);
        if (!copy)
            return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %s", n->op->name, n->name ? n->name : "", attr);
        for (int64_t i = 0; i < size; i++)
            copy[i] = as_view_get(tensor->tensor, i);
        *out = copy;
        *count = (size_t)size;
    }
    return ASSAY_OK;
}

/* A node's or a target's place: sorted by tree, then by node, then as in the file. */
typedef struct key {
    int64_t tree, node, at;
} key;

static int key_order(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* The first key of (tree, node), or n. */
static size_t key_find(const key *keys, size_t n, int64_t tree, int64_t node)
{
    size_t low = 0, high = n;
    key    wanted = {tree, node, -1};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key_order(&keys[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && keys[low].tree == tree && keys[low].node == node ? low : n;
}

static const int64_t *ints_of(const as_node_ctx *n, const char *attr, size_t count)
{
    const as_attr *a = as_attr_find(n, attr);
    return a && a->n == count ? a->ints : NULL;
}

static int kind_of(const char *word)
{
    static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
    for (size_t i = 0; i < AS_COUNT(words); i++)
        if (!strcmp(words[i], word))
            return (int)i;
    return strcmp(word, "LEAF") ? -1 : AS_TREE_LEAF;
}

static key *keys_of(as_arena *arena, const int64_t *trees, const int64_t *nodes, size_t n)
{
    key *keys = AS_TAKE(arena, key, n + 1);
    for (size_t i = 0; keys && i < n; i++)
        keys[i] = (key){trees[i], nodes[i], (int64_t)i};
    if (keys)
        qsort(keys, n, sizeof *keys, key_order);
    return keys;
}

typedef struct lists {
    size_t         n, n_targets;
    const int64_t *trees, *nodes, *features, *yes, *no, *missing, *target_trees, *target_nodes, *target_ids;
    const as_attr *modes;
    const double  *splits, *weights;
} lists;

static assay_status lists_read(assay_env *env, const as_node_ctx *n, const char *what, as_arena *arena, lists *out)
{
    lists       l = {.modes = as_attr_find(n, "nodes_modes")};
    size_t      n_splits, n_weights;
    const char *trees = as_arena_printf(arena, "%s_treeids", what), *nodes = as_arena_printf(arena, "%s_nodeids", what);
    const char *ids = as_arena_printf(arena, "%s_ids", what), *weights = as_arena_printf(arena, "%s_weights", what);
    if (!trees || !nodes || !ids || !weights)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for its trees", n->op->name, n->name ? n->name : "");
    l.n = l.modes ? l.modes->n : 0;
    l.trees = ints_of(n, "nodes_treeids", l.n);
    l.nodes = ints_of(n, "nodes_nodeids", l.n);
    l.features = ints_of(n, "nodes_featureids", l.n);
    l.yes = ints_of(n, "nodes_truenodeids", l.n);
    l.no = ints_of(n, "nodes_falsenodeids", l.n);
    l.missing = ints_of(n, "nodes_missing_value_tracks_true", l.n);
    AS_TRY(as_forest_numbers(env, n, "nodes_values", arena, &l.splits, &n_splits));
    AS_TRY(as_forest_numbers(env, n, weights, arena, &l.weights, &n_weights));
    l.n_targets = n_weights;
    l.target_trees = ints_of(n, trees, n_weights);
    l.target_nodes = ints_of(n, nodes, n_weights);
    l.target_ids = ints_of(n, ids, n_weights);
    if (!l.n || n_splits != l.n || !l.trees || !l.nodes || !l.features || !l.yes || !l.no ||
        (as_ml_count(n, "nodes_missing_value_tracks_true") && !l.missing))
        return as_refuse(env, n, "the lists that describe its %zu nodes are missing or have different lengths", l.n);
    if (!n_weights || !l.target_trees || !l.target_nodes || !l.target_ids)
        return as_refuse(env, n, "the lists that describe the %zu weights of its leaves are missing or have different lengths",
                         n_weights);
    *out = l;
    return ASSAY_OK;
}

static assay_status node_read(assay_env *env, const as_node_ctx *n, const lists *l, size_t i, const key *keys, as_tree_node *out)
{
    int kind = kind_of(l->modes->texts[i]);
    if (kind < 0)
        return as_refuse(env, n, "node %zu has the mode '%.40s', which is not known", i, l->modes->texts[i]);
    *out = (as_tree_node){
        .kind = kind, .feature = l->features[i], .split = l->splits[i], .nan_is_yes = l->missing && l->missing[i] != 0};
    if (kind == AS_TREE_LEAF) {
        out->feature = 0;
        out->nan_is_yes = false;
        return ASSAY_OK;
    }
    size_t yes = key_find(keys, l->n, l->trees[i], l->yes[i]), no = key_find(keys, l->n, l->trees[i], l->no[i]);
    if (yes == l->n || no == l->n)
        return as_refuse(env, n, "node %lld of tree %lld leads to a node that the tree does not have", (long long)l->nodes[i],
                         (long long)l->trees[i]);
    out->yes = keys[yes].at;
    out->no = keys[no].at;
    return ASSAY_OK;
}

assay_status as_forest_read(assay_env *env, const as_node_ctx *n, const char *what, as_arena *arena, as_forest *out)
{
    lists l = {0};
    AS_TRY(lists_read(env, n, what, arena, &l));
    key *keys = keys_of(arena, l.trees, l.nodes, l.n), *targets = keys_of(arena, l.target_trees, l.target_nodes, l.n_targets);
    as_tree_node *nodes = AS_TAKE(arena, as_tree_node, l.n);
    int64_t      *roots = AS_TAKE(arena, int64_t, l.n), *ids = AS_TAKE(arena, int64_t, l.n_targets), n_roots = 0;
    double       *weights = AS_TAKE(arena, double, l.n_targets);
    if (!keys || !targets || !nodes || !roots || !ids || !weights)
        return as_fail(env, ASSAY_NO_MEMORY, "%s '%s': not enough memory for %zu nodes", n->op->name, n->name ? n->name : "", l.n);
    for (size_t i = 0; i < l.n; i++)
        AS_TRY(node_read(env, n, &l, i, keys, &nodes[i]));
    for (size_t i = 0; i < l.n_targets; i++) { /* in the order of the keys: those of a leaf stand together */
        ids[i] = l.target_ids[targets[i].at];
        weights[i] = l.weights[targets[i].at];
    }
    for (size_t i = 0; i < l.n_targets; i++) {
        size_t at = key_find(keys, l.n, targets[i].tree, targets[i].node);
        if (at == l.n || nodes[keys[at].at].kind != AS_TREE_LEAF)
            return as_refuse(env, n, "a weight belongs to node %lld of tree %lld, which is not a leaf", (long long)targets[i].node,
                             (long long)targets[i].tree);
        as_tree_node *leaf = &nodes[keys[at].at];
        if (!leaf->count++)
            leaf->first = (int64_t)i;
    }
    for (size_t i = 0; i < l.n; i++) /* a tree's root is its first node in the file */
        if (i == 0 || keys[i].tree != keys[i - 1].tree) {
            int64_t first = keys[i].at;
            for (size_t k = i; k < l.n && keys[k].tree == keys[i].tree; k++)
                first = keys[k].at < first ? keys[k].at : first;
            roots[n_roots++] = first;
        }
    *out = (as_forest){.nodes = nodes,
                       .n_nodes = (int64_t)l.n,
                       .roots = roots,
                       .n_roots = n_roots,
                       .ids = ids,
                       .weights = weights,
                       .n_weights = (int64_t)l.n_targets,
                       .aggregate = AS_AGGREGATE_SUM};
    return ASSAY_OK;
}
