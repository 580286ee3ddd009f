/* train.c - trains a network, evaluates it on examples that it does not learn from, and tells after each epoch.
 *
 *     cc train.c $(pkg-config --cflags --libs assay) -o train && ./train mlp:sizes=2x32x3 synthetic:spirals 20%
 *
 * For real digits run tools/get-digits first, then ./train cnn-small build/data/mnist build/data/mnist:part=test */
#include <stdio.h>

#include <assay.h>

static bool on_update(void *arg, const assay_training *now)
{
    (void)arg;
    if (now->epoch_ends)
        printf("epoch %llu: loss %.4f, validation loss %.4f, %s %.4f\n", (unsigned long long)now->epoch, now->epoch_loss,
               now->val_loss, now->score_name, now->score);
    return true; /* false would stop the run */
}

static assay_status set(assay_env *env, assay_options *options, const char *const *pairs)
{
    for (; *pairs; pairs += 2) {
        assay_status status = assay_options_set(env, options, pairs[0], pairs[1]);
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_facts   *facts = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: train MODEL DATA VAL\n");
        return 2;
    }
    if (assay_env_new(&env) != ASSAY_OK)
        return 5;
    const char  *pairs[] = {"data",  argv[2], "val", argv[3], "epochs", "5", "schedule", "warmup 20 > cosine 1e-5",
                            "store", "none",  NULL};
    assay_status status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = set(env, options, pairs);
    if (status == ASSAY_OK)
        status = assay_model_load(env, argv[1], NULL, &model);
    if (status == ASSAY_OK)
        status = assay_train(env, model, options, on_update, NULL, &facts);
    if (status == ASSAY_OK) {
        const assay_metric *speed = assay_facts_metric(facts, "train.samples_per_s");
        printf("%.0f samples per second\n", speed ? speed->value : 0.0);
    } else {
        fprintf(stderr, "%s\n", assay_message(env));
    }
    assay_facts_free(facts);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK ? 0 : 2;
}
