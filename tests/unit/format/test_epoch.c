/* SPDX-License-Identifier: Apache-2.0 */
/* The store of continuous profiling: what is flushed comes back, also merged; no damage and no end of the writer at any
 * time takes more than it must, and none counts a sample twice. */
#include "../allocation_faults.h"
#include "epoch_fixture.h"
#include "format/epoch/epoch_folder.h"

#include "base/safe_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define HOUR 3600u
#define DAY  (24 * HOUR)

static char folder[] = "/tmp/sonde-test-epoch-XXXXXX";
static char store[128];
static struct sn_error error;

static int setup(void **state)
{
	(void)state;
	error.text[0] = '\0';
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(store, sizeof(store), "%s/store", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sn_path_remove_tree(AT_FDCWD, folder);
	return 0;
}

/* ---- faults ---- */

/* How many calls that change the disk still work, of a full disk those that write; negative: all. What the next one does. */
static long calls_left = -1;
static unsigned long met;
static enum { KILL, KILL_HALFWAY, FULL } fault;

ssize_t __real_pwrite64(int fd, const void *bytes, size_t length, off_t offset);
int __real_renameat(int from, const char *old, int to, const char *name);
int __real_unlinkat(int at, const char *name, int flags);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_ftruncate64(int fd, off_t length);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t length, off_t offset);
int __wrap_renameat(int from, const char *old, int to, const char *name);
int __wrap_unlinkat(int at, const char *name, int flags);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);
int __wrap_ftruncate64(int fd, off_t length);

static bool is_due(void)
{
	met++;
	if (calls_left < 0 || calls_left-- > 0)
		return false;
	if (fault == KILL)
		_exit(9);
	return true;
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t length, off_t offset)
{
	if (!is_due())
		return __real_pwrite64(fd, bytes, length, offset);
	ssize_t half = __real_pwrite64(fd, bytes, length / 2, offset);
	if (fault == KILL_HALFWAY)
		_exit(9);
	calls_left = 0; /* the disk stays full */
	if (half > 0)
		return half;
	errno = ENOSPC;
	return -1;
}

#define WRAPPED(name, parameters, arguments)                                                       \
	int __wrap_##name parameters                                                               \
	{                                                                                          \
		if (fault == FULL || !is_due())                                                    \
			return __real_##name arguments;                                            \
		_exit(9); /* there is no half of it */                                             \
	}
WRAPPED(renameat, (int from, const char *old, int to, const char *name), (from, old, to, name))
WRAPPED(unlinkat, (int at, const char *name, int flags), (at, name, flags))
WRAPPED(fdatasync, (int fd), (fd))
WRAPPED(fsync, (int fd), (fd))
WRAPPED(ftruncate64, (int fd, off_t length), (fd, length))

/* ---- steps ---- */

static const struct sn_epoch_writer_options unsynced = {.no_sync = true};

static struct sn_epoch_writer *open_writer(void)
{
	struct sn_epoch_writer *writer;
	if (sn_epoch_writer_open(&writer, store, &unsynced, &error))
		fail_msg("%s", error.text);
	return writer;
}

static void flush_at(struct sn_epoch_writer *writer, uint64_t at_s, unsigned seed, unsigned rows,
		     uint64_t period, struct epoch_sums *sums)
{
	struct epoch_random_flush what = {at_s, 60, period, seed, rows, 1};
	if (epoch_write_random(writer, &what, sums, &error))
		fail_msg("%s", error.text);
}

/* What such a flush comes to, written elsewhere. */
static void only_sum(uint64_t at_s, unsigned seed, unsigned rows, struct epoch_sums *sums)
{
	struct sn_epoch_writer *writer;
	char elsewhere[160];
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	assert_int_equal(sn_epoch_writer_open(&writer, elsewhere, &unsynced, &error), 0);
	flush_at(writer, at_s, seed, rows, 2, sums);
	sn_epoch_writer_close(writer);
}

/* Fails unless the store comes to that; returns the number of its epochs. */
static size_t expect(const struct epoch_sums *should)
{
	struct epoch_sums is = {0};
	char damage[256];
	size_t count = epoch_sums_read(&is, store, damage);
	assert_string_equal(damage, "");
	epoch_sums_expect(&is, should);
	epoch_sums_release(&is);
	return count;
}

