/* guard.c - a baseline, and a check against it: how a program of yours says "slower than before" in CI.
 *
 *     cc guard.c $(pkg-config --cflags --libs assay) -o guard
 *     ./guard runs.db save main mlp-small            # this program itself, with a network of the library
 *     ./guard runs.db save-program main ./mine       # or a program that speaks the line protocol (arm/toy.c)
 *     ./guard runs.db check main                     # 0: no regression, 1: one, 3: a critical one
 *     ./guard runs.db list | promote FROM TO | remove NAME
 *
 * On a shared machine a stored number is not a baseline: the store keeps the program, and a check starts it again as `./guard
 * bench CASE --key=value ... --speak`, in turns with today's; assay_speak() answers that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assay.h"

typedef struct guard {
    assay_env     *env;
    assay_options *options;
    const char   **args;
    size_t         n_args;
    int            code;
} guard;

static assay_status save(guard *g) { return assay_baseline_create(g->env, g->args[0], g->args + 1, g->n_args - 1, g->options); }

static assay_status save_program(guard *g)
{
    return assay_baseline_create_programs(g->env, g->args[0], g->args + 1, g->n_args - 1, g->options);
}

static assay_status promote(guard *g) { return assay_baseline_promote(g->env, g->args[0], g->args[1], g->options); }
static assay_status drop(guard *g) { return assay_baseline_remove(g->env, g->args[0], g->options); }

static assay_status check(guard *g)
{
    assay_facts *facts = NULL;
    assay_status status = assay_check(g->env, g->args[0], g->options, &facts, &g->code);
    if (status == ASSAY_OK)
        status = assay_report(g->env, (const assay_facts *const *)&facts, 1, "text", "-");
    assay_facts_free(facts);
    return status;
}

static assay_status list(guard *g)
{
    assay_facts        *facts = NULL;
    const assay_metric *metric;
    const char         *name, *when;
    assay_status        status = assay_baselines(g->env, g->options, &facts);
    for (size_t row = 0; status == ASSAY_OK && assay_facts_cell(facts, 0, row, 0, &name, &metric); row++)
        if (assay_facts_cell(facts, 0, row, 1, &when, &metric))
            printf("%s, saved %s\n", name, when);
    assay_facts_free(facts);
    return status;
}

/* guard bench CASE --speak --devices cpu --batch=8 ... */
static assay_status speak(guard *g, int argc, char **argv)
{
    assay_status status = ASSAY_OK;
    for (int i = 3; i < argc && status == ASSAY_OK; i++) {
        char *key = argv[i], *value = strchr(key, '=');
        if (strncmp(key, "--", 2) || !strcmp(key, "--speak"))
            continue;
        if (value)
            *value++ = 0;
        else if (i + 1 < argc)
            value = argv[++i];
        status = assay_options_set(g->env, g->options, key + 2, value ? value : "");
    }
    return status == ASSAY_OK ? assay_speak(g->env, argv[2], g->options, 0, 1) : status;
}

static const struct {
    const char *name;
    size_t      min_args, max_args;
    assay_status (*run)(guard *g);
} words[] = {{"save", 2, 64, save},      {"save-program", 2, 64, save_program},
             {"check", 1, 1, check},     {"list", 0, 0, list},
             {"promote", 2, 2, promote}, {"remove", 1, 1, drop}};

static int usage(const char *program)
{
    fprintf(
        stderr,
        "usage: %s STORE save NAME MODEL... | save-program NAME COMMAND... | check NAME | list | promote FROM TO | remove NAME\n",
        program);
    return 2;
}

int main(int argc, char **argv)
{
    guard        g = {0};
    size_t       word = 0, n_words = sizeof words / sizeof words[0];
    int          speaks = argc > 2 && !strcmp(argv[1], "bench");
    assay_status status;
    while (!speaks && argc > 2 && word < n_words && strcmp(argv[2], words[word].name))
        word++;
    g.args = (const char **)argv + 3;
    g.n_args = argc > 3 ? (size_t)argc - 3 : 0;
    if (!speaks && (argc < 3 || word == n_words || g.n_args < words[word].min_args || g.n_args > words[word].max_args))
        return usage(argv[0]);
    status = assay_env_new(&g.env);
    if (status == ASSAY_OK)
        status = assay_options_new(g.env, &g.options);
    if (status == ASSAY_OK && !speaks)
        status = assay_options_set(g.env, g.options, "store", argv[1]);
    if (status == ASSAY_OK && !speaks && words[word].run == check)
        status = assay_options_set(g.env, g.options, "threshold", "10");
    if (status == ASSAY_OK)
        status = speaks ? speak(&g, argc, argv) : words[word].run(&g);
    if (status != ASSAY_OK)
        fprintf(stderr, "guard: %s\n", assay_message(g.env));
    assay_options_free(g.options);
    assay_env_free(g.env);
    return status == ASSAY_OK ? g.code : 2;
}
