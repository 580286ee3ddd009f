/* lower.h - the stages between a bound graph and a finished plan.  Private to plan/. */
#ifndef AS_PLAN_LOWER_H
#define AS_PLAN_LOWER_H

#include "plan/plan.h"

/* Takes over a list of open devices in order of preference: the first whose memory the host can address is the host. */
assay_status as_plan_borrow(assay_env *env, assay_plan *plan, as_device *const *devices, size_t n);
/* From the graph to steps and buffers: chooses devices and kernels, inserts transfers and packing, turns views into aliases. */
assay_status as_plan_lower(assay_env *env, assay_plan *plan, as_pass_note *alias_note, as_pass_note *in_place_note);
/* Lifetimes, offsets, the bytes per device and the totals. */
assay_status as_plan_place(assay_env *env, assay_plan *plan);
/* Steps -> segments, each compiled by its device. */
assay_status as_plan_segments(assay_env *env, assay_plan *plan);

/* The buffer whose memory it is. */
static inline int as_buffer_root(const assay_plan *plan, int buffer)
{
    return plan->buffers[buffer].alias_of >= 0 ? plan->buffers[buffer].alias_of : buffer;
}

/* The buffer that stands for the same elements: the root, or the part of it that the buffer is a view of. */
static inline int as_buffer_same(const assay_plan *plan, int buffer)
{
    while (plan->buffers[buffer].alias_of >= 0 && !plan->buffers[buffer].is_part)
        buffer = plan->buffers[buffer].shares - 1;
    return buffer;
}

/* The nodes of the model that each step computes, by name: parts.c.  None: a transfer, a packing. */
typedef struct as_step_parts {
    const char **names;
    int          n;
} as_step_parts;
assay_status as_plan_parts(assay_env *env, const assay_plan *plan, as_arena *arena, as_step_parts **out);

/* Bytes that a tensor needs; cannot overflow, because the shape was checked. */
static inline size_t as_info_bytes(const as_tensor_info *info)
{
    return (size_t)as_shape_count(&info->shape) * as_dtype_bytes(info->dtype);
}

/* The bytes of its elements, also of an alias. */
static inline size_t as_buffer_bytes(const assay_plan *plan, int buffer)
{
    const as_buffer *b = &plan->buffers[buffer];
    return b->alias_of < 0 ? b->bytes : (size_t)as_shape_count(&b->shape) * as_dtype_bytes(b->dtype);
}

#endif
