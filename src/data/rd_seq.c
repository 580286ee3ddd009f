/* rd_seq.c - windows over a table with a time column: for recurrent networks that take the time between samples. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/csv.h"

enum { MAX_TARGETS = 64 };

typedef struct sequence {
    as_csv   csv;
    int64_t  time;    /* column; -1: none, every step takes 1 */
    int32_t *feature; /* per column: number of the input, or -1 */
    int32_t *target;  /* per column: number of the target, or -1 */
    int64_t  n_features, n_targets;
    int64_t  window, stride, ahead;
    bool     last; /* the target of the last step alone */
    size_t   timespans_at, y_at, text_at;
    /* While it is opened. */
    double  before;
    int64_t before_line;
} sequence;

static assay_status set_columns(assay_env *env, as_source *source, sequence *s)
{
    const as_spec *spec = &source->spec;
    const char    *name = as_spec_get(spec, "time");
    s->feature = AS_TAKE(&source->arena, int32_t, s->csv.n_columns);
    s->target = AS_TAKE(&source->arena, int32_t, s->csv.n_columns);
    if (!s->feature || !s->target)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for %" PRId64 " columns", s->csv.n_columns);
    s->time = -1;
    if (name)
        AS_TRY(as_csv_column(env, &s->csv, "time", name, &s->time));
    for (int64_t i = 0; i < s->csv.n_columns; i++)
        s->target[i] = -1;
    for (int k = 0; (name = as_spec_get_n(spec, "target", k)); k++) {
        int64_t column;
        AS_TRY(as_csv_column(env, &s->csv, "target", name, &column));
        if (column == s->time || s->target[column] >= 0 || k == MAX_TARGETS)
            return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": target=%s: %s", spec->text, name,
                           column == s->time  ? "this is the time"
                           : k == MAX_TARGETS ? "too many targets"
                                              : "named twice");
        s->target[column] = k;
        s->n_targets = k + 1;
        if (s->ahead == 0) /* what is to be found must not be given */
            s->feature[column] = -1;
    }
    if (!s->n_targets)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": needs target=NAME; the form is %s", spec->text, source->reader->form);
    for (int k = 0; (name = as_spec_get_n(spec, "drop", k)); k++) {
        int64_t column;
        AS_TRY(as_csv_column(env, &s->csv, "drop", name, &column));
        s->feature[column] = -1;
    }
    for (int64_t i = 0; i < s->csv.n_columns; i++)
        s->feature[i] = s->feature[i] < 0 || i == s->time ? -1 : (int32_t)s->n_features++;
    if (!s->n_features)
        return as_fail(env, ASSAY_BAD_INPUT, "data: seq: %s: no column is left for the inputs", s->csv.file->path);
    return ASSAY_OK;
}

static assay_status visit(assay_env *env, void *arg, int64_t row, int64_t line, const as_cell *cells)
{
    sequence *s = arg;
    for (int64_t i = 0; i < s->csv.n_columns; i++) {
        double number;
        char   name[64];
        if (s->feature[i] < 0 && s->target[i] < 0 && i != s->time)
            continue;
        if (!as_cell_number(&cells[i], &number))
            return as_csv_fail(env, &s->csv, line, &cells[i], "\"%.*s\" in column %s is not a number",
                               (int)(cells[i].n < 40 ? cells[i].n : 40), cells[i].text,
                               as_csv_column_name(&s->csv, i, name, sizeof name));
        if (fabs(number) > (double)FLT_MAX)
            return as_csv_fail(env, &s->csv, line, &cells[i], "%.*s is too large for f32", (int)(cells[i].n < 40 ? cells[i].n : 40),
                               cells[i].text);
        if (i != s->time)
            continue;
        if (row && !(number > s->before))
            return as_csv_fail(env, &s->csv, line, &cells[i], "the time %g does not come after %g, the time of line %" PRId64,
                               number, s->before, s->before_line);
        s->before = number;
        s->before_line = line;
    }
    return ASSAY_OK;
}

