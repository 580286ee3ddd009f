/* layernorm_body.h - the body of k_layernorm_f32_<machine>.c, after its simd_*.h: LayerNormalization and RMSNormalization, line by
 * line.  The mean comes first, and the squares are those of differences from it, as in the reference code: no cancellation. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/cpu/kernel.h"
#include "backend/cpu/norm/line_sum.h"

/* Elements of a line: all axes from one on. */
static int64_t line_of(const as_node_ctx *n)
{
    const as_shape *x = &n->in[0].shape;
    int64_t         axis = as_attr_int(n, "axis", -1), line = 1;
    for (int64_t i = axis < 0 ? axis + x->rank : axis; i < x->rank; i++)
        line *= x->dim[i];
    return line;
}

/* The same values for every line: the last axes of X with ones in front, or a single value. */
static bool is_per_line(const as_node_ctx *n, int i)
{
    const as_shape *s = &n->in[i].shape, *x = &n->in[0].shape;
    int64_t         left = line_of(n);
    if (as_shape_count(s) == 1)
        return true;
    for (int k = 1; k <= s->rank; k++) {
        if (left == 1) {
            if (s->dim[s->rank - k] != 1)
                return false;
            continue;
        }
        if (s->dim[s->rank - k] != x->dim[x->rank - k])
            return false;
        left = x->dim[x->rank - k] ? left / x->dim[x->rank - k] : 1;
    }
    return left == 1;
}

static bool accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    if (!as_kernel_f32_only(n, why, why_size))
        return false;
    for (int i = 1; i < n->n_in; i++)
        if (as_in_has(n, i) && !is_per_line(n, i)) {
            snprintf(why, why_size, "input %d must be one value or one line of values", i);
            return false;
        }
    return true;
}

/* scale and bias: one value per element (step 1) or one for all (step 0). */
typedef struct factor {
    const float *at;
    int64_t      step;
} factor;

static void line_run(const float *x, float *y, int64_t count, float mean, float inv, factor scale, factor bias)
{
    vf m = v_set(mean), k = v_set(inv);
    for (int64_t i = 0; i < count; i += VW) {
        int left = count - i < VW ? (int)(count - i) : VW;
        vf  v = v_mul(v_sub(left == VW ? v_load(x + i) : v_load_n(x + i, left), m), k);
        v = v_mul(v, !scale.step ? v_one(scale.at) : left == VW ? v_load(scale.at + i) : v_load_n(scale.at + i, left));
        if (bias.at)
            v = v_add(v, !bias.step ? v_one(bias.at) : left == VW ? v_load(bias.at + i) : v_load_n(bias.at + i, left));
        if (left == VW)
            v_store(y + i, v);
        else
            v_store_n(y + i, left, v);
    }
}

static factor factor_of(const as_kernel_args *args, int i)
{
    if (!as_in_has(args->ctx, i))
        return (factor){0};
    return (factor){args->in[i].data, as_shape_count(&args->ctx->in[i].shape) != 1};
}

static void run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    (void)scratch;
    const as_node_ctx *n = args->ctx;
    bool               square = !strcmp(n->op->name, "RMSNormalization");
    float              epsilon = (float)as_attr_float(n, "epsilon", 1e-5f);
    int64_t            line = line_of(n), lines = line ? as_shape_count(&n->in[0].shape) / line : 0, begin, end;
    factor             scale = factor_of(args, 1), bias = square ? (factor){0} : factor_of(args, 2);
    float             *means = n->n_out > 1 && n->out[1].dtype != AS_NONE ? args->out[1].data : NULL;
    float             *invs = n->n_out > 2 && n->out[2].dtype != AS_NONE ? args->out[2].data : NULL;
    as_share(lines, 1, part, n_parts, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        const float *x = (const float *)args->in[0].data + i * line;
        float        mean = square ? 0.0f : line_sum(x, line, 0.0f, false) / (float)line;
        float        inv = 1.0f / sqrtf(line_sum(x, line, mean, true) / (float)line + epsilon);
        line_run(x, (float *)args->out[0].data + i * line, line, mean, inv, scale, bias);
        if (means)
            means[i] = mean;
        if (invs)
            invs[i] = inv;
    }
}

static const char *const also[] = {"RMSNormalization", NULL};
