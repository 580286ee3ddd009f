/* cancel.c - a long measurement that reports its progress; Ctrl-C, or the program itself, ends it without losing what was
 * measured.
 *
 *     cc cancel.c $(pkg-config --cflags --libs assay) -o cancel && ./cancel mlp-small 20
 *
 * stops when 20 % of it is done. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "assay.h"

static assay_env *running; /* a signal handler has no other way to reach it */

static void stop(int number)
{
    (void)number;
    assay_cancel(running);
}

/* Called between measurements, never inside one. */
static void tell(void *arg, const assay_stage *stage)
{
    const int *enough = arg;
    fprintf(stderr, "%s %s: %.0f %%, about %.1f s left\n", stage->what, stage->subject, stage->done * 100, stage->left_s);
    if (stage->done * 100 >= *enough)
        assay_cancel(running);
}

static assay_status options_make(assay_env *env, assay_options **out)
{
    static const char *const pairs[][2] = {{"time", "2s"}, {"roofs", "off"}, {"store", "none"}};
    assay_status             status = assay_options_new(env, out);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && status == ASSAY_OK; i++)
        status = assay_options_set(env, *out, pairs[i][0], pairs[i][1]);
    return status;
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_facts   *facts = NULL;
    int            enough = argc == 3 ? atoi(argv[2]) : 0;
    assay_status   status;
    if (enough < 1 || enough > 100) {
        fprintf(stderr, "usage: %s MODEL PERCENT\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = options_make(env, &options);
    if (status == ASSAY_OK)
        status = assay_model_load(env, argv[1], options, &model);
    if (status == ASSAY_OK) {
        running = env;
        signal(SIGINT, stop);
        assay_on_progress(env, tell, &enough);
        status = assay_profile_model(env, model, options, &facts);
    }
    if (status != ASSAY_OK)
        fprintf(stderr, "cancel: %s: %s\n", assay_status_text(status), assay_message(env));
    const assay_metric *median = facts ? assay_facts_metric(facts, "latency.median") : NULL;
    if (median)
        printf("%s: %.0f %s from %llu runs\n", assay_facts_title(facts), median->value, median->unit,
               (unsigned long long)median->n);
    assay_facts_free(facts);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK || status == ASSAY_CANCELLED ? 0 : 2;
}
