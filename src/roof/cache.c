/* cache.c - limits in a file of the user's cache.  The file may contain anything by the time it is read, so everything in it is
 * checked. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plugs.h"
#include "roof/roof.h"
#include "sensor/sensor.h"

#define SCHEMA     "assay.roofs/2"
#define UNIX_S_MAX UINT64_C(253402300799) /* the end of the year 9999 */
enum { FILE_BYTES_MAX = 1 << 20, NAME_MAX_BYTES = 48, SOURCE_MAX_BYTES = 1000, PATH_BYTES = 4096 };

/* --- Which file -------------------------------------------------------------------------------------------------- */

/* The key holds the build, because a build without optimisation or with sanitisers has other limits.  It does not hold the boot:
 * the best that this machine has ever shown is what it can do, and the fingerprint includes its microcode. */
void as_roofs_key(char out[17], const as_device *device, int n_threads)
{
    as_text text = {0};
    char    fingerprint[17], isa[64];
    as_machine_fingerprint(fingerprint);
    as_text_printf(&text, "%s|%s|%d|%s|%s", fingerprint, as_isa_show(as_isa_here(), isa, sizeof isa), n_threads, ASSAY_VERSION,
                   as_build_text);
    if (!as_roofs_of_cpu(device))
        as_text_printf(&text, "|%s|%s", device->name, device->text);
    snprintf(out, 17, "%016llx", (unsigned long long)as_hash64(text.data ? text.data : "", text.length));
    as_text_drop(&text);
}

bool as_roofs_path(char *out, size_t size, const char *key)
{
    const char *own = getenv("ASSAY_CACHE_DIR"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int         n = 0;
    if (own && *own)
        n = snprintf(out, size, "%s/roofs-%s.json", own, key);
    else if (xdg && *xdg == '/') /* the specification says to ignore a relative one */
        n = snprintf(out, size, "%s/assay/roofs-%s.json", xdg, key);
    else if (home && *home)
        n = snprintf(out, size, "%s/.cache/assay/roofs-%s.json", home, key);
    return n > 0 && (size_t)n < size;
}

int as_roofs_home(const as_device *device, int n_threads)
{
    int tries[2] = {n_threads, as_cpu_count()};
    for (int i = 0; i < (n_threads == 1 && as_roofs_of_cpu(device) ? 2 : 1); i++) {
        char key[17], path[PATH_BYTES];
        as_roofs_key(key, device, tries[i]);
        if (as_roofs_path(path, sizeof path, key) && !access(path, F_OK))
            return tries[i];
    }
    return n_threads;
}

/* --- In ------------------------------------------------------------------------------------------------------------ */

static bool unit_ok(const char *unit)
{
    static const char *const units[] = {"flop/s", "op/s", "byte/s", "element/s", "hertz", "ns"};
    for (size_t i = 0; i < AS_COUNT(units); i++)
        if (!strcmp(units[i], unit))
            return true;
    return false;
}

static bool name_ok(const char *name)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-");
    return n > 0 && n <= NAME_MAX_BYTES && !name[n];
}

static bool text_ok(const char *text)
{
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < ' ')
            return false;
    return *text && strlen(text) <= SOURCE_MAX_BYTES;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool count_of(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *v = json_object_get(object, key);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static assay_status roof_read(assay_env *env, const char *path, const json_t *item, as_roofs *r)
{
    const char   *name = text_of(item, "name"), *unit = text_of(item, "unit"), *source = text_of(item, "source");
    const json_t *disturbed = json_object_get(item, "disturbed");
    as_trace_roof x = {.value = number_of(item, "value"),
                       .lo = number_of(item, "lo"),
                       .hi = number_of(item, "hi"),
                       .today = number_of(item, "today"),
                       .disturbed = json_is_true(disturbed)};
    if (!name_ok(name))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: limit %d has no valid name", path, r->n);
    if (as_roofs_find(r, name))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: %s is given twice", path, name);
    if (!unit_ok(unit))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: %s has the unit '%.32s'", path, name, unit);
    if (!(x.lo > 0.0 && x.lo <= x.value && x.value <= x.hi && isfinite(x.hi)))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: %s is %g between %g and %g", path, name, x.value, x.lo, x.hi);
    if (!isnan(x.today) && !(x.today > 0.0 && isfinite(x.today)))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: %s is %g today", path, name, x.today);
    if (!count_of(item, "n_clean", &x.n_clean) || !count_of(item, "n_chunks", &x.n_chunks) || x.n_clean < AS_CHUNKS_CLEAN ||
        x.n_chunks < x.n_clean)
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: %s needs %d clean chunks or more", path, name, AS_CHUNKS_CLEAN);
    if (!count_of(item, "level_bytes", &x.level_bytes) || !count_of(item, "when_unix_s", &x.when_unix_s) ||
        x.when_unix_s > UNIX_S_MAX || !json_is_boolean(disturbed))
        return as_fail(
            env, ASSAY_BAD_INPUT,
            "limits: %s: %s does not say when it was measured, how much its level holds and whether the machine was busy", path,
            name);
    if (!text_ok(source))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: %s has no valid source", path, name);
    x.name = as_arena_text(&r->arena, name);
    x.unit = as_arena_text(&r->arena, unit);
    x.source = as_arena_text(&r->arena, source);
    x.device = r->device;
    if (!x.name || !x.unit || !x.source)
        return as_fail(env, ASSAY_NO_MEMORY, "limits: not enough memory for %s", name);
    r->list[r->n++] = x;
    return ASSAY_OK;
}

static assay_status roofs_read(assay_env *env, const char *path, const json_t *root, const char *key, as_roofs *r)
{
    const json_t *list = json_object_get(root, "roofs"), *when = json_object_get(root, "measured_unix_s");
    size_t        n = json_array_size(list);
    double        seconds = number_of(root, "seconds");
    if (strcmp(text_of(root, "schema"), SCHEMA))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: the schema is '%.64s', not " SCHEMA, path, text_of(root, "schema"));
    if (strcmp(text_of(root, "key"), key))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: it was measured on '%.32s', and this machine and build are %s", path,
                       text_of(root, "key"), key);
    if (!json_is_integer(when) || json_integer_value(when) < 0 || (uint64_t)json_integer_value(when) > UNIX_S_MAX ||
        !(seconds >= 0.0 && seconds < 1e6))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: it does not say when the limits were measured", path);
    if (!json_is_array(list) || n < 1 || n > AS_ROOFS_MAX)
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: it has %zu limits; 1 to %d are possible", path, n, AS_ROOFS_MAX);
    r->unix_s = (uint64_t)json_integer_value(when);
    r->seconds = seconds;
    if (!text_ok(text_of(root, "device")))
        return as_fail(env, ASSAY_BAD_INPUT, "limits: %s: it does not name the device", path);
    r->device = as_arena_text(&r->arena, text_of(root, "device"));
    r->key = as_arena_text(&r->arena, key);
    r->list = AS_TAKE(&r->arena, as_trace_roof, n);
    if (!r->key || !r->list || !r->device)
        return as_fail(env, ASSAY_NO_MEMORY, "limits: not enough memory for %zu", n);
    for (size_t i = 0; i < n; i++)
        AS_TRY(roof_read(env, path, json_array_get(list, i), r));
    return ASSAY_OK;
}

