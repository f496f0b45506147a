/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the rules in order and collects their findings. */
#include "finding.h"

#include "base/vec.h"
#include "timeline/path/critical_path.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	int (*find)(const struct sn_rule_input *input, struct sn_findings *findings,
		    struct sn_error *error);
} rules[SN_RULES] = {
#define SN_RULE(name, follows, evidence) {#name, sn_rule_##name},
#include "timeline/findings/rules.def"
#undef SN_RULE
};

const char *sn_rule_name(enum sn_rule rule)
{
	return rules[rule].name;
}

enum sn_severity sn_severity_of(double stake)
{
	return stake < 0.05   ? SN_SEVERITY_NOTE
	       : stake < 0.25 ? SN_SEVERITY_MINOR
			      : SN_SEVERITY_MAJOR;
}

const char *sn_severity_name(enum sn_severity severity)
{
	static const char *const names[SN_SEVERITIES] = {"note", "minor", "major"};
	return names[severity];
}

struct sn_finding *sn_findings_add(struct sn_findings *findings, enum sn_rule rule, double stake)
{
	static struct sn_finding discarded;
	struct sn_finding *finding = &discarded;
	if (sn_vec_reserve(&findings->items, &findings->capacity, findings->count + 1) < 0)
		findings->has_failed = true;
	else
		finding = findings->items + findings->count++;
	*finding = (struct sn_finding){.rule = rule, .severity = sn_severity_of(stake)};
	return finding;
}

void sn_finding_put(struct sn_finding *finding, const char *name, const char *unit, double value)
{
	if (finding->evidence_count < SN_FINDING_EVIDENCE)
		finding->evidence[finding->evidence_count++] =
		    (struct sn_evidence){name, unit, value};
}

double sn_finding_value(const struct sn_finding *finding, const char *name)
{
	for (size_t i = 0; i < finding->evidence_count; i++)
		if (!strcmp(finding->evidence[i].name, name))
			return finding->evidence[i].value;
	return NAN;
}

bool sn_finding_has(const struct sn_finding *finding, const char *name)
{
	return !isnan(sn_finding_value(finding, name));
}

double sn_share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

int sn_findings(const struct sn_answers *answers, struct sn_findings *findings,
		struct sn_error *error)
{
	struct sn_critical_path path;
	struct sn_rule_input input = {answers, &path, &answers->threads};
	int result = sn_critical_path(answers, &path, error);
	*findings = (struct sn_findings){0};
	for (int rule = 0; rule < SN_RULES && !result; rule++)
		result = rules[rule].find(&input, findings, error);
	if (!result && findings->has_failed)
		result = sn_fail_memory(error);
	sn_critical_path_release(&path);
	return result;
}

void sn_findings_release(struct sn_findings *findings)
{
	free(findings->items);
	*findings = (struct sn_findings){0};
}
