/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde info`: what was measured, on what, how completely, and what measuring itself cost. */
#include "command.h"

#include "base/sort_by.h"
#include "base/text.h"
#include "lib/db/formula.h"
#include "lib/db/ranks.h"
#include "show/json.h"
#include "show/number.h"
#include "show/tree/view.h"
#include "sonde/trace.h"
#include "store/store.h"
#include "timeline/findings/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS_SHOWN = 12 };

/* A name of the database as it may be printed, in at most so many bytes. */
static struct sn_shown shown(const char *name, size_t size)
{
	struct sn_shown text;
	sn_utf8_clean(name, text.text, size);
	return text;
}

static struct sn_shown shown_string(const struct sonde_db *db, uint32_t string, size_t size)
{
	return shown(sonde_db_string(db, string), size);
}

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

static double own_share(const struct totals *totals)
{
	return totals->cpu_ns > 0 ? totals->own_ns / totals->cpu_ns : 0;
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

/* "" where it is missing. */
static struct sn_shown property(const struct sonde_db *db, const char *key)
{
	const char *value = sonde_db_property(db, key);
	return sn_shown(value ? value : "");
}

/* Of a trace; 0 if it is damaged, which is reported when the events are read. */
static double event_count(const struct sonde_db *db)
{
	struct sonde_trace *trace;
	if (sonde_trace_open(db, &trace, NULL))
		return 0;
	uint64_t count = sonde_trace_event_count(trace);
	sonde_trace_close(trace);
	return (double)count;
}

static void json_profile(const struct sonde_db *db, struct sn_json *json, uint32_t id)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, id);
	uint32_t thread = profile->thread;
	sn_json_begin(json, '{');
	sn_json_texts(json, {"kind", sonde_profile_kind_name(profile->kind)},
		      {"host", sonde_db_string(db, profile->host)},
		      {"program", sonde_db_string(db, profile->program)},
		      {"thread", thread == SONDE_NONE ? NULL : sonde_db_string(db, thread)});
	sn_json_numbers(json, {"rank", profile->rank}, {"pid", (double)profile->pid},
			{"tid", (double)profile->tid});
	if (profile->kind == SONDE_PROFILE_STREAM) {
		sn_json_put_id(json, "device", profile->device);
		sn_json_put_id(json, "context", profile->device_context);
		sn_json_put_id(json, "stream", profile->stream);
	}
	sn_json_put_unsigned(json, "start_ns", profile->start_ns);
	sn_json_put_unsigned(json, "end_ns", profile->end_ns);
	sn_json_numbers(json, {"cpu_ns", (double)profile->cpu_ns},
			{"samples", (double)profile->samples}, {"own_ns", (double)profile->own_ns});
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
	sn_json_texts(json, {"name", sonde_db_string(db, metric->name)},
		      {"unit", sonde_db_string(db, metric->unit)},
		      {"source", sonde_db_string(db, metric->source)});
	sn_json_numbers(json, {"period", (double)metric->period}, {"count", stat.count},
			{"sum", stat.sum}, {"min", stat.min}, {"max", stat.max});
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
		sn_json_texts(json, {"name", formula->name}, {"formula", formula->text},
			      {"unit", formula->unit}, {"about", known.about[i]});
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
	sn_json_numbers(json, {"own_ns", totals.own_ns},
			{"process_own_ns", property_number(db, "own_ns")},
			{"cpu_ns", totals.cpu_ns}, {"share", own_share(&totals)},
			{"peak_bytes", property_number(db, "peak_bytes")});
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
		sn_json_texts(json, {"host", clock_text(db, host, "host")},
			      {"joined", clock_text(db, host, "joined")});
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (clock_text(db, host, keys[i]))
				sn_json_put_number(json, keys[i], clock_number(db, host, keys[i]));
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

/* Of how many processes and how much CPU time nothing is measured. */
static void json_missing(const struct sonde_db *db, struct sn_json *json)
{
	static const char *const keys[] = {"missing.processes", "missing.of_processes",
					   "missing.cpu_ns", "missing.of_cpu_ns"};
	sn_json_open(json, "missing", '{');
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		sn_json_put_number(json, strchr(keys[i], '.') + 1, property_number(db, keys[i]));
	sn_json_end(json, '}');
}

static void print_json(struct sonde_db *db, const char *path)
{
	struct sn_json writer = {.out = stdout}, *json = &writer;
	sn_json_begin(json, '{');
	sn_json_texts(json, {"program", sonde_db_property(db, "program")},
		      {"command", sonde_db_property(db, "command")});
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
	sn_json_numbers(json, {"contexts", sonde_db_context_count(db)},
			{"frames", sonde_db_frame_count(db)}, {"events", event_count(db)});
	sn_json_put_known(json, "findings",
			  sonde_db_finding_rules(db) ? sonde_db_finding_count(db) : NAN);
	sn_json_numbers(json, {"modules", sonde_db_module_count(db)},
			{"samples", add_up(db).samples});
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

static struct sn_style style;

static void print_heading(const char *heading)
{
	printf("\n%s%s%s\n", style.bold, heading, style.plain);
}

static void print_line(const char *label, const char *text, const char *more)
{
	printf("  %-12s %s%s\n", label, text, more);
}

/* How many were stored, where any rules were looked for. */
static void print_findings(const struct sonde_db *db)
{
	uint32_t count = sonde_db_finding_count(db), major = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct sonde_db_finding finding;
		major +=
		    sonde_db_finding(db, i, &finding) && finding.severity == SONDE_SEVERITY_MAJOR;
	}
	if (count && sonde_db_finding_rules(db) == SN_RULES_VERSION)
		printf("  %-12s %u, %u of them major (sonde timeline)\n", "findings", count, major);
	else if (count)
		printf("  %-12s %u, by rules of another version of Sonde\n", "findings", count);
}

static void print_program(const struct sonde_db *db)
{
	static const char *const lines[][2] = {{"command", "command"},
					       {"program", "program"},
					       {"host", "host"},
					       {"system", "system"},
					       {"started", "start"}};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (*property(db, lines[i][1]).text)
			print_line(lines[i][0], property(db, lines[i][1]).text, "");
	if (duration_ns(db) > 0 || !sonde_db_property(db, "imported.from"))
		print_line("duration", sn_number_time(duration_ns(db)).text, "");
	if (!is_completeness_known(db))
		printf("  %-12s not known: imported from %s, which does not tell\n", "complete",
		       property(db, "imported.from").text);
	else if (is_complete(db))
		print_line("complete", "yes: every process ended in order", "");
	else
		print_line("complete", "no: ",
			   *property(db, "incomplete").text ? property(db, "incomplete").text
							    : "it is not known why");
	print_line("contexts", sn_number_counted(sonde_db_context_count(db)).text, "");
	if (event_count(db) > 0)
		print_line("events", sn_number_counted(event_count(db)).text, " (sonde timeline)");
	print_findings(db);
	print_line("modules", sn_number_counted(sonde_db_module_count(db)).text, "");
}

/* Several measurements in one database: what each of them is called and has. */
static void print_runs(const struct sonde_db *db)
{
	char key[32];
	if (!sonde_db_property(db, "run.1"))
		return;
	print_heading("Runs");
	for (uint32_t run = 0;; run++) {
		double cpu_ns = 0, count = 0;
		snprintf(key, sizeof(key), "run.%u", run);
		if (!*property(db, key).text) {
			if (run >= MAX_THREADS_SHOWN)
				printf("  %u more\n", run - MAX_THREADS_SHOWN);
			break;
		}
		if (run >= MAX_THREADS_SHOWN)
			continue;
		for (uint32_t i = 0; i < sonde_db_profile_count(db); i++)
			if (sonde_db_profile(db, i)->run == run) {
				cpu_ns += (double)sonde_db_profile(db, i)->cpu_ns;
				count++;
			}
		printf("  %10s CPU %10s %s  %s\n", sn_number_time(cpu_ns).text,
		       sn_number_counted(count).text, count == 1 ? "thread" : "threads",
		       property(db, key).text);
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

/* Another tool's list of all that it could measure is not shown: one line for what no profile has.
 * */
static void print_valueless(const struct sonde_db *db)
{
	enum { COLUMNS = 96 };
	uint32_t count = 0;
	size_t column = COLUMNS;
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++) {
		if (metric_stat(db, i).count > 0)
			continue;
		struct sn_shown name = shown_string(db, sonde_db_metric(db, i)->name, 256);
		if (count++ == 0)
			column = (size_t)printf("  without values:");
		else
			putchar(',');
		if (column + strlen(name.text) + 2 > COLUMNS)
			column = (size_t)printf("\n   ") - 1;
		column += (size_t)printf(" %s", name.text) + 1;
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
		printf("  %-*s %10s  %s %s", columns, shown_string(db, metric->name, 256).text,
		       sn_number_text(stat.sum, unit).text, sn_number_counted(stat.count).text,
		       !metric->period	 ? "measured"
		       : stat.count == 1 ? "sample"
					 : "samples");
		if (metric->period)
			printf(", one every %s", sn_number_text((double)metric->period, unit).text);
		printf("  [%s]\n", shown_string(db, metric->source, 256).text);
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
		if (sonde_db_summary(db, 0, formula->inputs[i], &summary))
			continue;
		uint32_t name = sonde_db_metric(db, formula->inputs[i])->name;
		printf("%s%s", has_any ? ", " : "  [nothing was measured of ",
		       sn_shown(sonde_db_string(db, name)).text);
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
		double number = sn_formula_at_context(formula, db, 0, false);
		printf("  %-22s %10s  = %s", shown(formula->name, 256).text,
		       sn_number_text(number, formula->unit).text, sn_shown(formula->text).text);
		if (isnan(number))
			print_why_empty(db, formula);
		putchar('\n');
	}
	sn_formulas_release(&known);
}

SN_SORT_BY(sort_by_cpu, uint32_t, struct sonde_db *,
	   SN_ORDER(sonde_db_profile(of, *b)->cpu_ns, sonde_db_profile(of, *a)->cpu_ns)
	       ?: SN_ORDER(*a, *b));

/* All profiles but processors, the one with most CPU time first; those are only lines of timelines,
 * but where the trace tells of nothing else. NULL without memory. */
static uint32_t *order_profiles(struct sonde_db *db, uint32_t *count)
{
	uint32_t all = sonde_db_profile_count(db), *order = malloc((all + 1) * sizeof(*order));
	bool has_others = false;
	for (uint32_t i = 0; i < all; i++)
		has_others |= sonde_db_profile(db, i)->kind != SONDE_PROFILE_PROCESSOR;
	*count = 0;
	for (uint32_t i = 0; i < all && order; i++)
		if (!has_others || sonde_db_profile(db, i)->kind != SONDE_PROFILE_PROCESSOR)
			order[(*count)++] = i;
	if (order)
		sort_by_cpu(order, *count, db);
	return order;
}

static void print_profiles(struct sonde_db *db)
{
	uint32_t count, *order = order_profiles(db, &count);
	print_heading("Threads and streams");
	for (uint32_t i = 0; i < count && i < MAX_THREADS_SHOWN; i++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, order[i]);
		char name[512];
		sn_view_profile_name(db, order[i], name, sizeof(name));
		printf("  %10s CPU %10s %-7s  %s\n", sn_number_time((double)profile->cpu_ns).text,
		       sn_number_counted((double)profile->samples).text,
		       profile->samples == 1 ? "sample" : "samples", name);
	}
	if (count > MAX_THREADS_SHOWN)
		printf("  %u more: sonde report --view threads\n", count - MAX_THREADS_SHOWN);
	if (property_number(db, "threads") > count)
		printf(
		    "  %s threads in all: of each process those beyond some hundreds share lines\n",
		    sn_number_counted(property_number(db, "threads")).text);
	free(order);
}

static void print_sources(const struct sonde_db *db)
{
	bool has_any = false;
	for (uint32_t i = 0; i < sonde_db_property_count(db); i++) {
		const char *key = sonde_db_property_key(db, i);
		if (!sn_text_begins(key, "adapter."))
			continue;
		if (!has_any)
			print_heading("Layers");
		has_any = true;
		print_line(shown(key + 8, 128).text, sn_shown(sonde_db_property_value(db, i)).text,
			   "");
	}
}

static void print_clock(const struct sonde_db *db, unsigned host)
{
	const char *joined = clock_text(db, host, "joined");
	printf("  %-16s %8s messages  ", shown(clock_text(db, host, "host"), 64).text,
	       sn_number_counted(clock_number(db, host, "messages")).text);
	if (!joined || !strcmp(joined, "no")) {
		puts("not joined: no message reaches it, times are by its own calendar");
		return;
	}
	if (!strcmp(joined, "base")) {
		puts("the others' times are by this one's clock");
		return;
	}
	double error_ns = clock_number(db, host, "error_ns");
	double violations = clock_number(db, host, "violations");
	printf("offset %s, right to %s, drift %.3g ppm, calendar %s off",
	       sn_number_time(clock_number(db, host, "offset_ns")).text,
	       isnan(error_ns) ? "what is not known" : sn_number_time(error_ns).text,
	       clock_number(db, host, "drift_ppb") / 1000,
	       sn_number_time(clock_number(db, host, "calendar_ns")).text);
	if (violations > 0)
		printf(", %s received before they were sent", sn_number_counted(violations).text);
	putchar('\n');
}

static void print_messages(const struct sonde_db *db)
{
	if (!sonde_db_property(db, "messages.matched"))
		return;
	print_heading("Messages between ranks");
	printf("  %s have both ends here, %s without a partner\n",
	       sn_number_counted(property_number(db, "messages.matched")).text,
	       sn_number_counted(property_number(db, "messages.unmatched")).text);
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
	double processes = property_number(db, "missing.processes");
	double cpu_ns = property_number(db, "missing.cpu_ns");
	double all_cpu_ns = property_number(db, "missing.of_cpu_ns");
	if (processes <= 0)
		return;
	printf("  %s of %s processes in whole or in part", sn_number_counted(processes).text,
	       sn_number_counted(property_number(db, "missing.of_processes")).text);
	if (all_cpu_ns > 0)
		printf(", and %s of %s of CPU time (%s)", sn_number_time(cpu_ns).text,
		       sn_number_time(all_cpu_ns).text,
		       sn_number_part(cpu_ns < all_cpu_ns ? cpu_ns : all_cpu_ns, all_cpu_ns).text);
	putchar('\n');
}

/* False, and nothing is printed, of a count of 0; a negative share is not known. */
static bool print_loss(double count, double share, const char *cause, const char *text)
{
	if (count > 0)
		printf("  %10s %6s  %-18s %s\n", sn_number_counted(count).text,
		       share < 0 ? "" : sn_number_part(share, 1).text, cause, text);
	return count > 0;
}

static void print_drops(const struct sonde_db *db)
{
	print_heading("Not measured");
	print_missing(db);
	bool has_any = print_loss(
	    property_number(db, "processes.unreadable"), -1, "unreadable",
	    "processes that ended before anything was written, or whose file is damaged");
	has_any |= print_loss(
	    property_number(db, "processes.unfinished"), -1, "unfinished",
	    "processes known up to their last checkpoint: killed, ended or confined unseen, or "
	    "still running");
	for (uint32_t i = 0; i < sonde_db_drop_count(db); i++) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		has_any |= print_loss((double)drop->count, sn_view_drop_share(db, drop),
				      shown_string(db, drop->cause, 64).text,
				      shown_string(db, drop->text, 256).text);
	}
	if (!has_any)
		puts(is_completeness_known(db) ? "  nothing is missing" : "  not known");
}

static void print_overhead(const struct sonde_db *db)
{
	struct totals totals = add_up(db);
	double peak = property_number(db, "peak_bytes");
	if (!is_completeness_known(db) && totals.own_ns <= 0 && peak <= 0)
		return; /* no other tool tells what it cost */
	print_heading("Cost of measuring");
	printf("  %-12s %s, %s of the program's CPU time\n", "time",
	       sn_number_time(totals.own_ns).text, sn_number_part(own_share(&totals), 1).text);
	if (peak > 0)
		print_line("memory", sn_number_text(peak, "bytes").text, " at most");
}

static void print_text(struct sonde_db *db, const char *path)
{
	style = sn_terminal_style(stdout);
	printf("%s%s%s\n", style.bold, sn_shown(path).text, style.plain);
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

struct request {
	int form; /* 0 text, 1 JSON */
	bool is_verifying;
};

/* Has the values read that will be printed, also those that formulas compare over ranks, so that damage
 * is known before anything is. */
static void check_values(const struct sonde_db *db)
{
	struct sn_db_ranks ranks;
	bool has_ranks = sn_db_ranks_init(&ranks, db, NULL) == 0;
	for (uint32_t i = 0; i < sonde_db_metric_count(db); i++) {
		sonde_db_summary_plane(db, i);
		if (has_ranks)
			sn_db_ranks_at(&ranks, db, i, 0);
	}
	sn_db_ranks_release(&ranks);
}

static int show(void *context, struct sonde_db *db, const char *path)
{
	const struct request *request = context;
	struct sonde_db_error error = {""};
	if (request->is_verifying && sonde_db_verify(db, &error))
		return sn_command_fail("%s", error.text);
	check_values(db);
	if (!sonde_db_damage(db))
		(request->form ? print_json : print_text)(db, path);
	return SN_EXIT_DONE;
}

int sn_command_info_run(int argc, char **argv)
{
	struct sn_options options = {&sn_command_info, argc, argv};
	struct request request = {0};
	const struct sn_option table[] = {
	    {"format", SN_OPTION_CHOICE(request.form, "text", "json")},
	    {"verify", .flag = &request.is_verifying},
	    {0}};
	if (!sn_options_read(&options, table))
		return options.status;
	if (optind + 1 == argc && sn_store_is(argv[optind]))
		return sn_store_info(argv[optind], request.form == 1); /* always verified */
	return sn_command_read(&options, "database", show, &request);
}
