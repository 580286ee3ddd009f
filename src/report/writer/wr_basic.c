/* wr_basic.c - the basic report as text: one screen that says how fast it is, where the time goes, whether to trust it, and what
 * to do next. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/brief.h"
#include "report/report.h"

enum { MIN_WIDTH = 40, MAX_WIDTH = 110, INDENT = 2, GAP = 2, MIN_NAME = 12, MIN_BAR = 4, MAX_BAR = 24 };

#define BOLD  "\x1b[1m"
#define DIM   "\x1b[2m"
#define PLAIN "\x1b[0m"

typedef struct screen {
    FILE    *file;
    as_arena arena;
    int      width;
    bool     colour;
} screen;

static const struct {
    const char *mark, *colour;
} levels[] = {[AS_LEVEL_NOTE] = {"·", ""},
              [AS_LEVEL_GOOD] = {"✓", "\x1b[32m"},
              [AS_LEVEL_WARN] = {"!", "\x1b[33m"},
              [AS_LEVEL_BAD] = {"✗", "\x1b[31m"}};

static const char *paint(const screen *s, const char *code) { return s->colour && *code ? code : ""; }
static const char *plain(const screen *s, const char *code) { return s->colour && *code ? PLAIN : ""; }

static void spaces(const screen *s, int n)
{
    for (; n > 0; n--)
        fputc(' ', s->file);
}

static void left(const screen *s, const char *text, int columns)
{
    fputs(text, s->file);
    spaces(s, columns - as_text_columns(text));
}

static void right(const screen *s, const char *text, int columns)
{
    spaces(s, columns - as_text_columns(text));
    fputs(text, s->file);
}

static const char *clean(screen *s, const char *text) { return as_clean_text(&s->arena, text); }

static int most(int a, int b) { return a > b ? a : b; }

/* Words broken at the width; the cursor is at column `at`, and later lines begin at `indent`. */
static void wrapped(screen *s, const char *text, int indent, int at)
{
    const char *word = clean(s, text);
    bool        first = true;
    while (*word) {
        size_t      bytes = strcspn(word, " ");
        const char *one = as_arena_text_n(&s->arena, word, bytes);
        int         columns = one ? as_text_columns(one) : 0;
        if (!first && at + 1 + columns > s->width) {
            fputc('\n', s->file);
            spaces(s, at = indent);
            first = true;
        }
        if (!first)
            fputc(' ', s->file), at++;
        fputs(one ? as_text_cut(&s->arena, one, s->width - indent) : "", s->file);
        at += columns;
        first = false;
        word += bytes;
        word += strspn(word, " ");
    }
    fputc('\n', s->file);
}

/* --- Parts -------------------------------------------------------------------------------------------------- */

static void print_title(screen *s, const as_brief *b)
{
    const char *title = as_name_cut(&s->arena, clean(s, b->title), s->width);
    fprintf(s->file, "%s%s%s", paint(s, BOLD), title, plain(s, BOLD));
    int at = as_text_columns(title) + 3;
    if (!*b->settings) {
        fputc('\n', s->file);
        return;
    }
    bool fits = at + as_text_columns(b->settings) <= s->width;
    if (!fits)
        fputc('\n', s->file);
    spaces(s, fits ? 3 : INDENT);
    fprintf(s->file, "%s%s%s\n", paint(s, DIM), as_text_cut(&s->arena, clean(s, b->settings), s->width - (fits ? at : INDENT)),
            plain(s, DIM));
}

static void print_headline(screen *s, const as_brief *b)
{
    if (!b->headline)
        return;
    fputc('\n', s->file);
    spaces(s, INDENT);
    fprintf(s->file, "%s%s", paint(s, BOLD), paint(s, levels[b->level].colour));
    wrapped(s, b->headline, INDENT, INDENT);
    fputs(plain(s, BOLD), s->file);
}

