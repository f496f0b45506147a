/* SPDX-License-Identifier: Apache-2.0 */
/* Dataflow graphs of measurements into a database. */
#pragma once

#include "format/database/database_writer.h"
#include "format/measurement/measurement_reader.h"

/* Adds the graphs of a process, of which `measurement` has the process's text and the graph. A
 * detected (not declared) model without executions in this process is left out: it was the
 * parent's, before a fork. 0 or SN_ERR_MEMORY. */
int sn_add_graph(struct sn_db_builder *builder, const struct sn_measurement *measurement,
		 uint32_t run);
