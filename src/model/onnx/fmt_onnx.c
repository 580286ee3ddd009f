/* fmt_onnx.c - ONNX model files: reads the graph from the mapped file; the weights stay in the file.
 *
 * The depth is fixed by this code (model, graph, node, attribute, tensor); subgraphs of If, Loop and Scan, each with a maker of
 * its own, are nested up to a limit.  Memory is bounded by the file: the claimed size of a list or a tensor is checked against
 * the bytes that exist before anything is allocated. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/graph/bind.h"
#include "model/onnx/onnx_read.h"

enum { MAX_FILES = 4096, MAX_MISSING = 1000, ROOM_FOR_RULES = 4 };

typedef struct external {
    const char      *location;
    const as_map    *map;
    struct external *next;
} external;

typedef struct loader {
    as_onnx        o; /* first: what the converter sees */
    as_pb_span     graph;
    struct loader *root; /* the loader of the whole file; this one itself, unless it is a subgraph */
    int            depth, n_bodies;
    int64_t        ir_version;
    bool           is_ours; /* written by assay: names are as we gave them */
    external      *files;
    int            n_files;
    int            n_initialisers;
    as_pb_span    *cells; /* metadata about composites; NULL: not wanted */
    int            n_cells;
} loader;

static assay_status refuse(loader *l, assay_status status, const char *what, const char *name, const char *why)
{
    return as_fail(l->o.env, status, "onnx: %s: %s '%s' %s", l->o.path, what, name, why);
}

static assay_status text(loader *l, as_pb_span span, const char **out)
{
    return as_onnx_text(l->o.env, l->o.path, l->o.scratch, span, out);
}

/* The first failure of the maker, as a status that ends the reading; as_maker_finish() gives the message. */
static assay_status maker_state(const loader *l) { return as_maker_failed(l->o.m) ? ASSAY_INTERNAL : ASSAY_OK; }

/* --- The model around the graph ------------------------------------------------------------------------ */

static assay_status opset_read(loader *l, as_pb_span message)
{
    as_pb_span   domain = {0};
    int64_t      version = 0;
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_BYTES)
            domain = f.bytes;
        else if (f.number == 2 && f.wire == AS_PB_VARINT)
            version = (int64_t)f.value;
    if (r.error)
        return as_onnx_broken(l->o.env, l->o.path, "opset_import", &r);
    if (!domain.n || (domain.n == 7 && !memcmp(domain.data, "ai.onnx", 7)))
        l->o.version = version;
    return ASSAY_OK;
}

/* Metadata that is not ours, or that cannot be understood, is ignored. */
static void metadata_read(loader *l, as_pb_span message)
{
    as_pb_span   key = {0}, value = {0};
    as_pb_reader r = as_pb_read(message);
    size_t       n = strlen(AS_ONNX_CELL_KEY);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_BYTES)
            key = f.bytes;
        else if (f.number == 2 && f.wire == AS_PB_BYTES)
            value = f.bytes;
    if (!r.error && key.n > n && !memcmp(key.data, AS_ONNX_CELL_KEY, n) && l->n_cells < AS_ONNX_MAX_CELLS)
        l->cells[l->n_cells++] = value;
}

static assay_status model_read(loader *l, as_pb_span file)
{
    bool         has_graph = false;
    as_pb_reader r = as_pb_read(file);
    l->o.version = -1;
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_VARINT)
            l->ir_version = (int64_t)f.value;
        else if (f.number == 2 && f.wire == AS_PB_BYTES)
            l->is_ours = f.bytes.n == strlen(AS_ONNX_PRODUCER) && !memcmp(f.bytes.data, AS_ONNX_PRODUCER, f.bytes.n);
        else if (f.number == 8 && f.wire == AS_PB_BYTES)
            AS_TRY(opset_read(l, f.bytes));
        else if (f.number == 7 && f.wire == AS_PB_BYTES)
            l->graph = f.bytes, has_graph = true;
        else if (f.number == 14 && f.wire == AS_PB_BYTES && l->cells)
            metadata_read(l, f.bytes);
    if (r.error)
        return as_onnx_broken(l->o.env, l->o.path, "the model", &r);
    if (!has_graph)
        return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: not an ONNX model: it has no graph", l->o.path);
    if (l->o.version < 0) /* only operators of other domains: each is reported when its node is read */
        l->o.version = AS_ONNX_OPSET;
    if (l->o.version < AS_ONNX_OPSET_MIN || l->o.version > AS_ONNX_OPSET_MAX)
        return as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: it uses operator set %" PRId64 ", and %d to %d are read", l->o.path,
                       l->o.version, AS_ONNX_OPSET_MIN, AS_ONNX_OPSET_MAX);
    return ASSAY_OK;
}

/* --- What is not supported ------------------------------------------------------------------------------ */

/* n_missing: nodes that are not supported at all. */
typedef struct missing {
    as_onnx_missing items[MAX_MISSING];
    int             n, n_nodes, n_missing;
} missing;

/* Operators of com.microsoft that are the standard domain's own, under the same name. */
static const char *const same_elsewhere[] = {"DequantizeLinear", "GatherND", "Gelu", "QuantizeLinear", "Trilu"};

