/* profile_keys.c - the table of the keys that profiling guides read. */
#include "analysis/trace/profile_keys.h"

#define C "compute"
#define M "memory"
#define H "hardware"
#define S "stream"

const as_profile_key as_profile_keys[] = {
    {C, "time_mean", "s", "mean time of a run", AS_KEY_MEASURED, "wall time of the samples / their runs"},
    {C, "time_std", "s", "standard deviation", AS_KEY_MEASURED, "of the samples' times per run"},
    {C, "samples_per_second", "1/s", "items per second", AS_KEY_DERIVED, "batch / time_mean"},
    {C, "flops_mean", "flop/s", "useful operations per second", AS_KEY_DERIVED, "useful flops of a run / time_mean"},
    {C, "flops_std", "flop/s", "standard deviation", AS_KEY_DERIVED, "of the samples' own rates"},
    {C, "tflops", "TFLOP/s", "useful operations per second", AS_KEY_DERIVED, "flops_mean / 1e12"},
    {C, "compute_efficiency", "%", "of the compute limit", AS_KEY_DERIVED, "flops_mean / the device's multiply-add limit"},
    {C, "ne_tflops", "TFLOP/s", "on a Neural Engine", AS_KEY_NEVER, "only where a device runs steps on it"},
    {C, "ne_utilization", "%", "use of a Neural Engine", AS_KEY_NEVER, "no interface tells it"},
    {C, "instructions", "1", "instructions of a run", AS_KEY_PRIVILEGED, "hardware counter, or --counters cachegrind"},
    {M, "peak_usage", "MiB", "peak of the network", AS_KEY_MEASURED, "most that the devices' allocators held"},
    {M, "current_usage", "MiB", "held at the end", AS_KEY_MEASURED, "what the devices' allocators held after the last run"},
    {M, "total_allocated", "MiB", "allocated in all", AS_KEY_MEASURED, "sum of all increases of what the devices held"},
    {M, "total_freed", "MiB", "freed in all", AS_KEY_MEASURED, "sum of all decreases of what the devices held"},
    {M, "peak_memory", "MiB", "peak of the process", AS_KEY_MEASURED, "peak of resident memory"},
    {M, "unified_peak", "MiB", "peak of memory that CPU and device share", AS_KEY_MEASURED,
     "peak of resident memory, where every device uses the host's memory"},
    {M, "bandwidth", "GB/s", "bytes moved per second", AS_KEY_DERIVED, "bytes that must be moved at least once / time_mean"},
    {M, "bandwidth_utilization", "%", "of the memory limit", AS_KEY_DERIVED,
     "time that these bytes take at the limits of where they lie / time_mean"},
    {M, "cache_hit_rate", "%", "accesses that a cache served", AS_KEY_PRIVILEGED,
     "hardware counters, cachegrind, or a model of the loops"},
    {M, "l1_hit_rate", "%", "of these by the first level", AS_KEY_PRIVILEGED,
     "hardware counters, cachegrind, or a model of the loops"},
    {M, "l2_hit_rate", "%", "hits of the second level", AS_KEY_PRIVILEGED, "a model of the loops"},
    {M, "l3_hit_rate", "%", "hits of the third level", AS_KEY_PRIVILEGED, "a model of the loops"},
    {H, "tflops", "TFLOP/s", "useful operations per second", AS_KEY_DERIVED, "as compute.tflops"},
    {H, "memory_bandwidth", "GB/s", "traffic of main memory", AS_KEY_PRIVILEGED,
     "--track-bandwidth: the memory controller's own count; else modelled from the loops"},
    {H, "mc_utilization", "%", "use of the memory controller", AS_KEY_PRIVILEGED, "memory_bandwidth / the limit of main memory"},
    {H, "cache_hit_rate", "%", "accesses that a cache served", AS_KEY_PRIVILEGED, "as memory.cache_hit_rate"},
    {H, "ne_utilization", "%", "use of a Neural Engine", AS_KEY_NEVER, "no interface tells it"},
    {H, "ne_cycles", "1", "cycles of a Neural Engine", AS_KEY_NEVER, "no interface tells it"},
    {H, "ne_power", "W", "power of a Neural Engine", AS_KEY_PRIVILEGED,
     "IOReport's estimate of its energy / time; says nothing about its use"},
    {H, "power_usage", "W", "power of the CPU package or the chip", AS_KEY_PRIVILEGED, "energy counter / time"},
    {H, "temperature", "celsius", "temperature of the CPU", AS_KEY_PRIVILEGED, "thermal zone of the CPU"},
    {H, "frequency", "MHz", "clock rate of the CPU", AS_KEY_PRIVILEGED, "cpufreq"},
    {S, "kernel_time", "s", "kernels of a run", AS_KEY_MEASURED, "spans of the steps that compute"},
    {S, "memory_time", "s", "transfers of a run", AS_KEY_MEASURED, "spans of the steps that move data between devices"},
    {S, "num_kernels", "1", "kernels in a run", AS_KEY_MEASURED, "steps of the plan that compute"},
    {S, "num_transfers", "1", "transfers in a run", AS_KEY_MEASURED, "steps of the plan that move data between devices"},
};
const size_t as_n_profile_keys = sizeof as_profile_keys / sizeof as_profile_keys[0];

const char *as_key_class_text(as_key_class class)
{
    static const char *const texts[] = {
        [AS_KEY_MEASURED] = "measured", [AS_KEY_DERIVED] = "derived", [AS_KEY_PRIVILEGED] = "privileged", [AS_KEY_NEVER] = "never"};
    return class < AS_N_KEY_CLASSES ? texts[class] : "?";
}
