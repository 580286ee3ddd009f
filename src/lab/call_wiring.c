/* call_wiring.c - one wiring as text, JSON, DOT, picture or checksum, as a call. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/options.h"
#include "base/text.h"
#include "lab/wiring_picture.h"

enum { MAX_TABLE_UNITS = 16, MAX_TABLE_INPUTS = 16 };

static const char *const type_names[AS_N_SOURCES] = {"motor", "command", "inter", "sensory"};
static const int order[AS_N_SOURCES] = {AS_SOURCE_SENSORY, AS_NEURON_INTER, AS_NEURON_COMMAND, AS_NEURON_MOTOR}; /* as signals go */

/* What is shown, once made. */
typedef struct subject {
    const char     *text; /* as the user wrote it */
    bool            hint; /* nobody said how many inputs there are */
    as_wiring       w;
    as_wiring_facts facts;
} subject;

static int sum(as_signs s) { return s.excitatory + s.inhibitory; }

static int type_count(const as_wiring *w, int type) { return (int[]){w->n_motor, w->n_command, w->n_inter, w->n_inputs}[type]; }

/* --- Text ----------------------------------------------------------------------------------------------- */

static void signs_print(FILE *file, const char *from, const char *to, as_signs s, double n_possible)
{
    char name[40];
    snprintf(name, sizeof name, "%s%s%s", from, *to ? " -> " : "", to);
    fprintf(file, "  %-22s %8d %12d %12d %9.1f %%\n", name, sum(s), s.excitatory, s.inhibitory,
            n_possible > 0 ? 100.0 * sum(s) / n_possible : 0);
}

static void degrees_print(FILE *file, const char *name, as_degrees d)
{
    fprintf(file, "  %-22s %8d %12.2f %12d\n", name, d.min, d.mean, d.max);
}

static void text_print(FILE *file, const subject *s, bool detailed)
{
    const as_wiring       *w = &s->w;
    const as_wiring_facts *f = &s->facts;
    const as_graph_shape  *g = &f->neurons;
    fprintf(file, "%s\n\nneurons: %d units", s->text, w->n_units);
    for (int i = 1; i < AS_N_SOURCES; i++)
        if (type_count(w, order[i]))
            fprintf(file, "%s %d %s", i == 1 ? ":" : ",", type_count(w, order[i]), type_names[order[i]]);
    fprintf(file, "; %d input%s%s\n", w->n_inputs, w->n_inputs == 1 ? "" : "s", s->hint ? " (--input N for others)" : "");
    if (w->n_layers == 3)
        fprintf(file,
                "fan-out: sensory %" PRId64 ", inter %" PRId64 "; recurrent command synapses %" PRId64 "; fan-in of motor %" PRId64
                "\n",
                w->spec.sensory_fanout, w->spec.inter_fanout, w->spec.recurrent_command, w->spec.motor_fanin);
    fprintf(file, "\n%-24s %8s %12s %12s %11s\n", "synapses", "all", "excitatory", "inhibitory", "of possible");
    for (int i = 0; i < AS_N_SOURCES; i++)
        for (int k = 1; k < AS_N_SOURCES; k++)
            if (sum(f->by_type[order[i]][order[k]]))
                signs_print(file, type_names[order[i]], type_names[order[k]], f->by_type[order[i]][order[k]],
                            (double)type_count(w, order[i]) * type_count(w, order[k]));
    signs_print(file, "sensory, all", "", f->sensory, (double)w->n_inputs * w->n_units);
    signs_print(file, "internal, all", "", f->internal, (double)w->n_units * w->n_units);
    fprintf(file, "\n%-24s %8s %12s %12s\n", "degrees", "min", "mean", "max");
    degrees_print(file, "in, internal", g->in);
    degrees_print(file, "out, internal", g->out);
    degrees_print(file, "in, from sensory", f->sensory_in);
    degrees_print(file, "out, of an input", f->sensory_out);
    fprintf(file, "\ncomponents: %d weak, %d strong\n", g->n_weak, g->n_strong);
    int64_t n_pairs = (int64_t)w->n_units * (w->n_units - 1);
    if (g->n_pairs)
        fprintf(file, "shortest paths: mean %.3f, max %d synapses; %" PRId64 " of %" PRId64 " pairs have one\n", g->path_mean,
                g->path_max, g->n_pairs, n_pairs);
    else
        fprintf(file, "shortest paths: none, for no neuron reaches another\n");
    fprintf(file, "crc-32: adjacency %08" PRIx32 ", sensory %08" PRIx32 "\n", f->crc, f->sensory_crc);
    if (detailed && w->n_units <= MAX_TABLE_UNITS && w->n_inputs <= MAX_TABLE_INPUTS) {
        fprintf(file, "\n");
        as_wiring_table(file, w);
    }
}

