/* roofs_test.c - the cache file, and a short session of every meter.  Nothing here judges a speed. */
#include <stdlib.h>

#include "base/file.h"
#include "roof/roof.h"
#include "tests/runner/test.h"

#define KEY "0123456789abcdef"
#define ROOF_OF(name, unit, value, chunks, rest)                                    \
    "{\"name\":\"" name "\",\"unit\":\"" unit "\"," value ",\"today\":null," chunks \
    ",\"level_bytes\":32768,\"when_unix_s\":1772366400" rest "}"
#define ENDS          ",\"disturbed\":false,\"source\":\"s\""
#define SIX           "\"n_clean\":6,\"n_chunks\":8"
#define ROOF(name)    ROOF_OF(name, "byte/s", "\"value\":2,\"lo\":1,\"hi\":3", SIX, ENDS)
#define VALUED(text)  ROOF_OF("a", "ns", text, SIX, ENDS)
#define COUNTED(text) ROOF_OF("a", "ns", "\"value\":2,\"lo\":1,\"hi\":3", text, ENDS)
#define FILE_OF(roofs)                             \
    "{\"schema\":\"assay.roofs/2\",\"key\":\"" KEY \
    "\",\"device\":\"cpu\",\"measured_unix_s\":1772366400,\"seconds\":2.5,\"roofs\":[" roofs "]}"

static assay_env *env_open(void)
{
    assay_env *env;
    expect(assay_env_new(&env) == ASSAY_OK);
    return env;
}

static assay_status parse(assay_env *env, const char *text, as_roofs *out)
{
    return as_roofs_parse(env, "f.json", text, strlen(text), KEY, out);
}

Test(roofs, what_is_saved_is_loaded_again)
{
    assay_env *env = env_open();
    as_roofs   r = {0}, again = {0};
    char       when[32];
    expect_ok(env, parse(env, FILE_OF(ROOF("read.l1.t1") "," ROOF("read.l2.t1")), &r));
    expect_eq(r.n, 2);
    const char *path = as_test_path("new/folder/roofs.json");
    expect_ok(env, as_roofs_save(env, path, &r));
    expect_ok(env, as_roofs_load(env, path, KEY, &again));
    expect_eq(again.n, 2);
    expect_near(as_roofs_find(&again, "read.l2.t1")->hi, 3, 0);
    const as_trace_roof *l2 = as_roofs_find(&again, "read.l2.t1");
    expect(l2->n_clean == 6 && l2->n_chunks == 8 && l2->level_bytes == 32768 && l2->when_unix_s == 1772366400);
    expect(!l2->disturbed && isnan(l2->today));
    expect(!as_roofs_find(&again, "read.l3.t1"));
    expect_str(as_roofs_when(&again, when, sizeof when), "2026-03-01T12:00:00Z");
    as_roofs_drop(&r);
    as_roofs_drop(&again);
    assay_env_free(env);
}

Test(roofs, a_file_that_is_not_there_is_not_found)
{
    assay_env *env = env_open();
    as_roofs   r = {0};
    expect_fails(env, as_roofs_load(env, as_test_path("none.json"), KEY, &r), ASSAY_NOT_FOUND, "none.json");
    assay_env_free(env);
}

