/* chart_test.c - charts: documents hold their data but no drawing; every kind can be drawn, whatever its numbers and names. */
#include <math.h>

#include "analysis/duel/duel_facts.h"
#include "analysis/duel/test_trial.h"
#include "report/chart/draw.h"
#include "report/pick.h"
#include "report/test_report.h"

#define HOSTILE "</svg><script>alert('x')</script>\"&\x1b[31m\x07\xff\xe2\x80\xae\n::\xef\xbf\xbf"

/* --- Documents ---------------------------------------------------------------------------------------------- */

/* The n-th chart of a kind. */
static const as_chart *chart_find(const as_doc *d, const char *kind, int n)
{
    for (int i = 0; i < d->n_blocks; i++)
        if (d->blocks[i].chart && !strcmp(d->blocks[i].chart->kind, kind) && !n--)
            return d->blocks[i].chart;
    return NULL;
}

static const as_drawing *drawing_find(const char *kind)
{
    for (const as_drawing *const *d = as_draw_table; *d; d++)
        if (!strcmp((*d)->name, kind))
            return *d;
    return NULL;
}

/* Every chart of a document can be drawn, has a title and a caption, and its numbers have a kind and a source. */
static int charts_check(const as_doc *d)
{
    int n = 0;
    for (int i = 0; i < d->n_blocks; i++) {
        const as_chart *c = d->blocks[i].chart;
        expect_eq(c != NULL, d->blocks[i].kind == AS_BLOCK_CHART);
        if (!c)
            continue;
        n++;
        if (!drawing_find(c->kind))
            fail("no drawing is named \"%s\"", c->kind);
        expect(c->title && c->caption && c->group && c->n_series > 0 && c->y[0].label);
        for (int k = 0; k < c->n_series && !c->table; k++)
            expect(c->series[k].key && c->series[k].kind != ASSAY_KIND_MISSING && c->series[k].source);
    }
    return n;
}

Test(charts, a_document_of_a_profile_holds_their_data)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    as_doc       d = {0};
    expect(as_doc_make(&d, f, NULL));
    expect(charts_check(&d) >= 6);

    const as_chart  *bars = chart_find(&d, "bars", 0);
    const as_table  *steps = as_facts_table_find(f, "layers", "steps");
    const as_series *samples = as_facts_series_find(f, "latency", "samples");
    expect(bars->table == steps);
    expect_str(bars->y[0].unit, "ns");
    expect_eq(bars->series[0].n, (size_t)steps->n_rows);
    for (size_t i = 1; i < bars->series[0].n; i++)
        expect(bars->series[0].y[i] <= bars->series[0].y[i - 1]); /* slowest first */
    expect_str(as_point_name(&bars->series[0], 0), "fc1");
    expect_str(as_point_detail(&bars->series[0], 0), "Gemm");
    expect_near(bars->series[0].y[0], as_value_at(steps, 0, "time"), 0);

    const as_chart *histogram = chart_find(&d, "histogram", 0), *course = chart_find(&d, "course", 0);
    expect(histogram->series[0].y == samples->y && course->series[0].y == samples->y); /* borrowed, not copied */
    expect_eq(histogram->series[0].n, samples->n);
    expect_eq(histogram->series[0].kind, ASSAY_MEASURED);
    expect_str(histogram->marks[1].label, "median");
    expect_near(histogram->marks[1].at, as_facts_metric(f, "latency.median")->value, 0);

    const as_chart *flame = chart_find(&d, "flame", 0), *graph = chart_find(&d, "graph", 0), *boxes = chart_find(&d, "boxes", 0);
    expect_str(as_point_detail(&flame->series[0], 0), "one run");
    expect_near(flame->series[0].y[1], 1, 0); /* a segment below the run */
    expect(graph->n_links > 0 && graph->links[0].from < graph->links[0].to);
    expect(boxes->n_groups > 0 && boxes->series[0].groups[0] < boxes->n_groups && boxes->series[0].y_end[0] > 0);
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(charts, a_document_of_comparisons_holds_their_data)
{
    assay_env    *env = as_test_env();
    assay_trace  *trial = as_planted_trial(env, (as_planted){.name = "x", .ratio = 1.1});
    as_duel_rules rules;
    as_duel       duel;
    as_doc        d = {0};
    as_duel_rules_standard(&rules);
    as_duel_judge(trial, 0, 1, &rules, &duel);
    as_duel_row  row = {.trial = trial, .b = 1, .duel = duel, .rules = &rules};
    assay_facts *f = as_facts_of_duels(env, &row, 1, "compare");
    expect(as_doc_make(&d, f, NULL));
    expect_eq(charts_check(&d), 3);
    const as_chart *rounds = chart_find(&d, "rounds", 0), *lanes = chart_find(&d, "lanes", 0),
                   *intervals = chart_find(&d, "intervals", 0);
    expect(rounds->series[0].y == as_facts_series_find(f, "compare", "0.differences")->y);
    expect_near(rounds->marks[0].at, duel.ratio - 1, 1e-12);
    expect_eq(rounds->marks[0].role, AS_CHART_BAD); /* slower */
    expect_eq(rounds->marks[1].role, AS_CHART_LIMIT);
    expect_near(rounds->marks[1].hi, rules.margin, 1e-12);
    expect_near(intervals->series[0].lo[0], duel.lo - 1, 1e-12);
    expect_eq(lanes->series[0].lane, 0);
    expect_eq(lanes->series[1].group, 1); /* the second candidate */
    expect_eq(lanes->series[2].role, AS_CHART_MUTED);
    expect_str(lanes->y[2].label, "memory probe: other work on the memory");
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    assay_trace_free(trial);
    assay_env_free(env);
}

