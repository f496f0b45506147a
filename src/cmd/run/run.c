/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonde run: measures a program. It prepares a measurement folder and the environment that makes
 * the dynamic loader preload libsonde.so, runs the program as if it had been run alone, and
 * analyses what was measured when it has ended. What happens inside the program is src/collect.
 */
#include "cmd/command.h"
#include "aggregate/analyze.h"
#include "base/output.h"
#include "base/progress/progress.h"
#include "base/text.h"
#include "binary/elf/elf_kind.h"
#include "cmd/doctor/doctor.h"
#include "collect/sample/event.h"
#include "frameworks.h"
#include "gpu_api.h"
#include "gpu_counters.h"
#include "gpu_samples.h"
#include "launch.h"
#include "run_record.h"
#include "sonde/db.h"
#include "show/source/source_roots.h"
#include "show/tree/view.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_EVENT_NAMES = 64 };

struct run {
	struct sn_launch_request launch;
	struct sn_run_os os;
	struct sn_run_trace trace;
	const char *output; /* as the user gave it, or NULL */
	char *const *command;
	bool no_analyze, quiet, no_loops;
	char folder[4096], database[4096];
};

/* Says which of the events asked for this machine does not have; where none is left, there is
 * nothing to run for. */
static int check_available(const char *list)
{
	struct sn_sample_event events[SN_EVENT_MAX];
	const char *wrong;
	int count = sn_events_parse(list, events, &wrong), left = count;
	for (const struct sn_sample_event *one = events; one < events + count; one++) {
		int error =
		    one->source == SN_EVENT_PERF ? sn_perf_event_error(one->type, one->config) : 0;
		left -= error != 0;
		if (error)
			sn_command_warn("'%s' cannot be measured here (%s): see sonde doctor",
					one->name, strerror(error));
	}
	return left || !count
		   ? 0
		   : sn_command_fail("none of the events asked for can be measured here");
}

static int parse_events(void *context, const struct sn_options *options, const char *list)
{
	struct run *run = context;
	struct sn_sample_event events[SN_EVENT_MAX];
	const char *wrong;
	int count = sn_events_parse(list, events, &wrong);
	run->launch.events = list;
	if (count > 0 || sn_events_are_none(list))
		return 0;
	if (count == -2)
		return sn_command_misuse(options->command, "at most %d events at once",
					 SN_EVENT_MAX);
	return sn_command_misuse(options->command, "'%.*s' is not an event",
				 count ? (int)strcspn(wrong, ",") : 0, count ? wrong : "");
}

static int parse_rate(void *context, const struct sn_options *options, const char *text)
{
	static char events[64];
	struct run *run = context;
	double hz = 0;
	int status = sn_options_number(options, "--rate", text, 1, SN_EVENT_HIGHEST_HZ, &hz);
	snprintf(events, sizeof(events), "cpu-time@%.0f", hz);
	run->launch.events = events;
	return status;
}

static int parse_os(void *context, const struct sn_options *options, const char *list)
{
	struct run *run = context;
	const char *wrong;
	run->os.options.sources = list ? sn_os_sources_parse(list, &wrong) : SN_OS_SOURCES_ALL;
	return run->os.options.sources
		   ? 0
		   : sn_command_misuse(
			 options->command,
			 "'%.*s' is nothing of the operating system (scheduler, syscalls, "
			 "faults, interrupts, block, network, frequency)",
			 (int)strcspn(wrong, ","), wrong);
}

static int parse_os_wide(void *context, const struct sn_options *options, const char *list)
{
	((struct run *)context)->os.options.is_wide = true;
	return parse_os(context, options, list);
}

static int parse_output(void *context, const struct sn_options *options, const char *name)
{
	((struct run *)context)->output = name;
	return name[strspn(name, "/")] ? 0
				       : sn_options_refuse(options, "--output", name, "no name");
}

