/* cmd_run.c - the network's answer on the user's own data. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "plan/plan.h"

enum { MAX_IO = 64, SHOWN_VALUES = 16 };

typedef struct job {
    assay_model    *model;
    assay_plan     *plan;
    assay_instance *instance;
    const char     *out_path[MAX_IO];
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

static assay_status read_outputs(as_cli *cli, job *j)
{
    const char *names[MAX_IO];
    int         n = value_names(j->model, j->model->outputs, j->model->n_outputs, names);
    for (size_t k = 0; k < as_options_many(cli->options, "output"); k++) {
        int         i;
        const char *path;
        AS_TRY(as_option_named(cli->env, "output", as_options_item(cli->options, "output", k), names, n, j->has_output, &i, &path));
        j->has_output[i] = true;
        j->out_path[i] = path;
    }
    return ASSAY_OK;
}

/* The plan has read the files, and an instance begins with their values. */
static void fill_others(as_cli *cli, const job *j)
{
    uint64_t seed = (uint64_t)as_options_int(cli->options, "seed");
    for (int i = 0; i < j->model->n_inputs; i++) {
        as_view view = as_instance_input(j->instance, i);
        if (!j->plan->given[i].path)
            as_random_input(seed, j->model->values[j->model->inputs[i]].name, &view);
    }
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
    AS_TRY(read_outputs(cli, j));
    AS_TRY(assay_plan_build(cli->env, j->model, cli->options, &j->plan));
    AS_TRY(assay_instance_new(cli->env, j->plan, &j->instance));
    fill_others(cli, j);
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
    free(j);
    return status;
}

const as_verb as_cmd_run = {
    .name = "run", .summary = "the network's answer on your own data (npy in, npy out)", .usage = "MODEL [options]",
    .details = "Runs MODEL once.  Inputs come from npy files (or .pb, an ONNX TensorProto); those without a file are random by --seed.  A symbolic dimension\n"
               "such as the batch is taken from the file's shape.  Outputs go to npy files, or are printed.",
    .example = "assay run mlp-small --batch 2 --output y.npy", .min_args = 1, .max_args = 1, .run = run,
};