/* The name in our table, or NULL. */
static const char *op_name(loader *l, const char *domain, const char *op)
{
    if (!*domain || !strcmp(domain, "ai.onnx")) {
        if (!strcmp(op, "Constant") || as_control_find(op))
            return op;
        const as_op *found = as_op_find(as_onnx_rename(op));
        return found && !strchr(op, '.') ? op : NULL;
    }
    if (!as_onnx_domain_version(domain))
        return NULL;
    for (size_t i = 0; !strcmp(domain, "com.microsoft") && i < AS_COUNT(same_elsewhere); i++)
        if (!strcmp(op, same_elsewhere[i]))
            return same_elsewhere[i];
    const char  *full = as_arena_printf(l->o.scratch, "%s.%s", domain, op);
    const as_op *found = full ? as_op_find(full) : NULL;
    return found ? found->name : NULL;
}

static assay_status node_kind(loader *l, as_pb_span message, const char **op, const char **domain)
{
    as_pb_span   op_span = {0}, domain_span = {0};
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.wire == AS_PB_BYTES && f.number == 4)
            op_span = f.bytes;
        else if (f.wire == AS_PB_BYTES && f.number == 7)
            domain_span = f.bytes;
    if (r.error)
        return as_onnx_broken(l->o.env, l->o.path, "a node", &r);
    AS_TRY(text(l, op_span, op));
    return text(l, domain_span, domain);
}

static void missing_add(missing *list, const char *op, const char *domain, const char *when)
{
    int i = 0;
    while (i < list->n && (strcmp(list->items[i].op, op) || strcmp(list->items[i].domain, domain)))
        i++;
    if (i == MAX_MISSING)
        return; /* a thousand names are enough */
    if (i == list->n)
        list->items[list->n++] = (as_onnx_missing){.op = op, .domain = domain, .when = when};
    list->items[i].n_nodes++;
}

static assay_status missing_collect(loader *l, as_pb_span graph, int depth, missing *list);

/* The nodes in the subgraphs of a node. */
static assay_status missing_inside(loader *l, as_pb_span node, int depth, missing *list)
{
    as_pb_reader r = as_pb_read(node);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        if (f.number != 5 || f.wire != AS_PB_BYTES)
            continue;
        as_pb_reader attr = as_pb_read(f.bytes);
        for (as_pb_field g; as_pb_next(&attr, &g);)
            if (g.number == 6 && g.wire == AS_PB_BYTES)
                AS_TRY(missing_collect(l, g.bytes, depth + 1, list));
        if (attr.error)
            return as_onnx_broken(l->o.env, l->o.path, "an attribute", &attr);
    }
    return ASSAY_OK;
}

static assay_status missing_collect(loader *l, as_pb_span graph, int depth, missing *list)
{
    as_pb_reader r = as_pb_read(graph);
    if (depth > AS_MAX_NESTING)
        return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: subgraphs are nested more than %d deep", l->o.path, AS_MAX_NESTING);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        const char *op, *domain, *name;
        if (f.number != 1 || f.wire != AS_PB_BYTES)
            continue;
        if (++list->n_nodes > AS_MAX_NODES)
            return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: more than %d nodes", l->o.path, AS_MAX_NODES);
        AS_TRY(node_kind(l, f.bytes, &op, &domain));
        if (!(name = op_name(l, domain, op))) {
            missing_add(list, op, domain, NULL);
            list->n_missing++;
        } else if (as_control_find(name)) {
            missing_add(list, op, domain, as_control_when(as_control_find(name)));
            AS_TRY(missing_inside(l, f.bytes, depth, list));
        }
    }
    return r.error ? as_onnx_broken(l->o.env, l->o.path, "the graph", &r) : ASSAY_OK;
}

static assay_status missing_refuse(loader *l, const missing *list)
{
    as_text t = {0};
    int     n = 0;
    for (int i = 0; i < list->n; i++) {
        const as_onnx_missing *x = &list->items[i];
        if (x->when)
            continue;
        as_text_printf(&t, "%s%s (%d node%s%s%s)", n ? ", " : "", *x->op ? x->op : "''", x->n_nodes, x->n_nodes == 1 ? "" : "s",
                       *x->domain ? ", domain " : "", x->domain);
        n++;
    }
    assay_status status = as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: %d operator%s not supported: %s", l->o.path, n,
                                  n == 1 ? " is" : "s are", t.data ? t.data : "?");
    as_text_drop(&t);
    return status;
}

/* --- Types ---------------------------------------------------------------------------------------------- */

typedef struct type {
    as_dtype dtype;
    int64_t  code;
    bool     has_type, is_tensor, has_shape;
    as_dims  dims;
} type;

static assay_status dim_read(loader *l, as_pb_span message, const char *name, int axis, as_dim *out)
{
    as_pb_span   symbol = {0};
    bool         known = false;
    as_pb_reader r = as_pb_read(message);
    *out = (as_dim){0};
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_VARINT)
            out->size = (int64_t)f.value, known = true, symbol.n = 0;
        else if (f.number == 2 && f.wire == AS_PB_BYTES)
            symbol = f.bytes, known = false;
    if (r.error)
        return as_onnx_broken(l->o.env, l->o.path, "a dimension", &r);
    /* Some exporters write "?" for "not known": two of them need not be the same size. */
    if (symbol.n && !(symbol.n == 1 && symbol.data[0] == '?'))
        return text(l, symbol, &out->symbol);
    if (known && out->size >= 0)
        return ASSAY_OK;
    /* Neither a size nor a name, or -1, means any size.  It gets a name, so that --dim can bind it. */
    if (!(out->symbol = as_arena_printf(l->o.scratch, "%s.%d", name, axis)))
        return refuse(l, ASSAY_NO_MEMORY, "input", name, "has more dimensions than there is memory for");
    return ASSAY_OK;
}

