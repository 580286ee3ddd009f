/* loop_test.c - whole training runs: the same to the bit after a resume and for any number of threads, watched, and kept. */
#include "train/loop.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/runner/test.h"
#include "train/checkpoint.h"
#include "train/loop_parts.h"

enum { MOST = 400 };

typedef struct fixture {
    assay_env       *env;
    assay_options   *options;
    assay_model     *model;
    as_loop_settings settings;
    as_loop         *loop;
} fixture;

static fixture f; /* static so that a failed test leaks nothing */

static void close_all(void)
{
    as_loop_close(f.loop);
    assay_model_free(f.model);
    assay_options_free(f.options);
    assay_env_free(f.env);
    f = (fixture){.env = NULL};
}

/* options: "key value" each, NULL-terminated; a later one counts. */
static assay_status open_with(const char *spec, const char *const *options, const char *const *more)
{
    close_all();
    expect_eq(assay_env_new(&f.env), ASSAY_OK);
    expect_ok(f.env, assay_options_new(f.env, &f.options));
    for (int k = 0; k < 2; k++)
        for (const char *const *o = k ? more : options; o && *o; o += 2)
            expect_ok(f.env, assay_options_set(f.env, f.options, o[0], o[1]));
    expect_ok(f.env, assay_model_load(f.env, spec, f.options, &f.model));
    AS_TRY(as_loop_settings_read(f.env, f.options, &f.settings));
    return as_loop_open(f.env, f.model, &f.settings, &f.loop);
}

/* The losses of up to n updates. */
static int losses_take(double *out, int n)
{
    assay_training now;
    bool           more = true;
    int            i = 0;
    while (more && i < n) {
        expect_ok(f.env, as_loop_update(f.loop, &now, &more));
        out[i++] = now.loss;
    }
    return i;
}

static void expect_same(const double *a, const double *b, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]))
            fail("%s: update %d: %.17g is not %.17g", what, i + 1, a[i], b[i]);
}

static uint64_t spans_of(const assay_trace *t, size_t lane, const char *frame)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->n_spans; i++)
        n += t->spans[i].thread == lane && !strcmp(t->frames[t->spans[i].step].name, frame);
    return n;
}

static uint64_t total_count(const assay_trace *t, const char *frame)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->n_stack_totals; i++)
        n += !strcmp(t->frames[t->stacks[t->stack_totals[i].stack].frame].name, frame) ? t->stack_totals[i].count : 0;
    return n;
}

#define SPIRALS "data", "synthetic:spirals,n=200,seed=3", "val", "20%", "batch", "16"
#define NET     "mlp:sizes=2x16x3"

/* --- Resume -------------------------------------------------------------------------------------------------------- */

static void resumes(const char *what, const char *spec, const char *const *options, int stop, int n)
{
    double whole[MOST], first[MOST], rest[MOST];
    expect_ok(f.env, open_with(spec, options, (const char *const[]){"threads", "2", NULL}));
    expect_eq(losses_take(whole, n), n);
    expect(whole[0] != whole[n - 1]);
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", as_test_path(what));
    expect_ok(f.env, open_with(spec, options, NULL));
    losses_take(first, stop);
    expect_same(first, whole, stop, "one thread and two");
    expect_ok(f.env, as_loop_save(f.loop, folder));
    expect_ok(f.env, open_with(spec, options, (const char *const[]){"resume", folder, NULL}));
    expect_eq(losses_take(rest, n - stop), n - stop);
    expect_same(rest, whole + stop, n - stop, what);
    close_all();
}

Test(loop, goes_on_to_the_bit_with_every_optimiser)
{
    static const char *const all[] = {"sgd:lr=0.05",
                                      "sgd:lr=0.05,momentum=0.9,nesterov=1",
                                      "adam",
                                      "adamw:lr=1e-2,decay=0.1",
                                      "rmsprop:lr=1e-3,centered=1,momentum=0.5",
                                      "adagrad:lr=0.05",
                                      "adadelta:lr=0.5",
                                      "nadam",
                                      "lbfgs:history=3"};
    for (size_t i = 0; i < AS_COUNT(all); i++)
        resumes(all[i], NET, (const char *const[]){SPIRALS, "steps", "25", "optimizer", all[i], NULL}, 13, 25);
}

