/* SPDX-License-Identifier: Apache-2.0 */
/* Reading perf-PID.map; see perf_map.h. */
#include "perf_map.h"

#include "base/vec.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many lines of one place are compared for the latest that holds. */
#define OVERLAPS_MAX 256u

struct entry {
	uint64_t start, end;
	uint64_t furthest; /* the greatest end up to here */
	uint32_t line;	   /* of the file; later ones hold */
	const char *name;  /* in `text` */
};

struct sn_perf_map {
	char *text; /* the whole file, lines ended by NUL */
	struct entry *entries;
	size_t count, capacity;
};

static int by_start(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

/* START SIZE NAME; false where it is not of that form. */
static bool parse_line(char *line, struct entry *entry)
{
	char *end;
	if (!isxdigit((unsigned char)*line))
		return false;
	entry->start = strtoull(line, &end, 16);
	if (*end != ' ' || !isxdigit((unsigned char)end[1]))
		return false;
	uint64_t bytes = strtoull(end + 1, &end, 16);
	if (*end != ' ' || !end[1] || !bytes || entry->start + bytes < entry->start)
		return false;
	entry->end = entry->start + bytes;
	entry->name = end + 1;
	return true;
}

static int parse(struct sn_perf_map *map)
{
	char *next = map->text;
	for (uint32_t line = 0; next && *next; line++) {
		char *at = next;
		next = strchr(at, '\n');
		if (!next)
			break; /* whoever writes it was interrupted in this line */
		*next++ = 0;
		struct entry entry = {.line = line};
		if (!parse_line(at, &entry))
			continue;
		if (sn_vec_reserve(&map->entries, &map->capacity, map->count + 1) < 0)
			return SN_ERR_MEMORY;
		map->entries[map->count++] = entry;
	}
	if (map->count)
		qsort(map->entries, map->count, sizeof(*map->entries), by_start);
	uint64_t furthest = 0;
	for (size_t i = 0; i < map->count; i++) {
		if (map->entries[i].end > furthest)
			furthest = map->entries[i].end;
		map->entries[i].furthest = furthest;
	}
	return 0;
}

static int read_text(const char *path, char **text)
{
	size_t length = 0, capacity = 0;
	ssize_t got = 1;
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0)
		return SN_ERR_IO;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return SN_ERR_IO;
	}
	*text = NULL;
	while (got > 0) {
		if (sn_vec_reserve(text, &capacity, length + 65536) < 0) {
			close(fd);
			return SN_ERR_MEMORY;
		}
		got = read(fd, *text + length, 65535);
		if (got > 0)
			length += (size_t)got;
	}
	close(fd);
	(*text)[length] = 0;
	return got < 0 ? SN_ERR_IO : 0;
}

int sn_perf_map_open(const char *path, struct sn_perf_map **map)
{
	struct sn_perf_map *made = calloc(1, sizeof(*made));
	if (!made)
		return SN_ERR_MEMORY;
	int result = read_text(path, &made->text);
	if (!result)
		result = parse(made);
	if (result)
		sn_perf_map_free(made);
	else
		*map = made;
	return result;
}

void sn_perf_map_free(struct sn_perf_map *map)
{
	if (!map)
		return;
	free(map->entries);
	free(map->text);
	free(map);
}

static const struct entry *find(const struct sn_perf_map *map, uint64_t address)
{
	const struct entry *best = NULL;
	size_t low = 0, high = map->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned looked = 0; low > 0 && looked < OVERLAPS_MAX; looked++) {
		const struct entry *entry = &map->entries[--low];
		if (entry->furthest <= address)
			break;
		if (entry->end > address && (!best || entry->line > best->line))
			best = entry;
	}
	return best;
}

/* What V8 puts before a function's name: its kind, and a mark of the tier. */
static const char *after_kind(const char *name)
{
	static const char *const kinds[] = {
	    "JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "InterpretedFunction:"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i]))) {
			name += strlen(kinds[i]);
			return name + strspn(name, "*~^+-'");
		}
	return NULL;
}

/* The colon of ":NUMBER" that ends at `end`, of a text that begins at `text`; NULL for none. */
static const char *before_number(const char *text, const char *end)
{
	const char *at = end;
	while (at > text && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && at > text && at[-1] == ':' ? at - 1 : NULL;
}

/* "NAME FILE:LINE:COLUMN", or of Node 18 and before "NAME FILE:LINE"; false where it is not of that
 * form. */
static bool take_apart(const char *text, struct sn_string_pool *pool, struct sn_symbol_frame *frame)
{
	const char *space = strchr(text, ' ');
	const char *last = space ? before_number(space + 1, text + strlen(text)) : NULL;
	const char *colon = last ? before_number(space + 1, last) : NULL;
	if (!colon)
		colon = last;
	if (!colon || colon == space + 1)
		return false;
	struct sn_pooled *name = sn_string_pool_intern(pool, text, (size_t)(space - text));
	struct sn_pooled *file =
	    sn_string_pool_intern(pool, space + 1, (size_t)(colon - (space + 1)));
	if (!name || !file)
		return false;
	frame->name = name->length ? name->text : "(anonymous)";
	frame->file = file->text;
	frame->function_line = (uint32_t)strtoul(colon + 1, NULL, 10);
	return true;
}

bool sn_perf_map_find(const struct sn_perf_map *map, uint64_t address, struct sn_string_pool *pool,
		      struct sn_symbol_frame *frame, uint64_t *start)
{
	const struct entry *entry = find(map, address);
	if (!entry)
		return false;
	*start = entry->start;
	const char *script = after_kind(entry->name);
	if (!script || !take_apart(script, pool, frame))
		frame->name = sn_string_pool_string(pool, entry->name);
	return frame->name;
}