static assay_status shape_read(loader *l, as_pb_span message, const char *name, type *out)
{
    as_pb_reader r = as_pb_read(message);
    out->has_shape = true;
    out->dims.rank = 0;
    for (as_pb_field f; as_pb_next(&r, &f);) {
        if (f.number != 1 || f.wire != AS_PB_BYTES)
            continue;
        if (out->dims.rank == AS_MAX_RANK)
            return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: '%s' has more than %d dimensions", l->o.path, name, AS_MAX_RANK);
        AS_TRY(dim_read(l, f.bytes, name, out->dims.rank, &out->dims.dim[out->dims.rank]));
        out->dims.rank++;
    }
    return r.error ? as_onnx_broken(l->o.env, l->o.path, "a shape", &r) : ASSAY_OK;
}

static assay_status tensor_type_read(loader *l, as_pb_span message, const char *name, type *out)
{
    as_pb_reader r = as_pb_read(message);
    out->is_tensor = true;
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_VARINT)
            out->code = (int64_t)f.value;
        else if (f.number == 2 && f.wire == AS_PB_BYTES)
            AS_TRY(shape_read(l, f.bytes, name, out));
    out->dtype = as_onnx_dtype(out->code);
    return r.error ? as_onnx_broken(l->o.env, l->o.path, "a type", &r) : ASSAY_OK;
}

/* A ValueInfoProto. */
static assay_status value_info_read(loader *l, as_pb_span message, const char **name, type *out)
{
    as_pb_span   name_span = {0}, type_span = {0};
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_BYTES)
            name_span = f.bytes;
        else if (f.number == 2 && f.wire == AS_PB_BYTES)
            type_span = f.bytes;
    if (r.error)
        return as_onnx_broken(l->o.env, l->o.path, "a value's description", &r);
    AS_TRY(text(l, name_span, name));
    *out = (type){.has_type = type_span.n > 0};
    r = as_pb_read(type_span);
    for (as_pb_field f; type_span.n && as_pb_next(&r, &f);)
        if (f.number == 1 && f.wire == AS_PB_BYTES)
            AS_TRY(tensor_type_read(l, f.bytes, *name, out));
    return r.error ? as_onnx_broken(l->o.env, l->o.path, "a type", &r) : ASSAY_OK;
}

static as_onnx_type *type_slot(const as_onnx *o, const char *name)
{
    size_t mask = o->n_types - 1;
    for (size_t i = (size_t)as_hash64(name, strlen(name)) & mask;; i = (i + 1) & mask)
        if (!o->types[i].name || !strcmp(o->types[i].name, name))
            return &o->types[i];
}

as_onnx_type as_onnx_type_of(const as_onnx *o, const char *name)
{
    const as_onnx_type *slot = o->n_types ? type_slot(o, name) : NULL;
    return slot && slot->name ? *slot : (as_onnx_type){.rank = -1};
}

static bool describes_value(const loader *l, const as_pb_field *f)
{
    bool is_formal = f->number == 11 && l != l->root; /* inputs of the outermost graph have a type already */
    return f->wire == AS_PB_BYTES && (f->number == 12 || f->number == 13 || is_formal);
}

/* Types from outputs and value_info, for the conversion of older nodes. */
static assay_status types_read(loader *l)
{
    size_t       n = 0, n_slots = 16;
    as_pb_reader r = as_pb_read(l->graph);
    for (as_pb_field f; as_pb_next(&r, &f);)
        n += describes_value(l, &f);
    if (n > AS_MAX_VALUES)
        return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: it describes %zu values, and at most %d are possible", l->o.path, n,
                       AS_MAX_VALUES);
    while (n_slots < 2 * n)
        n_slots *= 2;
    if (!(l->o.types = AS_TAKE(l->o.scratch, as_onnx_type, n_slots)))
        return as_fail(l->o.env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory for the types of %zu values", l->o.path, n);
    l->o.n_types = n_slots;
    r = as_pb_read(l->graph);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        const char *name;
        type        t;
        if (!describes_value(l, &f))
            continue;
        AS_TRY(value_info_read(l, f.bytes, &name, &t));
        *type_slot(&l->o, name) = (as_onnx_type){.name = name, .dtype = t.dtype, .rank = t.has_shape ? t.dims.rank : -1};
    }
    return ASSAY_OK;
}

/* --- Tensors ----------------------------------------------------------------------------------------------- */

