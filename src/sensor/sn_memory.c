/* sn_memory.c - resident memory of this process, now and at its peak. */
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#endif

#include "base/file.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

#if defined(__linux__)

static double resident_bytes(void)
{
    char     text[4096];
    uint64_t bytes;
    return as_file_small("/proc/self/status", text, sizeof text) && as_status_bytes(text, "VmRSS", &bytes) ? (double)bytes : NAN;
}

#elif defined(__APPLE__)

static double resident_bytes(void)
{
    mach_task_basic_info_data_t info;
    mach_msg_type_number_t      n = MACH_TASK_BASIC_INFO_COUNT;
    return task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &n) == KERN_SUCCESS ? (double)info.resident_size
                                                                                                     : NAN;
}

#else

static double resident_bytes(void) { return NAN; }

#endif

/* VmHWM where it is available; ru_maxrss is the same, but Linux inherits it from the parent across exec. */
static double peak_bytes(void)
{
#if defined(__linux__)
    char     text[4096];
    uint64_t bytes;
    if (as_file_small("/proc/self/status", text, sizeof text) && as_status_bytes(text, "VmHWM", &bytes))
        return (double)bytes;
#endif
    struct rusage now;
    if (getrusage(RUSAGE_SELF, &now))
        return NAN;
#if defined(__APPLE__)
    return (double)now.ru_maxrss; /* bytes there, KiB elsewhere */
#else
    return (double)now.ru_maxrss * 1024;
#endif
}

static void read_memory(void *state, double *values)
{
    (void)state;
    values[0] = resident_bytes();
    values[1] = peak_bytes();
}

static bool open_memory(void *state, bool *available, char (*why)[256])
{
    double values[2];
    read_memory(state, values);
    available[0] = !isnan(values[0]);
    available[1] = !isnan(values[1]);
    snprintf(why[0], sizeof why[0], "/proc/self/status has no VmRSS (is /proc mounted?)");
    snprintf(why[1], sizeof why[1], "neither VmHWM in /proc/self/status nor getrusage");
    return available[0] || available[1];
}

const as_sensor as_sn_memory = {
    .name = "memory",
    .help = "resident memory of this process, current and peak",
    .values = {{"memory.resident", "byte",
#if defined(__APPLE__)
                "task_info(MACH_TASK_BASIC_INFO).resident_size", "level"},
               {"memory.resident.peak", "byte", "getrusage(RUSAGE_SELF).ru_maxrss", "peak"}},
#else
                "/proc/self/status VmRSS", "level"},
               {"memory.resident.peak", "byte", "/proc/self/status VmHWM, else getrusage ru_maxrss", "peak"}},
#endif
    .n_values = 2,
    .open = open_memory,
    .read = read_memory,
};
