/* arm_line_test.c - the grammar of the line protocol, line by line. */
#include <stdio.h>
#include <math.h>

#include "run/arm_line.h"
#include "tests/runner/test.h"

#define LINE(text) "who", text, sizeof(text) - 1

static assay_env *env_new(void)
{
    assay_env *env;
    expect_eq(assay_env_new(&env), ASSAY_OK);
    return env;
}

Test(arm_line, reads_a_greeting_and_passes_over_keys_of_later_versions)
{
    assay_env      *env = env_new();
    as_arm_greeting g;
    expect_ok(env, as_arm_read_greeting(env, LINE("assay-arm 1 dot by=cpu"), &g));
    expect_str(g.name, "dot");
    expect(g.by_cpu);
    expect_ok(env, as_arm_read_greeting(env, LINE("assay-arm 1 a/b#c lang=c by=wall x=1"), &g));
    expect_str(g.name, "a/b#c");
    expect(!g.by_cpu);
    assay_env_free(env);
}

Test(arm_line, refuses_what_is_no_greeting_and_quotes_it)
{
    assay_env      *env = env_new();
    as_arm_greeting g = {.name = "as before"};
    expect_fails(env, as_arm_read_greeting(env, LINE(""), &g), ASSAY_DEVICE, "who: expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("Makefile"), &g), ASSAY_DEVICE, "not \"Makefile\"");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm 2 dot by=cpu"), &g), ASSAY_DEVICE,
                 "version 2 of the line protocol");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm x dot by=cpu"), &g), ASSAY_DEVICE, "expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm 1 dot"), &g), ASSAY_DEVICE, "expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm 1 dot by=sun"), &g), ASSAY_DEVICE, "expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm 1 dot by=cpu word"), &g), ASSAY_DEVICE, "expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm 1 dot by=cpu "), &g), ASSAY_DEVICE, "expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("assay-arm 1 \0 by=cpu"), &g), ASSAY_DEVICE, "expected the greeting");
    expect_fails(env, as_arm_read_greeting(env, LINE("error no GPU here"), &g), ASSAY_DEVICE,
                 "who: the program answers with an error: no GPU here");
    expect_fails(env, as_arm_read_greeting(env, LINE("\033[2Jx\x07"), &g), ASSAY_DEVICE, "not \"?[2Jx?\"");
    expect_str(g.name, "as before");
    assay_env_free(env);
}

Test(arm_line, reads_a_block_of_exactly_as_many_pairs_as_asked)
{
    assay_env *env = env_new();
    as_shot    shots[3];
    uint32_t   switches = 0;
    expect_ok(env, as_arm_read_block(env, LINE("ok 2 100.5 99 1e3 7"), true, 2, shots, &switches));
    expect_eq(switches, 2);
    expect_near(shots[0].wall_ns, 100.5, 0);
    expect_near(shots[0].cpu_ns, 99, 0);
    expect_near(shots[1].wall_ns, 1000, 0);
    expect_fails(env, as_arm_read_block(env, LINE("ok 2 100.5 99 1e3 7"), true, 3, shots, &switches), ASSAY_DEVICE,
                 "who: the answer ends at sample 3");
    expect_fails(env, as_arm_read_block(env, LINE("ok 2 100.5 99 1e3"), true, 2, shots, &switches), ASSAY_DEVICE,
                 "ends at sample 2");
    expect_fails(env, as_arm_read_block(env, LINE("ok 2 100.5 99 1e3 7"), true, 1, shots, &switches), ASSAY_DEVICE,
                 "more than the 1 samples");
    expect_fails(env, as_arm_read_block(env, LINE("ok"), true, 1, shots, &switches), ASSAY_DEVICE, "expected \"ok SWITCHES");
    expect_fails(env, as_arm_read_block(env, LINE("ok -1 1 1"), true, 1, shots, &switches), ASSAY_DEVICE, "expected \"ok SWITCHES");
    expect_eq(switches, 2);
    assay_env_free(env);
}

Test(arm_line, refuses_times_that_are_none)
{
    assay_env               *env = env_new();
    static const char *const bad[] = {"nan", "-1", "inf", "1e31", "0x10", "", "1,5", "ten"};
    as_shot                  shot;
    uint32_t                 switches;
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        char line[64];
        int  n = snprintf(line, sizeof line, "ok 0 %s 1", bad[i]);
        expect_fails(env, as_arm_read_block(env, "who", line, (size_t)n, true, 1, &shot, &switches), ASSAY_DEVICE, "sample 1");
        n = snprintf(line, sizeof line, "ok 0 1 %s", bad[i]);
        expect_fails(env, as_arm_read_block(env, "who", line, (size_t)n, false, 1, &shot, &switches), ASSAY_DEVICE, "sample 1");
    }
    assay_env_free(env);
}

