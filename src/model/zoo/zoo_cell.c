/* zoo_cell.c - workload: a recurrent network of one kind over a batch of sequences, every size fixed. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/graph/maker.h"
#include "model/zoo/workload.h"

enum { MAX_SIZE = 1 << 14, MAX_BATCH = 1 << 20, MAX_SEQ = 1 << 16 };

static const as_zoo_param params[] = {
    {"kind", "cfc", "cfc, ltc, lstm or gru"}, {"units", "64", "units of the cell"},
    {"inputs", "16", "numbers per step"},     {"batch", "1", "sequences"},
    {"seq", "16", "steps of a sequence"},     {NULL, NULL, NULL},
};

static const char *const   kinds[] = {"cfc", "ltc", "lstm", "gru", NULL};
static const as_zoo_choice choices[] = {{"kind", kinds}, {NULL, NULL}};
static const as_zoo_axes   axes = {.variant = "kind", .rows = "batch"};

static void build(as_maker *m, const as_zoo_args *args)
{
    char        spec[128];
    const char *kind = as_zoo_word(m, args, "kind");
    int64_t     units = as_zoo_int(m, args, "units", 1, MAX_SIZE), inputs = as_zoo_int(m, args, "inputs", 1, MAX_SIZE);
    int64_t     seq = as_zoo_int(m, args, "seq", 1, MAX_SEQ);
    as_zoo_int(m, args, "batch", 1, MAX_BATCH);
    if (as_maker_failed(m))
        return;
    if (!strcmp(kind, "lstm") || !strcmp(kind, "gru"))
        snprintf(spec, sizeof spec, "%s:units=%d,inputs=%d,steps=%d,outputs=%d", kind, (int)units, (int)inputs, (int)seq,
                 (int)units);
    else
        snprintf(spec, sizeof spec, "%s:units=%d,input=%d%s", kind, (int)units, (int)inputs,
                 strcmp(kind, "ltc") ? "" : ",wiring=full");
    as_zoo_build(m, spec);
}

static assay_status refine(assay_env *env, const as_zoo_args *args, assay_model **model)
{
    (void)env;
    as_model_fix(*model, "batch", as_zoo_number(args, "batch"));
    as_model_fix(*model, "seq", as_zoo_number(args, "seq"));
    return ASSAY_OK;
}

const as_zoo as_zoo_cell = {
    .name = "cell",
    .help = "workload: a recurrent network over a batch of sequences",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .build = build,
    .refine = refine,
};
