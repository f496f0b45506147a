/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t fake_samples_interval;

static struct row {
	const char *kernel;
	uint64_t pc, taken, lost;
	int reason;
	struct row *next;
} * rows;

static const char *const *names;
static const char *table_path;
static bool is_written;

static int reason_of(const char *name, int count)
{
	for (int at = 0; at < count; at++)
		if (!strcmp(names[at], name))
			return at;
	fprintf(stderr, "fake samples: no reason '%s'\n", name);
	abort();
}

const struct fake_planned *fake_samples_plan(const char *const *reasons, int reason_count)
{
	const char *path = getenv("FAKE_SAMPLES");
	struct fake_planned *plan = NULL, **last = &plan;
	FILE *file = path && *path ? fopen(path, "r") : NULL;
	char pattern[256], reason[64];
	unsigned long pc;
	unsigned count;
	names = reasons;
	table_path = getenv("FAKE_SAMPLES_TABLE");
	while (file && fscanf(file, "%255s %lx %63s %u", pattern, &pc, reason, &count) == 4) {
		struct fake_planned *line = calloc(1, sizeof(*line));
		*line = (struct fake_planned){
		    .pc = pc, .reason = reason_of(reason, reason_count), .count = count};
		strcpy(line->pattern, pattern);
		*last = line;
		last = &line->next;
	}
	if (file)
		fclose(file);
	return plan;
}

/* At the end; again where something is lost after that. */
__attribute__((destructor)) static void write_table(void)
{
	char name[4096];
	is_written = true;
	if (!table_path || !*table_path || !rows)
		return;
	snprintf(name, sizeof(name), "%s.%d", table_path, getpid());
	FILE *file = fopen(name, "w");
	if (!file)
		return;
	for (const struct row *row = rows; row; row = row->next)
		fprintf(file, "%s\t%llx\t%s\t%llu\t%llu\t%llu\n", row->kernel,
			(unsigned long long)row->pc, names[row->reason],
			(unsigned long long)row->taken, (unsigned long long)row->lost,
			(unsigned long long)fake_samples_interval);
	fclose(file);
}

void fake_samples_count(const char *kernel, uint64_t pc, int reason, int64_t taken, int64_t lost)
{
	struct row *row = rows;
	while (row && (strcmp(row->kernel, kernel) || row->pc != pc || row->reason != reason))
		row = row->next;
	if (!row) {
		row = calloc(1, sizeof(*row));
		*row = (struct row){kernel, pc, 0, 0, reason, rows};
		rows = row;
	}
	row->taken += (uint64_t)taken;
	row->lost += (uint64_t)lost;
	if (is_written)
		write_table();
}
