/* sy_dwarf.c - names, files, lines, inlined functions and unwind rules of a program or library, by elfutils' libdw. */
/* needs: libdw */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "record/symbols.h"

enum { MAX_NAME = 300, MAX_DEPTH = 200, MAX_UNIT_ENTRIES = 1 << 20 };

#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7 };
#else /* aarch64 */
enum { REG_FP = 29, REG_SP = 31 };
#endif

/* A function, or one that was inlined into the entry before it of a smaller depth. */
typedef struct entry {
    const char *name, *file;
    int         line, depth;
    uint32_t    first_range, n_ranges;
} entry;

typedef struct range {
    Dwarf_Addr start, end;
    uint32_t   entry;
} range;

/* A compilation unit that was walked once. */
typedef struct unit {
    Dwarf_Off offset;
    entry    *entries;
    size_t    n_entries, cap_entries;
    range    *ranges; /* in the order of the entries */
    size_t    n_ranges, cap_ranges;
    range    *functions; /* of depth 0 alone, by start */
    size_t    n_functions;
} unit;

/* Where a compilation unit is, for files that have no table of that: clang writes none. */
typedef struct place {
    Dwarf_Addr start, end, bias;
    Dwarf_Die  die;
} place;

typedef struct file {
    Dwfl        *dwfl;
    Dwfl_Module *module;
    as_arena     names;
    unit        *units;
    size_t       n_units, cap_units;
    place       *places; /* by start */
    size_t       n_places, cap_places;
    bool         was_placed;
} file;

static bool grow(void **items, size_t *cap, size_t n, size_t each)
{
    if (n <= *cap)
        return true;
    size_t want = *cap ? 2 * *cap : 16;
    void  *moved = realloc(*items, want * each);
    if (!moved)
        return false;
    *items = moved;
    *cap = want;
    return true;
}

/* --- Names --------------------------------------------------------------------------------------------------- */

typedef char *(*demangler)(const char *, char *, size_t *, int *);

/* The library of C++ has one; it is taken where it is there, and names stay as they are where it is not. */
static demangler demangler_get(void)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    static demangler         found;
    static bool              was_tried;
    for (size_t i = 0; !was_tried && !found && i < AS_COUNT(libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&found, &symbol, sizeof found);
    }
    was_tried = true;
    return found;
}

static const char *name_keep(file *f, const char *name)
{
    char     *plain = NULL;
    int       status = -1;
    demangler demangle = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') ? demangler_get() : NULL;
    if (demangle)
        plain = demangle(name, NULL, NULL, &status);
    const char *text = plain && !status ? plain : name;
    size_t      n = strlen(text);
    const char *kept = n > MAX_NAME ? as_arena_printf(&f->names, "%.*s...", MAX_NAME - 3, text) : as_arena_text(&f->names, text);
    free(plain);
    return kept ? kept : AS_SYMBOL_UNKNOWN;
}

static const char *die_name(file *f, Dwarf_Die *die)
{
    Dwarf_Attribute memory;
    const char     *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &memory) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &memory))
        name = dwarf_formstring(&memory);
    if (!name && dwarf_attr_integrate(die, DW_AT_name, &memory))
        name = dwarf_formstring(&memory);
    return name ? name_keep(f, name) : NULL;
}

/* --- Units ------------------------------------------------------------------------------------------------------ */

/* Little debug information (-g1) has no declarations: the line of the first instruction must do.  NULL: not known. */
static const char *first_line(Dwarf_Die *die, Dwarf_Addr start, int *line)
{
    Dwarf_Die   memory, *cu = dwarf_diecu(die, &memory, NULL, NULL);
    Dwarf_Line *at = cu ? dwarf_getsrc_die(cu, start) : NULL;
    if (!at || dwarf_lineno(at, line))
        return NULL;
    return dwarf_linesrc(at, NULL, NULL);
}

