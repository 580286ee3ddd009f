/* optimizers_test.c - every optimiser for 100 steps, in three groups: PyTorch's own numbers, a reference in double that is written here
 * alone, and every kernel, in place and in any number of parts. */
#include "tests/golden/optimizers.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/cpu/kernel.h"
#include "base/text.h"
#include "op/train/optimizer.h"
#include "tests/runner/test.h"
#include "train/optimizer.h"

static const int64_t starts[GOLDEN_GROUPS] = {0, 5, 17};
static const double  rate_factors[GOLDEN_GROUPS] = {1.0, 0.5, 2.0}, decay_factors[GOLDEN_GROUPS] = {1.0, 0.0, 2.0};
static const int     parts[] = {1, 2, 3, 5};

static double weight(int64_t i) { return (double)((i * 29) % 31 - 15) / 16.0; }
static double gradient(int64_t t, int64_t i) { return (double)((t * 37 + i * 101 + t * i * 7) % 257 - 128) / 64.0; }

static int group_of(int64_t i) { return i < starts[1] ? 0 : i < starts[2] ? 1 : 2; }

/* --- The reference ---------------------------------------------------------------------------------------------------------- */

typedef struct recipe {
    const char *name; /* "adamw" */
    double      rate, decay, beta1, beta2, eps, momentum, dampening, alpha, rho, rate_decay, initial, momentum_decay;
    bool        nesterov, centered, decoupled;
} recipe;

/* Its own reading of the text: a key not given has the default that PyTorch documents. */
static double value(const char *text, const char *key, double otherwise)
{
    char        pattern[40];
    const char *at;
    snprintf(pattern, sizeof pattern, "%s=", key);
    for (at = strstr(text, pattern); at && at[-1] != ':' && at[-1] != ',';)
        at = strstr(at + 1, pattern);
    return at ? strtod(at + strlen(pattern), NULL) : otherwise;
}

static recipe recipe_of(const char *text)
{
    bool rms = !strncmp(text, "rmsprop", 7), delta = !strncmp(text, "adadelta", 8), grad = !strncmp(text, "adagrad", 7);
    return (recipe){.name = text,
                    .rate = value(text, "lr", NAN), /* every case gives it */
                    .decay = value(text, "decay", 0.0),
                    .beta1 = value(text, "beta1", 0.9),
                    .beta2 = value(text, "beta2", 0.999),
                    .eps = value(text, "eps",
                                 delta  ? 1e-6
                                 : grad ? 1e-10
                                        : 1e-8),
                    .momentum = value(text, "momentum", 0.0),
                    .dampening = value(text, "dampening", 0.0),
                    .alpha = value(text, rms ? "alpha" : "rho", rms ? 0.99 : 0.9),
                    .rate_decay = value(text, "lr_decay", 0.0),
                    .initial = value(text, "initial", 0.0),
                    .momentum_decay = value(text, "momentum_decay", 0.004),
                    .nesterov = value(text, "nesterov", 0.0) != 0.0,
                    .centered = value(text, "centered", 0.0) != 0.0,
                    .decoupled = !strncmp(text, "adamw", 5) || value(text, "decoupled", 0.0) != 0.0};
}

typedef struct memory {
    double a, b, c;
} memory;

