/* backend_test.c */
#include "backend/backend.h"

#include "tests/runner/test.h"

Test(backend, an_unknown_device_is_named_with_its_nearest)
{
    assay_env *env;
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    expect_fails(env, as_device_open(env, "cpo", 1, &device), ASSAY_NOT_FOUND, "unknown back end 'cpo'; did you mean 'cpu'?");
    expect_fails(env, as_device_open(env, "nul:gemm=5us", 1, &device), ASSAY_NOT_FOUND, "did you mean 'null'?");
    expect_fails(env, as_device_open(env, "quantum", 1, &device), ASSAY_NOT_FOUND, "unknown back end 'quantum'; known: cpu");
    expect_fails(env, as_device_open(env, "", 1, &device), ASSAY_NOT_FOUND, "unknown back end ''");
    expect(device == NULL);
    assay_env_free(env);
}

Test(backend, a_name_is_not_found_by_its_beginning)
{
    assay_env *env;
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    expect_fails(env, as_device_open(env, "c", 1, &device), ASSAY_NOT_FOUND, "'c'");
    expect_fails(env, as_device_open(env, "cpus", 1, &device), ASSAY_NOT_FOUND, "did you mean 'cpu'?");
    assay_env_free(env);
}

Test(backend, no_threads_are_refused)
{
    assay_env *env;
    as_device *device = NULL;
    expect_ok(NULL, assay_env_new(&env));
    expect_fails(env, as_device_open(env, "cpu", 0, &device), ASSAY_BAD_INPUT,
                 "device 'cpu': 0 threads requested; at least 1 is needed");
    assay_env_free(env);
}

Test(backend, memory_is_counted_in_bytes_and_calls)
{
    assay_env *env;
    as_device *device;
    as_mem     a = {0}, b = {0}, empty = {0};
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, as_device_open(env, "cpu", 1, &device));
    expect_ok(env, as_device_alloc(env, device, 1000, &a));
    expect_ok(env, as_device_alloc(env, device, 24, &b));
    expect_eq(device->live_bytes, 1024);
    as_device_drop(device, &a);
    expect(a.handle == NULL);
    as_device_drop(device, &a); /* a second time does nothing */
    expect_eq(device->live_bytes, 24);
    expect_ok(env, as_device_alloc(env, device, 0, &empty));
    expect_eq(device->peak_bytes, 1024);
    expect_eq(device->n_allocs, 3);
    as_device_drop(device, &b);
    as_device_drop(device, &empty);
    expect_eq(device->live_bytes, 0);
    as_device_close(device);
    as_device_close(NULL);
    assay_env_free(env);
}

static assay_status alloc_never(assay_env *env, as_device *device, size_t bytes, as_mem *out)
{
    (void)device, (void)out;
    return as_fail(env, ASSAY_NO_MEMORY, "never: not enough memory for %zu bytes", bytes);
}

Test(backend, memory_that_cannot_be_had_counts_nothing)
{
    static const as_backend never = {.name = "never", .alloc = alloc_never};
    assay_env              *env;
    as_mem                  mem = {0};
    expect_ok(NULL, assay_env_new(&env));
    as_device device = {.backend = &never};
    expect_fails(env, as_device_alloc(env, &device, 100, &mem), ASSAY_NO_MEMORY, "never: not enough memory for 100 bytes");
    expect(mem.handle == NULL);
    expect_eq(device.n_allocs, 0);
    expect_eq(device.peak_bytes, 0);
    assay_env_free(env);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITISED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITISED
#endif

Test(backend, cpu_and_null_say_how_much_memory_they_could_not_get)
{
#ifdef SANITISED
    skip("a sanitiser ends the process at such a request");
#else
    assay_env *env;
    as_device *device;
    as_mem     mem = {0};
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, as_device_open(env, "null", 1, &device));
    expect_fails(env, as_device_alloc(env, device, SIZE_MAX / 4, &mem), ASSAY_NO_MEMORY,
                 "null: not enough memory for 4611686018427387903 bytes");
    as_device_close(device);
    expect_ok(env, as_device_open(env, "cpu", 1, &device));
    expect_fails(env, as_device_alloc(env, device, SIZE_MAX / 4, &mem), ASSAY_NO_MEMORY,
                 "cpu: not enough memory for 4611686018427387903 bytes");
    as_device_close(device);
    expect(mem.handle == NULL);
    assay_env_free(env);
#endif
}

static void count(void *arg, const char *name, const char *text, const as_caps *caps, const char *reason)
{
    expect(name && text && !reason && caps && caps->dtypes);
    ++*(int *)arg;
}

Test(backend, cpu_and_null_are_always_listed)
{
    assay_env *env;
    int        n = 0;
    expect_ok(NULL, assay_env_new(&env));
    for (const as_backend *const *be = as_be_table; *be; be++)
        if (!strcmp((*be)->name, "cpu") || !strcmp((*be)->name, "null"))
            (*be)->list(env, count, &n);
    expect_eq(n, 2);
    assay_env_free(env);
}

static void list_nothing(assay_env *e, as_device_found found, void *arg)
{
    (void)e;
    found(arg, "gpu:9", "one whose driver is broken", NULL, "no compiler");
}

static void list_cpu(assay_env *e, as_device_found found, void *arg)
{
    (void)e;
    found(arg, "opencl:0", "pocl on a CPU", &(as_caps){.max_bytes = 1}, NULL);
}

static void list_gpus(assay_env *e, as_device_found found, void *arg)
{
    (void)e;
    found(arg, "opencl:1", "the first", &(as_caps){.is_gpu = true}, NULL);
    found(arg, "opencl:2", "the second", &(as_caps){.is_gpu = true}, NULL);
}

Test(backend, gpu_is_the_first_that_is_usable)
{
    static const as_backend        nothing = {.list = list_nothing}, cpu = {.list = list_cpu}, gpus = {.list = list_gpus};
    static const as_backend *const with[] = {&nothing, &cpu, &gpus, NULL}, *const without[] = {&nothing, &cpu, NULL},
                                   *const bare[] = {&nothing, NULL};
    as_gpu                                gpu;
    assay_env                            *env;
    expect_ok(NULL, assay_env_new(&env));
    expect_ok(env, as_gpu_find(env, with, &gpu));
    expect_str(gpu.name, "opencl:1");
    expect_str(gpu.text, "the first");
    expect_fails(env, as_gpu_find(env, without, &gpu), ASSAY_NOT_FOUND,
                 "no GPU that assay can use; opencl:0 is there and is not a GPU");
    expect_fails(env, as_gpu_find(env, bare, &gpu), ASSAY_NOT_FOUND, "no GPU that assay can use; see assay list devices");
    assay_env_free(env);
}
