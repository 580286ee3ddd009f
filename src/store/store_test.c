/* store_test.c - runs, history, names, objects and files of runs, by the interface alone. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/test_store.h"
#include "trace/stream.h"

/* --- Runs ----------------------------------------------------------------------------------------------------- */

static void expect_same_trial(const assay_trace *a, const assay_trace *b)
{
    expect_str(a->name, b->name);
    expect_eq(a->n_turns, b->n_turns);
    expect_eq(a->n_shots, b->n_shots);
    expect_eq(a->seed, b->seed);
    expect_eq(a->arms[1].hash, b->arms[1].hash);
    expect_str(as_trace_note_find(a, "machine.cpu"), "Zürich 7");
    for (size_t i = 0; i < a->n_turns; i++)
        expect(a->turns[i].wall_ns == b->turns[i].wall_ns && a->turns[i].first_shot == b->turns[i].first_shot &&
               isnan(a->turns[i].steal));
    for (size_t i = 0; i < a->n_shots; i++) {
        expect(a->shots[i].wall_ns == b->shots[i].wall_ns);
        expect(a->shots[i].cpu_ns == b->shots[i].cpu_ns || (isnan(a->shots[i].cpu_ns) && isnan(b->shots[i].cpu_ns)));
    }
}

Test(store, gives_back_a_run_with_every_block_and_sample_in_another_session)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "runs.db");
    int64_t    id = 0;
    expect_ok(env, store_put(env, s, "bench matmul", 1, &id));
    as_store_close(s);
    s = store_open(env, "runs.db");
    as_arena      arena = {0};
    as_stored_run run;
    assay_trace **trials, *want = store_trial("matmul/64", 10, 1001.0, true);
    size_t        n;
    expect_ok(env, as_store_get_run(env, s, id, &arena, &run));
    expect_eq(run.id, id);
    expect_str(run.title, "bench matmul");
    expect_str(run.report, "{\"schema\":\"assay.run/1\"}");
    expect_eq(run.n_trials, 2);
    expect_ok(env, as_store_get_trials(env, s, id, &trials, &n));
    expect_eq(n, 2);
    expect_same_trial(trials[0], want);
    expect_eq(trials[1]->n_turns, 8);
    expect_eq(trials[1]->n_shots, 0);
    expect_str(as_store_path(s), as_test_path("runs.db"));
    as_trials_free(trials, n);
    assay_trace_free(want);
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, lists_the_newest_first_by_kind_and_as_many_as_asked_for)
{
    assay_env     *env = store_env();
    as_store      *s = store_open(env, "list.db");
    as_arena       arena = {0};
    as_stored_run *runs, other = store_run("aa", 15);
    size_t         n;
    other.kind = "noise";
    expect_ok(env, store_put(env, s, "old", 10, NULL));
    expect_ok(env, store_put(env, s, "new", 30, NULL));
    expect_ok(env, store_put(env, s, "middle", 20, NULL));
    expect_ok(env, as_store_put_run(env, s, &other, NULL, 0, NULL));
    expect_ok(env, as_store_list_runs(env, s, "compare", 2, &arena, &runs, &n));
    expect_eq(n, 2);
    expect_str(runs[0].title, "new");
    expect_str(runs[1].title, "middle");
    expect(!runs[0].report);
    expect_ok(env, as_store_list_runs(env, s, NULL, 0, &arena, &runs, &n));
    expect_eq(n, 4);
    expect_str(runs[2].title, "aa");
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, removes_all_of_the_runs_asked_for_or_none)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "rm.db");
    assay_trace **trials;
    size_t        n;
    int64_t       ids[3], next;
    for (int i = 0; i < 3; i++)
        expect_ok(env, store_put(env, s, "run", i, &ids[i]));
    expect_ok(env, as_store_put_named(env, s, "baseline", "main", "{}", ids[1], false));
    expect_fails(env, as_store_remove_runs(env, s, ids, 3), ASSAY_BAD_INPUT, "the baseline 'main' needs run");
    expect_fails(env, as_store_remove_runs(env, s, (int64_t[]){ids[0], 99}, 2), ASSAY_NOT_FOUND, "there is no run 99");
    expect_eq(store_count(env, s), 3);
    expect_ok(env, as_store_remove_run(env, s, ids[2]));
    expect_fails(env, as_store_get_trials(env, s, ids[2], &trials, &n), ASSAY_NOT_FOUND, "there is no run");
    expect_ok(env, store_put(env, s, "run", 4, &next));
    expect(next > ids[2]); /* an id is never reused */
    as_store_close(s);
}

