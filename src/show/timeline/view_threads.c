/* SPDX-License-Identifier: Apache-2.0 */
/* What threads ran, waited for and were blocked in, as the operating system recorded it. */
#include "timeline/threads/thread_states.h"
#include "views.h"

#include <stdio.h>
#include <string.h>

int sn_show_thread_times(const struct sn_thread_times *times, struct sn_page *page)
{
	static const struct sn_column columns[] = {{"thread", "thread", ""},
						   {"tid", "", "id"},
						   {"pid", "", "id"},
						   {"time_ns", "time", "ns"},
						   {"running", "running", "ratio"},
						   {"ready", "ready", "ratio"},
						   {"blocked", "blocked", "ratio"},
						   {"unknown", "unknown", "ratio"},
						   {"blocked_in", "mostly in", ""},
						   {"blocked_in_share", "share", "ratio"}};
	const struct sonde_db *db = times->db;
	size_t count;
	const struct sn_thread_time **list = sn_threads_by_running(times, false, &count);
	if (!list)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet = sn_page_table(page, "threads", columns, "what threads did");
	for (size_t i = 0; i < count; i++) {
		double whole = sn_thread_whole_ns(list[i]);
		const struct sonde_db_profile *profile = sonde_db_profile(db, list[i]->profile);
		const struct sn_state_share *most = sn_thread_worst(times, list[i]->profile);
		sn_sheet_text(sheet, sn_name_thread(db, list[i]->profile).text);
		sn_sheet_numbers(sheet, profile->tid, profile->pid, whole);
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
	static const struct sn_column columns[] = {{"thread", "thread", ""},
						   {"tid", "", "id"},
						   {"in", "in", ""},
						   {"time_ns", "time", "ns"},
						   {"count", "times", "count"},
						   {"longest_ns", "longest", "ns"}};
	struct sn_sheet *sheet =
	    sn_page_table(page, "blocked", columns, "what threads were blocked in");
	for (uint32_t i = 0; i < times->share_keys.count; i++) {
		const struct sn_state_share *share = times->shares + i;
		if (sn_is_processor(db, share->profile) || !sn_is_blocked(db, share->context))
			continue;
		sn_sheet_text(sheet, sn_name_thread(db, share->profile).text);
		sn_sheet_number(sheet, sonde_db_profile(db, share->profile)->tid);
		sn_sheet_text(sheet, sn_state_name(db, share->context));
		sn_sheet_numbers(sheet, share->time_ns, share->count, share->longest_ns);
	}
}

static struct sn_place_name name_waker(const struct sonde_db *db,
				       const struct sn_thread_times *times, uint32_t waker)
{
	uint32_t profile = waker ? sn_thread_profile(times, waker) : SONDE_NONE;
	struct sn_place_name name = {"an interrupt"};
	if (profile != SONDE_NONE)
		return sn_name_thread(db, profile);
	if (waker)
		snprintf(name.text, sizeof(name.text), "thread %u of others", waker);
	return name;
}

static void show_wakeups(const struct sonde_db *db, const struct sn_thread_times *times,
			 struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"waker", "waker", ""},  {"waker_tid", "", "id"},	  {"woken", "woken", ""},
	    {"woken_tid", "", "id"}, {"count", "times", "count"}, {"waited_ns", "after", "ns"}};
	struct sn_sheet *sheet = sn_page_table(page, "wakeups", columns, "who wakes whom");
	for (uint32_t i = 0; i < times->wakeup_keys.count; i++) {
		const struct sn_wakeup_sum *sum = times->wakeups + i;
		sn_sheet_text(sheet, name_waker(db, times, sum->waker).text);
		sn_sheet_number(sheet, sum->waker);
		sn_sheet_text(sheet, sn_name_thread(db, sum->profile).text);
		sn_sheet_numbers(sheet, sonde_db_profile(db, sum->profile)->tid, sum->count,
				 sum->waited_ns);
	}
}

static bool is_system_call(const struct sonde_db *db, const struct sn_system_sum *sum)
{
	return !strcmp(sn_state_group(db, sum->context), "system call");
}

