/* machine_read.c - what this machine is: each fact from the place that knows it best, or the reason why there is none. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

#include "base/env.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/text.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

static void known(as_known_text *fact, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void known(as_known_text *fact, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fact->text, sizeof fact->text, format, args);
    va_end(args);
    fact->known = fact->text[0] != '\0';
}

static void unknown(as_known_text *fact, const char *why)
{
    fact->known = false;
    snprintf(fact->text, sizeof fact->text, "%s", why);
}

/* --- Hypervisor ----------------------------------------------------------------------------------------- */

#if defined(__x86_64__)

bool as_hypervisor_find(char *name, size_t size)
{
    static const struct {
        const char *signature, *name;
    } vendors[] = {{"KVMKVMKVM", "KVM"},       {"Linux KVM Hv", "KVM"},       {"Microsoft Hv", "Hyper-V"},
                   {"VMwareVMware", "VMware"}, {"XenVMMXenVMM", "Xen"},       {"TCGTCGTCGTCG", "QEMU TCG"},
                   {"bhyve bhyve ", "bhyve"},  {"prl hyperv  ", "Parallels"}, {"VBoxVBoxVBox", "VirtualBox"},
                   {"ACRNACRNACRN", "ACRN"}};
    unsigned a, b, c, d;
    char     signature[13] = "";
    snprintf(name, size, "none");
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 31))
        return false;
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    for (int i = 0; i < 12; i++)
        if (signature[i] && (signature[i] < ' ' || signature[i] > '~'))
            signature[i] = '?';
    snprintf(name, size, "%s", signature[0] ? signature : "unnamed hypervisor");
    for (size_t i = 0; i < AS_COUNT(vendors); i++)
        if (!strcmp(signature, vendors[i].signature))
            snprintf(name, size, "%s", vendors[i].name);
    return true;
}

#elif defined(__APPLE__)

bool as_hypervisor_find(char *name, size_t size)
{
    int    present = 0;
    size_t n = sizeof present;
    bool   is = !sysctlbyname("kern.hv_vmm_present", &present, &n, NULL, 0) && present;
    snprintf(name, size, "%s", is ? "Apple Virtualization" : "none");
    return is;
}

#else

/* No CPUID here: the firmware tables name the maker of the board, and makers of virtual boards are known by name. */
bool as_hypervisor_find(char *name, size_t size)
{
    static const struct {
        const char *part, *name;
    } makers[] = {{"QEMU", "QEMU"},
                  {"KVM", "KVM"},
                  {"Amazon EC2", "Amazon Nitro"},
                  {"Google", "KVM (Google)"},
                  {"Microsoft", "Hyper-V"},
                  {"VMware", "VMware"},
                  {"Apple Virtualization", "Apple Virtualization"}};
    static const char *const paths[] = {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name",
                                        "/proc/device-tree/hypervisor/compatible"};
    char                     text[128], product[128] = "";
    snprintf(name, size, "none");
    as_file_small("/sys/class/dmi/id/product_name", product, sizeof product);
    if (strstr(product, ".metal")) /* a bare-metal machine of a cloud has the same maker */
        return false;
    for (size_t i = 0; i < AS_COUNT(paths); i++) {
        if (!as_file_small(paths[i], text, sizeof text) || !text[0])
            continue;
        for (size_t j = 0; j < AS_COUNT(makers); j++) {
            if (strstr(text, makers[j].part)) {
                snprintf(name, size, "%s", makers[j].name);
                return true;
            }
        }
        if (i == 2) {
            snprintf(name, size, "%s", text);
            return true;
        }
    }
    return false;
}

#endif

/* --- Instruction sets ------------------------------------------------------------------------------------- */

#if defined(__aarch64__) && defined(__linux__)

static void isa_read(as_known_text *fact, const char *cpuinfo)
{
    /* Bits of the kernel's ABI; written as numbers, because old headers lack the newer names. */
    static const struct {
        const char *name;
        int         word, bit;
    } sets[] = {{"neon", 0, 1}, {"fp16", 0, 10}, {"dotprod", 0, 20}, {"sve", 0, 22},
                {"sve2", 1, 1}, {"i8mm", 1, 13}, {"bf16", 1, 14},    {"sme", 1, 23}};
    unsigned long words[2] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    as_text       list = {0};
    (void)cpuinfo;
    for (size_t i = 0; i < AS_COUNT(sets); i++)
        if (words[sets[i].word] >> sets[i].bit & 1)
            as_text_printf(&list, "%s%s", list.length ? " " : "", sets[i].name);
    known(fact, "%s", list.data ? list.data : "baseline");
    as_text_drop(&list);
}

#elif defined(__x86_64__) && defined(__linux__)

