/* chart.c - functions that read charts: points with defaults, ranges, and a chart as a sentence. */
#include "report/chart.h"

#include <math.h>
#include <string.h>

#include "report/words.h"

static const char *text_at(const char *const *texts, size_t i) { return texts && texts[i] ? texts[i] : ""; }

const char   *as_point_name(const as_chart_series *s, size_t i) { return text_at(s->names, i); }
const char   *as_point_detail(const as_chart_series *s, size_t i) { return text_at(s->details, i); }
const char   *as_point_words(const as_chart_series *s, size_t i) { return text_at(s->words, i); }
as_chart_role as_point_role(const as_chart_series *s, size_t i) { return s->roles ? s->roles[i] : s->role; }
double        as_point_x(const as_chart_series *s, size_t i) { return s->x ? s->x[i] : (double)i; }

double as_point_amount(const as_chart *c, const as_chart_series *s, size_t i, const char **unit)
{
    bool along_x = s->x_end && !s->y_end;
    *unit = along_x ? c->x.unit : c->y[s->lane].unit;
    *unit = *unit ? *unit : "1";
    return along_x ? s->x_end[i] - as_point_x(s, i) : s->y_end ? s->y_end[i] - s->y[i] : s->y[i];
}

bool as_range_of(const double *x, size_t n, double *lo, double *hi)
{
    *lo = INFINITY, *hi = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            *lo = fmin(*lo, x[i]), *hi = fmax(*hi, x[i]);
    return *hi >= *lo && isfinite(*hi - *lo);
}

const as_mark *as_chart_mark(const as_chart *c, as_mark_on on, as_chart_role role)
{
    for (int i = 0; i < c->n_marks; i++)
        if (c->marks[i].on == on && c->marks[i].role == role)
            return &c->marks[i];
    return NULL;
}

bool as_chart_empty(const as_chart *c)
{
    if (c->n_links)
        return false;
    for (int i = 0; i < c->n_series; i++)
        for (size_t k = 0; k < c->series[i].n; k++)
            if (isfinite(c->series[i].y[k]))
                return false;
    return true;
}

/* --- In a sentence ------------------------------------------------------------------------------------------ */

enum { MAX_SAID = 6 };

/* The number of points, the smallest and the largest, by name where points have names. */
static void series_say(as_arena *arena, as_text *t, const as_chart *c, const as_chart_series *s)
{
    size_t      n = 0, least = 0, most = 0;
    double      lo = INFINITY, hi = -INFINITY;
    const char *unit = "1";
    for (size_t i = 0; i < s->n; i++) {
        double value = as_point_amount(c, s, i, &unit);
        if (!isfinite(value))
            continue;
        n++;
        if (value < lo)
            lo = value, least = i;
        if (value > hi)
            hi = value, most = i;
    }
    const char *label = c->n_series > 1 ? s->label : c->y[s->lane].label;
    label = label ? label : "";
    as_text_printf(t, "%s%s%zu %s", label, *label ? ": " : "", n, n == 1 ? "value" : "values");
    if (!n)
        return;
    as_text_printf(t, ", from %s%s%s%s", as_show_signs(arena, lo, unit), *as_point_name(s, least) ? " (" : "",
                   as_point_name(s, least), *as_point_name(s, least) ? ")" : "");
    as_text_printf(t, " to %s%s%s%s", as_show_signs(arena, hi, unit), *as_point_name(s, most) ? " (" : "", as_point_name(s, most),
                   *as_point_name(s, most) ? ")" : "");
}

const char *as_chart_alt(as_arena *arena, const as_chart *c)
{
    as_text t = {0};
    for (int i = 0; i < c->n_series && i < MAX_SAID; i++) {
        as_text_add(&t, i ? "; " : "");
        series_say(arena, &t, c, &c->series[i]);
    }
    if (c->n_series > MAX_SAID)
        as_text_printf(&t, "; and %d more series", c->n_series - MAX_SAID);
    for (int i = 0, n = 0; i < c->n_marks && n < MAX_SAID; i++) {
        const as_mark *m = &c->marks[i];
        if (!m->label || !isfinite(m->at) || m->on != AS_MARK_Y)
            continue;
        as_text_printf(&t, "; %s %s", m->label, as_show_signs(arena, m->at, c->y[0].unit ? c->y[0].unit : "1"));
        n++;
    }
    if (c->x.log || c->y[0].log)
        as_text_printf(&t, "; %s logarithmic", c->x.log && c->y[0].log ? "both axes are" : c->x.log ? "x is" : "y is");
    return as_text_keep(arena, &t);
}