static bool entry_add(file *f, unit *u, Dwarf_Die *die, int depth)
{
    Dwarf_Addr base, start, end;
    ptrdiff_t  at = 0;
    size_t     first = u->n_ranges;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        if (start >= end)
            continue;
        if (!grow((void **)&u->ranges, &u->cap_ranges, u->n_ranges + 1, sizeof *u->ranges))
            return false;
        u->ranges[u->n_ranges++] = (range){start, end, (uint32_t)u->n_entries};
    }
    if (u->n_ranges == first)
        return true; /* a declaration, or the abstract form of inlined ones */
    int         line = 0;
    const char *source = dwarf_decl_file(die), *name = die_name(f, die);
    if (!name || u->n_entries >= MAX_UNIT_ENTRIES ||
        !grow((void **)&u->entries, &u->cap_entries, u->n_entries + 1, sizeof *u->entries)) {
        u->n_ranges = first;
        return name == NULL;
    }
    dwarf_decl_line(die, &line);
    if (!source)
        source = first_line(die, u->ranges[first].start, &line);
    source = source ? as_arena_text(&f->names, source) : "";
    u->entries[u->n_entries++] = (entry){.name = name,
                                         .file = source ? source : "",
                                         .line = line,
                                         .depth = depth,
                                         .first_range = (uint32_t)first,
                                         .n_ranges = (uint32_t)(u->n_ranges - first)};
    return true;
}

/* Functions, and within them those that were inlined, outer before inner. */
static bool walk(file *f, unit *u, Dwarf_Die *parent, int depth, int level)
{
    Dwarf_Die die;
    if (level > MAX_DEPTH || dwarf_child(parent, &die))
        return true;
    do {
        int    tag = dwarf_tag(&die), inside = depth;
        size_t before = u->n_entries;
        if (tag == DW_TAG_subprogram || (tag == DW_TAG_inlined_subroutine && depth > 0)) {
            if (!entry_add(f, u, &die, tag == DW_TAG_subprogram ? 0 : depth))
                return false;
            if (u->n_entries == before && tag == DW_TAG_subprogram)
                continue;
            inside = tag == DW_TAG_subprogram ? 1 : depth + (u->n_entries > before);
        } else if (tag != DW_TAG_lexical_block && tag != DW_TAG_namespace && tag != DW_TAG_class_type &&
                   tag != DW_TAG_structure_type && tag != DW_TAG_module) {
            continue;
        }
        if (!walk(f, u, &die, inside, level + 1))
            return false;
    } while (!dwarf_siblingof(&die, &die));
    return true;
}

static int by_start(const void *a, const void *b)
{
    const range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static const unit *unit_take(file *f, Dwarf_Die *die)
{
    Dwarf_Off offset = dwarf_dieoffset(die);
    for (size_t i = 0; i < f->n_units; i++)
        if (f->units[i].offset == offset)
            return &f->units[i];
    if (!grow((void **)&f->units, &f->cap_units, f->n_units + 1, sizeof *f->units))
        return NULL;
    unit *u = &f->units[f->n_units++];
    *u = (unit){.offset = offset};
    walk(f, u, die, 0, 0); /* what was found before memory ran out is true all the same */
    u->functions = malloc((u->n_ranges + 1) * sizeof *u->functions);
    for (size_t i = 0; u->functions && i < u->n_ranges; i++)
        if (u->entries[u->ranges[i].entry].depth == 0)
            u->functions[u->n_functions++] = u->ranges[i];
    if (u->functions)
        qsort(u->functions, u->n_functions, sizeof *u->functions, by_start);
    return u;
}

static bool entry_has(const unit *u, const entry *e, Dwarf_Addr address)
{
    for (uint32_t i = 0; i < e->n_ranges; i++)
        if (u->ranges[e->first_range + i].start <= address && address < u->ranges[e->first_range + i].end)
            return true;
    return false;
}

/* The function of the unit at the address and what is inlined in it there, innermost first. */
static int unit_find(const unit *u, Dwarf_Addr address, as_symbol *out)
{
    size_t lo = 0, hi = u->n_functions;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (u->functions[middle].start <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo || address >= u->functions[lo - 1].end)
        return 0;
    const entry *chain[AS_MAX_INLINED];
    int          n = 0;
    size_t       at = u->functions[lo - 1].entry;
    chain[n++] = &u->entries[at];
    for (size_t i = at + 1; i < u->n_entries && u->entries[i].depth > 0 && n < AS_MAX_INLINED; i++)
        if (u->entries[i].depth == chain[n - 1]->depth + 1 && entry_has(u, &u->entries[i], address))
            chain[n++] = &u->entries[i];
    for (int i = 0; i < n; i++) {
        const entry *e = chain[n - 1 - i];
        out[i] = (as_symbol){.name = e->name, .file = e->file, .line = e->line, .inlined = e->depth > 0};
    }
    return n;
}

/* --- Files ------------------------------------------------------------------------------------------------------ */

/* The pages of shared code that the kernel gives every process have no file: ours are the same. */
static int vdso_open(void)
{
#ifdef AT_SYSINFO_EHDR
    const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    if (!image)
        return -1;
    Elf64_Ehdr head;
    memcpy(&head, image, sizeof head);
    size_t n = head.e_shoff + (size_t)head.e_shnum * head.e_shentsize;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) || n > 1 << 20)
        return -1;
    int fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, image, n) != (ssize_t)n) {
        close(fd);
        fd = -1;
    }
    return fd;
