/* SPDX-License-Identifier: Apache-2.0 */
/* See sampling.h. */
#include "sampling.h"

#include "base/utf8.h"
#include "base/vec.h"
#include "record/already.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

enum { STACK_LEAST = 1 << 10 };

static bool is_named(const struct sn_sampling_choice *sampling, pid_t pid)
{
	for (size_t number = 0; number < sampling->process_count; number++)
		if (sampling->processes[number] == pid)
			return true;
	return false;
}

int sn_sampling_parse_processes(void *context, const struct sn_options *options, const char *text)
{
	struct sn_sampling_choice *sampling = context;
	for (const char *item = text;; item++) {
		char *end;
		errno = 0;
		long pid = strtol(item, &end, 10);
		if (end == item || errno || pid < 1 || pid > INT_MAX || (*end && *end != ','))
			return sn_options_refuse(options, "--pid", text, "no list of processes");
		if (!is_named(sampling, (pid_t)pid) &&
		    sn_vec_push(&sampling->processes, &sampling->process_capacity,
				&sampling->process_count, (pid_t)pid))
			return sn_command_fail("out of memory");
		if (!*end)
			return 0;
		item = end;
	}
}

int sn_sampling_parse_stack(void *context, const struct sn_options *options, const char *text)
{
	struct sn_sampling_choice *sampling = context;
	double bytes = sn_options_bytes(text);
	if (bytes != 0 && !(bytes >= STACK_LEAST && bytes <= SN_SAMPLER_STACK_MOST))
		return sn_options_refuse(options, "--stack", text,
					 "neither 0 nor a size from 1K to 63K");
	sampling->options.stack_bytes = (uint32_t)bytes & ~7u;
	return 0;
}

void sn_sampling_init(struct sn_sampling_choice *sampling)
{
	*sampling = (struct sn_sampling_choice){
	    .options = {.rate = SN_SAMPLING_RATE, .stack_bytes = SN_SAMPLING_STACK}};
}

void sn_sampling_release(struct sn_sampling_choice *sampling)
{
	free(sampling->processes);
}

int sn_sampling_start(struct sn_sampling_choice *sampling, struct sn_sampler **sampler,
		      struct sn_error *error)
{
	struct sn_sampler_options *options = &sampling->options;
	options->processes = sampling->processes;
	options->process_count = sampling->process_count;
	options->reads_python = !sampling->no_python;
	int result = sn_sampler_start(options, sampler, error);
	if (!result && sn_sampler_rate(*sampler) < options->rate)
		sn_command_warn("the kernel allows %u samples a second, not %u "
				"(kernel.perf_event_max_sample_rate)",
				sn_sampler_rate(*sampler), options->rate);
	return result;
}

void sn_sampling_what(const struct sn_sampling_choice *sampling, char *text, size_t size)
{
	char name[64] = "?", shown[96];
	pid_t pid = sampling->process_count ? sampling->processes[0] : 0;
	if (!pid) {
		snprintf(text, size, "all processes");
	} else if (sampling->process_count > 1) {
		snprintf(text, size, "%zu processes", sampling->process_count);
	} else {
		sn_already_name(pid, pid, name);
		sn_utf8_clean(name, shown, sizeof(shown));
		snprintf(text, size, "process %d (%s)", pid, shown);
	}
}

sigset_t sn_sampling_ending_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t ends;
	sigemptyset(&ends);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		struct sigaction action;
		if (!sigaction(numbers[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&ends, numbers[i]);
	}
	return ends;
}

int sn_sampling_import(struct sn_import_request *request, int fd, const char *output,
		       struct sn_import_counts *counts, struct sn_error *error)
{
	char path[64];
	const char *paths[] = {path};
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	request->paths = paths;
	request->path_count = 1;
	const struct sn_importer *importer = sn_importer_recognise(paths, 1, error);
	return importer ? sn_import(importer, request, output, counts, error) : SN_ERR_FORMAT;
}