static void show_calls(const struct sonde_db *db, const struct sn_thread_times *times,
		       struct sn_page *page)
{
	static const struct sn_column columns[] = {{"kind", "", "id"},
						   {"name", "call", ""},
						   {"time_ns", "time", "ns"},
						   {"count", "times", "count"},
						   {"mean_ns", "mean", "ns"},
						   {"longest_ns", "longest", "ns"},
						   {"errors", "errors", "count"},
						   {"bytes", "bytes", "bytes"}};
	struct sn_sheet *sheet = sn_page_table(page, "calls", columns, "system calls");
	for (uint32_t i = 0; i < times->system_keys.count; i++) {
		const struct sn_system_sum *sum = times->systems + i;
		if (!is_system_call(db, sum) || sn_is_page_fault(db, sum->context))
			continue;
		sn_sheet_number(sheet, 0);
		sn_sheet_text(sheet, sn_state_name(db, sum->context));
		sn_sheet_numbers(sheet, sum->time_ns, sum->count,
				 (double)sum->time_ns / (double)sum->count, sum->longest_ns,
				 sum->error_count, sn_system_call_bytes(db, sum));
	}
}

static void show_faults(const struct sonde_db *db, const struct sn_thread_times *times,
			struct sn_page *page)
{
	static const struct sn_column columns[] = {{"name", "which", ""},
						   {"count", "times", "count"}};
	struct sn_sheet *sheet = NULL;
	for (uint32_t i = 0; i < times->system_keys.count; i++) {
		const struct sn_system_sum *sum = times->systems + i;
		if (!sn_is_page_fault(db, sum->context))
			continue;
		if (!sheet) {
			sheet = sn_page_table(page, "faults", columns, "page faults");
			sn_sheet_note(sheet, "minor: the page was in memory; major: it was read "
					     "from a file");
		}
		sn_sheet_text(sheet, sn_state_name(db, sum->context));
		sn_sheet_number(sheet, sum->count);
	}
}

/* What is neither a system call nor a page fault. */
static void show_requests(const struct sonde_db *db, const struct sn_thread_times *times,
			  struct sn_page *page)
{
	static const struct sn_column columns[] = {
	    {"kind", "what", ""},	 {"name", "which", ""},	    {"time_ns", "time", "ns"},
	    {"count", "times", "count"}, {"mean_ns", "mean", "ns"}, {"longest_ns", "longest", "ns"},
	    {"bytes", "bytes", "bytes"}};
	struct sn_sheet *sheet = sn_page_table(page, "requests", columns, "disks and interrupts");
	for (uint32_t i = 0; i < times->system_keys.count; i++) {
		const struct sn_system_sum *sum = times->systems + i;
		if (is_system_call(db, sum) || sn_is_page_fault(db, sum->context))
			continue;
		sn_sheet_text(sheet, sn_state_group(db, sum->context));
		sn_sheet_text(sheet, sn_state_name(db, sum->context));
		sn_sheet_numbers(sheet, sum->time_ns, sum->count,
				 (double)sum->time_ns / (double)sum->count, sum->longest_ns,
				 sum->bytes);
	}
}

static int show_processors(const struct sn_answers *answers, const struct sn_thread_times *times,
			   struct sn_page *page)
{
	static const struct sn_column columns[] = {{"processor", "processor", ""},
						   {"number", "", "id"},
						   {"time_ns", "ran", "ns"},
						   {"share", "share", "ratio"},
						   {"most", "most", ""}};
	const struct sonde_db *db = answers->db;
	size_t count;
	const struct sn_thread_time **list = sn_threads_by_running(times, true, &count);
	double whole = (double)(answers->end_ns - answers->start_ns);
	if (!list)
		return SN_ERR_MEMORY;
	struct sn_sheet *sheet =
	    sn_page_table(page, "processors", columns, "which threads processors ran");
	for (size_t i = 0; i < count; i++) {
		uint32_t profile = list[i]->profile;
		double ran = (double)list[i]->times_ns[SN_THREAD_RUNNING];
		const char *most = "";
		for (uint32_t k = 0; k < times->share_keys.count && !*most; k++)
			if (times->shares[k].profile == profile)
				most = sn_state_name(db, times->shares[k].context);
		sn_sheet_text(sheet, sn_name_thread(db, profile).text);
		sn_sheet_numbers(sheet, sonde_db_profile(db, profile)->tid, ran,
				 whole > 0 ? ran / whole : 0);
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
		result = sn_fail_memory(error);
	if (!result) {
		sn_show_findings(answers, &findings, findings.count, page);
		show_blocked(answers->db, &times, page);
		show_wakeups(answers->db, &times, page);
		show_calls(answers->db, &times, page);
		show_faults(answers->db, &times, page);
		show_requests(answers->db, &times, page);
	}
	sn_findings_release(&findings);
	sn_thread_times_release(&times);
	return result;
}
