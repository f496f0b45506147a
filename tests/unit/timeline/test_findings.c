/* SPDX-License-Identifier: Apache-2.0 */
/* Findings: stored, read back as they were, refused where a file says what cannot be, and used. */
#include "../timeline_fixture.h"
#include "../db_fixture.h"
#include "../whole_file.h"

#include "../../fuzz/inputs/fuzz_database_checksums.h"
#include "format/measurement/measurement.h"
#include "timeline/findings/finding_store.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/sonde-test-findings-XXXXXX";

static int make_path(void **state)
{
	int file = mkstemp(path);
	return file < 0 ? -1 : close(file);
}

static int remove_path(void **state)
{
	return unlink(path);
}

/* A finding with everything, one with what must be there, and one with a suggestion. */
static struct sn_findings some(void)
{
	struct sn_findings findings = {0};
	struct sn_finding *one = sn_findings_add(&findings, SN_RULE_thread_time, 0.3);
	sn_finding_put(one, "time", "ns", 123456789.5);
	sn_finding_put(one, "covered", "ratio", 1.0 / 3);
	sn_finding_put(one, "trace", "ns", 4e18);
	sn_finding_put(one, "node", "context", 14);
	sn_finding_put(one, "node_share", "ratio", 0.3);
	sn_finding_put(one, "then", "context", 0);
	sn_finding_put(one, "then_share", "ratio", 0);
	one = sn_findings_add(&findings, SN_RULE_own_code, 0.1);
	sn_finding_put(one, "share", "ratio", 0.1);
	one = sn_findings_add(&findings, SN_RULE_unmarked_iterations, 0);
	sn_finding_put(one, "path", "ns", 1e9);
	sn_finding_put(one, "is_cut", "count", 1);
	one->suggestion = "mark them";
	return findings;
}

static void write_database(void)
{
	struct sn_error error = {""};
	struct sn_db_builder *builder = db_fixture_small();
	sn_db_builder_formula(builder, "mine", "1");
	assert_int_equal(sn_db_builder_write(builder, path, &error), 0);
	sn_db_builder_free(builder);
}

static void store(const struct sn_findings *findings)
{
	struct sn_error error = {""};
	assert_int_equal(sn_findings_store(findings, path, &error), 0);
}

static struct sonde_db *open_database(void)
{
	struct sonde_db_error error = {""};
	struct sonde_db *db = NULL;
	if (sonde_db_open(path, &db, &error))
		fail_msg("%s", error.text);
	return db;
}

static void assert_same(const struct sn_finding *a, const struct sn_finding *b)
{
	assert_int_equal(a->rule, b->rule);
	assert_int_equal(a->severity, b->severity);
	assert_int_equal(!a->suggestion, !b->suggestion);
	if (a->suggestion)
		assert_string_equal(a->suggestion, b->suggestion);
	assert_int_equal(a->evidence_count, b->evidence_count);
	for (size_t i = 0; i < a->evidence_count; i++) {
		assert_string_equal(a->evidence[i].name, b->evidence[i].name);
		assert_string_equal(a->evidence[i].unit, b->evidence[i].unit);
		assert_memory_equal(&a->evidence[i].value, &b->evidence[i].value, sizeof(double));
	}
}

