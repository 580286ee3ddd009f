/* fuzz_npz.c - any bytes as an .npz file, and as a .npy file of examples. */
#include "tests/fuzz/data_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        spec[256];
    const char *path = fuzz_file(data, size);
    snprintf(spec, sizeof spec, "npz:%s", path);
    fuzz_open(spec, size & 1);
    snprintf(spec, sizeof spec, "npz:%s,part=test", path);
    fuzz_open(spec, size & 1);
    snprintf(spec, sizeof spec, "npy:%s", path);
    fuzz_open(spec, size & 1);
    return 0;
}
