/* SPDX-License-Identifier: Apache-2.0 */
/* Recording the operating system; see run_os.h. */
#include "run_os.h"

#include "cmd/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
