/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel tells, in formats and records made by hand, and what becomes of it. */
#include "system/decode.h"
#include "system/perf.h"
#include "system/ring.h"
#include "system/scheduler.h"
#include "system/state.h"
#include "system/syscall_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* ---- formats ---- */

/* Fields in another order than any kernel has, with kinds of declarations that occur. */
static const char made_format[] =
    "name: sched_switch\nID: 4711\nformat:\n"
    "\tfield:int common_pid;\toffset:0;\tsize:4;\tsigned:1;\n"
    "\tfield:unsigned char common_flags;\toffset:5;\tsize:1;\tsigned:0;\n"
    "\n"
    "\tfield:pid_t next_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long prev_state;\toffset:8;\tsize:8;\tsigned:1;\n"
    "\tfield:__data_loc char[] next_comm;\toffset:16;\tsize:4;\tsigned:0;\n"
    "\tfield:__rel_loc char[] extra;\toffset:20;\tsize:4;\tsigned:0;\n"
    "\tfield:unsigned long args[6];\toffset:32;\tsize:48;\tsigned:0;\n"
    "\tfield:void * skbaddr;\toffset:80;\tsize:8;\tsigned:0;\n"
    "\nprint fmt: \"field:nothing; of this\", REC->next_pid\n";

static void parse(const char *text, struct sn_tracepoint *tracepoint)
{
	struct sn_error error = {""};
	assert_int_equal(sn_tracepoint_parse(text, strlen(text), tracepoint, &error), 0);
}

static void test_format(void **state)
{
	struct sn_tracepoint tracepoint;
	parse(made_format, &tracepoint);
	assert_string_equal(tracepoint.name, "sched_switch");
	assert_int_equal(tracepoint.id, 4711);
	assert_int_equal(tracepoint.field_count, 8);
	const struct sn_tracepoint_field *field = sn_tracepoint_field(&tracepoint, "args");
	assert_non_null(field);
	assert_int_equal(field->offset, 32);
	assert_int_equal(field->bytes, 48);
	assert_non_null(sn_tracepoint_field(&tracepoint, "skbaddr"));
	assert_null(sn_tracepoint_field(&tracepoint, "nothing"));
	assert_true(sn_tracepoint_field(&tracepoint, "next_comm")->is_elsewhere);
	assert_true(sn_tracepoint_field(&tracepoint, "extra")->is_relative);
}

static void test_format_that_is_none(void **state)
{
	static const char *const wrong[] = {
	    "",
	    "name: x\n",
	    "ID: 3\n",
	    "name: x\nID: 99999999999\n",
	    "name: x\nID: -1\n",
	    "name: x\nID: 1\n\tfield:int a;\toffset:0;\n",
	    "name: x\nID: 1\n\tfield:int a;\toffset:70000;\tsize:4;\tsigned:1;\n",
	    "name: x\nID: 1\n\tfield:;\toffset:0;\tsize:4;\tsigned:1;\n",
	    "name: "
	    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nID: 1\n",
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct sn_tracepoint tracepoint;
		struct sn_error error = {""};
		assert_int_equal(
		    sn_tracepoint_parse(wrong[i], strlen(wrong[i]), &tracepoint, &error),
		    SN_ERR_FORMAT);
		assert_true(*error.text);
	}
}

static void put(unsigned char *raw, size_t offset, uint64_t value, size_t bytes)
{
	memcpy(raw + offset, &value, bytes);
}