static double one_step(const recipe *r, double w, double g, double rate, double decay, int t, double product, memory *m)
{
    if (r->decoupled)
        w *= 1.0 - rate * decay;
    else
        g += decay * w;
    if (!strncmp(r->name, "sgd", 3)) {
        if (r->momentum == 0.0)
            return w - rate * g;
        m->a = t == 1 ? g : r->momentum * m->a + (1.0 - r->dampening) * g;
        return w - rate * (r->nesterov ? g + r->momentum * m->a : m->a);
    }
    if (!strncmp(r->name, "rmsprop", 7)) {
        m->a += (1.0 - r->alpha) * (g * g - m->a);
        m->b += (1.0 - r->alpha) * (g - m->b);
        m->c = r->momentum * m->c + g / (sqrt(m->a - (r->centered ? m->b * m->b : 0.0)) + r->eps);
        return w - rate * m->c;
    }
    if (!strncmp(r->name, "adagrad", 7)) {
        m->a = (t == 1 ? r->initial : m->a) + g * g;
        return w - rate / (1.0 + (t - 1) * r->rate_decay) * g / (sqrt(m->a) + r->eps);
    }
    if (!strncmp(r->name, "adadelta", 8)) {
        m->a += (1.0 - r->alpha) * (g * g - m->a);
        double change = sqrt((m->b + r->eps) / (m->a + r->eps)) * g;
        m->b += (1.0 - r->alpha) * (change * change - m->b);
        return w - rate * change;
    }
    m->a += (1.0 - r->beta1) * (g - m->a);
    m->b += (1.0 - r->beta2) * (g * g - m->b);
    double root = sqrt(m->b) / sqrt(1.0 - pow(r->beta2, t)) + r->eps;
    if (strncmp(r->name, "nadam", 5))
        return w - rate / (1.0 - pow(r->beta1, t)) * m->a / root;
    double mu = r->beta1 * (1.0 - 0.5 * pow(0.96, t * r->momentum_decay));
    double next = r->beta1 * (1.0 - 0.5 * pow(0.96, (t + 1) * r->momentum_decay));
    return w - rate * ((1.0 - mu) / (1.0 - product) * g + next / (1.0 - product * next) * m->a) / root;
}

/* w after all steps. */
static void reference(const golden *c, double *w)
{
    recipe r = recipe_of(c->text);
    memory m[GOLDEN_N] = {{0}};
    double product = 1.0;
    for (int i = 0; i < GOLDEN_N; i++)
        w[i] = weight(i);
    for (int t = 1; t <= GOLDEN_STEPS; t++) {
        double squares = 0.0, clip = 1.0;
        for (int i = 0; i < GOLDEN_N; i++)
            squares += gradient(t, i) * gradient(t, i);
        if (c->clip_norm > 0.0)
            clip = fmin(1.0, c->clip_norm / (sqrt(squares) + 1e-6));
        product *= r.beta1 * (1.0 - 0.5 * pow(0.96, t * r.momentum_decay));
        for (int i = 0; i < GOLDEN_N; i++) {
            double g = gradient(t, i) * clip, rate = (double)(float)(r.rate * rate_factors[group_of(i)]);
            double decay = (double)(float)(r.decay * decay_factors[group_of(i)]);
            if (c->clip_value > 0.0)
                g = fmax(-c->clip_value, fmin(c->clip_value, g));
            w[i] = one_step(&r, w[i], g, rate, decay, t, product, &m[i]);
        }
    }
}

Test(optimizers, the_reference_is_what_pytorch_computes)
{
    for (size_t k = 0; k < AS_COUNT(goldens); k++) {
        double w[GOLDEN_N];
        reference(&goldens[k], w);
        for (int i = 0; i < GOLDEN_N; i++)
            if (!(fabs(w[i] - goldens[k].w[i]) <= 1e-10))
                fail("%s: parameter %d is %.17g, PyTorch's %.17g", goldens[k].name, i, w[i], goldens[k].w[i]);
    }
}

/* --- The kernels ------------------------------------------------------------------------------------------------------------ */

typedef struct block {
    assay_env       *env;
    as_arena         arena;
    as_optimizer     o;
    const as_kernel *kernel, *norm_kernel;
    int              n_parts;
    int64_t          n, step;
    as_attr          attrs[AS_OPTIMIZER_ATTRS];
    as_node_ctx      ctx;
    as_tensor_info   in_info[AS_OPT_STATE + AS_OPT_MAX_STATES], out_info[AS_OPT_NEW_STATE + AS_OPT_MAX_STATES];
    as_view          in[AS_OPT_STATE + AS_OPT_MAX_STATES], out[AS_OPT_NEW_STATE + AS_OPT_MAX_STATES];
    float            rates[GOLDEN_GROUPS], decays[GOLDEN_GROUPS], used[GOLDEN_GROUPS], norm;
    int64_t          skipped;
} block;

