/* chain.c - programs over elements. */
#include "op/fused/chain.h"

#include <math.h>
#include <string.h>

#include "op/math/activation.h"
#include "op/rules.h"

typedef struct form {
    const char *name, *op;
    int         arity;
    bool        parameters, special;
    uint64_t    flops;
    as_act_kind act;
} form;

static const form forms[AS_N_CHAIN_OPS] = {
    [AS_CHAIN_ADD] = {"add", "Add", 2, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_SUB] = {"sub", "Sub", 2, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_MUL] = {"mul", "Mul", 2, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_DIV] = {"div", "Div", 2, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_MAX] = {"max", "Max", 2, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_MIN] = {"min", "Min", 2, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_SQUARE] = {"square", NULL, 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_NEG] = {"neg", "Neg", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_ABS] = {"abs", "Abs", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_SQRT] = {"sqrt", "Sqrt", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_RECIPROCAL] = {"reciprocal", "Reciprocal", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_EXP] = {"exp", "Exp", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_LOG] = {"log", "Log", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_ERF] = {"erf", "Erf", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_FLOOR] = {"floor", "Floor", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_CEIL] = {"ceil", "Ceil", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_ROUND] = {"round", "Round", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_RELU] = {"relu", NULL, 1, false, false, 0, AS_ACT_RELU},
    [AS_CHAIN_LEAKYRELU] = {"leakyrelu", NULL, 2, true, false, 0, AS_ACT_LEAKYRELU},
    [AS_CHAIN_CLIP] = {"clip", NULL, 3, true, false, 0, AS_ACT_CLIP},
    [AS_CHAIN_SIGMOID] = {"sigmoid", NULL, 1, false, true, 0, AS_ACT_SIGMOID},
    [AS_CHAIN_TANH] = {"tanh", NULL, 1, false, true, 0, AS_ACT_TANH},
    [AS_CHAIN_HARDSIGMOID] = {"hardsigmoid", NULL, 3, true, false, 0, AS_ACT_HARDSIGMOID},
    [AS_CHAIN_HARDSWISH] = {"hardswish", NULL, 1, false, false, 0, AS_ACT_HARDSWISH},
    [AS_CHAIN_ELU] = {"elu", NULL, 2, true, true, 0, AS_ACT_ELU},
    [AS_CHAIN_GELU] = {"gelu", NULL, 1, false, true, 0, AS_ACT_GELU},
    [AS_CHAIN_GELU_TANH] = {"gelu-tanh", NULL, 1, false, true, 0, AS_ACT_GELU_TANH},
    [AS_CHAIN_SILU] = {"silu", NULL, 1, false, true, 0, AS_ACT_SILU},
    [AS_CHAIN_SOFTPLUS] = {"softplus", NULL, 1, false, true, 0, AS_ACT_SOFTPLUS},
    [AS_CHAIN_SIGN] = {"sign", "Sign", 1, false, false, 1, AS_ACT_NONE},
    [AS_CHAIN_POW] = {"pow", "Pow", 2, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_SIN] = {"sin", "Sin", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_COS] = {"cos", "Cos", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_ASIN] = {"asin", "Asin", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_ACOS] = {"acos", "Acos", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_ATAN] = {"atan", "Atan", 1, false, true, 0, AS_ACT_NONE},
    [AS_CHAIN_THRESHOLD] = {"threshold", NULL, 2, true, false, 1, AS_ACT_NONE},
    [AS_CHAIN_RELUGRAD] = {"relugrad", "assay.ReluGrad", 2, false, false, 1, AS_ACT_NONE},
};

const char *as_chain_op_name(as_chain_op op) { return forms[op].name; }
int         as_chain_op_arity(as_chain_op op) { return forms[op].arity; }
bool        as_chain_op_has_parameters(as_chain_op op) { return forms[op].parameters; }
bool        as_chain_op_is_special(as_chain_op op) { return forms[op].special; }
uint64_t    as_chain_op_flops(as_chain_op op) { return forms[op].act ? as_act_flops(forms[op].act) : forms[op].flops; }

