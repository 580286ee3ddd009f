/* ex_c.c - a liquid network as self-contained C99 source, for microcontrollers and wherever no library is wanted.
 *
 * Four files: NAME.h, NAME.c, NAME_golden.h (a sequence and its outputs) and main_check.c (compares them). */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "export/c_net.h"
#include "export/export.h"

enum { N_FILES = 4, MAX_NAME = 40 };
#define TOLERANCE 2e-5f /* of |output - golden| / (1 + |golden|): single against double precision over the golden steps */

/* --- Names -------------------------------------------------------------------------------------------- */

static assay_status name_check(assay_env *env, const char *name)
{
    static const char *const taken[] = {"main",  "main_check", "int",     "float", "long",   "void",   "if",
                                        "for",   "return",     "static",  "const", "struct", "double", "char",
                                        "short", "unsigned",   "signed",  "do",    "while",  "else",   "switch",
                                        "case",  "break",      "default", "goto"};
    size_t                   n = strlen(name);
    bool                     ok = n && n <= MAX_NAME && (isalpha((unsigned char)name[0]));
    for (size_t i = 0; i < n; i++)
        ok = ok && (isalnum((unsigned char)name[i]) || name[i] == '_');
    for (size_t i = 0; i < AS_COUNT(taken); i++)
        ok = ok && strcmp(name, taken[i]);
    return ok ? ASSAY_OK
              : as_fail(
                    env, ASSAY_BAD_INPUT,
                    "export: --name %s: it names C functions and files, so it must be a letter and up to %d letters, digits and _, and no word of C",
                    name, MAX_NAME - 1);
}

/* The model's name, with characters that C does not allow replaced by _. */
static void name_make(const char *model, char *out, size_t size)
{
    size_t n = 0;
    if (!isalpha((unsigned char)model[0]))
        n = (size_t)snprintf(out, size, "net_");
    for (; *model && n < MAX_NAME && n + 1 < size; model++)
        out[n++] = isalnum((unsigned char)*model) ? *model : '_';
    out[n] = '\0';
}

static void upper(const char *name, char *out)
{
    for (; *name; name++)
        *out++ = (char)toupper((unsigned char)*name);
    *out = '\0';
}

/* A text inside a comment must not end it. */
static void comment_text(FILE *f, const char *text)
{
    for (; *text; text++)
        fputc(*text == '*' || !isprint((unsigned char)*text) ? '_' : *text, f);
}

/* --- Files --------------------------------------------------------------------------------------------- */

static void header_write(FILE *f, const as_c_net *net)
{
    char big[MAX_NAME + 1];
    upper(net->name, big);
    fprintf(f, "/* %s.h - ", net->name);
    comment_text(f, net->source);
    fprintf(
        f,
        "\n * Written by assay %s.  Reset a state, then give step() one sample after the other; timespan is the time since the one\n"
        " * before (1 where time does not matter).  Nothing is allocated and nothing is global: as many states as you like. */\n",
        ASSAY_VERSION);
    fprintf(f, "#ifndef %s_H\n#define %s_H\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", big, big);
    fprintf(f, "#define %s_INPUTS %lld\n#define %s_OUTPUTS %lld\n#define %s_UNITS %lld\n\n", big, (long long)net->n_in, big,
            (long long)net->n_out, big, (long long)net->n_units);
    fprintf(f, "typedef struct %s_state {\n    float h[%lld]; /* what the network remembers%s */\n", net->name,
            (long long)net->n_units, net->has_memory ? ", with c" : "");
    if (net->has_memory)
        fprintf(f, "    float c[%lld];\n", (long long)net->n_units);
    if (net->is_ltc)
        as_c_ltc_members(f, net);
    else
        as_c_cfc_members(f, net);
    fprintf(f,
            "} %s_state;\n\nvoid %s_reset(%s_state *s);\n/* x has %lld numbers, y gets %lld. */\n"
            "void %s_step(%s_state *s, const float *x, float timespan, float *y);\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
            net->name, net->name, net->name, (long long)net->n_in, (long long)net->n_out, net->name, net->name);
}

static bool source_write(FILE *f, const as_c_net *net)
{
    bool ok = true;
    fprintf(f, "/* %s.c - ", net->name);
    comment_text(f, net->source);
    fprintf(f, "\n * Written by assay %s.  C99%s. */\n#include \"%s.h\"\n", ASSAY_VERSION,
            net->libm ? ", with libm" : ", no library at all", net->name);
    if (net->is_ltc)
        ok = as_c_ltc(f, net);
    else
        as_c_cfc(f, net);
    fprintf(f, "\nvoid %s_reset(%s_state *s)\n{\n    int i;\n    for (i = 0; i < %lld; i++)\n        s->h[i] = 0.0f;\n", net->name,
            net->name, (long long)net->n_units);
    if (net->has_memory)
        fprintf(f, "    for (i = 0; i < %lld; i++)\n        s->c[i] = 0.0f;\n", (long long)net->n_units);
    fprintf(f, "}\n");
    return ok;
}

