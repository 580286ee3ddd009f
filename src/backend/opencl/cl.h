/* cl.h - the OpenCL library as the back end sees it: version 1.2, error codes by name, devices by number.
 *
 * Text from a driver (names, build logs) is data: shown with "%s", trimmed, never used as a format. */
#ifndef AS_BACKEND_OPENCL_CL_H
#define AS_BACKEND_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/env.h"

const char *as_cl_error_name(cl_int code); /* "CL_OUT_OF_RESOURCES"; "an OpenCL error without a name" */

/* NO_MEMORY when the code means that memory is short, else DEVICE: "opencl: <doing>: CL_... (-5)". */
assay_status as_cl_fail(assay_env *env, cl_int code, const char *doing);

/* Trims white space at both ends and replaces every other control character by a space, in place. */
char *as_cl_trim(char *text);

/* A device of this machine; index counts over all platforms, in the loader's order. */
typedef struct as_cl_found {
    int            index;
    cl_platform_id platform;
    cl_device_id   device;
    char           text[256];   /* "name, platform, 2 compute units, OpenCL 3.0 ..." */
    char           reason[160]; /* why it cannot be used; "" if it can */
    cl_ulong       max_bytes;   /* of one allocation */
    cl_device_type type;
} as_cl_found;

/* Calls visit for each device until it returns false.  Returns how many there were; with none, `why` says why (it may also
 * be set when there are devices but a further platform failed). */
int as_cl_find(bool (*visit)(void *arg, const as_cl_found *found), void *arg, char *why, size_t why_size);

#endif
