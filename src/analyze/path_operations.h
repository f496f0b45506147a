/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of devices that belong to a window of a process: of the whole trace only these are
 * held while a critical path is found.
 */
#ifndef SN_ANALYZE_PATH_OPERATIONS_H
#define SN_ANALYZE_PATH_OPERATIONS_H

#include "critical_path.h"

/* A call that waits looks so many operations back. */
enum { SN_PATH_LOOK_BACK = 64 };

struct sn_path_operation {
	struct sn_operation operation;
	bool is_in_window; /* launched in it, or where that is not known running in it */
};

/* Of one device, in order of start: all that start in the window, SN_PATH_LOOK_BACK before these,
 * and whatever else is in the window. */
struct sn_path_operations {
	struct sn_path_operation *items;
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_path_operations(const struct sn_answers *answers, size_t device,
		       const struct sn_path_window *window, struct sn_path_operations *operations,
		       struct sn_error *error);
void sn_path_operations_release(struct sn_path_operations *operations);

#endif
