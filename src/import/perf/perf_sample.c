/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of perf's records; see perf_sample.h. */
#include "perf_sample.h"

#include "import/core/cursor.h"

/* Which event a record is of: by its id, whose place does not depend on the event. */
static uint32_t event_of(const struct sn_perf_file *file, const struct sn_perf_raw *record,
			 bool is_sample)
{
	const struct perf_event_attr *attr = &file->events->attr;
	struct sn_import_cursor cursor = {.bytes = record->bytes, .length = record->length};
	if (file->event_count == 1)
		return 0;
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER) {
		if (!is_sample && record->length >= 8)
			sn_import_cursor_seek(&cursor, record->length - 8);
	} else if (is_sample && attr->sample_type & PERF_SAMPLE_ID) {
		static const uint64_t before[] = {PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
						  PERF_SAMPLE_ADDR};
		for (int i = 0; i < 4; i++)
			if (attr->sample_type & before[i])
				sn_import_cursor_take(&cursor, 8);
	} else {
		return 0;
	}
	return sn_perf_file_event(file, sn_import_cursor_number(&cursor, 8));
}

/* Counts that were read with a sample. Of one alone the period says it as well. */
static void take_counts(struct sn_import_cursor *cursor, uint64_t format,
			struct sn_perf_sample *sample)
{
	unsigned words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t count = 1;
	if (format & PERF_FORMAT_GROUP)
		count = sn_import_cursor_number(cursor, 8);
	if (count > cursor->length)
		cursor->failed = true;
	sn_import_cursor_take(cursor, 8 * times);
	const unsigned char *counts =
	    cursor->failed ? NULL : sn_import_cursor_take(cursor, 8 * count * words);
	if (!counts || !(format & PERF_FORMAT_GROUP) || !(format & PERF_FORMAT_ID))
		return;
	sample->counts = counts;
	sample->count_count = count;
	sample->count_words = words;
}

static void take_registers(struct sn_import_cursor *cursor, const struct perf_event_attr *attr,
			   struct sn_perf_sample *sample)
{
	size_t count = (size_t)__builtin_popcountll(attr->sample_regs_user);
	if (sn_import_cursor_number(cursor, 8) == PERF_SAMPLE_REGS_ABI_64)
		sample->registers = sn_import_cursor_take(cursor, 8 * count);
	else if (cursor->at && !cursor->failed && cursor->bytes[cursor->at - 8]) /* 32 bits */
		sn_import_cursor_take(cursor, 8 * count);
}

static void take_stack(struct sn_import_cursor *cursor, struct sn_perf_sample *sample)
{
	uint64_t room = sn_import_cursor_number(cursor, 8);
	if (!room)
		return;
	const unsigned char *bytes = sn_import_cursor_take(cursor, room);
	uint64_t used = sn_import_cursor_number(cursor, 8);
	if (cursor->failed)
		return;
	sample->has_stack = true;
	sample->stack = (struct sn_perf_bytes){bytes, used < room ? used : room};
}

static void take_branches(struct sn_import_cursor *cursor, const struct perf_event_attr *attr)
{
	uint64_t count = sn_import_cursor_number(cursor, 8);
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		sn_import_cursor_number(cursor, 8);
	if (count > cursor->length)
		cursor->failed = true;
	else
		sn_import_cursor_take(cursor, 24 * count);
}

/* From the callchain on; what follows the stack is of no use here. */
static void take_variable(struct sn_import_cursor *cursor, const struct perf_event_attr *attr,
			  struct sn_perf_sample *sample)
{
	uint64_t type = attr->sample_type;
	if (type & PERF_SAMPLE_CALLCHAIN) {
		sample->chain_count = sn_import_cursor_number(cursor, 8);
		if (sample->chain_count > cursor->length)
			cursor->failed = true;
		sample->chain = sn_import_cursor_take(cursor, 8 * sample->chain_count);
	}
	if (type & PERF_SAMPLE_RAW) {
		sample->raw.length = sn_import_cursor_number(cursor, 4);
		sample->raw.bytes = sn_import_cursor_take(cursor, sample->raw.length);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		take_branches(cursor, attr);
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(cursor, attr, sample);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(cursor, sample);
}

bool sn_perf_sample_read(const struct sn_perf_file *file, const struct sn_perf_raw *record,
			 struct sn_perf_sample *sample)
{
	*sample = (struct sn_perf_sample){.event = event_of(file, record, true)};
	if (sample->event >= file->event_count)
		return false;
	const struct perf_event_attr *attr = &file->events[sample->event].attr;
	struct sn_import_cursor cursor = {.bytes = record->bytes, .length = record->length};
	uint64_t type = attr->sample_type;
	if (type & PERF_SAMPLE_IDENTIFIER)
		sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_IP)
		sample->ip = sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_TID) {
		sample->pid = (uint32_t)sn_import_cursor_number(&cursor, 4);
		sample->tid = (uint32_t)sn_import_cursor_number(&cursor, 4);
	}
	sample->has_time = type & PERF_SAMPLE_TIME;
	if (sample->has_time)
		sample->time_ns = sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_ADDR)
		sample->address = sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_ID)
		sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_STREAM_ID)
		sn_import_cursor_number(&cursor, 8);
	sample->has_cpu = type & PERF_SAMPLE_CPU;
	if (sample->has_cpu)
		sample->cpu = (uint32_t)sn_import_cursor_number(&cursor, 8);
	sample->period = type & PERF_SAMPLE_PERIOD ? sn_import_cursor_number(&cursor, 8)
			 : attr->freq		   ? 1
						   : attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		take_counts(&cursor, attr->read_format, sample);
	take_variable(&cursor, attr, sample);
	return !cursor.failed;
}

void sn_perf_sample_id(const struct sn_perf_file *file, const struct sn_perf_raw *record,
		       struct sn_perf_sample *sample)
{
	*sample = (struct sn_perf_sample){.event = event_of(file, record, false)};
	/* what perf makes up before it records has the place but no id */
	uint32_t event = sample->event < file->event_count ? sample->event : 0;
	const struct perf_event_attr *attr = &file->events[event].attr;
	uint64_t type = attr->sample_type;
	static const uint64_t all[] = {PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
				       PERF_SAMPLE_ID,	PERF_SAMPLE_STREAM_ID,
				       PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER};
	size_t bytes = 0;
	for (int i = 0; i < 6; i++)
		bytes += type & all[i] ? 8 : 0;
	if (!attr->sample_id_all || bytes > record->length)
		return;
	struct sn_import_cursor cursor = {
	    .bytes = record->bytes, .length = record->length, .at = record->length - bytes};
	if (type & PERF_SAMPLE_TID) {
		sample->pid = (uint32_t)sn_import_cursor_number(&cursor, 4);
		sample->tid = (uint32_t)sn_import_cursor_number(&cursor, 4);
	}
	sample->has_time = type & PERF_SAMPLE_TIME;
	if (sample->has_time)
		sample->time_ns = sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_ID)
		sn_import_cursor_number(&cursor, 8);
	if (type & PERF_SAMPLE_STREAM_ID)
		sn_import_cursor_number(&cursor, 8);
	sample->has_cpu = type & PERF_SAMPLE_CPU;
	if (sample->has_cpu)
		sample->cpu = (uint32_t)sn_import_cursor_number(&cursor, 8);
}