static void test_fields_by_their_places(void **state)
{
	struct sn_tracepoint tracepoint;
	unsigned char raw[112] = {0};
	size_t length;
	parse(made_format, &tracepoint);
	put(raw, 8, (uint64_t)-2, 8);
	put(raw, 24, (uint32_t)-77, 4);
	put(raw, 16, 96 | 4 << 16, 4);
	put(raw, 20, 76 | 3 << 16, 4); /* 76 behind its end, 24 */
	memcpy(raw + 96, "abc\0defg", 8);
	const struct sn_tracepoint_field *state_field =
	    sn_tracepoint_field(&tracepoint, "prev_state");
	const struct sn_tracepoint_field *next = sn_tracepoint_field(&tracepoint, "next_pid");
	const struct sn_tracepoint_field *text = sn_tracepoint_field(&tracepoint, "next_comm");
	assert_int_equal(sn_tracepoint_number(state_field, raw, sizeof(raw)), -2);
	assert_int_equal(sn_tracepoint_number(next, raw, sizeof(raw)), -77);
	assert_int_equal(sn_tracepoint_number(next, raw, 27), 0);
	assert_memory_equal(sn_tracepoint_text(text, raw, sizeof(raw), &length), "abc", 3);
	assert_int_equal(length, 3);
	text = sn_tracepoint_field(&tracepoint, "extra");
	assert_memory_equal(sn_tracepoint_text(text, raw, sizeof(raw), &length), "def", 3);
	assert_int_equal(length, 3);
	put(raw, 16, 110 | 4 << 16, 4); /* goes over the end */
	text = sn_tracepoint_field(&tracepoint, "next_comm");
	sn_tracepoint_text(text, raw, sizeof(raw), &length);
	assert_int_equal(length, 0);
}

/* ---- records ---- */

/* A record of perf: words of 8 bytes behind the header. */
static size_t make_record(unsigned char *bytes, uint32_t type, uint16_t misc, const uint64_t *words,
			  size_t count)
{
	struct perf_event_header header = {type, misc, (uint16_t)(sizeof(header) + count * 8)};
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), words, count * 8);
	return header.size;
}

#define PAIR(low, high) ((uint64_t)(uint32_t)(low) | (uint64_t)(uint32_t)(high) << 32)

static void test_records(void **state)
{
	unsigned char bytes[256];
	struct sn_perf_record record;
	struct sn_os_event event;
	const uint64_t fault[] = {7, PAIR(10, 11), 1000, 0xdead000, PAIR(3, 0)};
	size_t length = make_record(bytes, PERF_RECORD_SAMPLE, 0, fault, 5);
	assert_int_equal(sn_perf_record_sample_id(bytes, length), 7);
	assert_true(sn_perf_record_parse(bytes, length, true, &record));
	assert_int_equal(record.pid, 10);
	assert_int_equal(record.tid, 11);
	assert_int_equal(record.time_ns, 1000);
	assert_int_equal(record.cpu, 3);
	assert_true(sn_os_decode_record(SN_OS_FAULT_MAJOR, &record, &event));
	assert_int_equal(event.number, 0xdead000);
	/* every shorter one is refused */
	for (size_t cut = 0; cut < length; cut++)
		assert_false(sn_perf_record_parse(bytes, cut, true, &record));

	const uint64_t name[] = {PAIR(10, 12), 0x6f6c6c6568, PAIR(10, 11), 2000, PAIR(1, 0), 9};
	length = make_record(bytes, PERF_RECORD_COMM, 0, name, 6);
	assert_true(sn_perf_record_parse(bytes, length, false, &record));
	assert_true(sn_os_decode_record(SN_OS_EVENT_KINDS, &record, &event));
	assert_int_equal(event.kind, SN_OS_NAMED);
	assert_int_equal(event.other, 12);
	assert_int_equal(event.text_length, 5);
	assert_memory_equal(event.text, "hello", 5);

	const uint64_t lost[] = {9, 42, PAIR(10, 11), 3000, PAIR(0, 0), 9};
	length = make_record(bytes, PERF_RECORD_LOST, 0, lost, 6);
	assert_true(sn_perf_record_parse(bytes, length, false, &record));
	assert_true(sn_os_decode_record(SN_OS_EVENT_KINDS, &record, &event));
	assert_int_equal(event.kind, SN_OS_LOST);
	assert_int_equal(event.number, 42);

	const uint64_t out[] = {PAIR(10, 11), 4000, PAIR(0, 0), 9};
	length =
	    make_record(bytes, PERF_RECORD_SWITCH,
			PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, out, 4);
	assert_true(sn_perf_record_parse(bytes, length, false, &record));
	assert_true(sn_os_decode_record(SN_OS_EVENT_KINDS, &record, &event));
	assert_int_equal(event.kind, SN_OS_SWITCH_OUT);
	assert_int_equal(event.number, 1);
}

