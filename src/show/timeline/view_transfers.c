/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by direction, by size, by the nodes that ask for them, and in each iteration. */
#include "timeline/devices/transfers.h"
#include "timeline/iterations/iteration_copies.h"
#include "views.h"

#include <math.h>
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

static void put_sum(struct sn_sheet *sheet, const struct sn_transfer_sum *sum)
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

static void tables(const struct sn_transfers *all, struct sn_page *page)
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
		if (!all->sums[d].count)
			continue;
		sn_sheet_text(sheet, sn_copy_direction_name(d));
		put_sum(sheet, all->sums + d);
		for (unsigned s = 0; s < SN_TRANSFER_SIZES; s++) {
			if (!all->by_size[d][s].count)
				continue;
			size_name(s, size, sizeof(size));
			sn_sheet_text(sizes, sn_copy_direction_name(d));
			sn_sheet_text(sizes, size);
			put_sum(sizes, &all->by_size[d][s]);
		}
	}
}

static void by_node(const struct sn_node_map *nodes, const struct sn_transfers *all,
		    struct sn_page *page)
{
	char label[SN_NODE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "transfer_nodes", "who copies");
	sn_sheet_column(sheet, "direction", "direction", "");
	sum_columns(sheet);
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < all->node_count; i++) {
		sn_sheet_text(sheet, sn_copy_direction_name(all->nodes[i].direction));
		put_sum(sheet, &all->nodes[i].sum);
		sn_sheet_text(sheet, sn_name_node(nodes, all->nodes[i].node, label));
	}
}

static int by_iteration(const struct sn_answers *answers, struct sn_page *page,
			struct sn_error *error)
{
	char name[SN_LABEL_CHARS], label[SN_NODE_CHARS];
	struct sn_iteration_copies copies;
	if (!answers->iterations.count)
		return 0;
	int result = sn_iteration_copies(answers, &copies, error);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "transfer_iterations", "copies in each iteration");
	sn_sheet_column(sheet, "iteration", "iteration", "");
	sn_sheet_column(sheet, "iterations", "in", "count");
	sn_sheet_column(sheet, "of", "of", "count");
	sn_sheet_column(sheet, "direction", "direction", "");
	sn_sheet_column(sheet, "count", "copies", "count");
	sn_sheet_column(sheet, "bytes", "bytes each", "bytes");
	sn_sheet_column(sheet, "time_ns", "time each", "ns");
	sn_sheet_column(sheet, "share", "of all", "ratio");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < copies.count && !result; i++) {
		const struct sn_iteration_copy *one = copies.items + i;
		sn_sheet_text(sheet, sn_name_context(answers->db, one->context, name));
		sn_sheet_number(sheet, one->iterations);
		sn_sheet_number(sheet, one->of);
		sn_sheet_text(sheet, sn_copy_direction_name(one->direction));
		sn_sheet_number(sheet, one->count / one->iterations);
		sn_sheet_number(sheet, one->bytes / one->iterations);
		sn_sheet_number(sheet, one->time_ns / one->iterations);
		sn_sheet_number(sheet, one->time_ns / one->whole_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node, label));
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
		tables(&transfers, page);
		by_node(&answers->nodes, &transfers, page);
		result = by_iteration(answers, page, error);
	}
	free(transfers.nodes);
	return result;
}
