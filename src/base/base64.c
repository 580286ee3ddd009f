/* base64.c - bytes as text and back. */
#include "base/base64.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void as_base64_write(const uint8_t *data, size_t n, char *to)
{
    for (size_t i = 0; i < n; i += 3) {
        size_t   some = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)data[i] << 16 | (some > 1 ? (uint32_t)data[i + 1] << 8 : 0) | (some > 2 ? data[i + 2] : 0);
        for (size_t k = 0; k < 4; k++)
            *to++ = k <= some ? letters[bits >> (18 - 6 * k) & 63] : '=';
    }
    *to = '\0';
}

static int value_of(char c)
{
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

bool as_base64_read(const char *text, size_t length, uint8_t *to, size_t *n)
{
    *n = 0;
    if (length % 4)
        return false;
    for (size_t i = 0; i < length; i += 4) {
        size_t   some = i + 4 < length || text[i + 3] != '=' ? 3 : text[i + 2] != '=' ? 2 : 1;
        uint32_t bits = 0;
        for (size_t k = 0; k <= some; k++) {
            int value = value_of(text[i + k]);
            if (value < 0)
                return false;
            bits |= (uint32_t)value << (18 - 6 * k);
        }
        for (size_t k = 0; k < some; k++)
            to[(*n)++] = (uint8_t)(bits >> (16 - 8 * k));
        if (bits & ((1u << (24 - 8 * some)) - 1)) /* bits that no byte has */
            return false;
    }
    return true;
}
