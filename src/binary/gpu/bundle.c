/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatbins and offload bundles; see bundle.h.
 *
 * A fatbin is a header and entries, each with a header of its own that says the kind, the
 * architecture, how it is compressed and how long it is. A section holds one after the other. An
 * offload bundle is a table of (offset, size, name), and may be compressed as a whole ("CCOB").
 */
#include "bundle.h"
#include "base/vec.h"
#include "binary/elf/elf_file.h"

#include <stdio.h>
#include <string.h>

#ifdef SN_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef SN_HAVE_ZSTD
#include <zstd.h>
#endif

#define FATBIN_MAGIC	    0xBA55ED50u
#define FATBIN_HEADER_BYTES 16
#define FATBIN_ELF	    2
#define FATBIN_IS_LZ4	    0x2000
#define FATBIN_IS_ZSTD	    0x8000
#define BUNDLE_MAGIC	    "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_MAGIC_BYTES  24
#define COMPRESSED_MAGIC    "CCOB"
#define ALL_UNPACKED_MAX    (4ull << 30)
#define LZ4_RATIO_MAX	    255
#define BUNDLE_UNPACKED_MAX (1ull << 30)
#define BUNDLE_ENTRIES_MAX  4096

enum packing { PACKED_NOT, PACKED_LZ4, PACKED_ZSTD, PACKED_ZLIB };

static bool starts(struct sn_bytes bytes, const char *magic, size_t length)
{
	return bytes.size >= length && memcmp(bytes.data, magic, length) == 0;
}

static bool is_fatbin(struct sn_bytes bytes)
{
	uint32_t magic = 0;
	if (bytes.size >= FATBIN_HEADER_BYTES)
		memcpy(&magic, bytes.data, 4);
	return magic == FATBIN_MAGIC;
}

bool sn_gpu_is_bundle(struct sn_bytes file)
{
	return is_fatbin(file) || starts(file, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES) ||
	       starts(file, COMPRESSED_MAGIC, 4);
}

/* Into to[size]; false where it does not give exactly that. */
static bool unpack(struct sn_bytes packed, enum packing packing, uint8_t *to, size_t size)
{
	switch (packing) {
	case PACKED_NOT:
		if (packed.size < size)
			return false;
		memcpy(to, packed.data, size);
		return true;
#ifdef SN_HAVE_LZ4
	case PACKED_LZ4:
		return packed.size <= INT32_MAX && size <= INT32_MAX &&
		       LZ4_decompress_safe((const char *)packed.data, (char *)to, (int)packed.size,
					   (int)size) == (int)size;
#endif
#ifdef SN_HAVE_ZSTD
	case PACKED_ZSTD:
		return ZSTD_decompress(to, size, packed.data, packed.size) == size;
#endif
#ifdef SN_HAVE_ZLIB
	case PACKED_ZLIB: {
		uLongf length = size;
		return uncompress(to, &length, packed.data, packed.size) == Z_OK && length == size;
	}
#endif
	default:
		return false;
	}
}

/* What the packed bytes can become: each of the three has a bound, zstd one that is no help. */
static bool is_plausible(struct sn_bytes packed, enum packing packing, uint64_t size)
{
	if (size == 0 || size > BUNDLE_UNPACKED_MAX)
		return false;
	if (packing == PACKED_NOT)
		return size <= packed.size;
	if (packing == PACKED_ZSTD)
		return packed.size > 0;
	return size / (LZ4_RATIO_MAX * 5) <= packed.size;
}

/* A copy, unpacked; NULL with *skips set where that cannot be, and without for lack of memory. */
static uint8_t *copy(struct sn_gpu_bundle *bundle, struct sn_bytes packed, enum packing packing,
		     uint64_t size, bool *skips)
{
	*skips = !is_plausible(packed, packing, size) ||
		 size > ALL_UNPACKED_MAX - bundle->unpacked_bytes;
	if (*skips)
		return NULL;
	uint8_t *bytes = malloc((size_t)size);
	if (!bytes)
		return NULL;
	*skips = !unpack(packed, packing, bytes, (size_t)size);
	if (!*skips)
		return bytes;
	free(bytes);
	return NULL;
}

static int add_image(struct sn_gpu_bundle *bundle, struct sn_bytes packed, enum packing packing,
		     uint64_t size, uint64_t offset, const char *target)
{
	bool skips;
	if (sn_vec_reserve(&bundle->images, &bundle->capacity, bundle->count + 1) != 0)
		return SN_ERR_MEMORY;
	uint8_t *bytes = copy(bundle, packed, packing, size, &skips);
	if (!bytes && !skips)
		return SN_ERR_MEMORY;
	if (skips) {
		bundle->skipped++;
		return 0;
	}
	struct sn_bytes image = {bytes, (size_t)size};
	if (!starts(image, ELFMAG, SELFMAG)) {
		free(bytes);
		return 0;
	}
	struct sn_gpu_image *added = &bundle->images[bundle->count++];
	*added = (struct sn_gpu_image){.bytes = image, .offset = offset};
	snprintf(added->target, sizeof(added->target), "%s", target);
	bundle->unpacked_bytes += size;
	return 0;
}

