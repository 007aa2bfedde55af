// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/nvm: byte-addressable memory, used by the swap layer's synchronous path.
 * A transfer takes the time of the copy and the price of its pages, for which
 * the processor waits, as it would stall on a load from slow memory.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/preempt.h>

#include "swaplab.h"

static unsigned int nvm_read_ns;
module_param(nvm_read_ns, uint, 0644);
MODULE_PARM_DESC(nvm_read_ns, "Time to read a page of 4 KiB from /dev/nvm, in ns beyond the copy");

static unsigned int nvm_write_ns;
module_param(nvm_write_ns, uint, 0644);
MODULE_PARM_DESC(nvm_write_ns, "Time to write a page of 4 KiB to /dev/nvm, in ns beyond the copy");

static struct swaplab_disk *nvm;

/*
 * Wait without preemption, as otherwise another task could run in the device's
 * time. Callers wait for each page separately, to limit the time without
 * preemption.
 */
void swaplab_nvm_stall(unsigned int ns)
{
	u64 end;

	if (!ns)
		return;
	preempt_disable();
	end = ktime_get_ns() + ns;
	while (ktime_get_ns() < end)
		cpu_relax();
	preempt_enable();
}

void swaplab_nvm_charge(struct swaplab_disk *disk, bool is_write, unsigned int bytes)
{
	unsigned int ns = READ_ONCE(*(is_write ? &nvm_write_ns : &nvm_read_ns));
	unsigned int pages = DIV_ROUND_UP(bytes, SZ_4K), i;

	for (i = 0; i < pages; i++)
		swaplab_nvm_stall(ns);
	swaplab_count(&disk->counters, is_write, bytes, (u64)pages * ns);
}

static void nvm_submit_bio(struct bio *bio)
{
	struct swaplab_disk *disk = bio->bi_bdev->bd_disk->private_data;
	void *mem = disk->area.mem + (bio->bi_iter.bi_sector << SECTOR_SHIFT);
	unsigned int bytes = bio->bi_iter.bi_size;
	bool is_write = op_is_write(bio_op(bio));
	struct bvec_iter iter;
	struct bio_vec bv;

	if (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE) {
		/* A flush has nothing to do, as nothing is cached. */
		bio->bi_status = bio_op(bio) == REQ_OP_FLUSH ? BLK_STS_OK : BLK_STS_NOTSUPP;
		bio_endio(bio);
		return;
	}
	bio_for_each_segment(bv, bio, iter) {
		if (is_write)
			memcpy_from_bvec(mem, &bv);
		else
			memcpy_to_bvec(&bv, mem);
		mem += bv.bv_len;
	}
	if (bytes)
		swaplab_nvm_charge(disk, is_write, bytes);
	bio_endio(bio);
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
/* Before 6.5, the swap layer considers a device with this operation to be synchronous. */
static int nvm_rw_page(struct block_device *bdev, sector_t sector,
		       struct page *page, enum req_op op)
{
	struct swaplab_disk *disk = bdev->bd_disk->private_data;
	void *mem = disk->area.mem + (sector << SECTOR_SHIFT);

	if (PageTransHuge(page))
		return -EOPNOTSUPP;
	if (op_is_write(op))
		memcpy_from_page(mem, page, 0, PAGE_SIZE);
	else
		memcpy_to_page(page, 0, mem, PAGE_SIZE);
	swaplab_nvm_charge(disk, op_is_write(op), PAGE_SIZE);
	page_endio(page, op_is_write(op), 0);
	return 0;
}
#endif

static const struct block_device_operations nvm_ops = {
	.owner = THIS_MODULE,
	.submit_bio = nvm_submit_bio,
#ifdef CONFIG_SWAP_DIRECT
	.swap_pagemap = swaplab_swap_pagemap,
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	.rw_page = nvm_rw_page,
#endif
};

static struct gendisk *alloc_gendisk(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	struct gendisk *gendisk = blk_alloc_disk(NUMA_NO_NODE);

	if (!gendisk)
		return ERR_PTR(-ENOMEM);
	blk_queue_logical_block_size(gendisk->queue, PAGE_SIZE);
	blk_queue_physical_block_size(gendisk->queue, PAGE_SIZE);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, gendisk->queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, gendisk->queue);
	return gendisk;
#else
	struct queue_limits limits = {
		.logical_block_size = PAGE_SIZE,
		.physical_block_size = PAGE_SIZE,
		.features = BLK_FEAT_SYNCHRONOUS,
	};

	return blk_alloc_disk(&limits, NUMA_NO_NODE);
#endif
}

int swaplab_nvm_add(phys_addr_t start, u64 bytes)
{
	struct gendisk *gendisk;
	int error;

	nvm = kzalloc(sizeof(*nvm), GFP_KERNEL);
	if (!nvm)
		return -ENOMEM;
	nvm->area = (struct swaplab_area){ .start = start, .bytes = bytes };
	error = swaplab_map_area(nvm);
	if (error)
		goto free;
	gendisk = alloc_gendisk();
	if (IS_ERR(gendisk)) {
		error = PTR_ERR(gendisk);
		goto unmap;
	}
	error = swaplab_add_disk(nvm, gendisk, "nvm", &nvm_ops);
	if (!error)
		return 0;
	put_disk(gendisk);
unmap:
	swaplab_unmap_area(nvm);
free:
	kfree(nvm);
	nvm = NULL;
	return error;
}

void swaplab_nvm_remove(void)
{
	if (!nvm)
		return;
	del_gendisk(nvm->gendisk);
	put_disk(nvm->gendisk);
	swaplab_unmap_area(nvm);
	kfree(nvm);
	nvm = NULL;
}