static void test_sample_of_a_tracepoint(void **state)
{
	struct sn_tracepoint tracepoint;
	struct sn_os_layout layout;
	struct sn_perf_record record;
	struct sn_os_event event;
	unsigned char bytes[256] = {0}, raw[112] = {0};
	uint64_t words[24] = {5, PAIR(1, 2), 100, PAIR(0, 0), sizeof(raw)};
	parse(made_format, &tracepoint);
	sn_os_layout_init(&layout, SN_OS_SWITCH, &tracepoint);
	put(raw, 0, 1234, 4);
	put(raw, 5, 0x10, 1);
	put(raw, 8, 2, 8);
	put(raw, 24, 99, 4);
	memcpy((unsigned char *)(words + 4) + 4, raw, sizeof(raw));
	size_t length = make_record(bytes, PERF_RECORD_SAMPLE, 0, words, 19);
	assert_true(sn_perf_record_parse(bytes, length, false, &record));
	assert_true(sn_os_decode_sample(&layout, SN_OS_SWITCH, &record, &event));
	assert_int_equal(event.kernel_tid, 1234);
	assert_true(event.in_interrupt);
	assert_int_equal(event.number, 2);
	assert_int_equal(event.other, 99);
	assert_int_equal(event.tid, 2);
	/* says it has more than there is */
	words[4] = sizeof(raw) + 9;
	length = make_record(bytes, PERF_RECORD_SAMPLE, 0, words, 19);
	assert_true(sn_perf_record_parse(bytes, length, false, &record));
	assert_false(sn_os_decode_sample(&layout, SN_OS_SWITCH, &record, &event));
}

/* ---- rings ---- */

#define RING 4096u

struct fake_ring {
	struct perf_event_mmap_page page;
	unsigned char data[RING];
};

/* Puts a switch of that time into it, over the end where it comes to that. */
static void ring_put(struct fake_ring *fake, uint64_t time_ns)
{
	unsigned char bytes[64];
	const uint64_t words[] = {PAIR(10, 11), time_ns, PAIR(0, 0), 9};
	size_t length = make_record(bytes, PERF_RECORD_SWITCH, 0, words, 4);
	for (size_t i = 0; i < length; i++)
		fake->data[(fake->page.data_head + i) % RING] = bytes[i];
	fake->page.data_head += length;
}

static bool no_fault(void *context, uint64_t id)
{
	return false;
}

struct taken {
	uint64_t times[512];
	size_t count;
};

static void take_time(void *context, struct sn_ring *ring)
{
	struct taken *taken = context;
	taken->times[taken->count++] = ring->record.time_ns;
}

static void test_rings_in_order(void **state)
{
	static struct fake_ring fakes[2];
	struct sn_ring rings[2] = {{0}};
	struct taken taken = {0};
	for (int i = 0; i < 2; i++) {
		fakes[i].page.data_head = fakes[i].page.data_tail = RING - 24 + (unsigned)i * 8;
		rings[i] = (struct sn_ring){.page = &fakes[i].page,
					    .data = fakes[i].data,
					    .bytes = RING,
					    .tail = fakes[i].page.data_tail,
					    .copy = malloc(65536)};
	}
	for (uint64_t time = 0; time < 100; time++)
		ring_put(fakes + (time / 3 % 2), 1000 + time);
	sn_rings_read(rings, 2, 1049, no_fault, take_time, &taken);
	assert_int_equal(taken.count, 50); /* the others may be preceded by something yet */
	ring_put(fakes, 1200);
	sn_rings_read(rings, 2, UINT64_MAX, no_fault, take_time, &taken);
	assert_int_equal(taken.count, 101);
	for (size_t i = 0; i + 1 < taken.count; i++)
		assert_int_equal(taken.times[i], 1000 + i);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fakes[i].page.data_tail, fakes[i].page.data_head);
		free(rings[i].copy);
	}
}

