/* calls.h - a node as a kernel call: which kernel, which operands, which numbers.
 *
 * Does not use the OpenCL library.  The kernels themselves are in source.c. */
#ifndef AS_BACKEND_OPENCL_CALLS_H
#define AS_BACKEND_OPENCL_CALLS_H

#include "op/rules.h"

typedef int64_t i64; /* the name that the kernels use */
#define AS_CL_STRUCT(name, ...) \
    typedef struct name {       \
        __VA_ARGS__             \
    } name;
#include "backend/opencl/params.h"
#undef AS_CL_STRUCT

/* The type that kernels compute with; those that only move bytes take any type. */
#define AS_CL_DTYPES AS_DTYPE_BIT(AS_F32)

enum { AS_CL_N_AT = 4, AS_CL_OUT = 3 };

typedef struct as_cl_call {
    const char *kernel;        /* the function in source.c */
    int         in[AS_CL_OUT]; /* node input behind at[i], -1: none */
    size_t      element_bytes; /* what at[] counts */
    int64_t     n;             /* work-items with work; 0: nothing to do */
    size_t      params_bytes;
    union {
        i64           at[AS_CL_N_AT]; /* the first members of each of the others */
        as_cl_flat    flat;
        as_cl_each    each;
        as_cl_product product;
        as_cl_sums    sums;
        as_cl_lines   lines;
        as_cl_window  window;
    } params;
    as_cost issued; /* zero: as the op's cost */
} as_cl_call;

/* False: the node cannot run here; `why` gets the reason. */
bool as_cl_call_make(const as_node_ctx *n, as_cl_call *out, char *why, size_t why_size);

/* All kernels, as one program of OpenCL C 1.2. */
extern const char as_cl_source[];

#endif