static void test_round_trip(void **state)
{
	struct sn_findings findings = some(), loaded, none = {0};
	struct sonde_db_finding finding;
	struct sonde_db_evidence evidence;
	const char *name, *text;
	write_database();
	store(&none);
	store(&findings); /* in place of none */
	struct sonde_db *db = open_database();
	assert_int_equal(sonde_db_verify(db, NULL), 0);
	assert_true(sonde_db_formula(db, 0, &name, &text));
	assert_string_equal(name, "mine");
	assert_int_equal(sonde_db_finding_rules(db), SN_RULES_VERSION);
	assert_int_equal(sonde_db_finding_count(db), 3);
	assert_true(sonde_db_finding(db, 0, &finding));
	assert_string_equal(finding.rule, "thread_time");
	assert_null(finding.suggestion);
	assert_int_equal(finding.severity, SONDE_SEVERITY_MAJOR);
	assert_int_equal(finding.evidence_count, 7);
	assert_true(sonde_db_evidence(db, 2, 1, &evidence));
	assert_string_equal(evidence.name, "is_cut");
	assert_false(sonde_db_finding(db, 3, &finding));
	assert_false(sonde_db_evidence(db, 2, 2, &evidence));
	assert_false(sonde_db_evidence(db, 3, 0, &evidence));
	assert_true(sn_findings_load(db, &loaded));
	assert_int_equal(loaded.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_same(findings.items + i, loaded.items + i);
	sn_findings_release(&loaded);
	sn_findings_release(&findings);
	sonde_db_close(db);
}

static void test_none(void **state)
{
	struct sn_findings findings = {0};
	write_database();
	struct sonde_db *db = open_database();
	assert_int_equal(sonde_db_finding_rules(db), 0);
	assert_int_equal(sonde_db_finding_count(db), 0);
	assert_false(sn_findings_load(db, &findings));
	sonde_db_close(db);
	store(&findings); /* looked for, and there are none */
	db = open_database();
	assert_int_equal(sonde_db_finding_rules(db), SN_RULES_VERSION);
	assert_true(sn_findings_load(db, &findings));
	assert_int_equal(findings.count, 0);
	sn_findings_release(&findings);
	sonde_db_close(db);
}

/* Each of these is as its rule says, and not any more once one thing about it has changed. */
static void test_soundness(void **state)
{
	struct sn_findings findings = some();
	struct sn_error error = {""};
	for (size_t i = 0; i < findings.count; i++)
		assert_true(sn_finding_is_sound(findings.items + i));
	struct sn_finding whole = findings.items[0], one = whole;
	one.evidence[0].unit = "count";
	assert_false(sn_finding_is_sound(&one));
	one = whole, one.evidence[3].name = "nodes";
	assert_false(sn_finding_is_sound(&one));
	one = whole, one.evidence_count--; /* half of what may be missing */
	assert_false(sn_finding_is_sound(&one));
	one = whole, one.evidence_count -= 2; /* all of it */
	assert_true(sn_finding_is_sound(&one));
	one = whole, sn_finding_put(&one, "share", "ratio", 1);
	assert_false(sn_finding_is_sound(&one));
	one = whole, one.evidence[4].value = NAN;
	assert_false(sn_finding_is_sound(&one));
	static const double no_counts[] = {0x1p60, 0.5, -1, -0.0};
	for (size_t i = 0; i < sizeof(no_counts) / sizeof(*no_counts); i++) {
		one = findings.items[2], one.evidence[1].value = no_counts[i];
		assert_false(sn_finding_is_sound(&one));
	}
	one = findings.items[2], one.evidence[0].value = -5; /* no duration */
	assert_false(sn_finding_is_sound(&one));
	one = findings.items[2], one.suggestion = NULL; /* its sentence ends with one */
	assert_false(sn_finding_is_sound(&one));
	one = (struct sn_finding){.rule = SN_RULE_device_waits};
	sn_finding_put(&one, "without_computation", "ratio", 0.5);
	assert_true(sn_finding_is_sound(&one));
	sn_finding_put(&one, "reason", "wait", SN_WAITS - 1);
	sn_finding_put(&one, "reason_share", "ratio", 0.5);
	assert_true(sn_finding_is_sound(&one));
	one.evidence[1].value = SN_WAITS;
	assert_false(sn_finding_is_sound(&one));
	/* such a one is not stored */
	findings.items[0].evidence[0].value = INFINITY;
	write_database();
	assert_int_equal(sn_findings_store(&findings, path, &error), SN_ERR_FORMAT);
	assert_string_equal(error.text,
			    "rule thread_time has a finding that does not fit its declaration");
	struct sonde_db *db = open_database();
	assert_int_equal(sonde_db_finding_rules(db), 0);
	sonde_db_close(db);
	sn_findings_release(&findings);
}

/* ---- what a file may say ---- */

/* The file with these findings, its section, and the same again with right checksums. */
static unsigned char *bytes;
static size_t length;

static unsigned char *begin_change(void)
{
	struct sn_findings findings = some();
	write_database();
	store(&findings);
	sn_findings_release(&findings);
	bytes = read_whole(path, &length);
	return fuzz_find_section(bytes, length, SN_DATABASE_FINDINGS).bytes;
}

static void end_change(void)
{
	fuzz_patch_database(bytes, length);
	FILE *file = fopen(path, "wb");
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	fclose(file);
	free(bytes);
}

static void change(size_t place, uint32_t number)
{
	memcpy(begin_change() + place, &number, sizeof(number));
	end_change();
}

static void assert_refused(void)
{
	struct sonde_db_error error = {""};
	struct sonde_db *db;
	assert_int_equal(sonde_db_open(path, &db, &error), SONDE_DB_DAMAGED);
	assert_non_null(strstr(error.text, "damaged (inconsistent findings)"));
	assert_null(strchr(error.text, '\n'));
}

static void test_hostile_sections(void **state)
{
	enum { FINDINGS = 16, EVIDENCE = FINDINGS + 3 * 24, TEXTS = EVIDENCE + 10 * 16 };
	static const struct {
		size_t place;
		uint32_t number;
	} changes[] = {
	    {0, UINT32_MAX},			  /* findings */
	    {0, 2},				  /* one fewer: evidence is left over */
	    {4, UINT32_MAX},			  /* evidence */
	    {4, 9},				  /* less than findings have */
	    {8, 0},				  /* rules of no version */
	    {FINDINGS, UINT32_MAX},		  /* a rule without a name */
	    {FINDINGS, 100000},			  /* whose name lies behind the texts */
	    {FINDINGS + 4, 100000},		  /* its suggestion */
	    {FINDINGS + 8, 3},			  /* a severity */
	    {FINDINGS + 12, 1},			  /* evidence that begins elsewhere */
	    {FINDINGS + 16, UINT32_MAX},	  /* and has no end */
	    {EVIDENCE, 100000},			  /* a name */
	    {EVIDENCE + 4, 100000},		  /* a unit */
	    {EVIDENCE + 12, 0x7ff00000},	  /* infinity */
	    {EVIDENCE + 3 * 16 + 12, 0x7fe00000}, /* a context that is not there */
	    {EVIDENCE + 3 * 16 + 12, 0xc0000000}, /* below 0 */
	    {EVIDENCE + 5 * 16 + 12, 0x3fe00000}, /* between two */
	};
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		change(changes[i].place, changes[i].number);
		assert_refused();
	}
	unsigned char *section = begin_change();
	size_t section_length = fuzz_find_section(bytes, length, SN_DATABASE_FINDINGS).length;
	section[section_length - 1] = 'x'; /* a text without an end */
	end_change();
	assert_refused();
	/* every shorter section, whose entry says so */
	for (size_t cut = 0; cut < section_length; cut++) {
		begin_change();
		struct sn_container_header *header = (void *)bytes;
		struct sn_section_entry *table = (void *)(bytes + header->table_offset);
		for (uint32_t i = 0; i < header->section_count; i++)
			if (table[i].type == SN_DATABASE_FINDINGS)
				table[i].length = cut;
		end_change();
		struct sonde_db *db;
		if (cut < TEXTS)
			assert_refused();
		else if (!sonde_db_open(path, &db, NULL))
			sonde_db_close(db); /* texts may end before the last ones that are used */
	}
}

