/* fuzz_csv.c - any bytes as a table in text, as rows and as windows over time.  The first byte chooses the options. */
#include "tests/fuzz/data_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const options[] = {"",           ":header=on", ":header=off,target=0", ":target=none",     ":as=class",
                                          ":as=number", ":sep=tab",   ":sep=space,drop=0",    ":target=-1,drop=1"};
    static const char *const windows[] = {",target=1,time=0,window=2", ",target=-1,window=1,ahead=0,give=last",
                                          ",target=0,window=3,stride=2,ahead=2,drop=0"};
    char                     spec[256];
    if (!size)
        return 0;
    const char *path = fuzz_file(data + 1, size - 1);
    snprintf(spec, sizeof spec, "csv:%s%s", path, options[data[0] % AS_COUNT(options)]);
    fuzz_open(spec, data[0] & 1);
    snprintf(spec, sizeof spec, "seq:%s%s", path, windows[data[0] % AS_COUNT(windows)]);
    fuzz_open(spec, data[0] & 1);
    return 0;
}
