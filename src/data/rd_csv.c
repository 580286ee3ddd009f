/* rd_csv.c - tables in text: each row is an example, one column (or several) the target. */
#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "data/csv.h"

enum { MAX_LABELS = 65536, TABLE = 4 * MAX_LABELS, MAX_AUTO_CLASSES = 1000, MAX_TARGETS = 64 };

/* What a column is: an input of this number, dropped, or a target. */
enum { DROPPED = -1, FIRST_TARGET = -2 }; /* target k is FIRST_TARGET - k */

typedef struct label {
    const char *text;
    int64_t class;
} label;

typedef struct table {
    as_csv       csv;
    int32_t     *role; /* per column */
    int64_t      n_features, n_targets;
    int64_t      target_column[MAX_TARGETS];
    label       *by_text;       /* sorted by bytes, to find the class of a text; NULL: classes are numbers */
    const char **feature_names; /* NULL: no header */
    size_t       y_at, text_at; /* in the scratch: x, y, then text that is not mapped */
} table;

/* --- Labels ------------------------------------------------------------------------------------------------------------- */

/* What is known of the target's cells while they are read. */
typedef struct target_look {
    table       *t;
    as_arena     arena;
    const char **slots; /* open addressing; NULL until the first text */
    const char **all;
    int64_t      n_labels;
    bool         too_many;
    bool         has_text, has_number, has_fraction; /* fraction: a number that is not 0, 1, 2 ... */
    int64_t      text_line;
    as_cell      text_cell; /* the first text, copied */
    double       most;
    bool         seen[MAX_AUTO_CLASSES];
} target_look;

static bool look_label(target_look *look, const as_cell *cell)
{
    if (look->too_many)
        return true;
    if (!look->slots) {
        look->slots = AS_TAKE(&look->arena, const char *, TABLE);
        look->all = AS_TAKE(&look->arena, const char *, MAX_LABELS);
        if (!look->slots || !look->all)
            return false;
    }
    uint64_t at = as_hash64(cell->text, cell->n) % TABLE;
    for (; look->slots[at]; at = (at + 1) % TABLE)
        if (strlen(look->slots[at]) == cell->n && !memcmp(look->slots[at], cell->text, cell->n))
            return true;
    if (look->n_labels == MAX_LABELS) {
        look->too_many = true;
        return true;
    }
    const char *text = as_arena_text_n(&look->arena, cell->text, cell->n);
    if (!text)
        return false;
    look->slots[at] = look->all[look->n_labels++] = text;
    return true;
}

static bool look_target(target_look *look, int64_t line, const as_cell *cell)
{
    double number;
    if (!as_cell_number(cell, &number)) {
        if (!look->has_text) {
            look->text_line = line;
            look->text_cell = (as_cell){as_arena_text_n(&look->arena, cell->text, cell->n < 60 ? cell->n : 60),
                                        cell->n < 60 ? cell->n : 60, cell->at};
            if (!look->text_cell.text)
                return false;
        }
        look->has_text = true;
    } else {
        look->has_number = true;
        if (number < 0 || number != floor(number))
            look->has_fraction = true;
        else if (number < MAX_AUTO_CLASSES)
            look->seen[(int)number] = true;
        look->most = number > look->most ? number : look->most;
    }
    return look_label(look, cell);
}

/* 0, 1, ... without a gap. */
static bool numbers_are_classes(const target_look *look)
{
    if (look->has_text || look->has_fraction || look->most >= MAX_AUTO_CLASSES)
        return false;
    for (int i = 0; i <= (int)look->most; i++)
        if (!look->seen[i])
            return false;
    return true;
}

