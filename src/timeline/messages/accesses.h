/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to the memory of other ranks and to files (MPI_Put, MPI_Win_lock, MPI_File_write):
 * events of threads with the attribute `access`. By process, operation and target: how many, how
 * many bytes, and the time in calls.
 */
#ifndef SN_TIMELINE_ACCESSES_H
#define SN_TIMELINE_ACCESSES_H

#include "timeline/answers.h"

/* The sheets "one_sided" and "files", where there are any. 0 or a negative enum sn_err. */
int sn_accesses(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error);

#endif
