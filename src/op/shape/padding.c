/* padding.c - what a Pad adds and removes. */
#include "op/shape/cuts.h"

#include <string.h>

#include "op/shape/move.h"

static assay_status mode_read(assay_env *env, const as_node_ctx *n, as_pad_mode *out)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char              *name = as_attr_text(n, "mode", "constant");
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!strcmp(name, names[i])) {
            *out = (as_pad_mode)i;
            return ASSAY_OK;
        }
    return as_refuse(env, n, "mode is '%.40s' and must be constant, reflect, edge or wrap", name);
}

assay_status as_padding_read(assay_env *env, const as_node_ctx *n, as_padding *out)
{
    int      rank = n->in[0].shape.rank, n_pads, n_axes = rank, axis;
    int64_t  pads[2 * AS_MAX_RANK], axes[AS_MAX_RANK];
    unsigned seen = 0;
    *out = (as_padding){0};
    AS_TRY(mode_read(env, n, &out->mode));
    AS_TRY(as_rule_numbers(env, n, 1, "pads", 2 * AS_MAX_RANK, pads, &n_pads));
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    if (as_in_has(n, 3))
        AS_TRY(as_rule_numbers(env, n, 3, "axes", AS_MAX_RANK, axes, &n_axes));
    if (n_pads != 2 * n_axes)
        return as_refuse(env, n, "pads (input 1) has %d values for %d axes, which need two each", n_pads, n_axes);
    for (int i = 0; i < n_axes; i++) {
        AS_TRY(as_rule_axis(env, n, axes[i], rank, &axis));
        if (seen & (1u << axis))
            return as_refuse(env, n, "axes names axis %d twice", axis);
        seen |= 1u << axis;
        out->begin[axis] = pads[i];
        out->end[axis] = pads[n_axes + i];
    }
    return ASSAY_OK;
}

int64_t as_padding_source(as_pad_mode mode, int64_t i, int64_t size)
{
    if (mode == AS_PAD_EDGE)
        return i < 0 ? 0 : i >= size ? size - 1 : i;
    int64_t period = mode == AS_PAD_WRAP ? size : size > 1 ? 2 * (size - 1) : 1;
    i %= period;
    i += i < 0 ? period : 0;
    return i < size ? i : period - i;
}
