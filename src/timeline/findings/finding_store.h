/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings in a database: stored once it is whole, and read back by whoever tells them. Only those
 * of all events and without options are stored.
 */
#ifndef SN_TIMELINE_FINDING_STORE_H
#define SN_TIMELINE_FINDING_STORE_H

#include "timeline/findings/finding.h"

#include <stdbool.h>

struct sonde_db;

/* Gives the database at `path`, which is not open, these findings, whose texts are not its own, in
 * place of those it has. 0 or a negative enum sn_err; see database_append.h. */
int sn_findings_store(const struct sn_findings *findings, const char *path, struct sn_error *error);
/* The findings that the database has, whose texts are its own. False, and none, where it has none
 * of this version of the rules, or they are not what such rules find; then they are to be found. */
bool sn_findings_load(const struct sonde_db *db, struct sn_findings *findings);
/* Whether its evidence is what rules.def says of the rule, and numbers are such that they can be
 * told. */
bool sn_finding_is_sound(const struct sn_finding *finding);

#endif
