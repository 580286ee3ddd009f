/* svg.c - painting SVG into a string: shapes and axes. */
#include "report/chart/svg.h"

#include <math.h>
#include <string.h>

#include "base/env.h"
#include "report/words.h"

/* --- Shapes --------------------------------------------------------------------------------------------- */

static const struct {
    const char *class, *fill, *stroke;
} styles[] = {
    {"c0", "#4263c9", "none"},       {"c1", "#e08a2e", "none"},    {"c2", "#2a9d78", "none"},    {"c3", "#b3549f", "none"},
    {"c4", "#c7a32b", "none"},       {"c5", "#4fa3c7", "none"},    {"c6", "#8b93a1", "none"},    {"text", "#1c2330", "none"},
    {"faint", "#6b7484", "none"},    {"grid", "none", "#e3e6ec"},  {"axis", "none", "#9aa3b2"},  {"mark", "none", "#c2410c"},
    {"marktext", "#c2410c", "none"}, {"band", "#e7ebf8", "none"},  {"track", "#eef0f5", "none"}, {"boxtext", "#1c2330", "none"},
    {"edge", "none", "#9aa3b2"},     {"s0", "none", "#4263c9"},    {"s1", "none", "#e08a2e"},    {"s2", "none", "#2a9d78"},
    {"s3", "none", "#b3549f"},       {"s4", "none", "#c7a32b"},    {"s5", "none", "#4fa3c7"},    {"s6", "none", "#8b93a1"},
    {"note", "#6b7484", "none"},     {"good", "#1c8558", "none"},  {"warn", "#b7791f", "none"},  {"bad", "#b93226", "none"},
    {"zero", "none", "#6b7484"},     {"limit", "none", "#c2410c"}, {"roof", "none", "#6b7484"},  {"lead", "none", "#b9c1ce"},
    {"label", "#1c2330", "none"},    {"f0", "#c9d6fa", "none"},    {"f1", "#fadcb9", "none"},    {"f2", "#bfe6d6", "none"},
    {"f3", "#efcfe7", "none"},       {"f4", "#efe1b0", "none"},    {"f5", "#c6e3ef", "none"},    {"f6", "#dfe3ea", "none"},
};

static void style_add(as_paint *p, const char *class)
{
    for (size_t i = 0; i < AS_COUNT(styles); i++)
        if (!strcmp(styles[i].class, class))
            as_text_printf(&p->text, " class=\"%s\" fill=\"%s\"%s%s%s", class, styles[i].fill,
                           strcmp(styles[i].stroke, "none") ? " stroke=\"" : "",
                           strcmp(styles[i].stroke, "none") ? styles[i].stroke : "", strcmp(styles[i].stroke, "none") ? "\"" : "");
}

const char *as_tone_class(int tone) { return styles[tone >= 0 && tone < AS_N_TONES ? tone : AS_N_TONES - 1].class; }

const char *as_tone_pale(int tone)
{
    static const char *const pales[AS_N_TONES] = {"f0", "f1", "f2", "f3", "f4", "f5", "f6"};
    return pales[tone >= 0 && tone < AS_N_TONES ? tone : AS_N_TONES - 1];
}

const char *as_tone_stroke(int tone)
{
    static const char *const strokes[AS_N_TONES] = {"s0", "s1", "s2", "s3", "s4", "s5", "s6"};
    return strokes[tone >= 0 && tone < AS_N_TONES ? tone : AS_N_TONES - 1];
}

void as_paint_number(as_paint *p, double value)
{
    char   buf[AS_NUMBER_BYTES];
    double tenth = isfinite(value) ? round(fmin(fmax(value, -1e6), 1e6) * 10) / 10 : 0;
    as_text_add(&p->text, as_number(buf, tenth + 0.0));
}

static void attribute_add(as_paint *p, const char *name, double value)
{
    as_text_printf(&p->text, " %s=\"", name);
    as_paint_number(p, value);
    as_text_add(&p->text, "\"");
}

void as_paint_open(as_paint *p, as_arena *arena, double height, const char *title)
{
    as_paint_open_wide(p, arena, AS_CHART_WIDTH, height, title);
}

void as_paint_open_wide(as_paint *p, as_arena *arena, double width, double height, const char *title)
{
    *p = (as_paint){.arena = arena};
    as_text_printf(&p->text,
                   "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\" "
                   "font-family=\"system-ui, sans-serif\" font-size=\"12\">\n",
                   (int)width, (int)ceil(height), as_escape_html(arena, title));
}

