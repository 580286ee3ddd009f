/* ioreport.c - what channels of macOS's IOReport mean: docs/sensors.md, "IOReport". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "sensor/probe.h"

enum { N_FIELDS = 5, LINE = 1024 };

/* Labels are padded with spaces. */
static char *trim(char *s)
{
    s += strspn(s, " ");
    for (size_t n = strlen(s); n && s[n - 1] == ' ';)
        s[--n] = '\0';
    return s;
}

static bool fields_split(char *line, char **fields)
{
    for (int i = 0; i < N_FIELDS; i++) {
        fields[i] = line;
        char *bar = strchr(line, '|');
        if (i < N_FIELDS - 1 && !bar)
            return false;
        if (i == N_FIELDS - 1 && bar)
            return false;
        if (bar) {
            *bar = '\0';
            line = bar + 1;
        }
        fields[i] = trim(fields[i]);
    }
    return true;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

static void sum(double *to, double value) { *to = (isnan(*to) ? 0 : *to) + value; }

/* The unit stands with each channel: GPU Energy is in nJ where the others are in mJ.  NaN: none of joule. */
static double joule_per(const char *unit)
{
    return !strcmp(unit, "mJ") ? 1e-3 : !strcmp(unit, "uJ") ? 1e-6 : !strcmp(unit, "nJ") ? 1e-9 : (double)NAN;
}

/* INT64_MIN stands for "no value".  Clusters and their sum both exist: only the sum counts. */
static void energy_add(as_ioreport *r, const char *channel, const char *unit, int64_t value)
{
    double joule = (double)value * joule_per(unit);
    if (value == INT64_MIN || value < 0 || isnan(joule))
        return;
    if (ends_with(channel, "CPU Energy"))
        sum(&r->cpu_joule, joule);
    else if (!strcmp(channel, "GPU Energy"))
        sum(&r->gpu_joule, joule);
    else if (!strncmp(channel, "ANE", 3))
        sum(&r->ane_joule, joule);
    else if (!strncmp(channel, "DRAM", 4))
        sum(&r->dram_joule, joule);
}

/* "DCS RD" and "DCS WR" are the whole chip; "GFX DCS RD" is a part of them. */
static void dram_add(as_ioreport *r, const char *channel, int64_t value)
{
    if (value >= 0 && (!strcmp(channel, "DCS RD") || !strcmp(channel, "DCS WR")))
        sum(&r->dram_bytes, (double)value);
}

/* "IDLE=10,V0P5=20": the share of time in a state that is not idle. */
static bool active_share(char *states, double *out)
{
    double all = 0, active = 0;
    for (char *at = states; at && *at;) {
        char   *end = strchr(at, ','), *equals = strchr(at, '=');
        int64_t ticks;
        if (end)
            *end = '\0';
        if (!equals || (end && equals > end))
            return false;
        *equals = '\0';
        if (!as_parse_i64(equals + 1, &ticks) || ticks < 0)
            return false;
        all += (double)ticks;
        const char *name = trim(at);
        if (strcmp(name, "IDLE") && strcmp(name, "DOWN") && strcmp(name, "OFF"))
            active += (double)ticks;
        at = end ? end + 1 : NULL;
    }
    *out = all > 0 ? active / all : (double)NAN;
    return true;
}

typedef struct shares {
    double cpu, gpu;
    int    n_cpu;
} shares;

static bool channel_take(char **field, as_ioreport *r, shares *s)
{
    const char *group = field[0], *subgroup = field[1], *channel = field[2], *unit = field[3];
    int64_t     value;
    if (strchr(field[4], '=')) {
        double share;
        if (!active_share(field[4], &share))
            return false;
        if (!strcmp(subgroup, "CPU Core Performance States") && !isnan(share))
            s->cpu += share, s->n_cpu++;
        else if (!strcmp(subgroup, "GPU Performance States") && !strcmp(channel, "GPUPH"))
            r->gpu_active = share;
        return true;
    }
    if (!as_parse_i64(field[4], &value))
        return false;
    if (!strcmp(group, "Energy Model"))
        energy_add(r, channel, unit, value);
    else if (!strcmp(group, "AMC Stats") && !strcmp(subgroup, "Perf Counters"))
        dram_add(r, channel, value);
    return true;
}

bool as_ioreport_parse(const char *text, as_ioreport *out, char *why, size_t size)
{
    as_ioreport r = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    shares      s = {0};
    int         n = 0;
    for (const char *at = text; *at;) {
        char   line[LINE], *field[N_FIELDS];
        size_t length = strcspn(at, "\n");
        n++;
        if (length >= sizeof line) {
            snprintf(why, size, "line %d has more than %d bytes", n, LINE - 1);
            return false;
        }
        memcpy(line, at, length);
        line[length] = '\0';
        at += length;
        at += *at == '\n';
        if (!*line || *line == '#')
            continue;
        if (!fields_split(line, field) || !channel_take(field, &r, &s)) {
            snprintf(why, size, "line %d is not group|subgroup|channel|unit|value", n);
            return false;
        }
    }
    if (s.n_cpu)
        r.cpu_active = s.cpu / s.n_cpu;
    *out = r;
    return true;
}
