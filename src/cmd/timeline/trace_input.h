/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace that a command is asked about: a database, or files of other tools, or a folder of
 * them, which are imported on the way into a database that nobody sees.
 */
#ifndef SN_CMD_TRACE_INPUT_H
#define SN_CMD_TRACE_INPUT_H

#include <stddef.h>

struct sn_import_notes;
struct sonde_db;

/* Prints the reason and returns SN_EXIT_FAILED where it cannot, else 0; then close the database
 * with sn_command_close. */
int sn_command_open_trace(const char *const *paths, size_t count, struct sonde_db **db);

/* Warns of what an importer left out. */
void sn_command_import_notes(const struct sn_import_notes *notes);

#endif
