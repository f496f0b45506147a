/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde diff`: what differs between two databases, two groups of them, or two times of a store. What that is is in src/compare, how it looks in src/show/compare. */
#include "compare_input.h"

#include "cmd/store/store.h"
#include "compare/difference.h"
#include "show/compare/compare_forms.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_MOST = 64 };
enum form { FORM_TEXT, FORM_JSON, FORM_CSV };

struct request {
	struct sn_options options;
	struct sn_compare_input input;
	struct sn_texts with, before, after;
	struct sn_compare_view view;
	int by, form;
	size_t sides[2]; /* sets of each */
};

static bool read_options(struct request *request)
{
	const struct sn_option table[] = {
	    {"with", .texts = &request->with, .most = SIDE_MOST, .is_path = true},
	    {"before", .texts = &request->before, .most = SIDE_MOST},
	    {"after", .texts = &request->after, .most = SIDE_MOST},
	    {"by", SN_COMPARE_BY(request->by)},
	    {"metric", .text = &request->input.metric},
	    {"image", .parse = sn_store_parse_image},
	    {"limit", SN_OPTION_WHOLE(request->view.limit, 0, 1e9)},
	    {"full", .flag = &request->view.is_full},
	    {"format", SN_OPTION_CHOICE(request->form, "text", "json", "csv")},
	    {0}};
	return sn_options_read(&request->options, table);
}

/* ---- what is compared ---- */

static int add_files(struct request *request, char *const *paths, size_t count, int side)
{
	int status = 0;
	for (size_t i = 0; !status && i < count; i++) {
		status = sn_compare_input_add(&request->input, paths[i]);
		request->sides[side] += !status;
	}
	return status;
}

static int add_ranges(struct request *request, const char *path, const char *option,
		      const struct sn_texts *ranges, int side)
{
	int status = 0;
	for (size_t i = 0; !status && i < ranges->count; i++) {
		struct sn_epochs_wanted wanted;
		status = sn_store_parse_range(&request->options, option, ranges->items[i], &wanted);
		if (!status)
			status = sn_compare_input_add_range(&request->input, path, &wanted,
							    ranges->items[i], NULL);
		request->sides[side] += !status;
	}
	return status;
}

/* STORE --before RANGE --after RANGE */
static int read_times(struct request *request, char *const *paths, size_t count)
{
	if (!request->before.count || !request->after.count)
		return sn_command_misuse(request->options.command,
					 "--before and --after go together");
	if (count != 1 || request->with.count)
		return sn_command_misuse(request->options.command,
					 "--before and --after are two times of one store");
	if (!sn_store_is(paths[0]))
		return sn_command_fail("options '--before' and '--after' are for the folder in "
				       "which sonded keeps samples: '%s' is none",
				       paths[0]);
	int status = add_ranges(request, paths[0], "--before", &request->before, 0);
	return status ? status : add_ranges(request, paths[0], "--after", &request->after, 1);
}

/* BEFORE AFTER, or BEFORE... --with AFTER... */
static int read_files(struct request *request, char *const *paths, size_t count)
{
	bool is_with = request->with.count > 0;
	if (!is_with && count != 2)
		return sn_command_misuse(request->options.command,
					 "two databases are compared, or more of them with those "
					 "of --with");
	int status = add_files(request, paths, is_with ? count : 1, 0);
	if (status)
		return status;
	return is_with ? add_files(request, (char *const *)(void *)request->with.items,
				   request->with.count, 1)
		       : add_files(request, paths + 1, 1, 1);
}

static int read_input(struct request *request)
{
	char *const *paths = request->options.argv + optind;
	size_t count = (size_t)(request->options.argc - optind);
	if (!count)
		return sn_command_misuse(request->options.command, "missing database");
	request->input.rows.by = sn_compare_by_of(request->by);
	if (request->before.count || request->after.count)
		return read_times(request, paths, count);
	return read_files(request, paths, count);
}

/* ---- the command ---- */

struct printing {
	const struct sn_differences *differences;
	const struct sn_compare_view *view;
};

static int print_page(void *context, const struct sn_terminal *page)
{
	const struct printing *printing = context;
	sn_differences_text(printing->differences, printing->view, page);
	return 0;
}

static int print_text(const struct request *request, const struct sn_differences *differences)
{
	struct printing printing = {differences, &request->view};
	return sn_terminal_print(print_page, &printing) ? sn_command_fail("out of memory")
							: SN_EXIT_DONE;
}

static int print(struct request *request, const struct sn_differences *differences)
{
	request->view.rows = &request->input.rows;
	request->view.metric = request->input.metric_name;
	request->view.unit = request->input.unit;
	request->view.before = request->sides[0];
	if (request->form == FORM_TEXT)
		return print_text(request, differences);
	if (request->form == FORM_JSON)
		sn_differences_json(differences, &request->view, stdout);
	else
		sn_differences_csv(differences, &request->view, stdout);
	return SN_EXIT_DONE;
}

int sn_command_diff_run(int argc, char **argv)
{
	struct request request = {.options = {&sn_command_diff, argc, argv},
				  .view = {.limit = SN_COMPARE_LIMIT}};
	struct sn_differences differences = {0};
	if (!read_options(&request))
		return request.options.status;
	int status = read_input(&request);
	if (!status)
		status = sn_compare_differ(&request.input.rows, request.sides[0], &differences)
			     ? sn_command_fail("out of memory")
			     : print(&request, &differences);
	free(differences.rows);
	sn_compare_input_release(&request.input);
	return status;
}
