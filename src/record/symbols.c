/* symbols.c - what each process has mapped, and the frames behind its addresses, each looked up once. */
#include "record/symbols.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "record/kallsyms.h"
#include "record/perf_map.h"

enum { MAX_FRAMES = 1024, FIRST_SLOTS = 1024 };

typedef struct object {
    char                   *path;
    const char             *name; /* behind the last slash; of the path */
    const as_symbol_reader *reader;
    void                   *file; /* NULL: not opened yet, or it cannot be */
    bool                    was_tried;
} object;

typedef struct mapping {
    uint64_t start, end, offset;
    int      object; /* -1: memory without a file, where a compiler may have put code */
} mapping;

typedef struct process {
    pid_t       pid;
    mapping    *maps; /* by start, none over another */
    size_t      n, cap;
    as_perf_map names; /* of code without a file */
    off_t       names_bytes;
    bool        was_read; /* /proc/PID/maps */
} process;

/* What was found at an address: frames of the trace, innermost first. */
typedef struct found {
    uint64_t key[2]; /* object + 1 or a code of the process, and offset or address */
    uint32_t first, n;
} found;

/* How to get to the caller from a place in a file. */
typedef struct rule_slot {
    uint64_t       key[2]; /* object + 1, offset; 0: free */
    as_unwind_rule rule;
} rule_slot;

struct as_symbols {
    assay_env  *env;
    object     *objects;
    size_t      n_objects, cap_objects;
    process    *processes;
    size_t      n_processes, cap_processes;
    found      *slots; /* by hash; n = 0: free */
    size_t      n_slots, n_found;
    int        *frames; /* of all that was found, one after the other */
    size_t      n_frames, cap_frames;
    rule_slot  *rules; /* by hash */
    size_t      n_rule_slots, n_rules;
    as_kallsyms kernel;
    bool        kernel_tried;
};

static bool grow(void **items, size_t *cap, size_t n, size_t each)
{
    if (n <= *cap)
        return true;
    size_t want = *cap ? 2 * *cap : 16;
    want = want < n ? n : want;
    void *moved = realloc(*items, want * each);
    if (!moved)
        return false;
    *items = moved;
    *cap = want;
    return true;
}

as_symbols *as_symbols_new(assay_env *env)
{
    as_symbols *s = calloc(1, sizeof *s);
    if (s)
        s->env = env;
    return s;
}

void as_symbols_free(as_symbols *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_objects; i++) {
        if (s->objects[i].file)
            s->objects[i].reader->close(s->objects[i].file);
        free(s->objects[i].path);
    }
    for (size_t i = 0; i < s->n_processes; i++) {
        free(s->processes[i].maps);
        as_perf_map_drop(&s->processes[i].names);
    }
    as_kallsyms_drop(&s->kernel);
    free(s->objects);
    free(s->processes);
    free(s->slots);
    free(s->frames);
    free(s->rules);
    free(s);
}

/* --- Mappings ------------------------------------------------------------------------------------------------ */

static process *process_find(as_symbols *s, pid_t pid)
{
    for (size_t i = s->n_processes; i-- > 0;) /* the newest first: an id may have been used before */
        if (s->processes[i].pid == pid)
            return &s->processes[i];
    return NULL;
}

static process *process_take(as_symbols *s, pid_t pid)
{
    process *p = process_find(s, pid);
    if (p || !grow((void **)&s->processes, &s->cap_processes, s->n_processes + 1, sizeof *s->processes))
        return p;
    p = &s->processes[s->n_processes++];
    *p = (process){.pid = pid};
    return p;
}

/* The object of a path; -1 for memory without a file, -2: no memory. */
static int object_take(as_symbols *s, const char *path)
{
    if (path[0] != '/' && strcmp(path, "[vdso]"))
        return -1;
    if (!strncmp(path, "//anon", 6) || !strncmp(path, "/memfd:", 7) || !strncmp(path, "/dev/zero", 9) || !strncmp(path, "/SYSV", 5))
        return -1;
    for (size_t i = 0; i < s->n_objects; i++)
        if (!strcmp(s->objects[i].path, path))
            return (int)i;
    char *kept = strdup(path);
    if (!kept || !grow((void **)&s->objects, &s->cap_objects, s->n_objects + 1, sizeof *s->objects)) {
        free(kept);
        return -2;
    }
    char *slash = strrchr(kept, '/');
    s->objects[s->n_objects] = (object){.path = kept, .name = slash ? slash + 1 : kept};
    return (int)s->n_objects++;
}

