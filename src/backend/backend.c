/* backend.c - finds devices by name, and counts their memory. */
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
        near ? as_fail(env, ASSAY_NOT_FOUND, "device '%s': unknown back end '%s'; did you mean '%s'?", spec, name, near)
             : as_fail(env, ASSAY_NOT_FOUND, "device '%s': unknown back end '%s'; known: %s", spec, name, list);
    as_text_drop(&all);
    return status;
}

assay_status as_device_open(assay_env *env, const char *spec, int n_threads, as_device **out)
{
    char   name[64];
    size_t n = strcspn(spec, ":");
    if (n_threads < 1)
        return as_fail(env, ASSAY_BAD_INPUT, "device '%s': %d threads requested; at least 1 is needed", spec, n_threads);
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), spec);
    for (const as_backend *const *be = as_be_table; *be; be++)
        if (strlen((*be)->name) == n && !memcmp((*be)->name, spec, n))
            return (*be)->open(env, spec[n] == ':' ? spec + n + 1 : NULL, n_threads, out);
    return unknown(env, spec, name);
}

assay_status assay_device_open(assay_env *env, const char *spec, int threads, assay_device **out)
{
    return as_device_open(env, spec, threads, out);
}

typedef struct gpu_search {
    as_gpu gpu;       /* "": none so far */
    char   other[64]; /* a device that is neither a GPU nor the host; "": none */
} gpu_search;

static void gpu_visit(void *arg, const char *name, const char *text, const as_caps *caps, const char *reason)
{
    gpu_search *s = arg;
    if (reason || !caps)
        return;
    if (caps->is_gpu && !*s->gpu.name) {
        snprintf(s->gpu.name, sizeof s->gpu.name, "%s", name);
        snprintf(s->gpu.text, sizeof s->gpu.text, "%s", text);
    }
    if (!caps->is_gpu && strchr(name, ':') && !*s->other)
        snprintf(s->other, sizeof s->other, "%s", name);
}

assay_status as_gpu_find(assay_env *env, const as_backend *const *table, as_gpu *out)
{
    gpu_search s = {.other = ""};
    for (; *table; table++)
        (*table)->list(env, gpu_visit, &s);
    if (!*s.gpu.name)
        return as_fail(env, ASSAY_NOT_FOUND,
                       "device 'gpu': this machine has no GPU that assay can use%s%s%s; see assay list devices",
                       *s.other ? "; " : "", s.other, *s.other ? " is there and is not a GPU" : "");
    *out = s.gpu;
    return ASSAY_OK;
}

void assay_device_close(assay_device *device) { as_device_close(device); }

/* The types that a device computes with, among those that a report names: the others are rare. */
static const as_dtype told_dtypes[] = {AS_F64, AS_F32, AS_F16, AS_BF16, AS_I64, AS_I32, AS_I8, AS_BOOL};

const char *as_caps_show(const as_caps *caps, char *buf, size_t size)
{
    as_text text = {0};
    char    bytes[32];
    bool    all = true;
    int     n = 0;
    for (size_t i = 0; i < AS_COUNT(told_dtypes); i++)
        all = all && (caps->dtypes >> told_dtypes[i] & 1u);
    as_text_add(&text, all ? "computes any type" : "computes ");
    for (size_t i = 0; !all && i < AS_COUNT(told_dtypes); i++)
        if (caps->dtypes >> told_dtypes[i] & 1u)
            as_text_printf(&text, "%s%s", n++ ? " " : "", as_dtype_name(told_dtypes[i]));
    if (caps->max_bytes)
        as_text_printf(&text, ", at most %s in one allocation", as_show(bytes, sizeof bytes, (double)caps->max_bytes, "byte"));
    as_text_add(&text, caps->uses_threads ? ", --threads" : "");
    as_text_add(&text, caps->takes_graphs ? ", whole graphs" : "");
    as_text_add(&text, caps->span_per_segment ? ", a span per segment" : ", a span per step");
    snprintf(buf, size, "%s", text.data && !text.failed ? text.data : "");
    as_text_drop(&text);
    return buf;
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
    mem.bytes = bytes; /* the size that was asked for, so that drop subtracts what alloc added */
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
