/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over threads; see accesses.h. */
#include "accesses.h"

#include "timeline/attributes.h"
#include "base/intern.h"
#include "base/vec.h"
#include "timeline/threads/thread_activity.h"
#include "show/label.h"
#include "timeline/track_blocks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum wanted { ACCESS, PEER, BYTES, POSTED, WANTED };
/* format/trace-file.md */
enum access { TO = 1, FROM, BOTH, SYNCHRONISED, READ, WRITTEN };

static const struct sn_attribute_wish wishes[WANTED] = {
    [ACCESS] = {"access", SONDE_ATTRIBUTE_UNSIGNED},
    [PEER] = {"peer", SONDE_ATTRIBUTE_UNSIGNED},
    [BYTES] = {"bytes", SONDE_ATTRIBUTE_UNSIGNED},
    [POSTED] = {"posted", SONDE_ATTRIBUTE_UNSIGNED},
};

struct access_key {
	uint64_t peer; /* UINT64_MAX: nobody by himself */
	uint32_t process, frame;
	uint32_t access, unused;
};

struct access_sum {
	double count, bytes, time_ns, apart_ns, longest_ns;
};

struct pass {
	const struct sn_answers *answers;
	uint32_t process; /* whose thread is read */
	struct sn_attributes attributes;
	struct sn_intern keys;
	struct access_sum *sums; /* by key */
	size_t capacity;
};

static int take(struct pass *pass, const struct sonde_event_block *block, size_t at)
{
	uint64_t access, bytes = 0, posted = 0;
	if (!sn_attributes_get(&pass->attributes, ACCESS, at, &access) || access < TO ||
	    access > WRITTEN)
		return 0;
	struct access_key key = {
	    .peer = UINT64_MAX,
	    .process = pass->process,
	    .frame = sonde_db_context(pass->answers->db, block->contexts[at])->frame,
	    .access = (uint32_t)access,
	};
	sn_attributes_get(&pass->attributes, PEER, at, &key.peer);
	sn_attributes_get(&pass->attributes, BYTES, at, &bytes);
	sn_attributes_get(&pass->attributes, POSTED, at, &posted);
	uint32_t before = pass->keys.count, number = sn_intern_add(&pass->keys, &key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&pass->sums, &pass->capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before)
		pass->sums[number] = (struct access_sum){0};
	struct access_sum *sum = pass->sums + number;
	double time = (double)(block->ends_ns[at] - block->starts_ns[at]);
	sum->count++;
	sum->bytes += (double)bytes;
	sum->time_ns += time;
	sum->apart_ns += (double)posted;
	sum->longest_ns = time > sum->longest_ns ? time : sum->longest_ns;
	return 0;
}

static int take_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct pass *pass = data;
	int result = 0;
	(void)track;
	sn_attributes_read(&pass->attributes, cursor, block);
	for (size_t i = 0; i < block->count && !result; i++)
		result = take(pass, block, i);
	return result;
}

static int read_all(struct pass *pass, struct sn_error *error)
{
	const struct sonde_trace *trace = pass->answers->trace;
	const struct sn_processes *processes = &pass->answers->processes;
	int result = 0;
	if (pass->attributes.keys[ACCESS] == SONDE_NONE)
		return 0;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind != SONDE_TRACK_INTERVALS ||
		    sonde_db_profile(pass->answers->db, track->profile)->kind !=
			SONDE_PROFILE_THREAD)
			continue;
		pass->process = processes->callers[processes->of_profile[track->profile]];
		result = sn_track_blocks(trace, i, 0, take_block, pass, error);
	}
	return result;
}

/* ---- the sheets ---- */

static bool is_of_file(struct access_key key)
{
	return key.access == READ || key.access == WRITTEN;
}

static struct access_key key_at(const struct pass *pass, uint32_t number)
{
	struct access_key key;
	memcpy(&key, sn_intern_at(&pass->keys, number, NULL), sizeof(key));
	return key;
}

