/* preload.c - the file in memory that assay and libassay-preload.so share. */
/* os: linux */
#include "record/preload.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

#define LIBRARY          "libassay-preload.so"
#define LIBRARY_VARIABLE "ASSAY_PRELOAD_LIBRARY"

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
enum { OWN_MACHINE = EM_NONE };
#endif

/* --- Where the library is --- */

static bool beside(const char *file, const char *where, char *out, size_t size)
{
    const char *slash = strrchr(file, '/');
    if (!slash)
        return false;
    int n = snprintf(out, size, "%.*s/%s" LIBRARY, (int)(slash - file), file, where);
    return n > 0 && (size_t)n < size && !access(out, R_OK);
}

/* Named by the user; beside the program or the library in a build; below lib/assay where they are installed. */
static bool library_find(char *out, size_t size)
{
    static const char *const places[] = {"", "../lib/assay/", "assay/", "../assay/"};
    const char              *given = getenv(LIBRARY_VARIABLE);
    char                     self[PATH_MAX];
    Dl_info                  info;
    if (given && *given)
        return snprintf(out, size, "%s", given) < (int)size && !access(out, R_OK);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    for (size_t i = 0; i < AS_COUNT(places); i++)
        if (beside(self, places[i], out, size))
            return true;
    if (dladdr((void *)(uintptr_t)&as_preload_open, &info) && info.dli_fname)
        for (size_t i = 0; i < AS_COUNT(places); i++)
            if (beside(info.dli_fname, places[i], out, size))
                return true;
    return false;
}

/* --- Whether the command can load it --- */

static bool command_find(const char *name, char *out, size_t size)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/'))
        return snprintf(out, size, "%s", name) < (int)size;
    for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
        size_t n = strcspn(at, ":");
        if (snprintf(out, size, "%.*s/%s", (int)n, n ? at : ".", name) < (int)size && !access(out, X_OK))
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

/* A script is as good as its interpreter. */
static bool interpreter_of(const char *file, char *out, size_t size)
{
    char  line[PATH_MAX] = "";
    FILE *f = fopen(file, "re");
    bool  is_script = f && fgets(line, sizeof line, f) && line[0] == '#' && line[1] == '!';
    if (f)
        fclose(f);
    if (!is_script)
        return false;
    const char *at = line + 2 + strspn(line + 2, " \t");
    return snprintf(out, size, "%.*s", (int)strcspn(at, " \t\r\n"), at) < (int)size;
}