Test(roofs, a_file_with_anything_else_in_it_is_refused)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "line 1"},
        {"[1]", "schema"},
        {"{\"schema\":\"assay.roofs/3\"}", "schema is 'assay.roofs/3'"},
        {"{\"schema\":\"assay.roofs/2\",\"key\":\"other\"}", "it was measured on 'other'"},
        {"{\"schema\":\"assay.roofs/2\",\"key\":\"" KEY "\",\"seconds\":1,\"roofs\":[]}", "when the limits were measured"},
        {"{\"schema\":\"assay.roofs/2\",\"key\":\"" KEY "\",\"measured_unix_s\":-1,\"seconds\":1,\"roofs\":[]}",
         "when the limits were measured"},
        {"{\"schema\":\"assay.roofs/2\",\"key\":\"" KEY "\",\"measured_unix_s\":999999999999999,\"seconds\":1,\"roofs\":[]}",
         "when"},
        {FILE_OF(""), "has 0 limits"},
        {FILE_OF("7"), "no valid name"},
        {FILE_OF(ROOF("a b")), "no valid name"},
        {FILE_OF(ROOF("a") "," ROOF("a")), "a is given twice"},
        {FILE_OF(ROOF_OF("a", "mile", "\"value\":2,\"lo\":1,\"hi\":3", SIX, ENDS)), "unit 'mile'"},
        {FILE_OF(VALUED("\"value\":2,\"lo\":3,\"hi\":3")), "a is 2 between 3 and 3"},
        {FILE_OF(VALUED("\"value\":2,\"lo\":0,\"hi\":3")), "between 0 and 3"},
        {FILE_OF(VALUED("\"lo\":1,\"hi\":3")), "between 1 and 3"},
        {FILE_OF(VALUED("\"value\":2,\"lo\":1,\"hi\":1e999")), ""},
        {FILE_OF(COUNTED("\"n_clean\":4,\"n_chunks\":9")), "a needs 5 clean chunks or more"},
        {FILE_OF(COUNTED("\"n_clean\":9,\"n_chunks\":8")), "needs 5 clean chunks or more"},
        {FILE_OF(COUNTED("\"n_clean\":5.5,\"n_chunks\":8")), "needs 5 clean chunks or more"},
        {FILE_OF(COUNTED("\"n_clean\":-5,\"n_chunks\":8")), "needs 5 clean chunks or more"},
        {FILE_OF(ROOF_OF("a", "ns", "\"value\":2,\"lo\":1,\"hi\":3", SIX, ",\"source\":\"s\"")), "whether the machine was busy"},
        {FILE_OF(ROOF_OF("a", "ns", "\"value\":2,\"lo\":1,\"hi\":3", SIX, ",\"disturbed\":false,\"source\":\"\\u001b[31m\"")),
         "no valid source"},
        {FILE_OF(ROOF_OF("a", "ns", "\"value\":2,\"lo\":1,\"hi\":3", SIX, ",\"disturbed\":false")), "no valid source"},
    };
    assay_env *env = env_open();
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_roofs r = {.n = 77};
        expect_fails(env, parse(env, bad[i].text, &r), ASSAY_BAD_INPUT, bad[i].part);
        expect_eq(r.n, 77); /* untouched */
    }
    assay_env_free(env);
}

Test(roofs, a_file_with_too_many_roofs_is_refused)
{
    assay_env *env = env_open();
    as_text    text = {0};
    as_roofs   r = {0};
    as_text_add(&text, "{\"schema\":\"assay.roofs/2\",\"key\":\"" KEY
                       "\",\"device\":\"cpu\",\"measured_unix_s\":1,\"seconds\":1,\"roofs\":[0");
    for (int i = 0; i < AS_ROOFS_MAX; i++)
        as_text_add(&text, ",0");
    as_text_add(&text, "]}");
    expect_fails(env, parse(env, text.data, &r), ASSAY_BAD_INPUT, "has 257 limits");
    as_text_drop(&text);
    assay_env_free(env);
}

Test(roofs, the_folder_is_the_first_that_is_named)
{
    char path[256];
    setenv("ASSAY_CACHE_DIR", "/a", 1);
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    expect(as_roofs_path(path, sizeof path, KEY));
    expect_str(path, "/a/roofs-" KEY ".json");
    setenv("ASSAY_CACHE_DIR", "", 1);
    expect(as_roofs_path(path, sizeof path, KEY));
    expect_str(path, "/x/assay/roofs-" KEY ".json");
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect(as_roofs_path(path, sizeof path, KEY));
    expect_str(path, "/h/.cache/assay/roofs-" KEY ".json");
    expect(!as_roofs_path(path, 10, KEY));
    unsetenv("HOME");
    expect(!as_roofs_path(path, sizeof path, KEY));
}

