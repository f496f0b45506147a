/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX in an Nsight Systems export: push/pop ranges nest and become calls; start/end ranges overlap
 * and stand alone; marks are instants.
 *
 * PyTorch's emit_nvtx writes its data of an operator into the name: "aten::mul, seq = 46174, op_id
 * = 993406, sizes = [[2, 3]]". It is taken apart, so that all calls of an operator share a context
 * and backward operators find their forward ones.
 */
#include "nsys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of ENUM_NSYS_EVENT_TYPE; each second one is of the NVTXT format. */
enum {
	MARK = 34,
	PUSH_POP = 59,
	START_END = 60,
	TEXT_MARK = 65,
	TEXT_PUSH_POP = 70,
	TEXT_START_END = 71,
	DOMAIN_CREATE = 75,
};

static const char *const columns[] = {"start",	  "end",	"eventType", "globalTid",
				      "text",	  "textId",	"domainId",  "category",
				      "jsonText", "jsonTextId", NULL};
enum { START, END, TYPE, THREAD, TEXT, TEXT_ID, DOMAIN, CATEGORY, JSON, JSON_ID };

static const char *text_of(struct sn_nsys *nsys, sqlite3_stmt *row, int text, int id)
{
	if (!sn_sqlite_is_null(row, text))
		return sn_sqlite_text(row, text);
	return sn_sqlite_is_null(row, id) ? ""
					  : sn_nsys_string(nsys, sqlite3_column_int64(row, id));
}

/* The length of the operator's name before what emit_nvtx appends; 0 if emit_nvtx did
 * not write it. */
static size_t operator_length(const char *text)
{
	const char *sequence = strstr(text, ", seq = "), *id = strstr(text, ", op_id = ");
	const char *end = sequence ? sequence : id;
	return end ? (size_t)(end - text) : 0;
}

static void put_operator(struct sn_nsys *nsys, const char *text,
			 struct sn_track_attributes *attributes)
{
	const char *sequence = strstr(text, ", seq = "), *sizes = strstr(text, ", sizes = ");
	if (sequence)
		sn_track_attributes_put(attributes, nsys->known[SN_TRACK_KEY_SEQUENCE],
					strtoull(sequence + 8, NULL, 10));
	if (sizes)
		sn_track_attributes_put(attributes, nsys->keys[SN_NSYS_KEY_SIZES],
					sn_db_builder_string(nsys->builder, sizes + 10));
}

/* The name "domain:text" if the domain has a name. */
static int range_name(struct sn_nsys *nsys, sqlite3_stmt *row, const char *text,
		      enum sn_activity_category category, uint32_t *name)
{
	int64_t domain = sqlite3_column_int64(row, DOMAIN);
	char key[64], joined[4096];
	snprintf(key, sizeof(key), "%lld/%u", (long long)domain,
		 sn_nsys_process(nsys, sqlite3_column_int64(row, THREAD)));
	uint32_t at = domain ? sn_intern_find(&nsys->domains, key, strlen(key)) : SN_INTERN_NONE;
	size_t length = category == SN_ACTIVITY_OPERATOR ? operator_length(text) : strlen(text);
	if (at == SN_INTERN_NONE || category == SN_ACTIVITY_OPERATOR)
		return sn_track_sink_name(nsys->sink, category, text, length, name);
	snprintf(joined, sizeof(joined), "%s:%s",
		 sn_db_builder_text(nsys->builder, nsys->domain_names[at]), text);
	return sn_track_sink_name(nsys->sink, category, joined, strlen(joined), name);
}

static int add_range(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	enum sn_activity_category category;
	struct sn_track_attributes attributes;
	attributes.count = 0;
	uint32_t name;
	int64_t start = sqlite3_column_int64(row, START);
	/* a range still open lasts until the end of the session */
	int64_t end = sn_sqlite_is_null(row, END) ? nsys->end_ns : sqlite3_column_int64(row, END);
	switch (sqlite3_column_int(row, TYPE)) {
	case MARK:
	case TEXT_MARK:
		category = SN_ACTIVITY_INSTANT;
		end = start;
		break;
	case PUSH_POP:
	case TEXT_PUSH_POP:
		category = SN_ACTIVITY_ANNOTATION;
		break;
	case START_END:
	case TEXT_START_END:
		category = SN_ACTIVITY_RANGE;
		break;
	default: /* names of domains, threads, categories */
		return 0;
	}
	if (!sn_sqlite_is_null(row, CATEGORY))
		sn_track_attributes_put(&attributes, nsys->keys[SN_NSYS_KEY_CATEGORY],
					(uint64_t)sqlite3_column_int64(row, CATEGORY));
	const char *payload = text_of(nsys, row, JSON, JSON_ID);
	if (*payload)
		sn_track_attributes_put(&attributes, nsys->keys[SN_NSYS_KEY_PAYLOAD],
					sn_db_builder_string(nsys->builder, payload));
	const char *text = text_of(nsys, row, TEXT, TEXT_ID);
	if (category == SN_ACTIVITY_ANNOTATION && operator_length(text)) {
		category = SN_ACTIVITY_OPERATOR;
		put_operator(nsys, text, &attributes);
	}
	if (range_name(nsys, row, *text ? text : "[NVTX]", category, &name))
		return SN_ERR_MEMORY;
	uint32_t track = sn_nsys_thread(nsys, sqlite3_column_int64(row, THREAD));
	return sn_nsys_add(nsys, track, name, start, end < start ? start : end, 0, &attributes);
}

static int add_domain(void *context, sqlite3_stmt *row)
{
	struct sn_nsys *nsys = context;
	char key[64];
	const char *text = text_of(nsys, row, TEXT, TEXT_ID);
	snprintf(key, sizeof(key), "%lld/%u", (long long)sqlite3_column_int64(row, DOMAIN),
		 sn_nsys_process(nsys, sqlite3_column_int64(row, THREAD)));
	if (!*text)
		return 0;
	uint32_t at = sn_intern_item(&nsys->domains, key, strlen(key), &nsys->domain_names,
				     &nsys->domain_capacity, {0});
	if (at == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	nsys->domain_names[at] = sn_db_builder_string(nsys->builder, text);
	return 0;
}

int sn_nsys_ranges(struct sn_nsys *nsys, struct sn_error *error)
{
	int result = sn_sqlite_each(&nsys->file, "NVTX_EVENTS", columns, "WHERE \"eventType\"=75",
				    add_domain, nsys, error);
	return result ? result
		      : sn_sqlite_each(&nsys->file, "NVTX_EVENTS", columns, "", add_range, nsys,
				       error);
}