#else
    return -1;
#endif
}

static void dwarf_close(void *opened)
{
    file *f = opened;
    for (size_t i = 0; i < f->n_units; i++) {
        free(f->units[i].entries);
        free(f->units[i].ranges);
        free(f->units[i].functions);
    }
    free(f->units);
    free(f->places);
    if (f->dwfl)
        dwfl_end(f->dwfl);
    as_arena_drop(&f->names);
    free(f);
}

static void *dwarf_open(const char *path)
{
    static char                *where; /* the standard places: beside the file, and /usr/lib/debug */
    static const Dwfl_Callbacks callbacks = {
        .find_debuginfo = dwfl_standard_find_debuginfo, .section_address = dwfl_offline_section_address, .debuginfo_path = &where};
    bool  is_vdso = !strcmp(path, "[vdso]");
    int   fd = is_vdso ? vdso_open() : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    file *f = fd >= 0 ? calloc(1, sizeof *f) : NULL;
    if (f)
        f->dwfl = dwfl_begin(&callbacks);
    if (f && f->dwfl) {
        f->module = dwfl_report_offline(f->dwfl, path, path, fd);
        fd = f->module ? -1 : fd; /* it is the module's now */
        dwfl_report_end(f->dwfl, NULL, NULL);
    }
    if (fd >= 0)
        close(fd);
    if (f && !f->module) {
        dwarf_close(f);
        f = NULL;
    }
    return f;
}

/* The address in the module of a place in its file. */
static bool address_of(const file *f, uint64_t offset, Dwarf_Addr *out)
{
    GElf_Addr bias;
    size_t    n;
    Elf      *elf = dwfl_module_getelf(f->module, &bias);
    if (!elf || elf_getphdrnum(elf, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr p;
        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && offset >= p.p_offset && offset - p.p_offset < p.p_filesz) {
            *out = offset - p.p_offset + p.p_vaddr + bias;
            return true;
        }
    }
    return false;
}