static struct sn_epoch_policy policy(void)
{
	struct sn_epoch_policy all = SN_EPOCH_POLICY_DEFAULT;
	all.keep_ns = 0;
	all.keep_bytes = 0;
	all.memory_bytes = 1 << 16; /* so little that merging goes to the disk */
	return all;
}

static void tend(struct sn_epoch_writer *writer, const struct sn_epoch_policy *by, uint64_t at_s)
{
	struct sn_epoch_moment now = epoch_moment(at_s, 1);
	if (sn_epoch_writer_tend(writer, by, &now, &error))
		fail_msg("%s", error.text);
}

/* ---- what is written is read ---- */

static void test_round_trip(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_writer *writer = open_writer();
	for (unsigned i = 0; i < 20; i++) {
		flush_at(writer, 60 * i, i, i == 7 ? 0 : 300, i % 3 ? 1000000 : 99991, &sums);
		assert_int_equal(expect(&sums), 1);
		if (i % 6 == 5) { /* another process goes on */
			sn_epoch_writer_close(writer);
			writer = open_writer();
		}
	}
	sn_epoch_writer_close(writer);
	assert_int_equal(expect(&sums), 1);
	epoch_sums_release(&sums);
}

static void test_discarded(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_writer *writer = open_writer();
	struct sn_epoch_origin origin = {"/bin/no", "", 0, 0, 0};
	struct sn_epoch_image image = {.kind = SN_EPOCH_FILE, .path = "/bin/no"};
	uint32_t who = sn_epoch_writer_origin(writer, &origin);
	assert_int_equal(sn_epoch_writer_origin(writer, &origin), who);
	sn_epoch_writer_count(writer, who, sn_epoch_writer_image(writer, &image), 1, 1);
	assert_true(sn_epoch_writer_pending_bytes(writer) > 0);
	sn_epoch_writer_discard(writer);
	flush_at(writer, 0, 1, 10, 2, &sums);
	sn_epoch_writer_close(writer);
	expect(&sums);
	epoch_sums_release(&sums);
}

/* Flushes every ten minutes for four days, and what becomes of them. */
static void test_merging_is_summing(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_policy by = policy();
	struct sn_epoch_writer *writer = open_writer();
	for (unsigned i = 0; i < 4 * DAY / 600; i++) {
		flush_at(writer, 600 * i, i % 50, 20, i % 2 ? 1000000 : 99991, &sums);
		tend(writer, &by, 600 * i + 60);
		if (i % 97 == 0)
			expect(&sums);
	}
	/* three days, 22 to 23 hours of the fourth, and 1 to 2 hours of epochs of three flushes each */
	size_t epochs = expect(&sums);
	assert_in_range(epochs, 3 + 22 + 2, 3 + 23 + 5);
	by.hour_age_ns = by.day_age_ns = 0;
	sn_epoch_writer_close(writer);
	writer = open_writer();
	tend(writer, &by, 10 * DAY);
	assert_int_equal(expect(&sums), 4);
	sn_epoch_writer_close(writer);
	epoch_sums_release(&sums);
}

/* More counts than a piece has, and stacks. */
static void test_large_merge(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_policy by = policy();
	struct sn_epoch_writer *writer = open_writer();
	struct sn_epoch_origin origin = {"/bin/large", "/", 0, 0, 0};
	struct sn_epoch_image image = {.kind = SN_EPOCH_FILE, .path = "/bin/large"};
	for (unsigned i = 0; i < 2; i++) {
		uint32_t who = sn_epoch_writer_origin(writer, &origin);
		uint32_t what = sn_epoch_writer_image(writer, &image);
		for (unsigned j = 0; j < 150000; j++)
			sn_epoch_writer_count(writer, who, what, 8 * j, 1 + i);
		flush_at(writer, 60 * i, i, 30000, 2, NULL);
	}
	char damage[256];
	epoch_sums_read(&sums, store, damage);
	assert_true(sums.keys.count > 150000);
	sn_epoch_writer_seal(writer, &error);
	tend(writer, &by, 600);
	assert_int_equal(expect(&sums), 1);
	sn_epoch_writer_close(writer);
	epoch_sums_release(&sums);
}

