#include "base/base64.h"

#include <string.h>

#include "tests/runner/test.h"

/* The vectors of RFC 4648. */
Test(base64, writes_and_reads_what_the_standard_says)
{
    static const struct {
        const char *plain, *text;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char    text[16];
        uint8_t back[16];
        size_t  n = strlen(cases[i].plain), n_back;
        as_base64_write((const uint8_t *)cases[i].plain, n, text);
        expect_str(text, cases[i].text);
        expect_eq(as_base64_length(n), strlen(text));
        expect(as_base64_read(text, strlen(text), back, &n_back));
        expect_eq(n_back, n);
        expect(!memcmp(back, cases[i].plain, n));
    }
}

Test(base64, carries_every_byte)
{
    uint8_t bytes[256], back[258];
    char    text[345];
    size_t  n;
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)(255 - i);
    as_base64_write(bytes, sizeof bytes, text);
    expect(as_base64_read(text, strlen(text), back, &n));
    expect_eq(n, sizeof bytes);
    expect(!memcmp(bytes, back, n));
}

Test(base64, refuses_what_it_would_not_have_written)
{
    static const char *const bad[] = {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9", "Zm9v\n", "Zm-_"};
    uint8_t                  back[16];
    size_t                   n;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect(!as_base64_read(bad[i], strlen(bad[i]), back, &n));
}
