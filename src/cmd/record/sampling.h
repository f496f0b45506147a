/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde record` and `sonde top` share: what to sample and how, the signals that end it, and the database that it becomes. */
#pragma once

#include "cmd/command.h"
#include "import/core/import_files.h"
#include "record/sampler.h"

#include <signal.h>
#include <sys/types.h>

enum {
	SN_SAMPLING_RATE = 99,
	SN_SAMPLING_RATE_MOST = 10000,
	SN_SAMPLING_STACK = 16 << 10,
};

struct sn_sampling_choice {
	pid_t *processes;
	size_t process_count, process_capacity;
	bool no_python;
	struct sn_sampler_options options;
};

/* Entries of a table of struct sn_option. */
#define SN_SAMPLING_OPTIONS(sampling)                                                              \
	{"pid", 'p', .parse = sn_sampling_parse_processes, .context = &(sampling)},                \
	    {"rate", 'F', SN_OPTION_WHOLE((sampling).options.rate, 1, SN_SAMPLING_RATE_MOST)},     \
	    {"stack", .parse = sn_sampling_parse_stack, .context = &(sampling)},                   \
	{                                                                                          \
		"no-python", .flag = &(sampling).no_python                                         \
	}

int sn_sampling_parse_processes(void *sampling, const struct sn_options *options, const char *text);
int sn_sampling_parse_stack(void *sampling, const struct sn_options *options, const char *text);

void sn_sampling_init(struct sn_sampling_choice *sampling);
void sn_sampling_release(struct sn_sampling_choice *sampling);
/* Starts the sampler; says where it samples less often than it was asked to. */
int sn_sampling_start(struct sn_sampling_choice *sampling, struct sn_sampler **sampler,
		      struct sn_error *error);
/* "process 4711 (python3)", "3 processes", "all processes". */
void sn_sampling_what(const struct sn_sampling_choice *sampling, char *text, size_t size);
/* The signals that end it, but for those that whoever started it has it ignore. */
sigset_t sn_sampling_ending_signals(void);
/* Imports what was sampled into a database. `fd` is a file that holds it; request->paths is set. 0 or a negative enum sn_err. */
int sn_sampling_import(struct sn_import_request *request, int fd, const char *output,
		       struct sn_import_counts *counts, struct sn_error *error);
