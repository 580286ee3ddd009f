/* csv.c - tables of numbers in text, read by row without holding them. */
#include "data/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/stage.h"

enum { CHUNK_BYTES = 1 << 20, MAX_LINE_BYTES = 64 << 20, SHOWN = 40 };

/* --- Cells ---------------------------------------------------------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static as_cell trimmed(const char *line, size_t from, size_t to, char separator)
{
    while (from < to && is_blank(line[from]) && line[from] != separator)
        from++;
    while (to > from && is_blank(line[to - 1]) && line[to - 1] != separator)
        to--;
    if (to - from >= 2 && line[from] == '"' && line[to - 1] == '"') {
        from++;
        to--;
    }
    return (as_cell){line + from, to - from, (int64_t)from + 1};
}

bool as_cell_next(const char *line, size_t n, char separator, size_t *at, bool *begun, as_cell *out)
{
    if (*begun && *at >= n) {
        if (*at > n)
            return false;
        *at = n + 1; /* a separator at the end: one more cell, which is empty */
        *out = (as_cell){line + n, 0, (int64_t)n + 1};
        return true;
    }
    *begun = true;
    size_t from = *at, to = from;
    bool   quoted = false;
    while (to < n && (quoted || line[to] != separator)) {
        quoted ^= line[to] == '"';
        to++;
    }
    *out = trimmed(line, from, to, separator);
    *at = to < n ? to + 1 : n + 1;
    return true;
}

static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A mantissa below 2^53 and a power of ten up to 22 are exact, so one operation rounds once: the same result as strtod, about 10 times
 * faster.  Everything else goes to as_parse_f64(). */
static bool number_fast(const char *s, size_t n, double *out)
{
    size_t   i = 0;
    bool     negative = n && s[0] == '-';
    uint64_t mantissa = 0;
    int      digits = 0, exponent = 0;
    i += n && (s[0] == '-' || s[0] == '+');
    for (; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++)
        mantissa = mantissa * 10 + (uint64_t)(s[i] - '0');
    if (i < n && s[i] == '.')
        for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++, exponent--)
            mantissa = mantissa * 10 + (uint64_t)(s[i] - '0');
    if (!digits || digits > 18)
        return false;
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        int  power = 0;
        bool minus = i + 1 < n && s[i + 1] == '-';
        i++;
        if (i < n && (s[i] == '-' || s[i] == '+'))
            i++;
        if (i == n || n - i > 3)
            return false;
        for (; i < n && s[i] >= '0' && s[i] <= '9'; i++)
            power = power * 10 + (s[i] - '0');
        exponent += minus ? -power : power;
    }
    if (i != n || mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22)
        return false;
    double value = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
    *out = negative ? -value : value;
    return true;
}

bool as_cell_number(const as_cell *cell, double *out)
{
    char text[128];
    if (number_fast(cell->text, cell->n, out))
        return true;
    if (cell->n == 0 || cell->n >= sizeof text || memchr(cell->text, '\0', cell->n))
        return false;
    memcpy(text, cell->text, cell->n);
    text[cell->n] = '\0';
    return as_parse_f64(text[0] == '+' ? text + 1 : text, out);
}

assay_status as_csv_fail(assay_env *env, const as_csv *csv, int64_t line, const as_cell *cell, const char *format, ...)
{
    char    why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s:%" PRId64 ":%" PRId64 ": %s", csv->what, csv->file->path, line,
                   cell ? cell->at : 1, why);
}

/* --- Lines of the file, in order ---------------------------------------------------------------------------------------- */

typedef struct lines {
    assay_env          *env;
    const as_csv       *csv;
    const as_data_file *file;
    uint64_t            at;     /* of the next line */
    int64_t             line;   /* its number, from 1 */
    char               *buffer; /* NULL: mapped */
    size_t              capacity, has;
    uint64_t            buffer_at;
} lines;

/* Makes the buffer begin at `at`, with at least one byte more of the line than before. */
static assay_status lines_fill(lines *l, size_t had)
{
    if (l->capacity <= had) {
        size_t capacity = l->capacity ? l->capacity * 2 : CHUNK_BYTES;
        char  *buffer = capacity <= MAX_LINE_BYTES ? realloc(l->buffer, capacity) : NULL;
        if (!buffer)
            return as_fail(l->env, ASSAY_BAD_INPUT, "data: %s: %s:%" PRId64 ": the line is longer than %zu bytes", l->csv->what,
                           l->file->path, l->line, l->capacity);
        l->buffer = buffer;
        l->capacity = capacity;
    }
    uint64_t left = l->file->bytes - l->at;
    l->has = left < l->capacity ? (size_t)left : l->capacity;
    l->buffer_at = l->at;
    return as_data_file_get(l->env, l->csv->what, l->file, l->at, l->has, l->buffer);
}

