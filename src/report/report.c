/* report.c - facts to documents to a writer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "report/report.h"

const as_writer *as_writer_find(const char *name)
{
    for (const as_writer *const *w = as_wr_table; *w; w++)
        if (!strcmp((*w)->name, name))
            return *w;
    return NULL;
}

static assay_status unknown_format(assay_env *env, const char *format)
{
    as_text names = {0};
    for (const as_writer *const *w = as_wr_table; *w; w++)
        as_text_printf(&names, "%s%s", w == as_wr_table ? "" : ", ", (*w)->name);
    assay_status status =
        as_fail(env, ASSAY_NOT_FOUND, "report: unknown format \"%s\"; known: %s", format, names.data ? names.data : "none");
    as_text_drop(&names);
    return status;
}

static int by_order(const void *a, const void *b)
{
    const as_section *x = *(const as_section *const *)a, *y = *(const as_section *const *)b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : strcmp(x->name, y->name);
}

/* --- Sections ------------------------------------------------------------------------------------------- */

/* Whether `name` (n bytes) is in the comma list. */
static bool list_has(const char *list, const char *name, size_t n)
{
    while (*list) {
        size_t bytes = strcspn(list, ",");
        if (bytes == n && !strncmp(list, name, n))
            return true;
        list += bytes + (list[bytes] == ',');
    }
    return false;
}

/* The nearest name, and all of them in the order of the report. */
static assay_status unknown_section(assay_env *env, const char *name, size_t n, const as_section *const *order, size_t n_order)
{
    as_text      names = {0};
    char         given[64];
    const char **words = calloc(n_order + 1, sizeof *words), *near = NULL;
    snprintf(given, sizeof given, "%.*s", (int)(n < sizeof given ? n : sizeof given - 1), name);
    for (size_t i = 0; words && i < n_order; i++)
        words[i] = order[i]->name;
    near = words ? as_nearest(given, words) : NULL;
    for (size_t i = 0; i < n_order; i++)
        as_text_printf(&names, "%s%s", i ? ", " : "", order[i]->name);
    assay_status status =
        as_fail(env, ASSAY_BAD_INPUT, "report: unknown section \"%s\"%s%s%s; known: %s", given, near ? "; did you mean \"" : "",
                near ? near : "", near ? "\"?" : "", names.data ? names.data : "none");
    as_text_drop(&names);
    free(words);
    return status;
}

static const as_section **sections_take(as_arena *arena, size_t *n)
{
    for (*n = 0; as_sec_table[*n];)
        ++*n;
    const as_section **order = AS_TAKE(arena, const as_section *, *n + 1);
    if (!order)
        return NULL;
    memcpy(order, as_sec_table, *n * sizeof *order);
    qsort(order, *n, sizeof *order, by_order);
    return order;
}

assay_status as_sections_check(assay_env *env, const char *sections)
{
    as_arena           arena = {0};
    size_t             n;
    const as_section **order = sections_take(&arena, &n);
    assay_status status = order ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "report: not enough memory for the list of sections");
    const char  *at = sections;
    do {
        size_t bytes = strcspn(at, ","), i = 0;
        while (status == ASSAY_OK && i < n && !(strlen(order[i]->name) == bytes && !strncmp(order[i]->name, at, bytes)))
            i++;
        if (status == ASSAY_OK && i == n)
            status = unknown_section(env, at, bytes, order, n);
        at += bytes;
    } while (status == ASSAY_OK && *at++);
    as_arena_drop(&arena);
    return status;
}

/* --- Parts ---------------------------------------------------------------------------------------------- */

static const struct {
    int         rank;
    const char *key, *text;
} parts[] = {
    [AS_PART_NONE] = {0, "", ""},
    [AS_PART_METADATA] = {1, "part-metadata", "Metadata"},
    [AS_PART_EXECUTIVE] = {2, "part-executive", "Executive summary"},
    [AS_PART_PERFORMANCE] = {3, "part-performance", "Performance"},
    [AS_PART_MEMORY] = {4, "part-memory", "Memory"},
    [AS_PART_DEVICES] = {5, "part-devices", "Device comparisons"},
    [AS_PART_RECOMMENDATIONS] = {6, "part-recommendations", "Recommendations"},
    [AS_PART_REGRESSION] = {7, "part-regression", "Regression"},
    [AS_PART_APPENDIX] = {8, "part-appendix", "Appendix"},
};

