/* What programs of cases share: they are started with the name of a case, and print that it went right. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, MIB = 1 << 20 };

static void need(int done, const char *what)
{
	if (done) return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

static void fill(char *memory, size_t size, uint64_t seed)
{
	for (size_t i = 0; i < size; i += 64) *(uint64_t *)(memory + i) = seed + i;
}

struct Case {
	const char *name;
	void (*run)(void);
};

/* Run the case that the arguments name. The last of `cases` has no name. Returns the program's exit code. */
static int run_case(const struct Case *cases, int count, char **words)
{
	for (; cases->name; cases++)
		if (count == 2 && !strcmp(words[1], cases->name)) {
			cases->run();
			printf("%s right\n", words[1]);
			return 0;
		}
	return 2;
}
