/* fuzz_cifar10.c - any bytes as records: CIFAR-10 (cut or filled up to a number of records), and raw records of a shape from the first bytes. */
#include "tests/fuzz/data_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t records[2 * 3073];
    char           spec[256];
    size_t         n = size < sizeof records ? size : sizeof records;
    memset(records, 0, sizeof records);
    if (n)
        memcpy(records, data, n);
    snprintf(spec, sizeof spec, "cifar10:%s", fuzz_file(records, size % 5 ? sizeof records : n));
    fuzz_open(spec, size & 1);
    if (n < 3)
        return 0;
    static const char *const types[] = {"u8", "i8", "f32", "f64", "i16", "i64", "f16", "bf16", "bool", "u64"};
    static const char *const targets[] = {
        "", ",target=first:u8", ",target=last:f32x2", ",target=last:i16", ",target=first:i64,classes=3", ",header=3"};
    snprintf(spec, sizeof spec, "raw:%s,dtype=%s,shape=%dx%d%s", fuzz_file(data + 3, size - 3), types[data[0] % AS_COUNT(types)],
             data[1] % 5, 1 + data[1] / 64, targets[data[2] % AS_COUNT(targets)]);
    fuzz_open(spec, size & 1);
    return 0;
}
