/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects, from memory, or from the part of a file that a URI names: "file:///path#offset=N&size=N". */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number in the fragment of a URI; 0: it has none. */
static uint64_t part_of(const char *uri, const char *name)
{
	const char *fragment = uri ? strchr(uri, '#') : NULL;
	const char *at = fragment ? strstr(fragment, name) : NULL;
	return at ? strtoull(at + strlen(name), NULL, 0) : 0;
}

/* To be freed; NULL. */
static void *read_file(const struct sn_rocprofiler_code_object *loaded, uint64_t *size)
{
	struct stat status;
	uint64_t offset = part_of(loaded->uri, "offset="), got = 0;
	if (fstat(loaded->file, &status) || offset >= (uint64_t)status.st_size)
		return NULL;
	*size = part_of(loaded->uri, "size=");
	if (!*size || *size > (uint64_t)status.st_size - offset)
		*size = (uint64_t)status.st_size - offset;
	uint8_t *bytes = malloc(*size);
	while (bytes && got < *size) {
		ssize_t more = pread(loaded->file, bytes + got, *size - got, (off_t)(offset + got));
		if (more <= 0)
			break;
		got += (uint64_t)more;
	}
	if (got == *size)
		return bytes;
	free(bytes);
	return NULL;
}

static uint64_t hash_of(const uint8_t *bytes, uint64_t size)
{
	uint64_t hash = 0xcbf29ce484222325u ^ size, word;
	for (uint64_t at = 0; at < size; at += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + at, size - at < sizeof(word) ? size - at : sizeof(word));
		hash = (hash ^ word) * 1099511628211u;
		hash ^= hash >> 32;
	}
	return hash;
}

void record_code(const struct sn_rocprofiler_code_object *loaded)
{
	struct recording_code fields = {.id = loaded->id};
	void *copy =
	    loaded->storage == SN_ROCPROFILER_IN_FILE ? read_file(loaded, &fields.size) : NULL;
	const void *bytes = copy;
	if (loaded->storage == SN_ROCPROFILER_IN_MEMORY) {
		bytes = (const void *)(uintptr_t)loaded->memory_base;
		fields.size = loaded->memory_size;
	}
	if (bytes) {
		fields.hash = hash_of(bytes, fields.size);
		fields.held = record_is_to_be_held(fields.hash, fields.size) ? fields.size : 0;
	}
	record_string(loaded->uri);
	record_add(RECORDING_OF_code, &fields, sizeof(fields), bytes, fields.held);
	free(copy);
}