static int compare_texts(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
static int compare_labels(const void *a, const void *b) { return strcmp(((const label *)a)->text, ((const label *)b)->text); }

static int compare_numbers(const void *a, const void *b)
{
    double x = 0, y = 0;
    as_parse_f64(*(const char *const *)a, &x);
    as_parse_f64(*(const char *const *)b, &y);
    return x < y ? -1 : x > y ? 1 : compare_texts(a, b);
}

static assay_status set_labels(assay_env *env, as_source *source, table *t, const char *const *texts, int64_t n)
{
    source->labels = AS_TAKE(&source->arena, const char *, n);
    t->by_text = AS_TAKE(&source->arena, label, n);
    for (int64_t i = 0; source->labels && t->by_text && i < n; i++) {
        source->labels[i] = as_arena_text(&source->arena, texts[i]);
        t->by_text[i] = (label){source->labels[i], i};
        if (!source->labels[i])
            source->labels = NULL;
    }
    if (!source->labels || !t->by_text)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for %" PRId64 " classes", n);
    qsort(t->by_text, (size_t)n, sizeof *t->by_text, compare_labels);
    source->n_classes = n;
    return ASSAY_OK;
}

static int64_t class_of(const table *t, int64_t n, const as_cell *cell)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t     middle = (low + high) / 2;
        const char *text = t->by_text[middle].text;
        size_t      length = strlen(text);
        int         order = memcmp(cell->text, text, cell->n < length ? cell->n : length);
        order = order ? order : cell->n < length ? -1 : cell->n > length;
        if (!order)
            return t->by_text[middle].class;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* --- Columns ------------------------------------------------------------------------------------------------------------------ */

static assay_status default_target(const as_csv *csv, int64_t *out)
{
    static const char *const names[] = {"target", "label", "class", "y"};
    for (size_t k = 0; csv->names && k < AS_COUNT(names); k++)
        for (int64_t i = 0; i < csv->n_columns; i++)
            if (!strcasecmp(csv->names[i], names[k])) {
                *out = i;
                return ASSAY_OK;
            }
    *out = csv->n_columns - 1;
    return ASSAY_OK;
}

static assay_status find_targets(assay_env *env, as_source *source, table *t)
{
    const char *name = as_spec_get(&source->spec, "target");
    if (name && !strcmp(name, "none"))
        return ASSAY_OK;
    if (!name)
        return t->n_targets = 1, default_target(&t->csv, &t->target_column[0]);
    for (int k = 0; (name = as_spec_get_n(&source->spec, "target", k)); k++) {
        if (k == MAX_TARGETS)
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": more than %d targets", source->spec.text, MAX_TARGETS);
        AS_TRY(as_csv_column(env, &t->csv, "target", name, &t->target_column[k]));
        t->n_targets = k + 1;
    }
    return ASSAY_OK;
}

/* The inputs in the order in which the training data have them. */
static assay_status order_like(assay_env *env, table *t, const table *like)
{
    for (int64_t f = 0; f < like->n_features; f++) {
        int64_t column;
        AS_TRY(as_csv_column(env, &t->csv, "column", like->feature_names[f], &column));
        if (t->role[column] < FIRST_TARGET + 1 && t->role[column] != DROPPED)
            return as_fail(env, ASSAY_BAD_INPUT,
                           "data: csv: %s: column \"%s\" is an input in the training data, and the target here", t->csv.file->path,
                           like->feature_names[f]);
        t->role[column] = (int32_t)f;
    }
    t->n_features = like->n_features;
    return ASSAY_OK;
}

static assay_status set_roles(assay_env *env, as_source *source, table *t, const table *like)
{
    const char *name;
    t->role = AS_TAKE(&source->arena, int32_t, t->csv.n_columns);
    t->feature_names = t->csv.names ? AS_TAKE(&source->arena, const char *, t->csv.n_columns) : NULL;
    if (!t->role || (t->csv.names && !t->feature_names))
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for %" PRId64 " columns", t->csv.n_columns);
    AS_TRY(find_targets(env, source, t));
    for (int64_t k = 0; k < t->n_targets; k++)
        t->role[t->target_column[k]] = (int32_t)(FIRST_TARGET - k);
    for (int k = 0; (name = as_spec_get_n(&source->spec, "drop", k)); k++) {
        int64_t column;
        AS_TRY(as_csv_column(env, &t->csv, "drop", name, &column));
        if (t->role[column] <= FIRST_TARGET)
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": column %s is dropped and is the target, too", source->spec.text,
                           name);
        t->role[column] = DROPPED;
    }
    if (like && like->feature_names && t->csv.names) {
        for (int64_t i = 0; i < t->csv.n_columns; i++)
            t->role[i] = t->role[i] == 0 ? DROPPED : t->role[i];
        AS_TRY(order_like(env, t, like));
    } else
        for (int64_t i = 0; i < t->csv.n_columns; i++)
            if (t->role[i] == 0)
                t->role[i] = (int32_t)t->n_features++;
    for (int64_t i = 0; t->csv.names && i < t->csv.n_columns; i++)
        if (t->role[i] >= 0)
            t->feature_names[t->role[i]] = t->csv.names[i];
    if (!t->n_features)
        return as_fail(env, ASSAY_BAD_INPUT, "data: csv: %s: no column is left for the inputs; target=none uses all of them",
                       t->csv.file->path);
    return ASSAY_OK;
}

