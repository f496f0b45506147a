/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct fake_kernel **table; /* open addressing, by host address */
static size_t count, room;
static _Atomic uint32_t modules;

static size_t slot_of(struct fake_kernel *const *in, size_t size, const void *host)
{
	size_t slot = ((uintptr_t)host * 0x9e3779b97f4a7c15u >> 20) & (size - 1);
	while (in[slot] && in[slot]->host != host)
		slot = (slot + 1) & (size - 1);
	return slot;
}

static void grow(void)
{
	size_t bigger = room ? 2 * room : 1024;
	struct fake_kernel **moved = calloc(bigger, sizeof(*moved));
	for (size_t slot = 0; slot < room; slot++)
		if (table[slot])
			moved[slot_of(moved, bigger, table[slot]->host)] = table[slot];
	free(table);
	table = moved;
	room = bigger;
}

struct fake_kernel *fake_kernel_add(const void *host, const char *name, struct fake_module *module)
{
	struct fake_kernel *kernel = malloc(sizeof(*kernel));
	*kernel = (struct fake_kernel){host, strdup(name), module};
	if (!host)
		return kernel;
	pthread_rwlock_wrlock(&lock);
	if (2 * count >= room)
		grow();
	table[slot_of(table, room, host)] = kernel;
	count++;
	pthread_rwlock_unlock(&lock);
	return kernel;
}

struct fake_kernel *fake_kernel_of_host(const void *host)
{
	pthread_rwlock_rdlock(&lock);
	struct fake_kernel *kernel = room ? table[slot_of(table, room, host)] : NULL;
	pthread_rwlock_unlock(&lock);
	return kernel;
}

/* ---- modules ---- */

size_t fake_image_bytes(const void *image)
{
	const Elf64_Ehdr *head = image;
	if (memcmp(head->e_ident, ELFMAG, SELFMAG))
		return 0;
	size_t sections = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize,
	       segments = head->e_phoff + (size_t)head->e_phnum * head->e_phentsize;
	return sections > segments ? sections : segments;
}

static struct fake_module *new_module(void *image, size_t bytes)
{
	struct fake_module *module = calloc(1, sizeof(*module));
	*module = (struct fake_module){.image = image, .bytes = bytes, .number = ++modules};
	return module;
}

/* The image is copied: programs free theirs. */
struct fake_module *fake_module_new(const void *image)
{
	size_t bytes = fake_image_bytes(image);
	void *copy = bytes ? malloc(bytes) : NULL;
	if (bytes)
		memcpy(copy, image, bytes);
	return new_module(copy, bytes);
}

struct fake_module *fake_module_of_ptx(const char *ptx)
{
	size_t bytes = 0;
	void *image = fake_compile(ptx, &bytes);
	return new_module(image, image ? bytes : 0);
}

static _Atomic bool has_context[FAKE_MOST_DEVICES];

void fake_context_end(int device)
{
	if (!atomic_exchange(&has_context[device], false))
		return;
	fake_module_tell(device, NULL, 0, 0, true);
	fake_memory_end_managed(device);
}

/* Each device loads it. */
static bool is_told(const struct fake_module *module, int device)
{
	return module->told >> device & 1;
}

static bool is_used(int device, const struct fake_module *module)
{
	return has_context[device] && (!module || !module->image || is_told(module, device));
}

/* Other threads wait until who listens knows of it; what is told to that one uses nothing. */
void fake_module_use(int device, struct fake_module *module)
{
	static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
	static __thread bool is_telling;
	if (is_used(device, module) || is_telling)
		return;
	pthread_mutex_lock(&loading);
	is_telling = true;
	if (!has_context[device])
		fake_module_tell(device, NULL, 0, 0, false);
	has_context[device] = true;
	if (!is_used(device, module)) {
		fake_module_tell(device, module->image, module->bytes, module->number, false);
		atomic_fetch_or(&module->told, 1u << device);
	}
	is_telling = false;
	pthread_mutex_unlock(&loading);
}

void fake_module_free(int device, struct fake_module *module)
{
	if (module->image && is_told(module, device))
		fake_module_tell(device, module->image, module->bytes, module->number, true);
}

/* Sections of code are called .text.NAME. */
int fake_module_kernels(struct fake_module *module, struct fake_kernel **kernels, int most)
{
	int found = 0;
	if (!module->image)
		return 0;
	const Elf64_Ehdr *head = module->image;
	const Elf64_Shdr *sections =
	    (const Elf64_Shdr *)((const char *)module->image + head->e_shoff);
	const char *names = (const char *)module->image + sections[head->e_shstrndx].sh_offset;
	for (int index = 0; index < head->e_shnum && found < most; index++) {
		const char *name = names + sections[index].sh_name;
		if (!strncmp(name, ".text.", 6))
			kernels[found++] = fake_kernel_add(NULL, name + 6, module);
	}
	return found;
}

/* ---- what both interfaces do ---- */

static __thread bool zero_is_of_thread;