static void test_ring_that_makes_no_sense(void **state)
{
	static struct fake_ring fake;
	struct taken taken = {0};
	struct sn_ring ring = {
	    .page = &fake.page, .data = fake.data, .bytes = RING, .copy = malloc(65536)};
	ring_put(&fake, 1);
	fake.page.data_head += 64; /* zeroes: records without a length */
	sn_rings_read(&ring, 1, UINT64_MAX, no_fault, take_time, &taken);
	assert_int_equal(taken.count, 1);
	assert_int_equal(ring.damaged, 1);
	assert_int_equal(fake.page.data_tail, fake.page.data_head);
	ring_put(&fake, 2);
	sn_rings_read(&ring, 1, UINT64_MAX, no_fault, take_time, &taken);
	assert_int_equal(taken.count, 2);
	free(ring.copy);
}

/* ---- states ---- */

struct seen {
	struct sn_os_item items[64];
	char texts[64][2][32];
	size_t count;
};

static void see(void *context, const struct sn_os_item *item)
{
	struct seen *seen = context;
	assert_true(seen->count < 64);
	snprintf(seen->texts[seen->count][0], 32, "%s", item->group ? item->group : "");
	snprintf(seen->texts[seen->count][1], 32, "%s", item->name ? item->name : "");
	seen->items[seen->count++] = *item;
}

static struct sn_os_states *begin(struct seen *seen, bool is_wide)
{
	*seen = (struct seen){0};
	struct sn_os_sink sink = {see, NULL, seen};
	struct sn_os_states *states = sn_os_states_new(&sink, is_wide);
	assert_non_null(states);
	return states;
}

static void tell(struct sn_os_states *states, uint64_t time_ns, enum sn_os_event_kind kind,
		 int32_t tid, int32_t other, int64_t number, int64_t value)
{
	struct sn_os_event event = {.time_ns = time_ns,
				    .kind = kind,
				    .cpu = 1,
				    .pid = 10,
				    .tid = tid,
				    .kernel_tid = tid,
				    .other = other,
				    .number = number,
				    .value = value,
				    .text = ""};
	sn_os_states_add(states, &event);
}

/* What a thread did in a layer: "running 5 blocked/read 7 ...". */
static const char *story(const struct seen *seen, enum sn_os_layer layer, int32_t tid)
{
	static char text[1024];
	size_t used = 0;
	text[0] = 0;
	for (size_t i = 0; i < seen->count; i++) {
		const struct sn_os_item *item = seen->items + i;
		const char *group = seen->texts[i][0];
		if (item->layer != layer || item->tid != tid)
			continue;
		used +=
		    (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s%s %llu",
				     used ? " " : "", group, *group ? "/" : "", seen->texts[i][1],
				     (unsigned long long)(item->end_ns - item->start_ns));
	}
	return text;
}

static void test_blocked_in_a_call(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_SYSCALL_EXIT, 11, 0, SYS_execve, 0);
	tell(states, 110, SN_OS_SYSCALL_ENTER, 11, 0, SYS_read, 5);
	tell(states, 120, SN_OS_SWITCH, 11, 77, 1, 0);
	tell(states, 200, SN_OS_WAKING, 77, 11, 0, 0);
	tell(states, 230, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 240, SN_OS_SYSCALL_EXIT, 11, 0, SYS_read, -11);
	tell(states, 300, SN_OS_SWITCH, 11, 77, 0, 0);
	tell(states, 310, SN_OS_SWITCH_OUT, 11, 0, 1, 0); /* the same again */
	tell(states, 400, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 450, SN_OS_SWITCH, 11, 77, 2, 0);
	tell(states, 500, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 550, SN_OS_THREAD_END, 11, 11, 10, 0);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 11),
			    "running 20 blocked/read 80 ready 30 running 70 ready 100 running 50 "
			    "blocked/page fault 50 running 50");
	assert_string_equal(story(&seen, SN_OS_LAYER_SYSCALL, 11), "system call/read 130");
	assert_string_equal(story(&seen, SN_OS_LAYER_OCCUPANCY, 1), " 20  70  50  50");
	for (size_t i = 0; i < seen.count; i++) {
		if (seen.items[i].layer == SN_OS_LAYER_SYSCALL) {
			assert_int_equal(seen.items[i].values[SN_OS_KEY_RESULT], -11);
			assert_int_equal(seen.items[i].values[SN_OS_KEY_ARGUMENT], 5);
		}
	}
	sn_os_states_free(states);
}

