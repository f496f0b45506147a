/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects a measurement with the trace file beside it. sn_measurement_open adds the trace's
 * definitions by itself; readers of events map their references here.
 */
#pragma once

#include "measurement_reader.h"
#include "format/trace_file/trace_file_reader.h"

/* True for the name of a trace file. */
bool sn_measurement_is_trace(const char *path);
/* The trace file beside a measurement, from malloc; of a trace file itself. NULL where there is
 * none. */
char *sn_measurement_trace_path(const char *path);
/* Opens the trace beside the measurement and adds what it defines. 0 or SN_ERR_MEMORY. */
int sn_measurement_use_trace(struct sn_measurement *measurement, const char *path);
/* As sn_measurement_open, for a trace file that lies alone; or, where `is_process`, of a process
 * that ended before anything else of it was written. */
int sn_measurement_open_trace(const char *path, bool is_process,
			      struct sn_measurement **measurement, struct sn_error *error);

/* The position of the thread with that number; SN_ID_NONE for none. */
uint32_t sn_measurement_thread_at(const struct sn_measurement *measurement, uint32_t index);
/* The position of the thread's node that events call `own`; SN_ID_NONE where the measurement does
 * not have it. */
uint32_t sn_measurement_node_of(const struct sn_measurement_thread *thread, uint32_t own);