Test(store, refuses_a_trial_that_could_not_be_read_back)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "bad.db");
    assay_trace  *t = store_trial("matmul/64", 10, 1000.0, true);
    as_stored_run run = store_run("bad", 1);
    t->n_shots--;
    expect_fails(env, as_store_put_run(env, s, &run, (const assay_trace *const[]){t}, 1, NULL), ASSAY_INTERNAL,
                 "its samples end at 60, but there are 59");
    t->n_shots++;
    t->turns[3].arm = 2;
    expect_fails(env, as_store_put_run(env, s, &run, (const assay_trace *const[]){t}, 1, NULL), ASSAY_INTERNAL, "block 3");
    expect_eq(store_count(env, s), 0);
    assay_trace_free(t);
    as_store_close(s);
}

/* --- History ---------------------------------------------------------------------------------------------------- */

Test(store, gives_the_history_of_an_arm_of_a_comparison_oldest_first)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "history.db");
    as_arena   arena = {0};
    as_past   *past;
    size_t     n;
    expect_ok(env, store_put(env, s, "second", 200, NULL));
    expect_ok(env, store_put(env, s, "first", 100, NULL));
    expect_ok(env, as_store_history(env, s, "matmul/64, threads=2", "0123456789abcdef", &arena, &past, &n));
    expect_eq(n, 2);
    expect_eq(past[0].unix_time, 100);
    expect_eq(past[1].unix_time, 200);
    expect_str(past[1].arm, "threads=2");
    expect_str(past[1].commit, "abc");
    assay_trace *t = store_trial("matmul/64", 10, 1100.0, true);
    as_alone     alone;
    as_alone_judge(t, 1, &alone);
    expect_near(past[0].median_ns, alone.median, 0);
    expect_near(past[0].p25_ns, alone.p25, 0);
    expect_ok(env, as_store_history(env, s, "matmul/64, threads=2", "another machine", &arena, &past, &n));
    expect_eq(n, 0);
    assay_trace_free(t);
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, of_a_check_only_the_candidate_is_history)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "checked.db");
    as_arena      arena = {0};
    as_past      *past;
    size_t        n;
    assay_trace  *t = store_trial("matmul/64", 10, 1002.0, true);
    as_stored_run run = store_run("check", 3);
    run.kind = "check";
    expect_ok(env, as_store_put_run(env, s, &run, (const assay_trace *const[]){t}, 1, NULL));
    expect_ok(env, as_store_history(env, s, "matmul/64", NULL, &arena, &past, &n));
    expect_eq(n, 1);
    expect_str(past[0].arm, "threads=2");
    assay_trace_free(t);
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, counts_only_cases_that_have_numbers_to_believe)
{
    assay_env     *env = store_env();
    as_store      *s = store_open(env, "cases.db");
    as_arena       arena = {0};
    as_case_count *cases;
    size_t         n;
    assay_trace   *t = store_trial("too fast", 10, 1.7, true);
    as_stored_run  run = store_run("refused", 3);
    t->state = AS_TRACE_REFUSED;
    expect_ok(env, store_put(env, s, "a", 1, NULL));
    expect_ok(env, store_put(env, s, "b", 2, NULL));
    expect_ok(env, as_store_put_run(env, s, &run, (const assay_trace *const[]){t}, 1, NULL));
    expect_ok(env, as_store_cases(env, s, &arena, &cases, &n));
    expect_eq(n, 4);
    expect_str(cases[0].name, "matmul/64, threads=1");
    expect_eq(cases[0].n, 2);
    assay_trace_free(t);
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, knows_the_variance_of_a_case_as_last_seen_on_the_machine)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "variance.db");
    as_variance   v = {0};
    as_duel_rules rules;
    as_duel       duel;
    assay_trace  *t = store_trial("matmul/64", 10, 1002.0, true);
    expect_ok(env, store_put(env, s, "a", 2, NULL));
    expect_ok(env, store_put(env, s, "older", 1, NULL));
    as_duel_rules_standard(&rules);
    as_duel_judge(t, 0, 1, &rules, &duel);
    expect_ok(env, as_store_get_variance(env, s, "matmul/64", "0123456789abcdef", &v));
    expect_near(v.sigma_round, duel.variance.sigma_round, 0);
    expect_near(v.sigma_launch, duel.variance.sigma_launch, 0);
    expect_eq(v.n_launches, duel.variance.n_launches);
    expect_fails(env, as_store_get_variance(env, s, "matmul/64", "f", &v), ASSAY_NOT_FOUND, "never measured on this machine");
    expect_fails(env, as_store_get_variance(env, s, "conv", "0123456789abcdef", &v), ASSAY_NOT_FOUND, "'conv'");
    assay_trace_free(t);
    as_store_close(s);
}

