/* sn_rapl.c - energy of CPU package 0, from the running average power limit counters of x86 CPUs. */
/* os: linux */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

#define DOMAIN "/sys/class/powercap/intel-rapl:0/"

enum { N_TRIES = 20, TRY_NS = 1000000 };

/* The counter wraps after about an hour; the sum does not. */
typedef struct rapl {
    uint64_t max_uj, last_uj;
    double   sum_uj;
    unsigned n_reads;
} rapl;

static bool energy_uj(rapl *r, uint64_t *out)
{
    int64_t uj;
    if (!as_system_i64("rapl", DOMAIN "energy_uj", r->n_reads++, &uj) || uj < 0)
        return false;
    *out = (uint64_t)uj;
    return true;
}

static void explain(char *why, size_t size)
{
    char path[1024];
    if (access(as_system_path("rapl", DOMAIN, path, sizeof path), F_OK))
        snprintf(why, size, "no " DOMAIN ": a virtual machine, or a CPU or kernel without RAPL");
    else if (access(as_system_path("rapl", DOMAIN "energy_uj", path, sizeof path), R_OK))
        snprintf(why, size, DOMAIN "energy_uj: %s; it is for root: chmod a+r it, knowing CVE-2020-8694", strerror(errno));
    else
        snprintf(why, size, DOMAIN "energy_uj does not hold a number");
}

/* Tested by use: a running CPU uses energy, so the counter must move within some milliseconds. */
static bool moves(rapl *r, uint64_t start_uj)
{
    uint64_t now_uj;
    for (int i = 0; i < N_TRIES; i++) {
        nanosleep(&(struct timespec){0, TRY_NS}, NULL);
        if (energy_uj(r, &now_uj) && now_uj != start_uj)
            return true;
    }
    return false;
}

static bool open_rapl(void *state, bool *available, char (*why)[256])
{
    rapl   *r = state;
    int64_t max_uj;
    if (!energy_uj(r, &r->last_uj)) {
        explain(why[0], sizeof why[0]);
        return false;
    }
    if (!moves(r, r->last_uj)) {
        snprintf(why[0], sizeof why[0], DOMAIN "energy_uj does not change from %llu", (unsigned long long)r->last_uj);
        return false;
    }
    r->max_uj = as_system_i64("rapl", DOMAIN "max_energy_range_uj", 0, &max_uj) && max_uj > 0 ? (uint64_t)max_uj : UINT32_MAX;
    available[0] = true;
    return true;
}

static void read_rapl(void *state, double *values)
{
    rapl    *r = state;
    uint64_t now_uj;
    if (!energy_uj(r, &now_uj)) {
        values[0] = NAN;
        return;
    }
    r->sum_uj += (double)as_counter_delta(r->last_uj, now_uj, r->max_uj);
    r->last_uj = now_uj;
    values[0] = r->sum_uj / 1e6;
}

const as_sensor as_sn_rapl = {
    .name = "rapl",
    .help = "energy of CPU package 0",
    .values = {{"energy.package", "joule", "powercap intel-rapl:0 energy_uj (package 0, everything that runs on it)", "delta"}},
    .n_values = 1,
    .state_bytes = sizeof(rapl),
    .open = open_rapl,
    .read = read_rapl,
};
