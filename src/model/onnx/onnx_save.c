/* onnx_save.c - writes a model as an ONNX file: operator set 20, or the first newer one that has everything it uses; weights as
 * raw bytes.
 *
 * Lengths come before the data, so everything except the weights is built in memory first; then the weights are written directly
 * from their memory. */
#include <string.h>

#include "model/onnx/onnx_read.h"

/* Protobuf readers refuse a message of 2 GiB. */
#define MAX_BYTES ((UINT64_C(2) << 30) - 1)

enum { T_FLOAT = 1, T_INT, T_STRING, T_TENSOR, T_FLOATS = 6, T_INTS, T_STRINGS };
enum { MAX_SYMBOLS = 16 };

/* --- Shapes of outputs: from the graph, bound twice ------------------------------------------------- */

/* A size that is the same under two bindings is fixed, one that follows a symbol in both is that symbol, and of any other
 * only the rank is known. */
typedef struct probe {
    as_arena       arena[2];
    as_graph       graph[2];
    as_binding_dim dims[2][MAX_SYMBOLS];
    int            n_dims;
    bool           ok[2];
} probe;

static bool symbol_known(const probe *p, const char *symbol)
{
    for (int i = 0; i < p->n_dims; i++)
        if (!strcmp(p->dims[0][i].symbol, symbol))
            return true;
    return false;
}

/* Multiples of 32 fit networks that halve their input a few times; the two bindings share no ratio of small numbers. */
static void probe_start(const assay_model *model, probe *p)
{
    bool fits = true;
    *p = (probe){0};
    for (int i = 0; i < model->n_inputs; i++) {
        const as_dims *dims = &model->values[model->inputs[i]].dims;
        for (int k = 0; k < dims->rank; k++) {
            const char *symbol = dims->dim[k].symbol;
            if (!symbol || symbol_known(p, symbol))
                continue;
            if (p->n_dims == MAX_SYMBOLS) {
                fits = false;
                continue;
            }
            p->dims[0][p->n_dims] = (as_binding_dim){symbol, 64 + 32 * p->n_dims};
            p->dims[1][p->n_dims] = (as_binding_dim){symbol, 1088 + 96 * p->n_dims};
            p->n_dims++;
        }
    }
    for (int i = 0; i < 2 && fits; i++)
        p->ok[i] = as_graph_bind(NULL, model, p->dims[i], p->n_dims, NULL, 0, 0, &p->arena[i], &p->graph[i]) == ASSAY_OK;
    if (!p->ok[0] && fits) { /* at least the dtypes */
        for (int i = 0; i < p->n_dims; i++)
            p->dims[0][i].size = 1;
        as_arena_drop(&p->arena[0]);
        p->ok[0] = as_graph_bind(NULL, model, p->dims[0], p->n_dims, NULL, 0, 0, &p->arena[0], &p->graph[0]) == ASSAY_OK;
        p->ok[1] = false;
    }
}

static void probe_drop(probe *p)
{
    as_arena_drop(&p->arena[0]);
    as_arena_drop(&p->arena[1]);
}

/* --- Types ------------------------------------------------------------------------------------------------ */

static void message_put(as_text *t, uint32_t number, as_text *inner)
{
    as_pb_put_bytes(t, number, inner->data ? inner->data : "", inner->length);
    t->failed |= inner->failed;
    as_text_drop(inner);
}

/* A dim with neither size nor symbol is -1 and NULL: written empty. */
static void dim_put(as_text *shape, const as_dim *dim)
{
    as_text t = {0};
    if (dim->symbol)
        as_pb_put_text(&t, 2, dim->symbol);
    else if (dim->size >= 0)
        as_pb_put_int(&t, 1, dim->size);
    message_put(shape, 1, &t);
}

static void value_info_put(as_text *graph, uint32_t number, const char *name, as_dtype dtype, const as_dims *dims)
{
    as_text info = {0}, type = {0}, tensor = {0}, shape = {0};
    as_pb_put_text(&info, 1, name);
    if (dtype != AS_NONE) {
        as_pb_put_int(&tensor, 1, as_onnx_dtype_code(dtype));
        for (int i = 0; dims && i < dims->rank; i++)
            dim_put(&shape, &dims->dim[i]);
        if (dims)
            message_put(&tensor, 2, &shape);
        message_put(&type, 1, &tensor);
        message_put(&info, 2, &type);
    }
    message_put(graph, number, &info);
}