/* ---- clocks ---- */

/* A calendar that is set back or ahead loses nothing and deletes nothing; another boot ends the epoch. */
static void test_clock_jumps(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_policy by = policy();
	struct sn_epoch_writer *writer = open_writer();
	by.keep_ns = 60 * DAY * EPOCH_SECOND;
	static const uint64_t at_s[] = {40 * DAY, 40 * DAY + 60, 10, 70, 90 * DAY, 40 * DAY + 120};
	for (unsigned i = 0; i < 6; i++) {
		struct sn_epoch_moment now = epoch_moment(at_s[i] + 60, 1);
		struct sn_epoch_moment begin = epoch_moment(60 * i, 1);
		struct sn_epoch_flush flush = {.begin_ns = now.real_ns,
					       .end_ns = now.real_ns - 60 * EPOCH_SECOND,
					       .begin_boot_ns = begin.boot_ns,
					       .end_boot_ns = begin.boot_ns + 60 * EPOCH_SECOND,
					       .event = "cycles",
					       .period = 7,
					       .samples = 5};
		memcpy(flush.boot_id, now.boot_id, 16);
		assert_int_equal(sn_epoch_writer_commit(writer, &flush, &error), 0);
		sn_epoch_writer_seal(writer, &error);
		now.boot_ns = flush.end_boot_ns;
		assert_int_equal(sn_epoch_writer_tend(writer, &by, &now, &error), 0);
		epoch_sums_add(&sums, "samples of cycles|7|0", 5);
		epoch_sums_add(&sums, "flushes", 1);
		epoch_sums_add(&sums, "watched", 60 * EPOCH_SECOND);
		epoch_sums_add(&sums, "own", 0);
		expect(&sums);
	}
	struct epoch_random_flush other = {40 * DAY + 300, 60, 7, 1, 5, 2};
	assert_int_equal(epoch_write_random(writer, &other, &sums, &error), 0);
	size_t before = expect(&sums);
	struct sn_epoch_moment later = epoch_moment(40 * DAY + 400, 3);
	assert_int_equal(sn_epoch_writer_tend(writer, &by, &later, &error), 0);
	assert_int_equal(expect(&sums), before);
	assert_int_equal(faccessat(AT_FDCWD, store, R_OK, 0), 0);
	char current[160];
	snprintf(current, sizeof(current), "%s/current", store);
	assert_int_not_equal(access(current, F_OK), 0); /* it was sealed */
	sn_epoch_writer_close(writer);
	epoch_sums_release(&sums);
}

/* ---- deleting ---- */

static void test_retention(void **state)
{
	(void)state;
	struct sn_epoch_policy by = policy();
	struct sn_epoch_store all;
	struct sn_epoch_writer *writer = open_writer();
	by.hour_age_ns = by.day_age_ns = UINT64_C(1) << 60;
	for (unsigned i = 0; i < 10; i++) {
		flush_at(writer, HOUR * i, i, 200, 2, NULL);
		sn_epoch_writer_seal(writer, &error);
	}
	flush_at(writer, 10 * HOUR, 10, 200, 2, NULL); /* current */
	by.keep_ns = (5 * HOUR + 30) * EPOCH_SECOND;
	tend(writer, &by, 10 * HOUR + 60); /* those that ended before 5 h 30 s: of 0 to 4 h */
	assert_int_equal(sn_epoch_store_open(&all, store, 0, UINT64_MAX, &error), 0);
	assert_int_equal(all.count, 6);
	assert_int_equal(all.epochs[0].summary.begin_ns, epoch_moment(5 * HOUR, 1).real_ns);
	by.keep_ns = 0;
	by.keep_bytes = all.bytes - 1;
	sn_epoch_store_close(&all);
	sn_epoch_writer_close(writer);
	writer = open_writer();
	tend(writer, &by, 10 * HOUR + 60);
	assert_int_equal(sn_epoch_store_open(&all, store, 0, UINT64_MAX, &error), 0);
	assert_int_equal(all.count, 5);
	assert_int_equal(all.epochs[0].summary.begin_ns, epoch_moment(6 * HOUR, 1).real_ns);
	sn_epoch_store_close(&all);
	by.keep_bytes = 1; /* never the current one */
	sn_epoch_writer_close(writer);
	writer = open_writer();
	tend(writer, &by, 10 * HOUR + 60);
	assert_int_equal(sn_epoch_store_open(&all, store, 0, UINT64_MAX, &error), 0);
	assert_int_equal(all.count, 1);
	assert_true(all.epochs[0].is_current);
	sn_epoch_store_close(&all);
	sn_epoch_writer_close(writer);
}