static bool elf_read(const char *file, Elf64_Ehdr *head, bool *is_dynamic)
{
    int  fd = open(file, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && pread(fd, head, sizeof *head, 0) == sizeof *head && !memcmp(head->e_ident, ELFMAG, SELFMAG);
    *is_dynamic = false;
    if (ok && head->e_ident[EI_CLASS] == ELFCLASS64)
        for (unsigned i = 0; i < head->e_phnum; i++) {
            Elf64_Phdr part;
            if (pread(fd, &part, sizeof part, (off_t)(head->e_phoff + i * sizeof part)) == sizeof part && part.p_type == PT_INTERP)
                *is_dynamic = true;
        }
    if (fd >= 0)
        close(fd);
    return ok;
}

bool as_preload_probe(assay_env *env, const as_record_settings *s, char why[AS_RECORD_WHY])
{
    char        library[PATH_MAX], file[PATH_MAX], script[PATH_MAX];
    Elf64_Ehdr  head;
    bool        is_dynamic;
    struct stat about;
    (void)env;
    if (!s->argv) {
        snprintf(why, AS_RECORD_WHY,
                 "it cannot be loaded into a program that runs already; start the program with assay record -- COMMAND");
        return false;
    }
    if (!library_find(library, sizeof library)) {
        snprintf(why, AS_RECORD_WHY,
                 LIBRARY " is not there; it belongs beside the program or in ../lib/assay, or " LIBRARY_VARIABLE " names it");
        return false;
    }
    int fd = memfd_create("assay", MFD_CLOEXEC);
    if (fd < 0) {
        snprintf(why, AS_RECORD_WHY, "memory to share with the program cannot be had: %s", strerror(errno));
        return false;
    }
    close(fd);
    if (!command_find(s->argv[0], file, sizeof file))
        return true; /* whoever starts it says so */
    for (int depth = 0; depth < 3 && interpreter_of(file, script, sizeof script); depth++)
        snprintf(file, sizeof file, "%s", script);
    if (!elf_read(file, &head, &is_dynamic))
        return true;
    if (head.e_machine != OWN_MACHINE || head.e_ident[EI_CLASS] != ELFCLASS64) {
        snprintf(why, AS_RECORD_WHY, "%.200s is for another kind of CPU than assay, so the recorder cannot be loaded into it",
                 file);
        return false;
    }
    if (!is_dynamic) {
        snprintf(why, AS_RECORD_WHY, "%.200s is linked statically, so nothing can be loaded into it", file);
        return false;
    }
    if (!stat(file, &about) &&
        ((about.st_mode & S_ISUID && about.st_uid != geteuid()) || (about.st_mode & S_ISGID && about.st_gid != getegid()))) {
        snprintf(why, AS_RECORD_WHY, "%.200s runs as another user (setuid), and the system loads nothing into such a program",
                 file);
        return false;
    }
    return true;
}

/* --- The file --- */

static uint64_t counter_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* The counter runs at one speed whatever the CPU does. */
static bool counter_is_steady(void)
{
#if defined(__x86_64__)
    char  line[8192];
    bool  steady = false;
    FILE *f = fopen("/proc/cpuinfo", "re");
    while (f && !steady && fgets(line, sizeof line, f))
        if (!strncmp(line, "flags", 5)) {
            steady = strstr(line, " constant_tsc") && strstr(line, " nonstop_tsc");
            break;
        }
    if (f)
        fclose(f);
    return steady;
#else
    return OWN_MACHINE == EM_AARCH64;
#endif
}

static void clocks_read(as_preload *p, int i)
{
    uint64_t before = counter_now();
    p->monotonic_ns[i] = as_monotonic_ns();
    p->counter[i] = before + (counter_now() - before) / 2;
}

double as_preload_ns_per_tick(const as_preload *p)
{
    if (!p->head->use_counter || p->counter[1] <= p->counter[0])
        return 1;
    return (double)(p->monotonic_ns[1] - p->monotonic_ns[0]) / (double)(p->counter[1] - p->counter[0]);
}

uint64_t as_preload_ticks(const as_recording *r, const as_preload *p, uint64_t time)
{
    double ns = p->head->use_counter ? (double)p->monotonic_ns[0] - (double)r->trace->start_ticks +
                                           ((double)time - (double)p->counter[0]) * as_preload_ns_per_tick(p)
                                     : (double)time - (double)r->trace->start_ticks;
    return ns > 0 ? (uint64_t)ns : 0;
}

assay_status as_preload_open(as_recording *r, unsigned what, uint64_t period_ns, as_preload *p)
{
    char     library[PATH_MAX], path[64];
    uint64_t bytes = AS_SHARE_HEAD_BYTES + AS_SHARE_MAX_PROCESSES * AS_SHARE_BLOCK(what);
    *p = (as_preload){.fd = memfd_create("assay", MFD_CLOEXEC)};
    if (p->fd < 0 || ftruncate(p->fd, (off_t)bytes)) {
        int error = errno;
        as_preload_close(p);
        return as_fail(r->env, ASSAY_UNSUPPORTED, "record: memory to share with the program cannot be had: %s", strerror(error));
    }
    void *head = mmap(NULL, AS_SHARE_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
    p->head = head == MAP_FAILED ? NULL : head;
    p->processes = calloc(AS_SHARE_MAX_PROCESSES, sizeof *p->processes);
    if (!p->head || !p->processes || !library_find(library, sizeof library)) {
        as_preload_close(p);
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory to share with the program, or " LIBRARY " has gone");
    }
    *p->head = (as_share_head){.magic = AS_SHARE_MAGIC,
                               .what = what,
                               .use_counter = counter_is_steady(),
                               .bytes = bytes,
                               .period_ns = period_ns,
                               .max_events = AS_SHARE_MAX_EVENTS};
    clocks_read(p, 0);
    p->counter[1] = p->counter[0], p->monotonic_ns[1] = p->monotonic_ns[0];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), p->fd);
    if (!as_record_variable(r, AS_SHARE_VARIABLE, path) || !as_record_variable(r, "LD_PRELOAD", library)) {
        as_preload_close(p);
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for the program's environment");
    }
    return ASSAY_OK;
}

