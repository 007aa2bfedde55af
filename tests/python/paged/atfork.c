// An allocator as some programs bring their own: it registers its fork handlers before any library
// has started, holds its lock while it maps memory, and is locked during a fork. Two threads map
// memory, a third forks. Prints the number of children that mapped memory too.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 20, BYTES = 6 << 20 };
static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static volatile int ended;

static void lock(void) { pthread_mutex_lock(&heap); }
static void unlock(void) { pthread_mutex_unlock(&heap); }
static void early(void) { pthread_atfork(lock, unlock, unlock); }
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = early;

static int map_once(void) {
    lock();
    char *memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unlock();
    if (memory == MAP_FAILED)
        return 0;
    memset(memory, 1, BYTES);
    int kept = memory[BYTES - 1] == 1;
    lock();
    munmap(memory, BYTES);
    unlock();
    return kept;
}

static void *map_on(void *unused) {
    while (!ended)
        map_once();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    int mapped = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, map_on, 0);
    for (int i = 0; i < FORKS; i++) {
        int status = 1;
        pid_t child = fork();
        if (child == 0)
            _exit(!map_once());
        waitpid(child, &status, 0);
        mapped += status == 0;
    }
    ended = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%d\n", mapped);
}
