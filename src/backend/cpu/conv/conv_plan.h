/* conv_plan.h - how a convolution of Conv, assay.FusedConv, ConvTranspose or assay.ConvGradX is split, the same for every instruction set.
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
 * node, never on units or parts.
 *
 * The gradient of X is a convolution of dY as well, with the channels of the weights exchanged and the taps in reverse.  With a
 * stride s, it is s x s of them: the elements of dX whose row is r after a multiple of s are seen through every s-th tap only, and
 * so each such phase is a convolution of stride 1 that writes every s-th pixel of every s-th row.  ConvTranspose is the same,
 * with X in the place of dY, and its bias. */
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

/* Where the weight of an output channel, an input channel and a tap is: floats from the group's first. */
typedef struct as_conv_weights {
    int64_t group, out, in, first, down, right;
} as_conv_weights;

typedef struct as_conv_plan {
    as_window w;                  /* axes 1 and 2; axis 0 has size 1; `out` is what is computed */
    int64_t   pool;               /* 2: of 2x2 results the largest is written; 1: all are */
    int64_t   r_rows, r_cols;     /* of the convolution's full result, which the residual has */
    int64_t   y_rows, y_cols;     /* of what is written */
    int64_t   y_step[2], y_at[2]; /* rows and columns from one result to the next, and of the first; 1 and 0 but for a phase */
    as_conv_weights weights;
    int64_t         n_images, n_c, n_m; /* channels in and out */
    int64_t         group, c_group, m_group;
    bool            x_nhwc, y_nhwc;
    bool            depthwise;                     /* a channel in is a channel out */
    bool            deep;                          /* and read and written in place: conv_deep.h, without spots */
    bool            planar;                        /* the strip holds planes */
    bool            copies;                        /* false: the input is read in place */
    bool            far;                           /* the output does not fit in half of L2 */
    bool            skips;                         /* taps on the padding are not walked */
    int64_t         pitch, row, plane, image;      /* floats from pixel to pixel, row to row ... as the tile sees them */
    bool            joined;                        /* the taps of a row are one run of memory */
    int64_t         n_a, step_a, n_b, step_b, run; /* the walk over the taps of one group */
    int64_t         k;                             /* products of one output: n_a * n_b * run */
    int             panel;                         /* output channels of a panel */
    int64_t         n_panels;                      /* of one group */
    int64_t         strip_rows, strip_width;       /* input rows and columns of one image of a unit */
    int             panel_parts;                   /* of the parts share the channels of a unit */
    int64_t         rows_unit, images_unit, units_image, n_units, pixels_unit;
    size_t          spot_bytes, strip_bytes, weight_bytes, y_bytes; /* parts of a thread's scratch, multiples of 64 */
} as_conv_plan;

/* False: the window is not valid. n_parts 0: without units. */
bool as_conv_plan_make(const as_node_ctx *n, int n_parts, int panel, as_conv_plan *out);
/* The phases of assay.ConvGradX or ConvTranspose, at least 1, and the plan of one of them. */
int64_t as_convgradx_phases(const as_node_ctx *n);
bool    as_convgradx_accepts(const as_node_ctx *n, char *why, size_t why_size);
bool    as_convgradx_plan_make(const as_node_ctx *n, int64_t phase, int n_parts, int panel, as_conv_plan *out);
/* f32, rank 3 or 4, layouts that the plan knows. */
bool   as_conv_accepts(const as_node_ctx *n, char *why, size_t why_size);
size_t as_conv_scratch_bytes(const as_node_ctx *n, int n_parts, int panel);
/* How long two cores take that share their memory, in ns: 100 GFLOP/s each, 20 GB/s for weights that are read for the first time and 60
 * for those that are read again, fitted by hand to a Zen 4.  Rough, but it tells what differs by its products or by how often it reads weights. */
double  as_conv_time(double flops, double first_bytes, double again_bytes);
double  as_conv_time_of(const as_node_ctx *n, int panel);
as_cost as_conv_issued(const as_node_ctx *n); /* minus the taps that are not walked */
size_t  as_conv_packed_bytes(const as_node_ctx *n, int input, int panel);
void    as_conv_pack(const as_kernel_args *args, int panel, void *packed, int part, int n_parts);
/* The same for a plan: its share of a thread's scratch, its packed weights, and its number of panels over all groups. */
static inline size_t as_conv_part_bytes(const as_conv_plan *v)
{
    return v->spot_bytes + v->strip_bytes + v->weight_bytes + v->y_bytes;
}
size_t  as_conv_weight_bytes(const as_conv_plan *v);
int64_t as_conv_panels(const as_conv_plan *v);
/* Panel `panel` (over all groups), or the whole of a depthwise convolution's weights. */
void as_conv_pack_panel(const as_conv_plan *v, const float *weight, int64_t panel, float *packed);

/* One unit: images [image, image + n_images), output rows [row, row + n_rows) of each. */
typedef struct as_conv_unit {
    int64_t image, n_images, row, n_rows;
} as_conv_unit;
/* What a part does: units [begin, end) under panels [first, last) over all groups. */
typedef struct as_conv_share {
    int64_t begin, end, first, last;
} as_conv_share;
as_conv_share as_conv_share_of(const as_conv_plan *v, int part, int n_parts);
as_conv_unit  as_conv_unit_at(const as_conv_plan *v, int64_t index);
/* A pixel: where it reads and where it is written, floats from where the unit's first pixel does. */
typedef struct as_conv_spot {
    int64_t from, to;
} as_conv_spot;
/* n pixels and the taps that they walk, starting from the first tap's x and w. */
typedef struct as_conv_block {
    int64_t n, x, w, n_a, n_b, run;
} as_conv_block;
/* Floats from image to image, row to row and pixel to pixel where results are written. */
typedef struct as_conv_steps {
    int64_t image, row, pixel;
} as_conv_steps;
/* The steps of an NHWC output, or of rows of `panel` channels one after the other. */
as_conv_steps as_conv_steps_nhwc(const as_conv_plan *v);
as_conv_steps as_conv_steps_panel(const as_conv_plan *v, const as_conv_unit *u, int64_t each);
/* The unit's pixels in blocks, all, or every second pixel of every second row; returns the number of blocks. */
int as_conv_spots(const as_conv_plan *v, const as_conv_unit *u, int64_t each, const as_conv_steps *to, as_conv_spot *spot,
                  as_conv_block *block);
/* Where the unit's first pixel reads: the strip, filled, or the input itself. */
const float *as_conv_strip(const as_conv_plan *v, const as_conv_unit *u, const float *x, float *strip);

#endif
