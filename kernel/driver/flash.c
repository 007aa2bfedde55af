// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/flash: storage with D channels and one bus. A request of any size uses a
 * channel for the latency of the flash array and the bus for its transfer (bytes
 * by bandwidth): a read in this order, a write in reverse order. The bus serves
 * requests in order of arrival. So D simultaneous requests take latency +
 * D transfers, and a single one takes latency + transfer.
 *
 * The data is copied when the request is issued, and an hrtimer completes the
 * request when its price has passed. So the copy is part of the latency.
 */
#include <linux/blk-mq.h>
#include <linux/hrtimer.h>
#include <linux/module.h>

#include "swaplab.h"

#define MAX_CHANNELS	64

static unsigned int flash_read_latency_ns = 56000;
module_param(flash_read_latency_ns, uint, 0644);
MODULE_PARM_DESC(flash_read_latency_ns, "Time of the flash array for a read request, in ns");

static unsigned int flash_write_latency_ns = 76000;
module_param(flash_write_latency_ns, uint, 0644);
MODULE_PARM_DESC(flash_write_latency_ns, "Time of the flash array for a write request, in ns");

static unsigned int flash_read_kib_s = 2050781;
module_param(flash_read_kib_s, uint, 0644);
MODULE_PARM_DESC(flash_read_kib_s, "Bandwidth of the bus for reads, in KiB/s, 0 for no transfer time");

static unsigned int flash_write_kib_s = 1171875;
module_param(flash_write_kib_s, uint, 0644);
MODULE_PARM_DESC(flash_write_kib_s, "Bandwidth of the bus for writes, in KiB/s, 0 for no transfer time");

static unsigned int flash_channels = 7;
module_param(flash_channels, uint, 0444);
MODULE_PARM_DESC(flash_channels, "Requests that the flash array serves at a time, 1 to 64");

static unsigned int flash_queue_depth = 32;
module_param(flash_queue_depth, uint, 0444);
MODULE_PARM_DESC(flash_queue_depth, "Requests that the device accepts before the block layer waits");

static unsigned int flash_merge_kib = 512;
module_param(flash_merge_kib, uint, 0444);
MODULE_PARM_DESC(flash_merge_kib, "Size up to which neighboring requests are merged, in KiB; 4 for none");

struct flash {
	struct swaplab_disk disk;	/* must be first: private_data points to it */
	struct blk_mq_tag_set tags;
	spinlock_t lock;		/* protects the next two fields */
	u64 channel_free_ns[MAX_CHANNELS];
	u64 bus_free_ns;
};

struct flash_request {
	struct hrtimer timer;
};

static struct flash *flash;

static enum hrtimer_restart complete_request(struct hrtimer *timer)
{
	struct flash_request *fr = container_of(timer, struct flash_request, timer);

	blk_mq_complete_request(blk_mq_rq_from_pdu(fr));
	return HRTIMER_NORESTART;
}

static void end_request(struct request *rq)
{
	blk_mq_end_request(rq, BLK_STS_OK);
}

static u64 transfer_ns(unsigned int bytes, unsigned int kib_s)
{
	return kib_s ? div_u64((u64)bytes * NSEC_PER_SEC, kib_s) >> 10 : 0;
}

/* Reserve a channel and the bus for a request that arrives now; returns its completion time. */
static u64 book(struct flash *f, bool is_write, unsigned int bytes, u64 now)
{
	u64 array = READ_ONCE(*(is_write ? &flash_write_latency_ns : &flash_read_latency_ns));
	u64 transfer = transfer_ns(bytes, READ_ONCE(*(is_write ? &flash_write_kib_s : &flash_read_kib_s)));
	unsigned int i, channel = 0;
	unsigned long flags;
	u64 done;

	spin_lock_irqsave(&f->lock, flags);
	for (i = 1; i < flash_channels; i++)
		if (f->channel_free_ns[i] < f->channel_free_ns[channel])
			channel = i;
	done = max(now, f->channel_free_ns[channel]);
	if (is_write) {
		f->bus_free_ns = max(done, f->bus_free_ns) + transfer;
		done = f->bus_free_ns + array;
	} else {
		f->bus_free_ns = max(done + array, f->bus_free_ns) + transfer;
		done = f->bus_free_ns;
	}
	f->channel_free_ns[channel] = done;
	spin_unlock_irqrestore(&f->lock, flags);
	swaplab_count(&f->disk.counters, is_write, bytes, array + transfer);
	return done;
}