Test(loop, goes_on_to_the_bit_with_accumulation_across_epochs)
{
    resumes("accumulate", NET, (const char *const[]){SPIRALS, "steps", "20", "accumulate", "3", "clip", "0.5", NULL}, 7, 20);
}

Test(loop, goes_on_to_the_bit_with_dropout)
{
    resumes("dropout", "mlp-dropout:sizes=2x16x3", (const char *const[]){SPIRALS, "steps", "20", NULL}, 7, 20);
}

/* Pictures in the form of CIFAR-10, of noise. */
static const char *pictures(int n)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s", as_test_path("data_batch_1.bin"));
    FILE *file = fopen(path, "w");
    expect(file != NULL);
    for (int i = 0; i < n; i++) {
        fputc(i % 10, file);
        for (uint32_t k = 0; k < 3072; k++)
            fputc((int)((k * 2654435761u + (uint32_t)i * 40503u) >> 13 & 255), file);
    }
    fclose(file);
    return path;
}

Test(loop, goes_on_to_the_bit_with_batch_norm)
{
    const char *data = pictures(32);
    resumes("norm", "cnn-bn:widths=4x6",
            (const char *const[]){"data", data, "val", data, "preprocess", "scale=1/255,flip,crop=2", "batch", "4", "epochs", "2",
                                  NULL},
            9, 16);
}

Test(loop, goes_on_to_the_bit_with_a_plateau_and_a_growing_batch)
{
    resumes("plateau", NET,
            (const char *const[]){SPIRALS, "epochs", "6", "schedule", "plateau 0.5 1", "optimizer", "sgd:lr=0.5", "grow-batch",
                                  "epoch 2: 20, epoch 4: 32 rate sqrt", NULL},
            19, 40);
}

Test(loop, refuses_the_checkpoint_of_another_run_by_one_sentence)
{
    double      ignored[MOST];
    const char *folder;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "steps", "9", NULL}, NULL));
    losses_take(ignored, 3);
    char path[4096];
    snprintf(path, sizeof path, "%s", as_test_path("other"));
    folder = path;
    expect_ok(f.env, as_loop_save(f.loop, folder));
    static const struct {
        const char *spec, *key, *value, *part;
    } others[] = {{NET, "optimizer", "sgd:lr=1", "its optimiser was adam, and this run has sgd:lr=1"},
                  {NET, "seed", "8", "its seed was 1, and this run has 8"},
                  {NET, "batch", "8", "its batch size was 16, and this run has 8"},
                  {NET, "schedule", "cosine", "its schedule was not given, and this run has cosine"},
                  {NET, "data", "synthetic:spirals,n=201,seed=3", "it was made with other data"},
                  {"mlp:sizes=2x17x3", "seed", "1", "it is of another network"}};
    for (size_t i = 0; i < AS_COUNT(others); i++) {
        const char *more[] = {"resume", folder, others[i].key, others[i].value, NULL};
        expect_fails(f.env, open_with(others[i].spec, (const char *const[]){SPIRALS, "steps", "9", NULL}, more), ASSAY_BAD_INPUT,
                     others[i].part);
        expect(!strchr(assay_message(f.env), '\n'));
    }
    close_all();
}

Test(loop, does_not_write_into_the_folder_of_another_run)
{
    double      ignored[MOST];
    const char *folder = as_test_path("run");
    const char *more[] = {"checkpoint", folder, "checkpoint-every", "2", NULL};
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "steps", "5", NULL}, more));
    losses_take(ignored, 5);
    expect_fails(f.env, open_with(NET, (const char *const[]){SPIRALS, "steps", "5", NULL}, more), ASSAY_BAD_INPUT,
                 "has checkpoints of an earlier run (update 5)");
    close_all();
}

