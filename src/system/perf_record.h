/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a record from a ring of perf_event_open(2).
 */
#pragma once

#include "base/buffer.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The fields of all of Sonde's events... */
#define SN_PERF_COMMON                                                                             \
	((uint64_t)PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
/* ... and with further ones. */
#define SN_PERF_TRACEPOINT (SN_PERF_COMMON | PERF_SAMPLE_RAW)
#define SN_PERF_FAULT	   (SN_PERF_COMMON | PERF_SAMPLE_ADDR)

struct sn_perf_record {
	uint32_t type; /* enum perf_event_type */
	uint16_t misc;
	uint64_t id; /* of the event, PERF_EVENT_IOC_ID */
	uint64_t time_ns;
	int32_t pid, tid; /* the thread that ran; -1: outside of our pid namespace */
	uint32_t cpu;
	/* by type */
	struct sn_span rest; /* of a sample: what follows the common fields; of others their body */
	uint64_t lost;	     /* PERF_RECORD_LOST and PERF_RECORD_LOST_SAMPLES */
	uint64_t address;    /* of a sample of SN_PERF_FAULT */
	int32_t child_pid, child_tid; /* the thread of PERF_RECORD_FORK, EXIT and COMM */
	const char *name;	      /* PERF_RECORD_COMM */
	size_t name_length;
};

/* The id of a sample's event, which decides its layout; 0 for every other record. */
uint64_t sn_perf_record_sample_id(const unsigned char *bytes, size_t length);
/* Parses the record at `bytes`: a header and its body. `is_fault`: a sample is of SN_PERF_FAULT.
 * False: it is too short for its kind. */
bool sn_perf_record_parse(const unsigned char *bytes, size_t length, bool is_fault,
			  struct sn_perf_record *record);
/* The tracepoint's data, *length bytes, in a sample of SN_PERF_TRACEPOINT. NULL: damaged. */
const unsigned char *sn_perf_record_raw(const struct sn_perf_record *record, size_t *length);
