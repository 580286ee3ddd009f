/* outputs.c - the files that a command was asked to write: checked before the work, named when they are written. */
#include "cli/outputs.h"

#include <string.h>

#include "base/file.h"

#ifdef __APPLE__
#define MTIME st_mtimespec
#else
#define MTIME st_mtim
#endif

/* NAME=FILE or FILE: only the model can tell which it is, so it is enough that one of them can be written. */
static assay_status named_check(assay_env *env, const char **path)
{
    const char *equals = strchr(*path, '=');
    if (!equals || as_out_check(env, *path) == ASSAY_OK)
        return equals ? ASSAY_OK : as_out_check(env, *path);
    *path = equals + 1;
    return as_out_check(env, *path);
}

static assay_status check(assay_env *env, as_option_writes how, const char **path)
{
    switch (how) {
    case AS_WRITES_FILE: return as_out_check(env, *path);
    case AS_WRITES_NAMED: return named_check(env, path);
    case AS_WRITES_FOLDER: return as_folder_check(env, *path);
    default: return ASSAY_OK;
    }
}

assay_status as_outputs_check(as_cli *cli, const as_verb *verb, as_outputs *out)
{
    out->n = 0;
    for (const char *const *key = verb->options; key && *key; key++) {
        const as_option_def *def = as_option_find(*key);
        as_texts             given = as_options_given(cli->options, *key);
        for (size_t i = 0; def->writes && i < given.n; i++) {
            as_output    one = {.path = given.items[i]};
            assay_status status = check(cli->env, def->writes, &one.path);
            if (status != ASSAY_OK)
                return as_fail(cli->env, status, "--%s %s", *key, assay_message(cli->env));
            one.existed = !stat(one.path, &one.before);
            if (out->n < AS_MAX_OUTPUTS && strcmp(one.path, "-"))
                out->items[out->n++] = one;
        }
    }
    return ASSAY_OK;
}

/* A replaced file has another inode; one that grew in place has another time or size. */
static bool is_written(const as_output *o, bool succeeded)
{
    struct stat now;
    if (stat(o->path, &now) || !(S_ISREG(now.st_mode) || (S_ISDIR(now.st_mode) && succeeded)))
        return false;
    return !o->existed || now.st_ino != o->before.st_ino || now.st_size != o->before.st_size ||
           memcmp(&now.MTIME, &o->before.MTIME, sizeof now.MTIME);
}

static const char *told_of(const as_cli *cli, const char *path)
{
    for (int i = 0; i < cli->n_told; i++)
        if (!strcmp(cli->told[i].path, path))
            return cli->told[i].text;
    return NULL;
}

void as_outputs_tell(const as_cli *cli, const as_outputs *o, bool succeeded)
{
    for (int i = 0; i < o->n; i++) {
        const char *told = told_of(cli, o->items[i].path);
        if (is_written(&o->items[i], succeeded))
            fprintf(stderr, "wrote %s%s%s\n", o->items[i].path, told ? ": " : "", told ? told : "");
    }
}
