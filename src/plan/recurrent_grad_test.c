/* recurrent_grad_test.c - the gradients of whole recurrent networks: on the CPU as by the reference code, with the same bits on any
 * number of threads, and by finite differences. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "plan/test_fixture.h"

enum { MAX_WRT = 64, MAX_IN = 8, STEP_BITS = 9 };

typedef struct network {
    assay_env   *env;
    assay_model *model, *grad;
    as_arena     arena;
    as_graph     forward, back;
    as_view      in[MAX_IN], y[MAX_IN], back_in[2 * MAX_IN], want[MAX_WRT];
    const char  *wrt[MAX_WRT];
    int          n_wrt;
} network;

static as_view view_take(as_arena *arena, const as_tensor_info *info)
{
    return as_view_of(as_arena_take(arena, (size_t)as_shape_count(&info->shape), as_dtype_bytes(info->dtype), 64), info->dtype,
                      &info->shape);
}

static void network_open(network *n, const char *spec, int64_t batch, int64_t steps)
{
    as_binding_dim dims[] = {{"batch", batch}, {"seq", steps}};
    *n = (network){0};
    expect_ok(NULL, assay_env_new(&n->env));
    expect_ok(n->env, assay_model_load(n->env, spec, NULL, &n->model));
    for (int i = 0; i < n->model->n_values; i++)
        if (n->model->values[i].role == AS_ROLE_PARAM && as_dtype_is_float(n->model->values[i].dtype))
            n->wrt[n->n_wrt++] = n->model->values[i].name;
    expect(n->n_wrt > 0 && n->n_wrt <= MAX_WRT);
    int n_dims = strstr(spec, "steps=") ? 1 : 2;
    expect_ok(n->env, as_graph_bind(n->env, n->model, dims, n_dims, NULL, 0, 0, &n->arena, &n->forward));
    expect_ok(n->env, as_model_grad(n->env, n->model, dims, n_dims, n->wrt, n->n_wrt, &n->grad));
    expect_ok(n->env, as_graph_bind(n->env, n->grad, NULL, 0, NULL, 0, 0, &n->arena, &n->back));
    for (int i = 0; i < n->back.n_inputs; i++) {
        const as_bound_value *v = &n->back.values[n->back.inputs[i]];
        n->back_in[i] = view_take(&n->arena, &v->info);
        as_random_input(5, v->name, &n->back_in[i]);
        for (int64_t e = 0; !strcmp(v->name, "timespans") && e < as_shape_count(&v->info.shape); e++)
            as_view_set(&n->back_in[i], e, 0.5 + 0.5 * as_view_get(&n->back_in[i], e));
        if (i < n->forward.n_inputs)
            n->in[i] = n->back_in[i];
    }
    for (int i = 0; i < n->forward.n_outputs; i++)
        n->y[i] = view_take(&n->arena, &n->forward.values[n->forward.outputs[i]].info);
    for (int i = 0; i < n->n_wrt; i++)
        n->want[i] = view_take(&n->arena, &n->back.values[n->back.outputs[i]].info);
    expect_ok(n->env, as_graph_eval(n->env, &n->back, n->back_in, n->want));
}

static void network_close(network *n)
{
    as_arena_drop(&n->arena);
    assay_model_free(n->grad);
    assay_model_free(n->model);
    assay_env_free(n->env);
}

/* The gradient on this many threads; all outputs one after the other. */
static float *gradient_run(network *n, const char *threads, const char *spec, size_t *count)
{
    fixture f;
    size_t  at = 0, total = 0;
    fixture_open(&f, NULL);
    f.model = n->grad;
    fixture_set(&f, "threads", threads);
    fixture_plan(&f);
    for (int i = 0; i < f.plan->n_steps; i++) /* else this would compare the reference code with itself */
        if (f.plan->steps[i].choice.slow)
            fail("%s: %s runs on the reference code", spec, f.plan->steps[i].name);
    fixture_instance(&f);
    for (int i = 0; i < n->back.n_inputs; i++) {
        as_view to = as_instance_input(f.instance, i);
        as_view_copy(&to, &n->back_in[i]);
    }
    fixture_step(&f);
    for (int i = 0; i < n->n_wrt; i++)
        total += (size_t)as_shape_count(&n->want[i].shape);
    float *all = malloc(total * sizeof *all);
    expect(all != NULL);
    for (int i = 0; i < n->n_wrt; i++) {
        as_view got = as_instance_output(f.instance, i);
        double  size = 0, error = 0;
        for (int64_t e = 0; e < as_shape_count(&got.shape); e++) {
            size = fmax(size, fabs(as_view_get(&n->want[i], e)));
            error = fmax(error, fabs(as_view_get(&n->want[i], e) - as_view_get(&got, e)));
            all[at++] = (float)as_view_get(&got, e);
        }
        if (!(error <= 1e-4 * (size + 0.01)))
            fail("%s, %s threads: the gradient of %s is off by %g of %g", spec, threads, n->wrt[i], error, size);
    }
    f.model = NULL;
    fixture_close(&f);
    *count = total;
    return all;
}