static void operand(block *b, int i, void *data, as_dtype dtype, const as_shape *shape)
{
    b->in[i] = as_view_of(data, dtype, shape);
    b->in_info[i] = (as_tensor_info){.dtype = dtype, .shape = *shape};
}

static void block_open(block *b, const char *text, double clip_norm, double clip_value, const int64_t *at, int64_t n)
{
    as_shape scalar = {0}, all = AS_SHAPE(n), groups = AS_SHAPE(GOLDEN_GROUPS);
    *b = (block){.n = n};
    expect_eq(assay_env_new(&b->env), ASSAY_OK);
    expect_ok(b->env, as_optimizer_parse(b->env, text, &b->o));
    int n_attrs = as_optimizer_node(&b->o, clip_norm, clip_value, at, GOLDEN_GROUPS, b->attrs);
    for (int k = 0; k < GOLDEN_GROUPS; k++) {
        b->rates[k] = (float)(b->o.rate * rate_factors[k]);
        b->decays[k] = (float)(b->o.decay * decay_factors[k]);
    }
    operand(b, AS_OPT_W, as_arena_take(&b->arena, (size_t)n, 4, 64), AS_F32, &all);
    operand(b, AS_OPT_G, as_arena_take(&b->arena, (size_t)n, 4, 64), AS_F32, &all);
    operand(b, AS_OPT_RATES, b->rates, AS_F32, &groups);
    operand(b, AS_OPT_DECAYS, b->decays, AS_F32, &groups);
    operand(b, AS_OPT_STEP, &b->step, AS_I64, &scalar);
    operand(b, AS_OPT_NORM, &b->norm, AS_F32, &scalar);
    for (int k = 0; k < b->o.n_states; k++) {
        as_shape shape = b->o.states[k].dtype == AS_F64 ? AS_SHAPE(1) : all;
        void    *data = as_arena_take(&b->arena, (size_t)as_shape_count(&shape), as_dtype_bytes(b->o.states[k].dtype), 64);
        operand(b, AS_OPT_STATE + k, data, b->o.states[k].dtype, &shape);
        for (int64_t i = 0; i < as_shape_count(&shape); i++)
            as_view_set(&b->in[AS_OPT_STATE + k], i, b->o.states[k].initial);
    }
    for (int64_t i = 0; i < n; i++)
        as_view_set(&b->in[AS_OPT_W], i, weight(i));
    b->ctx = (as_node_ctx){.op = as_op_find(b->o.op),
                           .name = text,
                           .attrs = b->attrs,
                           .n_attrs = n_attrs,
                           .in = b->in_info,
                           .n_in = b->o.n_states ? AS_OPT_STATE + b->o.n_states : AS_OPT_NORM + 1,
                           .out = b->out_info,
                           .n_out = AS_OPT_NEW_STATE + b->o.n_states};
    expect_ok(b->env, as_op_infer(b->env, &b->ctx, b->out_info));
    b->out[AS_OPT_USED] = as_view_of(b->used, AS_F32, &groups);
    b->out[AS_OPT_SKIPPED] = as_view_of(&b->skipped, AS_I64, &scalar);
}

static void block_close(block *b)
{
    as_arena_drop(&b->arena);
    assay_env_free(b->env);
}

static void kernel_run(const as_kernel *k, const as_kernel_args *args, int n_parts)
{
    static double scratch[64];
    expect(!k->scratch_bytes || k->scratch_bytes(args->ctx, n_parts) <= sizeof scratch);
    for (int part = n_parts - 1; part >= 0; part--)
        k->run(args, part, n_parts, scratch);
    for (int part = n_parts - 1; k->finish && part >= 0; part--)
        k->finish(args, part, n_parts, scratch);
    expect_ok(args->env, *args->status);
}

static void norm_take(block *b)
{
    as_tensor_info in = b->in_info[AS_OPT_G], out = {.dtype = AS_F32};
    as_view        y = as_view_of(&b->norm, AS_F32, &(as_shape){0});
    as_node_ctx    ctx = {.op = as_op_find("assay.GradNorm"), .in = &in, .n_in = 1, .out = &out, .n_out = 1};
    assay_status   status = ASSAY_OK;
    kernel_run(b->norm_kernel, &(as_kernel_args){.ctx = &ctx, .in = &b->in[AS_OPT_G], .out = &y, .env = b->env, .status = &status},
               b->n_parts);
}

