/* SPDX-License-Identifier: Apache-2.0 */
/* Stored findings; see sonde/db.h. All of them are checked when the database is opened. */
#include "database_reader.h"

#include "base/cursor.h"

#include <math.h>
#include <string.h>

/* The parts of the section, of which the counts say where they lie. */
struct layout {
	const struct sn_database_findings *head;
	const struct sn_database_finding *findings;
	const struct sn_database_evidence *evidence;
	struct sn_bytes texts;
};

/* False where it is cut off. */
static bool lay_out(const struct sonde_db *db, struct layout *layout)
{
	const struct sn_section_entry *entry = db->sections[SN_DATABASE_FINDINGS];
	struct sn_bytes all = {db->bytes + entry->offset, entry->length};
	layout->head = (const void *)all.data;
	if (all.size < sizeof(*layout->head))
		return false;
	uint64_t findings = layout->head->count * (uint64_t)sizeof(*layout->findings);
	uint64_t evidence = layout->head->evidence_count * (uint64_t)sizeof(*layout->evidence);
	uint64_t before = sizeof(*layout->head) + findings + evidence;
	if (before > all.size)
		return false;
	layout->findings = (const void *)(layout->head + 1);
	layout->evidence = (const void *)(layout->findings + layout->head->count);
	layout->texts = sn_bytes_slice(all, before, all.size - before);
	return true;
}

static const char *text_of(const struct layout *layout, uint32_t text)
{
	return text == SONDE_NONE ? NULL : sn_bytes_string(layout->texts, text);
}

/* Names and units exist, and so do contexts and profiles. */
static bool is_evidence_sound(const struct sonde_db *db, const struct layout *layout,
			      const struct sn_database_evidence *evidence)
{
	const char *unit = text_of(layout, evidence->unit);
	double value = evidence->value;
	if (!text_of(layout, evidence->name) || !unit || !isfinite(value))
		return false;
	bool is_context = !strcmp(unit, "context");
	uint32_t count = is_context ? db->context_count : db->profile_count;
	return (!is_context && strcmp(unit, "profile") != 0) ||
	       (value >= 0 && value < count && value == floor(value));
}

bool sn_db_check_findings(const struct sonde_db *db)
{
	struct layout layout;
	uint32_t next = 0;
	if (!db->sections[SN_DATABASE_FINDINGS])
		return true;
	if (!lay_out(db, &layout) || !layout.head->rules ||
	    (layout.texts.size && layout.texts.data[layout.texts.size - 1]))
		return false;
	for (uint32_t i = 0; i < layout.head->count; i++) {
		const struct sn_database_finding *one = layout.findings + i;
		if (!text_of(&layout, one->rule) || one->severity > SONDE_SEVERITY_MAJOR ||
		    one->first_evidence != next ||
		    one->evidence_count > layout.head->evidence_count - next ||
		    (one->suggestion != SONDE_NONE && !text_of(&layout, one->suggestion)))
			return false;
		next += one->evidence_count;
	}
	for (uint32_t i = 0; i < next; i++)
		if (!is_evidence_sound(db, &layout, layout.evidence + i))
			return false;
	return next == layout.head->evidence_count;
}

uint32_t sonde_db_finding_rules(const struct sonde_db *db)
{
	struct layout layout;
	return db->sections[SN_DATABASE_FINDINGS] && lay_out(db, &layout) ? layout.head->rules : 0;
}

uint32_t sonde_db_finding_count(const struct sonde_db *db)
{
	struct layout layout;
	return db->sections[SN_DATABASE_FINDINGS] && lay_out(db, &layout) ? layout.head->count : 0;
}

bool sonde_db_finding(const struct sonde_db *db, uint32_t finding, struct sonde_db_finding *found)
{
	struct layout layout;
	if (finding >= sonde_db_finding_count(db) || !lay_out(db, &layout))
		return false;
	const struct sn_database_finding *one = layout.findings + finding;
	*found = (struct sonde_db_finding){
	    .rule = text_of(&layout, one->rule),
	    .suggestion = text_of(&layout, one->suggestion),
	    .severity = one->severity,
	    .evidence_count = one->evidence_count,
	};
	return true;
}

bool sonde_db_evidence(const struct sonde_db *db, uint32_t finding, uint32_t number,
		       struct sonde_db_evidence *evidence)
{
	struct layout layout;
	if (finding >= sonde_db_finding_count(db) || !lay_out(db, &layout) ||
	    number >= layout.findings[finding].evidence_count)
		return false;
	const struct sn_database_evidence *one =
	    layout.evidence + layout.findings[finding].first_evidence + number;
	*evidence = (struct sonde_db_evidence){text_of(&layout, one->name),
					       text_of(&layout, one->unit), one->value};
	return true;
}
