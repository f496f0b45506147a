/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol cache's files; see symbol_cache.h. All numbers are little endian. */
#include "symbol_cache.h"
#include "base/buffer.h"
#include "base/file_at.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "format/checksum.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC "SONDESYM"
/* What other sources of this folder resolved may be something else now, and a cache would then give
 * analysis other names, lines and loops than a fresh look: a hash of them (sources_hash.py) is part
 * of the file. Builds without Meson have none. */
#if __has_include("symbol_sources.h")
#include "symbol_sources.h"
#else
#define SN_SYMBOL_SOURCES 0u
#endif
/* Raised with the layout. A build without capstone finds fewer loops. */
#ifdef SN_HAVE_CAPSTONE
#define VERSION 5u
#else
#define VERSION (5u | 1u << 31)
#endif
#define SUFFIX	      ".sonde-symbols"
#define TOUCH_AFTER_S 3600 /* a file's time says when it was last used, to within this */

/* Followed by dependencies, locations, frames and strings. Strings are offsets; 0 is none. */
struct cache_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t status;
	uint32_t dependency_count;
	uint32_t location_count;
	uint32_t frame_count;
	uint32_t string_bytes;
	uint32_t options;
	uint32_t path;
	uint32_t debug_file;
	uint32_t sources;  /* SN_SYMBOL_SOURCES */
	uint64_t checksum; /* XXH64 of the whole file with this field zero */
};
_Static_assert(sizeof(struct cache_header) == 56, "on disk");

struct cache_dependency {
	int64_t modified_ns;
	int64_t size_bytes;
	uint32_t path;
	uint32_t reserved;
};
_Static_assert(sizeof(struct cache_dependency) == 24, "on disk");

struct cache_location {
	uint64_t address;
	uint64_t function_start;
	uint32_t first_frame;
	uint32_t depth;
};
_Static_assert(sizeof(struct cache_location) == 24, "on disk");

struct cache_frame {
	uint32_t name, linkage_name, file;
	uint32_t line, function_line;
	uint32_t kind;
	uint64_t loop_header;
	uint32_t loop_number;
	uint32_t reserved;
};
_Static_assert(sizeof(struct cache_frame) == 40, "on disk");

void sn_symbol_dependency_read(struct sn_symbol_dependency *dependency)
{
	struct stat status;
	dependency->modified_ns = 0;
	dependency->size_bytes = -1;
	if (stat(dependency->path, &status) < 0)
		return;
	dependency->modified_ns =
	    (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
	dependency->size_bytes = (int64_t)status.st_size;
}

static bool file_path(const struct sn_symbol_cache_key *key, char *path)
{
	char name[140] = "path-";
	if (key->build_id_bytes > 64)
		return false;
	if (key->build_id_bytes > 0)
		for (size_t i = 0; i < key->build_id_bytes; i++)
			snprintf(name + 2 * i, 3, "%02x", key->build_id[i]);
	else
		snprintf(name + 5, 17, "%016llx",
			 (unsigned long long)sn_checksum(key->path, strlen(key->path)));
	return snprintf(path, PATH_MAX, "%s/%s" SUFFIX, key->folder, name) < PATH_MAX;
}

/* ---- reading ---- */

/* The whole file, or NULL. A file that is in use is marked as such by its time. */
static void *read_file(const char *path, size_t *size)
{
	struct stat status;
	char *data = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_size >= (off_t)sizeof(struct cache_header) &&
	    (uint64_t)status.st_size <= SN_SYMBOL_CACHE_BYTES_MAX) {
		size_t got = 0;
		*size = (size_t)status.st_size;
		data = malloc(*size);
		while (data && got < *size) {
			ssize_t bytes = read(fd, data + got, *size - got);
			if (bytes <= 0) {
				free(data);
				data = NULL;
				break;
			}
			got += (size_t)bytes;
		}
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		if (data && now.tv_sec - status.st_mtim.tv_sec > TOUCH_AFTER_S)
			futimens(fd, NULL);
	}
	close(fd);
	return data;
}

struct view {
	struct cache_header header;
	const struct cache_dependency *dependencies;
	const struct cache_location *locations;
	const struct cache_frame *frames;
	const char *strings;
};