static int parse_graph(void *context, const struct sn_options *options, const char *text)
{
	((struct run *)context)->launch.graph = text ? text : "1";
	return text && strcmp(text, "all") ? sn_options_refuse(options, "--graph", text, "not all")
					   : 0;
}

static int parse_gpu_api(void *context, const struct sn_options *options, const char *path)
{
	static struct sn_buffer description;
	struct sn_error error;
	(void)options;
	sn_buffer_release(&description);
	if (sn_gpu_api_read(path, &description, &error))
		return sn_command_fail("%s", error.text);
	((struct run *)context)->launch.gpu_api = sn_buffer_string(&description);
	return 0;
}

static bool read_options(struct run *run, struct sn_options *options)
{
	static const char *const operator_modes[] = {"sampled", "nodes", "exact", "off", NULL};
	static const char *const call_paths[] = {"python", "operator", "native", NULL};
	static const char *const sources[] = {"samples", "operators", "api",	  "gpu",
					      "regions", "memory",    "messages", NULL};
	static const char *const graphs[] = {"all", NULL};
	static const char *const gpu_graphs[] = {"whole", "nodes", NULL};
	static const char *const gpu_samples[] = {"continuous", "serialized", "off", NULL};
	static const char *const signals[] = {"USR1", "USR2", "WINCH", NULL};
	const char *event_names[MAX_EVENT_NAMES], *os_sources[SN_OS_SOURCES + 1] = {NULL};
	sn_event_names(event_names, MAX_EVENT_NAMES);
	for (int i = 0; i < SN_OS_SOURCES; i++)
		os_sources[i] = sn_os_source_name((enum sn_os_source)i);
	struct sn_launch_request *launch = &run->launch;
	struct sn_run_trace *trace = &run->trace;
	const struct sn_option table[] = {
	    {"output", 'o', .parse = parse_output, .context = run, .is_path = true},
	    {"event", 'e', .parse = parse_events, .context = run, .hints = event_names},
	    {"rate", 'F', .parse = parse_rate, .context = run},
	    {"quiet", 'q', .flag = &run->quiet},
	    {"call-path", .list = &launch->call_path, .choices = call_paths,
	     .wrong = "not a source of call paths"},
	    {"operators", .text = &launch->operators, .choices = operator_modes},
	    {"memory", 'm', .flag = &launch->tensor_memory},
	    {"graph", .parse = parse_graph, .context = run, .is_optional = true, .hints = graphs},
	    {"gpu-graphs", .text = &launch->gpu_graphs, .choices = gpu_graphs},
	    {"gpu-api", .parse = parse_gpu_api, .context = run, .is_path = true},
	    {"gpu-samples", .parse = sn_run_gpu_samples, .context = launch, .is_optional = true,
	     .hints = gpu_samples},
	    {"gpu-samples-in", .parse = sn_run_gpu_samples_in, .context = launch},
	    {"gpu-counters", .parse = sn_run_gpu_counters, .context = launch},
	    {"gpu-metrics", .parse = sn_run_gpu_metrics, .context = launch},
	    {"gpu-migrations", .flag = &launch->gpu_migrations},
	    {"gpu-hardware-times", .flag = &launch->gpu_hardware_times},
	    {"no-analyze", .flag = &run->no_analyze},
	    {"no-loops", .flag = &run->no_loops},
	    {"checkpoint", SN_OPTION_WHOLE(launch->checkpoint_ms, 0.01, 86400), .unit = 1000},
	    {"memory-limit", SN_OPTION_WHOLE(launch->memory_limit_mb, 1, 1 << 20)},
	    {"shadow", .flag = &launch->shadow},
	    {"share", .flag = &launch->is_shared},
	    {"no-command", .flag = &launch->no_command},
	    {"os", .parse = parse_os, .context = run, .is_optional = true, .hints = os_sources},
	    {"os-wide", .parse = parse_os_wide, .context = run, .is_optional = true,
	     .hints = os_sources},
	    {"os-limit", SN_OPTION_WHOLE(run->os.limit_bytes, 1, 1 << 20), .unit = 1 << 20},
	    {"trace", .list = &trace->sources, .choices = sources, .is_optional = true,
	     .implied = "default", .wrong = "nothing that can be recorded"},
	    {"trace-limit", .parse = sn_run_trace_limit, .context = trace},
	    {"trace-window", .parse = sn_run_trace_window, .context = trace},
	    {"trace-signal", .parse = sn_run_trace_signal, .context = trace, .hints = signals},
	    {"trace-paused", .flag = &trace->is_paused},
	    {0}};
	return sn_options_read(options, table);
}

