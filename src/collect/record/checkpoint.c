/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of everything measured so far; see checkpoint.h. What a section holds is in snapshot.c.
 */
#include "checkpoint.h"
#include "collect/core/lock.h"
#include "collect/intercept/intercept.h"
#include "losses.h"
#include "own_file.h"
#include "collect/unwind/own_stack.h"
#include "snapshot.h"
#include "trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SECOND_CHECKPOINT_NS  25000000u
/* Where the first snapshot lies, behind a hole: that of a short process's end then fits before it,
 * where it has to be in the end, and is written but once. */
#define FIRST_OFFSET	      65536u
#define SNAPSHOT_ATTEMPTS     10
#define LAST_WAIT_NS	      2000000000u
/*
 * A checkpoint may use at most one part in this many of the CPU time between two, and last for one
 * part in so many of the time: a slow file system holds its thread up, but so does any other thread
 * that has the processor meanwhile.
 */
#define CHECKPOINT_CPU_SHARE  200u
#define CHECKPOINT_TIME_SHARE 20u

static struct {
	struct sn_own_file own;
	uint64_t sequence;
	uint64_t offset, length; /* of the committed snapshot; 0: none */
	uint64_t begun_ns;
} file = {.own.fd = -1};

static _Atomic uint64_t due_ns;

static int write_header(int fd)
{
	if (!sn_own_file_is_allowed(SN_MEASUREMENT_PAGE_BYTES))
		return -EFBIG;
	unsigned char page[SN_MEASUREMENT_PAGE_BYTES] = {0};
	struct sn_measurement_header header = {.version_major = SN_MEASUREMENT_VERSION_MAJOR,
					       .version_minor = SN_MEASUREMENT_VERSION_MINOR,
					       .page_bytes = SN_MEASUREMENT_PAGE_BYTES};
	memcpy(header.magic, SN_MEASUREMENT_MAGIC, sizeof(header.magic));
	header.checksum = sn_checksum(&header, offsetof(struct sn_measurement_header, checksum));
	memcpy(page, &header, sizeof(header));
	return pwrite(fd, page, sizeof(page), 0) == sizeof(page) ? 0 : -EIO;
}

int sn_checkpoint_open(void)
{
	uint64_t now = sn_now_ns();
	file.sequence = file.offset = file.length = 0;
	file.begun_ns = now;
	sn_trace_begin(now);
	atomic_store_explicit(&due_ns, now, memory_order_relaxed); /* by the first sample */
	int status = sn_own_file_create(&file.own, now, SN_MEASUREMENT_SUFFIX);
	if (status)
		return status;
	status = write_header(file.own.fd);
	if (status)
		sn_own_file_remove(&file.own);
	else
		sn_losses_open(file.own.fd);
	sn_own_file_let_go_if_scarce(&file.own);
	return status;
}

static int commit(bool is_final)
{
	struct sn_commit_slot slot = {.sequence = file.sequence + 1,
				      .offset = file.offset,
				      .length = file.length,
				      .is_final = is_final};
	slot.checksum = sn_checksum(&slot, offsetof(struct sn_commit_slot, checksum));
	off_t place = SN_COMMIT_SLOT_OFFSET(slot.sequence % 2);
	if (pwrite(file.own.fd, &slot, sizeof(slot), place) != sizeof(slot))
		return -EIO;
	file.sequence++;
	return 0;
}

/* Where the committed snapshot is not; a final one also leaves room for itself at the front. */
static uint64_t free_offset(uint64_t bytes, bool is_final)
{
	uint64_t start = SN_MEASUREMENT_PAGE_BYTES;
	if (!file.length && !is_final && sn_own_file_is_allowed(FIRST_OFFSET + bytes))
		return FIRST_OFFSET;
	if (!file.length || start + bytes <= file.offset)
		return start;
	uint64_t behind = (file.offset + file.length + 7) & ~7ull;
	uint64_t room = (start + 2 * bytes + 7) & ~7ull;
	return is_final && behind < room ? room : behind;
}