static void print_numbers(screen *s, const as_brief *b)
{
    int label = 0, value = 0;
    for (int i = 0; i < b->n_numbers; i++) {
        label = most(label, as_text_columns(clean(s, b->numbers[i].label)));
        value = most(value, as_text_columns(clean(s, b->numbers[i].value)));
    }
    value = value > s->width / 2 ? s->width / 2 : value;
    if (b->n_numbers)
        fputc('\n', s->file);
    for (int i = 0; i < b->n_numbers; i++) {
        const as_brief_number *n = &b->numbers[i];
        int                    at = INDENT + label + GAP + value + 3;
        const char            *aside = as_text_cut(&s->arena, clean(s, n->aside), s->width - at);
        spaces(s, INDENT);
        left(s, clean(s, n->label), label + GAP);
        fputs(paint(s, BOLD), s->file);
        left(s, as_text_cut(&s->arena, clean(s, n->value), value), *aside ? value + 3 : 0);
        fprintf(s->file, "%s%s\n", plain(s, BOLD), aside);
    }
}

typedef struct widths {
    int name, bar, columns[AS_BRIEF_COLUMNS];
    int n; /* number of columns that fit */
} widths;

/* Numbers keep their width; the name takes what it needs of the rest, and the bar what is left.  On a narrow screen the last
 * columns are left out. */
static widths widths_of(screen *s, const as_brief_table *t)
{
    widths w = {.name = as_text_columns(clean(s, t->columns[0])), .n = t->n_columns};
    int    rest = s->width - INDENT;
    for (int r = 0; r < t->n_rows; r++)
        w.name = most(w.name, as_text_columns(clean(s, t->rows[r].cells[0])));
    for (int c = 1; c < t->n_columns; c++) {
        w.columns[c] = as_text_columns(clean(s, t->columns[c]));
        for (int r = 0; r < t->n_rows; r++)
            w.columns[c] = most(w.columns[c], as_text_columns(clean(s, t->rows[r].cells[c])));
        rest -= w.columns[c] + GAP;
    }
    for (int c = t->n_columns - 1; c > 0 && rest < MIN_NAME; c--) /* columns of words shrink before the name does */
        if (t->left[c] && w.columns[c] > MIN_NAME) {
            int less = MIN_NAME - rest < w.columns[c] - MIN_NAME ? MIN_NAME - rest : w.columns[c] - MIN_NAME;
            w.columns[c] -= less;
            rest += less;
        }
    for (; rest < MIN_NAME && w.n > 1; w.n--)
        rest += w.columns[w.n - 1] + GAP;
    int least_bar = t->bars ? MIN_BAR + GAP : 0;
    w.name = w.name > rest - least_bar ? most(MIN_NAME, rest - least_bar) : w.name;
    if (t->bars && rest - w.name - GAP >= MIN_BAR)
        w.bar = rest - w.name - GAP < MAX_BAR ? rest - w.name - GAP : MAX_BAR;
    return w;
}

/* Eighths of a column. */
static void print_bar(const screen *s, double share, int columns)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int                      eighths = isfinite(share) ? (int)lround(fmin(fmax(share, 0), 1) * columns * 8) : 0, full = eighths / 8;
    for (int i = 0; i < full; i++)
        fputs("█", s->file);
    fputs(parts[eighths % 8], s->file);
    spaces(s, columns - full - (eighths % 8 > 0));
}

static const char *role_colour(as_chart_role role)
{
    return role == AS_CHART_MUTED  ? DIM
           : role == AS_CHART_GOOD ? levels[AS_LEVEL_GOOD].colour
           : role == AS_CHART_WARN ? levels[AS_LEVEL_WARN].colour
           : role == AS_CHART_BAD  ? levels[AS_LEVEL_BAD].colour
                                   : "";
}

static void print_cells(screen *s, const as_brief_table *t, const widths *w, const char *const *cells)
{
    int n = w->n;
    while (n > 1 && !*cells[n - 1]) /* no blanks at the end of a line */
        n--;
    for (int c = 1; c < n; c++) {
        const char *text = as_text_cut(&s->arena, clean(s, cells[c]), w->columns[c]);
        spaces(s, GAP);
        if (t->left[c])
            left(s, text, c + 1 < n ? w->columns[c] : 0);
        else
            right(s, text, w->columns[c]);
    }
    fputc('\n', s->file);
}

static bool has_cells(const as_brief_table *t, const as_brief_row *row)
{
    for (int c = 1; c < t->n_columns; c++)
        if (*row->cells[c])
            return true;
    return false;
}

