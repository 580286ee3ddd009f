/* checkpoint_test.c - a checkpoint is whole or not there, whatever happens to its files or to the process that writes them. */
#include "train/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runner/test.h"

static assay_env     *env;
static as_checkpoints folder = {.fd = -1};
static as_checkpoint  loaded;

static void setup(void)
{
    if (!env)
        expect_eq(assay_env_new(&env), ASSAY_OK);
}

static void teardown(void)
{
    as_checkpoint_drop(&loaded);
    as_checkpoints_close(&folder);
    assay_env_free(env);
    env = NULL;
}

static float weights[8], moments[8];

/* The tensors of a step: their values name it. */
static size_t items_make(uint64_t step, as_named_view items[2])
{
    for (int i = 0; i < 8; i++) {
        weights[i] = (float)step + (float)i / 8;
        moments[i] = -weights[i];
    }
    items[0] = (as_named_view){"fc.weight", as_view_of(weights, AS_F32, &AS_SHAPE(2, 4))};
    items[1] = (as_named_view){"state.m.fc.weight", as_view_of(moments, AS_F32, &AS_SHAPE(2, 4))};
    return 2;
}

static as_checkpoint_place place_at(uint64_t step)
{
    as_checkpoint_place p = {.updates = step,
                             .applied = step - 1,
                             .steps = 4 * step,
                             .epoch = 3,
                             .batches = 17,
                             .samples = 99,
                             .batch = 32,
                             .seed = 7,
                             .epoch_loss = 0.1 + 0.2,
                             .epoch_samples = 96,
                             .best_loss = 1.0 / 3,
                             .best_val = NAN,
                             .loss_scale = 65536,
                             .clean_steps = 5,
                             .skips = 2,
                             .optimizer_text = "adamw:lr=1e-3",
                             .schedule_text = "warmup 10 > cosine 1e-5",
                             .loss_text = "ce",
                             .model_hash = "m",
                             .data_hash = "d"};
    return p;
}

static assay_status save(uint64_t step)
{
    as_named_view       items[2];
    size_t              n = items_make(step, items);
    as_checkpoint_place p = place_at(step);
    return as_checkpoints_save(env, &folder, &p, items, n);
}

static void open_folder(int keep) { expect_ok(env, as_checkpoints_open(env, as_test_path("run"), keep, &folder)); }

static int count(const char *suffix)
{
    int            n = 0;
    DIR           *d = opendir(as_test_path("run"));
    struct dirent *e;
    while (d && (e = readdir(d))) {
        size_t a = strlen(e->d_name), b = strlen(suffix);
        n += e->d_name[0] != '.' && a >= b && !strcmp(e->d_name + a - b, suffix);
        n += !*suffix && strstr(e->d_name, ".tmp");
    }
    if (d)
        closedir(d);
    return n;
}

static void expect_step(uint64_t step)
{
    float got[8];
    expect_ok(env, as_checkpoint_load(env, as_test_path("run"), &loaded));
    expect_eq(loaded.place.updates, step);
    as_view out = as_view_of(got, AS_F32, &AS_SHAPE(2, 4));
    expect_ok(env, as_checkpoint_get(env, &loaded, "fc.weight", &out));
    for (int i = 0; i < 8; i++)
        expect(got[i] == (float)step + (float)i / 8);
    as_checkpoint_drop(&loaded);
}

Test(checkpoint, gives_back_every_number_to_the_bit)
{
    setup();
    open_folder(2);
    expect_ok(env, save(12));
    expect_ok(env, as_checkpoint_load(env, as_test_path("run"), &loaded));
    as_checkpoint_place want = place_at(12), got = loaded.place;
    expect(isnan(got.best_val));
    expect(!memcmp(&got.epoch_loss, &want.epoch_loss, sizeof got.epoch_loss));
    expect(!memcmp(&got.best_loss, &want.best_loss, sizeof got.best_loss));
    expect_eq(got.updates, 12);
    expect_eq(got.steps, 48);
    expect_eq(got.applied, 11);
    expect_eq(got.epoch, 3);
    expect_eq(got.batches, 17);
    expect_eq(got.samples, 99);
    expect_eq(got.batch, 32);
    expect_eq(got.seed, 7);
    expect_eq(got.epoch_samples, 96);
    expect_eq(got.clean_steps, 5);
    expect_eq(got.skips, 2);
    expect_near(got.loss_scale, 65536, 0);
    expect_str(got.optimizer_text, want.optimizer_text);
    expect_str(got.schedule_text, want.schedule_text);
    expect_str(got.loss_text, "ce");
    expect_str(got.model_hash, "m");
    expect_str(got.data_hash, "d");
    expect_eq(loaded.n_refused, 0);
    teardown();
}