static int by_start(const void *a, const void *b)
{
    const mapping *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* The list is made anew, without what lies under the new mapping: mappings are rare. */
static bool mapping_put(process *p, const mapping *m)
{
    mapping *all = malloc((2 * p->n + 1) * sizeof *all);
    size_t   n = 0;
    if (!all)
        return false;
    for (size_t i = 0; i < p->n; i++) {
        mapping before = p->maps[i], behind = p->maps[i];
        before.end = before.end < m->start ? before.end : m->start;
        if (behind.start < m->end) {
            behind.offset += m->end - behind.start;
            behind.start = m->end;
        }
        if (before.start < before.end)
            all[n++] = before;
        if (behind.start < behind.end && p->maps[i].end > m->end)
            all[n++] = behind;
    }
    all[n++] = *m;
    qsort(all, n, sizeof *all, by_start);
    free(p->maps);
    p->maps = all;
    p->n = p->cap = n;
    return true;
}

bool as_symbols_map(as_symbols *s, pid_t pid, uint64_t start, uint64_t end, uint64_t file_offset, const char *path)
{
    process *p = process_take(s, pid);
    int      of = p ? object_take(s, path) : -2;
    return of > -2 && (start >= end || mapping_put(p, &(mapping){start, end, file_offset, of}));
}

bool as_symbols_maps_of(as_symbols *s, pid_t pid)
{
    char name[64], line[4352];
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(name, "re");
    bool  ok = file != NULL;
    while (ok && fgets(line, sizeof line, file)) {
        uint64_t start, end, offset;
        char     mode[8];
        int      at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &start, &end, mode, &offset, &at) < 4 || !at)
            continue;
        char *deleted = strstr(line + at, " (deleted)");
        if (deleted && !deleted[10])
            *deleted = '\0';
        if (strchr(mode, 'x'))
            ok = as_symbols_map(s, pid, start, end, offset, line + at);
    }
    if (file)
        fclose(file);
    process *p = ok ? process_take(s, pid) : NULL;
    if (p)
        p->was_read = true;
    return p != NULL;
}

void as_symbols_fork(as_symbols *s, pid_t parent, pid_t child)
{
    const process *from = process_find(s, parent);
    size_t         n = from ? from->n : 0;
    mapping       *copy = n ? malloc(n * sizeof *copy) : NULL;
    if (!copy)
        return;
    memcpy(copy, from->maps, n * sizeof *copy);
    as_symbols_exec(s, child); /* its number may be one that was used before */
    process *p = process_take(s, child);
    if (!p) {
        free(copy);
        return;
    }
    p->maps = copy;
    p->n = p->cap = n;
    p->was_read = true;
}

void as_symbols_exec(as_symbols *s, pid_t pid)
{
    process *p = process_find(s, pid);
    if (!p)
        return;
    free(p->maps);
    as_perf_map_drop(&p->names);
    *p = (process){.pid = pid, .was_read = true};
}

