/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time, and who owns the peak. */
#include "timeline/memory/memory.h"
#include "timeline/memory/memory_counters.h"
#include "timeline/node_sums.h"
#include "views.h"

#include <stdio.h>

static struct sn_place_name name_host(const struct sn_answers *answers, uint32_t profile)
{
	return sn_name_in_rank(sonde_db_profile(answers->db, profile), "host");
}

static struct sn_place_name name_place(const struct sn_answers *answers,
				       const struct sn_memory_device *device)
{
	return device->type ? sn_name_in_rank(sonde_db_profile(answers->db, device->profile),
					      "device %u", device->id)
			    : name_host(answers, device->profile);
}

static void show_peaks(const struct sn_answers *answers, const struct sn_memory *memory,
		       struct sn_page *page)
{
	static const struct sn_column columns[] = {{"device", "of", ""},
						   {"peak_bytes", "peak", "bytes"},
						   {"peak_at_ns", "at", "ns"},
						   {"end_bytes", "at the end", "bytes"},
						   {"reserved_bytes", "reserved", "bytes"},
						   {"allocations", "allocations", "count"},
						   {"allocated_bytes", "of", "bytes"},
						   {"known_bytes", "peak with owner", "bytes"}};
	struct sn_sheet *sheet = sn_page_table(page, "memory", columns, "memory");
	sheet->is_whole = memory->device_count < SN_SHEET_WHOLE;
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		sn_sheet_text(sheet, name_place(answers, one).text);
		sn_sheet_numbers(sheet, one->peak_bytes, one->peak_ns - answers->start_ns,
				 one->end_bytes,
				 one->peak_reserved_bytes ? one->peak_reserved_bytes : (double)NAN,
				 one->allocation_count, one->allocated_bytes, one->known_bytes);
	}
	sn_sheet_note(sheet,
		      "with owner: allocated within the recording; the rest was there before");
	if (memory->left_out)
		sn_sheet_note(sheet, "of %d devices at most: %zu events of others are left out",
			      SN_MEMORY_DEVICES, memory->left_out);
}

static int show_owners(const struct sn_answers *answers, const struct sn_memory *memory,
		       struct sn_page *page)
{
	static const struct sn_column columns[] = {{"device", "of", ""},
						   {"bytes", "bytes", "bytes"},
						   {"share", "of the peak", "ratio"},
						   {"count", "blocks", "count"},
						   {"node", "node", ""}};
	struct sn_sheet *sheet = sn_page_table(page, "memory_owners", columns, "who owns the peak");
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		double peak = (double)one->peak_bytes;
		size_t count;
		struct sn_node_sum *sums = sn_node_sums(&answers->nodes, one->owners, &count);
		if (!sums)
			return SN_ERR_MEMORY;
		for (size_t k = 0; k < count; k++) {
			sn_sheet_text(sheet, name_place(answers, one).text);
			sn_sheet_numbers(sheet, sums[k].value,
					 peak > 0 ? sums[k].value / peak : (double)NAN,
					 one->owner_counts[sums[k].node]);
			sn_sheet_text(sheet, sn_name_node(&answers->nodes, sums[k].node).text);
		}
		free(sums);
	}
	return 0;
}

static void show_curves(const struct sn_answers *answers, const struct sn_memory *memory,
			struct sn_page *page)
{
	static const struct sn_column columns[] = {{"start_ns", "time", "ns"},
						   {"allocated_bytes", "allocated", "bytes"},
						   {"reserved_bytes", "reserved", "bytes"}};
	char key[40];
	for (size_t i = 0; i < memory->device_count; i++) {
		const struct sn_memory_device *one = memory->devices + i;
		bool has_reserved = one->peak_reserved_bytes;
		snprintf(key, sizeof(key), "memory_%zu", i);
		struct sn_sheet *sheet = sn_page_sheet(page, key, "memory of %s over time",
						       name_place(answers, one).text);
		sheet->shape = SN_SHEET_SERIES;
		sn_sheet_columns(sheet, columns, has_reserved ? 3 : 2);
		double step = (double)(one->end_ns - one->start_ns) / SN_MEMORY_STEPS;
		for (int k = 0; k < SN_MEMORY_STEPS; k++) {
			sn_sheet_numbers(sheet,
					 (double)(one->start_ns - answers->start_ns) + k * step,
					 one->allocated[k]);
			if (has_reserved)
				sn_sheet_number(sheet, one->reserved[k]);
		}
	}
}

/* Where no allocation has an address. */
static int show_counters(const struct sn_answers *answers, struct sn_page *page,
			 struct sn_error *error)
{
	static const struct sn_column columns[] = {{"device", "of", ""},
						   {"counter", "counter", ""},
						   {"peak_bytes", "peak", "bytes"},
						   {"peak_at_ns", "at", "ns"},
						   {"node", "then in", ""}};
	const struct sonde_db *db = answers->db;
	struct sn_memory_peaks peaks;
	int result = sn_memory_peaks(answers, &peaks, error);
	struct sn_sheet *sheet = sn_page_table(page, "memory", columns, "memory");
	for (size_t i = 0; i < peaks.count && !result; i++) {
		const struct sn_memory_peak *peak = peaks.items + i;
		uint32_t node = answers->nodes.of_context[peak->context];
		sn_sheet_text(sheet, name_host(answers, peak->profile).text);
		sn_sheet_text(sheet, sonde_db_string(db, sonde_db_metric(db, peak->metric)->name));
		sn_sheet_numbers(sheet, peak->bytes, peak->time_ns - answers->start_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, node).text);
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
		result = show_counters(answers, page, error);
	} else if (!result) {
		show_peaks(answers, &memory, page);
		if (show_owners(answers, &memory, page))
			result = sn_fail_memory(error);
		show_curves(answers, &memory, page);
	}
	sn_memory_release(&memory);
	return result;
}
