/* stage_test.c */
#include "base/stage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/runner/test.h"

typedef struct heard {
    assay_stage last;
    char        subject[AS_SUBJECT_BYTES];
    int         n;
} heard;

static void hear(void *arg, const assay_stage *stage)
{
    heard *h = arg;
    h->last = *stage;
    snprintf(h->subject, sizeof h->subject, "%s", stage->subject);
    h->n++;
}

static assay_env *listening(heard *h)
{
    assay_env *env;
    *h = (heard){.n = 0};
    expect_eq(assay_env_new(&env), ASSAY_OK);
    assay_on_progress(env, hear, h);
    return env;
}

Test(stage, is_told_when_it_begins_and_as_it_goes_on)
{
    heard      h;
    assay_env *env = listening(&h);
    as_stage_begin(env, AS_PHASE_CHECK, "cnn-small", 8, 3);
    expect_eq(h.n, 1);
    expect_str(h.last.what, "checking answers");
    expect_str(h.subject, "cnn-small");
    expect(h.last.done == 0 && h.last.expect_s == 8 && h.last.beyond_s == 3);
    as_stage_done(env, 0.5);
    expect_eq(h.n, 2);
    expect(h.last.done == 0.5);
    as_stage_begin(env, AS_PHASE_CHECK, "cnn-small", 8, 3); /* it goes on */
    expect_eq(h.n, 2);
    as_stage_begin(env, AS_PHASE_MEASURE, "cnn-small", 2, 0);
    expect_eq(h.n, 3);
    expect(h.last.done == 0);
    assay_env_free(env);
}

Test(stage, tells_the_time_left_of_the_whole_call)
{
    heard      h;
    assay_env *env = listening(&h);
    as_stage_after(env, 10);
    as_stage_begin(env, AS_PHASE_MEASURE, "x", 4, 0);
    expect_near(h.last.left_s, 14, 0.1);
    as_stage_done(env, 0.75);
    expect_near(h.last.left_s, 11, 1e-9);
    as_stage_done(env, 7); /* more than all is all */
    expect_near(h.last.left_s, 10, 1e-9);
    as_stage_begin(env, AS_PHASE_PLAN, "x", NAN, 0);
    expect(isnan(h.last.left_s));
    assay_env_free(env);
}

Test(stage, work_of_the_reference_is_announced_when_it_takes_more_than_a_minute)
{
    heard      h;
    assay_env *env = listening(&h);
    as_stage_reference(env, "conv1", "Conv", 0.9 * AS_REFERENCE_LONG_S * AS_REFERENCE_RATE);
    expect_eq(h.n, 0);
    as_stage_reference(env, "conv1", "Conv", 3 * AS_REFERENCE_LONG_S * AS_REFERENCE_RATE);
    expect_eq(h.n, 1);
    expect_str(h.last.what, "running reference code");
    expect_str(h.subject, "conv1 (Conv)");
    expect_near(h.last.expect_s, 3 * AS_REFERENCE_LONG_S, 1e-9);
    as_stage_reference(NULL, "conv1", "Conv", 1e18); /* nobody to tell */
    assay_env_free(env);
}

Test(stage, every_phase_has_words_of_its_own)
{
    for (int i = 0; i < AS_N_PHASES; i++)
        for (int k = 0; k < i; k++)
            expect(strcmp(as_phase_text((as_phase)i), as_phase_text((as_phase)k)) != 0);
}