void fake_zero_is_of_thread(bool it_is)
{
	zero_is_of_thread = it_is;
}

struct fake_stream *fake_stream_of(const void *handle)
{
	uintptr_t number = (uintptr_t)handle;
	if (number > 2)
		return (struct fake_stream *)handle;
	return number == 2 || (!number && zero_is_of_thread)
		   ? fake_stream_of_thread(fake_current_device())
		   : fake_stream_default(fake_current_device());
}

struct fake_operation fake_launch_operation(const struct fake_kernel *kernel,
					    const uint32_t grid[3], const uint32_t block[3],
					    size_t shared)
{
	return (struct fake_operation){
	    .kind = FAKE_KERNEL,
	    .name = kernel->name,
	    .kernel = kernel,
	    .module = kernel->module ? kernel->module->number : 0,
	    .grid = {grid[0], grid[1], grid[2]},
	    .block = {block[0], block[1], block[2]},
	    .dynamic_shared = (uint32_t)shared,
	    .peer = -1,
	};
}

uint64_t fake_launch(struct fake_stream *stream, const struct fake_kernel *kernel,
		     const uint32_t grid[3], const uint32_t block[3], size_t shared)
{
	fake_call_launches(kernel->name);
	fake_module_use(fake_stream_device(stream), kernel->module);
	struct fake_operation operation = fake_launch_operation(kernel, grid, block, shared);
	return fake_enqueue(stream, &operation);
}

static bool is_on_host(enum fake_place place)
{
	return place == FAKE_PAGEABLE || place == FAKE_PINNED;
}

struct fake_operation fake_copy_operation(const void *to, const void *from, size_t bytes)
{
	int to_device, from_device;
	struct fake_operation operation = {.kind = FAKE_COPY, .bytes = bytes, .peer = -1};
	operation.from = fake_memory_place(from, NULL, NULL, &from_device);
	operation.to = fake_memory_place(to, NULL, NULL, &to_device);
	if (!is_on_host(operation.from) && !is_on_host(operation.to) && from_device != to_device &&
	    from_device >= 0 && to_device >= 0) {
		operation.peer = to_device;
		operation.from_peer = from_device;
	}
	return operation;
}

static void copied(const void *to, const void *from, size_t bytes, struct fake_stream *stream,
		   bool is_async)
{
	struct fake_operation operation = fake_copy_operation(to, from, bytes);
	uint64_t end_ns = fake_enqueue(stream, &operation);
	bool waits = !is_async && (is_on_host(operation.from) || is_on_host(operation.to));
	if (end_ns && (waits || operation.to == FAKE_PAGEABLE))
		fake_stream_wait(stream);
}

void fake_copy(void *to, const void *from, size_t bytes, struct fake_stream *stream, bool is_async)
{
	memmove(to, from, bytes);
	copied(to, from, bytes, stream, is_async);
}

void fake_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		    size_t height, struct fake_stream *stream, bool is_async)
{
	for (size_t row = 0; row < height; row++)
		memmove((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width);
	copied(to, from, width * height, stream, is_async);
}

void fake_copy_blocks(const struct fake_rows *to, const struct fake_rows *from, size_t width,
		      size_t height, size_t depth, struct fake_stream *stream, bool is_async)
{
	for (size_t block = 0; block < depth; block++)
		for (size_t row = 0; row < height; row++)
			memmove((char *)to->start + block * to->block_bytes + row * to->pitch,
				(const char *)from->start + block * from->block_bytes +
				    row * from->pitch,
				width);
	copied(to->start, from->start, width * height * depth, stream, is_async);
}

/* Mostly with zeros, of which there are megabytes: what the fake takes is no program's cost. */
static void fill(void *to, uint32_t value, size_t value_bytes, size_t times)
{
	const char *bytes = (const char *)&value;
	if (!memcmp(bytes, bytes + 1, value_bytes - 1)) { /* all are the same */
		memset(to, *bytes, times * value_bytes);
		return;
	}
	for (size_t index = 0; index < times; index++)
		memcpy((char *)to + index * value_bytes, bytes, value_bytes);
}

struct fake_operation fake_set_operation(const void *to, uint32_t value, size_t bytes)
{
	struct fake_operation operation = {
	    .kind = FAKE_SET, .bytes = bytes, .value = value, .peer = -1};
	operation.from = operation.to = fake_memory_place(to, NULL, NULL, NULL);
	return operation;
}

void fake_set_rows(void *to, size_t pitch, uint32_t value, size_t value_bytes, size_t width,
		   size_t height, struct fake_stream *stream)
{
	for (size_t row = 0; row < height; row++)
		fill((char *)to + row * pitch, value, value_bytes, width);
	struct fake_operation operation =
	    fake_set_operation(to, value, value_bytes * width * height);
	fake_enqueue(stream, &operation);
}

void fake_set(void *to, uint32_t value, size_t value_bytes, size_t count_,
	      struct fake_stream *stream, bool is_async)
{
	(void)is_async;
	fake_set_rows(to, 0, value, value_bytes, count_, 1, stream);
}