static int write_snapshot(const char *exit_text)
{
	struct sn_snapshot snapshot;
	int status = -EAGAIN;
	/* again where other threads grew while we waited for a processor */
	for (int attempt = 0; status == -EAGAIN && attempt < SNAPSHOT_ATTEMPTS; attempt++)
		status = sn_snapshot_begin(&snapshot, exit_text);
	if (status)
		return status;
	uint64_t offset = free_offset(snapshot.bound_bytes, exit_text[0] != 0);
	status = sn_own_file_is_allowed(offset + snapshot.bound_bytes)
		     ? sn_snapshot_write(&snapshot, file.own.fd, offset)
		     : -EFBIG;
	if (!status) {
		file.offset = offset;
		file.length = snapshot.length;
		status = commit(exit_text[0] != 0);
	}
	sn_snapshot_end(&snapshot);
	return status;
}

/* The last snapshot is moved to the front, so that the file is as small as what it holds. */
static int write_final(const char *exit_text)
{
	int status = write_snapshot(exit_text);
	if (!status && file.offset != SN_MEASUREMENT_PAGE_BYTES)
		status = write_snapshot(exit_text);
	if (!status && ftruncate(file.own.fd, (off_t)(file.offset + file.length)))
		status = -errno;
	return status;
}

struct moment {
	uint64_t time_ns, cpu_ns; /* of the thread */
};

static struct moment moment_now(void)
{
	return (struct moment){sn_now_ns(), sn_thread_cpu_ns()};
}

/*
 * A program may be killed soon: there is a snapshot from the beginning, of a forked child from its
 * first sample, and each of the next comes when the process is twice as old, until they are as far
 * apart as was asked for.
 */
static void schedule(struct moment start)
{
	struct moment now = moment_now();
	uint64_t pause = now.time_ns - file.begun_ns;
	if (pause < SECOND_CHECKPOINT_NS)
		pause = SECOND_CHECKPOINT_NS;
	if (pause > sn_config.checkpoint_ns)
		pause = sn_config.checkpoint_ns;
	uint64_t for_cpu = (now.cpu_ns - start.cpu_ns) * CHECKPOINT_CPU_SHARE;
	uint64_t for_time = (now.time_ns - start.time_ns) * CHECKPOINT_TIME_SHARE;
	uint64_t least = for_cpu > for_time ? for_cpu : for_time;
	if (pause < least)
		pause = least;
	atomic_store_explicit(&due_ns, now.time_ns + pause, memory_order_relaxed);
}

static void write_checkpoint(void *text)
{
	const char *exit_text = text;
	struct moment start = moment_now();
	int status = -EBADF;
	/* what a snapshot needs of the kernel is more than what any sample does */
	if (file.sequence && sn_confined_unasked())
		return;
	sn_trace_write_out();
	sn_pages_open_reserve();
	if (sn_own_file_ready(&file.own))
		status = exit_text[0] ? write_final(exit_text) : write_snapshot(exit_text);
	if (status)
		sn_drop(NULL, SN_DROP_CHECKPOINT_FAILED, 1);
	sn_pages_close_reserve();
	sn_own_file_let_go_if_scarce(&file.own);
	schedule(start);
}

/* This thread has the file: the handler of a fatal signal may have interrupted it there. */
static __thread bool has_file __attribute__((tls_model("initial-exec")));

/* The last snapshot waits for another thread's checkpoint, for nothing comes after it. */
static bool claim_file(bool is_last)
{
	uint64_t until_ns = sn_now_ns() + (is_last && !has_file ? LAST_WAIT_NS : 0);
	while (!sn_lock_try(SN_LOCK_CHECKPOINT)) {
		if (sn_now_ns() >= until_ns)
			return false;
		sn_lock_pause();
	}
	has_file = true;
	return true;
}

void sn_checkpoint_now(const char *exit_text)
{
	bool is_last = exit_text[0];
	if (!sn_config.output)
		return;
	if (!claim_file(is_last)) {
		if (is_last) /* told if whoever has the file comes to the counts of losses */
			sn_drop(NULL, SN_DROP_CHECKPOINT_FAILED, 1);
		return;
	}
	sn_on_own_stack(write_checkpoint, (void *)exit_text);
	struct sn_thread *thread = sn_thread_self();
	if (thread && sn_trace_sources())
		sn_trace_blocked_forget(&thread->trace.blocked);
	has_file = false;
	sn_lock_release(SN_LOCK_CHECKPOINT);
}

void sn_checkpoint_if_due(uint64_t now_ns)
{
	if (now_ns >= atomic_load_explicit(&due_ns, memory_order_relaxed))
		sn_checkpoint_now("");
}
