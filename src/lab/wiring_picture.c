/* wiring_picture.c - a wiring as SVG, as DOT and as a table of signs.
 *
 * Excitatory synapses are blue and end in an arrow, inhibitory ones are orange and end in a bar, as physiologists draw them: the
 * picture can be read without colours.  A neuron and its outgoing synapses are one group, so that pointing at the neuron shows
 * only its synapses. */
#include "lab/wiring_picture.h"

#include <math.h>
#include <string.h>

#include "report/chart/svg.h"

enum { SENSORY, INTER, COMMAND, MOTOR, N_COLUMNS, MAX_DRAWN = 20000, MAX_COLUMN = 512 };

static const struct {
    const char *name, *letter, *fill;
} columns[N_COLUMNS] = {
    {"sensory", "s", "#8b93a1"},
    {"inter", "i", "#2a9d78"},
    {"command", "c", "#7a5cc0"},
    {"motor", "m", "#1c2330"},
};
static const char *const stroke_excitatory = "#2f6fd0", *const stroke_inhibitory = "#e0662a";

/* The positions of everything. */
typedef struct place {
    const as_wiring *w;
    double           x[N_COLUMNS], top, height, radius, opacity, stroke;
    int              n[N_COLUMNS], first[N_COLUMNS]; /* first: the id at the top */
} place;

typedef struct dot {
    double x, y;
} dot;

static int column_of(const as_wiring *w, int neuron)
{
    static const int of[] = {[AS_NEURON_MOTOR] = MOTOR, [AS_NEURON_COMMAND] = COMMAND, [AS_NEURON_INTER] = INTER};
    return of[as_wiring_type(w, neuron)];
}

static dot dot_of(const place *p, int column, int id)
{
    double step = p->height / p->n[column];
    return (dot){p->x[column], p->top + step * (id - p->first[column] + 0.5)};
}

static void place_make(place *p, const as_wiring *w, int n_synapses)
{
    *p = (place){.w = w,
                 .top = 74,
                 .n = {w->n_inputs, w->n_inter, w->n_command, w->n_motor},
                 .first = {0, w->n_motor + w->n_command, w->n_motor, 0}};
    int most = 1, n_used = 0, used = 0;
    for (int c = 0; c < N_COLUMNS; c++) {
        most = p->n[c] > most ? p->n[c] : most;
        n_used += p->n[c] > 0;
    }
    /* In a single layer the motor neurons are also wired to each other: leaves space for their curves. */
    double left = 70, right = w->n_layers == 1 ? 130 : 70;
    for (int c = 0; c < N_COLUMNS; c++)
        if (p->n[c])
            p->x[c] = left + (AS_CHART_WIDTH - left - right) * used++ / (n_used - 1);
    double step = most <= 8 ? 48 : most <= 16 ? 34 : most <= 32 ? 25 : most <= 64 ? 20 : 16;
    p->height = fmax(step * most, 260);
    p->radius = fmin(14, step * 0.42);
    p->opacity = fmin(0.9, fmax(0.12, 13 / sqrt(n_synapses + 1.0)));
    p->stroke = n_synapses > 400 ? 1.0 : 1.3;
}

/* A number of the picture with a blank before it. */
static void put(as_paint *paint, double value)
{
    as_text_add(&paint->text, " ");
    as_paint_number(paint, value);
}

static void put_dots(as_paint *paint, const char *letter, const dot *dots, int n)
{
    as_text_add(&paint->text, letter);
    for (int i = 0; i < n; i++) {
        put(paint, dots[i].x);
        put(paint, dots[i].y);
    }
}

