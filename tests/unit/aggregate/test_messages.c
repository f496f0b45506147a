/* SPDX-License-Identifier: Apache-2.0 */
/* Which send is which receive: aggregate/messages.h. */
#include "aggregate/read/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FIRST_LINK = 1000 };

static struct sn_messages messages;

static int release(void **state)
{
	(void)state;
	sn_messages_release(&messages);
	return 0;
}

/* File n is of rank n. */
static struct sn_recorded_message message(bool is_sent, uint32_t from, uint32_t to, uint64_t number,
					  uint64_t at_ns)
{
	return (struct sn_recorded_message){.file = is_sent ? from : to,
					    .from = from,
					    .to = to,
					    .is_sent = is_sent,
					    .is_numbered = true,
					    .number = number,
					    .tag = 5,
					    .bytes = 8,
					    .start_ns = at_ns,
					    .end_ns = at_ns + 10};
}

static void add(struct sn_recorded_message added)
{
	assert_int_equal(sn_messages_add(&messages, &added), 0);
}

static void match(size_t expected)
{
	assert_int_equal(sn_messages_match(&messages, FIRST_LINK), 0);
	assert_int_equal(messages.pair_count, expected);
}

/* Of what gRPC brings the receiver does not know how much it is. */
static void test_size_of_one_end(void **state)
{
	(void)state;
	struct sn_recorded_message sent = message(true, 0, 1, 0, 100),
				   received = message(false, 0, 1, 0, 7);
	received.bytes = UINT64_MAX;
	add(received);
	add(sent);
	match(1);
	struct sn_recorded_message other = message(true, 0, 1, 1, 100),
				   larger = message(false, 0, 1, 1, 7);
	larger.bytes++;
	add(other);
	add(larger);
	messages.pair_count = 0;
	match(1);
}

static void test_pairs_have_one_link(void **state)
{
	(void)state;
	struct sn_recorded_message sent = message(true, 0, 1, 0, 100),
				   received = message(false, 0, 1, 0, 7);
	struct sn_recorded_message answer = message(true, 1, 0, 0, 30);
	add(answer);
	add(received);
	add(sent);
	match(1);
	assert_int_equal(messages.pairs[0].from, 0);
	assert_int_equal(messages.pairs[0].to, 1);
	assert_int_equal(messages.pairs[0].sent_ns, 100);
	assert_int_equal(messages.pairs[0].received_ns, 17);
	assert_int_equal(sn_messages_link(&messages, &sent), FIRST_LINK);
	assert_int_equal(sn_messages_link(&messages, &received), FIRST_LINK);
	assert_int_equal(sn_messages_link(&messages, &answer), 0);
}

/* Of one trace the beginning is lost, of the other the end: numbers tell what is left of both. */
static void test_parts_of_traces(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 60; i++)
		add(message(true, 0, 1, i, 1000 * i));
	for (uint64_t i = 40; i < 100; i++)
		add(message(false, 0, 1, i, 1000 * i + 5));
	match(20);
	for (size_t i = 0; i < messages.pair_count; i++)
		assert_int_equal(messages.pairs[i].received_ns, messages.pairs[i].sent_ns + 15);
}

/* Without numbers those of one direction, peer and tag are counted, by time. */
static void test_without_numbers(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 6; i++) {
		struct sn_recorded_message sent = message(true, 0, 1, 0, 1000 * (6 - i));
		struct sn_recorded_message received = message(false, 0, 1, 0, 1000 * (i + 1) + 5);
		sent.is_numbered = received.is_numbered = false;
		received.tag = i % 2;
		sent.tag = (5 - i) % 2; /* the last was added first */
		add(sent);
		add(received);
	}
	match(6);
	for (size_t i = 0; i < messages.pair_count; i++)
		assert_int_equal(messages.pairs[i].received_ns, messages.pairs[i].sent_ns + 15);
}

/* What two claim, and what is not as large here as there, is nobody's. */
static void test_doubtful_ones(void **state)
{
	(void)state;
	struct sn_recorded_message child = message(true, 0, 1, 0, 50),
				   larger = message(false, 0, 1, 1, 60);
	child.file = 2;
	larger.bytes = 9;
	add(message(true, 0, 1, 0, 10));
	add(child);
	add(message(false, 0, 1, 0, 20));
	add(message(true, 0, 1, 1, 30));
	add(larger);
	struct sn_recorded_message twice = message(false, 0, 1, 3, 95);
	twice.file = 2;
	add(message(true, 0, 1, 3, 90));
	add(message(false, 0, 1, 3, 94));
	add(twice);
	add(message(true, 0, 1, 2, 70));
	add(message(false, 0, 1, 2, 80));
	match(1);
	assert_int_equal(messages.pairs[0].sent_ns, 70);
}

