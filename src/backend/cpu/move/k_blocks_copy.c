/* k_blocks_copy.c - DepthToSpace and SpaceToDepth: channels to blocks of pixels and back, for any dtype. */
#include <string.h>

#include "backend/cpu/each/plain.h"
#include "backend/cpu/walk.h"

/* The space side is [N, C, H, block, W, block]; the channels of the depth side are [block, block, C] (mode DCR) or
 * [C, block, block] (CRD). */
static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    bool               to_space = !strcmp(n->op->name, "DepthToSpace"), crd = !strcmp(as_attr_text(n, "mode", "DCR"), "CRD");
    const int64_t     *depth = n->in[0].shape.dim, *space = n->out[0].shape.dim;
    if (!to_space) {
        depth = n->out[0].shape.dim;
        space = n->in[0].shape.dim;
    }
    int64_t block = as_attr_int(n, "blocksize", 1), channels = space[1], h = depth[2], w = depth[3];
    as_walk walk = as_walk_new(0);
    as_walk_axis(&walk, depth[0], depth[1] * h * w);
    if (to_space) {
        int64_t channel = (crd ? block * block : 1) * h * w, row = (crd ? block : block * channels) * h * w,
                column = (crd ? 1 : channels) * h * w;
        as_walk_axis(&walk, channels, channel);
        as_walk_axis(&walk, h, w);
        as_walk_axis(&walk, block, row);
        as_walk_axis(&walk, w, 1);
        as_walk_axis(&walk, block, column);
    } else {
        int64_t line = w * block, image = h * block * line;
        as_walk_axis(&walk, crd ? channels : block, crd ? image : line);
        as_walk_axis(&walk, block, crd ? line : 1);
        as_walk_axis(&walk, crd ? block : channels, crd ? 1 : image);
        as_walk_axis(&walk, h, block * line);
        as_walk_axis(&walk, w, block);
    }
    as_walk_run(&walk, as_dtype_bytes(n->in[0].dtype), args->in[0].data, args->out[0].data, part, n_parts);
}

static const char *const also[] = {"SpaceToDepth", NULL};

const as_kernel as_k_blocks_copy = {
    .name = "blocks_copy",
    .op = "DepthToSpace",
    .also = also,
    .isa = AS_ISA_SCALAR,
    .rank = 10,
    .why = "rows of joined axes",
    .accepts = as_plain_copy_accepts,
    .run = run,
};
