/* onnx.h - ONNX files: models (.onnx), single tensors (.pb), and the unsupported operators of a file. */
#ifndef AS_MODEL_ONNX_H
#define AS_MODEL_ONNX_H

#include "model/model.h"

/* Operators are read in the forms of these versions of the standard set and converted to those of AS_ONNX_OPSET; above it
 * an operator must be unchanged, which its attribute table decides. */
enum { AS_ONNX_OPSET_MIN = 1, AS_ONNX_OPSET = 20, AS_ONNX_OPSET_MAX = 28, AS_ONNX_IR = 9 };
/* An initialiser up to this many elements is a constant, so that Resize, Clip, Pad and Range know its values while planning; a
 * larger one is a parameter, be it of floats or of quantised integers (up to 32 bits).  Integers of 64 bits, which are shapes and
 * indices, and bools are constants whatever their size. */
enum { AS_ONNX_MAX_CONSTANT = 64 };

/* TensorProto.DataType from and to ours; AS_NONE and 0 when there is none. */
as_dtype as_onnx_dtype(int64_t code);
int      as_onnx_dtype_code(as_dtype dtype);
/* ONNX's name for a code, "string" for 8, even if we do not support it; "unknown" when ONNX does not have it. */
const char *as_onnx_code_name(int64_t code);

/* A model from bytes that outlive it, for tests and the fuzzer.  `path` names the file in messages; external data is searched
 * beside it. */
assay_status as_onnx_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, assay_model **out);
assay_status as_onnx_save(assay_env *env, const assay_model *model, const char *path);

/* An operator of a file that is not supported, or not always. */
typedef struct as_onnx_missing {
    const char *op;
    const char *domain; /* "" for the standard one */
    int         n_nodes;
    const char *when; /* NULL: never supported.  Otherwise when it is: If, Loop and Scan depend on what is known while planning */
} as_onnx_missing;

/* All of them, in the order in which the file first uses them; texts live in the arena.  n_nodes (may be NULL) is the
 * number of nodes in the file. */
assay_status as_onnx_unsupported(assay_env *env, const char *path, as_arena *arena, const as_onnx_missing **out, int *n_out,
                                 int *n_nodes);

/* A file that holds one TensorProto.  The view points into the mapping if possible. */
assay_status as_pb_tensor_load(assay_env *env, const char *path, as_tensor *out);
assay_status as_pb_tensor_parse(assay_env *env, const char *path, const uint8_t *data, size_t n, as_tensor *out); /* borrows data */

#endif