static int by_time(const void *left, const void *right, void *data)
{
	const struct access_sum *sums = data;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	if (sums[a].time_ns != sums[b].time_ns)
		return sums[a].time_ns > sums[b].time_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

static const char *what(struct access_key key)
{
	static const char *const texts[] = {"", "writes", "reads", "reads and writes",
					    "synchronises"};
	return texts[key.access];
}

static void put_row(const struct pass *pass, uint32_t number, struct sn_sheet *sheet)
{
	struct access_key key = key_at(pass, number);
	const struct access_sum *sum = pass->sums + number;
	char place[SN_PLACE_CHARS], label[SN_LABEL_CHARS], peer[40] = "";
	sn_sheet_text(sheet, sn_answers_process(pass->answers, key.process, place));
	sn_label_name(pass->answers->db, SN_GROUP_AUTO, key.frame, label);
	sn_sheet_text(sheet, label);
	if (!is_of_file(key)) {
		if (key.peer != UINT64_MAX)
			snprintf(peer, sizeof(peer), "rank %llu", (unsigned long long)key.peer);
		sn_sheet_text(sheet, what(key));
		sn_sheet_text(sheet, peer);
	}
	sn_sheet_number(sheet, sum->count);
	sn_sheet_number(sheet, sum->bytes);
	sn_sheet_number(sheet, sum->time_ns);
	sn_sheet_number(sheet, sum->longest_ns);
	sn_sheet_number(sheet, sum->apart_ns);
	if (is_of_file(key))
		sn_sheet_number(sheet,
				sum->time_ns > 0 ? sum->bytes / sum->time_ns * 1e9 : (double)NAN);
}

static void show(const struct pass *pass, const uint32_t *order, bool of_files,
		 struct sn_page *page)
{
	struct sn_sheet *sheet = NULL;
	for (uint32_t i = 0; i < pass->keys.count; i++) {
		if (is_of_file(key_at(pass, order[i])) != of_files)
			continue;
		if (!sheet) {
			sheet = of_files ? sn_page_sheet(page, "files", "files that ranks share")
					 : sn_page_sheet(page, "one_sided",
							 "in the memory of other ranks");
			sn_sheet_column(sheet, "who", "who", "");
			sn_sheet_column(sheet, "operation", "operation", "");
			if (!of_files) {
				sn_sheet_column(sheet, "access", "does", "");
				sn_sheet_column(sheet, "peer", "with", "");
			}
			sn_sheet_column(sheet, "count", "times", "count");
			sn_sheet_column(sheet, "bytes", "bytes", "bytes");
			sn_sheet_column(sheet, "time_ns", "in calls", "ns");
			sn_sheet_column(sheet, "longest_ns", "longest", "ns");
			sn_sheet_column(sheet, "apart_ns", "beside other work", "ns");
			if (of_files)
				sn_sheet_column(sheet, "bytes_per_s", "rate", "bytes/s");
		}
		put_row(pass, order[i], sheet);
	}
}

int sn_accesses(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct pass pass = {.answers = answers};
	uint32_t *order = NULL;
	int result =
	    sn_attributes_init(&pass.attributes, answers->db, answers->trace, wishes, WANTED)
		? sn_fail(error, SN_ERR_MEMORY, "out of memory")
		: read_all(&pass, error);
	if (!result) {
		order = malloc((pass.keys.count + 1ull) * sizeof(*order));
		if (!order)
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	if (!result) {
		for (uint32_t i = 0; i < pass.keys.count; i++)
			order[i] = i;
		qsort_r(order, pass.keys.count, sizeof(*order), by_time, pass.sums);
		show(&pass, order, false, page);
		show(&pass, order, true, page);
	}
	free(order);
	sn_attributes_release(&pass.attributes);
	sn_intern_release(&pass.keys);
	free(pass.sums);
	return result;
}