int as_chain_constant(as_chain *chain, double value)
{
    for (int i = 0; i < chain->n_constants; i++)
        if (!memcmp(&chain->constant[i], &value, sizeof value)) /* compare bits: -0 is not 0, and a NaN equals itself */
            return -1 - i;
    if (chain->n_constants == AS_CHAIN_MAX_CONSTANTS)
        return 0;
    chain->constant[chain->n_constants++] = value;
    return -chain->n_constants;
}

/* --- Reading a node ------------------------------------------------------------------------------- */

static assay_status operand_check(assay_env *env, const as_node_ctx *n, const as_chain *c, int step, int which, int64_t operand)
{
    static const char names[] = "abc";
    const form       *f = &forms[c->step[step].op];
    int64_t           known = c->n_in + step;
    if (which >= f->arity)
        return operand == 0 ? ASSAY_OK
                            : as_refuse(env, n, "instruction %d, %s, has %c = %lld, which it does not take", step, f->name,
                                        names[which], (long long)operand);
    if (operand < -(int64_t)c->n_constants || operand >= known)
        return as_refuse(env, n, "instruction %d, %s, has %c = %lld, where %lld values and %d constants are there", step, f->name,
                         names[which], (long long)operand, (long long)known, c->n_constants);
    if (which > 0 && f->parameters && operand >= 0)
        return as_refuse(env, n, "instruction %d, %s, has %c = %lld, which must be a constant", step, f->name, names[which],
                         (long long)operand);
    return ASSAY_OK;
}

assay_status as_chain_read(assay_env *env, const as_node_ctx *n, as_chain *out)
{
    const as_attr *program = as_attr_find(n, "program"), *constants = as_attr_find(n, "constants");
    as_chain       c = {.n_in = n->n_in};
    if (!program || program->n == 0 || program->n % 4 || program->n / 4 > AS_CHAIN_MAX_STEPS)
        return as_refuse(env, n, "program has %zu numbers and must have four for each of 1 to %d instructions",
                         program ? program->n : 0, AS_CHAIN_MAX_STEPS);
    if (constants && constants->n > AS_CHAIN_MAX_CONSTANTS)
        return as_refuse(env, n, "it has %zu constants, more than %d", constants->n, AS_CHAIN_MAX_CONSTANTS);
    if (n->n_in > AS_CHAIN_MAX_IN)
        return as_refuse(env, n, "it has %d inputs, more than %d", n->n_in, AS_CHAIN_MAX_IN);
    c.n_constants = constants ? (int)constants->n : 0;
    for (int i = 0; i < c.n_constants; i++)
        c.constant[i] = constants->floats[i];
    for (int i = 0; i < (int)(program->n / 4); i++) {
        const int64_t *word = &program->ints[i * 4];
        if (word[0] < 0 || word[0] >= AS_N_CHAIN_OPS)
            return as_refuse(env, n, "instruction %d has the unknown opcode %lld", i, (long long)word[0]);
        c.step[i].op = (as_chain_op)word[0];
        for (int k = 0; k < 3; k++)
            AS_TRY(operand_check(env, n, &c, i, k, word[k + 1]));
        c.step[i] = (as_chain_step){(as_chain_op)word[0], (int)word[1], (int)word[2], (int)word[3]};
        c.n_steps = i + 1;
    }
    *out = c;
    return ASSAY_OK;
}

/* --- The program of another operator --------------------------------------------------------------- */

static void step_add(as_chain *c, as_chain_op op, int a, int b, int k) { c->step[c->n_steps++] = (as_chain_step){op, a, b, k}; }

/* Pow with a constant exponent, of any dtype: some have a cheaper form. */
static bool power_of(const as_node_ctx *n, as_chain *c)
{
    const as_tensor_info *e = &n->in[1];
    if (!e->constant || as_shape_count(&e->shape) != 1 || e->shape.rank > n->in[0].shape.rank)
        return false;
    as_view v = as_view_of((void *)(uintptr_t)e->constant, e->dtype, &e->shape);
    double  power = as_view_get(&v, 0);
    c->n_in = 1;
    if (power == 2.0 || power == -1.0)
        step_add(c, power > 0.0 ? AS_CHAIN_SQUARE : AS_CHAIN_RECIPROCAL, 0, 0, 0);
    else
        step_add(c, AS_CHAIN_POW, 0, as_chain_constant(c, power), 0);
    return true;
}

