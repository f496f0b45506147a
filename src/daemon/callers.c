/* SPDX-License-Identifier: Apache-2.0 */
/* See callers.h. */
#include "callers.h"

#include "binary/recorded/recorded_image.h"
#include "binary/recorded/recorded_stack.h"
#include "remote/interpreter.h"
#include "remote/python_eval.h"
#include "remote/python_join.h"
#include "remote/python_reader.h"
#include "system/mappings.h"
#include "system/process_stat.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/intern.h"
#include "base/search.h"
#include "base/table.h"
#include "base/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	NATIVE_MOST = 512,     /* native frames of a path, before they are joined with Python's */
	IMAGES_MOST = 1 << 12, /* between two flushes; of more, callers are unknown */
	/* A program that has other mappings all the time is not asked for them more often, if those that are known suffice. */
	READ_AGAIN_NS = 1000000000,
	READ_LEAST_NS = 10000000, /* nor in any case */
};

struct image {
	struct sn_epoch_image told;
	struct sn_recorded_image laid_out;
};

struct span {
	uint64_t start, end, offset;
	uint32_t image;
};

struct process {
	uint64_t start_ns, first_stack, read_ns;
	uint32_t sequence;
	struct span *spans; /* by address */
	size_t count, capacity;
	bool may_have_python;
	uint64_t eval; /* of CPython; 0: these are not known */
	uint32_t eval_image, eval_count;
	struct sn_address_range *evals;
};

struct sn_callers {
	struct sn_table pids; /* to processes */
	struct process *processes;
	size_t process_capacity;
	struct sn_intern keys; /* to images */
	struct image *images;
	size_t image_capacity;
	struct sn_arena texts;
	struct sn_recorded_rows rows;
	struct sn_python_reader *python;
	uint32_t *codes; /* images + 1, by the reader's number; 0: there is none */
	size_t code_capacity;
	/* of the sample that is looked at: */
	struct sn_numbered_frame python_frames[SN_REMOTE_FRAMES_MOST];
	struct sn_recorded_frame frames[NATIVE_MOST];
	enum sn_python_part parts[NATIVE_MOST];
	struct sn_joined joined[NATIVE_MOST + SN_REMOTE_FRAMES_MOST];
};

static void on_code(void *context, uint32_t number, uint32_t first_line, const char *file,
		    const char *name);

struct sn_callers *sn_callers_new(void)
{
	struct sn_callers *callers = calloc(1, sizeof(*callers));
	const struct sn_python_listener listener = {.context = callers, .code = on_code};
	if (!callers)
		return NULL;
	callers->python = sn_python_reader_new(&listener);
	if (callers->python)
		return callers;
	free(callers);
	return NULL;
}

void sn_callers_forget(struct sn_callers *callers)
{
	for (uint32_t i = 0; i < callers->pids.count; i++) {
		free(callers->processes[i].spans);
		free(callers->processes[i].evals);
	}
	for (uint32_t i = 0; i < callers->keys.count; i++)
		sn_recorded_image_close(&callers->images[i].laid_out);
	free(callers->processes);
	free(callers->images);
	free(callers->codes);
	sn_table_release(&callers->pids);
	sn_intern_release(&callers->keys);
	sn_arena_release(&callers->texts);
	sn_python_reader_clear(callers->python);
	struct sn_python_reader *python = callers->python;
	memset(callers, 0, offsetof(struct sn_callers, python_frames));
	callers->python = python;
}

void sn_callers_free(struct sn_callers *callers)
{
	if (!callers)
		return;
	sn_callers_forget(callers);
	sn_python_reader_free(callers->python);
	free(callers);
}

bool sn_callers_are_full(const struct sn_callers *callers)
{
	return callers->keys.count > IMAGES_MOST / 4 * 3;
}

uint32_t sn_callers_image_count(const struct sn_callers *callers)
{
	return callers->keys.count;
}

const struct sn_epoch_image *sn_callers_image(const struct sn_callers *callers, uint32_t image)
{
	return &callers->images[image].told;
}

/* ---- images ---- */

/* What makes two mappings parts of one image. */
struct key {
	uint64_t kind, device, inode;
};

/* A process that mapped a file sees it under this name, and it may be gone. */
static const char *keep_path(struct sn_callers *callers, const char *path, bool is_deleted)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path), marked = sizeof(mark) - 1;
	if (is_deleted && length > marked && !strcmp(path + length - marked, mark))
		length -= marked;
	const char *kept = sn_arena_copy(&callers->texts, path, length);
	return kept ? kept : "";
}

