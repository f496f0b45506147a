/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"
#include "place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct row {
	const char *name;
	char *place;
	uint32_t stream, graph;
	uint64_t count, total_ns, bytes;
	struct row *next;
};

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
	static const char *const places[] = {"pageable", "pinned", "device", "managed"};
	static char names[4][4][32];
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
			    .next = *bucket};
	return *bucket = row;
}

static void add_to(struct row *row, uint64_t ns, uint64_t bytes)
{
	row->count++;
	row->total_ns += ns;
	row->bytes += bytes;
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
}

/* Columns with tabs between them: names and places have none. */
__attribute__((destructor)) static void end(void)
{
	char name[4096];
	if (!path)
		return;
	snprintf(name, sizeof(name), "%s.%d", path, getpid());
	FILE *file = fopen(name, "w");
	if (!file)
		return;
	for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
		for (struct row *row = rows[bucket]; row; row = row->next)
			fprintf(file, "%s\t%u\t%u\t%llu\t%llu\t%llu\t%s\n", row->name, row->stream,
				row->graph, (unsigned long long)row->count,
				(unsigned long long)row->total_ns, (unsigned long long)row->bytes,
				row->place);
	fclose(file);
}
