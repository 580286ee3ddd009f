/* cmd_run.c - the network's answer on the user's own data. */
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "base/json.h"
#include "cli/cli.h"
#include "lab/tell.h"
#include "plan/plan.h"
#include "run/run.h"

#ifdef AS_PLANT_OPTION /* planted for CI: an option that nobody reads must turn the inert-option test red */
#define PLANTED , "planted"
#else
#define PLANTED
#endif

enum { MAX_IO = 64, SHOWN_VALUES = 16 };

typedef struct job {
    as_model_options   how_loaded;
    as_plan_options    how_planned;
    as_stream_settings how_streamed;
    as_texts           outputs, states_out;
    const char        *json;
    assay_model       *model;
    assay_plan        *plan;
    assay_instance    *instance;
    const char        *out_path[MAX_IO];
    bool               has_output[MAX_IO];
    const char        *state_path[AS_MAX_STATES];
    int                state_output[AS_MAX_STATES]; /* what --state-out may name, by place among the outputs */
    as_state_pair      states[AS_MAX_STATES];
    int                n_states;
} job;

static int value_names(const assay_model *m, const int *ids, int n, const char **names)
{
    if (n > MAX_IO)
        n = MAX_IO;
    for (int i = 0; i < n; i++)
        names[i] = m->values[ids[i]].name;
    return n;
}

static assay_status read_outputs(as_cli *cli, job *j)
{
    const char *names[MAX_IO];
    int         n = value_names(j->model, j->model->outputs, j->model->n_outputs, names);
    for (size_t k = 0; k < j->outputs.n; k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(cli->env, "output", j->outputs.items[k], names, n, j->has_output, &i, &path));
        j->has_output[i] = true;
        j->out_path[i] = path;
    }
    return ASSAY_OK;
}

static assay_status read_states(as_cli *cli, job *j)
{
    const char *names[AS_MAX_STATES];
    bool        taken[AS_MAX_STATES] = {false};
    j->n_states = as_state_find(j->model, j->states, AS_MAX_STATES);
    /* A state that goes nowhere yet can be written all the same: a model may give h_n and take no h0. */
    int n = 0;
    for (int i = 0; i < j->model->n_outputs; i++) {
        const char *name = j->model->values[j->model->outputs[i]].name;
        size_t      length = strlen(name);
        bool        paired = length > 2 && !strcmp(name + length - 2, "_n");
        for (int k = 0; k < j->n_states; k++)
            paired |= j->states[k].output == i;
        if (paired && n < AS_MAX_STATES) {
            j->state_output[n] = i;
            names[n++] = name;
        }
    }
    for (size_t k = 0; k < j->states_out.n; k++) {
        int         i;
        const char *path, *text = j->states_out.items[k];
        if (!n)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--state-out %s: the model '%s' has no state output such as h_n", text,
                           j->model->name);
        AS_TRY(as_option_named(cli->env, "state-out", text, names, n, taken, &i, &path));
        taken[i] = true;
        j->state_path[i] = path;
    }
    return ASSAY_OK;
}

/* The plan has read the files, and an instance begins with their values. */
static void fill_others(const job *j)
{
    for (int i = 0; i < j->model->n_inputs; i++) {
        as_view view = as_instance_input(j->instance, i);
        if (!j->plan->given[i].path)
            as_input_fill(j->model, i, j->how_planned.seed, &view);
    }
}

/* One sequence in, one sequence out: without the batch axis that the file did not have. */
static as_view output_of(const job *j, int i)
{
    as_view v = as_instance_output(j->instance, i);
    if (j->model->n_inputs && j->plan->given[0].unbatched && v.shape.rank > 1 && v.shape.dim[0] == 1) {
        as_shape shape = {.rank = v.shape.rank - 1};
        memcpy(shape.dim, v.shape.dim + 1, (size_t)shape.rank * sizeof shape.dim[0]);
        v = as_view_of(v.data, v.dtype, &shape);
    }
    return v;
}

static assay_status write_states(as_cli *cli, const job *j)
{
    for (int i = 0; i < AS_MAX_STATES; i++)
        if (j->state_path[i]) {
            as_view v = output_of(j, j->state_output[i]);
            AS_TRY(as_npy_save(cli->env, j->state_path[i], &v));
        }
    return ASSAY_OK;
}

static void print_view(const char *name, const as_view *v)
{
    char    shape[128];
    int64_t n = as_shape_count(&v->shape), width = v->shape.rank ? v->shape.dim[v->shape.rank - 1] : 1;
    printf("%s: %s%s\n", name, as_dtype_name(v->dtype), as_shape_show(&v->shape, shape, sizeof shape));
    if (width <= 0)
        return;
    int64_t rows = n / width;
    for (int64_t r = 0; r < rows && r < SHOWN_VALUES; r++) {
        printf(" ");
        for (int64_t c = 0; c < width && c < SHOWN_VALUES; c++)
            printf(" %.7g", as_view_get(v, r * width + c));
        printf("%s\n", width > SHOWN_VALUES ? " ..." : "");
    }
    if (rows > SHOWN_VALUES)
        printf("  ... %lld rows in all; --output FILE writes them\n", (long long)rows);
}

