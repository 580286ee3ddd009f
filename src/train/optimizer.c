/* optimizer.c - texts that name an optimiser, and groups of parameters. */
#include "train/optimizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* --- What there is --------------------------------------------------------------------------------------------------- */

typedef enum key_kind {
    KEY_ATTR,
    KEY_FLAG /* an attribute that is 0 or 1 */,
    KEY_RATE,
    KEY_DECAY,
    KEY_INITIAL,
    KEY_LBFGS
} key_kind;

typedef struct key {
    const char *name, *attr; /* of the operator; of a key of lbfgs NULL */
    key_kind    kind;
    double      otherwise; /* PyTorch's default */
    double      below;     /* 0: any size */
} key;

typedef struct kind {
    const char *name, *op;
    key         keys[10];
} kind;

#define RATE(value)                                          \
    {                                                        \
        .name = "lr", .kind = KEY_RATE, .otherwise = (value) \
    }
#define DECAY(value)                                             \
    {                                                            \
        .name = "decay", .kind = KEY_DECAY, .otherwise = (value) \
    }
#define MOMENTS                                                               \
    {.name = "beta1", .attr = "beta1", .otherwise = 0.9, .below = 1.0},       \
        {.name = "beta2", .attr = "beta2", .otherwise = 0.999, .below = 1.0}, \
    {                                                                         \
        .name = "eps", .attr = "epsilon", .otherwise = 1e-8                   \
    }

static const kind kinds[] = {
    {"sgd",
     "assay.Sgd",
     {RATE(1e-3),
      DECAY(0),
      {.name = "momentum", .attr = "momentum"},
      {.name = "dampening", .attr = "dampening"},
      {.name = "nesterov", .attr = "nesterov", .kind = KEY_FLAG}}},
    {"adam", "assay.Adam", {RATE(1e-3), DECAY(0), MOMENTS}},
    {"adamw", "assay.Adam", {RATE(1e-3), DECAY(1e-2), MOMENTS}},
    {"rmsprop",
     "assay.RmsProp",
     {RATE(1e-2),
      DECAY(0),
      {.name = "alpha", .attr = "alpha", .otherwise = 0.99},
      {.name = "eps", .attr = "epsilon", .otherwise = 1e-8},
      {.name = "momentum", .attr = "momentum"},
      {.name = "centered", .attr = "centered", .kind = KEY_FLAG}}},
    {"adagrad",
     "assay.AdaGrad",
     {RATE(1e-2),
      DECAY(0),
      {.name = "eps", .attr = "epsilon", .otherwise = 1e-10},
      {.name = "lr_decay", .attr = "rate_decay"},
      {.name = "initial", .kind = KEY_INITIAL}}},
    {"adadelta",
     "assay.AdaDelta",
     {RATE(1.0),
      DECAY(0),
      {.name = "rho", .attr = "rho", .otherwise = 0.9},
      {.name = "eps", .attr = "epsilon", .otherwise = 1e-6}}},
    {"nadam",
     "assay.Nadam",
     {RATE(2e-3),
      DECAY(0),
      MOMENTS,
      {.name = "momentum_decay", .attr = "momentum_decay", .otherwise = 4e-3},
      {.name = "decoupled", .attr = "decoupled", .kind = KEY_FLAG}}},
    {"lbfgs",
     NULL,
     {RATE(1.0),
      {.name = "max_iter", .kind = KEY_LBFGS, .otherwise = 20},
      {.name = "max_eval", .kind = KEY_LBFGS}, /* 0: five quarters of max_iter */
      {.name = "tolerance_grad", .kind = KEY_LBFGS, .otherwise = 1e-7},
      {.name = "tolerance_change", .kind = KEY_LBFGS, .otherwise = 1e-9},
      {.name = "history", .kind = KEY_LBFGS, .otherwise = 100}}},
};