static double loss(network *n)
{
    double sum = 0;
    expect_ok(n->env, as_graph_eval(n->env, &n->forward, n->in, n->y));
    for (int o = 0; o < n->forward.n_outputs; o++)
        for (int64_t i = 0; i < as_shape_count(&n->y[o].shape); i++)
            sum += as_view_get(&n->y[o], i) * as_view_get(&n->back_in[n->forward.n_inputs + o], i);
    return sum;
}

/* One random direction per parameter.  Parameters are f32, so the step is a power of two and the agreement coarse; the operators'
 * own cases are compared in f64. */
static void differences_judge(network *n, const char *spec)
{
    for (int w = 0; w < n->n_wrt; w++) {
        const as_value *v = &n->model->values[as_model_value_find(n->model, n->wrt[w])];
        float          *data = (float *)(uintptr_t)v->data; /* const to all but this test */
        int64_t         count = as_shape_count(&n->want[w].shape);
        double          side[2], got = 0, size = 0, step = ldexp(1.0, -STEP_BITS);
        float          *saved = malloc((size_t)count * sizeof *saved);
        expect(saved != NULL);
        memcpy(saved, data, (size_t)count * sizeof *saved);
        for (int s = 0; s < 2; s++) {
            for (int64_t e = 0; e < count; e++)
                data[e] =
                    saved[e] + (float)((s ? step : -step) * (as_philox_uniform(3, 0, (uint32_t)w, (uint64_t)e) < 0.5f ? -1 : 1));
            side[s] = loss(n);
        }
        memcpy(data, saved, (size_t)count * sizeof *saved);
        for (int64_t e = 0; e < count; e++) {
            double g = as_view_get(&n->want[w], e);
            got += g * (as_philox_uniform(3, 0, (uint32_t)w, (uint64_t)e) < 0.5f ? -1 : 1);
            size += g * g;
        }
        double want = (side[1] - side[0]) / (2 * step);
        if (!(fabs(got - want) <= 0.01 * (sqrt(size) + 0.05)))
            fail("%s: along a direction the gradient of %s is %.6g, by differences %.6g", spec, n->wrt[w], got, want);
        free(saved);
    }
}

/* From test to test: a batch that splits unevenly, and one sample. */
static void networks_judge(const char *const *specs, size_t n_specs)
{
    static const char *const threads[] = {"1", "2", "3", "5"};
    for (size_t i = 0; i < n_specs; i++) {
        network n;
        size_t  count, again;
        network_open(&n, specs[i], i % 2 ? 1 : 19, 3);
        float *first = gradient_run(&n, threads[0], specs[i], &count);
        for (size_t t = 1; t < AS_COUNT(threads); t++) {
            float *other = gradient_run(&n, threads[t], specs[i], &again);
            if (again != count || memcmp(first, other, count * sizeof *first))
                fail("%s: the gradient has other bits on %s threads", specs[i], threads[t]);
            free(other);
        }
        free(first);
        differences_judge(&n, specs[i]);
        network_close(&n);
    }
}

Test(recurrent_grad, of_lstm_and_gru_networks)
{
    static const char *const specs[] = {
        "lstm:inputs=3,steps=4,units=7,outputs=2",           "gru:inputs=3,steps=4,units=7,outputs=2",
        "lstm:inputs=1,steps=2,units=20,layers=2,outputs=1", "gru:inputs=5,steps=3,units=33,layers=2,outputs=3",
        "lstm:inputs=5,steps=3,units=33,outputs=3",          "gru:inputs=1,steps=1,units=1,outputs=1",
    };
    networks_judge(specs, AS_COUNT(specs));
}

Test(recurrent_grad, of_cfc_networks_in_every_mode)
{
    static const char *const specs[] = {
        "cfc:input=3,units=8,out=2,wiring=autoncp",
        "cfc:input=3,units=8,out=2,wiring=autoncp,mode=pure",
        "cfc:input=3,units=8,out=2,wiring=autoncp,mode=no_gate,mixed_memory=1,proj=2",
        "cfc:input=3,units=9,backbone_units=17,timespans=1",
        "cfc:input=3,units=5,backbone_units=6,backbone_layers=2,mode=no_gate,return_sequences=0",
        "cfc:input=3,units=17,backbone_units=6,mode=pure,mixed_memory=1,timespans=1",
        "cfc:input=3,units=5,backbone_layers=0,activation=gelu",
        "cfc:input=3,units=5,backbone_units=6,activation=silu",
    };
    networks_judge(specs, AS_COUNT(specs));
}

Test(recurrent_grad, of_ltc_networks)
{
    static const char *const specs[] = {
        "ltc:input=3,units=8,out=2,wiring=autoncp",
        "ltc:input=3,units=5,out=2,wiring=full,implicit=0",
        "ltc:input=3,units=8,out=2,wiring=autoncp,proj=2,timespans=1",
        "ltc:input=3,units=8,out=2,wiring=autoncp,return_sequences=0,input_mapping=linear,output_mapping=none,unfolds=3",
    };
    networks_judge(specs, AS_COUNT(specs));
}

/* The gradient with a memory has no kernel. */
Test(recurrent_grad, of_an_ltc_network_with_a_memory_by_differences)
{
    const char *spec = "ltc:input=3,units=8,out=2,wiring=autoncp,mixed_memory=1,proj=2";
    network     n;
    network_open(&n, spec, 3, 3);
    differences_judge(&n, spec);
    network_close(&n);
}
