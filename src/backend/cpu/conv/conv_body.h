/* conv_body.h - Conv and assay.FusedConv on vectors; include one of the simd_*.h before. conv_units.h does the work. */
#ifndef AS_BACKEND_CPU_CONV_BODY_H
#define AS_BACKEND_CPU_CONV_BODY_H

#include "backend/cpu/conv/conv_units.h"

static bool conv_job_make(const as_kernel_args *args, int part, int n_parts, void *scratch, conv_job *j)
{
    const as_node_ctx *n = args->ctx;
    as_act             act;
    *j = (conv_job){.x = args->in[0].data,
                    .bias = as_in_has(n, 2) ? args->in[2].data : NULL,
                    .r = as_in_has(n, 3) ? args->in[3].data : NULL,
                    .y = args->out[0].data};
    if (as_act_read(NULL, n, &act) != ASSAY_OK || !as_conv_plan_make(n, n_parts, CONV_PANEL, &j->v) || !j->v.n_units)
        return false;
    conv_job_finish(j, &act, (char *)scratch + (size_t)part * as_conv_part_bytes(&j->v));
    return true;
}

static void conv_run(const as_kernel_args *args, int part, int n_parts, void *scratch)
{
    conv_job j;
    if (conv_job_make(args, part, n_parts, scratch, &j))
        conv_job_run(&j, args->in[1].data, args->packed[1], part, n_parts);
}

/* --- The kernel's other functions ------------------------------------------------------------------------- */

static const char *const conv_also[] = {"Conv", NULL};

/* Sixteen channels would fill half of a wide panel, and take as long as a full panel of half the width. */
static bool conv_accepts(const as_node_ctx *n, char *why, size_t why_size)
{
    as_conv_plan v;
    if (!as_conv_accepts(n, why, why_size) || !as_conv_plan_make(n, 0, CONV_PANEL, &v))
        return false;
    int64_t channels = v.depthwise ? v.n_c : v.m_group;
    if (VW <= 8 || channels > AS_CONV_PANEL)
        return true;
    snprintf(why, why_size, "%lld channels fill no more than half of a panel of %d", (long long)channels, (int)CONV_PANEL);
    return false;
}

static double conv_cost(const as_node_ctx *n) { return as_conv_time_of(n, CONV_PANEL); }
static size_t conv_scratch_bytes(const as_node_ctx *n, int n_parts) { return as_conv_scratch_bytes(n, n_parts, CONV_PANEL); }
static size_t conv_packed_bytes(const as_node_ctx *n, int input) { return as_conv_packed_bytes(n, input, CONV_PANEL); }
static void   conv_pack(const as_kernel_args *args, int input, void *packed, int part, int n_parts)
{
    (void)input;
    as_conv_pack(args, CONV_PANEL, packed, part, n_parts);
}

#endif
