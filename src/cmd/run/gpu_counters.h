/* SPDX-License-Identifier: Apache-2.0 */
/* --gpu-counters NAME[,NAME...]: hardware counters of the kernels that devices execute; --gpu-metrics NAME[,NAME...][@RATE]: of devices
 * over time. */
#pragma once

#include "launch.h"
#include "sonde/db.h"

struct sn_options;

/* For a struct sn_option, where `context` is a struct sn_launch_request. */
int sn_run_gpu_counters(void *context, const struct sn_options *options, const char *text);
int sn_run_gpu_metrics(void *context, const struct sn_options *options, const char *text);
/* 0, or the exit status after having said which options exclude each other. */
int sn_run_gpu_counters_check(const struct sn_launch_request *launch);
/* One line on standard error where metrics were asked for and there are none. */
void sn_run_gpu_metrics_tell_none(const struct sn_launch_request *launch,
				  const struct sonde_db *db);
/* Says what either does to the program, before that runs: a line where it is asked for. */
void sn_run_gpu_counters_tell(const struct sn_launch_request *launch);
