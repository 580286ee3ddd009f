/* checkpoint.c - writing, finding, checking and tidying checkpoints. */
#include "train/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"

enum { MAX_JSON = 1 << 20, NAME_HASH = 12, MAX_FOUND = 4096 };

/* --- The JSON ------------------------------------------------------------------------------------------------ */

/* One table for writing and reading. */
typedef enum field_kind { FIELD_U64, FIELD_F64, FIELD_TEXT, FIELD_HASH } field_kind;
typedef struct field {
    const char *key;
    field_kind  kind;
    size_t      at;
} field;
#define FIELD(key, kind, member)                                 \
    {                                                            \
        key, FIELD_##kind, offsetof(as_checkpoint_place, member) \
    }
static const field fields[] = {FIELD("updates", U64, updates),
                               FIELD("applied", U64, applied),
                               FIELD("steps", U64, steps),
                               FIELD("epoch", U64, epoch),
                               FIELD("batches", U64, batches),
                               FIELD("samples", U64, samples),
                               FIELD("batch", U64, batch),
                               FIELD("seed", U64, seed),
                               FIELD("epoch_loss", F64, epoch_loss),
                               FIELD("epoch_samples", U64, epoch_samples),
                               FIELD("best_loss", F64, best_loss),
                               FIELD("best_val", F64, best_val),
                               FIELD("loss_scale", F64, loss_scale),
                               FIELD("clean_steps", U64, clean_steps),
                               FIELD("skips", U64, skips),
                               FIELD("optimizer", TEXT, optimizer_text),
                               FIELD("schedule", TEXT, schedule_text),
                               FIELD("loss", TEXT, loss_text),
                               FIELD("model_hash", HASH, model_hash),
                               FIELD("data_hash", HASH, data_hash)};

static void json_put(FILE *file, const as_checkpoint_place *p, const char *tensors, uint64_t bytes, const char *sha256)
{
    as_json w;
    as_json_start(&w, file, true);
    as_json_object(&w);
    as_json_key_text(&w, "schema", AS_CHECKPOINT_SCHEMA);
    as_json_key_text(&w, "tensors", tensors);
    as_json_key_u64(&w, "bytes", bytes);
    as_json_key_text(&w, "sha256", sha256);
    for (size_t i = 0; i < AS_COUNT(fields); i++) {
        const char *at = (const char *)p + fields[i].at;
        switch (fields[i].kind) {
        case FIELD_U64: as_json_key_u64(&w, fields[i].key, *(const uint64_t *)at); break;
        case FIELD_F64: as_json_key_f64(&w, fields[i].key, *(const double *)at); break;
        default: as_json_key_text(&w, fields[i].key, at);
        }
    }
    as_json_object_end(&w);
    as_json_finish(&w);
}

static bool field_read(const json_t *value, const field *f, as_checkpoint_place *p)
{
    char  *at = (char *)p + f->at;
    size_t size = f->kind == FIELD_HASH ? AS_SHA256_HEX : AS_CHECKPOINT_TEXT;
    switch (f->kind) {
    case FIELD_U64:
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return false;
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
        return true;
    case FIELD_F64:
        if (!json_is_number(value) && !json_is_null(value))
            return false;
        *(double *)at = json_is_null(value) ? NAN : json_number_value(value);
        return true;
    default:
        if (!json_is_string(value) || json_string_length(value) >= size || strlen(json_string_value(value)) >= size)
            return false;
        memcpy(at, json_string_value(value), strlen(json_string_value(value)) + 1);
        return true;
    }
}

typedef struct named_tensors {
    char     name[256], sha256[AS_SHA256_HEX];
    uint64_t bytes;
} named_tensors;

static bool is_hex(const char *text, size_t n) { return strlen(text) == n && strspn(text, "0123456789abcdef") == n; }