static int by_place(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void places_read(file *f)
{
    Dwarf_Addr bias, base, start, end;
    f->was_placed = true;
    for (Dwarf_Die *die = NULL; (die = dwfl_module_nextcu(f->module, die, &bias));)
        for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
            if (start < end && grow((void **)&f->places, &f->cap_places, f->n_places + 1, sizeof *f->places))
                f->places[f->n_places++] = (place){start + bias, end + bias, bias, *die};
    if (f->n_places)
        qsort(f->places, f->n_places, sizeof *f->places, by_place);
}

/* The unit of an address in the module; NULL: none is known. */
static Dwarf_Die *unit_at(file *f, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *die = dwfl_module_addrdie(f->module, address, bias);
    if (die)
        return die;
    if (!f->was_placed)
        places_read(f);
    size_t lo = 0, hi = f->n_places;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (f->places[middle].start <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo || address >= f->places[lo - 1].end)
        return NULL;
    *bias = f->places[lo - 1].bias;
    return &f->places[lo - 1].die;
}

static int dwarf_find(void *opened, uint64_t offset, as_symbol *out)
{
    file      *f = opened;
    Dwarf_Addr address, bias;
    GElf_Sym   symbol;
    GElf_Off   within;
    if (!address_of(f, offset, &address))
        return 0;
    Dwarf_Die  *die = unit_at(f, address, &bias);
    const unit *u = die ? unit_take(f, die) : NULL;
    int         n = u ? unit_find(u, address - bias, out) : 0;
    if (n)
        return n;
    const char *name = dwfl_module_addrinfo(f->module, address, &within, &symbol, NULL, NULL, NULL);
    if (!name || !*name)
        return 0;
    /* Lines without functions: little debug information (-g1), or assembly. */
    int         line = 0;
    Dwarf_Line *at = die ? dwarf_getsrc_die(die, address - within - bias) : NULL;
    const char *source = at && !dwarf_lineno(at, &line) ? dwarf_linesrc(at, NULL, NULL) : NULL;
    source = source ? as_arena_text(&f->names, source) : NULL;
    *out = (as_symbol){.name = name_keep(f, name), .file = source ? source : "", .line = source ? line : 0};
    return 1;
}

/* --- Unwinding --------------------------------------------------------------------------------------------------- */

/* CFA + number, or nothing else. */
static bool is_saved(const Dwarf_Op *ops, size_t n, int32_t *offset)
{
    if (!n || n > 2 || ops[0].atom != DW_OP_call_frame_cfa || (n == 2 && ops[1].atom != DW_OP_plus_uconst))
        return false;
    *offset = n == 2 ? (int32_t)ops[1].number : 0;
    return true;
}

static bool cfa_read(Dwarf_Frame *frame, as_unwind_rule *rule)
{
    Dwarf_Op *ops;
    size_t    n;
    if (dwarf_frame_cfa(frame, &ops, &n) || n != 1)
        return false;
    uint64_t reg = ops[0].atom == DW_OP_bregx ? ops[0].number : (uint64_t)ops[0].atom - DW_OP_breg0;
    rule->cfa_offset = (int32_t)(ops[0].atom == DW_OP_bregx ? ops[0].number2 : ops[0].number);
    rule->cfa_by_fp = reg == REG_FP;
    return reg == REG_FP || reg == REG_SP;
}

static as_unwind_rule frame_rule(Dwarf_Frame *frame)
{
    as_unwind_rule rule = {0};
    Dwarf_Op       memory[3], *ops;
    Dwarf_Addr     start, end;
    size_t         n;
    bool           is_signal;
    int            ra = dwarf_frame_info(frame, &start, &end, &is_signal);
    if (ra < 0 || is_signal || !cfa_read(frame, &rule) || dwarf_frame_register(frame, ra, memory, &ops, &n))
        return rule;
    rule.is_end = !n && ops; /* its caller is undefined, which is how the first function says that it is */
    rule.ra_saved = n > 0;
    if (n && !is_saved(ops, n, &rule.ra_offset))
        return rule;
    if (dwarf_frame_register(frame, REG_FP, memory, &ops, &n))
        return rule;
    rule.fp_saved = n && is_saved(ops, n, &rule.fp_offset);
    rule.is_known = !n || rule.fp_saved;
    return rule;
}

static as_unwind_rule dwarf_rule(void *opened, uint64_t offset)
{
    file          *f = opened;
    Dwarf_Addr     address, bias = 0;
    Dwarf_Frame   *frame = NULL;
    as_unwind_rule rule = {0};
    if (!address_of(f, offset, &address))
        return rule;
    Dwarf_CFI *cfi = dwfl_module_eh_cfi(f->module, &bias);
    if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame)) {
        cfi = dwfl_module_dwarf_cfi(f->module, &bias);
        if (!cfi || dwarf_cfi_addrframe(cfi, address - bias, &frame))
            return rule;
    }
    rule = frame_rule(frame);
    free(frame);
    return rule;
}

const as_symbol_reader as_sy_dwarf = {
    .name = "dwarf", .rank = 10, .open = dwarf_open, .close = dwarf_close, .find = dwarf_find, .rule = dwarf_rule};