/* --- Trouble --------------------------------------------------------------------------------------------------------- */

Test(loop, names_the_first_layer_that_gave_a_number_that_is_not_finite)
{
    assay_training now;
    bool           more;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "steps", "50", NULL}, NULL));
    expect_ok(f.env, as_loop_update(f.loop, &now, &more));
    /* A weight of the second layer overflows its products. */
    as_view w = as_trainer_weight(as_loop_trainer(f.loop), "fc2.weight");
    expect(w.data != NULL);
    for (int64_t i = 0; i < as_shape_count(&w.shape); i++)
        as_view_set(&w, i, 3e38);
    assay_status status = as_loop_update(f.loop, &now, &more);
    expect_eq(status, ASSAY_DEVICE);
    expect_has(assay_message(f.env), "update 2: the loss is not finite: the first layer that gave");
    expect_has(assay_message(f.env), "fc2");
    close_all();
}

Test(loop, stops_a_loss_that_diverges)
{
    assay_training now;
    bool           more = true;
    assay_status   status = ASSAY_OK;
    expect_ok(
        f.env,
        open_with(NET, (const char *const[]){SPIRALS, "steps", "3000", "optimizer", "sgd:lr=1e-12", "diverged", "3", NULL}, NULL));
    for (int i = 0; i < 20; i++)
        expect_ok(f.env, as_loop_update(f.loop, &now, &more));
    as_view w = as_trainer_weight(as_loop_trainer(f.loop), "fc2.weight");
    for (int64_t i = 0; i < as_shape_count(&w.shape); i++)
        as_view_set(&w, i, 100 * as_view_get(&w, i));
    while (more && status == ASSAY_OK)
        status = as_loop_update(f.loop, &now, &more);
    expect_eq(status, ASSAY_DEVICE);
    expect_has(assay_message(f.env), "the loss diverged: since update 2");
    expect(now.update > 120 && now.update < 140);
    close_all();
}

Test(loop, trains_on_when_the_disk_is_full_and_keeps_the_old_checkpoint)
{
    assay_training now;
    bool           more = true;
    const char    *folder = as_test_path("full");
    struct rlimit  before;
    as_checkpoint  c;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "steps", "12", NULL},
                               (const char *const[]){"checkpoint", folder, "checkpoint-every", "3", NULL}));
    for (int i = 0; i < 3; i++)
        expect_ok(f.env, as_loop_update(f.loop, &now, &more));
    as_loop_settle(f.loop, true); /* it is written beside the training */
    expect_eq(f.loop->n_saved, 1);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, before.rlim_max});
    while (more && now.update < 8)
        expect_ok(f.env, as_loop_update(f.loop, &now, &more));
    as_loop_settle(f.loop, true);
    setrlimit(RLIMIT_FSIZE, &before);
    expect_ok(f.env, as_loop_update(f.loop, &now, &more)); /* 9: tells of 6, and begins another one */
    expect_eq(now.failed_checkpoints, 1);
    expect(*now.checkpoint_failed);
    as_loop_settle(f.loop, true);
    expect_eq(f.loop->n_saved, 2);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, before.rlim_max});
    expect_ok(f.env, as_loop_update(f.loop, &now, &more)); /* the end of an epoch */
    as_loop_settle(f.loop, true);
    setrlimit(RLIMIT_FSIZE, &before);
    expect_eq(f.loop->n_saved, 2);
    expect_eq(f.loop->n_failed, 2);
    expect_ok(f.env, as_checkpoint_load(f.env, as_test_path("full"), &c));
    expect_eq(c.place.updates, 9);
    as_checkpoint_drop(&c);
    while (more)
        expect_ok(f.env, as_loop_update(f.loop, &now, &more));
    expect_ok(f.env, as_checkpoint_load(f.env, as_test_path("full"), &c));
    expect_eq(c.place.updates, 12);
    as_checkpoint_drop(&c);
    close_all();
}

