/* words.h - text for readers: numbers with their signs, names cut to fit, and text made safe for terminals and pages. */
#ifndef AS_REPORT_WORDS_H
#define AS_REPORT_WORDS_H

#include "base/metric.h"
#include "base/text.h"

/* as_show() and as_show_interval() with the signs that a page can show: µs, °C. */
const char *as_show_signs(as_arena *arena, double value, const char *unit);
const char *as_show_interval_signs(as_arena *arena, const assay_metric *m);

/* Text fit for a terminal: no control characters, no direction overrides, valid UTF-8. */
const char *as_clean_text(as_arena *arena, const char *text);
/* Safe as element content and as a quoted attribute: control characters removed, invalid UTF-8 replaced. */
const char *as_escape_html(as_arena *arena, const char *text);
/* At most this many columns, the last one "…" when something was cut. */
const char *as_text_cut(as_arena *arena, const char *text, int columns);
/* The same, but cuts the middle, which says least in a name: "elementwi…256/f16". */
const char *as_name_cut(as_arena *arena, const char *name, int columns);

/* Cuts all names to at most this many columns; names that differ still do.  Leaves out the common beginning ("…1.conv2") or the
 * middle; where nothing else tells them apart they are numbered ("lay…#2").  A name that fits is unchanged.  Names are clean
 * text; columns: enough for "…#" and a number.  out may be names itself.  False: no memory. */
bool as_names_fit(as_arena *arena, const char *const *names, size_t n, int columns, const char **out);

/* The terms of docs/words.md and what they mean; the last one is {0}. */
typedef struct as_term {
    const char *term, *meaning;
} as_term;
extern const as_term as_glossary[];

/* Moves the text into the arena and frees it; NULL: no memory. */
const char *as_text_keep(as_arena *arena, as_text *t);
/* Appends it, padded with spaces to this many columns. */
void as_text_pad(as_text *t, const char *text, int columns);

#endif
