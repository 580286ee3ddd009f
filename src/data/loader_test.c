/* loader_test.c - the loader: order, resume, ring, waits, failures, and the same batches for any number of threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "data/data.h"
#include "tests/runner/test.h"

static assay_env *env;

static as_data *open_data(const char *spec, const char *preprocess, bool mmap)
{
    if (!env)
        expect(assay_env_new(&env) == ASSAY_OK);
    as_data_options options = {.mmap = mmap};
    as_data        *data = NULL;
    expect_ok(env, as_preprocess_parse(env, preprocess, &options.preprocess));
    expect_ok(env, as_data_open(env, spec, &options, &data));
    expect_ok(env, as_data_fit(env, data, NULL));
    return data;
}

static void finish(as_loader *loader, as_data *data)
{
    as_loader_free(loader);
    as_data_free(data);
    assay_env_free(env);
    env = NULL;
}

/* 40 images of 1x8x8 in which every pixel of image i is i, with class i % 10: what a batch holds names its examples. */
static const char *counting_idx(void)
{
    static char path[4096];
    uint8_t images[16 + 40 * 64] = {0, 0, 8, 3, 0, 0, 0, 40, 0, 0, 0, 8, 0, 0, 0, 8}, labels[8 + 40] = {0, 0, 8, 1, 0, 0, 0, 40};
    for (int i = 0; i < 40; i++) {
        memset(images + 16 + i * 64, i, 64);
        labels[8 + i] = (uint8_t)(i % 10);
    }
    if (!env)
        expect(assay_env_new(&env) == ASSAY_OK);
    expect_ok(env, as_file_write(env, as_test_path("n-images-idx3-ubyte"), images, sizeof images));
    expect_ok(env, as_file_write(env, as_test_path("n-labels-idx1-ubyte"), labels, sizeof labels));
    snprintf(path, sizeof path, "%s", as_test_path("n-images-idx3-ubyte"));
    return path;
}

static int number_of(const as_batch *batch, int64_t k) { return (int)((const float *)batch->input[0].data)[k * 64]; }

Test(data_loader, gives_every_example_once_per_epoch_in_another_order_each_time)
{
    as_data          *data = open_data(counting_idx(), "", true);
    as_loader_options o = as_loader_training(8, 5);
    as_loader        *loader;
    int               order[3][40];
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_eq(as_loader_batches(loader), 5);
    for (int epoch = 0; epoch < 3; epoch++) {
        int seen[40] = {0};
        for (int b = 0; b < 5; b++) {
            as_batch batch;
            expect_ok(env, as_loader_next(env, loader, &batch));
            expect_eq(batch.n, 8);
            expect_eq(batch.epoch, epoch);
            expect_eq(batch.index, b);
            expect_eq(batch.target.dtype, AS_I64);
            for (int64_t k = 0; k < 8; k++) {
                int number = number_of(&batch, k);
                expect_eq(seen[number]++, 0);
                expect_eq(((const int64_t *)batch.target.data)[k], number % 10);
                order[epoch][b * 8 + k] = number;
            }
            as_loader_release(loader, &batch);
        }
    }
    expect(memcmp(order[0], order[1], sizeof order[0]) && memcmp(order[1], order[2], sizeof order[0]));
    finish(loader, data);
}

Test(data_loader, without_shuffle_gives_the_order_of_the_file)
{
    as_data          *data = open_data(counting_idx(), "", true);
    as_loader_options o = as_loader_training(8, 5);
    o.shuffle = false;
    as_loader *loader;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    for (int i = 0; i < 10; i++) {
        as_batch batch;
        expect_ok(env, as_loader_next(env, loader, &batch));
        expect_eq(number_of(&batch, 3), i % 5 * 8 + 3);
        as_loader_release(loader, &batch);
    }
    finish(loader, data);
}