/* Sum, Mean, Max and Min of up to AS_CHAIN_MAX_IN inputs, one after the other. */
static bool many_of(const as_node_ctx *n, as_chain *c)
{
    const char *name = n->op->name;
    bool        mean = !strcmp(name, "Mean");
    as_chain_op op = mean || !strcmp(name, "Sum") ? AS_CHAIN_ADD : !strcmp(name, "Max") ? AS_CHAIN_MAX : AS_CHAIN_MIN;
    if (n->n_in > AS_CHAIN_MAX_IN || (op == AS_CHAIN_MIN && strcmp(name, "Min")))
        return false;
    c->n_in = n->n_in;
    for (int i = 1; i < n->n_in; i++)
        step_add(c, op, i == 1 ? 0 : c->n_in + c->n_steps - 1, i, 0);
    if (mean || n->n_in == 1) /* a program has at least one instruction */
        step_add(c, AS_CHAIN_MUL, c->n_steps ? c->n_in + c->n_steps - 1 : 0, as_chain_constant(c, 1.0 / n->n_in), 0);
    return true;
}

/* Operators of one input that are a few instructions. */
static bool few_of(const as_node_ctx *n, as_chain *c)
{
    const char *name = n->op->name;
    int         y = 1; /* the result of the first instruction; the next ones follow */
    c->n_in = 1;
    if (!strcmp(name, "Selu")) {
        step_add(c, AS_CHAIN_ELU, 0, as_chain_constant(c, as_attr_float(n, "alpha", (double)1.67326319217681884765625f)), 0);
        step_add(c, AS_CHAIN_MUL, y, as_chain_constant(c, as_attr_float(n, "gamma", (double)1.05070102214813232421875f)), 0);
    } else if (!strcmp(name, "Celu") && as_attr_float(n, "alpha", 1.0) > 0.0) {
        double alpha = as_attr_float(n, "alpha", 1.0);
        if (alpha == 1.0) {
            step_add(c, AS_CHAIN_ELU, 0, as_chain_constant(c, 1.0), 0);
        } else {
            step_add(c, AS_CHAIN_DIV, 0, as_chain_constant(c, alpha), 0);
            step_add(c, AS_CHAIN_ELU, y, as_chain_constant(c, 1.0), 0);
            step_add(c, AS_CHAIN_MUL, y + 1, as_chain_constant(c, alpha), 0);
        }
    } else if (!strcmp(name, "Mish")) {
        step_add(c, AS_CHAIN_SOFTPLUS, 0, 0, 0);
        step_add(c, AS_CHAIN_TANH, y, 0, 0);
        step_add(c, AS_CHAIN_MUL, 0, y + 1, 0);
    } else if (!strcmp(name, "Softsign")) {
        step_add(c, AS_CHAIN_ABS, 0, 0, 0);
        step_add(c, AS_CHAIN_ADD, y, as_chain_constant(c, 1.0), 0);
        step_add(c, AS_CHAIN_DIV, 0, y + 1, 0);
    } else if (!strcmp(name, "Tan")) {
        step_add(c, AS_CHAIN_SIN, 0, 0, 0);
        step_add(c, AS_CHAIN_COS, 0, 0, 0);
        step_add(c, AS_CHAIN_DIV, y, y + 1, 0);
    } else if (!strcmp(name, "ThresholdedRelu")) {
        step_add(c, AS_CHAIN_THRESHOLD, 0, as_chain_constant(c, as_attr_float(n, "alpha", 1.0)), 0);
    } else {
        return false;
    }
    return true;
}

/* Clip with bounds that are only known later. */
static bool bounds_of(const as_node_ctx *n, as_chain *c)
{
    c->n_in = n->n_in;
    if (as_in_has(n, 1))
        step_add(c, AS_CHAIN_MAX, 0, 1, 0);
    if (as_in_has(n, 2))
        step_add(c, AS_CHAIN_MIN, c->n_steps ? c->n_in : 0, 2, 0);
    return c->n_steps > 0;
}

static bool act_of(const as_node_ctx *n, as_chain *c)
{
    as_act act;
    if (!as_act_of(n, &act))
        return false;
    for (int i = 0; i < AS_N_CHAIN_OPS; i++)
        if (forms[i].act == act.kind) {
            int b = forms[i].arity > 1 ? as_chain_constant(c, act.alpha) : 0,
                k = forms[i].arity > 2 ? as_chain_constant(c, act.beta) : 0;
            c->n_in = 1;
            step_add(c, (as_chain_op)i, 0, b, k);
            return true;
        }
    return false;
}

