/* SPDX-License-Identifier: Apache-2.0 */
/* A trace of one process, with a thread and two streams of a device, and what is made of it: for
 * tests of analyses. */
#ifndef SN_TESTS_TIMELINE_FIXTURE_H
#define SN_TESTS_TIMELINE_FIXTURE_H

#include "trace_fixture.h"

#include "timeline/answers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define BEGIN_NS UINT64_C(1700000000000000000)

static struct trace_fixture fixture;
static struct sn_answers answers;

static uint32_t thread, stream, other_stream;

static inline uint32_t context(uint32_t parent, unsigned kind, const char *name)
{
	return trace_fixture_context(&fixture, parent, kind, 0, name);
}

static inline void event(uint32_t profile, uint32_t of, uint64_t start_ns, uint64_t end_ns,
			 uint64_t link)
{
	trace_fixture_event(&fixture, profile, of, BEGIN_NS + start_ns, BEGIN_NS + end_ns, link);
}

static inline void begin(void)
{
	trace_fixture_init(&fixture);
	thread = trace_fixture_thread(&fixture, -1, 1, 1);
	stream = trace_fixture_stream(&fixture, -1, 1, 0, 7);
	other_stream = trace_fixture_stream(&fixture, -1, 1, 0, 8);
}

static inline void analyse(void)
{
	struct sn_error error;
	trace_fixture_open(&fixture);
	answers = (struct sn_answers){.db = fixture.db, .trace = fixture.trace};
	assert_int_equal(sn_answers(&answers, SN_ANSWERS_WAITS, &error), 0);
}

static inline int end(void **state)
{
	sn_answers_release(&answers);
	trace_fixture_release(&fixture);
	return 0;
}

#endif
