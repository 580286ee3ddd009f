/* sn_ioreport.c - energy and traffic of Apple silicon, from recordings of IOReport's channels. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

enum { N_VALUES = 5 };

typedef struct ioreport {
    double   sum[N_VALUES];
    unsigned n_reads;
} ioreport;

/* Interval n of a recording: /ioreport/0.txt, /ioreport/1.txt ... */
static bool interval_read(unsigned n, as_ioreport *out, char *why, size_t size)
{
    char name[64], path[1024], text[65536];
    snprintf(name, sizeof name, "/ioreport/%u.txt", n);
    if (!as_file_small(as_system_path("ioreport", name, path, sizeof path), text, sizeof text)) {
        snprintf(why, size, "the recording has no %s", name);
        return false;
    }
    return as_ioreport_parse(text, out, why, size);
}

static void values_of(const as_ioreport *r, double *out)
{
    const double values[N_VALUES] = {r->cpu_joule, r->gpu_joule, r->ane_joule, r->dram_joule, r->dram_bytes};
    memcpy(out, values, sizeof values);
}

static bool open_ioreport(void *state, bool *available, char (*why)[256])
{
    as_ioreport r;
    double      values[N_VALUES];
    bool        any = false;
    (void)state;
    if (!as_replays()) {
        for (int i = 0; i < N_VALUES; i++)
            snprintf(why[i], sizeof why[i],
#ifdef __APPLE__
                     "this build reads recordings of IOReport, not IOReport itself"
#else
                     "IOReport is a part of macOS"
#endif
            );
        return false;
    }
    if (!interval_read(0, &r, why[0], sizeof why[0])) {
        for (int i = 1; i < N_VALUES; i++)
            memcpy(why[i], why[0], sizeof why[0]);
        return false;
    }
    values_of(&r, values);
    for (int i = 0; i < N_VALUES; i++) {
        available[i] = !isnan(values[i]);
        any = any || available[i];
        if (!available[i])
            snprintf(why[i], sizeof why[i], "the recording has no such channel, or it has no value");
    }
    return any;
}

/* Each interval is a difference already. */
static void read_ioreport(void *state, double *values)
{
    ioreport   *s = state;
    as_ioreport r;
    char        why[256];
    double      now[N_VALUES];
    if (interval_read(s->n_reads++, &r, why, sizeof why)) {
        values_of(&r, now);
        for (int i = 0; i < N_VALUES; i++)
            s->sum[i] += now[i];
    }
    memcpy(values, s->sum, sizeof s->sum);
}

const as_sensor as_sn_ioreport = {
    .name = "ioreport",
    .help = "energy and memory traffic of Apple silicon",
    .values = {{"energy.cpu", "joule", "IOReport Energy Model, CPU Energy", "delta"},
               {"energy.gpu", "joule", "IOReport Energy Model, GPU Energy", "delta"},
               {"energy.ane", "joule", "IOReport Energy Model, ANE", "delta"},
               {"energy.dram", "joule", "IOReport Energy Model, DRAM", "delta"},
               {"memory.dcs.bytes", "byte", "IOReport AMC Stats, DCS RD and DCS WR", "delta"}},
    .n_values = N_VALUES,
    .state_bytes = sizeof(ioreport),
    .open = open_ioreport,
    .read = read_ioreport,
};
