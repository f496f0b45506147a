/* SPDX-License-Identifier: Apache-2.0 */
/* See follow.h. */
#include "follow.h"

#include "cmd/command.h"
#include "format/epoch/epoch_folder.h"
#include "import/core/import_files.h"
#include "import/epochs/epochs.h"
#include "push/next.h"
#include "show/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	WAIT_LEAST = 1, /* seconds between tries, which double */
	WAIT_MOST = 300,
	WAIT_REFUSED = 60, /* until somebody has changed an address or a token */
	FAULTS_MOST = 10,  /* tries of what the server answers with 500 */
};

struct follower {
	const struct sn_push_follow *follow;
	char cursor_path[4096];
	int lock;
	struct sn_push_cursor cursor;
	struct sn_push_unit unit;
	unsigned tries, faults; /* of the unit */
	sigset_t ends;
};

/* ---- the cursor ---- */

static int save(struct follower *follower)
{
	struct sn_error error = {""};
	return sn_push_cursor_write(&follower->cursor, follower->cursor_path, &error)
		   ? sn_command_fail("%s", error.text)
		   : 0;
}

/* Once for each reason. */
static void note_failure(struct follower *follower, const struct sn_error *why)
{
	struct sn_error *noted = &follower->cursor.failure;
	if (strcmp(noted->text, why->text) != 0 && *why->text)
		sn_command_warn("cannot push to '%s': %s", follower->follow->target->url,
				why->text);
	*noted = *why;
}

static void advance(struct follower *follower)
{
	struct sn_push_cursor *cursor = &follower->cursor;
	cursor->epoch = follower->unit.epoch;
	cursor->parts = follower->unit.last;
	cursor->sending = cursor->sending_samples = 0;
	cursor->waiting -=
	    cursor->waiting < follower->unit.samples ? cursor->waiting : follower->unit.samples;
	follower->tries = follower->faults = 0;
}

