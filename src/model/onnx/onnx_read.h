/* onnx_read.h - what the parts of the ONNX reader share: tensors, attributes, nodes being read. Private to model/. */
#ifndef AS_MODEL_ONNX_READ_H
#define AS_MODEL_ONNX_READ_H

#include "model/graph/maker.h"
#include "model/onnx/onnx.h"
#include "model/onnx/protobuf.h"

/* For "%.*s"; long foreign texts are cut. */
#define AS_SPAN(s) (int)((s).n < 200 ? (s).n : 200), (s).data ? (const char *)(s).data : ""

/* A text in the arena; a NUL inside is refused, because the cut name could be mistaken for another. */
assay_status as_onnx_text(assay_env *env, const char *path, as_arena *arena, as_pb_span span, const char **out);
/* The error for a protobuf message that could not be read. */
assay_status as_onnx_broken(assay_env *env, const char *path, const char *what, const as_pb_reader *r);

/* --- Tensors --------------------------------------------------------------------------------------- */

typedef struct as_onnx_tensor {
    as_pb_span message, name, raw, location;
    as_pb_span list;       /* the last packed list of floats, whose bytes are the elements, */
    uint32_t   list_field; /* and which one */
    as_dtype   dtype;
    as_shape   shape;
    bool       has_raw, external, has_length;
    uint64_t   offset, length; /* of external data */
} as_onnx_tensor;

/* Checks everything about a tensor except the place of its external data. */
assay_status as_onnx_tensor_read(assay_env *env, const char *path, as_pb_span message, as_onnx_tensor *out);
/* The bytes in place, at any address, or NULL when ..._fill() must convert them into the caller's memory. */
const void *as_onnx_tensor_bytes(const as_onnx_tensor *t);
void        as_onnx_tensor_fill(const as_onnx_tensor *t, void *out);
size_t      as_onnx_tensor_size(const as_onnx_tensor *t);     /* in memory */
size_t      as_onnx_tensor_raw_size(const as_onnx_tensor *t); /* of raw data: less where elements are packed */

/* --- Attributes and nodes ---------------------------------------------------------------------------- */

/* Tensors stay in the file until it is known how they are used. */
typedef struct as_onnx_attr {
    as_attr    attr;
    as_pb_span tensor;
    bool       is_graph; /* of a subgraph: `tensor` is its message, and attr has no value but its name */
} as_onnx_attr;

enum { AS_ONNX_MAX_ATTRS = 32, AS_ONNX_MAX_BODIES = 2 };

typedef struct as_onnx_node {
    const char  *op;    /* our operator's name */
    const char  *name;  /* NULL: none, or taken already */
    const char  *label; /* for messages: the name, or the first output's */
    int          in[AS_MAX_IN], n_in;
    const char  *out[AS_MAX_OUT];
    int          n_out;
    as_onnx_attr attrs[AS_ONNX_MAX_ATTRS];
    int          n_attrs;
    as_body      bodies[AS_ONNX_MAX_BODIES]; /* without `from` */
    int          n_bodies;
    bool         standard; /* of the standard domain: older forms are converted */
} as_onnx_node;

assay_status as_onnx_attr_read(assay_env *env, const char *path, as_arena *arena, const char *node, as_pb_span message,
                               as_onnx_attr *out);

/* Types of values, where the file states them: rank -1 and AS_NONE are unknown. */
typedef struct as_onnx_type {
    const char *name;
    as_dtype    dtype;
    int         rank;
} as_onnx_type;

typedef struct as_onnx {
    assay_env    *env;
    const char   *path;
    as_maker     *m;
    as_arena     *scratch;
    int64_t       version; /* of the standard operators */
    as_onnx_type *types;   /* open addressing, a power of two */
    size_t        n_types;
} as_onnx;

/* --- Modules ------------------------------------------------------------------------------------------ */

/* In our own files, names of nodes are used unchanged, and the module path is metadata of the node under this key. */
#define AS_ONNX_PRODUCER   "assay"
#define AS_ONNX_MODULE_KEY "assay.module"

/* Where the node's module path may be written.  `message` is the node; `weights` are the names of the initialisers that it reads.
 * None of this makes a file invalid: text that cannot be understood is ignored. */
typedef struct as_onnx_clues {
    as_pb_span         message;
    const char        *name, *op;
    const char *const *weights;
    int                n_weights;
    bool               is_ours; /* the file is one of our own */
} as_onnx_clues;

/* At most AS_MAX_MODULE_BYTES, so that a name has room for an operator and a number after it. */
enum { AS_MAX_MODULE_BYTES = AS_MAX_NAME_BYTES - 96 };
typedef struct as_onnx_module {
    char path[AS_MAX_MODULE_BYTES + 1];  /* "layer4.1.conv2"; "": not known, or the network itself */
    char label[AS_MAX_MODULE_BYTES + 1]; /* the framework's name for the operation, "add_1"; "": not known */
} as_onnx_module;
void as_onnx_module_find(const as_onnx_clues *c, as_onnx_module *out);

/* --- Cells -------------------------------------------------------------------------------------------- */

/* In our own files, metadata of the model under keys that begin so say which nodes are the primitives of which composite. */
#define AS_ONNX_CELL_KEY "assay.cell."
enum { AS_ONNX_MAX_CELLS = 256 };
void as_onnx_cells_put(as_text *file, const assay_model *model);
/* Puts the composites back in the place of their primitives, if these are exactly what the composites stand for; otherwise the model
 * stays as it is.  notes: the values of such metadata. */
assay_status as_onnx_cells_restore(assay_env *env, const as_pb_span *notes, int n, assay_model **model);

/* The version of another domain whose operators are known under "domain.Name"; 0: none. */
int as_onnx_domain_version(const char *domain);

as_onnx_type as_onnx_type_of(const as_onnx *o, const char *name);

/* The operator that a node of the standard domain becomes: its own name or the newer one's. */
const char *as_onnx_rename(const char *op);
/* Converts a node of an older version to AS_ONNX_OPSET; may add nodes and constants to the maker. */
assay_status as_onnx_convert(as_onnx *o, as_onnx_node *n);

#endif
