/* onnx_module.c - which module of the framework's network a node comes from: "layer4.1.conv2".
 *
 * Exporters write it in different places, which are tried in this order: metadata of torch's dynamo exporter, names with slashes
 * (TorchScript, TensorFlow), names of the weights that the node reads, and doc strings.  All of this is foreign text of any
 * length: it is cut, control characters are removed, and text that does not look like a path is ignored. */
#include <ctype.h>
#include <string.h>

#include "model/onnx/onnx_read.h"

enum { MAX_PARTS = 64 };

/* --- Texts -------------------------------------------------------------------------------------------------- */

/* A stretch of foreign text. */
typedef struct piece {
    const char *text;
    size_t      n;
} piece;

static piece piece_of(const char *text) { return (piece){text, strlen(text)}; }
static bool  piece_is(piece p, const char *text) { return strlen(text) == p.n && !memcmp(p.text, text, p.n); }

static bool piece_has(piece p, const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= p.n; i++)
        if (!memcmp(p.text + i, text, n))
            return true;
    return false;
}

/* The pieces between separators, without empty ones; at most the last MAX_PARTS. */
typedef struct parts {
    piece item[MAX_PARTS];
    int   n;
} parts;

static void part_add(parts *p, piece one)
{
    if (!one.n)
        return;
    if (p->n == MAX_PARTS)
        memmove(p->item, p->item + 1, (size_t)--p->n * sizeof *p->item);
    p->item[p->n++] = one;
}

static void split(piece text, char separator, parts *out)
{
    size_t from = 0;
    out->n = 0;
    for (size_t i = 0; i <= text.n; i++)
        if (i == text.n || text.text[i] == separator) {
            part_add(out, (piece){text.text + from, i - from});
            from = i + 1;
        }
}

/* Into a buffer of AS_MAX_MODULE_BYTES + 1; false, and "", when it is empty, too long or not UTF-8. */
static bool put(char *out, piece text)
{
    size_t n = 0;
    out[0] = '\0';
    if (!text.n || text.n > AS_MAX_MODULE_BYTES || !as_utf8_ok(text.text, text.n))
        return false;
    for (size_t i = 0; i < text.n; i++)
        out[n++] = (unsigned char)text.text[i] < 0x20 || text.text[i] == 0x7f ? '_' : text.text[i];
    out[n] = '\0';
    return true;
}

/* Parts joined by dots, into the same. */
static bool join(char *out, const parts *p, int n)
{
    char   text[AS_MAX_MODULE_BYTES + 1];
    size_t used = 0;
    for (int i = 0; i < n; i++) {
        if (used + p->item[i].n + 1 > AS_MAX_MODULE_BYTES)
            return false;
        if (i)
            text[used++] = '.';
        memcpy(text + used, p->item[i].text, p->item[i].n);
        used += p->item[i].n;
    }
    return put(out, (piece){text, used});
}

/* --- Metadata of the dynamo exporter -------------------------------------------------------------------------- */

static piece metadata_find(as_pb_span message, const char *key)
{
    as_pb_reader r = as_pb_read(message);
    for (as_pb_field f; as_pb_next(&r, &f);) {
        as_pb_span its_key = {0}, value = {0};
        if (f.number != 9 || f.wire != AS_PB_BYTES)
            continue;
        as_pb_reader entry = as_pb_read(f.bytes);
        for (as_pb_field g; as_pb_next(&entry, &g);)
            if (g.number == 1 && g.wire == AS_PB_BYTES)
                its_key = g.bytes;
            else if (g.number == 2 && g.wire == AS_PB_BYTES)
                value = g.bytes;
        if (its_key.n && piece_is((piece){(const char *)its_key.data, its_key.n}, key))
            return (piece){value.n ? (const char *)value.data : "", value.n};
    }
    return (piece){"", 0};
}

/* A list as Python shows it, "['', 'layer4', 'layer4.1', 'add']".  Escapes are not decoded: paths have none.  Empty pieces count
 * here: the first is the network itself.  False when it is not such a list. */
