/* cmd_wiring.c - one wiring: counts, degrees, components, paths; as text, JSON, picture or checksum. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/wiring_picture.h"
#include "model/wiring/wiring.h"

enum { MAX_TABLE_UNITS = 16, MAX_TABLE_INPUTS = 16, N_FILES = 3 };

static const char *const type_names[AS_N_SOURCES] = {"motor", "command", "inter", "sensory"};
static const int         order[AS_N_SOURCES] = {AS_SOURCE_SENSORY, AS_NEURON_INTER, AS_NEURON_COMMAND, AS_NEURON_MOTOR}; /* in the
                                                                                                                  * direction of
                                                                                                                  * signals */

/* What is shown; made once. */
typedef struct subject {
    const char     *text; /* as the user wrote it */
    bool            is_standard_input;
    as_wiring       w;
    as_wiring_facts facts;
} subject;

static int sum(as_signs s) { return s.excitatory + s.inhibitory; }

static int type_count(const as_wiring *w, int type) { return (int[]){w->n_motor, w->n_command, w->n_inter, w->n_inputs}[type]; }

/* --- Text ----------------------------------------------------------------------------------------------- */

static void signs_print(const char *from, const char *to, as_signs s, double n_possible)
{
    char name[40];
    snprintf(name, sizeof name, "%s%s%s", from, *to ? " -> " : "", to);
    printf("  %-22s %8d %12d %12d %9.1f %%\n", name, sum(s), s.excitatory, s.inhibitory,
           n_possible > 0 ? 100.0 * sum(s) / n_possible : 0);
}

static void degrees_print(const char *name, as_degrees d) { printf("  %-22s %8d %12.2f %12d\n", name, d.min, d.mean, d.max); }