/* Who woke whom is tied by a link, on both sides. */
static void test_wakeups(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_THREAD_BEGIN, 11, 12, 10, 0);
	tell(states, 110, SN_OS_SWITCH_IN, 12, 0, 0, 0);
	tell(states, 115, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 120, SN_OS_SWITCH, 12, 0, 1, 0);
	tell(states, 150, SN_OS_WAKING, 11, 12, 0, 0);
	/* a wakeup that the kernel tells of before the switch */
	tell(states, 160, SN_OS_SWITCH_IN, 12, 0, 0, 0);
	tell(states, 200, SN_OS_WAKING, 11, 12, 0, 0);
	tell(states, 210, SN_OS_SWITCH, 12, 0, 1, 0);
	tell(states, 260, SN_OS_SWITCH_IN, 12, 0, 0, 0);
	/* one that comes to nothing, as the thread runs on */
	tell(states, 300, SN_OS_WAKING, 11, 12, 0, 0);
	tell(states, 310, SN_OS_SYSCALL_ENTER, 12, 0, SYS_futex, 0);
	tell(states, 320, SN_OS_SWITCH, 12, 0, 1, 0);
	sn_os_states_finish(states, 400);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 12),
			    "ready 10 running 10 blocked 30 ready 10 running 50 ready 50 "
			    "running 60 blocked/futex 80");
	assert_string_equal(story(&seen, SN_OS_LAYER_EVENT, 11), "wakeup 0 wakeup 0");
	uint64_t link = 0;
	for (size_t i = 0; i < seen.count; i++)
		if (seen.items[i].layer == SN_OS_LAYER_STATE && seen.items[i].link) {
			link = seen.items[i].link;
			assert_int_equal(seen.items[i].values[SN_OS_KEY_WAKER], 11);
			break;
		}
	assert_int_not_equal(link, 0);
	for (size_t i = 0; i < seen.count; i++)
		if (seen.items[i].layer == SN_OS_LAYER_EVENT && seen.items[i].start_ns == 150)
			assert_int_equal(seen.items[i].link, link);
	sn_os_states_free(states);
}

/* Between the last record before a loss and the next of a thread nothing is claimed. */
static void test_lost_records(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 110, SN_OS_SYSCALL_ENTER, 11, 0, SYS_read, 0);
	tell(states, 200, SN_OS_LOST, 11, 0, 5, 150);
	tell(states, 300, SN_OS_SYSCALL_EXIT, 11, 0, SYS_write, 1);
	tell(states, 302, SN_OS_SYSCALL_ENTER, 11, 0, SYS_read, 0);
	tell(states, 305, SN_OS_SYSCALL_EXIT, 11, 0, SYS_write, 1); /* two records are missing */
	tell(states, 310, SN_OS_SWITCH, 11, 0, 1, 0);
	sn_os_states_finish(states, 400);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 11),
			    "running 50 unknown 150 running 10 blocked/page fault 90");
	assert_string_equal(story(&seen, SN_OS_LAYER_SYSCALL, 11), "");
	assert_int_equal(sn_os_states_losses(states)[SN_OS_LOSS_RECORDS], 5);
	sn_os_states_free(states);
}

/* Only a program's own switches are told, as without privilege. */
static void test_switches_alone(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_NAMED, 11, 11, 10, 0);
	tell(states, 120, SN_OS_SWITCH_OUT, 11, 0, 0, 0);
	tell(states, 220, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 230, SN_OS_SWITCH_OUT, 11, 0, 1, 0);
	tell(states, 240, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 250, SN_OS_THREAD_END, 11, 11, 10, 0);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 11),
			    "running 20 blocked 100 running 10 ready 10 running 10");
	sn_os_states_free(states);
}

