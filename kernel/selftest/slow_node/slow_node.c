// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds memory that the kernel does not use as NUMA node 1, in a tier below DRAM, so that reclaim
 * demotes pages to it: what the kernel's dax/kmem driver does with a device's memory, without the
 * device. For the selftest's comparison with Direct Read. Needs CONFIG_NUMA and a machine with two
 * nodes (run.sh, NODES=2).
 */
#include <linux/init.h>
#include <linux/memory-tiers.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/module.h>

#define NODE 1
/* As in drivers/dax/kmem.c: slower than DRAM by an arbitrary factor. */
#define DISTANCE (MEMTIER_ADISTANCE_DRAM * 5)

static ulong start_kib, kib;
module_param(start_kib, ulong, 0444);
MODULE_PARM_DESC(start_kib, "start of the memory in KiB, a multiple of the kernel's memory block");
module_param(kib, ulong, 0444);
MODULE_PARM_DESC(kib, "its size in KiB, likewise");

static LIST_HEAD(types);

static int __init slow_node_init(void)
{
	struct memory_dev_type *type;
	int group, error;

	if (!node_possible(NODE)) {
		pr_err("slow_node: no NUMA node %d: expected a machine with two nodes\n", NODE);
		return -ENODEV;
	}
	type = mt_find_alloc_memory_type(DISTANCE, &types);
	if (IS_ERR(type))
		return PTR_ERR(type);
	init_node_memory_type(NODE, type);
	group = memory_group_register_static(NODE, kib / (PAGE_SIZE / 1024));
	if (group < 0) {
		error = group;
		goto put;
	}
	error = add_memory_driver_managed(group, (u64)start_kib << 10, (u64)kib << 10,
					  "System RAM (slow_node)", MHP_NID_IS_MGID);
	if (!error)
		return 0;
	memory_group_unregister(group);
put:
	clear_node_memory_type(NODE, type);
	mt_put_memory_types(&types);
	return error;
}
module_init(slow_node_init);

/* It cannot be unloaded: its memory is in use. */
MODULE_DESCRIPTION("memory of a slower tier, for a selftest");
MODULE_LICENSE("GPL");