static as_dim dim_of(const probe *p, int64_t first, int64_t second)
{
    if (first == second)
        return (as_dim){.size = first};
    for (int i = 0; i < p->n_dims; i++)
        if (p->dims[0][i].size == first && p->dims[1][i].size == second)
            return (as_dim){.symbol = p->dims[0][i].symbol};
    return (as_dim){.size = -1};
}

static void output_put(as_text *graph, const assay_model *model, int id, const probe *p)
{
    const as_value *v = &model->values[id];
    as_dims         dims;
    if (v->role != AS_ROLE_COMPUTED) {
        value_info_put(graph, 12, v->name, v->dtype, &v->dims);
        return;
    }
    if (!p->ok[0]) {
        value_info_put(graph, 12, v->name, AS_NONE, NULL);
        return;
    }
    const as_tensor_info *first = &p->graph[0].values[id].info, *second = p->ok[1] ? &p->graph[1].values[id].info : first;
    as_dims_of_shape(&first->shape, &dims);
    for (int i = 0; i < dims.rank; i++) {
        bool known = p->n_dims == 0 || (p->ok[1] && second->shape.rank == dims.rank);
        dims.dim[i] = known ? dim_of(p, first->shape.dim[i], second->shape.dim[i]) : (as_dim){.size = -1};
    }
    value_info_put(graph, 12, v->name, first->dtype, &dims);
}

/* --- Tensors, attributes, nodes ------------------------------------------------------------------------------ */

/* Elements of less than 8 bits are packed in files; this many are packed at a time: a multiple of 8, so that they fill whole
 * bytes. */
enum { CHUNK = 4096 };

static bool is_packed(const as_view *view) { return as_dtype_bits(view->dtype) < 8; }

static size_t raw_bytes(const as_view *view)
{
    return is_packed(view) ? as_packed_bytes(view->dtype, as_view_bytes(view)) : as_view_bytes(view);
}

/* Packs up to CHUNK elements from `first` on; returns how many bytes they take. */
static size_t chunk_pack(const as_view *view, size_t first, uint8_t *out)
{
    size_t n = as_view_bytes(view) - first;
    if (n > CHUNK)
        n = CHUNK;
    memset(out, 0, CHUNK);
    for (size_t i = 0; i < n; i++)
        as_packed_put(view->dtype, out, i, ((const uint8_t *)view->data)[first + i]);
    return as_packed_bytes(view->dtype, n);
}

/* A whole TensorProto except the raw bytes, which follow. */
static void tensor_head(as_text *t, const char *name, const as_view *view)
{
    for (int i = 0; i < view->shape.rank; i++)
        as_pb_put_int(t, 1, view->shape.dim[i]);
    as_pb_put_int(t, 2, as_onnx_dtype_code(view->dtype));
    if (name)
        as_pb_put_text(t, 8, name);
    as_pb_put_head(t, 9, raw_bytes(view));
}

/* Attribute tensors are copied row-major by the maker. */
static void tensor_put(as_text *out, uint32_t number, const as_view *view)
{
    as_text t = {0};
    uint8_t chunk[CHUNK];
    tensor_head(&t, NULL, view);
    for (size_t i = 0; is_packed(view) && i < as_view_bytes(view); i += CHUNK)
        as_text_add_n(&t, (const char *)chunk, chunk_pack(view, i, chunk));
    if (!is_packed(view) && as_view_bytes(view))
        as_text_add_n(&t, view->data, as_view_bytes(view));
    message_put(out, number, &t);
}

static void attr_put(as_text *node, const as_attr *a)
{
    as_text t = {0};
    int     type = T_INT;
    as_pb_put_text(&t, 1, a->name);
    switch (a->kind) {
    case AS_ATTR_INT: as_pb_put_int(&t, 3, a->i); break;
    case AS_ATTR_FLOAT: as_pb_put_float(&t, 2, (float)a->f), type = T_FLOAT; break;
    case AS_ATTR_TEXT: as_pb_put_text(&t, 4, a->text), type = T_STRING; break;
    case AS_ATTR_TENSOR: tensor_put(&t, 5, a->tensor), type = T_TENSOR; break;
    case AS_ATTR_INTS:
        type = T_INTS;
        for (size_t i = 0; i < a->n; i++)
            as_pb_put_int(&t, 8, a->ints[i]);
        break;
    case AS_ATTR_FLOATS:
        type = T_FLOATS;
        for (size_t i = 0; i < a->n; i++)
            as_pb_put_float(&t, 7, (float)a->floats[i]);
        break;
    case AS_ATTR_TEXTS:
        type = T_STRINGS;
        for (size_t i = 0; i < a->n; i++)
            as_pb_put_text(&t, 9, a->texts[i]);
        break;
    }
    as_pb_put_int(&t, 20, type);
    message_put(node, 5, &t);
}

