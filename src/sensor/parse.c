/* parse.c - the kernel's text files, read defensively: they differ by version, by container and by virtual machine. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "sensor/probe.h"
#include "sensor/sensor.h"

/* Reads digits at *s and moves it past them. */
static bool number_take(const char **s, uint64_t *out)
{
    uint64_t value = 0;
    if (**s < '0' || **s > '9')
        return false;
    for (; **s >= '0' && **s <= '9'; ++*s)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) || __builtin_add_overflow(value, (uint64_t)(**s - '0'), &value))
            return false;
    *out = value;
    return true;
}

static const char *next_line(const char *s)
{
    const char *end = strchr(s, '\n');
    return end ? end + 1 : NULL;
}

/* What follows `start` in the first line that begins with it. */
static const char *line_after(const char *text, const char *start)
{
    size_t n = strlen(start);
    for (const char *line = text; line; line = next_line(line))
        if (!strncmp(line, start, n))
            return line + n;
    return NULL;
}

bool as_psi_some_us(const char *text, uint64_t *out_us)
{
    const char *line = line_after(text, "some ");
    const char *total = line ? strstr(line, "total=") : NULL;
    if (!total || memchr(line, '\n', (size_t)(total - line)))
        return false;
    total += strlen("total=");
    uint64_t us;
    if (!number_take(&total, &us) || (*total && *total != '\n' && *total != ' '))
        return false;
    *out_us = us;
    return true;
}

bool as_stat_steal_ticks(const char *text, uint64_t *out_ticks)
{
    const char *s = line_after(text, "cpu ");
    uint64_t    number = 0;
    for (int i = 0; s && i < 8; i++) { /* user nice system idle iowait irq softirq steal */
        while (*s == ' ')
            s++;
        if (!number_take(&s, &number))
            return false;
    }
    if (!s || (*s && *s != ' ' && *s != '\n'))
        return false;
    *out_ticks = number;
    return true;
}

double as_steal_ns(void)
{
    char     text[512], path[1024]; /* the line of all CPUs comes first */
    uint64_t ticks;
    long     hertz = sysconf(_SC_CLK_TCK);
    if (hertz <= 0 || !as_file_small(as_system_path("steal", "/proc/stat", path, sizeof path), text, sizeof text) ||
        !as_stat_steal_ticks(text, &ticks))
        return NAN;
    return (double)ticks * (1e9 / (double)hertz);
}

bool as_status_bytes(const char *text, const char *key, uint64_t *out_bytes)
{
    char     start[64];
    uint64_t kib, bytes;
    if (snprintf(start, sizeof start, "%s:", key) >= (int)sizeof start)
        return false;
    const char *s = line_after(text, start);
    if (!s)
        return false;
    s += strspn(s, " \t");
    if (!number_take(&s, &kib) || strncmp(s, " kB", 3) || __builtin_mul_overflow(kib, (uint64_t)1024, &bytes))
        return false;
    *out_bytes = bytes;
    return true;
}

bool as_stat_number(const char *text, const char *key, uint64_t *out)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = next_line(line)) {
        const char *s = line + n + 1;
        uint64_t    value;
        if (strncmp(line, key, n) || line[n] != ' ' || !number_take(&s, &value) || (*s && *s != '\n'))
            continue;
        *out = value;
        return true;
    }
    return false;
}

/* "4:memory:/a": whether the list between the colons has the word. */
static bool controllers_have(const char *list, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= n; i++)
        if (!strncmp(list + i, word, length) && (i == 0 || list[i - 1] == ',') && (i + length == n || list[i + length] == ','))
            return true;
    return false;
}

bool as_cgroup_path(const char *text, char *out, size_t size, bool *is_old)
{
    bool found = false;
    for (const char *line = text; line && *line; line = next_line(line)) {
        const char *list = memchr(line, ':', strcspn(line, "\n")),
                   *path = list ? memchr(list + 1, ':', strcspn(list + 1, "\n")) : NULL;
        if (!path || path[1] != '/')
            continue;
        bool   old = controllers_have(list + 1, (size_t)(path - list - 1), "memory"), unified = path == list + 1;
        size_t n = strcspn(path + 1, "\n");
        if ((!old && (!unified || found)) || n >= size)
            continue;
        n = n == 1 ? 0 : n; /* "/" */
        memcpy(out, path + 1, n);
        out[n] = 0;
        *is_old = old;
        found = true;
        if (old)
            return true;
    }
    return found;
}

