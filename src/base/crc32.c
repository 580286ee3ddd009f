/* crc32.c - CRC-32 (IEEE, reflected): with tables, and with carry-less multiplication where the CPU has it.
 *
 * The checksum of a trace is computed while it is written.  On the CPU of docs/decisions/0015-one-record.md four bits at a time
 * reached 0.2 GB/s, the tables reach 1.8, and folding with carry-less products more than 10. */
#include <string.h>

#include "base/text.h"

/* Eight bytes at a time, with one table for each.  A table is linear in the bits of its index, so the
 * compiler builds it from eight numbers, and threads share no set-up. */
#define ENTRY(i, a, b, c, d, e, f, g, h)                                                                           \
    (((i)&1 ? a : 0) ^ ((i)&2 ? b : 0) ^ ((i)&4 ? c : 0) ^ ((i)&8 ? d : 0) ^ ((i)&16 ? e : 0) ^ ((i)&32 ? f : 0) ^ \
     ((i)&64 ? g : 0) ^ ((i)&128 ? h : 0))
#define ENTRIES4(i, ...) ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__), ENTRY(i + 3, __VA_ARGS__)
#define ENTRIES16(i, ...) \
    ENTRIES4(i, __VA_ARGS__), ENTRIES4(i + 4, __VA_ARGS__), ENTRIES4(i + 8, __VA_ARGS__), ENTRIES4(i + 12, __VA_ARGS__)
#define ENTRIES64(i, ...) \
    ENTRIES16(i, __VA_ARGS__), ENTRIES16(i + 16, __VA_ARGS__), ENTRIES16(i + 32, __VA_ARGS__), ENTRIES16(i + 48, __VA_ARGS__)
#define LANE(...)                                                                                                       \
    {                                                                                                                   \
        ENTRIES64(0, __VA_ARGS__), ENTRIES64(64, __VA_ARGS__), ENTRIES64(128, __VA_ARGS__), ENTRIES64(192, __VA_ARGS__) \
    }

/* The bare remainder, without the inversions at both ends. */
static uint32_t by_tables(uint32_t crc, const unsigned char *p, size_t n)
{
    static const uint32_t lane[8][256] = {
        LANE(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
        LANE(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
        LANE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
        LANE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
        LANE(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
        LANE(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
        LANE(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
        LANE(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
    };
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        uint32_t high = (uint32_t)p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
        crc = lane[7][low & 255] ^ lane[6][low >> 8 & 255] ^ lane[5][low >> 16 & 255] ^ lane[4][low >> 24] ^ lane[3][high & 255] ^
              lane[2][high >> 8 & 255] ^ lane[1][high >> 16 & 255] ^ lane[0][high >> 24];
    }
    for (; n; n--, p++)
        crc = (crc >> 8) ^ lane[0][(crc ^ *p) & 255];
    return crc;
}

#if defined(__x86_64__)

#include <immintrin.h>

enum { FOLD_BYTES = 64 };

/* x times x^(64 + d) and x^d modulo the polynomial, each half with its own power: the contribution of x, d bits later. */
__attribute__((target("pclmul,sse4.1"))) static inline __m128i fold(__m128i x, __m128i powers, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(x, powers, 0x00), high = _mm_clmulepi64_si128(x, powers, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline __m128i load(const unsigned char *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }

/* Four registers are folded over the data, then into one; its 16 bytes and the rest go through the tables.  n is at least FOLD_BYTES. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t by_products(uint32_t crc, const unsigned char *p, size_t n)
{
    const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4), by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i       a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc)), b = load(p + 16), c = load(p + 32), d = load(p + 48);
    unsigned char rest[16];
    for (p += FOLD_BYTES, n -= FOLD_BYTES; n >= FOLD_BYTES; p += FOLD_BYTES, n -= FOLD_BYTES) {
        a = fold(a, by_512, load(p));
        b = fold(b, by_512, load(p + 16));
        c = fold(c, by_512, load(p + 32));
        d = fold(d, by_512, load(p + 48));
    }
    a = fold(fold(fold(a, by_128, b), by_128, c), by_128, d);
    for (; n >= sizeof rest; p += sizeof rest, n -= sizeof rest)
        a = fold(a, by_128, load(p));
    memcpy(rest, &a, sizeof rest);
    return by_tables(by_tables(0, rest, sizeof rest), p, n);
}

uint32_t as_crc32(uint32_t crc, const void *data, size_t n)
{
    bool folds = n >= 2 * FOLD_BYTES && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    return ~(folds ? by_products(~crc, data, n) : by_tables(~crc, data, n));
}

#else

uint32_t as_crc32(uint32_t crc, const void *data, size_t n) { return ~by_tables(~crc, data, n); }

#endif
