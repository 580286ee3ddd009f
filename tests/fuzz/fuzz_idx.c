/* fuzz_idx.c - any bytes as an IDX file, and as the labels of one. */
#include "tests/fuzz/data_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        spec[256];
    const char *path = fuzz_file(data, size);
    snprintf(spec, sizeof spec, "idx:%s", path);
    fuzz_open(spec, size & 1);
    snprintf(spec, sizeof spec, "idx:%s,%s", path, path);
    fuzz_open(spec, size & 1);
    return 0;
}