static assay_status modules_take(as_recording *r, as_preload_process *p)
{
    const as_share_module *all = as_preload_part(p, AS_SHARE_MODULES);
    uint32_t               n = __atomic_load_n(&p->at->n_modules, __ATOMIC_ACQUIRE);
    for (; p->n_modules_seen < n && p->n_modules_seen < AS_SHARE_MAX_MODULES; p->n_modules_seen++) {
        const as_share_module *m = &all[p->n_modules_seen];
        char                   path[AS_SHARE_PATH];
        snprintf(path, sizeof path, "%.*s", AS_SHARE_PATH - 1, m->path);
        if (!as_symbols_map(r->symbols, (pid_t)p->at->pid, m->start, m->end, m->file_offset, path))
            return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for the program's libraries");
    }
    return ASSAY_OK;
}

static assay_status process_begin(as_recording *r, as_preload *p, uint32_t number,
                                  assay_status (*ended)(as_recording *, as_preload *, uint32_t))
{
    uint64_t            bytes = AS_SHARE_BLOCK(p->head->what);
    as_preload_process *now = &p->processes[number];
    void               *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, p->fd, (off_t)(AS_SHARE_HEAD_BYTES + number * bytes));
    if (at == MAP_FAILED)
        return as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory to read process %u of the program", number);
    if (!__atomic_load_n(&((as_share_process *)at)->state, __ATOMIC_ACQUIRE)) {
        munmap(at, bytes); /* it has begun to begin */
        return ASSAY_OK;
    }
    now->at = at;
    for (uint32_t i = 0; i < number; i++)
        if (p->processes[i].at && p->processes[i].at->pid == now->at->pid) { /* exec(): its memory is gone, and its mappings */
            AS_TRY(modules_take(r, &p->processes[i]));
            AS_TRY(ended(r, p, i));
            as_symbols_exec(r->symbols, (pid_t)now->at->pid);
        }
    char name[sizeof now->at->name];
    snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, now->at->name);
    /* Not as_record_lane(): after exec() it would find that of the program before, if both have one name. */
    now->lane = as_trace_add_lane(r->trace, &(as_trace_lane){.name = name, .pid = now->at->pid, .tid = now->at->pid});
    if (now->lane > UINT16_MAX)
        now->lane = -1;
    return now->lane >= 0 ? ASSAY_OK : as_fail(r->env, ASSAY_NO_MEMORY, "record: not enough memory for one more process");
}

assay_status as_preload_look(as_recording *r, as_preload *p, assay_status (*ended)(as_recording *r, as_preload *p, uint32_t number))
{
    uint32_t n = __atomic_load_n(&p->head->n_processes, __ATOMIC_ACQUIRE);
    clocks_read(p, 1);
    p->n = n < AS_SHARE_MAX_PROCESSES ? n : AS_SHARE_MAX_PROCESSES;
    for (uint32_t i = 0; i < p->n; i++) {
        if (!p->processes[i].at && !p->processes[i].is_released)
            AS_TRY(process_begin(r, p, i, ended));
        if (p->processes[i].at)
            AS_TRY(modules_take(r, &p->processes[i]));
    }
    return ASSAY_OK;
}

assay_status as_preload_end(as_recording *r, as_preload *p, assay_status (*ended)(as_recording *r, as_preload *p, uint32_t number))
{
    assay_status status = p->head ? as_preload_look(r, p, ended) : ASSAY_OK;
    for (uint32_t i = 0; i < p->n && status == ASSAY_OK; i++)
        status = ended(r, p, i);
    return status;
}

void as_preload_release(as_preload *p, uint32_t number)
{
    uint64_t bytes = AS_SHARE_BLOCK(p->head->what);
    if (p->processes[number].at)
        munmap(p->processes[number].at, bytes);
    p->processes[number].at = NULL;
    p->processes[number].is_released = true;
    fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(AS_SHARE_HEAD_BYTES + number * bytes), (off_t)bytes);
}

void as_preload_close(as_preload *p)
{
    if (p->processes && p->head)
        for (uint32_t i = 0; i < p->n; i++)
            if (p->processes[i].at)
                munmap(p->processes[i].at, AS_SHARE_BLOCK(p->head->what));
    if (p->head)
        munmap(p->head, AS_SHARE_HEAD_BYTES);
    if (p->fd >= 0)
        close(p->fd);
    free(p->processes);
    *p = (as_preload){.fd = -1};
}