/* The copy is made once, for all epochs, and counted: in the record, and in what a budget must hold. */
Test(loop, the_copy_for_checkpoints_is_counted_and_never_moves)
{
    double       losses[MOST];
    assay_trace *t = NULL;
    char         folder[4096], budget[32];
    snprintf(folder, sizeof folder, "%s", as_test_path("copy"));
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "epochs", "6", NULL},
                               (const char *const[]){"checkpoint", folder, "checkpoint-every", "4", NULL}));
    size_t bytes = as_keeper_bytes(f.loop->keeper);
    expect(bytes >= 3 * (2 * 16 + 16 + 16 * 3 + 3) * sizeof(float)); /* weights and two moments */
    expect_eq(losses_take(losses, MOST), 60);
    expect_eq(as_keeper_bytes(f.loop->keeper), bytes);
    expect_ok(f.env, as_loop_finish(f.loop, ASSAY_OK, &t));
    expect_eq(as_trace_metric_last(t, AS_TRAINED_BYTES "checkpoint copy"), (double)bytes);
    expect_eq(as_trace_metric_last(t, AS_TRAINED_SAVED), 15 + 6 - 3); /* every 4, every 10, both at 20, 40 and 60 */
    expect_eq(total_count(t, AS_TRAINING_WRITES), 18);
    expect(as_trace_metric_last(t, AS_TRAINED_TIME "write") > 0 && as_trace_metric_last(t, AS_TRAINED_TIME "checkpoint") > 0);
    assay_trace_free(t);

    long lo = 1, hi = 1 << 20; /* the least budget that is enough without checkpoints is too little with them */
    while (hi - lo > 1) {
        long mid = (lo + hi) / 2;
        snprintf(budget, sizeof budget, "%ld", mid);
        bool fits = open_with(NET, (const char *const[]){SPIRALS, "memory-budget", budget, NULL}, NULL) == ASSAY_OK;
        lo = fits ? lo : mid;
        hi = fits ? mid : hi;
    }
    snprintf(budget, sizeof budget, "%ld", hi);
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "memory-budget", budget, NULL}, NULL));
    expect_fails(f.env,
                 open_with(NET, (const char *const[]){SPIRALS, "memory-budget", budget, NULL},
                           (const char *const[]){"checkpoint", as_test_path("copy2"), NULL}),
                 ASSAY_BAD_INPUT, "more than --memory-budget");
    close_all();
}

/* The losses of a run that is killed again and again are those of one that is not. */
Test(loop, loses_nothing_but_the_steps_since_when_it_is_killed)
{
    enum { STEPS = 120 };
    const char *often = getenv("ASSAY_TEST_KILLS"); /* more than a test should take: 50 */
    int         n_kills = often ? atoi(often) : 12;
    double      whole[MOST];
    const char *folder = as_test_path("killed");
    char        path[4096];
    snprintf(path, sizeof path, "%s", folder);
    const char *const run[] = {SPIRALS, "steps", "120", NULL}, *const more[] = {"checkpoint", path,     "checkpoint-every",
                                                                                "3",          "resume", path,
                                                                                NULL};
    expect_ok(f.env, open_with(NET, run, NULL));
    expect_eq(losses_take(whole, STEPS), STEPS);
    close_all();
    bool complete = false;
    for (int kill_n = 0; kill_n < 1000 && !complete; kill_n++) {
        int      ends[2];
        uint64_t at, last = 0;
        expect_eq(pipe(ends), 0);
        pid_t child = fork();
        if (!child) {
            assay_training now;
            bool           goes_on = true;
            close(ends[0]);
            if (open_with(NET, run, more) != ASSAY_OK)
                _exit(1);
            while (goes_on) {
                if (as_loop_update(f.loop, &now, &goes_on) != ASSAY_OK ||
                    memcmp(&now.loss, &whole[now.update - 1], sizeof now.loss))
                    _exit(2);
                if (write(ends[1], &now.update, sizeof now.update) != sizeof now.update)
                    _exit(3);
            }
            _exit(0);
        }
        close(ends[1]);
        if (kill_n < n_kills) {
            expect(read(ends[0], &at, sizeof at) == sizeof at);
            usleep((useconds_t)(kill_n * 911 % 3001));
            kill(child, SIGKILL);
        }
        int status;
        while (read(ends[0], &at, sizeof at) == sizeof at)
            last = at;
        waitpid(child, &status, 0);
        close(ends[0]);
        complete = WIFEXITED(status);
        if (complete)
            expect_eq(WEXITSTATUS(status), 0);
        (void)last;
    }
    expect(complete);
    as_checkpoint c;
    expect_ok(f.env, open_with(NET, run, NULL));
    expect_ok(f.env, as_checkpoint_load(f.env, path, &c));
    expect_eq(c.place.updates, STEPS);
    as_checkpoint_drop(&c);
    close_all();
}