/* An operator that is one instruction of the same name. */
static bool form_of(const as_node_ctx *n, as_chain *c)
{
    for (int i = 0; i < AS_N_CHAIN_OPS; i++)
        if (forms[i].op && forms[i].op[0] == n->op->name[0] && !strcmp(forms[i].op, n->op->name) && n->n_in == forms[i].arity) {
            c->n_in = n->n_in;
            step_add(c, (as_chain_op)i, 0, n->n_in > 1, 0);
            return true;
        }
    return false;
}

/* Kernels call this at every run: it writes only the parts of `out` that are used. */
bool as_chain_of(const as_node_ctx *n, as_chain *out)
{
    const char *name = n->op->name;
    out->n_in = out->n_steps = out->n_constants = 0;
    if (n->n_in < 1 || !as_dtype_is_float(n->in[0].dtype))
        return false;
    if (!strcmp(name, "Pow") && power_of(n, out))
        return true;
    if (form_of(n, out) || act_of(n, out))
        return true;
    if (!strcmp(name, "Clip"))
        return bounds_of(n, out);
    return many_of(n, out) || (n->n_in == 1 && few_of(n, out));
}

/* --- Reference code -------------------------------------------------------------------------------------- */

static double larger(double a, double b) { return isnan(a) ? a : isnan(b) || b > a ? b : a; }
static double smaller(double a, double b) { return isnan(a) ? a : isnan(b) || b < a ? b : a; }

static double step_apply(as_chain_op op, double a, double b, double c)
{
    switch (op) {
    case AS_CHAIN_ADD: return a + b;
    case AS_CHAIN_SUB: return a - b;
    case AS_CHAIN_MUL: return a * b;
    case AS_CHAIN_DIV: return a / b;
    case AS_CHAIN_MAX: return larger(a, b);
    case AS_CHAIN_MIN: return smaller(a, b);
    case AS_CHAIN_SQUARE: return a * a;
    case AS_CHAIN_NEG: return -a;
    case AS_CHAIN_ABS: return fabs(a);
    case AS_CHAIN_SQRT: return sqrt(a);
    case AS_CHAIN_RECIPROCAL: return 1.0 / a;
    case AS_CHAIN_EXP: return exp(a);
    case AS_CHAIN_LOG: return log(a);
    case AS_CHAIN_ERF: return erf(a);
    case AS_CHAIN_FLOOR: return floor(a);
    case AS_CHAIN_CEIL: return ceil(a);
    case AS_CHAIN_ROUND: return a - remainder(a, 1.0);
    case AS_CHAIN_SIGN: return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a;
    case AS_CHAIN_RELUGRAD: return a <= 0.0 ? 0.0 : b;
    case AS_CHAIN_POW: return pow(a, b);
    case AS_CHAIN_SIN: return sin(a);
    case AS_CHAIN_COS: return cos(a);
    case AS_CHAIN_ASIN: return asin(a);
    case AS_CHAIN_ACOS: return acos(a);
    case AS_CHAIN_ATAN: return atan(a);
    case AS_CHAIN_THRESHOLD: return a > b ? a : 0.0;
    default: return as_act_apply(&(as_act){.kind = forms[op].act, .alpha = b, .beta = c}, a);
    }
}

double as_chain_apply(const as_chain *chain, const double *in)
{
    double value[AS_CHAIN_MAX_IN + AS_CHAIN_MAX_STEPS];
    memcpy(value, in, (size_t)chain->n_in * sizeof *in);
    for (int i = 0; i < chain->n_steps; i++) {
        const as_chain_step *s = &chain->step[i];
        int                  arity = forms[s->op].arity, number[3] = {s->a, s->b, s->c};
        double               x[3] = {0};
        for (int k = 0; k < arity; k++)
            x[k] = number[k] < 0 ? chain->constant[-1 - number[k]] : value[number[k]];
        value[chain->n_in + i] = step_apply(s->op, x[0], x[1], x[2]);
    }
    return value[chain->n_in + chain->n_steps - 1];
}