Test(charts, a_document_of_a_history_holds_its_steps)
{
    assay_env       *env = as_test_env();
    as_history_point points[40];
    uint64_t         state = 9;
    as_doc           d = {0};
    for (int i = 0; i < 40; i++)
        points[i] = (as_history_point){.unix_time = 1700000000 + i * 86400,
                                       .commit = "abcdef0123",
                                       .machine = "m",
                                       .median = 1e6 * (i < 25 ? 1 : 1.1) * (1 + .003 * as_planted_draw(&state)),
                                       .lo = NAN,
                                       .hi = NAN};
    assay_facts *f = as_facts_of_history(env, "matmul", points, 40, NULL);
    expect(as_doc_make(&d, f, NULL));
    const as_chart *c = chart_find(&d, "history", 0);
    expect_eq(charts_check(&d), 1);
    expect_eq(c->series[0].n, 40);
    expect_str(as_point_name(&c->series[0], 0), "abcdef01");
    expect_eq(c->n_marks, 1);
    expect_near(c->marks[0].at, 25, 1);
    expect_near(c->marks[0].after / c->marks[0].before, 1.1, .01);
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(charts, are_told_in_a_sentence)
{
    as_arena          a = {0};
    const char *const names[] = {"conv1", "fc2", "none"};
    as_chart_series   s[] = {{.label = "cpu", .y = (const double[]){2000, 5e6, NAN}, .n = 3, .names = names},
                             {.label = "gpu", .y = (const double[]){7}, .n = 1}};
    as_chart          c = {.kind = "bars", .y = {{.label = "time", .unit = "ns"}}, .series = s, .n_series = 1};
    as_mark           marks[] = {{.label = "median", .on = AS_MARK_Y, .at = 4e6}, {.label = "flips", .on = AS_MARK_X, .at = 1}};
    expect_str(as_chart_alt(&a, &c), "time: 2 values, from 2.00 µs (conv1) to 5.00 ms (fc2)");
    c.n_series = 2, c.marks = marks, c.n_marks = 2, c.x.log = true;
    expect_str(
        as_chart_alt(&a, &c),
        "cpu: 2 values, from 2.00 µs (conv1) to 5.00 ms (fc2); gpu: 1 value, from 7 ns to 7 ns; median 4.00 ms; x is logarithmic");
    as_arena_drop(&a);
}

/* --- Every kind --------------------------------------------------------------------------------------------- */

/* A chart that every kind can draw: a new drawing is tested as soon as it is in the table. */
typedef struct any {
    as_chart        chart;
    as_chart_series series[2];
    as_mark         marks[5];
    as_link         links[3];
    double          x[6], x_end[6], y[6], y_end[6], lo[6], hi[6], weight[6];
    const char     *names[6], *details[6], *words[6];
    as_chart_role   roles[6];
    int             groups[6];
} any;

static const char *const group_names[] = {"one", HOSTILE};

static void any_make(any *a, const char *kind, size_t n, const char *name)
{
    *a = (any){
        .marks = {{.label = "flat", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = 8, .lo = 8, .hi = 9},
                  {.label = "L1", .on = AS_MARK_SLOPE, .role = AS_CHART_LIMIT, .at = 4, .lo = 4, .hi = 5},
                  {.label = "DRAM", .on = AS_MARK_SLOPE, .role = AS_CHART_LIMIT, .at = 1, .lo = 1, .hi = 2},
                  {.label = name, .on = AS_MARK_X, .role = AS_CHART_MAIN, .at = 2, .lo = 1.5, .hi = 2.5, .before = 1, .after = 2},
                  {.label = name, .on = AS_MARK_Y, .role = AS_CHART_GOOD, .at = 2, .lo = 1.5, .hi = 2.5}},
        .links = {{0, 1}, {0, 2}, {1, 2}}};
    for (int i = 0; i < 6; i++) {
        a->x[i] = i + 1, a->x_end[i] = i + 2, a->y[i] = i + 1, a->y_end[i] = 2 * i + 2, a->lo[i] = i + .5, a->hi[i] = i + 1.5;
        a->weight[i] = i == 0 ? .9 : .02;
        a->names[i] = a->details[i] = a->words[i] = name;
        a->roles[i] = i % 2 ? AS_CHART_BAD : AS_CHART_MAIN, a->groups[i] = i % 2;
    }
    for (int k = 0; k < 2; k++)
        a->series[k] = (as_chart_series){.key = k ? "second" : "first",
                                         .label = name,
                                         .lane = k,
                                         .group = k,
                                         .n = n,
                                         .x = a->x,
                                         .x_end = a->x_end,
                                         .y = a->y,
                                         .y_end = a->y_end,
                                         .lo = a->lo,
                                         .hi = a->hi,
                                         .weight = a->weight,
                                         .names = a->names,
                                         .details = a->details,
                                         .words = a->words,
                                         .roles = a->roles,
                                         .groups = a->groups,
                                         .kind = ASSAY_MEASURED,
                                         .source = "a test"};
    a->chart = (as_chart){.kind = kind,
                          .group = "g",
                          .title = name,
                          .caption = name,
                          .x = {.label = name, .unit = "s"},
                          .y = {{.label = name, .unit = "ns"}, {.label = name, .unit = "byte"}},
                          .series = a->series,
                          .n_series = 2,
                          .marks = a->marks,
                          .n_marks = 5,
                          .links = a->links,
                          .n_links = n > 2 ? 3 : n == 2,
                          .groups = group_names,
                          .n_groups = 2};
}

static void svg_check(const char *kind, const char *svg)
{
    const char *fault;
    if (!svg)
        fail("%s: no memory", kind);
    if ((fault = as_xml_fault(svg)))
        fail("%s: %s in %s", kind, fault, svg);
    if (strstr(svg, "<script") || strstr(svg, "nan") || strstr(svg, "inf\"") || strchr(svg, '\x1b') || strstr(svg, "\xef\xbf\xbf"))
        fail("%s: what may not be in %s", kind, svg);
}

static void text_check(const char *kind, const char *text, int columns)
{
    if (!text)
        fail("%s: no memory", kind);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        char one[1024];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        if (as_text_columns(one) > columns)
            fail("%s: %d columns, allowed %d: %s", kind, as_text_columns(one), columns, one);
        if (!strchr(line, '\n'))
            fail("%s: a line without an end: %s", kind, one);
    }
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 && *c != '\n')
            fail("%s: control character %d", kind, *c);
}

