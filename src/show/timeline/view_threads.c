/* SPDX-License-Identifier: Apache-2.0 */
/* What threads ran, waited for and were blocked in, as the operating system told. */
#include "timeline/answers.h"
#include "timeline/threads/thread_states.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_CHARS = 128, PROFILE_CPU = 2 };

static const char *context_name(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame =
	    sonde_db_frame(db, sonde_db_context(db, context)->frame);
	return sonde_db_string(db, frame->name);
}

static const char *parent_name(const struct sonde_db *db, uint32_t context)
{
	return context_name(db, sonde_db_context(db, context)->parent);
}

static const char *thread_name(const struct sonde_db *db, uint32_t number, char text[NAME_CHARS])
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, number);
	const char *name =
	    profile->thread == SONDE_NONE ? "thread" : sonde_db_string(db, profile->thread);
	if (profile->kind == PROFILE_CPU)
		snprintf(text, NAME_CHARS, "%s", name);
	else
		snprintf(text, NAME_CHARS, "%s %llu", name, (unsigned long long)profile->tid);
	return text;
}

static bool is_processor(const struct sonde_db *db, uint32_t profile)
{
	return sonde_db_profile(db, profile)->kind == PROFILE_CPU;
}

static bool is_blocked(const struct sonde_db *db, uint32_t context)
{
	return !strcmp(context_name(db, context), "blocked") ||
	       !strcmp(parent_name(db, context), "blocked");
}

/* What the thread was blocked in most, or NULL. Shares are in order of time. */
static const struct sn_state_share *worst(const struct sonde_db *db,
					  const struct sn_thread_times *times, uint32_t profile)
{
	for (uint32_t i = 0; i < times->share_keys.count; i++)
		if (times->shares[i].profile == profile && is_blocked(db, times->shares[i].context))
			return times->shares + i;
	return NULL;
}

static double whole_of(const struct sn_thread_time *thread)
{
	double whole = 0;
	for (int state = 0; state < SN_THREAD_STATES; state++)
		whole += (double)thread->times_ns[state];
	return whole;
}

/* ---- sheets ---- */

/* Threads in order of what they ran, most first. */
static int compare_threads(const void *left, const void *right)
{
	const struct sn_thread_time *a = *(struct sn_thread_time *const *)left,
				    *b = *(struct sn_thread_time *const *)right;
	uint64_t ran = a->times_ns[SN_THREAD_RUNNING], other = b->times_ns[SN_THREAD_RUNNING];
	if (ran != other)
		return ran > other ? -1 : 1;
	return a->profile < b->profile ? -1 : a->profile > b->profile;
}

/* From malloc; NULL without memory. */
static const struct sn_thread_time **ordered(const struct sonde_db *db,
					     const struct sn_thread_times *times,
					     bool are_processors, size_t *count)
{
	const struct sn_thread_time **list = malloc((times->thread_count + 1) * sizeof(*list));
	*count = 0;
	for (size_t i = 0; list && i < times->thread_count; i++)
		if (is_processor(db, times->threads[i].profile) == are_processors)
			list[(*count)++] = times->threads + i;
	if (list)
		qsort(list, *count, sizeof(*list), compare_threads);
	return list;
}

static int show_threads(const struct sonde_db *db, const struct sn_thread_times *times,
			struct sn_page *page)
{
	char name[NAME_CHARS];
	size_t count;
	const struct sn_thread_time **list = ordered(db, times, false, &count);
	if (!list)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_sheet(page, "threads", "what threads did");
	sn_sheet_column(sheet, "thread", "thread", "");
	sn_sheet_column(sheet, "tid", "", "id");
	sn_sheet_column(sheet, "pid", "", "id");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "running", "running", "ratio");
	sn_sheet_column(sheet, "ready", "ready", "ratio");
	sn_sheet_column(sheet, "blocked", "blocked", "ratio");
	sn_sheet_column(sheet, "unknown", "unknown", "ratio");
	sn_sheet_column(sheet, "blocked_in", "mostly in", "");
	sn_sheet_column(sheet, "blocked_in_share", "share", "ratio");
	for (size_t i = 0; i < count; i++) {
		double whole = whole_of(list[i]);
		const struct sonde_db_profile *profile = sonde_db_profile(db, list[i]->profile);
		const struct sn_state_share *most = worst(db, times, list[i]->profile);
		sn_sheet_text(sheet, thread_name(db, list[i]->profile, name));
		sn_sheet_number(sheet, (double)profile->tid);
		sn_sheet_number(sheet, (double)profile->pid);
		sn_sheet_number(sheet, whole);
		for (int state = 0; state < SN_THREAD_STATES; state++)
			sn_sheet_number(sheet,
					whole > 0 ? (double)list[i]->times_ns[state] / whole : 0);
		sn_sheet_text(sheet, most ? context_name(db, most->context) : "");
		sn_sheet_number(sheet, most && whole > 0 ? (double)most->time_ns / whole : 0);
	}
	free(list);
	sn_sheet_note(sheet, "ready: the thread could run, but no processor was free for it");
	return 0;
}

