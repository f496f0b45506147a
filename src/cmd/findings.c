/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as the last step of the commands that write databases; see command.h. */
#include "command.h"

#include "sonde/trace.h"
#include "timeline/answers.h"
#include "timeline/evidence.h"
#include "timeline/findings/finding_store.h"

/* Takes some 0.1 s and 25 MB. */
enum { EVENTS_MAX = 100000 };

/* Of the whole trace; their texts are not the database's. */
static int find(const struct sonde_db *db, const struct sonde_trace *trace,
		struct sn_findings *findings, struct sn_error *error)
{
	struct sn_answers answers = {.db = db, .trace = trace};
	int result = sn_answers(&answers, SN_ANSWERS_FINDINGS, error);
	*findings = answers.findings;
	answers.findings = (struct sn_findings){0};
	sn_answers_release(&answers);
	return result;
}

int sn_command_store_findings(const char *path, const char *name, bool wanted)
{
	struct sonde_db_error why = {""};
	struct sn_error error = {""};
	struct sn_findings findings = {0};
	struct sonde_trace *trace = NULL;
	struct sonde_db *db = NULL;
	int status = SN_EXIT_DONE;
	int result = sonde_db_open(path, &db, &why);
	if (!result)
		result = sonde_trace_open(db, &trace, &why);
	if (!result && sn_evidence_leave_out(db, trace, &error))
		result = SN_ERR_MEMORY;
	uint64_t events = result ? 0 : sonde_trace_event_count(trace);
	bool are_found = events && (wanted || events <= EVENTS_MAX);
	if (result && !*error.text)
		sn_fail(&error, result, "%s", why.text);
	else if (are_found)
		result = find(db, trace, &findings, &error);
	sonde_trace_close(trace);
	sonde_db_close(db);
	int stored = !result && are_found ? sn_findings_store(&findings, path, &error) : 0;
	sn_error_rename(&error, path, name);
	if (stored == SN_ERR_IO)
		status = sn_command_fail("%s", error.text);
	else if (result || stored)
		sn_command_warn("'%s' has no findings: %s", name, error.text);
	sn_findings_release(&findings);
	return status;
}
