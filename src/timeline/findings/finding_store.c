/* SPDX-License-Identifier: Apache-2.0 */
/* Writes findings to a section of the database, and reads them. */
#include "finding_store.h"

#include "base/intern.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "format/database/database.h"
#include "format/database/database_append.h"
#include "timeline/devices/waits.h"
#include "timeline/path/path_causes.h"

#include <math.h>
#include <string.h>

static const char *const evidence_of[SN_RULES] = {
#define SN_RULE(name, follows, evidence) evidence,
#include "timeline/findings/rules.def"
#undef SN_RULE
};

/* ---- writing ---- */

/* The place of a text among all texts, to which it is added; none for NULL. */
static uint32_t place_of(struct sn_intern *texts, const char *text, struct sn_buffer *section)
{
	if (!text)
		return SONDE_NONE;
	uint32_t number = sn_intern_add_text(texts, text, strlen(text));
	if (number == SN_INTERN_NONE) {
		section->failed = true;
		return SONDE_NONE;
	}
	const unsigned char *at = sn_intern_at(texts, number, NULL);
	return (uint32_t)(at - texts->bytes);
}

static void lay(const struct sn_findings *findings, struct sn_buffer *section)
{
	struct sn_intern texts = {0};
	struct sn_buffer evidence = {0};
	struct sn_database_findings head = {.count = (uint32_t)findings->count,
					    .rules = SN_RULES_VERSION};
	for (size_t i = 0; i < findings->count; i++)
		head.evidence_count += (uint32_t)findings->items[i].evidence_count;
	sn_buffer_put(section, &head, sizeof(head));
	for (size_t i = 0; i < findings->count; i++) {
		const struct sn_finding *one = findings->items + i;
		struct sn_database_finding record = {
		    .rule = place_of(&texts, sn_rule_name(one->rule), section),
		    .suggestion = place_of(&texts, one->suggestion, section),
		    .severity = one->severity,
		    .first_evidence =
			(uint32_t)(evidence.count / sizeof(struct sn_database_evidence)),
		    .evidence_count = (uint32_t)one->evidence_count,
		};
		sn_buffer_put(section, &record, sizeof(record));
		for (size_t e = 0; e < one->evidence_count; e++) {
			struct sn_database_evidence number = {
			    place_of(&texts, one->evidence[e].name, section),
			    place_of(&texts, one->evidence[e].unit, section),
			    one->evidence[e].value};
			sn_buffer_put(&evidence, &number, sizeof(number));
		}
	}
	sn_buffer_put(section, evidence.bytes, evidence.count);
	sn_buffer_put(section, texts.bytes, texts.count ? texts.ends[texts.count - 1] : 0);
	section->failed |= evidence.failed;
	sn_buffer_release(&evidence);
	sn_intern_release(&texts);
}

int sn_findings_store(const struct sn_findings *findings, const char *path, struct sn_error *error)
{
	struct sn_buffer section = {0};
	for (size_t i = 0; i < findings->count; i++)
		if (!sn_finding_is_sound(findings->items + i))
			return sn_fail(error, SN_ERR_FORMAT,
				       "rule %s has a finding that does not fit its declaration",
				       sn_rule_name(findings->items[i].rule));
	lay(findings, &section);
	int result = sn_db_append(path, SN_DATABASE_FINDINGS, &section, error);
	sn_buffer_release(&section);
	return result;
}

/* ---- reading ---- */

/* Whether the evidence has the NAME:UNIT with which `word` begins. */
static bool is_named(const struct sn_evidence *evidence, const char *word)
{
	size_t name = strcspn(word, ":"), unit = strcspn(word + name + 1, " ]");
	return strlen(evidence->name) == name && !strncmp(evidence->name, word, name) &&
	       strlen(evidence->unit) == unit && !strncmp(evidence->unit, word + name + 1, unit);
}

static bool can_be_told(const struct sn_evidence *evidence)
{
	double value = evidence->value;
	if (!strcmp(evidence->unit, "wait"))
		return value >= 0 && value < SN_WAITS && value == floor(value);
	if (!strcmp(evidence->unit, "cause"))
		return value >= 0 && value < SN_PATH_CAUSES && value == floor(value);
	if (!isfinite(value) || signbit(value))
		return false;
	return strcmp(evidence->unit, "count") != 0 || (value < 0x1p53 && value == floor(value));
}

/* Whether the rule's sentence ends with a suggestion. */
static bool suggests(enum sn_rule rule)
{
	return rule == SN_RULE_unmarked_iterations;
}

bool sn_finding_is_sound(const struct sn_finding *finding)
{
	size_t at = 0;
	if (suggests(finding->rule) && !finding->suggestion)
		return false;
	const char *word = evidence_of[finding->rule];
	while (*(word += strspn(word, "] "))) {
		bool is_optional = *word == '[';
		word += is_optional;
		if (at < finding->evidence_count && is_named(finding->evidence + at, word)) {
			if (!can_be_told(finding->evidence + at++))
				return false;
			word += strcspn(word, " ");
		} else if (is_optional) {
			word += strcspn(word, "]");
		} else {
			return false;
		}
	}
	return at == finding->evidence_count;
}

/* Whether a text has only visible characters; other versions could have stored others. */
static bool is_printable(const char *text)
{
	while (*text && sn_utf8_length(text) && !sn_utf8_hidden(text))
		text += sn_utf8_length(text);
	return !*text;
}

static bool load_one(const struct sonde_db *db, uint32_t number, struct sn_finding *finding)
{
	struct sonde_db_finding stored;
	unsigned rule = 0;
	sonde_db_finding(db, number, &stored);
	while (rule < SN_RULES && strcmp(sn_rule_name(rule), stored.rule) != 0)
		rule++;
	if (rule == SN_RULES || stored.severity >= SN_SEVERITIES ||
	    stored.evidence_count > SN_FINDING_EVIDENCE ||
	    (stored.suggestion && !is_printable(stored.suggestion)))
		return false;
	*finding = (struct sn_finding){.rule = rule,
				       .severity = stored.severity,
				       .evidence_count = stored.evidence_count,
				       .suggestion = stored.suggestion};
	for (uint32_t i = 0; i < stored.evidence_count; i++) {
		struct sonde_db_evidence evidence;
		sonde_db_evidence(db, number, i, &evidence);
		finding->evidence[i] =
		    (struct sn_evidence){evidence.name, evidence.unit, evidence.value};
	}
	return sn_finding_is_sound(finding);
}

bool sn_findings_load(const struct sonde_db *db, struct sn_findings *findings)
{
	uint32_t count = sonde_db_finding_count(db);
	*findings = (struct sn_findings){0};
	if (sonde_db_finding_rules(db) != SN_RULES_VERSION)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct sn_finding finding;
		if (!load_one(db, i, &finding) ||
		    sn_vec_push(&findings->items, &findings->capacity, &findings->count, finding)) {
			sn_findings_release(findings);
			return false;
		}
	}
	return true;
}
