/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of perf's records. */
#include "perf_sample.h"

/* The event of a record, by its id, whose position is the same for all events of a file. */
static uint32_t event_of(const struct sn_perf_file *file, const struct sn_perf_raw *record,
			 bool is_sample)
{
	const struct perf_event_attr *attr = &file->events->attr;
	size_t place = 0;
	if (file->event_count == 1)
		return 0;
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER) {
		if (!is_sample && record->length >= 8)
			place = record->length - 8;
	} else if (is_sample && attr->sample_type & PERF_SAMPLE_ID) {
		uint64_t before =
		    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
		place = 8 * (size_t)__builtin_popcountll(attr->sample_type & before);
	} else {
		return 0;
	}
	struct sn_cursor cursor = sn_perf_cursor(record, place);
	return sn_perf_file_event(file, sn_cursor_u64(&cursor));
}

/* Reads the fields up to and including the processor. */
static void read_fields(struct sn_cursor *cursor, uint64_t type, struct sn_perf_sample *sample)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		sn_cursor_skip(cursor, 8);
	if (type & PERF_SAMPLE_IP)
		sample->ip = sn_cursor_u64(cursor);
	if (type & PERF_SAMPLE_TID) {
		sample->pid = sn_cursor_u32(cursor);
		sample->tid = sn_cursor_u32(cursor);
	}
	sample->has_time = type & PERF_SAMPLE_TIME;
	if (sample->has_time)
		sample->time_ns = sn_cursor_u64(cursor);
	if (type & PERF_SAMPLE_ADDR)
		sn_cursor_skip(cursor, 8);
	if (type & PERF_SAMPLE_ID)
		sn_cursor_skip(cursor, 8);
	if (type & PERF_SAMPLE_STREAM_ID)
		sn_cursor_skip(cursor, 8);
	sample->has_cpu = type & PERF_SAMPLE_CPU;
	if (sample->has_cpu)
		sample->cpu = (uint32_t)sn_cursor_u64(cursor);
}

/* `count` items of so many bytes each; NULL, and failed, if there are fewer. */
static const unsigned char *read_array(struct sn_cursor *cursor, uint64_t count, size_t bytes)
{
	const unsigned char *items = cursor->at;
	if (count > sn_cursor_left(cursor))
		sn_cursor_fail(cursor);
	else
		sn_cursor_skip(cursor, count * bytes);
	return cursor->failed ? NULL : items;
}

/* Reads the counts of a group. With a single event the period says the same. */
static void read_counts(struct sn_cursor *cursor, uint64_t format, struct sn_perf_sample *sample)
{
	unsigned words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t count = 1;
	if (format & PERF_FORMAT_GROUP)
		count = sn_cursor_u64(cursor);
	sn_cursor_skip(cursor, 8 * times);
	const unsigned char *counts = read_array(cursor, count, 8 * words);
	if (!counts || !(format & PERF_FORMAT_GROUP) || !(format & PERF_FORMAT_ID))
		return;
	sample->counts = counts;
	sample->count_count = count;
	sample->count_words = words;
}

static void read_registers(struct sn_cursor *cursor, const struct perf_event_attr *attr,
			   struct sn_perf_sample *sample)
{
	size_t count = (size_t)__builtin_popcountll(attr->sample_regs_user);
	uint64_t abi = sn_cursor_u64(cursor);
	const unsigned char *registers = abi ? read_array(cursor, count, 8) : NULL;
	if (abi == PERF_SAMPLE_REGS_ABI_64)
		sample->registers = registers;
}

static void read_stack(struct sn_cursor *cursor, struct sn_perf_sample *sample)
{
	uint64_t room = sn_cursor_u64(cursor);
	if (!room)
		return;
	const unsigned char *bytes = read_array(cursor, room, 1);
	uint64_t used = sn_cursor_u64(cursor);
	if (cursor->failed)
		return;
	sample->has_stack = true;
	sample->stack = (struct sn_bytes){bytes, used < room ? used : room};
}

/* Reads from the call chain to the stack; later fields are not needed. */
static void read_variable(struct sn_cursor *cursor, const struct perf_event_attr *attr,
			  struct sn_perf_sample *sample)
{
	uint64_t type = attr->sample_type;
	if (type & PERF_SAMPLE_CALLCHAIN) {
		sample->chain_count = sn_cursor_u64(cursor);
		sample->chain = read_array(cursor, sample->chain_count, 8);
	}
	if (type & PERF_SAMPLE_RAW) {
		sample->raw.size = sn_cursor_u32(cursor);
		sample->raw.data = read_array(cursor, sample->raw.size, 1);
	}
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		uint64_t count = sn_cursor_u64(cursor);
		if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
			sn_cursor_skip(cursor, 8);
		read_array(cursor, count, 24);
	}
	if (type & PERF_SAMPLE_REGS_USER)
		read_registers(cursor, attr, sample);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(cursor, sample);
}

bool sn_perf_sample_read(const struct sn_perf_file *file, const struct sn_perf_raw *record,
			 struct sn_perf_sample *sample)
{
	*sample = (struct sn_perf_sample){.event = event_of(file, record, true)};
	if (sample->event >= file->event_count)
		return false;
	const struct perf_event_attr *attr = &file->events[sample->event].attr;
	struct sn_cursor cursor = sn_perf_cursor(record, 0);
	read_fields(&cursor, attr->sample_type, sample);
	sample->period = attr->sample_type & PERF_SAMPLE_PERIOD ? sn_cursor_u64(&cursor)
			 : attr->freq				? 1
								: attr->sample_period;
	if (attr->sample_type & PERF_SAMPLE_READ)
		read_counts(&cursor, attr->read_format, sample);
	read_variable(&cursor, attr, sample);
	return !cursor.failed;
}

void sn_perf_sample_id(const struct sn_perf_file *file, const struct sn_perf_raw *record,
		       struct sn_perf_sample *sample)
{
	static const uint64_t own = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				    PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;
	*sample = (struct sn_perf_sample){.event = event_of(file, record, false)};
	/* records that perf synthesises at the start have the fields but no id */
	uint32_t event = sample->event < file->event_count ? sample->event : 0;
	const struct perf_event_attr *attr = &file->events[event].attr;
	uint64_t there = attr->sample_type & (own | PERF_SAMPLE_IDENTIFIER);
	size_t bytes = 8 * (size_t)__builtin_popcountll(there);
	if (!attr->sample_id_all || bytes > record->length)
		return;
	struct sn_cursor cursor = sn_perf_cursor(record, record->length - bytes);
	read_fields(&cursor, there & own, sample);
}
