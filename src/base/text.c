/* text.c - growing strings, small parsers and how numbers are shown to people. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- Growing strings ---------------------------------------------------------------------- */

static bool reserve(as_text *t, size_t more)
{
    size_t need;
    if (t->failed || __builtin_add_overflow(t->length + 1, more, &need)) {
        t->failed = true;
        return false;
    }
    if (need <= t->capacity)
        return true;
    size_t capacity = t->capacity < 32 ? 64 : t->capacity + t->capacity / 2;
    if (capacity < need)
        capacity = need;
    char *data = realloc(t->data, capacity);
    if (!data) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->capacity = capacity;
    return true;
}

void as_text_add_n(as_text *t, const char *s, size_t n)
{
    if (!reserve(t, n))
        return;
    if (n)
        memcpy(t->data + t->length, s, n);
    t->length += n;
    t->data[t->length] = '\0';
}

void as_text_add(as_text *t, const char *s) { as_text_add_n(t, s, strlen(s)); }

void as_text_printf(as_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        t->failed = true;
    } else if (reserve(t, (size_t)length)) {
        vsnprintf(t->data + t->length, (size_t)length + 1, format, again);
        t->length += (size_t)length;
    }
    va_end(again);
}

void as_text_drop(as_text *t)
{
    free(t->data);
    *t = (as_text){0};
}

/* --- Parsers ------------------------------------------------------------------------------ */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Digits only, at least one, to the end of the string. */
static bool parse_digits(const char *s, uint64_t *out)
{
    uint64_t value = 0;
    if (!is_digit(*s))
        return false;
    for (; is_digit(*s); s++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) || __builtin_add_overflow(value, (uint64_t)(*s - '0'), &value))
            return false;
    if (*s)
        return false;
    *out = value;
    return true;
}

bool as_parse_i64(const char *s, int64_t *out)
{
    bool     negative = *s == '-';
    uint64_t size, limit = (uint64_t)INT64_MAX + negative;
    if (!parse_digits(s + (*s == '-' || *s == '+'), &size) || size > limit)
        return false;
    *out = negative ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

/* The length of the decimal number at s, 0 if there is none: [sign] digits [. digits] [e [sign] digits],
 * with a digit before or after the point.  Neither hex, "nan" nor "inf". */
static size_t number_length(const char *s)
{
    size_t i = s[0] == '-' || s[0] == '+', n_digits = 0;
    for (; is_digit(s[i]); i++)
        n_digits++;
    if (s[i] == '.')
        for (i++; is_digit(s[i]); i++)
            n_digits++;
    if (!n_digits)
        return 0;
    if (s[i] == 'e' || s[i] == 'E') {
        size_t j = i + 1 + (s[i + 1] == '-' || s[i + 1] == '+');
        if (is_digit(s[j])) {
            while (is_digit(s[j]))
                j++;
            i = j;
        }
    }
    return i;
}

/* strtod obeys the locale of the program that uses the library, so it gets that locale's decimal point. */
static bool number_value(const char *s, size_t n, double *out)
{
    char        copy[512];
    const char *point = localeconv()->decimal_point;
    size_t      length = 0, point_length = strlen(point);
    if (n + point_length >= sizeof copy)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '.') {
            memcpy(copy + length, point, point_length);
            length += point_length;
        } else {
            copy[length++] = s[i];
        }
    }
    copy[length] = '\0';
    char  *end;
    double value = strtod(copy, &end);
    if (end != copy + length || !isfinite(value))
        return false;
    *out = value;
    return true;
}

bool as_parse_f64(const char *s, double *out)
{
    size_t n = number_length(s);
    return n && !s[n] && number_value(s, n, out);
}

typedef struct scale {
    const char *suffix;
    double      factor;
} scale;

/* number * factor of its suffix, rounded to an integer; false when it is negative or not below 2^64. */
static bool parse_scaled(const char *s, const scale *scales, uint64_t *out)
{
    size_t n = number_length(s);
    double value;
    if (!n || !number_value(s, n, &value) || value < 0)
        return false;
    for (; scales->suffix; scales++) {
        if (strcmp(s + n, scales->suffix))
            continue;
        double whole = round(value * scales->factor);
        if (!(whole < 0x1p64) || (scales->factor <= 1 && whole != value))
            return false;
        *out = (uint64_t)whole;
        return true;
    }
    return false;
}