/* --- The pass over all rows ------------------------------------------------------------------------------------------------------ */

static assay_status check_number(assay_env *env, const as_csv *csv, int64_t column, int64_t line, const as_cell *cell)
{
    double number;
    char   name[64];
    if (as_cell_number(cell, &number)) {
        if (fabs(number) <= (double)FLT_MAX)
            return ASSAY_OK;
        return as_csv_fail(env, csv, line, cell, "%.*s is too large for f32", (int)(cell->n < 40 ? cell->n : 40), cell->text);
    }
    as_csv_column_name(csv, column, name, sizeof name);
    if (!cell->n)
        return as_csv_fail(env, csv, line, cell,
                           "the cell of column %s is empty; fill it in, or leave the column out by drop=", name);
    return as_csv_fail(env, csv, line, cell,
                       "\"%.*s\" is not a number; column %s can be left out by drop=", (int)(cell->n < 40 ? cell->n : 40),
                       cell->text, name);
}

static assay_status visit(assay_env *env, void *arg, int64_t row, int64_t line, const as_cell *cells)
{
    (void)row;
    target_look *look = arg;
    table       *t = look->t;
    for (int64_t i = 0; i < t->csv.n_columns; i++) {
        if (t->role[i] == DROPPED)
            continue;
        if (t->role[i] == FIRST_TARGET && t->n_targets == 1) {
            if (!cells[i].n)
                return as_csv_fail(env, &t->csv, line, &cells[i], "the cell of the target is empty");
            if (!look_target(look, line, &cells[i]))
                return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for the classes");
        } else
            AS_TRY(check_number(env, &t->csv, i, line, &cells[i]));
    }
    return ASSAY_OK;
}

static assay_status fail_mixed(assay_env *env, const target_look *look)
{
    return as_csv_fail(env, &look->t->csv, look->text_line, &look->text_cell,
                       "\"%.*s\" is not a number, as the target is in other rows; as=class makes every text a class",
                       (int)look->text_cell.n, look->text_cell.text);
}

static assay_status take_labels(assay_env *env, as_source *source, table *t, target_look *look)
{
    if (look->too_many)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: csv: %s: the target has more than %d different values, which are too many for classes",
                       t->csv.file->path, MAX_LABELS);
    qsort(look->all, (size_t)look->n_labels, sizeof *look->all, look->has_text ? compare_texts : compare_numbers);
    return set_labels(env, source, t, look->all, look->n_labels);
}

/* Validation data have the classes of the training data. */
static assay_status take_labels_of(assay_env *env, as_source *source, table *t, const target_look *look, const as_source *like)
{
    AS_TRY(set_labels(env, source, t, like->labels, like->n_classes));
    for (int64_t i = 0; i < look->n_labels; i++)
        if (class_of(t, source->n_classes, &(as_cell){look->all[i], strlen(look->all[i]), 0}) < 0)
            return as_fail(env, ASSAY_BAD_INPUT, "data: csv: %s: the training data %s have no class \"%.60s\"", t->csv.file->path,
                           like->spec.text, look->all[i]);
    return ASSAY_OK;
}

static assay_status decide_target(assay_env *env, const as_data_options *options, as_source *source, table *t, target_look *look)
{
    const as_source *like = options->like && options->like->source->reader == source->reader ? options->like->source : NULL;
    int              as;
    AS_TRY(as_spec_choice(env, &source->spec, "as", "auto class number", 0, &as));
    as_target_kind want = as == 1 ? AS_TARGET_CLASS : as == 2 ? AS_TARGET_NUMBER : options->target;
    if (want == AS_TARGET_AUTO && options->like)
        want = options->like->target_kind;
    source->target = (as_data_field){.name = "y", .dtype = AS_F32, .shape = AS_SHAPE(t->n_targets)};
    source->has_target = t->n_targets > 0;
    if (t->n_targets != 1)
        return ASSAY_OK;
    bool is_class =
        want == AS_TARGET_CLASS || (want == AS_TARGET_AUTO && (look->has_text ? !look->has_number : numbers_are_classes(look)));
    if (is_class && like && like->labels)
        AS_TRY(take_labels_of(env, source, t, look, like));
    else if (is_class && (numbers_are_classes(look) || (like && !look->has_text && !look->has_fraction)))
        source->n_classes = (int64_t)look->most + 1;
    else if (is_class)
        AS_TRY(take_labels(env, source, t, look));
    else if (look->has_text)
        return fail_mixed(env, look);
    if (is_class)
        source->target = (as_data_field){.name = "y", .dtype = AS_I64};
    return ASSAY_OK;
}

