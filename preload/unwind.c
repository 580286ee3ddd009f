/* unwind.c - the callers of a place in the code, by the unwind tables (.eh_frame) that every program of the usual compilers carries.
 *
 * What the tables say of one address is worked out once and kept: a rule (where the caller's frame is, where its frame pointer and the
 * return address were saved) in a cache by address.  So a frame of a known path costs one look into the cache and two loads.  libunwind
 * does the same in its fast path; this one needs no lock, no context of all registers and no memory of its own, is safe
 * in a signal handler, and makes the hash of the stack while it walks.
 *
 * Known: frames relative to the stack or the frame pointer, realigned stacks, entries of the PLT.  Not known: frames of
 * signal handlers, and other expressions: the walk ends there. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "preload/preload.h"

#if defined(__x86_64__)
enum { REG_SP_ = 7, REG_FP_ = 6, REG_RA_ = 16 };
#elif defined(__aarch64__)
enum { REG_SP_ = 31, REG_FP_ = 29, REG_RA_ = 30 };
#endif

typedef enum rule_kind { RULE_NONE = 0, RULE_SP, RULE_FP, RULE_FP_LOAD, RULE_END } rule_kind;

/* Offsets are from the frame's end (CFA).  16 bytes, so that the index of one is a shift. */
typedef struct rule {
    int32_t cfa;    /* RULE_SP: above the stack pointer; RULE_FP: above the frame pointer; RULE_FP_LOAD: is stored there */
    int32_t fp, ra; /* where these were saved; 0: they still are in their registers */
    int32_t kind;
} rule;

enum { MAX_RULES = 8192, CACHE_BITS = 15 };
static rule     rules[MAX_RULES];
static uint32_t n_rules;
static int      rules_lock;              /* never waited for */
static uint64_t cache[1u << CACHE_BITS]; /* address << 16 | rule + 1 */

/* --- Reading the tables --- */

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static uint64_t read_n(bytes *b, unsigned n)
{
    uint64_t v = 0;
    if ((size_t)(b->end - b->at) < n) {
        b->at = b->end;
        return 0;
    }
    memcpy(&v, b->at, n); /* little-endian machines only */
    b->at += n;
    return v;
}

static uint64_t read_leb(bytes *b, bool is_signed)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t  c = 0x80;
    while (b->at < b->end && (c & 0x80)) {
        c = *b->at++;
        if (shift < 64)
            v |= (uint64_t)(c & 0x7f) << shift;
        shift += 7;
    }
    if (is_signed && shift < 64 && (c & 0x40))
        v |= ~UINT64_C(0) << shift;
    return v;
}
static uint64_t uleb(bytes *b) { return read_leb(b, false); }
static int64_t  sleb(bytes *b) { return (int64_t)read_leb(b, true); }

/* A pointer as the encoding says: absolute or relative to itself; false: another encoding. */
static bool read_pointer(bytes *b, uint8_t encoding, uint64_t *out)
{
    uint64_t here = (uint64_t)(uintptr_t)b->at, v;
    switch (encoding & 0x0f) {
    case 0x00: v = read_n(b, 8); break;
    case 0x01: v = uleb(b); break;
    case 0x02: v = read_n(b, 2); break;
    case 0x03: v = read_n(b, 4); break;
    case 0x04: v = read_n(b, 8); break;
    case 0x09: v = (uint64_t)sleb(b); break;
    case 0x0a: v = (uint64_t)(int16_t)read_n(b, 2); break;
    case 0x0b: v = (uint64_t)(int32_t)read_n(b, 4); break;
    case 0x0c: v = read_n(b, 8); break;
    default: return false;
    }
    if ((encoding & 0x70) == 0x10)
        v += here;
    else if (encoding & 0x70)
        return false;
    *out = v;
    return true;
}

typedef struct frame_info {
    uint64_t begin, size;
    uint64_t code_unit;
    int64_t  data_unit;
    unsigned ra;
    bool     is_signal;
    bytes    first, own; /* programs: of the common part, and of this function */
} frame_info;