/* The arrow head with its tip at `to`, for a curve that comes from `from`. */
static void head_draw(as_paint *paint, dot from, dot to, bool excitatory, double size)
{
    double length = hypot(to.x - from.x, to.y - from.y), ux = (to.x - from.x) / length, uy = (to.y - from.y) / length;
    if (excitatory)
        put_dots(paint, " M",
                 (dot[]){{to.x - size * ux - 0.5 * size * uy, to.y - size * uy + 0.5 * size * ux},
                         to,
                         {to.x - size * ux + 0.5 * size * uy, to.y - size * uy - 0.5 * size * ux}},
                 3);
    else
        put_dots(paint, " M",
                 (dot[]){{to.x - 0.6 * size * uy, to.y + 0.6 * size * ux}, {to.x + 0.6 * size * uy, to.y - 0.6 * size * ux}}, 2);
}

/* One synapse as a path: rightward and leftward ones curve between the columns; those within a column bend outwards, to the left
 * when they go up; a synapse to itself is a loop. */
static void synapse_draw(as_paint *paint, const place *p, int column, int from, int to_column, int to, bool excitatory,
                         const char *tip)
{
    dot    a = dot_of(p, column, from), b = dot_of(p, to_column, to), c1, c2;
    double r = p->radius + 1.5, size = fmin(7, p->radius * 0.75);
    if (column != to_column) {
        /* Synapses leave and arrive fanned out, so that the heads at one neuron can be told apart. */
        double side = b.x > a.x ? 1 : -1, bend = fabs(b.x - a.x) * 0.36, turn = 1.1 * (b.y - a.y) / p->height;
        dot    from_centre = {side * cos(turn), sin(turn)};
        c1 = (dot){a.x + (r + bend) * side, a.y + 0.5 * bend * from_centre.y};
        c2 = (dot){b.x - (r + bend) * from_centre.x, b.y - (r + bend) * from_centre.y * 0.5};
        a = (dot){a.x + r * from_centre.x, a.y + r * from_centre.y};
        b = (dot){b.x - r * from_centre.x, b.y - r * from_centre.y};
    } else if (from == to) {
        double out = p->radius * 2.6;
        c1 = (dot){a.x + out, a.y - out * 0.8};
        c2 = (dot){a.x + out, a.y + out * 0.8};
        b = (dot){a.x + r * 0.8, a.y + r * 0.6};
        a = (dot){a.x + r * 0.8, a.y - r * 0.6};
    } else {
        double side = b.y > a.y ? 1 : -1, bow = r + fmin(20 + fabs(b.y - a.y) * 0.3, 95);
        a = (dot){a.x + side * r * 0.87, a.y + side * r * 0.5};
        b = (dot){b.x + side * r * 0.87, b.y - side * r * 0.5};
        c1 = (dot){a.x + side * bow, a.y + (b.y - a.y) * 0.2};
        c2 = (dot){b.x + side * bow, b.y - (b.y - a.y) * 0.2};
    }
    as_text_printf(&paint->text, "<path class=\"%s\" d=\"", excitatory ? "e" : "i");
    put_dots(paint, "M", &a, 1);
    put_dots(paint, " C", (dot[]){c1, c2, b}, 3);
    head_draw(paint, c2, b, excitatory, size);
    as_text_printf(&paint->text, "\"><title>%s</title></path>\n", tip);
}

