/* quick.c - the keys of profiling guides in a program of yours: a network, a function of your own, and an update every interval.
 *
 *     cc quick.c $(pkg-config --cflags --libs assay) -o quick && ./quick cfc:units=16,wiring=autoncp */
#include <stdio.h>

#include <assay.h>

static float sum;

/* Your own work: 4096 additions. */
static void add_up(void *arg)
{
    const float *x = arg;
    for (int i = 0; i < 4096; i++)
        sum += x[i];
}

static void show(const assay_facts *facts, const char *key)
{
    const assay_metric *m = assay_facts_metric(facts, key);
    if (m && m->kind != ASSAY_UNAVAILABLE)
        printf("  %-36s %g %s (%s)\n", key, m->value, m->unit, assay_kind_text(m->kind));
    else
        printf("  %-36s unavailable: %s\n", key, m ? m->reason : "not in this section");
}

static bool twice(void *arg, const assay_facts *facts)
{
    show(facts, "profile.compute.samples_per_second");
    return ++*(int *)arg < 2;
}

int main(int argc, char **argv)
{
    static float   x[4096];
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_facts   *facts = NULL;
    assay_forward  mine = {.name = "add up", .run = add_up, .arg = x, .items = 1, .flops = 4096, .bytes = 4096 * 4};
    int            n = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: quick MODEL\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
    bool ok = assay_options_new(env, &options) == ASSAY_OK && assay_options_set(env, options, "store", "none") == ASSAY_OK &&
              assay_options_set(env, options, "batch", "8") == ASSAY_OK &&
              assay_options_set(env, options, "runs", "100") == ASSAY_OK &&
              assay_options_set(env, options, "interval", "50ms") == ASSAY_OK &&
              assay_model_load(env, argv[1], options, &model) == ASSAY_OK;
    if (ok && (ok = assay_quick_profile(env, model, NULL, options, &facts) == ASSAY_OK)) {
        printf("%s\n", assay_facts_title(facts));
        show(facts, "profile.compute.time_mean");
        show(facts, "profile.compute.tflops");
        show(facts, "profile.memory.peak_usage");
        show(facts, "profile.memory.cache_hit_rate");
        show(facts, "profile.compute.ne_utilization");
        assay_facts_free(facts);
    }
    if (ok && (ok = assay_profile_compute(env, NULL, &mine, options, &facts) == ASSAY_OK)) {
        printf("%s\n", assay_facts_title(facts));
        show(facts, "profile.compute.flops_mean");
        assay_facts_free(facts);
    }
    if (ok && (ok = assay_profile_memory(env, model, NULL, options, &facts) == ASSAY_OK)) {
        show(facts, "profile.memory.bandwidth");
        assay_facts_free(facts);
    }
    if (ok &&
        (ok = assay_profile_hardware(env, model, NULL, options, &facts) == ASSAY_OK)) { /* every key of a section, one by one */
        const char *section, *key, *unit, *how;
        char        name[96];
        for (size_t i = 0; assay_profile_key(i, &section, &key, &unit, &how); i++)
            if (section[0] == 'h') {
                snprintf(name, sizeof name, "profile.%s.%s", section, key);
                show(facts, name);
            }
        assay_facts_free(facts);
    }
    ok = ok && assay_profile_realtime(env, model, NULL, options, twice, &n) == ASSAY_OK;
    if (!ok)
        fprintf(stderr, "quick: %s\n", assay_message(env));
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return ok ? 0 : 2;
}