Test(checkpoint, keeps_the_newest_and_no_other_file)
{
    setup();
    open_folder(2);
    for (uint64_t step = 1; step <= 5; step++)
        expect_ok(env, save(step));
    expect_eq(count(".json"), 2);
    expect_eq(count(".safetensors"), 2);
    expect_eq(count(""), 4);
    expect_step(5);
    expect_ok(env, save(5)); /* the same step again */
    expect_eq(count(""), 4);
    expect_step(5);
    teardown();
}

static const char *newest_tensors(void)
{
    static char    path[4096];
    char           best[256] = "";
    DIR           *d = opendir(as_test_path("run"));
    struct dirent *e;
    while (d && (e = readdir(d)))
        if (strstr(e->d_name, ".safetensors") && strcmp(e->d_name, best) > 0)
            snprintf(best, sizeof best, "%s", e->d_name);
    if (d)
        closedir(d);
    snprintf(path, sizeof path, "%s/%s", as_test_path("run"), best);
    return path;
}

Test(checkpoint, uses_the_last_good_one_of_a_folder)
{
    setup();
    open_folder(2);
    expect_ok(env, save(1));
    expect_ok(env, save(2));
    expect_eq(truncate(newest_tensors(), 100), 0);
    expect_ok(env, as_checkpoint_load(env, as_test_path("run"), &loaded));
    expect_eq(loaded.place.updates, 1);
    expect_eq(loaded.n_refused, 1);
    expect_has(loaded.refused, "it was cut or changed: it has 100 bytes");
    teardown();
}

static void poke(const char *path, long at, int byte)
{
    FILE *f = fopen(path, "r+");
    expect(f && !fseek(f, at, SEEK_SET));
    fputc(byte, f);
    fclose(f);
}

Test(checkpoint, refuses_one_changed_byte)
{
    setup();
    open_folder(2);
    expect_ok(env, save(3));
    struct stat st;
    expect_eq(stat(newest_tensors(), &st), 0);
    poke(newest_tensors(), (long)st.st_size - 3, 0x55);
    expect_fails(env, as_checkpoint_load(env, as_test_path("run"), &loaded), ASSAY_BAD_INPUT, "it was changed: its SHA-256 is");
    expect_has(assay_message(env), "the folder has no whole checkpoint");
    expect_fails(env, as_checkpoint_load(env, as_test_path("run/step-00000003.json"), &loaded), ASSAY_BAD_INPUT, "it was changed");
    teardown();
}

static void json_write(const char *text)
{
    FILE *f = fopen(as_test_path("x.json"), "w");
    expect(f != NULL);
    fputs(text, f);
    fclose(f);
}