/* --- Names ------------------------------------------------------------------------------------------------------- */

Test(store, keeps_named_values_and_replaces_them_only_when_told)
{
    assay_env  *env = store_env();
    as_store   *s = store_open(env, "named.db");
    as_arena    arena = {0};
    const char *json;
    as_named   *all;
    size_t      n;
    int64_t     id, run;
    expect_ok(env, store_put(env, s, "a", 1, &id));
    expect_ok(env, as_store_put_named(env, s, "baseline", "main", "{\"a\":1}", id, false));
    expect_fails(env, as_store_put_named(env, s, "baseline", "main", "{}", 0, false), ASSAY_BAD_INPUT,
                 "the baseline 'main' exists already");
    expect_ok(env, as_store_get_named(env, s, "baseline", "main", &arena, &json, &run));
    expect_str(json, "{\"a\":1}");
    expect_eq(run, id);
    expect_ok(env, as_store_put_named(env, s, "baseline", "main", "{\"a\":2}", 0, true));
    expect_ok(env, as_store_get_named(env, s, "baseline", "main", &arena, &json, &run));
    expect_str(json, "{\"a\":2}");
    expect_eq(run, 0);
    expect_fails(env, as_store_put_named(env, s, "baseline", "b", "{}", 99, false), ASSAY_NOT_FOUND, "there is no run 99");
    expect_ok(env, as_store_put_named(env, s, "noise", "main", "{}", 0, false));
    expect_ok(env, as_store_put_named(env, s, "baseline", "a", "{\"a\":3}", 0, false));
    expect_ok(env, as_store_list_named(env, s, "baseline", &arena, &all, &n));
    expect_eq(n, 2);
    expect_str(all[0].name, "a");
    expect_ok(env, as_store_remove_named(env, s, "baseline", "a"));
    expect_fails(env, as_store_remove_named(env, s, "baseline", "a"), ASSAY_NOT_FOUND, "there is no baseline 'a'");
    expect_fails(env, as_store_get_named(env, s, "baseline", "a", &arena, &json, NULL), ASSAY_NOT_FOUND,
                 "there is no baseline 'a'");
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, renames_without_losing_what_is_there)
{
    assay_env  *env = store_env();
    as_store   *s = store_open(env, "rename.db");
    as_arena    arena = {0};
    const char *json;
    expect_ok(env, as_store_put_named(env, s, "baseline", "new", "{\"a\":1}", 0, false));
    expect_ok(env, as_store_put_named(env, s, "baseline", "main", "{\"a\":2}", 0, false));
    expect_fails(env, as_store_rename_named(env, s, "baseline", "new", "main", false), ASSAY_BAD_INPUT, "'main' exists already");
    expect_fails(env, as_store_rename_named(env, s, "baseline", "nothing", "main", true), ASSAY_NOT_FOUND, "'nothing'");
    expect_ok(env, as_store_rename_named(env, s, "baseline", "main", "main", true));
    expect_ok(env, as_store_get_named(env, s, "baseline", "main", &arena, &json, NULL));
    expect_str(json, "{\"a\":2}");
    expect_ok(env, as_store_rename_named(env, s, "baseline", "new", "main", true));
    expect_ok(env, as_store_get_named(env, s, "baseline", "main", &arena, &json, NULL));
    expect_str(json, "{\"a\":1}");
    expect_fails(env, as_store_get_named(env, s, "baseline", "new", &arena, &json, NULL), ASSAY_NOT_FOUND, "'new'");
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, refuses_names_that_could_be_paths)
{
    static const char *const bad[] = {
        "",        "../main",  "a/b",
        ".hidden", "-x",       "a b",
        "a\n",     "\xc3\xbc", "a234567890123456789012345678901234567890123456789012345678901234567890"};
    assay_env *env = store_env();
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(env, as_store_check_name(env, "baseline", bad[i]), ASSAY_BAD_INPUT, "is not a valid name");
    expect_ok(env, as_store_check_name(env, "baseline", "v1.2_rc-3"));
    as_store *s = store_open(env, "names.db");
    expect_fails(env, as_store_put_named(env, s, "baseline", "../x", "{}", 0, false), ASSAY_BAD_INPUT,
                 "'../x' is not a valid name");
    expect_fails(env, as_store_rename_named(env, s, "baseline", "a", "../x", false), ASSAY_BAD_INPUT, "'../x' is not a valid name");
    as_store_close(s);
}

