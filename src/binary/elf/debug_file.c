/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files; see debug_file.h. */
#include "debug_file.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif

/* Opens a candidate if it exists and `check` agrees that it is the right one. */
struct candidate {
	const struct sn_debug_search *search;
	const uint8_t *build_id; /* must be this one; 0 bytes: the checksum decides */
	size_t build_id_bytes;
	uint32_t crc;
	bool has_crc;
	char *path; /* PATH_MAX bytes; the one found */
};

static bool crc_matches(const struct sn_elf_file *file, uint32_t crc)
{
#ifdef SN_HAVE_ZLIB
	return crc32_z(0, file->bytes.data, file->bytes.size) == crc;
#else
	return false;
#endif
}

static bool is_right(const struct candidate *want, const struct sn_elf_file *file)
{
	if (want->build_id_bytes > 0 && file->build_id_bytes > 0)
		return want->build_id_bytes <= file->build_id_bytes &&
		       memcmp(want->build_id, file->build_id, want->build_id_bytes) == 0;
	return want->has_crc && crc_matches(file, want->crc);
}

static struct sn_elf_file *try_path(const struct candidate *want)
{
	struct sn_elf_file *file = NULL;
	if (want->search->tried)
		want->search->tried(want->search->data, want->path);
	if (sn_elf_file_open(want->path, &file, NULL) < 0)
		return NULL;
	if (is_right(want, file))
		return file;
	sn_elf_file_free(file);
	return NULL;
}

/* Steps through the ':'-separated folders. False at the end. */
static bool next_folder(const char **folders, int *length)
{
	while (**folders == ':')
		++*folders;
	if (**folders == '\0')
		return false;
	*length = (int)strcspn(*folders, ":");
	return true;
}

static struct sn_elf_file *find_by_build_id(const struct candidate *want)
{
	char hex[2 * SN_BUILD_ID_BYTES_MAX + 1] = "";
	int length;
	if (want->build_id_bytes < 2 || want->build_id_bytes > SN_BUILD_ID_BYTES_MAX)
		return NULL;
	for (size_t i = 0; i < want->build_id_bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", want->build_id[i]);
	const char *folders = want->search->folders;
	for (; next_folder(&folders, &length); folders += length) {
		int written = snprintf(want->path, PATH_MAX, "%s%.*s/.build-id/%.2s/%s.debug",
				       want->search->sysroot, length, folders, hex, hex + 2);
		struct sn_elf_file *file = written < PATH_MAX ? try_path(want) : NULL;
		if (file)
			return file;
	}
	return NULL;
}

static struct sn_elf_file *find_by_link(const struct candidate *want, const char *name,
					const char *main_path)
{
	char real[PATH_MAX];
	struct sn_elf_file *file = NULL;
	int length;
	/* the link names a file, never a place */
	if (name[0] == '\0' || strchr(name, '/'))
		return NULL;
	if (!realpath(main_path, real))
		snprintf(real, sizeof(real), "%s", main_path);
	const char *slash = strrchr(real, '/');
	int folder = slash ? (int)(slash - real) : 0;
	if (snprintf(want->path, PATH_MAX, "%.*s/%s", folder, real, name) < PATH_MAX &&
	    strcmp(want->path, real) != 0)
		file = try_path(want);
	if (!file &&
	    snprintf(want->path, PATH_MAX, "%.*s/.debug/%s", folder, real, name) < PATH_MAX)
		file = try_path(want);
	size_t root = strlen(want->search->sysroot);
	const char *inside = strncmp(real, want->search->sysroot, root) == 0 ? real + root : real;
	folder -= (int)(inside - real);
	const char *folders = want->search->folders;
	for (; !file && next_folder(&folders, &length); folders += length)
		if (snprintf(want->path, PATH_MAX, "%s%.*s%.*s/%s", want->search->sysroot, length,
			     folders, folder, inside, name) < PATH_MAX)
			file = try_path(want);
	return file;
}

struct sn_elf_file *sn_debug_file_find(const struct sn_debug_search *search,
				       struct sn_elf_file *main, const char *main_path,
				       const uint8_t *build_id, size_t build_id_bytes, char *path)
{
	struct candidate want = {search, build_id, build_id_bytes, 0, false, path};
	struct sn_elf_file *file = find_by_build_id(&want);
	if (file || !main)
		return file;
	struct sn_bytes link = sn_elf_file_contents(main, ".gnu_debuglink");
	struct sn_cursor cursor = sn_cursor_at(link, 0);
	const char *name = sn_cursor_string(&cursor);
	sn_cursor_skip(&cursor, (4 - (size_t)(cursor.at - link.data) % 4) % 4);
	want.crc = sn_cursor_u32(&cursor);
	want.has_crc = !cursor.failed;
	return name && want.has_crc ? find_by_link(&want, name, main_path) : NULL;
}

struct sn_elf_file *sn_debug_file_find_shared(const struct sn_debug_search *search,
					      struct sn_elf_file *file, const char *path)
{
	char candidate_path[PATH_MAX], real[PATH_MAX];
	struct sn_cursor cursor = sn_cursor_at(sn_elf_file_contents(file, ".gnu_debugaltlink"), 0);
	const char *name = sn_cursor_string(&cursor);
	if (!name || sn_cursor_left(&cursor) == 0)
		return NULL;
	struct candidate want = {search, cursor.at, sn_cursor_left(&cursor),
				 0,	 false,	    candidate_path};
	struct sn_elf_file *shared = find_by_build_id(&want);
	if (shared)
		return shared;
	if (name[0] == '/') {
		if (snprintf(candidate_path, PATH_MAX, "%s%s", search->sysroot, name) >= PATH_MAX)
			return NULL;
		return try_path(&want);
	}
	if (!realpath(path, real))
		return NULL;
	int folder = (int)(strrchr(real, '/') - real);
	if (snprintf(candidate_path, PATH_MAX, "%.*s/%s", folder, real, name) >= PATH_MAX)
		return NULL;
	return try_path(&want);
}
