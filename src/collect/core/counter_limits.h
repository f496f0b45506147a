/* SPDX-License-Identifier: Apache-2.0 */
/* What --gpu-counters and --gpu-metrics accept: `sonde run` checks it, and the collector has room for that much. */
#pragma once

#define SN_GPU_COUNTERS_MOST	  32u
#define SN_GPU_COUNTER_NAME_BYTES 128u
/* Samples of metrics in a second. */
#define SN_GPU_METRIC_RATE	  1000u
#define SN_GPU_METRIC_RATE_MOST	  100000u