static const mapping *mapping_at(const process *p, uint64_t address)
{
    size_t lo = 0, hi = p->n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (p->maps[middle].end <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < p->n && p->maps[lo].start <= address ? &p->maps[lo] : NULL;
}

/* A process of which no mapping was told is asked. */
static const mapping *mapping_of(as_symbols *s, process *p, uint64_t address)
{
    if (!p->was_read && !p->n)
        as_symbols_maps_of(s, p->pid); /* finds p, which exists, and so does not move it */
    p->was_read = true;
    return mapping_at(p, address);
}

/* --- Names of files -------------------------------------------------------------------------------------------- */

/* The file as the process sees it: its root may be another one (a container). */
static void object_open(object *o, pid_t pid)
{
    char        seen[4352];
    struct stat ours, theirs;
    o->was_tried = true;
    if (!as_sy_table[0])
        return;
    o->reader = as_sy_table[0];
    for (int i = 1; as_sy_table[i]; i++)
        o->reader = as_sy_table[i]->rank > o->reader->rank ? as_sy_table[i] : o->reader;
    snprintf(seen, sizeof seen, "/proc/%d/root%s", (int)pid, o->path);
    bool is_other = o->path[0] == '/' && !stat(seen, &theirs) &&
                    (stat(o->path, &ours) || ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
    o->file = o->reader->open(is_other ? seen : o->path);
}

/* Names of code without a file; the file that has them grows while the program runs. */
static void names_read(process *p)
{
    char        path[64];
    struct stat info;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)p->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size > 0 && info.st_size != p->names_bytes) {
        size_t  most = info.st_size < AS_PERF_MAP_BYTES ? (size_t)info.st_size : AS_PERF_MAP_BYTES, n = 0;
        char   *text = malloc(most);
        ssize_t got;
        while (text && n < most && (got = read(fd, text + n, most - n)) > 0)
            n += (size_t)got;
        as_perf_map names;
        if (text && as_perf_map_parse(text, n, &names)) {
            as_perf_map_drop(&p->names);
            p->names = names;
            p->names_bytes = info.st_size;
        }
        free(text);
    }
    close(fd);
}

static bool name_of_code(process *p, uint64_t address, char name[AS_PERF_MAP_NAME])
{
    if (as_perf_map_find(&p->names, address, name))
        return true;
    names_read(p);
    return as_perf_map_find(&p->names, address, name);
}

/* --- Addresses to frames ----------------------------------------------------------------------------------------- */

static found *slot_of(const as_symbols *s, uint64_t a, uint64_t b)
{
    uint64_t key[2] = {a, b};
    size_t   at = as_hash64(key, sizeof key) & (s->n_slots - 1);
    while (s->slots[at].n && (s->slots[at].key[0] != a || s->slots[at].key[1] != b))
        at = (at + 1) & (s->n_slots - 1);
    return &s->slots[at];
}

static bool slots_grow(as_symbols *s)
{
    if (s->n_slots && 2 * (s->n_found + 1) <= s->n_slots)
        return true;
    as_symbols old = *s;
    s->n_slots = old.n_slots ? 2 * old.n_slots : FIRST_SLOTS;
    s->slots = calloc(s->n_slots, sizeof *s->slots);
    if (!s->slots) {
        s->slots = old.slots;
        s->n_slots = old.n_slots;
        return false;
    }
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.slots[i].n)
            *slot_of(s, old.slots[i].key[0], old.slots[i].key[1]) = old.slots[i];
    free(old.slots);
    return true;
}

static bool frame_keep(as_symbols *s, assay_trace *t, const as_trace_frame *frame)
{
    int index = as_trace_add_frame(t, frame);
    if (index < 0 || !grow((void **)&s->frames, &s->cap_frames, s->n_frames + 1, sizeof *s->frames))
        return false;
    s->frames[s->n_frames++] = index;
    return true;
}

static bool file_frames(as_symbols *s, assay_trace *t, object *o, pid_t pid, uint64_t offset)
{
    as_symbol symbols[AS_MAX_INLINED];
    if (!o->was_tried)
        object_open(o, pid);
    int n = o->file ? o->reader->find(o->file, offset, symbols) : 0;
    for (int i = 0; i < n; i++)
        if (!frame_keep(s, t,
                        &(as_trace_frame){.name = symbols[i].name,
                                          .file = symbols[i].file,
                                          .line = symbols[i].line,
                                          .inlined = symbols[i].inlined,
                                          .object = o->name,
                                          .context = -1}))
            return false;
    return n || frame_keep(s, t, &(as_trace_frame){.name = AS_SYMBOL_UNKNOWN, .object = o->name, .context = -1});
}

static bool kernel_frame(as_symbols *s, assay_trace *t, uint64_t address)
{
    char module[AS_KALLSYMS_MODULE] = "";
    if (!s->kernel_tried)
        as_kallsyms_read("/proc/kallsyms", &s->kernel);
    s->kernel_tried = true;
    const char *name = as_kallsyms_find(&s->kernel, address, module);
    return frame_keep(
        s, t,
        &(as_trace_frame){.name = name ? name : AS_SYMBOL_UNKNOWN, .object = *module ? module : AS_OBJECT_KERNEL, .context = -1});
}