/* ---- names ---- */

/* The script of an interpreter says more than the interpreter: train.py, not python3. */
static const char *subject(char *const *command)
{
	const char *program = sn_text_base_name(command[0]);
	if (!sn_text_begins(program, "python"))
		return program;
	for (char *const *argument = command + 1; *argument; argument++) {
		if (!strcmp(*argument, "-c"))
			break;
		if (!strcmp(*argument, "-m"))
			return argument[1] ? argument[1] : program;
		if (**argument != '-')
			return sn_text_base_name(*argument);
		if (!strcmp(*argument, "-W") || !strcmp(*argument, "-X"))
			argument += argument[1] != NULL;
	}
	return program;
}

static void name_files(struct run *run, const char *stem)
{
	snprintf(run->folder, sizeof(run->folder), "%s.sonde", stem);
	snprintf(run->database, sizeof(run->database), "%s.sdb", stem);
}

static bool exists(const char *path)
{
	struct stat status;
	return !lstat(path, &status);
}

/* The first of NAME, NAME-2, NAME-3, ... that is free, and its folder made: another run may be
 * choosing at this moment. Where that fails, sn_launch_folder says why. */
static void choose_name(struct run *run)
{
	const char *name = subject(run->command);
	int length = (int)strlen(name) - (sn_text_ends(name, ".py") && name[3] ? 3 : 0);
	char stem[1024], number[16] = "";
	for (unsigned i = 2;; i++) {
		snprintf(stem, sizeof(stem), "%.*s%s", length < 511 ? length : 511, name, number);
		name_files(run, stem);
		if (!exists(run->folder) && !exists(run->database) &&
		    sn_launch_reserve(&run->launch, run->folder) != -EEXIST)
			return;
		snprintf(number, sizeof(number), "-%u", i);
	}
}

/* -o NAME, NAME.sdb and NAME.sonde mean the same. */
static void name_by_output(struct run *run)
{
	static const char *const endings[] = {".sonde", ".sdb"};
	char stem[4080];
	snprintf(stem, sizeof(stem), "%s", run->output);
	size_t length = strlen(stem);
	while (length > 1 && stem[length - 1] == '/')
		stem[--length] = 0;
	for (size_t i = 0; i < 2; i++) {
		size_t left = length - strlen(endings[i]);
		if (length > strlen(endings[i]) && !strcmp(stem + left, endings[i])) {
			stem[left] = 0;
			break;
		}
	}
	name_files(run, stem);
}

/* ---- the run ---- */

static void warn_unmeasurable(const char *program, const struct sn_elf_kind_info *info)
{
	if (info->is_secure)
		sn_command_warn(
		    "'%s' has privileges of its own (%s): it runs, but cannot be measured", program,
		    info->secure_reason);
	else if (info->kind != SN_ELF_DYNAMIC)
		sn_command_warn("'%s' is %s: it runs, but cannot be measured", program,
				sn_elf_kind_text(info->kind));
}

static int complete(void *context, const char *path)
{
	const struct run *run = context;
	return sn_command_store_findings(path, run->database, false);
}