static assay_status file_open(loader *l, const char *location, const as_map **out)
{
    for (external *e = l->root->files; e; e = e->next)
        if (!strcmp(e->location, location)) {
            *out = e->map;
            return ASSAY_OK;
        }
    if (!as_model_file_ok(location))
        return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: the external data '%s' must be a file below the model's directory",
                       l->o.path, location);
    if (l->root->n_files++ == MAX_FILES)
        return as_fail(l->o.env, ASSAY_BAD_INPUT, "onnx: %s: more than %d files of external data", l->o.path, MAX_FILES);
    const char *slash = strrchr(l->o.path, '/');
    const char *path = as_arena_printf(l->o.scratch, "%.*s%s", slash ? (int)(slash - l->o.path) + 1 : 0, l->o.path, location);
    external   *e = AS_TAKE(l->o.scratch, external, 1);
    as_map      map;
    if (!path || !e)
        return as_fail(l->o.env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory for the name of its external data", l->o.path);
    AS_TRY(as_map_open_beside(l->o.env, "onnx: external data", l->o.path, path, 0, &map));
    *e = (external){.location = location, .map = as_maker_map(l->root->o.m, &map, location), .next = l->root->files};
    AS_TRY(maker_state(l->root));
    l->root->files = e;
    *out = e->map;
    return ASSAY_OK;
}

static assay_status external_find(loader *l, as_onnx_tensor *t)
{
    const char   *location;
    const as_map *map = NULL;
    uint64_t      bytes = as_onnx_tensor_raw_size(t);
    AS_TRY(text(l, t->location, &location));
    AS_TRY(file_open(l, location, &map));
    if (t->offset > map->bytes || bytes > map->bytes - t->offset)
        return as_fail(l->o.env, ASSAY_BAD_INPUT,
                       "onnx: %s: tensor '%.*s' is %" PRIu64 " bytes at offset %" PRIu64 " of '%s', which has %zu", l->o.path,
                       AS_SPAN(t->name), bytes, t->offset, location, map->bytes);
    t->raw = (as_pb_span){map->data + t->offset, (size_t)bytes};
    t->has_raw = true;
    return ASSAY_OK;
}

/* The elements in the file itself, whatever their alignment; those that the file stores in another form are converted. */
static const void *elements(loader *l, const as_onnx_tensor *t)
{
    const void *bytes = as_onnx_tensor_bytes(t);
    if (bytes)
        return bytes;
    void *copy = as_arena_take(as_maker_arena(l->o.m), (size_t)as_shape_count(&t->shape), as_dtype_bytes(t->dtype), 64);
    if (copy)
        as_onnx_tensor_fill(t, copy);
    return copy;
}

/* A weight: more than a few floats, or quantised to integers.  Integers of 64 bits are shapes and indices. */
static bool is_weight(const as_onnx_tensor *t)
{
    static const as_dtype integers[] = {AS_I8, AS_U8, AS_I16, AS_U16, AS_I32, AS_I4, AS_U4, AS_I2, AS_U2};
    bool                  is = as_dtype_is_float(t->dtype);
    for (size_t i = 0; i < AS_COUNT(integers); i++)
        is = is || t->dtype == integers[i];
    return is && as_shape_count(&t->shape) > AS_ONNX_MAX_CONSTANT;
}

/* An initialiser or the value of a Constant node. */
static assay_status tensor_add(loader *l, const char *name, as_onnx_tensor *t)
{
    if (t->external)
        AS_TRY(external_find(l, t));
    const void *data = elements(l, t);
    if (!data)
        return refuse(l, ASSAY_NO_MEMORY, "tensor", name, "is larger than the memory");
    if (is_weight(t))
        as_maker_param(l->o.m, name, t->dtype, &t->shape, data, false);
    else
        as_maker_constant_borrow(l->o.m, name, t->dtype, &t->shape, data);
    return maker_state(l);
}

static assay_status initialiser_add(loader *l, as_pb_span message)
{
    as_onnx_tensor t;
    const char    *name;
    AS_TRY(as_onnx_tensor_read(l->o.env, l->o.path, message, &t));
    AS_TRY(text(l, t.name, &name));
    as_maker_at(l->o.m, "initializer[%d]", l->n_initialisers++);
    return tensor_add(l, name, &t);
}

/* An input of a subgraph may have no type; it takes the shape of the value given to it. */
static assay_status formal_add(loader *l, as_pb_span message)
{
    const char *name;
    type        t;
    AS_TRY(value_info_read(l, message, &name, &t));
    if (t.has_type && !t.is_tensor)
        return refuse(l, ASSAY_UNSUPPORTED, "input", name, "of a subgraph is not a tensor; only tensors are supported");
    as_maker_formal(l->o.m, name);
    return maker_state(l);
}

static assay_status input_add(loader *l, as_pb_span message)
{
    const char *name;
    type        t;
    if (l != l->root)
        return formal_add(l, message);
    AS_TRY(value_info_read(l, message, &name, &t));
    if (as_maker_value_find(l->o.m, name) >= 0 && as_maker_value(l->o.m, as_maker_value_find(l->o.m, name))->role != AS_ROLE_INPUT)
        return ASSAY_OK; /* before IR version 4 every initialiser was listed as an input, too */
    if (!t.is_tensor)
        return refuse(l, ASSAY_UNSUPPORTED, "input", name,
                      "is not a tensor (but a sequence, an optional or a map); only tensors are supported");
    if (t.dtype == AS_NONE)
        return as_fail(l->o.env, ASSAY_UNSUPPORTED,
                       "onnx: %s: input '%s' has the data type %" PRId64 " (%s), which is not supported", l->o.path, name, t.code,
                       as_onnx_code_name(t.code));
    if (!t.has_shape)
        return refuse(l, ASSAY_UNSUPPORTED, "input", name, "has no shape, so its rank is not known");
    as_maker_input(l->o.m, name, t.dtype, &t.dims);
    return maker_state(l);
}