Test(roofs, other_threads_have_another_key)
{
    char one[17], same[17], two[17];
    as_roofs_key(one, NULL, 1);
    as_roofs_key(same, NULL, 1);
    as_roofs_key(two, NULL, 2);
    expect_str(one, same);
    expect(strcmp(one, two) != 0);
    expect_eq(strlen(one), 16);
}

/* One chunk of each, over little memory: checks that every meter runs, has the right name and gives a band. */
Test(roofs, every_meter_of_this_cpu_gives_a_roof)
{
    assay_env       *env = env_open();
    as_roofs         r = {0};
    as_roof_settings settings = {.n_threads = 2, .budget_s = 1e-3, .dram_bytes = 8 << 20};
    expect_ok(env, as_roofs_measure(env, &settings, &r));
    static const char *const names[] = {"clock.core",    "fma.f32.scalar.t1", "fma.f64.scalar.t2",  "read.l1.t1", "read.dram.t2",
                                        "triad.dram.t1", "exp.f32.scalar.t1", "tanh.f32.scalar.t2", "fork.t2"};
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!as_roofs_find(&r, names[i]))
            fail("%s was not measured", names[i]);
    expect(!as_roofs_find(&r, "fork.t1"));
    for (int i = 0; i < r.n; i++) {
        const as_trace_roof *roof = &r.list[i];
        if (!(roof->lo > 0 && roof->lo <= roof->value && roof->value <= roof->hi && isfinite(roof->hi) && roof->n_chunks >= 1))
            fail("%s is %g between %g and %g", roof->name, roof->value, roof->lo, roof->hi);
        expect(*roof->source && *roof->unit);
    }
    const char *path = as_test_path("measured.json"); /* what was measured can also be kept, if it was clean */
    as_roofs    again = {0};
    int         n_clean = 0;
    for (int i = 0; i < r.n; i++)
        n_clean += as_roof_is_clean(&r.list[i]);
    expect_ok(env, as_roofs_save(env, path, &r));
    expect_eq(as_roofs_load(env, path, r.key, &again), n_clean ? ASSAY_OK : ASSAY_NOT_FOUND);
    expect_eq(again.n, n_clean);
    as_roofs_drop(&again);
    as_roofs_drop(&r);
    assay_env_free(env);
}

Test(roofs, a_cancelled_session_gives_nothing)
{
    assay_env       *env = env_open();
    as_roofs         r = {.n = 77};
    uint64_t         walked = 0;
    as_roof_settings settings = {.n_threads = 1, .budget_s = 1e-3, .dram_bytes = 8 << 20, .walked_bytes = &walked};
    assay_cancel(env);
    expect_fails(env, as_roofs_measure(env, &settings, &r), ASSAY_CANCELLED, "stopped before the first");
    expect_eq(r.n, 77);
    expect_eq(walked, 0); /* buffers are not filled for nothing */
    assay_env_free(env);
}

static void stop_after_one(void *arg, double done)
{
    if (done > 0)
        assay_cancel(arg);
}

Test(roofs, a_stop_after_a_take_is_seen_before_the_next)
{
    assay_env       *env = env_open();
    as_roofs         r = {.n = 77};
    as_roof_settings settings = {
        .n_threads = 1, .budget_s = 1e-3, .dram_bytes = 8 << 20, .progress = stop_after_one, .progress_arg = env};
    expect_fails(env, as_roofs_measure(env, &settings, &r), ASSAY_CANCELLED, "stopped at");
    expect_eq(r.n, 77);
    assay_env_free(env);
}