static assay_status json_get(assay_env *env, const char *path, const json_t *root, as_checkpoint_place *p, named_tensors *out)
{
    const char   *schema = json_string_value(json_object_get(root, "schema"));
    const char   *name = json_string_value(json_object_get(root, "tensors"));
    const char   *hash = json_string_value(json_object_get(root, "sha256"));
    const json_t *bytes = json_object_get(root, "bytes");
    if (!json_is_object(root) || !schema || strcmp(schema, AS_CHECKPOINT_SCHEMA))
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: it is not a checkpoint: expected \"schema\": \"%s\"", path,
                       AS_CHECKPOINT_SCHEMA);
    /* Beside the JSON and nowhere else: the author of a checkpoint need not be trusted. */
    if (!name || strlen(name) >= sizeof out->name || strchr(name, '/') || *name == '.')
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: \"tensors\" does not name a file beside it", path);
    if (!hash || !is_hex(hash, AS_SHA256_HEX - 1) || !json_is_integer(bytes) || json_integer_value(bytes) < 0)
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: \"sha256\" or \"bytes\" of its tensors is missing or wrong", path);
    snprintf(out->name, sizeof out->name, "%s", name);
    memcpy(out->sha256, hash, AS_SHA256_HEX);
    out->bytes = (uint64_t)json_integer_value(bytes);
    for (size_t i = 0; i < AS_COUNT(fields); i++)
        if (!field_read(json_object_get(root, fields[i].key), &fields[i], p))
            return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: \"%s\" is missing or wrong", path, fields[i].key);
    return ASSAY_OK;
}

/* --- The folder ------------------------------------------------------------------------------------------------ */

/* "step-00000100.json", "step-00000100-0123456789ab.safetensors": its step, and which of the two; false: another file. */
static bool name_read(const char *name, uint64_t *step, bool *is_json)
{
    char *end;
    if (strncmp(name, "step-", 5) || name[5] < '0' || name[5] > '9')
        return false;
    errno = 0;
    *step = strtoull(name + 5, &end, 10);
    *is_json = !strcmp(end, ".json");
    return !errno && (*is_json || (*end == '-' && strlen(end) > 12 && !strcmp(end + strlen(end) - 12, ".safetensors")));
}

static int falling(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The steps of which there is a JSON, the newest first. */
static size_t steps_find(const char *path, uint64_t *out, size_t max)
{
    size_t         n = 0;
    DIR           *folder = opendir(path);
    struct dirent *e;
    while (folder && n < max && (e = readdir(folder))) {
        bool is_json;
        n += name_read(e->d_name, &out[n], &is_json) && is_json;
    }
    if (folder)
        closedir(folder);
    qsort(out, n, sizeof *out, falling);
    return n;
}

bool as_checkpoints_newest(const char *path, uint64_t *step)
{
    uint64_t *steps = calloc(MAX_FOUND, sizeof *steps);
    size_t    n = steps ? steps_find(path, steps, MAX_FOUND) : 0;
    if (n)
        *step = steps[0];
    free(steps);
    return n > 0;
}

assay_status as_checkpoints_open(assay_env *env, const char *path, int keep, as_checkpoints *out)
{
    as_checkpoints c = {.fd = -1, .keep = keep < 1 ? 1 : keep};
    if (!*path || strlen(path) >= sizeof c.path)
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: the name of the folder is empty or has more than %zu bytes",
                       sizeof c.path - 1);
    memcpy(c.path, path, strlen(path) + 1);
    if (mkdir(path, 0777) && errno != EEXIST)
        return as_fail(env, ASSAY_IO, "checkpoint: %s: cannot make the folder: %s", path, strerror(errno));
    c.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (c.fd < 0)
        return as_fail(env, ASSAY_IO, "checkpoint: %s: cannot open the folder: %s", path, strerror(errno));
    if (flock(c.fd, LOCK_EX | LOCK_NB)) {
        assay_status status = errno == EWOULDBLOCK
                                  ? as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: another run writes its checkpoints there", path)
                                  : as_fail(env, ASSAY_IO, "checkpoint: %s: cannot lock the folder: %s", path, strerror(errno));
        close(c.fd);
        return status;
    }
    *out = c;
    return ASSAY_OK;
}

void as_checkpoints_close(as_checkpoints *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}

static bool path_make(char *out, size_t size, const char *folder, const char *name)
{
    int n = snprintf(out, size, "%s/%s", folder, name);
    return n > 0 && (size_t)n < size;
}

/* The file of tensors that a JSON of the folder names; "": it cannot be read. */
static void tensors_named(const char *folder, uint64_t step, char out[256])
{
    char    name[64], path[4096];
    json_t *root = NULL;
    *out = '\0';
    snprintf(name, sizeof name, "step-%08" PRIu64 ".json", step);
    if (!path_make(path, sizeof path, folder, name) || as_json_load(NULL, "checkpoint", path, MAX_JSON, &root) != ASSAY_OK)
        return;
    const char *tensors = json_string_value(json_object_get(root, "tensors"));
    if (tensors && strlen(tensors) < 256)
        memcpy(out, tensors, strlen(tensors) + 1);
    json_decref(root);
}