static bool open_view(void *image, size_t size, struct view *view)
{
	struct cache_header *header = image;
	view->header = *header;
	header->checksum = 0;
	if (memcmp(header->magic, MAGIC, 8) != 0 || header->version != VERSION ||
	    header->sources != SN_SYMBOL_SOURCES)
		return false;
	uint64_t expected =
	    sizeof(*header) + (uint64_t)header->dependency_count * sizeof(struct cache_dependency) +
	    (uint64_t)header->location_count * sizeof(struct cache_location) +
	    (uint64_t)header->frame_count * sizeof(struct cache_frame) + header->string_bytes;
	if (expected != size || sn_checksum(image, size) != view->header.checksum)
		return false;
	view->dependencies = (const struct cache_dependency *)(header + 1);
	view->locations =
	    (const struct cache_location *)(view->dependencies + header->dependency_count);
	view->frames = (const struct cache_frame *)(view->locations + header->location_count);
	view->strings = (const char *)(view->frames + header->frame_count);
	return header->string_bytes > 0 && view->strings[header->string_bytes - 1] == '\0';
}

static const char *string_at(const struct view *view, uint32_t offset)
{
	return offset > 0 && offset < view->header.string_bytes ? view->strings + offset : NULL;
}

static bool is_same_string(const struct view *view, uint32_t offset, const char *expected)
{
	const char *string = string_at(view, offset);
	return strcmp(string ? string : "", expected) == 0;
}

/* Whether nothing that the contents depend on has changed. */
static bool is_current(const struct view *view, const struct sn_symbol_cache_key *key,
		       struct sn_symbol_cache *cache)
{
	if (!is_same_string(view, view->header.options, key->options) ||
	    (key->build_id_bytes == 0 && !is_same_string(view, view->header.path, key->path)))
		return false;
	for (uint32_t i = 0; i < view->header.dependency_count; i++) {
		const struct cache_dependency *kept = &view->dependencies[i];
		struct sn_symbol_dependency *now = &cache->dependencies[i];
		now->path = string_at(view, kept->path);
		if (!now->path)
			return false;
		sn_symbol_dependency_read(now);
		if (now->size_bytes != kept->size_bytes || now->modified_ns != kept->modified_ns)
			return false;
	}
	return true;
}

static bool read_contents(const struct view *view, struct sn_symbol_cache *cache)
{
	for (uint32_t i = 0; i < view->header.frame_count; i++) {
		const struct cache_frame *frame = &view->frames[i];
		cache->frames[i] =
		    (struct sn_symbol_frame){.name = string_at(view, frame->name),
					     .linkage_name = string_at(view, frame->linkage_name),
					     .file = string_at(view, frame->file),
					     .line = frame->line,
					     .function_line = frame->function_line,
					     .kind = frame->kind,
					     .loop_header = frame->loop_header,
					     .loop_number = frame->loop_number};
	}
	for (uint32_t i = 0; i < view->header.location_count; i++) {
		const struct cache_location *location = &view->locations[i];
		if (location->depth == 0 || location->depth > view->header.frame_count ||
		    location->first_frame > view->header.frame_count - location->depth ||
		    (i > 0 && location->address <= view->locations[i - 1].address))
			return false;
		cache->known[i].address = location->address;
		cache->known[i].location =
		    (struct sn_symbol_location){cache->frames + location->first_frame,
						location->depth, location->function_start};
	}
	return true;
}

void sn_symbol_cache_release(struct sn_symbol_cache *cache)
{
	free(cache->known);
	free(cache->dependencies);
	free(cache->frames);
	free(cache->image);
	memset(cache, 0, sizeof(*cache));
}

bool sn_symbol_cache_load(const struct sn_symbol_cache_key *key, struct sn_symbol_cache *cache)
{
	char path[PATH_MAX];
	size_t size = 0;
	struct view view;
	memset(cache, 0, sizeof(*cache));
	if (!file_path(key, path))
		return false;
	cache->image = read_file(path, &size);
	if (!cache->image || !open_view(cache->image, size, &view)) {
		sn_symbol_cache_release(cache);
		return false;
	}
	cache->dependency_count = view.header.dependency_count;
	cache->known_count = view.header.location_count;
	cache->dependencies = calloc(cache->dependency_count + 1, sizeof(*cache->dependencies));
	cache->known = calloc(cache->known_count + 1, sizeof(*cache->known));
	cache->frames = calloc(view.header.frame_count + 1, sizeof(*cache->frames));
	if (!cache->dependencies || !cache->known || !cache->frames ||
	    !is_current(&view, key, cache) || !read_contents(&view, cache)) {
		sn_symbol_cache_release(cache);
		return false;
	}
	cache->status = (enum sn_symbol_status)view.header.status;
	cache->debug_file = string_at(&view, view.header.debug_file);
	return true;
}

