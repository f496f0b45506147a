/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde annotate`: instructions and source lines with their samples. What they are is in src/annotate, how they look in src/show/annotate. */
#include "command.h"

#include "show/annotate/annotate_forms.h"
#include "show/annotate/flow_picture.h"
#include "show/source/source_roots.h"
#include "show/tree/text.h"
#include "show/tree/view.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

enum { LIMIT_USUAL = 1, LIMIT_ROWS = 20, LIMIT_MOST = 1000000 };
enum form { FORM_TEXT, FORM_JSON };
enum show { SHOW_LISTING, SHOW_INSTRUCTIONS, SHOW_STALLS, SHOW_CAUSES };

struct request {
	struct sn_options options;
	struct sn_annotate_request asked;
	struct sn_source_roots sources;
	const char *metric, *path;
	const char *svg, *dot, *html; /* files for pictures of one function */
	char *image;		      /* "IMAGE:FUNCTION", cut in two */
	int form, syntax, show;
	uint32_t rows; /* of all but the listing */
	bool is_full, has_limit;
};

static int parse_limit(void *context, const struct sn_options *options, const char *text)
{
	struct request *request = context;
	double limit;
	int status = sn_options_number(options, "--limit", text, 0, LIMIT_MOST, &limit);
	request->has_limit = true;
	request->asked.limit = request->rows = (uint32_t)limit;
	return status;
}

static bool read_options(struct request *request)
{
	const struct sn_option table[] = {
	    {"view",
	     SN_OPTION_CHOICE(request->show, "listing", "instructions", "stalls", "causes")},
	    {"metric", .text = &request->metric},
	    {"limit", .parse = parse_limit, .context = request},
	    {"full", .flag = &request->is_full},
	    {"syntax", SN_OPTION_CHOICE(request->syntax, "att", "intel")},
	    {"svg", .text = &request->svg, .is_path = true},
	    {"dot", .text = &request->dot, .is_path = true},
	    {"html", .text = &request->html, .is_path = true},
	    {"source", .parse = sn_sources_parse, .context = &request->sources, .is_path = true},
	    {"format", SN_OPTION_CHOICE(request->form, "text", "json")},
	    SN_STORE_TIMES,
	    {0}};
	if (!sn_options_read(&request->options, table))
		return false;
	request->asked.syntax = (enum sn_syntax)request->syntax;
	return true;
}

static bool wants_picture(const struct request *request)
{
	return request->svg || request->dot || request->html;
}

/* DATABASE [IMAGE[:FUNCTION]] */
static int read_operands(struct request *request)
{
	const struct sn_options *options = &request->options;
	if (optind >= options->argc)
		return sn_command_misuse(options->command, "missing database");
	request->path = options->argv[optind];
	if (wants_picture(request) && request->show != SHOW_LISTING)
		return sn_command_misuse(options->command,
					 "--svg, --dot and --html are pictures of one function, "
					 "not of a view");
	if (optind + 2 < options->argc)
		return sn_command_misuse(options->command, "one image only: '%s' is too much",
					 options->argv[optind + 2]);
	if (optind + 1 == options->argc)
		return 0;
	request->image = strdup(options->argv[optind + 1]);
	return request->image ? 0 : sn_command_fail("out of memory");
}

/* Cuts it at the first colon behind an image of the database: names of functions have colons, and so may those of files. */
static void cut_image(struct request *request)
{
	char *colon = request->image;
	if (!colon)
		return;
	bool is_whole = sn_annotate_has_image(request->asked.db, request->image);
	while (!is_whole && (colon = strchr(colon, ':'))) {
		*colon = 0;
		if (!*request->image || sn_annotate_has_image(request->asked.db, request->image))
			break;
		*colon++ = ':';
	}
	if (!is_whole && !colon && (colon = strchr(request->image, ':')))
		*colon = 0; /* of no image: what stands before the first one is told */
	request->asked.function = !is_whole && colon && colon[1] ? colon + 1 : NULL;
	request->asked.image = *request->image ? request->image : NULL;
}

/* Of functions: all of them where one is named, and for what is of all. */
static void choose_limit(struct request *request)
{
	if ((!request->has_limit && request->asked.function) || request->show != SHOW_LISTING)
		request->asked.limit = 0;
}

static int choose_metric(struct request *request)
{
	const struct sonde_db *db = request->asked.db;
	uint32_t usual[SN_COLUMNS_MAX];
	if (request->metric) {
		request->asked.metric = sonde_db_metric_by_name(db, request->metric);
		return request->asked.metric == SONDE_NONE
			   ? sn_command_fail("'%s' has no metric '%s'", request->path,
					     request->metric)
			   : 0;
	}
	if (!sn_view_default_metrics(db, usual, SN_COLUMNS_MAX))
		return sn_command_fail("'%s' holds no measured values", request->path);
	request->asked.metric = usual[0];
	return 0;
}

/* Why nothing can be listed, or 0. */
static int refuse(const struct request *request, const struct sn_annotation *annotation)
{
	const char *image = request->asked.image, *function = request->asked.function;
	bool tells_why = request->show == SHOW_CAUSES && !function && annotation->value > 0 &&
			 (!image || annotation->has_image);
	if (annotation->function_count || tells_why)
		return 0;
	if (!annotation->has_image)
		return image
			   ? sn_command_fail("no image is called '%s', or it has no samples of its "
					     "own (sonde report '%s' --by module lists them)",
					     image, request->path)
			   : sn_command_fail("'%s' has no samples in machine code", request->path);
	if (function && annotation->is_read)
		return sn_command_fail("no function with samples is called '%s'", function);
	return sn_command_fail("cannot list '%s': %s", annotation->gaps[0].image,
			       annotation->gaps[0].why);
}

static int write_svg(void *picture, FILE *out, struct sn_error *error)
{
	(void)error;
	sn_flow_svg(picture, out);
	return 0;
}

static int write_dot(void *picture, FILE *out, struct sn_error *error)
{
	(void)error;
	sn_flow_dot(picture, out);
	return 0;
}

static int write_html(void *picture, FILE *out, struct sn_error *error)
{
	(void)error;
	sn_flow_html(picture, out);
	return 0;
}

/* Of the first function, which is the most expensive one. */
static int draw(const struct request *request, const struct sn_annotation *annotation,
		const struct sn_annotate_view *view)
{
	const struct {
		const char *path;
		int (*write)(void *picture, FILE *out, struct sn_error *error);
	} files[] = {
	    {request->svg, write_svg}, {request->dot, write_dot}, {request->html, write_html}};
	struct sn_flow_picture picture;
	struct sn_error error = {""};
	int result = sn_fail_code(
	    &error, sn_flow_picture_init(&picture, annotation, annotation->functions, view));
	for (size_t i = 0; !result && i < sizeof(files) / sizeof(*files); i++)
		if (files[i].path)
			result =
			    sn_command_write_file(files[i].path, files[i].write, &picture, &error);
	sn_flow_picture_release(&picture);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}

/* What is printed of an annotation, by the view that is asked for. */
struct shown {
	const struct sn_annotation *annotation;
	struct sn_annotate_view view;
	struct sn_annotate_ranking ranking;
	enum sn_ranking by;
	struct sn_annotate_summary summary;
	int show;
};

static int print_page(void *context, const struct sn_terminal *page)
{
	const struct shown *shown = context;
	if (shown->show == SHOW_LISTING)
		sn_annotate_text(shown->annotation, &shown->view, page);
	else if (shown->show == SHOW_CAUSES)
		sn_summary_text(shown->annotation, &shown->summary, &shown->view, page);
	else
		sn_ranking_text(shown->annotation, &shown->ranking, shown->by, &shown->view, page);
	return 0;
}

static int print_data(const struct shown *shown)
{
	if (shown->show == SHOW_LISTING)
		sn_annotate_json(shown->annotation, &shown->view, stdout);
	else if (shown->show == SHOW_CAUSES)
		sn_summary_json(shown->annotation, &shown->summary, &shown->view, stdout);
	else
		sn_ranking_json(shown->annotation, &shown->ranking, shown->by, &shown->view,
				stdout);
	return 0;
}

static int show(const struct request *request, struct shown *shown)
{
	int result = 0;
	shown->by = request->show == SHOW_STALLS ? SN_RANKING_STALLS : SN_RANKING_SAMPLES;
	if (shown->show == SHOW_CAUSES)
		result = sn_annotate_sum_up(shown->annotation, &request->asked, &shown->summary);
	else if (shown->show != SHOW_LISTING)
		result = sn_annotate_rank(shown->annotation, shown->by, &shown->ranking);
	if (!result)
		result = request->form == FORM_JSON ? print_data(shown)
						    : sn_terminal_print(print_page, shown);
	free(shown->ranking.items);
	free(shown->summary.reasons);
	return result ? sn_command_fail("out of memory") : SN_EXIT_DONE;
}

static int print(struct request *request, const struct sn_annotation *annotation)
{
	struct sn_source source;
	const struct sonde_db *db = request->asked.db;
	struct shown shown = {
	    .annotation = annotation,
	    .view = {db, request->asked.metric, &source, request->is_full, request->rows},
	    .show = request->show};
	int status = refuse(request, annotation);
	if (status)
		return status;
	sn_source_init(&source, db, &request->sources, sn_text_measured_ns(db));
	status =
	    wants_picture(request) ? draw(request, annotation, &shown.view) : show(request, &shown);
	sn_source_release(&source);
	sn_sources_tell_outside(&request->sources);
	return status;
}

static int run(struct request *request, struct sonde_db *db)
{
	struct sn_annotation annotation;
	struct sn_error error = {""};
	request->asked.db = db;
	cut_image(request);
	choose_limit(request);
	int status = choose_metric(request);
	if (status)
		return status;
	status = sn_annotate(&annotation, &request->asked, &error)
		     ? sn_command_fail("%s", error.text)
		     : print(request, &annotation);
	sn_annotation_release(&annotation);
	return status;
}

int sn_command_annotate_run(int argc, char **argv)
{
	struct request request = {.options = {&sn_command_annotate, argc, argv},
				  .asked = {.limit = LIMIT_USUAL},
				  .rows = LIMIT_ROWS};
	struct sonde_db *db = NULL;
	if (!read_options(&request))
		return request.options.status;
	int status = read_operands(&request);
	sn_sources_add_usual(&request.sources);
	status = status ? status : sn_command_open(request.path, &db);
	if (!status)
		status = sn_command_close(db, run(&request, db));
	sn_source_roots_release(&request.sources);
	free(request.image);
	return status;
}
