/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings: conclusions of the analyses of a trace. A rule answers one question and, if the answer
 * is relevant, adds a finding: the time at stake, the call paths concerned, the evidence, and a
 * suggestion. docs/design/findings.md lists rules and their evidence. The sentence of a finding is
 * in show/timeline/sentences.c.
 *
 * To add a rule: a file rule_NAME.c with sn_rule_NAME, a line in rules.def, a function say_NAME in
 * show/timeline/sentences.c, a row in docs/design/findings.md.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_answers;
struct sn_critical_path;
struct sn_thread_times;

enum sn_rule {
#define SN_RULE(name, follows, evidence) SN_RULE_##name,
#include "timeline/findings/rules.def"
#undef SN_RULE
	SN_RULES
};
/* The version of stored findings; rules.def says when to raise it. */
#define SN_RULES_VERSION 7u
/* "device_time". */
const char *sn_rule_name(enum sn_rule rule);

/* By the share of time that is at stake: below 5 %, below 25 %, or more. */
enum sn_severity { SN_SEVERITY_NOTE, SN_SEVERITY_MINOR, SN_SEVERITY_MAJOR, SN_SEVERITIES };
enum sn_severity sn_severity_of(double stake);
const char *sn_severity_name(enum sn_severity severity);

/* A value in the unit "ns", "ratio" or "count"; or the number of a thing: "context", "profile",
 * "wait" (enum sn_wait), "cause" (enum sn_path_cause). Texts are not copied. */
struct sn_evidence {
	const char *name, *unit;
	double value;
};

enum { SN_FINDING_EVIDENCE = 20 };

struct sn_finding {
	enum sn_rule rule;
	enum sn_severity severity;
	struct sn_evidence evidence[SN_FINDING_EVIDENCE];
	size_t evidence_count;
	const char *suggestion; /* a clause; NULL: none */
};

/* All zeroes: none. */
struct sn_findings {
	struct sn_finding *items; /* in the order of rules */
	size_t count, capacity;
	bool has_failed; /* no memory for one of them */
};

/* The input of rules. */
struct sn_rule_input {
	const struct sn_answers *answers;
	const struct sn_critical_path *path;
	const struct sn_thread_times *threads; /* from the operating system's events */
};

/* All rules. answers has all parts before the findings. 0 or a negative enum sn_err; release in
 * either case. */
int sn_findings(const struct sn_answers *answers, struct sn_findings *findings,
		struct sn_error *error);
void sn_findings_release(struct sn_findings *findings);

/* One rule: adds what it finds. 0 or a negative enum sn_err. */
#define SN_RULE(name, follows, evidence)                                                           \
	int sn_rule_##name(const struct sn_rule_input *input, struct sn_findings *findings,        \
			   struct sn_error *error);
#include "timeline/findings/rules.def"
#undef SN_RULE

/* A new finding with the share of time at stake; valid until the next call. Never NULL: without
 * memory a dummy, and has_failed is set. */
struct sn_finding *sn_findings_add(struct sn_findings *findings, enum sn_rule rule, double stake);
void sn_finding_put(struct sn_finding *finding, const char *name, const char *unit, double value);
/* NAN where there is no such evidence. */
double sn_finding_value(const struct sn_finding *finding, const char *name);
bool sn_finding_has(const struct sn_finding *finding, const char *name);

/* part / whole; 0 if the whole is 0. */
double sn_share(double part, double whole);
