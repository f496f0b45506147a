/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde record`: samples of what runs already, from outside. The sampler is in src/record, what it writes is read by src/import/perf. */
#include "sampling.h"

#include "base/clock.h"
#include "base/output.h"
#include "base/spill.h"
#include "record/already.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TURN_MS = 50 };

struct recording {
	const char *output;
	char named[NAME_MAX + 1]; /* the output, where the user names none */
	struct sn_sampling_choice sampling;
	bool is_all, is_quiet, no_command;
	struct sn_import_request request;
	struct sn_import_notes notes;
	double seconds; /* until it is ended: longer than anybody waits */
	struct sn_spill spill;
	uint64_t start_ns, end_ns, own_ns; /* own: of processors, by this process */
	/* of what was sampled */
	bool sees_kernel;
	struct sn_python_result python;
};

/* ---- options ---- */

static int read_operands(struct recording *recording, const struct sn_options *options)
{
	if (!recording->sampling.process_count == !recording->is_all)
		return sn_command_misuse(options->command,
					 recording->is_all
					     ? "--pid and --all exclude each other"
					     : "nothing to sample: give --pid PID, or --all");
	if (optind == options->argc)
		return 0;
	if (optind + 1 < options->argc)
		return sn_command_misuse(options->command, "more than one operand: '%s'",
					 options->argv[optind + 1]);
	char *end;
	const char *text = options->argv[optind];
	recording->seconds = strtod(text, &end);
	if (end == text || *end || !(recording->seconds > 0))
		return sn_command_misuse(options->command, "'%s' is no number of seconds", text);
	return 0;
}

static bool read_options(struct recording *recording, struct sn_options *options)
{
	const struct sn_option table[] = {
	    SN_SAMPLING_OPTIONS(recording->sampling),
	    {"all", 'a', .flag = &recording->is_all},
	    {"output", 'o', .text = &recording->output, .is_path = true},
	    {"no-command", .flag = &recording->no_command},
	    {"share", .flag = &recording->request.is_shared},
	    {"quiet", 'q', .flag = &recording->is_quiet},
	    {0}};
	if (!sn_options_read(options, table))
		return false;
	options->status = read_operands(recording, options);
	return !options->status;
}

/* ---- names ---- */

/* A name without what would make a path of it. */
static void put_name(char *to, size_t size, const char *name)
{
	snprintf(to, size, "%s", name);
	for (char *at = to; *at; at++)
		if (*at == '/' || (unsigned char)*at < ' ' || *at == 127)
			*at = '_';
	if (*to == '-' || *to == '.')
		*to = '_';
}

/* python3-1234.sdb, or the host's name. */
static void name_output(struct recording *recording)
{
	char name[64] = "", plain[64];
	pid_t pid = recording->is_all ? 0 : recording->sampling.processes[0];
	if (recording->output)
		return;
	if (recording->is_all ? gethostname(name, sizeof(name) - 1) != 0
			      : !sn_already_name(pid, pid, name))
		snprintf(name, sizeof(name), "record");
	put_name(plain, sizeof(plain), name);
	if (recording->is_all)
		snprintf(recording->named, sizeof(recording->named), "%s.sdb", plain);
	else
		snprintf(recording->named, sizeof(recording->named), "%s-%d.sdb", plain, pid);
	recording->output = recording->named;
}

/* The words of a process's command line, which point into `text`. Their number. */
static size_t read_command(pid_t pid, char *text, size_t size, const char **words, size_t most)
{
	char path[64];
	size_t count = 0;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, size - 1, file) : 0;
	text[length] = 0;
	for (size_t at = 0; at < length && count < most; at += strlen(text + at) + 1)
		words[count++] = text + at;
	if (file)
		fclose(file);
	return count;
}

/* ---- recording ---- */

static int take(void *context, const void *bytes, size_t count)
{
	struct recording *recording = context;
	sn_spill_write(&recording->spill, bytes, count);
	return recording->spill.failed ? SN_ERR_IO : 0;
}

static void say_begin(const struct recording *recording, const struct sn_sampler *sampler)
{
	char what[160];
	if (recording->is_quiet || !isatty(STDERR_FILENO))
		return;
	sn_sampling_what(&recording->sampling, what, sizeof(what));
	fprintf(stderr, "sonde: sampling %s by %s, %u a second; Ctrl-C ends it\n", what,
		sn_sampler_event(sampler), sn_sampler_rate(sampler));
}

/* Takes what there is until it is over: by time, by a signal that `signals` tells of, or by the end of the processes. */
static int follow(struct recording *recording, struct sn_sampler *sampler, int signals)
{
	struct signalfd_siginfo signal;
	/* first what was there before, which takes its time on a large machine */
	int result = sn_sampler_take(sampler, take, recording);
	recording->start_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	double until_ns = (double)recording->start_ns + recording->seconds * 1e9;
	while (!result && !sn_sampler_is_over(sampler) &&
	       read(signals, &signal, sizeof(signal)) < 0) {
		double left_ms = (until_ns - (double)sn_clock_now_ns(CLOCK_MONOTONIC)) / 1e6;
		if (left_ms <= 0)
			break;
		sn_sampler_wait(sampler, signals, left_ms < TURN_MS ? (int)left_ms + 1 : TURN_MS);
		result = sn_sampler_take(sampler, take, recording);
	}
	recording->end_ns = sn_clock_now_ns(CLOCK_MONOTONIC);
	sn_sampler_stop(sampler, &recording->python);
	return result ? result : sn_sampler_take(sampler, take, recording);
}

static int sample(struct recording *recording, int signals, struct sn_error *error)
{
	struct sn_sampler *sampler = NULL;
	recording->own_ns = sn_clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	int result = sn_spill_open_beside(&recording->spill, recording->output, error);
	result = result ? result : sn_sampling_start(&recording->sampling, &sampler, error);
	if (result)
		return result;
	say_begin(recording, sampler);
	result = follow(recording, sampler, signals);
	recording->sees_kernel = sn_sampler_sees_kernel(sampler);
	/* from here on it has no files, memory and events of the processes */
	sn_sampler_free(sampler);
	recording->own_ns = sn_clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) - recording->own_ns;
	int finished = sn_spill_finish(&recording->spill, error);
	return finished ? finished : sn_fail_code(error, result);
}

static int record(struct recording *recording, struct sn_error *error)
{
	sigset_t ends = sn_sampling_ending_signals(), before;
	struct signalfd_siginfo signal;
	sigprocmask(SIG_BLOCK, &ends, &before);
	int signals = signalfd(-1, &ends, SFD_NONBLOCK | SFD_CLOEXEC);
	int result = signals < 0 ? sn_fail(error, SN_ERR_IO, "signalfd: %s", strerror(errno))
				 : sample(recording, signals, error);
	/* from now on they end the command as usual, but for those that have come already */
	while (signals >= 0 && read(signals, &signal, sizeof(signal)) > 0)
		;
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return result;
}

/* ---- the database ---- */

static int complete(void *context, const char *path)
{
	const struct recording *recording = context;
	return sn_command_store_findings(path, recording->output, false);
}

static int make_database(struct recording *recording, struct sn_import_counts *counts,
			 struct sn_error *error)
{
	struct sn_import_request *request = &recording->request;
	request->notes = &recording->notes;
	request->complete = complete;
	request->complete_context = recording;
	return sn_sampling_import(request, recording->spill.fd, recording->output, counts, error);
}

static void say_end(const struct recording *recording, const struct sn_import_counts *counts)
{
	double seconds = (double)(recording->end_ns - recording->start_ns) / 1e9;
	printf("%s: %" PRIu64 " samples in %.1f s, %" PRIu32
	       " contexts; sampling took %.2f %% of a processor\n",
	       recording->output, counts->events, seconds, counts->contexts,
	       100 * (double)recording->own_ns / 1e9 / seconds);
	if (!counts->events)
		sn_command_warn("nothing was sampled: %s",
				recording->is_all ? "all processors were idle"
						  : "what was to be sampled did not run");
	if (*recording->python.gap)
		sn_command_warn("%s", recording->python.gap);
	if (recording->python.late)
		sn_command_warn("%" PRIu64 " %s no Python frames, as it was too late to read them",
				recording->python.late,
				recording->python.late == 1 ? "sample has" : "samples have");
	if (!recording->sees_kernel)
		sn_command_warn(
		    "without the kernel's functions: sonde doctor says what would allow them");
}

static int run(struct recording *recording)
{
	struct sn_error error = {""};
	struct sn_import_counts counts = {0};
	static char text[4096];
	const char *words[256];
	size_t count = 0;
	name_output(recording);
	if (!recording->is_all && !recording->no_command)
		count = read_command(recording->sampling.processes[0], text, sizeof(text), words,
				     sizeof(words) / sizeof(*words));
	recording->sampling.options.command = words;
	recording->sampling.options.command_count = count;
	int result = sn_output_check_database(recording->output, &error);
	result = result ? result : record(recording, &error);
	if (!result) {
		if (!recording->is_quiet)
			sn_progress_show(false);
		result = make_database(recording, &counts, &error);
		sn_progress_end();
	}
	if (result)
		return sn_command_fail("%s", *error.text ? error.text : "cannot record");
	sn_command_import_notes(&recording->notes);
	if (!recording->is_quiet)
		say_end(recording, &counts);
	return SN_EXIT_DONE;
}

int sn_command_record_run(int argc, char **argv)
{
	struct sn_options options = {&sn_command_record, argc, argv};
	struct recording *recording = calloc(1, sizeof(*recording));
	if (!recording)
		return sn_command_fail("out of memory");
	sn_sampling_init(&recording->sampling);
	recording->seconds = 1e12;
	recording->spill.fd = -1;
	int status = read_options(recording, &options) ? run(recording) : options.status;
	sn_spill_close(&recording->spill);
	sn_sampling_release(&recording->sampling);
	free(recording);
	return status;
}
