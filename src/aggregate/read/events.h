/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of all processes' trace files, into the database: after contexts have their final
 * form and before they have their final numbers. Rank 0 reads them, one process after the other, in
 * the order of the files, so that the same measurements give the same bytes.
 *
 * A process that is still running may have recorded more since its measurement was read. Events in
 * contexts newer than that are left out.
 */
#pragma once

#include "aggregate/pipeline.h"

/* Adds a trace writer to the builder of rank 0, if there is any event. Profiles are in the order of
 * their files. 0 or a negative enum sn_err, with its text in the pipeline. */
int sn_events_add(struct sn_pipeline *pipeline);