static void print_table(screen *s, const as_brief_table *t)
{
    widths       w = widths_of(s, t);
    const char **names = AS_TAKE(&s->arena, const char *, t->n_rows);
    for (int r = 0; names && r < t->n_rows; r++)
        names[r] = clean(s, t->rows[r].cells[0]);
    bool fits = names && as_names_fit(&s->arena, names, (size_t)t->n_rows, w.name, names);
    if (!t->n_rows)
        return;
    fputc('\n', s->file);
    spaces(s, INDENT);
    int caption = w.name + (w.bar ? GAP + w.bar : 0);
    fputs(paint(s, BOLD), s->file);
    left(s, as_text_cut(&s->arena, clean(s, t->columns[0]), caption), caption);
    fprintf(s->file, "%s%s", plain(s, BOLD), paint(s, DIM));
    print_cells(s, t, &w, t->columns);
    fputs(plain(s, DIM), s->file);
    for (int r = 0; r < t->n_rows; r++) {
        const as_brief_row *row = &t->rows[r];
        const char         *code = role_colour(row->role);
        spaces(s, INDENT);
        fputs(paint(s, code), s->file);
        left(s, fits ? names[r] : as_name_cut(&s->arena, clean(s, row->cells[0]), w.name), has_cells(t, row) || w.bar ? w.name : 0);
        if (w.bar) {
            spaces(s, GAP);
            print_bar(s, row->bar, w.bar);
        }
        print_cells(s, t, &w, row->cells);
        fputs(plain(s, code), s->file);
    }
    if (t->note) {
        spaces(s, INDENT);
        fprintf(s->file, "%s%s%s\n", paint(s, DIM), as_text_cut(&s->arena, clean(s, t->note), s->width - INDENT), plain(s, DIM));
    }
}

static void print_tries(screen *s, const as_brief *b)
{
    const char *command = NULL;
    int         what = 0, effect = 0;
    for (int i = 0; i < b->n_tries; i++) {
        what = most(what, as_text_columns(clean(s, b->tries[i].what)));
        effect = most(effect, as_text_columns(clean(s, b->tries[i].effect)));
        command = command ? command : b->tries[i].command;
    }
    if (!b->n_tries)
        return;
    effect = most(effect, 9);
    int end = s->width < AS_BRIEF_WIDTH ? s->width : AS_BRIEF_WIDTH, why = end - INDENT - what - 3 - GAP - effect;
    fputc('\n', s->file);
    spaces(s, INDENT);
    fprintf(s->file, "%sWhat to try%s", paint(s, BOLD), plain(s, BOLD));
    fputs(paint(s, DIM), s->file);
    right(s, "estimated", end - INDENT - 11);
    fprintf(s->file, "%s\n", plain(s, DIM));
    for (int i = 0; i < b->n_tries; i++) {
        spaces(s, INDENT);
        left(s, clean(s, b->tries[i].what), what + 3);
        left(s, as_text_cut(&s->arena, clean(s, b->tries[i].why), most(why, 1)), why + GAP);
        right(s, clean(s, b->tries[i].effect), effect);
        fputc('\n', s->file);
    }
    if (command) {
        spaces(s, INDENT);
        fprintf(s->file, "%scheck it:%s  ", paint(s, DIM), plain(s, DIM));
        fprintf(s->file, "%s\n", clean(s, command));
    }
}

/* Checks that reduce trust come first. */
static void print_trust(screen *s, const as_brief *b)
{
    static const as_level order[] = {AS_LEVEL_BAD, AS_LEVEL_WARN, AS_LEVEL_NOTE, AS_LEVEL_GOOD};
    as_text               line = {0};
    as_level              worst = as_brief_trust_level(b);
    if (!b->trust)
        return;
    as_text_printf(&line, "%s", b->trust);
    const char *joint = ": ";
    for (size_t k = 0; k < AS_COUNT(order); k++)
        for (int i = 0; i < b->n_checks; i++)
            if (b->checks[i].level == order[k]) {
                as_text_printf(&line, "%s%s", joint, b->checks[i].text);
                joint = ", ";
            }
    fputc('\n', s->file);
    spaces(s, INDENT);
    fprintf(s->file, "%s%s%s ", paint(s, levels[worst].colour), levels[worst].mark, plain(s, levels[worst].colour));
    wrapped(s, line.data ? line.data : b->trust, INDENT + 2, INDENT + 2);
    as_text_drop(&line);
}

