/* screen.c - standard output for a reader at a terminal. */
#include "cli/screen.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "base/text.h"

enum {
    STANDARD_COLUMNS = 80,
    STANDARD_ROWS = 24,
    LEAST_COLUMNS = 20,
    MOST_COLUMNS = 1000,
    NOT_FOUND = 127,
    NOT_EXECUTABLE = 126,
    BUFFER = 1 << 16
};

/* --- What the terminal is ---------------------------------------------------------------------------- */

static bool is_dumb(void)
{
    const char *term = getenv("TERM");
    return !term || !*term || !strcmp(term, "dumb");
}

/* $NAME, otherwise what the terminal says, otherwise the default. */
static int extent(const char *name, bool is_columns, int standard)
{
    struct winsize size;
    int64_t        told;
    const char    *text = getenv(name);
    if (text && as_parse_i64(text, &told) && told > 0)
        return told > MOST_COLUMNS ? MOST_COLUMNS : (int)told;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
        return standard;
    int found = is_columns ? size.ws_col : size.ws_row;
    return found > 0 ? found : standard;
}

int as_screen_columns(void)
{
    int columns = extent("COLUMNS", true, STANDARD_COLUMNS);
    return columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns;
}

bool as_screen_takes_colour(void) { return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && !is_dumb(); }

static bool names_utf8(const char *locale)
{
    for (const char *at = locale; *at; at++)
        if (!strncasecmp(at, "utf-8", 5) || !strncasecmp(at, "utf8", 4))
            return true;
    return false;
}

bool as_locale_has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < AS_COUNT(names); i++) {
        const char *locale = getenv(names[i]);
        if (locale && *locale)
            return names_utf8(locale);
    }
    return false; /* POSIX: the C locale */
}

/* --- The stream ------------------------------------------------------------------------------------------ */

static struct screen {
    FILE   *real; /* standard output as it was; NULL: not open */
    FILE   *ours;
    bool    ascii, page; /* how the text is changed */
    bool    reader_left; /* the reader closed the pipe */
    int     error;       /* the first errno of writing; 0: none */
    char    rest[4];     /* the first bytes of an incomplete character */
    size_t  n_rest;
    as_text kept; /* with `page`: all of it, as it will be shown */
} screen;

static bool bytes_write(int fd, const char *data, size_t n)
{
    while (n && !screen.reader_left) {
        ssize_t written = write(fd, data, n);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EPIPE) {
            screen.reader_left = true;
        } else if (written < 0) {
            screen.error = screen.error ? screen.error : errno;
            return false;
        } else {
            data += written;
            n -= (size_t)written;
        }
    }
    return true;
}

static bool text_put(const char *data, size_t n)
{
    if (!screen.page)
        return bytes_write(STDOUT_FILENO, data, n);
    as_text_add_n(&screen.kept, data, n);
    return !screen.kept.failed;
}

/* How many bytes at the end belong to an incomplete character. */
static size_t begun(const char *data, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)data[n - back];
        if (c >= 0xc0)
            return back < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static bool ascii_put(const char *data, size_t n)
{
    as_text whole = {0};
    as_text_add_n(&whole, screen.rest, screen.n_rest);
    as_text_add_n(&whole, data, n);
    size_t later = whole.data ? begun(whole.data, whole.length) : 0;
    char  *ascii = whole.data && !whole.failed ? as_ascii_text(whole.data, whole.length - later) : NULL;
    bool   ok = ascii && text_put(ascii, strlen(ascii));
    screen.n_rest = later;
    memcpy(screen.rest, whole.data ? whole.data + whole.length - later : "", later);
    free(ascii);
    as_text_drop(&whole);
    return ok;
}

static bool put(const char *data, size_t n)
{
    bool ok = screen.ascii && !memchr(data, '\0', n) ? ascii_put(data, n) : text_put(data, n);
    if (!ok && !screen.error)
        screen.error = ENOMEM;
    if (!ok)
        errno = screen.error;
    return ok;
}

#ifdef __APPLE__
static int on_write(void *self, const char *data, int n)
{
    (void)self;
    return put(data, (size_t)n) ? n : -1;
}
static FILE *stream_new(void) { return funopen(NULL, NULL, on_write, NULL, NULL); }
#else
static ssize_t on_write(void *self, const char *data, size_t n)
{
    (void)self;
    return put(data, n) ? (ssize_t)n : 0; /* fopencookie expects 0 for an error */
}
static FILE *stream_new(void) { return fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_write}); }
#endif

bool as_screen_open(void)
{
    FILE *ours = stream_new();
    if (!ours)
        return false;
    setvbuf(ours, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFFER);
    screen = (struct screen){.real = stdout, .ours = ours, .ascii = !as_locale_has_utf8()};
    stdout = ours;
    return true;
}

void as_screen_raw(void)
{
    fflush(stdout);
    screen.ascii = false;
}

void as_screen_page(void) { screen.page = isatty(STDOUT_FILENO) && !is_dumb(); }

/* --- The pager -------------------------------------------------------------------------------------------- */

static const char *pager_command(void)
{
    const char *command = getenv("ASSAY_PAGER");
    command = command ? command : getenv("PAGER");
    command = command ? command : "less";
    return !*command || !strcmp(command, "cat") ? NULL : command;
}

static size_t lines_of(const as_text *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->length; i++)
        n += t->data[i] == '\n';
    return n;
}

/* Starts it with its standard input at the other end of *fd; -1: it cannot be started. */
static pid_t pager_start(const char *command, int *fd)
{
    int ends[2];
    if (pipe(ends))
        return -1;
    pid_t child = fork();
    if (!child) {
        signal(SIGINT, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        setenv("LESS", "FRX", 0); /* end when it fits, keep colours, leave the text on the screen */
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(NOT_FOUND);
    }
    close(ends[0]);
    if (child < 0)
        close(ends[1]);
    *fd = ends[1];
    return child;
}

/* Ctrl-C belongs to the pager while it runs.  False: it was not found, and the text must still be shown. */
static bool page_show(const char *command, const as_text *t)
{
    int fd, status = 0;
    void (*before)(int) = signal(SIGINT, SIG_IGN);
    pid_t child = pager_start(command, &fd);
    if (child > 0) {
        bytes_write(fd, t->data, t->length); /* the reader may quit the pager early: not an error */
        close(fd);
        screen.reader_left = false;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    signal(SIGINT, before == SIG_ERR ? SIG_DFL : before);
    bool missing = WIFEXITED(status) && (WEXITSTATUS(status) == NOT_FOUND || WEXITSTATUS(status) == NOT_EXECUTABLE);
    return child > 0 && !missing;
}

int as_screen_close(void)
{
    if (!screen.real)
        return 0;
    fclose(screen.ours); /* flushes into put() */
    stdout = screen.real;
    screen.real = NULL;
    const char *command = pager_command();
    bool        is_long = screen.kept.length && lines_of(&screen.kept) >= (size_t)extent("LINES", false, STANDARD_ROWS);
    if (!(is_long && command && page_show(command, &screen.kept)))
        bytes_write(STDOUT_FILENO, screen.kept.data, screen.kept.length);
    as_text_drop(&screen.kept);
    return screen.error;
}