/* ---- writing ---- */

struct writer {
	struct sn_string_pool pool; /* of strings; derived: the offset as a pointer */
	struct sn_buffer strings;   /* the first is empty, so that no other one is at 0 */
	bool failed;
};

static uint32_t add_string(struct writer *writer, const char *string)
{
	if (!string || writer->failed)
		return 0;
	struct sn_pooled *pooled = sn_string_pool_intern(&writer->pool, string, strlen(string));
	writer->failed = !pooled || writer->strings.failed ||
			 writer->strings.count + pooled->length + 1u > UINT32_MAX / 2;
	if (writer->failed)
		return 0;
	if (!pooled->derived) {
		pooled->derived = (const char *)(uintptr_t)writer->strings.count;
		sn_buffer_put(&writer->strings, pooled->text, pooled->length + 1u);
	}
	return (uint32_t)(uintptr_t)pooled->derived;
}

static int write_beside(const char *path, const void *data, size_t bytes, struct sn_error *error)
{
	char temporary[PATH_MAX + 32];
	int length = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	if (length < 0 || (size_t)length >= sizeof(temporary))
		return sn_fail(error, SN_ERR_IO, "cannot write '%s': path too long", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, strerror(errno));
	int code = sn_write_at(fd, data, bytes, 0);
	close(fd);
	if (!code && rename(temporary, path) == 0)
		return 0;
	if (!code)
		code = errno;
	unlink(temporary);
	return sn_fail(error, SN_ERR_IO, "cannot write '%s': %s", path, strerror(code));
}

static void *encode(const struct sn_symbol_cache_key *key, const struct sn_symbol_cache *cache,
		    size_t *size)
{
	struct writer writer = {0};
	struct cache_header header = {
	    .version = VERSION, .status = cache->status, .sources = SN_SYMBOL_SOURCES};
	uint8_t *image = NULL;
	uint64_t frame_count = 0;
	for (size_t i = 0; i < cache->known_count; i++)
		frame_count += cache->known[i].location.depth;
	if (frame_count > UINT32_MAX / 64)
		return NULL;
	size_t fixed = sizeof(header) + cache->dependency_count * sizeof(struct cache_dependency) +
		       cache->known_count * sizeof(struct cache_location) +
		       frame_count * sizeof(struct cache_frame);
	image = calloc(1, fixed);
	if (!image)
		goto fail;
	sn_buffer_byte(&writer.strings, 0);
	memcpy(header.magic, MAGIC, 8);
	header.dependency_count = (uint32_t)cache->dependency_count;
	header.location_count = (uint32_t)cache->known_count;
	header.frame_count = (uint32_t)frame_count;
	header.options = key->options[0] ? add_string(&writer, key->options) : 0;
	header.path = add_string(&writer, key->path);
	header.debug_file = add_string(&writer, cache->debug_file);
	struct cache_dependency *dependency = (struct cache_dependency *)(image + sizeof(header));
	for (size_t i = 0; i < cache->dependency_count; i++)
		*dependency++ = (struct cache_dependency){
		    cache->dependencies[i].modified_ns, cache->dependencies[i].size_bytes,
		    add_string(&writer, cache->dependencies[i].path), 0};
	struct cache_location *location = (struct cache_location *)dependency;
	struct cache_frame *frame = (struct cache_frame *)(location + cache->known_count);
	uint32_t first = 0;
	for (size_t i = 0; i < cache->known_count; i++) {
		const struct sn_symbol_location *from = &cache->known[i].location;
		*location++ = (struct cache_location){cache->known[i].address, from->function_start,
						      first, from->depth};
		first += from->depth;
		for (uint32_t j = 0; j < from->depth; j++)
			*frame++ =
			    (struct cache_frame){add_string(&writer, from->frames[j].name),
						 add_string(&writer, from->frames[j].linkage_name),
						 add_string(&writer, from->frames[j].file),
						 from->frames[j].line,
						 from->frames[j].function_line,
						 from->frames[j].kind,
						 from->frames[j].loop_header,
						 from->frames[j].loop_number,
						 0};
	}
	writer.failed |= writer.strings.failed;
	uint8_t *grown = writer.failed ? NULL : realloc(image, fixed + writer.strings.count);
	if (!grown)
		goto fail;
	image = grown;
	header.string_bytes = (uint32_t)writer.strings.count;
	memcpy(image, &header, sizeof(header));
	memcpy(image + fixed, writer.strings.bytes, writer.strings.count);
	*size = fixed + writer.strings.count;
	header.checksum = sn_checksum(image, *size);
	memcpy(image, &header, sizeof(header));
	goto done;
fail:
	free(image);
	image = NULL;
done:
	sn_buffer_release(&writer.strings);
	sn_string_pool_release(&writer.pool);
	return image;
}

