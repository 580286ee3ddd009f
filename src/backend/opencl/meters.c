/* meters.c - the limits of an OpenCL device, measured with kernels whose work is known exactly. */
/* needs: OpenCL */
#include "backend/opencl/meters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CL(...) #__VA_ARGS__ "\n"
#define KIB     ((size_t)1024)
#define MIB     (KIB * 1024)

enum {
    CHAINS = 12,
    FMA_ROUNDS = 256,
    FMA_GROUPS = 64,
    VECTOR_BYTES = 16,
    ITEM_VECTORS = 64,
    ITEM_VECTORS_CPU = 4096,
    MOST_METERS = 16,
    GPU_GROUP = 64
};
static const size_t NEAR_UNIT = 32 * KIB, MEMORY_MIN = 64 * MIB, MEMORY_MAX = 256 * MIB, COPY_BYTES = 16 * MIB;

/* Each chain has its own seed, and the number that is added changes from round to round: equal chains, or loads that do not depend
 * on the round, would be merged, and the "limit" would be a multiple of the true one.  A work-item reads vectors that are a group
 * apart, so that those of a group are side by side; the last bits of the place change with the round, within a block that is read
 * completely. */
#define FMA_KERNEL(name, type)                                                                                            \
    CL(__kernel void name(__global float *out, const float seed) {                                                        \
        type c[12];                                                                                                       \
        type f = (type)(0.999f);                                                                                          \
        for (int i = 0; i < 12; i++)                                                                                      \
            c[i] = (type)(seed + (float)i);                                                                               \
        for (int r = 0; r < 256; r++) {                                                                                   \
            c[0] = fma(c[0], f, (type)(1));                                                                               \
            c[1] = fma(c[1], f, (type)(1));                                                                               \
            c[2] = fma(c[2], f, (type)(1));                                                                               \
            c[3] = fma(c[3], f, (type)(1));                                                                               \
            c[4] = fma(c[4], f, (type)(1));                                                                               \
            c[5] = fma(c[5], f, (type)(1));                                                                               \
            c[6] = fma(c[6], f, (type)(1));                                                                               \
            c[7] = fma(c[7], f, (type)(1));                                                                               \
            c[8] = fma(c[8], f, (type)(1));                                                                               \
            c[9] = fma(c[9], f, (type)(1));                                                                               \
            c[10] = fma(c[10], f, (type)(1));                                                                             \
            c[11] = fma(c[11], f, (type)(1));                                                                             \
        }                                                                                                                 \
        type sum = ((c[0] + c[1]) + (c[2] + c[3])) + ((c[4] + c[5]) + (c[6] + c[7])) + ((c[8] + c[9]) + (c[10] + c[11])); \
        if (SUM(sum) == 12345.0f)                                                                                         \
            out[0] = 1.0f;                                                                                                \
    })

static const char source[] = "#define SUM(v) ((float)((v).s0 + (v).s1 + (v).s2 + (v).s3))\n" FMA_KERNEL(
    meter_fma_f32, float8) "#undef SUM\n#define SUM(v) (v)\n" FMA_KERNEL(meter_fma_f32_plain, float)

    CL(__kernel void meter_read(__global const float4 *x, __global float *out, const uint vectors, const uint rounds) {
        size_t base = get_group_id(0) * get_local_size(0) * vectors + get_local_id(0);
        size_t step = get_local_size(0);
        float4 a = (float4)(0.0f);
        float4 b = (float4)(0.0f);
        float4 c = (float4)(0.0f);
        float4 d = (float4)(0.0f);
        for (uint r = 0; r < rounds; r++)
            for (uint k = 0; k < vectors; k += 4) {
                a += x[base + (k + (r & 3)) * step];
                b += x[base + (k + ((r + 1) & 3)) * step];
                c += x[base + (k + ((r + 2) & 3)) * step];
                d += x[base + (k + ((r + 3) & 3)) * step];
            }
        float4 sum = (a + b) + (c + d);
        if (sum.s0 + sum.s1 + sum.s2 + sum.s3 == 12345.0f)
            out[0] = 1.0f;
    })

        CL(__kernel void meter_triad(__global float4 *x, const uint third, const uint vectors, const uint rounds) {
            size_t base = get_group_id(0) * get_local_size(0) * vectors + get_local_id(0);
            size_t step = get_local_size(0);
            for (uint r = 0; r < rounds; r++)
                for (uint k = 0; k < vectors; k++) {
                    size_t i = base + k * step;
                    x[i] = x[i + third] + (1.0f + (float)r) * x[i + 2 * third];
                }
        })

            CL(__kernel void meter_nothing(__global float *out) {
                if (get_global_id(0) == 123456789)
                    out[0] = 1.0f;
            });

