/* SPDX-License-Identifier: Apache-2.0 */
/* Options about recording, telling the collector, and the operating system; see run_record.h. */
#include "run_record.h"

#include "base/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_LIMIT_BYTES (1u << 20)

int sn_run_trace_limit(void *context, const struct sn_options *options, const char *text)
{
	struct sn_run_trace *trace = context;
	double bytes = sn_options_bytes(text);
	if (bytes < 0 || bytes >= 1e15)
		return sn_options_refuse(options, "--trace-limit", text,
					 "no size, such as 500M or 2G (0: no limit)");
	if (bytes > 0 && bytes < LEAST_LIMIT_BYTES)
		return sn_options_refuse(options, "--trace-limit", text, "less than 1M");
	snprintf(trace->limit, sizeof(trace->limit), "%.0f", trunc(bytes));
	return 0;
}

int sn_run_trace_window(void *context, const struct sn_options *options, const char *text)
{
	struct sn_run_trace *trace = context;
	char *end;
	double start = strtod(text, &end), length = 0;
	bool is_known = end != text;
	if (is_known && *end == ':') {
		const char *from = end + 1;
		length = strtod(from, &end);
		is_known = end != from && length > 0;
	}
	if (!is_known || *end || !(start >= 0 && start < 1e9) || !(length < 1e9))
		return sn_options_refuse(options, "--trace-window", text,
					 "not START:LENGTH in seconds, such as 10:2.5");
	snprintf(trace->window_ms, sizeof(trace->window_ms), "%.0f:%.0f", start * 1000,
		 length > 0 && length < 0.001 ? 1.0 : length * 1000);
	return 0;
}

int sn_run_trace_signal(void *context, const struct sn_options *options, const char *text)
{
	struct sn_run_trace *trace = context;
	static const struct {
		const char *name;
		int number;
	} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"WINCH", SIGWINCH}};
	const char *name = sn_text_begins(text, "SIG") ? text + 3 : text;
	int number = 0;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!strcmp(name, signals[i].name))
			number = signals[i].number;
	if (sn_text_begins(name, "RTMIN+"))
		number = SIGRTMIN + (int)strtol(name + 6, NULL, 10);
	if (!number || number > SIGRTMAX)
		return sn_options_refuse(options, "--trace-signal", text,
					 "none of USR1, USR2, WINCH, RTMIN+N");
	snprintf(trace->signal, sizeof(trace->signal), "%d", number);
	return 0;
}

int sn_run_trace_check(const struct sn_run_trace *trace, const struct sn_options *options)
{
	const char *option = *trace->limit	 ? "--trace-limit"
			     : *trace->window_ms ? "--trace-window"
			     : *trace->signal	 ? "--trace-signal"
			     : trace->is_paused	 ? "--trace-paused"
						 : NULL;
	return option && !trace->sources && !trace->has_metrics
		   ? sn_command_misuse(options->command, "option '%s' needs --trace", option)
		   : 0;
}

void sn_run_trace_tell(const struct sn_run_trace *trace)
{
	if (!trace->sources && !trace->has_metrics)
		return;
	if (trace->sources)
		setenv("SONDE_TRACE", trace->sources, 1);
	if (*trace->limit)
		setenv("SONDE_TRACE_LIMIT", trace->limit, 1);
	if (*trace->window_ms)
		setenv("SONDE_TRACE_WINDOW_MS", trace->window_ms, 1);
	if (*trace->signal)
		setenv("SONDE_TRACE_SIGNAL", trace->signal, 1);
	if (trace->is_paused)
		setenv("SONDE_TRACE_PAUSED", "1", 1);
}

/* ---- the operating system ---- */

void sn_run_os_prepare(struct sn_run_os *os, const struct sn_launch_request *launch,
		       const char *program)
{
	struct sn_error error = {""};
	/* for tests of what happens when it is too small */
	const char *ring = getenv("SONDE_OS_RING_BYTES");
	if (!os->options.sources)
		return;
	os->options.ring_bytes = ring ? strtoul(ring, NULL, 10) : 0;
	if (sn_trace_file_create(launch->directory, launch->is_shared ? 0666 : 0600, program,
				 os->limit_bytes, &os->file, &error))
		sn_command_warn("the operating system is not recorded: %s", error.text);
}

static void append(char *text, size_t bytes, const char *more)
{
	size_t used = strlen(text);
	snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", more);
}

/* One line for all sources that are missing for one reason. */
static void say_gap(const struct sn_os_coverage *coverage, int first)
{
	const struct sn_os_gap *gap = coverage->gaps + first;
	char names[512] = "";
	for (int source = first; source < SN_OS_SOURCES; source++)
		if (coverage->gaps[source].is_missing &&
		    !strcmp(coverage->gaps[source].why, gap->why))
			append(names, sizeof(names), sn_os_source_text((enum sn_os_source)source));
	sn_command_warn("not recorded: %s: %s%s%s", names, gap->why, *gap->fix ? "; " : "",
			gap->fix);
}

static void say_gaps(const struct sn_os_coverage *coverage)
{
	for (int source = 0; source < SN_OS_SOURCES; source++) {
		bool is_said = !coverage->gaps[source].is_missing;
		for (int earlier = 0; earlier < source; earlier++)
			is_said |= coverage->gaps[earlier].is_missing &&
				   !strcmp(coverage->gaps[earlier].why, coverage->gaps[source].why);
		if (!is_said)
			say_gap(coverage, source);
	}
}

void sn_run_os_begin(void *context, int pid)
{
	struct sn_run_os *os = context;
	struct sn_os_coverage coverage;
	struct sn_error error = {""};
	if (!os->file)
		return;
	if (sn_os_recorder_start(&os->options, pid, os->file, &os->recorder, &coverage, &error))
		sn_command_warn("%s", error.text);
	else
		say_gaps(&coverage);
}

void sn_run_os_end(struct sn_run_os *os)
{
	sn_os_recorder_stop(os->recorder, &os->result);
	sn_trace_file_close(os->file);
	os->recorder = NULL;
	os->file = NULL;
	if (os->result.losses[SN_OS_LOSS_RECORDS])
		sn_command_warn("the kernel lost %llu records of the operating system: its buffers "
				"were full; record fewer sources (--os=scheduler)",
				(unsigned long long)os->result.losses[SN_OS_LOSS_RECORDS]);
}