/* Sound, and still nothing to tell: they are found anew. */
static void test_what_nobody_here_wrote(void **state)
{
	struct sn_findings loaded;
	change(8, SN_RULES_VERSION + 1);
	struct sonde_db *db = open_database();
	assert_int_equal(sonde_db_finding_count(db), 3);
	assert_false(sn_findings_load(db, &loaded));
	sonde_db_close(db);
	static const char *const texts[][2] = {{"thread_time", "thread_tide"},
					       {"mark them", "mark\033them"},
					       {"node_share", "node_shart"}};
	for (size_t i = 0; i < 3; i++) {
		unsigned char *section = begin_change();
		size_t left = length - (size_t)(section - bytes);
		unsigned char *at = memmem(section, left, texts[i][0], strlen(texts[i][0]));
		assert_non_null(at);
		memcpy(at, texts[i][1], strlen(texts[i][1]));
		end_change();
		db = open_database();
		assert_int_equal(sonde_db_finding_count(db), 3);
		assert_false(sn_findings_load(db, &loaded));
		assert_int_equal(loaded.count, 0);
		sonde_db_close(db);
	}
}

/* ---- what analyses do with them ---- */

static void assert_rules(bool launched_only, uint64_t iteration, const enum sn_rule *rules,
			 size_t count)
{
	struct sn_error error = {""};
	struct sn_answers wanted = {.db = fixture.db,
				    .trace = fixture.trace,
				    .launched_only = launched_only,
				    .iteration = iteration};
	assert_int_equal(sn_answers(&wanted, SN_ANSWERS_FINDINGS, &error), 0);
	assert_int_equal(wanted.findings.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(wanted.findings.items[i].rule, rules[i]);
		assert_true(sn_finding_is_sound(wanted.findings.items + i));
	}
	sn_answers_release(&wanted);
}

/* A thread that is in one call: what is found of it, and what the file says instead. */
static void test_answers(void **state)
{
	static const enum sn_rule found[] = {SN_RULE_thread_time, SN_RULE_path_cause,
					     SN_RULE_critical_node};
	static const enum sn_rule stored[] = {SN_RULE_own_code};
	struct sn_error error = {""};
	struct sonde_db_error why = {""};
	begin();
	event(thread, context(0, SN_FRAME_OPERATOR, "aten::mm"), 0, 1000, 0);
	assert_int_equal(sn_db_builder_write(fixture.builder, path, &error), 0);
	assert_int_equal(sonde_db_open(path, &fixture.db, &why), 0);
	assert_int_equal(sonde_trace_open(fixture.db, &fixture.trace, &why), 0);
	assert_rules(false, 0, found, 3);
	sonde_trace_close(fixture.trace);
	sonde_db_close(fixture.db);
	struct sn_findings findings = {0};
	sn_finding_put(sn_findings_add(&findings, SN_RULE_own_code, 0.1), "share", "ratio", 0.1);
	store(&findings);
	sn_findings_release(&findings);
	assert_int_equal(sonde_db_open(path, &fixture.db, &why), 0);
	assert_int_equal(sonde_trace_open(fixture.db, &fixture.trace, &why), 0);
	assert_rules(false, 0, stored, 1);
	assert_rules(true, 0, found, 3); /* other questions have other answers */
	assert_rules(false, 1, found, 3);
	trace_fixture_release(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_none),
	    cmocka_unit_test(test_soundness),
	    cmocka_unit_test(test_hostile_sections),
	    cmocka_unit_test(test_what_nobody_here_wrote),
	    cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, make_path, remove_path);
}
