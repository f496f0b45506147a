/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde timeline`: what a trace says about time. Three sentences first; then their evidence, view
 * by view.
 */
#include "timeline.h"

#include "base/progress/progress.h"
#include "cmd/command.h"
#include "show/page/timeline_page.h"
#include "show/page/timeline_svg.h"
#include "show/label.h"
#include "timeline/evidence.h"

#include "sonde/db.h"

#include <string.h>

enum { DEFAULT_LIMIT = 8, LIMIT_MAX = 1000000, PICTURE_WIDTH = 1400, PICTURE_ROWS = 120 };
enum { PAGE_WIDTH = 1600, PAGE_ROWS = 60 };
enum { MAX_VIEWS = 24, MAX_DEPTH = 10000, LEAST_MEMORY = 4096 };
struct timeline {
	struct sn_answers answers;
	size_t limit;
	int view; /* position in sn_timeline_views, -1: all */
	const char *picture;
	double from_s, to_s; /* negative: not given */
	int form;	     /* 0 text, 1 JSON */
};

static int show_views(const struct timeline *timeline, struct sn_page *page, struct sn_error *error)
{
	int result = 0;
	for (int i = 0; sn_timeline_views[i].name && !result; i++)
		if (timeline->view < 0 || timeline->view == i)
			result = sn_timeline_views[i].show(&timeline->answers, page, error);
	if (!result)
		sn_show_left_out(&timeline->answers, page);
	if (!result && page->has_failed)
		result = sn_fail_memory(error);
	return result;
}

static bool is_page(const char *path)
{
	size_t length = strlen(path);
	return length > 5 && !strcasecmp(path + length - 5, ".html");
}

static void print_text(const struct timeline *timeline, const struct sn_page *page)
{
	bool is_summary = timeline->view <= 0;
	for (size_t i = 0; i < page->sentence_count; i++)
		sn_page_print_sentence(page->sentences[i], sn_terminal_width(), stdout);
	if (is_summary && page->sentence_count)
		putchar('\n');
	if (is_summary)
		sn_timeline_text(&timeline->answers, timeline->limit);
	sn_page_print(page, timeline->limit, sn_terminal_width(), sn_terminal_has_color(stdout),
		      stdout);
	if (timeline->picture)
		printf("\n%s: %s\n", timeline->picture,
		       is_page(timeline->picture) ? "the timeline and all views" : "the timeline");
}

static void print_json(const struct timeline *timeline, const struct sn_page *page)
{
	struct sn_json json = {.out = stdout};
	sn_json_begin(&json, '{');
	sn_json_open(&json, "sentences", '[');
	for (size_t i = 0; i < page->sentence_count; i++)
		sn_json_string(&json, page->sentences[i]);
	sn_json_end(&json, ']');
	if (timeline->view <= 0)
		sn_timeline_json(&timeline->answers, &json);
	sn_page_json(page, &json);
	sn_json_end(&json, '}');
	putchar('\n');
}

/* The window that was asked for. */
static int choose_window(const struct timeline *timeline, struct sn_timeline_window *window,
			 struct sn_error *error)
{
	const struct sn_answers *answers = &timeline->answers;
	window->from_ns = answers->start_ns;
	window->to_ns = answers->end_ns;
	if (timeline->to_s >= 0)
		window->to_ns = answers->start_ns + (uint64_t)(timeline->to_s * 1e9);
	if (timeline->from_s >= 0)
		window->from_ns = answers->start_ns + (uint64_t)(timeline->from_s * 1e9);
	/* all that is recorded may be moments at one time */
	if (timeline->to_s < 0 && window->to_ns == window->from_ns)
		window->to_ns++;
	if (window->to_ns <= window->from_ns)
		return sn_fail(error, SN_ERR_ARGUMENT, "the picture ends before it begins");
	return 0;
}

/* A page has all views, whatever is printed. */
static int write_page(const struct timeline *timeline, const char *name,
		      const struct sn_timeline_picture *picture, struct sn_error *error)
{
	struct timeline all = *timeline;
	struct sn_page page = {0};
	all.view = -1;
	int result = show_views(&all, &page, error);
	if (!result)
		result =
		    sn_timeline_page(&page, sn_label_base(name), picture, timeline->picture, error);
	sn_page_release(&page);
	return result;
}

static int draw(const struct timeline *timeline, const char *name, struct sn_error *error)
{
	const struct sn_answers *answers = &timeline->answers;
	bool is_of_page = is_page(timeline->picture);
	struct sn_timeline_picture picture = {0};
	struct sn_timeline_window window = {.width = is_of_page ? PAGE_WIDTH : PICTURE_WIDTH,
					    .rows = is_of_page ? PAGE_ROWS : PICTURE_ROWS};
	int result = choose_window(timeline, &window, error);
	if (!result)
		result = sn_timeline_picture(answers->db, answers->trace, &window, &picture, error);
	if (!result)
		result = is_of_page ? write_page(timeline, name, &picture, error)
				    : sn_timeline_svg(&picture, timeline->picture, error);
	sn_timeline_picture_release(&picture);
	return result;
}

static enum sn_answers_part needed(const struct timeline *timeline)
{
	bool is_all = timeline->view < 0 || (timeline->picture && is_page(timeline->picture));
	return is_all ? SN_ANSWERS_FINDINGS : sn_timeline_views[timeline->view].needs;
}

/* Nothing is printed before all of it is known. */
static int answer(struct timeline *timeline, const char *path)
{
	struct sn_error error = {""};
	struct sn_page page = {0};
	int status = SN_EXIT_DONE;
	int result = sn_answers(&timeline->answers, needed(timeline), &error);
	sn_progress_begin("preparing views", 0);
	if (result || show_views(timeline, &page, &error))
		status = sn_command_fail("cannot read '%s': %s", path, error.text);
	else if (timeline->picture && draw(timeline, path, &error))
		status = sn_command_fail("%s", error.text);
	sn_progress_end();
	if (status == SN_EXIT_DONE)
		(timeline->form ? print_json : print_text)(timeline, &page);
	sn_page_release(&page);
	sn_answers_release(&timeline->answers);
	return status;
}

static int show(struct timeline *timeline, const char *path)
{
	struct sonde_db_error why = {""};
	struct sonde_trace *trace;
	if (sonde_trace_open(timeline->answers.db, &trace, &why))
		return sn_command_fail("cannot read '%s': %s", path, why.text);
	struct sn_error error = {""};
	timeline->answers.trace = trace;
	int status =
	    sn_evidence_leave_out(timeline->answers.db, trace, &error)
		? sn_command_fail("cannot read '%s': %s", path, error.text)
	    : sonde_trace_event_count(trace)
		? answer(timeline, path)
		: sn_command_fail("'%s' has no events: it is a profile without a trace", path);
	sonde_trace_close(trace);
	return status;
}

int sn_command_timeline_run(int argc, char **argv)
{
	const char *views[MAX_VIEWS];
	int view_count = 0;
	for (; sn_timeline_views[view_count].name && view_count + 2 < MAX_VIEWS; view_count++)
		views[view_count] = sn_timeline_views[view_count].name;
	views[view_count] = "all";
	views[view_count + 1] = NULL;
	struct sn_options options = {&sn_command_timeline, argc, argv};
	struct timeline timeline = {
	    .limit = DEFAULT_LIMIT, .from_s = -1, .to_s = -1, .answers.depth = 3};
	struct sn_answers *answers = &timeline.answers;
	uint64_t iteration = UINT64_MAX;
	const struct sn_option table[] = {
	    {"output", 'o', .text = &timeline.picture, .is_path = true},
	    {"view", .choice = &timeline.view, .choices = views},
	    {"depth", SN_OPTION_WHOLE(answers->depth, 1, MAX_DEPTH)},
	    {"iteration", SN_OPTION_WHOLE(iteration, 0, 1e15)},
	    {"from", .number = &timeline.from_s, .most = 1e9},
	    {"to", .number = &timeline.to_s, .most = 1e9},
	    {"format", SN_OPTION_CHOICE(timeline.form, "text", "json")},
	    {"limit", SN_OPTION_WHOLE(timeline.limit, 0, LIMIT_MAX)},
	    {"memory", .memory = &answers->memory_bytes, .least = LEAST_MEMORY},
	    {"launched-only", .flag = &answers->launched_only},
	    {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	answers->iteration = iteration + 1;
	if (timeline.view == view_count)
		timeline.view = -1;
	struct sonde_db *db;
	if (optind == argc)
		return sn_command_misuse(&sn_command_timeline, "no DB given");
	const char *const *paths = (const char *const *)argv + optind;
	sn_progress_show(false);
	int status = sn_command_open_trace(paths, (size_t)(argc - optind), &db);
	if (status)
		return status;
	timeline.answers.db = db;
	return sn_command_close(db, show(&timeline, paths[0]));
}