/* --- Objects ------------------------------------------------------------------------------------------------------ */

Test(store, keeps_an_object_once_under_the_hash_of_its_content)
{
    assay_env  *env = store_env();
    as_store   *s = store_open(env, "objects.db");
    char        id[AS_OBJECT_ID], again[AS_OBJECT_ID], path[4200];
    struct stat st;
    expect_ok(env, as_file_write(env, as_test_path("tool"), "abc", 3));
    expect(!chmod(as_test_path("tool"), 0755));
    expect_ok(env, as_store_put_object(env, s, as_test_path("tool"), id));
    expect_str(id, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_ok(env, as_store_put_object(env, s, as_test_path("tool"), again));
    expect_str(again, id);
    expect_ok(env, as_store_get_object(env, s, id, path, sizeof path));
    expect(!stat(path, &st) && (st.st_mode & 0100) && st.st_size == 3);
    as_store_close(s);
}

Test(store, tells_an_object_that_is_missing_from_one_that_was_changed)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "changed.db");
    char       id[AS_OBJECT_ID], path[4200], other[4200];
    expect_ok(env, as_file_write(env, as_test_path("model"), "changed", 7));
    expect_ok(env, as_store_put_object(env, s, as_test_path("model"), id));
    expect_ok(env, as_store_get_object(env, s, id, path, sizeof path));
    expect_ok(env, as_file_write(env, path, "chanGed", 7));
    expect_fails(env, as_store_get_object(env, s, id, other, sizeof other), ASSAY_BAD_INPUT, "it was changed");
    expect_ok(env, as_store_put_object(env, s, as_test_path("model"), id)); /* putting it again repairs it */
    expect_ok(env, as_store_get_object(env, s, id, other, sizeof other));
    expect(!unlink(path));
    expect_fails(env, as_store_get_object(env, s, id, other, sizeof other), ASSAY_NOT_FOUND, "cannot open");
    expect(!symlink(as_test_path("model"), path));
    expect_fails(env, as_store_get_object(env, s, id, other, sizeof other), ASSAY_BAD_INPUT, "is not a regular file");
    expect_fails(env, as_store_put_object(env, s, as_test_path("model"), id), ASSAY_BAD_INPUT, "a link is not followed");
    as_store_close(s);
}