/* Drawn both ways; whether something was drawn. */
static bool any_check(const any *a, bool *in_text)
{
    as_arena    arena = {0};
    const char *svg = as_chart_svg(&arena, &a->chart);
    svg_check(a->chart.kind, svg);
    bool drawn = *svg != 0;
    expect(!drawn || !strncmp(svg, "<svg class=\"chart", 17));
    expect(!drawn || strstr(svg, "<desc>"));
    *in_text = false;
    for (int columns = 20; columns <= 120; columns += 10) {
        const char *text = as_chart_text(&arena, &a->chart, columns);
        text_check(a->chart.kind, text,
                   columns < AS_DRAW_LEAST_COLUMNS ? AS_DRAW_LEAST_COLUMNS
                   : columns > AS_DRAW_COLUMNS     ? AS_DRAW_COLUMNS
                                                   : columns);
        *in_text = *text != 0;
    }
    as_arena_drop(&arena);
    return drawn;
}

static char *csv_of(assay_env *env, const as_chart *c)
{
    char              *data = NULL;
    size_t             bytes;
    assay_facts       *f = as_facts_new(env);
    as_doc             d = {0};
    const as_doc      *docs[] = {&d};
    const assay_facts *all[] = {f};
    FILE              *file = open_memstream(&data, &bytes);
    as_doc_chart(&d, c);
    expect_ok(env, as_writer_find("csv")->write(env, docs, all, 1, &(as_write_settings){0}, file));
    fclose(file);
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    return data;
}

Test(charts, every_kind_is_drawn_as_svg_as_text_and_as_csv)
{
    assay_env *env = as_test_env();
    any        a;
    bool       in_text;
    int        n = 0;
    for (const as_drawing *const *d = as_draw_table; *d; d++, n++) {
        any_make(&a, (*d)->name, 6, "name");
        if (!any_check(&a, &in_text) || !in_text)
            fail("%s is not drawn", (*d)->name);
        char *csv = csv_of(env, &a.chart);
        expect_has(csv, "1,g,first[0].x,name: name,1,s,measured,a test,1,,,\r\n");
        expect_has(csv, "1,g,first[5].y,name: name,6,ns,measured,a test,1,5.5,6.5,\r\n");
        expect_eq(as_test_count(csv, "\r\n"), 2 + 2 * 6); /* both series have the same numbers: once */
        free(csv);
    }
    expect(n >= 12);
    assay_env_free(env);
}

Test(charts, of_hostile_names_are_harmless_in_every_kind)
{
    assay_env *env = as_test_env();
    any        a;
    bool       in_text;
    for (const as_drawing *const *d = as_draw_table; *d; d++) {
        any_make(&a, (*d)->name, 6, HOSTILE);
        if (!any_check(&a, &in_text) || !in_text)
            fail("%s is not drawn", (*d)->name);
        char *csv = csv_of(env, &a.chart);
        expect_has(csv, "\"");
        free(csv);
        any_make(&a, (*d)->name, 6, "");
        any_check(&a, &in_text);
    }
    assay_env_free(env);
}

