/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde analyze`: measurement folders to one database. */
#include "command.h"
#include "cmd/run/frameworks.h"
#include "metrics.h"
#include "ranks.h"

#include "aggregate/analyze.h"
#include "aggregate/comm.h"
#include "base/pool.h"
#include "base/text.h"
#include "show/json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS_MAX = 256 };

struct arguments {
	struct sn_analyze_options analyze;
	const char *output;
	struct sn_texts formulas; /* NAME=FORMULA */
	int form;		  /* 0 text, 1 JSON */
	bool wants_findings;
};

static int check_formula(void *context, const struct sn_options *options, const char *text)
{
	size_t name_length;
	if (sn_formula_is_definition(text, &name_length))
		return 0;
	sn_command_fail_definition(text);
	return SN_EXIT_USAGE;
}

static bool read_options(struct arguments *arguments, struct sn_options *options)
{
	struct sn_analyze_options *analyze = &arguments->analyze;
	const struct sn_option table[] = {
	    {"output", 'o', .text = &arguments->output, .is_path = true},
	    {"jobs", 'j', SN_OPTION_WHOLE(analyze->jobs, 1, JOBS_MAX)},
	    {"no-cache", .flag = &analyze->no_cache},
	    {"memory", .memory = &analyze->memory_bytes, .least = 64 << 20},
	    {"metric", .parse = check_formula, .texts = &arguments->formulas,
	     .most = SN_CHOICE_LISTS_MAX},
	    {"no-loops", .flag = &analyze->no_loops},
	    {"findings", .flag = &arguments->wants_findings},
	    {"share", .flag = &analyze->is_shared},
	    {"format", SN_OPTION_CHOICE(arguments->form, "text", "json")},
	    {0}};
	return sn_options_read(options, table);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void print_text(const char *output, const struct sn_analyze_result *result)
{
	printf("%s: %" PRIu32 " contexts from %" PRIu64 " process%s, %" PRIu64 " addresses\n",
	       output, result->contexts, result->processes, result->processes == 1 ? "" : "es",
	       result->addresses);
	for (uint32_t i = 0; i < result->nameless_count && i < SN_ANALYZE_NAMELESS_MAX; i++)
		printf("no symbols of %s: %s\n", sn_shown(result->nameless[i].module).text,
		       result->nameless[i].why);
	if (result->nameless_count > SN_ANALYZE_NAMELESS_MAX)
		printf("no symbols of %" PRIu32 " more files\n",
		       result->nameless_count - SN_ANALYZE_NAMELESS_MAX);
	printf("read %.3f s, symbols %.3f s, written %.3f s\n", seconds(result->read_ns),
	       seconds(result->symbols_ns), seconds(result->write_ns));
}

static void print_json(const char *output, const struct sn_analyze_result *result)
{
	struct sn_json json = {.out = stdout};
	sn_json_begin(&json, '{');
	sn_json_put_text(&json, "output", output);
	sn_json_numbers(
	    &json, {"contexts", result->contexts}, {"processes", (double)result->processes},
	    {"unreadable", (double)result->unreadable},
	    {"older_snapshots", (double)result->fallbacks},
	    {"lone_hosts", (double)result->lone_hosts}, {"addresses", (double)result->addresses},
	    {"read_ns", (double)result->read_ns}, {"symbols_ns", (double)result->symbols_ns},
	    {"write_ns", (double)result->write_ns});
	sn_json_open(&json, "without_symbols", '[');
	for (uint32_t i = 0; i < result->nameless_count && i < SN_ANALYZE_NAMELESS_MAX; i++) {
		sn_json_begin(&json, '{');
		sn_json_texts(&json, {"module", result->nameless[i].module},
			      {"why", result->nameless[i].why});
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_end(&json, '}');
	printf("\n");
}

static void warn(const struct sn_analyze_result *result)
{
	if (result->unreadable)
		sn_command_warn("%" PRIu64 " of %" PRIu64 " processes left out: %s",
				result->unreadable, result->unreadable + result->processes,
				result->first_problem.text);
	if (result->fallbacks)
		sn_command_warn("%" PRIu64 " processes are as of an earlier checkpoint: "
				"their last one is damaged",
				result->fallbacks);
	if (result->lone_hosts)
		sn_command_warn("no message joins the clock of host '%s'%s to the others': its "
				"times are by its own calendar",
				result->first_lone_host,
				result->lone_hosts > 1 ? " (and more)" : "");
}

/* A pipe or a device, into which nothing can be added; the rest is checked when it is opened. */
static bool is_direct(const char *output)
{
	struct stat status;
	return !stat(output, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/* Which metrics there are, and so what formulas mean, is known once the database is written. */
static int complete(void *context, const char *path)
{
	const struct arguments *arguments = context;
	const struct sn_texts *formulas = &arguments->formulas;
	int status = formulas->count > 0
			 ? sn_command_store_formulas(path, arguments->output, formulas->items,
						     formulas->count)
			 : 0;
	return status
		   ? status
		   : sn_command_store_findings(path, arguments->output, arguments->wants_findings);
}

/* A folder that is given twice, by whatever names, is one run. Returns how many there are. */
static size_t count_once(char **folders, size_t count)
{
	struct stat *known = calloc(count, sizeof(*known));
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		struct stat status = {0};
		bool is_there = known && !stat(folders[i], &status);
		size_t twin = is_there ? 0 : kept;
		while (twin < kept &&
		       (known[twin].st_ino != status.st_ino || known[twin].st_dev != status.st_dev))
			twin++;
		if (twin < kept) {
			sn_command_warn("'%s' is '%s' again: it counts once", folders[i],
					folders[twin]);
			continue;
		}
		if (known)
			known[kept] = status;
		folders[kept++] = folders[i];
	}
	free(known);
	return kept;
}

/* The C library keeps what threads have freed, up to 64 MiB of each where large blocks come and go:
 * under a limit it gives back what is worth it. */
static void keep_little(const struct sn_analyze_options *options)
{
	enum { LEAST = 256 << 10, MOST = 32 << 20 };
	uint64_t share = options->memory_bytes / 64 / sn_pool_threads(options->jobs);
	int bytes = share < LEAST ? LEAST : share < MOST ? (int)share : MOST;
	mallopt(M_MMAP_THRESHOLD, bytes);
	mallopt(M_TRIM_THRESHOLD, bytes);
}

static int run_rank(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct sn_analyze_result result;
	struct sn_error error = {""};
	struct sn_options options = {&sn_command_analyze, argc, argv};
	if (!read_options(&arguments, &options))
		return options.status;
	if (optind == argc)
		return sn_command_misuse(&sn_command_analyze, "no measurement given");
	if (!arguments.output)
		return sn_command_misuse(&sn_command_analyze, "no output given: add -o OUT.sdb");
	size_t count = count_once(argv + optind, (size_t)(argc - optind));
	const char *const *folders = (const char *const *)argv + optind;
	/* all ranks look, because all must go on or none; the first writes */
	if (arguments.formulas.count > 0 && is_direct(arguments.output))
		return sn_command_fail("cannot store formulas in '%s': not a regular file",
				       arguments.output);
	arguments.analyze.complete = complete;
	arguments.analyze.complete_context = &arguments;
	if (arguments.analyze.memory_bytes)
		keep_little(&arguments.analyze);
	struct sn_frameworks frameworks = {folders, count};
	arguments.analyze.extend = sn_frameworks_extend;
	arguments.analyze.extend_context = &frameworks;
	sn_progress_show(false);
	int failed =
	    sn_analyze(folders, count, arguments.output, &arguments.analyze, &result, &error);
	sn_progress_end();
	if (failed)
		return *error.text ? sn_command_fail("%s", error.text) : SN_EXIT_FAILED;
	if (sn_comm_rank())
		return SN_EXIT_DONE;
	warn(&result);
	sn_command_speak_beside(arguments.output);
	(arguments.form ? print_json : print_text)(arguments.output, &result);
	return SN_EXIT_DONE;
}

int sn_command_analyze_run(int argc, char **argv)
{
	return sn_command_by_ranks(run_rank, argc, argv);
}
