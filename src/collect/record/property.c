/* SPDX-License-Identifier: Apache-2.0 */
/* Describes this process image; see property.h. */
#include "property.h"
#include "collect/core/adapters.h"
#include "collect/core/line.h"
#include "collect/sample/sample.h"
#include "collect/core/thread.h"

#include "format/secret.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#define VALUE_BYTES 4096u

static char properties[SN_PROPERTY_MAX][SN_PROPERTY_LINE_BYTES];
static _Atomic uint32_t property_count;
static uint64_t start_ns;

static size_t make_line(char *text, const char *key, const char *value)
{
	struct sn_line line = {text, SN_PROPERTY_LINE_BYTES, 0};
	SN_LINE_ADD(&line, key, "=", value);
	return line.length + 1;
}

static size_t make_number_line(char *text, const char *key, uint64_t number)
{
	char digits[24];
	struct sn_line line = SN_LINE(digits);
	sn_line_add_number(&line, number);
	return make_line(text, key, digits);
}

/* The property of that key among the first `count`; `count` for none. */
static uint32_t find(const char *key, uint32_t count)
{
	size_t length = strlen(key);
	uint32_t index = 0;
	while (index < count &&
	       (strncmp(properties[index], key, length) || properties[index][length] != '='))
		index++;
	return index;
}

void sn_property_set(const char *key, const char *value)
{
	uint32_t count = atomic_load_explicit(&property_count, memory_order_relaxed);
	uint32_t index = find(key, count);
	if (index == SN_PROPERTY_MAX)
		return;
	make_line(properties[index], key, value);
	/* release: a checkpoint that sees the count sees the text */
	if (index == count)
		atomic_store_explicit(&property_count, count + 1, memory_order_release);
}

void sn_property_set_number(const char *key, uint64_t number)
{
	char digits[24];
	struct sn_line line = SN_LINE(digits);
	sn_line_add_number(&line, number);
	sn_property_set(key, digits);
}

static bool needs_quotes(const char *argument)
{
	return !*argument || strpbrk(argument, " \t\n'\"\\$`*?<>|&;()#~");
}

static void add_quoted(struct sn_line *line, const char *argument)
{
	/* what is masked is readable as it is */
	bool quotes = needs_quotes(argument) && strcmp(argument, SN_SECRET_MASK) != 0;
	sn_line_add(line, quotes ? "'" : "");
	for (const char *at = argument; *at; at++)
		sn_line_add(line, *at == '\'' ? "'\\''" : (char[]){*at, 0});
	sn_line_add(line, quotes ? "'" : "");
}

/* The arguments as a shell would take them, from their NUL-separated list, without secrets. */
static void quote_command(const char *arguments, size_t bytes, bool is_cut, char *command)
{
	static char masked[VALUE_BYTES];
	struct sn_line line = {command, VALUE_BYTES, 0};
	struct sn_secrets secrets = {0};
	for (const char *argument = arguments; argument < arguments + bytes;
	     argument += strlen(argument) + 1) {
		sn_line_add(&line, argument == arguments ? "" : " ");
		/* half a secret would not be known as one */
		if (is_cut && argument + strlen(argument) >= arguments + bytes) {
			sn_line_add(&line, "...");
			return;
		}
		sn_secret_mask(&secrets, argument, masked, sizeof(masked));
		add_quoted(&line, masked);
	}
}

/* At the start, and in the child of a fork, when there is one thread: no need of its stack. */
static void set_command(void)
{
	static char arguments[VALUE_BYTES], command[SN_PROPERTY_LINE_BYTES];
	size_t bytes = sn_config.no_command ? 0
					    : sn_read_text(AT_FDCWD, "/proc/self/cmdline",
							   arguments, sizeof(arguments));
	if (!bytes)
		return;
	quote_command(arguments, bytes, bytes == sizeof(arguments) - 1, command);
	sn_property_set("command", command);
}

static void set_link(const char *key, const char *path)
{
	char target[VALUE_BYTES];
	ssize_t bytes = readlink(path, target, sizeof(target) - 1);
	if (bytes < 0)
		return;
	target[bytes] = 0;
	sn_property_set(key, target);
}

