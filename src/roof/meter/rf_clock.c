/* rf_clock.c - the clock rate of the core itself, which is not the clock that time is read from: dependent additions take one cycle
 * each on every core we know. */
#include "roof/meter/body.h"

enum { ADDITIONS = 64 };

static double per_pass(size_t bytes)
{
    (void)bytes;
    return ADDITIONS;
}

/* In assembly, because a compiler turns a chain of additions into one multiplication.  With registers, because some cores add
 * constants during renaming. */
static void run(const as_meter_args *args, uint64_t n_passes)
{
    uint64_t x = 1, y = (uint64_t)args->bytes | 1;
    for (uint64_t n = n_passes; n; n--) {
#if defined(__x86_64__)
#define ADD4 "add %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\tadd %1, %0\n\t"
        __asm__ volatile(ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 : "+r"(x) : "r"(y));
#elif defined(__aarch64__)
#define ADD4 "add %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\tadd %0, %0, %1\n\t"
        __asm__ volatile(ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 ADD4 : "+r"(x) : "r"(y));
#else
        for (int i = 0; i < ADDITIONS; i++) {
            x += y;
            __asm__ volatile("" : "+r"(x));
        }
#endif
    }
    __asm__ volatile("" ::"r"(x));
}

const as_meter as_rf_clock = {
    .name = "clock.core",
    .unit = "hertz",
    .what = "a chain of dependent additions, one per cycle",
    .kind = AS_METER_CLOCK,
    .isa = AS_ISA_SCALAR,
    .order = 0,
    .n_streams = 1,
    .per_pass = per_pass,
    .run = run,
};