/* Threads have other numbers for us than for the kernel, as in a container. */
static void test_other_numbers(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	struct sn_os_event event = {.time_ns = 100,
				    .kind = SN_OS_SYSCALL_ENTER,
				    .pid = 2,
				    .tid = 3,
				    .kernel_tid = 5003,
				    .number = SYS_read,
				    .text = ""};
	sn_os_states_add(states, &event);
	event.kind = SN_OS_SWITCH;
	event.time_ns = 110;
	event.number = 1;
	event.other = 0;
	sn_os_states_add(states, &event);
	event = (struct sn_os_event){.time_ns = 200,
				     .kind = SN_OS_WAKING,
				     .in_interrupt = true,
				     .kernel_tid = 4000,
				     .other = 5003,
				     .text = ""};
	event.other = 3; /* somebody else's, by the kernel's numbers */
	event.time_ns = 150;
	sn_os_states_add(states, &event);
	event.other = 5003;
	event.time_ns = 200;
	sn_os_states_add(states, &event);
	sn_os_states_finish(states, 300);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 3),
			    "running 10 blocked/read 90 ready 100");
	sn_os_states_free(states);
}

static void test_interrupts_and_requests(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 110, SN_OS_SOFTIRQ_ENTER, 11, 0, 1, 0);
	tell(states, 120, SN_OS_IRQ_ENTER, 11, 0, 24, 0);
	tell(states, 125, SN_OS_IRQ_EXIT, 11, 0, 24, 0);
	tell(states, 140, SN_OS_SOFTIRQ_EXIT, 11, 0, 1, 0);
	tell(states, 150, SN_OS_SOFTIRQ_EXIT, 11, 0, 3, 0); /* never began */
	tell(states, 200, SN_OS_BLOCK_QUEUE, 11, 8, 4096, 65536);
	tell(states, 210, SN_OS_BLOCK_ISSUE, 99, 8, 4096,
	     65536); /* a kernel thread goes on with it */
	tell(states, 300, SN_OS_BLOCK_COMPLETE, 0, 8, 4096, 0);
	tell(states, 310, SN_OS_BLOCK_ISSUE, 99, 8, 77, 512); /* not ours */
	tell(states, 320, SN_OS_BLOCK_COMPLETE, 0, 8, 77, 0);
	tell(states, 330, SN_OS_BLOCK_COMPLETE, 0, 8, 4096, 0); /* is over already */
	assert_string_equal(story(&seen, SN_OS_LAYER_INTERRUPT, 1),
			    "interrupt/24 5 softirq/TIMER 30");
	assert_string_equal(story(&seen, SN_OS_LAYER_BLOCK, 11), "disk/other 100");
	assert_int_equal(seen.items[seen.count - 1].values[SN_OS_KEY_BYTES], 65536);
	sn_os_states_free(states);
}

/* Of requests in flight as many are kept as the header says, wherever on the disks they lie. */
static void test_requests_in_flight(void **state)
{
	enum { KEPT = 4096, ALL = 5000 };
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	for (int round = 0; round < 3; round++) {
		seen.count = 0;
		for (int i = 0; i < ALL; i++)
			tell(states, 200, SN_OS_BLOCK_QUEUE, 11, i % 3, 8 * (i / 3), i);
		for (int i = ALL; i--;) { /* the last come first, and others by turns */
			int of = i % 2 ? i : ALL - 2 - i;
			uint32_t before = seen.count;
			tell(states, 300, SN_OS_BLOCK_COMPLETE, 0, of % 3, 8 * (of / 3), 0);
			assert_int_equal(seen.count - before, of < KEPT);
			if (of < KEPT)
				assert_int_equal(seen.items[before].values[SN_OS_KEY_BYTES], of);
			seen.count = before;
		}
		assert_int_equal(sn_os_states_losses(states)[SN_OS_LOSS_REQUESTS],
				 (round + 1) * (ALL - KEPT));
	}
	sn_os_states_free(states);
}

