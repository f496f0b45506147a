/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde variability`: which kernels of traces vary, and when. */
#include "variability_causes.h"
#include "variability_csv.h"
#include "variability_input.h"
#include "variability_json.h"

#include "aggregate/comm.h"
#include "base/pool.h"
#include "cmd/command.h"
#include "cmd/ranks.h"
#include "show/label.h"
#include "show/number.h"
#include "show/causal/shown_unit.h"
#include "show/variability/variability_page.h"

#include "sonde/db.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TOP = 5, DEFAULT_LIMIT = 20, WHERE_MOST = 16, TOP_MOST = 100000, NAMED_MOST = 3 };

struct variability {
	const struct sn_options *options;
	struct sn_variability_request request;
	struct sn_variability_inputs inputs;
	struct sn_texts where;
	struct sn_query *queries[WHERE_MOST];
	int by, form;
	size_t limit;
	const char *features, *html; /* files; NULL: none */
	const char *target;	     /* as the user says it; NULL: does not */
	struct sn_causal_asked asked;
	char title[512]; /* of pictures and the page */
};

static int parse_bin(void *context, const struct sn_options *options, const char *text)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	uint64_t *bin_ns = context;
	char *end;
	double number = strtod(text, &end), ns = 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (end != text && !strcmp(end, units[i].unit))
			ns = number * units[i].ns;
	if (!(ns >= 1 && ns <= 1e15))
		return sn_options_refuse(options, "--bin", text,
					 "no length of time, such as 10ms, 500us or 1s");
	*bin_ns = (uint64_t)llround(ns);
	return 0;
}

/* Columns of the table of launches; at last the paper's name of one, which is the default. */
static void list_targets(const char *targets[SN_FEATURES + 2])
{
	for (unsigned f = 0; f < SN_FEATURES; f++)
		targets[f] = sn_feature_name(f);
	targets[SN_FEATURES] = "kernel_variability";
	targets[SN_FEATURES + 1] = NULL;
}

/* Of traces, whose columns are known. 0, or the exit status after having said why. */
static int find_target(struct variability *all)
{
	const char *targets[SN_FEATURES + 2];
	char list[1024] = "";
	unsigned found = 0;
	list_targets(targets);
	while (all->target && targets[found] && strcmp(targets[found], all->target) != 0)
		found++;
	for (unsigned f = 0; targets[f]; f++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", f ? ", " : "",
			 targets[f]);
	if (!targets[found])
		return sn_options_refuse(all->options, "--target", all->target, "none of %s", list);
	all->request.target = !all->target || found == SN_FEATURES ? SN_FEATURE_PERF_VARIATION
								   : (enum sn_feature)found;
	return 0;
}

static int parse_where(struct variability *all)
{
	struct sn_error error = {""};
	for (size_t i = 0; i < all->where.count; i++)
		if (sn_query_parse(all->where.items[i], all->queries + i, &error))
			return sn_command_misuse(all->options->command,
						 "cannot read '--where %s': %s",
						 all->where.items[i], error.text);
	return 0;
}

/* ---- output ---- */

struct answer {
	struct sn_variability result;
	struct sn_variability_causes causes;
	struct sn_page page, why; /* how kernels vary; what that depends on */
	const char *unit;	  /* of durations */
	uint64_t row_count;	  /* launches */
};

static int find_causes(struct variability *all, struct answer *answer, struct sn_error *error)
{
	struct sn_causal_asked asked = all->asked;
	asked.options.threads = all->request.threads;
	asked.options.peers = all->request.peers;
	int result = all->inputs.are_tables
			 ? sn_variability_causes_counted(&answer->causes, &all->inputs.counted,
							 &asked, error)
			 : sn_variability_causes(&answer->causes, &answer->result.features,
						 all->request.target, &asked, error);
	/* the first of many ranks tells it */
	if (result || sn_comm_rank())
		return result;
	result = sn_variability_causes_ask(&answer->causes, &asked, &answer->why, error);
	if (!result)
		sn_variability_causes_show(&answer->causes, &answer->why);
	return !result && answer->why.has_failed ? sn_fail_memory(error) : result;
}

/* What the rows of tables do not tell. */
static void say_what_is_missing(const struct sn_variability_inputs *inputs, struct sn_page *page)
{
	const struct sn_counted *counted = &inputs->counted;
	if (!counted->has_statistics)
		sn_page_sentence(page, "The rows have no durations that are known, so that nothing "
				       "is told of kernels: only of causes.");
	else if (!counted->has_times)
		sn_page_sentence(page, "The rows do not say when launches were, so that nothing is "
				       "told of bins of the time, changes or drifts.");
}

static int show(const struct variability *all, struct answer *answer, struct sn_error *error)
{
	if (sn_comm_rank())
		return 0;
	if (answer->result.group_count) {
		sn_variability_sentences(&answer->result, &answer->page);
		sn_variability_tables(&answer->result, answer->unit, all->request.top,
				      &answer->page);
	}
	if (all->inputs.are_tables)
		say_what_is_missing(&all->inputs, &answer->page);
	return answer->page.has_failed ? sn_fail_memory(error) : 0;
}

static void put_json(const struct variability *all, const struct answer *answer, FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	const struct sn_variability_told told = {&answer->page, &answer->causes, answer->unit,
						 answer->row_count, all->inputs.are_tables};
	sn_variability_json(&answer->result, &all->request, &told, &json);
	sn_variability_causes_json(&answer->causes, &answer->why, &json);
	sn_json_end(&json, '}');
}

static void print_page(const struct variability *all, const struct sn_page *page)
{
	sn_page_print(page, all->limit, sn_terminal_width(), sn_terminal_has_color(stdout), stdout);
}

static void print_sentences(const struct sn_page *page)
{
	for (size_t i = 0; i < page->sentence_count; i++)
		sn_page_print_sentence(page->sentences[i], sn_terminal_width(), stdout);
	if (page->sentence_count)
		putchar('\n');
}

/* "300 launches of 2 kernels and configurations in 12 ms" */
static void print_counts(const struct variability *all, const struct answer *answer)
{
	const struct sn_variability *result = &answer->result;
	bool is_one = result->group_count == 1, is_configured = all->by == SN_BY_CONFIGURATION;
	char kernels[96] = "", time[96] = "", text[256];
	if (result->group_count)
		snprintf(kernels, sizeof(kernels), " of %zu %s%s", result->group_count,
			 is_one ? "kernel" : "kernels",
			 !is_configured ? ""
			 : is_one	? " and configuration"
					: " and configurations");
	if (result->group_count && !result->is_timeless)
		snprintf(time, sizeof(time), " in %s%s",
			 sn_number_time((double)(result->end_ns - result->start_ns)).text,
			 result->is_aligned ? "; each database from its own first kernel" : "");
	snprintf(text, sizeof(text), "%s %s%s%s", sn_number_counted((double)answer->row_count).text,
		 answer->row_count == 1 ? "launch" : "launches", kernels, time);
	sn_page_print_sentence(text, sn_terminal_width(), stdout);
}

/* In one line, however long the file's name is. */
static void print_features(const struct variability *all, const struct answer *answer)
{
	size_t rows = all->inputs.are_tables ? answer->causes.table.row_count
					     : answer->result.features.row_count;
	printf("%s: %s of them, to explain %s\n", all->features,
	       sn_number_counted((double)rows).text,
	       sn_variability_target_name(answer->causes.target));
}

static void print_text(const struct variability *all, const struct answer *answer)
{
	print_sentences(&answer->page);
	print_sentences(&answer->why);
	print_counts(all, answer);
	if (all->features)
		print_features(all, answer);
	print_page(all, &answer->page);
	print_page(all, &answer->why);
	if (all->html)
		printf("\n%s: all of it on a page\n", all->html);
}

static int write_page(const struct variability *all, const struct answer *answer,
		      struct sn_error *error)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return sn_fail_memory(error);
	put_json(all, answer, out);
	int result = fclose(out) ? sn_fail_memory(error) : 0;
	struct sn_causal_rows rows = {.parallel = NULL};
	struct sn_launch_picture picture = answer->result.picture;
	if (!result && all->inputs.are_tables && answer->causes.is_known) {
		result = sn_fail_code(error, sn_causal_rows_init(&rows, &answer->causes.causal));
		picture.parallel = rows.parallel;
		memcpy(picture.names, rows.names, sizeof(picture.names));
	}
	if (!result)
		result = sn_variability_causes_html(
		    &answer->causes, &picture,
		    (const struct sn_page *[]){&answer->page, &answer->why}, text, all->title,
		    all->html, error);
	sn_causal_rows_release(&rows);
	free(text);
	return result;
}

static int draw(const struct variability *all, const struct answer *answer, struct sn_error *error)
{
	const struct sn_causal_asked *asked = &all->asked;
	struct sn_causal_picture picture;
	if (!asked->svg && !asked->dot)
		return 0;
	if (!answer->causes.is_known)
		return sn_variability_causes_refuse(&answer->causes, asked->svg ? "--svg" : "--dot",
						    error);
	int result = sn_fail_code(
	    error, sn_causal_picture_init(&picture, &answer->causes.causal, all->title));
	result = result ? result : sn_causal_asked_draw(asked, &picture.drawing, error);
	sn_causal_picture_release(&picture);
	return result;
}

/* 0, or the exit status after having said why. */
static int write_files(const struct variability *all, const struct answer *answer)
{
	struct sn_error error = {""};
	struct sn_feature_file file = {&answer->result.features, &answer->causes};
	int result = 0;
	if (all->features && all->inputs.are_tables)
		result = sn_command_write_file(all->features, sn_variability_csv_of_table,
					       (void *)&answer->causes.table, &error);
	else if (all->features)
		result = sn_command_write_file(all->features, sn_variability_csv, &file, &error);
	if (!result)
		result = draw(all, answer, &error);
	if (!result && all->html)
		result = write_page(all, answer, &error);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}

static int say_failure(const struct variability *all, const char *path, int failed,
		       const struct sn_error *error)
{
	if (failed == SN_ERR_MISSING)
		return sn_command_fail(all->where.count ? "no kernel of '%s' is selected"
							: "'%s' has no kernels",
				       path);
	if (failed == SN_ERR_ARGUMENT)
		return sn_command_fail("%s", error->text);
	return sn_command_fail("cannot read '%s': %s", path, error->text);
}

static void describe(const struct variability *all, struct answer *answer)
{
	const struct sn_counted *counted = &all->inputs.counted;
	bool has_duration = all->inputs.are_tables && counted->duration != UINT32_MAX;
	answer->unit = !has_duration ? "ns"
		       : counted->unit[0] == 'n'
			   ? "ns"
			   : sn_causal_shown_unit(&counted->table.columns[counted->duration]);
	answer->row_count =
	    all->inputs.are_tables ? counted->table.row_count : answer->result.launch_count;
}

static int find(struct variability *all, struct answer *answer, const char *path)
{
	struct sn_error error = {""};
	int failed = all->inputs.count ? sn_variability(&all->request, &answer->result, &error) : 0;
	describe(all, answer);
	if (failed) {
		sn_progress_end();
		return say_failure(all, path, failed, &error);
	}
	failed = show(all, answer, &error);
	failed = failed ? failed : find_causes(all, answer, &error);
	sn_progress_end();
	return failed ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}

static int answer(struct variability *all, const char *path)
{
	struct answer answer = {0};
	int status = find(all, &answer, path);
	if (!status && !sn_comm_rank())
		status = write_files(all, &answer);
	if (sn_comm_rank()) {
		/* nothing to tell */
	} else if (!status && all->form) {
		put_json(all, &answer, stdout);
		putchar('\n');
	} else if (!status) {
		print_text(all, &answer);
	}
	sn_page_release(&answer.page);
	sn_page_release(&answer.why);
	sn_variability_causes_release(&answer.causes);
	sn_variability_release(&answer.result);
	return status;
}

static void request_tables(struct sn_variability_request *request, const struct sn_counted *counted)
{
	request->target = SN_FEATURE_DURATION;
	request->is_timeless = !counted->has_times;
	request->ticks = counted->ticks;
	request->wants_features = request->wants_picture = false;
}

/* What was opened. 0, or the exit status after having said why. */
static int run_opened(struct variability *all, const char *path)
{
	struct sn_variability_request *request = &all->request;
	request->wants_features = true;
	request->wants_picture = all->html;
	request->by = (enum sn_variability_by)all->by;
	if (all->inputs.are_tables)
		request_tables(request, &all->inputs.counted);
	request->inputs = all->inputs.items;
	request->input_count = all->inputs.count;
	request->peers = sn_comm();
	return answer(all, path);
}

/* "a.sdb", "a.sdb, b.sdb and c.sdb", "a.sdb and 3 more": what pictures are called. */
static void make_title(struct variability *all, const char *const *paths, size_t count)
{
	size_t named = count <= NAMED_MOST ? count : 1, used = 0;
	for (size_t i = 0; i < named && used < sizeof(all->title); i++)
		used += (size_t)snprintf(all->title + used, sizeof(all->title) - used, "%s%.100s",
					 !i		  ? ""
					 : i + 1 == named ? " and "
							  : ", ",
					 sn_label_base(paths[i]));
	if (named < count && used < sizeof(all->title))
		snprintf(all->title + used, sizeof(all->title) - used, " and %zu more",
			 count - named);
}

static int open_all(struct variability *all, const char *const *paths, size_t count)
{
	const struct sn_variability_wish wish = {paths,
						 count,
						 (const struct sn_query *const *)all->queries,
						 all->where.count,
						 all->target,
						 .has_bins = all->request.bin_ns,
						 .has_sample = all->request.sample};
	make_title(all, paths, count);
	int status = sn_variability_open(&all->inputs, &wish);
	return !status && !all->inputs.are_tables ? find_target(all) : status;
}

static int run_rank(int argc, char **argv)
{
	struct sn_options options = {&sn_command_variability, argc, argv};
	struct variability all = {.options = &options,
				  .by = SN_BY_CONFIGURATION,
				  .limit = DEFAULT_LIMIT,
				  .asked = SN_CAUSAL_ASKED_USUAL,
				  .request.top = DEFAULT_TOP};
	struct sn_variability_request *request = &all.request;
	const char *targets[SN_FEATURES + 2];
	list_targets(targets);
	const struct sn_option table[] = {
	    {"by", SN_OPTION_CHOICE(all.by, "kernel", "configuration", "all")},
	    {"bin", .parse = parse_bin, .context = &request->bin_ns},
	    {"top", SN_OPTION_WHOLE(request->top, 1, TOP_MOST)},
	    {"target", .text = &all.target, .hints = targets},
	    {"features", .text = &all.features, .is_path = true},
	    {"html", .text = &all.html, .is_path = true},
	    SN_CAUSAL_ASKED(all.asked),
	    {"sample", SN_OPTION_WHOLE(request->sample, 1, 1e9)},
	    {"where", .texts = &all.where, .most = WHERE_MOST},
	    {"format", SN_OPTION_CHOICE(all.form, "text", "json")},
	    {"limit", SN_OPTION_WHOLE(all.limit, 0, 1000000)},
	    {"memory", .memory = &request->memory_bytes, .least = 1 << 20},
	    {"jobs", 'j', SN_OPTION_WHOLE(request->threads, 1, SN_POOL_THREADS)},
	    {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	if (optind == argc)
		return sn_command_misuse(&sn_command_variability, "no DB given");
	int status = parse_where(&all);
	sn_progress_show(false);
	if (!status)
		status =
		    open_all(&all, (const char *const *)argv + optind, (size_t)(argc - optind));
	status = sn_command_agree(status);
	if (!status)
		status = run_opened(&all, argv[optind]);
	for (size_t i = 0; i < all.where.count; i++)
		sn_query_free(all.queries[i]);
	return sn_variability_close(&all.inputs, status);
}

int sn_command_variability_run(int argc, char **argv)
{
	return sn_command_by_ranks(run_rank, argc, argv);
}
