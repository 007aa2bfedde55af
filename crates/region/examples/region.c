/* Writes and reads 64 MiB of numbers with 16 MiB of DRAM, and prints what the pager did. */
#include "swaplab_region.h"
#include <stdio.h>

enum { MIB = 1 << 20, NUMBERS = 64 * MIB / 8 };

int main(void)
{
	char why[200];
	swaplab_region *region = swaplab_region_new(64 * MIB, 16 * MIB, "nvm-direct", "refault", why, sizeof why);
	if (!region) {
		fprintf(stderr, "region: %s\n", why);
		return 3;
	}
	uint64_t *numbers = swaplab_region_memory(region), sum = 0;
	for (uint64_t i = 0; i < NUMBERS; i++) numbers[i] = i;
	for (uint64_t i = 0; i < NUMBERS; i++) sum += numbers[i];
	printf("sum %s, %s, %s\n", sum == (uint64_t)NUMBERS * (NUMBERS - 1) / 2 ? "right" : "wrong",
	       swaplab_region_counter(region, "swap_outs") > 10000 ? "swapped out" : "nothing swapped out",
	       swaplab_region_counter(region, "direct_reads") > 10000 ? "read in place" : "nothing read in place");
	swaplab_region_free(region);
	return 0;
}
