/* arm_line.c - reads the lines of the protocol.  Everything is checked, because the other side is another program. */
#include "run/arm_line.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

enum { QUOTED_BYTES = 60, ERROR_BYTES = 400, WORD_BYTES = 64 };

int as_arm_quoted(const char *line, size_t n)
{
    size_t shown = n < QUOTED_BYTES ? n : QUOTED_BYTES;
    return (int)strnlen(line, shown);
}

/* The words of a line, separated by one blank each. */
typedef struct words {
    const char *at, *end;
} words;

/* The next word as a string; false at the end, and for two blanks, a blank at the end or a word that does not fit. */
static bool word_next(words *w, char word[WORD_BYTES])
{
    if (w->at >= w->end)
        return false;
    const char *blank = memchr(w->at, ' ', (size_t)(w->end - w->at)), *stop = blank ? blank : w->end;
    size_t      n = (size_t)(stop - w->at);
    if (n == 0 || n >= WORD_BYTES || memchr(w->at, 0, n) || stop + 1 == w->end)
        return false;
    memcpy(word, w->at, n);
    word[n] = 0;
    w->at = blank ? blank + 1 : w->end;
    return true;
}

static bool words_ended(const words *w) { return w->at == w->end; }

/* A whole number: digits only. */
static bool whole_next(words *w, int64_t low, int64_t high, int64_t *out)
{
    char    word[WORD_BYTES];
    int64_t value;
    if (!word_next(w, word) || strspn(word, "0123456789") != strlen(word) || !as_parse_i64(word, &value) || value < low ||
        value > high)
        return false;
    *out = value;
    return true;
}

/* A time or a count: a number that is not negative.  The bound is above any real value and within the range of a float. */
static bool amount_read(const char *word, double *out)
{
    double value;
    if (!as_parse_f64(word, &value) || !(value >= 0.0 && value <= 1e30))
        return false;
    *out = value;
    return true;
}

static bool begins(const char *line, size_t n, const char *word)
{
    size_t length = strlen(word);
    return n >= length && !memcmp(line, word, length) && (n == length || line[length] == ' ');
}

/* "ok" and what follows it; an "error" of the candidate becomes the message. */
static assay_status answer_open(assay_env *env, const char *who, const char *line, size_t n, words *out)
{
    if (begins(line, n, "error")) {
        size_t skipped = n > 5 ? 6 : 5, length = n - skipped < ERROR_BYTES ? n - skipped : ERROR_BYTES;
        return as_fail(env, ASSAY_DEVICE, "%s: the program answers with an error: %.*s", who, (int)strnlen(line + skipped, length),
                       line + skipped);
    }
    if (!begins(line, n, "ok"))
        return as_fail(env, ASSAY_DEVICE, "%s: the answer must begin with \"ok\" or \"error\", not \"%.*s\"", who,
                       as_arm_quoted(line, n), line);
    *out = (words){n == 2 ? line + 2 : line + 3, line + n};
    return ASSAY_OK;
}

static assay_status refuse(assay_env *env, const char *who, const char *want, const char *line, size_t n)
{
    return as_fail(env, ASSAY_DEVICE, "%s: expected %s, not \"%.*s\"", who, want, as_arm_quoted(line, n), line);
}

assay_status as_arm_read_greeting(assay_env *env, const char *who, const char *line, size_t n, as_arm_greeting *out)
{
    static const char want[] = "the greeting \"" AS_ARM_PROTOCOL " NAME by=cpu|wall\"";
    words             w = {line, line + n};
    char              word[WORD_BYTES];
    int64_t           version;
    as_arm_greeting   g = {.by_cpu = false};
    bool              by = false;
    if (begins(line, n, "error"))
        return answer_open(env, who, line, n, &w);
    if (!word_next(&w, word) || strcmp(word, "assay-arm") || !whole_next(&w, 0, INT32_MAX, &version))
        return refuse(env, who, want, line, n);
    if (version != 1)
        return as_fail(env, ASSAY_DEVICE, "%s: it uses version %lld of the line protocol; assay knows version 1", who,
                       (long long)version);
    if (!word_next(&w, g.name))
        return refuse(env, who, want, line, n);
    while (word_next(&w, word)) {
        if (!strcmp(word, "by=cpu") || !strcmp(word, "by=wall")) {
            by = true;
            g.by_cpu = word[3] == 'c';
        } else if (!strncmp(word, "by=", 3) || !strchr(word, '=')) {
            return refuse(env, who, want, line, n);
        }
    }
    if (!by || !words_ended(&w))
        return refuse(env, who, want, line, n);
    *out = g;
    return ASSAY_OK;
}

assay_status as_arm_read_launch(assay_env *env, const char *who, const char *line, size_t n, double first_ns[3], bool *has_first)
{
    words  w;
    char   word[WORD_BYTES];
    double first[3];
    int    n_first = 0;
    AS_TRY(answer_open(env, who, line, n, &w));
    while (n_first < 3 && word_next(&w, word) && amount_read(word, &first[n_first]))
        n_first++;
    if (!words_ended(&w) || (n_first && n_first < 3))
        return refuse(env, who, "\"ok\" or \"ok\" and three times", line, n);
    *has_first = n_first == 3;
    if (*has_first)
        memcpy(first_ns, first, sizeof first);
    return ASSAY_OK;
}