static bool common_read(const uint8_t *at, frame_info *f, uint8_t *encoding, bool *has_data)
{
    uint32_t length;
    memcpy(&length, at, 4);
    if (!length || length == UINT32_MAX)
        return false;
    bytes       b = {at + 4, at + 4 + length};
    const char *letters;
    if (read_n(&b, 4) != 0) /* the mark of a common part */
        return false;
    uint64_t version = read_n(&b, 1);
    letters = (const char *)b.at;
    while (b.at < b.end && *b.at)
        b.at++;
    b.at++;
    if ((version != 1 && version != 3) || b.at >= b.end)
        return false;
    f->code_unit = uleb(&b);
    f->data_unit = sleb(&b);
    f->ra = (unsigned)(version == 1 ? read_n(&b, 1) : uleb(&b));
    *encoding = 0;
    *has_data = letters[0] == 'z';
    if (*has_data) {
        uint64_t n = uleb(&b);
        if (n > (uint64_t)(b.end - b.at))
            return false;
        bytes data = {b.at, b.at + n};
        b.at += n;
        for (const char *c = letters + 1; *c; c++) {
            uint64_t ignored;
            uint8_t  e;
            switch (*c) {
            case 'R': *encoding = (uint8_t)read_n(&data, 1); break;
            case 'L': read_n(&data, 1); break;
            case 'P':
                e = (uint8_t)read_n(&data, 1);
                if (!read_pointer(&data, e & 0x0f, &ignored))
                    return false;
                break;
            case 'S': f->is_signal = true; break;
            case 'B': break; /* signed return addresses: the bits are taken off below */
            default: return false;
            }
        }
    } else if (letters[0])
        return false;
    f->first = b;
    return true;
}

static bool info_read(const uint8_t *at, frame_info *f)
{
    uint32_t length, back;
    memcpy(&length, at, 4);
    if (!length || length == UINT32_MAX)
        return false;
    bytes   b = {at + 4, at + 4 + length};
    uint8_t encoding;
    bool    has_data;
    memcpy(&back, b.at, 4);
    *f = (frame_info){0};
    if (!back || !common_read(b.at - back, f, &encoding, &has_data))
        return false;
    b.at += 4;
    if (!read_pointer(&b, encoding, &f->begin) || !read_pointer(&b, encoding & 0x0f, &f->size))
        return false;
    if (has_data) {
        uint64_t n = uleb(&b);
        if (n > (uint64_t)(b.end - b.at))
            return false;
        b.at += n;
    }
    f->own = b;
    return true;
}

/* The table of the module that holds the address: .eh_frame_hdr. */
static const uint8_t *table_find(uint64_t address)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
    struct dl_find_object found;
    if (!_dl_find_object((void *)(uintptr_t)address, &found))
        return found.dlfo_eh_frame;
#else
    (void)address;
#endif
    return NULL;
}

static bool info_find(uint64_t address, frame_info *f)
{
    const uint8_t *table = table_find(address);
    if (!table || table[0] != 1 || table[2] != 0x03 || table[3] != 0x3b) /* sorted pairs of 32-bit offsets, as all linkers write */
        return false;
    bytes    b = {table + 4, table + 24};
    uint64_t ignored;
    if (!read_pointer(&b, table[1], &ignored))
        return false;
    uint32_t       n = (uint32_t)read_n(&b, 4);
    const int32_t *pairs = (const int32_t *)(const void *)b.at;
    int64_t        key = (int64_t)(address - (uint64_t)(uintptr_t)table);
    uint32_t       low = 0, high = n; /* the last that begins at or before the address */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (pairs[2 * middle] <= key)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || !info_read(table + pairs[2 * (low - 1) + 1], f))
        return false;
    return address >= f->begin && address - f->begin < f->size;
}

/* --- What they say of an address --- */

typedef struct row {
    unsigned cfa_reg;
    int64_t  cfa;
    bytes    cfa_expression; /* at NULL: a register and an offset */
    int64_t  fp, ra;         /* saved at; 0: not saved */
    bool     ra_undefined, is_unknown;
} row;

static void saved_at(row *r, const frame_info *f, uint64_t reg, int64_t offset)
{
    if (reg == REG_FP_)
        r->fp = offset;
    if (reg == f->ra)
        r->ra = offset;
}