/* Operators of other domains have the domain before their name: "ai.onnx.ml.Scaler". */
static const struct {
    const char *name;
    int         version;
} domains[] = {
    {"assay", 1}, {"ai.onnx.ml", 5}, {"com.microsoft", 1}, {"ai.onnx.preview", 1}, {"ai.onnx.preview.training", 1},
};

int as_onnx_domain_version(const char *domain)
{
    for (size_t i = 0; i < AS_COUNT(domains); i++)
        if (!strcmp(domains[i].name, domain))
            return domains[i].version;
    return 0;
}

/* The index of the operator's domain, -1 for the standard one. */
static int domain_of(const as_op *op)
{
    const char *dot = strrchr(op->name, '.');
    for (size_t i = 0; dot && i < AS_COUNT(domains); i++)
        if (strlen(domains[i].name) == (size_t)(dot - op->name) && !strncmp(domains[i].name, op->name, (size_t)(dot - op->name)))
            return (int)i;
    return -1;
}

static void node_put(as_text *graph, const assay_model *model, const as_node *node)
{
    as_text t = {0};
    for (int i = 0; i < node->n_in; i++)
        as_pb_put_text(&t, 1, node->in[i] < 0 ? "" : model->values[node->in[i]].name);
    for (int i = 0; i < node->n_out; i++)
        as_pb_put_text(&t, 2, node->out[i] < 0 ? "" : model->values[node->out[i]].name);
    as_pb_put_text(&t, 3, node->name);
    int domain = domain_of(node->op);
    as_pb_put_text(&t, 4, domain < 0 ? node->op->name : strrchr(node->op->name, '.') + 1);
    for (int i = 0; i < node->n_attrs; i++)
        attr_put(&t, &node->attrs[i]);
    if (domain >= 0)
        as_pb_put_text(&t, 7, domains[domain].name);
    if (*node->module) {
        as_text entry = {0};
        as_pb_put_text(&entry, 1, AS_ONNX_MODULE_KEY);
        as_pb_put_text(&entry, 2, node->module);
        message_put(&t, 9, &entry);
    }
    message_put(graph, 1, &t);
}

/* --- The file ---------------------------------------------------------------------------------------------------- */

static bool is_initialiser(const as_value *v) { return v->role == AS_ROLE_PARAM || v->role == AS_ROLE_CONSTANT; }

static as_view initialiser_view(const as_value *v)
{
    as_shape shape = as_shape_of_dims(&v->dims);
    return as_view_of((void *)(uintptr_t)v->data, v->dtype, &shape);
}

/* The key, the length and the head of an initialiser; its raw bytes follow. */
static void initialiser_head(as_text *out, const as_value *v)
{
    as_text t = {0};
    as_view view = initialiser_view(v);
    tensor_head(&t, v->name, &view);
    as_pb_put_head(out, 5, t.length + raw_bytes(&view));
    if (t.data)
        as_text_add_n(out, t.data, t.length);
    out->failed |= t.failed;
    as_text_drop(&t);
}

static uint64_t initialisers_bytes(const assay_model *model, bool *failed)
{
    uint64_t bytes = 0;
    for (int i = 0; i < model->n_values; i++)
        if (is_initialiser(&model->values[i])) {
            as_text t = {0};
            as_view view = initialiser_view(&model->values[i]);
            initialiser_head(&t, &model->values[i]);
            bytes += t.length + raw_bytes(&view);
            *failed |= t.failed;
            as_text_drop(&t);
        }
    return bytes;
}