static void test_range(void **state)
{
	(void)state;
	struct sn_epoch_store some;
	struct sn_epoch_writer *writer = open_writer();
	for (unsigned i = 0; i < 4; i++) {
		flush_at(writer, HOUR * i, i, 10, 2, NULL);
		sn_epoch_writer_seal(writer, &error);
	}
	sn_epoch_writer_close(writer);
	assert_int_equal(sn_epoch_store_open(&some, store, epoch_moment(HOUR + 30, 1).real_ns,
					     epoch_moment(2 * HOUR, 1).real_ns, &error),
			 0);
	assert_int_equal(some.count, 2);
	assert_int_equal(some.all, 4);
	assert_int_equal(some.first_ns, epoch_moment(0, 1).real_ns);
	assert_int_equal(some.last_ns, epoch_moment(3 * HOUR + 60, 1).real_ns);
	sn_epoch_store_close(&some);
}

/* ---- damage ---- */

static const char *path_of(const char *name)
{
	static char path[300];
	snprintf(path, sizeof(path), "%s/%s", store, name);
	return path;
}

/* Three small flushes; sums[i] is what the first i of them come to, ends[i] how long the file is then. */
static void make_small(struct epoch_sums *sums, off_t *ends)
{
	struct sn_epoch_writer *writer = open_writer();
	struct stat status;
	for (unsigned i = 0; i < 3; i++) {
		flush_at(writer, 60 * i, i, 8, 2, sums + i + 1);
		for (unsigned j = i + 1; j < 3; j++)
			only_sum(60 * i, i, 8, sums + j + 1);
		assert_int_equal(stat(path_of("current"), &status), 0);
		ends[i + 1] = status.st_size;
	}
	sn_epoch_writer_close(writer);
}

static void test_cut_at_each_byte(void **state)
{
	(void)state;
	struct epoch_sums sums[4] = {0};
	off_t ends[4] = {0};
	char damage[256];
	make_small(sums, ends);
	for (off_t at = ends[3]; at-- > 0;) {
		struct epoch_sums is = {0};
		assert_int_equal(truncate(path_of("current"), at), 0);
		epoch_sums_read(&is, store, damage);
		unsigned whole = 0;
		while (whole < 3 && at >= ends[whole + 1])
			whole++;
		epoch_sums_expect(&is, sums + whole);
		/* an empty one, one that ends behind its head, and whole flushes look as if nothing were missing */
		bool is_clean = at == ends[whole] || !*damage;
		if (at != ends[whole] && !*damage)
			assert_true(whole == 0); /* behind the head */
		if (at == ends[whole] && whole)
			assert_string_equal(damage, "");
		assert_true(is_clean || strstr(damage, "not read") || strstr(damage, "is read"));
		epoch_sums_release(&is);
	}
	for (unsigned i = 0; i < 4; i++)
		epoch_sums_release(sums + i);
}