/* What a writer that was killed left behind: temporaries, and tensors that no JSON names.  The folder is locked, so nobody is writing. */
static bool is_left_behind(const as_checkpoints *c, const char *name)
{
    uint64_t step;
    bool     is_json;
    char     named[256];
    size_t   n = strlen(name);
    if (!strncmp(name, ".assay-", 7) && n > 4 && !strcmp(name + n - 4, ".tmp"))
        return true;
    if (n > 5 && !strncmp(name, "step-", 5) && !strcmp(name + n - 5, ".part"))
        return true;
    if (!name_read(name, &step, &is_json) || is_json)
        return false;
    tensors_named(c->path, step, named);
    return strcmp(named, name) != 0;
}

static void left_behind_remove(const as_checkpoints *c)
{
    DIR           *folder = opendir(c->path);
    struct dirent *e;
    while (folder && (e = readdir(folder)))
        if (is_left_behind(c, e->d_name))
            unlinkat(c->fd, e->d_name, 0);
    if (folder)
        closedir(folder);
}

/* The JSON first: tensors without one are no checkpoint. */
static void older_remove(const as_checkpoints *c)
{
    uint64_t *steps = calloc(MAX_FOUND, sizeof *steps);
    size_t    n = steps ? steps_find(c->path, steps, MAX_FOUND) : 0;
    for (size_t i = (size_t)c->keep; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "step-%08" PRIu64 ".json", steps[i]);
        unlinkat(c->fd, name, 0);
    }
    free(steps);
}

/* --- Saving ---------------------------------------------------------------------------------------------------- */

static assay_status file_hash(assay_env *env, const char *path, char hex[AS_SHA256_HEX], uint64_t *bytes)
{
    as_map    map;
    as_sha256 h;
    AS_TRY(as_map_open(env, "checkpoint", path, 0, &map));
    as_sha256_start(&h);
    as_sha256_add(&h, map.data, map.bytes);
    as_sha256_finish(&h, hex);
    *bytes = map.bytes;
    as_map_close(&map);
    return ASSAY_OK;
}

static assay_status json_save(assay_env *env, const char *path, const as_checkpoint_place *p, const char *tensors, uint64_t bytes,
                              const char *hash)
{
    as_out out;
    AS_TRY(as_out_open(env, path, &out));
    json_put(out.file, p, tensors, bytes, hash);
    return as_out_commit(env, &out);
}

static assay_status save(assay_env *env, as_checkpoints *c, const as_checkpoint_place *p, const as_named_view *items, size_t n)
{
    char     name[128], part[4096], path[4096], hash[AS_SHA256_HEX];
    uint64_t bytes;
    snprintf(name, sizeof name, "step-%08" PRIu64 ".part", p->updates);
    if (!path_make(part, sizeof part, c->path, name))
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: the name is too long", c->path);
    AS_TRY(as_safetensors_save(env, part, items, n));
    assay_status status = file_hash(env, part, hash, &bytes);
    snprintf(name, sizeof name, "step-%08" PRIu64 "-%.*s.safetensors", p->updates, NAME_HASH, hash);
    if (status == ASSAY_OK && (!path_make(path, sizeof path, c->path, name) || rename(part, path)))
        status = as_fail(env, ASSAY_IO, "checkpoint: %s/%s: cannot rename: %s", c->path, name, strerror(errno));
    if (status != ASSAY_OK) {
        unlink(part);
        return status;
    }
    char json[64], json_path[4096];
    snprintf(json, sizeof json, "step-%08" PRIu64 ".json", p->updates);
    fsync(c->fd); /* the tensors have their name before the JSON does */
    path_make(json_path, sizeof json_path, c->path, json);
    status = json_save(env, json_path, p, name, bytes, hash);
    if (status == ASSAY_OK)
        c->bytes = bytes;
    return status;
}

assay_status as_checkpoints_save(assay_env *env, as_checkpoints *c, const as_checkpoint_place *place, const as_named_view *items,
                                 size_t n_items)
{
    assay_status status = save(env, c, place, items, n_items);
    if (status == ASSAY_OK) {
        fsync(c->fd);
        older_remove(c);
        c->n_saved++;
    } else {
        c->n_failed++;
    }
    left_behind_remove(c);
    return status;
}

/* --- Loading --------------------------------------------------------------------------------------------------- */

