/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"
#include "place.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As it lies in the file, where it is kept: so it is there however the process ends. Its text is NAME, STREAM, GRAPH and PLACE, with tabs
 * between them, which none of them has. */
struct record {
	uint32_t size, text_bytes; /* size 0: the end */
	uint64_t count, total_ns, bytes;
	char text[];
};

struct row {
	const char *name;
	char *place;
	uint32_t stream, graph;
	struct record *record;
	struct row *next;
};

#define CHUNK_BYTES (1u << 20)
#define MOST_CHUNKS 1024u

static struct {
	char *bytes; /* NULL: none yet */
	size_t used;
} chunk;

#define BUCKETS 4096u

static struct row *rows[BUCKETS];
static const char *path;
static bool has_graphs;
static __thread char here[1024];

__attribute__((constructor)) static void begin(void)
{
	path = getenv("FAKE_TABLE");
	has_graphs = getenv("FAKE_TABLE_GRAPHS");
	if (path && !*path)
		path = NULL;
}

static bool launches(const char *name)
{
	return strstr(name, "Launch") || strstr(name, "Managed") || strstr(name, "cpy") ||
	       strstr(name, "emset") || strncmp(name, "cu", 2);
}

void fake_table_call(const char *name)
{
	if (path && launches(name))
		fake_place_here(here, sizeof(here));
}

static const char *copy_name(const struct fake_operation *operation)
{
	static const char *const places[] = {"pageable", "pinned", "device", "managed", "array"};
	static char names[5][5][32];
	char *name = names[operation->from][operation->to];
	if (operation->peer >= 0)
		return "copy between devices";
	if (!name[0])
		snprintf(name, 32, "copy %s to %s", places[operation->from], places[operation->to]);
	return name;
}

static const char *name_of(const struct fake_operation *operation)
{
	switch (operation->kind) {
	case FAKE_KERNEL:
		return operation->name;
	case FAKE_COPY:
		return copy_name(operation);
	default:
		return "set";
	}
}

static uint32_t hash_of(const char *name, const char *place, uint32_t more)
{
	uint32_t hash = 2166136261u ^ more;
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	for (; *place; place++)
		hash = (hash ^ (uint8_t)*place) * 16777619u;
	return hash % BUCKETS;
}

/* A file of its own for each process, for what that executes, and when the one before is full. */
static void begin_chunk(void)
{
	char name[4096];
	int file = -1;
	for (unsigned number = 0; file < 0 && number < MOST_CHUNKS; number++) {
		snprintf(name, sizeof(name), "%s.%d.%u", path, getpid(), number);
		file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	chunk.bytes = MAP_FAILED;
	if (file >= 0 && !ftruncate(file, CHUNK_BYTES))
		chunk.bytes = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (chunk.bytes == MAP_FAILED) {
		fprintf(stderr, "fake device: cannot write the table %s\n", name);
		abort();
	}
	close(file);
	chunk.used = 0;
}

static struct record *new_record(const char *name, const char *place, uint32_t stream,
				 uint32_t graph)
{
	/* two numbers, three tabs and the end */
	size_t room = strlen(name) + strlen(place) + 32;
	size_t size = (sizeof(struct record) + room + 7) & ~(size_t)7;
	if (!chunk.bytes || CHUNK_BYTES - chunk.used < size)
		begin_chunk();
	struct record *record = (struct record *)(chunk.bytes + chunk.used);
	record->text_bytes =
	    (uint32_t)snprintf(record->text, room, "%s\t%u\t%u\t%s", name, stream, graph, place);
	record->size = (uint32_t)size;
	chunk.used += size;
	return record;
}

static struct row *row_of(const char *name, const char *place, uint32_t stream, uint32_t graph)
{
	struct row **bucket = &rows[hash_of(name, place, stream * 31 + graph)];
	for (struct row *row = *bucket; row; row = row->next)
		if (row->stream == stream && row->graph == graph && !strcmp(row->name, name) &&
		    !strcmp(row->place, place))
			return row;
	struct row *row = calloc(1, sizeof(*row));
	*row = (struct row){.name = name,
			    .place = strdup(place),
			    .stream = stream,
			    .graph = graph,
			    .record = new_record(name, place, stream, graph),
			    .next = *bucket};
	return *bucket = row;
}

static void add_to(struct row *row, uint64_t ns, uint64_t bytes)
{
	row->record->count++;
	row->record->total_ns += ns;
	row->record->bytes += bytes;
}

static void add(const struct fake_run *run, const char *name, uint64_t bytes)
{
	add_to(row_of(name, here, run->stream, run->graph), run->end_ns - run->start_ns, bytes);
}

char *fake_table_here(void)
{
	return strdup(here);
}

void fake_table_add_managed(const struct fake_managed *what, const char *place, uint64_t bytes)
{
	static const char *const names[] = {"managed to device", "managed to host",
					    "managed, fault of a device",
					    "managed, fault of the host"};
	if (path)
		add_to(row_of(names[what->kind], place, 0, 0), what->end_ns - what->start_ns,
		       bytes);
}

void fake_table_add(const struct fake_run *run)
{
	if (path)
		add(run, name_of(run->operation), run->operation->bytes);
}

void fake_table_add_graph(const struct fake_run *whole)
{
	if (path && has_graphs)
		add(whole, "graph", 0);
}

void fake_table_forget(void)
{
	memset(rows, 0, sizeof(rows));
	chunk.bytes = NULL;
}
