/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde stats`: what varies across databases, or over the time of a store. What that is is in src/compare, how it looks in src/show/compare. */
#include "compare_input.h"

#include "cmd/store/store.h"
#include "compare/variation.h"
#include "show/compare/compare_forms.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { SLICES_MOST = 1000 };
enum form { FORM_TEXT, FORM_JSON, FORM_CSV };
enum { PER_UNSAID = -1 };

struct request {
	struct sn_options options;
	struct sn_compare_input input;
	struct sn_compare_view view;
	uint64_t each_ns; /* 0: sets are databases */
	int by, per, form;
	size_t slices, empty;
};

static int parse_each(void *context, const struct sn_options *options, const char *text)
{
	struct request *request = context;
	return sn_store_parse_duration(options, "--each", text, &request->each_ns);
}

static bool read_options(struct request *request)
{
	const struct sn_option table[] = {
	    {"by", SN_COMPARE_BY(request->by)},
	    {"per", SN_OPTION_CHOICE(request->per, "set", "second", "total")},
	    {"metric", .text = &request->input.metric},
	    {"each", .parse = parse_each, .context = request},
	    SN_STORE_OPTIONS,
	    {"limit", SN_OPTION_WHOLE(request->view.limit, 0, 1e9)},
	    {"full", .flag = &request->view.is_full},
	    {"format", SN_OPTION_CHOICE(request->form, "text", "json", "csv")},
	    {0}};
	return sn_options_read(&request->options, table);
}

/* ---- sets ---- */

static void name_slice(uint64_t begin_ns, char text[32])
{
	time_t seconds = (time_t)(begin_ns / 1000000000);
	struct tm parts;
	if (!localtime_r(&seconds, &parts) ||
	    !strftime(text, 32, begin_ns / 1000000000 % 60 ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M",
		      &parts))
		snprintf(text, 32, "%" PRIu64, begin_ns / 1000000000);
}

/* A part of the store belongs to the slice in which it begins: so no sample is in two. */
static int add_slices(struct request *request, const char *path, uint64_t first_ns,
		      uint64_t last_ns)
{
	int status = 0;
	for (uint64_t begin_ns = first_ns; !status && begin_ns < last_ns;
	     begin_ns += request->each_ns) {
		const struct sn_epochs_wanted wanted = {.since_ns = begin_ns,
							.until_ns = begin_ns + request->each_ns,
							.is_apart = true};
		char name[32];
		bool is_empty = false;
		name_slice(begin_ns, name);
		status =
		    sn_compare_input_add_range(&request->input, path, &wanted, name, &is_empty);
		request->slices++;
		request->empty += is_empty;
	}
	return status;
}

/* Slices begin at --since, or at a whole number of them since 1970: at full hours. */
static int read_store(struct request *request, const char *path)
{
	uint64_t first_ns, last_ns;
	int status = sn_store_bounds(path, &first_ns, &last_ns);
	if (status)
		return status;
	if (!sn_store_wanted()->since_ns)
		first_ns -= first_ns % request->each_ns;
	if ((last_ns - first_ns) / request->each_ns >= SLICES_MOST)
		return sn_command_fail("these are more than %d times: --each is too short",
				       SLICES_MOST);
	status = add_slices(request, path, first_ns, last_ns);
	if (!status && request->input.rows.set_count < 2)
		return sn_command_fail("'%s' has samples of one such time only: what sonded has "
				       "merged is one",
				       path);
	return status;
}

static int read_input(struct request *request)
{
	const struct sn_options *options = &request->options;
	int count = options->argc - optind, status = 0;
	if (!count)
		return sn_command_misuse(options->command, "missing database");
	if (request->each_ns && (count > 1 || !sn_store_is(options->argv[optind])))
		return sn_command_misuse(options->command,
					 "--each is for one folder in which sonded keeps samples");
	if (request->each_ns)
		return read_store(request, options->argv[optind]);
	if (count < 2)
		return sn_command_misuse(options->command, "two databases at least, or --each");
	for (int i = optind; !status && i < options->argc; i++)
		status = sn_compare_input_add(&request->input, options->argv[i]);
	return status;
}

/* ---- the command ---- */

struct printing {
	const struct sn_variations *variations;
	const struct sn_compare_view *view;
};

static int print_page(void *context, const struct sn_terminal *page)
{
	const struct printing *printing = context;
	sn_variations_text(printing->variations, printing->view, page);
	return 0;
}

static int print_text(const struct request *request, const struct sn_variations *variations)
{
	struct printing printing = {variations, &request->view};
	return sn_terminal_print(print_page, &printing) ? sn_command_fail("out of memory")
							: SN_EXIT_DONE;
}

static int print(struct request *request, const struct sn_variations *variations)
{
	request->view.rows = &request->input.rows;
	request->view.metric = request->input.metric_name;
	request->view.unit = request->input.unit;
	request->view.per = (enum sn_compare_per)request->per;
	if (request->empty)
		sn_command_warn("%zu of %zu times have no samples and are left out", request->empty,
				request->slices);
	if (request->form == FORM_TEXT)
		return print_text(request, variations);
	if (request->form == FORM_JSON)
		sn_variations_json(variations, &request->view, stdout);
	else
		sn_variations_csv(variations, &request->view, stdout);
	return SN_EXIT_DONE;
}

static int compare(struct request *request)
{
	struct sn_variations variations;
	if (request->per == PER_UNSAID)
		request->per = request->each_ns ? SN_PER_SECOND : SN_PER_SET;
	int result =
	    sn_compare_vary(&request->input.rows, (enum sn_compare_per)request->per, &variations);
	int status = result == SN_ERR_ARGUMENT
			 ? sn_command_fail(request->per == SN_PER_SECOND
					       ? "not all of them say how long was measured"
					       : "not all of them have values of '%s'",
					   request->input.metric_name)
		     : result ? sn_command_fail("out of memory")
			      : print(request, &variations);
	free(variations.rows);
	return status;
}

int sn_command_stats_run(int argc, char **argv)
{
	struct request request = {.options = {&sn_command_stats, argc, argv},
				  .view = {.limit = SN_COMPARE_LIMIT},
				  .per = PER_UNSAID};
	if (!read_options(&request))
		return request.options.status;
	request.input.rows.by = sn_compare_by_of(request.by);
	int status = read_input(&request);
	status = status ? status : compare(&request);
	sn_compare_input_release(&request.input);
	return status;
}