Test(store, reads_no_object_by_a_name_that_leads_elsewhere)
{
    static const char *const bad[] = {"", "../runs.db", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a/",
                                      "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "ba7816bf"};
    assay_env               *env = store_env();
    as_store                *s = store_open(env, "paths.db");
    char                     path[4200], id[AS_OBJECT_ID];
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(env, as_store_get_object(env, s, bad[i], path, sizeof path), ASSAY_BAD_INPUT, "is not the name of an object");
    expect_fails(env, as_store_put_object(env, s, as_test_dir(), id), ASSAY_BAD_INPUT, "is not a regular file");
    expect_fails(env, as_store_put_object(env, s, as_test_path("none"), id), ASSAY_NOT_FOUND, "cannot open");
    as_store_close(s);
}

Test(store, sweeps_away_objects_that_nothing_names)
{
    assay_env *env = store_env();
    char       a[AS_OBJECT_ID], b[AS_OBJECT_ID], json[200], path[4200];
    size_t     n = 99;
    mkdir(as_test_path("sweep"), 0777);
    as_store *s = store_open(env, "sweep/runs.db");
    expect_ok(env, as_store_sweep(env, s, &n));
    expect_eq(n, 0);
    expect_ok(env, as_file_write(env, as_test_path("a"), "a", 1));
    expect_ok(env, as_file_write(env, as_test_path("b"), "b", 1));
    expect_ok(env, as_store_put_object(env, s, as_test_path("a"), a));
    expect_ok(env, as_store_put_object(env, s, as_test_path("b"), b));
    expect_ok(env, as_file_write(env, as_test_path("sweep/objects/.assay-00000000.tmp"), "left", 4));
    expect_ok(env, as_file_write(env, as_test_path("sweep/objects/README"), "mine", 4));
    snprintf(json, sizeof json, "{\"artefact\":\"%s\"}", b);
    expect_ok(env, as_store_put_named(env, s, "baseline", "main", json, 0, false));
    as_store *other = store_open(env, "sweep/runs.db");
    expect_ok(env, as_store_sweep(env, other, &n)); /* the first process may be about to name what it has put */
    expect_eq(n, 0);
    expect_ok(env, as_store_sweep(env, s, &n));
    expect_eq(n, 1);
    expect_ok(env, as_store_get_object(env, s, b, path, sizeof path));
    expect_fails(env, as_store_get_object(env, s, a, path, sizeof path), ASSAY_NOT_FOUND, "cannot open");
    expect(access(as_test_path("sweep/objects/.assay-00000000.tmp"), F_OK) && !access(as_test_path("sweep/objects/README"), F_OK));
    as_store_close(other);
    as_store_close(s);
}

/* --- Files of runs --------------------------------------------------------------------------------------------------- */

static void export_to(assay_env *env, as_store *s, const int64_t *ids, size_t n, const char *path)
{
    as_out out;
    expect_ok(env, as_out_open(env, path, &out));
    expect_ok(env, as_store_export(env, s, ids, n, out.file));
    expect_ok(env, as_out_commit(env, &out));
}

Test(store, carries_runs_to_another_store_and_doubles_none)
{
    assay_env    *env = store_env();
    as_store     *from = store_open(env, "from.db"), *to = store_open(env, "to.db");
    int64_t       ids[2];
    size_t        added, known, n;
    assay_trace **trials, *want = store_trial("matmul/64", 10, 1001.0, true);
    expect_ok(env, store_put(env, from, "one, caf\xe9", 1, &ids[0])); /* not UTF-8: what a shell may give */
    expect_ok(env, store_put(env, from, "two", 2, &ids[1]));
    export_to(env, from, ids, 2, as_test_path("runs.json"));
    expect_ok(env, store_put(env, to, "two", 2, NULL));
    expect_ok(env, as_store_import(env, to, as_test_path("runs.json"), &added, &known));
    expect_eq(added, 1);
    expect_eq(known, 1);
    expect_ok(env, as_store_import(env, from, as_test_path("runs.json"), &added, &known));
    expect_eq(added, 0);
    expect_eq(known, 2);
    expect_eq(store_count(env, to), 2);
    expect_ok(env, as_store_get_trials(env, to, 2, &trials, &n));
    expect_eq(n, 2);
    expect_same_trial(trials[0], want);
    as_trials_free(trials, n);
    assay_trace_free(want);
    export_to(env, to, (int64_t[]){2, 1}, 2, as_test_path("again.json")); /* the same bytes: nothing was lost */
    size_t a_bytes, b_bytes;
    char  *a = store_bytes(as_test_path("runs.json"), &a_bytes), *b = store_bytes(as_test_path("again.json"), &b_bytes);
    expect(a_bytes == b_bytes && !memcmp(a, b, a_bytes));
    free(a);
    free(b);
    as_store_close(from);
    as_store_close(to);
}

Test(store, imports_nothing_of_a_file_in_which_one_value_was_changed)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "verify.db");
    int64_t    ids[2];
    size_t     bytes, added = 77, known;
    expect_ok(env, store_put(env, s, "one", 1, &ids[0]));
    expect_ok(env, store_put(env, s, "two", 2, &ids[1]));
    export_to(env, s, ids, 2, as_test_path("verify.json"));
    char *text = store_bytes(as_test_path("verify.json"), &bytes), *at = strstr(strstr(text, "\"two\""), "\"unix_time\":2");
    expect(at);
    at[strlen("\"unix_time\":")] = '3';
    expect_ok(env, as_file_write(env, as_test_path("verify.json"), text, bytes));
    expect_ok(env, as_store_remove_runs(env, s, ids, 2));
    expect_fails(env, as_store_import(env, s, as_test_path("verify.json"), &added, &known), ASSAY_BAD_INPUT,
                 "run 2: \"hash\" does not match its content");
    expect_eq(added, 77);
    expect_eq(store_count(env, s), 0);
    free(text);
    as_store_close(s);
}

