/* bench_loader.c - the loader alone: examples per second of images like CIFAR-10's, by threads, mapped and by pread, plain and augmented.
 * Printed, never asserted.
 *
 *     bench_loader DIR [ROUNDS]
 *
 * Writes a file of 20,000 records (61 MB, so that it stays in the page cache) into DIR and takes batches of 128 as fast as they come, all
 * candidates in turns.  Medians over the rounds; CPU time is that of all threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "data/data.h"

enum { N = 20000, RECORD = 3073, BATCH = 128, BATCHES = 300, MAX_ROUNDS = 99, N_WAYS = 2, N_MAPS = 2, N_THREADS = 3 };

static void must(assay_env *env, assay_status status)
{
    if (status == ASSAY_OK)
        return;
    fprintf(stderr, "bench_loader: %s\n", assay_message(env));
    exit(5);
}

static void write_records(assay_env *env, const char *path)
{
    uint8_t *records = malloc((size_t)N * RECORD);
    if (!records)
        exit(5);
    for (size_t i = 0; i < (size_t)N * RECORD; i++)
        records[i] = i % RECORD ? (uint8_t)(i * 2654435761u >> 24) : (uint8_t)(i / RECORD % 10);
    must(env, as_file_write(env, path, records, (size_t)N * RECORD));
    free(records);
}

typedef struct result {
    double rate[MAX_ROUNDS], cpu_us[MAX_ROUNDS], wait[MAX_ROUNDS];
} result;

static void run(assay_env *env, const as_data *data, int threads, int round, result *out)
{
    as_loader_options o = as_loader_training(BATCH, 1);
    as_loader        *loader;
    as_loader_stats   stats;
    o.threads = threads;
    must(env, as_loader_open(env, data, &o, &loader));
    uint64_t wall = 0, cpu = 0;
    for (int i = 0; i < BATCHES + 20; i++) {
        as_batch batch;
        if (i == 20) { /* after the first pages */
            as_loader_stats_reset(loader);
            wall = as_monotonic_ns();
            cpu = as_process_cpu_ns();
        }
        must(env, as_loader_next(env, loader, &batch));
        as_loader_release(loader, &batch);
    }
    wall = as_monotonic_ns() - wall;
    cpu = as_process_cpu_ns() - cpu;
    as_loader_stats_read(loader, &stats);
    as_loader_free(loader);
    out->rate[round] = (double)BATCHES * BATCH / (double)wall * 1e9;
    out->cpu_us[round] = (double)cpu / BATCHES / BATCH / 1e3;
    out->wait[round] = (double)stats.consumer_wait_ns / (double)wall;
}

int main(int argc, char **argv)
{
    static result            all[N_WAYS][N_MAPS][N_THREADS];
    static const char *const ways[N_WAYS] = {"scale=1/255", "scale=1/255,crop=4,flip,normalize=0.5/0.25"};
    assay_env               *env;
    as_data                 *data[N_WAYS][N_MAPS];
    char                     path[4096];
    double                   scratch[MAX_ROUNDS];
    int                      rounds = argc > 2 ? atoi(argv[2]) : 7;
    if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS || assay_env_new(&env) != ASSAY_OK) {
        fprintf(stderr, "usage: bench_loader DIR [ROUNDS]\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/data_batch_1.bin", argv[1]);
    write_records(env, path);
    for (int way = 0; way < N_WAYS; way++)
        for (int map = 0; map < N_MAPS; map++) {
            as_data_options o = {.mmap = map == 0};
            must(env, as_preprocess_parse(env, ways[way], &o.preprocess));
            must(env, as_data_open(env, path, &o, &data[way][map]));
        }
    for (int round = 0; round < rounds; round++)
        for (int way = 0; way < N_WAYS; way++)
            for (int threads = 0; threads < N_THREADS; threads++)
                for (int map = 0; map < N_MAPS; map++)
                    run(env, data[way][map], threads, round, &all[way][map][threads]);
    printf("the loader alone, 3x32x32 bytes to f32, batch %d, medians of %d rounds\n", BATCH, rounds);
    printf("%-10s %-8s %-6s %14s %18s %14s\n", "", "threads", "mmap", "examples/s", "CPU us/example", "consumer waits");
    for (int way = 0; way < N_WAYS; way++)
        for (int threads = 0; threads < N_THREADS; threads++)
            for (int map = 0; map < N_MAPS; map++) {
                result *r = &all[way][map][threads];
                printf("%-10s %-8d %-6s %14.0f %18.3f %13.0f%%\n", way ? "crop, flip" : "plain", threads, map ? "off" : "on",
                       as_median(r->rate, (size_t)rounds, scratch), as_median(r->cpu_us, (size_t)rounds, scratch),
                       100 * as_median(r->wait, (size_t)rounds, scratch));
            }
    for (int i = 0; i < N_WAYS * N_MAPS; i++)
        as_data_free(data[i / N_MAPS][i % N_MAPS]);
    remove(path);
    assay_env_free(env);
    return 0;
}
