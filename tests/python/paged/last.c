// The main thread ends first, and the process when its last thread ends, as the C library has it.
// usage: last [fork]    with "fork", the other thread forks, and in the child ends before a third.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8 << 20 };

static void at_exit(void) {
    puts("exit");
    fflush(stdout);
}

static void *writer(void *unused) {
    char *memory = malloc(BYTES);
    for (int i = 0; i < 20; i++) memset(memory, i, BYTES);
    printf("%d\n", memory[BYTES / 2]);
    return unused;
}

static void *forker(void *unused) {
    pid_t child = fork();
    if (child) {
        int status = 0;
        waitpid(child, &status, 0);
        printf("child %d\n", status);
        return writer(unused);
    }
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    return unused;
}

int main(int argc, char **argv) {
    atexit(at_exit);
    pthread_t thread;
    pthread_create(&thread, 0, argc > 1 && !strcmp(argv[1], "fork") ? forker : writer, 0);
    pthread_exit(0);
}