static void show_blocked(const struct sonde_db *db, const struct sn_thread_times *times,
			 struct sn_page *page)
{
	char name[NAME_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "blocked", "what threads were blocked in");
	sn_sheet_column(sheet, "thread", "thread", "");
	sn_sheet_column(sheet, "tid", "", "id");
	sn_sheet_column(sheet, "in", "in", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "longest_ns", "longest", "ns");
	for (uint32_t i = 0; i < times->share_keys.count; i++) {
		const struct sn_state_share *share = times->shares + i;
		if (is_processor(db, share->profile) || !is_blocked(db, share->context))
			continue;
		sn_sheet_text(sheet, thread_name(db, share->profile, name));
		sn_sheet_number(sheet, (double)sonde_db_profile(db, share->profile)->tid);
		sn_sheet_text(sheet, context_name(db, share->context));
		sn_sheet_number(sheet, (double)share->time_ns);
		sn_sheet_number(sheet, (double)share->count);
		sn_sheet_number(sheet, (double)share->longest_ns);
	}
}

/* The thread of that number which was there at that time; SONDE_NONE. */
static uint32_t profile_of(const struct sonde_db *db, const struct sn_thread_times *times,
			   uint32_t tid)
{
	for (size_t i = 0; i < times->thread_count; i++) {
		const struct sonde_db_profile *profile =
		    sonde_db_profile(db, times->threads[i].profile);
		if (profile->kind == 0 && profile->tid == tid)
			return times->threads[i].profile;
	}
	return SONDE_NONE;
}

static void show_wakeups(const struct sonde_db *db, const struct sn_thread_times *times,
			 struct sn_page *page)
{
	char name[NAME_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "wakeups", "who wakes whom");
	sn_sheet_column(sheet, "waker", "waker", "");
	sn_sheet_column(sheet, "waker_tid", "", "id");
	sn_sheet_column(sheet, "woken", "woken", "");
	sn_sheet_column(sheet, "woken_tid", "", "id");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "waited_ns", "after", "ns");
	for (uint32_t i = 0; i < times->wakeup_keys.count; i++) {
		const struct sn_wakeup_sum *sum = times->wakeups + i;
		uint32_t waker = sum->waker ? profile_of(db, times, sum->waker) : SONDE_NONE;
		if (waker != SONDE_NONE)
			thread_name(db, waker, name);
		else if (sum->waker)
			snprintf(name, sizeof(name), "thread %u of others", sum->waker);
		else
			snprintf(name, sizeof(name), "an interrupt");
		sn_sheet_text(sheet, name);
		sn_sheet_number(sheet, sum->waker);
		sn_sheet_text(sheet, thread_name(db, sum->profile, name));
		sn_sheet_number(sheet, (double)sonde_db_profile(db, sum->profile)->tid);
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->waited_ns);
	}
}

/* Whether what a call returns is how many bytes it has moved. */
static bool returns_bytes(const char *call)
{
	static const char *const names[] = {
	    "read",	"pread64",  "readv",	"preadv", "preadv2",	     "recvfrom",
	    "recvmsg",	"write",    "pwrite64", "writev", "pwritev",	     "pwritev2",
	    "sendto",	"sendmsg",  "sendfile", "splice", "copy_file_range", "process_vm_readv",
	    "vmsplice", "getrandom"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(call, names[i]))
			return true;
	return false;
}

/* Sums of one group, or of all that are in no other sheet. */
static void show_system(const struct sonde_db *db, const struct sn_thread_times *times,
			const char *key, const char *title, bool are_calls, struct sn_page *page)
{
	struct sn_sheet *sheet = sn_page_sheet(page, key, "%s", title);
	sn_sheet_column(sheet, "kind", are_calls ? "" : "what", are_calls ? "id" : "");
	sn_sheet_column(sheet, "name", are_calls ? "call" : "which", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "mean_ns", "mean", "ns");
	sn_sheet_column(sheet, "longest_ns", "longest", "ns");
	if (are_calls)
		sn_sheet_column(sheet, "errors", "errors", "count");
	sn_sheet_column(sheet, "bytes", "bytes", "bytes");
	for (uint32_t i = 0; i < times->system_keys.count; i++) {
		const struct sn_system_sum *sum = times->systems + i;
		const char *group = parent_name(db, sum->context);
		if (!strcmp(group, "system call") != are_calls ||
		    sn_is_page_fault(db, sum->context))
			continue;
		if (are_calls)
			sn_sheet_number(sheet, 0);
		else
			sn_sheet_text(sheet, group);
		sn_sheet_text(sheet, context_name(db, sum->context));
		sn_sheet_number(sheet, (double)sum->time_ns);
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->time_ns / (double)sum->count);
		sn_sheet_number(sheet, (double)sum->longest_ns);
		if (are_calls)
			sn_sheet_number(sheet, (double)sum->error_count);
		sn_sheet_number(sheet, !are_calls ? (double)sum->bytes
				       : returns_bytes(context_name(db, sum->context))
					   ? (double)sum->results
					   : (double)NAN);
	}
}