static void graph_put(as_text *graph, const assay_model *model)
{
    probe p;
    for (int i = 0; i < model->n_nodes; i++)
        node_put(graph, model, &model->nodes[i]);
    as_pb_put_text(graph, 2, model->own_name);
    for (int i = 0; i < model->n_inputs; i++) {
        const as_value *v = &model->values[model->inputs[i]];
        value_info_put(graph, 11, v->name, v->dtype, &v->dims);
    }
    probe_start(model, &p);
    for (int i = 0; i < model->n_outputs; i++)
        output_put(graph, model, model->outputs[i], &p);
    probe_drop(&p);
}

/* Which operator set, from AS_ONNX_OPSET on, first has what is newer: dtypes by TensorProto's numbers, operators and attributes
 * by name. */
static const struct {
    int code, opset;
} new_dtypes[] = {{21, 21}, {22, 21}, {23, 23}, {24, 24}, {25, 25}, {26, 25}, {27, 28}, {28, 28}};
static const struct {
    const char *op, *attr;
    int         opset;
} new_forms[] = {
    {"GroupNormalization", NULL, 21},         {"RMSNormalization", NULL, 23},
    {"QuantizeLinear", "block_size", 21},     {"QuantizeLinear", "output_dtype", 21},
    {"QuantizeLinear", "precision", 23},      {"DequantizeLinear", "block_size", 21},
    {"DequantizeLinear", "output_dtype", 23}, {"Cast", "round_mode", 24},
    {"CastLike", "round_mode", 24},           {"SpaceToDepth", "mode", 28},
};
/* IR versions by the operator set that was released with them. */
static const struct {
    int opset, ir;
} new_irs[] = {{21, 10}, {23, 11}, {24, 12}, {25, 13}, {28, 14}};

static int opset_of_code(int64_t code)
{
    for (size_t i = 0; i < AS_COUNT(new_dtypes); i++)
        if (new_dtypes[i].code == code)
            return new_dtypes[i].opset;
    return 0;
}

static int opset_of_form(const char *op, const char *attr)
{
    for (size_t i = 0; i < AS_COUNT(new_forms); i++)
        if (!strcmp(new_forms[i].op, op) && (attr ? new_forms[i].attr && !strcmp(new_forms[i].attr, attr) : !new_forms[i].attr))
            return new_forms[i].opset;
    return 0;
}

static void opset_raise(int *opset, int needed)
{
    if (needed > *opset)
        *opset = needed;
}

/* Dtypes of computed values come from those of inputs, initialisers and attributes. */
/* Types that an operator accepts only from a later set on.  The type of a computed value is not known before it is bound, so such
 * a file may name a set that is too old; a checker will report it. */
static int opset_of_types(const assay_model *model, const as_node *node)
{
    as_dtype first = node->n_in > 0 && node->in[0] >= 0 ? model->values[node->in[0]].dtype : AS_NONE;
    as_dtype zero = node->n_in > 2 && node->in[2] >= 0 ? model->values[node->in[2]].dtype : AS_NONE;
    bool     is_signed = first == AS_I8 || first == AS_I16 || first == AS_I32 || first == AS_I64;
    if (!strcmp(node->op->name, "BitShift") && is_signed)
        return 28;
    if (!strcmp(node->op->name, "Mod") && as_dtype_is_float(first)) {
        for (int i = 0; i < node->n_attrs; i++)
            if (!strcmp(node->attrs[i].name, "fmod") && node->attrs[i].i)
                return 0;
        return 28;
    }
    bool quantizes = !strcmp(node->op->name, "QuantizeLinear") || !strcmp(node->op->name, "DequantizeLinear");
    return quantizes && (zero == AS_I16 || zero == AS_U16) ? 21 : 0;
}

static int opset_needed(const assay_model *model)
{
    int opset = AS_ONNX_OPSET;
    for (int i = 0; i < model->n_values; i++)
        opset_raise(&opset, opset_of_code(as_onnx_dtype_code(model->values[i].dtype)));
    for (int i = 0; i < model->n_nodes; i++) {
        const as_node *node = &model->nodes[i];
        opset_raise(&opset, opset_of_form(node->op->name, NULL));
        opset_raise(&opset, opset_of_types(model, node));
        for (int k = 0; k < node->n_attrs; k++) {
            const as_attr *a = &node->attrs[k];
            opset_raise(&opset, opset_of_form(node->op->name, a->name));
            if (a->kind == AS_ATTR_TENSOR)
                opset_raise(&opset, opset_of_code(as_onnx_dtype_code(a->tensor->dtype)));
            else if (a->kind == AS_ATTR_INT && (!strcmp(a->name, "to") || !strcmp(a->name, "output_dtype")))
                opset_raise(&opset, opset_of_code(a->i));
        }
    }
    return opset;
}

