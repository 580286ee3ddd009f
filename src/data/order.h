/* order.h - private to data/: a random order of n things that is computed, not stored.
 *
 * A permutation table would cost 8 bytes per example and a pass per epoch, and a resume would have to make it again.  This one is a
 * Feistel network with keys from Philox: place i of the order is a pure function of seed, stream, epoch and i.  Places beyond n are walked
 * through until one falls inside (on average less than two steps). */
#ifndef AS_DATA_ORDER_H
#define AS_DATA_ORDER_H

#include <stdint.h>

enum { AS_ORDER_ROUNDS = 12 };
/* What a random choice is for: no two share numbers. */
enum { AS_STREAM_ORDER = 0x6f726472, AS_STREAM_SPLIT = 0x73706c74, AS_STREAM_AUGMENT = 0x61756774 };

typedef struct as_order {
    uint64_t n, key[AS_ORDER_ROUNDS];
    unsigned left_bits, right_bits;
} as_order;

void    as_order_make(as_order *order, uint64_t seed, uint32_t stream, int64_t epoch, int64_t n);
int64_t as_order_at(const as_order *order, int64_t place); /* 0 <= place < n */

/* Four random words for one example in one epoch. */
void as_draw(uint64_t seed, uint32_t stream, int64_t epoch, int64_t example, uint32_t out[4]);

#endif
