/* SPDX-License-Identifier: Apache-2.0 */
/* Taking perf's records apart; see perf_record.h and perf_event_open(2). */
#include "perf_record.h"

#include <string.h>

/* The common fields at the end of every record that is no sample; of a sample they are in front, in
 * another order. */
struct record_back {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint32_t cpu, reserved;
	uint64_t id;
};

static bool take(struct sn_perf_record *record, void *to, size_t bytes)
{
	if (bytes > record->rest_bytes)
		return false;
	memcpy(to, record->rest, bytes);
	record->rest += bytes;
	record->rest_bytes -= bytes;
	return true;
}

static bool parse_sample(struct sn_perf_record *record, bool is_fault)
{
	uint32_t cpu[2];
	bool is_whole = take(record, &record->id, 8) && take(record, &record->pid, 4) &&
			take(record, &record->tid, 4) && take(record, &record->time_ns, 8) &&
			(!is_fault || take(record, &record->address, 8)) &&
			take(record, cpu, sizeof(cpu));
	record->cpu = is_whole ? cpu[0] : 0;
	return is_whole;
}

/* { u32 pid, ppid, tid, ptid; u64 time } */
static bool parse_task(struct sn_perf_record *record)
{
	uint32_t numbers[4];
	if (record->rest_bytes < sizeof(numbers))
		return false;
	memcpy(numbers, record->rest, sizeof(numbers));
	record->child_pid = (int32_t)numbers[0];
	record->child_tid = (int32_t)numbers[2];
	return true;
}

/* { u32 pid, tid; char comm[] } */
static bool parse_name(struct sn_perf_record *record)
{
	uint32_t numbers[2];
	if (record->rest_bytes < sizeof(numbers))
		return false;
	memcpy(numbers, record->rest, sizeof(numbers));
	record->child_pid = (int32_t)numbers[0];
	record->child_tid = (int32_t)numbers[1];
	record->name = (const char *)record->rest + sizeof(numbers);
	record->name_length = strnlen(record->name, record->rest_bytes - sizeof(numbers));
	return true;
}

/* { u64 id, lost } or, of LOST_SAMPLES, { u64 lost } */
static bool parse_lost(struct sn_perf_record *record)
{
	size_t place = record->type == PERF_RECORD_LOST ? 8 : 0;
	if (record->rest_bytes < place + 8)
		return false;
	memcpy(&record->lost, record->rest + place, 8);
	return true;
}

uint64_t sn_perf_record_sample_id(const unsigned char *bytes, size_t length)
{
	struct perf_event_header header;
	uint64_t id;
	if (length < sizeof(header) + sizeof(id))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	memcpy(&id, bytes + sizeof(header), sizeof(id));
	return header.type == PERF_RECORD_SAMPLE ? id : 0;
}

bool sn_perf_record_parse(const unsigned char *bytes, size_t length, bool is_fault,
			  struct sn_perf_record *record)
{
	struct perf_event_header header;
	struct record_back back;
	if (length < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) || header.size > length)
		return false;
	*record = (struct sn_perf_record){.type = header.type, .misc = header.misc};
	const unsigned char *body = bytes + sizeof(header);
	length = header.size - sizeof(header);
	record->rest = body;
	record->rest_bytes = length;
	if (header.type == PERF_RECORD_SAMPLE)
		return parse_sample(record, is_fault);
	if (length < sizeof(back))
		return false;
	memcpy(&back, body + length - sizeof(back), sizeof(back));
	record->pid = (int32_t)back.pid;
	record->tid = (int32_t)back.tid;
	record->time_ns = back.time_ns;
	record->cpu = back.cpu;
	record->id = back.id;
	record->rest_bytes = length - sizeof(back);
	switch (header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(record);
	case PERF_RECORD_COMM:
		return parse_name(record);
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return parse_lost(record);
	default:
		return true;
	}
}

const unsigned char *sn_perf_record_raw(const struct sn_perf_record *record, size_t *length)
{
	uint32_t bytes;
	if (record->rest_bytes < sizeof(bytes))
		return NULL;
	memcpy(&bytes, record->rest, sizeof(bytes));
	if (bytes > record->rest_bytes - sizeof(bytes))
		return NULL;
	*length = bytes;
	return record->rest + sizeof(bytes);
}
