/* options.h - one table of options for the command line, run files, --help and the library.
 *
 * Reading an option marks it as used; an option that was set and that nobody read is an inert option,
 * which as_options_unused() names and the program treats as a failure. */
#ifndef AS_BASE_OPTIONS_H
#define AS_BASE_OPTIONS_H

#include "assay.h"

typedef enum as_option_type {
    AS_OPT_FLAG,
    AS_OPT_INT,
    AS_OPT_INTS,
    AS_OPT_TEXT,
    AS_OPT_FILE,
    AS_OPT_CHOICE,
    AS_OPT_DURATION
} as_option_type;

typedef struct as_option_def {
    const char    *key; /* "batch": --batch on the command line */
    as_option_type type;
    const char    *standard; /* default value as text; NULL: not set */
    const char    *verbs;    /* space-separated verbs that take it, "*" for all */
    const char    *value;    /* what --help calls the value: "N", "FILE" ... */
    const char    *choices;  /* AS_OPT_CHOICE: "on off"; AS_OPT_INT and AS_OPT_INTS (a list, 1,2): "1..65536" */
    bool           many;     /* may be given more than once */
    const char    *help;     /* one line */
    const char    *example;  /* a value that the inert-option test sets */
} as_option_def;

extern const as_option_def as_option_table[]; /* ends with a NULL key */

const as_option_def *as_option_find(const char *key);
bool                 as_option_takes(const as_option_def *def, const char *verb);

/* Getters assert that the key is in the table; they return the default when unset and mark it read. */
bool        as_options_is_set(assay_options *o, const char *key); /* marks nothing */
const char *as_options_text(assay_options *o, const char *key);   /* NULL when unset without default */
int64_t     as_options_int(assay_options *o, const char *key);    /* of a list: the first */
/* All numbers of a list; at most max, how many there are is returned. */
size_t   as_options_ints(assay_options *o, const char *key, int64_t *out, size_t max);
bool     as_options_flag(assay_options *o, const char *key);
uint64_t as_options_duration_ns(assay_options *o, const char *key);
/* Repeated options: how many, and the i-th in the order given. */
size_t      as_options_many(assay_options *o, const char *key);
const char *as_options_item(assay_options *o, const char *key, size_t i);
/* The first option that was set and never read, or NULL. */
const char *as_options_unused(const assay_options *o);

/* "name=path" or "path": finds which of `names` is meant.  A path alone is for the only or first name without one. */
assay_status as_option_named(assay_env *env, const char *what, const char *text, const char *const *names, int n_names,
                             const bool *taken, int *index, const char **path);

#endif
