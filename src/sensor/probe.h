/* probe.h - what sensors share: parsers of the kernel's text files.  Private to sensor/.
 *
 * The parsers take text, not paths, so that tests can give them any machine's.  They trust nothing: each returns
 * false, with its output untouched, unless the text holds exactly what it looks for. */
#ifndef AS_SENSOR_PROBE_H
#define AS_SENSOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The total of the line "some" of /proc/pressure/cpu, memory or io. */
bool as_psi_some_us(const char *text, uint64_t *out_us);
/* The eighth number of the line "cpu" of /proc/stat: ticks that the host took. */
bool as_stat_steal_ticks(const char *text, uint64_t *out_ticks);
/* "VmRSS:     1234 kB" of /proc/self/status, in bytes. */
bool as_status_bytes(const char *text, const char *key, uint64_t *out_bytes);
/* "inactive_file 4096" of a control group's memory.stat: a line of a key, a space and a number. */
bool as_stat_number(const char *text, const char *key, uint64_t *out);
/* The path of the group that counts memory in /proc/self/cgroup: "4:memory:/a/b" of version 1, else "0::/a/b"; "" for the root. */
bool as_cgroup_path(const char *text, char *out, size_t size, bool *is_old);
/* The first "key   : value" of /proc/cpuinfo (or "key: value" of another such file). */
bool as_field_text(const char *text, const char *key, char *out, size_t size);
/* Whether the space-separated list holds the word. */
bool as_list_has(const char *list, const char *word);
/* Where a sensor reads a file of /proc or /sys: there; below the directory of ASSAY_REPLAY, where a test has put a recording; or nowhere, when
 * ASSAY_WITHOUT takes the rung away.  Returns buf. */
const char *as_system_path(const char *rung, const char *path, char *buf, size_t size);
bool        as_replays(void);
/* The n-th line of a recording, or the last when there are fewer; the only line of a file of the system.  False: not a number. */
bool as_system_i64(const char *rung, const char *path, unsigned n, int64_t *out);
/* One recorded reading of a counter, as perf_event_open() gives it: "count enabled running".  False: it is something else, or the counter was
 * shared, so that the count would be a guess. */
bool as_perf_reading(const char *line, uint64_t *out);

/* What a recording of IOReport holds of one interval, by the rules of its channels: energies in joule, bytes, shares of time; NaN: no such channel. */
typedef struct as_ioreport {
    double cpu_joule, gpu_joule, ane_joule, dram_joule, dram_bytes, cpu_active, gpu_active;
} as_ioreport;
/* A recording: one channel per line, "group|subgroup|channel|unit|value" or "...|unit|STATE=residency,STATE=residency".  False, and why, for a line
 * that is none. */
bool as_ioreport_parse(const char *text, as_ioreport *out, char *why, size_t size);

/* A file that holds one whole number and nothing else; false also if it cannot be read. */
bool as_file_i64(const char *path, int64_t *out);
/* "32K", "1024K", "16M" of a cache's size file, in bytes. */
bool as_cache_bytes(const char *text, uint64_t *out_bytes);
/* The increase of a counter that restarts at 0 after max. */
uint64_t as_counter_delta(uint64_t before, uint64_t now, uint64_t max);
/* Why perf_event_open() failed, with the remedy: `error` is its errno, paranoid the kernel's level (-9: unknown). */
void as_perf_refusal(int error, int64_t paranoid, char *why, size_t size);
/* Whether `counted` instructions are right for a loop of `expected`: within 5 %. */
bool as_perf_count_ok(uint64_t counted, uint64_t expected);

/* Whether this is a virtual machine, and of which hypervisor: "KVM", "Hyper-V" ...; name is "none" when it is not. */
bool as_hypervisor_find(char *name, size_t size);

#endif
