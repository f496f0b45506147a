/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading perf-PID.map; see perf_map.h. The file is read once, from its beginning to its end, and
 * not stored: memory grows with the requested addresses, not with the file.
 *
 * The addresses are the leaves of a segment tree in their order. A line covers a range of them, and
 * is stored in the O(log n) nodes of the range, replacing earlier ones. The line of an address is
 * the latest one on the path from its leaf to the root.
 */
#include "perf_map.h"
#include "base/search.h"
#include "base/text.h"
#include "binary/demangle/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_BYTES 65536u
/* More than "START SIZE N", two numbers of 64 bits and the first byte of a name, ever takes. */
#define HEAD_BYTES  64u
#define LINE_BYTES  4096u /* of a line's beginning, name and all, that are kept */

struct sn_perf_map {
	int fd;
	uint64_t bytes; /* what the file had when it was opened, at most the limit */
};

struct line {
	uint64_t start, end;
	const char *name;
};

/* The addresses that are asked for, and the lines found so far. */
struct search {
	const uint64_t *addresses;
	size_t count;
	uint64_t *tree; /* [2 * count]: where the noted line begins in the file, from 1; 0 none */
};

/* START SIZE NAME; false where it is not of that form. */
static bool parse_line(const char *text, struct line *line)
{
	char *end;
	if (!isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	line->start = strtoull(text, &end, 16);
	if (*end != ' ' || !isxdigit((unsigned char)end[1]))
		return false;
	uint64_t bytes = strtoull(end + 1, &end, 16);
	if (errno || *end != ' ' || !end[1] || !bytes || line->start + bytes < line->start)
		return false;
	line->end = line->start + bytes;
	line->name = end + 1;
	return true;
}

/* Any user who may write to /tmp could rename another user's code, so, as in perf, only a map of
 * the user or root is accepted. The owner of a measurement's folder can change all files in it
 * anyway. */
static bool is_foreign(const char *path, const struct stat *file, uid_t owner)
{
	char folder[PATH_MAX];
	struct stat status;
	if (!file->st_uid || file->st_uid == owner)
		return false;
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 0;
	return snprintf(folder, sizeof(folder), "%.*s/.", length ? length : 1,
			length ? path : ".") >= (int)sizeof(folder) ||
	       stat(folder, &status) || status.st_uid != file->st_uid;
}

enum sn_symbol_status sn_perf_map_open(const char *path, struct sn_perf_map **map)
{
	return sn_perf_map_open_of(path, geteuid(), map);
}

enum sn_symbol_status sn_perf_map_open_of(const char *path, uid_t owner, struct sn_perf_map **map)
{
	struct stat status;
	enum sn_symbol_status result = SN_SYMBOL_NOT_FOUND;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
	if (fd < 0)
		return result;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode)) {
		uint64_t bytes = (uint64_t)status.st_size;
		bool is_partial = bytes > SN_PERF_MAP_BYTES_MAX;
		result = is_foreign(path, &status, owner) ? SN_SYMBOL_FOREIGN
			 : is_partial			  ? SN_SYMBOL_PARTIAL
							  : SN_SYMBOL_SYMBOLS;
		if (result != SN_SYMBOL_FOREIGN && (*map = malloc(sizeof(**map)))) {
			**map = (struct sn_perf_map){
			    .fd = fd, .bytes = is_partial ? SN_PERF_MAP_BYTES_MAX : bytes};
			return result;
		}
	}
	close(fd);
	return result == SN_SYMBOL_FOREIGN ? result : SN_SYMBOL_NOT_FOUND;
}

void sn_perf_map_free(struct sn_perf_map *map)
{
	if (!map)
		return;
	close(map->fd);
	free(map);
}

/* ---- which line holds ---- */

/* How many of the addresses are less. */
static size_t count_below(const struct search *search, uint64_t address)
{
	return sn_search(i, search->count, search->addresses[i] < address);
}

static void note_line(struct search *search, const char *text, uint64_t offset)
{
	struct line line;
	if (!parse_line(text, &line))
		return;
	size_t from = count_below(search, line.start) + search->count;
	size_t to = count_below(search, line.end) + search->count;
	for (; from < to; from /= 2, to /= 2) {
		if (from & 1)
			search->tree[from++] = offset + 1;
		if (to & 1)
			search->tree[--to] = offset + 1;
	}
}

/* Takes the whole lines of text[length], which lies at `offset`; returns where the rest begins. */
static size_t note_lines(struct search *search, char *text, size_t length, uint64_t offset)
{
	size_t at = 0;
	for (char *end; (end = memchr(text + at, '\n', length - at));
	     at = (size_t)(end - text) + 1) {
		*end = 0;
		note_line(search, text + at, offset + at);
	}
	return at;
}

