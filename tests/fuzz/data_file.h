/* data_file.h - any bytes as a file of a data set: refused with a sentence, or batches of it can be made and touched. */
#ifndef AS_TESTS_FUZZ_DATA_FILE_H
#define AS_TESTS_FUZZ_DATA_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static assay_env *fuzz_env(void)
{
    static assay_env *env; /* kept over all inputs: only its message changes */
    if (!env && assay_env_new(&env) != ASSAY_OK)
        abort();
    env->message[0] = '\0';
    return env;
}

/* The path of a file in memory with these bytes. */
static const char *fuzz_file(const uint8_t *bytes, size_t n)
{
    static int  fd = -1;
    static char path[64];
    if (fd < 0)
        fd = memfd_create("fuzz", 0);
    if (fd < 0 || ftruncate(fd, 0) || ftruncate(fd, (off_t)n) || (n && pwrite(fd, bytes, n, 0) != (ssize_t)n))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static void fuzz_touch(assay_env *env, as_data *data)
{
    as_loader_options o = as_loader_evaluating(3);
    as_loader        *loader;
    as_batch          batch = {0};
    volatile double   sum = 0;
    char              text[256];
    o.threads = 0;
    as_data_show(data, text, sizeof text);
    if (as_data_fit(env, data, NULL) != ASSAY_OK || as_loader_open(env, data, &o, &loader) != ASSAY_OK)
        return;
    for (int i = 0; i < 8 && as_loader_next(env, loader, &batch) == ASSAY_OK && batch.n; i++) {
        for (int k = 0; k < batch.n_inputs; k++)
            for (size_t j = 0; j < as_view_bytes(&batch.input[k]); j++)
                sum = sum + ((const uint8_t *)batch.input[k].data)[j];
        for (size_t j = 0; batch.target.dtype != AS_NONE && j < as_view_bytes(&batch.target); j++)
            sum = sum + ((const uint8_t *)batch.target.data)[j];
        as_loader_release(loader, &batch);
    }
    as_loader_free(loader);
}

/* Once mapped, once by pread: both must give the same verdict. */
static void fuzz_open(const char *spec, bool normalize)
{
    assay_env   *env = fuzz_env();
    assay_status status[2];
    for (int mmap = 0; mmap < 2; mmap++) {
        as_data_options o = {.mmap = mmap, .preprocess.normalize = normalize};
        as_data        *data = NULL;
        status[mmap] = as_data_open(env, spec, &o, &data);
        if (status[mmap] != ASSAY_OK) {
            if (data || (strncmp(assay_message(env), "data: ", 6) && strncmp(assay_message(env), "npy: ", 5)))
                abort();
            continue;
        }
        fuzz_touch(env, data);
        as_data_free(data);
    }
    if (status[0] != status[1])
        abort();
}

#endif
