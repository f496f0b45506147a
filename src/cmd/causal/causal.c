/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde causal`: what in a table of observations depends on what, and how sure that is. */
#include "causal_asked.h"
#include "show/causal/causal_answer.h"
#include "show/label.h"

#include <math.h>

enum { JOBS_MAX = 256, DEFAULT_LIMIT = 20 };

struct request {
	const char *target, *cluster, *stretch, *html;
	struct sn_causal_asked asked;
	size_t limit;
	int form; /* 0 text, 1 JSON */
};

static bool read_options(struct request *request, struct sn_options *options)
{
	const struct sn_option table[] = {
	    {"target", .text = &request->target},
	    {"cluster", .text = &request->cluster},
	    {"stretch", .text = &request->stretch},
	    SN_CAUSAL_ASKED(request->asked),
	    {"jobs", 'j', SN_OPTION_WHOLE(request->asked.options.threads, 1, JOBS_MAX)},
	    {"limit", SN_OPTION_WHOLE(request->limit, 0, 1e9)},
	    {"html", .text = &request->html, .is_path = true},
	    {"format", SN_OPTION_CHOICE(request->form, "text", "json")},
	    {0}};
	return sn_options_read(options, table);
}

/* What was found, and what is said of it. */
struct answer {
	struct sn_causal_table table;
	struct sn_prior prior;
	struct sn_causal causal;
	struct sn_causal_settings settings;
	struct sn_page page;
};

static void print_json(const struct answer *answer)
{
	struct sn_json json = {.out = stdout};
	sn_causal_json_object(&answer->causal, answer->settings.items, answer->settings.count,
			      &answer->page, &json);
	putchar('\n');
}

static void print_text(const struct request *request, const struct sn_page *page)
{
	int width = sn_terminal_width();
	for (size_t number = 0; number < page->sentence_count; number++)
		sn_page_print_sentence(page->sentences[number], width, stdout);
	sn_page_print(page, request->limit, width, sn_terminal_has_color(stdout), stdout);
}

static int draw(const struct request *request, const struct sn_causal *causal,
		const struct sn_page *page, const char *path, struct sn_error *error)
{
	struct sn_causal_picture picture;
	int result =
	    sn_fail_code(error, sn_causal_picture_init(&picture, causal, sn_label_base(path)));
	result = result ? result : sn_causal_asked_draw(&request->asked, &picture.drawing, error);
	if (!result && request->html)
		result = sn_causal_write_html(&picture, causal, page, request->html, error);
	sn_causal_picture_release(&picture);
	return result;
}

/* Rows of no stretch are not compared. 0 or a negative enum sn_err. */
static int keep_stretches(struct sn_causal_table *table, const char *name, struct sn_error *error)
{
	uint32_t number = sn_causal_table_find(table, name);
	if (number == UINT32_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT, "there is no column '%s'", name);
	size_t kept = 0;
	for (size_t row = 0; row < table->row_count; row++) {
		if (isnan(table->columns[number].values[row]))
			continue;
		for (uint32_t column = 0; column < table->column_count; column++)
			table->columns[column].values[kept] = table->columns[column].values[row];
		kept++;
	}
	table->row_count = kept;
	for (uint32_t column = 0; column < table->column_count; column++) {
		table->columns[column].missing = 0;
		for (size_t row = 0; row < kept; row++)
			table->columns[column].missing += isnan(table->columns[column].values[row]);
	}
	return 0;
}

static int find(const struct request *request, struct answer *answer, const char *path,
		struct sn_error *error)
{
	const struct sn_causal_asked *asked = &request->asked;
	const struct sn_prior_texts known = {request->target,
					     {asked->tiers.items, asked->tiers.count},
					     {asked->forbidden.items, asked->forbidden.count},
					     {asked->required.items, asked->required.count},
					     request->stretch ? request->stretch
							      : request->cluster};
	int result = sn_causal_table_read(&answer->table, path, error);
	if (!result && request->stretch)
		result = keep_stretches(&answer->table, request->stretch, error);
	result = result ? result : sn_prior_read(&answer->prior, &answer->table, &known, error);
	answer->prior.are_stretches = request->stretch;
	if (request->stretch)
		answer->prior.identity = sn_causal_table_find(&answer->table, SN_IDENTITY_COLUMN);
	result =
	    result ? result : sn_causal(&answer->causal, &answer->prior, asked->options, error);
	if (!result)
		result =
		    sn_fail_code(error, sn_repeats_find(&answer->causal.repeats, &answer->prior));
	if (result)
		return result;
	result = sn_causal_ask(asked, &answer->causal, &answer->prior, &answer->settings,
			       &answer->page, error);
	sn_causal_show(&answer->causal, &answer->page);
	return !result && answer->page.has_failed ? sn_fail_memory(error) : result;
}

static void release(struct answer *answer)
{
	sn_causal_settings_release(&answer->settings);
	sn_page_release(&answer->page);
	sn_causal_release(&answer->causal);
	sn_prior_release(&answer->prior);
	sn_causal_table_release(&answer->table);
}

int sn_command_causal_run(int argc, char **argv)
{
	struct request request = {.asked = SN_CAUSAL_ASKED_USUAL, .limit = DEFAULT_LIMIT};
	struct sn_options options = {&sn_command_causal, argc, argv};
	struct answer answer = {0};
	struct sn_error error = {""};
	if (!read_options(&request, &options))
		return options.status;
	const char *path = sn_options_operand(&options, "table");
	if (!path)
		return SN_EXIT_USAGE;
	if (request.stretch && request.cluster)
		return sn_command_misuse(&sn_command_causal,
					 "--stretch and --cluster both say what is drawn together");
	sn_progress_show(false);
	int result = find(&request, &answer, path, &error);
	sn_progress_end();
	/* nothing is printed before all files are written */
	if (!result && (request.asked.svg || request.asked.dot || request.html))
		result = draw(&request, &answer.causal, &answer.page, path, &error);
	if (!result && request.form)
		print_json(&answer);
	else if (!result)
		print_text(&request, &answer.page);
	release(&answer);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}
