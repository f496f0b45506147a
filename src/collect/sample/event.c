/* SPDX-License-Identifier: Apache-2.0 */
/* Parses names and rates of events. */
#include "event.h"

#include "collect/core/line.h"

#include <linux/perf_event.h>
#include <string.h>

struct known_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	uint64_t period; /* events between two samples where the user gives none; 0: counted only */
};

#define CACHE(cache, operation, result)                                                            \
	((uint64_t)PERF_COUNT_HW_CACHE_##cache |                                                   \
	 (uint64_t)PERF_COUNT_HW_CACHE_OP_##operation << 8 |                                       \
	 (uint64_t)PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/*
 * Scheduling events are only counted: their overflow signal would reach the thread as it goes to
 * sleep and wake it up again.
 */
static const struct known_event known_events[] = {
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 100},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 100},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 0},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 100},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS, 100},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 10000000},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 10000000},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 100000},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 10000},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 1000000},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 10000},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, 1000000},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 10000000},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, 1000000},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, 1000000},
    {"L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS), 1000000},
    {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), 100000},
    {"LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), 100000},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), 10000},
    {"dTLB-loads", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS), 1000000},
    {"dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), 10000},
    {"iTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS), 10000},
};
#define KNOWN_COUNT (sizeof(known_events) / sizeof(known_events[0]))

void sn_event_names(const char **names, size_t room)
{
	static const char *const own[] = {"cpu-time", "real-time", "none"};
	size_t count = 0;
	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && count + 1 < room; i++)
		names[count++] = own[i];
	for (size_t i = 0; i < KNOWN_COUNT && count + 1 < room; i++)
		names[count++] = known_events[i].name;
	names[count] = NULL;
}

/* A processor's own event as perf writes it: r and its hexadecimal number. */
static bool parse_raw(struct sn_sample_event *event)
{
	const char *number = event->name + 1, *end = sn_parse_number(number, 16, &event->config);
	if (event->name[0] != 'r' || end == number || *end)
		return false;
	event->type = PERF_TYPE_RAW;
	event->rate = 1000000;
	return true;
}

static bool parse_name(struct sn_sample_event *event)
{
	if (!strcmp(event->name, "cpu-time") || !strcmp(event->name, "real-time")) {
		event->source = event->name[0] == 'c' ? SN_EVENT_CPU_TIME : SN_EVENT_REAL_TIME;
		event->is_rate = true;
		event->rate = SN_EVENT_DEFAULT_HZ;
		return true;
	}
	event->source = SN_EVENT_PERF;
	for (size_t index = 0; index < KNOWN_COUNT; index++) {
		if (strcmp(event->name, known_events[index].name))
			continue;
		event->type = known_events[index].type;
		event->config = known_events[index].config;
		event->rate = known_events[index].period;
		return true;
	}
	return parse_raw(event);
}

/* What follows '@', up to `end`. */
static bool parse_rate(struct sn_sample_event *event, const char *text, const char *end)
{
	bool is_counted = event->source == SN_EVENT_PERF && event->rate == 0;
	const char *number = text;
	text = sn_parse_number(number, 10, &event->rate);
	if (text == number || !event->rate || is_counted)
		return false;
	if (end - text == 2 && !strncmp(text, "Hz", 2)) {
		event->is_rate = true;
		text = end;
	}
	return text == end && (!event->is_rate || event->rate <= SN_EVENT_HIGHEST_HZ);
}

static bool parse_item(const char *item, const char *end, struct sn_sample_event *event)
{
	const char *at = memchr(item, '@', (size_t)(end - item));
	size_t length = (size_t)((at ? at : end) - item);
	*event = (struct sn_sample_event){0};
	if (!length || length >= sizeof(event->name))
		return false;
	memcpy(event->name, item, length);
	return parse_name(event) && (!at || parse_rate(event, at + 1, end));
}

bool sn_events_are_none(const char *list)
{
	return !strcmp(list, "none");
}

int sn_events_parse(const char *list, struct sn_sample_event *events, const char **wrong)
{
	int count = 0;
	if (sn_events_are_none(list))
		return 0;
	for (const char *item = list; *item; count++) {
		const char *end = strchrnul(item, ',');
		*wrong = item;
		if (count == SN_EVENT_MAX)
			return -2;
		if (!parse_item(item, end, &events[count]))
			return -1;
		item = *end ? end + 1 : end;
	}
	return count;
}
