/* sensor.h - what can be read about the machine while it works.  One sensor per file: sn_<name>.c.
 *
 * A sensor that is not available says why, once, in a sentence with the remedy where there is one; its value is
 * then null with that reason, never 0.  Reading allocates nothing and takes microseconds: sensors are read around
 * samples or at the ends of a run, never inside one. */
#ifndef AS_SENSOR_SENSOR_H
#define AS_SENSOR_SENSOR_H

#include "base/env.h"
#include "trace/trace.h"

#define AS_SENSOR_MAX_VALUES 8

typedef struct as_sensor_value {
    const char *name;    /* "faults.minor" */
    const char *unit;    /* "1", "byte", "ns", "ratio", "hertz", "celsius", "joule" */
    const char *source;  /* "getrusage(RUSAGE_SELF).ru_minflt" */
    const char *meaning; /* "delta", "level" or "peak" */
} as_sensor_value;

typedef struct as_sensor {
    const char     *name; /* "rusage" */
    const char     *help; /* one line */
    as_sensor_value values[AS_SENSOR_MAX_VALUES];
    int             n_values;
    const char     *asked_by;   /* only read when this option asks for it: "track-bandwidth"; NULL: with all others */
    bool            per_sample; /* cheap enough to read at the end of every sample */
    size_t          state_bytes;
    /* Tests the sensor by reading it.  False: no value is available, and why[i] says what is missing for value i.  True:
     * available[i] says which are; for those, why[i] may hold what the test saw ("counted 2000013 of 2000000 instructions"). */
    bool (*open)(void *state, bool *available, char (*why)[256]);
    /* Fills values[i]; NaN for one that failed this time. */
    void (*read)(void *state, double *values);
    void (*close)(void *state); /* may be NULL */
} as_sensor;

extern const as_sensor *const as_sn_table[];

/* The sensors of the table, opened: `which` is "all" (or NULL), "none", or the names of those to read, "rusage,psi", to which "all," adds all that need not be asked for.  The reason of
 * the others is "switched off by --sensors". */
typedef struct as_sensors as_sensors;
assay_status              as_sensors_open(assay_env *env, const char *which, as_sensors **out);
void                      as_sensors_close(as_sensors *s);
/* Adds a trace sensor per value (with its reason where there is none). */
assay_status as_sensors_describe(assay_env *env, const as_sensors *s, assay_trace *t);
/* Reads all (or only the per-sample ones) and adds readings for those available. */
void as_sensors_read(as_sensors *s, bool only_per_sample, uint64_t ticks, uint32_t sample, assay_trace *t);
/* Readings added by one full read, for as_trace_reserve(). */
size_t as_sensors_n_values(const as_sensors *s);

/* Memory of this process that is resident; NaN where the system does not tell. */
double as_resident_bytes(void);
/* Lets the peak of resident memory (memory.resident.peak) begin anew from what is resident now; false where the system cannot. */
bool as_resident_peak_reset(void);

/* CPU time that the host took from this virtual machine so far, all CPUs together, by /proc/stat; NaN where the system does not tell. */
double as_steal_ns(void);
/* The kernel's level of kernel.perf_event_paranoid, which decides which counters are forbidden; false where it cannot be read. */
bool as_perf_paranoid(int64_t *out);

/* --- The machine ---------------------------------------------------------------------------------------- */

/* A fact, or the reason why there is none. */
typedef struct as_known_text {
    bool known;
    char text[256];
} as_known_text;
typedef struct as_known_count {
    bool     known;
    uint64_t value;
    char     why[128];
} as_known_count;

enum { AS_MACHINE_CACHES = 8 };

typedef struct as_machine_cache {
    int      level;
    char     type[16];
    uint64_t bytes, line_bytes;
    char     shared[64];
} as_machine_cache;

typedef struct as_machine {
    as_known_text    model, vendor, microcode, governor, isa, os, kernel, hypervisor, libc, loadavg, boot;
    as_known_count   cores, memory_bytes; /* cores online */
    int              allowed;             /* CPUs that this thread may use */
    bool             is_virtual;
    as_machine_cache caches[AS_MACHINE_CACHES];
    int              n_caches;
    char             caches_why[128]; /* when there are none */
} as_machine;

void as_machine_read(as_machine *m);
/* The machine sheet: notes "machine.*", "software.*", "clock.*" (CPU model, caches, instruction sets, governor, hypervisor, steal,
 * kernel, memory, temperature zones ...) into the trace.  What is not available is a note "unavailable: reason". */
void as_machine_describe(assay_env *env, assay_trace *t);
/* One hash over what makes two machines the same for timing: CPU model, microcode, caches, cores, governor, memory. */
void as_machine_fingerprint(char out[17]);

#endif
