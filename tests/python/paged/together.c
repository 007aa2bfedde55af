// Four threads allocate 32 MiB each at the same time, in blocks of 64 KiB, write every page and
// check it at the end. Says "right". Before that the program makes thousands of mappings, so that
// the pager thread, which looks at all of them first, takes long to start.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { THREADS = 4, BLOCKS = 512, PAGES = 16, WORDS = 4096 / sizeof(uint64_t) };
static pthread_barrier_t begin;

static void *allocate(void *thread) {
    uint64_t **blocks = malloc(BLOCKS * sizeof *blocks), wrong = 0, first = (uint64_t)(uintptr_t)thread * BLOCKS;
    pthread_barrier_wait(&begin);
    for (uint64_t n = 0; n < BLOCKS; n++) {
        blocks[n] = calloc(PAGES * WORDS, sizeof **blocks);
        for (int page = 0; page < PAGES; page++) {
            wrong += blocks[n][page * WORDS] != 0;
            blocks[n][page * WORDS] = first + n;
        }
    }
    for (uint64_t n = 0; n < BLOCKS; n++)
        for (int page = 0; page < PAGES; page++)
            wrong += blocks[n][page * WORDS] != first + n;
    return (void *)(uintptr_t)wrong;
}

int main(void) {
    enum { MAPPINGS = 30000, PAGE = 4096 };
    char *area = mmap(0, (size_t)MAPPINGS * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int n = 0; n < MAPPINGS; n += 2)
        mprotect(area + (size_t)n * PAGE, PAGE, PROT_NONE);
    pthread_t threads[THREADS];
    uintptr_t wrong = 0;
    pthread_barrier_init(&begin, 0, THREADS);
    for (uintptr_t n = 0; n < THREADS; n++)
        pthread_create(&threads[n], 0, allocate, (void *)n);
    for (int n = 0; n < THREADS; n++) {
        void *of = 0;
        pthread_join(threads[n], &of);
        wrong += (uintptr_t)of;
    }
    puts(wrong ? "wrong" : "right");
    return 0;
}
