/* zoo_elementwise.c - workload: one operator element by element. */
#include <string.h>

#include "model/zoo/workload.h"

static const as_zoo_param params[] = {
    {"op", "add", "add, sub, mul, div, max, relu, tanh, sigmoid, exp, gelu, abs, neg, erf or softplus"},
    {"size", "1024x1024", "of the operands and of the result"},
    AS_WORK_DTYPE,
    AS_WORK_LAYOUT,
    {NULL, NULL, NULL},
};

static const char *const words[] = {"add", "sub",  "mul", "div", "max", "relu",     "tanh", "sigmoid",
                                    "exp", "gelu", "abs", "neg", "erf", "softplus", NULL};
static const char *const ops[] = /* in the order of `words` */
    {"Add", "Sub", "Mul", "Div", "Max", "Relu", "Tanh", "Sigmoid", "Exp", "Gelu", "Abs", "Neg", "Erf", "Softplus"};

static const as_zoo_choice choices[] = {{"op", words}, {"dtype", as_work_dtypes}, {"layout", as_work_layouts}, {NULL, NULL}};
static const as_zoo_axes axes = {.variant = "op", .min_dims = 1, .max_dims = 4, .form = "N, MxN, LxMxN or KxLxMxN", .rows = "size"};

enum { N_BINARY = 5 }; /* those that come first */

static int word_index(const char *word)
{
    int i = 0;
    while (strcmp(words[i], word))
        i++;
    return i;
}

/* The layout is that of the last operand. (No root and no logarithm: inputs lie in [-1,1), and half of the results were NaN.) */
static void build(as_maker *m, const as_zoo_args *args)
{
    as_work     w;
    const char *word = as_zoo_word(m, args, "op");
    if (!as_work_read(m, args, &w))
        return;
    int i = word_index(word), in[2], n = i < N_BINARY ? 2 : 1;
    if (n == 2)
        in[0] = as_work_input(&w, "a", &w.size, false);
    in[n - 1] = as_work_input(&w, "x", &w.size, true);
    as_work_output(&w, as_maker_node(m, ops[i], "y", in, n, NULL, 0, NULL, 1, NULL));
}

const as_zoo as_zoo_elementwise = {
    .name = "elementwise",
    .help = "workload: one operator element by element",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .build = build,
};
