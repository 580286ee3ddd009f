/* c_ltc.c - the step of an LTC in C: synapses sorted by target; what does not change between steps is computed in advance. */
#include "export/c_net.h"

void as_c_ltc_members(FILE *f, const as_c_net *net)
{
    fprintf(f, "    float u[%lld]; /* from here on: room for a step's work */\n", (long long)net->n_in);
    fprintf(f, "    float next[%lld], sum[%lld], weight[%lld];\n", (long long)net->n_units, (long long)net->n_units,
            (long long)net->n_units);
    if (net->has_memory)
        fprintf(f, "    float gates[%lld];\n", (long long)(4 * net->n_units));
}

/* The synapses of a list, sorted by target; false: no memory. */
static bool synapses(FILE *f, const as_c_net *net, const char *prefix, const as_synapse *list, int64_t n, as_arena *arena)
{
    int64_t  units = net->n_units, k = 0;
    float   *numbers = AS_TAKE(arena, float, 4 * n);
    int64_t *from = AS_TAKE(arena, int64_t, n), *start = AS_TAKE(arena, int64_t, units + 1);
    char     name[48];
    if (!numbers || !from || !start)
        return false;
    for (int64_t j = 0; j < units; j++) {
        start[j] = k;
        for (int64_t i = 0; i < n; i++)
            if (list[i].to == j) {
                from[k] = list[i].from;
                numbers[k] = (float)list[i].sigma;
                numbers[n + k] = (float)list[i].mu;
                numbers[2 * n + k] = (float)list[i].w;
                numbers[3 * n + k] = (float)list[i].erev;
                k++;
            }
    }
    start[units] = k;
    fprintf(f, "\n/* %s synapses, %lld: unit j has those from start[j] to start[j + 1] */\n", prefix, (long long)n);
    snprintf(name, sizeof name, "%s_start", prefix);
    as_c_indices(f, name, start, units + 1);
    snprintf(name, sizeof name, "%s_from", prefix);
    as_c_indices(f, name, from, n);
    static const char *const parts[] = {"sigma", "mu", "w", "erev"};
    for (int p = 0; p < 4; p++) {
        snprintf(name, sizeof name, "%s_%s", prefix, parts[p]);
        as_c_floats(f, name, numbers + p * n, n);
    }
    return true;
}

/* A vector of the operator, after pos. */
static bool vector(FILE *f, const as_c_net *net, const char *name, int input, const double *factor, int64_t n, as_arena *arena)
{
    float *values = AS_TAKE(arena, float, n);
    for (int64_t i = 0; values && i < n; i++)
        values[i] = (float)(net->ltc.in[input][i] * (factor ? factor[i] : 1.0));
    if (values)
        as_c_floats(f, name, values, n);
    return values != NULL;
}

static void sums(FILE *f, const char *prefix, const char *source, const char *indent)
{
    fprintf(f, "%sfor (k = %s_start[j]; k < %s_start[j + 1]; k++) {\n", indent, prefix, prefix);
    fprintf(f, "%s    float a = %s_w[k] * sigmoid(%s_sigma[k] * (%s[%s_from[k]] - %s_mu[k]));\n", indent, prefix, prefix, source,
            prefix, prefix);
    fprintf(f, "%s    sum += a * %s_erev[k];\n%s    weight += a;\n%s}\n", indent, prefix, indent, indent);
}

static void output(FILE *f, const as_c_net *net)
{
    const as_ltc_net *l = &net->ltc;
    long long         motor = l->s.n_motor;
    const char       *to = net->has_fc ? "s->next" : "y";
    fprintf(f, "    for (j = 0; j < %lld; j++)\n        %s[j] = s->h[j]%s%s;\n", motor, to,
            l->in[AS_LTC_OUTPUT_W] ? " * output_w[j]" : "", l->in[AS_LTC_OUTPUT_B] ? " + output_b[j]" : "");
    if (!net->has_fc)
        return;
    if (!net->fc.b)
        fprintf(f, "    for (j = 0; j < %lld; j++)\n        y[j] = 0.0f;\n", (long long)net->n_out);
    as_c_linear_call(f, &net->fc, "y", "s->next");
}

bool as_c_ltc(FILE *f, const as_c_net *net)
{
    const as_ltc_net *l = &net->ltc;
    as_arena          arena = {0};
    long long         units = net->n_units;
    bool              ok = true;
    as_c_math(f, net, &(as_c_uses){.sigmoid = true, .tanh = net->has_memory});
    as_c_functions(f, net);
    as_c_memory(f, net);
    fprintf(f, "\n/* units: capacity, leak, leak times its potential */\n");
    ok = vector(f, net, "capacity", AS_LTC_CM, NULL, units, &arena) && vector(f, net, "leak", AS_LTC_GLEAK, NULL, units, &arena) &&
         vector(f, net, "leak_v", AS_LTC_GLEAK, l->in[AS_LTC_VLEAK], units, &arena);
    static const struct {
        int         input;
        const char *name;
        bool        of_input;
    } maps[] = {{AS_LTC_INPUT_W, "input_w", true},
                {AS_LTC_INPUT_B, "input_b", true},
                {AS_LTC_OUTPUT_W, "output_w", false},
                {AS_LTC_OUTPUT_B, "output_b", false}};
    for (size_t i = 0; i < AS_COUNT(maps) && ok; i++)
        if (l->in[maps[i].input])
            ok = vector(f, net, maps[i].name, maps[i].input, NULL, maps[i].of_input ? net->n_in : l->s.n_motor, &arena);
    ok = ok && synapses(f, net, "sensory", l->sensory, l->n_sensory, &arena) &&
         synapses(f, net, "inner", l->inner, l->n_inner, &arena);
    if (net->has_fc)
        as_c_linear_tables(f, &net->fc);
    as_arena_drop(&arena);
    if (!ok)
        return false;
    fprintf(f,
            "\nvoid %s_step(%s_state *s, const float *x, float timespan, float *y)\n{\n    const float dt = timespan / %lld.0f;\n"
            "    int i, j;\n    unsigned long k;\n",
            net->name, net->name, (long long)l->s.n_unfolds);
    if (net->has_memory)
        fprintf(f, "    memory(s, x);\n");
    fprintf(f, "    for (i = 0; i < %lld; i++)\n        s->u[i] = x[i]%s%s;\n", (long long)net->n_in,
            l->in[AS_LTC_INPUT_W] ? " * input_w[i]" : "", l->in[AS_LTC_INPUT_B] ? " + input_b[i]" : "");
    fprintf(f,
            "    /* what the senses and the leak say stays the same through all solver steps */\n    for (j = 0; j < %lld; j++) {\n"
            "        float sum = leak_v[j], weight = leak[j];\n",
            units);
    sums(f, "sensory", "s->u", "        ");
    fprintf(f, "        s->sum[j] = sum;\n        s->weight[j] = weight;\n    }\n");
    fprintf(
        f,
        "    for (i = 0; i < %lld; i++) {\n        for (j = 0; j < %lld; j++) {\n            float sum = s->sum[j], weight = s->weight[j];\n",
        (long long)l->s.n_unfolds, units);
    sums(f, "inner", "s->h", "            ");
    fprintf(f, "            s->next[j] = (capacity[j] * s->h[j] + dt * sum) / (capacity[j] + dt * (weight + %s));\n        }\n",
            as_c_number((char[48]){0}, (float)l->s.epsilon));
    fprintf(f, "        for (j = 0; j < %lld; j++)\n            s->h[j] = s->next[j];\n    }\n", units);
    output(f, net);
    fprintf(f, "}\n");
    return true;
}