/* The next line without its end; *n is SIZE_MAX at the end of the file. */
static assay_status lines_next(lines *l, const char **text, size_t *n, uint64_t *at)
{
    *n = SIZE_MAX;
    if (l->at >= l->file->bytes)
        return ASSAY_OK;
    const char *start, *end = NULL;
    uint64_t    left = l->file->bytes - l->at;
    size_t      has;
    if (l->file->data) {
        start = (const char *)l->file->data + l->at;
        has = left < MAX_LINE_BYTES ? (size_t)left : MAX_LINE_BYTES;
        end = memchr(start, '\n', has);
        if (!end && has < left)
            return as_fail(l->env, ASSAY_BAD_INPUT, "data: %s: %s:%" PRId64 ": the line is longer than %d bytes", l->csv->what,
                           l->file->path, l->line, MAX_LINE_BYTES);
    } else {
        has = l->buffer && l->at >= l->buffer_at && l->at <= l->buffer_at + l->has ? (size_t)(l->buffer_at + l->has - l->at) : 0;
        while (!(end = has ? memchr(l->buffer + (l->at - l->buffer_at), '\n', has) : NULL) && has < left) {
            AS_TRY(lines_fill(l, has));
            has = l->has;
        }
        start = l->buffer + (l->at - l->buffer_at);
    }
    *text = start;
    *n = end ? (size_t)(end - start) : has;
    *at = l->at;
    l->at += *n + (end != NULL);
    l->line++;
    return ASSAY_OK;
}

static bool line_is_blank(const char *line, size_t n, char separator)
{
    for (size_t i = 0; i < n; i++)
        if (!is_blank(line[i]) || line[i] == separator)
            return false;
    return true;
}

/* --- The beginning ----------------------------------------------------------------------------------------------------------- */

