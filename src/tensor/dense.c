/* dense.c - a view's elements as a file holds them: row-major, little-endian, bool as 0 or 1. */
#include "tensor/dense.h"

#include <stdlib.h>

assay_status as_dense_check(assay_env *env, const char *what, const char *path, const char *name, const as_view *view)
{
    if (as_shape_ok(&view->shape, view->dtype))
        return ASSAY_OK;
    char shape[192];
    return as_fail(env, ASSAY_BAD_INPUT, "%s: %s: cannot save %.80s%sof dtype %s and shape %s", what, path,
                   name ? name : "a tensor", name ? ", " : " ", as_dtype_name(view->dtype),
                   as_shape_show(&view->shape, shape, sizeof shape));
}

assay_status as_dense_write(assay_env *env, const char *what, const char *path, const as_view *view, as_dtype dtype, FILE *file)
{
    size_t count = (size_t)as_shape_count(&view->shape), bytes_each = as_dtype_bytes(dtype), bytes;
    if (!count)
        return ASSAY_OK;
    if (dtype == view->dtype && dtype != AS_BOOL && as_view_contiguous(view)) {
        fwrite(view->data, bytes_each, count, file);
        return ASSAY_OK;
    }
    /* One copy as large as the file: a strided tensor can only be saved if it fits into memory
     * twice.  Blocks of rows would need less memory, but a second way to walk a view. */
    void *copy = __builtin_mul_overflow(count, bytes_each, &bytes) ? NULL : malloc(bytes);
    if (!copy)
        return as_fail(env, ASSAY_NO_MEMORY, "%s: %s: not enough memory to bring %zu elements of %s into row-major order", what,
                       path, count, as_dtype_name(dtype));
    as_view dense = as_view_of(copy, dtype, &view->shape);
    as_view_copy(&dense, view);
    fwrite(copy, bytes_each, count, file);
    free(copy);
    return ASSAY_OK;
}
