/* screen.h - standard output for a reader at a terminal: its width, its characters, a pager for long text.
 *
 * From as_screen_open() to as_screen_close() standard output is a stream of our own.  It is the one place that
 *   - turns text into ASCII where the locale has no UTF-8,
 *   - hands text that is longer than the terminal to a pager, as git does,
 *   - ignores it when the reader closes the pipe (`assay ... | head`): what is written from then on is dropped. */
#ifndef AS_CLI_SCREEN_H
#define AS_CLI_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/* Columns of the terminal: $COLUMNS, otherwise what the terminal says, otherwise 80. */
int as_screen_columns(void);
/* Whether standard output may be coloured: it is a terminal, TERM is not dumb, and NO_COLOR is not set. */
bool as_screen_takes_colour(void);
/* Does the locale have UTF-8?  LC_ALL, LC_CTYPE, LANG, the first that is set counts; without any it is the C locale, which does
 * not have UTF-8. */
bool as_locale_has_utf8(void);
/* The text as ASCII, into a new string that the caller frees; NULL: no memory.  A character without a replacement becomes "?". */
char *as_ascii_text(const char *text, size_t n);

bool as_screen_open(void); /* false: no memory, and standard output is as it was */
/* From now on bytes are written as they are: for JSON and other files that were sent to standard output. */
void as_screen_raw(void);
/* Keeps the text until as_screen_close(), which shows it in a pager if it is long; only on a terminal. */
void as_screen_page(void);
/* 0, or the errno of the first failed write. */
int as_screen_close(void);

#endif
