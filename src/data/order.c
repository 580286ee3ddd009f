/* order.c - a random order of n things that is computed, not stored. */
#include "data/order.h"

#include "base/random.h"

/* Philox has 128 bits of counter: the epoch takes 32 of them mixed with the stream, the example 64.  More than 2^32 epochs come round again. */
void as_draw(uint64_t seed, uint32_t stream, int64_t epoch, int64_t example, uint32_t out[4])
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)example, (uint32_t)((uint64_t)example >> 32), (uint32_t)epoch, stream};
    as_philox(key, counter, out);
}

void as_order_make(as_order *order, uint64_t seed, uint32_t stream, int64_t epoch, int64_t n)
{
    unsigned bits = 6; /* fewer made some orders of 4 and 5 things twice as likely as others */
    while (bits < 63 && (uint64_t)1 << bits < (uint64_t)n)
        bits++;
    order->n = (uint64_t)n;
    order->left_bits = bits / 2;
    order->right_bits = bits - bits / 2;
    for (int i = 0; i < AS_ORDER_ROUNDS; i += 2) {
        uint32_t words[4];
        as_draw(seed, stream, epoch, i, words);
        order->key[i] = (uint64_t)words[1] << 32 | words[0];
        order->key[i + 1] = (uint64_t)words[3] << 32 | words[2];
    }
}

/* The round function: all bits of the key and of the half reach all bits that are used.  Two multiplications, because with one the last
 * bits of small halves stay close to linear. */
static inline uint64_t mix(uint64_t half, uint64_t key)
{
    uint64_t x = (half + 1) * 0x9e3779b97f4a7c15u ^ key;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

int64_t as_order_at(const as_order *order, int64_t place)
{
    const uint64_t left_mask = ((uint64_t)1 << order->left_bits) - 1, right_mask = ((uint64_t)1 << order->right_bits) - 1;
    uint64_t       x = (uint64_t)place;
    do {
        uint64_t left = x >> order->right_bits, right = x & right_mask;
        for (int i = 0; i < AS_ORDER_ROUNDS; i += 2) {
            right ^= mix(left, order->key[i]) & right_mask;
            left ^= mix(right, order->key[i + 1]) & left_mask;
        }
        x = left << order->right_bits | right;
    } while (x >= order->n);
    return (int64_t)x;
}
