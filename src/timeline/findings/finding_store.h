/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings in a database: stored when it is complete, and read back to be shown. Only findings of
 * all events and without options are stored.
 */
#pragma once

#include "timeline/findings/finding.h"

#include <stdbool.h>

struct sonde_db;

/* Stores these findings in the database at `path`, which is not open, replacing those it has. Their
 * texts need not be the database's. 0 or a negative enum sn_err; see database_append.h. */
int sn_findings_store(const struct sn_findings *findings, const char *path, struct sn_error *error);
/* The stored findings, with texts of the database. False, and none, if it has none of this version
 * of the rules, or invalid ones; then the rules must be evaluated. */
bool sn_findings_load(const struct sonde_db *db, struct sn_findings *findings);
/* Whether its evidence is that declared in rules.def for the rule, and its numbers are valid. */
bool sn_finding_is_sound(const struct sn_finding *finding);
