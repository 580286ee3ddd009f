/* c_text.c - tables of numbers in C, and the functions that all networks use. */
#include <string.h>

#include "export/c_net.h"

enum { A_LINE = 8 };

const char *as_c_number(char *buf, float value)
{
    int n = snprintf(buf, 44, "%.9g", (double)value);
    snprintf(buf + n, (size_t)(48 - n), "%sf", strpbrk(buf, ".e") ? "" : ".0");
    return buf;
}

void as_c_floats(FILE *f, const char *name, const float *values, int64_t n)
{
    fprintf(f, "static const float %s[%lld] = {", name, (long long)(n ? n : 1));
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%s%s%s", i % A_LINE ? " " : "\n    ", as_c_number((char[48]){0}, values[i]), i + 1 < n ? "," : "");
    fprintf(f, "%s\n};\n", n ? "" : " 0.0f");
}

/* The smallest standard type that holds them all. */
static const char *index_type(const int64_t *values, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most = values[i] > most ? values[i] : most;
    return most < 65536 ? "unsigned short" : "unsigned long";
}

void as_c_indices(FILE *f, const char *name, const int64_t *values, int64_t n)
{
    fprintf(f, "static const %s %s[%lld] = {", index_type(values, n), name, (long long)(n ? n : 1));
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%s%lld%s", i % (2 * A_LINE) ? " " : "\n    ", (long long)values[i], i + 1 < n ? "," : "");
    fprintf(f, "%s\n};\n", n ? "" : " 0");
}

/* --- Linear layers ------------------------------------------------------------------------------------ */

static bool is_sparse(const as_c_linear *l) { return l->from != NULL; }

void as_c_linear_tables(FILE *f, const as_c_linear *l)
{
    char name[64];
    fprintf(f, "\n/* %s: [%lld][%lld]", l->name, (long long)l->rows, (long long)l->cols);
    fprintf(f, is_sparse(l) ? ", %lld synapses: row r has those from start[r] to start[r + 1] */\n" : " */\n", (long long)l->n);
    snprintf(name, sizeof name, "%s_w", l->name);
    as_c_floats(f, name, l->w, l->n);
    if (l->b) {
        snprintf(name, sizeof name, "%s_b", l->name);
        as_c_floats(f, name, l->b, l->rows);
    }
    if (is_sparse(l)) {
        snprintf(name, sizeof name, "%s_from", l->name);
        as_c_indices(f, name, l->from, l->n);
        snprintf(name, sizeof name, "%s_start", l->name);
        as_c_indices(f, name, l->start, l->rows + 1);
    }
}

/* A sparse layer is a loop at its call site, because its index types are its own.  A layer without a bias adds to the contents of
 * y. */
void as_c_linear_call(FILE *f, const as_c_linear *l, const char *y, const char *x)
{
    if (!is_sparse(l)) {
        char bias[64];
        snprintf(bias, sizeof bias, "%s_b", l->name);
        fprintf(f, "    dense(%s, %s_w, %s, %lld, %lld, %s);\n", y, l->name, l->b ? bias : "0", (long long)l->rows,
                (long long)l->cols, x);
        return;
    }
    fprintf(f, "    for (i = 0; i < %lld; i++) {\n        float sum = %s_b[i];\n        unsigned long k;\n", (long long)l->rows,
            l->name);
    fprintf(
        f,
        "        for (k = %s_start[i]; k < %s_start[i + 1]; k++)\n            sum += %s_w[k] * (%s)[%s_from[k]];\n        (%s)[i] = sum;\n    }\n",
        l->name, l->name, l->name, x, l->name, y);
}

/* --- Functions ----------------------------------------------------------------------------------------- */

static bool needs_dense(const as_c_net *net)
{
    if (net->has_memory || net->has_fc)
        return true;
    if (net->is_ltc)
        return false;
    if (net->cfc.n_backbone || net->cfc.mode != AS_CFC_PURE)
        return true; /* the time heads have no mask */
    for (int l = 0; l < net->cfc.n_cells; l++)
        if (!is_sparse(&net->head[l][0]))
            return true;
    return false;
}

void as_c_functions(FILE *f, const as_c_net *net)
{
    if (needs_dense(net))
        fprintf(f,
                "\n/* y = W x + b, or y += W x where b is null; W row after row. */\n"
                "static void dense(float *y, const float *w, const float *b, long rows, long cols, const float *x)\n{\n"
                "    long r, k;\n    for (r = 0; r < rows; r++) {\n        float sum = b ? b[r] : y[r];\n"
                "        for (k = 0; k < cols; k++)\n            sum += w[r * cols + k] * x[k];\n        y[r] = sum;\n    }\n}\n");
}

