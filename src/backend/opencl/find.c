/* find.c - which OpenCL devices this machine has, and which of them can be used. */
/* needs: OpenCL */
#include "backend/opencl/cl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 32, TEXT_BYTES = 96 };

/* What the loader returns when no driver is installed; cl_ext.h defines it, cl.h does not. */
#define NO_PLATFORM (-1001)

char *as_cl_trim(char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
    while (length && text[length - 1] == ' ')
        text[--length] = '\0';
    size_t first = strspn(text, " ");
    memmove(text, text + first, length - first + 1);
    return text;
}

/* A text of at most TEXT_BYTES; one that does not fit or is not available is reported as such. */
static const char *info_text(cl_platform_id platform, cl_device_id device, cl_uint what, char *buf)
{
    char   all[1024] = "";
    cl_int code = device ? clGetDeviceInfo(device, what, sizeof all - 1, all, NULL)
                         : clGetPlatformInfo(platform, what, sizeof all - 1, all, NULL);
    if (code != CL_SUCCESS)
        snprintf(all, sizeof all, "unnamed (%s)", as_cl_error_name(code));
    all[sizeof all - 1] = '\0';
    snprintf(buf, TEXT_BYTES, "%.*s", TEXT_BYTES - 1, as_cl_trim(all));
    return buf;
}

static bool has(cl_device_id device, cl_device_info what)
{
    cl_bool yes = CL_FALSE;
    return clGetDeviceInfo(device, what, sizeof yes, &yes, NULL) == CL_SUCCESS && yes;
}

static bool host_is_little(void)
{
    uint16_t one = 1;
    uint8_t  first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static const char *reason_of(cl_device_id device, const char *version)
{
    int major = 0, minor = 0;
    if (!has(device, CL_DEVICE_AVAILABLE))
        return "the driver says that the device is not available";
    if (!has(device, CL_DEVICE_COMPILER_AVAILABLE))
        return "the driver has no compiler, and kernels are built from source";
    if (has(device, CL_DEVICE_ENDIAN_LITTLE) != host_is_little())
        return "its byte order is not the host's";
    if (sscanf(version, "OpenCL %d.%d", &major, &minor) != 2 || major * 10 + minor < 12)
        return "OpenCL 1.2 is needed";
    return "";
}

static void describe(as_cl_found *f)
{
    char    name[TEXT_BYTES], platform[TEXT_BYTES], version[TEXT_BYTES];
    cl_uint n_units = 0;
    info_text(f->platform, f->device, CL_DEVICE_NAME, name);
    info_text(f->platform, NULL, CL_PLATFORM_NAME, platform);
    info_text(f->platform, f->device, CL_DEVICE_VERSION, version);
    if (clGetDeviceInfo(f->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof n_units, &n_units, NULL) != CL_SUCCESS)
        n_units = 0;
    if (clGetDeviceInfo(f->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof f->max_bytes, &f->max_bytes, NULL) != CL_SUCCESS)
        f->max_bytes = 0;
    if (clGetDeviceInfo(f->device, CL_DEVICE_TYPE, sizeof f->type, &f->type, NULL) != CL_SUCCESS)
        f->type = CL_DEVICE_TYPE_CPU; /* unknown is not a GPU */
    /* Version texts are long and begin with what matters: "OpenCL 3.0 ". */
    snprintf(f->text, sizeof f->text, "%s, %s, %u compute unit%s, %.10s", name, platform, n_units, n_units == 1 ? "" : "s",
             version);
    snprintf(f->reason, sizeof f->reason, "%s", reason_of(f->device, version));
}

int as_cl_find(bool (*visit)(void *arg, const as_cl_found *found), void *arg, char *why, size_t why_size)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint        n_platforms = 0;
    int            n_found = 0;
    bool           wanted = true;
    cl_int         code = clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms);
    why[0] = '\0';
    if (code == NO_PLATFORM || (code == CL_SUCCESS && !n_platforms))
        snprintf(why, why_size, "no OpenCL platform: install an ICD such as pocl-opencl-icd");
    else if (code != CL_SUCCESS)
        snprintf(why, why_size, "cannot list the OpenCL platforms: %s (%d)", as_cl_error_name(code), code);
    if (code != CL_SUCCESS)
        return 0;
    for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS && wanted; p++) {
        cl_device_id devices[MAX_DEVICES];
        cl_uint      n_devices = 0;
        char         name[TEXT_BYTES];
        code = clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n_devices);
        if (code != CL_SUCCESS || !n_devices) {
            snprintf(why, why_size, "the OpenCL platform '%s' gives no device: %s (%d)",
                     info_text(platforms[p], NULL, CL_PLATFORM_NAME, name), as_cl_error_name(code), code);
            continue;
        }
        for (cl_uint d = 0; d < n_devices && d < MAX_DEVICES && wanted; d++) {
            as_cl_found found = {.index = n_found++, .platform = platforms[p], .device = devices[d]};
            describe(&found);
            wanted = visit(arg, &found);
        }
    }
    return n_found;
}