Test(roofs, no_threads_and_a_fake_clock_are_refused)
{
    assay_env       *env = env_open();
    as_roofs         r = {0};
    as_roof_settings settings = {.n_threads = 0};
    char             source[128], name[64];
    double           rate;
    expect_fails(env, as_roofs_measure(env, &settings, &r), ASSAY_BAD_INPUT, "0 threads");
    as_clock_open_fake(&env->clock, 1);
    settings.n_threads = 1;
    expect_fails(env, as_roofs_measure(env, &settings, &r), ASSAY_UNSUPPORTED, "simulated clock");
    expect(!as_roofs_probe(env, name, sizeof name, &rate));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_AUTO, &settings, &r, source, sizeof source));
    expect_eq(r.n, 0);
    expect_has(source, "simulated");
    assay_env_free(env);
}

Test(roofs, looking_measures_nothing_and_a_broken_file_is_told)
{
    assay_env       *env = env_open();
    as_roofs         r = {0};
    as_roof_settings settings = {.n_threads = 1};
    char             source[1024], key[17], path[4096];
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    expect_ok(env, as_roofs_get(env, AS_ROOFS_LOOK, &settings, &r, source, sizeof source));
    expect_eq(r.n, 0);
    expect_str(source, "none measured yet");
    as_roofs_key(key, NULL, 1);
    expect(as_roofs_path(path, sizeof path, key));
    expect_ok(env, as_file_write(env, path, "{\"schema\":", 10));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_LOOK, &settings, &r, source, sizeof source));
    expect_eq(r.n, 0);
    expect_has(source, "none measured yet; the cached file could not be used");
    assay_env_free(env);
}

Test(roofs, more_threads_than_cpus_have_the_roofs_of_all_cpus)
{
    assay_env       *env = env_open();
    as_roofs         r = {0};
    as_roof_settings settings = {.n_threads = 1024};
    char             source[1024];
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    if (as_cpu_count() >= 1024)
        skip("this machine has %d CPUs", as_cpu_count());
    expect_ok(env, as_roofs_get(env, AS_ROOFS_LOOK, &settings, &r, source, sizeof source));
    expect_has(source, "none measured yet; 1024 threads on");
    assay_env_free(env);
}

Test(roofs, a_broken_cache_is_measured_over)
{
    assay_env       *env = env_open();
    as_roofs         r = {0};
    as_roof_settings settings = {.n_threads = 1, .budget_s = 1e-3, .dram_bytes = 8 << 20};
    char             source[1024], key[17], path[4096];
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    as_roofs_key(key, NULL, 1);
    expect(as_roofs_path(path, sizeof path, key));
    expect_ok(env, as_file_write(env, path, "nonsense", 8));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_AUTO, &settings, &r, source, sizeof source));
    expect(r.n > 5);
    expect_has(source, "measured in");
    expect_has(source, "could not be used");
    as_roofs_drop(&r);
    assay_env_free(env);
}

Test(roofs, go_into_a_trace_with_their_notes)
{
    assay_env   *env = env_open();
    assay_trace *t;
    as_roofs     r = {0};
    expect_ok(env, parse(env, FILE_OF(ROOF("read.l1.t1")), &r));
    expect_ok(env, as_trace_new(env, &t));
    expect_ok(env, as_roofs_describe(env, &r, "measured in 1.0 s", t));
    expect_eq(t->n_roofs, 1);
    expect_str(t->roofs[0].name, "read.l1.t1");
    expect_str(as_trace_note_find(t, "roofs.when"), "2026-03-01T12:00:00Z");
    expect_str(as_trace_note_find(t, "roofs.source"), "measured in 1.0 s");
    assay_trace_free(t);
    as_roofs_drop(&r);
    assay_env_free(env);
}

/* --- What is kept ------------------------------------------------------------------------------------------- */

/* A limit from a series of chunks, n_clean of them clean at a rate and n_busy pre-empted at half of it. */
static as_trace_roof seen(const char *name, double rate, int n_clean, int n_busy)
{
    as_chunks c = {0};
    as_band   b;
    as_chunks_take(&c);
    for (int i = 0; i < n_clean; i++)
        as_chunks_add(&c, rate, 1.0);
    for (int i = 0; i < n_busy; i++)
        as_chunks_add(&c, rate / 2, 0.5);
    expect(as_chunks_band(&c, &b));
    as_trace_roof r = as_roof_of(&b, 1772366400);
    r.name = name;
    r.unit = "byte/s";
    r.source = "series";
    return r;
}