static void row_run(const frame_info *f, bytes program, uint64_t address, row *r, const row *start)
{
    row      kept[8];
    unsigned n_kept = 0;
    uint64_t at = f->begin, reg;
    while (program.at < program.end && at <= address && !r->is_unknown) {
        uint8_t op = *program.at++, low = op & 0x3f;
        switch (op >> 6) {
        case 1: at += low * f->code_unit; continue;
        case 2: saved_at(r, f, low, (int64_t)uleb(&program) * f->data_unit); continue;
        case 3: saved_at(r, f, low, low == REG_FP_ ? start->fp : start->ra); continue;
        default: break;
        }
        switch (op) {
        case 0x00: break;
        case 0x01: r->is_unknown = true; break; /* set_loc: no compiler of today writes it */
        case 0x02: at += read_n(&program, 1) * f->code_unit; break;
        case 0x03: at += read_n(&program, 2) * f->code_unit; break;
        case 0x04: at += read_n(&program, 4) * f->code_unit; break;
        case 0x05: reg = uleb(&program), saved_at(r, f, reg, (int64_t)uleb(&program) * f->data_unit); break;
        case 0x06: reg = uleb(&program), saved_at(r, f, reg, reg == REG_FP_ ? start->fp : start->ra); break;
        case 0x07: /* undefined */
            reg = uleb(&program);
            if (reg == f->ra)
                r->ra_undefined = true;
            break;
        case 0x08: saved_at(r, f, uleb(&program), 0); break;          /* same value */
        case 0x09: reg = uleb(&program), (void)uleb(&program); break; /* in another register: of ours, none ever is */
        case 0x0a:
            if (n_kept < 8)
                kept[n_kept++] = *r;
            else
                r->is_unknown = true;
            break;
        case 0x0b:
            if (n_kept)
                *r = kept[--n_kept];
            break;
        case 0x0c: r->cfa_reg = (unsigned)uleb(&program), r->cfa = (int64_t)uleb(&program), r->cfa_expression.at = NULL; break;
        case 0x0d: r->cfa_reg = (unsigned)uleb(&program), r->cfa_expression.at = NULL; break;
        case 0x0e: r->cfa = (int64_t)uleb(&program); break;
        case 0x0f: {
            uint64_t n = uleb(&program);
            r->cfa_expression = (bytes){program.at, program.at + n};
            program.at += n;
            break;
        }
        case 0x10:
        case 0x16: { /* saved where an expression says */
            reg = uleb(&program);
            uint64_t n = uleb(&program);
            bytes    e = {program.at, program.at + n};
            program.at += n;
            /* Frames with a realigned stack save the frame pointer right where it points to. */
            if (reg == REG_FP_ && n >= 2 && op == 0x10 && *e.at == 0x70 + REG_FP_) {
                e.at++;
                r->fp = sleb(&e) == 0 ? INT64_MAX : r->fp;
            } else if (reg == REG_FP_ || reg == f->ra)
                r->is_unknown = true;
            break;
        }
        case 0x11: reg = uleb(&program), saved_at(r, f, reg, sleb(&program) * f->data_unit); break;
        case 0x12:
            r->cfa_reg = (unsigned)uleb(&program), r->cfa = sleb(&program) * f->data_unit, r->cfa_expression.at = NULL;
            break;
        case 0x13: r->cfa = sleb(&program) * f->data_unit; break;
        case 0x14: reg = uleb(&program), (void)uleb(&program); break;
        case 0x15: reg = uleb(&program), (void)sleb(&program); break;
        case 0x2d: break; /* arm64: the return address is signed from here on */
        case 0x2e: (void)uleb(&program); break;
        default: r->is_unknown = true; break;
        }
    }
}

#if defined(__x86_64__)
/* The one expression that linkers write for the entries of a PLT: 8 above the stack pointer, and 8 more behind the push. */
static bool plt_read(bytes e, uint64_t address, int32_t *cfa)
{
    static const uint8_t head[] = {0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a}, tail[] = {0x2a, 0x33, 0x24, 0x22};
    if (e.end - e.at != 11 || memcmp(e.at, head, sizeof head) || memcmp(e.at + 7, tail, sizeof tail) || e.at[6] < 0x30 ||
        e.at[6] > 0x4f)
        return false;
    *cfa = 8 + ((address & 15) >= (uint64_t)(e.at[6] - 0x30) ? 8 : 0);
    return true;
}
#endif

static bool fits(int64_t v) { return v >= INT32_MIN / 2 && v <= INT32_MAX / 2; }

static rule rule_make(uint64_t address)
{
    frame_info f;
    row        start = {0}, r;
    rule       out = {0};
    if (!info_find(address, &f) || f.is_signal)
        return out;
    row_run(&f, f.first, UINT64_MAX, &start, &(row){0});
    r = start;
    row_run(&f, f.own, address, &r, &start);
    if (r.ra_undefined)
        return (rule){.kind = RULE_END};
    if (r.is_unknown || !fits(r.cfa) || !fits(r.ra) || (r.fp != INT64_MAX && !fits(r.fp)))
        return out;
    out.fp = r.fp == INT64_MAX ? INT32_MAX : (int32_t)r.fp;
    out.ra = (int32_t)r.ra;
    if (r.cfa_expression.at) {
        bytes   e = r.cfa_expression;
        int64_t offset;
        if (e.at < e.end && *e.at == 0x70 + REG_FP_) { /* frame pointer + offset, loaded: a realigned stack */
            e.at++;
            offset = sleb(&e);
            if (e.end - e.at == 1 && *e.at == 0x06 && fits(offset))
                out.kind = RULE_FP_LOAD, out.cfa = (int32_t)offset;
        }
#if defined(__x86_64__)
        else if (plt_read(r.cfa_expression, address, &out.cfa))
            out.kind = RULE_SP;
#endif
        return out;
    }
    out.cfa = (int32_t)r.cfa;
    out.kind = r.cfa_reg == REG_SP_ ? RULE_SP : r.cfa_reg == REG_FP_ ? RULE_FP : RULE_NONE;
    return out;
}

