/* roofs_test.c - the cache file, and a short session of every meter.  Nothing here judges a speed. */
#include <stdlib.h>

#include "base/file.h"
#include "roof/roof.h"
#include "tests/runner/test.h"

#define KEY "0123456789abcdef"
#define ROOF(name, rest) \
    "{\"name\":\"" name "\",\"unit\":\"byte/s\",\"value\":2,\"lo\":1,\"hi\":3,\"n\":4," rest "\"source\":\"s\"}"
#define FILE_OF(roofs) \
    "{\"schema\":\"assay.roofs/1\",\"key\":\"" KEY "\",\"measured_unix_s\":1772366400,\"seconds\":2.5,\"roofs\":[" roofs "]}"

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
    expect_ok(env, parse(env, FILE_OF(ROOF("read.l1.t1", "") "," ROOF("read.l2.t1", "")), &r));
    expect_eq(r.n, 2);
    const char *path = as_test_path("new/folder/roofs.json");
    expect_ok(env, as_roofs_save(env, path, &r));
    expect_ok(env, as_roofs_load(env, path, KEY, &again));
    expect_eq(again.n, 2);
    expect_near(as_roofs_find(&again, "read.l2.t1")->hi, 3, 0);
    expect_eq(as_roofs_find(&again, "read.l2.t1")->n, 4);
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
        {"{\"schema\":\"assay.roofs/2\"}", "schema is 'assay.roofs/2'"},
        {"{\"schema\":\"assay.roofs/1\",\"key\":\"other\"}", "it is of 'other'"},
        {"{\"schema\":\"assay.roofs/1\",\"key\":\"" KEY "\",\"seconds\":1,\"roofs\":[]}", "when they were measured"},
        {"{\"schema\":\"assay.roofs/1\",\"key\":\"" KEY "\",\"measured_unix_s\":-1,\"seconds\":1,\"roofs\":[]}",
         "when they were measured"},
        {"{\"schema\":\"assay.roofs/1\",\"key\":\"" KEY "\",\"measured_unix_s\":999999999999999,\"seconds\":1,\"roofs\":[]}",
         "when"},
        {FILE_OF(""), "holds 0 roofs"},
        {FILE_OF("7"), "no name"},
        {FILE_OF(ROOF("a b", "")), "no name"},
        {FILE_OF(ROOF("a", "") "," ROOF("a", "")), "a is there twice"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"mile\",\"value\":2,\"lo\":1,\"hi\":3,\"n\":4,\"source\":\"s\"}"), "unit 'mile'"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":3,\"hi\":3,\"n\":4,\"source\":\"s\"}"),
         "a is 2 between 3 and 3"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":0,\"hi\":3,\"n\":4,\"source\":\"s\"}"), "between 0 and 3"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"lo\":1,\"hi\":3,\"n\":4,\"source\":\"s\"}"), "between 1 and 3"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":1,\"hi\":1e999,\"n\":4,\"source\":\"s\"}"), ""},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":1,\"hi\":3,\"n\":0,\"source\":\"s\"}"), "how many chunks"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":1,\"hi\":3,\"n\":1.5,\"source\":\"s\"}"), "how many chunks"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":1,\"hi\":3,\"n\":1,\"source\":\"\\u001b[31m\"}"), "no source"},
        {FILE_OF("{\"name\":\"a\",\"unit\":\"ns\",\"value\":2,\"lo\":1,\"hi\":3,\"n\":1}"), "no source"},
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
    as_text_add(&text, "{\"schema\":\"assay.roofs/1\",\"key\":\"" KEY "\",\"measured_unix_s\":1,\"seconds\":1,\"roofs\":[0");
    for (int i = 0; i < AS_ROOFS_MAX; i++)
        as_text_add(&text, ",0");
    as_text_add(&text, "]}");
    expect_fails(env, parse(env, text.data, &r), ASSAY_BAD_INPUT, "holds 257 roofs");
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
    as_roofs_key(one, 1);
    as_roofs_key(same, 1);
    as_roofs_key(two, 2);
    expect_str(one, same);
    expect(strcmp(one, two) != 0);
    expect_eq(strlen(one), 16);
}

/* One chunk of each, over little memory: that every meter runs, is named as it should be and gives a band. */
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
        if (!(roof->lo > 0 && roof->lo <= roof->value && roof->value <= roof->hi && isfinite(roof->hi) && roof->n >= 1))
            fail("%s is %g between %g and %g", roof->name, roof->value, roof->lo, roof->hi);
        expect(*roof->source && *roof->unit);
    }
    const char *path = as_test_path("measured.json"); /* what is measured can also be kept */
    as_roofs    again = {0};
    expect_ok(env, as_roofs_save(env, path, &r));
    expect_ok(env, as_roofs_load(env, path, r.key, &again));
    expect_eq(again.n, r.n);
    as_roofs_drop(&again);
    as_roofs_drop(&r);
    assay_env_free(env);
}