/* 60 GiB/s of L2 where 251 was seen, "third best of 1 chunks": this once put a wrong limit in the cache. */
Test(roofs, a_loaded_series_is_not_kept)
{
    assay_env    *env = env_open();
    as_trace_roof list[] = {seen("read.l1.t1", 100e9, 8, 0), seen("read.l2.t1", 60e9, 1, 9), seen("read.l3.t1", 60e9, 0, 9)};
    as_roofs      r = {.list = list, .n = 3, .unix_s = 1772366400, .key = KEY, .device = "cpu"}, again = {0};
    const char   *path = as_test_path("kept.json");
    expect(!list[0].disturbed && list[1].disturbed && list[2].disturbed);
    expect_ok(env, as_roofs_save(env, path, &r));
    expect_ok(env, as_roofs_load(env, path, KEY, &again));
    expect_eq(again.n, 1);
    expect(as_roofs_find(&again, "read.l1.t1") != NULL);
    as_roofs_drop(&again);
    assay_env_free(env);
}

Test(roofs, nothing_clean_leaves_the_file_as_it_was)
{
    assay_env    *env = env_open();
    as_trace_roof bad = seen("read.l2.t1", 60e9, 4, 9), good = seen("read.l2.t1", 251e9, 9, 0);
    as_roofs      busy = {.list = &bad, .n = 1, .unix_s = 1, .key = KEY, .device = "cpu"},
             quiet = {.list = &good, .n = 1, .unix_s = 1, .key = KEY, .device = "cpu"}, again = {0};
    const char *path = as_test_path("left.json");
    expect_ok(env, as_roofs_save(env, path, &quiet));
    expect_ok(env, as_roofs_save(env, path, &busy));
    expect_ok(env, as_roofs_load(env, path, KEY, &again));
    expect_near(again.list[0].value, 251e9, 1);
    as_roofs_drop(&again);
    assay_env_free(env);
}

Test(roofs, a_better_one_replaces_and_a_worse_one_does_not)
{
    as_trace_roof kept = seen("read.l2.t1", 200e9, 6, 0), better = seen("read.l2.t1", 251e9, 7, 0),
                  worse = seen("read.l2.t1", 60e9, 8, 0), near = seen("read.l2.t1", 198e9, 8, 0),
                  few = seen("read.l2.t1", 400e9, 4, 0);
    as_trace_roof best = as_roof_best(&kept, &better);
    expect_near(best.value, 251e9, 1);
    expect_eq(best.n_clean, 7);
    expect(isnan(best.today));
    best = as_roof_best(&kept, &worse);
    expect_near(best.value, 200e9, 1);
    expect_near(best.today, 60e9, 1);
    best = as_roof_best(&kept, &near); /* within noise: confirmed */
    expect_near(best.value, 200e9, 1);
    expect(isnan(best.today));
    best = as_roof_best(&kept, &few); /* four chunks are not enough, even for a better value */
    expect_near(best.value, 200e9, 1);
    expect(isnan(best.today));
    expect_near(as_roof_best(NULL, &few).value, 400e9, 1); /* but there is no other */
    kept.unit = better.unit = worse.unit = "ns";           /* for a time, the lower one is better */
    expect_near(as_roof_best(&kept, &worse).value, 60e9, 1);
    expect_near(as_roof_best(&kept, &better).today, 251e9, 1);
}

Test(roofs, a_clean_one_that_agrees_takes_the_doubt_away)
{
    as_trace_roof kept = seen("read.l2.t1", 200e9, 6, 4), near = seen("read.l2.t1", 198e9, 8, 0),
                  far = seen("read.l2.t1", 150e9, 8, 0);
    expect(kept.disturbed);
    expect(!as_roof_best(&kept, &near).disturbed);
    expect(as_roof_best(&kept, &far).disturbed);
}