/* In place where the kernel can; the reference code writes elsewhere, and it is copied. */
static void block_step(block *b)
{
    assay_status status = ASSAY_OK;
    void        *elsewhere[AS_OPT_NEW_STATE + AS_OPT_MAX_STATES] = {0};
    b->step++;
    for (int64_t i = 0; i < b->n; i++)
        as_view_set(&b->in[AS_OPT_G], i, gradient(b->step, i));
    norm_take(b);
    for (int k = 0; k < b->ctx.n_out; k++) {
        if (k == AS_OPT_USED || k == AS_OPT_SKIPPED)
            continue;
        b->out[k] = b->in[k == AS_OPT_NEW_W ? AS_OPT_W : k - AS_OPT_NEW_STATE + AS_OPT_STATE];
        if (!b->kernel->in_place_of[k]) {
            elsewhere[k] = b->out[k].data;
            b->out[k].data = malloc(as_view_bytes(&b->out[k]));
            expect(b->out[k].data);
        }
    }
    kernel_run(b->kernel, &(as_kernel_args){.ctx = &b->ctx, .in = b->in, .out = b->out, .env = b->env, .status = &status},
               b->n_parts);
    for (int k = 0; k < b->ctx.n_out; k++)
        if (elsewhere[k]) {
            memcpy(elsewhere[k], b->out[k].data, as_view_bytes(&b->out[k]));
            free(b->out[k].data);
        }
}

static const as_kernel *norm_kernel_for(const as_kernel *k)
{
    const as_kernel *found = NULL;
    for (int i = 0; as_k_table[i]; i++)
        if (!strcmp(as_k_table[i]->op, "assay.GradNorm") && as_k_table[i]->isa == k->isa)
            found = as_k_table[i];
    expect(found);
    return found;
}

static bool is_here(const as_kernel *k, const block *b)
{
    char why[200];
    return as_kernel_is_for(k, b->o.op) && !(k->isa & ~as_isa_cpu()) && k->accepts(&b->ctx, why, sizeof why);
}

static void golden_judge(const golden *c, const as_kernel *k, const double *want, int *n_ran)
{
    float first[GOLDEN_N] = {0};
    for (size_t p = 0; p < AS_COUNT(parts); p++) {
        block b;
        block_open(&b, c->text, c->clip_norm, c->clip_value, starts, GOLDEN_N);
        if (!is_here(k, &b)) {
            block_close(&b);
            return;
        }
        b.kernel = k;
        b.norm_kernel = norm_kernel_for(k);
        b.n_parts = parts[p];
        ++*n_ran;
        for (int t = 0; t < GOLDEN_STEPS; t++)
            block_step(&b);
        const float *w = b.in[AS_OPT_W].data;
        for (int i = 0; i < GOLDEN_N; i++)
            if (!(fabs((double)w[i] - want[i]) <= 1e-6 * fmax(1.0, fabs(want[i]))))
                fail("%s by %s: parameter %d is %.9g after %d steps, and in double %.9g", c->name, k->name, i, (double)w[i],
                     GOLDEN_STEPS, want[i]);
        expect_eq(b.skipped, 0);
        for (int g = 0; g < GOLDEN_GROUPS; g++)
            expect_near((double)b.used[g], (double)b.rates[g] / (1.0 + (GOLDEN_STEPS - 1) * value(c->text, "lr_decay", 0.0)), 1e-9);
        if (p)
            expect(!memcmp(first, w, sizeof first));
        memcpy(first, w, sizeof first);
        block_close(&b);
    }
}

