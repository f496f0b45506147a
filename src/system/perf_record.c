/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes perf's records; see perf_event_open(2). */
#include "perf_record.h"

#include <string.h>

/* The common fields at the end of every record except samples, which have them at the begin, in
 * another order. */
struct record_back {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

static bool parse_sample(struct sn_perf_record *record, bool is_fault)
{
	struct sn_span *rest = &record->rest;
	uint32_t cpu[2];
	bool is_whole = sn_span_get(rest, &record->id, 8) && sn_span_get(rest, &record->pid, 4) &&
			sn_span_get(rest, &record->tid, 4) &&
			sn_span_get(rest, &record->time_ns, 8) &&
			(!is_fault || sn_span_get(rest, &record->address, 8)) &&
			sn_span_get(rest, cpu, sizeof(cpu));
	record->cpu = is_whole ? cpu[0] : 0;
	return is_whole;
}

/* { u32 pid, ppid, tid, ptid; u64 time } */
static bool parse_task(struct sn_perf_record *record, struct sn_span body)
{
	int32_t numbers[4] = {0};
	bool is_whole = sn_span_get(&body, numbers, sizeof(numbers));
	record->child_pid = numbers[0];
	record->child_tid = numbers[2];
	return is_whole;
}

/* { u32 pid, tid; char comm[] } */
static bool parse_name(struct sn_perf_record *record, struct sn_span body)
{
	bool is_whole =
	    sn_span_get(&body, &record->child_pid, 4) && sn_span_get(&body, &record->child_tid, 4);
	record->name = (const char *)body.bytes;
	record->name_length = is_whole ? strnlen(record->name, body.count) : 0;
	return is_whole;
}

/* { u64 id, lost }; LOST_SAMPLES: { u64 lost } */
static bool parse_lost(struct sn_perf_record *record, struct sn_span body)
{
	return (record->type != PERF_RECORD_LOST || sn_span_next(&body, 8)) &&
	       sn_span_get(&body, &record->lost, 8);
}

uint64_t sn_perf_record_sample_id(const unsigned char *bytes, size_t length)
{
	struct sn_span span = {bytes, length};
	struct perf_event_header header;
	uint64_t id;
	bool is_sample = sn_span_get(&span, &header, sizeof(header)) &&
			 header.type == PERF_RECORD_SAMPLE && sn_span_get(&span, &id, sizeof(id));
	return is_sample ? id : 0;
}

bool sn_perf_record_parse(const unsigned char *bytes, size_t length, bool is_fault,
			  struct sn_perf_record *record)
{
	struct sn_span span = {bytes, length};
	struct perf_event_header header;
	struct record_back back;
	if (!sn_span_get(&span, &header, sizeof(header)) || header.size < sizeof(header) ||
	    header.size > length)
		return false;
	span.count = header.size - sizeof(header);
	*record = (struct sn_perf_record){.type = header.type, .misc = header.misc, .rest = span};
	if (header.type == PERF_RECORD_SAMPLE)
		return parse_sample(record, is_fault);
	if (span.count < sizeof(back))
		return false;
	span.count -= sizeof(back);
	memcpy(&back, span.bytes + span.count, sizeof(back));
	record->pid = (int32_t)back.pid;
	record->tid = (int32_t)back.tid;
	record->time_ns = back.time_ns;
	record->cpu = back.cpu;
	record->id = back.id;
	record->rest = span;
	switch (header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(record, span);
	case PERF_RECORD_COMM:
		return parse_name(record, span);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return parse_lost(record, span);
	default:
		return true;
	}
}

const unsigned char *sn_perf_record_raw(const struct sn_perf_record *record, size_t *length)
{
	struct sn_span rest = record->rest;
	uint32_t bytes;
	if (!sn_span_get(&rest, &bytes, sizeof(bytes)) || bytes > rest.count)
		return NULL;
	*length = bytes;
	return rest.bytes;
}
