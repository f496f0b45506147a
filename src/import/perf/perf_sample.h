/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a record of perf says: a sample's fields, as its event's attribute lays them out, and the
 * few that every other record ends with (perf_event_open(2), PERF_RECORD_SAMPLE and sample_id_all).
 */
#pragma once

#include "perf_file.h"

struct sn_perf_sample {
	uint32_t event; /* of the file */
	bool has_time, has_cpu, has_stack;
	uint32_t pid, tid, cpu;
	uint64_t ip, time_ns, period;
	uint64_t chain_count;
	const unsigned char *chain; /* uint64_t[chain_count], aligned to nothing */
	/* of each event of a group that was read with the sample, 8 * count_words bytes: what it
	 * has counted, its id, more; NULL where none were read */
	const unsigned char *counts;
	uint64_t count_count;
	unsigned count_words;
	struct sn_bytes raw; /* of a tracepoint */
	/* of the user's registers those of the attribute's mask, ascending; NULL without */
	const unsigned char *registers;
	struct sn_bytes stack; /* of the user, from the stack pointer up */
};

/* False where the record does not hold what its event says. */
bool sn_perf_sample_read(const struct sn_perf_file *file, const struct sn_perf_raw *record,
			 struct sn_perf_sample *sample);
/* Time, thread and processor of any other record; zeroes where it does not say. */
void sn_perf_sample_id(const struct sn_perf_file *file, const struct sn_perf_raw *record,
		       struct sn_perf_sample *sample);

static inline uint64_t sn_perf_chain(const struct sn_perf_sample *sample, uint64_t number)
{
	uint64_t value;
	__builtin_memcpy(&value, sample->chain + 8 * number, 8);
	return value;
}