static blk_status_t queue_request(struct blk_mq_hw_ctx *hctx,
				  const struct blk_mq_queue_data *bd)
{
	struct request *rq = bd->rq;
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);
	struct flash *f = rq->q->queuedata;
	void *mem = f->disk.area.mem + (blk_rq_pos(rq) << SECTOR_SHIFT);
	u64 now = ktime_get_ns();
	struct req_iterator iter;
	struct bio_vec bv;

	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return BLK_STS_NOTSUPP;
	blk_mq_start_request(rq);
	rq_for_each_segment(bv, rq, iter) {
		if (op_is_write(req_op(rq)))
			memcpy_from_bvec(mem, &bv);
		else
			memcpy_to_bvec(&bv, mem);
		mem += bv.bv_len;
	}
	hrtimer_start(&fr->timer,
		      ns_to_ktime(book(f, op_is_write(req_op(rq)), blk_rq_bytes(rq), now)),
		      HRTIMER_MODE_ABS);
	return BLK_STS_OK;
}

static int init_request(struct blk_mq_tag_set *tags, struct request *rq,
			unsigned int hctx, unsigned int node)
{
	struct flash_request *fr = blk_mq_rq_to_pdu(rq);

	hrtimer_init(&fr->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	fr->timer.function = complete_request;
	return 0;
}

static const struct blk_mq_ops mq_ops = {
	.queue_rq = queue_request,
	.complete = end_request,
	.init_request = init_request,
};

static const struct block_device_operations flash_ops = {
	.owner = THIS_MODULE,
};

static struct gendisk *alloc_gendisk(struct flash *f)
{
	unsigned int sectors = flash_merge_kib << (10 - SECTOR_SHIFT);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
	struct gendisk *gendisk = blk_mq_alloc_disk(&f->tags, f);

	if (IS_ERR(gendisk))
		return gendisk;
	blk_queue_logical_block_size(gendisk->queue, SZ_4K);
	blk_queue_physical_block_size(gendisk->queue, SZ_4K);
	blk_queue_max_hw_sectors(gendisk->queue, sectors);
	blk_queue_max_segments(gendisk->queue, BLK_MAX_SEGMENTS);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, gendisk->queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, gendisk->queue);
	return gendisk;
#else
	struct queue_limits limits = {
		.logical_block_size = SZ_4K,
		.physical_block_size = SZ_4K,
		.max_hw_sectors = sectors,
		.max_segments = BLK_MAX_SEGMENTS,
	};

	return blk_mq_alloc_disk(&f->tags, &limits, f);
#endif
}

static int check_parameters(void)
{
	if (flash_channels < 1 || flash_channels > MAX_CHANNELS) {
		pr_err("swaplab: flash_channels=%u: expected 1 to %u\n", flash_channels, MAX_CHANNELS);
		return -EINVAL;
	}
	if (flash_queue_depth < 1 || flash_queue_depth > 1024) {
		pr_err("swaplab: flash_queue_depth=%u: expected 1 to 1024\n", flash_queue_depth);
		return -EINVAL;
	}
	if (flash_merge_kib < 4 || flash_merge_kib > 4096 || flash_merge_kib % 4) {
		pr_err("swaplab: flash_merge_kib=%u: expected a multiple of 4 from 4 to 4096\n", flash_merge_kib);
		return -EINVAL;
	}
	return 0;
}

int swaplab_flash_add(phys_addr_t start, u64 bytes)
{
	struct gendisk *gendisk;
	int error = check_parameters();

	if (error)
		return error;
	flash = kzalloc(sizeof(*flash), GFP_KERNEL);
	if (!flash)
		return -ENOMEM;
	spin_lock_init(&flash->lock);
	flash->tags.ops = &mq_ops;
	flash->tags.nr_hw_queues = 1;
	flash->tags.queue_depth = flash_queue_depth;
	flash->tags.cmd_size = sizeof(struct flash_request);
	flash->tags.numa_node = NUMA_NO_NODE;
	flash->tags.flags = BLK_MQ_F_SHOULD_MERGE;
	error = blk_mq_alloc_tag_set(&flash->tags);
	if (error)
		goto free;
	flash->disk.area = (struct swaplab_area){ .start = start, .bytes = bytes };
	flash->disk.area.mem = memremap(start, bytes, MEMREMAP_WB);
	error = -ENOMEM;
	if (!flash->disk.area.mem)
		goto free_tags;
	gendisk = alloc_gendisk(flash);
	if (IS_ERR(gendisk)) {
		error = PTR_ERR(gendisk);
		goto unmap;
	}
	error = swaplab_add_disk(&flash->disk, gendisk, "flash", &flash_ops);
	if (!error)
		return 0;
	put_disk(gendisk);
unmap:
	memunmap(flash->disk.area.mem);
free_tags:
	blk_mq_free_tag_set(&flash->tags);
free:
	kfree(flash);
	flash = NULL;
	return error;
}

void swaplab_flash_remove(void)
{
	if (!flash)
		return;
	del_gendisk(flash->disk.gendisk);
	put_disk(flash->disk.gendisk);
	blk_mq_free_tag_set(&flash->tags);
	memunmap(flash->disk.area.mem);
	kfree(flash);
	flash = NULL;
}