static int analyze(struct run *run)
{
	const char *const folders[] = {run->folder};
	struct sn_frameworks frameworks = {folders, 1};
	struct sn_analyze_options options = {.no_loops = run->no_loops,
					     .is_shared = run->launch.is_shared,
					     .extend = sn_frameworks_extend,
					     .extend_context = &frameworks,
					     .complete = complete,
					     .complete_context = run};
	struct sn_analyze_result result;
	struct sn_error error = {0};
	if (!sn_launch_is_in_place(&run->launch, run->folder))
		return sn_command_fail("'%s' is another folder by now than the one that was "
				       "measured into",
				       run->folder);
	if (!run->quiet)
		sn_progress_show(false);
	int failed = sn_analyze(folders, 1, run->database, &options, &result, &error);
	sn_progress_end();
	if (failed)
		return *error.text ? sn_command_fail("%s", error.text) : SN_EXIT_FAILED;
	return 0;
}

/* The folders of the files that the command names: who runs them knows them. */
static void add_own_sources(struct sn_source_roots *sources, char *const *command)
{
	for (char *const *argument = command; *argument; argument++) {
		char *path = realpath(*argument, NULL), *slash = path ? strrchr(path, '/') : NULL;
		struct stat status;
		if (slash > path && !stat(path, &status) && S_ISREG(status.st_mode)) {
			*slash = 0;
			sn_source_roots_add(sources, path, NULL);
		}
		free(path);
	}
}

/* What was measured, the hottest places: the top-down report, cut to a screenful. */
static void print_summary(const struct sonde_db *db, const char *path,
			  struct sn_source_roots *sources)
{
	enum { LINES = 18, METRICS = 4 };
	uint32_t metrics[METRICS];
	struct sn_view view = {
	    .db = db,
	    .path = path,
	    .kind = SN_VIEW_TOP_DOWN,
	    .by = "function",
	    .metrics = metrics,
	    .metric_count = sn_view_default_metrics(db, metrics, METRICS),
	    .min_share = 0.01,
	    .max_depth = SONDE_NONE,
	    .limit = LINES,
	    .sources = sources,
	};
	struct sn_terminal page = {stderr, sn_terminal_width(), sn_terminal_has_color(stderr),
				   true};
	struct sn_error error = {""};
	putc('\n', stderr);
	const char *events = sonde_db_property(db, "events");
	const char *incomplete = sonde_db_property(db, "incomplete");
	if (view.metric_count) {
		if (sn_view_text(&view, &page, &error))
			sn_command_warn("%s", error.text);
		return;
	}
	fprintf(stderr, "sonde: nothing was sampled: %s\n",
		events && !strcmp(events, "none") ? "none of the events was asked for"
						  : "the program ended too soon");
	if (incomplete)
		fprintf(stderr, "sonde: %s (see sonde info)\n", incomplete);
}

static void report(const struct run *run)
{
	struct sonde_db *db;
	struct sn_source_roots sources = {0};
	if (sonde_db_open(run->database, &db, NULL))
		return;
	sn_sources_add_usual(&sources);
	add_own_sources(&sources, run->command);
	print_summary(db, run->database, &sources);
	sn_run_gpu_samples_tell_none(&run->launch, db);
	sn_run_gpu_metrics_tell_none(&run->launch, db);
	sn_source_roots_release(&sources);
	sonde_db_close(db);
}

static int prepare(struct run *run)
{
	static struct sn_elf_kind_info info;
	const char *name = run->command[0];
	char program[4096];
	struct sn_error error = {0};
	int unavailable = run->launch.events ? check_available(run->launch.events) : 0;
	if (unavailable)
		return unavailable;
	if (sn_launch_find(name, program, sizeof(program)))
		return sn_command_fail("cannot run '%s': %s", name, strerror(errno));
	if (!sn_elf_kind_read(program, &info, NULL))
		warn_unmeasurable(name, &info);
	run->launch.not_preloaded = info.kind == SN_ELF_OTHER_LIBC;
	(run->output ? name_by_output : choose_name)(run);
	/* what would be refused at the end is said before anything runs, and before an earlier
	 * measurement is removed */
	bool is_written = !run->no_analyze && !sn_launch_is_joined();
	if ((is_written && sn_output_check_database(run->database, &error)) ||
	    sn_launch_folder(&run->launch, run->folder, &error) ||
	    sn_launch_library(&run->launch, &error))
		return sn_command_fail("%s", error.text);
	return 0;
}

