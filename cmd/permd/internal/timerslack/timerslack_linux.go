package timerslack

/*
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

// Slack, in nanoseconds.
#define SLACK 500000

#ifdef __GLIBC__
__attribute__((constructor)) static void set_slack(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "serve") == 0)
		// It is no error that it cannot be set.
		(void)prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK, 0, 0, 0);
}
#endif
*/
import "C"