/* The kernel's list, not CPUID's: it omits what the kernel does not save for a process. */
static void isa_read(as_known_text *fact, const char *cpuinfo)
{
    static const char *const sets[] = {"sse4_2",      "avx",      "avx2",     "fma",      "f16c",        "avx_vnni",
                                       "avx512f",     "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16",
                                       "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16"};
    char                     flags[8192];
    as_text                  list = {0};
    if (!as_field_text(cpuinfo, "flags", flags, sizeof flags)) {
        unknown(fact, "/proc/cpuinfo has no flags");
        return;
    }
    for (size_t i = 0; i < AS_COUNT(sets); i++)
        if (as_list_has(flags, sets[i]))
            as_text_printf(&list, "%s%s", list.length ? " " : "", sets[i]);
    known(fact, "%s", list.data ? list.data : "baseline");
    as_text_drop(&list);
}

#elif defined(__APPLE__) && defined(__aarch64__)

static void isa_read(as_known_text *fact, const char *cpuinfo)
{
    static const struct {
        const char *name, *key;
    } sets[] = {{"fp16", "hw.optional.arm.FEAT_FP16"},
                {"dotprod", "hw.optional.arm.FEAT_DotProd"},
                {"i8mm", "hw.optional.arm.FEAT_I8MM"},
                {"bf16", "hw.optional.arm.FEAT_BF16"},
                {"sme", "hw.optional.arm.FEAT_SME"}};
    as_text list = {0};
    (void)cpuinfo;
    as_text_add(&list, "neon");
    for (size_t i = 0; i < AS_COUNT(sets); i++) {
        int    has = 0;
        size_t n = sizeof has;
        if (!sysctlbyname(sets[i].key, &has, &n, NULL, 0) && has)
            as_text_printf(&list, " %s", sets[i].name);
    }
    known(fact, "%s", list.data ? list.data : "neon");
    as_text_drop(&list);
}

#else

static void isa_read(as_known_text *fact, const char *cpuinfo)
{
    (void)cpuinfo;
    unknown(fact, "unknown on this system");
}

#endif

/* --- CPU, caches, memory, system --------------------------------------------------------------------------- */

#if defined(__APPLE__)

static bool sysctl_text(const char *key, as_known_text *fact)
{
    char   text[sizeof fact->text] = "";
    size_t n = sizeof text - 1;
    if (sysctlbyname(key, text, &n, NULL, 0))
        return false;
    known(fact, "%s", text);
    return fact->known;
}

static uint64_t sysctl_count(const char *key)
{
    uint64_t value = 0;
    size_t   n = sizeof value;
    return sysctlbyname(key, &value, &n, NULL, 0) ? 0 : n == 4 ? value & 0xffffffffu : value;
}

static void cpu_read(as_machine *m)
{
    if (!sysctl_text("machdep.cpu.brand_string", &m->model))
        unknown(&m->model, "no machdep.cpu.brand_string");
    known(&m->vendor, "Apple");
    unknown(&m->microcode, "macOS does not say");
    unknown(&m->governor, "macOS has none to choose");
    isa_read(&m->isa, "");
}

static void caches_read(as_machine *m)
{
    static const struct {
        const char *key, *type;
        int         level;
    } keys[] = {{"hw.l1icachesize", "Instruction", 1},
                {"hw.l1dcachesize", "Data", 1},
                {"hw.l2cachesize", "Unified", 2},
                {"hw.l3cachesize", "Unified", 3}};
    for (size_t i = 0; i < AS_COUNT(keys); i++) {
        as_machine_cache c = {
            .level = keys[i].level, .bytes = sysctl_count(keys[i].key), .line_bytes = sysctl_count("hw.cachelinesize")};
        if (!c.bytes)
            continue;
        snprintf(c.type, sizeof c.type, "%s", keys[i].type);
        m->caches[m->n_caches++] = c;
    }
    snprintf(m->caches_why, sizeof m->caches_why, "no hw.l1dcachesize");
}

static void memory_read(as_known_count *memory)
{
    memory->value = sysctl_count("hw.memsize");
    memory->known = memory->value != 0;
    snprintf(memory->why, sizeof memory->why, "no hw.memsize");
}

static void os_read(as_machine *m)
{
    as_known_text version = {0};
    known(&m->os, "macOS %s", sysctl_text("kern.osproductversion", &version) ? version.text : "of unknown version");
    as_known_text boot = {0};
    if (sysctl_text("kern.bootsessionuuid", &boot))
        known(&m->boot, "%016llx", (unsigned long long)as_hash64(boot.text, strlen(boot.text)));
    else
        unknown(&m->boot, "no kern.bootsessionuuid");
}

#else

/* arm64 kernels give numbers in place of a name; the board's name tells a reader more. */
static void model_read(as_machine *m, const char *cpuinfo)
{
    char part[32] = "?", board[160] = "";
    if (as_field_text(cpuinfo, "model name", m->model.text, sizeof m->model.text)) {
        m->model.known = true;
    } else if (as_field_text(cpuinfo, "CPU part", part, sizeof part)) {
        as_file_small("/proc/device-tree/model", board, sizeof board);
        known(&m->model, "CPU part %s%s%s", part, board[0] ? ", " : "", board);
    } else {
        unknown(&m->model, "/proc/cpuinfo has neither \"model name\" nor \"CPU part\"");
    }
    m->vendor.known = as_field_text(cpuinfo, "vendor_id", m->vendor.text, sizeof m->vendor.text) ||
                      as_field_text(cpuinfo, "CPU implementer", m->vendor.text, sizeof m->vendor.text);
    if (!m->vendor.known)
        unknown(&m->vendor, "/proc/cpuinfo has neither \"vendor_id\" nor \"CPU implementer\"");
}