static void tip_add(as_paint *p, const char *element, const char *tip)
{
    if (tip)
        as_text_printf(&p->text, "><title>%s</title></%s>\n", as_escape_html(p->arena, tip), element);
    else
        as_text_add(&p->text, "/>\n");
}

void as_paint_rect(as_paint *p, double x, double y, double width, double height, const char *class, const char *tip)
{
    as_text_add(&p->text, "<rect");
    attribute_add(p, "x", x);
    attribute_add(p, "y", y);
    attribute_add(p, "width", fmax(width, 0));
    attribute_add(p, "height", fmax(height, 0));
    style_add(p, class);
    tip_add(p, "rect", tip);
}

void as_paint_line(as_paint *p, double x1, double y1, double x2, double y2, const char *class)
{
    as_text_add(&p->text, "<line");
    attribute_add(p, "x1", x1);
    attribute_add(p, "y1", y1);
    attribute_add(p, "x2", x2);
    attribute_add(p, "y2", y2);
    style_add(p, class);
    as_text_add(&p->text, "/>\n");
}

void as_paint_words(as_paint *p, double x, double y, const char *anchor, const char *class, const char *words)
{
    as_text_add(&p->text, "<text");
    attribute_add(p, "x", x);
    attribute_add(p, "y", y);
    style_add(p, class);
    if (strcmp(anchor, "start"))
        as_text_printf(&p->text, " text-anchor=\"%s\"", anchor);
    as_text_printf(&p->text, ">%s</text>\n", as_escape_html(p->arena, words));
}

void as_paint_dot(as_paint *p, double x, double y, double radius, const char *class, const char *tip)
{
    as_text_add(&p->text, "<circle");
    attribute_add(p, "cx", x);
    attribute_add(p, "cy", y);
    attribute_add(p, "r", radius);
    style_add(p, class);
    as_text_add(&p->text, " fill-opacity=\"0.75\"");
    tip_add(p, "circle", tip);
}

/* A line of zero length with round ends is a dot: a thousand of them take a tenth of the bytes of circles. */
void as_paint_dots(as_paint *p, const double *xy, size_t n, double radius, const char *class)
{
    if (!n)
        return;
    as_text_add(&p->text, "<path d=\"");
    for (size_t i = 0; i < n; i++) {
        as_text_add(&p->text, "M");
        as_paint_number(p, xy[2 * i]);
        as_text_add(&p->text, " ");
        as_paint_number(p, xy[2 * i + 1]);
        as_text_add(&p->text, "h0");
    }
    as_text_add(&p->text, "\"");
    style_add(p, class);
    attribute_add(p, "stroke-width", 2 * radius);
    as_text_add(&p->text, " stroke-linecap=\"round\" stroke-opacity=\"0.75\"/>\n");
}

static void area_add(as_paint *p, const double *xy, int n, const char *class, const char *opacity, const char *tip)
{
    as_text_add(&p->text, "<polygon points=\"");
    for (int i = 0; i < n; i++) {
        as_paint_number(p, xy[2 * i]);
        as_text_add(&p->text, ",");
        as_paint_number(p, xy[2 * i + 1]);
        as_text_add(&p->text, i + 1 < n ? " " : "\"");
    }
    style_add(p, class);
    as_text_printf(&p->text, " fill-opacity=\"%s\"", opacity);
    tip_add(p, "polygon", tip);
}

void as_paint_area(as_paint *p, const double *xy, int n, const char *class, const char *tip)
{
    area_add(p, xy, n, class, "0.45", tip);
}

void as_paint_veil(as_paint *p, const double *xy, int n, const char *class, const char *tip)
{
    area_add(p, xy, n, class, "0.2", tip);
}

void as_paint_haze(as_paint *p, const double *xy, int n, const char *class, const char *tip)
{
    area_add(p, xy, n, class, "0.1", tip);
}

void as_paint_path(as_paint *p, const double *xy, int n, const char *class)
{
    as_text_add(&p->text, "<path d=\"");
    for (int i = 0; i < n; i++) {
        as_text_add(&p->text, i ? "L" : "M");
        as_paint_number(p, xy[2 * i]);
        as_text_add(&p->text, " ");
        as_paint_number(p, xy[2 * i + 1]);
    }
    as_text_add(&p->text, "\"");
    style_add(p, class);
    as_text_add(&p->text, " stroke-width=\"2\" stroke-linejoin=\"round\"/>\n");
}

void as_paint_group(as_paint *p, const char *tip)
{
    as_text_printf(&p->text, "<g><title>%s</title>\n", tip ? as_escape_html(p->arena, tip) : "");
}

