/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for tests/cli/collect/test_monitor.py: prints operators and device calls with their values to the
 * file MONITOR_OUT, and at the begin of an operator the kinds of frame of its path, made of Python and
 * operators alone.
 */
#include <sonde/monitor.h>

#include <stdio.h>
#include <stdlib.h>

#define FRAMES_MOST 256

static FILE *out;

static void print_kinds(void)
{
	static __thread struct sonde_frame frames[FRAMES_MOST];
	long count = sonde_monitor_callpath(SONDE_SOURCE_PYTHON | SONDE_SOURCE_OPERATOR, frames,
					    FRAMES_MOST);
	fprintf(out, "\tpath");
	for (long i = 0; i < count && i < FRAMES_MOST; i++)
		fprintf(out, " %u:%.*s", frames[i].kind, (int)frames[i].name_length,
			frames[i].name ? frames[i].name : "");
}

static void on_event(const struct sonde_event *event, void *user)
{
	flockfile(out);
	fprintf(out, "%u\t%.*s", event->kind, (int)event->name_length, event->name);
	for (uint32_t i = 0; i < event->value_count; i++) {
		const struct sonde_value *value = &event->values[i];
		fprintf(out, "\t%.*s,%u,%lx,%lx,%lu", (int)value->name_length,
			value->name ? value->name : "", value->index, (unsigned long)value->value,
			(unsigned long)value->storage, (unsigned long)value->bytes);
	}
	if (event->kind == SONDE_OPERATOR_BEGIN)
		print_kinds();
	fprintf(out, "\n");
	funlockfile(out);
}

int sonde_tool_start(void);
int sonde_tool_start(void)
{
	out = fopen(getenv("MONITOR_OUT"), "a");
	sonde_monitor_init(SONDE_MONITOR_VERSION);
	fprintf(out, "want %d %d %d\n", sonde_monitor_want_values(SONDE_FRAMEWORK),
		sonde_monitor_want_values(SONDE_GPU), sonde_monitor_want_values(SONDE_OS));
	sonde_monitor_register(SONDE_FRAMEWORK, on_event, NULL);
	return sonde_monitor_register(SONDE_GPU, on_event, NULL);
}

void sonde_tool_stop(void);
void sonde_tool_stop(void)
{
	fclose(out);
}
