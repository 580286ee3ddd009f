/* names.c - shortens a set of names so that each still differs from the others. */
#include <string.h>

#include "base/env.h"
#include "report/words.h"

/* --- Are they different? ------------------------------------------------------------------------------------- */

/* Finds the first name with the same text; open addressing, slots hold an index + 1. */
typedef struct lookup {
    size_t *slots, n_slots;
} lookup;

static bool lookup_take(as_arena *arena, size_t n, lookup *out)
{
    for (out->n_slots = 16; out->n_slots < 2 * n;)
        out->n_slots *= 2;
    return (out->slots = AS_TAKE(arena, size_t, out->n_slots)) != NULL;
}

static void lookup_clear(lookup *x) { memset(x->slots, 0, x->n_slots * sizeof *x->slots); }

static size_t lookup_first(lookup *x, const char *const *names, size_t i)
{
    size_t mask = x->n_slots - 1;
    for (size_t at = (size_t)as_hash64(names[i], strlen(names[i])) & mask;; at = (at + 1) & mask) {
        if (!x->slots[at])
            x->slots[at] = i + 1;
        if (!strcmp(names[x->slots[at] - 1], names[i]))
            return x->slots[at] - 1;
    }
}

typedef struct fit {
    as_arena          *arena;
    const char *const *names;
    const char       **cut;
    size_t             n;
    int                columns;
    lookup             longs, shorts;
    size_t            *same, *first; /* the first name with the same text, uncut and cut */
    bool               failed;
} fit;

/* Marks names that look the same; returns how many look like a different name. */
static size_t clashes(fit *f)
{
    size_t n = 0;
    lookup_clear(&f->shorts);
    for (size_t i = 0; i < f->n; i++) {
        f->first[i] = lookup_first(&f->shorts, f->cut, i);
        n += f->same[f->first[i]] != f->same[i];
    }
    return n;
}

/* --- Ways to cut ------------------------------------------------------------------------------------------------ */

/* Where the last characters, this many of them, begin. */
static const char *tail_of(const char *text, int columns)
{
    const char *at = text + strlen(text);
    while (at > text && columns > 0)
        columns -= ((unsigned char)*--at & 0xc0) != 0x80;
    return at;
}

static const char *keep(fit *f, const char *text)
{
    f->failed |= !text;
    return text ? text : "";
}

/* "…1.conv2"; starts at a part of the path if one begins nearby. */
static const char *cut_left(fit *f, const char *name, size_t shared)
{
    const char *tail = tail_of(name, f->columns - 1);
    size_t      near = strcspn(tail, "./");
    (void)shared;
    if (tail[near] && as_text_columns(tail) - as_text_columns(tail + near) <= f->columns / 4)
        tail += near + 1;
    return keep(f, as_arena_printf(f->arena, "…%s", tail));
}

static const char *cut_left_exactly(fit *f, const char *name, size_t shared)
{
    (void)shared;
    return keep(f, as_arena_printf(f->arena, "…%s", tail_of(name, f->columns - 1)));
}

static const char *cut_middle(fit *f, const char *name, size_t shared)
{
    (void)shared;
    return keep(f, as_name_cut(f->arena, name, f->columns));
}

/* Starts where they begin to differ. */
static const char *cut_shared(fit *f, const char *name, size_t shared)
{
    const char *rest = name + shared;
    if (as_text_columns(rest) < f->columns)
        rest = tail_of(name, f->columns - 1);
    return keep(f, as_text_cut(f->arena, keep(f, as_arena_printf(f->arena, "…%s", rest)), f->columns));
}

typedef const char *(*cutter)(fit *f, const char *name, size_t shared);