/* It was the program, not sonde, which ends by the same signal afterwards. Whoever interrupts knows. */
static void tell_signal(void)
{
	int number = sn_launch_signal();
	if (number && number != SIGINT && number != SIGPIPE)
		sn_command_warn("the program was ended by signal %d (%s)", number,
				strsignal(number));
}

/*
 * Whoever waits for this process sees what it would have seen of the program: a loop of a shell, for
 * one, stops at Control-C only where the signal ended what it ran. One core file is enough.
 */
static void end_by_signal_of_program(void)
{
	struct rlimit none = {0};
	sigset_t one;
	int number = sn_launch_signal();
	if (!number)
		return;
	sn_progress_end();
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0); /* a core file that a program reads has no limit */
	signal(number, SIG_DFL);
	raise(number);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static int finish(struct run *run, int status)
{
	if (!run->quiet)
		tell_signal();
	if (sn_launch_is_empty(&run->launch)) {
		bool is_in_place = sn_launch_is_in_place(&run->launch, run->folder);
		sn_launch_remove_folder(&run->launch, run->folder);
		sn_command_warn("nothing was measured%s",
				is_in_place ? "" : ": the folder was taken away meanwhile");
		return status;
	}
	int foreign_map = sn_launch_keep_perf_maps(&run->launch);
	if (foreign_map)
		sn_command_warn("/tmp/perf-%d.map is not used: it belongs to another user",
				foreign_map);
	if (run->no_analyze) {
		if (!run->quiet)
			fprintf(stderr, "sonde: measured into %s\n", run->folder);
		return status;
	}
	if (sn_launch_is_joined())
		return status; /* another rank may still be measuring */
	unsigned running = sn_launch_settle(&run->launch);
	if (running)
		sn_command_warn(
		    "%u process%s of the program still run%s: `sonde analyze %s -o %s` again "
		    "when done",
		    running, running > 1 ? "es" : "", running > 1 ? "" : "s", run->folder,
		    run->database);
	if (analyze(run))
		return status ? status : SN_EXIT_FAILED;
	if (!run->quiet)
		report(run);
	return status;
}

int sn_command_run_run(int argc, char **argv)
{
	struct run run = {.os.limit_bytes = (uint64_t)SN_RUN_OS_LIMIT_MB << 20};
	struct sn_options options = {&sn_command_run, argc, argv, .is_ordered = true};
	struct sn_error error = {0};
	if (!read_options(&run, &options))
		return options.status;
	if (optind == argc)
		return sn_command_misuse(&sn_command_run, "which program?");
	run.command = argv + optind;
	run.trace.has_metrics = run.launch.gpu_metrics;
	int status = sn_run_trace_check(&run.trace, &options);
	if (!status)
		status = sn_run_gpu_samples_check(&run.launch, &options);
	if (!status)
		status = sn_run_gpu_counters_check(&run.launch);
	if (!status)
		status = prepare(&run);
	if (status)
		return status;
	sn_run_trace_tell(&run.trace);
	sn_run_gpu_samples_tell(&run.launch);
	sn_run_gpu_counters_tell(&run.launch);
	run.launch.on_start = sn_run_os_begin;
	run.launch.start_context = &run.os;
	sn_run_os_prepare(&run.os, &run.launch, *run.command);
	if (run.launch.graph && sn_frameworks_begin(&run.launch, &error))
		return sn_command_fail("%s", error.text);
	int failed = sn_launch_program(&run.launch, run.command, &status, &error);
	sn_run_os_end(&run.os);
	if (run.launch.graph)
		sn_frameworks_end(&run.launch);
	if (failed)
		return sn_command_fail("%s", error.text);
	status = finish(&run, status);
	end_by_signal_of_program();
	return status;
}
