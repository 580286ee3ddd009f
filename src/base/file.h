/* file.h - files in (mapped) and files out (to a temporary name, then renamed).
 *
 * An output appears under its name either complete or not at all: the old file stays until
 * as_out_commit() has written, synced and renamed the new one.  A path of "-" is standard
 * output. */
#ifndef AS_BASE_FILE_H
#define AS_BASE_FILE_H

#include "assay.h"
#include "base/text.h"

/* A read-only view of a whole regular file. */
typedef struct as_map {
    const uint8_t *data; /* non-NULL even for an empty file */
    size_t         bytes;
    void          *base; /* what to unmap; NULL if empty */
} as_map;

/* IO / NOT_FOUND with the message "`what`: PATH: cannot open: No such file..."; refuses
 * directories and files above max_bytes (0: no limit). */
assay_status as_map_open(assay_env *env, const char *what, const char *path, uint64_t max_bytes, as_map *out);
/* The same for a file that another file, `owner`, names. The author of the owner need not be trusted: the file, with its links
 * resolved, must be below the directory in which the owner was named, or below the one to which the links of the owner lead
 * (model stores link a model and its data to one place). */
assay_status as_map_open_beside(assay_env *env, const char *what, const char *owner, const char *path, uint64_t max_bytes,
                                as_map *out);
void         as_map_close(as_map *map);
/* The bytes at `data`, if they are in the map, will not be read soon: their pages no longer count as memory of this process, and the
 * next access reads them from the file again. */
void as_map_forget(const as_map *map, const void *data, size_t bytes);
/* The same for memory of our own whose contents nobody needs any more: its whole pages, which have any contents afterwards. */
void as_memory_forget(void *data, size_t bytes);

typedef struct as_out {
    FILE *file; /* write to it freely; errors are found at commit */
    char  path[4096], temporary[4128];
    /* Who removes the temporary when the process is ended at once, and its place in env->temporaries; NULL: nobody. */
    assay_env *env;
    int        place;
} as_out;

assay_status as_out_open(assay_env *env, const char *path, as_out *out);
assay_status as_out_commit(assay_env *env, as_out *out); /* always closes; on IO the old file stays */
void         as_out_abandon(as_out *out);                /* closes and removes the temporary */
/* Removes the temporaries of every file that is under way; safe in a signal handler, and only before the process ends. */
void as_out_remove_all(assay_env *env);
/* The three in one. */
assay_status as_file_write(assay_env *env, const char *path, const void *data, size_t n);

/* Could a file be written under this name?  Asked before work that takes long: tries what as_out_open() does and leaves nothing behind. */
assay_status as_out_check(assay_env *env, const char *path);
/* The same of a directory that files will be written into; one that is not there must be possible to make. */
assay_status as_folder_check(assay_env *env, const char *path);

/* The path of the program that runs; UNSUPPORTED where the system does not tell. */
assay_status as_self_path(assay_env *env, char *out, size_t size);

/* A small file (/proc, /sys) as trimmed text; false if unreadable.  Always NUL-terminated. */
bool as_file_small(const char *path, char *buf, size_t size);

#endif
