/* sha256.h - SHA-256 (FIPS 180-4): the name of a content. docs/decisions/0009-sha256.md says why it is written by hand. */
#ifndef AS_BASE_SHA256_H
#define AS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define AS_SHA256_HEX 65 /* 64 hex digits and a NUL */

typedef struct as_sha256 {
    uint32_t state[8];
    uint64_t n_bytes;   /* taken in all */
    uint8_t  block[64]; /* the bytes that do not fill a block yet: n_bytes % 64 of them */
} as_sha256;

void as_sha256_start(as_sha256 *h);
void as_sha256_add(as_sha256 *h, const void *data, size_t n);
/* Lower case.  This uses the hash up: start again afterwards. */
void as_sha256_finish(as_sha256 *h, char hex[AS_SHA256_HEX]);

#endif