/* While training the last examples wait for another epoch; while evaluating they come as a smaller batch. */
Test(data_loader, drops_the_last_batch_while_training_and_keeps_it_while_evaluating)
{
    as_data          *data = open_data(counting_idx(), "", true);
    as_loader_options o = as_loader_training(12, 1);
    as_loader        *loader;
    as_batch          batch;
    int               sum = 0, seen[40] = {0}, n_seen = 0;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_eq(as_loader_batches(loader), 3);
    for (int i = 0; i < 12; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        expect_eq(batch.n, 12);
        for (int64_t k = 0; k < 12; k++)
            n_seen += !seen[number_of(&batch, k)]++;
        as_loader_release(loader, &batch);
    }
    expect_eq(n_seen, 40); /* each epoch drops others */
    as_loader_free(loader);
    o = as_loader_evaluating(12);
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_eq(as_loader_batches(loader), 4);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++) {
            expect_ok(env, as_loader_next(env, loader, &batch));
            expect_eq(batch.n, i < 3 ? 12 : 4);
            expect_eq(batch.input[0].shape.dim[0], batch.n);
            for (int64_t k = 0; k < batch.n; k++)
                sum += number_of(&batch, k);
            as_loader_release(loader, &batch);
        }
        expect_eq(sum, 780 * (round + 1));
        for (int again = 0; again < 2; again++) {
            expect_ok(env, as_loader_next(env, loader, &batch));
            expect_eq(batch.n, 0);
        }
        expect_ok(env, as_loader_seek(env, loader, 0, 0));
    }
    finish(loader, data);
}

/* The bytes of the first n batches, from a position on. */
static uint64_t bytes_of(const as_data *data, as_loader_options o, int64_t epoch, int64_t index, int n)
{
    as_loader *loader;
    uint64_t   hash = 0;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_ok(env, as_loader_seek(env, loader, epoch, index));
    for (int i = 0; i < n; i++) {
        as_batch batch;
        expect_ok(env, as_loader_next(env, loader, &batch));
        for (int k = 0; k < batch.n_inputs; k++)
            hash = hash * 31 + as_hash64(batch.input[k].data, as_view_bytes(&batch.input[k]));
        hash = hash * 31 + as_hash64(batch.target.data, as_view_bytes(&batch.target));
        as_loader_release(loader, &batch);
    }
    as_loader_free(loader);
    return hash;
}

Test(data_loader, gives_the_same_bits_for_any_threads_prefetch_and_way_of_reading)
{
    as_data *data = open_data(counting_idx(), "flip,crop=2,normalize", true),
            *by_pread = open_data(counting_idx(), "flip,crop=2,normalize", false);
    as_loader_options o = as_loader_training(7, 99);
    o.threads = 0;
    uint64_t want = bytes_of(data, o, 0, 0, 23);
    expect(bytes_of(by_pread, o, 0, 0, 23) == want);
    for (int threads = 1; threads <= 4; threads++)
        for (int prefetch = 1; prefetch <= 6; prefetch += 5) {
            o.threads = threads;
            o.prefetch = prefetch;
            expect(bytes_of(data, o, 0, 0, 23) == want);
            expect(bytes_of(by_pread, o, 0, 0, 23) == want);
        }
    o.seed = 98;
    expect(bytes_of(data, o, 0, 0, 23) != want);
    as_data_free(by_pread);
    finish(NULL, data);
}

Test(data_loader, resumes_at_a_position_with_the_same_batches)
{
    as_data          *data = open_data(counting_idx(), "flip,crop=1", true);
    as_loader_options o = as_loader_training(7, 3);
    as_loader        *loader;
    as_batch          batch;
    int64_t           epoch, index;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    for (int i = 0; i < 13; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
    }
    as_loader_position(loader, &epoch, &index); /* of what comes next, whatever was made ahead */
    expect_eq(epoch, 2);
    expect_eq(index, 3);
    uint64_t went_on = 0;
    for (int i = 0; i < 9; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        went_on = went_on * 31 + as_hash64(batch.input[0].data, as_view_bytes(&batch.input[0]));
        went_on = went_on * 31 + as_hash64(batch.target.data, as_view_bytes(&batch.target));
        as_loader_release(loader, &batch);
    }
    expect(bytes_of(data, o, epoch, index, 9) == went_on);
    /* An epoch that is far away costs no more. */
    expect(bytes_of(data, o, 1000000000, 2, 3) == bytes_of(data, o, 1000000000, 2, 3));
    expect_fails(env, as_loader_seek(env, loader, 0, 5), ASSAY_BAD_INPUT, "no batch 5 in epoch 0; an epoch has 5 batches");
    expect_fails(env, as_loader_seek(env, loader, -1, 0), ASSAY_BAD_INPUT, "no batch 0 in epoch -1");
    expect_fails(env, as_loader_seek(env, loader, INT64_MAX, 0), ASSAY_BAD_INPUT, "no batch");
    expect_ok(env, as_loader_next(env, loader, &batch));
    expect_fails(env, as_loader_seek(env, loader, 0, 0), ASSAY_INTERNAL, "on loan");
    as_loader_release(loader, &batch);
    expect_ok(env, as_loader_seek(env, loader, 0, 0));
    finish(loader, data);
}

