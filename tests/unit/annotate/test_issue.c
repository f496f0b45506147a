/* SPDX-License-Identifier: Apache-2.0 */
/* The simple model of a processor on blocks whose time is known by counting. */
#include "annotate/issue.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { MOST = 16 };

static struct sn_insn_effect simple(unsigned reads, unsigned writes)
{
	return (struct sn_insn_effect){.reads = UINT64_C(1) << reads,
				       .writes = UINT64_C(1) << writes,
				       .latency = 1,
				       .parts = 1};
}

static struct sn_issue_block model(const struct sn_insn_effect *effects, size_t count,
				   struct sn_issue *issues)
{
	struct sn_issue_block block;
	assert_int_equal(sn_issue_block(effects, count, issues, &block), 0);
	return block;
}

static void expect(double found, double wanted)
{
	if (fabs(found - wanted) > 0.01)
		fail_msg("%g, and not %g", found, wanted);
}

/* Eight independent instructions: two cycles, four at a time. */
static void test_width(void **unused)
{
	struct sn_insn_effect effects[8];
	struct sn_issue issues[MOST];
	(void)unused;
	for (unsigned i = 0; i < 8; i++)
		effects[i] = simple(20 + i, i);
	struct sn_issue_block block = model(effects, 8, issues);
	expect(block.parts, 8);
	expect(block.resource, 2);
	expect(block.loop, 2);
}

/* A chain of four: a cycle each, also from turn to turn. */
static void test_chain(void **unused)
{
	struct sn_insn_effect effects[4];
	struct sn_issue issues[MOST];
	(void)unused;
	for (unsigned i = 0; i < 4; i++)
		effects[i] = simple(0, 0);
	struct sn_issue_block block = model(effects, 4, issues);
	expect(block.loop, 4);
	expect(block.resource, 1);
	for (int i = 0; i < 4; i++)
		expect(issues[i].least, 1);
}

/* A load whose address is what it loaded before: the latency of the first cache, and all of it is waiting. */
static void test_chase(void **unused)
{
	struct sn_insn_effect effects[] = {simple(0, 0), simple(1, 1)};
	struct sn_issue issues[MOST];
	(void)unused;
	effects[0].loads = true;
	effects[0].latency = 0;
	struct sn_issue_block block = model(effects, 2, issues);
	expect(block.loop, 5);
	assert_true(issues[0].least > 4 && issues[0].dependency > 2 && issues[1].least < 1);
}

/* Divisions that do not depend on each other wait for the unit. */
static void test_unit(void **unused)
{
	struct sn_insn_effect effects[] = {simple(1, 2), simple(3, 4)};
	struct sn_issue issues[MOST];
	(void)unused;
	for (int i = 0; i < 2; i++) {
		effects[i].kind = SN_EFFECT_LONG;
		effects[i].latency = 20;
	}
	struct sn_issue_block block = model(effects, 2, issues);
	expect(block.loop, 20);
	expect(block.resource, 20);
	assert_true(issues[1].port > 5 && issues[1].dependency < 1);
}

static void test_nothing(void **unused)
{
	struct sn_insn_effect call = {.kind = SN_EFFECT_CALL};
	struct sn_issue issues[MOST];
	(void)unused;
	expect(model(&call, 0, issues).loop, 0);
	expect(model(&call, 1, issues).loop, 0);
	expect(issues[0].least, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_width), cmocka_unit_test(test_chain),
	    cmocka_unit_test(test_chase), cmocka_unit_test(test_unit),
	    cmocka_unit_test(test_nothing)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