/* One process for each cursor, or what is new would be sent twice. */
static int lock_cursor(struct follower *follower)
{
	char path[4200];
	snprintf(path, sizeof(path), "%s.lock", follower->cursor_path);
	follower->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (follower->lock < 0)
		return sn_command_fail("cannot open '%s': %s", path, strerror(errno));
	if (flock(follower->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK
		   ? sn_command_fail("another process pushes by '%s'", follower->cursor_path)
		   : sn_command_fail("cannot lock '%s': %s", path, strerror(errno));
}

/* A request may have been on its way when the process before ended. */
static void settle(struct follower *follower)
{
	struct sn_push_cursor *cursor = &follower->cursor;
	if (cursor->sending <= cursor->parts || follower->follow->resends)
		return;
	sn_command_warn("%s samples may have arrived when the last push was interrupted: they are "
			"not sent again",
			sn_number_counted((double)cursor->sending_samples).text);
	cursor->unsure += cursor->sending_samples;
	cursor->parts = cursor->sending;
	cursor->sending = cursor->sending_samples = 0;
}

static int open_cursor(struct follower *follower)
{
	const struct sn_push_follow *follow = follower->follow;
	struct sn_error error = {""};
	int length = follow->cursor ? snprintf(follower->cursor_path, sizeof(follower->cursor_path),
					       "%s", follow->cursor)
				    : snprintf(follower->cursor_path, sizeof(follower->cursor_path),
					       "%s/" SN_PUSH_CURSOR_DEFAULT, follow->store);
	if ((size_t)length >= sizeof(follower->cursor_path))
		return sn_command_fail("the path of the cursor is too long");
	if (!follow->cursor) {
		char *slash = strrchr(follower->cursor_path, '/');
		*slash = '\0';
		/* what fails is told of the file in it */
		(void)!mkdir(follower->cursor_path, 0700);
		*slash = '/';
	}
	int status = lock_cursor(follower);
	if (!status && sn_push_cursor_read(&follower->cursor, follower->cursor_path, &error))
		status = sn_command_fail("%s", error.text);
	if (!status)
		settle(follower);
	return status ? status : save(follower);
}

/* ---- one unit ---- */

static int import(void *context, const char *output, struct sn_error *error)
{
	const struct follower *follower = context;
	const struct sn_push_unit *unit = &follower->unit;
	const struct sn_epochs_wanted wanted = {.until_ns = UINT64_MAX,
						.epoch = unit->epoch,
						.first_part = unit->first,
						.last_part = unit->last,
						.names_only = true};
	struct sn_import_notes notes = {0};
	struct sn_import_counts counts;
	struct sn_import_request request = {.notes = &notes,
					    .paths = &follower->follow->store,
					    .path_count = 1,
					    .own = &wanted,
					    .jobs = 1};
	return sn_import(&sn_importer_epochs, &request, output, &counts, error);
}

static int before_end(void *context)
{
	struct follower *follower = context;
	follower->cursor.epoch = follower->unit.epoch;
	follower->cursor.parts = follower->unit.first;
	follower->cursor.sending = follower->unit.last;
	follower->cursor.sending_samples = follower->unit.samples;
	return save(follower);
}

/* Signals wait, so that a request and its cursor stay together. */
static bool is_ending(void *context)
{
	sigset_t pending;
	sigpending(&pending);
	return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT);
}

/* Of this machine's store, this epoch and these parts: another try has the same one. */
static void name_unit(const struct follower *follower, char text[256])
{
	const struct sn_push_unit *unit = &follower->unit;
	char host[128] = "";
	gethostname(host, sizeof(host) - 1);
	snprintf(text, 256, "%s/%" PRIu64 "/%" PRIu64 "/%" PRIu64 "/%" PRIu64, host, unit->begin_ns,
		 unit->epoch, unit->first, unit->last);
}

static struct sn_push_verdict send_unit(struct follower *follower)
{
	char identity[256];
	struct sn_push_verdict verdict = {.fate = SN_PUSH_LATER};
	struct sn_push_parcel parcel = {
	    .path = follower->follow->store,
	    .identity = identity,
	    .begin_ns = follower->unit.begin_ns,
	    .end_ns = follower->unit.end_ns,
	    .before_end = before_end,
	    .is_unwanted = is_ending,
	    .context = follower,
	};
	name_unit(follower, identity);
	if (follower->unit.samples == 0) /* nothing ran */
		return (struct sn_push_verdict){.fate = SN_PUSH_DONE};
	if (sn_command_open_hidden(import, follower, &parcel.db, &verdict.why))
		return verdict;
	verdict = sn_push_send(follower->follow->target, &parcel);
	sonde_db_close(parcel.db);
	return verdict;
}

static uint64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The unit's samples are counted once, whatever has become of them. True: the next one may follow. */
static bool settle_unit(struct follower *follower, const struct sn_push_verdict *verdict)
{
	struct sn_push_cursor *cursor = &follower->cursor;
	uint64_t samples = follower->unit.samples;
	bool is_faulty = verdict->status == 500 && ++follower->faults >= FAULTS_MOST;
	switch (is_faulty ? SN_PUSH_REJECTED : verdict->fate) {
	case SN_PUSH_DONE:
		cursor->pushed += samples;
		cursor->requests += samples > 0;
		cursor->pushed_ns = samples ? now_ns() : cursor->pushed_ns;
		break;
	case SN_PUSH_REJECTED:
		cursor->rejected += samples;
		break;
	case SN_PUSH_UNSURE:
		if (follower->follow->resends)
			return false;
		cursor->unsure += samples;
		break;
	default:
		cursor->sending = cursor->sending_samples = 0;
		return false;
	}
	advance(follower);
	return true;
}

/* ---- waiting ---- */

/* True if the process is to end. */
static bool sleep_until(const struct follower *follower, unsigned seconds)
{
	const struct timespec time = {.tv_sec = seconds};
	return sigtimedwait(&follower->ends, NULL, &time) > 0;
}

/* Longer after each try; machines that lost one server do not come back at one moment. */
static unsigned wait_seconds(struct follower *follower, const struct sn_push_verdict *verdict)
{
	unsigned wait = WAIT_MOST;
	if (follower->tries < 9)
		wait = WAIT_LEAST << follower->tries;
	follower->tries++;
	if (wait > WAIT_MOST)
		wait = WAIT_MOST;
	if (verdict->fate == SN_PUSH_REFUSED && wait < WAIT_REFUSED)
		wait = WAIT_REFUSED;
	if (verdict->retry_seconds > wait)
		wait = verdict->retry_seconds;
	return wait + (unsigned)(now_ns() / 1000 % (wait / 4 + 1));
}

/* What tells a store that has got a flush or an epoch from the one before. */
struct state {
	struct stat folder, current;
};

static struct state look(const char *store)
{
	char path[4200];
	struct state state;
	memset(&state, 0, sizeof(state));
	snprintf(path, sizeof(path), "%s/" SN_EPOCH_CURRENT, store);
	(void)!stat(path, &state.current);
	(void)!stat(store, &state.folder);
	return state;
}

static bool is_same(const struct state *a, const struct state *b)
{
	return a->current.st_ino == b->current.st_ino && a->current.st_size == b->current.st_size &&
	       a->folder.st_mtim.tv_sec == b->folder.st_mtim.tv_sec &&
	       a->folder.st_mtim.tv_nsec == b->folder.st_mtim.tv_nsec;
}

/* True if the process is to end. */
static bool wait_for_change(const struct follower *follower, const struct state *before)
{
	for (;;) {
		struct state now = look(follower->follow->store);
		if (!is_same(before, &now))
			return false;
		if (sleep_until(follower, 1))
			return true;
	}
}

/* ---- all ---- */

/* Pushes the unit. -1: go on; else the exit status. */
static int push_unit(struct follower *follower)
{
	const struct sn_push_follow *follow = follower->follow;
	struct sn_push_verdict verdict = send_unit(follower);
	bool is_settled = settle_unit(follower, &verdict);
	bool is_over = !is_settled && follow->is_endless && is_ending(follower);
	if (!is_over) /* what was given up has not failed */
		note_failure(follower, &verdict.why);
	if (save(follower))
		return SN_EXIT_FAILED;
	if (is_over)
		return SN_EXIT_DONE;
	if (is_settled)
		return -1;
	if (!follow->is_endless)
		return SN_EXIT_FAILED;
	return sleep_until(follower, wait_seconds(follower, &verdict)) ? SN_EXIT_DONE : -1;
}

/* The store cannot be read at present. */
static int wait_for_store(struct follower *follower, const struct sn_error *error)
{
	const struct sn_push_verdict verdict = {.fate = SN_PUSH_LATER};
	if (!follower->follow->is_endless)
		return sn_command_fail("%s", error->text);
	note_failure(follower, error);
	if (save(follower))
		return SN_EXIT_FAILED;
	return sleep_until(follower, wait_seconds(follower, &verdict)) ? SN_EXIT_DONE : -1;
}

/* There is nothing to push now. */
static int wait_for_more(struct follower *follower, const struct state *before)
{
	if (save(follower))
		return SN_EXIT_FAILED;
	return !follower->follow->is_endless || wait_for_change(follower, before) ? SN_EXIT_DONE
										  : -1;
}

static int run(struct follower *follower)
{
	int status = -1;
	while (status < 0) {
		struct sn_error damage = {""}, error = {""};
		struct state before = look(follower->follow->store);
		int found = sn_push_next(follower->follow->store, &follower->cursor,
					 &follower->unit, &damage, &error);
		if (*damage.text)
			sn_command_warn("%s", damage.text);
		if (found < 0)
			status = wait_for_store(follower, &error);
		else
			status = found ? push_unit(follower) : wait_for_more(follower, &before);
		if (status < 0 && is_ending(follower))
			status = SN_EXIT_DONE;
	}
	return status;
}

int sn_push_follow(const struct sn_push_follow *follow)
{
	struct follower follower = {.follow = follow, .lock = -1};
	sigemptyset(&follower.ends);
	sigaddset(&follower.ends, SIGTERM);
	sigaddset(&follower.ends, SIGINT);
	if (follow->is_endless)
		sigprocmask(SIG_BLOCK, &follower.ends, NULL);
	int status = open_cursor(&follower);
	uint64_t before = follower.cursor.pushed;
	if (!status)
		status = run(&follower);
	if (status == SN_EXIT_DONE && !follow->is_quiet)
		sn_command_warn("pushed %s samples to '%s'",
				sn_number_counted((double)(follower.cursor.pushed - before)).text,
				follow->target->url);
	if (follower.lock >= 0)
		close(follower.lock);
	return status;
}