/* One changed byte of a record: the checksum of its chunk detects it. */
Test(store, imports_nothing_of_a_file_in_which_a_record_was_changed)
{
    assay_env *env = store_env();
    as_store  *s = store_open(env, "record.db");
    int64_t    id;
    size_t     bytes, added, known;
    expect_ok(env, store_put(env, s, "one", 1, &id));
    export_to(env, s, &id, 1, as_test_path("record.json"));
    expect_ok(env, as_store_remove_run(env, s, id));
    char *text = store_bytes(as_test_path("record.json"), &bytes), *at = strstr(text, "\"trials\"");
    expect(at);
    at += 4000;
    *at = *at == 'A' ? 'B' : 'A';
    expect_ok(env, as_file_write(env, as_test_path("record.json"), text, bytes));
    expect_fails(env, as_store_import(env, s, as_test_path("record.json"), &added, &known), ASSAY_BAD_INPUT, "record.json: ");
    *at = '*';
    expect_ok(env, as_file_write(env, as_test_path("record.json"), text, bytes));
    expect_fails(env, as_store_import(env, s, as_test_path("record.json"), &added, &known), ASSAY_BAD_INPUT,
                 "run 1: \"trials\" have a record that is not base64");
    expect_eq(store_count(env, s), 0);
    free(text);
    as_store_close(s);
}

Test(store, reads_and_carries_what_an_older_schema_kept)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "old.db"), *to = store_open(env, "old-to.db");
    as_arena      arena = {0};
    assay_trace **trials, *t = store_trial("matmul/64", 10, 1000.0, true), *again = NULL;
    const void   *bytes;
    size_t        n, added, known;
    int64_t       id = store_put_old(env, s, t);
    expect_ok(env, as_store_verify(env, s, &n));
    expect_ok(env, as_store_get_trials(env, s, id, &trials, &n));
    expect_eq(n, 1);
    expect_same_trial(trials[0], t);
    as_trials_free(trials, n);
    expect_ok(env, as_store_get_record(env, s, id, 0, &arena, &bytes, &n));
    expect_ok(env, as_trace_parse(env, "record", bytes, n, &again));
    expect_same_trial(again, t);
    export_to(env, s, &id, 1, as_test_path("old.json"));
    expect_ok(env, as_store_import(env, to, as_test_path("old.json"), &added, &known));
    expect_eq(added, 1);
    expect_ok(env, as_store_import(env, s, as_test_path("old.json"), &added, &known));
    expect_eq(known, 1);
    assay_trace_free(again);
    assay_trace_free(t);
    as_arena_drop(&arena);
    as_store_close(s);
    as_store_close(to);
}

/* What a profile has beside its turns: samples, spans, steps. */
Test(store, keeps_the_whole_record_of_a_profile)
{
    assay_env    *env = store_env();
    as_store     *s = store_open(env, "profile.db");
    as_arena      arena = {0};
    as_past      *past;
    assay_trace **trials, *t = NULL;
    as_stored_run run = store_run("mlp", 9);
    int64_t       id;
    size_t        n;
    run.kind = "profile";
    expect_ok(env, as_trace_new_arms(env, "mlp/batch=2", 1, &t));
    t->ns_per_tick = 2;
    expect(as_trace_add_step(t, &(as_trace_step){.name = "fc1", .op = "Gemm", .device = "cpu", .kernel = "k"}) == 0);
    expect(as_trace_reserve(t, 60, 60, 0, 0) && as_trace_reserve_turns(t, 1, 0));
    for (uint32_t i = 0; i < 60; i++) {
        expect(as_trace_add_sample(
            t,
            &(as_sample){.begin_ticks = 1000 * i, .end_ticks = 1000 * i + 500, .cpu_ns = UINT64_MAX, .first_run = i, .n_runs = 1}));
        expect(as_trace_add_span(
            t, &(as_span){.begin_ticks = 1000 * i + 10, .end_ticks = 1000 * i + 400, .run = i, .step = 0, .kind = AS_SPAN_STEP}));
    }
    t->turns[t->n_turns++] = (as_turn){.wall_ns = 900, .cpu_ns = 900, .busy = 1, .steal = NAN, .fma_ns = NAN, .copy_ns = NAN};
    t->n_runs = 60;
    t->n_rounds = t->n_launches = 1;
    expect_ok(env, as_store_put_run(env, s, &run, (const assay_trace *const *)&t, 1, &id));
    expect_ok(env, as_store_get_trials(env, s, id, &trials, &n));
    expect_eq(n, 1);
    expect_eq(trials[0]->n_samples, 60);
    expect_eq(trials[0]->n_spans, 60);
    expect_str(trials[0]->steps[0].name, "fc1");
    as_trials_free(trials, n);
    expect_ok(env, as_store_history(env, s, "mlp/batch=2, profile", NULL, &arena, &past, &n));
    expect_eq(n, 1);
    expect_near(past[0].median_ns, 1000, 1e-9); /* of the samples, as its report says, and not of the blocks */
    assay_trace_free(t);
    as_arena_drop(&arena);
    as_store_close(s);
}

