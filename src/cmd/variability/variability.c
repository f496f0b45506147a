/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde variability`: which kernels of traces vary, and when. */
#include "variability_causes.h"
#include "variability_csv.h"
#include "variability_json.h"

#include "aggregate/comm.h"
#include "base/pool.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/ranks.h"
#include "import/core/import_files.h"
#include "show/label.h"
#include "show/number.h"
#include "show/tree/query.h"
#include "show/variability/variability_page.h"

#include "sonde/db.h"

#include <math.h>
#include <string.h>

enum { DEFAULT_TOP = 5, DEFAULT_LIMIT = 20, WHERE_MOST = 16, TOP_MOST = 100000 };

struct variability {
	const struct sn_options *options;
	struct sn_variability_request request;
	struct sn_variability_input *inputs;
	size_t input_capacity;
	struct sn_texts where;
	struct sn_query *queries[WHERE_MOST];
	int by, form;
	size_t limit;
	const char *features, *html; /* files; NULL: none */
	int target;		     /* enum sn_feature */
	struct sn_causal_asked asked;
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

/* ---- databases ---- */

static int add_input(struct variability *all, struct sonde_db *db, const char *path)
{
	struct sonde_db_error why = {""};
	struct sn_error error = {""};
	struct sonde_trace *trace = NULL;
	bool *contexts = NULL;
	if (sonde_trace_open(db, &trace, &why))
		return sn_command_fail("cannot read '%s': %s", path, why.text);
	struct sn_variability_input input = {.db = db, .trace = trace, .name = sn_label_base(path)};
	if (sn_query_select((const struct sn_query *const *)all->queries, all->where.count, db,
			    &contexts, &error) ||
	    sn_vec_push(&all->inputs, &all->input_capacity, &all->request.input_count, input)) {
		free(contexts);
		sonde_trace_close(trace);
		return sn_command_fail("cannot read '%s': %s", path,
				       *error.text ? error.text : "out of memory");
	}
	all->inputs[all->request.input_count - 1].contexts = contexts;
	if (!sonde_trace_event_count(trace))
		return sn_command_fail("'%s' has no events: it is a profile without a trace", path);
	return 0;
}

static int open_one(struct variability *all, const char *const *paths, size_t count)
{
	struct sonde_db *db;
	int status = sn_command_open_trace(paths, count, &db);
	if (status)
		return status;
	size_t before = all->request.input_count;
	status = add_input(all, db, paths[0]);
	if (all->request.input_count == before)
		sonde_db_close(db);
	return status;
}

/* Each database by itself; files of other tools together, as they are of one run. */
static int open_all(struct variability *all, const char *const *paths, size_t count)
{
	const char **others = calloc(count + 1, sizeof(*others));
	size_t other_count = 0;
	int status = others ? 0 : sn_command_fail("out of memory");
	for (size_t i = 0; i < count && !status; i++) {
		if (count == 1 || sn_is_database(paths[i]))
			status = open_one(all, paths + i, 1);
		else
			others[other_count++] = paths[i];
	}
	if (other_count && !status)
		status = open_one(all, others, other_count);
	free(others);
	return status;
}

static int close_all(struct variability *all, int status)
{
	for (size_t i = 0; i < all->request.input_count; i++) {
		free((void *)all->inputs[i].contexts);
		sonde_trace_close((struct sonde_trace *)all->inputs[i].trace);
		status = sn_command_close((struct sonde_db *)all->inputs[i].db, status);
	}
	for (size_t i = 0; i < all->where.count; i++)
		sn_query_free(all->queries[i]);
	free(all->inputs);
	return status;
}

/* ---- output ---- */

struct answer {
	struct sn_variability result;
	struct sn_variability_causes causes;
	struct sn_page page, why; /* how kernels vary; what that depends on */
};

static int find_causes(const struct variability *all, struct answer *answer, struct sn_error *error)
{
	struct sn_causal_asked asked = all->asked;
	asked.options.threads = all->request.threads;
	asked.options.peers = all->request.peers;
	int result = sn_variability_causes(&answer->causes, &answer->result.features,
					   (enum sn_feature)all->target, &asked, error);
	/* the first of many ranks tells it */
	if (result || sn_comm_rank())
		return result;
	result = sn_variability_causes_ask(&answer->causes, &asked, &answer->why, error);
	if (!result)
		sn_variability_causes_show(&answer->causes, &answer->why);
	return !result && answer->why.has_failed ? sn_fail_memory(error) : result;
}

static int show(const struct variability *all, struct answer *answer, struct sn_error *error)
{
	if (sn_comm_rank())
		return 0;
	sn_variability_sentences(&answer->result, &answer->page);
	sn_variability_tables(&answer->result, all->request.top, &answer->page);
	return answer->page.has_failed ? sn_fail_memory(error) : 0;
}

static void put_json(const struct variability *all, const struct answer *answer, FILE *out)
{
	struct sn_json json = {.out = out};
	sn_json_begin(&json, '{');
	sn_variability_json(&answer->result, &all->request, (enum sn_feature)all->target,
			    &answer->page, &json);
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

static void print_text(const struct variability *all, const struct answer *answer)
{
	const struct sn_variability *result = &answer->result;
	print_sentences(&answer->page);
	print_sentences(&answer->why);
	printf("%s launches of %zu %s in %s%s\n",
	       sn_number_counted((double)result->launch_count).text, result->group_count,
	       all->by == SN_BY_CONFIGURATION ? "kernels and configurations" : "kernels",
	       sn_number_time((double)(result->end_ns - result->start_ns)).text,
	       result->is_aligned ? "; each database from its own first kernel" : "");
	if (all->features)
		printf("%s: %s of them, to explain %s\n", all->features,
		       sn_number_counted((double)result->features.row_count).text,
		       sn_variability_target_name((enum sn_feature)all->target));
	print_page(all, &answer->page);
	print_page(all, &answer->why);
	if (all->html)
		printf("\n%s: all of it on a page\n", all->html);
}

static int write_page(const struct variability *all, const struct answer *answer, const char *path,
		      struct sn_error *error)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return sn_fail_memory(error);
	put_json(all, answer, out);
	int result = fclose(out) ? sn_fail_memory(error) : 0;
	if (!result)
		result = sn_variability_causes_html(
		    &answer->causes, &answer->result.picture,
		    (const struct sn_page *[]){&answer->page, &answer->why}, text,
		    sn_label_base(path), all->html, error);
	free(text);
	return result;
}

static int draw(const struct variability *all, const struct answer *answer, const char *path,
		struct sn_error *error)
{
	const struct sn_causal_asked *asked = &all->asked;
	struct sn_causal_picture picture;
	if (!asked->svg && !asked->dot)
		return 0;
	if (!answer->causes.is_known)
		return sn_variability_causes_refuse(&answer->causes, asked->svg ? "--svg" : "--dot",
						    error);
	int result = sn_fail_code(
	    error, sn_causal_picture_init(&picture, &answer->causes.causal, sn_label_base(path)));
	result = result ? result : sn_causal_asked_draw(asked, &picture.drawing, error);
	sn_causal_picture_release(&picture);
	return result;
}

/* 0, or the exit status after having said why. */
static int write_files(const struct variability *all, const struct answer *answer, const char *path)
{
	struct sn_error error = {""};
	struct sn_feature_file file = {&answer->result.features, &answer->causes};
	int result = all->features
			 ? sn_command_write_file(all->features, sn_variability_csv, &file, &error)
			 : 0;
	if (!result)
		result = draw(all, answer, path, &error);
	if (!result && all->html)
		result = write_page(all, answer, path, &error);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}

static int say_failure(const struct variability *all, const char *path, int failed,
		       const struct sn_error *error)
{
	if (failed == SN_ERR_MISSING)
		return sn_command_fail(all->where.count ? "no kernel of '%s' is selected"
							: "'%s' has no kernels",
				       path);
	return sn_command_fail("cannot read '%s': %s", path, error->text);
}

static int find(const struct variability *all, struct answer *answer, const char *path)
{
	struct sn_error error = {""};
	int failed = sn_variability(&all->request, &answer->result, &error);
	if (failed) {
		sn_progress_end();
		return say_failure(all, path, failed, &error);
	}
	failed = show(all, answer, &error);
	failed = failed ? failed : find_causes(all, answer, &error);
	sn_progress_end();
	return failed ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}

static int answer(const struct variability *all, const char *path)
{
	struct answer answer = {0};
	int status = find(all, &answer, path);
	if (!status && !sn_comm_rank())
		status = write_files(all, &answer, path);
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

static int run_rank(int argc, char **argv)
{
	struct sn_options options = {&sn_command_variability, argc, argv};
	struct variability all = {.options = &options,
				  .by = SN_BY_CONFIGURATION,
				  .limit = DEFAULT_LIMIT,
				  .asked = SN_CAUSAL_ASKED_USUAL,
				  .request.top = DEFAULT_TOP,
				  .target = SN_FEATURES};
	struct sn_variability_request *request = &all.request;
	const char *targets[SN_FEATURES + 2];
	list_targets(targets);
	const struct sn_option table[] = {
	    {"by", SN_OPTION_CHOICE(all.by, "kernel", "configuration", "all")},
	    {"bin", .parse = parse_bin, .context = &request->bin_ns},
	    {"top", SN_OPTION_WHOLE(request->top, 1, TOP_MOST)},
	    {"target", .choice = &all.target, .choices = targets},
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
	if (all.target == SN_FEATURES)
		all.target = SN_FEATURE_PERF_VARIATION;
	int status = parse_where(&all);
	if (status)
		return close_all(&all, status);
	sn_progress_show(false);
	request->wants_features = true;
	request->wants_picture = all.html;
	request->by = (enum sn_variability_by)all.by;
	status = open_all(&all, (const char *const *)argv + optind, (size_t)(argc - optind));
	status = sn_command_agree(status);
	request->inputs = all.inputs;
	request->peers = sn_comm();
	request->target = (enum sn_feature)all.target;
	if (!status)
		status = answer(&all, argv[optind]);
	return close_all(&all, status);
}

int sn_command_variability_run(int argc, char **argv)
{
	return sn_command_by_ranks(run_rank, argc, argv);
}