static void cpu_read(as_machine *m)
{
    char cpuinfo[16384], text[64];
    bool has_cpuinfo = as_file_small("/proc/cpuinfo", cpuinfo, sizeof cpuinfo);
    model_read(m, has_cpuinfo ? cpuinfo : "");
    isa_read(&m->isa, has_cpuinfo ? cpuinfo : "");
    if (as_field_text(has_cpuinfo ? cpuinfo : "", "microcode", text, sizeof text))
        known(&m->microcode, "%s%s", text, m->is_virtual ? " (as reported by the hypervisor)" : "");
    else
        unknown(&m->microcode, "/proc/cpuinfo does not say");
    if (as_file_small("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text) && text[0])
        known(&m->governor, "%s", text);
    else
        unknown(&m->governor, m->is_virtual ? "no cpufreq in /sys: the host decides" : "no cpufreq in /sys");
}

static bool cache_file(int index, const char *name, char *text, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    return as_file_small(path, text, size);
}

static void caches_read(as_machine *m)
{
    char    text[64];
    int64_t number;
    for (int i = 0; i < AS_MACHINE_CACHES; i++) {
        as_machine_cache c = {0};
        if (!cache_file(i, "level", text, sizeof text) || !as_parse_i64(text, &number) || number < 1 || number > 9)
            continue;
        c.level = (int)number;
        if (!cache_file(i, "size", text, sizeof text) || !as_cache_bytes(text, &c.bytes))
            continue;
        if (cache_file(i, "coherency_line_size", text, sizeof text) && as_parse_i64(text, &number) && number > 0)
            c.line_bytes = (uint64_t)number;
        cache_file(i, "type", c.type, sizeof c.type);
        cache_file(i, "shared_cpu_list", c.shared, sizeof c.shared);
        m->caches[m->n_caches++] = c;
    }
    snprintf(m->caches_why, sizeof m->caches_why, "nothing in /sys/devices/system/cpu/cpu0/cache");
}

static void memory_read(as_known_count *memory)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    memory->known = pages > 0 && bytes > 0;
    memory->value = memory->known ? (uint64_t)pages * (uint64_t)bytes : 0;
    snprintf(memory->why, sizeof memory->why, "sysconf(_SC_PHYS_PAGES) does not tell");
}

static void os_read(as_machine *m)
{
    static const char key[] = "PRETTY_NAME=";
    char              text[4096], boot[64];
    const char       *name = as_file_small("/etc/os-release", text, sizeof text) ? strstr(text, key) : NULL;
    if (name) {
        name += sizeof key - 1;
        name += *name == '"';
        known(&m->os, "%.*s", (int)strcspn(name, "\"\n"), name);
    } else {
        unknown(&m->os, "no PRETTY_NAME in /etc/os-release");
    }
    /* Hashed: tells two boots apart in a report without revealing an id that other programs use. */
    if (as_file_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot) && boot[0])
        known(&m->boot, "%016llx", (unsigned long long)as_hash64(boot, strlen(boot)));
    else
        unknown(&m->boot, "no /proc/sys/kernel/random/boot_id");
}

#endif

static void libc_read(as_known_text *fact)
{
#if defined(__GLIBC__)
    known(fact, "glibc %s", gnu_get_libc_version());
#elif defined(__APPLE__)
    known(fact, "libSystem");
#else
    unknown(fact, "this C library does not give its name");
#endif
}

void as_machine_read(as_machine *m)
{
    struct utsname system;
    double         load[3];
    *m = (as_machine){0};
    m->is_virtual = as_hypervisor_find(m->hypervisor.text, sizeof m->hypervisor.text);
    m->hypervisor.known = true;
    cpu_read(m);
    caches_read(m);
    memory_read(&m->memory_bytes);
    os_read(m);
    libc_read(&m->libc);
    if (uname(&system) >= 0)
        known(&m->kernel, "%s %s", system.sysname, system.release);
    else
        unknown(&m->kernel, "uname failed");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    m->cores = (as_known_count){.known = cores > 0, .value = cores > 0 ? (uint64_t)cores : 0};
    snprintf(m->cores.why, sizeof m->cores.why, "sysconf(_SC_NPROCESSORS_ONLN) does not tell");
    m->allowed = as_cpu_count();
    if (getloadavg(load, 3) == 3)
        known(&m->loadavg, "%.2f %.2f %.2f", load[0], load[1], load[2]);
    else
        unknown(&m->loadavg, "getloadavg failed");
}
