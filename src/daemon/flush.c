/* SPDX-License-Identifier: Apache-2.0 */
/* See flush.h. */
#include "flush.h"

#include "made_code.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* An address of code that a process made while it ran: its name is to be found. */
struct made {
	uint32_t image, number; /* of the writer; of a pair of the process's owner */
	uint32_t pid;
	uint64_t start_ns, address;
};

SN_SORT_BY(sort_made, struct made, const void *, SN_ORDER_BY(a, b, image, address));

struct flush {
	const struct sn_ledger *ledger;
	const struct sn_flush_source *from;
	struct sn_epoch_writer *writer;
	struct made *made; /* of call paths */
	size_t made_count, made_capacity;
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
		.pid = flush->from->by_process ? pair->key.pid : 0,
		.pid_start = flush->from->by_process ? pair->process_start_ns : 0,
		.uid = pair->key.uid,
	    });
}

/* One image a process: its start and number stand where a file has its own. */
static uint32_t add_made_image(const struct flush *flush, uint32_t pid, uint64_t start_ns)
{
	char name[SN_PATH_BYTES + 64];
	snprintf(
	    name, sizeof(name), "[jit of %s, process %u]",
	    sn_text_base_name(sn_ledger_name(flush->ledger, flush->number, flush->pair->program)),
	    pid);
	return sn_epoch_writer_image(flush->writer, &(struct sn_epoch_image){.kind = SN_EPOCH_JIT,
									     .path = name,
									     .device = start_ns,
									     .inode = pid});
}

static uint32_t add_image(const struct flush *flush)
{
	const struct sn_ledger_pair *pair = flush->pair;
	struct sn_epoch_image image = {.path = "", .kind = SN_EPOCH_UNKNOWN};
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
	case SN_IMAGE_ANONYMOUS:
		return add_made_image(flush, pair->pid, pair->process_start_ns);
	}
	return sn_epoch_writer_image(flush->writer, &image);
}

/* The place of an address in the kernel, as the store has it. */
static int find_in_kernel(const struct flush *flush, uint64_t address, uint32_t *image,
			  uint64_t *inside)
{
	static const enum sn_epoch_image_kind kinds[] = {[SN_KERNEL_ITSELF] = SN_EPOCH_KERNEL,
							 [SN_KERNEL_MODULE] = SN_EPOCH_MODULE,
							 [SN_KERNEL_BPF] = SN_EPOCH_BPF};
	struct sn_kernel_place place;
	if (sn_kernel_images_find(flush->from->kernel, address, &place) < 0)
		return SN_ERR_MEMORY;
	*image =
	    sn_epoch_writer_image(flush->writer, &(struct sn_epoch_image){.kind = kinds[place.part],
									  .path = place.image});
	if (place.function)
		sn_epoch_writer_name(flush->writer,
				     &(struct sn_epoch_name){.image = *image,
							     .start = place.function_start,
							     .name = place.function});
	*inside = place.address;
	return 0;
}

/* The kernel's code lies in the last 4 GiB. */
static uint64_t in_kernel(uint32_t address)
{
	return UINT64_C(0xffffffff00000000) | address;
}

/* Of what the kernel has not told. */
static void begin_no_pair(struct flush *flush)
{
	flush->pair = NULL;
	flush->origin = sn_epoch_writer_origin(
	    flush->writer,
	    &(struct sn_epoch_origin){.program = "", .cgroup = "", .uid = SN_EPOCH_NONE});
	flush->image = sn_epoch_writer_image(
	    flush->writer, &(struct sn_epoch_image){.kind = SN_EPOCH_UNKNOWN, .path = ""});
}

static void begin_pair(struct flush *flush, uint32_t number)
{
	flush->number = number;
	flush->pair = sn_ledger_pair(flush->ledger, number);
	if (!flush->pair) {
		begin_no_pair(flush);
		return;
	}
	flush->origin = add_origin(flush);
	flush->image = add_image(flush);
}

/* Counts of one pair. */
struct run {
	const struct sn_ledger_count *counts;
	size_t count;
};

static int add_run_in_kernel(const struct flush *flush, const struct run *run)
{
	int result = 0;
	for (size_t i = 0; !result && i < run->count; i++) {
		uint32_t image;
		uint64_t inside;
		result =
		    find_in_kernel(flush, in_kernel((uint32_t)run->counts[i].key), &image, &inside);
		if (!result)
			sn_epoch_writer_count(flush->writer, flush->origin, image, inside,
					      run->counts[i].count);
	}
	return result;
}

static void add_run(const struct flush *flush, const struct run *run, uint64_t above)
{
	for (size_t i = 0; i < run->count; i++)
		sn_epoch_writer_count(flush->writer, flush->origin, flush->image,
				      above | (uint32_t)run->counts[i].key, run->counts[i].count);
}

/* The upper half of addresses in memory without a file. */
static uint64_t above_of(const struct sn_ledger_pair *pair)
{
	return pair->key.inode >> 32 << 32;
}