/* Of the whole machine threads are known from being switched to, and gone when they are dead. */
static void test_whole_machine(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, true);
	tell(states, 100, SN_OS_SWITCH, 50, 60, 1, 0);
	tell(states, 150, SN_OS_SWITCH, 60, 0, 0x20, 0);
	tell(states, 200, SN_OS_WAKING, 0, 50, 0, 0);
	tell(states, 230, SN_OS_SWITCH, 0, 50, 0, 0);
	sn_os_states_finish(states, 300);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 50), "blocked 100 ready 30 running 70");
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 60), "running 50");
	sn_os_states_free(states);
}

/* The tracepoint is silent where some threads leave a processor; perf's own records are not, and
 * what they tell of a thread that has ended makes none of it. */
static void test_switches_told_twice(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, true);
	tell(states, 100, SN_OS_SWITCH, 12, 0, 1, 0);
	tell(states, 150, SN_OS_SWITCH_IN, 12, 0, 0, 0);
	tell(states, 170, SN_OS_SWITCH, 12, 20, 1, 0);
	tell(states, 171, SN_OS_SWITCH_OUT, 12, 0, 0, 0);
	tell(states, 172, SN_OS_SWITCH_IN, 20, 0, 0, 0);
	tell(states, 190, SN_OS_SWITCH_OUT, 20, 0, 0, 0); /* only that */
	tell(states, 191, SN_OS_SWITCH_IN, 12, 0, 0, 0);
	tell(states, 200, SN_OS_THREAD_END, 12, 12, 10, 0);
	tell(states, 210, SN_OS_SWITCH, 12, 0, 0x10, 0);
	tell(states, 211, SN_OS_SWITCH_OUT, 12, 0, 0, 0);
	sn_os_states_finish(states, 300);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 12),
			    "blocked 50 running 20 blocked 21 running 9");
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 20), "running 20 blocked 110");
	sn_os_states_free(states);
}

/* Times that go back are put right, and counted. */
static void test_disorder(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	tell(states, 100, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 200, SN_OS_SWITCH_OUT, 11, 0, 1, 0);
	tell(states, 150, SN_OS_SWITCH_IN, 11, 0, 0, 0);
	tell(states, 250, SN_OS_SWITCH_OUT, 11, 0, 1, 0);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 11), "running 100 running 50");
	assert_int_equal(sn_os_states_losses(states)[SN_OS_LOSS_DISORDER], 1);
	sn_os_states_free(states);
}

/* Thousands of threads at once and one after the other. */
/* Damaged records: a thread that begins itself, and a frequency beyond all numbers. */
static void test_nonsense(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, true);
	tell(states, 100, SN_OS_THREAD_BEGIN, 11, 12, 10, 0);
	tell(states, 200, SN_OS_THREAD_BEGIN, 12, 12, 10, 0);
	tell(states, 300, SN_OS_FREQUENCY, 11, 0, 0, INT64_MIN / 3);
	sn_os_states_finish(states, 400);
	assert_string_equal(story(&seen, SN_OS_LAYER_STATE, 12), "ready 200");
	sn_os_states_free(states);
}

static void test_many_threads(void **state)
{
	struct seen seen;
	struct sn_os_states *states = begin(&seen, false);
	uint64_t time = 1;
	for (int32_t tid = 1000; tid < 21000; tid++)
		tell(states, time++, SN_OS_THREAD_BEGIN, 11, tid, 10, 0);
	for (int32_t tid = 1000; tid < 20990; tid++) {
		tell(states, time++, SN_OS_THREAD_END, tid, tid, 10, 0);
		seen.count = 0;
	}
	sn_os_states_finish(states, time);
	assert_int_equal(seen.count, 10);
	sn_os_states_free(states);
}

/* ---- by number ---- */

struct intervals {
	char text[512];
	size_t used;
};

static int note_interval(void *context, const struct sn_sched_interval *interval)
{
	struct intervals *seen = context;
	bool is_processor = interval->processor != UINT32_MAX;
	seen->used += (size_t)snprintf(
	    seen->text + seen->used, sizeof(seen->text) - seen->used, "%s%u %s %llu-%llu, ",
	    is_processor ? "CPU runs " : "", interval->tid,
	    is_processor ? "" : sn_sched_state_name(interval->thread.state),
	    (unsigned long long)interval->start_ns, (unsigned long long)interval->end_ns);
	return seen->used + 64 < sizeof(seen->text) ? 0 : -1;
}