/* As the program in the kernel tells of the same file (sampler.bpf.c), so that they are one. */
static void describe_file(struct image *image, int file)
{
	struct sn_epoch_image *told = &image->told;
	unsigned char id[SN_RECORDED_ID_MOST];
	struct stat status;
	if (fstat(file, &status) == 0) {
		told->bytes = (uint64_t)status.st_size;
		told->mtime_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u +
				 (uint64_t)status.st_mtim.tv_nsec;
		told->is_deleted = status.st_nlink == 0;
	}
	uint32_t length = sn_recorded_build_id(file, id);
	if (length && length <= SN_EPOCH_BUILD_ID_BYTES) {
		memcpy(told->build_id, id, length);
		told->build_id_bytes = SN_EPOCH_BUILD_ID_BYTES; /* zeroes behind a shorter one */
	}
}

static void read_file(struct sn_callers *callers, struct image *image, pid_t pid,
		      const struct sn_mapping *mapping)
{
	int file = sn_mapping_open(pid, mapping);
	if (file >= 0) {
		describe_file(image, file);
		sn_recorded_image_open_file(&image->laid_out, file);
		close(file);
	}
	image->told.path = keep_path(callers, mapping->path, image->told.is_deleted);
}

static uint32_t kind_of(const struct sn_mapping *mapping)
{
	return *mapping->path == '/' && mapping->inode ? SN_EPOCH_FILE
	       : strcmp(mapping->path, "[vdso]") == 0  ? SN_EPOCH_VDSO
						       : SN_EPOCH_JIT;
}

/* The image of a mapping of code; SN_INTERN_NONE: there are too many, or no memory. */
static uint32_t image_of(struct sn_callers *callers, pid_t pid, uint64_t start_ns,
			 const struct sn_mapping *mapping)
{
	struct key key = {.kind = kind_of(mapping)};
	uint32_t before = callers->keys.count;
	if (key.kind == SN_EPOCH_FILE) {
		key.device = makedev(mapping->major, mapping->minor);
		key.inode = mapping->inode;
	} else if (key.kind == SN_EPOCH_JIT) {
		key.device = start_ns;
		key.inode = (uint64_t)pid;
	}
	if (before >= IMAGES_MOST)
		return sn_intern_find(&callers->keys, &key, sizeof(key));
	uint32_t number = sn_intern_item(
	    &callers->keys, &key, sizeof(key), &callers->images, &callers->image_capacity,
	    {.told = {.kind = (uint32_t)key.kind, .device = key.device, .inode = key.inode}});
	if (number != before || number == SN_INTERN_NONE)
		return number;
	struct image *image = callers->images + number;
	image->told.path = key.kind == SN_EPOCH_VDSO ? "[vdso]" : "";
	if (key.kind == SN_EPOCH_FILE)
		read_file(callers, image, pid, mapping);
	else if (key.kind == SN_EPOCH_VDSO)
		sn_recorded_image_open_vdso(&image->laid_out);
	return number;
}

/* A function of Python is an image. */
static void on_code(void *context, uint32_t number, uint32_t first_line, const char *file,
		    const char *name)
{
	struct sn_callers *callers = context;
	const struct key key = {.kind = SN_EPOCH_PYTHON, .inode = number};
	if (callers->keys.count >= IMAGES_MOST ||
	    sn_vec_reserve_zeroed(&callers->codes, &callers->code_capacity, number + 1ull) < 0)
		return;
	const char *path =
	    sn_arena_print(&callers->texts, "%s:%" PRIu32 ":%s", file, first_line, name);
	uint32_t image = path ? sn_intern_item(&callers->keys, &key, sizeof(key), &callers->images,
					       &callers->image_capacity,
					       {.told = {.kind = SN_EPOCH_PYTHON, .path = path}})
			      : SN_INTERN_NONE;
	callers->codes[number] = image + 1; /* NONE + 1 is 0 */
}

/* ---- processes ---- */

struct reading {
	struct sn_callers *callers;
	struct process *process;
	pid_t pid;
};

static int keep_mapping(void *context, const struct sn_mapping *mapping)
{
	struct reading *reading = context;
	struct process *process = reading->process;
	uint32_t image = image_of(reading->callers, reading->pid, process->start_ns, mapping);
	process->may_have_python |= sn_python_is_named(mapping->path);
	if (image == SN_INTERN_NONE)
		return 0;
	return sn_vec_push(&process->spans, &process->capacity, &process->count,
			   (struct span){mapping->start, mapping->end, mapping->offset, image})
		   ? SN_ERR_MEMORY
		   : 0;
}

static bool is_same(const struct process *process, const struct sn_stack_sample *sample)
{
	return process->start_ns == sample->process_start_ns &&
	       process->first_stack == sample->first_stack;
}