/* The polynomials are minimax fits for these ranges; tests/cli/export_c_test.sh checks the errors stated here. */
void as_c_math(FILE *f, const as_c_net *net, const as_c_uses *uses)
{
    if (net->libm) {
        fprintf(f, "\n#include <math.h>\n\n");
        if (uses->exp || uses->sigmoid)
            fprintf(f, "#define EXP expf\n");
        if (uses->tanh)
            fprintf(f, "#define TANH tanhf\n");
        if (uses->erf)
            fprintf(f, "#define ERF erff\n");
    } else {
        fprintf(f, "\n#include <stdint.h>\n");
        if (uses->exp || uses->sigmoid || uses->tanh || uses->erf)
            fprintf(
                f,
                "\n/* exp: relative error below 3e-7 from -87 to 88; 0 below, exp(88) above. */\n"
                "static float EXP(float x)\n{\n    union { float f; uint32_t u; } two;\n    int32_t k;\n    float n, r;\n"
                "    if (!(x > -87.0f))\n        return x < 0.0f ? 0.0f : x;\n    if (x > 88.0f)\n        x = 88.0f;\n"
                "    k = (int32_t)(x * 1.44269504f + (x < 0.0f ? -0.5f : 0.5f));\n    n = (float)k;\n"
                "    r = x - n * 0.693359375f; /* ln 2 in two parts: this one times n is exact */\n    r += n * 2.12194440e-4f;\n"
                "    two.u = (uint32_t)(k + 127) << 23;\n"
                "    return two.f * (1.0f + (r + r * r * (0.50000001f + r * (0.166665129f + r * (0.0416661873f\n"
                "                   + r * (0.00836959886f + r * 0.00139517132f))))));\n}\n");
        if (uses->tanh)
            fprintf(
                f,
                "\n/* tanh: absolute error below 3e-7. */\nstatic float TANH(float x)\n{\n    float a = x < 0.0f ? -x : x, z = x * x, t;\n"
                "    if (a < 0.625f)\n        return x + x * z * (-0.333332839f + z * (0.133314912f + z * (-0.053743489f + z * (0.0206505608f\n"
                "                   + z * -0.00571701797f))));\n"
                "    t = 1.0f - 2.0f / (EXP(2.0f * a) + 1.0f);\n    return x < 0.0f ? -t : t;\n}\n");
        if (uses->erf)
            fprintf(
                f,
                "\n/* erf: absolute error below 5e-7. */\nstatic float ERF(float x)\n{\n    float a = x < 0.0f ? -x : x, z = x * x, t, e;\n"
                "    if (a < 1.0f)\n        return x * (1.12837917f + z * (-0.376126271f + z * (0.112836002f + z * (-0.0268544445f\n"
                "                    + z * (0.0051895351f + z * (-0.000802083911f + z * 7.88911227e-05f))))));\n"
                "    if (!(a < 4.0f))\n        return a != a ? x : x < 0.0f ? -1.0f : 1.0f;\n    t = 1.0f / (1.0f + 0.5f * a);\n"
                "    e = 1.0f - EXP(-z) * (-8.95037156e-05f + t * (0.284118389f + t * (0.263829988f + t * (0.335906631f\n"
                "        + t * (-0.0833028917f + t * (0.542665993f + t * (-0.459704742f + t * 0.116629087f)))))));\n"
                "    return x < 0.0f ? -e : e;\n}\n");
    }
    if (uses->sigmoid)
        fprintf(f, "\nstatic float sigmoid(float x) { return 1.0f / (1.0f + EXP(-x)); }\n");
}

/* --- The memory cell ------------------------------------------------------------------------------------- */

void as_c_memory(FILE *f, const as_c_net *net)
{
    int n = (int)net->n_units;
    if (!net->has_memory)
        return;
    as_c_linear_tables(f, &net->memory_in);
    as_c_linear_tables(f, &net->memory_rec);
    fprintf(
        f,
        "\n/* The LSTM cell before the network: h and c become the next ones. */\nstatic void memory(%s_state *s, const float *x)\n{\n    int i;\n",
        net->name);
    as_c_linear_call(f, &net->memory_in, "s->gates", "x");
    as_c_linear_call(f, &net->memory_rec, "s->gates", "s->h");
    fprintf(
        f,
        "    for (i = 0; i < %d; i++) {\n        s->c[i] = s->c[i] * sigmoid(s->gates[%d + i] + 1.0f) + TANH(s->gates[i]) * sigmoid(s->gates[%d + i]);\n"
        "        s->h[i] = TANH(s->c[i]) * sigmoid(s->gates[%d + i]);\n    }\n}\n",
        n, 2 * n, n, 3 * n);
}