Test(optimizers, every_kernel_is_the_reference_and_pytorchs_for_100_steps)
{
    for (size_t c = 0; c < AS_COUNT(goldens); c++) {
        double want[GOLDEN_N];
        int    n_ran = 0;
        reference(&goldens[c], want);
        for (int i = 0; as_k_table[i]; i++) {
            golden_judge(&goldens[c], as_k_table[i], want, &n_ran);
            golden_judge(&goldens[c], as_k_table[i], goldens[c].w, &n_ran);
        }
        expect(n_ran >= 16); /* the reference code and a vector kernel at least, twice, in four ways of sharing */
    }
}

/* --- Many parts, and what is skipped --------------------------------------------------------------------------------------------- */

enum { N_LARGE = 20011, LARGE_STEPS = 5 };

static void large_run(const char *text, const as_kernel *k, int n_parts, block *b)
{
    static const int64_t at[GOLDEN_GROUPS] = {0, 4099, 12345};
    block_open(b, text, 1.0, 0.5, at, N_LARGE);
    b->kernel = k;
    b->norm_kernel = norm_kernel_for(k);
    b->n_parts = n_parts;
    for (int t = 0; t < LARGE_STEPS; t++)
        block_step(b);
}

Test(optimizers, the_bits_do_not_depend_on_the_number_of_parts)
{
    for (size_t c = 0; c < AS_COUNT(goldens); c++)
        for (int i = 0; as_k_table[i]; i++) {
            block first, again;
            block_open(&first, goldens[c].text, 1.0, 0.5, starts, GOLDEN_N);
            bool here = is_here(as_k_table[i], &first) && strcmp(as_k_table[i]->op, "*");
            block_close(&first);
            for (size_t p = 1; here && p < AS_COUNT(parts); p++) {
                large_run(goldens[c].text, as_k_table[i], 1, &first);
                large_run(goldens[c].text, as_k_table[i], parts[p], &again);
                for (int k = 0; k < AS_OPT_STATE + first.o.n_states; k++)
                    if (k == AS_OPT_W || k == AS_OPT_NORM || k >= AS_OPT_STATE)
                        if (memcmp(first.in[k].data, again.in[k].data, as_view_bytes(&first.in[k])))
                            fail("%s by %s: other bits of input %d in %d parts", goldens[c].name, as_k_table[i]->name, k, parts[p]);
                block_close(&first);
                block_close(&again);
            }
        }
}

Test(optimizers, the_norm_has_the_same_bits_by_every_kernel)
{
    block b;
    float first = NAN;
    block_open(&b, "sgd", 0.0, 0.0, starts, N_LARGE);
    for (int64_t i = 0; i < N_LARGE; i++)
        as_view_set(&b.in[AS_OPT_G], i, gradient(3, i) * 1.1);
    for (int i = 0; as_k_table[i]; i++)
        for (size_t p = 0; p < AS_COUNT(parts); p++) {
            if (strcmp(as_k_table[i]->op, "assay.GradNorm") || (as_k_table[i]->isa & ~as_isa_cpu()))
                continue;
            b.norm_kernel = as_k_table[i];
            b.n_parts = parts[p];
            norm_take(&b);
            first = isnan(first) ? b.norm : first;
            expect(!memcmp(&first, &b.norm, sizeof first));
        }
    expect(first > 100.0f);
    block_close(&b);
}

Test(optimizers, an_infinite_norm_or_step_0_changes_nothing_and_says_so)
{
    for (size_t c = 0; c < AS_COUNT(goldens); c++)
        for (int i = 0; as_k_table[i]; i++) {
            block  b;
            float  w[GOLDEN_N];
            double state[AS_OPT_MAX_STATES][GOLDEN_N];
            block_open(&b, goldens[c].text, 1.0, 0.0, starts, GOLDEN_N);
            if (!is_here(as_k_table[i], &b) || !strcmp(as_k_table[i]->op, "*")) {
                block_close(&b);
                continue;
            }
            b.kernel = as_k_table[i];
            b.norm_kernel = norm_kernel_for(b.kernel);
            b.n_parts = 2;
            block_step(&b);
            memcpy(w, b.in[AS_OPT_W].data, sizeof w);
            for (int k = 0; k < b.o.n_states; k++)
                memcpy(state[k], b.in[AS_OPT_STATE + k].data, as_view_bytes(&b.in[AS_OPT_STATE + k]));
            assay_status status = ASSAY_OK;
            for (int bad = 0; bad < 3; bad++) { /* step 0 is none, either */
                b.norm = bad == 0 ? HUGE_VALF : bad == 1 ? NAN : 1.0f;
                b.step = bad == 2 ? 0 : b.step + 1;
                kernel_run(b.kernel, &(as_kernel_args){.ctx = &b.ctx, .in = b.in, .out = b.out, .env = b.env, .status = &status},
                           2);
                expect_eq(b.skipped, 1);
                expect_near((double)b.used[1], 0.0, 0.0);
                expect(!memcmp(w, b.in[AS_OPT_W].data, sizeof w));
                for (int k = 0; k < b.o.n_states; k++)
                    expect(!memcmp(state[k], b.in[AS_OPT_STATE + k].data, as_view_bytes(&b.in[AS_OPT_STATE + k])));
            }
            block_close(&b);
        }
}

