/* sn_rusage.c - page faults and context switches of this process. */
#include <math.h>
#include <sys/resource.h>

#include "sensor/sensor.h"

static bool open_rusage(void *state, bool *available, char (*why)[256])
{
    struct rusage now;
    (void)state, (void)why;
    if (getrusage(RUSAGE_SELF, &now))
        return false;
    available[0] = available[1] = available[2] = available[3] = true;
    return true;
}

static void read_rusage(void *state, double *values)
{
    struct rusage now;
    (void)state;
    if (getrusage(RUSAGE_SELF, &now)) {
        values[0] = values[1] = values[2] = values[3] = NAN;
        return;
    }
    values[0] = (double)now.ru_minflt;
    values[1] = (double)now.ru_majflt;
    values[2] = (double)now.ru_nvcsw;
    values[3] = (double)now.ru_nivcsw;
}

const as_sensor as_sn_rusage = {
    .name = "rusage",
    .help = "page faults and context switches of this process",
    .values = {{"faults.minor", "1", "getrusage(RUSAGE_SELF).ru_minflt", "delta"},
               {"faults.major", "1", "getrusage(RUSAGE_SELF).ru_majflt", "delta"},
               {"switches.voluntary", "1", "getrusage(RUSAGE_SELF).ru_nvcsw", "delta"},
               {"switches.involuntary", "1", "getrusage(RUSAGE_SELF).ru_nivcsw", "delta"}},
    .n_values = 4,
    .per_sample = true, /* takes less than a microsecond, and tells which sample was pre-empted */
    .open = open_rusage,
    .read = read_rusage,
};
