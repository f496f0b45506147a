/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's data under test: calling context trees, memory limits, threads that insert while
 * snapshots are taken. Run as it is, under ASan and UBSan, and under TSan (tests/tsan.sh). What
 * samples and adapters would do is not here: it is replaced by the few functions at the top.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "collect/core/context.h"
#include "collect/core/adapters.h"
#include "collect/core/clock.h"
#include "collect/record/checkpoint.h"
#include "collect/record/losses.h"
#include "collect/record/property.h"
#include "collect/sample/sample.h"
#include "collect/core/thread.h"
#include "format/measurement/measurement_reader.h"

#include <pthread.h>
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct sn_config sn_config;

void sn_sampling_start(struct sn_thread *thread)
{
}

void sn_sampling_stop(struct sn_thread *thread)
{
}

const char *sn_sampling_status(void)
{
	return "by hand";
}

int sn_real_sigaction(int signal, const struct sigaction *new_action, struct sigaction *old_action);
int sn_real_sigaction(int signal, const struct sigaction *new_action, struct sigaction *old_action)
{
	return -1;
}

bool sn_confined(void);
bool sn_confined(void)
{
	return false;
}

bool sn_confined_unasked(void);
bool sn_confined_unasked(void)
{
	return false;
}

void sn_unwinder_release(struct sn_unwinder *unwinder)
{
}

void sn_callpath_release(struct sn_thread *thread)
{
}

void sn_context_release(struct sn_thread *thread)
{
}

uint32_t sn_adapter_count(void)
{
	return 0;
}

const struct sn_adapter *sn_adapter_at(uint32_t index)
{
	return NULL;
}

static size_t pages_at_start; /* of what main set up */

static struct sn_frame frame_of(uint64_t value)
{
	return (struct sn_frame){.kind = SN_FRAME_NATIVE, .id = SN_ID_NONE, .value = value};
}

static uint32_t insert_path(struct sn_cct *cct, const uint64_t *values, size_t depth)
{
	uint32_t node = SN_NODE_ROOT;
	for (size_t level = 0; level < depth && node != SN_NODE_NONE; level++) {
		struct sn_frame frame = frame_of(values[level]);
		node = sn_cct_child(cct, node, &frame);
	}
	return node;
}

/* ---- trees ---- */

static void a_path_inserted_twice_is_one_path(void **state)
{
	struct sn_cct cct;
	assert_int_equal(sn_cct_init(&cct), 0);
	const uint64_t path[] = {1, 2, 3, 2, 1};
	uint32_t first = insert_path(&cct, path, 5);
	uint32_t nodes = sn_array_count(&cct.nodes);
	size_t bytes = sn_pages_bytes();
	for (int round = 0; round < 100000; round++)
		assert_int_equal(insert_path(&cct, path, 5), first);
	assert_int_equal(sn_array_count(&cct.nodes), nodes);
	assert_int_equal(nodes, 6);
	assert_int_equal(sn_pages_bytes(), bytes);
	sn_cct_release(&cct);
}

static void frames_differ_in_every_field(void **state)
{
	struct sn_cct cct;
	sn_cct_init(&cct);
	struct sn_frame frames[] = {
	    {.kind = 1}, {.kind = 2}, {.flags = 1}, {.id = 1}, {.value = 1}};
	for (size_t a = 0; a < 5; a++)
		for (size_t b = 0; b < a; b++)
			assert_int_not_equal(sn_cct_child(&cct, 0, &frames[a]),
					     sn_cct_child(&cct, 0, &frames[b]));
	assert_int_equal(sn_array_count(&cct.nodes), 6);
	sn_cct_release(&cct);
}

