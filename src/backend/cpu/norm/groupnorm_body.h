/* groupnorm_body.h - the body of k_groupnorm_f32_<machine>.c, after its simd_*.h: GroupNormalization, and InstanceNormalization,
 * whose groups are single channels.
 *
 * A group's channels are neighbours, so its moments are those of one line; scale and bias change with the channel.  A line is
 * never split between parts. */
#include <math.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/norm/line_sum.h"

static void channel_run(const float *x, float *y, int64_t count, float mean, float factor, float bias)
{
    vf      m = v_set(mean), f = v_set(factor), b = v_set(bias);
    int64_t i = 0;
    for (; i + VW <= count; i += VW)
        v_store(y + i, v_fma(v_sub(v_load(x + i), m), f, b));
    if (i < count)
        v_store_n(y + i, (int)(count - i), v_fma(v_sub(v_load_n(x + i, (int)(count - i)), m), f, b));
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    const as_shape    *shape = &n->in[0].shape;
    float              epsilon = (float)as_attr_float(n, "epsilon", 1e-5f);
    const float       *scale = args->in[1].data, *bias = args->in[2].data;
    int64_t            channels = shape->dim[1], count = as_shape_count(shape), begin, end;
    if (count == 0)
        return;
    int64_t groups = !strcmp(n->op->name, "InstanceNormalization") ? channels : as_attr_int(n, "num_groups", 1);
    int64_t pixels = count / shape->dim[0] / channels, wide = channels / groups, line = wide * pixels;
    as_share(shape->dim[0] * groups, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float *x = (const float *)args->in[0].data + i * line;
        float       *y = (float *)args->out[0].data + i * line;
        float        mean = line_sum(x, line, 0.0f, false) / (float)line;
        float        inv = 1.0f / sqrtf(line_sum(x, line, mean, true) / (float)line + epsilon);
        for (int64_t k = 0, c = i % groups * wide; k < wide; k++, c++)
            channel_run(x + k * pixels, y + k * pixels, pixels, mean, inv * scale[c], bias[c]);
    }
}

static const char *const also[] = {"InstanceNormalization", NULL};