static const char source_f64[] = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
                                 "#define SUM(v) ((float)((v).s0 + (v).s1 + (v).s2 + (v).s3))\n" FMA_KERNEL(meter_fma_f64, double4);

typedef enum kind { KERNEL, LAUNCH, PUT, GET } kind;

/* What one meter runs. */
typedef struct loop {
    struct bench *bench;
    kind          kind;
    cl_kernel     kernel;
    size_t        global, local;
} loop;

typedef struct bench {
    cl_context       context;
    cl_device_id     id;
    cl_command_queue queue;
    cl_program       program, program_f64;
    cl_mem           memory, result;
    size_t           memory_bytes;
    void            *host;
    loop             loops[MOST_METERS];
    as_device_meter  meters[MOST_METERS];
    int              n;
    size_t           group; /* work-items per group; 1 where the units are CPUs, so that an item's vectors are side by side */
    cl_uint          units;
    cl_ulong         cache;
} bench;

/* --- Running ------------------------------------------------------------------------------------------------------ */

static assay_status run(assay_env *env, void *self, uint64_t n_passes)
{
    loop  *l = self;
    bench *b = l->bench;
    cl_int code = CL_SUCCESS;
    for (uint64_t i = 0; i < n_passes && code == CL_SUCCESS; i++) {
        switch (l->kind) {
        case KERNEL: code = clEnqueueNDRangeKernel(b->queue, l->kernel, 1, NULL, &l->global, &l->local, 0, NULL, NULL); break;
        case LAUNCH:
            code = clEnqueueNDRangeKernel(b->queue, l->kernel, 1, NULL, &l->global, &l->local, 0, NULL, NULL);
            code = code == CL_SUCCESS ? clFinish(b->queue) : code;
            break;
        case PUT: code = clEnqueueWriteBuffer(b->queue, b->memory, CL_TRUE, 0, COPY_BYTES, b->host, 0, NULL, NULL); break;
        case GET: code = clEnqueueReadBuffer(b->queue, b->memory, CL_TRUE, 0, COPY_BYTES, b->host, 0, NULL, NULL); break;
        }
    }
    code = code == CL_SUCCESS ? clFinish(b->queue) : code;
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, "measuring its limits");
}

/* --- Opening -------------------------------------------------------------------------------------------------------- */

static assay_status program_make(assay_env *env, bench *b, const char *text, cl_program *out)
{
    cl_int code;
    *out = clCreateProgramWithSource(b->context, 1, &text, NULL, &code);
    if (code == CL_SUCCESS)
        code = clBuildProgram(*out, 1, &b->id, "-cl-std=CL1.2", NULL, NULL);
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, "building the meters");
}

static assay_status kernel_make(assay_env *env, cl_program program, const char *name, cl_kernel *out)
{
    cl_int code;
    *out = clCreateKernel(program, name, &code);
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, name);
}

static loop *meter_add(bench *b, as_device_meter m, loop l)
{
    loop *to = &b->loops[b->n];
    l.bench = b;
    *to = l;
    m.self = to;
    m.run = run;
    b->meters[b->n++] = m;
    return to;
}

static assay_status fma_add(assay_env *env, bench *b, cl_program program, const char *kernel, const char *name, int lanes)
{
    const float seed = 1.5f;
    size_t      group = b->group > 1 ? b->group : 1, global = (size_t)b->units * FMA_GROUPS * group * (b->group > 1 ? 16 : 1);
    double      flops = 2.0 * CHAINS * FMA_ROUNDS * lanes * (double)global;
    loop       *l = meter_add(b,
                              (as_device_meter){.name = name,
                                                .unit = "flop/s",
                                                .what = "12 chains of fused multiply-adds in registers, in each work-item",
                                                .per_pass = flops},
                              (loop){.kind = KERNEL, .global = global, .local = group});
    AS_TRY(kernel_make(env, program, kernel, &l->kernel));
    cl_int code = clSetKernelArg(l->kernel, 0, sizeof b->result, &b->result);
    code = code == CL_SUCCESS ? clSetKernelArg(l->kernel, 1, sizeof seed, &seed) : code;
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, name);
}