/* --- JSON ------------------------------------------------------------------------------------------------ */

static void spec_write(as_json *j, const as_wiring *w)
{
    static const char *const kinds[] = {"full", "random", "ncp", "autoncp"};
    const as_wiring_spec    *s = &w->spec;
    as_json_key(j, "spec");
    as_json_object(j);
    as_json_key_text(j, "kind", kinds[s->kind]);
    as_json_key_i64(j, "units", w->n_units);
    as_json_key_i64(j, "out", w->n_out);
    if (w->n_layers == 3) {
        as_json_key_i64(j, "inter", s->inter);
        as_json_key_i64(j, "command", s->command);
        as_json_key_i64(j, "motor", s->motor);
        as_json_key_i64(j, "sensory_fanout", s->sensory_fanout);
        as_json_key_i64(j, "inter_fanout", s->inter_fanout);
        as_json_key_i64(j, "recurrent_command", s->recurrent_command);
        as_json_key_i64(j, "motor_fanin", s->motor_fanin);
    }
    if (s->kind == AS_WIRING_RANDOM || s->kind == AS_WIRING_AUTONCP)
        as_json_key_f64(j, "sparsity", s->sparsity);
    as_json_key_u64(j, "seed", s->seed);
    if (s->kind == AS_WIRING_FULL)
        as_json_key_bool(j, "self", s->self_connections);
    as_json_object_end(j);
}

static void signs_write(as_json *j, as_signs s)
{
    as_json_key_i64(j, "excitatory", s.excitatory);
    as_json_key_i64(j, "inhibitory", s.inhibitory);
}

static void counts_write(as_json *j, const subject *s)
{
    as_json_key(j, "neurons");
    as_json_object(j);
    for (int i = 0; i < AS_N_SOURCES; i++)
        as_json_key_i64(j, type_names[order[i]], type_count(&s->w, order[i]));
    as_json_object_end(j);
    as_json_key(j, "synapses_by_type");
    as_json_array(j);
    for (int i = 0; i < AS_N_SOURCES; i++)
        for (int k = 1; k < AS_N_SOURCES; k++) {
            if (!sum(s->facts.by_type[order[i]][order[k]]))
                continue;
            as_json_object(j);
            as_json_key_text(j, "from", type_names[order[i]]);
            as_json_key_text(j, "to", type_names[order[k]]);
            signs_write(j, s->facts.by_type[order[i]][order[k]]);
            as_json_object_end(j);
        }
    as_json_array_end(j);
}

static void degrees_write(as_json *j, const char *key, as_degrees d)
{
    as_json_key(j, key);
    as_json_object(j);
    as_json_key_i64(j, "min", d.min);
    as_json_key_f64(j, "mean", d.mean);
    as_json_key_i64(j, "max", d.max);
    as_json_object_end(j);
}

/* [source, target, sign] each. */
static void synapses_write(as_json *j, const char *key, const int8_t *cells, int n_rows, int n_cols)
{
    as_json_key(j, key);
    as_json_array(j);
    for (int from = 0; from < n_rows; from++)
        for (int to = 0; to < n_cols; to++) {
            int8_t sign = cells[(size_t)from * (size_t)n_cols + (size_t)to];
            if (!sign)
                continue;
            as_json_array(j);
            as_json_i64(j, from);
            as_json_i64(j, to);
            as_json_i64(j, sign);
            as_json_array_end(j);
        }
    as_json_array_end(j);
}

static void crc_write(as_json *j, const char *key, uint32_t crc)
{
    char text[16];
    snprintf(text, sizeof text, "%08" PRIx32, crc);
    as_json_key_text(j, key, text);
}

