/* dense.h - a view's elements as a file holds them: row-major, little-endian, bool as 0 or 1.
 * Private to tensor/: what the writers of tensor files share. */
#ifndef AS_TENSOR_DENSE_H
#define AS_TENSOR_DENSE_H

#include <stdio.h>

#include "tensor/tensor.h"

/* Files are read in place and written as they are in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensor files are used in place on little-endian hosts only");

/* BAD_INPUT unless the view has a dtype and a shape that can be counted; `what` and `path` begin
 * the message, `name` (may be NULL) names the tensor in it. */
assay_status as_dense_check(assay_env *env, const char *what, const char *path, const char *name, const as_view *view);

/* Writes all elements, converted to `dtype`.  NO_MEMORY when a copy was needed and there was no
 * memory for it; as_out_commit() reports errors of the stream. */
assay_status as_dense_write(assay_env *env, const char *what, const char *path, const as_view *view, as_dtype dtype, FILE *file);

#endif
