/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by direction, by size, and by the nodes that ask for them. */
#include "timeline/answers.h"
#include "timeline/devices/copies.h"
#include "timeline/devices/copy_direction.h"
#include "timeline/iterations/iteration_copies.h"
#include "timeline/node_sums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes in steps of four times: below 1 KiB, up to 4 KiB, ... */
enum { SIZES = 12 };

struct sum {
	double count, bytes, time_ns;
	double sized_ns; /* of those whose size is known */
};

static unsigned size_class(double bytes)
{
	unsigned class = 0;
	for (double limit = 1024; bytes >= limit && class + 1 < SIZES; limit *= 4)
		class ++;
	return class;
}

static void size_name(unsigned class, char *text, size_t size)
{
	static const char *const limits[SIZES] = {"1 KiB",   "4 KiB",	"16 KiB", "64 KiB",
						  "256 KiB", "1 MiB",	"4 MiB",  "16 MiB",
						  "64 MiB",  "256 MiB", "1 GiB",  ""};
	if (!class)
		snprintf(text, size, "below %s", limits[0]);
	else if (class + 1 == SIZES)
		snprintf(text, size, "from %s", limits[SIZES - 2]);
	else
		snprintf(text, size, "%s to %s", limits[class - 1], limits[class]);
}

static void add(struct sum *sum, const struct sn_copy *copy)
{
	double time = (double)(copy->end_ns - copy->start_ns);
	sum->count++;
	sum->time_ns += time;
	if (isnan(copy->bytes))
		return;
	sum->bytes += copy->bytes;
	sum->sized_ns += time;
}

static void put_sum(struct sn_sheet *sheet, const struct sum *sum)
{
	sn_sheet_number(sheet, sum->count);
	sn_sheet_number(sheet, sum->bytes);
	sn_sheet_number(sheet, sum->time_ns);
	sn_sheet_number(sheet, sum->sized_ns > 0 ? sum->bytes / sum->sized_ns * 1e9 : NAN);
}

static void sum_columns(struct sn_sheet *sheet)
{
	sn_sheet_column(sheet, "count", "copies", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "bytes_per_s", "rate", "bytes/s");
}

/* All copies: by direction and size, and by direction and node. */
struct all {
	const struct sn_answers *answers;
	struct sum sums[SN_COPY_DIRECTIONS][SIZES + 1]; /* the last: all sizes */
	struct sum *nodes;				/* by direction and node */
	double count;
};

static void take(void *data, const struct sn_copy *copy)
{
	struct all *all = data;
	const struct sn_answers *answers = all->answers;
	enum sn_copy_direction direction = sn_copy_direction(answers->db, copy->context);
	all->count++;
	add(&all->sums[direction][SIZES], copy);
	if (!isnan(copy->bytes))
		add(&all->sums[direction][size_class(copy->bytes)], copy);
	add(all->nodes + (size_t)direction * answers->nodes.table.count +
		answers->nodes.of_context[copy->context],
	    copy);
}

static void tables(const struct all *all, struct sn_page *page)
{
	char size[40];
	struct sn_sheet *sheet = sn_page_sheet(page, "transfers", "copies by direction");
	sheet->is_whole = true;
	sn_sheet_column(sheet, "direction", "direction", "");
	sum_columns(sheet);
	struct sn_sheet *sizes = sn_page_sheet(page, "transfer_sizes", "copies by size");
	sizes->is_whole = true;
	sn_sheet_column(sizes, "direction", "direction", "");
	sn_sheet_column(sizes, "size", "each", "");
	sum_columns(sizes);
	for (unsigned d = 0; d < SN_COPY_DIRECTIONS; d++) {
		if (!all->sums[d][SIZES].count)
			continue;
		sn_sheet_text(sheet, sn_copy_direction_name(d));
		put_sum(sheet, &all->sums[d][SIZES]);
		for (unsigned s = 0; s < SIZES; s++) {
			if (!all->sums[d][s].count)
				continue;
			size_name(s, size, sizeof(size));
			sn_sheet_text(sizes, sn_copy_direction_name(d));
			sn_sheet_text(sizes, size);
			put_sum(sizes, &all->sums[d][s]);
		}
	}
}

static int by_node(const struct all *all, struct sn_page *page)
{
	const struct sn_node_map *nodes = &all->answers->nodes;
	char label[SN_NODE_CHARS];
	size_t count;
	struct sn_sheet *sheet = sn_page_sheet(page, "transfer_nodes", "who copies");
	sn_sheet_column(sheet, "direction", "direction", "");
	sum_columns(sheet);
	sn_sheet_column(sheet, "node", "node", "");
	for (unsigned d = 0; d < SN_COPY_DIRECTIONS; d++) {
		const struct sum *sums = all->nodes + (size_t)d * nodes->table.count;
		double *values = calloc(nodes->table.count + 1ull, sizeof(*values));
		for (uint32_t i = 0; i < nodes->table.count && values; i++)
			values[i] = sums[i].time_ns;
		struct sn_node_sum *sorted = values ? sn_node_sums(nodes, values, &count) : NULL;
		for (size_t i = 0; sorted && i < count; i++) {
			sn_sheet_text(sheet, sn_copy_direction_name(d));
			put_sum(sheet, sums + sorted[i].node);
			sn_sheet_text(sheet, sn_node_map_label(nodes, sorted[i].node, label));
		}
		bool has_memory = sorted != NULL;
		free(sorted);
		free(values);
		if (!has_memory)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int show(struct all *all, struct sn_page *page, struct sn_error *error)
{
	if (!all->count) {
		sn_sheet_note(sn_page_sheet(page, "transfers", "copies by direction"),
			      "no copies of devices are recorded");
		return 0;
	}
	tables(all, page);
	if (by_node(all, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return sn_iteration_copies(all->answers, page, error);
}

int sn_view_transfers(const struct sn_answers *answers, struct sn_page *page,
		      struct sn_error *error)
{
	struct all all = {
	    .answers = answers,
	    .nodes = calloc((size_t)SN_COPY_DIRECTIONS * answers->nodes.table.count + 1,
			    sizeof(*all.nodes)),
	};
	int result = all.nodes ? sn_copies_walk(&answers->processes, SONDE_NONE, take, &all, error)
			       : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		result = show(&all, page, error);
	free(all.nodes);
	return result;
}
