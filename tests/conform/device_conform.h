/* device_conform.h - runs every operator's own cases on any back end and compares with the reference code.
 *
 * A back end's test is one call: as_conform_device(env, "opencl", 1, NULL, &n_ran, &n_refused).  It fails the running test
 * at the first case whose result differs; cases that the device refuses are only counted. */
#ifndef AS_TESTS_CONFORM_DEVICE_CONFORM_H
#define AS_TESTS_CONFORM_DEVICE_CONFORM_H

#include "backend/backend.h"

/* A case ready to run: operands, and the results of the reference code.  The arena owns all memory. */
typedef struct as_conform_case {
    as_arena       arena;
    as_node_ctx    ctx;
    as_tensor_info in_info[AS_MAX_IN], out_info[AS_MAX_OUT];
    as_view        in[AS_MAX_IN], want[AS_MAX_OUT]; /* an absent input has no data */
    char           label[160];                      /* "Conv 'dilated 2x3' as f32, 1 outputs" */
} as_conform_case;

/* instead_of_f64: AS_NONE takes the case as it is; AS_F32 makes its f64 operands f32.  False when the operator
 * refuses the case with this many outputs. */
bool as_conform_make(assay_env *env, const as_op *op, const as_case *c, int n_out, as_dtype instead_of_f64, as_conform_case *out);
void as_conform_drop(as_conform_case *c);
/* The same case with operands of rank 3 and more in NHWC: input 0 (AS_CONFORM_X), the output with all further inputs of its shape
 * (AS_CONFORM_Y), all other inputs (AS_CONFORM_Z).  False when that changes nothing.  The reference results stay row-major. */
enum { AS_CONFORM_X = 1, AS_CONFORM_Y = 2, AS_CONFORM_Z = 4, AS_CONFORM_ALL = 7 };
bool    as_conform_relayout(const as_conform_case *from, unsigned which, as_conform_case *out);
as_view as_conform_view(void *data, const as_tensor_info *info); /* strides by layout */
bool    as_conform_has_f64(const as_case *c);
/* Calls visit for every case of every operator (op_name NULL: all), each number of outputs, also with f32 for f64. */
void as_conform_each(assay_env *env, const char *op_name, void (*visit)(void *arg, assay_env *env, const as_conform_case *c),
                     void *arg);
/* Fails the test, naming the case, when an output differs from the reference code by more than the operator allows. */
void as_conform_judge(const as_conform_case *c, const as_view *got, const char *who);

/* A node alone in a segment on a device.  Operands lie in one allocation between guard bytes, outputs are first filled with a
 * pattern, and separate steps pack the packed inputs.  Returns false when the device refuses the node. */
bool as_conform_run(assay_env *env, as_device *device, const as_conform_case *c);

void as_conform_device(assay_env *env, const char *spec, int n_threads, const char *op_name_or_NULL, int *n_ran, int *n_refused);

#endif