const char *const as_optimizer_names[] = {"sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "nadam", "lbfgs", NULL};

static int n_keys(const kind *k)
{
    int n = 0;
    while (n < (int)AS_COUNT(k->keys) && k->keys[n].name)
        n++;
    return n;
}

/* --- Reading ------------------------------------------------------------------------------------------------------------ */

static assay_status kind_unknown(assay_env *env, const char *text, size_t length)
{
    char names[128] = "";
    for (size_t i = 0; as_optimizer_names[i]; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", as_optimizer_names[i]);
    return as_fail(env, ASSAY_BAD_INPUT, "optimizer: unknown optimiser \"%.*s\"; known: %s", (int)length, text, names);
}

static assay_status key_unknown(assay_env *env, const kind *k, const char *text, size_t length)
{
    char names[160] = "";
    for (int i = 0; i < n_keys(k); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "", k->keys[i].name);
    return as_fail(env, ASSAY_BAD_INPUT, "optimizer: %s has no key \"%.*s\"; known: %s", k->name, (int)length, text, names);
}

/* "KEY=VALUE" up to the next comma; *text moves past it. */
typedef struct pair {
    const char *key;
    size_t      key_length;
    char        value[64];
} pair;

static assay_status pair_next(assay_env *env, const char *what, const char **text, pair *out)
{
    size_t      length = strcspn(*text, ",");
    const char *equals = memchr(*text, '=', length);
    if (!equals || equals == *text)
        return as_fail(env, ASSAY_BAD_INPUT, "%s: \"%.*s\" is not KEY=VALUE", what, (int)length, *text);
    out->key = *text;
    out->key_length = (size_t)(equals - *text);
    size_t size = length - out->key_length - 1;
    if (size >= sizeof out->value)
        return as_fail(env, ASSAY_BAD_INPUT, "%s: the value of \"%.*s\" is too long", what, (int)out->key_length, out->key);
    memcpy(out->value, equals + 1, size);
    out->value[size] = 0;
    *text += length;
    *text += **text == ',';
    return ASSAY_OK;
}

static assay_status value_read(assay_env *env, const kind *k, const key *to, const char *text, double *out)
{
    bool yes;
    if (to->kind == KEY_FLAG) {
        if (!as_parse_bool(text, &yes))
            return as_fail(env, ASSAY_BAD_INPUT, "optimizer: %s:%s=%s: it must be 0 or 1", k->name, to->name, text);
        *out = yes;
        return ASSAY_OK;
    }
    if (!as_parse_f64(text, out))
        return as_fail(env, ASSAY_BAD_INPUT, "optimizer: %s:%s=%s: it is not a number", k->name, to->name, text);
    if (*out < 0.0 || (to->below > 0.0 && *out >= to->below))
        return as_fail(env, ASSAY_BAD_INPUT, "optimizer: %s:%s=%s: it must be at least 0%s", k->name, to->name, text,
                       to->below > 0.0 ? " and below 1" : "");
    bool whole = to->kind == KEY_LBFGS && strncmp(to->name, "tolerance", 9);
    if (whole && (*out != floor(*out) || *out < 1.0 || *out > 1e6))
        return as_fail(env, ASSAY_BAD_INPUT, "optimizer: %s:%s=%s: it must be a whole number from 1 to 1000000", k->name, to->name,
                       text);
    return ASSAY_OK;
}

static assay_status pairs_read(assay_env *env, const kind *k, const char *text, double *values)
{
    bool given[AS_COUNT(k->keys)] = {false};
    while (*text) {
        pair p;
        int  i = 0;
        AS_TRY(pair_next(env, "optimizer", &text, &p));
        while (i < n_keys(k) && (strlen(k->keys[i].name) != p.key_length || memcmp(k->keys[i].name, p.key, p.key_length)))
            i++;
        if (i == n_keys(k))
            return key_unknown(env, k, p.key, p.key_length);
        if (given[i])
            return as_fail(env, ASSAY_BAD_INPUT, "optimizer: %s:%s is given twice", k->name, k->keys[i].name);
        given[i] = true;
        AS_TRY(value_read(env, k, &k->keys[i], p.value, &values[i]));
    }
    return ASSAY_OK;
}

/* --- What it needs -------------------------------------------------------------------------------------------------------- */

static void state_add(as_optimizer *o, const char *name, as_dtype dtype, double initial)
{
    o->states[o->n_states++] = (as_optimizer_state){name, dtype, initial};
    o->bytes_per_parameter += dtype == AS_F32 ? sizeof(float) : 0;
}

static double attr_value(const as_optimizer *o, const char *name)
{
    for (int i = 0; i < o->n_attrs; i++)
        if (!strcmp(o->attrs[i].name, name))
            return o->attrs[i].kind == AS_ATTR_INT ? (double)o->attrs[i].i : o->attrs[i].f;
    return 0.0;
}

/* In the order of the operator's inputs; the names are those of PyTorch's state. */
static void states_add(as_optimizer *o, double initial)
{
    if (!strcmp(o->op, "assay.Sgd")) {
        if (attr_value(o, "momentum") != 0.0)
            state_add(o, "momentum_buffer", AS_F32, 0.0);
    } else if (!strcmp(o->op, "assay.RmsProp")) {
        state_add(o, "square_avg", AS_F32, 0.0);
        if (attr_value(o, "centered") != 0.0)
            state_add(o, "grad_avg", AS_F32, 0.0);
        if (attr_value(o, "momentum") != 0.0)
            state_add(o, "momentum_buffer", AS_F32, 0.0);
    } else if (!strcmp(o->op, "assay.AdaGrad")) {
        state_add(o, "sum", AS_F32, initial);
    } else if (!strcmp(o->op, "assay.AdaDelta")) {
        state_add(o, "square_avg", AS_F32, 0.0);
        state_add(o, "acc_delta", AS_F32, 0.0);
    } else {
        state_add(o, "exp_avg", AS_F32, 0.0);
        state_add(o, "exp_avg_sq", AS_F32, 0.0);
        if (!strcmp(o->op, "assay.Nadam"))
            state_add(o, "mu_product", AS_F64, 1.0);
    }
}

static double lbfgs_value(const kind *k, const double *values, const char *name)
{
    for (int i = 0; i < n_keys(k); i++)
        if (!strcmp(k->keys[i].name, name))
            return values[i];
    return 0.0;
}

static void lbfgs_set(const kind *k, const double *values, as_optimizer *o)
{
    int most = (int)lbfgs_value(k, values, "max_eval");
    o->lbfgs = (as_lbfgs_options){.rate = o->rate,
                                  .max_iterations = (int)lbfgs_value(k, values, "max_iter"),
                                  .tolerance_grad = lbfgs_value(k, values, "tolerance_grad"),
                                  .tolerance_change = lbfgs_value(k, values, "tolerance_change"),
                                  .history = (int)lbfgs_value(k, values, "history")};
    o->lbfgs.max_evaluations = most ? most : o->lbfgs.max_iterations * 5 / 4;
    o->bytes_per_parameter = as_lbfgs_bytes_per_parameter(&o->lbfgs);
}

assay_status as_optimizer_parse(assay_env *env, const char *text, as_optimizer *out)
{
    size_t length = strcspn(text, ":");
    size_t at = 0;
    while (at < AS_COUNT(kinds) && (strlen(kinds[at].name) != length || memcmp(kinds[at].name, text, length)))
        at++;
    if (at == AS_COUNT(kinds))
        return kind_unknown(env, text, length);
    const kind  *k = &kinds[at];
    double       values[AS_COUNT(k->keys)], initial = 0.0;
    as_optimizer o = {.name = k->name, .op = k->op};
    for (int i = 0; i < n_keys(k); i++)
        values[i] = k->keys[i].otherwise;
    AS_TRY(pairs_read(env, k, text + length + (text[length] == ':'), values));
    for (int i = 0; i < n_keys(k); i++) {
        const key *to = &k->keys[i];
        switch (to->kind) {
        case KEY_RATE: o.rate = values[i]; break;
        case KEY_DECAY: o.decay = values[i]; break;
        case KEY_INITIAL: initial = values[i]; break;
        case KEY_FLAG: o.attrs[o.n_attrs++] = (as_attr)AS_ATTR_I(to->attr, values[i] != 0.0); break;
        case KEY_ATTR: o.attrs[o.n_attrs++] = (as_attr)AS_ATTR_F(to->attr, values[i]); break;
        case KEY_LBFGS: break;
        }
    }
    if (!strcmp(k->name, "adamw"))
        o.attrs[o.n_attrs++] = (as_attr)AS_ATTR_I("decoupled", 1);
    if (attr_value(&o, "nesterov") != 0.0 && (attr_value(&o, "momentum") == 0.0 || attr_value(&o, "dampening") != 0.0))
        return as_fail(env, ASSAY_BAD_INPUT, "optimizer: sgd:nesterov=1 needs a momentum and no dampening");
    if (k->op)
        states_add(&o, initial);
    else
        lbfgs_set(k, values, &o);
    *out = o;
    return ASSAY_OK;
}

const char *as_optimizer_show(const as_optimizer *o, char *buf, size_t size)
{
    as_text t = {0};
    as_text_printf(&t, "%s:lr=%.9g", o->name, o->rate);
    if (o->op)
        as_text_printf(&t, ",decay=%.9g", o->decay);
    else
        as_text_printf(&t, ",max_iter=%d,max_eval=%d,tolerance_grad=%.9g,tolerance_change=%.9g,history=%d", o->lbfgs.max_iterations,
                       o->lbfgs.max_evaluations, o->lbfgs.tolerance_grad, o->lbfgs.tolerance_change, o->lbfgs.history);
    for (size_t k = 0; k < AS_COUNT(kinds); k++)
        for (int i = 0; !strcmp(kinds[k].name, o->name) && i < n_keys(&kinds[k]); i++) {
            const key *from = &kinds[k].keys[i];
            if (from->kind == KEY_ATTR || from->kind == KEY_FLAG)
                as_text_printf(&t, ",%s=%.9g", from->name, attr_value(o, from->attr));
            else if (from->kind == KEY_INITIAL)
                as_text_printf(&t, ",%s=%.9g", from->name, o->states[0].initial);
        }
    snprintf(buf, size, "%s", t.data ? t.data : o->name);
    as_text_drop(&t);
    return buf;
}

int as_optimizer_node(const as_optimizer *o, double clip_norm, double clip_value, const int64_t *starts, int n_starts,
                      as_attr out[AS_OPTIMIZER_ATTRS])
{
    int n = o->n_attrs;
    memcpy(out, o->attrs, (size_t)n * sizeof *out);
    if (clip_norm > 0.0)
        out[n++] = (as_attr)AS_ATTR_F("clip_norm", clip_norm);
    if (clip_value > 0.0)
        out[n++] = (as_attr)AS_ATTR_F("clip_value", clip_value);
    if (n_starts > 1)
        out[n++] = (as_attr){.name = "starts", .kind = AS_ATTR_INTS, .ints = starts, .n = (size_t)n_starts};
    return n;
}

/* --- Groups ------------------------------------------------------------------------------------------------------------ */

static assay_status group_pair(assay_env *env, const char *whole, const pair *p, as_group *g)
{
    size_t length = strlen(p->value);
    char   number[sizeof p->value];
    double value;
    bool   rate = p->key_length == 2 && !memcmp(p->key, "lr", 2), decay = p->key_length == 5 && !memcmp(p->key, "decay", 5);
    if (!rate && !decay)
        return as_fail(env, ASSAY_BAD_INPUT, "group: \"%s\" has the key \"%.*s\"; known: lr, decay", whole, (int)p->key_length,
                       p->key);
    if (rate ? g->has_rate : g->has_decay)
        return as_fail(env, ASSAY_BAD_INPUT, "group: \"%s\" gives %s twice", whole, rate ? "lr" : "decay");
    memcpy(number, p->value, length + 1);
    bool factor = rate && length && number[length - 1] == 'x';
    if (factor)
        number[length - 1] = 0;
    if (!as_parse_f64(number, &value) || value < 0.0)
        return as_fail(env, ASSAY_BAD_INPUT, "group: \"%s\": %s is \"%s\" and must be a number of at least 0%s", whole,
                       rate ? "lr" : "decay", p->value, rate ? ", or a factor such as 0.1x" : "");
    if (rate) {
        g->has_rate = true;
        g->is_factor = factor;
        g->rate = value;
    } else {
        g->has_decay = true;
        g->decay = value;
    }
    return ASSAY_OK;
}

/* The last colon: names of parameters may have some, as "onnx::MatMul_189". */
assay_status as_group_parse(assay_env *env, const char *text, as_group *out)
{
    const char *colon = strrchr(text, ':'), *rest;
    as_group    g = {.has_rate = false};
    if (!colon || colon == text || !colon[1])
        return as_fail(env, ASSAY_BAD_INPUT, "group: \"%s\" is not PATTERN:lr=...,decay=...", text);
    if ((size_t)(colon - text) >= sizeof g.pattern)
        return as_fail(env, ASSAY_BAD_INPUT, "group: the pattern of \"%.40s...\" is longer than %zu characters", text,
                       sizeof g.pattern - 1);
    memcpy(g.pattern, text, (size_t)(colon - text));
    for (rest = colon + 1; *rest;) {
        pair p;
        AS_TRY(pair_next(env, "group", &rest, &p));
        AS_TRY(group_pair(env, text, &p, &g));
    }
    *out = g;
    return ASSAY_OK;
}

/* The last star is the only one that has to try again. */
bool as_name_fits(const char *pattern, const char *parameter)
{
    const char *p = pattern, *s = parameter, *star = NULL, *from = NULL;
    while (*s) {
        if (*p == '*') {
            star = p++;
            from = s;
        } else if (*p == '?' || *p == *s) {
            p++;
            s++;
        } else if (star) {
            p = star + 1;
            s = ++from;
        } else {
            return false;
        }
    }
    while (*p == '*')
        p++;
    return !*p;
}

bool as_group_fits(const as_group *g, const char *parameter) { return as_name_fits(g->pattern, parameter); }

double as_group_factor(const as_optimizer *o, const as_group *g)
{
    if (!g || !g->has_rate)
        return 1.0;
    return g->is_factor ? g->rate : o->rate > 0.0 ? g->rate / o->rate : 0.0;
}

double as_group_decay(const as_optimizer *o, const as_group *g) { return g && g->has_decay ? g->decay : o->decay; }
