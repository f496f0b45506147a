/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde info`: what was measured, on what, how completely, and what measuring itself cost.
 */
#include "command.h"

#include "base/utf8.h"
#include "lib/db/formula.h"
#include "show/json.h"
#include "show/label.h"
#include "show/number.h"
#include "show/tree/view.h"
#include "sonde/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS_SHOWN = 12, TEXT_CHARS = 1024 };

/* Sums over all profiles. */
struct totals {
	double samples, own_ns, cpu_ns;
};

static struct totals add_up(const struct sonde_db *db)
{
	struct totals totals = {0};
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, i);
		totals.samples += (double)profile->samples;
		totals.own_ns += (double)profile->own_ns;
		totals.cpu_ns += (double)profile->cpu_ns;
	}
	return totals;
}

static double property_number(const struct sonde_db *db, const char *key)
{
	const char *value = sonde_db_property(db, key);
	return value ? strtod(value, NULL) : 0;
}

static double duration_ns(const struct sonde_db *db)
{
	const char *value = sonde_db_property(db, "duration_ns");
	if (value)
		return strtod(value, NULL);
	uint64_t first = UINT64_MAX, last = 0;
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, i);
		first = profile->start_ns < first ? profile->start_ns : first;
		last = profile->end_ns > last ? profile->end_ns : last;
	}
	return last > first ? (double)(last - first) : 0;
}

static bool is_complete(const struct sonde_db *db)
{
	const char *value = sonde_db_property(db, "complete");
	return value && strcmp(value, "true") == 0;
}

/* Other tools do not say whether all was measured to its end: what is imported has no such word. */
static bool is_completeness_known(const struct sonde_db *db)
{
	return sonde_db_property(db, "complete") || !sonde_db_property(db, "imported.from");
}

/* A property, "" where it is missing, fit for a terminal. */
static const char *property_text(const struct sonde_db *db, const char *key, char text[TEXT_CHARS])
{
	const char *value = sonde_db_property(db, key);
	sn_utf8_clean(value ? value : "", text, TEXT_CHARS);
	return text;
}

/* Of a trace; 0 where it is damaged, which whoever reads the events will say. */
static double event_count(const struct sonde_db *db)
{
	struct sonde_trace *trace;
	if (sonde_trace_open(db, &trace, NULL))
		return 0;
	uint64_t count = sonde_trace_event_count(trace);
	sonde_trace_close(trace);
	return (double)count;
}

/* SONDE_NONE stands for "not a device". */
static double or_nan(uint32_t number)
{
	return number == SONDE_NONE ? NAN : number;
}

static void json_profile(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	bool is_stream = profile->kind == SONDE_PROFILE_STREAM;
	sn_json_begin(json, '{');
	sn_json_put_text(json, "kind", sonde_profile_kind_name(profile->kind));
	sn_json_put_text(json, "host", sonde_db_string(db, profile->host));
	sn_json_put_text(json, "program", sonde_db_string(db, profile->program));
	sn_json_put_text(json, "thread",
			 profile->thread == SONDE_NONE ? NULL
						       : sonde_db_string(db, profile->thread));
	sn_json_put_number(json, "rank", profile->rank);
	sn_json_put_number(json, "pid", (double)profile->pid);
	sn_json_put_number(json, "tid", (double)profile->tid);
	if (is_stream) {
		sn_json_put_known(json, "device", or_nan(profile->device));
		sn_json_put_known(json, "context", or_nan(profile->device_context));
		sn_json_put_known(json, "stream", or_nan(profile->stream));
	}
	sn_json_put_unsigned(json, "start_ns", profile->start_ns);
	sn_json_put_unsigned(json, "end_ns", profile->end_ns);
	sn_json_put_number(json, "cpu_ns", (double)profile->cpu_ns);
	sn_json_put_number(json, "samples", (double)profile->samples);
	sn_json_put_number(json, "own_ns", (double)profile->own_ns);
	sn_json_end(json, '}');
}

static struct sonde_db_stat metric_stat(const struct sonde_db *db, uint32_t metric)
{
	struct sonde_db_summary summary;
	sonde_db_summary(db, 0, metric, &summary);
	return summary.inclusive;
}

static void json_metric(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_metric *metric = sonde_db_metric(db, id);
	struct sonde_db_stat stat = metric_stat(db, id);
	sn_json_begin(json, '{');
	sn_json_put_text(json, "name", sonde_db_string(db, metric->name));
	sn_json_put_text(json, "unit", sonde_db_string(db, metric->unit));
	sn_json_put_text(json, "source", sonde_db_string(db, metric->source));
	sn_json_put_number(json, "period", (double)metric->period);
	sn_json_put_number(json, "count", stat.count);
	sn_json_put_number(json, "sum", stat.sum);
	sn_json_put_number(json, "min", stat.min);
	sn_json_put_number(json, "max", stat.max);
	sn_json_end(json, '}');
}

static void json_formulas(const struct sonde_db *db, struct sn_json *json)
{
	struct sn_formulas known;
	int code = sn_formulas_init(&known, db);
	sn_json_open(json, "formulas", '[');
	for (uint32_t i = 0; code == 0 && i < known.count; i++) {
		const struct sn_formula *formula = known.items[i];
		if (sn_formulas_index(&known, formula->name) != i)
			continue;
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", formula->name);
		sn_json_put_text(json, "formula", formula->text);
		sn_json_put_text(json, "unit", formula->unit);
		sn_json_put_text(json, "about", known.about[i]);
		sn_json_put_known(json, "value", sn_formula_at_context(formula, db, 0, false));
		sn_json_end(json, '}');
	}
	sn_formulas_release(&known);
	sn_json_end(json, ']');
}

static void json_overhead(const struct sonde_db *db, struct sn_json *json)
{
	struct totals totals = add_up(db);
	sn_json_open(json, "overhead", '{');
	sn_json_put_number(json, "own_ns", totals.own_ns);
	sn_json_put_number(json, "process_own_ns", property_number(db, "own_ns"));
	sn_json_put_number(json, "cpu_ns", totals.cpu_ns);
	sn_json_put_number(json, "share", totals.cpu_ns > 0 ? totals.own_ns / totals.cpu_ns : 0);
	sn_json_put_number(json, "peak_bytes", property_number(db, "peak_bytes"));
	sn_json_end(json, '}');
}

/* ---- clocks of hosts, as src/aggregate/read/clocks.c has put them into properties ---- */

static const char *clock_text(const struct sonde_db *db, unsigned host, const char *key)
{
	char name[64];
	snprintf(name, sizeof(name), "clock.%u.%s", host, key);
	return sonde_db_property(db, name);
}

/* NAN where it is not known. */
static double clock_number(const struct sonde_db *db, unsigned host, const char *key)
{
	const char *text = clock_text(db, host, key);
	return text ? strtod(text, NULL) : NAN;
}

static void json_clocks(const struct sonde_db *db, struct sn_json *json)
{
	static const char *const keys[] = {"processes", "messages",  "violations", "offset_ns",
					   "error_ns",	"drift_ppb", "calendar_ns"};
	sn_json_open(json, "clocks", '[');
	for (unsigned host = 0; clock_text(db, host, "host"); host++) {
		sn_json_begin(json, '{');
		sn_json_put_text(json, "host", clock_text(db, host, "host"));
		sn_json_put_text(json, "joined", clock_text(db, host, "joined"));
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (clock_text(db, host, keys[i]))
				sn_json_put_number(json, keys[i], clock_number(db, host, keys[i]));
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

/* Of how many processes and how much CPU time nothing is measured; all 0 where nothing is missing.
 */
static void json_missing(const struct sonde_db *db, struct sn_json *json)
{
	sn_json_open(json, "missing", '{');
	sn_json_put_number(json, "processes", property_number(db, "missing.processes"));
	sn_json_put_number(json, "of_processes", property_number(db, "missing.of_processes"));
	sn_json_put_number(json, "cpu_ns", property_number(db, "missing.cpu_ns"));
	sn_json_put_number(json, "of_cpu_ns", property_number(db, "missing.of_cpu_ns"));
	sn_json_end(json, '}');
}

static void print_json(const struct sonde_db *db)
{
	struct sn_json writer = {.out = stdout}, *json = &writer;
	sn_json_begin(json, '{');
	sn_json_put_text(json, "program", sonde_db_property(db, "program"));
	sn_json_put_text(json, "command", sonde_db_property(db, "command"));
	sn_json_put_number(json, "duration_ns", duration_ns(db));
	sn_json_open(json, "profiles", '[');
	for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
		json_profile(db, json, i);
	sn_json_end(json, ']');
	sn_json_open(json, "metrics", '[');
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++)
		json_metric(db, json, i);
	sn_json_end(json, ']');
	json_formulas(db, json);
	sn_json_put_number(json, "contexts", sonde_db_context_count(db));
	sn_json_put_number(json, "frames", sonde_db_frame_count(db));
	sn_json_put_number(json, "events", event_count(db));
	sn_json_put_number(json, "modules", sonde_db_module_count(db));
	sn_json_put_number(json, "samples", add_up(db).samples);
	json_clocks(db, json);
	sn_json_open(json, "drops", '{');
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		sn_json_put_number(json, sonde_db_string(db, drop->cause), (double)drop->count);
	}
	sn_json_end(json, '}');
	json_missing(db, json);
	sn_json_key(json, "complete");
	if (is_completeness_known(db))
		sn_json_bool(json, is_complete(db));
	else
		sn_json_null(json);
	json_overhead(db, json);
	sn_json_open(json, "properties", '{');
	for (uint32_t i = 0; i < sonde_db_property_count(db); i++)
		sn_json_put_text(json, sonde_db_property_key(db, i),
				 sonde_db_property_value(db, i));
	sn_json_end(json, '}');
	sn_json_end(json, '}');
	putchar('\n');
}

static const char *bold, *plain;

static void print_heading(const char *heading)
{
	printf("\n%s%s%s\n", bold, heading, plain);
}

static void print_program(const struct sonde_db *db)
{
	char text[TEXT_CHARS], number[SN_NUMBER_CHARS];
	static const struct {
		const char *label, *key;
	} lines[] = {{"command", "command"},
		     {"program", "program"},
		     {"host", "host"},
		     {"system", "system"},
		     {"started", "start"}};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (*property_text(db, lines[i].key, text))
			printf("  %-12s %s\n", lines[i].label, text);
	if (duration_ns(db) > 0 || !sonde_db_property(db, "imported.from"))
		printf("  %-12s %s\n", "duration", sn_number_format(duration_ns(db), "ns", number));
	if (!is_completeness_known(db))
		printf("  %-12s not known: imported from %s, which does not tell\n", "complete",
		       property_text(db, "imported.from", text));
	else if (is_complete(db))
		printf("  %-12s yes: every process ended in order\n", "complete");
	else
		printf("  %-12s no: %s\n", "complete",
		       *property_text(db, "incomplete", text) ? text : "it is not known why");
	printf("  %-12s %s\n", "contexts", sn_number_count(sonde_db_context_count(db), number));
	if (event_count(db) > 0)
		printf("  %-12s %s (sonde timeline)\n", "events",
		       sn_number_count(event_count(db), number));
	printf("  %-12s %s\n", "modules", sn_number_count(sonde_db_module_count(db), number));
}

/* Several measurements in one database: what each of them is called and has. */
static void print_runs(const struct sonde_db *db)
{
	char key[32], text[TEXT_CHARS], number[SN_NUMBER_CHARS], threads[SN_NUMBER_CHARS];
	if (!sonde_db_property(db, "run.1"))
		return;
	print_heading("Runs");
	for (uint32_t run = 0;; run++) {
		bool is_shown = run < MAX_THREADS_SHOWN;
		double cpu_ns = 0, count = 0;
		snprintf(key, sizeof(key), "run.%u", run);
		if (!*property_text(db, key, text)) {
			if (!is_shown)
				printf("  %u more\n", run - MAX_THREADS_SHOWN);
			break;
		}
		for (uint32_t i = 0; is_shown && i < sonde_db_profile_count(db); i++) {
			const struct sonde_db_profile *profile = sonde_db_profile(db, i);
			if (profile->run == run) {
				cpu_ns += (double)profile->cpu_ns;
				count++;
			}
		}
		if (is_shown)
			printf("  %10s CPU %10s %s  %s\n", sn_number_format(cpu_ns, "ns", number),
			       sn_number_count(count, threads), count == 1 ? "thread" : "threads",
			       text);
	}
}

/* The columns that names of metrics take, so that sums stand below each other. */
static int metric_columns(const struct sonde_db *db)
{
	enum { LEAST = 16, MOST = 32 };
	size_t columns = LEAST;
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++) {
		size_t length = strlen(sonde_db_string(db, sonde_db_metric(db, i)->name));
		if (metric_stat(db, i).count == 0)
			continue;
		columns = length > columns ? length : columns;
	}
	return columns > MOST ? MOST : (int)columns;
}

/* Another tool's list of all that it could measure is no news: a line for what nobody has. */
static void print_valueless(const struct sonde_db *db)
{
	enum { COLUMNS = 96 };
	uint32_t count = 0;
	size_t column = COLUMNS;
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++) {
		char name[256];
		if (metric_stat(db, i).count > 0)
			continue;
		sn_utf8_clean(sonde_db_string(db, sonde_db_metric(db, i)->name), name,
			      sizeof(name));
		size_t length = strlen(name);
		if (count++ == 0)
			column = (size_t)printf("  without values:");
		else
			putchar(',');
		if (column + length + 2 > COLUMNS)
			column = (size_t)printf("\n   ") - 1;
		column += (size_t)printf(" %s", name) + 1;
	}
	if (count > 0)
		putchar('\n');
}

static void print_metrics(const struct sonde_db *db)
{
	int columns = metric_columns(db);
	print_heading("Metrics");
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++) {
		const struct sonde_db_metric *metric = sonde_db_metric(db, i);
		struct sonde_db_stat stat = metric_stat(db, i);
		if (stat.count == 0)
			continue;
		const char *unit = sonde_db_string(db, metric->unit);
		char sum[SN_NUMBER_CHARS], count[SN_NUMBER_CHARS], period[SN_NUMBER_CHARS];
		char name[256], source[256];
		sn_utf8_clean(sonde_db_string(db, metric->name), name, sizeof(name));
		sn_utf8_clean(sonde_db_string(db, metric->source), source, sizeof(source));
		printf("  %-*s %10s  %s %s", columns, name, sn_number_format(stat.sum, unit, sum),
		       sn_number_count(stat.count, count),
		       !metric->period	 ? "measured"
		       : stat.count == 1 ? "sample"
					 : "samples");
		if (metric->period)
			printf(", one every %s",
			       sn_number_format((double)metric->period, unit, period));
		printf("  [%s]\n", source);
	}
	print_valueless(db);
	if (sonde_db_metric_count(db) == 0)
		puts("  none");
}

/* Why a formula has no value for the whole program. */
static void print_why_empty(const struct sonde_db *db, const struct sn_formula *formula)
{
	bool has_any = false;
	for (uint32_t i = 0; i < formula->input_count; i++) {
		struct sonde_db_summary summary;
		char name[TEXT_CHARS];
		if (sonde_db_summary(db, 0, formula->inputs[i], &summary))
			continue;
		sn_utf8_clean(sonde_db_string(db, sonde_db_metric(db, formula->inputs[i])->name),
			      name, sizeof(name));
		printf("%s%s", has_any ? ", " : "  [nothing was measured of ", name);
		has_any = true;
	}
	fputs(has_any ? "]" : "  [empty for the whole program, but perhaps not for parts of it]",
	      stdout);
}

/* "kernel-time / duration()", and what it comes to for the whole program. */
static void print_formulas(const struct sonde_db *db)
{
	struct sn_formulas known;
	bool has_any = false;
	int code = sn_formulas_init(&known, db);
	for (uint32_t i = 0; code == 0 && i < known.count; i++) {
		const struct sn_formula *formula = known.items[i];
		if (sn_formulas_index(&known, formula->name) != i)
			continue; /* a later one has taken its place */
		if (!has_any)
			print_heading("Formulas");
		has_any = true;
		char value[SN_NUMBER_CHARS], text[TEXT_CHARS], name[256];
		double number = sn_formula_at_context(formula, db, 0, false);
		sn_number_format(number, formula->unit, value);
		sn_utf8_clean(formula->text, text, sizeof(text));
		sn_utf8_clean(formula->name, name, sizeof(name));
		printf("  %-22s %10s  = %s", name, value, text);
		if (isnan(number))
			print_why_empty(db, formula);
		putchar('\n');
	}
	sn_formulas_release(&known);
}

static int compare_cpu(const void *left, const void *right, void *argument)
{
	const struct sonde_db *db = argument;
	const struct sonde_db_profile *a = sonde_db_profile(db, *(const uint32_t *)left);
	const struct sonde_db_profile *b = sonde_db_profile(db, *(const uint32_t *)right);
	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns ? -1 : 1;
	return *(const uint32_t *)left < *(const uint32_t *)right ? -1 : 1;
}

static void print_profiles(struct sonde_db *db)
{
	uint32_t count = sonde_db_profile_count(db);
	char number[SN_NUMBER_CHARS], samples[SN_NUMBER_CHARS], name[512];
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	print_heading("Threads and streams");
	if (!order)
		return;
	uint32_t all = count, threads = 0;
	for (uint32_t i = 0; i < all; i++)
		threads += sonde_db_profile(db, i)->kind != 2;
	/* processors are only lines of timelines, but where the trace tells of nothing else */
	count = 0;
	for (uint32_t i = 0; i < all; i++)
		if (!threads || sonde_db_profile(db, i)->kind != 2)
			order[count++] = i;
	qsort_r(order, count, sizeof(*order), compare_cpu, db);
	for (uint32_t i = 0; i < count && i < MAX_THREADS_SHOWN; i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, order[i]);
		sn_view_profile_name(db, order[i], name, sizeof(name));
		printf("  %10s CPU %10s %-7s  %s\n",
		       sn_number_format((double)profile->cpu_ns, "ns", number),
		       sn_number_count((double)profile->samples, samples),
		       profile->samples == 1 ? "sample" : "samples", name);
	}
	if (count > MAX_THREADS_SHOWN)
		printf("  %u more: sonde report --view threads\n", count - MAX_THREADS_SHOWN);
	const char *met = sonde_db_property(db, "threads");
	if (met && strtod(met, NULL) > count)
		printf(
		    "  %s threads in all: of each process those beyond some hundreds share lines\n",
		    sn_number_count(strtod(met, NULL), number));
	free(order);
}

static void print_sources(const struct sonde_db *db)
{
	bool has_any = false;
	for (uint32_t i = 0; i < sonde_db_property_count(db); i++) {
		const char *key = sonde_db_property_key(db, i);
		char name[128], value[TEXT_CHARS];
		if (strncmp(key, "adapter.", 8) != 0)
			continue;
		if (!has_any)
			print_heading("Layers");
		has_any = true;
		sn_utf8_clean(key + 8, name, sizeof(name));
		sn_utf8_clean(sonde_db_property_value(db, i), value, sizeof(value));
		printf("  %-12s %s\n", name, value);
	}
}

static void print_clock(const struct sonde_db *db, unsigned host)
{
	char name[64], messages[SN_NUMBER_CHARS], offset[SN_NUMBER_CHARS], error[SN_NUMBER_CHARS],
	    calendar[SN_NUMBER_CHARS];
	const char *joined = clock_text(db, host, "joined");
	sn_utf8_clean(clock_text(db, host, "host"), name, sizeof(name));
	printf("  %-16s %8s messages  ", name,
	       sn_number_count(clock_number(db, host, "messages"), messages));
	if (!joined || !strcmp(joined, "no")) {
		puts("not joined: no message reaches it, times are by its own calendar");
		return;
	}
	if (!strcmp(joined, "base")) {
		puts("the others' times are by this one's clock");
		return;
	}
	double error_ns = clock_number(db, host, "error_ns");
	printf("offset %s, right to %s, drift %.3g ppm, calendar %s off",
	       sn_number_format(clock_number(db, host, "offset_ns"), "ns", offset),
	       isnan(error_ns) ? "what is not known" : sn_number_format(error_ns, "ns", error),
	       clock_number(db, host, "drift_ppb") / 1000,
	       sn_number_format(clock_number(db, host, "calendar_ns"), "ns", calendar));
	double violations = clock_number(db, host, "violations");
	if (violations > 0)
		printf(", %s received before they were sent",
		       sn_number_count(violations, messages));
	putchar('\n');
}

static void print_messages(const struct sonde_db *db)
{
	char matched[SN_NUMBER_CHARS], alone[SN_NUMBER_CHARS];
	if (!sonde_db_property(db, "messages.matched"))
		return;
	print_heading("Messages between ranks");
	printf("  %s have both ends here, %s without a partner\n",
	       sn_number_count(property_number(db, "messages.matched"), matched),
	       sn_number_count(property_number(db, "messages.unmatched"), alone));
}

static void print_clocks(const struct sonde_db *db)
{
	if (!clock_text(db, 0, "host"))
		return;
	print_heading("Clocks");
	for (unsigned host = 0; clock_text(db, host, "host"); host++)
		print_clock(db, host);
}

/* Of all processes and all CPU time, what no measurement tells of. */
static void print_missing(const struct sonde_db *db)
{
	char part[SN_NUMBER_CHARS], all[SN_NUMBER_CHARS], share[SN_NUMBER_CHARS];
	double processes = property_number(db, "missing.processes");
	double cpu_ns = property_number(db, "missing.cpu_ns");
	double all_cpu_ns = property_number(db, "missing.of_cpu_ns");
	if (processes <= 0)
		return;
	printf("  %s of %s processes in whole or in part", sn_number_count(processes, part),
	       sn_number_count(property_number(db, "missing.of_processes"), all));
	if (all_cpu_ns > 0)
		printf(", and %s of %s of CPU time (%s)", sn_number_format(cpu_ns, "ns", part),
		       sn_number_format(all_cpu_ns, "ns", all),
		       sn_number_share(cpu_ns < all_cpu_ns ? cpu_ns / all_cpu_ns : 1, share));
	putchar('\n');
}

/* Processes of which there is little or nothing. */
static bool print_lost_processes(const struct sonde_db *db)
{
	static const char *const lost[][3] = {
	    {"processes.unreadable", "unreadable",
	     "processes that ended before anything was written, or whose file is damaged"},
	    {"processes.unfinished", "unfinished",
	     "processes known up to their last checkpoint: killed, ended or confined unseen, or "
	     "still running"},
	};
	bool has_any = false;
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++) {
		char number[SN_NUMBER_CHARS];
		double count = property_number(db, lost[i][0]);
		if (count <= 0)
			continue;
		has_any = true;
		printf("  %10s %6s  %-18s %s\n", sn_number_count(count, number), "", lost[i][1],
		       lost[i][2]);
	}
	return has_any;
}

static void print_drops(const struct sonde_db *db)
{
	print_heading("Not measured");
	print_missing(db);
	bool has_any = print_lost_processes(db);
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		char number[SN_NUMBER_CHARS], share[SN_NUMBER_CHARS], cause[64], text[256];
		if (drop->count == 0)
			continue;
		has_any = true;
		sn_utf8_clean(sonde_db_string(db, drop->cause), cause, sizeof(cause));
		sn_utf8_clean(sonde_db_string(db, drop->text), text, sizeof(text));
		double part = sn_view_drop_share(db, drop);
		printf("  %10s %6s  %-18s %s\n", sn_number_count((double)drop->count, number),
		       part < 0 ? "" : sn_number_share(part, share), cause, text);
	}
	if (!has_any)
		puts(is_completeness_known(db) ? "  nothing is missing" : "  not known");
}

static void print_overhead(const struct sonde_db *db)
{
	struct totals totals = add_up(db);
	char own[SN_NUMBER_CHARS], share[SN_NUMBER_CHARS], bytes[SN_NUMBER_CHARS];
	double peak = property_number(db, "peak_bytes");
	if (!is_completeness_known(db) && totals.own_ns <= 0 && peak <= 0)
		return; /* no other tool tells what it cost */
	print_heading("Cost of measuring");
	printf("  %-12s %s, %s of the program's CPU time\n", "time",
	       sn_number_format(totals.own_ns, "ns", own),
	       sn_number_share(totals.cpu_ns > 0 ? totals.own_ns / totals.cpu_ns : 0, share));
	if (peak > 0)
		printf("  %-12s %s at most\n", "memory", sn_number_format(peak, "bytes", bytes));
}

static void print_text(struct sonde_db *db, const char *path)
{
	bool has_color = sn_terminal_has_color(stdout);
	char name[TEXT_CHARS];
	bold = has_color ? "\033[1m" : "";
	plain = has_color ? "\033[0m" : "";
	sn_utf8_clean(path, name, sizeof(name));
	printf("%s%s%s\n", bold, name, plain);
	print_program(db);
	print_runs(db);
	print_metrics(db);
	print_formulas(db);
	print_profiles(db);
	print_sources(db);
	print_messages(db);
	print_clocks(db);
	print_drops(db);
	print_overhead(db);
}

static int run(int argc, char **argv)
{
	static const char *const forms[] = {"text", "json", NULL};
	struct sn_options options = {&sn_command_info, argc, argv};
	int form = 0;
	bool is_verifying = false;
	const struct sn_option table[] = {
	    {"format", .choice = &form, .choices = forms}, {"verify", .flag = &is_verifying}, {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	const char *path = sn_options_operand(&options, "database");
	if (!path)
		return SN_EXIT_USAGE;
	struct sonde_db *db = NULL;
	int status = sn_command_open(path, &db);
	if (status != 0)
		return status;
	struct sonde_db_error error = {""};
	if (is_verifying && sonde_db_verify(db, &error))
		status = sn_command_fail("%s", error.text);
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++)
		sonde_db_summary_plane(db, i); /* checks what will be printed */
	if (status == SN_EXIT_DONE && !sonde_db_damage(db) && form == 1)
		print_json(db);
	else if (status == SN_EXIT_DONE && !sonde_db_damage(db))
		print_text(db, path);
	return sn_command_close(db, status);
}

const struct sn_command sn_command_info = {
    "info", "tell what a database holds and what is missing in it", sn_usage_info, run};