/* --- L-BFGS ---------------------------------------------------------------------------------------------------------------------- */

static assay_status rosenbrock(void *arg, const double *w, double *loss, double *g)
{
    ++*(int *)arg;
    *loss = 0.0;
    memset(g, 0, 4 * sizeof *g);
    for (int i = 0; i < 3; i++) {
        double a = w[i + 1] - w[i] * w[i], b = 1.0 - w[i];
        *loss += 100.0 * a * a + b * b;
        g[i] += -400.0 * a * w[i] - 2.0 * b;
        g[i + 1] += 200.0 * a;
    }
    return ASSAY_OK;
}

static assay_status quadratic(void *arg, const double *w, double *loss, double *g)
{
    double sum = 0.0;
    ++*(int *)arg;
    *loss = w[0] * w[5];
    for (int i = 0; i < 12; i++) {
        *loss += 0.5 * (1.0 + 3.0 * i) * (w[i] - 1.0) * (w[i] - 1.0);
        g[i] = (1.0 + 3.0 * i) * (w[i] - 1.0);
        sum += w[i];
    }
    *loss += sum * sum / 8.0;
    for (int i = 0; i < 12; i++)
        g[i] += sum / 4.0;
    g[0] += w[5];
    g[5] += w[0];
    return ASSAY_OK;
}

static void lbfgs_judge(const char *text, as_lbfgs_eval eval, int n, double *w, const double *want, int n_steps)
{
    assay_env      *env;
    as_optimizer    o;
    as_lbfgs       *l;
    as_lbfgs_report r;
    int             n_calls = 0, n_told = 0;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_ok(env, as_optimizer_parse(env, text, &o));
    expect(!o.op);
    expect_ok(env, as_lbfgs_new(env, &o.lbfgs, n, &l));
    for (int t = 0; t < n_steps; t++) {
        expect_ok(env, as_lbfgs_step(l, w, eval, &n_calls, &r));
        expect(r.loss_after <= r.loss_before);
        n_told += r.n_evaluations;
        for (int i = 0; i < n; i++)
            if (!(fabs(w[i] - want[t * n + i]) <= 1e-6 * fmax(1.0, fabs(want[t * n + i]))))
                fail("step %d: parameter %d is %.17g, PyTorch's %.17g", t, i, w[i], want[t * n + i]);
    }
    expect_eq(n_told, n_calls);
    as_lbfgs_free(l);
    assay_env_free(env);
}

Test(optimizers, lbfgs_goes_where_pytorchs_goes_in_rosenbrocks_valley)
{
    double w[] = {-1.2, 1.0, 0.5, 2.0};
    lbfgs_judge("lbfgs:max_iter=4", rosenbrock, 4, w, golden_rosenbrock[0], AS_COUNT(golden_rosenbrock));
}

Test(optimizers, lbfgs_forgets_old_pairs_as_pytorchs_does)
{
    double w[12];
    for (int i = 0; i < 12; i++)
        w[i] = i % 5 - 2;
    lbfgs_judge("lbfgs:lr=0.5,max_iter=2,history=3", quadratic, 12, w, golden_quadratic[0], AS_COUNT(golden_quadratic));
}
