/* batch_shards.h - how a batch is cut for statistics per channel; include one of the simd_*.h before.
 *
 * A shard is some neighbouring pixels (NHWC, or a matrix), or some neighbouring images (row-major), small enough that a second look at it
 * finds it in the cache.  Every shard leaves two sums per channel, and every part adds those of all shards in their order: how many shards
 * there are depends on the shape alone, so the number of parts does not change a bit. */
#ifndef AS_BACKEND_CPU_BATCH_SHARDS_H
#define AS_BACKEND_CPU_BATCH_SHARDS_H

#include "backend/cpu/norm/batch_rows.h"

enum { SHARD_FLOATS = 8 * 1024, MOST_SHARDS = 512, LINE = 16 /* floats per cache line */ };

typedef struct batch {
    bool    side_by_side; /* the channels of a pixel are neighbours; otherwise the pixels of a channel are */
    int64_t channels, pixels, images;
    int64_t rows, row; /* side by side: pixels of all images, channels; otherwise images, pixels */
    int64_t each;      /* rows per shard */
    int64_t n_shards;
    int64_t stride; /* floats from one row of sums per channel to the next: whole cache lines */
} batch;

static batch batch_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    batch           b = {.channels = x->rank > 1 ? x->dim[1] : 1, .images = x->rank > 1 ? x->dim[0] : 1, .pixels = 1};
    for (int i = 2; i < x->rank; i++)
        b.pixels *= x->dim[i];
    if (x->rank == 1)
        b.pixels = x->dim[0];
    b.side_by_side = n->in[0].layout == AS_LAYOUT_NHWC || (b.pixels == 1 && x->rank > 1);
    b.rows = b.side_by_side ? b.images * b.pixels : b.images;
    b.row = b.side_by_side ? b.channels : b.pixels;
    b.each = b.row > 0 && b.row < SHARD_FLOATS ? SHARD_FLOATS / b.row : 1;
    if (b.rows > b.each * MOST_SHARDS)
        b.each = (b.rows + MOST_SHARDS - 1) / MOST_SHARDS;
    b.n_shards = (b.rows + b.each - 1) / b.each;
    b.stride = LINE
    *((b.channels + LINE - 1) / LINE);
    return b;
}

/* The two rows of sums of a shard; after those of all shards, `extra` rows for each part. */
static float *shard_sums(const batch *b, void *scratch, int64_t shard)
{
    return scratch ? (float *)scratch + shard * 2 * b->stride : NULL; /* without channels there is no scratch */
}
static float *part_rows(const batch *b, void *scratch, int part, int extra)
{
    return scratch ? (float *)scratch + (b->n_shards * 2 + (int64_t)part * extra) * b->stride : NULL;
}
static size_t shards_bytes(const batch *b, int n_parts, int extra)
{
    return (size_t)(b->n_shards * 2 + (int64_t)n_parts * extra) * (size_t)b->stride * sizeof(float);
}
static int64_t shard_rows(const batch *b, int64_t shard)
{
    return b->rows - shard * b->each < b->each ? b->rows - shard * b->each : b->each;
}

/* Units of work: shards where channels are side by side, else channels of shards. */
static int64_t batch_units(const batch *b) { return b->side_by_side ? b->n_shards : b->n_shards * b->channels; }

#endif