Test(checkpoint, refuses_files_that_are_none_by_one_sentence)
{
    setup();
    static const struct {
        const char *text, *part;
    } bad[] = {{"", "x.json"},
               {"[1]", "it is not a checkpoint"},
               {"{\"schema\": \"assay.run/1\"}", "it is not a checkpoint"},
               {"{\"schema\": \"assay.checkpoint/1\", \"tensors\": \"../../etc/passwd\"}", "does not name a file beside it"},
               {"{\"schema\": \"assay.checkpoint/1\", \"tensors\": \"a.safetensors\", \"sha256\": \"x\"}", "missing or wrong"},
               {"{\"schema\": \"assay.checkpoint/1\", \"tensors\": \"a.safetensors\", \"bytes\": 5, \"sha256\": "
                "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\", \"updates\": -1}",
                "\"updates\" is missing or wrong"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_write(bad[i].text);
        expect_fails(env, as_checkpoint_load(env, as_test_path("x.json"), &loaded), ASSAY_BAD_INPUT, bad[i].part);
        expect(!strchr(assay_message(env), '\n'));
    }
    expect_fails(env, as_checkpoint_load(env, as_test_path("none"), &loaded), ASSAY_NOT_FOUND, "cannot open");
    open_folder(1);
    expect_fails(env, as_checkpoint_load(env, as_test_path("run"), &loaded), ASSAY_NOT_FOUND, "has no checkpoint");
    teardown();
}

Test(checkpoint, refuses_tensors_of_another_network)
{
    setup();
    open_folder(2);
    expect_ok(env, save(3));
    expect_ok(env, as_checkpoint_load(env, as_test_path("run"), &loaded));
    float   out[8];
    as_view view = as_view_of(out, AS_F32, &AS_SHAPE(8));
    expect_fails(env, as_checkpoint_get(env, &loaded, "fc.weight", &view), ASSAY_BAD_INPUT,
                 "is f32[2,4], and the network has f32[8]");
    expect_fails(env, as_checkpoint_get(env, &loaded, "fc2.weight", &view), ASSAY_BAD_INPUT, "has no tensor 'fc2.weight'");
    teardown();
}

Test(checkpoint, lets_only_one_run_write_to_a_folder)
{
    setup();
    open_folder(2);
    as_checkpoints other;
    expect_fails(env, as_checkpoints_open(env, as_test_path("run"), 2, &other), ASSAY_BAD_INPUT, "another run writes");
    as_checkpoints_close(&folder);
    open_folder(2);
    teardown();
}

/* A limit on the size of a file is what a full disk is to its writer. */
Test(checkpoint, stays_as_it_was_when_the_disk_is_full)
{
    setup();
    open_folder(2);
    expect_ok(env, save(1));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    struct stat   st;
    expect_eq(stat(newest_tensors(), &st), 0);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){150, before.rlim_max});
    expect_fails(env, save(2), ASSAY_IO, "cannot write");
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)st.st_size, before.rlim_max}); /* room for the tensors, and not for the JSON */
    expect_fails(env, save(2), ASSAY_IO, "cannot write");
    setrlimit(RLIMIT_FSIZE, &before);
    expect_eq(count(""), 2);
    expect_eq(folder.n_failed, 2);
    expect_step(1);
    expect_ok(env, save(2));
    expect_step(2);
    teardown();
}

/* The child writes without an end and tells the last step that it knows to be there. */
static void writer(int tell)
{
    for (uint64_t step = 1;; step++)
        if (save(step) != ASSAY_OK || write(tell, &step, sizeof step) != sizeof step)
            _exit(1);
}

Test(checkpoint, is_whole_after_a_kill_at_any_moment)
{
    setup();
    as_test_dir(); /* before the children, which would make their own */
    for (int round = 0; round < 25; round++) {
        int      ends[2];
        uint64_t told = 0, step;
        expect_eq(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            close(ends[0]);
            if (as_checkpoints_open(env, as_test_path("run"), 1 + round % 2, &folder) != ASSAY_OK)
                _exit(1);
            writer(ends[1]);
        }
        close(ends[1]);
        expect(read(ends[0], &step, sizeof step) == sizeof step); /* it has begun */
        usleep((useconds_t)(37 * round * round % 4001));
        kill(child, SIGKILL);
        while (read(ends[0], &step, sizeof step) == sizeof step)
            told = step;
        close(ends[0]);
        waitpid(child, NULL, 0);
        expect_ok(env, as_checkpoint_load(env, as_test_path("run"), &loaded));
        expect_eq(loaded.n_refused, 0);
        expect(loaded.place.updates >= told);
        uint64_t at = loaded.place.updates;
        as_checkpoint_drop(&loaded);
        expect_step(at);
        /* The next writer removes what was left behind. */
        open_folder(1);
        expect_ok(env, save(at + 1));
        expect_eq(count(""), 2);
        as_checkpoints_close(&folder);
        /* Every round begins anew, so that steps rise. */
        char command[4200];
        snprintf(command, sizeof command, "%s/step-%08llu.json", as_test_path("run"), (unsigned long long)at + 1);
        unlink(command);
    }
    teardown();
}