static assay_status open_seq(assay_env *env, const as_data_options *options, as_source *source)
{
    const as_spec *spec = &source->spec;
    sequence      *s = AS_TAKE(&source->arena, sequence, 1);
    as_data_file  *file;
    int            give;
    if (!s)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory");
    if (spec->n_paths != 1)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": names %d files; seq reads one", spec->text, spec->n_paths);
    if (options->target == AS_TARGET_CLASS)
        return as_fail(env, ASSAY_BAD_INPUT, "data: \"%s\": the target of a sequence is numbers, not classes", spec->text);
    source->own = s;
    AS_TRY(as_spec_i64(env, spec, "window", 32, 1, 1 << 20, &s->window));
    AS_TRY(as_spec_i64(env, spec, "stride", 1, 1, 1 << 20, &s->stride));
    AS_TRY(as_spec_i64(env, spec, "ahead", 1, 0, 1 << 20, &s->ahead));
    AS_TRY(as_spec_choice(env, spec, "give", "all last", 0, &give));
    s->last = give == 1;
    AS_TRY(as_source_files(env, source, 1));
    AS_TRY(as_source_file(env, source, spec->paths[0], options->mmap, &file));
    AS_TRY(as_csv_begin(env, source, file, &s->csv));
    AS_TRY(set_columns(env, source, s));
    AS_TRY(as_csv_scan(env, &source->arena, &s->csv, visit, s));
    int64_t span = s->window + s->ahead;
    if (s->csv.n_rows < span || s->csv.n_rows < 2)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: seq: %s: has %" PRId64 " rows, and one window needs %" PRId64 " (window=%" PRId64 ",ahead=%" PRId64
                       ")",
                       file->path, s->csv.n_rows, span < 2 ? 2 : span, s->window, s->ahead);
    source->n = (s->csv.n_rows - span) / s->stride + 1;
    source->n_inputs = 2;
    source->input[0] = (as_data_field){.name = "x", .dtype = AS_F32, .shape = AS_SHAPE(s->window, s->n_features)};
    source->input[1] = (as_data_field){.name = "timespans", .dtype = AS_F32, .shape = AS_SHAPE(s->window)};
    source->has_target = true;
    source->target = (as_data_field){
        .name = "y", .dtype = AS_F32, .shape = s->last ? AS_SHAPE(s->n_targets) : AS_SHAPE(s->window, s->n_targets)};
    source->is_sequence = true;
    source->n_neighbours = (span + 1 + s->stride - 1) / s->stride - 1; /* one row before the window is read, too */
    s->timespans_at = (size_t)(s->window * s->n_features) * sizeof(float);
    s->y_at = s->timespans_at + (size_t)s->window * sizeof(float);
    s->text_at = s->y_at + (size_t)(s->window * s->n_targets) * sizeof(float);
    source->scratch_bytes = s->text_at + (options->mmap ? 0 : as_csv_span_bytes(&s->csv, span + 1));
    for (int64_t i = 0; i < s->csv.n_columns; i++)
        as_text_printf(&source->canonical, "%" PRId32 ":%" PRId32 " ", s->feature[i], s->target[i]);
    as_text_printf(&source->canonical,
                   "time %" PRId64 " window %" PRId64 " stride %" PRId64 " ahead %" PRId64 " last %d sep %d header %d", s->time,
                   s->window, s->stride, s->ahead, s->last, s->csv.separator, s->csv.has_header);
    return ASSAY_OK;
}

/* One row of the file; step is its place in the window, -1 for the row before it. */
static bool take_row(const sequence *s, const char *line, size_t n, int64_t step, double *time, float *x, float *y)
{
    size_t  at = 0;
    bool    begun = false;
    as_cell cell;
    int64_t for_step = step - s->ahead;
    bool    gives = s->last ? for_step == s->window - 1 : for_step >= 0 && for_step < s->window;
    for (int64_t i = 0; i < s->csv.n_columns; i++) {
        double value = 0;
        if (!as_cell_next(line, n, s->csv.separator, &at, &begun, &cell))
            return false;
        bool is_input = s->feature[i] >= 0 && step >= 0 && step < s->window;
        if (!is_input && i != s->time && !(s->target[i] >= 0 && gives))
            continue;
        if (!as_cell_number(&cell, &value))
            return false;
        if (i == s->time)
            *time = value;
        if (is_input)
            x[step * s->n_features + s->feature[i]] = (float)value;
        if (s->target[i] >= 0 && gives)
            y[(s->last ? 0 : for_step) * s->n_targets + s->target[i]] = (float)value;
    }
    return true;
}

/* Differences of times are taken in double: a time in seconds since 1970 has no milliseconds left in f32. */
static bool read_seq(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out)
{
    const sequence *s = source->own;
    float          *x = (float *)(void *)fetch->scratch, *timespans = (float *)(void *)(fetch->scratch + s->timespans_at);
    float          *y = (float *)(void *)(fetch->scratch + s->y_at);
    int64_t         first = example * s->stride, before = first ? 1 : 0, end = s->window + s->ahead;
    double          times[2] = {0, 0}; /* of the row before, and of this one */
    as_csv_cursor   cursor;
    if (!before && end < 2)
        end = 2;
    if (!as_csv_seek(&s->csv, first - before, end + before, fetch, s->text_at, &cursor))
        return false;
    for (int64_t step = -before; step < end; step++) {
        const char *line;
        size_t      n;
        times[0] = times[1];
        if (!as_csv_next(&cursor, &line, &n) || !take_row(s, line, n, step, &times[1], x, y))
            return as_fetch_fail(fetch, ASSAY_BAD_INPUT,
                                 "data: seq: %s: was changed while it was being read: row %" PRId64 " is no longer what it was",
                                 s->csv.file->path, first + step);
        float span = s->time < 0 ? 1 : (float)(times[1] - times[0]);
        if (step < s->window && step + before > 0)
            timespans[step] = span;
        if (step == 1 && !before) /* nothing is before the very first row: it takes as long as the second */
            timespans[0] = span;
    }
    *out = (as_raw){.input = {x, timespans}, .target = y};
    return true;
}

const as_reader as_rd_seq = {
    .name = "seq",
    .form = "seq:FILE.csv,target=COL[,time=COL,window=32,stride=1,ahead=1,give=all|last,drop=COL,header=auto,sep=C]",
    .help = "windows over a table in time: x [T,F], timespans [T], target [T,O] or the last [O]",
    .keys = "target time window stride ahead give drop header sep",
    .has_paths = true,
    .open = open_seq,
    .read = read_seq};
