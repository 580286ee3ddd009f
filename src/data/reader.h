/* reader.h - private to data/: what a reader is, what it fills, and what the readers share.
 *
 * A reader is one file rd_<name>.c that exports `const as_reader as_rd_<name>`.  Its open() looks at the files and says how many examples
 * there are and what each has; its read() finds one example, in any order, from any thread. */
#ifndef AS_DATA_READER_H
#define AS_DATA_READER_H

#include "data/data.h"
#include "data/order.h"

/* --- A spec, taken apart ------------------------------------------------------------------------------- */

enum { AS_SPEC_MAX_PATHS = 16, AS_SPEC_MAX_OPTIONS = 64 };

typedef struct as_spec_option {
    const char *key, *value;
} as_spec_option;

typedef struct as_reader as_reader;

typedef struct as_spec {
    const char      *text;
    const as_reader *reader; /* NULL until it is found */
    const char      *paths[AS_SPEC_MAX_PATHS];
    int              n_paths;
    as_spec_option   options[AS_SPEC_MAX_OPTIONS];
    int              n_options;
} as_spec;

/* Everything lives in the arena.  Checks the keys against those of the reader. */
assay_status as_spec_parse(assay_env *env, as_arena *arena, const char *text, as_spec *out);
/* The value of a key, or NULL; of one that is repeated, number n. */
const char  *as_spec_get(const as_spec *spec, const char *key);
const char  *as_spec_get_n(const as_spec *spec, const char *key, int n);
assay_status as_spec_i64(assay_env *env, const as_spec *spec, const char *key, int64_t standard, int64_t lo, int64_t hi,
                         int64_t *out);
assay_status as_spec_f64(assay_env *env, const as_spec *spec, const char *key, double standard, double lo, double hi, double *out);
/* One of the words, as its index; `standard` when unset. */
assay_status as_spec_choice(assay_env *env, const as_spec *spec, const char *key, const char *words, int standard, int *out);
/* "3x32x32" */
bool as_shape_parse(const char *text, as_shape *out);

/* --- Files ------------------------------------------------------------------------------------------------ */

/* An open file, mapped or not.  Its size and time of change are those at the opening. */
typedef struct as_data_file {
    const char    *path;
    int            fd;
    uint64_t       bytes;
    int64_t        changed_s, changed_ns;
    const uint8_t *data; /* NULL: not mapped */
} as_data_file;

/* What one thread needs to read: memory for what is not mapped, and the first failure. */
typedef struct as_fetch {
    uint8_t     *scratch;
    size_t       scratch_bytes;
    uint64_t     bytes_read;
    assay_status status;
    char         why[512];
} as_fetch;

/* Always false: for `return as_fetch_fail(...)`.  The first failure stays. */
bool as_fetch_fail(as_fetch *fetch, assay_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

assay_status as_data_file_open(assay_env *env, const char *what, const char *path, bool mmap, as_data_file *out);
void         as_data_file_close(as_data_file *file);
/* Whether the file still is as it was when it was opened.  A mapped file that became shorter ends the process with SIGBUS where it is read
 * beyond its end: so this is asked before every batch. */
bool as_data_file_same(const as_data_file *file, as_fetch *fetch);
/* n bytes at an offset: in the mapping, or read into the scratch at `at`.  NULL: failed, the fetch says why. */
const uint8_t *as_data_file_bytes(const as_data_file *file, uint64_t offset, size_t n, as_fetch *fetch, size_t at);
/* The same while a reader opens, into memory of the caller. */
assay_status as_data_file_get(assay_env *env, const char *what, const as_data_file *file, uint64_t offset, size_t n, void *out);

/* --- What a reader fills ------------------------------------------------------------------------------------ */

/* One example as the source has it; the pointers are valid until the next read by the same fetch. */
typedef struct as_raw {
    const void *input[AS_DATA_MAX_INPUTS];
    const void *target;
} as_raw;

typedef struct as_source {
    const as_reader *reader;
    as_spec          spec;
    as_arena         arena; /* of all that the source has */
    int64_t          n;
    int              n_inputs;
    as_data_field    input[AS_DATA_MAX_INPUTS]; /* as stored: any dtype */
    bool             has_target;
    as_data_field    target;       /* as stored; an integer of rank 0 when n_classes */
    int64_t          n_classes;    /* 0: the target is numbers */
    const char     **labels;       /* of classes; NULL: numbers only */
    bool             is_sequence;  /* x is [T,F]: statistics are per feature */
    int64_t          n_neighbours; /* so many examples after one share rows with it: windows */
    as_data_file    *files;
    int              n_files;
    size_t           scratch_bytes; /* that read() needs */
    as_text          canonical;     /* what the hash covers beside the files: "target=3 header=on ..." */
    void            *own;           /* the reader's */
} as_source;

struct as_reader {
    const char *name, *form, *help;
    const char *keys; /* of the spec, separated by spaces */
    bool        has_paths;
    /* Whether it reads a path without "name:" in front. */
    bool (*fits)(const char *path, bool is_folder);
    /* Fills everything above except reader, spec and arena.  Memory from the arena; files in source->files are closed by the caller, also after a
     * failure. */
    assay_status (*open)(assay_env *env, const as_data_options *options, as_source *source);
    bool (*read)(const as_source *source, int64_t example, as_fetch *fetch, as_raw *out);
    assay_metric (*best_loss)(const as_source *source, const char *loss); /* NULL: unavailable */
};

extern const as_reader *const as_rd_table[]; /* ends with NULL */

/* Room for n files in source->files. */
assay_status as_source_files(assay_env *env, as_source *source, int n);
/* Opens the next one. */
assay_status as_source_file(assay_env *env, as_source *source, const char *path, bool mmap, as_data_file **out);
bool         as_path_ends(const char *path, const char *suffix);
bool         as_path_is_folder(const char *path);
bool         as_path_is_file(const char *path);
/* What files in gzip get told. */
assay_status as_refuse_gzip(assay_env *env, const char *what, const as_data_file *file);
/* The number of classes of whole numbers, by one pass over them. */
assay_status as_source_count_classes(assay_env *env, as_source *source, int64_t least);

/* --- A data set ------------------------------------------------------------------------------------------- */

struct as_data {
    const as_data *parent; /* of a part; NULL: this one owns the source */
    as_source     *source;
    as_preprocess  preprocess;
    as_target_kind target_kind;
    int64_t        n_classes; /* of AS_TARGET_CLASS */
    as_data_field  input[AS_DATA_MAX_INPUTS], target;
    bool           is_mapped;
    int64_t        n;
    /* Of a part: example i is example order(first + i) of the parent. */
    bool     is_shuffled;
    as_order order;
    int64_t  first;
    /* Statistics: value = x * gain[c] + bias[c] with the channel c of a value. */
    int      n_channels;
    int64_t  inner; /* values in a row of one channel; 1: the channel changes with every value */
    double  *mean, *std;
    float   *gain, *bias;
    bool     is_fitted;
    as_arena arena;
};

/* The index in the source. */
int64_t as_data_index(const as_data *data, int64_t example);
/* Allocates mean, std, gain and bias, and sets those that were given. */
assay_status as_preprocess_begin(assay_env *env, as_data *data);
/* Everything of one example into the batch.  `number` is its index in the source, which keys what is random. */
typedef struct as_augment {
    bool     on;
    uint64_t seed;
    int64_t  epoch;
} as_augment;
bool as_preprocess_input(const as_data *data, int i, const void *raw, int64_t number, const as_augment *augment, void *dst);
bool as_preprocess_target(const as_data *data, const void *raw, int64_t number, as_fetch *fetch, void *dst);

#endif