Test(roofs, a_cancelled_session_gives_nothing)
{
    assay_env       *env = env_open();
    as_roofs         r = {.n = 77};
    as_roof_settings settings = {.n_threads = 1, .budget_s = 1e-3, .dram_bytes = 8 << 20};
    assay_cancel(env);
    expect_fails(env, as_roofs_measure(env, &settings, &r), ASSAY_CANCELLED, "stopped at clock.core");
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
    expect_fails(env, as_roofs_measure(env, &settings, &r), ASSAY_UNSUPPORTED, "fake");
    expect(!as_roofs_probe(env, name, sizeof name, &rate));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_AUTO, &settings, &r, source, sizeof source));
    expect_eq(r.n, 0);
    expect_has(source, "fake");
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
    as_roofs_key(key, 1);
    expect(as_roofs_path(path, sizeof path, key));
    expect_ok(env, as_file_write(env, path, "{\"schema\":", 10));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_LOOK, &settings, &r, source, sizeof source));
    expect_eq(r.n, 0);
    expect_has(source, "none measured yet; a cached file was of no use");
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

Test(roofs, a_broken_cache_is_measured_over_and_mended)
{
    assay_env       *env = env_open();
    as_roofs         r = {0}, kept = {0};
    as_roof_settings settings = {.n_threads = 1, .budget_s = 1e-3, .dram_bytes = 8 << 20};
    char             source[1024], key[17], path[4096];
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    as_roofs_key(key, 1);
    expect(as_roofs_path(path, sizeof path, key));
    expect_ok(env, as_file_write(env, path, "nonsense", 8));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_AUTO, &settings, &r, source, sizeof source));
    expect(r.n > 5);
    expect_has(source, "measured in");
    expect_has(source, "of no use");
    expect_ok(env, as_roofs_load(env, path, key, &kept));
    expect_eq(kept.n, r.n);
    as_roofs_drop(&kept);
    as_roofs_drop(&r);
    assay_env_free(env);
}

Test(roofs, a_cache_whose_point_is_far_off_is_not_believed)
{
    assay_env       *env = env_open();
    as_roofs         r = {0}, far = {0};
    as_roof_settings settings = {.n_threads = 1, .budget_s = 1e-3, .dram_bytes = 8 << 20};
    char             source[1024], path[4096], name[64] = "";
    double           rate;
    setenv("ASSAY_CACHE_DIR", as_test_dir(), 1);
    expect_ok(env, as_roofs_measure(env, &settings, &far));
    bool asked = as_roofs_probe(env, name, sizeof name, &rate);
    for (int i = 0; i < far.n; i++) /* a thousand times too fast */
        if (!strcmp(far.list[i].name, name))
            far.list[i].value = far.list[i].hi = far.list[i].value * 1000.0;
    expect(as_roofs_path(path, sizeof path, far.key));
    expect_ok(env, as_roofs_save(env, path, &far));
    expect_ok(env, as_roofs_get(env, AS_ROOFS_AUTO, &settings, &r, source, sizeof source));
    as_roofs_drop(&r);
    as_roofs_drop(&far);
    assay_env_free(env);
    if (!asked || strstr(source, "too busy"))
        skip("this machine is too busy for three whole chunks in 10 ms");
    expect_has(source, "more than 3 % off");
    expect_has(source, "measured in");
}

Test(roofs, go_into_a_trace_with_their_notes)
{
    assay_env   *env = env_open();
    assay_trace *t;
    as_roofs     r = {0};
    expect_ok(env, parse(env, FILE_OF(ROOF("read.l1.t1", "")), &r));
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

Test(roofs, a_disturbed_roof_keeps_the_higher_value_of_the_time_before)
{
    as_trace_roof now[] = {
        {.name = "fma.f32.avx2.t1",
         .unit = "flop/s",
         .value = 10e9,
         .lo = 9e9,
         .hi = 11e9,
         .source = "loop; disturbed: 7 of 20 chunks pre-empted"},
        {.name = "read.l1.t1", .unit = "byte/s", .value = 90e9, .lo = 89e9, .hi = 91e9, .source = "loop"},
        {.name = "read.l2.t1",
         .unit = "byte/s",
         .value = 50e9,
         .lo = 40e9,
         .hi = 51e9,
         .source = "loop; disturbed: takes differ by 25 %"},
        {.name = "fork.t2", .unit = "ns", .value = 70, .lo = 60, .hi = 90, .source = "loop; disturbed: takes differ by 25 %"}};
    as_trace_roof then[] = {{.name = "fma.f32.avx2.t1", .unit = "flop/s", .value = 95e9, .lo = 94e9, .hi = 96e9, .source = "loop"},
                            {.name = "read.l1.t1", .unit = "byte/s", .value = 100e9, .lo = 99e9, .hi = 101e9, .source = "loop"},
                            {.name = "read.l2.t1",
                             .unit = "byte/s",
                             .value = 80e9,
                             .lo = 70e9,
                             .hi = 81e9,
                             .source = "loop; disturbed: takes differ by 9 %"},
                            {.name = "fork.t2", .unit = "ns", .value = 75, .lo = 60, .hi = 90, .source = "loop"}};
    as_roofs      r = {.list = now, .n = 4}, before = {.list = then, .n = 4};
    expect_eq(as_roofs_mend(&r, &before), 1);
    expect_near(now[0].value, 95e9, 1);
    expect_near(now[0].hi, 96e9, 1);
    expect_near(now[0].lo, 9e9, 1);
    expect(!as_roof_is_disturbed(&now[0]));
    expect_near(now[1].value, 90e9, 1); /* undisturbed: the machine is slower now */
    expect_near(now[2].value, 50e9, 1); /* the one before was disturbed, too */
    expect_near(now[3].value, 70, 1);   /* of a time the lower one is the better */
    as_arena_drop(&r.arena);
}