/* More contexts than any table or segment first has room for; each is found again. */
static void large_trees_keep_every_context(void **state)
{
	enum { COUNT = 70000 };
	struct sn_cct cct;
	sn_cct_init(&cct);
	static uint32_t nodes[COUNT];
	for (uint32_t index = 0; index < COUNT; index++) {
		struct sn_frame frame = frame_of(index);
		nodes[index] = sn_cct_child(&cct, index ? nodes[index / 2] : 0, &frame);
		assert_int_equal(nodes[index], index + 1);
	}
	for (uint32_t index = 0; index < COUNT; index++) {
		struct sn_frame frame = frame_of(index);
		assert_int_equal(sn_cct_child(&cct, index ? nodes[index / 2] : 0, &frame),
				 nodes[index]);
	}
	sn_cct_release(&cct);
	assert_int_equal(sn_pages_bytes(), pages_at_start);
}

static void values_are_statistics(void **state)
{
	struct sn_cct cct;
	sn_cct_init(&cct);
	const uint64_t path[] = {1}, amounts[] = {5, 3, 9, 4};
	uint32_t node = insert_path(&cct, path, 1);
	for (size_t index = 0; index < 4; index++) {
		assert_true(sn_cct_add(&cct, node, 2, amounts[index]));
		assert_true(sn_cct_add(&cct, node, 0, 1));
	}
	assert_int_equal(sn_array_count(&cct.values), 2);
	const struct sn_value_record *value =
	    &((struct sn_cct_value *)sn_array_at(&cct.values, 0))->record;
	assert_int_equal(value->metric, 2);
	assert_int_equal(value->count, 4);
	assert_int_equal(value->sum, 21);
	assert_int_equal(value->min, 3);
	assert_int_equal(value->max, 9);
	assert_true(value->sum_squares == 131);
	sn_cct_forget_values(&cct);
	assert_true(sn_cct_add(&cct, node, 2, 7));
	value = &((struct sn_cct_value *)sn_array_at(&cct.values, 2))->record;
	assert_int_equal(value->sum, 7);
	sn_cct_release(&cct);
}

/* The root is nobody's child, not even its own. */
static void a_frame_like_the_roots_is_below_it(void **state)
{
	struct sn_cct cct;
	sn_cct_init(&cct);
	struct sn_frame frame = {.kind = SN_FRAME_THREAD, .id = SN_ID_NONE};
	assert_int_equal(sn_cct_child(&cct, 0, &frame), 1);
	assert_int_equal(sn_cct_child(&cct, 0, &frame), 1);
	sn_cct_release(&cct);
}

static void strings_and_codes_are_kept_once(void **state)
{
	struct sn_cct cct;
	char text[20000];
	sn_cct_init(&cct);
	for (uint32_t index = 0; index < 20000; index++) {
		int length = snprintf(text, sizeof(text), "name %u", index);
		assert_int_equal(sn_cct_string(&cct, text, (size_t)length), index);
	}
	for (uint32_t index = 0; index < 20000; index++) {
		int length = snprintf(text, sizeof(text), "name %u", index);
		assert_int_equal(sn_cct_string(&cct, text, (size_t)length), index);
	}
	memset(text, 'x', sizeof(text));
	uint32_t cut = sn_cct_string(&cct, text, sizeof(text));
	assert_int_equal(((struct sn_cct_string *)sn_array_at(&cct.strings, cut))->length, 16000);
	assert_int_equal(sn_cct_string(&cct, "", 0), cut + 1);
	uint32_t code = sn_cct_code(&cct, "a.py", 4, "f", 1, 3);
	assert_int_equal(sn_cct_code(&cct, "a.py", 4, "f", 1, 3), code);
	assert_int_not_equal(sn_cct_code(&cct, "a.py", 4, "f", 1, 4), code);
	assert_int_not_equal(sn_cct_code(&cct, "b.py", 4, "f", 1, 3), code);
	sn_cct_release(&cct);
}