/* --- Nodes ---------------------------------------------------------------------------------------------------- */

static assay_status body_read(loader *l, as_onnx_node *n, const as_onnx_attr *a);

static assay_status node_attr(loader *l, as_onnx_node *n, as_pb_span message)
{
    if (n->n_attrs == AS_ONNX_MAX_ATTRS - ROOM_FOR_RULES)
        return refuse(l, ASSAY_BAD_INPUT, "node", n->label, "has too many attributes");
    AS_TRY(as_onnx_attr_read(l->o.env, l->o.path, l->o.scratch, n->label, message, &n->attrs[n->n_attrs]));
    if (n->attrs[n->n_attrs].is_graph)
        return body_read(l, n, &n->attrs[n->n_attrs]);
    n->n_attrs++;
    return ASSAY_OK;
}

static assay_status node_edges(loader *l, as_pb_span message, as_onnx_node *n)
{
    as_pb_reader r = as_pb_read(message);
    n->label = "";
    for (as_pb_field f; as_pb_next(&r, &f);) {
        const char *name;
        if (f.wire != AS_PB_BYTES || f.number > 3)
            continue;
        AS_TRY(text(l, f.bytes, &name));
        if (f.number == 3) {
            n->name = *name ? name : NULL;
        } else if (f.number == 1) {
            if (n->n_in == AS_MAX_IN)
                return as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: node '%s' (%s) has more than %d inputs", l->o.path, n->label,
                               n->op, AS_MAX_IN);
            n->in[n->n_in++] = *name ? as_maker_value_named(l->o.m, name) : -1;
        } else {
            if (n->n_out == AS_MAX_OUT)
                return as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: node '%s' (%s) has more than %d outputs", l->o.path,
                               n->label, n->op, AS_MAX_OUT);
            n->out[n->n_out++] = *name ? name : NULL;
        }
        n->label = n->name ? n->name : n->n_out && n->out[0] ? n->out[0] : "";
    }
    while (n->n_out && !n->out[n->n_out - 1])
        n->n_out--;
    if (n->name && (strlen(n->name) > AS_MAX_NAME_BYTES || as_maker_node_find(l->o.m, n->name) >= 0))
        n->name = NULL; /* node names need not be unique in ONNX, but ours must be */
    return n->n_out ? ASSAY_OK : refuse(l, ASSAY_BAD_INPUT, "node", n->label, "has no output");
}

static assay_status node_read(loader *l, as_pb_span message, as_onnx_node *n)
{
    const char *op, *domain;
    AS_TRY(node_kind(l, message, &op, &domain));
    n->standard = !*domain || !strcmp(domain, "ai.onnx");
    n->op = op_name(l, domain, op);
    AS_TRY(node_edges(l, message, n));
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 5 && f.wire == AS_PB_BYTES)
            AS_TRY(node_attr(l, n, f.bytes));
    return ASSAY_OK;
}

/* value, value_float(s), value_int(s) as a tensor. */
static assay_status constant_add(loader *l, const as_onnx_node *n)
{
    const as_onnx_attr *a = n->n_attrs == 1 ? &n->attrs[0] : NULL;
    as_onnx_tensor      t;
    if (!a || n->n_in || n->n_out != 1)
        return refuse(l, ASSAY_BAD_INPUT, "the Constant", n->label, "needs one attribute, one output and no input");
    if (a->attr.kind == AS_ATTR_TENSOR) {
        AS_TRY(as_onnx_tensor_read(l->o.env, l->o.path, a->tensor, &t));
        return tensor_add(l, n->out[0], &t);
    }
    bool is_float = a->attr.kind == AS_ATTR_FLOAT || a->attr.kind == AS_ATTR_FLOATS;
    bool is_list = a->attr.kind == AS_ATTR_INTS || a->attr.kind == AS_ATTR_FLOATS;
    if (!is_float && !is_list && a->attr.kind != AS_ATTR_INT)
        return refuse(l, ASSAY_UNSUPPORTED, "the Constant", n->label, "holds a text, which is not supported");
    as_shape shape = {.rank = is_list, .dim = {(int64_t)a->attr.n}};
    void    *data = as_arena_take(l->o.scratch, is_list ? a->attr.n + 1 : 1, 8, 8);
    if (!data)
        return refuse(l, ASSAY_NO_MEMORY, "the Constant", n->label, "is larger than the memory");
    as_view view = as_view_of(data, is_float ? AS_F32 : AS_I64, &shape);
    for (int64_t i = 0; i < as_shape_count(&shape); i++)
        if (is_float)
            as_view_set(&view, i, is_list ? a->attr.floats[i] : a->attr.f);
        else
            as_view_set_i64(&view, i, is_list ? a->attr.ints[i] : a->attr.i);
    as_maker_constant(l->o.m, n->out[0], &view);
    return maker_state(l);
}