static void neuron_draw(as_paint *paint, const place *p, int column, int id)
{
    const as_wiring *w = p->w;
    const int8_t    *row = (column == SENSORY ? w->sensory : w->adjacency) + (size_t)id * (size_t)w->n_units;
    dot              at = dot_of(p, column, id);
    bool             inside = p->radius >= 9;
    as_text_add(&paint->text, "<g class=\"n\">\n");
    for (int to = 0; to < w->n_units; to++) {
        char tip[96];
        if (!row[to])
            continue;
        snprintf(tip, sizeof tip, "%s %d to %s %d, %s", columns[column].name, id, columns[column_of(w, to)].name, to,
                 row[to] > 0 ? "excitatory" : "inhibitory");
        synapse_draw(paint, p, column, id, column_of(w, to), to, row[to] > 0, tip);
    }
    as_text_add(&paint->text, "<circle cx=\"");
    as_paint_number(paint, at.x);
    as_text_add(&paint->text, "\" cy=\"");
    as_paint_number(paint, at.y);
    as_text_add(&paint->text, "\" r=\"");
    as_paint_number(paint, p->radius);
    as_text_printf(&paint->text, "\" fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"1.5\"><title>%s %d</title></circle>\n",
                   columns[column].fill, columns[column].name, id);
    as_text_printf(&paint->text, "<text class=\"id\" text-anchor=\"middle\" fill=\"#ffffff\" font-size=\"%s\" x=\"",
                   inside     ? "10.5"
                   : id < 100 ? "7"
                              : "6");
    as_paint_number(paint, at.x);
    as_text_add(&paint->text, "\" y=\"");
    as_paint_number(paint, at.y + (inside ? 3.8 : 2.5));
    as_text_printf(&paint->text, "\">%d</text>\n</g>\n", id);
}

static void legend_draw(as_paint *paint, double y, int n_plus, int n_minus)
{
    static const double x[] = {250, 480};
    for (int i = 0; i < 2; i++) {
        char words[48];
        snprintf(words, sizeof words, "%s, %d", i ? "inhibitory" : "excitatory", i ? n_minus : n_plus);
        as_text_printf(&paint->text, "<path class=\"%s\" style=\"opacity:1;stroke-width:1.6\" d=\"", i ? "i" : "e");
        put_dots(paint, "M", (dot[]){{x[i], y - 4}, {x[i] + 36, y - 4}}, 2);
        head_draw(paint, (dot){x[i], y - 4}, (dot){x[i] + 36, y - 4}, !i, 7);
        as_text_add(&paint->text, "\"/>\n");
        as_paint_words(paint, x[i] + 46, y, "start", "text", words);
    }
}

