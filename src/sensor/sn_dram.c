/* sn_dram.c - bytes that main memory moved for this machine, by the memory bandwidth monitoring of the kernel's resctrl. */
/* os: linux */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sensor/probe.h"
#include "sensor/sensor.h"

#define RESCTRL "/sys/fs/resctrl"

enum { MAX_DOMAINS = 16 };

typedef struct dram {
    unsigned n_reads;
} dram;

/* The sum over the last-level caches; false: none tells. */
static bool total_bytes(unsigned n, double *out)
{
    double sum = 0;
    bool   any = false;
    for (int i = 0; i < MAX_DOMAINS; i++) {
        char    path[128];
        int64_t bytes;
        snprintf(path, sizeof path, RESCTRL "/mon_data/mon_L3_%02d/mbm_total_bytes", i);
        if (!as_system_i64("dram", path, n, &bytes) || bytes < 0)
            continue;
        sum += (double)bytes;
        any = true;
    }
    *out = sum;
    return any;
}

static bool open_dram(void *state, bool *available, char (*why)[256])
{
    double bytes;
    char   path[1024];
    (void)state;
    if (total_bytes(0, &bytes))
        return available[0] = true;
    if (access(as_system_path("dram", RESCTRL, path, sizeof path), F_OK))
        snprintf(why[0], sizeof why[0],
                 "no " RESCTRL ": a virtual machine, or a CPU or kernel without memory bandwidth monitoring");
    else
        snprintf(why[0], sizeof why[0],
                 RESCTRL " has no mbm_total_bytes: not mounted (as root: mount -t resctrl resctrl " RESCTRL
                         "), or a CPU without it");
    return false;
}

static void read_dram(void *state, double *values)
{
    dram *d = state;
    if (!total_bytes(d->n_reads++, &values[0]))
        values[0] = NAN;
}

const as_sensor as_sn_dram = {
    .name = "dram",
    .help = "bytes that main memory moved, for everything that runs on the machine",
    .values = {{"memory.dram.bytes", "byte", RESCTRL " mbm_total_bytes, all last-level caches, everything that runs", "delta"}},
    .n_values = 1,
    .asked_by = "track-bandwidth",
    .state_bytes = sizeof(dram),
    .open = open_dram,
    .read = read_dram,
};
