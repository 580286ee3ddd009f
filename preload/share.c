/* share.c - the file that assay reads: found by its path, one block taken. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/preload.h"

as_share_head    *as_pl_head;
as_share_process *as_pl_process;

static char own_path[512]; /* of the program */

void *as_pl_pages(size_t bytes, bool wiped)
{
    void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (wiped)
        madvise(p, bytes, MADV_WIPEONFORK);
    return p;
}

uint64_t as_pl_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Not the interposed mmap: the file is ours. */
static void *file_map(int fd, uint64_t bytes, uint64_t offset)
{
    void *p = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, offset);
    return p == MAP_FAILED ? NULL : p;
}

void as_pl_share_close(void)
{
    as_pl_process = NULL;
    as_pl_head = NULL;
}

static void name_read(char *out, size_t size)
{
    char name[16] = "";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    name[15] = 0;
    strncpy(out, name, size - 1);
}

bool as_pl_share_open(bool is_forked)
{
    const char             *path = getenv(AS_SHARE_VARIABLE);
    const as_share_process *parent = is_forked ? as_pl_process : NULL;
    as_pl_share_close();
    if (!path || !*path)
        return false;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    as_share_head    *head = file_map(fd, AS_SHARE_HEAD_BYTES, 0);
    as_share_process *block = NULL;
    if (head && head->magic == AS_SHARE_MAGIC) {
        uint32_t number = __atomic_fetch_add(&head->n_processes, 1, __ATOMIC_ACQ_REL);
        uint64_t bytes = AS_SHARE_BLOCK(head->what);
        if (number < AS_SHARE_MAX_PROCESSES)
            block = file_map(fd, bytes, AS_SHARE_HEAD_BYTES + number * bytes);
        if (!block)
            __atomic_fetch_add(&head->n_refused, 1, __ATOMIC_RELAXED);
        else
            madvise(block, bytes, MADV_DONTDUMP); /* a core of the program is about the program */
    }
    close(fd);
    if (!block) {
        if (head)
            munmap(head, AS_SHARE_HEAD_BYTES);
        return false;
    }
    ssize_t n = readlink("/proc/self/exe", own_path, sizeof own_path - 1);
    own_path[n > 0 ? n : 0] = 0;
    block->pid = (uint32_t)getpid();
    block->parent = (uint32_t)getppid();
    block->is_forked = is_forked;
    name_read(block->name, sizeof block->name);
    as_pl_head = head;
    block->start_time = as_pl_now();
    as_pl_process = block;
    if (parent) { /* the rules of its code are known to the child: it would never note the modules again */
        memcpy(as_pl_part(AS_SHARE_MODULES), (const char *)parent + AS_SHARE_MODULES, parent->n_modules * sizeof(as_share_module));
        block->n_modules = parent->n_modules;
    }
    __atomic_store_n(&block->state, AS_SHARE_RUNS, __ATOMIC_RELEASE);
    return true;
}

/* --- Modules --- */

static int module_lock; /* never waited for: whoever finds it taken leaves the module to the next miss */

static void module_add(uint64_t start, uint64_t end, uint64_t file_offset, const char *path)
{
    as_share_module *all = as_pl_part(AS_SHARE_MODULES);
    uint32_t         n = as_pl_process->n_modules;
    for (uint32_t i = n; i-- > 0;)
        if (all[i].start == start) {
            if (all[i].end == end && !strncmp(all[i].path, path, AS_SHARE_PATH - 1))
                return;
            break; /* another file is there now: the later entry counts */
        }
    if (n == AS_SHARE_MAX_MODULES)
        return;
    all[n].start = start, all[n].end = end, all[n].file_offset = file_offset;
    for (int i = 0; i < AS_SHARE_PATH - 1 && path[i]; i++)
        all[n].path[i] = path[i];
    __atomic_store_n(&as_pl_process->n_modules, n + 1, __ATOMIC_RELEASE);
}

static void parts_add(uint64_t base, const ElfW(Phdr) * parts, int n, const char *path)
{
    for (int i = 0; i < n; i++)
        if (parts[i].p_type == PT_LOAD && (parts[i].p_flags & PF_X))
            module_add(base + parts[i].p_vaddr, base + parts[i].p_vaddr + parts[i].p_memsz, parts[i].p_offset, path);
}

void as_pl_module_note(uint64_t address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (!as_pl_process || __atomic_exchange_n(&module_lock, 1, __ATOMIC_ACQUIRE))
        return;
    if (!_dl_find_object((void *)(uintptr_t)address, &found) && found.dlfo_link_map) {
        const char *path = found.dlfo_link_map->l_name;
        const ElfW(Ehdr) *elf = found.dlfo_map_start; /* the first page of a file is its header */
        if (!memcmp(elf->e_ident, ELFMAG, SELFMAG))
            parts_add(found.dlfo_link_map->l_addr, (const void *)((const char *)elf + elf->e_phoff), elf->e_phnum,
                      path && *path ? path : own_path);
    }
    __atomic_store_n(&module_lock, 0, __ATOMIC_RELEASE);
#else
    (void)address;
#endif
}