assay_status as_wiring_svg(assay_env *env, const as_wiring *w, const char *title, as_arena *arena, const char **out)
{
    int      n = as_wiring_synapses(w) + as_wiring_sensory_synapses(w), n_plus = 0;
    place    p;
    as_paint paint;
    place_make(&p, w, n);
    for (int c = 0; c < N_COLUMNS; c++)
        if (n > MAX_DRAWN || p.n[c] > MAX_COLUMN)
            return as_fail(
                env, ASSAY_BAD_INPUT,
                "wiring: a picture shows at most %d synapses and %d neurons of a kind; this one has %d synapses and %d %s neurons (--dot and --json have no such limit)",
                MAX_DRAWN, MAX_COLUMN, n, p.n[c], columns[c].name);
    for (size_t i = 0; i < (size_t)w->n_units * (size_t)w->n_units; i++)
        n_plus += w->adjacency[i] > 0;
    for (size_t i = 0; i < (size_t)w->n_inputs * (size_t)w->n_units; i++)
        n_plus += w->sensory[i] > 0;
    double height = p.top + p.height + 52;
    as_paint_open(&paint, arena, height, title);
    as_text_printf(
        &paint.text,
        "<style>path{fill:none;opacity:%.2f;stroke-width:%.1f;stroke-linecap:round;stroke-linejoin:round}.e{stroke:%s}.i{stroke:%s}"
        ".n:hover path{opacity:1;stroke-width:2}.id{pointer-events:none}</style>\n",
        p.opacity, p.stroke, stroke_excitatory, stroke_inhibitory);
    as_text_printf(&paint.text, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", (int)AS_CHART_WIDTH, (int)ceil(height));
    as_paint_words(&paint, AS_CHART_WIDTH / 2, 24, "middle", "faint", title);
    for (int c = 0; c < N_COLUMNS; c++) {
        char words[48];
        if (!p.n[c])
            continue;
        snprintf(words, sizeof words, "%s, %d", columns[c].name, p.n[c]);
        as_paint_words(&paint, p.x[c], 52, "middle", "text", words);
    }
    /* The columns from left to right: the neurons of each are drawn over their incoming synapses. */
    for (int c = 0; c < N_COLUMNS; c++)
        for (int i = 0; i < p.n[c]; i++)
            neuron_draw(&paint, &p, c, p.first[c] + i);
    legend_draw(&paint, height - 18, n_plus, n - n_plus);
    const char *svg = as_paint_close(&paint);
    if (!svg)
        return as_fail(env, ASSAY_NO_MEMORY, "wiring: not enough memory for a picture of %d synapses", n);
    *out = svg;
    return ASSAY_OK;
}

/* --- DOT ------------------------------------------------------------------------------------------------ */

static void dot_name(FILE *file, int column, int id) { fprintf(file, "%s%d", columns[column].letter, id); }

static void dot_row(FILE *file, const as_wiring *w, int column, int id, const int8_t *row)
{
    for (int to = 0; to < w->n_units; to++) {
        if (!row[to])
            continue;
        fputs("  ", file);
        dot_name(file, column, id);
        fputs(" -> ", file);
        dot_name(file, column_of(w, to), to);
        fprintf(file, " [color=\"%s\" arrowhead=%s];\n", row[to] > 0 ? stroke_excitatory : stroke_inhibitory,
                row[to] > 0 ? "normal" : "tee");
    }
}

void as_wiring_dot(FILE *file, const as_wiring *w)
{
    size_t n = (size_t)w->n_units;
    fputs(
        "digraph wiring {\n  rankdir=LR;\n  ranksep=2;\n  node [shape=circle style=filled fontcolor=white fontname=\"sans-serif\"];\n",
        file);
    for (int c = 0; c < N_COLUMNS; c++) {
        int count = (int[]){w->n_inputs, w->n_inter, w->n_command, w->n_motor}[c],
            first = (int[]){0, w->n_motor + w->n_command, w->n_motor, 0}[c];
        if (!count)
            continue;
        fprintf(file, "  { rank=same; node [fillcolor=\"%s\"];", columns[c].fill);
        for (int i = 0; i < count; i++) {
            fputs(" ", file);
            dot_name(file, c, first + i);
            fprintf(file, " [label=\"%d\" tooltip=\"%s %d\"];", first + i, columns[c].name, first + i);
        }
        fputs(" }\n", file);
    }
    for (int from = 0; from < w->n_inputs; from++)
        dot_row(file, w, SENSORY, from, w->sensory + (size_t)from * n);
    for (int from = 0; from < w->n_units; from++)
        dot_row(file, w, column_of(w, from), from, w->adjacency + (size_t)from * n);
    fputs("}\n", file);
}

/* --- Text ------------------------------------------------------------------------------------------------- */

static bool column_begins(const as_wiring *w, int neuron) { return neuron && column_of(w, neuron) != column_of(w, neuron - 1); }

void as_wiring_table(FILE *file, const as_wiring *w)
{
    fprintf(file, "%-12s", "from \\ to");
    for (int to = 0; to < w->n_units; to++) {
        char name[16];
        snprintf(name, sizeof name, "%s%d", columns[column_of(w, to)].letter, to);
        fprintf(file, "%s%4s", column_begins(w, to) ? "  " : "", name);
    }
    fputs("\n", file);
    for (int i = 0; i < w->n_inputs + w->n_units; i++) {
        bool          is_input = i < w->n_inputs;
        int           from = is_input ? i : i - w->n_inputs, column = is_input ? SENSORY : column_of(w, from);
        const int8_t *row = (is_input ? w->sensory : w->adjacency) + (size_t)from * (size_t)w->n_units;
        fprintf(file, "%-8s%-4d", columns[column].name, from);
        for (int to = 0; to < w->n_units; to++)
            fprintf(file, "%s%4s", column_begins(w, to) ? "  " : "", row[to] > 0 ? "+" : row[to] < 0 ? "-" : ".");
        fputs("\n", file);
    }
}
