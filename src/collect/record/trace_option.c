/* SPDX-License-Identifier: Apache-2.0 */
/* Reads SONDE_TRACE and the other settings of recording from the environment. */
#include "trace_option.h"

#include "collect/core/line.h"
#include "collect/core/clock.h"
#include "trace.h"

#include "format/trace_file/trace_file.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SOURCES	    "samples,operators,api,gpu,regions,messages"
#define DEFAULT_LIMIT_BYTES (1ull << 30)
/* Fewer would be taken from each other by a handful of threads. */
#define LEAST_CHUNKS	    16u
#define MOST_CHUNKS	    (1u << 24)

/* enum sn_trace_source, in the order of its bits. */
static const char *const source_names[] = {"samples", "operators", "api",     "gpu",
					   "regions", "memory",	   "messages"};

/* START:LENGTH in milliseconds since the process began; LENGTH 0 is until its end. */
static void parse_window(struct sn_trace_options *options, const char *text)
{
	char *end;
	uint64_t now_ns = sn_now_ns();
	uint64_t start_ms = strtoull(text, &end, 10);
	uint64_t length_ms = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
	options->window_start_ns = now_ns + start_ms * 1000000u;
	options->window_end_ns =
	    length_ms ? options->window_start_ns + length_ms * 1000000u : UINT64_MAX;
}

static void parse_limit(struct sn_trace_options *options, const char *text)
{
	uint64_t bytes = text && *text ? strtoull(text, NULL, 10) : DEFAULT_LIMIT_BYTES;
	options->limit_chunks = bytes / SN_TRACE_CHUNK_BYTES;
	if (bytes && options->limit_chunks < LEAST_CHUNKS)
		options->limit_chunks = LEAST_CHUNKS;
	if (options->limit_chunks > MOST_CHUNKS)
		options->limit_chunks = MOST_CHUNKS;
}

void sn_trace_options_read(struct sn_trace_options *options)
{
	const char *list = getenv("SONDE_TRACE"), *window = getenv("SONDE_TRACE_WINDOW_MS");
	const char *paused = getenv("SONDE_TRACE_PAUSED"), *signal = getenv("SONDE_TRACE_SIGNAL");
	const char *metrics = getenv("SONDE_GPU_METRICS");
	*options = (struct sn_trace_options){.window_end_ns = UINT64_MAX};
	if (list && *list)
		options->sources =
		    sn_parse_names(strcmp(list, "default") ? list : DEFAULT_SOURCES, source_names,
				   sizeof(source_names) / sizeof(*source_names));
	if (metrics && *metrics)
		options->sources |= SN_TRACE_SOURCE_METRICS;
	if (!options->sources)
		return;
	options->is_paused = paused && *paused == '1';
	options->signal = signal && *signal ? (int)strtoull(signal, NULL, 10) : 0;
	parse_limit(options, getenv("SONDE_TRACE_LIMIT"));
	if (window && *window)
		parse_window(options, window);
}