static void text_print(const subject *s, bool detailed)
{
    const as_wiring       *w = &s->w;
    const as_wiring_facts *f = &s->facts;
    const as_graph_shape  *g = &f->neurons;
    printf("%s\n\nneurons: %d units", s->text, w->n_units);
    for (int i = 1; i < AS_N_SOURCES; i++)
        if (type_count(w, order[i]))
            printf("%s %d %s", i == 1 ? ":" : ",", type_count(w, order[i]), type_names[order[i]]);
    printf("; %d input%s%s\n", w->n_inputs, w->n_inputs == 1 ? "" : "s", s->is_standard_input ? " (--input N for others)" : "");
    if (w->n_layers == 3)
        printf("fan-out: sensory %" PRId64 ", inter %" PRId64 "; recurrent command synapses %" PRId64 "; fan-in of motor %" PRId64
               "\n",
               w->spec.sensory_fanout, w->spec.inter_fanout, w->spec.recurrent_command, w->spec.motor_fanin);
    printf("\n%-24s %8s %12s %12s %11s\n", "synapses", "all", "excitatory", "inhibitory", "of possible");
    for (int i = 0; i < AS_N_SOURCES; i++)
        for (int k = 1; k < AS_N_SOURCES; k++)
            if (sum(f->by_type[order[i]][order[k]]))
                signs_print(type_names[order[i]], type_names[order[k]], f->by_type[order[i]][order[k]],
                            (double)type_count(w, order[i]) * type_count(w, order[k]));
    signs_print("sensory, all", "", f->sensory, (double)w->n_inputs * w->n_units);
    signs_print("internal, all", "", f->internal, (double)w->n_units * w->n_units);
    printf("\n%-24s %8s %12s %12s\n", "degrees", "min", "mean", "max");
    degrees_print("in, internal", g->in);
    degrees_print("out, internal", g->out);
    degrees_print("in, from sensory", f->sensory_in);
    degrees_print("out, of an input", f->sensory_out);
    printf("\ncomponents: %d weak, %d strong\n", g->n_weak, g->n_strong);
    int64_t n_pairs = (int64_t)w->n_units * (w->n_units - 1);
    if (g->n_pairs)
        printf("shortest paths: mean %.3f, max %d synapses; %" PRId64 " of %" PRId64 " pairs have one\n", g->path_mean, g->path_max,
               g->n_pairs, n_pairs);
    else
        printf("shortest paths: none, for no neuron reaches another\n");
    printf("crc-32: adjacency %08" PRIx32 ", sensory %08" PRIx32 "\n", f->crc, f->sensory_crc);
    if (detailed && w->n_units <= MAX_TABLE_UNITS && w->n_inputs <= MAX_TABLE_INPUTS) {
        printf("\n");
        as_wiring_table(stdout, w);
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

/* --- The verb -------------------------------------------------------------------------------------------- */

/* All files are opened before the first is written, and each appears complete: if a path cannot be opened, nothing is left
 * behind. */
static assay_status files_write(as_cli *cli, const subject *s, const char *const paths[N_FILES], const char *svg)
{
    as_out       outs[N_FILES];
    bool         is_open[N_FILES] = {false};
    assay_status status = ASSAY_OK;
    for (int i = 0; i < N_FILES && status == ASSAY_OK; i++)
        if (paths[i]) {
            status = as_out_open(cli->env, paths[i], &outs[i]);
            is_open[i] = status == ASSAY_OK;
        }
    for (int i = 0; i < N_FILES; i++) {
        if (!is_open[i])
            continue;
        if (status != ASSAY_OK) {
            as_out_abandon(&outs[i]);
            continue;
        }
        if (i == 0)
            json_write(outs[i].file, s);
        else if (i == 1)
            as_wiring_dot(outs[i].file, &s->w);
        else
            fputs(svg, outs[i].file);
        status = as_out_commit(cli->env, &outs[i]);
    }
    return status;
}

static assay_status inputs_read(as_cli *cli, int *n)
{
    const char *text = as_options_text(cli->options, "input");
    int64_t     value = 1;
    if (as_options_texts(cli->options, "input").n > 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--input is given twice: of a wiring it is the number of inputs");
    if (text && (!as_parse_i64(text, &value) || value < 1 || value > INT32_MAX))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--input %s: of a wiring it is the number of inputs, a whole number from 1",
                       text);
    *n = (int)value;
    return ASSAY_OK;
}

static assay_status show(as_cli *cli, as_arena *arena)
{
    const char *const paths[N_FILES] = {as_options_text(cli->options, "json"), as_options_text(cli->options, "dot"),
                                        as_options_text(cli->options, "svg")};
    bool              crc = as_options_flag(cli->options, "crc");
    const char       *svg = NULL;
    int               n_inputs = 0, n_standard = crc;
    subject           s = {.text = cli->args[0], .is_standard_input = !as_options_is_set(cli->options, "input")};
    as_wiring_spec    spec;
    for (int i = 0; i < N_FILES; i++)
        n_standard += paths[i] && !strcmp(paths[i], "-");
    if (n_standard > 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT,
                       "standard output takes one of --crc, --json -, --dot - and --svg -, and %d were given", n_standard);
    AS_TRY(inputs_read(cli, &n_inputs));
    AS_TRY(as_wiring_parse(cli->env, s.text, &spec));
    AS_TRY(as_wiring_make(cli->env, &spec, n_inputs, arena, &s.w));
    AS_TRY(as_wiring_measure(cli->env, &s.w, &s.facts));
    if (paths[2])
        AS_TRY(as_wiring_svg(cli->env, &s.w, s.text, arena, &svg));
    AS_TRY(files_write(cli, &s, paths, svg));
    if (crc)
        printf("%d %d %08" PRIx32 " %08" PRIx32 "\n", sum(s.facts.internal), sum(s.facts.sensory), s.facts.crc,
               s.facts.sensory_crc);
    else if (!n_standard)
        text_print(&s, !strcmp(as_options_text(cli->options, "report"), "detailed"));
    return ASSAY_OK;
}

static assay_status run(as_cli *cli)
{
    as_arena     arena = {0};
    assay_status status = show(cli, &arena);
    as_arena_drop(&arena);
    return status;
}

const as_verb as_cmd_wiring = {
    .name = "wiring",
    .summary = "a neural circuit: neurons, synapses, paths, as text, JSON or a picture",
    .usage = "SPEC [options]",
    .details =
        "SPEC is one of\n"
        "  full:units=8,out=4,seed=1111,self=1\n"
        "  random:units=50,out=10,sparsity=0.5,seed=1111\n"
        "  ncp:inter=10,command=10,motor=8,sensory_fanout=6,inter_fanout=6,recurrent_command=4,motor_fanin=6,seed=22222\n"
        "  autoncp:units=28,out=4,sparsity=0.5,seed=22222\n"
        "The same SPEC gives the same synapses as the reference (ncps 1.0.1).  Here --input is the number of inputs (default 1).",
    .example = "assay wiring autoncp:units=28,out=4 --input 20 --svg circuit.svg",
    .needs = "a SPEC, for example autoncp:units=28,out=4",
    .group = AS_VERBS_LOOK,
    .order = 6,
    .min_args = 1,
    .max_args = 1,
    .options = AS_OPTIONS("input", "json", "dot", "svg", "crc", "report"),
    .texts = AS_TEXTS({.key = "input", .standard = "1", .value = "N", .help = "how many inputs the circuit has"}),
    .run = run,
};