/* Memory ends at every possible point in turn: nothing breaks, and what was there stays there. */
static void running_out_of_memory_loses_only_what_is_new(void **state)
{
	const uint64_t old_path[] = {1, 2};
	for (size_t limit = 4096; limit < 400000; limit += 12288) {
		struct sn_cct cct;
		sn_pages_set_limit(pages_at_start + limit);
		if (sn_cct_init(&cct)) {
			assert_int_equal(sn_pages_bytes(), pages_at_start);
			continue;
		}
		uint32_t old_node = insert_path(&cct, old_path, 2);
		uint32_t refused = 0;
		for (uint32_t index = 0; index < 5000 && old_node != SN_NODE_NONE; index++) {
			uint64_t path[] = {1, index};
			uint32_t node = insert_path(&cct, path, 2);
			char name[16];
			snprintf(name, sizeof(name), "n%u", index);
			bool is_kept = node != SN_NODE_NONE && sn_cct_add(&cct, node, 0, 1) &&
				       sn_cct_string(&cct, name, strlen(name)) != SN_ID_NONE;
			refused += !is_kept;
		}
		assert_int_equal(insert_path(&cct, old_path, 2), old_node);
		assert_true(old_node == SN_NODE_NONE || refused > 0);
		sn_cct_release(&cct);
		assert_int_equal(sn_pages_bytes(), pages_at_start);
	}
	sn_pages_set_limit(0);
}

/* ---- threads and snapshots ---- */

static _Atomic bool stop;

static void *measure_something(void *seed_pointer)
{
	uint64_t seed = (uintptr_t)seed_pointer;
	struct sn_thread *thread = sn_thread_begin(0);
	uint32_t metric = sn_metric("cpu-time", "ns", "test", SN_METRIC_TIME, 0);
	while (!atomic_load(&stop)) {
		uint64_t path[8];
		char name[32];
		struct sn_thread *entered = sn_enter();
		assert_ptr_equal(entered, thread);
		assert_null(sn_enter());
		for (size_t level = 0; level < 8; level++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			path[level] = seed >> 63;
		}
		uint32_t node = insert_path(&thread->cct, path, 8);
		int length = snprintf(name, sizeof(name), "string %u", (unsigned)(seed >> 59));
		struct sn_frame named = {.kind = SN_FRAME_REGION,
					 .id = sn_cct_string(&thread->cct, name, (size_t)length)};
		node = sn_cct_child(&thread->cct, node, &named);
		struct sn_frame python = {
		    .kind = SN_FRAME_PYTHON,
		    .id = sn_cct_code(&thread->cct, "f.py", 4, name, (size_t)length, 1)};
		node = sn_cct_child(&thread->cct, node, &python);
		sn_cct_add(&thread->cct, node, metric, seed >> 40);
		sn_leave(thread);
	}
	sn_thread_end();
	return NULL;
}

/* Writes a checkpoint and reads it back with the reader, which checks every reference in it. */
static uint64_t snapshot_values(void)
{
	char **files;
	size_t file_count;
	uint64_t count = 0, failed = sn_drops(SN_DROP_CHECKPOINT_FAILED);
	struct sn_measurement *measurement;
	struct sn_error error = {""};
	sn_checkpoint_now("");
	assert_int_equal(sn_drops(SN_DROP_CHECKPOINT_FAILED), failed);
	assert_int_equal(sn_measurement_list(sn_config.output, &files, &file_count, &error), 0);
	for (size_t file = 0; file < file_count; file++) {
		char own[32];
		snprintf(own, sizeof(own), "-%d-", (int)getpid());
		if (!strstr(files[file], own))
			continue;
		if (sn_measurement_open(files[file], &measurement, &error))
			fail_msg("%s", error.text);
		assert_false(measurement->is_fallback);
		for (uint32_t thread = 0; thread < measurement->thread_count; thread++)
			for (size_t value = 0; value < measurement->threads[thread].value_count;
			     value++)
				count += measurement->threads[thread].values[value].count;
		sn_measurement_free(measurement);
	}
	sn_measurement_free_list(files);
	return count;
}

