/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts and their clocks; see clocks.h. */
#include "clocks.h"

#include "base/arena.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "format/measurement/measurement_trace.h"
#include "trace/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BYTES 64

struct host {
	struct sn_trace_identity identity; /* without its messages */
	char name[HOST_BYTES];
	uint32_t processes, least_rank;
	uint64_t calendar_ns; /* CLOCK_REALTIME less CLOCK_MONOTONIC */
	bool has_calendar;
	uint32_t parent;       /* SN_ID_NONE: the base, or not reached */
	struct sn_clock clock; /* by the parent's */
	int64_t first_ns;      /* of its matched messages */
	uint64_t error_ns;     /* to the base */
	size_t messages, violations;
};

/* What is known of an input. */
struct file {
	uint32_t host; /* SN_ID_NONE: it has no trace */
	uint32_t rank; /* SN_ID_NONE: not known, its messages cannot be matched */
	bool has_messages;
	struct sn_message_keys keys;
};

struct sn_clocks {
	struct host *hosts;
	struct file *files;
	struct sn_messages messages;
	uint32_t host_count, base;
	size_t host_capacity;
};

/* ---- hosts ---- */

static bool is_known(const struct sn_trace_identity *identity)
{
	static const struct sn_trace_identity nothing;
	return memcmp(identity->boot, nothing.boot, sizeof(nothing.boot)) != 0;
}

/* SN_ID_NONE without memory. A file whose clock is not known has a host of its own. */
static uint32_t host_of(struct sn_clocks *clocks, struct sn_trace_identity identity)
{
	identity.messages = 0;
	for (uint32_t i = 0; i < clocks->host_count && is_known(&identity); i++)
		if (!memcmp(&clocks->hosts[i].identity, &identity, sizeof(identity)))
			return i;
	struct host host = {.identity = identity,
			    .least_rank = SN_ID_NONE,
			    .parent = SN_ID_NONE,
			    .error_ns = SN_CLOCK_UNKNOWN};
	return sn_vec_push(&clocks->hosts, &clocks->host_capacity, &clocks->host_count, host)
		   ? SN_ID_NONE
		   : clocks->host_count - 1;
}

static int find_host(struct sn_clocks *clocks, const struct sn_input *input, struct file *file)
{
	char *path = sn_measurement_trace_path(input->path);
	struct sn_trace_reader *reader = NULL;
	int result = 0;
	file->host = file->rank = SN_ID_NONE;
	if (path && !sn_trace_reader_open(path, &reader, NULL)) {
		const struct sn_trace_directory *all = sn_trace_reader_directory(reader);
		file->host = host_of(clocks, all->identity);
		if (file->host == SN_ID_NONE)
			result = SN_ERR_MEMORY;
		else
			clocks->hosts[file->host].processes++;
		file->has_messages = all->identity.messages;
		sn_message_keys_find(all, &file->keys);
	}
	sn_trace_reader_free(reader);
	free(path);
	return result;
}

int sn_clocks_begin_file(struct sn_clocks *clocks, uint32_t number,
			 const struct sn_measurement *measurement)
{
	struct file *file = clocks->files + number;
	if (!measurement->trace)
		return 0;
	if (file->host == SN_ID_NONE) /* a program that still runs has begun it since then */
		file->host =
		    host_of(clocks, sn_trace_reader_directory(measurement->trace)->identity);
	if (file->host == SN_ID_NONE)
		return SN_ERR_MEMORY;
	struct host *host = clocks->hosts + file->host;
	const char *name = sn_measurement_property(measurement, "host");
	if (host->has_calendar)
		return 0;
	host->has_calendar = true;
	host->calendar_ns = sn_measurement_number(measurement, "start_realtime_ns") -
			    sn_measurement_number(measurement, "start_monotonic_ns");
	snprintf(host->name, sizeof(host->name), "%s", name ? name : "");
	return 0;
}

/* ---- messages ---- */

static int read_messages(struct sn_clocks *clocks, uint32_t number,
			 const struct sn_measurement *measurement)
{
	struct file *file = clocks->files + number;
	const char *rank = sn_measurement_property(measurement, "rank");
	struct sn_trace_event event;
	struct sn_recorded_message message;
	int result = 0;
	if (rank && *rank)
		file->rank = (uint32_t)strtoul(rank, NULL, 10);
	if (file->rank < clocks->hosts[file->host].least_rank)
		clocks->hosts[file->host].least_rank = file->rank;
	if (!file->has_messages || !measurement->trace)
		return 0;
	/* what cannot be read ends the messages here, and is reported when events are read */
	while (!result && sn_trace_reader_next(measurement->trace, &event, NULL) > 0)
		if (sn_message_of(&file->keys, &event, number, file->rank, &message))
			result = sn_messages_add(&clocks->messages, &message);
	return result;
}

