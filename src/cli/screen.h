/* screen.h - standard output as a person sees it: its width, its characters, a pager for long text.
 *
 * From as_screen_open() to as_screen_close() standard output is a stream of our own.  It is the one place that
 *   - turns text into ASCII where the locale has no UTF-8,
 *   - hands text that is longer than the terminal to a pager, as git does,
 *   - takes no offence when the reader leaves (`assay ... | head`): what is written from then on is dropped. */
#ifndef AS_CLI_SCREEN_H
#define AS_CLI_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

/* Columns of the terminal: $COLUMNS, else what the terminal says, else 80. */
int as_screen_columns(void);
/* May standard output be coloured: it is a terminal that is not dumb, and NO_COLOR is not set. */
bool as_screen_takes_colour(void);
/* Does the locale have UTF-8?  LC_ALL, LC_CTYPE, LANG, the first that is set; without any it is the C locale, which has not. */
bool as_locale_has_utf8(void);
/* The text as ASCII, into a new string that the caller frees; NULL: no memory.  What has no likeness becomes "?". */
char *as_ascii_text(const char *text, size_t n);

bool as_screen_open(void); /* false: no memory, and standard output is as it was */
/* From now on bytes are written as they are: for JSON and other files that were sent to standard output. */
void as_screen_raw(void);
/* Keeps the text until as_screen_close(), which shows it in a pager if it is long; only on a terminal. */
void as_screen_page(void);
/* 0, or the errno of what could not be written. */
int as_screen_close(void);

#endif