/* Code of one process that has no file: its names are asked for now, as nobody knows them later. */
static int add_run_of_made_code(const struct flush *flush, const struct run *run)
{
	uint64_t above = above_of(flush->pair),
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

/* ---- call paths ---- */

static int note_made(struct flush *flush, uint32_t image, uint32_t pid, uint64_t start_ns,
		     uint64_t address)
{
	return sn_vec_push(&flush->made, &flush->made_capacity, &flush->made_count,
			   (struct made){image, flush->number, pid, start_ns, address})
		   ? SN_ERR_MEMORY
		   : 0;
}

/* Where the sample was. */
static int put_leaf(struct flush *flush, uint32_t address, struct sn_epoch_frame *frame)
{
	const struct sn_ledger_pair *pair = flush->pair;
	frame->image = flush->image;
	frame->address = address;
	if (!pair || (pair->key.kind != SN_IMAGE_KERNEL && pair->key.kind != SN_IMAGE_ANONYMOUS))
		return 0;
	if (pair->key.kind == SN_IMAGE_KERNEL)
		return find_in_kernel(flush, in_kernel(address), &frame->image, &frame->address);
	frame->address |= above_of(pair);
	return note_made(flush, frame->image, pair->pid, pair->process_start_ns, frame->address);
}

static int put_caller(struct flush *flush, const struct sn_caller *caller,
		      struct sn_epoch_frame *frame)
{
	frame->kind = caller->kind;
	if (caller->image == SN_CALLER_KERNEL)
		return find_in_kernel(flush, caller->address, &frame->image, &frame->address);
	const struct sn_epoch_image *image = flush->from->paths->images + caller->image;
	frame->address = caller->address;
	if (image->kind != SN_EPOCH_JIT || !flush->pair) {
		frame->image = sn_epoch_writer_image(flush->writer, image);
		return 0;
	}
	frame->image = add_made_image(flush, (uint32_t)image->inode, image->device);
	return note_made(flush, frame->image, (uint32_t)image->inode, image->device,
			 caller->address - 1);
}

/* A thread that was late tells of numbers that have another meaning by now. */
static void begin_pair_of_turn(struct flush *flush, const struct sn_path_place *place)
{
	begin_pair(flush, place->pair);
	if (flush->pair && flush->pair->key.turn != (uint16_t)place->turn)
		begin_no_pair(flush);
}

static int add_path(struct flush *flush, uint32_t path)
{
	struct sn_epoch_frame frames[SN_CALLERS_MOST + 1] = {{0}};
	struct sn_path_place place;
	uint32_t count;
	uint64_t samples = flush->from->paths->counts[path];
	const struct sn_caller *callers = sn_paths_at(flush->from->paths, path, &place, &count);
	begin_pair_of_turn(flush, &place);
	int result = put_leaf(flush, place.address, frames);
	frames->kind = place.kind;
	for (uint32_t i = 0; !result && i < count; i++)
		result = put_caller(flush, callers + i, frames + i + 1);
	const struct sn_epoch_stack stack = {flush->origin, count + 1, frames, samples};
	if (!result && count)
		sn_epoch_writer_stack(flush->writer, &stack);
	else if (!result)
		sn_epoch_writer_count(flush->writer, flush->origin, frames->image, frames->address,
				      samples);
	return result;
}

/* Names the addresses of one process's code, which are in order. */
static int name_made(const struct flush *flush, const struct made *made, size_t count)
{
	uint64_t *addresses = malloc(count * sizeof(*addresses));
	struct sn_ledger_pair process = *sn_ledger_pair(flush->ledger, made->number);
	if (!addresses)
		return SN_ERR_MEMORY;
	process.pid = made->pid;
	process.process_start_ns = made->start_ns;
	for (size_t i = 0; i < count; i++)
		addresses[i] = made[i].address;
	int result = sn_made_code_name(flush->writer, made->image, &process, addresses, count);
	free(addresses);
	return result;
}

static int add_paths(struct flush *flush)
{
	int result = 0;
	for (uint32_t path = 0; !result && path < flush->from->paths->keys.count; path++)
		result = add_path(flush, path);
	sort_made(flush->made, flush->made_count, NULL);
	for (size_t i = 0, count; !result && i < flush->made_count; i += count) {
		const struct made *made = flush->made + i;
		for (count = 1; i + count < flush->made_count && made[count].image == made->image;)
			count++;
		result = name_made(flush, made, count);
	}
	free(flush->made);
	return result;
}

int sn_flush_add(const struct sn_flush_source *from, struct sn_epoch_writer *writer)
{
	struct flush flush = {.ledger = from->ledger, .from = from, .writer = writer};
	const struct sn_ledger_count *counts = sn_ledger_sorted(from->ledger),
				     *end = counts + from->ledger->index.count;
	int result = 0;
	while (!result && counts < end) {
		struct run run = {counts, 0};
		while (counts + run.count < end && counts[run.count].key >> 32 == counts->key >> 32)
			run.count++;
		result = add_pair(&flush, &run);
		counts += run.count;
	}
	if (!result)
		result = add_paths(&flush);
	if (!result)
		sn_ledger_clear(from->ledger);
	return result;
}
