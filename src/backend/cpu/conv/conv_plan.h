/* conv_plan.h - how a convolution of Conv or assay.FusedConv is split, the same for every instruction set.
 *
 * The work is split into units: some rows of one image, or some whole images.  A unit's input is copied into a strip in scratch,
 * which holds the padding as zeros, so that every output pixel sees the same pattern of taps: pixel i reads at strip + spot[i].from
 * + a * step_a + b * step_b + t for a < n_a, b < n_b, t < run.  An input that needs no padding and has the right layout is read in
 * place.  The strip holds whole pixels (NHWC), or planes where a first layer reads few channels row-major.
 *
 * Taps on the padding are a tenth of all at 14x14 under 3x3.  Where a sum is long, a unit's pixels are grouped into blocks with the
 * same taps inside, and only those taps are walked: rows at the top and the bottom, columns at the left and the right of the other
 * rows, and everything between.  Corners belong to their rows: a block of one pixel would take longer than it saves.
 *
 * A pool after the convolution (attribute pool: the maximum of 2x2) works on whole pairs of rows: w.out is cut to even sizes, a
 * unit has an even number of rows, and a panel's sums wait in scratch to be pooled.
 *
 * Weights are packed in panels of 16 output channels, 32 where vectors have sixteen, in the order of that walk:
 * [group][panel][a][b][t][16]; of a depthwise convolution [tap][channels].  The order of each output's sum depends only on the
 * node, never on units or parts. */
#ifndef AS_BACKEND_CPU_CONV_PLAN_H
#define AS_BACKEND_CPU_CONV_PLAN_H

#include "backend/cpu/kernel.h"
#include "op/math/activation.h"

enum {
    AS_CONV_PANEL = 16, /* channels, where vectors have up to eight */
    AS_CONV_MAX_PLANES = 4,
    AS_CONV_SHORT = 64,      /* products of an output: up to this many, the work per pixel shows */
    AS_CONV_MAX_BLOCKS = 32, /* of a unit */
    AS_CONV_MORE_SPOTS = 8,  /* after the last one, of the same kind, to be fetched ahead */
};

typedef struct as_conv_plan {
    as_window w;                  /* axes 1 and 2; axis 0 has size 1; `out` is what is computed */
    int64_t   pool;               /* 2: of 2x2 results the largest is written; 1: all are */
    int64_t   r_rows, r_cols;     /* of the convolution's full result, which the residual has */
    int64_t   y_rows, y_cols;     /* of what is written */
    int64_t   n_images, n_c, n_m; /* channels in and out */
    int64_t   group, c_group, m_group;
    bool      x_nhwc, y_nhwc;
    bool      depthwise;                     /* a channel in is a channel out */
    bool      planar;                        /* the strip holds planes */
    bool      copies;                        /* false: the input is read in place */
    bool      skips;                         /* taps on the padding are not walked */
    int64_t   pitch, row, plane, image;      /* floats from pixel to pixel, row to row ... as the tile sees them */
    bool      joined;                        /* the taps of a row are one run of memory */
    int64_t   n_a, step_a, n_b, step_b, run; /* the walk over the taps of one group */
    int64_t   k;                             /* products of one output: n_a * n_b * run */
    int       panel;                         /* output channels of a panel */
    int64_t   n_panels;                      /* of one group */
    int64_t   strip_rows, strip_width;       /* input rows and columns of one image of a unit */
    int64_t   rows_unit, images_unit, units_image, n_units, pixels_unit;
    size_t    spot_bytes, strip_bytes, weight_bytes, y_bytes; /* parts of a thread's scratch, multiples of 64 */
} as_conv_plan;

/* False: the window is not valid. n_parts 0: without units. */
bool as_conv_plan_make(const as_node_ctx *n, int n_parts, int panel, as_conv_plan *out);
/* f32, rank 3 or 4, layouts that the plan knows. */
bool    as_conv_accepts(const as_node_ctx *n, char *why, size_t why_size);
size_t  as_conv_scratch_bytes(const as_node_ctx *n, int n_parts, int panel);
as_cost as_conv_issued(const as_node_ctx *n); /* minus the taps that are not walked */
size_t  as_conv_packed_bytes(const as_node_ctx *n, int input, int panel);
void    as_conv_pack(const as_kernel_args *args, int panel, void *packed, int part, int n_parts);
/* Panel `panel` (over all groups), or the whole of a depthwise convolution's weights. */
void as_conv_pack_panel(const as_conv_plan *v, const float *weight, int64_t panel, float *packed);

/* One unit: images [image, image + n_images), output rows [row, row + n_rows) of each. */
typedef struct as_conv_unit {
    int64_t image, n_images, row, n_rows;
} as_conv_unit;
as_conv_unit as_conv_unit_at(const as_conv_plan *v, int64_t index);
/* A pixel: where it reads and where it is written, floats from where the unit's first pixel does. */
typedef struct as_conv_spot {
    int64_t from, to;
} as_conv_spot;
/* n pixels and the taps that they walk, starting from the first tap's x and w. */
typedef struct as_conv_block {
    int64_t n, x, w, n_a, n_b, run;
} as_conv_block;
/* The unit's pixels in blocks, written `step` floats apart in the order of the output, or every second pixel of every second row;
 * returns the number of blocks. */
int as_conv_spots(const as_conv_plan *v, const as_conv_unit *u, int64_t each, int64_t step, as_conv_spot *spot,
                  as_conv_block *block);
/* Where the unit's first pixel reads: the strip, filled, or the input itself. */
const float *as_conv_strip(const as_conv_plan *v, const as_conv_unit *u, const float *x, float *strip);

#endif
