/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ITT tasks as regions. The static part of ittnotify that a program or PyTorch carries loads the
 * library named by INTEL_LIBITTNOTIFY64 and hands it its list of function pointers. Where a library
 * is loaded, its newer versions leave the making of domains and names to that library. The rest of
 * the list gets its built-in forms.
 *
 * Only tasks are taken: frames, counters and synchronisation of ITT are left alone.
 */
#include "collect/intercept/intercept.h"
#include "collect/core/keep.h"
#include "region.h"
#include "collect/core/thread.h"

#include <pthread.h>
#include <string.h>

/* Layouts of ittnotify, fixed since its version 3. */
struct itt_id {
	unsigned long long part[3];
};
struct itt_string_handle {
	const char *narrow;
	const wchar_t *wide;
	int extra;
	void *more;
	struct itt_string_handle *next;
};
struct itt_domain {
	volatile int enabled;
	struct itt_string_handle name;
};

/* One function of the static part: `*function` is what its callers call. */
struct itt_function {
	const char *name;
	void **function;
	void *at_first;
	void *built_in;
	int group;
};

struct itt_global {
	unsigned char magic[8];
	unsigned long version[3];
	long state[3];
	pthread_mutex_t mutex;
	void *library;
	void *error_handler;
	const char **path;
	struct itt_function *functions; /* ended by one without a name */
};

/* A name, as a handle and as a domain: nothing is told apart by domains. */
struct name {
	struct itt_string_handle handle;
	struct itt_domain domain;
	struct name *next;
};

/* The one record of a name; NULL without memory. */
static const struct name *name_of(const char *text)
{
	static _Atomic(struct name *) all;
	if (!text)
		return NULL;
	/* acquire: records were complete when they were linked */
	struct name *first = atomic_load_explicit(&all, memory_order_acquire);
	for (const struct name *known = first; known; known = known->next)
		if (!strcmp(known->handle.narrow, text))
			return known;
	struct name *name = sn_keep(sizeof(*name));
	char *copy = sn_keep(strlen(text) + 1);
	if (!name || !copy)
		return NULL;
	strcpy(copy, text);
	name->handle.narrow = name->domain.name.narrow = copy;
	name->domain.enabled = 1;
	name->next = first;
	/* release: complete before it is linked; a thread that loses the race links a
	 * second one of that name */
	while (!atomic_compare_exchange_weak_explicit(&all, &name->next, name, memory_order_release,
						      memory_order_relaxed))
		continue;
	return name;
}

static const struct itt_string_handle *string_create(const char *text)
{
	const struct name *name = name_of(text);
	return name ? &name->handle : NULL;
}

static const struct itt_domain *domain_create(const char *text)
{
	const struct name *name = name_of(text);
	return name ? &name->domain : NULL;
}

static void task_begin(const struct itt_domain *domain, struct itt_id task, struct itt_id parent,
		       const struct itt_string_handle *name)
{
	const char *text = name && name->narrow ? name->narrow : "task";
	SN_REGION_BEGIN(.name = text, .length = strlen(text), .stack = SN_CALLER_STACK,
			.origin = SN_REGION_EITHER, .user = SN_REGION_ITT);
}

static void task_end(const struct itt_domain *domain)
{
	sn_region_end(SN_REGION_ITT, 0);
}

static const struct {
	const char *name;
	void *function;
} provided[] = {
    {"__itt_domain_create", (void *)domain_create},
    {"__itt_string_handle_create", (void *)string_create},
    {"__itt_task_begin", (void *)task_begin},
    {"__itt_task_end", (void *)task_end},
};

SN_PUBLIC(void, __itt_api_init, (struct itt_global * global, int groups))
{
	bool wanted = sn_measuring() && (sn_config.sources & SN_SOURCE_REGION);
	for (struct itt_function *entry = global->functions; entry->name; entry++) {
		*entry->function = entry->built_in;
		for (size_t i = 0; wanted && i < sizeof(provided) / sizeof(*provided); i++)
			if (!strcmp(entry->name, provided[i].name))
				*entry->function = provided[i].function;
	}
}