/* ---- the folder ---- */

static int make_folders(const char *folder, struct sn_error *error)
{
	char path[PATH_MAX];
	size_t length = strlen(folder);
	if (length >= sizeof(path))
		return sn_fail(error, SN_ERR_IO, "cannot create '%.64s...': path too long", folder);
	memcpy(path, folder, length + 1);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		path[i] = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path,
				       strerror(errno));
		path[i] = folder[i];
	}
	return 0;
}

struct kept_file {
	char name[160];
	int64_t used_s;
	uint64_t bytes;
};

SN_SORT_BY(sort_by_use, struct kept_file, const void *, SN_ORDER(a->used_s, b->used_s));

/* Removes the files longest unused until the rest is small enough. */
static void trim_folder(const char *folder)
{
	struct kept_file *files = NULL;
	size_t count = 0, capacity = 0;
	uint64_t total = 0;
	DIR *directory = opendir(folder);
	struct dirent *entry;
	while (directory && (entry = readdir(directory))) {
		struct stat status;
		if (!strstr(entry->d_name, SUFFIX) ||
		    strlen(entry->d_name) >= sizeof(files->name) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		struct kept_file file = {.used_s = (int64_t)status.st_mtim.tv_sec,
					 .bytes = (uint64_t)status.st_size};
		strcpy(file.name, entry->d_name);
		if (sn_vec_push(&files, &capacity, &count, file))
			break;
		total += file.bytes;
	}
	if (total > SN_SYMBOL_CACHE_BYTES_MAX) {
		sort_by_use(files, count, NULL);
		for (size_t i = 0; i < count && total > SN_SYMBOL_CACHE_BYTES_MAX; i++)
			if (unlinkat(dirfd(directory), files[i].name, 0) == 0)
				total -= files[i].bytes;
	}
	if (directory)
		closedir(directory);
	free(files);
}

/* Ours, and of theirs what we do not have. Both ascend. NULL for lack of memory. */
static struct sn_symbol_known *merge(const struct sn_symbol_cache *ours,
				     const struct sn_symbol_cache *theirs, size_t *count)
{
	struct sn_symbol_known *merged =
	    malloc((ours->known_count + theirs->known_count + 1) * sizeof(*merged));
	size_t i = 0, j = 0;
	*count = 0;
	while (merged && (i < ours->known_count || j < theirs->known_count)) {
		bool is_ours =
		    j == theirs->known_count ||
		    (i < ours->known_count && ours->known[i].address <= theirs->known[j].address);
		if (is_ours && j < theirs->known_count &&
		    ours->known[i].address == theirs->known[j].address)
			j++;
		merged[(*count)++] = is_ours ? ours->known[i++] : theirs->known[j++];
	}
	return merged;
}

int sn_symbol_cache_save(const struct sn_symbol_cache_key *key, const struct sn_symbol_cache *cache,
			 struct sn_error *error)
{
	char path[PATH_MAX];
	struct sn_symbol_cache theirs, both = *cache;
	size_t size;
	if (!file_path(key, path))
		return sn_fail(error, SN_ERR_IO, "cannot write below '%s': path too long",
			       key->folder);
	int result = make_folders(key->folder, error);
	if (result < 0)
		return result;
	bool has_theirs = sn_symbol_cache_load(key, &theirs);
	if (has_theirs)
		both.known = merge(cache, &theirs, &both.known_count);
	if (both.known && both.known_count > SN_SYMBOL_CACHE_LOCATIONS_MAX) {
		if (has_theirs)
			free(both.known);
		both = *cache;
	}
	void *image = both.known ? encode(key, &both, &size) : NULL;
	if (both.known != cache->known)
		free(both.known);
	sn_symbol_cache_release(&theirs);
	result = image ? write_beside(path, image, size, error) : sn_fail_memory(error);
	free(image);
	if (result == 0)
		trim_folder(key->folder);
	return result;
}
