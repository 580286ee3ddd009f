/* optimizer_test.c - texts that name optimisers and groups. */
#include "train/optimizer.h"

#include "op/train/optimizer.h"
#include "tests/runner/test.h"

static assay_env *env;

static void start(void) { expect_eq(assay_env_new(&env), ASSAY_OK); }
static void end(void) { assay_env_free(env); }

static double attr(const as_optimizer *o, const char *name)
{
    for (int i = 0; i < o->n_attrs; i++)
        if (!strcmp(o->attrs[i].name, name))
            return o->attrs[i].kind == AS_ATTR_INT ? (double)o->attrs[i].i : o->attrs[i].f;
    fail("%s has no attribute %s", o->name, name);
}

Test(optimizer, a_text_gives_the_operator_its_constants_and_its_states)
{
    as_optimizer o;
    start();
    expect_ok(env, as_optimizer_parse(env, "adamw:lr=2e-3,beta1=0.8,eps=1e-6,decay=0.1", &o));
    expect_str(o.op, "assay.Adam");
    expect_near(o.rate, 2e-3, 0);
    expect_near(o.decay, 0.1, 0);
    expect_near(attr(&o, "beta1"), 0.8, 0);
    expect_near(attr(&o, "beta2"), 0.999, 0);
    expect_near(attr(&o, "epsilon"), 1e-6, 0);
    expect_near(attr(&o, "decoupled"), 1, 0);
    expect_eq(o.n_states, 2);
    expect_str(o.states[1].name, "exp_avg_sq");
    expect_eq(o.bytes_per_parameter, 8);
    end();
}

/* The defaults that PyTorch 2.15 documents. */
Test(optimizer, without_keys_everything_is_as_in_pytorch)
{
    static const struct {
        const char *name;
        double      rate, decay;
        int         n_states, bytes;
    } all[] = {{"sgd", 1e-3, 0, 0, 0},     {"adam", 1e-3, 0, 2, 8},  {"adamw", 1e-3, 1e-2, 2, 8}, {"rmsprop", 1e-2, 0, 1, 4},
               {"adagrad", 1e-2, 0, 1, 4}, {"adadelta", 1, 0, 2, 8}, {"nadam", 2e-3, 0, 3, 8},    {"lbfgs", 1, 0, 0, 1664}};
    as_optimizer o;
    start();
    for (size_t i = 0; i < AS_COUNT(all); i++) {
        expect_str(as_optimizer_names[i], all[i].name);
        expect_ok(env, as_optimizer_parse(env, all[i].name, &o));
        expect_near(o.rate, all[i].rate, 0);
        expect_near(o.decay, all[i].decay, 0);
        expect_eq(o.n_states, all[i].n_states);
        expect_eq(o.bytes_per_parameter, all[i].bytes);
    }
    expect(!as_optimizer_names[AS_COUNT(all)]);
    expect_eq(o.lbfgs.max_iterations, 20);
    expect_eq(o.lbfgs.max_evaluations, 25);
    expect_eq(o.lbfgs.history, 100);
    end();
}

Test(optimizer, states_follow_the_form_of_the_formula)
{
    as_optimizer o;
    start();
    expect_ok(env, as_optimizer_parse(env, "sgd:momentum=0.9", &o));
    expect_eq(o.n_states, 1);
    expect_ok(env, as_optimizer_parse(env, "rmsprop:momentum=0.9,centered=1", &o));
    expect_eq(o.n_states, 3);
    expect_str(o.states[1].name, "grad_avg");
    expect_ok(env, as_optimizer_parse(env, "nadam", &o));
    expect_eq(o.states[2].dtype, AS_F64);
    expect_near(o.states[2].initial, 1, 0);
    expect_ok(env, as_optimizer_parse(env, "adagrad:initial=0.25", &o));
    expect_near(o.states[0].initial, 0.25, 0);
    end();
}

Test(optimizer, what_is_shown_is_read_as_the_same)
{
    static const char *const texts[] = {"sgd:lr=0.125,momentum=0.9,nesterov=1", "adamw:lr=3e-4", "rmsprop:alpha=0.5,centered=1",
                                        "adagrad:initial=0.1,lr_decay=0.01",    "adadelta",      "nadam:decoupled=1",
                                        "lbfgs:history=10,max_iter=4"};
    start();
    for (size_t i = 0; i < AS_COUNT(texts); i++) {
        as_optimizer a, b;
        char         one[256], two[256];
        expect_ok(env, as_optimizer_parse(env, texts[i], &a));
        expect_ok(env, as_optimizer_parse(env, as_optimizer_show(&a, one, sizeof one), &b));
        expect_str(as_optimizer_show(&b, two, sizeof two), one);
        expect_eq(b.n_states, a.n_states);
    }
    as_optimizer o;
    char         text[256];
    expect_ok(env, as_optimizer_parse(env, "adam:lr=0.01", &o));
    expect_str(as_optimizer_show(&o, text, sizeof text), "adam:lr=0.01,decay=0,beta1=0.9,beta2=0.999,eps=1e-08");
    end();
}

