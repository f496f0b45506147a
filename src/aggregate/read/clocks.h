/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts the times of several hosts' trace files to one clock: docs/design/clocks.md.
 *
 * Processes of one boot and time namespace have one CLOCK_MONOTONIC and one anchor to the calendar,
 * that of the first of their files. Different hosts' calendars may be wrong by seconds: hosts are
 * joined by the messages between their processes (messages.h, trace/clock.h), along the tree with
 * the smallest errors, whose root is the host with most messages. A host without messages keeps its
 * own calendar.
 */
#pragma once

#include "messages.h"
#include "aggregate/pipeline.h"

struct sn_clocks;

/* Reads the clocks of the inputs, and their messages. Files that cannot be read are left
 * out. 0 or SN_ERR_MEMORY; *clocks is to be freed in either case. */
int sn_clocks_new(struct sn_pipeline *pipeline, struct sn_clocks **clocks);
void sn_clocks_free(struct sn_clocks *clocks);

/* Before the events of a file are converted, in the order of files. 0 or SN_ERR_MEMORY. */
int sn_clocks_begin_file(struct sn_clocks *clocks, uint32_t file,
			 const struct sn_measurement *measurement);
/* Nanoseconds since 1970 by the base's calendar; never earlier for a later time. */
uint64_t sn_clocks_convert(const struct sn_clocks *clocks, uint32_t file, uint64_t at_ns);
/* The link of a message of the file; 0 if the event is no message or has no partner. */
uint64_t sn_clocks_link(const struct sn_clocks *clocks, uint32_t file,
			const struct sn_trace_event *event);
/* The value of an attribute of the file; a group's name is replaced by the one for all files. */
uint64_t sn_clocks_group(const struct sn_clocks *clocks, uint32_t file, uint32_t key,
			 uint64_t value);
/* Properties of the database, where there is more than one clock or any message:
 * messages.matched, .unmatched; clock.I.host, .processes, .offset_ns, ... */
void sn_clocks_describe(const struct sn_clocks *clocks, struct sn_pipeline *pipeline);