static void snapshots_of_running_threads_are_consistent(void **state)
{
	pthread_t threads[4];
	atomic_store(&stop, false);
	for (uintptr_t thread = 0; thread < 4; thread++)
		pthread_create(&threads[thread], NULL, measure_something, (void *)(thread + 1));
	uint64_t before = 0;
	for (int read = 0, patience = 0; read < 40 && patience < 5000; patience++) {
		uint64_t now = snapshot_values();
		read += now > 0;
		assert_true(now >= before);
		before = now;
	}
	atomic_store(&stop, true);
	for (int thread = 0; thread < 4; thread++)
		pthread_join(threads[thread], NULL);
	assert_true(before > 0);
	assert_true(snapshot_values() >= before);
	assert_int_equal(sn_thread_count(), 4);
}

static FILE *open_own_file(void)
{
	char **files, own[32];
	size_t file_count;
	struct sn_error error = {""};
	FILE *file = NULL;
	assert_int_equal(sn_measurement_list(sn_config.output, &files, &file_count, &error), 0);
	snprintf(own, sizeof(own), "-%d-", (int)getpid());
	for (size_t i = 0; i < file_count && !file; i++)
		file = strstr(files[i], own) ? fopen(files[i], "rb") : NULL;
	sn_measurement_free_list(files);
	assert_non_null(file);
	return file;
}

static struct sn_commit_slot newest_slot(FILE *file)
{
	struct sn_commit_slot slots[2];
	for (unsigned i = 0; i < 2; i++) {
		fseek(file, SN_COMMIT_SLOT_OFFSET(i), SEEK_SET);
		if (fread(&slots[i], sizeof(slots[i]), 1, file) != 1)
			slots[i].sequence = 0;
	}
	return slots[slots[1].sequence > slots[0].sequence];
}

/* Whoever is killed while a snapshot is written has the one before it: what it consists of, and
 * where it is said, is touched by the next but one only. */
static void the_snapshot_before_stays_whole(void **state)
{
	static unsigned char before[16 << 20], after[16 << 20];
	struct sn_thread *thread = sn_thread_begin(0);
	struct sn_frame frame = frame_of(3);
	uint32_t node = sn_cct_child(&thread->cct, 0, &frame);
	for (int i = 0; i < 5; i++) {
		sn_cct_add(&thread->cct, node, 0, 10);
		assert_true(snapshot_values() > 0);
		FILE *file = open_own_file();
		struct sn_commit_slot slot = newest_slot(file), same;
		assert_in_range(slot.length, 1, sizeof(before));
		fseek(file, (long)slot.offset, SEEK_SET);
		assert_int_equal(fread(before, 1, slot.length, file), slot.length);
		fclose(file);
		sn_cct_add(&thread->cct, node, 0, 10);
		sn_checkpoint_now("");
		file = open_own_file();
		struct sn_commit_slot next = newest_slot(file);
		assert_int_equal(next.sequence, slot.sequence + 1);
		fseek(file, SN_COMMIT_SLOT_OFFSET(slot.sequence % 2), SEEK_SET);
		assert_int_equal(fread(&same, sizeof(same), 1, file), 1);
		assert_memory_equal(&same, &slot, sizeof(slot));
		fseek(file, (long)slot.offset, SEEK_SET);
		assert_int_equal(fread(after, 1, slot.length, file), slot.length);
		assert_memory_equal(after, before, slot.length);
		fclose(file);
	}
	sn_thread_end();
}