/* --- The cache --- */

static uint32_t slot_of(uint64_t address) { return (uint32_t)((address * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - CACHE_BITS)); }

static __attribute__((noinline)) const rule *rule_learn(uint64_t address, rule *own)
{
    *own = rule_make(address);
    as_pl_module_note(address);
    if (__atomic_exchange_n(&rules_lock, 1, __ATOMIC_ACQUIRE))
        return own; /* another thread, or the one that this handler interrupted: learnt again next time */
    uint32_t at = 0;
    while (at < n_rules && memcmp(&rules[at], own, sizeof *own))
        at++;
    if (at == n_rules && n_rules < MAX_RULES)
        rules[n_rules++] = *own;
    if (at < n_rules)
        __atomic_store_n(&cache[slot_of(address)], address << 16 | (at + 1), __ATOMIC_RELEASE);
    __atomic_store_n(&rules_lock, 0, __ATOMIC_RELEASE);
    return own;
}

void as_pl_walk_forget(void)
{
    for (size_t i = 0; i < sizeof cache / sizeof *cache; i++)
        __atomic_store_n(&cache[i], 0, __ATOMIC_RELAXED);
}

uint64_t as_pl_stack_end(void)
{
    pthread_attr_t attr;
    void          *low;
    size_t         size;
    uint64_t       end = 0;
    if (pthread_getattr_np(pthread_self(), &attr))
        return 0;
    if (!pthread_attr_getstack(&attr, &low, &size))
        end = (uint64_t)(uintptr_t)low + size;
    pthread_attr_destroy(&attr);
    return end;
}

/* --- The walk --- */

static inline uint64_t load(uint64_t at) { return *(const volatile uint64_t *)(uintptr_t)at; }

static inline uint64_t unsigned_address(uint64_t a)
{
#if defined(__aarch64__)
    return a & ((UINT64_C(1) << 48) - 1);
#else
    return a;
#endif
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9fb21c651e98df25);
    return h ^ h >> 29;
}

unsigned as_pl_walk(as_pl_place at, bool exact, uint64_t stack_end, uint64_t *out, unsigned max, uint64_t *hash, bool *is_cut)
{
    unsigned n = 0;
    uint64_t h = UINT64_C(0x51ed270b), first_sp = at.sp;
    bool     by_guess = false; /* the frame pointer may be anything: only what lies in the stack is read */
    *is_cut = false;
    while (n < max) {
        out[n++] = at.pc;
        h = mix(h, at.pc);
        uint64_t    key = exact && n == 1 ? at.pc : at.pc - 1;
        uint64_t    entry = __atomic_load_n(&cache[slot_of(key)], __ATOMIC_ACQUIRE);
        rule        own;
        const rule *r = LIKELY(entry >> 16 == key && (entry & 0xffff)) ? &rules[(entry & 0xffff) - 1] : rule_learn(key, &own);
        uint64_t    cfa;
        int32_t     fp_at = r->fp, ra_at = r->ra;
        if (LIKELY(r->kind == RULE_SP))
            cfa = at.sp + (uint64_t)(int64_t)r->cfa;
        else if (r->kind == RULE_END)
            break;
        else if (r->kind == RULE_NONE || by_guess) {
            /* No table: try the frame pointer, as far as the stack is known. */
            if (!stack_end || at.fp < at.sp || at.fp < first_sp || at.fp > stack_end - 16 || (at.fp & 7))
                break;
            if (r->kind == RULE_FP)
                cfa = at.fp + (uint64_t)(int64_t)r->cfa;
            else if (r->kind == RULE_NONE)
                by_guess = true, cfa = at.fp + 16, fp_at = -16, ra_at = -8;
            else
                break;
        } else if (r->kind == RULE_FP)
            cfa = at.fp + (uint64_t)(int64_t)r->cfa;
        else
            cfa = load(at.fp + (uint64_t)(int64_t)r->cfa);
        /* A frame without a size is a leaf on arm64, whose return address is in its register. */
        if (cfa < at.sp || (cfa & 7) || (by_guess && (cfa > stack_end || cfa == at.sp)))
            break;
        uint64_t ra;
        if (ra_at)
            ra = load(cfa + (uint64_t)(int64_t)ra_at);
        else if (n == 1 && at.lr)
            ra = at.lr;
        else
            break;
        if (fp_at)
            at.fp = load(fp_at == INT32_MAX ? at.fp : cfa + (uint64_t)(int64_t)fp_at);
        at.sp = cfa;
        at.pc = unsigned_address(ra);
        if (at.pc < 4096)
            break;
        *is_cut = n == max;
    }
    if (hash)
        *hash = h ? h : 1;
    return n;
}