static void golden_write(FILE *f, const as_c_net *net)
{
    fprintf(
        f,
        "/* %s_golden.h - %d samples, their time spans, the answers and the last state, computed by assay %s in double precision. */\n",
        net->name, AS_C_STEPS, ASSAY_VERSION);
    as_c_floats(f, "golden_x", net->x, AS_C_STEPS * net->n_in);
    as_c_floats(f, "golden_timespan", net->timespans, AS_C_STEPS);
    as_c_floats(f, "golden_y", net->y, AS_C_STEPS * net->n_out);
    as_c_floats(f, "golden_h", net->h, net->n_units);
}

static void check_write(FILE *f, const as_c_net *net)
{
    fprintf(
        f,
        "/* main_check.c - the network against its golden vectors: returns 0 when all answers are right, else 1.\n"
        " *     cc -std=c99 main_check.c %s.c%s && ./a.out */\n#include <stdio.h>\n\n#include \"%s.h\"\n#include \"%s_golden.h\"\n\n",
        net->name, net->libm ? " -lm" : "", net->name, net->name);
    fprintf(f, "static %s_state state;\nstatic float       worst;\n\n", net->name);
    fprintf(
        f,
        "/* Not a number counts as wrong. */\nstatic int wrong(float got, float want)\n{\n    float size = want < 0.0f ? -want : want;\n"
        "    float error = got < want ? want - got : got - want;\n    error /= 1.0f + size;\n    if (error > worst)\n        worst = error;\n"
        "    return !(error <= %s);\n}\n\n",
        as_c_number((char[48]){0}, TOLERANCE));
    fprintf(f,
            "int main(void)\n{\n    float y[%lld];\n    int   t, i, n = 0;\n    %s_reset(&state);\n    for (t = 0; t < %d; t++) {\n"
            "        %s_step(&state, golden_x + t * %lld, golden_timespan[t], y);\n        for (i = 0; i < %lld; i++)\n"
            "            n += wrong(y[i], golden_y[t * %lld + i]);\n    }\n",
            (long long)net->n_out, net->name, AS_C_STEPS, net->name, (long long)net->n_in, (long long)net->n_out,
            (long long)net->n_out);
    fprintf(f, "    for (i = 0; i < %lld; i++)\n        n += wrong(state.h[i], golden_h[i]);\n", (long long)net->n_units);
    fprintf(
        f,
        "    printf(\"%s: %%d of %lld numbers wrong, the largest error is %%g\\n\", n, (double)worst);\n    return n ? 1 : 0;\n}\n",
        net->name, (long long)(AS_C_STEPS * net->n_out + net->n_units));
}

/* --- All or nothing -------------------------------------------------------------------------------------- */

static assay_status files_write(assay_env *env, const as_c_net *net, const char *dir)
{
    as_out       out[N_FILES];
    int          n_open = 0, n_done = 0;
    assay_status status = ASSAY_OK;
    for (; n_open < N_FILES && status == ASSAY_OK; n_open += status == ASSAY_OK) {
        static const char *const ends[N_FILES] = {".h", ".c", "_golden.h", NULL};
        char                     path[4096];
        int                      n = ends[n_open] ? snprintf(path, sizeof path, "%s/%s%s", dir, net->name, ends[n_open])
                                                  : snprintf(path, sizeof path, "%s/main_check.c", dir);
        status = n < (int)sizeof path
                     ? as_out_open(env, path, &out[n_open])
                     : as_fail(env, ASSAY_BAD_INPUT, "export: --c: the name of the directory has %zu bytes, which is too long",
                               strlen(dir));
    }
    if (status == ASSAY_OK) {
        header_write(out[0].file, net);
        if (!source_write(out[1].file, net))
            status = as_fail(env, ASSAY_NO_MEMORY, "export: --c: not enough memory to sort the synapses");
        golden_write(out[2].file, net);
        check_write(out[3].file, net);
    }
    /* A full disk shows here, before the first file gets its name. */
    for (int i = 0; i < N_FILES && status == ASSAY_OK; i++)
        if (fflush(out[i].file) || ferror(out[i].file))
            status = as_out_commit(env, &out[i]);
    for (; n_done < N_FILES && status == ASSAY_OK; n_done += status == ASSAY_OK)
        status = as_out_commit(env, &out[n_done]);
    if (status != ASSAY_OK) {
        for (int i = 0; i < n_done; i++)
            unlink(out[i].path); /* half of a network is worse than none */
        for (int i = n_done; i < n_open; i++)
            as_out_abandon(&out[i]);
    }
    return status;
}

static assay_status save(assay_env *env, const assay_model *model, const as_export_options *options, const char *dir)
{
    as_c_net    net = {.libm = options->libm};
    const char *given = options->name;
    char        made[MAX_NAME + 8];
    bool        new_dir = false;
    name_make(model->own_name, made, sizeof made);
    net.name = given ? given : made;
    assay_status status = name_check(env, net.name);
    if (status == ASSAY_OK)
        status = as_c_net_read(env, model, options->seed, &net);
    if (status == ASSAY_OK && !(new_dir = !mkdir(dir, 0777)) && errno != EEXIST)
        status = as_fail(env, ASSAY_IO, "export: --c %s: cannot make the directory: %s", dir, strerror(errno));
    if (status == ASSAY_OK)
        status = files_write(env, &net, dir);
    if (status != ASSAY_OK && new_dir)
        rmdir(dir);
    as_c_net_drop(&net);
    return status;
}

const as_exporter as_ex_c = {.key = "c", .help = "C99 source, header, golden vectors and a self-check", .save = save};
