/* npy_array.h - private to data/: one array of a .npy file, or of an .npz file, that is read by example. */
#ifndef AS_DATA_NPY_ARRAY_H
#define AS_DATA_NPY_ARRAY_H

#include "data/reader.h"

typedef struct as_npy_array {
    const as_data_file *file;
    as_dtype            dtype;
    as_shape            shape; /* of all examples */
    uint64_t            start; /* of the elements */
    size_t              each;  /* bytes per example */
} as_npy_array;

typedef struct as_npy_arrays {
    as_npy_array x, y;
} as_npy_arrays;

/* The array that is `bytes` long at `at` of the file; `name` is what messages call it. */
assay_status as_npy_array_open(assay_env *env, const as_data_file *file, const char *name, uint64_t at, uint64_t bytes,
                               as_npy_array *out);
/* Everything of the source that follows from both; y without file: no target. */
assay_status as_npy_arrays_set(assay_env *env, const as_data_options *options, as_source *source, const char *x_name,
                               const char *y_name);
bool         as_npy_arrays_read(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out);

#endif
