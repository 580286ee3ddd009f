/* base64.h - bytes as text (RFC 4648, with padding), for records that travel in JSON. */
#ifndef AS_BASE_BASE64_H
#define AS_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The length of the text for this many bytes, without its NUL. */
static inline size_t as_base64_length(size_t n) { return (n + 2) / 3 * 4; }
/* Writes as_base64_length(n) characters and a NUL. */
void as_base64_write(const uint8_t *data, size_t n, char *to);
/* At most length / 4 * 3 bytes to `to`.  False for anything that as_base64_write() would not have written. */
bool as_base64_read(const char *text, size_t length, uint8_t *to, size_t *n);

#endif