/* Receives from anybody: in the order of posting they have what nobody else has, or nothing. */
static void receive_from_anybody(unsigned lost)
{
	for (uint64_t i = 0; i < 6 - lost; i++)
		add(message(true, 0, 1, i, 1000 * i));
	for (uint64_t i = 0; i < 6; i++) {
		/* the third and fifth have no number, and were done in the other order */
		struct sn_recorded_message received = message(false, 0, 1, i, 1000 * i + 5);
		received.recorded = i;
		if (i == 2 || i == 4) {
			received.is_numbered = false;
			received.number = 0;
			received.recorded = UINT64_MAX;
			received.order = i;
			received.start_ns = i == 2 ? 4005 : 2005;
			received.end_ns = received.start_ns + 10;
		}
		add(received);
	}
}

static void test_from_anybody(void **state)
{
	(void)state;
	receive_from_anybody(0);
	match(6);
	for (size_t i = 0; i < messages.pair_count; i++) {
		uint64_t sent = messages.pairs[i].sent_ns;
		uint64_t expected = sent == 2000 ? 4000 : sent == 4000 ? 2000 : sent;
		assert_int_equal(messages.pairs[i].received_ns, expected + 15);
	}
}

static void test_from_anybody_in_part(void **state)
{
	(void)state;
	receive_from_anybody(2);
	match(3);
	for (size_t i = 0; i < messages.pair_count; i++)
		assert_int_equal(messages.pairs[i].received_ns, messages.pairs[i].sent_ns + 15);
}

/* Not numbered, and one is missing: nobody knows which. */
static void test_not_as_many(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		struct sn_recorded_message sent = message(true, 0, 1, 0, 1000 * i);
		struct sn_recorded_message received = message(false, 0, 1, 0, 1000 * i + 5);
		sent.is_numbered = received.is_numbered = false;
		add(sent);
		if (i != 1)
			add(received);
	}
	match(0);
}

/* Many that one call has waited for are told apart by their numbers. */
static void test_one_place(void **state)
{
	(void)state;
	struct sn_recorded_message received[3];
	for (uint64_t i = 0; i < 3; i++) {
		add(message(true, 0, 1, i, 1000 * i));
		received[i] = message(false, 0, 1, i, 9000);
		received[i].recorded = i;
		add(received[i]);
	}
	match(3);
	uint64_t links[3];
	for (size_t i = 0; i < 3; i++)
		links[i] = sn_messages_link(&messages, received + i);
	assert_true(links[0] && links[1] && links[2]);
	assert_true(links[0] != links[1] && links[1] != links[2] && links[0] != links[2]);
}

/* Three processes call two groups by names of their own. */
static void test_groups(void **state)
{
	(void)state;
	const struct {
		uint32_t from, to;
		uint64_t communicator, from_group, to_group;
	} sent[] = {{0, 1, 50, 7, 8}, {1, 2, 51, 8, 9}, {0, 1, 60, 17, 18}};
	for (uint64_t i = 0; i < 3; i++) {
		struct sn_recorded_message one =
		    message(true, sent[i].from, sent[i].to, 0, 1000 * i);
		struct sn_recorded_message other =
		    message(false, sent[i].from, sent[i].to, 0, 1000 * i + 5);
		one.communicator = other.communicator = sent[i].communicator;
		one.group = sent[i].from_group;
		other.group = sent[i].to_group;
		add(one);
		add(other);
	}
	match(3);
	uint64_t first = sn_messages_group(&messages, 0, 7),
		 second = sn_messages_group(&messages, 0, 17);
	assert_int_not_equal(first, second);
	assert_int_equal(sn_messages_group(&messages, 1, 8), first);
	assert_int_equal(sn_messages_group(&messages, 2, 9), first);
	assert_int_equal(sn_messages_group(&messages, 1, 18), second);
	assert_int_equal(sn_messages_group(&messages, 2, 99), 99);
}

static void test_none(void **state)
{
	(void)state;
	struct sn_recorded_message sent = message(true, 0, 1, 0, 100);
	match(0);
	assert_int_equal(sn_messages_link(&messages, &sent), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(test_pairs_have_one_link, release),
	    cmocka_unit_test_teardown(test_size_of_one_end, release),
	    cmocka_unit_test_teardown(test_parts_of_traces, release),
	    cmocka_unit_test_teardown(test_without_numbers, release),
	    cmocka_unit_test_teardown(test_doubtful_ones, release),
	    cmocka_unit_test_teardown(test_from_anybody, release),
	    cmocka_unit_test_teardown(test_from_anybody_in_part, release),
	    cmocka_unit_test_teardown(test_not_as_many, release),
	    cmocka_unit_test_teardown(test_one_place, release),
	    cmocka_unit_test_teardown(test_groups, release),
	    cmocka_unit_test_teardown(test_none, release),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
