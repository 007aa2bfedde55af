/* usage: starts CALL DIRECTORY NAME; starts the program NAME, which is in DIRECTORY and in the PATH, by this call of the C library.
 * Calls that take a list of arguments pass the eleven of `LIST`. After a call's name, ` cleared` clears the environment before. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define LIST "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", (char *)0

int main(int count, char **words)
{
	if (count != 4) return 2;
	char *call = words[1], *name = words[3], *given[] = {name, 0}, path[4096];
	int child = 0, status = 0, directory = open(words[2], O_PATH);
	snprintf(path, sizeof path, "%s/%s", words[2], name);
	char *kept = strstr(call, " kept"), *clears = strstr(call, " cleared");
	if (clears) clearenv();
	if (clears || kept) *(clears ? clears : kept) = 0;
	errno = 0;
	if (!strcmp(call, "execve")) execve(path, given, environ);
	if (!strcmp(call, "execv")) execv(path, given);
	if (!strcmp(call, "execvp")) execvp(name, given);
	if (!strcmp(call, "fexecve")) fexecve(open(path, O_RDONLY | O_CLOEXEC), given, environ);
	if (!strcmp(call, "execvpe")) execvpe(name, given, environ);
	if (!strcmp(call, "execveat")) execveat(directory, name, given, environ, 0);
	if (!strcmp(call, "execveat of a path")) execveat(AT_FDCWD, path, given, environ, 0);
	if (!strcmp(call, "execveat of a descriptor")) execveat(open(path, O_PATH), "", given, environ, AT_EMPTY_PATH);
	if (!strcmp(call, "execl")) execl(path, name, LIST);
	if (!strcmp(call, "execlp")) execlp(name, name, LIST);
	if (!strcmp(call, "execle")) execle(path, name, LIST, (char *[]){"MARK=list", 0});
	if (!strcmp(call, "posix_spawn")) errno = posix_spawn(&child, path, 0, 0, given, environ);
	if (!strcmp(call, "posix_spawnp")) errno = posix_spawnp(&child, name, 0, 0, given, environ);
	if (child) return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
	return errno == EACCES ? 126 : 4;
}