/* What a changed byte leaves are the flushes before it; the writer goes on behind them. */
static void test_flip_each_byte(void **state)
{
	(void)state;
	struct epoch_sums sums[4] = {0};
	off_t ends[4] = {0};
	char damage[256];
	make_small(sums, ends);
	int fd = open(path_of("current"), O_RDWR);
	unsigned unread = 0;
	for (off_t at = 0; at < ends[3]; at++) {
		struct epoch_sums is = {0};
		unsigned char byte, changed;
		unsigned whole = 0;
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		changed = byte ^ (unsigned char)(1 + at % 255);
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
		epoch_sums_read(&is, store, damage);
		while (whole < 3 && at >= ends[whole + 1])
			whole++;
		epoch_sums_expect(&is, sums + whole);
		assert_string_not_equal(damage, "");
		unread += strstr(damage, "head") != NULL;
		epoch_sums_release(&is);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(unread > 0);
	unsigned char changed = 0x55;
	assert_int_equal(pwrite(fd, &changed, 1, ends[2] + 30), 1);
	close(fd);
	struct sn_epoch_writer *writer = open_writer();
	expect(sums + 2);
	flush_at(writer, 300, 9, 8, 2, sums + 2);
	expect(sums + 2);
	sn_epoch_writer_close(writer);
	for (unsigned i = 0; i < 4; i++)
		epoch_sums_release(sums + i);
}

/* A current epoch whose head is damaged is put aside; others are not touched by it. */
static void test_damaged_head(void **state)
{
	(void)state;
	struct epoch_sums sums = {0}, is = {0};
	char damage[256];
	struct sn_epoch_writer *writer = open_writer();
	flush_at(writer, 0, 1, 10, 2, NULL);
	sn_epoch_writer_close(writer);
	int fd = open(path_of("current"), O_RDWR);
	assert_int_equal(pwrite(fd, "x", 1, 20), 1);
	close(fd);
	writer = open_writer();
	flush_at(writer, 60, 2, 10, 2, &sums);
	struct sn_epoch_policy by = policy();
	sn_epoch_writer_seal(writer, &error);
	tend(writer, &by, 10 * DAY);
	assert_int_equal(epoch_sums_read(&is, store, damage), 2);
	epoch_sums_expect(&is, &sums);
	assert_non_null(strstr(damage, "head is damaged"));
	sn_epoch_writer_close(writer);
	epoch_sums_release(&is);
	epoch_sums_release(&sums);
}

/* ---- the writer ends at any time ---- */

static void begin(struct epoch_sums *sums)
{
	struct sn_epoch_writer *writer = open_writer();
	for (unsigned i = 0; i < 2; i++) {
		flush_at(writer, HOUR * i, i, 30, 2, sums);
		sn_epoch_writer_seal(writer, &error);
	}
	sn_epoch_writer_close(writer);
}

/* Two epochs are there; writes a flush, seals, merges all that is of one day, writes another flush.
 * Sums are those after the first and after both. */
static void work(struct epoch_sums *between, struct epoch_sums *after)
{
	struct sn_epoch_policy by = policy();
	struct sn_epoch_writer *writer = open_writer();
	by.hour_age_ns = by.day_age_ns = 0;
	flush_at(writer, 7200, 3, 30, 2, between);
	sn_epoch_writer_seal(writer, &error);
	tend(writer, &by, 10 * DAY);
	flush_at(writer, 10 * DAY, 4, 30, 2, after);
	sn_epoch_writer_close(writer);
}

/* Kills a child at each call that changes the disk; what it left must be the sums before or after
 * one of its two flushes. */
static void kill_at_each_call(int how)
{
	struct epoch_sums before = {0}, between = {0}, after = {0};
	unsigned long calls = 0;
	begin(&before);
	begin(&between);
	begin(&after);
	work(&between, &after);
	only_sum(7200, 3, 30, &after);
	for (long n = 0;; n++) {
		sn_path_remove_tree(AT_FDCWD, store);
		begin(NULL);
		pid_t child = fork();
		if (!child) {
			fault = how;
			calls_left = n;
			work(NULL, NULL);
			_exit(0);
		}
		int status;
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		struct epoch_sums is = {0};
		char damage[256];
		epoch_sums_read(&is, store, damage);
		bool is_one = epoch_sums_are_same(&is, &before) ||
			      epoch_sums_are_same(&is, &between) ||
			      epoch_sums_are_same(&is, &after);
		if (!is_one)
			fail_msg("call %ld: %u keys, not %u, %u or %u", n, is.keys.count,
				 before.keys.count, between.keys.count, after.keys.count);
		/* and whoever comes next finds the same, and leaves no damage */
		sn_epoch_writer_close(open_writer());
		expect(&is);
		epoch_sums_release(&is);
		calls++;
		if (WEXITSTATUS(status) == 0)
			break;
		assert_int_equal(WEXITSTATUS(status), 9);
	}
	assert_true(calls > 15);
	epoch_sums_release(&before);
	epoch_sums_release(&between);
	epoch_sums_release(&after);
}

static void test_killed_before_each_call(void **state)
{
	(void)state;
	kill_at_each_call(KILL);
}

static void test_killed_in_each_call(void **state)
{
	(void)state;
	kill_at_each_call(KILL_HALFWAY);
}

/* One error, nothing is torn, and the counts are not lost: they come with the next flush. */
static void test_full_disk(void **state)
{
	(void)state;
	struct epoch_sums sums = {0}, is = {0};
	char damage[256];
	struct sn_epoch_writer *writer = open_writer();
	struct epoch_random_flush what = {60, 60, 2, 5, 50, 1};
	flush_at(writer, 0, 1, 50, 2, &sums);
	fault = FULL;
	calls_left = 0;
	assert_int_equal(epoch_write_random(writer, &what, NULL, &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "No space left"));
	expect(&sums);
	assert_int_equal(epoch_write_random(writer, &what, NULL, &error), SN_ERR_IO);
	calls_left = -1;
	expect(&sums);
	flush_at(writer, 120, 6, 50, 2, NULL);
	sn_epoch_writer_close(writer);
	epoch_sums_read(&is, store, damage);
	assert_string_equal(damage, "");
	/* what should be there: the second one twice, and two flushes in all */
	epoch_sums_release(&sums);
	sn_path_remove_tree(AT_FDCWD, store);
	writer = open_writer();
	flush_at(writer, 0, 1, 50, 2, &sums);
	flush_at(writer, 60, 5, 50, 2, &sums);
	flush_at(writer, 60, 5, 50, 2, &sums);
	flush_at(writer, 120, 6, 50, 2, &sums);
	sn_epoch_writer_close(writer);
	for (uint32_t i = 0; i < sums.keys.count; i++) {
		size_t length;
		const char *key = sn_intern_at(&sums.keys, i, &length);
		uint32_t found = sn_intern_find(&is.keys, key, length);
		assert_int_not_equal(found, SN_INTERN_NONE);
		if (strchr(key, '|') && strncmp(key, "samples", 7) != 0)
			assert_int_equal(is.counts[found], sums.counts[i]);
	}
	assert_int_equal(is.keys.count, sums.keys.count);
	epoch_sums_release(&is);
	epoch_sums_release(&sums);
}

/* Nothing is merged, nothing is lost, and the next time it is done. */
static void test_full_disk_while_merging(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_policy by = policy();
	struct sn_epoch_moment now = epoch_moment(10 * DAY, 1);
	unsigned failures = 0;
	by.hour_age_ns = by.day_age_ns = 0;
	begin(&sums);
	for (long n = 0;; n++, failures++) {
		struct sn_epoch_writer *writer = open_writer();
		fault = FULL;
		calls_left = n;
		int result = sn_epoch_writer_tend(writer, &by, &now, &error);
		calls_left = -1;
		sn_epoch_writer_close(writer);
		size_t count = expect(&sums);
		if (!result) {
			assert_int_equal(count, 1);
			break;
		}
		assert_int_equal(result, SN_ERR_IO);
		assert_non_null(strstr(error.text, "No space left"));
	}
	assert_true(failures > 3);
	epoch_sums_release(&sums);
}

/* ---- reading while it is written ---- */

enum { WRITTEN = 200 };

/* Each flush has 10 samples of one place; all is sealed, and merged where there are two. */
static void write_on(void)
{
	struct sn_epoch_policy by = policy();
	struct sn_epoch_writer *writer = open_writer();
	by.hour_age_ns = by.day_age_ns = 0;
	for (unsigned i = 0; i < WRITTEN; i++) {
		struct sn_epoch_moment begin = epoch_moment(60 * i, 1);
		struct sn_epoch_origin origin = {"/bin/a", "", 0, 0, 0};
		struct sn_epoch_image image = {.kind = SN_EPOCH_FILE, .path = "/bin/a"};
		struct sn_epoch_flush flush = {.begin_ns = begin.real_ns,
					       .end_ns = begin.real_ns + 1,
					       .event = "cycles",
					       .period = 1,
					       .samples = 10};
		sn_epoch_writer_count(writer, sn_epoch_writer_origin(writer, &origin),
				      sn_epoch_writer_image(writer, &image), 1, 10);
		if (sn_epoch_writer_commit(writer, &flush, &error))
			_exit(1);
		if (i % 3 == 0)
			sn_epoch_writer_seal(writer, &error);
		tend(writer, &by, 10 * DAY);
	}
	sn_epoch_writer_close(writer);
	_exit(0);
}

/* All sums that a reader sees are of whole flushes, each once, and of no fewer than before. */
static void test_read_while_written(void **state)
{
	(void)state;
	uint64_t last = 0, reads = 0;
	int status = 0;
	sn_epoch_writer_close(open_writer());
	pid_t child = fork();
	if (!child)
		write_on();
	for (bool has_ended = false; !has_ended; reads++) {
		struct sn_epoch_store all;
		has_ended = waitpid(child, &status, WNOHANG) == child;
		if (sn_epoch_store_open(&all, store, 0, UINT64_MAX, &error)) {
			assert_non_null(strstr(error.text, "no epochs")); /* not yet */
			continue;
		}
		uint64_t flushes = 0, samples = 0, counted = 0;
		for (size_t i = 0; i < all.count; i++) {
			struct sn_epoch_piece piece;
			assert_string_equal(all.epochs[i].damage, "");
			while (sn_epoch_reader_next(all.epochs[i].reader, &piece, &error) > 0) {
				flushes += piece.flush->flushes;
				samples += piece.flush->samples;
				for (size_t j = 0; j < piece.count_count; j++)
					counted += piece.counts[j].count;
			}
		}
		sn_epoch_store_close(&all);
		assert_int_equal(samples, 10 * flushes);
		assert_int_equal(counted, samples);
		assert_in_range(flushes, last, WRITTEN);
		last = flushes;
	}
	assert_int_equal(status, 0);
	assert_int_equal(last, WRITTEN);
	assert_true(reads > 10);
}

/* ---- no memory ---- */

/* Opens a store of three epochs, adds a flush, merges all, reads it. */
static int work_once(void)
{
	struct sn_epoch_policy by = policy();
	struct sn_epoch_moment now = epoch_moment(10 * DAY, 1);
	struct epoch_random_flush what = {7200, 60, 2, 3, 30, 1};
	struct sn_epoch_store all = {0};
	struct sn_epoch_writer *writer;
	struct sn_epoch_piece piece;
	by.hour_age_ns = by.day_age_ns = 0;
	int result = sn_epoch_writer_open(&writer, store, &unsynced, &error);
	if (result)
		return result;
	result = epoch_write_random(writer, &what, NULL, &error);
	if (!result)
		result = sn_epoch_writer_seal(writer, &error);
	if (!result)
		result = sn_epoch_writer_tend(writer, &by, &now, &error);
	sn_epoch_writer_close(writer);
	if (!result)
		result = sn_epoch_store_open(&all, store, 0, UINT64_MAX, &error);
	for (size_t i = 0; !result && i < all.count; i++)
		result = sn_epoch_reader_next(all.epochs[i].reader, &piece, &error) < 0
			     ? SN_ERR_MEMORY
			     : 0;
	sn_epoch_store_close(&all);
	return result;
}

static struct epoch_sums three[2]; /* before and after the flush */

static void begin_anew(void)
{
	sn_path_remove_tree(AT_FDCWD, store);
	begin(NULL);
}

/* Whatever had happened, the store is whole. */
static void expect_whole(void)
{
	struct epoch_sums is = {0};
	char damage[256];
	epoch_sums_read(&is, store, damage);
	assert_string_equal(damage, "");
	assert_true(epoch_sums_are_same(&is, three) || epoch_sums_are_same(&is, three + 1));
	epoch_sums_release(&is);
}

static void test_no_memory(void **state)
{
	(void)state;
	begin(three);
	begin(three + 1);
	only_sum(7200, 3, 30, three + 1);
	assert_true(fail_each(work_once, &(struct failing){begin_anew, expect_whole}) > 100);
	epoch_sums_release(three);
	epoch_sums_release(three + 1);
}

/* A writer that had no memory once has lost nothing, and goes on. */
static void test_no_memory_for_a_while(void **state)
{
	(void)state;
	struct epoch_sums sums = {0};
	struct sn_epoch_flush flush = {.event = "cycles", .period = 1};
	unsigned failures = 0;
	for (long n = 0;; n++, failures++) {
		struct sn_epoch_writer *writer = open_writer();
		struct sn_epoch_origin origin = {"/bin/a", "", 0, 0, 0};
		struct sn_epoch_image image = {.kind = SN_EPOCH_FILE, .path = "/bin/a"};
		sn_epoch_writer_count(writer, sn_epoch_writer_origin(writer, &origin),
				      sn_epoch_writer_image(writer, &image), 1, 1);
		only_one = true;
		allowed = n;
		refused = 0;
		int result = sn_epoch_writer_commit(writer, &flush, &error);
		allowed = -1;
		assert_int_equal(result, refused ? SN_ERR_MEMORY : 0);
		if (result)
			assert_int_equal(sn_epoch_writer_commit(writer, &flush, &error), 0);
		sn_epoch_writer_close(writer);
		if (!result)
			break;
	}
	assert_true(failures > 5);
	char damage[256];
	epoch_sums_read(&sums, store, damage);
	assert_string_equal(damage, "");
	assert_int_equal(sums.keys.count, 5); /* samples, flushes, times, and the place */
	for (uint32_t i = 0; i < sums.keys.count; i++) {
		const char *key = sn_intern_at(&sums.keys, i, NULL);
		if (strstr(key, "/bin/a") || !strcmp(key, "flushes"))
			assert_int_equal(sums.counts[i], failures + 1);
	}
	epoch_sums_release(&sums);
}

/* ---- who may use it ---- */

static unsigned mode_of(const char *path)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	return status.st_mode & 0777;
}

