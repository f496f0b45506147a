/* SPDX-License-Identifier: Apache-2.0 */
/* Turns records of perf into events. */
#include "decode.h"

/* include/linux/trace_events.h: TRACE_FLAG_HARDIRQ, _SOFTIRQ, _NMI. The numbers are stable, because
 * tools depend on them. */
#define IN_INTERRUPT (0x08 | 0x10 | 0x40)

static const struct {
	struct sn_os_source_info info;
	const char *other, *number, *value, *text;
} kinds[] = {
#define SN_TRACEPOINT(kind, source, scope, path, other, number, value, text)                       \
	[SN_OS_##kind] = {                                                                         \
	    {path, SN_OS_SOURCE_##source, SN_OS_SCOPE_##scope}, other, number, value, text},
#include "tracepoints.def"
#undef SN_TRACEPOINT
};

const struct sn_os_source_info *sn_os_source_info(enum sn_os_event_kind kind)
{
	return &kinds[kind].info;
}

static struct sn_tracepoint_field field_of(const struct sn_tracepoint *tracepoint, const char *name)
{
	const struct sn_tracepoint_field *field = sn_tracepoint_field(tracepoint, name);
	return field ? *field : (struct sn_tracepoint_field){0};
}

void sn_os_layout_init(struct sn_os_layout *layout, enum sn_os_event_kind kind,
		       const struct sn_tracepoint *tracepoint)
{
	layout->flags = field_of(tracepoint, "common_flags");
	layout->thread = field_of(tracepoint, "common_pid");
	layout->other = field_of(tracepoint, kinds[kind].other);
	layout->number = field_of(tracepoint, kinds[kind].number);
	layout->value = field_of(tracepoint, kinds[kind].value);
	layout->text = field_of(tracepoint, kinds[kind].text);
}

static void copy_common(const struct sn_perf_record *record, struct sn_os_event *event)
{
	*event = (struct sn_os_event){.time_ns = record->time_ns,
				      .cpu = record->cpu,
				      .pid = record->pid,
				      .tid = record->tid,
				      .kernel_tid = -1,
				      .text = ""};
}

bool sn_os_decode_sample(const struct sn_os_layout *layout, enum sn_os_event_kind kind,
			 const struct sn_perf_record *record, struct sn_os_event *event)
{
	size_t length;
	const unsigned char *raw = sn_perf_record_raw(record, &length);
	if (!raw)
		return false;
	copy_common(record, event);
	event->kind = kind;
	event->kernel_tid = (int32_t)sn_tracepoint_number(&layout->thread, raw, length);
	event->in_interrupt = sn_tracepoint_number(&layout->flags, raw, length) & IN_INTERRUPT;
	event->other = (int32_t)sn_tracepoint_number(&layout->other, raw, length);
	event->number = sn_tracepoint_number(&layout->number, raw, length);
	event->value = sn_tracepoint_number(&layout->value, raw, length);
	if (layout->text.bytes)
		event->text = sn_tracepoint_text(&layout->text, raw, length, &event->text_length);
	return true;
}

bool sn_os_decode_record(enum sn_os_event_kind fault, const struct sn_perf_record *record,
			 struct sn_os_event *event)
{
	copy_common(record, event);
	event->other = record->child_tid;
	event->number = record->child_pid;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		event->kind = fault;
		event->number = (int64_t)record->address;
		return true;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		event->kind =
		    record->misc & PERF_RECORD_MISC_SWITCH_OUT ? SN_OS_SWITCH_OUT : SN_OS_SWITCH_IN;
		event->number = !!(record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		return true;
	case PERF_RECORD_FORK:
		event->kind = SN_OS_THREAD_BEGIN;
		return true;
	case PERF_RECORD_EXIT:
		event->kind = SN_OS_THREAD_END;
		return true;
	case PERF_RECORD_COMM:
		event->kind = SN_OS_NAMED;
		event->text = record->name;
		event->text_length = record->name_length;
		return true;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		event->kind = SN_OS_LOST;
		event->number = (int64_t)record->lost;
		return true;
	default:
		return false;
	}
}