/* --- Saving the network ------------------------------------------------------------------------------------------------ */

Test(loop, gives_the_network_that_it_trained)
{
    double       ignored[MOST];
    assay_model *trained = NULL, *read = NULL;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "steps", "9", NULL}, NULL));
    losses_take(ignored, 9);
    expect_ok(f.env, as_trainer_model(f.env, as_loop_trainer(f.loop), &trained));
    const char    *path = as_test_path("net.onnx");
    assay_options *o;
    expect_ok(f.env, assay_options_new(f.env, &o));
    expect_ok(f.env, assay_options_set(f.env, o, "onnx", path));
    expect_ok(f.env, assay_export(f.env, trained, o));
    expect_ok(f.env, assay_model_load(f.env, path, NULL, &read));
    as_view now = as_trainer_weight(as_loop_trainer(f.loop), "fc1.weight");
    int     id = as_model_value_find(read, "fc1.weight");
    expect(id >= 0 && now.data && !memcmp(read->values[id].data, now.data, as_view_bytes(&now)));
    int before = as_model_value_find(f.model, "fc1.weight");
    expect(memcmp(f.model->values[before].data, now.data, as_view_bytes(&now)));
    assay_model_free(read);
    assay_model_free(trained);
    assay_options_free(o);
    close_all();
}

/* --- It learns ------------------------------------------------------------------------------------------------------------ */

/* The task of the NCP guides.  Their own runs of 400 steps end at 4e-4 and 2e-4; one run each, so these are orders of magnitude. */
static double sine_loss(const char *spec, int n)
{
    double losses[MOST];
    expect_ok(f.env, open_with(spec,
                               (const char *const[]){"data", "synthetic:sine,n=1", "batch", "1", "steps", "400", "clip", "1",
                                                     "optimizer", "adam:lr=0.01", NULL},
                               NULL));
    expect_eq(losses_take(losses, n), n);
    close_all();
    return losses[n - 1];
}

/* An epoch that was learned is judged: a checkpoint without its validation loss would go on in another way. */
Test(loop, ctrl_c_does_not_stop_an_evaluation)
{
    double losses[MOST];
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "epochs", "1", NULL}, NULL));
    assay_cancel(f.env);
    expect_eq(losses_take(losses, MOST), 10);
    expect(isfinite(f.loop->judged.loss));
    close_all();
}

/* --- The timeline ------------------------------------------------------------------------------------------------------ */