static size_t read_block(const struct sn_perf_map *map, uint64_t offset, char *block)
{
	uint64_t left = map->bytes - offset;
	ssize_t got = pread(map->fd, block, left < BLOCK_BYTES ? left : BLOCK_BYTES, (off_t)offset);
	return got > 0 ? (size_t)got : 0;
}

/* A line longer than a block; returns where the next one begins. A line without an end is ignored:
 * its writer was interrupted. */
static uint64_t note_long_line(const struct sn_perf_map *map, struct search *search, char *block,
			       uint64_t offset)
{
	char head[HEAD_BYTES] = "";
	uint64_t begin = offset;
	memcpy(head, block, sizeof(head) - 1);
	for (size_t got; (got = read_block(map, offset, block)); offset += got) {
		char *end = memchr(block, '\n', got);
		if (!end)
			continue;
		note_line(search, head, begin);
		return offset + (uint64_t)(end - block) + 1;
	}
	return map->bytes;
}

/* A file that shrinks meanwhile ends where it ends. */
static void note_all(const struct sn_perf_map *map, struct search *search, char *block)
{
	uint64_t offset = 0;
	for (size_t got; (got = read_block(map, offset, block));) {
		size_t taken = note_lines(search, block, got, offset);
		if (!taken && got < BLOCK_BYTES)
			break;
		offset = taken ? offset + taken : note_long_line(map, search, block, offset);
	}
}

static uint64_t line_of(const struct search *search, size_t address)
{
	uint64_t latest = 0;
	for (size_t node = address + search->count; node; node /= 2)
		if (search->tree[node] > latest)
			latest = search->tree[node];
	return latest;
}

/* ---- its name ---- */

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

/* The colon of ":NUMBER" that ends at END, of a text that begins at TEXT; NULL where there is none.
 */
static const char *before_number(const char *text, const char *end)
{
	const char *at = end;
	while (at > text && isdigit((unsigned char)at[-1]))
		at--;
	return at < end && at > text && at[-1] == ':' ? at - 1 : NULL;
}

/* "NAME FILE:LINE:COLUMN", or of Node 18 and before "NAME FILE:LINE"; false where it is not of that
 * form. */
static bool parse_frame(const char *text, struct sn_string_pool *pool,
			struct sn_symbol_frame *frame)
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

/* False where the file is another one by now. */
static bool read_line(const struct sn_perf_map *map, uint64_t offset, uint64_t address, char *text,
		      struct line *line)
{
	ssize_t got = pread(map->fd, text, LINE_BYTES - 1, (off_t)offset);
	text[got > 0 ? got : 0] = 0;
	text[strcspn(text, "\n")] = 0;
	return parse_line(text, line) && line->start <= address && address < line->end;
}

/* As compilers to machine code (numba) have it. */
static void name_symbol(const char *symbol, struct sn_string_pool *pool,
			struct sn_symbol_frame *frame)
{
	char *name = sn_demangle_short(symbol);
	frame->name = name ? sn_string_pool_string(pool, name) : NULL;
	if (frame->name && strcmp(name, symbol) != 0)
		frame->linkage_name = sn_string_pool_string(pool, symbol);
	free(name);
}

static bool name_line(const struct line *line, struct sn_string_pool *pool,
		      struct sn_symbol_frame *frame)
{
	const char *script = after_kind(line->name);
	if (sn_text_begins(line->name, "_Z"))
		name_symbol(line->name, pool, frame);
	else if (!script || !parse_frame(script, pool, frame))
		frame->name = sn_string_pool_string(pool, line->name);
	return frame->name;
}

static int name_all(const struct sn_perf_map *map, const struct search *search,
		    struct sn_string_pool *pool, struct sn_perf_map_name *names)
{
	char text[LINE_BYTES];
	uint64_t last = 0;
	for (size_t i = 0; i < search->count; i++) {
		struct line line;
		uint64_t at = line_of(search, i);
		names[i] = (struct sn_perf_map_name){0};
		if (at && at == last)
			names[i] = names[i - 1];
		else if (at && read_line(map, at - 1, search->addresses[i], text, &line)) {
			names[i].start = line.start;
			if (!name_line(&line, pool, &names[i].frame))
				return SN_ERR_MEMORY;
		}
		last = at;
	}
	return 0;
}

int sn_perf_map_find(const struct sn_perf_map *map, const uint64_t *addresses, size_t count,
		     struct sn_string_pool *pool, struct sn_perf_map_name *names)
{
	struct search search = {addresses, count, calloc(count + 1, 2 * sizeof(*search.tree))};
	char *block = malloc(BLOCK_BYTES);
	int result = SN_ERR_MEMORY;
	if (search.tree && block) {
		note_all(map, &search, block);
		result = name_all(map, &search, pool, names);
	}
	free(search.tree);
	free(block);
	return result;
}
