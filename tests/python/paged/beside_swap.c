/* Memory that a pager and the kernel may swap out. Each page holds its number and version, and every
 * fourth one zeros until its second version.
 *
 * beside_swap MIB ROUNDS: prints the most memory that the kernel had in swap, in KiB; exit code 1
 * if a page has lost a write. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, WORDS = PAGE / sizeof(uint64_t) };

static long swapped_kib(void) {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        sscanf(line, "VmSwap: %ld", &kib);
    if (status)
        fclose(status);
    return kib;
}

static uint64_t word(size_t page, unsigned version, size_t at) {
    return version < 2 && page % 4 == 0 ? 0 : page * 0x9e3779b97f4a7c15u + version * 1000003u + at;
}

int main(int count, char **argument) {
    if (count != 3)
        return 2;
    size_t pages = strtoul(argument[1], NULL, 10) << 8;
    unsigned rounds = strtoul(argument[2], NULL, 10);
    uint64_t *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *version = calloc(pages, 1);
    if (memory == MAP_FAILED || version == NULL)
        return 2;
    long most = 0;
    for (unsigned round = 0; round < rounds; round++)
        for (size_t step = 0; step < pages; step++) {
            /* All pages, in an order without long runs. */
            size_t page = step * 2654435761u % pages;
            uint64_t *at = memory + page * WORDS;
            for (size_t i = 0; version[page] && i < WORDS; i++)
                if (at[i] != word(page, version[page], i)) {
                    printf("page %zu lost version %u in round %u\n", page, version[page], round);
                    return 1;
                }
            if (version[page] == 0 || (page + round) % 3 == 0) {
                version[page]++;
                for (size_t i = 0; i < WORDS; i++)
                    at[i] = word(page, version[page], i);
            }
            if (step % 64 == 0) {
                long now = swapped_kib();
                most = now > most ? now : most;
            }
        }
    printf("%ld\n", most);
    return 0;
}