static assay_status write_json(as_cli *cli, const job *j, const char *path)
{
    as_out out;
    AS_TRY(as_out_open(cli->env, path, &out));
    as_json w;
    as_json_start(&w, out.file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", "assay.outputs/1");
    as_json_key_text(&w, "model", j->model->source);
    as_json_key(&w, "outputs");
    as_json_array(&w);
    for (int i = 0; i < j->model->n_outputs; i++) {
        as_view v = output_of(j, i);
        as_json_object(&w);
        as_json_key_text(&w, "name", j->model->values[j->model->outputs[i]].name);
        as_json_key_text(&w, "dtype", as_dtype_name(v.dtype));
        as_json_key(&w, "shape");
        as_json_array(&w);
        for (int k = 0; k < v.shape.rank; k++)
            as_json_i64(&w, v.shape.dim[k]);
        as_json_array_end(&w);
        as_json_key(&w, "values");
        as_json_array(&w);
        for (int64_t k = 0; k < as_shape_count(&v.shape); k++)
            as_json_f64(&w, as_view_get(&v, k));
        as_json_array_end(&w);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
    return as_out_commit(cli->env, &out);
}

/* Less exact answers are never silent; standard output may be a file's. */
static assay_status winograd_tell(as_cli *cli, const job *j)
{
    double error;
    if (!j->plan->winograd)
        return ASSAY_OK;
    AS_TRY(as_run_winograd_error(cli->env, j->instance, &j->how_planned, &error));
    fprintf(stderr, "winograd: outputs differ by at most %.2g relative\n", error);
    return ASSAY_OK;
}

/* --- Once --- */

static assay_status run_once(as_cli *cli, job *j)
{
    static const char *const stream_only[] = {"rate", "deadline", "format"};
    for (size_t i = 0; i < AS_COUNT(stream_only); i++)
        if (as_options_is_set(cli->options, stream_only[i]))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--%s is for --stream, which is not given", stream_only[i]);
    if (j->how_streamed.has_timespans)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--timespans stdin is for --stream, which is not given");
    AS_TRY(as_plan_build(cli->env, j->model, &j->how_planned, &j->plan));
    AS_TRY(assay_instance_new(cli->env, j->plan, &j->instance));
    fill_others(j);
    AS_TRY(as_instance_step(AS_RUN(cli->env), j->instance));
    AS_TRY(winograd_tell(cli, j));
    bool wrote = false;
    for (int i = 0; i < j->model->n_outputs && i < MAX_IO; i++)
        if (j->has_output[i]) {
            as_view v = output_of(j, i);
            AS_TRY(as_npy_save(cli->env, j->out_path[i], &v));
            wrote = true;
        }
    AS_TRY(write_states(cli, j));
    if (j->json) {
        AS_TRY(write_json(cli, j, j->json));
        wrote = true;
    }
    for (int i = 0; i < j->model->n_outputs && !wrote; i++) {
        as_view v = output_of(j, i);
        print_view(j->model->values[j->model->outputs[i]].name, &v);
    }
    return ASSAY_OK;
}

/* --- Streaming --- */

/* The symbol is 1 in a stream; an option may say so, and nothing else. */
static assay_status size_is_one(as_cli *cli, const job *j, const char *key, int64_t *size, bool *is_set)
{
    if (*is_set && *size != 1)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--stream answers sample by sample: --%s is 1, and %lld is given", key,
                       (long long)*size);
    for (int i = 0; i < j->model->n_inputs; i++)
        for (int k = 0; k < j->model->values[j->model->inputs[i]].dims.rank; k++) {
            const char *symbol = j->model->values[j->model->inputs[i]].dims.dim[k].symbol;
            if (symbol && !strcmp(symbol, key)) {
                *size = 1;
                *is_set = true;
            }
        }
    return ASSAY_OK;
}

/* Before planning, which would find the files to be of the wrong size. */
static assay_status sources_check(as_cli *cli, const job *j, bool has_timespans)
{
    const char *names[MAX_IO], *timespans = j->how_planned.timespans;
    bool        taken[MAX_IO] = {false};
    int         n = value_names(j->model, j->model->inputs, j->model->n_inputs, names);
    for (size_t k = 0; k < j->how_planned.inputs.n; k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(cli->env, "input", j->how_planned.inputs.items[k], names, n, taken, &i, &path));
        if (!i)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--stream reads the input '%s' from standard input, and --input gives it %s",
                           names[0], path);
        taken[i] = true;
    }
    if (timespans && !has_timespans)
        return as_fail(cli->env, ASSAY_BAD_INPUT,
                       "--stream takes time spans from the samples' last column, by --timespans stdin, and not from %s", timespans);
    if (has_timespans && as_timespans_find(j->model) < 0)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--timespans stdin: the model '%s' has no input `timespans`", j->model->name);
    return ASSAY_OK;
}