static void test_permissions(void **state)
{
	(void)state;
	struct sn_epoch_writer *writer, *other;
	umask(0);
	writer = open_writer();
	flush_at(writer, 0, 1, 5, 2, NULL);
	assert_int_equal(mode_of(store), 0700);
	assert_int_equal(mode_of(path_of("current")), 0600);
	assert_int_equal(sn_epoch_writer_open(&other, store, NULL, &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "another process writes it"));
	sn_epoch_writer_close(writer);
	assert_int_equal(chmod(store, 0777), 0);
	assert_int_equal(sn_epoch_writer_open(&other, store, NULL, &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "other users can change names"));
	assert_int_equal(chmod(store, 0700), 0);
	/* a link in place of the epoch is not followed */
	assert_int_equal(rename(path_of("current"), "/dev/null/x"), -1);
	char aside[160];
	snprintf(aside, sizeof(aside), "%s/aside", folder);
	assert_int_equal(rename(path_of("current"), aside), 0);
	assert_int_equal(symlink(aside, path_of("current")), 0);
	assert_int_equal(sn_epoch_writer_open(&other, store, NULL, &error), SN_ERR_IO);
	assert_int_equal(unlink(path_of("current")), 0);
	umask(077);
	struct sn_epoch_writer_options options = {.group_reads = true, .no_sync = true};
	snprintf(store, sizeof(store), "%s/grouped", folder);
	assert_int_equal(sn_epoch_writer_open(&writer, store, &options, &error), 0);
	flush_at(writer, 0, 1, 5, 2, NULL);
	assert_int_equal(mode_of(store), 0750);
	assert_int_equal(mode_of(path_of("current")), 0640);
	sn_epoch_writer_close(writer);
	assert_int_equal(sn_epoch_is_store(store), true);
	assert_int_equal(sn_epoch_is_store(folder), false);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(test_round_trip),
	    TEST(test_discarded),
	    TEST(test_merging_is_summing),
	    TEST(test_large_merge),
	    TEST(test_clock_jumps),
	    TEST(test_retention),
	    TEST(test_range),
	    TEST(test_cut_at_each_byte),
	    TEST(test_flip_each_byte),
	    TEST(test_damaged_head),
	    TEST(test_killed_before_each_call),
	    TEST(test_killed_in_each_call),
	    TEST(test_full_disk),
	    TEST(test_full_disk_while_merging),
	    TEST(test_read_while_written),
	    TEST(test_no_memory),
	    TEST(test_no_memory_for_a_while),
	    TEST(test_permissions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