Test(roofs, what_was_not_measured_now_stays)
{
    assay_env    *env = env_open();
    as_trace_roof then[] = {seen("read.l1.t1", 100e9, 6, 0), seen("read.l2.t1", 80e9, 6, 0)}, now = seen("read.l3.t1", 50e9, 6, 0);
    as_roofs      kept = {.list = then, .n = 2}, r = {.list = &now, .n = 1};
    expect_ok(env, as_roofs_merge(env, &r, &kept));
    expect_eq(r.n, 3);
    expect_near(as_roofs_find(&r, "read.l2.t1")->value, 80e9, 1);
    expect_near(as_roofs_find(&r, "read.l3.t1")->value, 50e9, 1);
    as_roofs_drop(&r);
    assay_env_free(env);
}

static bool only_clock(const void *arg, const char *name)
{
    (void)arg;
    return !strcmp(name, "clock.core");
}

Test(roofs, just_those_that_are_wanted_are_measured)
{
    assay_env       *env = env_open();
    as_roofs         r = {0};
    as_roof_settings settings = {.n_threads = 1, .budget_s = 1e-3, .wants = only_clock};
    expect_ok(env, as_roofs_measure(env, &settings, &r));
    expect_eq(r.n, 1);
    expect_str(r.list[0].name, "clock.core");
    as_roofs_drop(&r);
    assay_env_free(env);
}

/* --- Contradictions -------------------------------------------------------------------------------------------- */

/* A step of 1e6 flops that took `ns`, on a machine whose limit is given as 1e3 flop/s: no machine is so slow. */
static assay_trace *contradicted(assay_env *env, uint64_t ns)
{
    assay_trace  *t;
    char          name[64];
    double        rate;
    as_trace_roof slow = seen("x", 1e3, 6, 0);
    (void)as_roofs_probe(env, name, sizeof name, &rate); /* for the name of the multiply-adds on this machine */
    slow.name = name;
    slow.unit = "flop/s";
    expect_ok(env, as_trace_new(env, &t));
    t->ns_per_tick = 1;
    expect(as_trace_add_roof(t, &slow));
    expect_eq(
        as_trace_add_step(
            t,
            &(as_trace_step){.name = "fc", .op = "Gemm", .device = "cpu", .shapes = "f32[1]", .stage = "body", .flops = 1000000}),
        0);
    t->totals = AS_TAKE(&t->arena, as_step_total, 1);
    t->n_totals = 1;
    t->totals[0] = (as_step_total){1, ns, ns, ns};
    return t;
}

Test(roofs, a_result_above_a_limit_has_just_that_limit_measured_again)
{
    assay_env       *env = env_open();
    as_roof_settings settings = {.n_threads = 1, .dram_bytes = 8 << 20};
    int              n = 0;
    as_device       *cpu;
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    expect_ok(env, as_device_open(env, "cpu", 1, &cpu));
    assay_trace *t = contradicted(env, 1000000);
    expect_ok(env, as_roofs_recheck(env, &settings, &cpu, 1, t, &n));
    expect_eq(n, 1);
    expect_eq(t->n_roofs, 2);
    expect_str(t->roofs[1].name, t->roofs[0].name);
    expect(t->roofs[1].n_chunks >= 1);
    if (t->roofs[1].on_the_spot) { /* a busy machine may give fewer than five clean chunks: then the old limit stays */
        expect(t->roofs[1].value > 1e3);
        as_roofs kept = {0};
        char     key[17], path[4096];
        as_roofs_key(key, NULL, 1);
        expect(as_roofs_path(path, sizeof path, key));
        expect_ok(env, as_roofs_load(env, path, key, &kept));
        expect_eq(kept.n, 1);
        expect_near(kept.list[0].value, t->roofs[1].value, 1);
        as_roofs_drop(&kept);
    }
    as_device_close(cpu);
    assay_trace_free(t);
    assay_env_free(env);
}