static int ir_of_opset(int opset)
{
    int ir = AS_ONNX_IR;
    for (size_t i = 0; i < AS_COUNT(new_irs) && new_irs[i].opset <= opset; i++)
        ir = new_irs[i].ir;
    return ir;
}

static void opset_put(as_text *file, const char *domain, int64_t version)
{
    as_text t = {0};
    as_pb_put_text(&t, 1, domain);
    as_pb_put_int(&t, 2, version);
    message_put(file, 8, &t);
}

static void file_head(as_text *file, const assay_model *model, uint64_t graph_bytes)
{
    bool used[AS_COUNT(domains)] = {false};
    int  opset = opset_needed(model);
    for (int i = 0; i < model->n_nodes; i++)
        if (domain_of(model->nodes[i].op) >= 0)
            used[domain_of(model->nodes[i].op)] = true;
    as_pb_put_int(file, 1, ir_of_opset(opset));
    as_pb_put_text(file, 2, AS_ONNX_PRODUCER);
    as_pb_put_text(file, 3, ASSAY_VERSION);
    as_onnx_cells_put(file, model);
    opset_put(file, "", opset);
    for (size_t i = 0; i < AS_COUNT(domains); i++)
        if (used[i])
            opset_put(file, domains[i].name, domains[i].version);
    as_pb_put_head(file, 7, graph_bytes);
}

static void initialisers_write(FILE *file, const assay_model *model, bool *failed)
{
    for (int i = 0; i < model->n_values; i++) {
        const as_value *v = &model->values[i];
        as_text         t = {0};
        if (!is_initialiser(v))
            continue;
        as_view view = initialiser_view(v);
        initialiser_head(&t, v);
        *failed |= t.failed;
        if (t.data)
            fwrite(t.data, 1, t.length, file); /* errors are found at commit */
        uint8_t chunk[CHUNK];
        for (size_t k = 0; is_packed(&view) && k < as_view_bytes(&view); k += CHUNK)
            fwrite(chunk, 1, chunk_pack(&view, k, chunk), file);
        if (!is_packed(&view) && as_view_bytes(&view))
            fwrite(view.data, 1, as_view_bytes(&view), file);
        as_text_drop(&t);
    }
}

assay_status as_onnx_save(assay_env *env, const assay_model *model, const char *path)
{
    as_text      head = {0}, graph = {0};
    bool         failed = false;
    assay_status status = ASSAY_OK;
    for (int i = 0; i < model->n_nodes; i++)
        if (model->nodes[i].n_bodies)
            return as_fail(env, ASSAY_UNSUPPORTED, "onnx: %s: model %s has the %s '%s', and subgraphs are not written", path,
                           model->name, model->nodes[i].op->name, model->nodes[i].name);
    uint64_t weights = initialisers_bytes(model, &failed);
    graph_put(&graph, model);
    file_head(&head, model, graph.length + weights);
    if (failed || graph.failed || head.failed)
        status = as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory to write model %s", path, model->name);
    else if (head.length + graph.length + weights > MAX_BYTES)
        status =
            as_fail(env, ASSAY_UNSUPPORTED, "onnx: %s: model %s needs %llu bytes, and a protobuf file holds at most %llu", path,
                    model->name, (unsigned long long)(head.length + graph.length + weights), (unsigned long long)MAX_BYTES);
    as_out out;
    if (status == ASSAY_OK && (status = as_out_open(env, path, &out)) == ASSAY_OK) {
        fwrite(head.data, 1, head.length, out.file);
        fwrite(graph.data, 1, graph.length, out.file);
        initialisers_write(out.file, model, &failed);
        if (failed) {
            as_out_abandon(&out);
            status = as_fail(env, ASSAY_NO_MEMORY, "onnx: %s: not enough memory to write model %s", path, model->name);
        } else {
            status = as_out_commit(env, &out);
        }
    }
    as_text_drop(&head);
    as_text_drop(&graph);
    return status;
}
