/* command.c - splits a command, as a user types it, into words, and joins words into a command. */
#include "base/command.h"

#include <string.h>

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Copies one word from *at to *to and moves both past it; false when a quote or a backslash is not closed. */
static bool word_copy(const char **at, char **to)
{
    const char *s = *at;
    char        quote = 0;
    for (; *s && (quote || !is_blank(*s)); s++) {
        bool escapes = *s == '\\' && quote != '\'' && (!quote || s[1] == '"' || s[1] == '\\');
        if (escapes) {
            if (!*++s)
                return false;
            *(*to)++ = *s;
        } else if (!quote && (*s == '\'' || *s == '"')) {
            quote = *s;
        } else if (quote && *s == quote) {
            quote = 0;
        } else {
            *(*to)++ = *s;
        }
    }
    *(*to)++ = 0;
    *at = s;
    return !quote;
}

assay_status as_command_split(assay_env *env, const char *text, as_arena *arena, const char *const **argv)
{
    size_t       length = strlen(text), n = 0;
    char        *to = AS_TAKE(arena, char, length + 1); /* a word and its NUL need no more space than the word and its blank */
    const char **words = AS_TAKE(arena, const char *, length / 2 + 2);
    if (!to || !words)
        return as_fail(env, ASSAY_NO_MEMORY, "command: not enough memory for the %zu bytes of \"%s\"", length, text);
    for (const char *at = text;;) {
        while (is_blank(*at))
            at++;
        if (!*at)
            break;
        words[n++] = to;
        if (!word_copy(&at, &to))
            return as_fail(env, ASSAY_BAD_INPUT, "command: %s: word %zu has an unfinished quote or backslash", text, n);
    }
    if (!n || !*words[0])
        return as_fail(env, ASSAY_BAD_INPUT, "command: \"%s\" does not name a program", text);
    words[n] = NULL;
    *argv = words;
    return ASSAY_OK;
}

/* Puts a word that needs quotes into "..." with backslashes; returns the end. */
static char *word_put(char *to, const char *word)
{
    bool quotes = !*word || strpbrk(word, " \t\r\n'\"\\");
    if (quotes)
        *to++ = '"';
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            *to++ = '\\';
        *to++ = *word;
    }
    if (quotes)
        *to++ = '"';
    return to;
}

const char *as_command_join(as_arena *arena, const char *const *argv)
{
    size_t size = 1;
    for (int i = 0; argv[i]; i++)
        size += 2 * strlen(argv[i]) + 3;
    char *line = AS_TAKE(arena, char, size), *to = line;
    for (int i = 0; line && argv[i]; i++) {
        if (i)
            *to++ = ' ';
        to = word_put(to, argv[i]);
    }
    if (line)
        *to = 0;
    return line;
}