/* A tensor attribute (ConstantOfShape's value) as a view; the maker copies it. */
static assay_status tensor_attr(loader *l, as_onnx_attr *a)
{
    as_onnx_tensor t;
    AS_TRY(as_onnx_tensor_read(l->o.env, l->o.path, a->tensor, &t));
    if (t.external)
        AS_TRY(external_find(l, &t));
    void    *data = as_arena_take(l->o.scratch, (size_t)as_shape_count(&t.shape), as_dtype_bytes(t.dtype), 8);
    as_view *view = AS_TAKE(l->o.scratch, as_view, 1);
    if (!data || !view)
        return refuse(l, ASSAY_NO_MEMORY, "attribute", a->attr.name, "is larger than the memory");
    as_onnx_tensor_fill(&t, data);
    *view = as_view_of(data, t.dtype, &t.shape);
    a->attr.tensor = view;
    return ASSAY_OK;
}

/* An unused output before a used one has no name in the file; it gets a free name. */
static assay_status outputs_name(loader *l, as_onnx_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        for (int k = 0; !n->out[i]; k++) {
            const char *name = as_arena_printf(l->o.scratch, k ? "unread:%s:%d:%d" : "unread:%s:%d", n->out[n->n_out - 1], i, k);
            if (!name)
                return refuse(l, ASSAY_NO_MEMORY, "node", n->label, "has more outputs than there is memory for");
            n->out[i] = as_maker_value_find(l->o.m, name) < 0 ? name : NULL;
        }
    return ASSAY_OK;
}

/* The index of the value among the node's inputs; a new value is added after the formal ones. */
static int capture_at(int *in, int n_formal, int *n_in, int value)
{
    int at = n_formal;
    while (at < *n_in && in[at] != value)
        at++;
    if (at == *n_in)
        in[(*n_in)++] = value;
    return at;
}

/* If, Loop or Scan: values of the surrounding graph that the bodies read become inputs of the node. */
static assay_status control_add(loader *l, as_onnx_node *n, const as_attr *attrs)
{
    as_arena *arena = as_maker_arena(l->o.m);
    as_body  *bodies = AS_TAKE(arena, as_body, n->n_bodies);
    int       n_captures = 0, n_in = n->n_in;
    if (!n->n_bodies)
        return refuse(l, ASSAY_BAD_INPUT, "node", n->label, "has no subgraph");
    for (int k = 0; k < n->n_bodies; k++)
        n_captures += n->bodies[k].graph->n_inputs - n->bodies[k].n_formal;
    if (n_captures > AS_MAX_CAPTURES)
        return as_fail(
            l->o.env, ASSAY_UNSUPPORTED,
            "onnx: %s: node '%s' (%s): its subgraphs read %d values of the graph around them, and at most %d are possible",
            l->o.path, n->label, n->op, n_captures, AS_MAX_CAPTURES);
    int *in = AS_TAKE(l->o.scratch, int, n_in + n_captures);
    if (!bodies || !in)
        return refuse(l, ASSAY_NO_MEMORY, "node", n->label, "is larger than the memory");
    memcpy(in, n->in, (size_t)n_in * sizeof *in);
    for (int k = 0; k < n->n_bodies; k++) {
        const assay_model *graph = n->bodies[k].graph;
        int               *from = AS_TAKE(arena, int, graph->n_inputs);
        bodies[k] = n->bodies[k];
        bodies[k].from = from;
        if (!from)
            return refuse(l, ASSAY_NO_MEMORY, "node", n->label, "is larger than the memory");
        for (int i = bodies[k].n_formal; i < graph->n_inputs; i++) {
            int value = as_maker_value_named(l->o.m, graph->values[graph->inputs[i]].name);
            AS_TRY(maker_state(l));
            from[i - bodies[k].n_formal] = capture_at(in, n->n_in, &n_in, value);
        }
    }
    as_maker_control(l->o.m, as_control_find(n->op), n->name, in, n_in, n->n_in, attrs, n->n_attrs, bodies, n->n_bodies, n->n_out,
                     n->out);
    return maker_state(l);
}

/* The nodes made from this one belong to its module; at the top level the framework's name for it becomes its name. */
static assay_status module_set(loader *l, as_pb_span message, as_onnx_node *n)
{
    const char    *weights[AS_MAX_IN];
    as_onnx_clues  clues = {.message = message, .name = n->name, .op = n->op, .weights = weights, .is_ours = l->root->is_ours};
    as_onnx_module module;
    for (int i = 0; i < n->n_in; i++) {
        const as_value *v = n->in[i] < 0 ? NULL : as_maker_value(l->o.m, n->in[i]);
        if (v && (v->role == AS_ROLE_PARAM || v->role == AS_ROLE_CONSTANT))
            weights[clues.n_weights++] = v->name;
    }
    as_onnx_module_find(&clues, &module);
    as_maker_module(l->o.m, module.path);
    if (!*module.path && *module.label && as_maker_node_find(l->o.m, module.label) < 0 &&
        !(n->name = as_arena_text(l->o.scratch, module.label)))
        return refuse(l, ASSAY_NO_MEMORY, "node", n->label, "is larger than the memory");
    return maker_state(l);
}

static assay_status node_add(loader *l, as_pb_span message, as_onnx_node *n, int i)
{
    as_attr attrs[AS_ONNX_MAX_ATTRS];
    as_maker_at(l->o.m, "node[%d]", i);
    AS_TRY(maker_state(l));
    AS_TRY(module_set(l, message, n));
    AS_TRY(outputs_name(l, n));
    if (n->standard)
        AS_TRY(as_onnx_convert(&l->o, n));
    for (int k = 0; k < n->n_attrs; k++) {
        if (n->attrs[k].attr.kind == AS_ATTR_TENSOR && !n->attrs[k].attr.tensor)
            AS_TRY(tensor_attr(l, &n->attrs[k]));
        attrs[k] = n->attrs[k].attr;
    }
    AS_TRY(maker_state(l));
    if (n->standard && as_control_find(n->op))
        return control_add(l, n, attrs);
    as_maker_node(l->o.m, n->op, n->name, n->in, n->n_in, attrs, n->n_attrs, NULL, n->n_out, n->out);
    return maker_state(l);
}