struct fatbin_entry {
	uint16_t kind;
	uint32_t header_bytes, packed_bytes, architecture;
	uint64_t bytes, flags, unpacked_bytes;
};

static bool read_fatbin_entry(struct sn_cursor *cursor, struct fatbin_entry *entry)
{
	entry->kind = sn_cursor_u16(cursor);
	sn_cursor_skip(cursor, 2);
	entry->header_bytes = sn_cursor_u32(cursor);
	entry->bytes = sn_cursor_u64(cursor);
	entry->packed_bytes = sn_cursor_u32(cursor);
	sn_cursor_skip(cursor, 8); /* of options; version */
	entry->architecture = sn_cursor_u32(cursor);
	sn_cursor_skip(cursor, 8); /* its name */
	entry->flags = sn_cursor_u64(cursor);
	sn_cursor_skip(cursor, 8);
	entry->unpacked_bytes = sn_cursor_u64(cursor);
	return !cursor->failed;
}

static int add_fatbin_entry(struct sn_gpu_bundle *bundle, const struct fatbin_entry *entry,
			    struct sn_bytes payload, uint64_t offset)
{
	char target[32];
	enum packing packing = entry->flags & FATBIN_IS_LZ4    ? PACKED_LZ4
			       : entry->flags & FATBIN_IS_ZSTD ? PACKED_ZSTD
							       : PACKED_NOT;
	uint64_t size = packing == PACKED_NOT ? payload.size : entry->unpacked_bytes;
	if (entry->kind != FATBIN_ELF)
		return 0;
	if (packing != PACKED_NOT && entry->packed_bytes < payload.size)
		payload.size = entry->packed_bytes;
	snprintf(target, sizeof(target), "sm_%u", entry->architecture);
	return add_image(bundle, payload, packing, size, offset, target);
}

/* One fatbin at `start`; *end is one past it. */
static int read_fatbin(struct sn_gpu_bundle *bundle, struct sn_bytes bytes, uint64_t start,
		       uint64_t origin, uint64_t *end)
{
	struct sn_cursor cursor = sn_cursor_at(bytes, start + 6);
	uint16_t header_bytes = sn_cursor_u16(&cursor);
	uint64_t size = sn_cursor_u64(&cursor), at = start + header_bytes;
	int status = 0;
	*end = bytes.size;
	if (header_bytes < FATBIN_HEADER_BYTES || at > bytes.size)
		return 0;
	if (size < bytes.size - at)
		*end = at + size;
	while (status == 0 && at < *end) {
		struct fatbin_entry entry;
		cursor = sn_cursor_at(bytes, at);
		if (!read_fatbin_entry(&cursor, &entry) || entry.header_bytes < 64 ||
		    entry.header_bytes > *end - at || entry.bytes > *end - at - entry.header_bytes)
			break;
		at += entry.header_bytes;
		struct sn_bytes payload = {bytes.data + at, (size_t)entry.bytes};
		status = add_fatbin_entry(bundle, &entry, payload, origin + at);
		at += entry.bytes;
	}
	return status;
}

