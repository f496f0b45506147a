/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The running operations of a sweep over a device in order of time, by end; and how long each
 * combination of kinds of work ran.
 */
#pragma once

#include "operations.h"

struct sn_running {
	uint64_t end_ns;
	enum sn_device_work work;
};

/* All zeroes: nothing runs. */
struct sn_running_set {
	struct sn_running *heap; /* the first to end first */
	size_t count, capacity;
	unsigned counts[SN_WORK_KINDS];
	unsigned kinds;				       /* that run, as bits 1 << work */
	uint64_t now_ns, times_ns[1 << SN_WORK_KINDS]; /* until now_ns, by kinds */
};

void sn_running_release(struct sn_running_set *set);
/* 0 or SN_ERR_MEMORY. */
int sn_running_push(struct sn_running_set *set, const struct sn_operation *operation);
/* When the first one ends; UINT64_MAX if nothing runs. */
uint64_t sn_running_end_ns(const struct sn_running_set *set);
/* Adds the time until then, in which nothing begins or ends. */
void sn_running_pass(struct sn_running_set *set, uint64_t time_ns);
/* Removes the operations that end up to that time, and moves to the last end. */
void sn_running_end(struct sn_running_set *set, uint64_t time_ns);