/* A switch that does not tell who left is completed from the processor, and where another thread
 * leaves than the one that ran there, events were lost. */
static void test_switches_by_number(void **state)
{
	struct intervals seen = {.used = 0};
	struct sn_sched sched = {.interval = note_interval, .context = &seen};
	assert_int_equal(sn_sched_switch(&sched, 10, 0, 0, true, 0, 5), 0);
	assert_int_equal(sn_sched_switch(&sched, 20, 0, SN_SCHED_UNTOLD, false, 'D', 6), 0);
	assert_string_equal(seen.text, "CPU runs 5  10-20, 5 running 10-20, ");
	seen.used = 0;
	assert_int_equal(sn_sched_wake(&sched, 25, 5, 6), 0);
	assert_int_equal(sn_sched_wake(&sched, 26, 5, 7), 0); /* is ready already */
	assert_string_equal(seen.text, "5 blocked 20-25, ");
	seen.used = 0;
	assert_int_equal(sn_sched_out(&sched, 30, 0, 5, true, 0), 0);
	assert_string_equal(seen.text, "6 running 20-30, CPU runs 6  20-30, 5 ready 25-30, ");
	seen.used = 0;
	assert_int_equal(sn_sched_in(&sched, 40, 0, 5), 0);
	assert_int_equal(sn_sched_out(&sched, 50, 0, 5, false, 'X'), 0); /* has ended */
	assert_int_equal(sn_sched_finish(&sched), 0);
	assert_string_equal(seen.text, "5 ready 30-40, CPU runs 5  40-50, 5 running 40-50, ");
	sn_sched_release(&sched);
}

static void test_sources(void **state)
{
	const char *wrong;
	assert_int_equal(sn_os_sources_parse("scheduler", &wrong), 1u << SN_OS_SOURCE_SCHEDULER);
	assert_int_equal(sn_os_sources_parse("faults,block", &wrong),
			 1u << SN_OS_SOURCE_FAULTS | 1u << SN_OS_SOURCE_BLOCK);
	assert_int_equal(sn_os_sources_parse("faults,sched", &wrong), 0);
	assert_string_equal(wrong, "sched");
	assert_int_equal(sn_os_sources_parse("", &wrong), 0);
	assert_int_equal(sn_os_sources_parse("block,", &wrong), 0);
}

static void test_syscall_names(void **state)
{
	assert_string_equal(sn_os_syscall_name(SYS_read), "read");
	assert_string_equal(sn_os_syscall_name(SYS_futex), "futex");
	assert_null(sn_os_syscall_name(-1));
	assert_null(sn_os_syscall_name(100000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_format),
	    cmocka_unit_test(test_format_that_is_none),
	    cmocka_unit_test(test_fields_by_their_places),
	    cmocka_unit_test(test_records),
	    cmocka_unit_test(test_sample_of_a_tracepoint),
	    cmocka_unit_test(test_rings_in_order),
	    cmocka_unit_test(test_ring_that_makes_no_sense),
	    cmocka_unit_test(test_blocked_in_a_call),
	    cmocka_unit_test(test_wakeups),
	    cmocka_unit_test(test_lost_records),
	    cmocka_unit_test(test_switches_alone),
	    cmocka_unit_test(test_other_numbers),
	    cmocka_unit_test(test_interrupts_and_requests),
	    cmocka_unit_test(test_requests_in_flight),
	    cmocka_unit_test(test_whole_machine),
	    cmocka_unit_test(test_switches_told_twice),
	    cmocka_unit_test(test_disorder),
	    cmocka_unit_test(test_nonsense),
	    cmocka_unit_test(test_many_threads),
	    cmocka_unit_test(test_switches_by_number),
	    cmocka_unit_test(test_sources),
	    cmocka_unit_test(test_syscall_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