Test(store, refuses_what_is_no_file_of_runs_by_the_key_that_is_wrong)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "import: "},
        {"[]", "schema is 'missing'"},
        {"{\"schema\":\"assay.run/1\"}", "schema is 'assay.run/1'"},
        {"{\"schema\":\"assay.runs-export/1\"}", "\"runs\" are missing"},
        {"{\"schema\":\"assay.runs-export/1\",\"runs\":[3]}", "run 1: \"kind\" is missing"},
        {"{\"schema\":\"assay.runs-export/1\",\"runs\":[{\"kind\":\"a\",\"title\":\"\",\"fingerprint\":\"\",\"commit\":\"\",\"state\":\"\",\"report\":\"\","
         "\"hash\":\"\",\"unix_time\":1.5,\"trials\":[]}]}",
         "\"unix_time\" is missing or not a whole number"},
        {"{\"schema\":\"assay.runs-export/1\",\"runs\":[{\"kind\":\"a\",\"title\":\"\",\"fingerprint\":\"\",\"commit\":\"\",\"state\":\"\",\"report\":\"\","
         "\"hash\":\"\",\"unix_time\":1,\"trials\":[{}]}]}",
         "schema"},
    };
    assay_env   *env = store_env();
    as_run_batch batch;
    for (size_t i = 0; i < AS_COUNT(bad); i++)
        expect_fails(env, as_runs_parse(env, "x.json", bad[i].text, strlen(bad[i].text), &batch), ASSAY_BAD_INPUT, bad[i].part);
}

/* --- Which store -------------------------------------------------------------------------------------------------------- */

Test(store, is_made_in_its_own_directory_when_nothing_is_said)
{
    assay_env *env = store_env();
    as_store  *s = NULL;
    char       back[4096];
    if (!as_st_table[0])
        skip("built without SQLite");
    mkdir(as_test_path("project"), 0777);
    expect(getcwd(back, sizeof back) && !chdir(as_test_path("project")));
    assay_status none = as_store_open(env, NULL, false, &s);
    bool         left_alone = access(".assay", F_OK) != 0;
    assay_status made = as_store_open(env, "", true, &s);
    bool         there = !access(".assay/runs.db", F_OK);
    if (s)
        as_store_close(s);
    expect(!chdir(back));
    expect_eq(none, ASSAY_NOT_FOUND);
    expect(left_alone);
    expect_ok(env, made);
    expect(there);
}

Test(store, is_opened_by_path_or_by_url)
{
    assay_env *env = store_env();
    as_store  *s = NULL;
    char       url[4200];
    expect_fails(env, as_store_open(env, "postgres:host", true, &s), ASSAY_UNSUPPORTED, "unknown kind of store 'postgres'");
    if (!as_st_table[0])
        expect_fails(env, as_store_open(env, "x.db", true, &s), ASSAY_UNSUPPORTED, "built without SQLite");
    as_store_close(store_open(env, "url.db"));
    snprintf(url, sizeof url, "sqlite:%s", as_test_path("url.db"));
    expect_ok(env, as_store_open(env, url, false, &s));
    expect_str(as_store_path(s), as_test_path("url.db"));
    as_store_close(s);
}
