/* resize.h - what Resize does along each axis: for the operator and for its faster kernels. */
#ifndef AS_OP_RESIZE_H
#define AS_OP_RESIZE_H

#include "op/op.h"

enum { AS_RESIZE_X, AS_RESIZE_ROI, AS_RESIZE_SCALES, AS_RESIZE_SIZES };
typedef enum as_resize_mode { AS_RESIZE_NEAREST, AS_RESIZE_LINEAR, AS_RESIZE_CUBIC } as_resize_mode;

typedef struct as_resize {
    as_resize_mode mode;
    int            coordinates, nearest, policy; /* as the attributes are numbered in resize.c */
    bool           crops;                        /* tf_crop_and_resize: it may read outside of X, and needs roi */
    bool           antialias, exclude_outside;
    double         cubic_a, extrapolation;
    int            axes[AS_MAX_RANK], n_axes; /* the axes that roi, scales and sizes are for, in their order */
    double         scale[AS_MAX_RANK];        /* of every axis of X */
    as_shape       y;
} as_resize;

/* From the attributes, and scales or sizes, which must be known while planning. */
assay_status as_resize_read(assay_env *env, const as_node_ctx *n, as_resize *out);
/* Taps that each output has along an axis; 1 for an axis that stays. */
int64_t as_resize_taps(const as_resize *r, int axis);
/* The taps of output o of an axis of `in` elements, as (index, weight); -1 as the first index means "outside".  `roi` holds the
 * region's beginning and end for this axis, {0, 1} unless it crops. */
void as_resize_make(const as_resize *r, int axis, int64_t in, int64_t o, const double roi[2], int64_t *index, double *weight);

#endif