static void show_faults(const struct sonde_db *db, const struct sn_thread_times *times,
			struct sn_page *page)
{
	struct sn_sheet *sheet = NULL;
	for (uint32_t i = 0; i < times->system_keys.count; i++) {
		const struct sn_system_sum *sum = times->systems + i;
		if (!sn_is_page_fault(db, sum->context))
			continue;
		if (!sheet) {
			sheet = sn_page_sheet(page, "faults", "page faults");
			sn_sheet_column(sheet, "name", "which", "");
			sn_sheet_column(sheet, "count", "times", "count");
			sn_sheet_note(sheet, "minor: the page was in memory; major: it was read "
					     "from a file");
		}
		sn_sheet_text(sheet, context_name(db, sum->context));
		sn_sheet_number(sheet, (double)sum->count);
	}
}

static int show_processors(const struct sn_answers *answers, const struct sn_thread_times *times,
			   struct sn_page *page)
{
	const struct sonde_db *db = answers->db;
	char name[NAME_CHARS];
	size_t count;
	const struct sn_thread_time **list = ordered(db, times, true, &count);
	double whole = (double)(answers->end_ns - answers->start_ns);
	if (!list)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_sheet(page, "processors", "which threads processors ran");
	sn_sheet_column(sheet, "processor", "processor", "");
	sn_sheet_column(sheet, "number", "", "id");
	sn_sheet_column(sheet, "time_ns", "ran", "ns");
	sn_sheet_column(sheet, "share", "share", "ratio");
	sn_sheet_column(sheet, "most", "most", "");
	for (size_t i = 0; i < count; i++) {
		uint64_t ran = list[i]->times_ns[SN_THREAD_RUNNING];
		const char *most = "";
		for (uint32_t k = 0; k < times->share_keys.count && !*most; k++)
			if (times->shares[k].profile == list[i]->profile)
				most = context_name(db, times->shares[k].context);
		sn_sheet_text(sheet, thread_name(db, list[i]->profile, name));
		sn_sheet_number(sheet, (double)sonde_db_profile(db, list[i]->profile)->tid);
		sn_sheet_number(sheet, (double)ran);
		sn_sheet_number(sheet, whole > 0 ? (double)ran / whole : 0);
		sn_sheet_text(sheet, most);
	}
	free(list);
	return 0;
}

/* ---- in short ---- */

/* The threads that ran most: what they did otherwise. */
static int say_threads(const struct sonde_db *db, const struct sn_thread_times *times, size_t most,
		       struct sn_page *page)
{
	char name[NAME_CHARS], blocked[NAME_CHARS + 64];
	size_t count;
	const struct sn_thread_time **list = ordered(db, times, false, &count);
	if (!list)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count && i < most; i++) {
		double whole = whole_of(list[i]);
		const struct sn_state_share *in = worst(db, times, list[i]->profile);
		const uint64_t *ns = list[i]->times_ns;
		blocked[0] = 0;
		if (in && strcmp(context_name(db, in->context), "blocked"))
			snprintf(blocked, sizeof(blocked), ", most of it in %s (%s)",
				 context_name(db, in->context),
				 sn_answers_share((double)in->time_ns, whole));
		sn_page_sentence(
		    page,
		    "What threads do: of %s, %s ran %s, was ready to run %s, and blocked %s%s.",
		    sn_answers_time(whole), thread_name(db, list[i]->profile, name),
		    sn_answers_share((double)ns[SN_THREAD_RUNNING], whole),
		    sn_answers_share((double)ns[SN_THREAD_READY], whole),
		    sn_answers_share((double)ns[SN_THREAD_BLOCKED], whole), blocked);
	}
	free(list);
	return 0;
}

bool sn_threads_are_known(const struct sonde_trace *trace)
{
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++) {
		uint16_t kind = sonde_trace_track(trace, i)->kind;
		if (kind == SONDE_TRACK_STATES || kind == SONDE_TRACK_SYSTEM)
			return true;
	}
	return false;
}

int sn_threads_summary(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	struct sn_thread_times times = {0};
	if (!sn_threads_are_known(answers->trace))
		return 0;
	int result = sn_thread_times(answers->db, answers->trace, &times, error);
	if (!result && (say_threads(answers->db, &times, 1, page) ||
			(times.thread_count && show_threads(answers->db, &times, page))))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	sn_thread_times_release(&times);
	return result;
}

int sn_view_threads(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct sn_thread_times times = {0};
	if (!sn_threads_are_known(answers->trace))
		return 0;
	int result = sn_thread_times(answers->db, answers->trace, &times, error);
	if (!result &&
	    (say_threads(answers->db, &times, 3, page) || show_threads(answers->db, &times, page) ||
	     show_processors(answers, &times, page)))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result) {
		show_blocked(answers->db, &times, page);
		show_wakeups(answers->db, &times, page);
		show_system(answers->db, &times, "calls", "system calls", true, page);
		show_faults(answers->db, &times, page);
		show_system(answers->db, &times, "requests", "disks and interrupts", false, page);
	}
	sn_thread_times_release(&times);
	return result;
}