static void set_rank(void)
{
	static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",	"PMIX_RANK",
						"MV2_COMM_WORLD_RANK",	"SLURM_PROCID", "RANK"};
	for (size_t index = 0; index < sizeof(variables) / sizeof(*variables); index++) {
		const char *rank = getenv(variables[index]);
		if (!rank || !*rank)
			continue;
		sn_property_set("rank", rank);
		return;
	}
}

bool sn_property_has(const char *key)
{
	uint32_t count = atomic_load_explicit(&property_count, memory_order_acquire);
	return find(key, count) < count;
}

static void set_clocks(void)
{
	start_ns = sn_now_ns();
	sn_property_set_number("start_realtime_ns", sn_clock_ns(CLOCK_REALTIME));
	sn_property_set_number("start_monotonic_ns", start_ns);
}

const char *const sn_source_names[SN_SOURCE_COUNT] = {"python", "operator", "native", "region"};

static void set_sources(void)
{
	char sources[64];
	struct sn_line line = SN_LINE(sources);
	sources[0] = 0;
	for (unsigned i = 0; i < SN_SOURCE_COUNT; i++)
		if (sn_config.sources & 1u << i)
			SN_LINE_ADD(&line, line.length ? "," : NULL, sn_source_names[i]);
	sn_property_set("call_path", sources);
}

void sn_properties_init(void)
{
	struct utsname host;
	sn_property_set("version", SN_VERSION);
	set_link("program", "/proc/self/exe");
	set_link("cwd", "/proc/self/cwd");
	set_command();
	if (!uname(&host))
		sn_property_set("host", host.nodename);
	sn_property_set_number("pid", (uint64_t)getpid());
	sn_property_set_number("ppid", (uint64_t)getppid());
	set_rank();
	set_clocks();
	sn_property_set("events", sn_config.events);
	set_sources();
}

static uint64_t time_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

/* NULL beyond the last. */
static const struct sn_adapter *adapter_with_status(uint32_t index)
{
	for (uint32_t slot = 0; slot < sn_adapter_count(); slot++)
		if (sn_adapter_at(slot)->status && sn_adapter_at(slot)->status() && !index--)
			return sn_adapter_at(slot);
	return NULL;
}

/* Properties whose values are read when they are written. */
static size_t live_line(uint32_t index, const char *exit_text, char *line)
{
	struct rusage used = {0};
	switch (index) {
	case 0:
		return make_line(line, "exit", exit_text);
	case 1:
		return make_number_line(line, "duration_ns", sn_now_ns() - start_ns);
	case 2:
		return make_number_line(line, "peak_bytes", sn_pages_peak_bytes());
	case 3:
		return make_number_line(line, "threads", sn_threads_met());
	case 4:
		return make_line(line, "sampling", sn_sampling_status());
	case 5:
		return make_number_line(line, "process_cpu_ns",
					sn_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	case 6:
		getrusage(RUSAGE_CHILDREN, &used);
		return make_number_line(line, "children_cpu_ns",
					time_ns(&used.ru_utime) + time_ns(&used.ru_stime));
	case 7:
		getrusage(RUSAGE_SELF, &used);
		return make_number_line(line, "resident_bytes", (uint64_t)used.ru_maxrss * 1024u);
	}
	const struct sn_adapter *adapter = adapter_with_status(index - 8);
	if (!adapter)
		return 0;
	char key[64];
	struct sn_line name = SN_LINE(key);
	SN_LINE_ADD(&name, "adapter.", adapter->name);
	return make_line(line, key, adapter->status());
}

size_t sn_property_line(uint32_t index, const char *exit_text, char line[SN_PROPERTY_LINE_BYTES])
{
	uint32_t count = atomic_load_explicit(&property_count, memory_order_acquire);
	if (index >= count)
		return live_line(index - count, exit_text, line);
	size_t bytes = strlen(properties[index]) + 1;
	memcpy(line, properties[index], bytes);
	return bytes;
}
