/* words.c - text for readers: cleaning, escaping, cutting, signs. */
#include "report/words.h"

#include <string.h>

#include "analysis/analysis.h"

/* A terminal obeys C0, DEL and C1; the direction overrides (U+202A-E, U+2066-9) can make a line say something else. */
static bool is_hidden(const char *s, size_t length)
{
    const unsigned char *u = (const unsigned char *)s;
    if (length == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    if (length == 2)
        return u[0] == 0xc2 && u[1] < 0xa0;
    return length == 3 && u[0] == 0xe2 &&
           ((u[1] == 0x80 && u[2] >= 0xaa && u[2] <= 0xae) || (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9));
}

const char *as_clean_text(as_arena *arena, const char *text)
{
    size_t n = strlen(text);
    char  *clean = n < SIZE_MAX / 4 ? as_arena_take(arena, 3 * n + 1, 1, 1) : NULL, *to = clean;
    if (!clean)
        return "";
    for (size_t i = 0; i < n;) {
        size_t length = as_utf8_length(text + i, n - i);
        if (!length) {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
        } else if (text[i] == '\n' || text[i] == '\t') {
            *to++ = ' ';
        } else if (!is_hidden(text + i, length)) {
            memcpy(to, text + i, length);
            to += length;
        }
        i += length ? length : 1;
    }
    return clean;
}

/* The first characters, this many of them. */
static const char *after_columns(const char *text, int columns)
{
    for (int n = 0; *text; text++)
        if (((unsigned char)*text & 0xc0) != 0x80 && n++ == columns)
            break;
    return text;
}

const char *as_text_cut(as_arena *arena, const char *text, int columns)
{
    if (columns < 1 || as_text_columns(text) <= columns)
        return text;
    const char *cut = as_arena_printf(arena, "%.*s…", (int)(after_columns(text, columns - 1) - text), text);
    return cut ? cut : "";
}

const char *as_name_cut(as_arena *arena, const char *name, int columns)
{
    int all = as_text_columns(name), tail = columns / 2;
    if (columns < 3 || all <= columns)
        return as_text_cut(arena, name, columns);
    const char *cut = as_arena_printf(arena, "%.*s…%s", (int)(after_columns(name, columns - 1 - tail) - name), name,
                                      after_columns(name, all - tail));
    return cut ? cut : "";
}

static const char *signs(as_arena *arena, const char *text, const char *unit)
{
    size_t      n = strlen(text);
    const char *kept = as_arena_text(arena, text);
    if (n > 3 && !strcmp(text + n - 3, " us"))
        kept = as_arena_printf(arena, "%.*s µs", (int)(n - 3), text);
    else if (n > 2 && !strcmp(unit, "celsius") && !strcmp(text + n - 2, " C"))
        kept = as_arena_printf(arena, "%.*s °C", (int)(n - 2), text);
    return kept ? kept : "";
}

const char *as_show_signs(as_arena *arena, double value, const char *unit)
{
    char buf[96];
    return signs(arena, as_show(buf, sizeof buf, value, unit), unit);
}

const char *as_show_interval_signs(as_arena *arena, const assay_metric *m)
{
    char buf[160];
    return signs(arena, as_show_interval(buf, sizeof buf, m), m->unit);
}

static const char *entity(char c)
{
    switch (c) {
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '&': return "&amp;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n':
    case '\t': return " ";
    default: return NULL;
    }
}

const char *as_escape_html(as_arena *arena, const char *text)
{
    size_t n = strlen(text);
    char  *out = n < SIZE_MAX / 8 ? as_arena_take(arena, 6 * n + 1, 1, 1) : NULL, *to = out;
    if (!out)
        return "";
    for (size_t i = 0; i < n;) {
        size_t        length = as_utf8_length(text + i, n - i);
        const char   *named = entity(text[i]);
        unsigned char c = (unsigned char)text[i];
        bool          is_control = c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && (unsigned char)text[i + 1] < 0xa0) ||
                          (length == 3 && !strncmp(text + i, "\xef\xbf", 2) &&
                           (unsigned char)text[i + 2] >= 0xbe); /* U+FFFE and U+FFFF are not allowed in XML */
        const char *put = named ? named : length ? text + i : "\xef\xbf\xbd";
        size_t      n_put = named ? strlen(named) : length ? length : 3;
        if (named || !is_control) {
            memcpy(to, put, n_put);
            to += n_put;
        }
        i += length ? length : 1;
    }
    return out;
}

const char *as_text_keep(as_arena *arena, as_text *t)
{
    const char *kept = t->failed ? NULL : as_arena_text(arena, t->data ? t->data : "");
    as_text_drop(t);
    return kept;
}

void as_text_pad(as_text *t, const char *text, int columns)
{
    as_text_add(t, text);
    for (int n = as_text_columns(text); n < columns; n++)
        as_text_add(t, " ");
}
