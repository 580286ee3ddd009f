/* convgradw_plan.h - how the gradient of a convolution with respect to W is split, the same for every instruction set.
 *
 * Each weight's gradient is a sum over all positions of all images: dW[m][c][tap] += dY[position][m] * X[position at tap][c].  A tile
 * holds the sums of some rows, (tap, c), by one panel of output channels m, and walks the positions of a unit: some output rows of
 * one image, or some whole images.  For that, a unit's X is copied as [block of channels][pixel][channels of a block], so that a
 * row's values lie close together (unless they do already), and its dY panel by panel as [position][panel].  Rows of a tap outside the image are left out.  A
 * first layer has few channels: there the copy is padded with zeros, and the columns of a tap row and their channels are one run.
 *
 * The units are split into shards, whose number depends only on shapes.  Every shard has sums of its own, which a fixed tree adds at
 * the end; so the bits depend on nothing but the node. */
#ifndef AS_BACKEND_CPU_CONVGRADW_PLAN_H
#define AS_BACKEND_CPU_CONVGRADW_PLAN_H

#include "backend/cpu/conv/conv_plan.h"

enum { AS_GRADW_MAX_SHARDS = 16 };

typedef struct as_gradw_plan {
    as_window w;                  /* axes 1 and 2; axis 0 has size 1 */
    int64_t   n_images, n_c, n_m; /* channels in and out */
    int64_t   group, c_group, m_group, taps;
    bool      x_nhwc, dy_nhwc;
    bool      depthwise; /* a channel in is a channel out: [taps][panel] sums per panel of channels, nothing is copied */
    bool      joined;    /* few channels: the copy of X is padded, and a row of taps is one run */
    bool      copies;    /* false: X is read in place, where its lines lie close together or are read for one tap alone */
    bool      sums_dy;   /* the second output: the gradient of the bias */
    int       panel;
    int64_t   n_panels, all_panels; /* of a group, and of all groups */
    int64_t   block, n_blocks;      /* channels of a block of X, and blocks of a group */
    int64_t   pitch;                /* floats of a pixel in X or its copy */
    int64_t   x_image, x_block;     /* and of an image, and from one block of channels to the next */
    int64_t   in_rows, in_cols;     /* of one image in the copy, at most */
    int64_t   rows_unit, images_unit, units_image, n_units, positions;
    int64_t   n_shards, panels_at_once;
    int64_t   panel_floats;      /* sums of one panel: rows by panel */
    int64_t   shard_floats;      /* all of a shard, the bias's included */
    size_t    x_bytes, dy_bytes; /* of a part's scratch, multiples of 64 */
} as_gradw_plan;

/* False: the window is not valid.  max_rows: rows of a tile. */
bool   as_gradw_plan_make(const as_node_ctx *n, int panel, int max_rows, as_gradw_plan *out);
bool   as_gradw_accepts(const as_node_ctx *n, char *why, size_t why_size);
size_t as_gradw_scratch_bytes(const as_gradw_plan *p, int n_parts);

/* Images [image, image + n_images), output rows [row, row + n_rows) of each; input rows [in_row, in_row + n_in_rows) are in the copy,
 * of which a padded one may lie outside. */
typedef struct as_gradw_unit {
    int64_t image, n_images, row, n_rows, in_row, n_in_rows;
} as_gradw_unit;
as_gradw_unit as_gradw_unit_at(const as_gradw_plan *p, int64_t index);

#endif