static void print_hints(screen *s, const as_brief *b)
{
    int at = INDENT;
    if (!b->n_hints)
        return;
    fputc('\n', s->file);
    for (int i = 0; i < b->n_hints; i++) {
        const char *option = clean(s, b->hints[i].option), *what = clean(s, b->hints[i].what);
        int         columns = as_text_columns(option) + 2 + as_text_columns(what);
        if (at + columns + (i ? 5 : 0) > s->width)
            break;
        spaces(s, i ? 5 : INDENT);
        fprintf(s->file, "%s  %s%s%s", option, paint(s, DIM), what, plain(s, DIM));
        at += columns + (i ? 5 : 0);
    }
    fputc('\n', s->file);
}

/* "mlp-small: Latency 47.5 ms (46.9 to 48.2), p95 51 ms": asides are parted by three spaces. */
static void print_line(const as_brief *b, FILE *file)
{
    if (b->headline) {
        fprintf(file, "%s\n", b->headline);
        return;
    }
    const as_brief_number *n = &b->numbers[0];
    fprintf(file, "%s: %s %s", b->title, n->label, n->value);
    for (const char *at = n->aside; at && *at;) {
        size_t length = strcspn(at, " "), gap;
        while (at[length] && (gap = strspn(at + length, " ")) < 3)
            length += gap + strcspn(at + length + gap, " ");
        fprintf(file, "%s%.*s", at == n->aside && *at == '(' ? " " : ", ", (int)length, at);
        at += length + strspn(at + length, " ");
    }
    fputc('\n', file);
}

bool as_brief_print(const as_brief *b, const as_brief_settings *settings, FILE *file)
{
    int    width = settings->width ? settings->width : AS_BRIEF_WIDTH;
    screen s = {.file = file,
                .width = width < MIN_WIDTH   ? MIN_WIDTH
                         : width > MAX_WIDTH ? MAX_WIDTH
                                             : width,
                .colour = settings->colour};
    if (settings->one_line && (b->headline || b->n_numbers)) {
        print_line(b, file);
        return true;
    }
    print_title(&s, b);
    print_headline(&s, b);
    print_numbers(&s, b);
    for (int i = 0; i < b->n_tables; i++)
        print_table(&s, &b->tables[i]);
    if (b->n_texts)
        fputc('\n', file);
    for (int i = 0; i < b->n_texts; i++) {
        spaces(&s, INDENT);
        wrapped(&s, b->texts[i], INDENT, INDENT);
    }
    print_tries(&s, b);
    print_trust(&s, b);
    if (!settings->one_line)
        print_hints(&s, b);
    as_arena_drop(&s.arena);
    return true;
}

/* --- The writer ------------------------------------------------------------------------------------------- */

/* Facts without a kind of brief are shown as the full report without details. */
static assay_status in_full(assay_env *env, const as_doc *doc, const assay_facts *facts, const as_write_settings *s, FILE *file)
{
    as_write_settings settings = *s;
    settings.brief = true;
    return as_writer_find("text")->write(env, &doc, &facts, 1, &settings, file);
}

static assay_status write_brief(assay_env *env, const as_doc *const *docs, const assay_facts *const *facts, size_t n,
                                const as_write_settings *s, FILE *file)
{
    for (size_t i = 0; i < n; i++) {
        as_brief     b = {.title = "", .by_module = s->by_module, .module_depth = s->module_depth};
        assay_status status = ASSAY_OK;
        if (i)
            fputs("\n\n", file);
        if (as_brief_make(&b, facts[i]))
            as_brief_print(&b, &(as_brief_settings){.colour = s->colour, .width = s->width, .one_line = s->one_line}, file);
        else if (b.failed)
            status = as_fail(env, ASSAY_NO_MEMORY, "report: no memory for the basic report of run %zu of %zu", i + 1, n);
        else
            status = in_full(env, docs[i], facts[i], s, file);
        as_arena_drop(&b.arena);
        AS_TRY(status);
    }
    return ASSAY_OK;
}

const as_writer as_wr_basic = {
    .name = "basic", .suffix = ".txt", .help = "for a terminal: one screen, what matters", .write = write_brief};
