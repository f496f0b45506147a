/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of JAX and TensorFlow in the programs that `sonde run --graph` measures: their own
 * profilers are started in the program's Pythons (frameworks.py), write XPlane files into the
 * measurement's folder, and analysis takes graphs out of these.
 */
#pragma once

#include "base/error.h"
#include "launch.h"
#include "format/database/database_writer.h"

#include <stdbool.h>

/* Whether an entry of a measurement's folder belongs to these files, and may be removed with it:
 * "xla-PID", "xla-hook". */
bool sn_frameworks_owns(const char *name);

/* Sets the environment for a program that is started afterwards. If other users can change what the
 * folder's path leads to, they could make the program's Pythons run their code: then prints a line
 * and captures no such graphs. */
int sn_frameworks_begin(const struct sn_launch_request *launch, struct sn_error *error);
/* Removes the files that only the running program needed. */
void sn_frameworks_end(const struct sn_launch_request *launch);

/* Measurement folders whose graphs are added to a database; the context of what follows. */
struct sn_frameworks {
	const char *const *folders;
	size_t count;
};
/* For struct sn_analyze_options. Files that cannot be read become a drop of the database. */
int sn_frameworks_extend(void *context, struct sn_db_builder *builder, struct sn_error *error);
