/* SPDX-License-Identifier: Apache-2.0 */
/* --gpu-samples[=MODE[@CYCLES]]: samples of the instructions that CUDA and HIP devices execute; --gpu-samples-in NAME: in some regions alone. */
#pragma once

#include "launch.h"
#include "sonde/db.h"

struct sn_options;

/* For a struct sn_option, where `context` is a struct sn_launch_request. */
int sn_run_gpu_samples(void *context, const struct sn_options *options, const char *text);
int sn_run_gpu_samples_in(void *context, const struct sn_options *options, const char *text);
/* After all options are known: 0, or SN_EXIT_USAGE after having said what is wrong. */
int sn_run_gpu_samples_check(const struct sn_launch_request *launch,
			     const struct sn_options *options);
/* Says what the mode does to the program, before that runs: a line where it is asked for. */
void sn_run_gpu_samples_tell(const struct sn_launch_request *launch);
/* One line on standard error where they were asked for and there are none. */
void sn_run_gpu_samples_tell_none(const struct sn_launch_request *launch,
				  const struct sonde_db *db);
