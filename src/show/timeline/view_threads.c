/* SPDX-License-Identifier: Apache-2.0 */
/* What threads ran, waited for and were blocked in, as the operating system told. */
#include "timeline/threads/thread_states.h"
#include "views.h"

#include <stdio.h>
#include <string.h>

int sn_show_thread_times(const struct sn_thread_times *times, struct sn_page *page)
{
	const struct sonde_db *db = times->db;
	char name[SN_PLACE_CHARS];
	size_t count;
	const struct sn_thread_time **list = sn_threads_by_running(times, false, &count);
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
		double whole = sn_thread_whole_ns(list[i]);
		const struct sonde_db_profile *profile = sonde_db_profile(db, list[i]->profile);
		const struct sn_state_share *most = sn_thread_worst(times, list[i]->profile);
		sn_sheet_text(sheet, sn_name_thread(db, list[i]->profile, name));
		sn_sheet_number(sheet, (double)profile->tid);
		sn_sheet_number(sheet, (double)profile->pid);
		sn_sheet_number(sheet, whole);
		for (int state = 0; state < SN_THREAD_STATES; state++)
			sn_sheet_number(sheet,
					whole > 0 ? (double)list[i]->times_ns[state] / whole : 0);
		sn_sheet_text(sheet, most ? sn_state_name(db, most->context) : "");
		sn_sheet_number(sheet, most && whole > 0 ? (double)most->time_ns / whole : 0);
	}
	free(list);
	sn_sheet_note(sheet, "ready: the thread could run, but no processor was free for it");
	return 0;
}

static void show_blocked(const struct sonde_db *db, const struct sn_thread_times *times,
			 struct sn_page *page)
{
	char name[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "blocked", "what threads were blocked in");
	sn_sheet_column(sheet, "thread", "thread", "");
	sn_sheet_column(sheet, "tid", "", "id");
	sn_sheet_column(sheet, "in", "in", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "longest_ns", "longest", "ns");
	for (uint32_t i = 0; i < times->share_keys.count; i++) {
		const struct sn_state_share *share = times->shares + i;
		if (sn_is_processor(db, share->profile) || !sn_is_blocked(db, share->context))
			continue;
		sn_sheet_text(sheet, sn_name_thread(db, share->profile, name));
		sn_sheet_number(sheet, (double)sonde_db_profile(db, share->profile)->tid);
		sn_sheet_text(sheet, sn_state_name(db, share->context));
		sn_sheet_number(sheet, (double)share->time_ns);
		sn_sheet_number(sheet, (double)share->count);
		sn_sheet_number(sheet, (double)share->longest_ns);
	}
}

static void show_wakeups(const struct sonde_db *db, const struct sn_thread_times *times,
			 struct sn_page *page)
{
	char name[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "wakeups", "who wakes whom");
	sn_sheet_column(sheet, "waker", "waker", "");
	sn_sheet_column(sheet, "waker_tid", "", "id");
	sn_sheet_column(sheet, "woken", "woken", "");
	sn_sheet_column(sheet, "woken_tid", "", "id");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "waited_ns", "after", "ns");
	for (uint32_t i = 0; i < times->wakeup_keys.count; i++) {
		const struct sn_wakeup_sum *sum = times->wakeups + i;
		uint32_t waker = sum->waker ? sn_thread_profile(times, sum->waker) : SONDE_NONE;
		if (waker != SONDE_NONE)
			sn_name_thread(db, waker, name);
		else if (sum->waker)
			snprintf(name, sizeof(name), "thread %u of others", sum->waker);
		else
			snprintf(name, sizeof(name), "an interrupt");
		sn_sheet_text(sheet, name);
		sn_sheet_number(sheet, sum->waker);
		sn_sheet_text(sheet, sn_name_thread(db, sum->profile, name));
		sn_sheet_number(sheet, (double)sonde_db_profile(db, sum->profile)->tid);
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->waited_ns);
	}
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
		const char *group = sn_state_group(db, sum->context);
		if (!strcmp(group, "system call") != are_calls ||
		    sn_is_page_fault(db, sum->context))
			continue;
		if (are_calls)
			sn_sheet_number(sheet, 0);
		else
			sn_sheet_text(sheet, group);
		sn_sheet_text(sheet, sn_state_name(db, sum->context));
		sn_sheet_number(sheet, (double)sum->time_ns);
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->time_ns / (double)sum->count);
		sn_sheet_number(sheet, (double)sum->longest_ns);
		if (are_calls)
			sn_sheet_number(sheet, (double)sum->error_count);
		sn_sheet_number(sheet,
				are_calls ? sn_system_call_bytes(db, sum) : (double)sum->bytes);
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
		sn_sheet_text(sheet, sn_state_name(db, sum->context));
		sn_sheet_number(sheet, (double)sum->count);
	}
}

static int show_processors(const struct sn_answers *answers, const struct sn_thread_times *times,
			   struct sn_page *page)
{
	const struct sonde_db *db = answers->db;
	char name[SN_PLACE_CHARS];
	size_t count;
	const struct sn_thread_time **list = sn_threads_by_running(times, true, &count);
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
				most = sn_state_name(db, times->shares[k].context);
		sn_sheet_text(sheet, sn_name_thread(db, list[i]->profile, name));
		sn_sheet_number(sheet, (double)sonde_db_profile(db, list[i]->profile)->tid);
		sn_sheet_number(sheet, (double)ran);
		sn_sheet_number(sheet, whole > 0 ? (double)ran / whole : 0);
		sn_sheet_text(sheet, most);
	}
	free(list);
	return 0;
}

int sn_view_threads(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct sn_thread_times times = {0};
	struct sn_findings findings = {0};
	struct sn_rule_input input = {.answers = answers, .threads = &times};
	if (!sn_threads_are_known(answers->trace))
		return 0;
	int result = sn_thread_times(answers->db, answers->trace, &times, error);
	if (!result)
		result = sn_rule_thread_states(&input, &findings, error);
	if (!result && (findings.has_failed || sn_show_thread_times(&times, page) ||
			show_processors(answers, &times, page)))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result) {
		sn_show_findings(answers, &findings, findings.count, page);
		show_blocked(answers->db, &times, page);
		show_wakeups(answers->db, &times, page);
		show_system(answers->db, &times, "calls", "system calls", true, page);
		show_faults(answers->db, &times, page);
		show_system(answers->db, &times, "requests", "disks and interrupts", false, page);
	}
	sn_findings_release(&findings);
	sn_thread_times_release(&times);
	return result;
}
