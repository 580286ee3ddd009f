/* zoo_train.c - workload: one step of training without the update: the gradients of all parameters.
 *
 * The gradient of the outputs is an input, as a loss would give it; of the forward pass it has what the gradients read. */
#include "base/text.h"
#include "model/graph/maker.h"
#include "model/zoo/workload.h"

#include <string.h>

enum { MAX_BATCH = 1 << 20, MAX_SEQ = 1 << 16 };

static const as_zoo_param params[] = {
    {"kind", "mlp", "mlp (mlp-small), cnn (cnn-small), cfc (without backbone) or ltc"},
    {"batch", "32", "examples, or sequences"},
    {"seq", "16", "steps of a sequence"},
    {NULL, NULL, NULL},
};

static const char *const   kinds[] = {"mlp", "cnn", "cfc", "ltc", NULL};
static const char *const   nets[] = {"mlp-small", "cnn-small", "cfc:backbone_layers=0",
                                     "ltc:wiring=full"}; /* in the order of `kinds` */
static const as_zoo_choice choices[] = {{"kind", kinds}, {NULL, NULL}};
static const as_zoo_axes   axes = {.variant = "kind"};

static void build(as_maker *m, const as_zoo_args *args)
{
    const char *kind = as_zoo_word(m, args, "kind");
    int         i = 0;
    as_zoo_int(m, args, "batch", 1, MAX_BATCH);
    as_zoo_int(m, args, "seq", 1, MAX_SEQ);
    if (as_maker_failed(m))
        return;
    while (strcmp(kinds[i], kind))
        i++;
    as_zoo_build(m, nets[i]);
}

/* The names of all parameters that have a gradient. */
static int wanted(const assay_model *model, const char **out)
{
    int n = 0;
    for (int i = 0; i < model->n_values; i++)
        if (model->values[i].role == AS_ROLE_PARAM && as_dtype_is_float(model->values[i].dtype))
            out[n++] = model->values[i].name;
    return n;
}

/* The network that replaces it keeps its data and its name. */
static assay_status refine(assay_env *env, const as_zoo_args *args, assay_model **model)
{
    assay_model *net = *model, *back = NULL;
    as_arena     arena = {0};
    const char **names = AS_TAKE(&arena, const char *, net->n_values);
    as_model_fix(net, "batch", as_zoo_number(args, "batch"));
    as_model_fix(net, "seq", as_zoo_number(args, "seq"));
    assay_status status = names ? as_model_grad(env, net, NULL, 0, names, wanted(net, names), &back)
                                : as_fail(env, ASSAY_NO_MEMORY, "model: train: not enough memory for the names of its parameters");
    as_arena_drop(&arena);
    AS_TRY(status);
    as_model_link *link = AS_TAKE(&back->arena, as_model_link, 1);
    if (!link) {
        assay_model_free(back);
        return as_fail(env, ASSAY_NO_MEMORY, "model: train: not enough memory for its parameters");
    }
    *link = (as_model_link){.model = net};
    back->lenders = link;
    back->name = net->name;
    *model = back;
    return ASSAY_OK;
}

const as_zoo as_zoo_train = {
    .name = "train",
    .help = "workload: forward and backward pass, the gradients of all parameters",
    .params = params,
    .choices = choices,
    .axes = &axes,
    .trains = true,
    .build = build,
    .refine = refine,
};