static int read_files(struct sn_clocks *clocks, const struct sn_pipeline *pipeline)
{
	int result = 0;
	for (uint32_t i = 0; i < pipeline->inputs.count && !result; i++) {
		struct file *file = clocks->files + i;
		struct sn_measurement *measurement;
		bool is_first = file->host != SN_ID_NONE && !clocks->hosts[file->host].has_calendar;
		if ((!is_first && !file->has_messages) ||
		    sn_measurement_open(pipeline->inputs.items[i].path, &measurement, NULL))
			continue;
		result = sn_clocks_begin_file(clocks, i, measurement);
		if (!result)
			result = read_messages(clocks, i, measurement);
		sn_measurement_free(measurement);
	}
	return result;
}

/* ---- the tree ---- */

static uint32_t from_of(const struct sn_clocks *clocks, const struct sn_message_pair *pair)
{
	return clocks->files[pair->from].host;
}

static uint32_t to_of(const struct sn_clocks *clocks, const struct sn_message_pair *pair)
{
	return clocks->files[pair->to].host;
}

/* What passed between two hosts. */
struct passed {
	uint32_t low, high; /* hosts */
	const struct sn_message_pair *pair;
};

SN_SORT_BY(sort_by_hosts, struct passed, const void *, SN_ORDER_BY(a, b, low, high, pair));

/* By hosts. */
static size_t sort_passed(const struct sn_clocks *clocks, struct passed *passed)
{
	size_t count = 0;
	for (size_t i = 0; i < clocks->messages.pair_count; i++) {
		const struct sn_message_pair *pair = clocks->messages.pairs + i;
		uint32_t from = from_of(clocks, pair), to = to_of(clocks, pair);
		if (from != to)
			passed[count++] =
			    (struct passed){from < to ? from : to, from < to ? to : from, pair};
	}
	sort_by_hosts(passed, count, NULL);
	return count;
}

/* How many of those, from the first, are between the same hosts. */
static size_t run_length(const struct passed *passed, size_t count)
{
	size_t length = 1;
	while (length < count && passed[length].low == passed->low &&
	       passed[length].high == passed->high)
		length++;
	return length;
}

/* Host `own` by the other one. */
static int fit(const struct sn_clocks *clocks, const struct passed *passed, size_t count,
	       uint32_t own, struct sn_clock *clock)
{
	int result = 0;
	for (size_t i = 0; i < count && !result; i++) {
		const struct sn_message_pair *pair = passed[i].pair;
		int64_t sent_ns = (int64_t)pair->sent_ns, received_ns = (int64_t)pair->received_ns;
		result = from_of(clocks, pair) == own ? sn_clock_before(clock, sent_ns, received_ns)
						      : sn_clock_after(clock, received_ns, sent_ns);
	}
	return result ? result : sn_clock_fit(clock);
}

/* Each two hosts that something passed between, in the order of `passed`. */
static int find_pairs(const struct sn_clocks *clocks, const struct passed *passed, size_t count,
		      struct sn_clock_pair *pairs, size_t *pair_count)
{
	int result = 0;
	*pair_count = 0;
	for (size_t first = 0, length; first < count && !result; first += length) {
		struct sn_clock clock = {0};
		uint32_t low = passed[first].low;
		length = run_length(passed + first, count - first);
		result = fit(clocks, passed + first, length, low, &clock);
		pairs[(*pair_count)++] =
		    (struct sn_clock_pair){low, passed[first].high, sn_clock_error(&clock)};
		sn_clock_release(&clock);
	}
	return result;
}

/* Gives each host that is reached its parent. */
static int fit_tree(struct sn_clocks *clocks, const struct passed *passed, size_t count,
		    const size_t *parents)
{
	int result = 0;
	size_t pair = 0;
	for (size_t first = 0, length; first < count && !result; first += length, pair++) {
		const uint32_t ends[] = {passed[first].low, passed[first].high};
		length = run_length(passed + first, count - first);
		for (int end = 0; end < 2 && !result; end++) {
			struct host *host = clocks->hosts + ends[end];
			if (parents[ends[end]] != pair)
				continue;
			host->parent = ends[!end];
			result = fit(clocks, passed + first, length, ends[end], &host->clock);
		}
	}
	return result;
}

