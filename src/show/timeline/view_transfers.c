/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by direction, by size, by the nodes that ask for them, and in each iteration. */
#include "timeline/devices/transfers.h"
#include "timeline/iterations/iteration_copies.h"
#include "views.h"

#include <stdio.h>

static void size_name(unsigned class, char *text, size_t size)
{
	static const char *const limits[SN_TRANSFER_SIZES] = {
	    "1 KiB", "4 KiB",  "16 KiB", "64 KiB",  "256 KiB", "1 MiB",
	    "4 MiB", "16 MiB", "64 MiB", "256 MiB", "1 GiB",   ""};
	if (!class)
		snprintf(text, size, "below %s", limits[0]);
	else if (class + 1 == SN_TRANSFER_SIZES)
		snprintf(text, size, "from %s", limits[SN_TRANSFER_SIZES - 2]);
	else
		snprintf(text, size, "%s to %s", limits[class - 1], limits[class]);
}

#define SUM_COLUMNS                                                                                \
	{"count", "copies", "count"}, {"bytes", "bytes", "bytes"}, {"time_ns", "time", "ns"},      \
	{                                                                                          \
		"bytes_per_s", "rate", "bytes/s"                                                   \
	}

static void add_sum(struct sn_sheet *sheet, const struct sn_transfer_sum *sum)
{
	sn_sheet_numbers(sheet, sum->count, sum->bytes, sum->time_ns,
			 sn_rate_of(sum->bytes, sum->sized_ns));
}

static void show_sums(const struct sn_transfers *all, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"direction", "direction", ""}, SUM_COLUMNS};
	static const struct sn_column size_columns[] = {
	    {"direction", "direction", ""}, {"size", "each", ""}, SUM_COLUMNS};
	char size[40];
	struct sn_sheet *sheet = sn_page_table(page, "transfers", columns, "copies by direction");
	struct sn_sheet *sizes =
	    sn_page_table(page, "transfer_sizes", size_columns, "copies by size");
	sheet->is_whole = sizes->is_whole = true;
	for (unsigned d = 0; d < SN_COPY_DIRECTIONS; d++) {
		if (!all->sums[d].count)
			continue;
		sn_sheet_text(sheet, sn_copy_direction_name(d));
		add_sum(sheet, all->sums + d);
		for (unsigned s = 0; s < SN_TRANSFER_SIZES; s++) {
			if (!all->by_size[d][s].count)
				continue;
			size_name(s, size, sizeof(size));
			sn_sheet_text(sizes, sn_copy_direction_name(d));
			sn_sheet_text(sizes, size);
			add_sum(sizes, &all->by_size[d][s]);
		}
	}
}

static void show_nodes(const struct sn_node_map *nodes, const struct sn_transfers *all,
		       struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"direction", "direction", ""}, SUM_COLUMNS, {"node", "node", ""}};
	struct sn_sheet *sheet = sn_page_table(page, "transfer_nodes", columns, "who copies");
	for (size_t i = 0; i < all->node_count; i++) {
		sn_sheet_text(sheet, sn_copy_direction_name(all->nodes[i].direction));
		add_sum(sheet, &all->nodes[i].sum);
		sn_sheet_text(sheet, sn_name_node(nodes, all->nodes[i].node).text);
	}
}

static int show_iterations(const struct sn_answers *answers, struct sn_page *page,
			   struct sn_error *error)
{
	static const struct sn_column columns[] = {{"iteration", "iteration", ""},
						   {"iterations", "in", "count"},
						   {"of", "of", "count"},
						   {"direction", "direction", ""},
						   {"count", "copies", "count"},
						   {"bytes", "bytes each", "bytes"},
						   {"time_ns", "time each", "ns"},
						   {"share", "of all", "ratio"},
						   {"node", "node", ""}};
	struct sn_iteration_copies copies;
	if (!answers->iterations.count)
		return 0;
	int result = sn_iteration_copies(answers, &copies, error);
	struct sn_sheet *sheet =
	    sn_page_table(page, "transfer_iterations", columns, "copies in each iteration");
	for (size_t i = 0; i < copies.count && !result; i++) {
		const struct sn_iteration_copy *one = copies.items + i;
		sn_sheet_text(sheet, sn_name_context(answers->db, one->context).text);
		sn_sheet_numbers(sheet, one->iterations, one->of);
		sn_sheet_text(sheet, sn_copy_direction_name(one->direction));
		sn_sheet_numbers(sheet, one->count / one->iterations, one->bytes / one->iterations,
				 one->time_ns / one->iterations, one->time_ns / one->whole_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node).text);
	}
	sn_sheet_note(sheet, "%s",
		      copies.count ? "each: of the iterations that copy; of all: of the time of "
				     "all iterations"
				   : "iterations copy nothing");
	free(copies.items);
	return result;
}

int sn_view_transfers(const struct sn_answers *answers, struct sn_page *page,
		      struct sn_error *error)
{
	struct sn_transfers transfers;
	int result = sn_transfers(answers, &transfers, error);
	if (!result && !transfers.count) {
		sn_sheet_note(sn_page_sheet(page, "transfers", "copies by direction"),
			      "no copies of devices are recorded");
	} else if (!result) {
		show_sums(&transfers, page);
		show_nodes(&answers->nodes, &transfers, page);
		result = show_iterations(answers, page, error);
	}
	free(transfers.nodes);
	return result;
}
