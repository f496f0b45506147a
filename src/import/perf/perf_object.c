/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files behind mappings, and maps offsets in them to addresses. */
#include "perf_object.h"

#include "binary/elf/elf_file.h"
#include "format/measurement/measurement.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sn_perf_object_release(struct sn_perf_object *object)
{
	sn_recorded_image_close(&object->image);
	sn_elf_code_release(&object->code);
	free(object->path);
}

static bool is_of_build(const struct sn_elf_file *elf, const uint8_t *id, uint32_t length)
{
	return !length || (elf->build_id_bytes == length && !memcmp(elf->build_id, id, length));
}

/* The path of perf's own copy of a file: ~/.debug/.build-id/ab/cdef.../elf. */
static bool cached_path(const uint8_t *id, uint32_t length, char *path, size_t size)
{
	const char *home = getenv("HOME");
	char hex[2 * SN_PERF_BUILD_ID_MAX + 1] = "";
	for (uint32_t i = 0; i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return home && length &&
	       snprintf(path, size, "%s/.debug/.build-id/%.2s/%s/elf", home, hex, hex + 2) <
		   (int)size &&
	       access(path, R_OK) == 0;
}

/* Opens the file at `path`; *elf is NULL if it is not of the object's build. 0 or SN_ERR_MEMORY. */
static int open_build(const struct sn_perf_object *object, const char *path,
		      struct sn_elf_file **elf)
{
	*elf = NULL;
	if (sn_elf_file_open(path, elf, NULL) == SN_ERR_MEMORY)
		return SN_ERR_MEMORY;
	if (*elf && !is_of_build(*elf, object->id, object->id_bytes)) {
		sn_elf_file_free(*elf);
		*elf = NULL;
	}
	return 0;
}

static int find_file(struct sn_perf_object *object, const char **path, char *cached)
{
	struct sn_elf_file *elf;
	int result = open_build(object, *path, &elf);
	if (!result && !elf && cached_path(object->id, object->id_bytes, cached, PATH_MAX)) {
		result = open_build(object, cached, &elf);
		if (elf)
			*path = cached;
	}
	if (elf)
		result = sn_elf_code_of(elf, &object->code);
	sn_elf_file_free(elf);
	return result;
}

int sn_perf_object_open(struct sn_perf_object *object, const uint8_t *id, uint32_t length,
			const char *path)
{
	char cached[PATH_MAX];
	memcpy(object->id, id, length);
	object->id_bytes = length;
	int result = object->flags ? 0 : find_file(object, &path, cached);
	object->path = strdup(path);
	return object->path ? result : SN_ERR_MEMORY;
}

const struct sn_recorded_image *sn_perf_object_image(struct sn_perf_object *object)
{
	bool has_code = object->code.pieces || object->flags & SN_MODULE_VDSO;
	if (!object->was_tried && has_code)
		sn_recorded_image_open(&object->image, object->path, object->id, object->id_bytes);
	object->was_tried = true;
	return object->image.module.eh_frame_hdr ? &object->image : NULL;
}
