/* c_cfc.c - the step of a CfC in C. */
#include "export/c_net.h"

static int64_t widest(const as_cfc *c, bool backbone)
{
    int64_t most = 1;
    for (int l = 0; backbone && l < c->n_backbone; l++)
        most = c->width[l] > most ? c->width[l] : most;
    for (int l = 0; !backbone && l < c->n_cells; l++)
        most = c->cell[l].n_in + c->cell[l].n_hidden > most ? c->cell[l].n_in + c->cell[l].n_hidden : most;
    return most;
}

static int64_t largest(const as_cfc *c)
{
    int64_t most = 1;
    for (int l = 0; l < c->n_cells; l++)
        most = c->cell[l].n_hidden > most ? c->cell[l].n_hidden : most;
    return most;
}

void as_c_cfc_members(FILE *f, const as_c_net *net)
{
    const as_cfc *c = &net->cfc;
    fprintf(f, "    float z[%lld]; /* from here on: room for a step's work */\n", (long long)widest(c, false));
    if (c->n_backbone)
        fprintf(f, "    float layer[2][%lld];\n", (long long)widest(c, true));
    fprintf(f, "    float heads[%lld];\n", (long long)(c->mode == AS_CFC_PURE ? largest(c) : 4 * largest(c)));
    if (net->has_memory)
        fprintf(f, "    float gates[%lld];\n", (long long)(4 * net->n_units));
}

static const char *act_text(as_cfc_act act)
{
    switch (act) {
    case AS_CFC_LECUN_TANH: return "1.7159f * TANH(0.666f * v)";
    case AS_CFC_TANH: return "TANH(v)";
    case AS_CFC_RELU: return "v > 0.0f ? v : v != v ? v : 0.0f";
    case AS_CFC_SILU: return "v * sigmoid(v)";
    case AS_CFC_GELU: return "0.5f * v * (1.0f + ERF(v * 0.707106781f))";
    }
    return "v";
}

static void backbone(FILE *f, const as_c_net *net)
{
    const as_cfc *c = &net->cfc;
    for (int k = 0; k < c->n_backbone; k++) {
        char to[24], from[24] = "s->z";
        snprintf(to, sizeof to, "s->layer[%d]", k % 2);
        if (k)
            snprintf(from, sizeof from, "s->layer[%d]", (k + 1) % 2);
        as_c_linear_call(f, &net->backbone[k], to, from);
        if (as_cfc_acts_after(c, k))
            fprintf(f, "    for (i = 0; i < %lld; i++) {\n        float v = %s[i];\n        %s[i] = %s;\n    }\n",
                    (long long)c->width[k], to, to, act_text(c->act));
    }
}

static void cell(FILE *f, const as_c_net *net, int l)
{
    const as_cfc      *c = &net->cfc;
    const as_cfc_cell *cell = &c->cell[l];
    long long          n = cell->n_hidden, at = cell->at, n_in = cell->n_in;
    char               z[24] = "s->z", from[32] = "x[i]";
    bool               is_torch = c->semantics == AS_CFC_TORCH;
    if (l)
        snprintf(from, sizeof from, "s->h[%lld + i]", (long long)c->cell[l - 1].at);
    if (c->n_cells > 1)
        fprintf(f, "    /* layer %d of the wiring */\n", l);
    fprintf(
        f,
        "    for (i = 0; i < %lld; i++)\n        s->z[i] = %s;\n    for (i = 0; i < %lld; i++)\n        s->z[%lld + i] = s->h[%lld + i];\n",
        n_in, from, n, n_in, at);
    backbone(f, net);
    if (c->n_backbone)
        snprintf(z, sizeof z, "s->layer[%d]", (c->n_backbone + 1) % 2);
    for (int k = 0; k < (c->mode == AS_CFC_PURE ? 1 : 4); k++) {
        char to[48];
        snprintf(to, sizeof to, k ? "s->heads + %lld" : "s->heads", k * n);
        as_c_linear_call(f, &net->head[l][k], to, z);
    }
    fprintf(f, "    for (i = 0; i < %lld; i++) {\n", n);
    if (c->mode == AS_CFC_PURE) {
        fprintf(f, "        float v = s->heads[i], speed = (v < 0.0f ? -v : v) + layer_%d_w_tau[i];\n", l);
        fprintf(f, "        s->h[%lld + i] = layer_%d_a[i] - layer_%d_a[i] * EXP(-timespan * speed) * v;\n    }\n", at, l, l);
        return;
    }
    const char *head = is_torch ? "TANH" : "";
    fprintf(f, "        float a = %s(s->heads[i]), b = %s(s->heads[%lld + i]);\n", head, head, n);
    fprintf(f, "        float gate = sigmoid(%ss->heads[%lld + i] * timespan + s->heads[%lld + i]);\n", is_torch ? "" : "-", 2 * n,
            3 * n);
    fprintf(f, "        s->h[%lld + i] = %s;\n    }\n", at,
            c->mode == AS_CFC_NO_GATE ? "a + gate * b" : "a * (1.0f - gate) + gate * b");
}

static void tables(FILE *f, const as_c_net *net)
{
    const as_cfc *c = &net->cfc;
    for (int k = 0; k < c->n_backbone; k++)
        as_c_linear_tables(f, &net->backbone[k]);
    for (int l = 0; l < c->n_cells; l++) {
        for (int k = 0; k < (c->mode == AS_CFC_PURE ? 1 : 4); k++)
            as_c_linear_tables(f, &net->head[l][k]);
        if (c->mode == AS_CFC_PURE) {
            char name[48];
            fprintf(f, "\n/* |w_tau| and A of layer %d */\n", l);
            snprintf(name, sizeof name, "layer_%d_w_tau", l);
            as_c_floats(f, name, net->w_tau[l], c->cell[l].n_hidden);
            snprintf(name, sizeof name, "layer_%d_a", l);
            as_c_floats(f, name, net->a[l], c->cell[l].n_hidden);
        }
    }
    if (net->has_fc)
        as_c_linear_tables(f, &net->fc);
}

void as_c_cfc(FILE *f, const as_c_net *net)
{
    const as_cfc      *c = &net->cfc;
    const as_cfc_cell *last = &c->cell[c->n_cells - 1];
    bool               acts = false, gated = c->mode != AS_CFC_PURE;
    for (int k = 0; k < c->n_backbone; k++)
        acts |= as_cfc_acts_after(c, k);
    as_c_uses uses = {
        .exp = !gated,
        .sigmoid = gated || net->has_memory || (acts && c->act == AS_CFC_SILU),
        .erf = acts && c->act == AS_CFC_GELU,
        .tanh = (gated && c->semantics == AS_CFC_TORCH) || net->has_memory ||
                (acts && (c->act == AS_CFC_LECUN_TANH || c->act == AS_CFC_TANH)),
    };
    as_c_math(f, net, &uses);
    as_c_functions(f, net);
    as_c_memory(f, net);
    tables(f, net);
    fprintf(f, "\nvoid %s_step(%s_state *s, const float *x, float timespan, float *y)\n{\n    int i;\n", net->name, net->name);
    if (net->has_memory)
        fprintf(f, "    memory(s, x);\n");
    for (int l = 0; l < c->n_cells; l++)
        cell(f, net, l);
    char from[32];
    snprintf(from, sizeof from, "s->h + %lld", (long long)last->at);
    if (net->has_fc)
        as_c_linear_call(f, &net->fc, "y", from);
    else
        fprintf(f, "    for (i = 0; i < %lld; i++)\n        y[i] = s->h[%lld + i];\n", (long long)net->n_out, (long long)last->at);
    fprintf(f, "}\n");
}
