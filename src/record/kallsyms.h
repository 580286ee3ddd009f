/* kallsyms.h - names of the kernel's functions, where the system tells their addresses. */
#ifndef AS_RECORD_KALLSYMS_H
#define AS_RECORD_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AS_KALLSYMS_MODULE = 64 };

typedef struct as_kallsyms {
    char *text; /* names and modules, each ended by 0 */
    struct as_kallsym {
        uint64_t address;
        uint32_t name, module; /* in the text; module 0: the kernel itself */
    } * items;                 /* by address */
    size_t n;
} as_kallsyms;

/* False: it cannot be read, or all addresses are hidden (0); the table is then empty. */
bool as_kallsyms_read(const char *path, as_kallsyms *out);
void as_kallsyms_drop(as_kallsyms *k);
/* NULL: not known.  module gets "[xfs]", or "" for the kernel itself. */
const char *as_kallsyms_find(const as_kallsyms *k, uint64_t address, char module[AS_KALLSYMS_MODULE]);

#endif