static void count_messages(struct sn_clocks *clocks)
{
	for (size_t i = 0; i < clocks->messages.pair_count; i++) {
		const struct sn_message_pair *pair = clocks->messages.pairs + i;
		const uint32_t ends[] = {from_of(clocks, pair), to_of(clocks, pair)};
		const uint64_t times[] = {pair->sent_ns, pair->received_ns};
		for (int end = 0; end < 2 && ends[0] != ends[1]; end++) {
			struct host *host = clocks->hosts + ends[end];
			if (!host->messages++ || (int64_t)times[end] < host->first_ns)
				host->first_ns = (int64_t)times[end];
		}
	}
	for (uint32_t i = 1; i < clocks->host_count; i++) {
		const struct host *host = clocks->hosts + i, *base = clocks->hosts + clocks->base;
		if (host->messages > base->messages ||
		    (host->messages == base->messages && host->least_rank < base->least_rank))
			clocks->base = i;
	}
}

static bool is_reached(const struct sn_clocks *clocks, uint32_t host)
{
	return host == clocks->base || clocks->hosts[host].parent != SN_ID_NONE;
}

/* By the base's CLOCK_MONOTONIC; of a host that is not reached, by its own. */
static int64_t to_base(const struct sn_clocks *clocks, uint32_t host, uint64_t at_ns)
{
	int64_t now_ns = (int64_t)at_ns;
	for (; clocks->hosts[host].parent != SN_ID_NONE; host = clocks->hosts[host].parent)
		now_ns = sn_clock_convert(&clocks->hosts[host].clock, now_ns);
	return now_ns;
}

static void measure(struct sn_clocks *clocks)
{
	for (uint32_t i = 0; i < clocks->host_count; i++) {
		uint64_t error_ns = is_reached(clocks, i) ? 0 : SN_CLOCK_UNKNOWN;
		for (uint32_t at = i; clocks->hosts[at].parent != SN_ID_NONE;
		     at = clocks->hosts[at].parent) {
			uint64_t more = sn_clock_error(&clocks->hosts[at].clock);
			error_ns = more == SN_CLOCK_UNKNOWN || error_ns == SN_CLOCK_UNKNOWN
				       ? SN_CLOCK_UNKNOWN
				       : error_ns + more;
		}
		clocks->hosts[i].error_ns = error_ns;
	}
	for (size_t i = 0; i < clocks->messages.pair_count; i++) {
		const struct sn_message_pair *pair = clocks->messages.pairs + i;
		uint32_t from = from_of(clocks, pair), to = to_of(clocks, pair);
		if (to_base(clocks, to, pair->received_ns) < to_base(clocks, from, pair->sent_ns))
			clocks->hosts[to].violations++;
	}
}

static int join(struct sn_clocks *clocks)
{
	struct sn_arena arena = {0};
	size_t pair_count, matched = clocks->messages.pair_count;
	struct passed *passed = sn_arena_array(&arena, struct passed, matched);
	struct sn_clock_pair *pairs = sn_arena_array(&arena, struct sn_clock_pair, matched);
	size_t *parents = sn_arena_array(&arena, size_t, clocks->host_count);
	int result = arena.failed ? SN_ERR_MEMORY : 0;
	count_messages(clocks);
	size_t count = result ? 0 : sort_passed(clocks, passed);
	if (!result)
		result = find_pairs(clocks, passed, count, pairs, &pair_count);
	if (!result)
		result =
		    sn_clock_tree(pairs, pair_count, clocks->host_count, clocks->base, parents);
	if (!result)
		result = fit_tree(clocks, passed, count, parents);
	if (!result)
		measure(clocks);
	sn_arena_release(&arena);
	return result;
}

int sn_clocks_new(struct sn_pipeline *pipeline, struct sn_clocks **created)
{
	struct sn_clocks *clocks = *created = calloc(1, sizeof(*clocks));
	bool has_messages = false;
	if (!clocks)
		return SN_ERR_MEMORY;
	clocks->files = calloc(pipeline->inputs.count + 1, sizeof(*clocks->files));
	int result = clocks->files ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; i < pipeline->inputs.count && !result; i++) {
		result = find_host(clocks, pipeline->inputs.items + i, clocks->files + i);
		has_messages |= clocks->files[i].has_messages;
	}
	/* one clock, and nothing to tie: every file is read once alone */
	if (result || (clocks->host_count < 2 && !has_messages))
		return result;
	result = read_files(clocks, pipeline);
	if (!result)
		/* beyond the links of all files' own */
		result = sn_messages_match(&clocks->messages,
					   ((uint64_t)pipeline->inputs.count << 43) + 1);
	return result ? result : join(clocks);
}

