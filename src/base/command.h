/* command.h - a command as a user types it, as words.  There is no shell: nothing is expanded, and | > * $ are ordinary
 * characters. */
#ifndef AS_BASE_COMMAND_H
#define AS_BASE_COMMAND_H

#include "base/arena.h"
#include "base/env.h"

/* Blanks separate words. '...' is taken literally; in "..." a backslash may stand before " and \; elsewhere before any character.
 * *argv ends with NULL and lives in the arena.  ASSAY_BAD_INPUT: no word, or a quote that is not closed. */
assay_status as_command_split(assay_env *env, const char *text, as_arena *arena, const char *const **argv);
/* The words as one line that splits into them again; NULL: no memory. */
const char *as_command_join(as_arena *arena, const char *const *argv);

#endif
