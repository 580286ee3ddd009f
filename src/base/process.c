/* process.c - children that end with their parent. */
#include "base/process.h"

#include <signal.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

void as_process_tie(pid_t parent)
{
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it ended between the fork and the call */
        _exit(1);
#else
    (void)parent;
#endif
}