void sn_clocks_free(struct sn_clocks *clocks)
{
	if (!clocks)
		return;
	for (uint32_t i = 0; i < clocks->host_count; i++)
		sn_clock_release(&clocks->hosts[i].clock);
	sn_messages_release(&clocks->messages);
	free(clocks->hosts);
	free(clocks->files);
	free(clocks);
}

/* ---- use ---- */

uint64_t sn_clocks_convert(const struct sn_clocks *clocks, uint32_t file, uint64_t at_ns)
{
	uint32_t host = clocks->files[file].host;
	if (host == SN_ID_NONE)
		return at_ns;
	uint32_t calendar = is_reached(clocks, host) ? clocks->base : host;
	return (uint64_t)to_base(clocks, host, at_ns) + clocks->hosts[calendar].calendar_ns;
}

uint64_t sn_clocks_link(const struct sn_clocks *clocks, uint32_t file,
			const struct sn_trace_event *event)
{
	struct sn_recorded_message message;
	const struct file *of = clocks->files + file;
	return clocks->messages.count && sn_message_of(&of->keys, event, file, of->rank, &message)
		   ? sn_messages_link(&clocks->messages, &message)
		   : 0;
}

uint64_t sn_clocks_group(const struct sn_clocks *clocks, uint32_t file, uint32_t key,
			 uint64_t value)
{
	return key == clocks->files[file].keys.group && key != SN_ID_NONE
		   ? sn_messages_group(&clocks->messages, file, value)
		   : value;
}

/* ---- properties ---- */

static void put(struct sn_db_builder *builder, uint32_t host, const char *key, const char *value)
{
	char name[64];
	snprintf(name, sizeof(name), "clock.%" PRIu32 ".%s", host, key);
	sn_db_builder_property(builder, name, value);
}

static void put_number(struct sn_db_builder *builder, uint32_t host, const char *key, int64_t value)
{
	char name[64];
	snprintf(name, sizeof(name), "clock.%" PRIu32 ".%s", host, key);
	sn_db_builder_property_number(builder, name, value);
}

static void describe_host(const struct sn_clocks *clocks, struct sn_db_builder *builder,
			  uint32_t number, uint32_t entry)
{
	const struct host *host = clocks->hosts + number;
	const struct host *base = clocks->hosts + clocks->base;
	put(builder, entry, "host", host->name);
	put_number(builder, entry, "processes", host->processes);
	put_number(builder, entry, "messages", (int64_t)host->messages);
	put_number(builder, entry, "violations", (int64_t)host->violations);
	put(builder, entry, "joined",
	    number == clocks->base	 ? "base"
	    : host->parent == SN_ID_NONE ? "no"
					 : "yes");
	if (host->parent == SN_ID_NONE)
		return;
	int64_t offset_ns = to_base(clocks, number, (uint64_t)host->first_ns) - host->first_ns;
	put_number(builder, entry, "offset_ns", offset_ns);
	/* how much its calendar was ahead of the base's */
	put_number(builder, entry, "calendar_ns",
		   (int64_t)(host->calendar_ns - base->calendar_ns) - offset_ns);
	put_number(builder, entry, "drift_ppb", (int64_t)sn_clock_drift_ppb(&host->clock));
	if (host->error_ns != SN_CLOCK_UNKNOWN)
		put_number(builder, entry, "error_ns", (int64_t)host->error_ns);
}

void sn_clocks_describe(const struct sn_clocks *clocks, struct sn_pipeline *pipeline)
{
	struct sn_db_builder *builder = pipeline->workers->unified.builder;
	struct sn_analyze_result *result = pipeline->result;
	size_t matched = clocks->messages.pair_count;
	uint32_t entry = 0;
	if (clocks->messages.count) {
		sn_db_builder_property_number(builder, "messages.matched", (int64_t)matched);
		sn_db_builder_property_number(builder, "messages.unmatched",
					      clocks->messages.count - 2 * matched);
	}
	for (uint32_t i = 0; i < clocks->host_count && clocks->host_count > 1; i++) {
		const struct host *host = clocks->hosts + i;
		if (!is_known(&host->identity) && !host->messages)
			continue;
		describe_host(clocks, builder, i, entry++);
		if (is_reached(clocks, i))
			continue;
		if (!result->lone_hosts++)
			snprintf(result->first_lone_host, sizeof(result->first_lone_host), "%s",
				 host->name);
	}
}