/* A kernel over the first of `sizes`, 32-bit numbers, which follow the buffers as arguments. */
static assay_status walk_kernel(assay_env *env, bench *b, loop *l, const char *name, bool writes_result, const cl_uint *sizes,
                                cl_uint n)
{
    AS_TRY(kernel_make(env, b->program, name, &l->kernel));
    cl_uint at = 0;
    cl_int  code = clSetKernelArg(l->kernel, at++, sizeof b->memory, &b->memory);
    if (code == CL_SUCCESS && writes_result)
        code = clSetKernelArg(l->kernel, at++, sizeof b->result, &b->result);
    for (cl_uint i = 0; i < n && code == CL_SUCCESS; i++)
        code = clSetKernelArg(l->kernel, at++, sizeof sizes[i], &sizes[i]);
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, name);
}

/* How many vectors an item reads: on a CPU a group costs as much as many of them; elsewhere many items hide the latency. */
static size_t item_vectors(const bench *b, size_t bytes)
{
    size_t n = ITEM_VECTORS;
    while (b->group == 1 && n < ITEM_VECTORS_CPU && bytes / (2 * n * VECTOR_BYTES) >= 4 * b->units)
        n *= 2;
    return n;
}

/* Reads all of `bytes`, `rounds` times per launch. */
static assay_status walk_add(assay_env *env, bench *b, const char *read, const char *triad, size_t bytes, uint64_t holds)
{
    size_t  vectors = item_vectors(b, bytes / 3), block = VECTOR_BYTES * vectors * b->group;
    size_t  n_read = bytes / block, n_triad = bytes / 3 / block;
    cl_uint rounds = (cl_uint)(bytes < 8 * MIB ? 8 * MIB / bytes : 1);
    if (!n_triad || n_read * block > b->memory_bytes)
        return ASSAY_OK;
    loop *l = meter_add(b,
                        (as_device_meter){.name = read,
                                          .unit = "byte/s",
                                          .what = "vectors of 16 bytes, read",
                                          .per_pass = (double)(n_read * block) * rounds,
                                          .level_bytes = holds},
                        (loop){.kind = KERNEL, .global = n_read * b->group, .local = b->group});
    AS_TRY(walk_kernel(env, b, l, "meter_read", true, (cl_uint[]){(cl_uint)vectors, rounds}, 2));
    l = meter_add(b,
                  (as_device_meter){.name = triad,
                                    .unit = "byte/s",
                                    .what = "a = b + s * c on vectors of 16 bytes, counted as 2 reads and 1 write",
                                    .per_pass = 3.0 * (double)(n_triad * block) * rounds,
                                    .level_bytes = holds},
                  (loop){.kind = KERNEL, .global = n_triad * b->group, .local = b->group});
    cl_uint third = (cl_uint)(n_triad * block / VECTOR_BYTES);
    return walk_kernel(env, b, l, "meter_triad", false, (cl_uint[]){third, (cl_uint)vectors, rounds}, 3);
}

static assay_status launch_add(assay_env *env, bench *b)
{
    loop *l = meter_add(
        b, (as_device_meter){.name = "launch", .unit = "ns", .what = "an empty kernel, started and waited for", .per_pass = 1},
        (loop){.kind = LAUNCH, .global = 1, .local = 1});
    AS_TRY(kernel_make(env, b->program, "meter_nothing", &l->kernel));
    cl_int code = clSetKernelArg(l->kernel, 0, sizeof b->result, &b->result);
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, "launch");
}