static void json_write(FILE *file, const subject *s)
{
    const as_wiring      *w = &s->w;
    const as_graph_shape *g = &s->facts.neurons;
    as_json               j;
    as_json_start(&j, file, true);
    as_json_object(&j);
    as_json_key_text(&j, "schema", "assay.wiring/1");
    as_json_key_text(&j, "text", s->text);
    spec_write(&j, w);
    as_json_key_i64(&j, "inputs", w->n_inputs);
    counts_write(&j, s);
    as_json_key(&j, "degrees");
    as_json_object(&j);
    degrees_write(&j, "in", g->in);
    degrees_write(&j, "out", g->out);
    degrees_write(&j, "sensory_in", s->facts.sensory_in);
    degrees_write(&j, "sensory_out", s->facts.sensory_out);
    as_json_object_end(&j);
    as_json_key_i64(&j, "weak_components", g->n_weak);
    as_json_key_i64(&j, "strong_components", g->n_strong);
    as_json_key(&j, "paths");
    as_json_object(&j);
    as_json_key_i64(&j, "pairs", g->n_pairs);
    as_json_key(&j, "mean");
    if (g->n_pairs)
        as_json_f64(&j, g->path_mean);
    else
        as_json_null(&j);
    as_json_key_i64(&j, "max", g->path_max);
    as_json_object_end(&j);
    as_json_key_i64(&j, "n_synapses", sum(s->facts.internal));
    as_json_key_i64(&j, "n_sensory_synapses", sum(s->facts.sensory));
    crc_write(&j, "crc", s->facts.crc);
    crc_write(&j, "sensory_crc", s->facts.sensory_crc);
    synapses_write(&j, "synapses", w->adjacency, w->n_units, w->n_units);
    synapses_write(&j, "sensory_synapses", w->sensory, w->n_inputs, w->n_units);
    as_json_object_end(&j);
    as_json_finish(&j);
}

/* --- The call -------------------------------------------------------------------------------------------- */

typedef enum form { FORM_TEXT, FORM_DETAILED, FORM_JSON, FORM_DOT, FORM_SVG, FORM_CRC, N_FORMS } form;
static const char *const form_names[N_FORMS + 1] = {"text", "detailed", "json", "dot", "svg", "crc", NULL};

static assay_status form_read(assay_env *env, const char *format, form *out)
{
    for (int i = 0; format && i < N_FORMS; i++)
        if (!strcmp(format, form_names[i])) {
            *out = (form)i;
            return ASSAY_OK;
        }
    return as_fail(env, ASSAY_BAD_INPUT, "wiring: the format must be text, detailed, json, dot, svg or crc, not '%s'",
                   format ? format : "");
}

static assay_status inputs_read(assay_env *env, const assay_options *options, int *n)
{
    const char *text = options ? as_options_text(options, "input") : NULL;
    int64_t     value = 1;
    if (options && as_options_texts(options, "input").n > 1)
        return as_fail(env, ASSAY_BAD_INPUT, "--input is given twice: of a wiring it is the number of inputs");
    if (text && (!as_parse_i64(text, &value) || value < 1 || value > INT32_MAX))
        return as_fail(env, ASSAY_BAD_INPUT, "--input %s: of a wiring it is the number of inputs, a whole number from 1", text);
    *n = (int)value;
    return ASSAY_OK;
}

static void form_write(FILE *file, const subject *s, form f, const char *svg)
{
    if (f == FORM_JSON)
        json_write(file, s);
    else if (f == FORM_DOT)
        as_wiring_dot(file, &s->w);
    else if (f == FORM_SVG)
        fputs(svg, file);
    else if (f == FORM_CRC)
        fprintf(file, "%d %d %08" PRIx32 " %08" PRIx32 "\n", sum(s->facts.internal), sum(s->facts.sensory), s->facts.crc,
                s->facts.sensory_crc);
    else
        text_print(file, s, f == FORM_DETAILED);
}

static assay_status subject_write(assay_env *env, subject *s, const assay_options *options, form f, const char *path,
                                  as_arena *arena)
{
    int            n_inputs = 1;
    as_wiring_spec spec;
    as_out         out;
    const char    *svg = NULL;
    AS_TRY(inputs_read(env, options, &n_inputs));
    AS_TRY(as_wiring_parse(env, s->text, &spec));
    AS_TRY(as_wiring_make(env, &spec, n_inputs, arena, &s->w));
    AS_TRY(as_wiring_measure(env, &s->w, &s->facts));
    if (f == FORM_SVG)
        AS_TRY(as_wiring_svg(env, &s->w, s->text, arena, &svg));
    AS_TRY(as_out_open(env, path, &out));
    form_write(out.file, s, f, svg);
    return as_out_commit(env, &out);
}

assay_status assay_wiring_write(assay_env *env, const char *spec, const assay_options *options, const char *format,
                                const char *path)
{
    static const char *const keys[] = {"input", NULL};
    subject                  s = {.text = spec, .hint = !options || !as_options_is_set(options, "input")};
    as_arena                 arena = {0};
    form                     f = FORM_TEXT;
    AS_TRY(as_options_only(env, options, "wiring", keys));
    AS_TRY(form_read(env, format, &f));
    assay_status status = subject_write(env, &s, options, f, path, &arena);
    as_arena_drop(&arena);
    return status;
}