static void read_mappings(struct sn_callers *callers, struct process *process,
			  const struct sn_stack_sample *sample)
{
	struct reading reading = {callers, process, (pid_t)sample->pid};
	if (!is_same(process, sample))
		sn_python_reader_forget(callers->python, reading.pid);
	process->count = 0;
	process->eval = 0;
	process->may_have_python = false;
	process->start_ns = sample->process_start_ns;
	process->first_stack = sample->first_stack;
	process->sequence = sample->mapping_sequence;
	process->read_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	sn_mappings_each(reading.pid, keep_mapping, &reading);
	/* it may have executed another program since the sample, or be another process */
	if (sn_process_stat(reading.pid, SN_PROCESS_FIRST_STACK) != sample->first_stack)
		process->count = 0;
}

/* The process of a sample, with its mappings as they were lately; NULL without memory. */
static struct process *process_of(struct sn_callers *callers, const struct sn_stack_sample *sample)
{
	uint32_t number = sn_table_find(&callers->pids, sample->pid), count = callers->pids.count;
	if (number == SN_TABLE_NONE) {
		if (sn_vec_reserve(&callers->processes, &callers->process_capacity, count + 1ull) <
			0 ||
		    sn_table_add(&callers->pids, sample->pid) == SN_TABLE_NONE)
			return NULL;
		callers->processes[count] = (struct process){0};
		number = count;
	}
	struct process *process = callers->processes + number;
	bool has_changed =
	    !sample->mapping_sequence || process->sequence != sample->mapping_sequence;
	if (!is_same(process, sample) ||
	    (has_changed && sn_clock_now_ns(CLOCK_MONOTONIC) - process->read_ns > READ_AGAIN_NS))
		read_mappings(callers, process, sample);
	return process;
}

static const struct span *span_at(const struct process *process, uint64_t address)
{
	size_t behind = sn_search(i, process->count, process->spans[i].start <= address);
	return behind && address < process->spans[behind - 1].end ? process->spans + behind - 1
								  : NULL;
}

/* ---- paths ---- */

struct walk {
	struct sn_callers *callers;
	const struct sn_stack_sample *sample;
	struct process *process;
};

/* A library that was loaded since the mappings were read is the reason to read them again. */
static const struct span *find_span(struct walk *walk, uint64_t address)
{
	const struct span *span = span_at(walk->process, address);
	uint32_t sequence = walk->sample->mapping_sequence;
	bool may_differ = !sequence || walk->process->sequence != sequence;
	if (span || !may_differ ||
	    sn_clock_now_ns(CLOCK_MONOTONIC) - walk->process->read_ns < READ_LEAST_NS)
		return span;
	read_mappings(walk->callers, walk->process, walk->sample);
	return span_at(walk->process, address);
}

static bool find(void *context, uint64_t address, const struct sn_module **module,
		 uintptr_t *inside)
{
	struct walk *walk = context;
	const struct span *span = find_span(walk, address);
	const struct image *image = span ? walk->callers->images + span->image : NULL;
	*module = NULL;
	*inside = image && image->laid_out.module.eh_frame_hdr
		      ? sn_recorded_image_at(&image->laid_out, address - span->start + span->offset)
		      : 0;
	if (*inside)
		*module = &image->laid_out.module;
	return span;
}

/* Code made at run time has the process's own addresses. */
static void put_caller(struct walk *walk, struct sn_callers_path *path, uint64_t address)
{
	const struct span *span = find_span(walk, address - 1);
	if (!span || path->count == SN_CALLERS_MOST) {
		path->is_whole = false;
		return;
	}
	bool has_file = walk->callers->images[span->image].told.kind != SN_EPOCH_JIT;
	path->callers[path->count++] =
	    (struct sn_caller){span->image, SN_EPOCH_FRAME_NATIVE,
			       has_file ? address - span->start + span->offset : address};
}

/* ---- Python ---- */

/* Finds where the process has the parts of the evaluation loop. */
static void find_evals(struct walk *walk, uint64_t eval, uint64_t bytes)
{
	struct process *process = walk->process;
	const struct span *span = find_span(walk, eval);
	const struct image *image = span ? walk->callers->images + span->image : NULL;
	process->evals =
	    process->evals ? process->evals : calloc(SN_EVAL_RANGES, sizeof(*process->evals));
	if (!process->evals)
		return;
	process->eval = eval;
	process->eval_image = span ? span->image : SN_INTERN_NONE;
	uintptr_t place =
	    image ? sn_recorded_image_at(&image->laid_out, eval - span->start + span->offset) : 0;
	process->eval_count = sn_python_eval_ranges(place ? &image->laid_out : NULL, place, eval,
						    bytes, process->evals);
}

static enum sn_python_part part_of(struct walk *walk, uint64_t address)
{
	const struct process *process = walk->process;
	for (uint32_t i = 0; i < process->eval_count; i++)
		if (address >= process->evals[i].start && address < process->evals[i].end)
			return SN_PYTHON_PART_EVAL;
	const struct span *span = span_at(process, address);
	if (span && span->image == process->eval_image)
		return SN_PYTHON_PART_INTERPRETER;
	return span && sn_python_starts(walk->callers->images[span->image].told.path)
		   ? SN_PYTHON_PART_START
		   : SN_PYTHON_PART_OTHER;
}