static const found *find(as_symbols *s, assay_trace *t, pid_t pid, uint64_t address)
{
    char           name[AS_PERF_MAP_NAME];
    bool           is_kernel = address >> 63;
    process       *p = is_kernel ? NULL : process_take(s, pid);
    const mapping *m;
    uint64_t       a = 0, b = address; /* 0: of the kernel */
    if (!is_kernel && !p)
        return NULL;
    m = p ? mapping_of(s, p, address) : NULL;
    if (m && m->object >= 0)
        a = (uint64_t)m->object + 1, b = address - m->start + m->offset;
    else if (p)
        a = UINT64_MAX - (uint64_t)(uint32_t)pid;
    if (!slots_grow(s))
        return NULL;
    found *at = slot_of(s, a, b);
    if (at->n)
        return at;
    size_t first = s->n_frames;
    bool   ok;
    if (is_kernel)
        ok = kernel_frame(s, t, address);
    else if (m && m->object >= 0)
        ok = file_frames(s, t, &s->objects[m->object], pid, b);
    else if (name_of_code(p, address, name))
        ok = frame_keep(s, t, &(as_trace_frame){.name = name, .object = "[compiled]", .context = -1});
    else
        ok = frame_keep(s, t, &(as_trace_frame){.name = AS_SYMBOL_UNKNOWN, .context = -1});
    if (!ok)
        return NULL;
    *at = (found){.key = {a, b}, .first = (uint32_t)first, .n = (uint32_t)(s->n_frames - first)};
    s->n_found++;
    return at;
}

/* What threads begin with; main, where what calls it has no names. */
static bool is_root(const assay_trace *t, int frame)
{
    static const char *const roots[] = {"_start",
                                        "main",
                                        "start_thread",
                                        "__libc_start_call_main",
                                        "__libc_start_main",
                                        "_dl_start_user",
                                        "__clone3",
                                        "__clone",
                                        "clone3",
                                        "clone",
                                        "__clone_internal",
                                        "ret_from_fork",
                                        "_dl_start",
                                        "thread_start",
                                        "__thread_start",
                                        "_dl_relocate_static_pie"};
    const char              *name = t->frames[frame].name;
    for (size_t i = 0; i < AS_COUNT(roots); i++)
        if (!strcmp(name, roots[i]))
            return true;
    return !strncmp(name, "__libc_start_main", 17) || !strncmp(name, "__libc_start_call_main", 22);
}

int as_symbols_stack(as_symbols *s, assay_trace *t, pid_t pid, const uint64_t *addresses, size_t n, bool first_is_exact,
                     bool *is_whole)
{
    int    frames[MAX_FRAMES], stack = -1;
    size_t n_frames = 0;
    for (size_t i = 0; i < n; i++) {
        /* A return address is behind the call, which may be the last thing of its function. */
        bool         is_exact = (i == 0 && first_is_exact) || !addresses[i];
        const found *at = find(s, t, pid, is_exact ? addresses[i] : addresses[i] - 1);
        if (!at)
            return -1;
        for (uint32_t j = 0; j < at->n && n_frames < MAX_FRAMES; j++)
            frames[n_frames++] = s->frames[at->first + j];
    }
    if (!n_frames)
        frames[n_frames++] = as_trace_add_frame(t, &(as_trace_frame){.name = AS_SYMBOL_UNKNOWN, .context = -1});
    if (frames[0] < 0)
        return -1;
    if (is_whole)
        *is_whole = is_root(t, frames[n_frames - 1]);
    for (size_t i = n_frames; i-- > 0;) {
        stack = as_trace_add_stack(t, stack, frames[i]);
        if (stack < 0)
            return -1;
    }
    return stack;
}

/* --- Unwinding ------------------------------------------------------------------------------------------------------ */