static assay_status load_one(assay_env *env, const char *path, as_checkpoint *out)
{
    json_t       *root = NULL;
    named_tensors tensors;
    char          beside[4096], hash[AS_SHA256_HEX];
    uint64_t      bytes;
    as_checkpoint c = {.n_refused = 0};
    const char   *slash = strrchr(path, '/');
    if (strlen(path) >= sizeof c.path)
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: the name has more than %zu bytes", sizeof c.path - 1);
    AS_TRY(as_json_load(env, "checkpoint", path, MAX_JSON, &root));
    assay_status status = json_get(env, path, root, &c.place, &tensors);
    json_decref(root);
    AS_TRY(status);
    int n = snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, tensors.name);
    if (n < 0 || (size_t)n >= sizeof beside)
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: the name of its tensors is too long", path);
    AS_TRY(file_hash(env, beside, hash, &bytes));
    if (bytes != tensors.bytes)
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: it was cut or changed: it has %llu bytes, and %s says %llu", beside,
                       (unsigned long long)bytes, path, (unsigned long long)tensors.bytes);
    if (strcmp(hash, tensors.sha256))
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: it was changed: its SHA-256 is %.12s..., and %s says %.12s...",
                       beside, hash, path, tensors.sha256);
    AS_TRY(as_safetensors_load(env, beside, &c.tensors));
    memcpy(c.path, path, strlen(path) + 1);
    *out = c;
    return ASSAY_OK;
}

static assay_status load_folder(assay_env *env, const char *path, as_checkpoint *out)
{
    uint64_t    *steps = calloc(MAX_FOUND, sizeof *steps);
    size_t       n = steps ? steps_find(path, steps, MAX_FOUND) : 0;
    char         first[sizeof out->refused] = "";
    int          n_refused = 0;
    assay_status status = !steps ? as_fail(env, ASSAY_NO_MEMORY, "checkpoint: %s: not enough memory to look at the folder", path)
                          : !n   ? as_fail(env, ASSAY_NOT_FOUND, "checkpoint: %s: the folder has no checkpoint", path)
                                 : ASSAY_OK;
    for (size_t i = 0; i < n; i++) {
        char name[64], json[4096];
        snprintf(name, sizeof name, "step-%08" PRIu64 ".json", steps[i]);
        status = path_make(json, sizeof json, path, name)
                     ? load_one(env, json, out)
                     : as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: the name is too long", path);
        if (status == ASSAY_OK)
            break;
        if (!n_refused++)
            snprintf(first, sizeof first, "%s", assay_message(env));
    }
    free(steps);
    if (status == ASSAY_OK) {
        out->n_refused = n_refused;
        memcpy(out->refused, first, sizeof first);
    } else if (n_refused) {
        return as_fail(env, status, "%s; the folder has no whole checkpoint", first);
    }
    return status;
}

assay_status as_checkpoint_load(assay_env *env, const char *path, as_checkpoint *out)
{
    struct stat st;
    if (stat(path, &st))
        return as_fail(env, errno == ENOENT ? ASSAY_NOT_FOUND : ASSAY_IO, "checkpoint: %s: cannot open: %s", path, strerror(errno));
    return S_ISDIR(st.st_mode) ? load_folder(env, path, out) : load_one(env, path, out);
}

void as_checkpoint_drop(as_checkpoint *c)
{
    as_safetensors_drop(&c->tensors);
    *c = (as_checkpoint){.n_refused = 0};
}

assay_status as_checkpoint_fits(assay_env *env, const as_checkpoint *c, const char *name, const as_view *out)
{
    char           a[128], b[128];
    const as_view *found = as_safetensors_find(&c->tensors, name);
    if (!found)
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: it has no tensor '%s': it belongs to another network or optimiser",
                       c->path, name);
    if (found->dtype != out->dtype || !as_shape_same(&found->shape, &out->shape))
        return as_fail(env, ASSAY_BAD_INPUT, "checkpoint: %s: its tensor '%s' is %s%s, and the network has %s%s", c->path, name,
                       as_dtype_name(found->dtype), as_shape_show(&found->shape, a, sizeof a), as_dtype_name(out->dtype),
                       as_shape_show(&out->shape, b, sizeof b));
    return ASSAY_OK;
}

assay_status as_checkpoint_get(assay_env *env, const as_checkpoint *c, const char *name, const as_view *out)
{
    AS_TRY(as_checkpoint_fits(env, c, name, out));
    as_view_copy(out, as_safetensors_find(&c->tensors, name));
    return ASSAY_OK;
}
