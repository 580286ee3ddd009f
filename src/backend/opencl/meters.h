/* meters.h - loops of known work for the limits of an OpenCL device. */
#ifndef AS_BACKEND_OPENCL_METERS_H
#define AS_BACKEND_OPENCL_METERS_H

#include "backend/backend.h"
#include "backend/opencl/cl.h"

/* Multiply-adds in registers, reading and triad near the units, in the device's cache and in its memory, a launch, copies to and
 * from the host.  Nothing else may use the queue meanwhile. as_cl_meters_close() closes what was opened, also after a failure. */
assay_status as_cl_meters_open(assay_env *env, cl_context context, cl_device_id id, cl_command_queue queue, as_device_meters *out);
void         as_cl_meters_close(as_device_meters *m);

#endif
