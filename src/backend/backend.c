/* backend.c - devices by name, and their memory counted. */
#include "backend/backend.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_NAMES = 32 };

static assay_status unknown(assay_env *env, const char *spec, const char *name)
{
    const char *names[MAX_NAMES + 1] = {0};
    as_text     all = {0};
    for (int i = 0; as_be_table[i] && i < MAX_NAMES; i++) {
        names[i] = as_be_table[i]->name;
        as_text_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    const char  *near = as_nearest(name, names), *list = all.data && !all.failed ? all.data : "";
    assay_status status =
        near ? as_fail(env, ASSAY_NOT_FOUND, "device '%s': there is no back end '%s'; did you mean '%s'?", spec, name, near)
             : as_fail(env, ASSAY_NOT_FOUND, "device '%s': there is no back end '%s'; there are %s", spec, name, list);
    as_text_drop(&all);
    return status;
}

assay_status as_device_open(assay_env *env, const char *spec, int n_threads, as_device **out)
{
    char   name[64];
    size_t n = strcspn(spec, ":");
    if (n_threads < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "device '%s': %d threads asked for, at least 1 is needed", spec, n_threads);
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), spec);
    for (const as_backend *const *be = as_be_table; *be; be++)
        if (strlen((*be)->name) == n && !memcmp((*be)->name, spec, n))
            return (*be)->open(env, spec[n] == ':' ? spec + n + 1 : NULL, n_threads, out);
    return unknown(env, spec, name);
}

void as_device_close(as_device *device)
{
    if (device)
        device->backend->close(device);
}

assay_status as_device_alloc(assay_env *env, as_device *device, size_t bytes, as_mem *out)
{
    as_mem mem = {0};
    AS_TRY(device->backend->alloc(env, device, bytes, &mem));
    mem.bytes = bytes; /* what was asked for, so that drop takes off what was put on */
    atomic_fetch_add(&device->n_allocs, 1);
    uint64_t live = atomic_fetch_add(&device->live_bytes, bytes) + bytes, peak = atomic_load(&device->peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&device->peak_bytes, &peak, live))
        ;
    *out = mem;
    return ASSAY_OK;
}

void as_device_drop(as_device *device, as_mem *mem)
{
    if (!mem->handle)
        return;
    atomic_fetch_sub(&device->live_bytes, mem->bytes);
    device->backend->drop(device, mem);
    *mem = (as_mem){0};
}

assay_status as_mem_check(assay_env *env, const char *who, const char *what, const as_mem *mem, size_t offset, size_t n)
{
    if (offset > mem->bytes || n > mem->bytes - offset)
        return as_fail(env, ASSAY_INTERNAL, "%s: %s of %zu bytes at %zu does not fit an allocation of %zu", who, what, n, offset,
                       mem->bytes);
    return ASSAY_OK;
}
