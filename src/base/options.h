/* options.h - one table of options for the command line, run files, --help and the library, and the structs that hold their values.
 *
 * The bag of options (assay_options) is set by key, checked when it is set, and const for everyone except its owner.  Only the
 * public calls and the verbs read it, once, at their beginning, into small structs: as_model_options, as_plan_options,
 * as_run_options ... A struct has one table of members beside it, and everything about its options follows from that: reading,
 * setting one by its key, writing them as words.  Work below takes the structs, and a variation is a copy with one member changed.
 * Texts in a struct are borrowed from the bag, which must outlive it.
 *
 * An option that a verb accepted but nothing read is inert: as_options_unused() names it, and the program treats it as a
 * failure. */
#ifndef AS_BASE_OPTIONS_H
#define AS_BASE_OPTIONS_H

#include "assay.h"
#include "base/arena.h"

typedef enum as_option_type {
    AS_OPT_FLAG,
    AS_OPT_INT,
    AS_OPT_INTS,
    AS_OPT_TEXT,
    AS_OPT_FILE,
    AS_OPT_CHOICE,
    AS_OPT_DURATION,
    AS_OPT_PERCENT, /* "2.5%" or "2.5", from 0 to 1000 */
    AS_OPT_SHARE    /* from AS_MIN_SHARE to AS_MAX_SHARE */
} as_option_type;

#define AS_MIN_SHARE 0.000001
#define AS_MAX_SHARE 0.5

/* Under which heading --help shows an option, in this order. */
typedef enum as_option_group {
    AS_GROUP_SUBJECT, /* what is run: the model, its data, its shape */
    AS_GROUP_TRAIN,   /* how it learns: data, optimiser, checkpoints */
    AS_GROUP_PLAN,    /* how it is run: device, threads, compile */
    AS_GROUP_MEASURE, /* how it is measured */
    AS_GROUP_JUDGE,   /* what counts as a difference */
    AS_GROUP_STORE,   /* what is kept */
    AS_GROUP_OUTPUT,  /* what is printed and written */
    AS_N_GROUPS
} as_option_group;

/* What an option's value names, when it names something that is written. */
typedef enum as_option_writes {
    AS_WRITES_NOTHING,
    AS_WRITES_FILE,  /* FILE, or - for standard output */
    AS_WRITES_NAMED, /* NAME=FILE or FILE */
    AS_WRITES_FOLDER
} as_option_writes;

typedef struct as_option_def {
    const char     *key; /* "batch": --batch on the command line */
    as_option_type  type;
    as_option_group group;
    const char     *standard; /* default value as text; NULL: not set */
    const char     *value;    /* what --help calls the value: "N", "FILE" ... */
    const char     *choices;  /* AS_OPT_CHOICE: "on off"; AS_OPT_INT and AS_OPT_INTS (a list, 1,2): "1..65536" */
    const char *
        word; /* AS_OPT_INT, AS_OPT_CHOICE: a word that some verbs take instead of the others, "auto"; only as_options_text() gives it */
    bool             many; /* may be given more than once */
    as_option_writes writes;
    char             letter;   /* 'b': -b on the command line; 0: it has none */
    const char      *stands;   /* the letter stands for the option with this value, and takes none; NULL: it takes the option's */
    const char      *aliases;  /* other names that guides and tools use: "batch-size"; they are set and found like the key */
    const char      *suffixes; /* of what is written: -o FILE is this option when FILE ends so, ".html .htm" */
    const char      *help;     /* one line; a verb may have its own */
    const char      *example;  /* a value that the inert-option test sets */
} as_option_def;

extern const as_option_def as_option_table[]; /* ends with a NULL key */

/* By its key or by one of its aliases. */
const as_option_def *as_option_find(const char *key);
/* Is the text one of the words of a list that is separated by spaces: choices, aliases, suffixes? */
bool as_words_have(const char *list, const char *text);
/* The next word of such a list, NULL at its end; *n gets its length. */
const char *as_word_next(const char **list, size_t *n);

/* --- Reading one by its key: for verbs and public calls ------------------------------------------------- */

typedef struct as_texts {
    const char *const *items;
    size_t             n;
} as_texts;

/* Getters assert that the key is in the table, and return the default when it is unset. o NULL: no option is set. */
bool        as_options_is_set(const assay_options *o, const char *key); /* does not count as looked at */
as_texts    as_options_given(const assay_options *o, const char *key);  /* all that were set; does not count as looked at */
const char *as_options_text(const assay_options *o, const char *key);   /* NULL when unset without default */
as_texts as_options_texts(const assay_options *o, const char *key); /* of a repeated one: all that were set, in the order given */
int64_t  as_options_int(const assay_options *o, const char *key);   /* of a list: the first */
bool     as_options_flag(const assay_options *o, const char *key);
uint64_t as_options_duration_ns(const assay_options *o, const char *key);
/* The first option that was set but that nothing read, or NULL. */
const char *as_options_unused(const assay_options *o);

/* BAD_INPUT when an option is set that is not among `keys`, a list that ends with NULL (options of what is printed and written are
 * left to the caller); `what` begins the message. */
assay_status as_options_only(assay_env *env, const assay_options *o, const char *what, const char *const *keys);
bool         as_keys_have(const char *const *keys, const char *key);

/* --- Structs of options ----------------------------------------------------------------------------------- */

typedef enum as_member_kind {
    AS_MEMBER_BOOL,   /* bool: a flag or on/off */
    AS_MEMBER_INT,    /* int */
    AS_MEMBER_I64,    /* int64_t */
    AS_MEMBER_U64,    /* uint64_t */
    AS_MEMBER_NS,     /* uint64_t: a duration */
    AS_MEMBER_CHOICE, /* an enum in the order of the table's choices; -1: not set */
    AS_MEMBER_TEXT,   /* const char *; NULL: not set, and no default */
    AS_MEMBER_GIVEN,  /* const char *: only what the user set, else NULL */
    AS_MEMBER_TEXTS,  /* as_texts: repeated */
    AS_MEMBER_SHARE   /* double: a percentage (2% is 0.02) or a share */
} as_member_kind;

typedef struct as_option_member {
    const char    *key;
    as_member_kind kind;
    size_t         at, is_set_at; /* is_set_at: offset of a bool that says whether the user set it; 0: there is none */
} as_option_member;

/* Tables end with {.key = NULL}. */
#define AS_MEMBER(type, kind, key, member)               \
    {                                                    \
        key, AS_MEMBER_##kind, offsetof(type, member), 0 \
    }
#define AS_MEMBER_OR_UNSET(type, kind, key, member, set)                   \
    {                                                                      \
        key, AS_MEMBER_##kind, offsetof(type, member), offsetof(type, set) \
    }

/* Fills the members of the table and leaves the others alone. */
assay_status as_options_read(assay_env *env, const assay_options *o, const as_option_member *members, void *out);
/* Sets one member by its key, as if the option had been set: a line of a suite, a value of --vary.  Borrows the value. */
assay_status as_member_set(assay_env *env, const as_option_member *members, const char *key, const char *value, void *out);
const as_option_member *as_member_find(const as_option_member *members, const char *key);
/* The reverse: "--batch" "8" ... for every member that differs from its default.  False: not enough space for them. */
bool as_members_words(as_arena *arena, const as_option_member *members, const void *from, const char **words, int max, int *n);

/* "name=path" or "path": finds which of `names` is meant.  A path alone stands for the only name, or for the first without a
 * path. */
assay_status as_option_named(assay_env *env, const char *what, const char *text, const char *const *names, int n_names,
                             const bool *taken, int *index, const char **path);

#endif
