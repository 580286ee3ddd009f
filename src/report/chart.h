/* chart.h - a chart of the neutral document: what it shows, never how it looks.
 *
 * A chart is a kind, axes, series of numbers, and marks.  Sections fill it from facts; writers that draw hand it to the drawing
 * of its kind (chart/draw_<kind>.c), the others write its numbers or leave it out.  It has no colours and no positions: series
 * and points have roles.  Its arrays belong to the facts or to the document's arena, and live as long as both. */
#ifndef AS_REPORT_CHART_H
#define AS_REPORT_CHART_H

#include "analysis/analysis.h"

/* The role of something in its chart; the drawing decides how it looks. */
typedef enum as_chart_role {
    AS_CHART_MAIN,  /* what the chart is about */
    AS_CHART_MUTED, /* context beside it */
    AS_CHART_LIMIT, /* a bound: a limit, a margin */
    AS_CHART_NOTE,
    AS_CHART_GOOD,
    AS_CHART_WARN,
    AS_CHART_BAD /* verdicts */
} as_chart_role;

typedef struct as_chart_axis {
    const char *label, *unit; /* unit: as of a metric; NULL: none */
    bool        log;
} as_chart_axis;

/* n points: y over x, with optional data for each.  Every array except y may be NULL. */
typedef struct as_chart_series {
    const char        *key, *label; /* key: of the facts' series that it shows, NULL when it was made from a table */
    as_chart_role      role;
    int                group; /* series of one group look alike, whatever their lane */
    int                lane;  /* which of the chart's y axes it uses */
    size_t             n;
    const double      *x, *y;                                 /* x NULL: the points' numbers */
    const double      *x_end, *y_end;                         /* a box goes from x to x_end and from y to y_end */
    const double      *lo, *hi;                               /* the interval of y */
    const double      *weight;                                /* its share of the whole */
    const char *const *names, *const *details, *const *words; /* words: a short text beside the point */
    const as_chart_role *roles;                               /* of each point; NULL: all have the series' */
    const int           *groups;                              /* of each point, into the chart's `groups` */
    assay_kind           kind;                                /* of its numbers, and their source, as in a series of the facts */
    const char          *source;
} as_chart_series;

/* A line across the chart, or a band where lo < hi. */
typedef enum as_mark_on {
    AS_MARK_Y,    /* at a value */
    AS_MARK_X,    /* at a place along x */
    AS_MARK_SLOPE /* y = at * x: a limit that rises with x */
} as_mark_on;
typedef struct as_mark {
    const char   *label;
    as_mark_on    on;
    as_chart_role role;
    double        at, lo, hi;
    double        before, after; /* of a step: the level on each side; 0: not a step */
} as_mark;

/* In a graph: point `to` reads point `from`, which comes before it. */
typedef struct as_link {
    int from, to;
} as_link;

enum { AS_CHART_LANES = 4 };

typedef struct as_chart {
    const char            *kind;    /* the name of its drawing: "bars" */
    const char            *group;   /* of the facts that it shows: "latency" */
    const char            *title;   /* its name in a few words */
    const char            *caption; /* how to read it */
    as_chart_axis          x, y[AS_CHART_LANES];
    const as_chart_series *series;
    int                    n_series;
    const as_mark         *marks;
    int                    n_marks;
    const as_link         *links;
    int                    n_links;
    const char *const     *groups; /* their names, for a legend */
    int                    n_groups;
    const as_table        *table; /* the table that already has its numbers: writers of numbers do not write them again */
    bool                   extra; /* the table beside it says the same, or it is one of many: left out where space is short */
} as_chart;

/* Helpers for code that reads charts. */

/* Name and role of point i; "" and the series' role by default. */
const char   *as_point_name(const as_chart_series *s, size_t i);
const char   *as_point_detail(const as_chart_series *s, size_t i);
const char   *as_point_words(const as_chart_series *s, size_t i);
as_chart_role as_point_role(const as_chart_series *s, size_t i);
double        as_point_x(const as_chart_series *s, size_t i);
/* The amount of point i: its height, or the extent of a box, in *unit. */
double as_point_amount(const as_chart *c, const as_chart_series *s, size_t i, const char **unit);
/* The smallest and the largest finite number; false when there is none, or their distance is not finite. */
bool as_range_of(const double *x, size_t n, double *lo, double *hi);
/* The first mark of this kind and role; NULL: none. */
const as_mark *as_chart_mark(const as_chart *c, as_mark_on on, as_chart_role role);
/* True when no series has a finite number and there are no links. */
bool as_chart_empty(const as_chart *c);
/* The chart as a sentence, for readers who cannot see it; NULL: no memory. */
const char *as_chart_alt(as_arena *arena, const as_chart *c);

#endif