Test(optimizer, bad_texts_are_refused_with_what_exists)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"adm", "optimizer: unknown optimiser \"adm\"; known: sgd, adam, adamw, rmsprop, adagrad, adadelta, nadam, lbfgs"},
        {"", "unknown optimiser \"\""},
        {"adam:rate=1", "optimizer: adam has no key \"rate\"; known: lr, decay, beta1, beta2, eps"},
        {"sgd:momentum", "optimizer: \"momentum\" is not KEY=VALUE"},
        {"sgd:=1", "is not KEY=VALUE"},
        {"sgd:lr=fast", "optimizer: sgd:lr=fast: it is not a number"},
        {"sgd:lr=-1", "it must be at least 0"},
        {"adam:beta2=1", "optimizer: adam:beta2=1: it must be at least 0 and below 1"},
        {"sgd:lr=1,lr=2", "optimizer: sgd:lr is given twice"},
        {"sgd:nesterov=1", "sgd:nesterov=1 needs a momentum"},
        {"sgd:momentum=0.9,nesterov=maybe", "it must be 0 or 1"},
        {"lbfgs:history=0", "it must be a whole number from 1"},
        {"lbfgs:max_iter=1.5", "it must be a whole number from 1"},
    };
    as_optimizer o = {.name = "untouched"};
    start();
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        expect_fails(env, as_optimizer_parse(env, bad[i].text, &o), ASSAY_BAD_INPUT, bad[i].part);
        expect_str(o.name, "untouched");
    }
    end();
}

/* The operator takes what the text gives, clipping and groups included. */
Test(optimizer, every_operator_takes_its_node)
{
    start();
    for (int i = 0; as_optimizer_names[i]; i++) {
        as_optimizer   o;
        as_attr        attrs[AS_OPTIMIZER_ATTRS];
        int64_t        starts[] = {0, 3};
        as_tensor_info in[AS_OPT_STATE + AS_OPT_MAX_STATES] = {{.dtype = AS_F32, .shape = AS_SHAPE(7)},
                                                               {.dtype = AS_F32, .shape = AS_SHAPE(7)},
                                                               {.dtype = AS_F32, .shape = AS_SHAPE(2)},
                                                               {.dtype = AS_F32, .shape = AS_SHAPE(2)},
                                                               {.dtype = AS_I64},
                                                               {.dtype = AS_F32}};
        as_tensor_info out[AS_MAX_OUT];
        expect_ok(env, as_optimizer_parse(env, as_optimizer_names[i], &o));
        if (!o.op)
            continue;
        for (int k = 0; k < o.n_states; k++)
            in[AS_OPT_STATE + k] =
                (as_tensor_info){.dtype = o.states[k].dtype, .shape = o.states[k].dtype == AS_F64 ? AS_SHAPE(1) : AS_SHAPE(7)};
        as_node_ctx n = {.op = as_op_find(o.op),
                         .attrs = attrs,
                         .n_attrs = as_optimizer_node(&o, 1.0, 0.5, starts, 2, attrs),
                         .in = in,
                         .n_in = o.n_states ? AS_OPT_STATE + o.n_states : AS_OPT_NORM + 1,
                         .n_out = AS_OPT_NEW_STATE + o.n_states};
        expect_ok(env, as_op_infer(env, &n, out));
    }
    end();
}

/* --- Groups ------------------------------------------------------------------------------------------------------------------- */

Test(optimizer, a_group_is_a_pattern_and_what_it_changes)
{
    as_group     g;
    as_optimizer o;
    start();
    expect_ok(env, as_optimizer_parse(env, "adamw:lr=0.01,decay=0.1", &o));
    expect_ok(env, as_group_parse(env, "*.bias:lr=0.1x,decay=0", &g));
    expect(as_group_fits(&g, "fc.bias") && as_group_fits(&g, ".bias") && !as_group_fits(&g, "fc.bias.x") &&
           !as_group_fits(&g, "bias"));
    expect_near(as_group_factor(&o, &g), 0.1, 0);
    expect_near(as_group_decay(&o, &g), 0, 0);
    expect_ok(env, as_group_parse(env, "layer?.*.w*t:lr=0.005", &g));
    expect(as_group_fits(&g, "layer4.conv.weight") && !as_group_fits(&g, "layer44.conv.weight"));
    expect_near(as_group_factor(&o, &g), 0.5, 1e-15);
    expect_near(as_group_decay(&o, &g), 0.1, 0);
    expect_ok(env, as_group_parse(env, "onnx::MatMul_*:decay=0", &g));
    expect_str(g.pattern, "onnx::MatMul_*");
    expect_near(as_group_factor(&o, &g), 1, 0);
    expect_near(as_group_factor(&o, NULL), 1, 0);
    expect_fails(env, as_group_parse(env, "*.bias", &g), ASSAY_BAD_INPUT, "group: \"*.bias\" is not PATTERN:lr=...,decay=...");
    expect_fails(env, as_group_parse(env, "*.bias:", &g), ASSAY_BAD_INPUT, "is not PATTERN:");
    expect_fails(env, as_group_parse(env, "*:rate=1", &g), ASSAY_BAD_INPUT, "has the key \"rate\"; known: lr, decay");
    expect_fails(env, as_group_parse(env, "*:decay=1x", &g), ASSAY_BAD_INPUT, "decay is \"1x\" and must be a number of at least 0");
    expect_fails(env, as_group_parse(env, "*:lr=x", &g), ASSAY_BAD_INPUT, "or a factor such as 0.1x");
    expect_fails(env, as_group_parse(env, "*:lr=1,lr=2", &g), ASSAY_BAD_INPUT, "gives lr twice");
    end();
}