static bool list_read(piece text, parts *out)
{
    size_t i = 0;
    out->n = 0;
    while (i < text.n && text.text[i] != '[')
        i++;
    while (++i < text.n) {
        char quote = text.text[i];
        if (quote == ']')
            return true;
        if (quote != '\'' && quote != '"')
            continue;
        size_t from = ++i;
        while (i < text.n && text.text[i] != quote)
            i += text.text[i] == '\\' ? 2 : 1;
        if (i >= text.n)
            return false;
        if (out->n == MAX_PARTS)
            memmove(out->item, out->item + 1, (size_t)--out->n * sizeof *out->item);
        out->item[out->n++] = (piece){text.text + from, i - from};
    }
    return false;
}

/* "name: class/name: class/...": the same as one text, from older exporters. */
static bool namespace_read(piece text, parts *scopes, parts *classes)
{
    size_t from = 0;
    scopes->n = classes->n = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.text[i] != '/')
            continue;
        const char *colon = i > from ? memchr(text.text + from, ':', i - from) : NULL;
        if (!colon || scopes->n == MAX_PARTS)
            return false;
        size_t n = (size_t)(colon - text.text) - from, skip = n + 1 + (from + n + 1 < i && colon[1] == ' ');
        while (n && text.text[from + n - 1] == ' ')
            n--;
        scopes->item[scopes->n++] = (piece){text.text + from, n};
        classes->item[classes->n++] = (piece){text.text + from + skip, i - from - skip};
        from = i + 1;
    }
    return true;
}

static bool by_weights(const as_onnx_clues *c, as_onnx_module *out);

static bool is_product(const char *op)
{
    return !strcmp(op, "Conv") || !strcmp(op, "ConvTranspose") || !strcmp(op, "Gemm") || !strcmp(op, "MatMul");
}

/* The last scope is the operation, the one before it the module.  Where the exporter has fused a normalisation into the product before it,
 * the node carries the scope of the normalisation, and the name of its weights is the better one. */
static bool by_metadata(const as_onnx_clues *c, as_onnx_module *out)
{
    parts scopes, classes;
    bool  has_classes = list_read(metadata_find(c->message, "pkg.torch.onnx.class_hierarchy"), &classes);
    if (!list_read(metadata_find(c->message, "pkg.torch.onnx.name_scopes"), &scopes) &&
        !(has_classes = namespace_read(metadata_find(c->message, "namespace"), &scopes, &classes)))
        return false;
    if (scopes.n < 1)
        return false;
    put(out->label, scopes.item[scopes.n - 1]);
    if (scopes.n < 2 || !put(out->path, scopes.item[scopes.n - 2]))
        return scopes.n >= 2 && !scopes.item[scopes.n - 2].n; /* the network itself: known, and "" */
    as_onnx_module of_weights = {0};
    if (has_classes && classes.n == scopes.n && is_product(c->op) && piece_has(classes.item[classes.n - 2], "Norm") &&
        by_weights(c, &of_weights))
        memcpy(out->path, of_weights.path, sizeof out->path);
    return true;
}

/* --- Names with slashes ------------------------------------------------------------------------------------------- */

/* TensorFlow's wrapper of a function; not a module. */
static bool is_call(piece p) { return piece_is(p, "StatefulPartitionedCall") || piece_is(p, "PartitionedCall"); }

/* TorchScript repeats a container in the name of its element, "/layer4/layer4.1/conv2/Conv". */
static bool repeats(piece container, piece element)
{
    return element.n > container.n + 1 && element.text[container.n] == '.' && !memcmp(element.text, container.text, container.n);
}

/* "/layer4/layer4.1/conv2/Conv", "StatefulPartitionedCall/model/dense_1/MatMul": all parts except the operation at the end. */
static bool slashes_read(const char *name, as_onnx_module *out)
{
    parts all, kept = {.n = 0};
    split((piece){name, strcspn(name, ";")}, '/', &all); /* converters join the names of what they fused by ';' */
    if (all.n < 2) {
        if (all.n == 1 && *name == '/') /* "/Add": of the network itself */
            return put(out->label, all.item[0]);
        return false;
    }
    for (int i = 0; i + 1 < all.n; i++) {
        if (is_call(all.item[i]))
            continue;
        if (kept.n && repeats(kept.item[kept.n - 1], all.item[i]))
            kept.item[kept.n - 1] = all.item[i];
        else
            part_add(&kept, all.item[i]);
    }
    put(out->label, all.item[all.n - 1]);
    return !kept.n || join(out->path, &kept, kept.n);
}

