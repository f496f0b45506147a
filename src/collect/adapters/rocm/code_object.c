/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that devices load while instructions are sampled. It is kept in the measurement as it was loaded: from memory, or from the
 * part of a file that its URI names. The SDK gives each a number, which is never given again, so that samples that come after it was
 * unloaded find it.
 */
#include "pc_sampling.h"

#include "collect/core/hash.h"
#include "collect/core/line.h"

#include <elf.h>
#include <sys/stat.h>

#define CODE_OBJECTS (1u << 16)
#define MACHINE	     224u /* AMD's GPUs, in ELF */

struct place {
	_Atomic uint64_t bias;
	_Atomic uint32_t module; /* + 1; 0: none is known */
};

static _Atomic(void *) places; /* CODE_OBJECTS struct place, by number */

struct bytes {
	const void *at;
	size_t count;
	void *pages; /* to be given back, or NULL */
};

/* Of "file:///path#offset=N&size=N": a number, or 0. */
static uint64_t part_of(const char *uri, const char *name)
{
	uint64_t number = 0;
	const char *fragment = uri ? strchr(uri, '#') : NULL;
	const char *at = fragment ? strstr(fragment, name) : NULL;
	if (!at)
		return 0;
	at += strlen(name);
	bool is_hexadecimal = sn_begins_with(at, "0x");
	sn_parse_number(at + (is_hexadecimal ? 2 : 0), is_hexadecimal ? 16 : 10, &number);
	return number;
}

static bool read_whole(int file, char *to, size_t bytes, uint64_t offset)
{
	while (bytes) {
		/* not read(2): the program's position in its file stays */
		long count = syscall(SYS_pread64, file, to, bytes, offset);
		if (count <= 0)
			return false;
		to += count;
		bytes -= (size_t)count;
		offset += (size_t)count;
	}
	return true;
}

static bool read_file(const struct sn_rocprofiler_code_object *loaded, struct bytes *bytes)
{
	struct stat status;
	uint64_t offset = part_of(loaded->uri, "offset="), size = part_of(loaded->uri, "size=");
	if (fstat(loaded->file, &status) || status.st_size <= 0 ||
	    offset >= (uint64_t)status.st_size)
		return false;
	if (!size)
		size = (uint64_t)status.st_size - offset;
	bytes->pages = sn_pages_map(size);
	bytes->at = bytes->pages;
	bytes->count = size;
	return bytes->pages && read_whole(loaded->file, bytes->pages, size, offset);
}

static bool read_code(const struct sn_rocprofiler_code_object *loaded, struct bytes *bytes)
{
	*bytes = (struct bytes){0};
	if (loaded->storage == SN_ROCPROFILER_IN_FILE)
		return read_file(loaded, bytes);
	if (loaded->storage != SN_ROCPROFILER_IN_MEMORY)
		return false;
	bytes->at = (const void *)(uintptr_t)loaded->memory_base;
	bytes->count = loaded->memory_size;
	return bytes->at;
}

static bool is_code(const struct bytes *bytes)
{
	const Elf64_Ehdr *head = bytes->at;
	return bytes->count >= sizeof(*head) && !memcmp(head->e_ident, ELFMAG, SELFMAG) &&
	       head->e_machine == MACHINE;
}

/* The same for the same code, in all processes. */
static uint64_t number_of(const struct bytes *bytes)
{
	uint64_t hash = sn_hash_mix(0, bytes->count), word;
	size_t at = 0;
	for (; at + sizeof(word) <= bytes->count; at += sizeof(word)) {
		memcpy(&word, (const char *)bytes->at + at, sizeof(word));
		hash = sn_hash_mix(hash, word);
	}
	for (; at < bytes->count; at++)
		hash = sn_hash_mix(hash, ((const unsigned char *)bytes->at)[at]);
	return hash;
}

static uint32_t keep(const struct sn_rocprofiler_code_object *loaded)
{
	struct bytes bytes;
	uint32_t module = SN_ID_NONE;
	if (read_code(loaded, &bytes) && is_code(&bytes))
		module = sn_gpu_keep_binary(bytes.at, bytes.count, number_of(&bytes),
					    SN_CODE_OBJECT_FILE_SUFFIX);
	if (bytes.pages)
		sn_pages_unmap(bytes.pages, bytes.count);
	return module;
}

void sn_rocm_code_object_loaded(const struct sn_rocprofiler_code_object *loaded)
{
	if (!sn_rocm_samples_are_on() || !loaded || loaded->size < sizeof(*loaded) ||
	    loaded->id >= CODE_OBJECTS)
		return;
	struct place *all = sn_pages_once(&places, CODE_OBJECTS * sizeof(*all));
	uint32_t module = all ? keep(loaded) : SN_ID_NONE;
	if (module == SN_ID_NONE)
		return;
	atomic_store_explicit(&all[loaded->id].bias,
			      loaded->load_base - (uint64_t)loaded->load_delta,
			      memory_order_relaxed);
	/* release: the bias before its module */
	atomic_store_explicit(&all[loaded->id].module, module + 1, memory_order_release);
}

struct sn_rocm_code sn_rocm_find_code(uint64_t code_object)
{
	struct place *all = atomic_load_explicit(&places, memory_order_acquire);
	uint32_t module = all && code_object < CODE_OBJECTS
			      ? atomic_load_explicit(&all[code_object].module, memory_order_acquire)
			      : 0;
	if (!module)
		return (struct sn_rocm_code){SN_ID_NONE, 0};
	return (struct sn_rocm_code){
	    module - 1, atomic_load_explicit(&all[code_object].bias, memory_order_relaxed)};
}
