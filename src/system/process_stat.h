/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the kernel tells of a process in /proc/PID/stat, by their position in proc(5). */
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum sn_process_field {
	SN_PROCESS_START_TICKS = 22, /* since the machine was booted */
	SN_PROCESS_FIRST_STACK = 28, /* where it begins: another one after each exec */
};

/* 0 if the process has ended, or does not let us know. */
uint64_t sn_process_stat(pid_t pid, enum sn_process_field field);