Test(charts, of_nothing_are_nothing_in_every_kind)
{
    any  a;
    bool in_text;
    for (const as_drawing *const *d = as_draw_table; *d; d++) {
        any_make(&a, (*d)->name, 0, "x");
        if (any_check(&a, &in_text) || in_text)
            fail("%s draws nothing at all", (*d)->name);
        any_make(&a, (*d)->name, 6, "x");
        a.chart.n_links = 0;
        for (int i = 0; i < 6; i++)
            a.y[i] = NAN;
        if (any_check(&a, &in_text) || in_text)
            fail("%s draws what is not a number", (*d)->name);
    }
    any_make(&a, "no such kind", 6, "x");
    expect(!any_check(&a, &in_text) && !in_text);
}

/* One point, holes, infinities, the largest and smallest doubles, missing arrays. */
Test(charts, of_odd_numbers_do_no_harm_in_any_kind)
{
    static const double odd[][6] = {{NAN, 1, NAN, 2, NAN, 3},
                                    {INFINITY, -INFINITY, 1, 2, 3, 4},
                                    {1e-300, 1e300, 1, 2, 3, 4},
                                    {-1.7e308, 1.7e308, 0, 1, 2, 3},
                                    {5e-324, 1e-320, 0, 0, 0, 0},
                                    {0, 0, 0, 0, 0, 0},
                                    {7, 7, 7, 7, 7, 7},
                                    {-1, -2, -3, -4, -5, -6},
                                    {1e15, 1e15 + 1, 1e15 + 2, 1, 2, 3},
                                    {1, 1 + 1e-15, 1 - 1e-15, 1, 1, 1}};
    any                 a;
    bool                in_text;
    for (const as_drawing *const *d = as_draw_table; *d; d++) {
        for (size_t n = 1; n <= 2; n++) {
            any_make(&a, (*d)->name, n, "x");
            any_check(&a, &in_text);
        }
        for (size_t i = 0; i < AS_COUNT(odd); i++)
            for (int where = 0; where < 7; where++) {
                any_make(&a, (*d)->name, 6, "x");
                double *arrays[] = {a.x, a.x_end, a.y, a.y_end, a.lo, a.hi, a.weight};
                memcpy(arrays[where], odd[i], sizeof odd[i]);
                any_check(&a, &in_text);
                for (int k = 0; k < 5; k++) { /* the marks, too */
                    any_make(&a, (*d)->name, 6, "x");
                    a.marks[k].at = odd[i][0], a.marks[k].lo = odd[i][1], a.marks[k].hi = odd[i][2];
                    a.marks[k].before = odd[i][0], a.marks[k].after = odd[i][1];
                    any_check(&a, &in_text);
                }
            }
        any_make(&a, (*d)->name, 6, "x");
        for (int k = 0; k < 2; k++)
            a.series[k] = (as_chart_series){.n = 6, .y = a.y};
        a.chart.y[0].unit = a.chart.y[0].label = a.chart.x.unit = a.chart.x.label = NULL;
        any_check(&a, &in_text);
        a.chart.n_marks = a.chart.n_links = a.chart.n_groups = 0;
        any_check(&a, &in_text);
    }
}

static char *report_of(assay_env *env, const assay_facts *f, const char *format, const char *sections)
{
    return as_test_report(env, f, 1, format, (as_write_settings){.sections = sections});
}

/* --- Writers ------------------------------------------------------------------------------------------------ */

Test(charts, in_csv_the_samples_stand_once_and_what_a_table_holds_not_again)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *csv = report_of(env, f, "csv", NULL);
    expect_eq(as_test_count(csv, ",latency,samples[0].y,"), 1); /* two charts show them */
    expect_eq(as_test_count(csv, ",latency,samples[199].x,"), 1);
    expect(!strstr(csv, "bars[") && !strstr(csv, "boxes[") && !strstr(csv, "flame[") && !strstr(csv, "graph[0].x"));
    free(csv);
    csv = report_of(env, f, "csv", "layers");
    expect(!strstr(csv, "samples["));
    free(csv);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(charts, without_a_kind_reach_no_csv)
{
    assay_env         *env = as_test_env();
    any                a;
    as_doc             d = {0};
    const as_doc      *docs[] = {&d};
    assay_facts       *f = as_facts_new(env);
    const assay_facts *all[] = {f};
    char              *data = NULL;
    size_t             bytes;
    FILE              *file = open_memstream(&data, &bytes);
    any_make(&a, "bars", 6, "x");
    a.series[0].kind = ASSAY_KIND_MISSING;
    as_doc_chart(&d, &a.chart);
    expect_fails(env, as_writer_find("csv")->write(env, docs, all, 1, &(as_write_settings){0}, file), ASSAY_INTERNAL,
                 "chart \"x\" has numbers without a kind or a source");
    fclose(file);
    free(data);
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(charts, in_text_the_roofline_and_the_graph_are_drawn_for_who_asks_for_them)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *all = report_of(env, f, "text", NULL), *layers = report_of(env, f, "text", "layers");
    expect(!strstr(all, "The network as it ran"));
    expect_has(layers, "The network as it ran");
    expect_has(layers, " <- ");
    expect_has(layers, "Flame graph of one run");
    expect_has(layers, "100.0 %");
    free(all), free(layers);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(charts, in_markdown_only_those_that_no_table_holds)
{
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){0});
    char        *md = report_of(env, f, "markdown", "layers,latency");
    expect(!strstr(md, "slowest first"));
    expect_has(md, "How the samples are distributed\n\n    ");
    expect(!strstr(md, "<svg"));
    free(md);
    assay_facts_free(f);
    assay_env_free(env);
}