/* A value that is neither in the stream nor in a file would be random, and nobody wants that in a loop. */
static assay_status others_check(as_cli *cli, const job *j)
{
    int timespans = as_timespans_find(j->model);
    for (int i = 1; i < j->model->n_inputs; i++) {
        bool known = j->plan->given[i].path || i == timespans;
        for (int k = 0; k < j->n_states; k++)
            known |= j->states[k].input == i;
        if (!known)
            return as_fail(cli->env, ASSAY_BAD_INPUT, "--stream reads the input '%s' alone: give --input %s=FILE for the other",
                           j->model->values[j->model->inputs[0]].name, j->model->values[j->model->inputs[i]].name);
    }
    return ASSAY_OK;
}

static assay_status run_stream(as_cli *cli, job *j)
{
    as_stream_report report;
    as_plan_options *how = &j->how_planned;
    if (j->outputs.n)
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--stream answers on standard output, and --output %s is given",
                       j->outputs.items[0]);
    if (j->json && !strcmp(j->json, "-"))
        return as_fail(cli->env, ASSAY_BAD_INPUT, "--json -: with --stream standard output is for the answers; give a file");
    AS_TRY(sources_check(cli, j, j->how_streamed.has_timespans));
    AS_TRY(size_is_one(cli, j, "batch", &how->batch, &how->batch_is_set));
    AS_TRY(size_is_one(cli, j, "seq", &how->seq, &how->seq_is_set));
    as_variable_def states[AS_MAX_STATES];
    as_plan_with    with = {.variables = states, .n_variables = as_state_variables(j->model, states)};
    AS_TRY(as_plan_build_with(cli->env, j->model, &j->how_planned, &with, &j->plan));
    AS_TRY(others_check(cli, j));
    AS_TRY(assay_instance_new(cli->env, j->plan, &j->instance));
    fill_others(j);
    assay_status status = as_stream_run(cli->env, j->instance, &j->how_streamed, &report);
    if (report.n || status == ASSAY_OK)
        as_stream_print(&report, stderr);
    if (!report.n && status != ASSAY_OK)
        return status;
    /* What was answered is kept and told, whatever ended it; the first sentence stands. */
    char first[sizeof cli->env->message];
    memcpy(first, cli->env->message, sizeof first);
    assay_status told = report.n ? write_states(cli, j) : ASSAY_OK;
    if (told == ASSAY_OK && j->json)
        told = as_stream_json(cli->env, &report, j->model->source, j->json);
    if (status != ASSAY_OK)
        memcpy(cli->env->message, first, sizeof first);
    return status != ASSAY_OK ? status : told;
}

static assay_status work(as_cli *cli, job *j)
{
    AS_TRY(as_model_options_read(cli->env, cli->options, &j->how_loaded));
    AS_TRY(as_plan_options_read(cli->env, cli->options, &j->how_planned));
    AS_TRY(as_stream_settings_read(cli->env, cli->options, &j->how_streamed));
    j->how_streamed.in_fd = STDIN_FILENO;
    j->how_streamed.out_fd = STDOUT_FILENO;
    j->outputs = as_options_texts(cli->options, "output");
    j->states_out = as_options_texts(cli->options, "state-out");
    j->json = as_options_text(cli->options, "json");
    AS_TRY(as_model_load(cli->env, cli->args[0], &j->how_loaded, &j->model));
    AS_TRY(read_outputs(cli, j));
    AS_TRY(read_states(cli, j));
    return j->how_planned.stream ? run_stream(cli, j) : run_once(cli, j);
}

static assay_status run(as_cli *cli)
{
    job         *j = calloc(1, sizeof *j);
    assay_status status = j ? work(cli, j) : as_fail(cli->env, ASSAY_NO_MEMORY, "run: no memory");
    if (!j)
        return status;
    assay_instance_free(j->instance);
    assay_plan_free(j->plan);
    assay_model_free(j->model);
    free(j);
    return status;
}

const as_verb as_cmd_run = {
    .name = "run",
    .summary = "the network's answer on your own data (npy in, npy out)",
    .usage = "MODEL [options]",
    .details =
        "Runs MODEL once.  Inputs come from npy files (or .pb, an ONNX TensorProto); those without a file are random by --seed.  A symbolic dimension\n"
        "such as the batch is taken from the file's shape.  Outputs go to npy files, or are printed.\n"
        "With --stream: reads samples from standard input, one a line, answers each at once, and reports latency on standard error.",
    .example = "assay run mlp-small --batch 2 --output y.npy",
    .min_args = 1,
    .max_args = 1,
    .options =
        AS_OPTIONS("input", "timespans", "state-in", "output", "state-out", "batch", "seq", "dim", "weights", "seed", "stream",
                   "rate", "deadline", "format", "device", "threads", "compile", "weights-as", "winograd", "json" PLANTED),
    .texts =
        AS_TEXTS({.key = "timespans", .help = "npy file for the input `timespans`; with --stream the word stdin: the last column"}),
    .run = run,
};