/* A section of them, each aligned to 8 bytes. */
static int read_fatbins(struct sn_gpu_bundle *bundle, struct sn_bytes bytes, uint64_t origin)
{
	int status = 0;
	for (uint64_t at = 0; status == 0 && at < bytes.size;) {
		struct sn_bytes rest = {bytes.data + at, (size_t)(bytes.size - at)};
		uint64_t end;
		if (!is_fatbin(rest)) {
			at += 8;
			continue;
		}
		status = read_fatbin(bundle, bytes, at, origin, &end);
		at = end > at ? (end + 7) & ~7ull : bytes.size;
	}
	return status;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" to "gfx90a:xnack-"; false for the host. */
static bool bundle_target(const char *name, size_t length, char *target, size_t size)
{
	char text[256];
	if (length >= sizeof(text))
		return false;
	memcpy(text, name, length);
	text[length] = '\0';
	const char *processor = strstr(text, "gfx");
	if (!processor)
		processor = strstr(text, "sm_");
	if (!processor || strncmp(text, "host-", 5) == 0)
		return false;
	snprintf(target, size, "%s", processor);
	return true;
}

/* *bundle_bytes is where the last entry ends. */
static int read_offload_bundle(struct sn_gpu_bundle *bundle, struct sn_bytes bytes, uint64_t origin,
			       uint64_t *bundle_bytes)
{
	struct sn_cursor cursor = sn_cursor_at(bytes, BUNDLE_MAGIC_BYTES);
	uint64_t count = sn_cursor_u64(&cursor);
	int status = 0;
	*bundle_bytes = BUNDLE_MAGIC_BYTES + 8;
	for (uint64_t i = 0; i < count && i < BUNDLE_ENTRIES_MAX && status == 0; i++) {
		char target[64];
		uint64_t offset = sn_cursor_u64(&cursor), size = sn_cursor_u64(&cursor);
		uint64_t name_bytes = sn_cursor_u64(&cursor);
		const char *name = (const char *)cursor.at;
		sn_cursor_skip(&cursor, name_bytes);
		if (cursor.failed)
			break;
		if (offset > bytes.size || size > bytes.size - offset)
			continue;
		if (offset + size > *bundle_bytes)
			*bundle_bytes = offset + size;
		if (!bundle_target(name, (size_t)name_bytes, target, sizeof(target)))
			continue;
		struct sn_bytes image = {bytes.data + offset, (size_t)size};
		status = add_image(bundle, image, PACKED_NOT, size, origin + offset, target);
	}
	return status;
}

/* Versions 1 to 3 differ in which sizes they tell, and how wide. */
static int read_compressed(struct sn_gpu_bundle *bundle, struct sn_bytes bytes, uint64_t origin,
			   uint64_t *bundle_bytes)
{
	struct sn_cursor cursor = sn_cursor_at(bytes, 4);
	uint16_t version = sn_cursor_u16(&cursor), method = sn_cursor_u16(&cursor);
	unsigned width = version >= 3 ? 8 : 4;
	uint64_t total = version >= 2 ? sn_cursor_uint(&cursor, width) : bytes.size;
	uint64_t size = sn_cursor_uint(&cursor, width);
	sn_cursor_skip(&cursor, 8); /* a hash */
	uint64_t header = (uint64_t)(cursor.at - bytes.data), unused;
	*bundle_bytes = bytes.size;
	if (cursor.failed || total < header || total > bytes.size || method > 1)
		return 0;
	*bundle_bytes = total;
	struct sn_bytes packed = {cursor.at, (size_t)(total - header)};
	bool skips;
	uint8_t *unpacked =
	    copy(bundle, packed, method == 0 ? PACKED_ZLIB : PACKED_ZSTD, size, &skips);
	if (!unpacked) {
		bundle->skipped += skips;
		return skips ? 0 : SN_ERR_MEMORY;
	}
	struct sn_bytes inner = {unpacked, (size_t)size};
	int status = 0;
	if (starts(inner, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES))
		status = read_offload_bundle(bundle, inner, origin, &unused);
	free(unpacked);
	return status;
}

/* Bundles one after the other; linkers align each to a page. */
static int read_offload_bundles(struct sn_gpu_bundle *bundle, struct sn_bytes bytes,
				uint64_t origin)
{
	int status = 0;
	for (uint64_t at = 0; status == 0 && at < bytes.size;) {
		struct sn_bytes rest = {bytes.data + at, (size_t)(bytes.size - at)};
		uint64_t size = 8;
		if (starts(rest, BUNDLE_MAGIC, BUNDLE_MAGIC_BYTES))
			status = read_offload_bundle(bundle, rest, origin + at, &size);
		else if (starts(rest, COMPRESSED_MAGIC, 4))
			status = read_compressed(bundle, rest, origin + at, &size);
		at += (size + 7) & ~7ull;
	}
	return status;
}

static int read_host(struct sn_bytes file, struct sn_gpu_bundle *bundle)
{
	struct sn_elf_file *elf;
	int status = sn_elf_file_from_memory(file.data, file.size, false, &elf, NULL);
	if (status != 0)
		return status == SN_ERR_MEMORY ? status : 0;
	for (uint32_t i = 0; i < elf->section_count && status == 0; i++) {
		struct sn_elf_section *section = &elf->sections[i];
		struct sn_bytes contents = {0};
		bool is_nvidia = strcmp(section->name, ".nv_fatbin") == 0 ||
				 strcmp(section->name, "__nv_relfatbin") == 0;
		bool is_hip = strcmp(section->name, ".hip_fatbin") == 0;
		if (is_nvidia || is_hip)
			contents = sn_elf_section_contents(elf, section);
		if (is_nvidia)
			status = read_fatbins(bundle, contents, section->header.sh_offset);
		else if (is_hip)
			status = read_offload_bundles(bundle, contents, section->header.sh_offset);
	}
	sn_elf_file_free(elf);
	return status;
}

int sn_gpu_bundle_read(struct sn_bytes file, struct sn_gpu_bundle *bundle)
{
	*bundle = (struct sn_gpu_bundle){0};
	if (is_fatbin(file))
		return read_fatbins(bundle, file, 0);
	if (sn_gpu_is_bundle(file))
		return read_offload_bundles(bundle, file, 0);
	return read_host(file, bundle);
}

void sn_gpu_bundle_release(struct sn_gpu_bundle *bundle)
{
	for (size_t i = 0; i < bundle->count; i++)
		free((void *)(uintptr_t)bundle->images[i].bytes.data);
	free(bundle->images);
	*bundle = (struct sn_gpu_bundle){0};
}