/* One pair of times. */
static assay_status shot_read(assay_env *env, const char *who, words *w, bool by_cpu, uint32_t index, as_shot *out)
{
    char   wall[WORD_BYTES], cpu[WORD_BYTES];
    double wall_ns, cpu_ns = NAN;
    if (!word_next(w, wall) || !word_next(w, cpu))
        return as_fail(env, ASSAY_DEVICE, "%s: the answer ends at sample %u", who, index + 1);
    if (!amount_read(wall, &wall_ns))
        return as_fail(env, ASSAY_DEVICE, "%s: sample %u: \"%s\" is not a wall time in ns", who, index + 1, wall);
    if ((by_cpu || strcmp(cpu, "-")) && !amount_read(cpu, &cpu_ns))
        return as_fail(env, ASSAY_DEVICE, "%s: sample %u: \"%s\" is not a CPU time in ns", who, index + 1, cpu);
    *out = (as_shot){(float)wall_ns, (float)cpu_ns};
    return ASSAY_OK;
}

assay_status as_arm_read_block(assay_env *env, const char *who, const char *line, size_t n, bool by_cpu, uint32_t n_shots,
                               as_shot *shots, uint32_t *switches)
{
    words   w;
    int64_t n_switches;
    AS_TRY(answer_open(env, who, line, n, &w));
    if (!whole_next(&w, 0, UINT32_MAX, &n_switches))
        return refuse(env, who, "\"ok SWITCHES WALL CPU ...\"", line, n);
    for (uint32_t i = 0; i < n_shots; i++)
        AS_TRY(shot_read(env, who, &w, by_cpu, i, &shots[i]));
    if (!words_ended(&w))
        return as_fail(env, ASSAY_DEVICE, "%s: the answer has more than the %u samples that were asked for", who, n_shots);
    *switches = (uint32_t)n_switches;
    return ASSAY_OK;
}

assay_status as_arm_read_hash(assay_env *env, const char *who, const char *line, size_t n, uint64_t *out)
{
    words    w;
    char     word[WORD_BYTES];
    uint64_t hash = 0;
    AS_TRY(answer_open(env, who, line, n, &w));
    if (!word_next(&w, word) || !words_ended(&w) || strlen(word) > 16 || strspn(word, "0123456789abcdefABCDEF") != strlen(word))
        return refuse(env, who, "\"ok\" and at most 16 hexadecimal digits", line, n);
    for (const char *c = word; *c; c++)
        hash = hash << 4 | (uint64_t)(*c <= '9' ? *c - '0' : (*c | 32) - 'a' + 10);
    *out = hash;
    return ASSAY_OK;
}

assay_status as_arm_read_ledger(assay_env *env, const char *who, const char *line, size_t n, as_ledger *out)
{
    words     w;
    char      word[WORD_BYTES];
    as_ledger l = {NAN, NAN, NAN, NAN, NAN};
    struct {
        const char *key;
        double     *value;
    } entries[] = {{"flops=", &l.flops},
                   {"bytes=", &l.bytes},
                   {"allocations=", &l.allocations},
                   {"launches=", &l.launches},
                   {"peak=", &l.peak_bytes}};
    AS_TRY(answer_open(env, who, line, n, &w));
    while (word_next(&w, word)) {
        if (!strchr(word, '='))
            return refuse(env, who, "\"ok KEY=VALUE ...\"", line, n);
        for (size_t i = 0; i < AS_COUNT(entries); i++) /* unknown keys are skipped */
            if (!strncmp(word, entries[i].key, strlen(entries[i].key)) && !amount_read(strchr(word, '=') + 1, entries[i].value))
                return as_fail(env, ASSAY_DEVICE, "%s: \"%s\" is not a count", who, word);
    }
    if (!words_ended(&w))
        return refuse(env, who, "\"ok KEY=VALUE ...\"", line, n);
    *out = l;
    return ASSAY_OK;
}

/* --- Requests -------------------------------------------------------------------------------------------- */

/* Seeds use all 64 bits. */
static bool seed_next(words *w, uint64_t *out)
{
    char     word[WORD_BYTES];
    uint64_t seed = 0;
    if (!word_next(w, word) || strspn(word, "0123456789") != strlen(word))
        return false;
    for (const char *c = word; *c; c++)
        if (__builtin_mul_overflow(seed, (uint64_t)10, &seed) || __builtin_add_overflow(seed, (uint64_t)(*c - '0'), &seed))
            return false;
    *out = seed;
    return true;
}

static bool block_next(words *w, as_arm_request *r)
{
    int64_t warm, calls, n_shots;
    if (!whole_next(w, 0, 1, &warm) || !whole_next(w, 1, AS_ARM_MAX_CALLS, &calls) || !whole_next(w, 1, AS_ARM_MAX_SHOTS, &n_shots))
        return false;
    r->warm = warm;
    r->calls = (uint32_t)calls;
    r->n_shots = (uint32_t)n_shots;
    return true;
}

/* What follows the verb, up to the end of the line. */
static bool request_rest(words *w, as_arm_request *r)
{
    switch (r->verb) {
    case AS_ARM_LAUNCH: return seed_next(w, &r->seed) && words_ended(w);
    case AS_ARM_BLOCK: return block_next(w, r) && words_ended(w);
    default: return words_ended(w);
    }
}

assay_status as_arm_read_request(assay_env *env, const char *line, size_t n, as_arm_request *out)
{
    static const char *const verbs[] = {[AS_ARM_LAUNCH] = "launch",
                                        [AS_ARM_BLOCK] = "block",
                                        [AS_ARM_HASH] = "hash",
                                        [AS_ARM_LEDGER] = "ledger",
                                        [AS_ARM_END] = "end"};
    words                    w = {line, line + n};
    char                     word[WORD_BYTES] = "";
    word_next(&w, word);
    for (size_t i = 0; i < AS_COUNT(verbs); i++) {
        as_arm_request r = {.verb = (as_arm_verb)i};
        if (!strcmp(word, verbs[i]) && request_rest(&w, &r)) {
            *out = r;
            return ASSAY_OK;
        }
    }
    return as_fail(env, ASSAY_BAD_INPUT, "not understood: \"%.*s\"", as_arm_quoted(line, n), line);
}
