/* SPDX-License-Identifier: Apache-2.0 */
/* How long each operation takes. */
#include "plan.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy's and a set's first microseconds, and what they do in each nanosecond after. */
#define COPY_FIRST_NS	    1500u
#define SET_FIRST_NS	    900u
#define HOST_BYTES_PER_NS   25u
#define DEVICE_BYTES_PER_NS 1000u

struct rule {
	char pattern[200];
	uint64_t ns;
	int device; /* -1: any */
};

static struct rule *rules;
static size_t rule_count;
static const char *touching; /* FAKE_TOUCH, NULL: none */

/* Lines of "PATTERN NANOSECONDS [DEVICE]" for names of kernels, the first that fits; # begins a comment. */
static void read_rules(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[300];
	if (!file) {
		fprintf(stderr, "fake device: cannot open the plan %s\n", path);
		exit(128);
	}
	while (fgets(line, sizeof(line), file)) {
		struct rule rule = {.device = -1};
		unsigned long long ns;
		if (line[0] == '#' ||
		    sscanf(line, "%199s %llu %d", rule.pattern, &ns, &rule.device) < 2)
			continue;
		rule.ns = ns;
		rules = realloc(rules, (rule_count + 1) * sizeof(*rules));
		rules[rule_count++] = rule;
	}
	fclose(file);
}

void fake_plan_load(void)
{
	const char *path = getenv("FAKE_PLAN");
	touching = getenv("FAKE_TOUCH");
	if (path && *path)
		read_rules(path);
}

/* Between 2 and 18 microseconds, by its name. */
static uint64_t usual(const char *name)
{
	uint32_t hash = 2166136261u;
	for (const char *at = name; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 16777619u;
	return 2000 + hash % 16000;
}

static uint64_t of_kernel(const char *name, int device)
{
	for (size_t index = 0; index < rule_count; index++)
		if ((rules[index].device < 0 || rules[index].device == device) &&
		    !fnmatch(rules[index].pattern, name, 0))
			return rules[index].ns;
	return usual(name);
}

uint64_t fake_plan_ns(const struct fake_operation *operation, int device)
{
	bool on_device = operation->from >= FAKE_DEVICE && operation->to >= FAKE_DEVICE;
	uint64_t ns;
	switch (operation->kind) {
	case FAKE_KERNEL:
		ns = of_kernel(operation->name, device);
		return ns > operation->least_ns ? ns : operation->least_ns;
	case FAKE_COPY:
		return COPY_FIRST_NS +
		       operation->bytes / (on_device ? DEVICE_BYTES_PER_NS : HOST_BYTES_PER_NS);
	case FAKE_SET:
		return SET_FIRST_NS + operation->bytes / DEVICE_BYTES_PER_NS;
	default:
		return 0;
	}
}

bool fake_kernel_touches(const char *name)
{
	return touching && !fnmatch(touching, name, 0);
}
