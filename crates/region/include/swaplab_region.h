/* One paged range of memory for a program that wants it: of `bytes`, only `budget` are in DRAM at a time, the rest is in a store.
 * Build the library with `cargo build --release -p swaplab-region`; link with -lswaplab_region (static or shared). */
#ifndef SWAPLAB_REGION_H
#define SWAPLAB_REGION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct swaplab_region swaplab_region;

/* Zeroed memory behind a pager of its own. `store`: "nvm-direct", "nvm-copy", "zram", "flash" or "nvm-cache", with parameters or not
 * (`swaplab list schemes`); `policy`: one that needs faults alone, such as "refault" or "fifo". NULL where the machine or the
 * arguments do not allow it: one line that says why is in `error` (of `error_bytes`; it may be NULL). */
swaplab_region *swaplab_region_new(size_t bytes, size_t budget, const char *store, const char *policy, char *error, size_t error_bytes);

/* Its first byte, on a page boundary. Valid until the region is freed. */
void *swaplab_region_memory(swaplab_region *region);

/* A counter by its name, brought up to date: "swap_outs", "direct_reads", "copied_pages", "dram_peak_bytes", ...
 * UINT64_MAX: there is no such counter. */
uint64_t swaplab_region_counter(const swaplab_region *region, const char *name);

/* End the pager and give the memory back. */
void swaplab_region_free(swaplab_region *region);

#ifdef __cplusplus
}
#endif
#endif
