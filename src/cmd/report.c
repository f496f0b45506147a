/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde report`: turns options into a struct sn_view. What reports look like is in src/show. */
#include "command.h"
#include "metrics.h"

#include "frame/user_frame.h"
#include "show/number.h"
#include "show/source/source_roots.h"
#include "show/tree/place.h"
#include "show/tree/view.h"
#include "sonde/graph.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_WHERE = 16, DEFAULT_LIMIT = 30 };
enum form { FORM_TEXT, FORM_JSON, FORM_CSV };
#define LIMIT_DEFAULT UINT32_MAX

/* --granularity, and what it groups by. */
static const enum sn_grouping granularities[] = {SN_GROUP_AUTO, SN_GROUP_FUNCTION, SN_GROUP_LINE,
						 SN_GROUP_INSTRUCTION};
enum { GRANULARITY_INSTRUCTION = 3 };

/* --by, and what it groups by. */
static const char *const bys[] = {"function", "line",	"file",	    "module", "kind",
				  "operator", "kernel", "any-line", "loop",   NULL};
static const enum sn_grouping by_groupings[] = {
    SN_GROUP_FUNCTION, SN_GROUP_USER_LINE, SN_GROUP_FILE,	 SN_GROUP_MODULE, SN_GROUP_KIND,
    SN_GROUP_OPERATOR, SN_GROUP_KERNEL,	   SN_GROUP_SOURCE_LINE, SN_GROUP_LOOP};

struct request {
	struct sn_options options;
	struct sn_view view;
	struct sn_source_roots sources;
	struct sn_texts metrics, where; /* what is asked for */
	const char *sort, *thread, *context;
	int kind, form, plot, granularity, by; /* the last two: -1 not given */
	double min_percent;		       /* negative: not given */
	struct sn_places places;
	/* What the view points to. */
	struct sn_metric_choice choice;
	struct sn_query *queries[MAX_WHERE];
	bool *profiles;
	bool *selected; /* [context], by --where; NULL: all */
};

static int choose_metrics(struct request *request)
{
	const struct sonde_db *db = request->view.db;
	struct sn_metric_choice *choice = &request->choice;
	int code = sn_choice_init(choice, db);
	for (size_t i = 0; i < request->metrics.count && code == 0; i++)
		code = sn_choice_add(choice, request->metrics.items[i]);
	if (code != 0 || request->metrics.count > 0)
		return code;
	/* Data is for programs, which want all there is. */
	if (request->form != FORM_TEXT)
		sn_choice_add_all(choice);
	/* Kernels have cost on their devices only. */
	else if (request->by >= 0 && by_groupings[request->by] == SN_GROUP_KERNEL)
		choice->metric_count = sn_view_device_metrics(db, choice->metrics, SN_COLUMNS_MAX);
	if (choice->metric_count == 0)
		choice->metric_count = sn_view_default_metrics(db, choice->metrics, SN_COLUMNS_MAX);
	return 0;
}

/* By a metric or a formula, which is then shown as well. */
static int sort_by_name(struct request *request)
{
	struct sn_view *view = &request->view;
	struct sn_metric_choice *choice = &request->choice;
	uint32_t metric = sonde_db_metric_by_name(view->db, request->sort), position = 0;
	size_t name_length;
	char name[256];
	sn_formula_is_definition(request->sort, &name_length);
	snprintf(name, sizeof(name), "%.*s", (int)(name_length < 255 ? name_length : 255),
		 request->sort);
	int code = sn_choice_add(choice, request->sort);
	if (code != 0)
		return code;
	if (metric != SONDE_NONE) {
		while (choice->metrics[position] != metric)
			position++;
		view->sort_position = position;
		return 0;
	}
	const struct sn_formula *by = sn_formulas_find(&choice->known, name);
	while (position < choice->formula_count && choice->formulas[position] != by)
		position++;
	view->sort_formula = position + 1;
	return 0;
}

/* Beside metrics and formulas; as enum sn_view_sort. */
static const char *const sort_keys[] = {"default", "inclusive", "exclusive", "count", "name", NULL};

static int choose_sort(struct request *request)
{
	enum { KEYS = sizeof(sort_keys) / sizeof(*sort_keys) - 1 };
	struct sn_view *view = &request->view;
	struct sn_metric_choice *choice = &request->choice;
	int key = 0;
	while (request->sort && key < KEYS && strcmp(sort_keys[key], request->sort) != 0)
		key++;
	if (key < KEYS)
		view->sort = (enum sn_view_sort)key;
	int code = key < KEYS ? 0 : sort_by_name(request);
	if (code == 0)
		code = sn_choice_finish(choice);
	view->metrics = choice->metrics;
	view->metric_count = choice->metric_count;
	view->hidden_count = choice->hidden_count;
	view->formulas = choice->formulas;
	view->formula_count = choice->formula_count;
	return code;
}

static bool is_number(const char *text, uint64_t number)
{
	char digits[24];
	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	return strcmp(digits, text) == 0;
}

static bool is_thread(const struct request *request, uint32_t profile)
{
	const struct sonde_db *db = request->view.db;
	const struct sonde_db_profile *p = sonde_db_profile(db, profile);
	const char *thread = request->thread;
	char name[512], key[32];
	snprintf(key, sizeof(key), "run.%u", p->run);
	const char *run = sonde_db_property(db, key);
	sn_view_profile_name(db, profile, name, sizeof(name));
	return is_number(thread, p->pid) || is_number(thread, p->tid) ||
	       (run && strcmp(run, thread) == 0) || sn_pattern_matches(thread, name, false) ||
	       sn_pattern_matches(thread, sonde_db_string(db, p->thread), false);
}

static int choose_threads(struct request *request)
{
	uint32_t count = sonde_db_profile_count(request->view.db), chosen = 0;
	if (!request->thread)
		return 0;
	request->profiles = calloc(count + 1, sizeof(bool));
	if (!request->profiles)
		return sn_command_fail("out of memory");
	for (uint32_t i = 0; i < count; i++)
		chosen += request->profiles[i] = is_thread(request, i);
	if (chosen == 0)
		return sn_command_fail("no thread is called '%s'", request->thread);
	request->view.profiles = request->profiles;
	request->view.is_restricted = true;
	return 0;
}

/* The places that a pattern might mean, so that the user can choose one. */
static int fail_ambiguous(const struct request *request)
{
	enum { MOST = 12 };
	const struct sn_places *places = &request->places;
	const struct sonde_db *db = request->view.db;
	const struct sonde_db_metric *metric = sonde_db_metric(db, request->view.metrics[0]);
	char path[1200];
	sn_command_fail(
	    "'%s' is %u places; choose one by --context NUMBER, or say more of its path:",
	    request->context, places->count);
	int width = sn_terminal_width() - 24;
	for (uint32_t i = 0; i < places->count && i < MOST; i++) {
		uint32_t context = places->items[i].contexts[0];
		sn_place_path(db, context, width > 20 ? (size_t)width : 20, path, sizeof(path));
		fprintf(
		    stderr, "  %9u %10s  %s\n", context,
		    sn_number_text(places->items[i].cost, sonde_db_string(db, metric->unit)).text,
		    path);
	}
	if (places->count > MOST)
		fprintf(stderr, "  %u more\n", places->count - MOST);
	return SN_EXIT_FAILED;
}

/* Whether any profile has a value of the metric at the places. */
static bool is_measured_there(const struct request *request, uint32_t metric)
{
	const struct sn_places *places = &request->places;
	struct sonde_db_summary summary;
	for (const struct sn_place *place = places->items; place < places->items + places->count;
	     place++)
		for (uint32_t i = 0; i < place->count; i++)
			if (sonde_db_summary(request->view.db, place->contexts[i], metric,
					     &summary) &&
			    summary.inclusive.count > 0)
				return true;
	return false;
}

static bool is_selected(const struct request *request, uint32_t context)
{
	return !request->selected || request->selected[context];
}

/* Whether what --thread and --where select has a value of the metric. */
static bool is_measured_of_selection(const struct request *request, uint32_t metric)
{
	const struct sonde_db *db = request->view.db;
	struct sonde_db_stat stat;
	if (!request->profiles) {
		struct sonde_db_summary_plane plane = sonde_db_summary_plane(db, metric);
		for (size_t i = 0; i < plane.count; i++) {
			sonde_db_summary_stat(&plane, i, SONDE_DB_EXCLUSIVE, &stat);
			if (stat.count > 0 && is_selected(request, plane.contexts[i]))
				return true;
		}
		return false;
	}
	for (uint32_t p = 0; p < sonde_db_profile_count(db); p++) {
		struct sonde_db_plane plane = {0};
		if (request->profiles[p])
			plane = sonde_db_profile_plane(db, p, metric);
		for (size_t i = 0; i < plane.count; i++)
			if (is_selected(request, plane.ids[i]))
				return true;
	}
	return false;
}

static bool is_measured(const struct request *request, uint32_t metric)
{
	return request->context ? is_measured_there(request, metric)
				: is_measured_of_selection(request, metric);
}

/* A metric that has values there: one of those shown, or any other; SONDE_NONE without. */
static uint32_t find_measured(const struct request *request)
{
	const struct sn_metric_choice *choice = &request->choice;
	uint32_t count = choice->metric_count + sonde_db_metric_count(request->view.db);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t metric =
		    i < choice->metric_count ? choice->metrics[i] : i - choice->metric_count;
		if (is_measured(request, metric))
			return metric;
	}
	return SONDE_NONE;
}

/* The first metric decides shares and order, and is the one that is plotted and compared: one that has values at the place or
 * in the selection, unless the user chose it, who then is told. */
static void choose_first_metric(struct request *request)
{
	struct sn_metric_choice *choice = &request->choice;
	const struct sonde_db *db = request->view.db;
	uint32_t was = choice->metrics[0], metric = find_measured(request), position = 0;
	if (metric == SONDE_NONE || metric == was)
		return;
	if (request->metrics.count || request->view.sort_position || request->view.sort_formula) {
		sn_command_warn("metric '%s' has no values there; '%s' has",
				sonde_db_string(db, sonde_db_metric(db, was)->name),
				sonde_db_string(db, sonde_db_metric(db, metric)->name));
		return;
	}
	while (position + 1 < choice->metric_count && choice->metrics[position] != metric)
		position++;
	memmove(choice->metrics + 1, choice->metrics, position * sizeof(*choice->metrics));
	choice->metrics[0] = metric;
}

/* Data has all metrics, in the order of the database. */
static int choose_metric_of_selection(struct request *request)
{
	struct sn_error error = {""};
	const struct sn_view *view = &request->view;
	if (!view->is_restricted || request->context || request->form != FORM_TEXT ||
	    view->metric_count == 0)
		return 0;
	if (sn_query_select(view->where, view->where_count, view->db, &request->selected, &error))
		return sn_command_fail("%s", error.text);
	choose_first_metric(request);
	return 0;
}

static int choose_place(struct request *request)
{
	struct sn_error error = {""};
	struct sn_view *view = &request->view;
	if (!request->context || view->metric_count == 0)
		return 0;
	uint32_t metric = view->metrics[0];
	if (sn_places_find(&request->places, view->db, request->context, metric, &error))
		return sn_command_fail("cannot find '--context %s': %s", request->context,
				       error.text);
	if (request->places.count == 0)
		return sn_command_fail("no context matches '%s'", request->context);
	choose_first_metric(request);
	if (request->places.count > 1 && view->metrics[0] != metric) {
		sn_places_release(&request->places); /* once more, by what they cost */
		if (sn_places_find(&request->places, view->db, request->context, view->metrics[0],
				   &error))
			return sn_command_fail("%s", error.text);
	}
	if (request->places.count > 1)
		return fail_ambiguous(request);
	view->place = &request->places.items[0];
	return 0;
}

static int parse_where(struct request *request)
{
	struct sn_error error = {""};
	for (size_t i = 0; i < request->where.count; i++) {
		if (sn_query_parse(request->where.items[i], &request->queries[i], &error) != 0)
			return sn_command_misuse(request->options.command,
						 "cannot read '--where %s': %s",
						 request->where.items[i], error.text);
		request->view.is_restricted = true;
	}
	request->view.where = (const struct sn_query *const *)request->queries;
	request->view.where_count = request->where.count;
	return 0;
}

static bool has_user_code(const struct sonde_db *db)
{
	uint32_t count = sonde_db_frame_count(db);
	for (uint32_t i = 0; i < count; i++)
		if (sn_frame_is_user(db, sonde_db_frame(db, i)))
			return true;
	return false;
}

/* What was not asked for takes the form that suits the view. */
static void choose_defaults(struct request *request)
{
	struct sn_view *view = &request->view;
	bool is_text = request->form == FORM_TEXT, is_flat = view->kind == SN_VIEW_FLAT;
	if (request->by >= 0)
		view->grouping = by_groupings[request->by];
	else if (request->granularity >= 0)
		view->grouping = granularities[request->granularity];
	else if (is_flat)
		view->grouping = SN_GROUP_FUNCTION;
	else if (view->kind == SN_VIEW_TOP_DOWN && !is_text)
		view->grouping =
		    view->collapse_recursion ? SN_GROUP_FUNCTION : SN_GROUP_INSTRUCTION;
	if (view->grouping == SN_GROUP_USER_LINE && !has_user_code(view->db))
		view->grouping = SN_GROUP_SOURCE_LINE;
	view->by = bys[request->by >= 0 ? request->by : 0];
	view->min_share_is_given = request->min_percent >= 0;
	if (view->min_share_is_given)
		view->min_share = request->min_percent / 100;
	else if (is_text && !view->is_full && view->kind == SN_VIEW_TOP_DOWN)
		view->min_share = 0.005;
	else if (!is_text && view->kind == SN_VIEW_BOTTOM_UP)
		view->min_share = 0.001;
	if (view->limit == LIMIT_DEFAULT)
		view->limit = view->is_full ? 0 : DEFAULT_LIMIT;
}

struct printing {
	const struct sn_view *view;
	struct sn_error *error;
};

static int print_page(void *context, const struct sn_terminal *page)
{
	const struct printing *printing = context;
	return sn_view_text(printing->view, page, printing->error);
}

static int print_text(const struct sn_view *view, struct sn_error *error)
{
	struct printing printing = {view, error};
	int code = sn_terminal_print(print_page, &printing);
	return code == SN_ERR_MEMORY ? sn_fail_memory(error) : code;
}

static int print_report(struct request *request)
{
	struct sn_error error = {""};
	struct sn_view *view = &request->view;
	if (view->metric_count == 0)
		return sn_command_fail("'%s' holds no measured values", view->path);
	int code = request->form == FORM_TEXT	? print_text(view, &error)
		   : request->form == FORM_JSON ? sn_view_json(view, stdout, &error)
						: sn_view_csv(view, stdout, &error);
	/* main finds failures of the stream, and knows a closed pipe from a full disk */
	return code == 0 || code == SN_ERR_IO ? SN_EXIT_DONE : sn_command_fail("%s", error.text);
}

/* Looks at all values once, so that nothing is printed of a database in which one is damaged. */
static bool are_values_sound(const struct sn_view *view)
{
	if (view->place)
		return true; /* reads what it needs before it writes */
	bool by_profile = view->kind == SN_VIEW_THREADS || view->profiles;
	for (uint32_t m = 0; m < view->metric_count; m++) {
		sonde_db_summary_plane(view->db, view->metrics[m]);
		for (uint32_t p = 0; by_profile && p < sonde_db_profile_count(view->db); p++)
			if (!view->profiles || view->profiles[p])
				sonde_db_profile_plane(view->db, p, view->metrics[m]);
	}
	return !sonde_db_damage(view->db);
}

/* A row that is a way of being called is made of parts of contexts, whose sums by profile are not
 * known: says why the cells of such formulas are empty. */
static void warn_of_empty_formulas(const struct sn_view *view)
{
	for (uint32_t f = 0; f < view->formula_count; f++)
		if (view->formulas[f]->needs_across && view->kind == SN_VIEW_BOTTOM_UP)
			sn_command_warn("formula '%s' compares profiles, and is empty in the "
					"bottom-up view; --view top-down and flat have it",
					view->formulas[f]->name);
}

static int run_request(struct request *request)
{
	static int (*const steps[])(struct request *) = {
	    choose_metrics, choose_sort, choose_threads, choose_metric_of_selection, choose_place};
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		int code = steps[i](request);
		if (code != 0)
			return code;
	}
	choose_defaults(request);
	if (!are_values_sound(&request->view))
		return SN_EXIT_DONE; /* sn_command_close tells */
	warn_of_empty_formulas(&request->view);
	int status = print_report(request);
	sn_sources_tell_outside(&request->sources);
	return status;
}

static bool read_options(struct request *request)
{
	struct sn_view *view = &request->view;
	const struct sn_option table[] = {
	    {"view", SN_OPTION_CHOICE(request->kind, "top-down", "bottom-up", "flat", "threads")},
	    {"metric", .texts = &request->metrics, .most = SN_CHOICE_LISTS_MAX},
	    {"depth", SN_OPTION_WHOLE(view->max_depth, 0, 1e9)},
	    {"min-share", .number = &request->min_percent, .most = 100},
	    {"sort", .text = &request->sort, .hints = sort_keys},
	    {"where", .texts = &request->where, .most = MAX_WHERE},
	    {"thread", .text = &request->thread},
	    {"context", .text = &request->context},
	    {"plot", SN_OPTION_CHOICE(request->plot, "order", "sorted", "histogram", "none")},
	    {"granularity",
	     SN_OPTION_CHOICE(request->granularity, "auto", "function", "line", "instruction")},
	    {"by", .choice = &request->by, .choices = bys},
	    {"limit", SN_OPTION_WHOLE(view->limit, 0, 1e9)},
	    {"full", .flag = &view->is_full},
	    {"collapse-recursion", .flag = &view->collapse_recursion},
	    {"format", SN_OPTION_CHOICE(request->form, "text", "json", "csv")},
	    {"source", .parse = sn_sources_parse, .context = &request->sources, .is_path = true},
	    SN_STORE_OPTIONS,
	    {0}};
	if (!sn_options_read(&request->options, table))
		return false;
	view->kind = (enum sn_view_kind)(request->by >= 0 ? SN_VIEW_FLAT : request->kind);
	view->plot = (enum sn_plot)request->plot;
	return true;
}

int sn_command_report_run(int argc, char **argv)
{
	struct request request = {
	    .options = {&sn_command_report, argc, argv},
	    .view = {.max_depth = SONDE_NONE, .limit = LIMIT_DEFAULT},
	    .granularity = -1,
	    .by = -1,
	    .min_percent = -1,
	};
	if (!read_options(&request))
		return request.options.status;
	if (request.context && request.by >= 0)
		return sn_command_misuse(&sn_command_report,
					 "'--context' and '--by' exclude each other");
	if (request.view.collapse_recursion && request.granularity == GRANULARITY_INSTRUCTION)
		return sn_command_misuse(
		    &sn_command_report, "a recursion has many instructions: '--collapse-recursion' "
					"and '--granularity instruction' exclude each other");
	if (request.context && request.where.count > 0)
		return sn_command_misuse(&sn_command_report,
					 "'--context' and '--where' exclude each other: say a > b");
	if (request.context)
		request.view.kind = SN_VIEW_THREADS;
	request.view.path = sn_options_operand(&request.options, "database");
	if (!request.view.path)
		return SN_EXIT_USAGE;
	int status = parse_where(&request);
	struct sonde_db *db = NULL;
	struct sonde_graph *graph = NULL;
	if (status == 0)
		status = sn_command_open(request.view.path, &db);
	if (status == 0) {
		sn_sources_add_usual(&request.sources);
		request.view.sources = &request.sources;
		request.view.db = db;
		/* a damaged graph is a matter of 'sonde graph' */
		struct sonde_db_error ignored;
		sonde_graph_open(db, &graph, &ignored);
		request.view.graph = graph;
		status = run_request(&request);
		sonde_graph_close(graph);
		status = sn_command_close(db, status);
	}
	for (size_t i = 0; i < request.where.count; i++)
		sn_query_free(request.queries[i]);
	sn_places_release(&request.places);
	sn_choice_release(&request.choice);
	free(request.profiles);
	free(request.selected);
	sn_source_roots_release(&request.sources);
	return status;
}
