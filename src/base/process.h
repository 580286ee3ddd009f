/* process.h - children that end with their parent. */
#ifndef AS_BASE_PROCESS_H
#define AS_BASE_PROCESS_H

#include <sys/types.h>

/* In a child right after fork(): it is killed when the parent ends, however that happens.  parent: its id from before the fork.  Nothing
 * where the system has no such thing (macOS): there the child sees the end of its pipe. */
void as_process_tie(pid_t parent);

#endif