bool as_field_text(const char *text, const char *key, char *out, size_t size)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = next_line(line)) {
        if (strncmp(line, key, n))
            continue;
        const char *s = line + n;
        s += strspn(s, " \t");
        if (*s != ':')
            continue; /* a longer key */
        s++;
        s += strspn(s, " \t");
        size_t length = strcspn(s, "\n");
        while (length && (s[length - 1] == ' ' || s[length - 1] == '\t' || s[length - 1] == '\r'))
            length--;
        if (!length)
            return false;
        if (length >= size)
            length = size - 1;
        memcpy(out, s, length);
        out[length] = '\0';
        return true;
    }
    return false;
}

bool as_list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *s = list; n && (s = strstr(s, word)); s += n)
        if ((s == list || s[-1] == ' ') && (!s[n] || s[n] == ' '))
            return true;
    return false;
}

bool as_replays(void)
{
    const char *root = getenv("ASSAY_REPLAY");
    return root && *root;
}

const char *as_system_path(const char *rung, const char *path, char *buf, size_t size)
{
    const char *root = as_replays() ? getenv("ASSAY_REPLAY") : "";
    snprintf(buf, size, "%s%s", as_without(rung) ? "/nonexistent" : root, path);
    return buf;
}

bool as_system_i64(const char *rung, const char *path, unsigned n, int64_t *out)
{
    char  where[1024], text[4096];
    char *line = text;
    if (!as_file_small(as_system_path(rung, path, where, sizeof where), text, sizeof text))
        return false;
    for (char *next; as_replays() && n && (next = strchr(line, '\n')); n--)
        line = next + 1;
    if (as_replays())
        line[strcspn(line, "\n")] = '\0';
    return as_parse_i64(line, out);
}

bool as_perf_reading(const char *line, uint64_t *out)
{
    uint64_t    numbers[3];
    const char *s = line;
    for (int i = 0; i < 3; i++) {
        s += strspn(s, " ");
        if (!number_take(&s, &numbers[i]))
            return false;
    }
    if (*s && *s != '\n')
        return false;
    if (numbers[2] < numbers[1])
        return false;
    *out = numbers[0];
    return true;
}

bool as_file_i64(const char *path, int64_t *out)
{
    char text[64];
    return as_file_small(path, text, sizeof text) && as_parse_i64(text, out);
}

bool as_perf_paranoid(int64_t *out) { return as_file_i64("/proc/sys/kernel/perf_event_paranoid", out); }

bool as_cache_bytes(const char *text, uint64_t *out_bytes)
{
    uint64_t    n, bytes;
    const char *s = text;
    if (!number_take(&s, &n))
        return false;
    uint64_t factor = *s == 'K' ? 1024 : *s == 'M' ? 1024 * 1024 : *s == 'G' ? 1024 * 1024 * 1024 : *s ? 0 : 1;
    if (!factor || (*s && s[1]) || __builtin_mul_overflow(n, factor, &bytes))
        return false;
    *out_bytes = bytes;
    return true;
}

uint64_t as_counter_delta(uint64_t before, uint64_t now, uint64_t max)
{
    if (now >= before)
        return now - before;
    return before <= max ? max - before + now : now; /* before > max: the stated range is wrong */
}

void as_perf_refusal(int error, int64_t paranoid, char *why, size_t size)
{
    switch (error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        snprintf(why, size, "the kernel sees no hardware counters (perf_event_open: %s), as in a virtual machine without a PMU",
                 strerror(error));
        break;
    case EACCES:
    case EPERM:
        if (paranoid == -9)
            snprintf(why, size, "forbidden (%s), and the kernel's perf_event_paranoid cannot be read", strerror(error));
        else if (paranoid > 2)
            snprintf(why, size, "forbidden: kernel.perf_event_paranoid is %lld; as root: sysctl kernel.perf_event_paranoid=2",
                     (long long)paranoid);
        else
            snprintf(why, size,
                     "forbidden (%s) although kernel.perf_event_paranoid is %lld: a container's seccomp filter or a "
                     "security module; give it CAP_PERFMON",
                     strerror(error), (long long)paranoid);
        break;
    case ENOSYS:
        snprintf(why, size, "perf_event_open does not exist: a kernel without it, or a seccomp filter that hides it");
        break;
    default: snprintf(why, size, "perf_event_open: %s", strerror(error));
    }
}

bool as_perf_count_ok(uint64_t counted, uint64_t expected)
{
    uint64_t slack = expected / 20;
    return counted >= expected - slack && counted <= expected + slack;
}
