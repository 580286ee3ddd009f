/* html_policy.c - the hash by which a Content-Security-Policy allows one script or style and no other. */
#include <string.h>

#include "base/sha256.h"
#include "report/writer/html.h"

static int hex_value(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

const char *as_page_hash(as_arena *arena, const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    as_sha256         h;
    char              hex[AS_SHA256_HEX], base64[48];
    unsigned          bytes[33] = {0}; /* 32 and one to fill the last three */
    as_sha256_start(&h);
    as_sha256_add(&h, text, strlen(text));
    as_sha256_finish(&h, hex);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned)(16 * hex_value(hex[2 * i]) + hex_value(hex[2 * i + 1]));
    for (int i = 0; i < 11; i++) {
        unsigned three = bytes[3 * i] << 16 | bytes[3 * i + 1] << 8 | bytes[3 * i + 2];
        for (int k = 0; k < 4; k++)
            base64[4 * i + k] = digits[three >> (18 - 6 * k) & 63];
    }
    base64[43] = '=', base64[44] = 0;
    return as_arena_printf(arena, "sha256-%s", base64);
}
