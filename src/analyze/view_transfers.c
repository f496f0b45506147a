/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by direction, by size, and by the nodes that ask for them. */
#include "answers.h"
#include "node_sums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes in steps of four times: below 1 KiB, up to 4 KiB, ... */
enum { DIRECTIONS = 6, SIZES = 12 };

struct sum {
	double count, bytes, time_ns;
	double sized_ns; /* of those whose size is known */
};

static const char *const directions[DIRECTIONS] = {"host to device",   "device to host",
						   "device to device", "between devices",
						   "host to host",     "not known"};

/* As tools name them: "Memcpy HtoD (Pinned -> Device)", "MEMORY_COPY_HOST_TO_DEVICE". */
static unsigned direction_of(const struct sonde_db *db, uint32_t context)
{
	static const struct {
		const char *part;
		unsigned direction;
	} parts[] = {{"HtoD", 0},	    {"HOST_TO_DEVICE", 0}, {"DtoH", 1},
		     {"DEVICE_TO_HOST", 1}, {"DtoD", 2},	   {"DEVICE_TO_DEVICE", 2},
		     {"PtoP", 3},	    {"HtoH", 4},	   {"HOST_TO_HOST", 4},
		     {"Host-to-Device", 0}, {"Device-to-Host", 1}, {"Device-to-Device", 2},
		     {"Peer-to-Peer", 3},   {"write", 0},	   {"read", 1},
		     {"Write", 0},	    {"Read", 1},	   {"copy", 2}};
	const char *name =
	    sonde_db_string(db, sonde_db_frame(db, sonde_db_context(db, context)->frame)->name);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].direction;
	return DIRECTIONS - 1;
}

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

static void tables(const struct sn_answers *answers, struct sn_page *page)
{
	struct sum sums[DIRECTIONS][SIZES + 1] = {0}; /* the last: all sizes */
	char size[40];
	for (size_t i = 0; i < answers->details.copy_count; i++) {
		const struct sn_copy *copy = answers->details.copies + i;
		unsigned direction = direction_of(answers->db, copy->context);
		add(&sums[direction][SIZES], copy);
		if (!isnan(copy->bytes))
			add(&sums[direction][size_class(copy->bytes)], copy);
	}
	struct sn_sheet *sheet = sn_page_sheet(page, "transfers", "copies by direction");
	sheet->is_whole = true;
	sn_sheet_column(sheet, "direction", "direction", "");
	sum_columns(sheet);
	struct sn_sheet *sizes = sn_page_sheet(page, "transfer_sizes", "copies by size");
	sizes->is_whole = true;
	sn_sheet_column(sizes, "direction", "direction", "");
	sn_sheet_column(sizes, "size", "each", "");
	sum_columns(sizes);
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		if (!sums[d][SIZES].count)
			continue;
		sn_sheet_text(sheet, directions[d]);
		put_sum(sheet, &sums[d][SIZES]);
		for (unsigned s = 0; s < SIZES; s++) {
			if (!sums[d][s].count)
				continue;
			size_name(s, size, sizeof(size));
			sn_sheet_text(sizes, directions[d]);
			sn_sheet_text(sizes, size);
			put_sum(sizes, &sums[d][s]);
		}
	}
}

static int by_node(const struct sn_answers *answers, struct sn_page *page)
{
	uint32_t nodes = answers->nodes.table.count;
	char label[SN_NODE_CHARS];
	size_t count;
	struct sn_sheet *sheet = sn_page_sheet(page, "transfer_nodes", "who copies");
	sn_sheet_column(sheet, "direction", "direction", "");
	sum_columns(sheet);
	sn_sheet_column(sheet, "node", "node", "");
	for (unsigned d = 0; d < DIRECTIONS; d++) {
		double *values = calloc(nodes + 1ull, sizeof(*values));
		struct sum *sums = calloc(nodes + 1ull, sizeof(*sums));
		for (size_t i = 0; i < answers->details.copy_count && values && sums; i++) {
			const struct sn_copy *copy = answers->details.copies + i;
			uint32_t node = answers->nodes.of_context[copy->context];
			if (direction_of(answers->db, copy->context) != d)
				continue;
			add(sums + node, copy);
			values[node] = sums[node].time_ns;
		}
		struct sn_node_sum *sorted =
		    values && sums ? sn_node_sums(&answers->nodes, values, &count) : NULL;
		for (size_t i = 0; sorted && i < count; i++) {
			sn_sheet_text(sheet, directions[d]);
			put_sum(sheet, sums + sorted[i].node);
			sn_sheet_text(sheet,
				      sn_node_map_label(&answers->nodes, sorted[i].node, label));
		}
		bool has_memory = sorted != NULL;
		free(sorted);
		free(values);
		free(sums);
		if (!has_memory)
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_view_transfers(const struct sn_answers *answers, struct sn_page *page,
		      struct sn_error *error)
{
	if (!answers->details.copy_count) {
		sn_sheet_note(sn_page_sheet(page, "transfers", "copies by direction"),
			      "no copies of devices are recorded");
		return 0;
	}
	tables(answers, page);
	return by_node(answers, page) ? sn_fail(error, SN_ERR_MEMORY, "out of memory") : 0;
}