Test(arm_line, takes_a_missing_cpu_time_only_where_the_wall_decides)
{
    assay_env *env = env_new();
    as_shot    shot;
    uint32_t   switches;
    expect_ok(env, as_arm_read_block(env, LINE("ok 0 5 -"), false, 1, &shot, &switches));
    expect(isnan(shot.cpu_ns));
    expect_fails(env, as_arm_read_block(env, LINE("ok 0 5 -"), true, 1, &shot, &switches), ASSAY_DEVICE, "\"-\" is not a CPU time");
    expect_fails(env, as_arm_read_block(env, LINE("ok 0 - 5"), false, 1, &shot, &switches), ASSAY_DEVICE,
                 "\"-\" is not a wall time");
    assay_env_free(env);
}

Test(arm_line, reads_launch_hash_and_ledger)
{
    assay_env *env = env_new();
    double     first[3] = {0};
    bool       has_first = true;
    uint64_t   hash = 0;
    as_ledger  l;
    expect_ok(env, as_arm_read_launch(env, LINE("ok"), first, &has_first));
    expect(!has_first);
    expect_ok(env, as_arm_read_launch(env, LINE("ok 3 2 1.5"), first, &has_first));
    expect(has_first);
    expect_near(first[2], 1.5, 0);
    expect_fails(env, as_arm_read_launch(env, LINE("ok 3 2"), first, &has_first), ASSAY_DEVICE, "three times");
    expect_fails(env, as_arm_read_launch(env, LINE("ok 3 2 1 0"), first, &has_first), ASSAY_DEVICE, "three times");
    expect_ok(env, as_arm_read_hash(env, LINE("ok fFffffffffffffff"), &hash));
    expect(hash == UINT64_MAX);
    expect_fails(env, as_arm_read_hash(env, LINE("ok 10000000000000000"), &hash), ASSAY_DEVICE, "16 hexadecimal digits");
    expect_fails(env, as_arm_read_hash(env, LINE("ok"), &hash), ASSAY_DEVICE, "16 hexadecimal digits");
    expect_fails(env, as_arm_read_hash(env, LINE("okay 1"), &hash), ASSAY_DEVICE,
                 "must begin with \"ok\" or \"error\", not \"okay 1\"");
    expect_fails(env, as_arm_read_hash(env, LINE("error"), &hash), ASSAY_DEVICE, "answers with an error");
    expect_ok(env, as_arm_read_ledger(env, LINE("ok peak=4096 flops=2e9 colour=red"), &l));
    expect_near(l.flops, 2e9, 0);
    expect_near(l.peak_bytes, 4096, 0);
    expect(isnan(l.bytes) && isnan(l.allocations) && isnan(l.launches));
    expect_ok(env, as_arm_read_ledger(env, LINE("ok"), &l));
    expect(isnan(l.flops));
    expect_fails(env, as_arm_read_ledger(env, LINE("ok flops=many"), &l), ASSAY_DEVICE, "\"flops=many\" is not a count");
    expect_fails(env, as_arm_read_ledger(env, LINE("ok flops"), &l), ASSAY_DEVICE, "KEY=VALUE");
    assay_env_free(env);
}

static assay_status request(assay_env *env, const char *line, as_arm_request *out)
{
    return as_arm_read_request(env, line, strlen(line), out);
}

Test(arm_line, reads_requests_and_refuses_all_else)
{
    assay_env               *env = env_new();
    as_arm_request           r;
    static const char *const bad[] = {"",
                                      "block",
                                      "block 1 1",
                                      "block 2 1 1",
                                      "block 1 0 1",
                                      "block 1 1 0",
                                      "block 1 1 4097",
                                      "block 1 1 1 1",
                                      "block  1 1 1",
                                      "block 1 1 1 ",
                                      "block 1 1000000001 1",
                                      "launch",
                                      "launch -1",
                                      "launch 18446744073709551616",
                                      "hash 1",
                                      "HASH",
                                      "end now",
                                      "\033[2J"};
    expect_ok(env, request(env, "block 1 1000000000 4096", &r));
    expect(r.verb == AS_ARM_BLOCK && r.warm && r.calls == 1000000000 && r.n_shots == 4096);
    expect_ok(env, request(env, "launch 18446744073709551615", &r));
    expect(r.verb == AS_ARM_LAUNCH && r.seed == UINT64_MAX);
    expect_ok(env, request(env, "hash", &r));
    expect_eq(r.verb, AS_ARM_HASH);
    expect_ok(env, request(env, "ledger", &r));
    expect_eq(r.verb, AS_ARM_LEDGER);
    expect_ok(env, request(env, "end", &r));
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(env, request(env, bad[i], &r), ASSAY_BAD_INPUT, "not understood: \"");
    expect_eq(r.verb, AS_ARM_END);
    assay_env_free(env);
}