bool as_parse_duration_ns(const char *s, uint64_t *out)
{
    static const scale scales[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
    return parse_scaled(s, scales, out);
}

bool as_parse_bytes(const char *s, uint64_t *out)
{
    static const scale scales[] = {{"", 1},       {"B", 1},      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                                   {"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30},   {"T", 0x1p40},   {NULL, 0}};
    return parse_digits(s, out) || parse_scaled(s, scales, out); /* digits alone: exact even above 2^53 */
}

bool as_parse_bool(const char *s, bool *out)
{
    static const char *const words[] = {"off", "on", "false", "true", "0", "1", "no", "yes"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!strcmp(s, words[i])) {
            *out = i % 2;
            return true;
        }
    }
    return false;
}

/* --- Numbers for people and for files ------------------------------------------------------- */

/* Puts '.' where the locale put its own decimal point. */
static void point_fix(char *number)
{
    const char *point = localeconv()->decimal_point;
    char       *at = strcmp(point, ".") ? strstr(number, point) : NULL;
    if (!at)
        return;
    size_t n = strlen(point);
    *at = '.';
    memmove(at + 1, at + n, strlen(at + n) + 1);
}

const char *as_number(char *buf, double value)
{
    if (!isfinite(value)) {
        snprintf(buf, AS_NUMBER_BYTES, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return buf;
    }
    if (value == 0 && signbit(value)) { /* readers take "-0" for an integer, and integers have no negative zero */
        snprintf(buf, AS_NUMBER_BYTES, "-0.0");
        return buf;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, AS_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    point_fix(buf);
    return buf;
}

typedef struct unit_family {
    const char *unit;
    double      factor;   /* to the first step */
    double      base;     /* from one step to the next; 0: there are no steps */
    const char *steps[7]; /* NULL-terminated */
} unit_family;

#define SI(name)                                                     \
    {                                                                \
        name, "k" name, "M" name, "G" name, "T" name, "P" name, NULL \
    }
#define IEC(per)                                                             \
    {                                                                        \
        "B" per, "KiB" per, "MiB" per, "GiB" per, "TiB" per, "PiB" per, NULL \
    }

static const unit_family families[] = {
    {"ns", 1, 1e3, {"ns", "us", "ms", "s", NULL}},
    {"s", 1e9, 1e3, {"ns", "us", "ms", "s", NULL}},
    {"byte", 1, 1024, IEC("")},
    {"byte/s", 1, 1024, IEC("/s")},
    {"flop", 1, 1e3, SI("FLOP")},
    {"flop/s", 1, 1e3, SI("FLOP/s")},
    {"op", 1, 1e3, SI("op")},
    {"op/s", 1, 1e3, SI("op/s")},
    {"element/s", 1, 1e3, SI("elem/s")},
    {"1/s", 1, 1e3, SI("/s")},
    {"hertz", 1, 1e3, SI("Hz")},
    {"watt", 1e6, 1e3, {"uW", "mW", "W", "kW", NULL}},
    {"joule", 1e6, 1e3, {"uJ", "mJ", "J", "kJ", NULL}},
    {"volt", 1e3, 1e3, {"mV", "V", NULL}},
    {"ratio", 100, 0, {"%", NULL}},
    {"celsius", 1, 0, {"C", NULL}},
    {"1", 1, 0, {"", NULL}},
};

/* Three significant digits without an exponent, except for values too small to read that way. */
static void show_number(char *buf, size_t size, double value, bool whole)
{
    double magnitude = fabs(value);
    if (magnitude == 0 || (whole && magnitude < 1e15 && value == round(value)))
        snprintf(buf, size, "%.0f", value);
    else if (magnitude < 1e-4 || magnitude >= 1e15)
        snprintf(buf, size, "%.2e", value);
    else {
        int decimals = 2 - (int)floor(log10(magnitude));
        if (decimals > 0 && fabs(round(magnitude * pow(10, decimals))) >= 1000)
            decimals--; /* 9.999 is shown as 10.0, not as 10.00 */
        snprintf(buf, size, "%.*f", decimals > 0 ? decimals : 0, value);
    }
    point_fix(buf);
}

as_scale as_scale_for(double value, const char *unit)
{
    as_scale out = {.unit = unit ? unit : "1", .value = value, .factor = 1, .whole = true};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        const unit_family *f = &families[i];
        if (strcmp(f->unit, out.unit))
            continue;
        size_t step = 0;
        out.factor = f->factor;
        out.value *= f->factor;
        /* 999.7 is shown as 1000, so it already belongs to the next step. */
        while (f->base > 0 && f->steps[step + 1] && round(fabs(out.value)) >= f->base) {
            out.value /= f->base;
            out.factor /= f->base;
            step++;
        }
        out.unit = f->steps[step];
        out.whole = step == 0 && f->factor == 1; /* 512 B and 5 ns are exact, 5.00 us has three digits */
        break;
    }
    return out;
}

const char *as_show(char *buf, size_t size, double value, const char *unit)
{
    if (!isfinite(value)) {
        snprintf(buf, size, "%s", isnan(value) ? "n/a" : value > 0 ? "inf" : "-inf");
        return buf;
    }
    as_scale s = as_scale_for(value, unit);
    char     number[64];
    show_number(number, sizeof number, s.value, s.whole);
    snprintf(buf, size, "%s%s%s", number, *s.unit ? " " : "", s.unit);
    return buf;
}

/* --- Words ---------------------------------------------------------------------------------- */

enum { WORD_MAX = 63 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, delete, replace, swap two neighbours) from a to b, case ignored. */
static size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    size_t  rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= n_b; j++)
        above[j] = before[j] = j;
    for (size_t i = 1; i <= n_a; i++) {
        int c = tolower((unsigned char)a[i - 1]);
        row[0] = i;
        for (size_t j = 1; j <= n_b; j++) {
            int d = tolower((unsigned char)b[j - 1]);
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (c != d));
            if (i > 1 && j > 1 && c == tolower((unsigned char)b[j - 2]) && d == tolower((unsigned char)a[i - 2]) &&
                before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
        size_t *spare = before;
        before = above, above = row, row = spare;
    }
    return above[n_b];
}

const char *as_nearest(const char *s, const char *const *words)
{
    size_t n = strlen(s);
    if (n > WORD_MAX)
        return NULL;
    size_t      best_distance = (n < 3 ? 1 : n < 6 ? 2 : n / 3) + 1; /* a word that is further away would not help */
    const char *best = NULL;
    for (; *words; words++) {
        size_t n_word = strlen(*words);
        if (n_word > WORD_MAX)
            continue;
        size_t distance = edit_distance(s, n, *words, n_word);
        if (distance < best_distance && distance < n) {
            best_distance = distance;
            best = *words;
        }
    }
    return best;
}

uint64_t as_hash64(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint64_t             hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

/* --- UTF-8 ------------------------------------------------------------------------------------ */

size_t as_utf8_length(const char *s, size_t n)
{
    const unsigned char *b = (const unsigned char *)s;
    if (!n)
        return 0;
    if (b[0] < 0x80)
        return 1;
    size_t length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4 || n < length)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xf0 && b[1] < 0x90);
    bool surrogate = b[0] == 0xed && b[1] >= 0xa0;
    bool above_last = b[0] == 0xf4 && b[1] >= 0x90;
    return overlong || surrogate || above_last ? 0 : length;
}

bool as_utf8_ok(const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t length = as_utf8_length(s + i, n - i);
        if (!length)
            return false;
        i += length;
    }
    return true;
}

int as_text_columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* --- Dates --------------------------------------------------------------------------------------------- */

const char *as_date_text(char *buf, size_t size, int64_t unix_s, as_date_form form)
{
    static const char *const formats[] = {[AS_DATE_DAY] = "%Y-%m-%d",
                                          [AS_DATE_MINUTE] = "%Y-%m-%d %H:%M",
                                          [AS_DATE_SECOND] = "%Y-%m-%d %H:%M:%S",
                                          [AS_DATE_ISO] = "%Y-%m-%dT%H:%M:%SZ"};
    time_t                   seconds = (time_t)unix_s;
    struct tm                utc;
    if (!gmtime_r(&seconds, &utc) || !strftime(buf, size, formats[form], &utc))
        snprintf(buf, size, "unknown");
    return buf;
}
