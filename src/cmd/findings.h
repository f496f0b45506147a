/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as the last step of the commands that write databases. */
#ifndef SN_CMD_FINDINGS_H
#define SN_CMD_FINDINGS_H

#include <stdbool.h>

/*
 * Stores what the events of a database say in the database, which nobody else has open; messages
 * call it `name`. Only of a trace so short that nobody notices how long it takes, unless they are
 * `wanted` (docs/design/findings.md). Where events cannot be analysed a line says so, and the
 * database is as it was. Prints what is wrong and returns SN_EXIT_FAILED where it cannot be
 * written, else 0.
 */
int sn_command_store_findings(const char *path, const char *name, bool wanted);

#endif
