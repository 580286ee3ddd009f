/* require.h - requirement profiles: what a machine or a network is asked to reach, row by row, and the settings that a profile suggests.
 *
 * A profile is a JSON file ("assay.requirements/1", docs/requirements.md); those of data/profiles are in the program, by name. */
#ifndef AS_LAB_REQUIRE_H
#define AS_LAB_REQUIRE_H

#include <stdio.h>

#include "analysis/analysis.h"
#include "base/options.h"

/* A profile that the program carries. */
typedef struct as_profile_file {
    const char *name, *text;
} as_profile_file;
extern const as_profile_file as_profile_files[]; /* ends with a NULL name */

typedef enum as_require_of { AS_OF_NOTHING, AS_OF_COMPUTE_LIMIT, AS_OF_MEMORY_LIMIT, AS_OF_MACHINE_MEMORY, AS_N_OF } as_require_of;

typedef enum as_verdict_of_row {
    AS_ROW_UNJUDGED,
    AS_ROW_PASS,
    AS_ROW_FAIL,
    AS_ROW_IMPOSSIBLE,  /* not reached, and the machine that the profile is for cannot reach it */
    AS_ROW_UNAVAILABLE, /* there is no number to judge */
    AS_N_ROW_VERDICTS
} as_verdict_of_row;
const char *as_row_verdict_text(as_verdict_of_row v); /* "pass" */

typedef struct as_requirement {
    const char   *key, *unit, *text; /* text: for people, may be "" */
    bool          is_floor;          /* at least so much; else a budget: at most */
    double        value;             /* or a fraction of something of this machine */
    double        fraction;
    as_require_of of;
    /* What the named machine can do at most, full and in its smallest form; NaN: not known. */
    double      most, least_most;
    const char *most_text;
    /* The verdict. */
    as_verdict_of_row verdict;
    double            required, found;
    char              why[256];
} as_requirement;

enum { AS_MAX_REQUIREMENTS = 64, AS_MAX_PRESET_PARAMS = 16 };

typedef struct as_preset {
    bool        is_set;
    int64_t     batch, seq; /* 0: not suggested */
    const char *keys[AS_MAX_PRESET_PARAMS], *values[AS_MAX_PRESET_PARAMS];
    int         n_params; /* of a built-in network */
} as_preset;

typedef struct as_requirements {
    as_arena       arena;
    const char    *name, *text, *level, *machine; /* level: the one that was chosen; machine: "" when it is for none by name */
    as_requirement rows[AS_MAX_REQUIREMENTS];
    int            n_rows;
    as_preset      preset;
} as_requirements;

/* `spec` is NAME or FILE, with :LEVEL behind it where not the first level is meant: "M1-Pro:target", "mine.json".  Names are found whatever
 * their case, with space, _ or - alike. */
assay_status as_requirements_load(assay_env *env, const char *spec, as_requirements **out);
/* From the bytes of a file; level NULL: the first. */
assay_status as_requirements_parse(assay_env *env, const char *path, const char *data, size_t n, const char *level,
                                   as_requirements **out);
void         as_requirements_free(as_requirements *r);

/* Judges the facts of a profile, or of the devices, and adds a group "require" to them; returns how many rows failed. */
int as_require_judge(as_requirements *r, assay_facts *facts);
/* What was judged, one line per row. */
void as_require_print(const as_requirements *r, FILE *file);

/* Sets the options batch and seq, unless the user did, and adds parameters to the name of a built-in network that takes them and does not have
 * them yet.  `told` gets what was set, for people. */
assay_status as_preset_apply(assay_env *env, const char *spec, assay_options *options, const char *model, char *out, size_t size,
                             char *told, size_t told_size);

#endif
