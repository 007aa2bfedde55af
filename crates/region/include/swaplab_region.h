/* One range of paged memory: of `bytes`, at most `budget` are in DRAM at a time; the rest is in a store.
 * Build the library with `cargo build --release -p swaplab-region`; link with -lswaplab_region (static or shared). */
#ifndef SWAPLAB_REGION_H
#define SWAPLAB_REGION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct swaplab_region swaplab_region;

/* Create a region of zeroed memory with a pager of its own.
 * `store`: "nvm-direct", "nvm-copy", "zram", "flash" or "nvm-cache", optionally with parameters (`swaplab list schemes`).
 * `policy`: one that only needs faults, such as "refault" or "fifo".
 * Returns NULL on failure, with the reason in one line in `error`, a buffer of `error_bytes` bytes that may be NULL. */
swaplab_region *swaplab_region_new(size_t bytes, size_t budget, const char *store, const char *policy, char *error, size_t error_bytes);

/* The address of the region's first byte, page-aligned. Valid until the region is freed. */
void *swaplab_region_memory(swaplab_region *region);

/* The current value of a counter: "swap_outs", "direct_reads", "copied_pages", "dram_peak_bytes", ...
 * Returns UINT64_MAX if there is no such counter. */
uint64_t swaplab_region_counter(const swaplab_region *region, const char *name);

/* Stop the pager and unmap the memory. */
void swaplab_region_free(swaplab_region *region);

#ifdef __cplusplus
}
#endif
#endif