static assay_status open_csv(assay_env *env, const as_data_options *options, as_source *source)
{
    table        *t = AS_TAKE(&source->arena, table, 1);
    as_data_file *file;
    if (!t)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    if (source->spec.n_paths != 1)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: \"%s\": names %d files; csv reads one (a comma in its name needs a backslash in front)",
                       source->spec.text, source->spec.n_paths);
    source->own = t;
    AS_TRY(as_source_files(env, source, 1));
    AS_TRY(as_source_file(env, source, source->spec.paths[0], options->mmap, &file));
    AS_TRY(as_csv_begin(env, source, file, &t->csv));
    const as_source *like = options->like ? options->like->source : NULL;
    AS_TRY(set_roles(env, source, t, like && like->reader == source->reader ? like->own : NULL));
    target_look *look = calloc(1, sizeof *look);
    if (!look)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    look->t = t;
    assay_status status = as_csv_scan(env, &source->arena, &t->csv, visit, look);
    if (status == ASSAY_OK)
        status = decide_target(env, options, source, t, look);
    as_arena_drop(&look->arena);
    free(look);
    AS_TRY(status);
    source->n = t->csv.n_rows;
    source->n_inputs = 1;
    source->input[0] = (as_data_field){.name = "x", .dtype = AS_F32, .shape = AS_SHAPE(t->n_features)};
    t->y_at = ((size_t)t->n_features * sizeof(float) + 7) / 8 * 8;
    t->text_at = t->y_at + (size_t)(t->n_targets + 1) * sizeof(int64_t);
    source->scratch_bytes = t->text_at + (options->mmap ? 0 : as_csv_span_bytes(&t->csv, 1));
    for (int64_t i = 0; i < t->csv.n_columns; i++)
        as_text_printf(&source->canonical, "%" PRId32 " ", t->role[i]);
    as_text_printf(&source->canonical, "sep %d header %d", t->csv.separator, t->csv.has_header);
    return ASSAY_OK;
}

/* --- One row ----------------------------------------------------------------------------------------------------------------------- */

static bool read_csv(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    const table  *t = source->own;
    float        *x = (float *)(void *)fetch->scratch, *y = (float *)(void *)(fetch->scratch + t->y_at);
    as_csv_cursor cursor;
    const char   *line = NULL;
    size_t        n = 0, at = 0;
    bool          begun = false;
    as_cell       cell;
    if (!as_csv_seek(&t->csv, example, 1, fetch, t->text_at, &cursor))
        return false;
    bool ok = as_csv_next(&cursor, &line, &n);
    for (int64_t i = 0; ok && i < t->csv.n_columns; i++) {
        double  value = 0;
        int32_t role = t->role[i];
        ok = as_cell_next(line, n, t->csv.separator, &at, &begun, &cell);
        if (!ok || role == DROPPED)
            continue;
        if (role <= FIRST_TARGET && t->by_text) {
            int64_t class = class_of(t, source->n_classes, &cell);
            ok = class >= 0;
            memcpy(y, &class, sizeof class);
            continue;
        }
        ok = as_cell_number(&cell, &value);
        if (role >= 0)
            x[role] = (float)value;
        else if (source->n_classes)
            memcpy(y, &(int64_t){(int64_t)value}, sizeof(int64_t));
        else
            y[FIRST_TARGET - role] = (float)value;
    }
    if (!ok)
        return as_fetch_fail(fetch, ASSAY_BAD_INPUT,
                             "data: csv: %s: was changed while it was being read: row %" PRId64 " is no longer what it was",
                             t->csv.file->path, example);
    out->input[0] = x;
    out->target = y;
    return true;
}

static bool fits(const char *path, bool is_folder)
{
    return !is_folder && (as_path_ends(path, ".csv") || as_path_ends(path, ".tsv") || as_path_ends(path, ".csv.gz"));
}

const as_reader as_rd_csv = {.name = "csv",
                             .form = "FILE.csv[:target=COL,header=auto|on|off,sep=C,drop=COL,as=class|number]",
                             .help = "a table in text: one example per row, one column the target",
                             .keys = "target header sep drop as",
                             .has_paths = true,
                             .fits = fits,
                             .open = open_csv,
                             .read = read_csv};