static bool is_constant(const as_onnx_node *n) { return n->standard && !strcmp(n->op, "Constant"); }

/* Constants first: the conversion of other nodes looks at them. */
static assay_status nodes_add(loader *l, bool constants)
{
    int          i = 0;
    as_pb_reader r = as_pb_read(l->graph);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        const char *op, *domain;
        if (f.number != 1 || f.wire != AS_PB_BYTES)
            continue;
        AS_TRY(node_kind(l, f.bytes, &op, &domain));
        as_onnx_node n = {.op = op, .standard = !*domain || !strcmp(domain, "ai.onnx")};
        if (is_constant(&n) == constants) {
            n = (as_onnx_node){0};
            AS_TRY(node_read(l, f.bytes, &n));
            if (constants)
                as_maker_at(l->o.m, "node[%d]", i);
            AS_TRY(constants ? constant_add(l, &n) : node_add(l, f.bytes, &n, i));
        }
        i++;
    }
    return ASSAY_OK;
}

/* --- The graph --------------------------------------------------------------------------------------------------- */

typedef assay_status (*adder)(loader *l, as_pb_span message);

static assay_status each(loader *l, uint32_t number, adder add)
{
    as_pb_reader r = as_pb_read(l->graph);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == number && f.wire == AS_PB_BYTES)
            AS_TRY(add(l, f.bytes));
    return r.error ? as_onnx_broken(l->o.env, l->o.path, "the graph", &r) : ASSAY_OK;
}

static assay_status output_add(loader *l, as_pb_span message)
{
    const char *name;
    type        ignored;
    AS_TRY(value_info_read(l, message, &name, &ignored));
    as_maker_at(l->o.m, "output '%s'", name);
    int value = as_maker_value_named(l->o.m, name);
    AS_TRY(maker_state(l));
    if (l != l->root && as_maker_is_output(l->o.m, value)) /* a body may output one value twice: carried and stacked */
        value = as_maker_node(l->o.m, "Identity", NULL, &value, 1, NULL, 0, NULL, 1, NULL);
    as_maker_output(l->o.m, value);
    return maker_state(l);
}

static assay_status name_set(loader *l, as_pb_span span)
{
    const char *name;
    AS_TRY(text(l, span, &name));
    if (*name && strlen(name) <= AS_MAX_NAME_BYTES)
        as_maker_name(l->o.m, name);
    return maker_state(l);
}

static assay_status sparse_refuse(loader *l, as_pb_span message)
{
    (void)message;
    return as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: it has a sparse initialiser, which is not supported", l->o.path);
}

static assay_status graph_read(loader *l)
{
    AS_TRY(each(l, 15, sparse_refuse));
    AS_TRY(each(l, 2, name_set));
    AS_TRY(each(l, 5, initialiser_add));
    as_maker_at(l->o.m, "%s", "");
    AS_TRY(each(l, 11, input_add));
    AS_TRY(types_read(l));
    AS_TRY(nodes_add(l, true));
    AS_TRY(nodes_add(l, false));
    as_maker_module(l->o.m, "");
    return each(l, 12, output_add);
}

/* --- Loading ------------------------------------------------------------------------------------------------------- */