Test(data_loader, a_steady_loader_allocates_nothing)
{
    if (as_test_n_allocs() == SIZE_MAX)
        skip("the linker has no --wrap");
    as_data          *data = open_data("synthetic:digits,n=64", "normalize,flip", true);
    as_loader_options o = as_loader_training(8, 1);
    o.threads = 2;
    as_loader *loader;
    as_batch   batch;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect(as_loader_bytes(loader) >= 4 * 8 * (64 * sizeof(float) + sizeof(int64_t)));
    size_t before = as_test_n_allocs();
    for (int i = 0; i < 40; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
    }
    expect_eq(as_test_n_allocs(), before);
    finish(loader, data);
}

static void wait_until_full(as_loader *loader, int prefetch)
{
    as_loader_stats stats;
    do {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        as_loader_stats_read(loader, &stats);
    } while (stats.fills < (uint64_t)prefetch);
}

Test(data_loader, makes_at_most_prefetch_batches_ahead_and_lends_several)
{
    as_data          *data = open_data(counting_idx(), "", true);
    as_loader_options o = as_loader_training(4, 1);
    o.threads = 3;
    o.prefetch = 3;
    as_loader      *loader;
    as_batch        batch[4];
    as_loader_stats stats;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    wait_until_full(loader, 3);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    as_loader_stats_read(loader, &stats);
    expect_eq(stats.fills, 3);
    for (int i = 0; i < 3; i++)
        expect_ok(env, as_loader_next(env, loader, &batch[i]));
    expect(batch[0].input[0].data != batch[1].input[0].data && batch[1].input[0].data != batch[2].input[0].data);
    expect_fails(env, as_loader_next(env, loader, &batch[3]), ASSAY_INTERNAL, "all 3 batches are on loan");
    for (int i = 0; i < 3; i++)
        as_loader_release(loader, &batch[i]);
    expect_ok(env, as_loader_next(env, loader, &batch[3]));
    as_loader_release(loader, &batch[3]);
    finish(loader, data);
}

/* Counts, not durations: a wait happened or it did not, and the histogram has each. */
Test(data_loader, counts_who_waited_for_whom)
{
    as_data          *data = open_data(counting_idx(), "", true);
    as_loader_options o = as_loader_training(4, 1);
    as_loader        *loader;
    as_batch          batch;
    as_loader_stats   stats;
    o.threads = 0;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    as_loader_stats_read(loader, &stats);
    expect_eq(as_loader_rate(&stats).kind, ASSAY_UNAVAILABLE);
    for (int i = 0; i < 20; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
    }
    as_loader_stats_read(loader, &stats);
    expect_eq(stats.n_batches, 20);
    expect_eq(stats.n_examples, 80);
    expect_eq(stats.consumer_waits, 20); /* without threads every step waits for its data */
    expect(stats.consumer_wait_ns >= stats.fill_ns && stats.fill_ns > 0);
    expect_eq(stats.producer_waits, 0);
    expect_eq(stats.bytes_read, 80 * 65);
    uint64_t bins = 0;
    for (int i = 0; i < AS_LOADER_BINS; i++)
        bins += stats.consumer_bins[i];
    expect_eq(bins, 20);
    assay_metric rate = as_loader_rate(&stats);
    expect(rate.kind == ASSAY_DERIVED && rate.value > 0 && as_metric_ok(&rate, NULL));
    as_loader_stats_reset(loader);
    as_loader_stats_read(loader, &stats);
    expect_eq(stats.n_batches + stats.consumer_waits + stats.bytes_read, 0);
    as_loader_free(loader);

    o.threads = 1;
    o.prefetch = 2;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    wait_until_full(loader, 2);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    for (int i = 0; i < 2; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
    }
    wait_until_full(loader, 3);
    as_loader_stats_read(loader, &stats);
    expect_eq(stats.consumer_waits, 0); /* both were ready */
    expect(stats.producer_waits >= 1 && stats.producer_wait_ns > 0);
    finish(loader, data);
}