/* The thread's frames of Python, read now, as it may go on. Their number. */
static uint32_t read_python(struct walk *walk)
{
	struct sn_callers *callers = walk->callers;
	pid_t pid = (pid_t)walk->sample->pid, tid = (pid_t)walk->sample->tid;
	uint64_t eval, bytes;
	if (!walk->process->may_have_python)
		return 0;
	uint32_t count = sn_python_reader_see(callers->python, pid, tid, 0, callers->python_frames);
	if (count && sn_python_reader_eval(callers->python, pid, &eval, &bytes) &&
	    eval != walk->process->eval)
		find_evals(walk, eval, bytes);
	return walk->process->eval ? count : 0;
}

/* Both paths as one in callers->joined, outermost first; 0: the native one stands alone. */
static size_t join(struct walk *walk, size_t count, bool is_whole, uint32_t python_count)
{
	struct sn_callers *callers = walk->callers;
	const struct sn_python_paths paths = {callers->parts, count, is_whole,
					      callers->python_frames, python_count};
	if (!python_count)
		return 0;
	for (size_t i = 0; i < count; i++)
		callers->parts[i] =
		    part_of(walk, callers->frames[i].address - callers->frames[i].is_return);
	return sn_python_join(&paths, callers->joined);
}

static void put_python(struct walk *walk, struct sn_callers_path *path, uint32_t number)
{
	const struct sn_numbered_frame *frame = &walk->callers->python_frames[number];
	uint32_t known =
	    frame->code < walk->callers->code_capacity ? walk->callers->codes[frame->code] : 0;
	if (known && path->count < SN_CALLERS_MOST)
		path->callers[path->count++] =
		    (struct sn_caller){known - 1, SN_EPOCH_FRAME_PYTHON, frame->line};
	else
		path->is_whole = false;
}

/* ---- a sample ---- */

/* The first native frame is where the sample was, and no caller; or where the kernel was entered, which calls it. */
static void put_joined(struct walk *walk, struct sn_callers_path *path, size_t count)
{
	const struct sn_callers *callers = walk->callers;
	uint32_t leaf = walk->sample->kernel_count ? 0 : 1;
	bool has_leaf = false;
	for (size_t i = count; i--;) {
		const struct sn_joined *one = &callers->joined[i];
		has_leaf |= !one->is_python && one->number == 0;
		if (one->is_python)
			put_python(walk, path, one->number);
		else if (one->number >= leaf)
			put_caller(walk, path, callers->frames[one->number].address);
	}
	path->is_interpreter =
	    leaf && !has_leaf && path->count && path->callers[0].kind == SN_EPOCH_FRAME_PYTHON;
}

static void put_users(struct walk *walk, struct sn_callers_path *path)
{
	const struct sn_stack_sample *sample = walk->sample;
	struct sn_recorded_frame *frames = walk->callers->frames;
	struct sn_registers registers = {.known = SN_KNOWN_ALL};
	uint32_t python_count = read_python(walk);
	size_t count;
	_Static_assert((int)SN_REG_COUNT == (int)SN_USER_REGISTERS, "registers by DWARF number");
	memcpy(registers.value, sample->registers, sizeof(registers.value));
	const struct sn_recorded_stack stack = {&registers, sample->stack, sample->stack_bytes,
						find,	    walk,	   &walk->callers->rows};
	enum sn_recorded_end end = sn_recorded_unwind(&stack, frames, NATIVE_MOST, &count);
	path->is_whole = end == SN_RECORDED_WHOLE;
	size_t both = join(walk, count, path->is_whole, python_count);
	put_joined(walk, path, both);
	for (size_t i = sample->kernel_count ? 0 : 1; !both && i < count; i++)
		put_caller(walk, path, frames[i].address);
}

void sn_callers_find(struct sn_callers *callers, const struct sn_stack_sample *sample,
		     struct sn_callers_path *path)
{
	struct walk walk = {callers, sample, NULL};
	path->count = 0;
	path->is_interpreter = false;
	path->is_whole = !sample->first_stack; /* a thread of the kernel has nothing else */
	for (uint32_t i = 1; i < sample->kernel_count && i < SN_KERNEL_FRAMES; i++)
		path->callers[path->count++] =
		    (struct sn_caller){SN_CALLER_KERNEL, SN_EPOCH_FRAME_NATIVE, sample->kernel[i]};
	if (sample->stack_bytes && sample->stack_bytes <= SN_STACK_BYTES &&
	    (walk.process = process_of(callers, sample)))
		put_users(&walk, path);
}