static void a_forked_child_begins_anew(void **state)
{
	struct sn_thread *thread = sn_thread_begin(0);
	struct sn_frame frame = frame_of(3);
	uint32_t node = sn_cct_child(&thread->cct, 0, &frame);
	sn_cct_add(&thread->cct, node, 0, 10);
	assert_true(snapshot_values() > 0);
	pid_t child = fork();
	if (!child) {
		sn_checkpoint_open();
		sn_threads_after_fork();
		bool is_empty = snapshot_values() == 0 && sn_thread_count() == 1;
		sn_cct_add(&thread->cct, node, 0, 10);
		_exit(is_empty && snapshot_values() == 1 ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	sn_thread_end();
}

static uint32_t lost(enum sn_loss loss)
{
	FILE *file = open_own_file();
	struct sn_losses_record record;
	fseek(file, SN_LOSSES_OFFSET, SEEK_SET);
	assert_int_equal(fread(&record, sizeof(record), 1, file), 1);
	fclose(file);
	return record.counts[loss];
}

static void wait_for(pid_t child)
{
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* By the kernel's own call, as no handler of fork runs in it. */
static void a_child_without_handlers_is_counted_once(void **state)
{
#ifdef __SANITIZE_THREAD__
	skip(); /* its runtime does not survive a fork that it does not see */
#endif
	sn_losses_init();
	assert_false(sn_losses_is_unseen());
	for (int round = 1; round <= 3; round++) {
		pid_t child = (pid_t)syscall(SYS_fork);
		if (!child) {
			sn_losses_note_unseen();
			sn_losses_note_unseen();
			_exit(!sn_losses_is_unseen());
		}
		wait_for(child);
		assert_int_equal(lost(SN_LOSS_UNSEEN), round);
	}
	pid_t child = fork();
	if (!child) {
		sn_losses_after_fork();
		sn_losses_note_unseen();
		_exit(sn_losses_is_unseen());
	}
	wait_for(child);
	child = vfork();
	if (!child)
		_exit(sn_losses_is_unseen());
	wait_for(child);
	assert_int_equal(lost(SN_LOSS_UNSEEN), 3);
	sn_losses_add(SN_LOSS_UNSEEN, -3);
	assert_int_equal(lost(SN_LOSS_UNSEEN), 0);
}

/* A store to a page that is no longer there would be a SIGBUS; what else the file held is lost. */
static void a_truncated_file_harms_nobody(void **state)
{
	pid_t child = fork();
	if (!child) {
		int fd = fileno(tmpfile());
		char zeroes[SN_MEASUREMENT_PAGE_BYTES] = {0};
		if (write(fd, zeroes, sizeof(zeroes)) != sizeof(zeroes))
			_exit(1);
		sn_losses_open(fd);
		sn_losses_add(SN_LOSS_STARTED, 1);
		uint32_t counted = 0;
		if (pread(fd, &counted, sizeof(counted), SN_LOSSES_OFFSET) != sizeof(counted) ||
		    counted != 1 || ftruncate(fd, 0))
			_exit(2);
		errno = ENOTTY;
		sn_losses_add(SN_LOSS_STARTED, 1);
		_exit(errno != ENOTTY);
	}
	wait_for(child);
}

static void shadows_nest_and_count_beyond_their_limit(void **state)
{
	struct sn_thread *thread = sn_thread_begin(0);
	struct sn_frame frame = {.kind = SN_FRAME_REGION};
	for (int depth = 0; depth < SN_SHADOW_DEPTH + 10; depth++) {
		frame.value = (uint64_t)depth;
		struct sn_shadow *shadow = sn_shadow_push(thread, &frame, 0);
		assert_int_equal(shadow != NULL, depth < SN_SHADOW_DEPTH);
	}
	for (int depth = SN_SHADOW_DEPTH + 10; depth-- > 0;) {
		struct sn_shadow *shadow = sn_shadow_pop(thread);
		if (depth < SN_SHADOW_DEPTH)
			assert_int_equal(shadow->frame.value, depth);
		else
			assert_null(shadow);
	}
	assert_null(sn_shadow_pop(thread));
	assert_int_equal(sn_drops(SN_DROP_PATH_TOO_DEEP), 10);
	sn_thread_end();
}

/* Many threads one after the other: from some number on they share records, and nothing is lost. */
static void *measure_once(void *unused)
{
	struct sn_thread *thread = sn_thread_begin(0);
	struct sn_frame frame = frame_of(99);
	sn_cct_add(&thread->cct, sn_cct_child(&thread->cct, 0, &frame), 0, 1);
	sn_thread_end();
	return NULL;
}

static void short_threads_do_not_add_up(void **state)
{
	uint64_t before = snapshot_values();
	size_t bytes = 0;
	for (int round = 0; round < 3000; round++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, measure_once, NULL), 0);
		pthread_join(thread, NULL);
		if (round == 1000)
			bytes = sn_pages_bytes();
	}
	assert_int_equal(snapshot_values(), before + 3000);
	assert_int_equal(sn_pages_bytes(), bytes);
	assert_true(sn_thread_count() < 1000);
}

/* ---- how long a thread was blocked ---- */

enum { MS = 1000000 };

static void compute_for(uint64_t cpu_ns)
{
	uint64_t end = sn_thread_cpu_ns() + cpu_ns;
	while (sn_thread_cpu_ns() < end)
		;
}

static uint64_t blocked_since(struct sn_trace_blocked *blocked)
{
	return sn_trace_blocked_until(blocked, 0, sn_now_ns());
}

/* Sleeping is blocked, computing is not, however long others have the processor. */
static void a_thread_is_blocked_while_it_sleeps(void **state)
{
	struct sn_trace_blocked blocked = {0};
	uint64_t before = sn_now_ns();
	blocked_since(&blocked);
	for (unsigned i = 0; i < 5; i++) {
		usleep(5000);
		uint64_t slept = blocked_since(&blocked);
		assert_in_range(slept, 4 * MS, sn_now_ns() - before);
		compute_for(3 * MS);
		before = sn_now_ns();
		assert_int_equal(blocked_since(&blocked), 0);
	}
}

/* What was slept before a call is told by the call, when it has ended; what was slept in it by its
 * end. Calls lie in one another, and the inner one has not slept. */
static void a_call_tells_what_was_blocked_before_it(void **state)
{
	struct sn_trace_blocked blocked = {0};
	blocked_since(&blocked);
	usleep(5000);
	uint64_t outer = sn_now_ns();
	sn_trace_blocked_begin(&blocked, outer);
	compute_for(1 * MS);
	uint64_t inner = sn_now_ns();
	sn_trace_blocked_begin(&blocked, inner);
	assert_int_equal(sn_trace_blocked_before(&blocked, inner), 0);
	usleep(5000);
	assert_true(sn_trace_blocked_until(&blocked, outer, sn_now_ns()) >= 4 * MS);
	assert_true(sn_trace_blocked_before(&blocked, outer) >= 4 * MS);
	assert_int_equal(sn_trace_blocked_before(&blocked, outer), 0);
}

int main(void)
{
	char folder[] = "/tmp/sonde-collector-XXXXXX", command[64];
	sn_config.output = mkdtemp(folder);
	sn_config.events = "cpu-time";
	sn_config.checkpoint_ns = 1000000000;
	if (!sn_config.output || sn_modules_init() || sn_checkpoint_open())
		return 1;
	sn_properties_init();
	pages_at_start = sn_pages_bytes();
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_path_inserted_twice_is_one_path),
	    cmocka_unit_test(frames_differ_in_every_field),
	    cmocka_unit_test(large_trees_keep_every_context),
	    cmocka_unit_test(values_are_statistics),
	    cmocka_unit_test(a_frame_like_the_roots_is_below_it),
	    cmocka_unit_test(strings_and_codes_are_kept_once),
	    cmocka_unit_test(running_out_of_memory_loses_only_what_is_new),
	    cmocka_unit_test(snapshots_of_running_threads_are_consistent),
	    cmocka_unit_test(the_snapshot_before_stays_whole),
	    cmocka_unit_test(a_forked_child_begins_anew),
	    cmocka_unit_test(a_child_without_handlers_is_counted_once),
	    cmocka_unit_test(a_truncated_file_harms_nobody),
	    cmocka_unit_test(shadows_nest_and_count_beyond_their_limit),
	    cmocka_unit_test(short_threads_do_not_add_up),
	    cmocka_unit_test(a_thread_is_blocked_while_it_sleeps),
	    cmocka_unit_test(a_call_tells_what_was_blocked_before_it),
	};
	int failures = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return failures || system(command);
}