/* A thread does one thing at a time; what it noted is all that was counted; and whoever takes the events after each batch misses none. */
Test(data_loader, its_threads_note_what_they_did_and_when)
{
    as_data          *data = open_data(counting_idx(), "", true);
    as_loader_options o = as_loader_training(4, 1);
    as_loader        *loader;
    as_batch          batch;
    as_loader_stats   stats;
    as_loader_event   events[8], last[2] = {{0}};
    uint64_t          lost = 0, n_of[AS_LOADER_N_ACTS] = {0}, ns = 0, began = as_clock_now(&env->clock);
    o.threads = 2;
    o.prefetch = 3;
    o.events = true;
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    for (int i = 0; i < 50; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
        for (size_t n = AS_COUNT(events); n == AS_COUNT(events);) {
            n = as_loader_events_take(loader, events, AS_COUNT(events), &lost);
            for (size_t k = 0; k < n; k++) {
                const as_loader_event *e = &events[k];
                expect(e->thread < 2 && e->act < AS_LOADER_N_ACTS);
                expect(e->begin_ticks >= began && e->end_ticks >= e->begin_ticks);
                expect(e->begin_ticks >= last[e->thread].end_ticks);
                expect(e->act != AS_LOADER_IS_FULL || last[e->thread].end_ticks == 0 || last[e->thread].act == AS_LOADER_FILLS);
                last[e->thread] = *e;
                n_of[e->act]++;
                ns += e->act == AS_LOADER_FILLS ? (uint64_t)as_clock_ns(&env->clock, e->end_ticks - e->begin_ticks) : 0;
            }
        }
    }
    expect_eq(lost, 0);
    wait_until_full(loader, 53); /* all that it may do: then it stands still, and waits without an end */
    for (size_t n = AS_COUNT(events); n == AS_COUNT(events);) {
        n = as_loader_events_take(loader, events, AS_COUNT(events), &lost);
        for (size_t k = 0; k < n; k++) {
            n_of[events[k].act]++;
            ns += events[k].act == AS_LOADER_FILLS ? (uint64_t)as_clock_ns(&env->clock, events[k].end_ticks - events[k].begin_ticks)
                                                   : 0;
        }
    }
    as_loader_stats_read(loader, &stats);
    expect_eq(n_of[AS_LOADER_FILLS], stats.fills);
    expect_eq(n_of[AS_LOADER_IS_FULL], stats.producer_waits);
    expect_eq(ns, stats.fill_ns);
    as_loader_free(loader);

    /* Nobody takes them: they are counted, and the memory stays. */
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    for (int i = 0; i < 50; i++) {
        expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
    }
    as_loader_event many[100];
    size_t          kept = as_loader_events_take(loader, many, AS_COUNT(many), &lost);
    expect(kept == 4 * (3 + 2) && lost >= 50 - kept);
    as_loader_free(loader);
    o.threads = 0; /* the consumer fills: it has a timeline of its own */
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_ok(env, as_loader_next(env, loader, &batch));
    expect_eq(as_loader_events_take(loader, events, AS_COUNT(events), &lost), 0);
    finish(loader, data);
}