static rule_slot *rule_slot_of(const as_symbols *s, uint64_t a, uint64_t b)
{
    uint64_t key[2] = {a, b};
    size_t   at = as_hash64(key, sizeof key) & (s->n_rule_slots - 1);
    while (s->rules[at].key[0] && (s->rules[at].key[0] != a || s->rules[at].key[1] != b))
        at = (at + 1) & (s->n_rule_slots - 1);
    return &s->rules[at];
}

static bool rules_grow(as_symbols *s)
{
    if (s->n_rule_slots && 2 * (s->n_rules + 1) <= s->n_rule_slots)
        return true;
    rule_slot *old = s->rules;
    size_t     n_old = s->n_rule_slots, n = n_old ? 2 * n_old : FIRST_SLOTS;
    rule_slot *slots = calloc(n, sizeof *slots);
    if (!slots)
        return false;
    s->rules = slots;
    s->n_rule_slots = n;
    for (size_t i = 0; i < n_old; i++)
        if (old[i].key[0])
            *rule_slot_of(s, old[i].key[0], old[i].key[1]) = old[i];
    free(old);
    return true;
}

/* Each place is asked for once: reading the tables takes microseconds, and a thread is at the same places again and again. */
static as_unwind_rule rule_at(as_symbols *s, process *p, uint64_t address)
{
    const mapping *m = mapping_of(s, p, address);
    if (!m || m->object < 0 || !rules_grow(s))
        return (as_unwind_rule){0};
    uint64_t   offset = address - m->start + m->offset;
    rule_slot *slot = rule_slot_of(s, (uint64_t)m->object + 1, offset);
    if (slot->key[0])
        return slot->rule;
    object *o = &s->objects[m->object];
    if (!o->was_tried)
        object_open(o, p->pid);
    *slot = (rule_slot){.key = {(uint64_t)m->object + 1, offset}};
    s->n_rules++;
    if (o->file && o->reader->rule)
        slot->rule = o->reader->rule(o->file, offset);
    return slot->rule;
}

static bool word_read(const as_thread_state *at, uint64_t address, uint64_t *out)
{
    uint64_t offset = address - at->sp;
    if (address < at->sp || at->n_stack < sizeof *out || offset > at->n_stack - sizeof *out)
        return false;
    memcpy(out, at->stack + offset, sizeof *out);
    return true;
}

/* One step by the rule, or by the frame pointer where the tables say nothing: compiled code has no tables. */
static bool caller_find(const as_unwind_rule *rule, const as_thread_state *copy, bool is_first, uint64_t *ip, uint64_t *sp,
                        uint64_t *fp)
{
    uint64_t cfa, ra = copy->lr, saved = *fp;
    if (rule->is_known) {
        cfa = (rule->cfa_by_fp ? *fp : *sp) + (uint64_t)(int64_t)rule->cfa_offset;
        if (rule->ra_saved ? !word_read(copy, cfa + (uint64_t)(int64_t)rule->ra_offset, &ra) : !is_first)
            return false;
        if (rule->fp_saved && !word_read(copy, cfa + (uint64_t)(int64_t)rule->fp_offset, &saved))
            return false;
    } else {
        cfa = *fp + 2 * sizeof(uint64_t);
        if (!word_read(copy, *fp, &saved) || !word_read(copy, *fp + sizeof(uint64_t), &ra))
            return false;
    }
#ifdef __aarch64__
    ra &= ((uint64_t)1 << 48) - 1; /* the bits above may be a signature of the address */
#endif
    bool moves = cfa > *sp || (is_first && cfa == *sp); /* a leaf may keep all in registers */
    *ip = ra, *sp = cfa, *fp = saved;
    return moves && ra;
}

size_t as_symbols_unwind(as_symbols *s, pid_t pid, const as_thread_state *copy, uint64_t *addresses, size_t max, bool *is_whole)
{
    uint64_t ip = copy->ip, sp = copy->sp, fp = copy->fp;
    process *p = process_take(s, pid);
    size_t   n = 0;
    *is_whole = false;
    while (p && n < max) {
        addresses[n++] = ip;
        as_unwind_rule rule = rule_at(s, p, n == 1 ? ip : ip - 1);
        *is_whole = rule.is_known && rule.is_end;
        if (*is_whole || !caller_find(&rule, copy, n == 1, &ip, &sp, &fp))
            break;
    }
    return n;
}
