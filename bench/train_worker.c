/* train_worker.c - assay's side of tools/bench-train: trains one network in a process of its own, on demand.
 *
 * usage: train-worker SPEC BATCH THREADS LOSS OPTIMIZER FOLDER
 *
 * Writes the first weights and the batches into the folder, so that the other side begins with the same, and then answers
 * commands, one per line: "losses N" takes N steps and prints their losses, "time N" takes N steps and prints the seconds of one
 * (CPU time of the process with one thread, otherwise the wall clock), "memory" prints the most memory that the process ever had,
 * in bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "train/train.h"

enum { N_BATCHES = 10 };

typedef struct worker {
    assay_env      *env;
    assay_model    *net;
    as_plan_options plan;
    as_trainer     *trainer;
    as_view         x[N_BATCHES], target[N_BATCHES];
    double          rate;
    uint64_t        step;
} worker;

static void stop(worker *w, const char *what)
{
    fprintf(stderr, "train-worker: %s: %s\n", what, w->env ? assay_message(w->env) : "no memory");
    exit(2);
}

static as_view batch_make(worker *w, const char *name, int number)
{
    const as_graph *g = &as_trainer_plan(w->trainer)->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const as_bound_value *v = &g->values[g->inputs[i]];
        if (strcmp(v->name, name))
            continue;
        as_view view = as_view_of(calloc((size_t)as_shape_count(&v->info.shape), as_dtype_bytes(v->info.dtype)), v->info.dtype,
                                  &v->info.shape);
        if (!view.data)
            stop(w, "a batch");
        as_random_input(100 + (uint64_t)number, name, &view);
        return view;
    }
    stop(w, name);
    return (as_view){0};
}

static FILE *file_open(worker *w, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file)
        stop(w, path);
    return file;
}

static void view_write(FILE *list, FILE *data, const char *name, const as_view *v)
{
    fprintf(list, "%s %s", name, as_dtype_name(v->dtype));
    for (int i = 0; i < v->shape.rank; i++)
        fprintf(list, " %lld", (long long)v->shape.dim[i]);
    fprintf(list, "\n");
    fwrite(v->data, 1, as_view_bytes(v), data);
}

/* One line per tensor, and their bytes one after the other. */
static void all_write(worker *w, const char *folder)
{
    FILE                 *list = file_open(w, folder, "list.txt"), *data = file_open(w, folder, "data.bin");
    const as_train_graph *g = as_trainer_graph(w->trainer);
    for (int i = 0; i < g->n_parts; i++) {
        as_view v = as_trainer_weight(w->trainer, g->parts[i].name);
        view_write(list, data, g->parts[i].name, &v);
    }
    for (int i = 0; i < w->net->n_values; i++) /* what stays: masks, running statistics */
        if (w->net->values[i].role == AS_ROLE_PARAM) {
            int k = 0;
            while (k < g->n_parts && strcmp(g->parts[k].name, w->net->values[i].name))
                k++;
            as_shape shape = {.rank = w->net->values[i].dims.rank};
            for (int d = 0; d < shape.rank; d++)
                shape.dim[d] = w->net->values[i].dims.dim[d].size;
            as_view v = as_view_of((void *)(uintptr_t)w->net->values[i].data, w->net->values[i].dtype, &shape);
            if (k == g->n_parts)
                view_write(list, data, w->net->values[i].name, &v);
        }
    for (int i = 0; i < N_BATCHES; i++) {
        char name[32];
        snprintf(name, sizeof name, "batch.%d.x", i);
        view_write(list, data, name, &w->x[i]);
        snprintf(name, sizeof name, "batch.%d.target", i);
        view_write(list, data, name, &w->target[i]);
    }
    if (fclose(list) || fclose(data))
        stop(w, folder);
}

static double step(worker *w)
{
    as_view         inputs[8] = {w->x[w->step % N_BATCHES]};
    as_train_output out;
    as_train_input  in = {
         .inputs = inputs, .n_inputs = 1, .target = &w->target[w->step % N_BATCHES], .rates = &w->rate, .update = true};
    if (as_trainer_step(AS_RUN(w->env), w->trainer, &in, &out) != ASSAY_OK)
        stop(w, "a step");
    w->step++;
    return out.loss;
}

static double seconds(bool wall)
{
    struct timespec now;
    clock_gettime(wall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void answer(worker *w, const char *line)
{
    int n = 0;
    if (sscanf(line, "losses %d", &n) == 1) {
        for (int i = 0; i < n; i++)
            printf("%s%.9g", i ? " " : "", step(w));
        printf("\n");
    } else if (sscanf(line, "time %d", &n) == 1) {
        bool   wall = w->plan.threads > 1;
        double begin = seconds(wall);
        for (int i = 0; i < n; i++)
            step(w);
        printf("%.9g\n", (seconds(wall) - begin) / n);
    } else if (!strncmp(line, "memory", 6)) {
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        printf("%lld\n", (long long)u.ru_maxrss * 1024);
    } else {
        printf("?\n");
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    worker w = {0};
    char   line[256];
    if (argc != 7) {
        fprintf(stderr, "usage: train-worker SPEC BATCH THREADS LOSS OPTIMIZER FOLDER\n");
        return 2;
    }
    if (assay_env_new(&w.env) != ASSAY_OK || as_model_load(w.env, argv[1], &(as_model_options){.seed = 0}, &w.net) != ASSAY_OK ||
        as_plan_options_read(w.env, NULL, &w.plan) != ASSAY_OK)
        stop(&w, argv[1]);
    const char *dim[2];
    dim[0] = getenv("TRAIN_DIM"); /* "seq=32" */
    w.plan.dims = (as_texts){dim, dim[0] && *dim[0] ? 1 : 0};
    w.plan.batch = atoll(argv[2]);
    w.plan.batch_is_set = true;
    w.plan.threads = atoi(argv[3]);
    w.plan.winograd = getenv("TRAIN_WINOGRAD") != NULL;
    if (as_trainer_new(w.env, w.net, &(as_train_setup){.loss = argv[4], .optimizer = argv[5]}, &w.plan, &w.trainer) != ASSAY_OK)
        stop(&w, argv[1]);
    w.rate = as_trainer_graph(w.trainer)->base_rate;
    for (int i = 0; i < N_BATCHES; i++) {
        w.x[i] = batch_make(&w, w.net->values[w.net->inputs[0]].name, i);
        w.target[i] = batch_make(&w, AS_TRAIN_TARGET, i);
    }
    all_write(&w, argv[6]);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        answer(&w, line);
    for (int i = 0; i < N_BATCHES; i++) {
        free(w.x[i].data);
        free(w.target[i].data);
    }
    as_trainer_free(w.trainer);
    assay_model_free(w.net);
    assay_env_free(w.env);
    return 0;
}
