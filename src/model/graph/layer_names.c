/* layer_names.c - names nodes after their modules. */
#include <string.h>

#include "base/text.h"
#include "model/graph/maker.h"

/* A hash table of texts with open addressing; never more than half full. */
typedef struct entry {
    const char  *text; /* of a module or a name; NULL: a free slot */
    size_t       n;
    uint64_t     hash;
    const as_op *op; /* the operator of its nodes, if all have the same */
    int          rank;
    bool         is_mixed, is_parent;
    int          next; /* of a name: the number for the next node with this name */
} entry;

typedef struct table {
    entry *slots;
    size_t n_slots;
} table;

typedef struct namer {
    as_arena     scratch;
    assay_model *model;
    table        modules, names;
} namer;

/* FNV-1a, letter by letter, so that the parents of a module are found while its text is hashed. */
#define HASH_START UINT64_C(14695981039346656037)
static uint64_t hash_add(uint64_t hash, char c) { return (hash ^ (unsigned char)c) * UINT64_C(1099511628211); }

static uint64_t hash_of(const char *text, size_t n)
{
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < n; i++)
        hash = hash_add(hash, text[i]);
    return hash;
}

static bool table_take(as_arena *arena, size_t n, table *out)
{
    for (out->n_slots = 16; out->n_slots < 4 * n;)
        out->n_slots *= 2;
    return (out->slots = AS_TAKE(arena, entry, out->n_slots)) != NULL;
}

/* Its entry, or the free slot for it. */
static entry *slot_of(const table *t, const char *text, size_t n, uint64_t hash)
{
    size_t mask = t->n_slots - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        entry *e = &t->slots[i];
        if (!e->text || (e->hash == hash && e->n == n && !memcmp(e->text, text, n)))
            return e;
    }
}

static entry *entry_of(const table *t, const char *text)
{
    size_t   n = strlen(text);
    uint64_t hash = hash_of(text, n);
    entry   *e = slot_of(t, text, n, hash);
    if (!e->text)
        *e = (entry){.text = text, .n = n, .hash = hash, .next = 2};
    return e;
}

/* The main node of a module: its product, otherwise its normalisation or look-up. */
static int rank_of(const as_op *op)
{
    static const char *const products[] = {"Conv", "ConvTranspose", "Gemm",        "MatMul",        "Einsum",      "LSTM",
                                           "GRU",  "RNN",           "ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul"};
    static const char *const others[] = {"BatchNormalization",    "LayerNormalization", "GroupNormalization",
                                         "InstanceNormalization", "RMSNormalization",   "Gather"};
    for (size_t i = 0; i < AS_COUNT(products); i++)
        if (!strcmp(op->name, products[i]))
            return 2;
    for (size_t i = 0; i < AS_COUNT(others); i++)
        if (!strcmp(op->name, others[i]))
            return 1;
    return strncmp(op->name, "assay.", 6) ? 0 : 2;
}

static void modules_collect(namer *n)
{
    for (int i = 0; i < n->model->n_nodes; i++) {
        const as_node *node = &n->model->nodes[i];
        int            rank = rank_of(node->op);
        if (!*node->module)
            continue;
        entry *e = entry_of(&n->modules, node->module);
        e->is_mixed |= e->op && e->op != node->op;
        e->op = node->op;
        e->rank = rank > e->rank ? rank : e->rank;
    }
}

/* "layer4" of "layer4.1.conv2", and "layer4.1". */
static void parents_mark(namer *n)
{
    for (size_t i = 0; i < n->modules.n_slots; i++) {
        const entry *e = &n->modules.slots[i];
        uint64_t     hash = HASH_START;
        for (size_t at = 0; at < e->n; at++) {
            if (e->text[at] == '.') {
                entry *parent = slot_of(&n->modules, e->text, at, hash);
                parent->is_parent |= parent->text != NULL;
            }
            hash = hash_add(hash, e->text[at]);
        }
    }
}

/* Takes the name, or the first of its numbered forms that is free; NULL: no memory. */
static const char *name_take(namer *n, const char *module, const char *op)
{
    as_arena   *arena = &n->model->arena;
    const char *name = op ? as_arena_printf(arena, "%s (%s)", module, op) : module;
    size_t      n_names = n->names.n_slots;
    if (!name)
        return NULL;
    entry *e = slot_of(&n->names, name, strlen(name), hash_of(name, strlen(name)));
    while (e->text && n_names--) {
        const char *numbered =
            op ? as_arena_printf(arena, "%s (%s %d)", module, op, e->next++) : as_arena_printf(arena, "%s (%d)", module, e->next++);
        if (!numbered)
            return NULL;
        if (!slot_of(&n->names, numbered, strlen(numbered), hash_of(numbered, strlen(numbered)))->text)
            return entry_of(&n->names, numbered)->text;
    }
    return entry_of(&n->names, name)->text;
}

static bool nodes_name(namer *n)
{
    for (int i = 0; i < n->model->n_nodes; i++)
        if (!*n->model->nodes[i].module)
            entry_of(&n->names, n->model->nodes[i].name);
    for (int i = 0; i < n->model->n_nodes; i++) {
        as_node *node = &n->model->nodes[i];
        if (!*node->module)
            continue;
        const entry *e = entry_of(&n->modules, node->module);
        bool         is_main = !e->is_parent && (e->rank ? rank_of(node->op) == e->rank : !e->is_mixed);
        const char  *dot = strrchr(node->op->name, '.'), *op = dot ? dot + 1 : node->op->name; /* without its domain */
        const char  *name = name_take(n, node->module, is_main ? NULL : op);
        if (!name)
            return false;
        node->name = name;
    }
    return true;
}

assay_status as_model_layers_name(assay_env *env, assay_model *model)
{
    namer        n = {.model = model};
    size_t       n_nodes = (size_t)model->n_nodes;
    assay_status status = ASSAY_OK;
    if (!table_take(&n.scratch, n_nodes, &n.modules) || !table_take(&n.scratch, n_nodes, &n.names)) {
        status = as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the names of %zu layers", model->name, n_nodes);
    } else {
        modules_collect(&n);
        parents_mark(&n);
        if (!nodes_name(&n))
            status =
                as_fail(env, ASSAY_NO_MEMORY, "model: %s: not enough memory for the names of %zu layers", model->name, n_nodes);
    }
    as_arena_drop(&n.scratch);
    return status;
}
