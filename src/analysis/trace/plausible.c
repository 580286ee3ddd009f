/* plausible.c - the lie detector: growth with size, doubled work, limits, poisoned inputs. */
#include "analysis/trace/plausible.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* Work that grows by this factor must take this much longer; times within this factor of each other are the same. */
static const double WORK_GROWS = 4, TIME_GROWS = 1.3, SAME_TIME = 1.1;
/* Used where no limit is known: more than any supported machine can do. */
static const double ANY_FLOPS = 1e13, ANY_BYTES = 1e12;
enum { CONSTANT_CASES = 3, CONSTANT_WORK = 16 };

/* --- One claim ----------------------------------------------------------------------------------------- */

static void say(char *sentence, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char *sentence, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, size, format, args);
    va_end(args);
}

static bool is_time(double ns) { return isfinite(ns) && ns > 0; }

bool as_double_is_plausible(double once_ns, double twice_ns, char *sentence, size_t size)
{
    char a[40], b[40];
    if (!is_time(once_ns) || !is_time(twice_ns))
        return true;
    double ratio = twice_ns / once_ns;
    if (ratio >= 1.5 && ratio <= 3)
        return true;
    say(sentence, size, "twice the calls take %.2f times as long (%s, then %s): the time is not the time of the work", ratio,
        as_show(a, sizeof a, once_ns, "ns"), as_show(b, sizeof b, twice_ns, "ns"));
    return false;
}

bool as_limit_is_plausible(const as_limit *limit, double median_ns, double hi_ns, char *sentence, size_t size)
{
    char   a[40], b[40];
    double share;
    if (as_limit_judge(limit, median_ns, hi_ns, &share) != AS_STANDING_ABOVE)
        return true;
    say(sentence, size,
        "it takes at most %s, but by %s, measured again in this session, it must take at least %s: nothing "
        "is faster than its limit",
        as_show(a, sizeof a, isfinite(hi_ns) ? hi_ns : median_ns, "ns"), limit->name, as_show(b, sizeof b, limit->ns, "ns"));
    return false;
}

static bool depends_on_inputs(const as_claim *c, char *sentence, size_t size)
{
    if (!c->hash || !c->poisoned_hash || c->hash != c->poisoned_hash)
        return true;
    say(sentence, size, "other inputs give the same outputs (hash %016llx): it does not read them", (unsigned long long)c->hash);
    return false;
}

/* --- Claims compared with each other ----------------------------------------------------------------------------- */

static bool judged(const as_claim *c) { return !c->told && is_time(c->median_ns); }

/* What grows with the size: operations, or bytes where nothing is computed. */
static double work_of(const as_claim *c) { return c->flops > 0 ? c->flops : c->bytes; }

/* The least time that the work can take. */
static double least_ns(const as_claim *c)
{
    double flops = c->flops / ANY_FLOPS, bytes = c->bytes / ANY_BYTES;
    double ns = 1e9 * fmax(isfinite(flops) ? flops : 0, isfinite(bytes) ? bytes : 0);
    return is_time(c->limit.ns) && !c->limit.may_be_low ? c->limit.ns : ns;
}

static bool may_be_overhead(const as_claim *c) { return c->median_ns <= c->floor_ns && least_ns(c) <= c->median_ns; }

static void refuse(as_claim *c, const char *sentence)
{
    if (!c->refused)
        say(c->sentence, sizeof c->sentence, "%s", sentence);
    c->refused = true;
}

/* How much more work there is: the smaller of the growth in operations and the growth in bytes.  A product of a thin matrix may
 * have fewer operations but more bytes than a square one; then neither is the larger. */
static double work_ratio(const as_claim *small, const as_claim *large)
{
    double flops = large->flops / small->flops, bytes = large->bytes / small->bytes;
    return isfinite(flops) && isfinite(bytes) ? fmin(flops, bytes) : isfinite(flops) ? flops : bytes;
}

/* Both are refused: which of the two lies cannot be told. */
static void growth_judge(as_claim *small, as_claim *large)
{
    char   sentence[AS_SENTENCE_BYTES], a[40], b[40];
    double work = work_ratio(small, large), time = large->median_ns / small->median_ns;
    if (!(work >= WORK_GROWS) || time >= TIME_GROWS || (may_be_overhead(small) && least_ns(large) <= large->median_ns))
        return;
    say(sentence, sizeof sentence, "%.3g times the work takes %.2f times as long (%.60s %s, %.60s %s)", work, time, small->name,
        as_show(a, sizeof a, small->median_ns, "ns"), large->name, as_show(b, sizeof b, large->median_ns, "ns"));
    refuse(small, sentence);
    refuse(large, sentence);
}

static void families_judge(as_claim *claims, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (i != k && judged(&claims[i]) && judged(&claims[k]) && claims[i].family && claims[k].family &&
                !strcmp(claims[i].family, claims[k].family))
                growth_judge(&claims[i], &claims[k]);
}

/* One time for everything, whatever the work: nothing was computed.  Small cases may all cost as much as one call. */
static void constant_judge(as_claim *claims, size_t n)
{
    double least = INFINITY, most = 0, least_work = INFINITY, most_work = 0;
    size_t n_judged = 0;
    bool   overhead = true;
    char   sentence[AS_SENTENCE_BYTES], time[40];
    for (size_t i = 0; i < n; i++) {
        const as_claim *c = &claims[i];
        if (!judged(c))
            continue;
        n_judged++;
        overhead &= may_be_overhead(c);
        least = fmin(least, c->median_ns);
        most = fmax(most, c->median_ns);
        least_work = fmin(least_work, work_of(c) > 0 ? work_of(c) : INFINITY);
        most_work = fmax(most_work, work_of(c));
    }
    if (n_judged < CONSTANT_CASES || overhead || most > SAME_TIME * least || !(most_work >= CONSTANT_WORK * least_work))
        return;
    say(sentence, sizeof sentence,
        "all %zu cases take %s, although the largest has %.3g times the work: the time is not the time of the work", n_judged,
        as_show(time, sizeof time, least, "ns"), most_work / least_work);
    for (size_t i = 0; i < n; i++)
        if (judged(&claims[i]))
            refuse(&claims[i], sentence);
}

size_t as_claims_judge(as_claim *claims, size_t n)
{
    size_t n_refused = 0;
    for (size_t i = 0; i < n; i++) {
        as_claim *c = &claims[i];
        char      sentence[AS_SENTENCE_BYTES];
        c->refused = false;
        c->sentence[0] = '\0';
        if (!c->told && (!depends_on_inputs(c, sentence, sizeof sentence) ||
                         !as_limit_is_plausible(&c->limit, c->median_ns, c->hi_ns, sentence, sizeof sentence) ||
                         !as_double_is_plausible(c->once_ns, c->twice_ns, sentence, sizeof sentence)))
            refuse(c, sentence);
    }
    families_judge(claims, n);
    constant_judge(claims, n);
    for (size_t i = 0; i < n; i++)
        n_refused += claims[i].refused;
    return n_refused;
}
