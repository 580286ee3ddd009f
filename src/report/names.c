/* names.c - a set of names made short, each still told from the others. */
#include <string.h>

#include "base/env.h"
#include "report/words.h"

/* --- Are they different? ------------------------------------------------------------------------------------- */

/* Where the first name of the same text stands; open addressing, slots hold an lookup + 1. */
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
    size_t            *same, *first; /* of the same text, whole and cut: the first one */
    bool               failed;
} fit;

/* Marks who looks like whom; how many look like another one that they are not. */
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

/* Where so many characters before the end begin. */
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

/* "…1.conv2"; from the beginning of a part where one is near. */
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

/* From where they begin to differ. */
static const char *cut_shared(fit *f, const char *name, size_t shared)
{
    const char *rest = name + shared;
    if (as_text_columns(rest) < f->columns)
        rest = tail_of(name, f->columns - 1);
    return keep(f, as_text_cut(f->arena, keep(f, as_arena_printf(f->arena, "…%s", rest)), f->columns));
}

typedef const char *(*cutter)(fit *f, const char *name, size_t shared);

/* Bytes that all of them begin with, whole characters. */
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
    return f->n && f->names[0][shared] ? shared : 0; /* one name, or the whole of one: nothing that could be left out */
}

static void cut_all(fit *f, cutter cut, size_t shared)
{
    for (size_t i = 0; i < f->n; i++)
        f->cut[i] = as_text_columns(f->names[i]) <= f->columns ? f->names[i]
                    : f->same[i] != i                          ? f->cut[f->same[i]]
                                                               : cut(f, f->names[i], shared);
}

/* Those that look alike are cut again where they differ from the first that looks so. */
static void clashes_recut(fit *f)
{
    for (size_t i = 0; i < f->n; i++) {
        size_t first = f->first[i];
        if (f->same[first] == f->same[i] || as_text_columns(f->names[i]) <= f->columns)
            continue;
        f->cut[i] = cut_shared(f, f->names[i], shared_bytes(f->names[first], f->names[i], strlen(f->names[i])));
    }
}

/* Nothing tells them apart in so little space but a number, of the place of each among all. */
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

/* Most of the long ones are, "layers.0.attn.q" and not "matmul/512x512/f32". */
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
    /* Of a path, and of what all begin with, the end says most; of other names the middle says least. */
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
