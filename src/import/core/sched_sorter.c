/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the scheduler's events by time and feeds them to its state machine. */
#include "sched_sorter.h"

#define SORTER_BYTES (64u << 20)

int sn_sched_sorter_add(struct sn_sorter **sorter, const struct sn_sched_record *record)
{
	struct sn_attribute attributes[] = {{record->kind, 0, record->state},
					    {record->kind, 0, record->other}};
	struct sn_event event = {.start_ns = record->time_ns,
				 .end_ns = record->time_ns,
				 .link = (uint64_t)record->cpu << 32 | record->tid,
				 .context = record->name,
				 .metric = SONDE_NONE,
				 .kind = SONDE_TRACK_INSTANTS,
				 .attribute_count = 2,
				 .attributes = attributes};
	if (!*sorter)
		*sorter = sn_sorter_new(SORTER_BYTES, NULL);
	if (!*sorter)
		return SN_ERR_MEMORY;
	sn_sorter_add(*sorter, &event);
	return 0;
}

static int feed(struct sn_sched *sched, const struct sn_event *event)
{
	uint32_t cpu = (uint32_t)(event->link >> 32), tid = (uint32_t)event->link;
	uint32_t other = (uint32_t)event->attributes[1].value;
	bool could_go_on;
	char why = sn_sched_letter(event->attributes[0].value, &could_go_on);
	switch ((enum sn_sched_kind)event->attributes[0].key) {
	case SN_SCHED_SWITCH:
		return sn_sched_switch(sched, event->start_ns, cpu, other, could_go_on, why, tid);
	case SN_SCHED_OUT:
		return sn_sched_out(sched, event->start_ns, cpu, tid, could_go_on, why);
	case SN_SCHED_IN:
		return sn_sched_in(sched, event->start_ns, cpu, tid);
	default:
		return sn_sched_wake(sched, event->start_ns, tid, other);
	}
}

int sn_sched_sorter_feed(struct sn_sorter *sorter, struct sn_sched *sched,
			 int (*name)(void *context, uint32_t tid, uint32_t name), void *context,
			 struct sn_error *error)
{
	struct sn_event event;
	int result = sn_sorter_finish(sorter, error);
	if (!result)
		result = sn_sorter_begin(sorter, 0, error);
	while (!result && (result = sn_sorter_next(sorter, &event, error)) > 0) {
		result = name ? name(context, (uint32_t)event.link, event.context) : 0;
		if (!result)
			result = feed(sched, &event);
		if (result)
			sn_fail_memory(error);
	}
	return result;
}