Test(data_loader, stops_while_its_ring_is_full_or_its_batches_are_on_loan)
{
    as_data          *data = open_data("synthetic:linear,n=100", "", true);
    as_loader_options o = as_loader_training(10, 1);
    for (int i = 0; i < 20; i++) {
        as_loader *loader;
        as_batch   batch;
        o.threads = i % 4;
        o.prefetch = 1 + i % 3;
        expect_ok(env, as_loader_open(env, data, &o, &loader));
        if (i % 2)
            expect_ok(env, as_loader_next(env, loader, &batch));
        as_loader_free(loader);
    }
    finish(NULL, data);
}

Test(data_loader, says_that_a_file_was_cut_off_while_it_was_read)
{
    for (int mapped = 0; mapped < 2; mapped++) {
        as_data          *data = open_data(counting_idx(), "", mapped);
        as_loader_options o = as_loader_training(4, 1);
        as_loader        *loader;
        as_batch          batch;
        o.prefetch = 1;
        expect_ok(env, as_loader_open(env, data, &o, &loader));
        expect_ok(env, as_loader_next(env, loader, &batch));
        expect_eq(truncate(as_test_path("n-images-idx3-ubyte"), 100), 0);
        as_loader_release(loader, &batch);
        assay_status status = ASSAY_OK;
        for (int i = 0; i < 3 && status == ASSAY_OK; i++)
            if ((status = as_loader_next(env, loader, &batch)) == ASSAY_OK)
                as_loader_release(loader, &batch);
        expect_eq(status, ASSAY_BAD_INPUT);
        expect_has(assay_message(env), "had 2576 bytes when it was opened and has 100 now");
        expect_eq(as_loader_next(env, loader, &batch), ASSAY_BAD_INPUT); /* and again */
        finish(loader, data);
    }
}

Test(data_loader, refuses_less_than_one_batch_and_what_was_not_fitted)
{
    as_data          *data = open_data("synthetic:linear,n=5", "", true);
    as_loader_options o = as_loader_training(8, 1);
    as_loader        *loader = NULL;
    expect_fails(env, as_loader_open(env, data, &o, &loader), ASSAY_BAD_INPUT,
                 "synthetic:linear,n=5 has 5 examples, which is less than one batch of 8");
    o = as_loader_evaluating(8);
    expect_ok(env, as_loader_open(env, data, &o, &loader));
    expect_eq(as_loader_batches(loader), 1);
    as_loader_free(loader);
    as_data_free(data);
    as_data_options options = {.preprocess = {.normalize = true}};
    expect_ok(env, as_data_open(env, "synthetic:linear", &options, &data));
    expect_fails(env, as_loader_open(env, data, &o, &loader), ASSAY_INTERNAL, "as_data_fit() comes first");
    finish(NULL, data);
}

Test(data_loader, options_are_read_from_text)
{
    expect(assay_env_new(&env) == ASSAY_OK);
    as_loader_options o = as_loader_training(8, 1);
    expect_ok(env, as_loader_options_parse(env, NULL, &o));
    expect_ok(env, as_loader_options_parse(env, "threads=2,prefetch=7,mmap=off,shuffle=off,keep_last=on", &o));
    expect(o.threads == 2 && o.prefetch == 7 && !o.mmap && !o.shuffle && o.keep_last && o.batch == 8);
    expect_fails(env, as_loader_options_parse(env, "threads=-1", &o), ASSAY_BAD_INPUT,
                 "loader: threads=-1: expected a whole number from 0 to 64");
    expect_fails(env, as_loader_options_parse(env, "prefetch=0", &o), ASSAY_BAD_INPUT, "prefetch=0: expected");
    expect_fails(env, as_loader_options_parse(env, "mmap=maybe", &o), ASSAY_BAD_INPUT, "mmap=maybe: expected on or off");
    expect_fails(env, as_loader_options_parse(env, "thread=2", &o), ASSAY_BAD_INPUT, "unknown word \"thread\"; known: threads=N");
    expect_fails(env, as_loader_options_parse(env, "threads", &o), ASSAY_BAD_INPUT, "expected key=value");
    expect_fails(env, as_loader_options_parse(env, "threads=1,", &o), ASSAY_BAD_INPUT, "expected key=value");
    expect(o.threads == 2);
    assay_env_free(env);
}