/* What the device reports about itself.  A driver that does not know its cache counts as having none. */
static void device_ask(bench *b)
{
    cl_device_type type = 0;
    clGetDeviceInfo(b->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    if (clGetDeviceInfo(b->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof b->units, &b->units, NULL) != CL_SUCCESS || !b->units)
        b->units = 1;
    if (clGetDeviceInfo(b->id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof b->cache, &b->cache, NULL) != CL_SUCCESS)
        b->cache = 0;
    b->group = type & CL_DEVICE_TYPE_CPU ? 1 : GPU_GROUP;
}

static assay_status memory_make(assay_env *env, bench *b)
{
    cl_ulong      most = 0;
    cl_int        code = clGetDeviceInfo(b->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL);
    const cl_uint half = 0x3f000000; /* 0.5f */
    b->memory_bytes = b->cache * 4 < MEMORY_MIN ? MEMORY_MIN : b->cache * 4 > MEMORY_MAX ? MEMORY_MAX : (size_t)b->cache * 4;
    if (code == CL_SUCCESS && most / 2 < b->memory_bytes)
        b->memory_bytes = (size_t)most / 2;
    if (code == CL_SUCCESS && b->memory_bytes < COPY_BYTES)
        return as_fail(env, ASSAY_UNSUPPORTED, "opencl: the device gives at most %llu bytes, too few to measure its limits",
                       (unsigned long long)most);
    if (code == CL_SUCCESS)
        b->memory = clCreateBuffer(b->context, CL_MEM_READ_WRITE, b->memory_bytes, NULL, &code);
    if (code == CL_SUCCESS)
        b->result = clCreateBuffer(b->context, CL_MEM_READ_WRITE, 64, NULL, &code);
    if (code == CL_SUCCESS)
        code = clEnqueueFillBuffer(b->queue, b->memory, &half, sizeof half, 0, b->memory_bytes / 4 * 4, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clFinish(b->queue);
    b->host = calloc(1, COPY_BYTES);
    if (code == CL_SUCCESS && !b->host)
        return as_fail(env, ASSAY_NO_MEMORY, "opencl: not enough memory for %zu bytes to copy", COPY_BYTES);
    return code == CL_SUCCESS ? ASSAY_OK : as_cl_fail(env, code, "allocating what its limits are measured on");
}

static assay_status fill(assay_env *env, bench *b)
{
    cl_device_fp_config f64 = 0;
    device_ask(b);
    size_t near = NEAR_UNIT * b->units; /* no driver tells how much memory a unit has beside it: this much is common */
    AS_TRY(memory_make(env, b));
    AS_TRY(program_make(env, b, source, &b->program));
    AS_TRY(fma_add(env, b, b->program, "meter_fma_f32", "fma.f32.wide", 8));
    AS_TRY(fma_add(env, b, b->program, "meter_fma_f32_plain", "fma.f32.plain", 1));
    if (clGetDeviceInfo(b->id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof f64, &f64, NULL) == CL_SUCCESS && f64) {
        AS_TRY(program_make(env, b, source_f64, &b->program_f64));
        AS_TRY(fma_add(env, b, b->program_f64, "meter_fma_f64", "fma.f64", 4));
    }
    AS_TRY(walk_add(env, b, "read.near", "triad.near", near / 2, near));
    if (b->cache > 4 * near)
        AS_TRY(walk_add(env, b, "read.cache", "triad.cache", (size_t)b->cache / 3, b->cache));
    AS_TRY(walk_add(env, b, "read.dram", "triad.dram", b->memory_bytes, 0));
    AS_TRY(launch_add(env, b));
    meter_add(b,
              (as_device_meter){
                  .name = "put", .unit = "byte/s", .what = "16 MiB from the host to the device", .per_pass = (double)COPY_BYTES},
              (loop){.kind = PUT});
    meter_add(b,
              (as_device_meter){
                  .name = "get", .unit = "byte/s", .what = "16 MiB from the device to the host", .per_pass = (double)COPY_BYTES},
              (loop){.kind = GET});
    return ASSAY_OK;
}

assay_status as_cl_meters_open(assay_env *env, cl_context context, cl_device_id id, cl_command_queue queue, as_device_meters *out)
{
    bench *b = calloc(1, sizeof *b);
    if (!b)
        return as_fail(env, ASSAY_NO_MEMORY, "opencl: not enough memory for its meters");
    b->context = context;
    b->id = id;
    b->queue = queue;
    *out = (as_device_meters){.self = b, .list = b->meters};
    assay_status status = fill(env, b);
    out->n = b->n;
    if (status != ASSAY_OK)
        as_cl_meters_close(out);
    return status;
}

void as_cl_meters_close(as_device_meters *m)
{
    bench *b = m->self;
    for (int i = 0; b && i < b->n; i++)
        if (b->loops[i].kernel)
            clReleaseKernel(b->loops[i].kernel);
    if (b && b->program)
        clReleaseProgram(b->program);
    if (b && b->program_f64)
        clReleaseProgram(b->program_f64);
    if (b && b->memory)
        clReleaseMemObject(b->memory);
    if (b && b->result)
        clReleaseMemObject(b->result);
    if (b)
        free(b->host);
    free(b);
    *m = (as_device_meters){0};
}
