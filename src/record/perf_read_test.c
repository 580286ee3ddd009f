/* perf_read_test.c - where perf_read.c is left out there is nothing to test. */
#ifdef __linux__
#include "record/perf_read.h"

#include <linux/perf_event.h>
#include <string.h>

#include "tests/runner/test.h"

typedef struct bytes {
    uint8_t data[512];
    size_t  n;
} bytes;

static void put(bytes *b, const void *from, size_t n)
{
    memcpy(b->data + b->n, from, n);
    b->n += n;
}

static void put_u64(bytes *b, uint64_t x) { put(b, &x, sizeof x); }
static void put_u32(bytes *b, uint32_t x) { put(b, &x, sizeof x); }

static void head(bytes *b, uint32_t type)
{
    struct perf_event_header h = {.type = type};
    b->n = 0;
    put(b, &h, sizeof h);
}

static void seal(bytes *b)
{
    struct perf_event_header h;
    memcpy(&h, b->data, sizeof h);
    h.size = (uint16_t)b->n;
    memcpy(b->data, &h, sizeof h);
}

/* id, ip, pid and tid, time, period, n addresses. */
static void sample(bytes *b, uint64_t n_told, size_t n)
{
    head(b, PERF_RECORD_SAMPLE);
    put_u64(b, 77);
    put_u64(b, 0x1000);
    put_u32(b, 5);
    put_u32(b, 6);
    put_u64(b, 123456);
    put_u64(b, 1001001);
    put_u64(b, n_told);
    for (size_t i = 0; i < n; i++)
        put_u64(b, 0x1000 + i);
    seal(b);
}

Test(perf_read, a_sample_has_its_addresses)
{
    bytes          b;
    as_perf_record x;
    uint64_t       last;
    sample(&b, 3, 3);
    expect(as_perf_read(b.data, b.n, 0, &x));
    expect_eq(x.id, 77);
    expect_eq(x.pid, 5);
    expect_eq(x.tid, 6);
    expect_eq(x.time, 123456);
    expect_eq(x.period, 1001001);
    expect_eq(x.n_chain, 3);
    memcpy(&last, (const char *)x.chain + 16, sizeof last);
    expect_eq(last, 0x1002);
}

Test(perf_read, a_sample_that_tells_more_addresses_than_it_has_is_refused)
{
    bytes          b;
    as_perf_record x;
    sample(&b, 4, 3);
    expect(!as_perf_read(b.data, b.n, 0, &x));
    sample(&b, UINT64_MAX / 8 + 2, 3);
    expect(!as_perf_read(b.data, b.n, 0, &x));
}

Test(perf_read, every_shorter_record_is_refused_or_read_within_its_bytes)
{
    bytes          b;
    as_perf_record x;
    sample(&b, 3, 3);
    for (size_t n = 0; n < b.n; n++) {
        uint8_t  exact[512]; /* a sanitiser sees a byte too much */
        uint16_t size = (uint16_t)n;
        memcpy(exact, b.data, n);
        if (n >= 8)
            memcpy(exact + 6, &size, sizeof size);
        expect(!as_perf_read(exact, n, 0, &x));
    }
}

Test(perf_read, a_copy_of_the_stack_ends_where_its_bytes_end)
{
    bytes          b;
    as_perf_record x;
    for (uint64_t told = 0; told < 40; told += 8) {
        sample(&b, 0, 0);
        put_u64(&b, PERF_SAMPLE_REGS_ABI_64);
        for (uint64_t i = 0; i < 3; i++)
            put_u64(&b, i);
        put_u64(&b, told);
        put_u64(&b, 1);
        put_u64(&b, 2);
        put_u64(&b, told == 16 ? 8 : 99); /* how many bytes are real, when the copy has 16 */
        seal(&b);
        bool ok = as_perf_read(b.data, b.n, 3, &x);
        expect_eq(ok, told <= 16);
        if (told == 16) {
            expect_eq(x.n_regs, 3);
            expect_eq(x.n_stack, 8);
        }
    }
}

Test(perf_read, a_path_that_does_not_end_is_refused)
{
    bytes          b;
    as_perf_record x;
    for (int whole = 0; whole < 2; whole++) {
        head(&b, PERF_RECORD_MMAP2);
        put_u32(&b, 5);
        put_u32(&b, 5);
        put_u64(&b, 0x1000);
        put_u64(&b, 0x2000);
        put_u64(&b, 0x40);
        for (int i = 0; i < 4; i++)
            put_u64(&b, 0);
        put(&b, whole ? "/lib/a\0" : "/lib/abc", 8);
        put_u32(&b, 5);
        put_u32(&b, 5);
        put_u64(&b, 99);
        put_u64(&b, 77);
        seal(&b);
        expect_eq(as_perf_read(b.data, b.n, 0, &x), whole == 1);
        if (whole) {
            expect_str(x.text, "/lib/a");
            expect_eq(x.start, 0x1000);
            expect_eq(x.length, 0x2000);
            expect_eq(x.offset, 0x40);
            expect_eq(x.time, 99);
        }
    }
}
#endif