/* --- Kinds one by one --------------------------------------------------------------------------------------- */

static as_chart_series series_of(const double *y, size_t n) { return (as_chart_series){.y = y, .n = n}; }

static as_chart chart_of(const char *kind, const as_chart_series *s, int n, const char *unit)
{
    return (as_chart){.kind = kind, .title = "t", .y = {{.unit = unit}}, .series = s, .n_series = n};
}

Test(bars, cut_long_names_and_tell_them_whole_in_their_tip)
{
    as_arena          a = {0};
    const char *const names[] = {"block3_1_skip+residual+relu+pool"}, *const details[] = {"assay.SomethingVeryLong"};
    as_chart_series s = {.y = (const double[]){5}, .n = 1, .names = names, .details = details};
    as_chart        c = chart_of("bars", &s, 1, "ns");
    const char     *svg = as_chart_svg(&a, &c);
    expect_has(svg, "<g><title>block3_1_skip+residual+relu+pool: 5 ns, assay.SomethingVeryLong</title>");
    expect_has(svg, ">block3_1_s…l+relu+pool</text>");
    expect_has(svg, ">assay.SomethingV…</text>");
    expect_has(svg, "<desc>1 value, from 5 ns (block3_1_skip+residual+relu+pool) to 5 ns (");
    as_arena_drop(&a);
}

Test(bars, in_characters_align)
{
    as_arena          a = {0};
    const char *const names[] = {"a", "bb"};
    as_chart_series   s = {.y = (const double[]){2, 1}, .n = 2, .names = names};
    as_chart          c = chart_of("bars", &s, 1, "ns");
    expect_str(as_chart_text(&a, &c, 72), "a  ████████████████████████████████ 2 ns\nbb ████████████████                 1 ns\n");
    as_arena_drop(&a);
}

Test(course, is_thinned_but_keeps_its_spike)
{
    enum { N = 200000 };
    as_arena a = {0};
    double  *y = calloc(N, sizeof *y);
    expect(y != NULL);
    for (int i = 0; i < N; i++)
        y[i] = 100 + i % 3;
    y[77777] = 1000;
    as_chart_series s = series_of(y, N);
    as_chart        c = chart_of("course", &s, 1, "ns");
    const char     *svg = as_chart_svg(&a, &c);
    size_t          bytes = strlen(svg);
    bool            has_top = strstr(svg, " 12L") || strstr(svg, " 12\""); /* the spike reaches the top of the picture */
    free(y);
    expect(bytes < 80000);
    expect(has_top);
    as_arena_drop(&a);
}

Test(histogram, counts_what_lies_far_out)
{
    as_arena a = {0};
    double   x[100];
    for (int i = 0; i < 100; i++)
        x[i] = 1000 + i;
    x[99] = 1e6;
    as_chart_series s = series_of(x, 100);
    as_chart        c = chart_of("histogram", &s, 1, "ns");
    expect_has(as_chart_svg(&a, &c), "1 more, up to 1.00 ms");
    expect_has(as_chart_text(&a, &c, 72), "1 more, up to 1.00 ms");
    as_arena_drop(&a);
}