/* --- Names of weights ----------------------------------------------------------------------------------------------- */

/* "weight", "weight_ih_l0", "bias", "w_0", "kernel:0" ... */
static bool is_parameter(piece p)
{
    static const char *const words[] = {"weight",
                                        "bias",
                                        "kernel",
                                        "gamma",
                                        "beta",
                                        "running_mean",
                                        "running_var",
                                        "moving_mean",
                                        "moving_variance",
                                        "w",
                                        "b",
                                        "in_proj_weight",
                                        "in_proj_bias",
                                        "embeddings",
                                        "depthwise_kernel",
                                        "pointwise_kernel",
                                        "recurrent_kernel",
                                        "ReadVariableOp",
                                        "scale",
                                        "offset",
                                        "num_batches_tracked"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (p.n >= n && !memcmp(p.text, words[i], n) && (p.n == n || !isalpha((unsigned char)p.text[n])))
            return true;
    }
    return false;
}

/* "MatMul/ReadVariableOp:0" names the operation, too. */
static bool weight_read(const char *name, as_onnx_module *out)
{
    parts all;
    bool  slashes = strchr(name, '/') != NULL;
    split(piece_of(name), slashes ? '/' : '.', &all);
    int n = all.n;
    if (n < 2 || !is_parameter(all.item[n - 1]))
        return false;
    n--;
    if (slashes && n > 1 && isupper((unsigned char)all.item[n - 1].text[0])) /* layers are in lower case, operations are not */
        n--;
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (!is_call(all.item[i]))
            all.item[kept++] = all.item[i];
    return kept && join(out->path, &all, kept);
}

/* An Identity passes one weight to several modules, so the weight's name does not identify the module. */
static bool by_weights(const as_onnx_clues *c, as_onnx_module *out)
{
    if (!strcmp(c->op, "Identity"))
        return false;
    for (int i = 0; i < c->n_weights; i++)
        if (weight_read(c->weights[i], out))
            return true;
    return false;
}

/* --- Doc strings -------------------------------------------------------------------------------------------------------- */

/* "ResNet::/Sequential::layer4/BasicBlock::1": a scope of TorchScript.  Other doc strings are for people. */
static bool by_doc(const as_onnx_clues *c, as_onnx_module *out)
{
    parts        scopes, kept = {.n = 0};
    piece        doc = {"", 0};
    as_pb_reader r = as_pb_read(c->message);
    for (as_pb_field f; as_pb_next(&r, &f);)
        if (f.number == 6 && f.wire == AS_PB_BYTES && f.bytes.n)
            doc = (piece){(const char *)f.bytes.data, f.bytes.n};
    if (doc.n > AS_MAX_MODULE_BYTES || !piece_has(doc, "::") || piece_has(doc, " ") || piece_has(doc, "\n"))
        return false;
    split(doc, '/', &scopes);
    for (int i = 0; i < scopes.n; i++) {
        size_t colon = 0;
        while (colon + 1 < scopes.item[i].n && memcmp(scopes.item[i].text + colon, "::", 2) != 0)
            colon++;
        if (colon + 1 >= scopes.item[i].n)
            return false;
        part_add(&kept, (piece){scopes.item[i].text + colon + 2, scopes.item[i].n - colon - 2});
    }
    return kept.n > 0 && join(out->path, &kept, kept.n);
}

/* --- All of them -------------------------------------------------------------------------------------------------------- */

void as_onnx_module_find(const as_onnx_clues *c, as_onnx_module *out)
{
    *out = (as_onnx_module){0};
    if (c->is_ours) {
        put(out->path, metadata_find(c->message, AS_ONNX_MODULE_KEY));
        return;
    }
    if (by_metadata(c, out) || (c->name && slashes_read(c->name, out)))
        return;
    *out = (as_onnx_module){0};
    if (by_weights(c, out))
        return;
    by_doc(c, out);
}
