/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events that a user can request by name: CPU and real time, and Linux perf events.
 *
 * A list is NAME[@RATE][,...]. For times RATE is samples a second, 1 to 10,000 (default 199). For
 * perf events it is the number of events between two samples, or samples a second if it ends in
 * "Hz". Shared by the collector, `sonde run` (to check the user's list) and `sonde doctor`; libc
 * only.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_EVENT_MAX	      8
#define SN_EVENT_DEFAULT_HZ   199u
#define SN_EVENT_HIGHEST_HZ   10000u
#define SN_EVENT_LIST_DEFAULT "cpu-time@199"

enum sn_event_source { SN_EVENT_CPU_TIME, SN_EVENT_REAL_TIME, SN_EVENT_PERF };

struct sn_sample_event {
	char name[32];
	enum sn_event_source source;
	bool is_rate;	 /* rate is in samples a second; else in events a sample */
	uint64_t rate;	 /* 0: counted, and read at every sample of another event */
	uint32_t type;	 /* perf_event_attr.type */
	uint64_t config; /* perf_event_attr.config */
};

/* Parses a list into events[0..SN_EVENT_MAX). Returns their number, -1 for an invalid item, with
 * *wrong pointing at its first character, or -2 if there are too many. */
int sn_events_parse(const char *list, struct sn_sample_event *events, const char **wrong);

/* True for "none": no sampling; such a list has 0 events. */
bool sn_events_are_none(const char *list);
/* Stores the known names, ended by NULL, in an array of `room` pointers. */
void sn_event_names(const char **names, size_t room);