/* The run contains nested modules, which contain steps; a step that is its whole module replaces it. */
Test(flame, boxes_are_the_tree_of_modules)
{
    static const struct {
        const char *name;
        double      depth, from, to;
    } boxes[] = {{"synthetic-mlp, batch 8, cpu, 1 thread", 0, 0, 100000},
                 {"net", 1, 0, 95000},
                 {"net.block1", 2, 0, 80000},
                 {"fc1", 3, 0, 50000}, /* not named after its module: below it */
                 {"relu1", 3, 50000, 80000},
                 {"fc2", 2, 80000, 95000},
                 {"softmax", 1, 95000, 99000}};
    assay_env   *env = as_test_env();
    assay_facts *f = as_test_facts(env, (as_synthetic){.modules = {"net.block1", "net.block1", "net", ""}});
    as_doc       d = {0};
    expect(as_doc_make(&d, f, "layers"));
    const as_chart_series *s = &chart_find(&d, "flame", 0)->series[0];
    expect_eq(s->n, AS_COUNT(boxes));
    for (size_t i = 0; i < AS_COUNT(boxes); i++) {
        expect_str(s->names[i], boxes[i].name);
        expect_near(s->y[i], boxes[i].depth, 0);
        expect_near(s->x[i], boxes[i].from, 1e-6);
        expect_near(s->x_end[i], boxes[i].to, 1e-6);
    }
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    f = as_test_facts(env, (as_synthetic){.modules = {"a.fc1", "a.relu1", "fc2", "softmax.x"}, .name = "a.fc1"});
    d = (as_doc){0};
    expect(as_doc_make(&d, f, "layers"));
    s = &chart_find(&d, "flame", 0)->series[0];
    expect_str(s->names[2], "a.fc1"); /* below a: boxes for both the module and the step would say the same */
    expect_near(s->y[2], 2, 0);
    expect_str(s->names[3], "a.relu1"); /* the step's name is relu1, so both are shown */
    expect_str(s->names[5], "fc2");
    expect_near(s->y[5], 1, 0);
    as_arena_drop(&d.arena);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(flame, of_a_hostile_depth_is_drawn)
{
    char       deep[2001];
    assay_env *env = as_test_env();
    for (int i = 0; i < 2000; i++)
        deep[i] = i % 2 ? '.' : 'a';
    deep[2000] = '\0';
    assay_facts *f = as_test_facts(env, (as_synthetic){.modules = {deep, "...", ".", "a.a.a"}});
    char        *html = as_test_report(env, f, 1, "html", (as_write_settings){.by_module = true, .module_depth = 100});
    expect_has(html, "svg class=\"chart flame\"");
    free(html);
    assay_facts_free(f);
    assay_env_free(env);
}

Test(flame, boxes_carry_their_shares)
{
    as_arena          a = {0};
    const char *const names[] = {"run", "segment 0, cpu", "\"<x>", "y"}, *const details[] = {"one run", NULL, "Gemm", "Relu"};
    as_chart_series s = {.n = 4,
                         .x = (const double[]){0, 0, 0, 60},
                         .x_end = (const double[]){100, 80, 60, 80},
                         .y = (const double[]){0, 1, 2, 2},
                         .names = names,
                         .details = details};
    as_chart        c = chart_of("flame", &s, 1, "1");
    c.x.unit = "ns";
    const char *svg = as_chart_svg(&a, &c), *text = as_chart_text(&a, &c, 72);
    expect_has(svg, "<svg class=\"chart flame\" data-width=\"920\" xmlns=");
    expect_has(svg, "data-x=\"0.6\" data-w=\"0.2\" data-d=\"2\" data-l=\"y\" data-o=\"Relu\"");
    expect_has(svg, "data-l=\"&quot;&lt;x&gt;\"");
    expect_has(svg, "60 ns, 60.0 % of the run");
    expect_has(text, "run   ");
    expect_has(text, "\n    y ");
    expect_has(text, " 20.0 % ");
    as_arena_drop(&a);
}

Test(flame, of_many_boxes_shows_the_longest_in_characters)
{
    enum { N = 200 };
    as_arena    a = {0};
    double      from[N + 1] = {0}, to[N + 1] = {N}, depth[N + 1] = {0};
    const char *names[N + 1] = {"run"};
    for (int i = 1; i <= N; i++)
        from[i] = i - 1, to[i] = i - .9, depth[i] = 1, names[i] = "small";
    from[1] = 0, to[1] = 1, names[1] = "the long one";
    as_chart_series s = {.n = N + 1, .x = from, .x_end = to, .y = depth, .names = names};
    as_chart        c = chart_of("flame", &s, 1, "1");
    const char     *text = as_chart_text(&a, &c, 72);
    expect_has(text, "the long one");
    expect_has(text, "199 more, each below ");
    expect(as_test_count(text, "\n") <= 25);
    as_arena_drop(&a);
}

Test(graph, puts_each_node_below_what_it_reads)
{
    as_arena          a = {0};
    const char *const names[] = {"a<", "b", "c", "w", "d"}, *const ops[] = {"Conv", "Relu", "Add", "Pack", "Gemm"};
    as_chart_series s = {.n = 5, .y = (const double[]){10, 5, NAN, 1, 2}, .names = names, .details = ops};
    as_chart        c = chart_of("graph", &s, 1, "ns");
    c.links = (const as_link[]){{0, 1}, {0, 2}, {1, 2}, {2, 4}, {3, 4}}, c.n_links = 5;
    const char *svg = as_chart_svg(&a, &c);
    expect_eq(as_test_count(svg, "<path class=\"edge\""), 5);
    expect_has(svg, "y=\"8\"");   /* a */
    expect_has(svg, "y=\"188\""); /* d, three rows below */
    expect(!strstr(svg, "y=\"248\""));
    expect_has(svg, "a&lt;, Conv: 10 ns");
    expect_has(svg, "c, Add: n/a");
    expect_has(as_chart_text(&a, &c, 72), "  4 d         2 ns <- 2 3\n");
    c.n_links = 0;
    expect_str(as_chart_svg(&a, &c), ""); /* no links: nothing to say */
    c.links = (const as_link[]){{1, 1}}, c.n_links = 1;
    expect_str(as_chart_svg(&a, &c), ""); /* it reads itself */
    c.links = (const as_link[]){{1, 9}};
    expect_str(as_chart_svg(&a, &c), ""); /* point 10 does not exist */
    as_arena_drop(&a);
}

Test(graph, sets_a_long_chain_in_columns)
{
    enum { N = 40 };
    as_arena    a = {0};
    const char *names[N];
    as_link     links[N - 1];
    double      y[N];
    for (int i = 0; i < N; i++)
        names[i] = "step", y[i] = i + 1;
    for (int i = 0; i + 1 < N; i++)
        links[i] = (as_link){i, i + 1};
    as_chart_series s = {.n = N, .y = y, .names = names, .details = names};
    as_chart        c = chart_of("graph", &s, 1, "ns");
    c.links = links, c.n_links = N - 1;
    const char *svg = as_chart_svg(&a, &c), *box = strstr(svg, "viewBox=\"0 0 920 ");
    expect(box && atof(box + 17) < 700); /* in one column it would be 2400 */
    expect_eq(as_test_count(svg, "class=\"track\""), N);
    as_arena_drop(&a);
}

Test(bars, a_sum_of_others_does_not_dwarf_them)
{
    as_arena            a = {0};
    const char *const   names[] = {"a", "b", "80 others"};
    const as_chart_role roles[] = {AS_CHART_MAIN, AS_CHART_MAIN, AS_CHART_MUTED};
    as_chart_series     s = {.n = 3, .y = (const double[]){10, 5, 400}, .names = names, .roles = roles};
    as_chart            c = chart_of("bars", &s, 1, "ns");
    const char         *svg = as_chart_svg(&a, &c);
    expect_has(svg, "width=\"510\" height=\"17\" class=\"c0\""); /* a fills its track */
    expect_eq(as_test_count(svg, "class=\"track\""), 2);
    expect_has(svg, "80 others");
    as_arena_drop(&a);
}

Test(shape, counts_what_lies_far_out_instead_of_drawing_it)
{
    as_arena a = {0};
    double   y[40];
    for (int i = 0; i < 40; i++)
        y[i] = i < 36 ? 100 + i : 5000;
    as_chart_series s = {.n = 40, .y = y};
    as_chart        c = chart_of("shape", &s, 1, "ns");
    expect_has(as_chart_svg(&a, &c), ", and 4 beyond");
    expect_has(as_chart_text(&a, &c, 72), "100 ns");
    as_arena_drop(&a);
}

Test(parts, fill_the_limit_as_far_as_they_go)
{
    as_arena          a = {0};
    const char *const names[] = {"used"};
    as_chart_series   s = {.n = 1, .y = (const double[]){.25}, .names = names};
    as_chart          c = chart_of("parts", &s, 1, "ratio");
    as_mark           limit = {.label = "limit", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = 1};
    c.marks = &limit, c.n_marks = 1;
    expect_has(as_chart_svg(&a, &c), "width=\"80\" height=\"14\" class=\"c0\"");
    c.n_marks = 0;
    expect_has(as_chart_svg(&a, &c), "width=\"320\" height=\"14\" class=\"c0\"");
    as_arena_drop(&a);
}

Test(intervals, one_far_out_does_not_press_the_others_together)
{
    as_arena          arena = {0};
    const char *const names[] = {"a", "b", "c", "d", "far"};
    as_chart_series   s = {.n = 5,
                           .y = (const double[]){.01, -.01, 0, .01, 5},
                           .lo = (const double[]){.005, -.015, -.002, .005, 4.9},
                           .hi = (const double[]){.015, -.005, .002, .012, 5.1},
                           .names = names};
    as_chart          c = chart_of("intervals", &s, 1, "ratio");
    as_mark           margin = {.on = AS_MARK_Y, .role = AS_CHART_LIMIT, .lo = -.01, .hi = .01};
    c.marks = &margin, c.n_marks = 1;
    const char *text = as_chart_text(&arena, &c, 72), *last = strrchr(text, '+');
    expect(strchr(text, '>') && strchr(text, ':') && strchr(text, '|') && strchr(text, '['));
    expect(last && atof(last) < 10); /* the axis ends below 10 %, not at 500 */
    expect_has(as_chart_svg(&arena, &c), "<polygon");
    as_arena_drop(&arena);
}

Test(history, marks_its_steps)
{
    as_arena        arena = {0};
    as_chart_series s = {
        .n = 6, .x = (const double[]){0, 86400, 172800, 259200, 345600, 432000}, .y = (const double[]){1, 1, 1, 2, 2, 2}};
    as_chart c = chart_of("history", &s, 1, "ns");
    as_mark  mark = {.label = "abc", .on = AS_MARK_X, .at = 3, .before = 1, .after = 2};
    c.marks = &mark, c.n_marks = 1;
    const char *text = as_chart_text(&arena, &c, 72);
    expect_has(text, "|    ooo\n"); /* the top row: the points after the step */
    expect_has(text, "| ooo:  \n");
    expect_has(text, ": abc +100.0 % (nominated)");
    expect_has(as_chart_svg(&arena, &c), "abc +100.0 %");
    mark.role = AS_CHART_MUTED;
    expect_has(as_chart_text(&arena, &c, 72), "(went away)");
    as_arena_drop(&arena);
}

Test(history, tells_a_date_once)
{
    enum { N = 30 };
    as_arena arena = {0};
    double   x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = 86400 * (i / 10) * 20 + i, y[i] = 1 + i % 3; /* three days of ten runs each */
    as_chart_series s = {.n = N, .x = x, .y = y};
    as_chart        c = chart_of("history", &s, 1, "ns");
    const char     *svg = as_chart_svg(&arena, &c);
    expect_eq(as_test_count(svg, ">1970-01-01</text>"), 1);
    expect_eq(as_test_count(svg, ">1970-01-21</text>"), 1);
    expect_eq(as_test_count(svg, ">1970-02-10</text>"), 1);
    as_arena_drop(&arena);
}

Test(sweep, puts_the_faster_to_the_left)
{
    as_arena          arena = {0};
    const double      x[] = {1, 2};
    const char *const names[] = {"batch=1", "batch=2"};
    as_chart_series   lines[] = {{.label = "first", .x = x, .y = (const double[]){1, 1}, .n = 2, .names = names},
                                 {.label = "second", .x = x, .y = (const double[]){2, .5}, .n = 2}};
    as_chart          c = chart_of("sweep", lines, 2, "ratio");
    as_mark           flip = {.on = AS_MARK_X, .at = 1.41, .lo = 1.3, .hi = 1.5};
    c.marks = &flip, c.n_marks = 1;
    char *text = as_arena_text(&arena, as_chart_text(&arena, &c, 72)), *second = strchr(text, '\n') + 1;
    second[-1] = 0;
    expect(strchr(text, 'A') < strchr(text, 'B'));
    expect(strchr(second, 'B') < strchr(second, 'A'));
    expect_has(second, "A first   B second   left is faster, * both\n");
    expect_has(as_chart_svg(&arena, &c), "changes at 1.41");
    as_arena_drop(&arena);
}

Test(roofline, names_its_points_and_keeps_the_names_of_slopes_apart)
{
    as_arena          arena = {0};
    const char *const names[] = {"heavy", "light"};
    as_chart_series   s = {.n = 2,
                           .x = (const double[]){10, .2},
                           .y = (const double[]){5e10, 1e9},
                           .weight = (const double[]){.99, .001},
                           .names = names};
    as_chart          c = chart_of("roofline", &s, 1, "flop/s");
    const as_mark     marks[] = {{.label = "FMA", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = 1e11, .lo = 9e10, .hi = 1e11},
                                 {.label = "L2", .on = AS_MARK_SLOPE, .role = AS_CHART_LIMIT, .at = 1e11, .lo = 9e10, .hi = 1e11},
                                 {.label = "L3", .on = AS_MARK_SLOPE, .role = AS_CHART_LIMIT, .at = 1e11, .lo = 8.9e10, .hi = 9.9e10}};
    c.marks = marks, c.n_marks = 3;
    const char *svg = as_chart_svg(&arena, &c), *text = as_chart_text(&arena, &c, 72);
    expect(strstr(svg, ">heavy</text>") && strstr(svg, ">light</text>"));
    double x2 = 0, x3 = 0;
    for (const char *at = svg; (at = strstr(at, "<text x=\"")); at++) {
        const char *words = strchr(at, '>') + 1;
        x2 = !strncmp(words, "L2<", 3) ? atof(at + 9) : x2;
        x3 = !strncmp(words, "L3<", 3) ? atof(at + 9) : x3;
    }
    expect(x2 > 0 && x3 >= x2 + 20);
    expect(strchr(text, '/') && strstr(text, "A heavy\n") && strstr(text, "B light\n"));
    as_arena_drop(&arena);
}

/* Collects the places of all labels; true when two of them overlap. */
static bool labels_touch(const char *svg, int *n)
{
    double boxes[64][4];
    *n = 0;
    for (const char *at = svg; (at = strstr(at, "class=\"label\"")) && *n < 64; at++) {
        const char *x = at, *end = strstr(at, "</text>"), *words = strchr(at, '>') + 1;
        while (x > svg && strncmp(x, "<text x=\"", 9))
            x--;
        double left = atof(x + 9), base = atof(strstr(x, " y=\"") + 4), *b = boxes[(*n)++];
        b[0] = left, b[1] = base - 11, b[2] = left + 6.6 * (double)(end - words), b[3] = base + 3;
    }
    for (int i = 0; i < *n; i++)
        for (int k = 0; k < i; k++)
            if (boxes[i][0] < boxes[k][2] && boxes[k][0] < boxes[i][2] && boxes[i][1] < boxes[k][3] && boxes[k][1] < boxes[i][3])
                return true;
    return false;
}

Test(roofline, names_of_neighbours_do_not_collide)
{
    enum { N = 12 };
    as_arena    arena = {0};
    double      x[N], y[N], weight[N];
    const char *names[N];
    for (int i = 0; i < N; i++)
        x[i] = 10 + .1 * i, y[i] = 5e10 + 1e8 * i, weight[i] = 1. / N, names[i] = "a_layer_of_the_net";
    as_chart_series s = {.n = N, .x = x, .y = y, .weight = weight, .names = names};
    as_chart        c = chart_of("roofline", &s, 1, "flop/s");
    const as_mark   marks[] = {{.label = "FMA", .on = AS_MARK_Y, .role = AS_CHART_LIMIT, .at = 1e11, .lo = 9e10, .hi = 1e11},
                               {.label = "DRAM", .on = AS_MARK_SLOPE, .role = AS_CHART_LIMIT, .at = 1e10, .lo = 9e9, .hi = 1e10}};
    int             n;
    c.marks = marks, c.n_marks = 2;
    const char *svg = as_chart_svg(&arena, &c);
    expect(!labels_touch(svg, &n));
    expect(n >= 6);
    if (n < N)
        expect_has(svg, " named</text>"); /* and says that it could not name all */
    as_arena_drop(&arena);
}
