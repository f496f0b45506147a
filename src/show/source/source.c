/* SPDX-License-Identifier: Apache-2.0 */
/* Source files are read whole, once; see source.h. */
#include "source.h"

#include "base/utf8.h"
#include "base/vec.h"
#include "lib/db/database_access.h"
#include "source_roots.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SOURCE_BYTES = 16 << 20, MAX_BYTES = 256 << 20 };

struct sn_source_file {
	char *path;
	char *text; /* NULL: not to be shown */
	size_t length;
};

void sn_source_init(struct sn_source *source, const struct sonde_db *db,
		    struct sn_source_roots *roots, uint64_t measured_ns)
{
	*source = (struct sn_source){
	    .roots = roots, .owner = sn_db_owner(db), .measured_ns = measured_ns};
}

void sn_source_release(struct sn_source *source)
{
	for (size_t i = 0; i < source->count; i++) {
		free(source->files[i].path);
		free(source->files[i].text);
	}
	free(source->files);
	*source = (struct sn_source){0};
}

static char *read_whole(int descriptor, size_t size, size_t *length)
{
	char *text = malloc(size + 1);
	ssize_t got = 0;
	for (*length = 0; text && *length < size; *length += (size_t)got) {
		got = read(descriptor, text + *length, size - *length);
		if (got <= 0)
			break;
	}
	if (text)
		text[*length] = '\0';
	return text;
}

static void load(struct sn_source *source, struct sn_source_file *file)
{
	size_t bytes;
	uint64_t changed_ns;
	int descriptor = source->roots ? sn_source_roots_open(source->roots, file->path,
							      source->owner, &bytes, &changed_ns)
				       : -1;
	if (descriptor < 0)
		return;
	if (bytes <= MAX_SOURCE_BYTES && source->bytes + bytes <= MAX_BYTES &&
	    (source->measured_ns == 0 || changed_ns <= source->measured_ns)) {
		file->text = read_whole(descriptor, bytes, &file->length);
		source->bytes += file->length;
	}
	close(descriptor);
}

static const struct sn_source_file *find_file(struct sn_source *source, const char *path)
{
	for (size_t i = 0; i < source->count; i++)
		if (strcmp(source->files[i].path, path) == 0)
			return &source->files[i];
	struct sn_source_file new = {.path = strdup(path)};
	if (!new.path || sn_vec_push(&source->files, &source->capacity, &source->count, new)) {
		free(new.path);
		return NULL;
	}
	struct sn_source_file *file = &source->files[source->count - 1];
	load(source, file);
	return file;
}

bool sn_source_line(struct sn_source *source, const char *path, uint32_t line, char *text,
		    size_t size)
{
	const struct sn_source_file *file = find_file(source, path);
	if (!file || !file->text || line == 0)
		return false;
	const char *at = file->text;
	for (uint32_t i = 1; i < line && at; i++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return false;
	at += strspn(at, " \t\r\f");
	size_t length = strcspn(at, "\r\n");
	char copy[512];
	if (length >= sizeof(copy))
		length = sizeof(copy) - 1;
	memcpy(copy, at, length);
	copy[length] = '\0';
	sn_utf8_clean(copy, text, size);
	return *text != '\0';
}
