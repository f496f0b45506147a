/* SPDX-License-Identifier: Apache-2.0 */
/* See flush.h. */
#include "flush.h"

#include "made_code.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct flush {
	const struct sn_ledger *ledger;
	bool by_process;
	struct sn_kernel_images *kernel;
	struct sn_epoch_writer *writer;
	/* of the pair whose counts are being added */
	uint32_t number, origin, image;
	const struct sn_ledger_pair *pair;
};

static dev_t as_users_see(uint32_t device)
{
	return makedev(device >> 20, device & 0xfffff);
}

static uint32_t add_origin(const struct flush *flush)
{
	const struct sn_ledger_pair *pair = flush->pair;
	const char *program = sn_ledger_name(flush->ledger, flush->number, pair->program);
	return sn_epoch_writer_origin(
	    flush->writer,
	    &(struct sn_epoch_origin){
		.program = *program					     ? program
			   : pair->key.program_inode == SN_NO_PROGRAM_KERNEL ? "[kernel threads]"
									     : "[ending processes]",
		.cgroup = sn_ledger_name(flush->ledger, flush->number, pair->cgroup),
		.pid = flush->by_process ? pair->key.pid : 0,
		.pid_start = flush->by_process ? pair->process_start_ns : 0,
		.uid = pair->key.uid,
	    });
}

static uint32_t add_image(const struct flush *flush)
{
	const struct sn_ledger_pair *pair = flush->pair;
	struct sn_epoch_image image = {.path = "", .kind = SN_EPOCH_UNKNOWN};
	const char *program;
	char name[SN_PATH_BYTES + 64];
	switch (pair->key.kind) {
	case SN_IMAGE_FILE:
		image = (struct sn_epoch_image){
		    .kind = SN_EPOCH_FILE,
		    .is_deleted = pair->image_is_deleted,
		    .path = sn_ledger_name(flush->ledger, flush->number, pair->image),
		    .build_id_bytes = pair->build_id_bytes,
		    .device = as_users_see(pair->key.device),
		    .inode = pair->key.inode,
		    .bytes = pair->image_bytes,
		    .mtime_ns = pair->image_mtime_ns,
		};
		memcpy(image.build_id, pair->build_id, sizeof(image.build_id));
		break;
	case SN_IMAGE_VDSO:
		image = (struct sn_epoch_image){.kind = SN_EPOCH_VDSO, .path = "[vdso]"};
		break;
	case SN_IMAGE_ANONYMOUS: /* one image a process: its start and number stand where a file has its own */
		program =
		    sn_text_base_name(sn_ledger_name(flush->ledger, flush->number, pair->program));
		snprintf(name, sizeof(name), "[jit of %s, process %u]", program, pair->pid);
		image = (struct sn_epoch_image){.kind = SN_EPOCH_JIT,
						.path = name,
						.device = pair->process_start_ns,
						.inode = pair->pid};
		break;
	}
	return sn_epoch_writer_image(flush->writer, &image);
}

static int add_in_kernel(const struct flush *flush, uint32_t address, uint64_t count)
{
	static const enum sn_epoch_image_kind kinds[] = {[SN_KERNEL_ITSELF] = SN_EPOCH_KERNEL,
							 [SN_KERNEL_MODULE] = SN_EPOCH_MODULE,
							 [SN_KERNEL_BPF] = SN_EPOCH_BPF};
	struct sn_kernel_place place;
	if (sn_kernel_images_find(flush->kernel, UINT64_C(0xffffffff00000000) | address, &place) <
	    0)
		return SN_ERR_MEMORY;
	uint32_t image =
	    sn_epoch_writer_image(flush->writer, &(struct sn_epoch_image){.kind = kinds[place.part],
									  .path = place.image});
	if (place.function)
		sn_epoch_writer_name(flush->writer,
				     &(struct sn_epoch_name){.image = image,
							     .start = place.function_start,
							     .name = place.function});
	sn_epoch_writer_count(flush->writer, flush->origin, image, place.address, count);
	return 0;
}

static void begin_pair(struct flush *flush, uint32_t number)
{
	flush->number = number;
	flush->pair = sn_ledger_pair(flush->ledger, number);
	flush->origin =
	    flush->pair
		? add_origin(flush)
		: sn_epoch_writer_origin(
		      flush->writer,
		      &(struct sn_epoch_origin){.program = "", .cgroup = "", .uid = SN_EPOCH_NONE});
	flush->image = flush->pair
			   ? add_image(flush)
			   : sn_epoch_writer_image(
				 flush->writer,
				 &(struct sn_epoch_image){.kind = SN_EPOCH_UNKNOWN, .path = ""});
}

/* Counts of one pair. */
struct run {
	const struct sn_ledger_count *counts;
	size_t count;
};

static int add_run_in_kernel(const struct flush *flush, const struct run *run)
{
	int result = 0;
	for (size_t i = 0; !result && i < run->count; i++)
		result = add_in_kernel(flush, (uint32_t)run->counts[i].key, run->counts[i].count);
	return result;
}

static void add_run(const struct flush *flush, const struct run *run, uint64_t above)
{
	for (size_t i = 0; i < run->count; i++)
		sn_epoch_writer_count(flush->writer, flush->origin, flush->image,
				      above | (uint32_t)run->counts[i].key, run->counts[i].count);
}

/* Code of one process that has no file: its names are asked for now, as nobody knows them later. */
static int add_run_of_made_code(const struct flush *flush, const struct run *run)
{
	uint64_t above = flush->pair->key.inode >> 32 << 32,
		 *addresses = malloc(run->count * sizeof(*addresses));
	if (!addresses)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < run->count; i++)
		addresses[i] = above | (uint32_t)run->counts[i].key;
	int result =
	    sn_made_code_name(flush->writer, flush->image, flush->pair, addresses, run->count);
	add_run(flush, run, above);
	free(addresses);
	return result;
}

static int add_pair(struct flush *flush, const struct run *run)
{
	begin_pair(flush, (uint32_t)(run->counts->key >> 32));
	switch (flush->pair ? flush->pair->key.kind : 0) {
	case SN_IMAGE_KERNEL:
		return add_run_in_kernel(flush, run);
	case SN_IMAGE_ANONYMOUS:
		return add_run_of_made_code(flush, run);
	default:
		add_run(flush, run, 0);
		return 0;
	}
}

int sn_flush_add(struct sn_ledger *ledger, bool by_process, struct sn_kernel_images *kernel,
		 struct sn_epoch_writer *writer)
{
	struct flush flush = {
	    .ledger = ledger, .by_process = by_process, .kernel = kernel, .writer = writer};
	const struct sn_ledger_count *counts = sn_ledger_sorted(ledger),
				     *end = counts + ledger->index.count;
	int result = 0;
	while (!result && counts < end) {
		struct run run = {counts, 0};
		while (counts + run.count < end && counts[run.count].key >> 32 == counts->key >> 32)
			run.count++;
		result = add_pair(&flush, &run);
		counts += run.count;
	}
	if (!result)
		sn_ledger_clear(ledger);
	return result;
}