/* Length in bytes of the common beginning, in whole characters. */
static size_t shared_bytes(const char *a, const char *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[n] && a[n] == b[n])
        n++;
    while (n && ((unsigned char)a[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static size_t shared_by_all(const fit *f)
{
    size_t shared = f->n ? strlen(f->names[0]) : 0;
    for (size_t i = 1; i < f->n; i++)
        shared = shared_bytes(f->names[0], f->names[i], shared);
    return f->n && f->names[0][shared] ? shared : 0; /* a single name, or a name that is the common part itself: nothing can be
                                                      * left out */
}

static void cut_all(fit *f, cutter cut, size_t shared)
{
    for (size_t i = 0; i < f->n; i++)
        f->cut[i] = as_text_columns(f->names[i]) <= f->columns ? f->names[i]
                    : f->same[i] != i                          ? f->cut[f->same[i]]
                                                               : cut(f, f->names[i], shared);
}

/* Names that look alike are cut again, where they differ from the first one. */
static void clashes_recut(fit *f)
{
    for (size_t i = 0; i < f->n; i++) {
        size_t first = f->first[i];
        if (f->same[first] == f->same[i] || as_text_columns(f->names[i]) <= f->columns)
            continue;
        f->cut[i] = cut_shared(f, f->names[i], shared_bytes(f->names[first], f->names[i], strlen(f->names[i])));
    }
}

/* In so little space only a number tells them apart: the index of each name. */
static void clashes_number(fit *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->same[f->first[i]] == f->same[i])
            continue;
        char number[32];
        int  n = snprintf(number, sizeof number, "#%zu", f->same[i] + 1);
        f->cut[i] = keep(
            f, as_arena_printf(f->arena, "%s%s", as_text_cut(f->arena, f->names[i], f->columns > n ? f->columns - n : 1), number));
    }
}

/* Whether most of the long names are paths: "layers.0.attn.q", not "matmul/512x512/f32". */
static bool are_paths(const fit *f)
{
    size_t n_long = 0, n_paths = 0;
    for (size_t i = 0; i < f->n; i++) {
        bool is_long = as_text_columns(f->names[i]) > f->columns;
        n_long += is_long;
        n_paths += is_long && strchr(f->names[i], '.') && !strchr(f->names[i], '/');
    }
    return n_paths * 2 > n_long;
}

bool as_names_fit(as_arena *arena, const char *const *names, size_t n, int columns, const char **out)
{
    static const cutter prefixed[] = {cut_left, cut_left_exactly, cut_middle, cut_shared},
                        others[] = {cut_middle, cut_left, cut_left_exactly, cut_shared};
    fit  f = {.arena = arena,
              .names = names,
              .n = n,
              .columns = columns > 4 ? columns : 4,
              .cut = AS_TAKE(arena, const char *, n),
              .same = AS_TAKE(arena, size_t, n),
              .first = AS_TAKE(arena, size_t, n)};
    bool any = false;
    for (size_t i = 0; i < n && !any; i++)
        any = as_text_columns(names[i]) > f.columns;
    if (!f.cut || !f.same || !f.first || !lookup_take(arena, n, &f.longs) || !lookup_take(arena, n, &f.shorts))
        return false;
    if (!any) {
        memmove(out, names, n * sizeof *out);
        return true;
    }
    for (size_t i = 0; i < n; i++)
        f.same[i] = lookup_first(&f.longs, names, i);
    /* In a path, and after a common beginning, the end says most; in other names the middle says least. */
    size_t        shared = shared_by_all(&f);
    const cutter *ways = shared * 3 > (size_t)f.columns || are_paths(&f) ? prefixed : others;
    size_t        best = 0, least = SIZE_MAX;
    for (size_t k = 0; k < AS_COUNT(others) && least; k++) {
        cut_all(&f, ways[k], shared);
        size_t left = clashes(&f);
        if (left < least)
            best = k, least = left;
    }
    cut_all(&f, ways[best], shared);
    if (clashes(&f)) {
        clashes_recut(&f);
        if (clashes(&f))
            clashes_number(&f);
    }
    memcpy(out, f.cut, n * sizeof *out);
    return !f.failed;
}
