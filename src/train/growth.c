/* growth.c - "epoch 3: 128, epoch 6: 256 rate sqrt". */
#include "train/growth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static assay_status refuse(assay_env *env, const char *text, const char *at)
{
    return as_fail(
        env, ASSAY_BAD_INPUT,
        "--grow-batch \"%s\": at \"%.24s\": expected \"epoch 3: 128, epoch 6: 256\", and rate linear, sqrt or none at the end",
        text, at);
}

static const char *skip_spaces(const char *at) { return at + strspn(at, " \t"); }

/* A number after spaces; NULL: there is none. */
static const char *number(const char *at, uint64_t *out)
{
    char *end;
    at = skip_spaces(at);
    if (*at < '0' || *at > '9')
        return NULL;
    *out = strtoull(at, &end, 10);
    return *out < 1u << 30 ? end : NULL;
}

static const char *word(const char *at, const char *text)
{
    at = skip_spaces(at);
    return strncmp(at, text, strlen(text)) ? NULL : at + strlen(text);
}

static const char *rate_read(const char *at, as_growth_rate *out)
{
    static const struct {
        const char    *name;
        as_growth_rate rate;
    } rates[] = {{"linear", AS_GROWTH_LINEAR}, {"sqrt", AS_GROWTH_SQRT}, {"none", AS_GROWTH_NONE}};
    for (size_t i = 0; i < AS_COUNT(rates); i++) {
        const char *after = word(at, rates[i].name);
        if (after) {
            *out = rates[i].rate;
            return after;
        }
    }
    return NULL;
}

assay_status as_growth_parse(assay_env *env, const char *text, as_growth *out)
{
    as_growth g = {.n = 0};
    for (const char *at = text; at && *skip_spaces(at);) {
        uint64_t    epoch = 0, batch = 0;
        const char *rate = word(at, "rate"), *next = rate ? rate_read(rate, &g.rate) : word(at, "epoch");
        if (next && !rate) {
            next = number(next, &epoch);
            next = next ? word(next, ":") : NULL;
            next = next ? number(next, &batch) : NULL;
            if (!next || !epoch || !batch || batch > 1048576 || g.n == AS_GROWTH_MOST || (g.n && g.at[g.n - 1].epoch >= epoch))
                return refuse(env, text, skip_spaces(at));
            g.at[g.n].epoch = epoch;
            g.at[g.n++].batch = (int64_t)batch;
        }
        if (!next || (rate && *skip_spaces(next)))
            return refuse(env, text, skip_spaces(at));
        at = skip_spaces(next);
        at += *at == ',';
    }
    if (text && !g.n)
        return refuse(env, text, text);
    *out = g;
    return ASSAY_OK;
}

int64_t as_growth_batch(const as_growth *g, int64_t batch, uint64_t epoch)
{
    for (int i = 0; i < g->n && g->at[i].epoch <= epoch; i++)
        batch = g->at[i].batch;
    return batch;
}

double as_growth_factor(const as_growth *g, int64_t batch, uint64_t epoch)
{
    double ratio = (double)as_growth_batch(g, batch, epoch) / (double)batch;
    return g->rate == AS_GROWTH_LINEAR ? ratio : g->rate == AS_GROWTH_SQRT ? sqrt(ratio) : 1;
}
