/* convgradx_body.h - the gradient of a convolution with respect to X, and ConvTranspose; include one of the simd_*.h before.
 *
 * It is a convolution of dY, one for each phase of the stride (conv_plan.h), so conv_units.h does it.  A third input, the result of
 * the Relu that X is, sets the gradient to 0 where the Relu did, while the sums are in registers; that of ConvTranspose is a bias. */
#ifndef AS_BACKEND_CPU_CONVGRADX_BODY_H
#define AS_BACKEND_CPU_CONVGRADX_BODY_H

#include "backend/cpu/conv/conv_units.h"

/* Scratch of a part, and floats of packed weights, over all phases. */
static size_t gradx_part_bytes(const as_node_ctx *n, int n_parts)
{
    size_t       most = 0;
    as_conv_plan v;
    for (int64_t phase = 0; phase < as_convgradx_phases(n); phase++)
        if (as_convgradx_plan_make(n, phase, n_parts, CONV_PANEL, &v) && as_conv_part_bytes(&v) > most)
            most = as_conv_part_bytes(&v);
    return most;
}

static size_t gradx_scratch_bytes(const as_node_ctx *n, int n_parts)
{
    size_t bytes = 0;
    for (int parts = 1; parts <= n_parts; parts++) {
        size_t all = (size_t)parts * gradx_part_bytes(n, parts);
        bytes = all > bytes ? all : bytes;
    }
    return bytes;
}

static size_t gradx_packed_bytes(const as_node_ctx *n, int input)
{
    size_t       bytes = 0;
    as_conv_plan v;
    for (int64_t phase = 0; input == 1 && phase < as_convgradx_phases(n); phase++)
        if (as_convgradx_plan_make(n, phase, 0, CONV_PANEL, &v))
            bytes += as_conv_weight_bytes(&v);
    return bytes;
}

static void gradx_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    as_conv_plan v;
    char        *to = packed;
    (void)input;
    for (int64_t phase = 0; phase < as_convgradx_phases(args->ctx); phase++) {
        int64_t begin, end;
        if (!as_convgradx_plan_make(args->ctx, phase, 0, CONV_PANEL, &v))
            return;
        as_share(v.depthwise ? 1 : as_conv_panels(&v), 1, part, n_parts, &begin, &end);
        for (int64_t i = begin; i < end; i++)
            as_conv_pack_panel(&v, args->in[1].data, i, (float *)(void *)to + i * v.k * CONV_PANEL);
        to += as_conv_weight_bytes(&v);
    }
}

static void gradx_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    const as_node_ctx *n = args->ctx;
    const char        *packed = args->packed[1];
    const float       *third = as_in_has(n, 2) ? args->in[2].data : NULL;
    bool               biased = as_in_has(n, 2) && n->in[2].shape.rank == 1;
    as_act             none = {0};
    /* The same for all phases: a part may be one ahead of another. */
    char *mine = scratch ? (char *)scratch + (size_t)part * gradx_part_bytes(n, n_parts) : NULL;
    for (int64_t phase = 0; phase < as_convgradx_phases(n); phase++) {
        conv_job j = {.x = args->in[0].data,
                      .bias = biased ? third : NULL,
                      .r = biased ? NULL : third,
                      .masks = true,
                      .y = args->out[0].data};
        if (!as_convgradx_plan_make(n, phase, n_parts, CONV_PANEL, &j.v))
            return;
        if (j.v.n_units) {
            conv_job_finish(&j, &none, mine);
            conv_job_run(&j, args->in[1].data, (const float *)(const void *)packed, part, n_parts);
        }
        packed = packed ? packed + as_conv_weight_bytes(&j.v) : NULL;
    }
}

static const char *const gradx_also[] = {"ConvTranspose", NULL};

static bool gradx_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_conv_plan v;
    if (!as_convgradx_accepts(n, why, why_size) || !as_convgradx_plan_make(n, 0, 0, CONV_PANEL, &v))
        return false;
    if (VW > 8 && (v.depthwise ? v.n_c : v.m_group) <= AS_CONV_PANEL) /* as for the convolution itself */
        snprintf(why, why_size, "%lld channels fill no more than half of a panel of %d",
                 (long long)(v.depthwise ? v.n_c : v.m_group), (int)CONV_PANEL);
    else
        return true;
    return false;
}

#endif
