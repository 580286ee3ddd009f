#include "base/sha256.h"
#include "tests/runner/test.h"

static void expect_hash(const char *text, size_t n, size_t step, const char *want)
{
    as_sha256 h;
    char      hex[AS_SHA256_HEX];
    as_sha256_start(&h);
    for (size_t at = 0; at < n; at += step)
        as_sha256_add(&h, text + at, n - at < step ? n - at : step);
    as_sha256_finish(&h, hex);
    expect_str(hex, want);
}

/* The examples that NIST publishes beside FIPS 180-4. */
Test(sha256, gives_the_published_hashes_of_short_texts)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char more[] =
        "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    expect_hash("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_hash("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_hash(two_blocks, strlen(two_blocks), 100, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_hash(more, strlen(more), 200, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    expect_hash("\xbd", 1, 1, "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

Test(sha256, gives_the_published_hash_of_a_million_letters_however_they_come)
{
    static char       letters[1000000];
    static const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    memset(letters, 'a', sizeof letters);
    expect_hash(letters, sizeof letters, sizeof letters, want);
    expect_hash(letters, sizeof letters, 1, want);
    expect_hash(letters, sizeof letters, 63, want);
    expect_hash(letters, sizeof letters, 65, want);
}

/* Lengths around the position of the length field; from NIST's examples of zero bytes. */
Test(sha256, pads_around_the_end_of_a_block)
{
    static const char zeros[65];
    expect_hash(zeros, 55, 7, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
    expect_hash(zeros, 56, 7, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
    expect_hash(zeros, 57, 7, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
    expect_hash(zeros, 64, 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
}