Test(loop, the_loaders_threads_have_lanes_beside_the_steps)
{
    double       losses[MOST];
    assay_trace *t = NULL;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "epochs", "3", "loader", "threads=2,prefetch=2", NULL}, NULL));
    expect_eq(losses_take(losses, MOST), 30);
    expect_ok(f.env, as_loop_finish(f.loop, ASSAY_OK, &t));
    expect_eq(t->n_lanes, 5); /* the loop, two threads that load to learn, two that load to judge */
    expect_str(t->lanes[1].name, "loader 1");
    expect_str(t->lanes[4].name, "validation loader 2");
    expect_eq(spans_of(t, 0, AS_TRAINING_STEPS), 30);
    expect_eq(spans_of(t, 0, AS_TRAINING_EVALUATES), 3);
    uint64_t fills = spans_of(t, 1, AS_TRAINING_FILLS) + spans_of(t, 2, AS_TRAINING_FILLS);
    expect(fills >= 30 && fills <= 34); /* and up to two batches ahead, once more after the loader took its first place */
    expect_eq(fills, total_count(t, AS_TRAINING_FILLS));
    expect_eq(spans_of(t, 3, AS_TRAINING_FILLS_VAL) + spans_of(t, 4, AS_TRAINING_FILLS_VAL), 9); /* 40 examples by 16, 3 times */
    expect_eq(spans_of(t, 0, AS_TRAINING_FILLS), 0);
    uint64_t ends[5] = {0};
    for (size_t i = 0; i < t->n_spans; i++) { /* one thing at a time, within the run */
        expect(t->spans[i].begin_ticks >= ends[t->spans[i].thread] && t->spans[i].end_ticks >= t->spans[i].begin_ticks);
        ends[t->spans[i].thread] = t->spans[i].end_ticks;
    }
    expect_eq(t->user_spans_left, 0);
    assay_facts *facts = NULL;
    expect_ok(f.env, assay_analyse(f.env, t, &facts));
    const assay_metric *hidden = assay_facts_metric(facts, "train.overlap");
    expect(hidden && hidden->kind == ASSAY_DERIVED && hidden->value >= 0 && hidden->value <= 1 && hidden->n == fills);
    assay_facts_free(facts);
    assay_trace_free(t);
    close_all();
}

Test(loop, a_full_record_drops_spans_and_keeps_their_time)
{
    double       losses[MOST];
    assay_trace *t = NULL;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "epochs", "3", NULL}, NULL));
    f.loop->trace->cap_spans = f.loop->trace->n_spans + 8;
    expect_eq(losses_take(losses, MOST), 30);
    expect_ok(f.env, as_loop_finish(f.loop, ASSAY_OK, &t));
    expect_eq(t->n_spans, t->cap_spans);
    expect(t->user_spans_left >= 30 + 30 + 30 + 3 - 8); /* batches, waits, steps, evaluations */
    expect_eq(total_count(t, AS_TRAINING_STEPS), 30);
    expect(total_count(t, AS_TRAINING_FILLS) >= 30);
    assay_trace_free(t);
    close_all();
}

Test(loop, without_threads_of_its_own_the_loader_hides_nothing)
{
    double       losses[MOST];
    assay_trace *t = NULL;
    assay_facts *facts = NULL;
    expect_ok(f.env, open_with(NET, (const char *const[]){SPIRALS, "epochs", "1", "loader", "threads=0", NULL}, NULL));
    expect_eq(losses_take(losses, MOST), 10);
    expect_ok(f.env, as_loop_finish(f.loop, ASSAY_OK, &t));
    expect_eq(t->n_lanes, 1);
    expect_ok(f.env, assay_analyse(f.env, t, &facts));
    expect_eq(assay_facts_metric(facts, "train.overlap")->kind, ASSAY_UNAVAILABLE);
    assay_facts_free(facts);
    assay_trace_free(t);
    close_all();
}

Test(loop, learns_the_sine_with_a_wired_cfc) { expect(sine_loss("cfc:input=2,wiring=autoncp,units=16,out=1", 400) < 4e-3); }

Test(loop, learns_the_sine_with_a_wired_ltc) { expect(sine_loss("ltc:input=2,wiring=autoncp,units=16,out=1", 400) < 2e-3); }

Test(loop, learns_spirals_and_says_so_on_examples_that_it_did_not_see)
{
    assay_training now;
    bool           more = true;
    expect_ok(f.env, open_with("mlp:sizes=2x64x64x2",
                               (const char *const[]){"data", "synthetic:spirals,n=600,seed=3", "val", "20%", "batch", "32",
                                                     "epochs", "60", "optimizer", "adam:lr=0.01", NULL},
                               NULL));
    while (more)
        expect_ok(f.env, as_loop_update(f.loop, &now, &more));
    expect(now.score > .95);
    expect(now.val_loss < .2);
    close_all();
}