static assay_status choose_separator(assay_env *env, const as_spec *spec, const char *line, size_t n, char *out)
{
    const char *text = as_spec_get(spec, "sep");
    static const struct {
        const char *word;
        char        c;
    } words[] = {{"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}, {"space", ' '}, {"bar", '|'}};
    if (text) {
        for (size_t i = 0; i < AS_COUNT(words); i++)
            if (!strcmp(text, words[i].word)) {
                *out = words[i].c;
                return ASSAY_OK;
            }
        if (strlen(text) != 1 || strchr("\"+-.0123456789eE", text[0]))
            return as_fail(env, ASSAY_BAD_INPUT,
                           "data: \"%s\": sep=%s: expected one character, or comma, semicolon, tab, space or bar", spec->text,
                           text);
        *out = text[0];
        return ASSAY_OK;
    }
    size_t most = 0;
    *out = ',';
    for (const char *c = ",;\t|"; *c; c++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            count += line[i] == *c;
        if (count > most) {
            most = count;
            *out = *c;
        }
    }
    return ASSAY_OK;
}

/* A header has no cell that is a number. */
static bool looks_like_header(const as_csv *csv, const char *line, size_t n)
{
    size_t  at = 0;
    bool    begun = false;
    as_cell cell;
    double  number;
    while (as_cell_next(line, n, csv->separator, &at, &begun, &cell))
        if (as_cell_number(&cell, &number))
            return false;
    return true;
}

static assay_status take_names(assay_env *env, as_source *source, as_csv *csv, const char *line, size_t n)
{
    size_t  at = 0;
    bool    begun = false;
    as_cell cell;
    csv->names = AS_TAKE(&source->arena, const char *, csv->n_columns);
    for (int64_t i = 0; csv->names && as_cell_next(line, n, csv->separator, &at, &begun, &cell); i++)
        if (!(csv->names[i] = as_arena_text_n(&source->arena, cell.text, cell.n)))
            csv->names = NULL;
    return csv->names ? ASSAY_OK : as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for the names of columns");
}

static assay_status begin(assay_env *env, as_source *source, as_csv *csv, lines *l)
{
    const char *line = NULL;
    size_t      n, at_cell = 0;
    uint64_t    at;
    int         header;
    bool        begun = false;
    as_cell     cell;
    uint8_t     mark[3] = {0};
    if (l->file->bytes >= 3)
        AS_TRY(as_data_file_get(env, csv->what, l->file, 0, 3, mark));
    if (!memcmp(mark, "\xef\xbb\xbf", 3)) /* the mark of UTF-8 */
        l->at = 3;
    do
        AS_TRY(lines_next(l, &line, &n, &at));
    while (n != SIZE_MAX && line_is_blank(line, n, 0));
    if (n == SIZE_MAX)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s: the file is empty", csv->what, l->file->path);
    AS_TRY(choose_separator(env, &source->spec, line, n, &csv->separator));
    while (as_cell_next(line, n, csv->separator, &at_cell, &begun, &cell))
        csv->n_columns++;
    if (csv->n_columns > AS_CSV_MAX_COLUMNS)
        return as_csv_fail(env, csv, l->line - 1, NULL, "the line has %" PRId64 " cells; at most %d are read", csv->n_columns,
                           AS_CSV_MAX_COLUMNS);
    AS_TRY(as_spec_choice(env, &source->spec, "header", "auto on off", 0, &header));
    csv->has_header = header == 1 || (header == 0 && looks_like_header(csv, line, n));
    csv->start = csv->has_header ? l->at : at;
    csv->start_line = csv->has_header ? l->line : l->line - 1;
    return csv->has_header ? take_names(env, source, csv, line, n) : ASSAY_OK;
}

assay_status as_csv_begin(assay_env *env, as_source *source, const as_data_file *file, as_csv *out)
{
    as_csv csv = {.file = file, .what = source->reader->name};
    lines  l = {.env = env, .csv = &csv, .file = file, .line = 1};
    AS_TRY(as_refuse_gzip(env, csv.what, file));
    assay_status status = begin(env, source, &csv, &l);
    free(l.buffer);
    if (status == ASSAY_OK)
        *out = csv;
    return status;
}

assay_status as_csv_column(assay_env *env, const as_csv *csv, const char *key, const char *name, int64_t *out)
{
    int64_t number;
    for (int64_t i = 0; csv->names && i < csv->n_columns; i++)
        if (!strcmp(csv->names[i], name)) {
            *out = i;
            return ASSAY_OK;
        }
    if (as_parse_i64(name, &number) && number >= -csv->n_columns && number < csv->n_columns) {
        *out = number < 0 ? number + csv->n_columns : number;
        return ASSAY_OK;
    }
    if (!csv->names)
        return as_fail(env, ASSAY_BAD_INPUT,
                       "data: %s: %s: %s=%s: the file has no header; expected the number of a column, 0 to %" PRId64, csv->what,
                       csv->file->path, key, name, csv->n_columns - 1);
    as_text known = {0};
    for (int64_t i = 0; i < csv->n_columns && i < 12; i++)
        as_text_printf(&known, "%s%s", i ? ", " : "", csv->names[i]);
    assay_status status =
        as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s: %s=%s: no column has this name; the columns are %s%s", csv->what,
                csv->file->path, key, name, known.data ? known.data : "", csv->n_columns > 12 ? " ..." : "");
    as_text_drop(&known);
    return status;
}

const char *as_csv_column_name(const as_csv *csv, int64_t column, char *buf, size_t size)
{
    if (csv->names)
        snprintf(buf, size, "\"%.*s\"", SHOWN, csv->names[column]);
    else
        snprintf(buf, size, "%" PRId64, column);
    return buf;
}

/* --- All rows ------------------------------------------------------------------------------------------------------------------- */

/* Grows by doubling in an arena: what it leaves behind is as much again. */
static bool groups_add(as_arena *arena, as_csv *csv, uint64_t at, int64_t *capacity)
{
    if (csv->n_groups == *capacity) {
        int64_t   wider = *capacity ? *capacity * 2 : 64;
        uint64_t *groups = AS_TAKE(arena, uint64_t, wider + 1);
        if (!groups)
            return false;
        if (csv->n_groups)
            memcpy(groups, csv->groups, (size_t)csv->n_groups * sizeof *groups);
        csv->groups = groups;
        *capacity = wider;
    }
    csv->groups[csv->n_groups++] = at;
    return true;
}

static assay_status split_row(assay_env *env, const as_csv *csv, const char *line, size_t n, int64_t number, as_cell *cells)
{
    size_t  at = 0;
    bool    begun = false;
    as_cell cell;
    int64_t count = 0;
    while (as_cell_next(line, n, csv->separator, &at, &begun, &cell)) {
        if (count < csv->n_columns)
            cells[count] = cell;
        count++;
    }
    if (count != csv->n_columns)
        return as_csv_fail(env, csv, number, NULL, "the line has %" PRId64 " cell%s, and the first line has %" PRId64, count,
                           count == 1 ? "" : "s", csv->n_columns);
    return ASSAY_OK;
}

static assay_status scan(assay_env *env, as_arena *arena, as_csv *csv, lines *l, as_cell *cells, as_csv_visit visit, void *arg)
{
    int64_t capacity = 0;
    as_stage_begin(env, AS_PHASE_READ, csv->file->path, NAN, 0);
    for (;;) {
        const char *line;
        size_t      n;
        uint64_t    at = 0;
        AS_TRY(lines_next(l, &line, &n, &at));
        if (n == SIZE_MAX)
            break;
        if (line_is_blank(line, n, csv->separator))
            continue;
        AS_TRY(split_row(env, csv, line, n, l->line - 1, cells));
        if (csv->n_rows % AS_CSV_GROUP == 0 && !groups_add(arena, csv, at, &capacity))
            return as_fail(env, ASSAY_NO_MEMORY, "data: %s: %s: not enough memory for the places of %" PRId64 " rows", csv->what,
                           csv->file->path, csv->n_rows);
        AS_TRY(visit(env, arg, csv->n_rows, l->line - 1, cells));
        if (++csv->n_rows % 65536 == 0) {
            as_stage_done(env, (double)l->at / (double)csv->file->bytes);
            if (as_cancelled(env))
                return as_fail(env, ASSAY_CANCELLED, "data: %s: %s: stopped while it was being read", csv->what, csv->file->path);
        }
    }
    if (!csv->n_rows)
        return as_fail(env, ASSAY_BAD_INPUT, "data: %s: %s: has no rows%s", csv->what, csv->file->path,
                       csv->has_header ? " below its header" : "");
    csv->groups[csv->n_groups] = csv->file->bytes;
    return ASSAY_OK;
}

assay_status as_csv_scan(assay_env *env, as_arena *arena, as_csv *csv, as_csv_visit visit, void *arg)
{
    lines    l = {.env = env, .csv = csv, .file = csv->file, .at = csv->start, .line = csv->start_line};
    as_cell *cells = malloc((size_t)csv->n_columns * sizeof *cells);
    if (!cells)
        return as_fail(env, ASSAY_NO_MEMORY, "data: not enough memory for %" PRId64 " cells", csv->n_columns);
    assay_status status = scan(env, arena, csv, &l, cells, visit, arg);
    free(cells);
    free(l.buffer);
    return status;
}

/* --- Some rows ---------------------------------------------------------------------------------------------------------------------- */

static int64_t group_after(const as_csv *csv, int64_t row, int64_t rows)
{
    int64_t group = (row + rows - 1) / AS_CSV_GROUP + 1;
    return group < csv->n_groups ? group : csv->n_groups;
}

size_t as_csv_span_bytes(const as_csv *csv, int64_t rows)
{
    uint64_t most = 0;
    int64_t  width = (rows + AS_CSV_GROUP - 2) / AS_CSV_GROUP + 1;
    for (int64_t g = 0; g < csv->n_groups; g++) {
        int64_t  end = g + width < csv->n_groups ? g + width : csv->n_groups;
        uint64_t span = csv->groups[end] - csv->groups[g];
        most = span > most ? span : most;
    }
    return (size_t)most;
}

bool as_csv_next(as_csv_cursor *cursor, const char **line, size_t *n)
{
    while (cursor->at < cursor->end) {
        const char *start = cursor->at, *end = memchr(start, '\n', (size_t)(cursor->end - start));
        cursor->at = end ? end + 1 : cursor->end;
        *line = start;
        *n = (size_t)((end ? end : cursor->end) - start);
        if (!line_is_blank(start, *n, cursor->separator))
            return true;
    }
    return false;
}

bool as_csv_seek(const as_csv *csv, int64_t row, int64_t rows, as_fetch *fetch, size_t scratch_at, as_csv_cursor *out)
{
    uint64_t       from = csv->groups[row / AS_CSV_GROUP], to = csv->groups[group_after(csv, row, rows)];
    const uint8_t *bytes = as_data_file_bytes(csv->file, from, (size_t)(to - from), fetch, scratch_at);
    if (!bytes)
        return false;
    *out = (as_csv_cursor){(const char *)bytes, (const char *)bytes + (to - from), csv->separator};
    for (int64_t skip = row % AS_CSV_GROUP; skip; skip--) {
        const char *line;
        size_t      n;
        if (!as_csv_next(out, &line, &n))
            return as_fetch_fail(fetch, ASSAY_BAD_INPUT,
                                 "data: %s: %s: was changed while it was being read: row %" PRId64 " is gone", csv->what,
                                 csv->file->path, row);
    }
    return true;
}
