/* cancel.c - a long measurement that tells how far it is, and that Ctrl-C or a time limit ends without losing what was measured.
 *
 *     cc cancel.c $(pkg-config --cflags --libs assay) -o cancel && ./cancel mlp-small 3 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "assay.h"

static assay_env *running; /* a signal handler has no other way to reach it */

static void stop(int number)
{
    (void)number;
    assay_cancel(running);
}

static void tell(void *arg, const char *what, double done)
{
    int *percent = arg;
    int  now = (int)(done * 100);
    if (now != *percent)
        fprintf(stderr, "%s: %d %%\n", what, now);
    *percent = now;
}

int main(int argc, char **argv)
{
    assay_env     *env = NULL;
    assay_options *options = NULL;
    assay_model   *model = NULL;
    assay_facts   *facts = NULL;
    int            percent = -1;
    unsigned       seconds = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    assay_status   status;
    if (!seconds) {
        fprintf(stderr, "usage: %s MODEL SECONDS\n", argv[0]);
        return 2;
    }
    status = assay_env_new(&env);
    if (status == ASSAY_OK)
        status = assay_options_new(env, &options);
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "time", "60s");
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "roofs", "off");
    if (status == ASSAY_OK)
        status = assay_options_set(env, options, "store", "none");
    if (status == ASSAY_OK)
        status = assay_model_load(env, argv[1], options, &model);
    if (status == ASSAY_OK) {
        running = env;
        signal(SIGINT, stop);
        signal(SIGALRM, stop);
        alarm(seconds);
        assay_on_progress(env, tell, &percent);
        status = assay_profile_model(env, model, options, &facts);
    }
    if (status != ASSAY_OK)
        fprintf(stderr, "cancel: %s: %s\n", assay_status_text(status), assay_message(env));
    if (facts) {
        const assay_metric *median = assay_facts_metric(facts, "latency.median");
        printf("%s: %.0f %s from %llu runs\n", assay_facts_title(facts), median->value, median->unit,
               (unsigned long long)median->n);
    }
    assay_facts_free(facts);
    assay_model_free(model);
    assay_options_free(options);
    assay_env_free(env);
    return status == ASSAY_OK || status == ASSAY_CANCELLED ? 0 : 2;
}
