/* isa.c - which instruction sets this CPU has, and which of them ASSAY_CPU masks. */
#include "backend/cpu/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__linux__) && defined(__aarch64__)
#include <sys/auxv.h>
#include <asm/hwcap.h>
#endif

#include "base/text.h"

static const struct {
    unsigned    bit;
    const char *name;
} sets[] = {
    {AS_ISA_AVX2, "avx2"}, {AS_ISA_AVX512, "avx512"}, {AS_ISA_NEON, "neon"},
    {AS_ISA_F16C, "f16c"}, {AS_ISA_VNNI, "vnni"},     {AS_ISA_DOTPROD, "dotprod"},
};

#if defined(__x86_64__)

unsigned as_isa_cpu(void)
{
    unsigned isa = AS_ISA_SCALAR, a, b, c = 0, d;
    __builtin_cpu_init();
    /* The built-in also checks whether the system saves the wide registers, which cpuid alone does not tell. */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        isa |= AS_ISA_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        isa |= AS_ISA_AVX512;
    if ((isa & AS_ISA_AVX512) && __builtin_cpu_supports("avx512vnni"))
        isa |= AS_ISA_VNNI;
    /* Not every compiler's built-in knows f16c; it needs no more saved state than avx does. */
    if (__builtin_cpu_supports("avx") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C))
        isa |= AS_ISA_F16C;
    return isa;
}

const char *as_cpu_name(char *buf, size_t size)
{
    unsigned brand[12];
    char     text[sizeof brand + 1] = "";
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) >= 0x80000004u) {
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2], &brand[4 * i + 3]);
        memcpy(text, brand, sizeof brand);
    }
    /* Some makers pad it with blanks in front, others at the end. */
    char  *first = text + strspn(text, " ");
    size_t length = strlen(first);
    while (length && first[length - 1] == ' ')
        first[--length] = '\0';
    snprintf(buf, size, "%s", length ? first : "x86-64 CPU");
    return buf;
}

#elif defined(__aarch64__)

/* NEON is part of the architecture, its dot products are not. */
static bool has_dotprod(void)
{
#if defined(__APPLE__)
    int    has = 0;
    size_t size = sizeof has;
    return !sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, NULL, 0) && has;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
    return false;
#endif
}

unsigned as_isa_cpu(void) { return AS_ISA_NEON | (has_dotprod() ? AS_ISA_DOTPROD : 0u); }

const char *as_cpu_name(char *buf, size_t size)
{
#if defined(__APPLE__)
    if (size && !sysctlbyname("machdep.cpu.brand_string", buf, &size, NULL, 0))
        return buf;
#endif
    snprintf(buf, size, "arm64 CPU");
    return buf;
}

#else

unsigned as_isa_cpu(void) { return AS_ISA_SCALAR; }

const char *as_cpu_name(char *buf, size_t size)
{
    snprintf(buf, size, "CPU");
    return buf;
}

#endif

/* One word of the list, "-avx2". */
static assay_status word_read(assay_env *env, const char *text, const char *word, size_t n, unsigned *mask)
{
    const char *names[AS_COUNT(sets) + 1] = {0};
    char        name[32];
    if (n >= 2 && n < sizeof name && word[0] == '-') {
        memcpy(name, word + 1, n - 1);
        name[n - 1] = '\0';
        for (size_t i = 0; i < AS_COUNT(sets); i++) {
            names[i] = sets[i].name;
            if (strcmp(name, sets[i].name))
                continue;
            *mask |= sets[i].bit;
            return ASSAY_OK;
        }
        const char *near = as_nearest(name, names);
        if (near)
            return as_fail(env, ASSAY_BAD_INPUT, "cpu: ASSAY_CPU is '%s': unknown instruction set '%s'; did you mean '%s'?", text,
                           name, near);
    }
    return as_fail(
        env, ASSAY_BAD_INPUT,
        "cpu: ASSAY_CPU is '%s': '%.*s' is not one of -avx2, -avx512, -neon, -f16c, -vnni and -dotprod, separated by commas", text,
        (int)(n < 64 ? n : 64), word);
}

assay_status as_isa_mask(assay_env *env, const char *text, unsigned *out)
{
    unsigned mask = 0;
    for (const char *word = text; word && *word;) {
        size_t n = strcspn(word, ",");
        AS_TRY(word_read(env, text, word, n, &mask));
        word += n;
        word += *word == ',';
    }
    *out = mask;
    return ASSAY_OK;
}

unsigned as_isa_here(void)
{
    unsigned mask = 0;
    as_isa_mask(NULL, getenv("ASSAY_CPU"), &mask); /* a text that cannot be read masks nothing; opening the device reports it */
    return as_isa_cpu() & ~mask;
}

const char *as_isa_show(unsigned isa, char *buf, size_t size)
{
    size_t used = 0;
    snprintf(buf, size, "scalar");
    for (size_t i = 0; i < AS_COUNT(sets) && used < size; i++)
        if (isa & sets[i].bit)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "", sets[i].name);
    return buf;
}