/* Checks that everything is supported; reports all that is not at once. */
static assay_status supported(loader *l)
{
    missing *list = AS_TAKE(l->o.scratch, missing, 1);
    if (!list)
        return as_fail(l->o.env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory to read it", l->o.path);
    AS_TRY(missing_collect(l, l->graph, 0, list));
    return list->n_missing ? missing_refuse(l, list) : ASSAY_OK;
}

/* The model, or the error message, the maker's or ours; ours must outlive the maker. */
static assay_status finish(loader *l, assay_status status, assay_model **out)
{
    if (status == ASSAY_OK || as_maker_failed(l->o.m)) {
        assay_model *model;
        AS_TRY(as_maker_finish(l->o.m, &model));
        if (!l->root->is_ours && (status = as_model_layers_name(l->o.env, model)) != ASSAY_OK) {
            assay_model_free(model);
            return status;
        }
        *out = model;
        return ASSAY_OK;
    }
    assay_model *none;
    char         message[sizeof l->o.env->message];
    memcpy(message, assay_message(l->o.env), strlen(assay_message(l->o.env)) + 1);
    as_maker_fail(l->o.m, "not read");
    (void)as_maker_finish(l->o.m, &none);
    return as_fail(l->o.env, status, "%s", message);
}

static assay_status build(loader *l, as_map *map, assay_model **out)
{
    AS_TRY(as_maker_new(l->o.env, l->o.path, 0, &l->o.m));
    if (map)
        as_maker_map(l->o.m, map, NULL);
    return finish(l, as_maker_failed(l->o.m) ? ASSAY_INTERNAL : graph_read(l), out);
}

/* A subgraph: has a maker of its own under the node's name; values that it does not define come from the graph around it. */
static assay_status body_read(loader *l, as_onnx_node *n, const as_onnx_attr *a)
{
    loader       sub = {.o = l->o, .graph = a->tensor, .root = l->root, .depth = l->depth + 1};
    as_body      body = {.name = as_arena_text(as_maker_arena(l->o.m), a->attr.name)};
    const char  *title = as_arena_printf(l->o.scratch, "%s: %s '%s': %s", l->o.path, n->op, n->label, a->attr.name);
    assay_model *model;
    if (!n->standard || !as_control_find(n->op))
        return as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: node '%s': attribute '%s' is of type GRAPH, which is not supported",
                       l->o.path, n->label, a->attr.name);
    if (!strcmp(n->op, "Scan") && l->o.version < 9)
        return as_fail(l->o.env, ASSAY_UNSUPPORTED,
                       "onnx: %s: node '%s': Scan of operator set %" PRId64 " is not supported, only from 9 on", l->o.path,
                       n->label, l->o.version);
    if (n->n_bodies == AS_ONNX_MAX_BODIES)
        return refuse(l, ASSAY_BAD_INPUT, "node", n->label, "has too many subgraphs");
    if (sub.depth > AS_MAX_NESTING || l->root->n_bodies++ >= AS_MAX_BODIES)
        return as_fail(l->o.env, ASSAY_UNSUPPORTED, "onnx: %s: more than %d subgraphs, or more than %d in each other", l->o.path,
                       AS_MAX_BODIES, AS_MAX_NESTING);
    if (!body.name || !title)
        return refuse(l, ASSAY_NO_MEMORY, "node", n->label, "is larger than the memory");
    sub.o.types = NULL;
    sub.o.n_types = 0;
    AS_TRY(as_maker_new(l->o.env, title, 0, &sub.o.m));
    assay_status status = graph_read(&sub);
    if (status == ASSAY_OK)
        body.n_formal = as_maker_capture(sub.o.m);
    AS_TRY(finish(&sub, status, &model));
    body.graph = model;
    as_maker_adopt(l->o.m, model);
    AS_TRY(maker_state(l));
    n->bodies[n->n_bodies++] = body;
    return ASSAY_OK;
}

static assay_status parse(assay_env *env, const char *path, as_pb_span file, as_map *map, assay_model **out)
{
    as_arena     scratch = {0};
    loader       l = {.o = {.env = env, .path = path}};
    assay_status status;
    l.o.scratch = &scratch;
    l.root = &l;
    l.cells = AS_TAKE(&scratch, as_pb_span, AS_ONNX_MAX_CELLS);
    AS_TRY_OR(done, model_read(&l, file));
    AS_TRY_OR(done, supported(&l));
    assay_model *model;
    AS_TRY_OR(done, build(&l, map, &model));
    if (l.is_ours && l.n_cells && (status = as_onnx_cells_restore(env, l.cells, l.n_cells, &model)) != ASSAY_OK)
        assay_model_free(model);
    else
        *out = model;
done:
    as_arena_drop(&scratch);
    return status;
}

assay_status as_onnx_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, assay_model **out)
{
    return parse(env, path, (as_pb_span){data, n}, NULL, out);
}

/* The seed is for models with random weights; these have their own. */
static assay_status load(assay_env *env, const char *path, uint64_t seed, assay_model **out)
{
    as_map map;
    (void)seed;
    AS_TRY(as_map_open(env, "onnx", path, 0, &map));
    assay_status status = parse(env, path, (as_pb_span){map.data, map.bytes}, &map, out);
    as_map_close(&map); /* does nothing once the model owns it */
    return status;
}

assay_status as_onnx_unsupported(assay_env *env, const char *path, as_arena *arena, const as_onnx_missing **out, int *n_out,
                                 int *n_nodes)
{
    as_map           map;
    as_arena         scratch = {0};
    loader           l = {.o = {.env = env, .path = path}};
    missing         *list;
    assay_status     status;
    as_onnx_missing *items = NULL;
    AS_TRY(as_map_open(env, "onnx", path, 0, &map));
    l.o.scratch = &scratch;
    l.root = &l;
    AS_TRY_OR(done, model_read(&l, (as_pb_span){map.data, map.bytes}));
    if (!(list = AS_TAKE(&scratch, missing, 1))) {
        status = as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory to read it", path);
        goto done;
    }
    AS_TRY_OR(done, missing_collect(&l, l.graph, 0, list));
    items = AS_TAKE(arena, as_onnx_missing, list->n);
    bool ok = items != NULL;
    for (int i = 0; ok && i < list->n; i++) {
        items[i] = (as_onnx_missing){as_arena_text(arena, list->items[i].op), as_arena_text(arena, list->items[i].domain),
                                     list->items[i].n_nodes, list->items[i].when};
        ok = items[i].op && items[i].domain;
    }
    if (!ok) {
        status = as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory for %d names", path, list->n);
        goto done;
    }
    *out = items;
    *n_out = list->n;
    if (n_nodes)
        *n_nodes = list->n_nodes;
done:
    as_arena_drop(&scratch);
    as_map_close(&map);
    return status;
}

const as_format as_fmt_onnx = {
    .suffix = ".onnx",
    .help = "ONNX, operator sets 1 to 28; written as operator set 20",
    .load = load,
    .save = as_onnx_save,
};