void as_paint_group_end(as_paint *p) { as_text_add(&p->text, "</g>\n"); }

const char *as_paint_close(as_paint *p)
{
    as_text_add(&p->text, "</svg>\n");
    const char *svg = p->text.failed ? NULL : as_arena_text(p->arena, p->text.data);
    as_text_drop(&p->text);
    return svg;
}

/* --- Axes ----------------------------------------------------------------------------------------------- */

static const struct {
    const char *unit;
    double      from, factor;
    const char *shown;
} scales[] = {
    {"ns", 1e9, 1e-9, "s"},
    {"ns", 1e6, 1e-6, "ms"},
    {"ns", 1e3, 1e-3, "µs"},
    {"ns", 0, 1, "ns"},
    {"s", 1, 1, "s"},
    {"s", 1e-3, 1e3, "ms"},
    {"s", 0, 1e6, "µs"},
    {"byte", 0x1p30, 0x1p-30, "GiB"},
    {"byte", 0x1p20, 0x1p-20, "MiB"},
    {"byte", 0x1p10, 0x1p-10, "KiB"},
    {"byte", 0, 1, "B"},
    {"ratio", 0, 100, "%"},
    {"1/s", 1e6, 1e-6, "M/s"},
    {"1/s", 1e3, 1e-3, "k/s"},
    {"1/s", 0, 1, "/s"},
    {"flop/s", 1e12, 1e-12, "TFLOP/s"},
    {"flop/s", 1e9, 1e-9, "GFLOP/s"},
    {"flop/s", 0, 1e-6, "MFLOP/s"},
    {"byte/s", 0x1p30, 0x1p-30, "GiB/s"},
    {"byte/s", 0x1p20, 0x1p-20, "MiB/s"},
    {"byte/s", 0, 0x1p-10, "KiB/s"},
    {"watt", 0, 1, "W"},
    {"hertz", 1e9, 1e-9, "GHz"},
    {"hertz", 0, 1e-6, "MHz"},
    {"celsius", 0, 1, "°C"},
    {"1", 0, 1, ""},
};

/* 1, 2 or 5 times a power of ten, so that about n steps fill the range. */
static double round_step(double range, int n)
{
    double raw = range / n, power = pow(10, floor(log10(raw)));
    double lead = raw / power;
    return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

bool as_axis_make(as_axis *axis, double lo, double hi, int n_ticks, const char *unit)
{
    if (!(hi >= lo) || !isfinite(hi - lo) || fabs(lo) > 1e300 || fabs(hi) > 1e300)
        return false;
    *axis = (as_axis){.factor = 1, .unit = unit ? unit : ""};
    for (size_t i = 0; unit && i < AS_COUNT(scales); i++)
        if (!strcmp(scales[i].unit, unit) && fmax(fabs(lo), fabs(hi)) >= scales[i].from) {
            axis->factor = scales[i].factor;
            axis->unit = scales[i].shown;
            break;
        }
    /* An empty range is widened a little, so that a single value can be drawn. */
    double room = hi > lo ? 0 : fmax(fabs(hi) * 0.01, 1 / axis->factor);
    double a = (lo - room) * axis->factor, b = (hi + room) * axis->factor;
    if (!(b - a > fmax(fabs(a), fabs(b)) * 1e-12))
        return false;
    double step = round_step(b - a, n_ticks);
    int    decimals = (int)ceil(-log10(step) - 1e-9);
    axis->decimals = decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    axis->step = step / axis->factor;
    axis->lo = floor(a / step + 1e-9) * step / axis->factor;
    axis->hi = ceil(b / step - 1e-9) * step / axis->factor;
    return axis->hi > axis->lo && axis->step > 0;
}

const char *as_axis_label(const as_axis *axis, char *buf, size_t size, double value)
{
    double shown = value * axis->factor;
    if (fabs(shown) >= 1e6)
        snprintf(buf, size, "%.3g", shown);
    else
        snprintf(buf, size, "%.*f", axis->decimals, fabs(shown) < 1e-12 ? 0 : shown);
    for (char *c = buf; *c; c++)
        if (*c == ',')
            *c = '.';
    if (*axis->unit) {
        size_t used = strlen(buf);
        snprintf(buf + used, size - used, "%s%s", strcmp(axis->unit, "%") ? " " : "\xc2\xa0", axis->unit);
    }
    return buf;
}

double as_axis_share(const as_axis *axis, double value) { return (value - axis->lo) / (axis->hi - axis->lo); }
