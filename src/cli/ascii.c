/* ascii.c - text for a locale without UTF-8: one table of replacements. */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/text.h"
#include "cli/screen.h"

static const struct likeness {
    const char *sign, *ascii;
} likenesses[] =
    {
        {"…", "..."}, {"·", "-"},  {"✓", "[ok]"}, {"✗", "x"},      {"✘", "x"},     {"⚠", "!"}, {"•", "*"},   {"µ", "u"},
        {"μ", "u"},   {"°", ""},   {"×", "x"},    {"±", "+-"},     {"−", "-"},     {"–", "-"}, {"—", "-"},   {"→", "->"},
        {"←", "<-"},  {"↑", "^"},  {"↓", "v"},    {"≤", "<="},     {"≥", ">="},    {"≈", "~"}, {"∞", "inf"}, {"‘", "'"},
        {"’", "'"},   {"“", "\""}, {"”", "\""},   {"═", "="},      {"─", "-"},     {"━", "-"}, {"│", "|"},   {"┃", "|"},
        {"┌", "+"},   {"┐", "+"},  {"└", "+"},    {"┘", "+"},      {"├", "+"},     {"┤", "+"}, {"┬", "+"},   {"┴", "+"},
        {"┼", "+"},   {"█", "#"},  {"▉", "#"},    {"▊", "#"},      {"▋", "#"},     {"▌", "#"}, {"▍", " "},   {"▎", " "},
        {"▏", " "},   {"▇", "%"},  {"▆", "*"},    {"▅", "+"},      {"▄", "="},     {"▃", "-"}, {"▂", "."},   {"▁", "_"},
        {"▓", "%"},   {"▒", ":"},  {"░", "."},    {"\u00a0", " "}, {"\ufe0f", ""}, /* "show the sign before in colour" */
};

static const char *likeness_of(const char *sign, size_t n)
{
    for (size_t i = 0; i < AS_COUNT(likenesses); i++)
        if (strlen(likenesses[i].sign) == n && !memcmp(likenesses[i].sign, sign, n))
            return likenesses[i].ascii;
    return "?";
}

/* "[ok]" is wider than the sign it replaces: spaces are removed from the padding after it, down to one. */
char *as_ascii_text(const char *text, size_t n)
{
    as_text out = {0};
    size_t  owed = 0;
    as_text_add(&out, "");
    for (size_t at = 0; at < n;) {
        size_t length = (unsigned char)text[at] < 0x80 ? 1 : as_utf8_length(text + at, n - at);
        if (length == 1) {
            bool wide = text[at] == ' ' && at + 1 < n && text[at + 1] == ' ';
            owed = text[at] == '\n' ? 0 : owed;
            if (owed && wide)
                owed--;
            else
                as_text_add_n(&out, text + at, 1);
        } else {
            const char *ascii = length ? likeness_of(text + at, length) : "?";
            owed += strlen(ascii) > 1 ? strlen(ascii) - 1 : 0;
            as_text_add(&out, ascii);
        }
        at += length ? length : 1;
    }
    if (!out.failed)
        return out.data;
    as_text_drop(&out);
    return NULL;
}