Test(roofs, a_result_below_its_limits_has_nothing_measured_again)
{
    assay_env       *env = env_open();
    as_roof_settings settings = {.n_threads = 1};
    int              n = 7;
    as_device       *cpu;
    assay_trace     *t = contradicted(env, UINT64_C(2000000000000));
    expect_ok(env, as_device_open(env, "cpu", 1, &cpu));
    expect_ok(env, as_roofs_recheck(env, &settings, &cpu, 1, t, &n));
    expect_eq(n, 0);
    expect_eq(t->n_roofs, 1);
    as_device_close(cpu);
    assay_trace_free(t);
    assay_env_free(env);
}

/* --- Devices ------------------------------------------------------------------------------------------------------ */

Test(roofs, a_device_is_asked_by_its_own_meters)
{
    assay_env *env = env_open();
    as_device *device;
    as_roofs   r = {0};
    char       source[256], mine[17], cpus[17];
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    expect_ok(env, as_device_open(env, "null:limit.fma.f32=1e9,limit.read.dram=2e9,limit.launch=5us", 1, &device));
    as_roof_settings settings = {.device = device, .n_threads = 4};
    expect_ok(env, as_roofs_get(env, AS_ROOFS_AUTO, &settings, &r, source, sizeof source));
    expect_str(source, "given to the device");
    expect_eq(r.n, 3);
    expect_near(as_roofs_find(&r, "fma.f32")->value, 1e9, 0);
    expect_near(as_roofs_find(&r, "launch")->value, 5000, 0);
    expect_str(as_roofs_find(&r, "launch")->unit, "ns");
    expect_str(r.list[0].device, device->name);
    as_roofs_key(mine, device, 1);
    as_roofs_key(cpus, NULL, 1);
    expect(strcmp(mine, cpus) != 0);
    as_roofs_drop(&r);
    as_device_close(device);
    assay_env_free(env);
}

Test(roofs, a_limit_that_cannot_be_is_refused_when_the_device_is_opened)
{
    static const struct {
        const char *spec, *part;
    } bad[] = {{"null:limit.fma.f32=fast", "the limit 'fma.f32' is 'fast', not a rate per second above 0"},
               {"null:limit.fma.f32=-1", "not a rate per second above 0"},
               {"null:limit.launch=0us", "not a duration above 0"},
               {"null:limit.read.dram=1e9,limit.read.dram=1e9", "given twice"}};
    assay_env *env = env_open();
    for (size_t i = 0; i < AS_COUNT(bad); i++) {
        as_device *device = NULL;
        expect_fails(env, as_device_open(env, bad[i].spec, 1, &device), ASSAY_BAD_INPUT, bad[i].part);
    }
    assay_env_free(env);
}

/* A short session of every meter of every OpenCL device here: checks that they run and give bands.  Nothing judges a speed. */
Test(roofs, every_meter_of_an_opencl_device_gives_a_limit)
{
    assay_env *env = env_open();
    as_device *device;
    as_roofs   r = {0};
    if (as_device_open(env, "opencl", 1, &device) != ASSAY_OK)
        skip("no OpenCL device: %s", assay_message(env));
    as_roof_settings settings = {.device = device, .n_threads = 1, .budget_s = 1e-3};
    expect_ok(env, as_roofs_measure(env, &settings, &r));
    static const char *const names[] = {"fma.f32.wide", "fma.f32.plain", "read.near", "triad.near", "read.dram",
                                        "triad.dram",   "launch",        "put",       "get"};
    for (size_t i = 0; i < AS_COUNT(names); i++)
        if (!as_roofs_find(&r, names[i]))
            fail("%s was not measured", names[i]);
    for (int i = 0; i < r.n; i++) {
        expect(r.list[i].lo > 0 && r.list[i].lo <= r.list[i].value && r.list[i].value <= r.list[i].hi && isfinite(r.list[i].hi));
        expect_str(r.list[i].device, device->name);
    }
    as_roofs_drop(&r);
    as_device_close(device);
    assay_env_free(env);
}
