/* k_resize_repeat.c - Resize to whole multiples with the nearest element: each is repeated, as runs of bytes, for any dtype and layout.
 *
 * What a decoder does before it joins a larger image (scales of 2, NHWC): the channels of a pixel are one run.  The innermost axis in
 * memory must not grow, because its elements would be copied one by one. */
#include <stdio.h>
#include <string.h>

#include "backend/cpu/walk.h"

enum { X, SCALES = 2 };

/* Output o of an axis that grows k times reads o / k: when the coordinate is o / k rounded down, or the centre of output o among those
 * of the inputs rounded to the nearest, which is never a tie. */
static bool is_nearest(const as_node_ctx *n)
{
    const char *at = as_attr_text(n, "coordinate_transformation_mode", "half_pixel");
    const char *nearest = as_attr_text(n, "nearest_mode", "round_prefer_floor");
    if (strcmp(as_attr_text(n, "mode", "nearest"), "nearest") ||
        strcmp(as_attr_text(n, "keep_aspect_ratio_policy", "stretch"), "stretch"))
        return false;
    return !strcmp(at, "asymmetric") ? !strcmp(nearest, "floor")
                                     : !strcmp(at, "half_pixel") && !strncmp(nearest, "round_prefer_", 13);
}

/* How often each element of axis i is repeated; 0: not a whole number of times. */
static int64_t times_of(const as_node_ctx *n, int i)
{
    int64_t x = n->in[X].shape.dim[i], y = n->out[0].shape.dim[i];
    return x > 0 && y > 0 && y % x == 0 ? y / x : 0;
}

/* Sizes are rounded down, so the scales themselves must be whole. */
static bool scales_are_whole(const as_node_ctx *n)
{
    const float *scale = as_in_has(n, SCALES) ? n->in[SCALES].constant : NULL;
    int64_t      axes[AS_MAX_RANK], count = as_in_has(n, SCALES) ? as_shape_count(&n->in[SCALES].shape) : 0;
    bool         named = as_attr_ints(n, "axes", axes, AS_MAX_RANK) > 0;
    if (count && (!scale || n->in[SCALES].dtype != AS_F32 || count > AS_MAX_RANK))
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = named ? axes[i] : i;
        if ((double)scale[i] != (double)times_of(n, (int)(axis < 0 ? axis + n->in[X].shape.rank : axis)))
            return false;
    }
    return true;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    int rank = n->in[X].shape.rank, axis[AS_MAX_RANK];
    if (!as_memory_is_one(n, 1, why, why_size))
        return false;
    as_memory_axes(&n->out[0], axis);
    bool whole = is_nearest(n);
    for (int i = 0; whole && i < rank; i++)
        whole = times_of(n, i) > 0;
    if (!whole || !scales_are_whole(n))
        snprintf(why, why_size, "it does not repeat each element a whole number of times");
    else if (rank == 0 || times_of(n, axis[rank - 1]) != 1)
        snprintf(why, why_size, "the innermost axis in memory grows");
    else
        return true;
    return false;
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    int64_t            step[AS_MAX_RANK];
    int                axis[AS_MAX_RANK];
    as_walk            w = as_walk_new(0);
    as_memory_steps(&n->in[X], step);
    as_memory_axes(&n->out[0], axis);
    for (int i = 0; i < n->in[X].shape.rank; i++) {
        as_walk_axis(&w, n->in[X].shape.dim[axis[i]], step[axis[i]]);
        as_walk_axis(&w, times_of(n, axis[i]), 0);
    }
    as_walk_run(&w, as_dtype_bytes(n->in[X].dtype), args->in[X].data, args->out[0].data, part, n_parts);
}

const as_kernel as_k_resize_repeat = {
    .name = "resize_repeat",
    .op = "Resize",
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "whole runs of bytes, repeated",
    .accepts = accepts,
    .run = run,
};