assay_status as_roofs_parse(assay_env *env, const char *path, const char *data, size_t n, const char *key, as_roofs *out)
{
    json_t  *root;
    as_roofs made = {0};
    AS_TRY(as_json_parse(env, "limits", path, data, n, &root));
    assay_status status = roofs_read(env, path, root, key, &made);
    json_decref(root);
    if (status == ASSAY_OK)
        *out = made;
    else
        as_roofs_drop(&made);
    return status;
}

assay_status as_roofs_load(assay_env *env, const char *path, const char *key, as_roofs *out)
{
    as_map map;
    AS_TRY(as_map_open(env, "limits", path, FILE_BYTES_MAX, &map));
    assay_status status = as_roofs_parse(env, path, (const char *)map.data, map.bytes, key, out);
    as_map_close(&map);
    return status;
}

/* --- Out ------------------------------------------------------------------------------------------------------------ */

static void roofs_write(FILE *file, const as_roofs *r)
{
    as_json w;
    as_json_start(&w, file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", SCHEMA);
    as_json_key_text(&w, "key", r->key);
    as_json_key_text(&w, "device", r->device);
    as_json_key_u64(&w, "measured_unix_s", r->unix_s);
    as_json_key_f64(&w, "seconds", r->seconds);
    as_json_key(&w, "roofs");
    as_json_array(&w);
    for (int i = 0; i < r->n; i++) {
        const as_trace_roof *x = &r->list[i];
        if (!as_roof_is_clean(x))
            continue;
        as_json_object(&w);
        as_json_key_text(&w, "name", x->name);
        as_json_key_text(&w, "unit", x->unit);
        as_json_key_f64(&w, "value", x->value);
        as_json_key_f64(&w, "lo", x->lo);
        as_json_key_f64(&w, "hi", x->hi);
        as_json_key_f64(&w, "today", x->today);
        as_json_key_u64(&w, "n_clean", x->n_clean);
        as_json_key_u64(&w, "n_chunks", x->n_chunks);
        as_json_key_u64(&w, "level_bytes", x->level_bytes);
        as_json_key_u64(&w, "when_unix_s", x->when_unix_s);
        as_json_key_bool(&w, "disturbed", x->disturbed);
        as_json_key_text(&w, "source", x->source);
        as_json_object_end(&w);
    }
    as_json_array_end(&w);
    as_json_object_end(&w);
    as_json_finish(&w);
}

/* Creates every missing folder above the file; nobody else may write in them. */
static void folders_make(const char *path)
{
    char part[PATH_BYTES];
    if (strlen(path) >= sizeof part)
        return;
    for (size_t i = 0; path[i]; i++) {
        part[i] = path[i];
        if (i && path[i] == '/') {
            part[i] = '\0';
            if (mkdir(part, 0700) && errno != EEXIST)
                return; /* opening the file reports why */
            part[i] = '/';
        }
    }
}

assay_status as_roofs_save(assay_env *env, const char *path, const as_roofs *r)
{
    as_out out;
    int    n = 0;
    for (int i = 0; i < r->n; i++)
        n += as_roof_is_clean(&r->list[i]);
    if (!n || r->told)
        return ASSAY_OK;
    folders_make(path);
    AS_TRY(as_out_open(env, path, &out));
    roofs_write(out.file, r);
    return as_out_commit(env, &out);
}
