/* cmd_run.c - the network's answer on the user's own data. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "model/onnx.h"
#include "plan/plan.h"

enum { MAX_IO = 64, SHOWN_VALUES = 16 };

typedef struct job {
    assay_model    *model;
    assay_plan     *plan;
    assay_instance *instance;
    as_tensor       given[MAX_IO];            /* by input */
    bool            has_input[MAX_IO];
    const char     *in_path[MAX_IO], *out_path[MAX_IO];
    bool            has_output[MAX_IO];
} job;

static int value_names(const assay_model *m, const int *ids, int n, const char **names)
{
    if (n > MAX_IO)
        n = MAX_IO;
    for (int i = 0; i < n; i++)
        names[i] = m->values[ids[i]].name;
    return n;
}

/* Symbols that the files decide and the user did not: a [5,784] file makes the batch 5. */
static assay_status dims_from_inputs(as_cli *cli, const job *j)
{
    for (int i = 0; i < j->model->n_inputs && i < MAX_IO; i++) {
        if (!j->has_input[i])
            continue;
        const as_value *value = &j->model->values[j->model->inputs[i]];
        const as_shape *shape = &j->given[i].view.shape;
        if (shape->rank != value->dims.rank)
            continue; /* the shape check after planning has the better sentence */
        for (int axis = 0; axis < shape->rank; axis++) {
            const char *symbol = value->dims.dim[axis].symbol;
            if (!symbol)
                continue;
            char   word[160];
            size_t length = strlen(symbol);
            bool   known = !strcmp(symbol, "batch") && as_options_is_set(cli->options, "batch");
            for (size_t k = 0; k < as_options_many(cli->options, "dim"); k++) {
                const char *item = as_options_item(cli->options, "dim", k);
                known |= !strncmp(item, symbol, length) && item[length] == '=';
            }
            snprintf(word, sizeof word, "%s=%lld", symbol, (long long)shape->dim[axis]);
            if (!known)
                AS_TRY(assay_options_set(cli->env, cli->options, "dim", word));
        }
    }
    return ASSAY_OK;
}

static assay_status read_inputs(as_cli *cli, job *j)
{
    const char *names[MAX_IO];
    int         n = value_names(j->model, j->model->inputs, j->model->n_inputs, names);
    for (size_t k = 0; k < as_options_many(cli->options, "input"); k++) {
        int         i;
        const char *path;
        AS_TRY(as_cli_named(cli->env, "input", as_options_item(cli->options, "input", k), names, n, j->has_input, &i, &path));
        size_t length = strlen(path);
        bool   is_pb = length > 3 && !strcmp(path + length - 3, ".pb");
        AS_TRY(is_pb ? as_pb_tensor_load(cli->env, path, &j->given[i]) : as_npy_load(cli->env, path, &j->given[i]));
        j->has_input[i] = true;
        j->in_path[i] = path;
    }
    n = value_names(j->model, j->model->outputs, j->model->n_outputs, names);
    for (size_t k = 0; k < as_options_many(cli->options, "output"); k++) {
        int         i;
        const char *path;
        AS_TRY(as_cli_named(cli->env, "output", as_options_item(cli->options, "output", k), names, n, j->has_output, &i, &path));
        j->has_output[i] = true;
        j->out_path[i] = path;
    }
    return ASSAY_OK;
}

static assay_status fill_inputs(as_cli *cli, const job *j)
{
    uint64_t seed = (uint64_t)as_options_int(cli->options, "seed");
    for (int i = 0; i < j->model->n_inputs; i++) {
        as_view     view = as_instance_input(j->instance, i);
        const char *name = j->model->values[j->model->inputs[i]].name;
        if (i >= MAX_IO || !j->has_input[i]) {
            as_random_input(seed, name, &view);
            continue;
        }
        const as_view *file = &j->given[i].view;
        char           a[128], b[128];
        if (!as_shape_same(&file->shape, &view.shape))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "input %s: %s holds %s, the model takes %s", name, j->in_path[i],
                           as_shape_show(&file->shape, a, sizeof a), as_shape_show(&view.shape, b, sizeof b));
        if (file->dtype != view.dtype && !(as_dtype_is_float(file->dtype) && as_dtype_is_float(view.dtype)))
            return as_fail(cli->env, ASSAY_BAD_INPUT, "input %s: %s holds %s, the model takes %s", name, j->in_path[i],
                           as_dtype_name(file->dtype), as_dtype_name(view.dtype));
        as_view_copy(&view, file);
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
        as_view v = as_instance_output(j->instance, i);
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

static assay_status work(as_cli *cli, job *j)
{
    AS_TRY(assay_model_load(cli->env, cli->args[0], cli->options, &j->model));
    AS_TRY(read_inputs(cli, j));
    AS_TRY(dims_from_inputs(cli, j));
    AS_TRY(assay_plan_build(cli->env, j->model, cli->options, &j->plan));
    AS_TRY(assay_instance_new(cli->env, j->plan, &j->instance));
    AS_TRY(fill_inputs(cli, j));
    AS_TRY(as_instance_step(cli->env, j->instance, NULL));
    bool        wrote = false;
    const char *json = as_options_text(cli->options, "json");
    for (int i = 0; i < j->model->n_outputs && i < MAX_IO; i++)
        if (j->has_output[i]) {
            as_view v = as_instance_output(j->instance, i);
            AS_TRY(as_npy_save(cli->env, j->out_path[i], &v));
            wrote = true;
        }
    if (json) {
        AS_TRY(write_json(cli, j, json));
        wrote = true;
    }
    for (int i = 0; i < j->model->n_outputs && !wrote; i++) {
        as_view v = as_instance_output(j->instance, i);
        print_view(j->model->values[j->model->outputs[i]].name, &v);
    }
    return ASSAY_OK;
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
    for (int i = 0; i < MAX_IO; i++)
        if (j->has_input[i])
            as_tensor_drop(&j->given[i]);
    free(j);
    return status;
}

const as_verb as_cmd_run = {
    .name = "run", .summary = "the network's answer on your own data (npy in, npy out)", .usage = "MODEL [options]",
    .details = "Runs MODEL once.  Inputs come from npy files (or .pb, an ONNX TensorProto); those without a file are random by --seed.  A symbolic dimension\n"
               "such as the batch is taken from the file's shape.  Outputs go to npy files, or are printed.",
    .example = "assay run mlp-small --batch 2 --output y.npy", .min_args = 1, .max_args = 1, .run = run,
};
