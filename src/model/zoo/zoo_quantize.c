/* zoo_quantize.c - workload: numbers in few bits, as BitNet b1.58 defines it, or as f16 and bf16.
 *
 * absmean-ternary, per tensor: g = max(mean|W|, 1e-5), T = clip(round(W / g), -1, 1). absmax-int8, per row: a = max(max|x|, 1e-5),
 * q = clip(round(127 x / a), -128, 127).  The scale is an output too: q cannot be used without it. */
#include <string.h>

#include "model/zoo/workload.h"

static const as_zoo_param params[] = {
    {"kind", "absmax-int8", "absmax-int8 (a row), absmean-ternary (the tensor), f16 or bf16"},
    {"size", "1024x1024", "rows x their length"},
    {NULL, NULL, NULL},
};

static const char *const   kinds[] = {"absmax-int8", "absmean-ternary", "f16", "bf16", NULL};
static const as_zoo_choice choices[] = {{"kind", kinds}, {NULL, NULL}};
static const as_zoo_axes   axes = {.variant = "kind", .min_dims = 2, .max_dims = 2, .form = "MxN"};

static const double LEAST_SCALE = 1e-5;

static int node2(as_maker *m, const char *op, const char *name, int a, int b)
{
    return as_maker_node(m, op, name, (int[]){a, b}, 2, NULL, 0, NULL, 1, NULL);
}

static int clip(as_maker *m, const char *name, int x, double lo, double hi)
{
    int in[] = {x, as_work_scalar(m, "lo", AS_F32, lo), as_work_scalar(m, "hi", AS_F32, hi)};
    return as_maker_node(m, "Clip", name, in, 3, NULL, 0, NULL, 1, NULL);
}

/* The largest or the mean magnitude, but at least LEAST_SCALE. */
static int scale(as_maker *m, int x, bool by_row)
{
    int     in[2] = {as_work_node1(m, "Abs", "magnitude", x), -1};
    int64_t last = 1;
    if (by_row)
        in[1] = as_work_ints(m, "axis", &last, 1);
    int size = as_maker_node(m, by_row ? "ReduceMax" : "ReduceMean", "size", in, by_row ? 2 : 1, NULL, 0, NULL, 1, NULL);
    return node2(m, "Max", "scale", size, as_work_scalar(m, "least", AS_F32, LEAST_SCALE));
}

static void quantize(as_maker *m, int x, bool to_int8)
{
    int by = scale(m, x, to_int8);
    int wide = to_int8 ? node2(m, "Mul", "wide", x, as_work_scalar(m, "levels", AS_F32, 127)) : x;
    int rounded = as_work_node1(m, "Round", "rounded", node2(m, "Div", "unit", wide, by));
    as_maker_output(m, as_work_cast(m, "q", clip(m, "clipped", rounded, to_int8 ? -128 : -1, to_int8 ? 127 : 1), AS_I8));
    as_maker_output(m, by);
}

static void build(as_maker *m, const as_zoo_args *args)
{
    as_work     w;
    const char *kind = as_zoo_word(m, args, "kind");
    if (!as_work_read(m, args, &w))
        return;
    int x = as_work_input(&w, "x", &w.size, false);
    if (!strcmp(kind, "f16") || !strcmp(kind, "bf16"))
        as_maker_output(m, as_work_cast(m, "q", x, !strcmp(kind, "f16") ? AS_F16 : AS_BF16));
    else
        quantize(m, x, !strcmp(kind, "absmax-int8"));
}

const as_zoo as_zoo_quantize = {
    .name = "quantize",
    .help = "workload: f32 as int8, ternary (BitNet b1.58) or halves",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .build = build,
};
