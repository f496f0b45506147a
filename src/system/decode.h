/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes a record of perf to an event: tracepoints.def gives the meaning of the tracepoints'
 * fields, the kernel their offsets (tracepoint.h).
 */
#pragma once

#include "event.h"
#include "perf_record.h"
#include "tracepoint.h"

/* How to read one tracepoint; a field that this kernel lacks has `bytes` 0 and reads as 0. */
struct sn_os_layout {
	struct sn_tracepoint_field flags, thread; /* common_flags, common_pid */
	struct sn_tracepoint_field other, number, value, text;
};

struct sn_os_source_info {
	const char *path; /* "sched/sched_switch" */
	enum sn_os_source source;
	enum sn_os_scope scope;
};
/* Of kinds below SN_OS_TRACEPOINTS. */
const struct sn_os_source_info *sn_os_source_info(enum sn_os_event_kind kind);

void sn_os_layout_init(struct sn_os_layout *layout, enum sn_os_event_kind kind,
		       const struct sn_tracepoint *tracepoint);

/* A sample of that tracepoint. False: it is damaged. */
bool sn_os_decode_sample(const struct sn_os_layout *layout, enum sn_os_event_kind kind,
			 const struct sn_perf_record *record, struct sn_os_event *event);
/* Decodes a sample of a page fault, or a record that is no sample. False: it is not needed. */
bool sn_os_decode_record(enum sn_os_event_kind fault, const struct sn_perf_record *record,
			 struct sn_os_event *event);
