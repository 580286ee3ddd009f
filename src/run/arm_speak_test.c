/* arm_speak_test.c - our own side of the line protocol, request by request. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/env.h"
#include "run/arm_line.h"
#include "run/sampler.h"
#include "tests/runner/test.h"

typedef struct counted {
    int n_launches, n_lands;
} counted;

static assay_status launch(assay_env *env, void *self, uint64_t seed, as_trace_arm *info)
{
    ((counted *)self)->n_launches++;
    if (seed == 666)
        return as_fail(env, ASSAY_NO_MEMORY, "no room\nfor it");
    info->hash = seed;
    info->ledger.flops = 12;
    return ASSAY_OK;
}

/* On the simulated clock of the env: a call takes 5 ns. */
static assay_status block(assay_env *env, void *self, bool warm, uint32_t calls, uint32_t n, as_shot *shots, uint32_t *switches)
{
    (void)self;
    if (warm)
        as_clock_advance(&env->clock, 1000);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t start = as_clock_now(&env->clock);
        as_clock_advance(&env->clock, 5 * calls);
        float ns = (float)(as_clock_now(&env->clock) - start) / (float)calls;
        shots[i] = (as_shot){ns, ns};
    }
    *switches = 0;
    return ASSAY_OK;
}

static void land(void *self) { ((counted *)self)->n_lands++; }

/* The answers to the requests; the caller frees them. */
static char *spoken(const char *requests, counted *count)
{
    assay_env *env;
    char      *text = NULL;
    size_t     size;
    as_arm     arm = {.name = "five",
                      .what = "five",
                      .self = count,
                      .by_cpu = true,
                      .launch = launch,
                      .block = block,
                      .land = land,
                      .drop = land};
    FILE      *in = fmemopen((void *)(uintptr_t)requests, strlen(requests), "r"), *out = open_memstream(&text, &size);
    expect(in && out);
    expect_eq(assay_env_new(&env), ASSAY_OK);
    as_clock_open_fake(&env->clock, 0);
    expect_ok(env, as_arm_speak(env, &arm, in, out));
    fclose(in);
    fclose(out);
    assay_env_free(env);
    return text;
}

Test(arm_speak, answers_each_request_with_a_line)
{
    counted count = {0};
    char   *text = spoken("launch 31\nblock 1 10 2\nhash\nledger\nend\nhash\n", &count);
    expect_str(text, "assay-arm 1 five by=cpu assay=" ASSAY_VERSION "\nok\nok 0 5 5 5 5\nok 000000000000001f\nok flops=12\n");
    expect_eq(count.n_launches, 1);
    expect_eq(count.n_lands, 2); /* before a launch, and at the end */
    free(text);
}

Test(arm_speak, answers_errors_and_goes_on)
{
    counted count = {0};
    char    requests[1024], *text;
    snprintf(requests, sizeof requests, "block 1 1 1\nlaunch 666\nhello\033\n%0300d\nlaunch 1\nblock 0 1 1\nhalf a li", 7);
    text = spoken(requests, &count);
    expect_str(
        text,
        "assay-arm 1 five by=cpu assay=" ASSAY_VERSION
        "\nerror a block must come after a launch\nerror no room?for it\nerror not understood: \"hello?\"\nerror a line of more than 256 bytes: \"000000000000000000000000000000000000000000000000000000000000...\"\nok\nok 0 5 5\n");
    free(text);
}

Test(arm_speak, says_when_nobody_can_read_it)
{
    counted    count = {0};
    assay_env *env;
    as_arm     arm = {.name = "five", .what = "five", .self = &count, .launch = launch, .block = block, .land = land, .drop = land};
    FILE      *in = fopen("/dev/null", "r"), *out = fopen("/dev/full", "w");
    if (!in || !out)
        skip("no /dev/full here");
    expect_eq(assay_env_new(&env), ASSAY_OK);
    expect_fails(env, as_arm_speak(env, &arm, in, out), ASSAY_IO, "five: its answers cannot be written");
    fclose(in);
    fclose(out);
    assay_env_free(env);
}
