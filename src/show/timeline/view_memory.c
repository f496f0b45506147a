/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time, and who owns the peak. */
#include "timeline/memory/memory.h"
#include "timeline/memory/memory_counters.h"
#include "timeline/node_sums.h"
#include "views.h"

#include <math.h>
#include <stdio.h>

static const char *place_of(const struct sn_answers *answers, const struct sn_memory_device *device,
			    char text[SN_PLACE_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(answers->db, device->profile);
	int used = 0;
	if (profile->rank >= 0)
		used = snprintf(text, SN_PLACE_CHARS, "rank %d · ", (int)profile->rank);
	if (device->type)
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "device %u", device->id);
	else
		snprintf(text + used, SN_PLACE_CHARS - (size_t)used, "host");
	return text;
}

static void peaks(const struct sn_answers *answers, const struct sn_memory *memory,
		  struct sn_page *page)
{
	char place[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "memory", "memory");
	sheet->is_whole = memory->device_count < 64;
	sn_sheet_column(sheet, "device", "of", "");
	sn_sheet_column(sheet, "peak_bytes", "peak", "bytes");
	sn_sheet_column(sheet, "peak_at_ns", "at", "ns");
	sn_sheet_column(sheet, "end_bytes", "at the end", "bytes");
	sn_sheet_column(sheet, "reserved_bytes", "reserved", "bytes");
	sn_sheet_column(sheet, "allocations", "allocations", "count");
	sn_sheet_column(sheet, "allocated_bytes", "of", "bytes");
	sn_sheet_column(sheet, "known_bytes", "peak with owner", "bytes");
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		sn_sheet_text(sheet, place_of(answers, one, place));
		sn_sheet_number(sheet, (double)one->peak_bytes);
		sn_sheet_number(sheet, (double)(one->peak_ns - answers->start_ns));
		sn_sheet_number(sheet, (double)one->end_bytes);
		sn_sheet_number(sheet,
				one->peak_reserved_bytes ? (double)one->peak_reserved_bytes : NAN);
		sn_sheet_number(sheet, (double)one->allocation_count);
		sn_sheet_number(sheet, one->allocated_bytes);
		sn_sheet_number(sheet, (double)one->known_bytes);
	}
	sn_sheet_note(sheet,
		      "with owner: allocated within the recording; the rest was there before");
	if (memory->left_out)
		sn_sheet_note(sheet, "of %d devices at most: %zu events of others are left out",
			      SN_MEMORY_DEVICES, memory->left_out);
}

static int owners(const struct sn_answers *answers, const struct sn_memory *memory,
		  struct sn_page *page)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "memory_owners", "who owns the peak");
	sn_sheet_column(sheet, "device", "of", "");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	sn_sheet_column(sheet, "share", "of the peak", "ratio");
	sn_sheet_column(sheet, "count", "blocks", "count");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		size_t count;
		struct sn_node_sum *sums = sn_node_sums(&answers->nodes, one->owners, &count);
		if (!sums)
			return SN_ERR_MEMORY;
		for (size_t k = 0; k < count; k++) {
			sn_sheet_text(sheet, place_of(answers, one, place));
			sn_sheet_number(sheet, sums[k].value);
			sn_sheet_number(sheet, one->peak_bytes > 0
						   ? sums[k].value / (double)one->peak_bytes
						   : NAN);
			sn_sheet_number(sheet, one->owner_counts[sums[k].node]);
			sn_sheet_text(sheet, sn_name_node(&answers->nodes, sums[k].node, label));
		}
		free(sums);
	}
	return 0;
}

static void curves(const struct sn_answers *answers, const struct sn_memory *memory,
		   struct sn_page *page)
{
	char place[SN_PLACE_CHARS], key[40];
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		snprintf(key, sizeof(key), "memory_%zu", i);
		struct sn_sheet *sheet = sn_page_sheet(page, key, "memory of %s over time",
						       place_of(answers, one, place));
		sheet->shape = SN_SHEET_SERIES;
		sn_sheet_column(sheet, "start_ns", "time", "ns");
		sn_sheet_column(sheet, "allocated_bytes", "allocated", "bytes");
		if (one->peak_reserved_bytes)
			sn_sheet_column(sheet, "reserved_bytes", "reserved", "bytes");
		double step = (double)(one->end_ns - one->start_ns) / SN_MEMORY_STEPS;
		for (int k = 0; k < SN_MEMORY_STEPS; k++) {
			sn_sheet_number(sheet,
					(double)(one->start_ns - answers->start_ns) + k * step);
			sn_sheet_number(sheet, one->allocated[k]);
			if (one->peak_reserved_bytes)
				sn_sheet_number(sheet, one->reserved[k]);
		}
	}
}

/* Where no allocation has an address. */
static int counters(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	const struct sonde_db *db = answers->db;
	char label[SN_NODE_CHARS], place[SN_PLACE_CHARS];
	struct sn_memory_peaks peaks;
	int result = sn_memory_peaks(answers, &peaks, error);
	struct sn_sheet *sheet = sn_page_sheet(page, "memory", "memory");
	sn_sheet_column(sheet, "device", "of", "");
	sn_sheet_column(sheet, "counter", "counter", "");
	sn_sheet_column(sheet, "peak_bytes", "peak", "bytes");
	sn_sheet_column(sheet, "peak_at_ns", "at", "ns");
	sn_sheet_column(sheet, "node", "then in", "");
	for (size_t i = 0; i < peaks.count && !result; i++) {
		const struct sn_memory_peak *peak = peaks.items + i;
		struct sn_memory_device device = {.profile = peak->profile};
		sn_sheet_text(sheet, place_of(answers, &device, place));
		sn_sheet_text(sheet, sonde_db_string(db, sonde_db_metric(db, peak->metric)->name));
		sn_sheet_number(sheet, peak->bytes);
		sn_sheet_number(sheet, (double)(peak->time_ns - answers->start_ns));
		sn_sheet_text(sheet, sn_name_node(&answers->nodes,
						  answers->nodes.of_context[peak->context], label));
	}
	if (!result && !peaks.count)
		sn_sheet_note(sheet, "no memory is recorded: torch.profiler does with "
				     "profile_memory=True, sonde run with --trace");
	free(peaks.items);
	return result;
}

int sn_view_memory(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct sn_memory memory;
	int result = sn_memory(&answers->processes, &answers->nodes, &memory, error);
	if (!result && !memory.device_count) {
		result = counters(answers, page, error);
	} else if (!result) {
		peaks(answers, &memory, page);
		if (owners(answers, &memory, page))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
		curves(answers, &memory, page);
	}
	sn_memory_release(&memory);
	return result;
}