static int by_part(const void *a, const void *b)
{
    const as_section *x = *(const as_section *const *)a, *y = *(const as_section *const *)b;
    int               p = parts[x->part].rank, q = parts[y->part].rank;
    return p != q ? p - q : by_order(a, b);
}

/* A part has a heading when one of its sections has anything to say. */
static void section_add(as_doc *d, const assay_facts *f, const as_section *s, as_part *last, bool in_parts)
{
    int at = d->n_blocks;
    d->detail = s->detail;
    if (in_parts && s->part != *last && *parts[s->part].text)
        as_doc_add(d, &(as_block){.kind = AS_BLOCK_PART, .key = parts[s->part].key, .text = parts[s->part].text});
    int after = d->n_blocks;
    s->write(d, f);
    if (d->n_blocks == after)
        d->n_blocks = at;
    else
        *last = s->part;
}

/* Every document begins with its title, whatever its sections, so that the runs of one report can be told apart.  The document of one
 * run is in parts. */
bool as_doc_make(as_doc *d, const assay_facts *f, const char *sections)
{
    size_t             n;
    const as_section **order = sections_take(&d->arena, &n);
    bool               in_parts = !sections && as_facts_group_find(f, "executive");
    as_part            last = AS_PART_NONE;
    if (!order)
        return false;
    if (in_parts)
        qsort(order, n, sizeof *order, by_part);
    as_doc_add(d, &(as_block){.kind = AS_BLOCK_TITLE, .key = "top", .text = *f->title ? f->title : "a run"});
    for (size_t i = 0; i < n; i++)
        if (!sections || list_has(sections, order[i]->name, strlen(order[i]->name)))
            section_add(d, f, order[i], &last, in_parts);
    return !d->failed;
}

static assay_status docs_write(assay_env *env, const as_writer *writer, const assay_facts *const *facts, size_t n,
                               const as_write_settings *s, FILE *file, as_doc *docs, const as_doc **pointers)
{
    for (size_t i = 0; i < n; i++) {
        pointers[i] = &docs[i];
        docs[i].by_module = s->by_module;
        docs[i].module_depth = s->module_depth;
        if (!as_doc_make(&docs[i], facts[i], s->sections))
            return as_fail(env, ASSAY_NO_MEMORY, "report: not enough memory for the document of run %zu of %zu", i + 1, n);
    }
    errno = 0;
    AS_TRY(writer->write(env, pointers, facts, n, s, file));
    bool failed = fflush(file) || ferror(file);
    if (failed && errno == EPIPE) { /* the reader closed the pipe: not an error */
        clearerr(file);
        return ASSAY_OK;
    }
    if (failed)
        return as_fail(env, ASSAY_IO, "report: cannot write %s: %s", writer->name, errno ? strerror(errno) : "the stream failed");
    return ASSAY_OK;
}

assay_status as_report_write(assay_env *env, const assay_facts *const *facts, size_t n, const char *format,
                             const as_write_settings *s, FILE *file)
{
    const as_write_settings standard = {0};
    const as_writer        *writer = as_writer_find(format);
    if (!writer)
        return unknown_format(env, format);
    if (s && s->sections)
        AS_TRY(as_sections_check(env, s->sections));
    if (!n)
        return as_fail(env, ASSAY_BAD_INPUT, "report: there are no runs to report");
    for (size_t i = 0; i < n; i++)
        AS_TRY(as_facts_check(env, facts[i]));
    as_doc        *docs = calloc(n, sizeof *docs);
    const as_doc **pointers = calloc(n, sizeof *pointers);
    assay_status   status = docs && pointers ? docs_write(env, writer, facts, n, s ? s : &standard, file, docs, pointers)
                                             : as_fail(env, ASSAY_NO_MEMORY, "report: not enough memory for %zu documents", n);
    for (size_t i = 0; docs && i < n; i++)
        as_arena_drop(&docs[i].arena);
    free(docs);
    free(pointers);
    return status;
}

assay_status as_report_save(assay_env *env, const assay_facts *const *facts, size_t n, const char *format,
                            const as_write_settings *s, const char *path)
{
    as_out out;
    if (!as_writer_find(format))
        return unknown_format(env, format);
    AS_TRY(as_out_open(env, path, &out));
    assay_status status = as_report_write(env, facts, n, format, s, out.file);
    if (status != ASSAY_OK) {
        as_out_abandon(&out);
        return status;
    }
    return as_out_commit(env, &out);
}

assay_status assay_report(assay_env *env, const assay_facts *const *facts, size_t n_facts, const char *format, const char *path)
{
    return as_report_save(env, facts, n_facts, format, NULL, path);
}
