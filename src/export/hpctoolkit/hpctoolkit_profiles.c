/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who was measured, as HPCToolkit's tuples of identifiers, and what was, as its metrics.
 *
 * An imported profile has its tuple in the name of its thread ("NODE 0x7f00 RANK 3 THREAD 0") and
 * gives it back. Others are host, rank or process, and thread or stream.
 */
#include "hpctoolkit.h"

#include "base/sort_by.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* HPCToolkit's own kinds, by number; others follow. */
static const char *const standard_kinds[] = {"SUMMARY",	  "NODE",	"RANK",	     "THREAD",
					     "GPUDEVICE", "GPUCONTEXT", "GPUSTREAM", "CORE"};
enum { STANDARD_KINDS = sizeof(standard_kinds) / sizeof(*standard_kinds) };

static bool parse_name(const char **text, char name[32])
{
	size_t length = strspn(*text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	if (length == 0 || length > 31 || (*text)[length] != ' ' ||
	    !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ", **text))
		return false;
	memcpy(name, *text, length);
	name[length] = '\0';
	*text += length + 1;
	return true;
}

/* "NAME NUMBER NAME NUMBER ...", the whole text; numbers of things of the machine are "0x...". */
static bool parse_tuple(const char *text, struct sn_hpcx_out_profile *profile)
{
	profile->id_count = 0;
	while (profile->id_count < SN_HPCX_MOST_IDS) {
		struct sn_hpcx_out_id *id = profile->ids + profile->id_count;
		char *end;
		if (!parse_name(&text, id->name) || *text < '0' || *text > '9')
			return false;
		id->is_physical = text[0] == '0' && text[1] == 'x';
		id->number = strtoull(text, &end, id->is_physical ? 16 : 10);
		profile->id_count++;
		if (*end == '\0')
			return true;
		if (*end != ' ')
			return false;
		text = end + 1;
	}
	return false;
}

static void add_id(struct sn_hpcx_out_profile *profile, const char *name, bool is_physical,
		   uint64_t number)
{
	struct sn_hpcx_out_id *id = profile->ids + profile->id_count++;
	*id = (struct sn_hpcx_out_id){.is_physical = is_physical, .number = number};
	snprintf(id->name, sizeof(id->name), "%s", name);
}

/* A host's number: that of an imported one, else a hash of its name (FNV-1a, 32 bits, as gethostid
 * has). */
static uint64_t host_number(const char *host)
{
	size_t length = strlen(host);
	if (length >= 8 && length <= 16 && strspn(host, "0123456789abcdef") == length)
		return strtoull(host, NULL, 16);
	uint32_t hash = 2166136261u;
	for (; *host; host++)
		hash = (hash ^ (unsigned char)*host) * 16777619u;
	return hash;
}

static void set_ids(const struct sn_hpcx_out *out, const struct sonde_db_profile *record,
		    bool has_runs, struct sn_hpcx_out_profile *profile)
{
	profile->id_count = 0;
	if (has_runs)
		add_id(profile, "RUN", false, record->run);
	add_id(profile, "NODE", true, host_number(sonde_db_string(out->db, record->host)));
	if (record->rank >= 0)
		add_id(profile, "RANK", false, (uint64_t)record->rank);
	if (record->rank < 0 || record->kind == 0)
		add_id(profile, "PROCESS", true, record->pid);
	if (record->kind == 0) {
		add_id(profile, "THREAD", true, record->tid);
		return;
	}
	if (record->device != SONDE_NONE)
		add_id(profile, "GPUDEVICE", false, record->device);
	if (record->device_context != SONDE_NONE)
		add_id(profile, "GPUCONTEXT", false, record->device_context);
	add_id(profile, "GPUSTREAM", false, record->stream == SONDE_NONE ? 0 : record->stream);
}

static int compare_profiles(const void *left, const void *right)
{
	const struct sn_hpcx_out_profile *a = left, *b = right;
	for (size_t i = 0; i < a->id_count && i < b->id_count; i++) {
		int order = sn_order_then(strcmp(a->ids[i].name, b->ids[i].name),
					  SN_ORDER(a->ids[i].number, b->ids[i].number));
		if (order)
			return order;
	}
	return sn_order_then(SN_ORDER(a->id_count, b->id_count), SN_ORDER(a->profile, b->profile));
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* Numbers for the kinds that are met. */
static void list_kinds(struct sn_hpcx_out *out)
{
	for (; out->kind_count < STANDARD_KINDS; out->kind_count++)
		snprintf(out->kinds[out->kind_count], 32, "%s", standard_kinds[out->kind_count]);
	for (size_t i = 0; i < out->profile_count; i++) {
		for (size_t k = 0; k < out->profiles[i].id_count; k++) {
			size_t kind = 0;
			const char *name = out->profiles[i].ids[k].name;
			while (kind < out->kind_count && strcmp(out->kinds[kind], name) != 0)
				kind++;
			if (kind == out->kind_count && kind < 255)
				snprintf(out->kinds[out->kind_count++], 32, "%s", name);
		}
	}
	qsort(out->kinds + STANDARD_KINDS, out->kind_count - STANDARD_KINDS, 32, compare_names);
}

static bool same_prefix(const struct sn_hpcx_out_profile *a, const struct sn_hpcx_out_profile *b,
			size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (strcmp(a->ids[i].name, b->ids[i].name) != 0 ||
		    a->ids[i].number != b->ids[i].number)
			return false;
	return true;
}

/* The number people see: a logical one is its own; physical ones count from 0 among those that
 * have the same identifiers before them. Profiles are in order, so that is counted going down. */
static void number_ids(struct sn_hpcx_out *out, size_t position)
{
	struct sn_hpcx_out_profile *profile = out->profiles + position;
	const struct sn_hpcx_out_profile *before = position ? profile - 1 : NULL;
	for (size_t i = 0; i < profile->id_count; i++) {
		struct sn_hpcx_out_id *id = profile->ids + i;
		size_t kind = 0;
		while (kind + 1 < out->kind_count && strcmp(out->kinds[kind], id->name) != 0)
			kind++;
		id->kind = (uint8_t)kind;
		id->logical = id->is_physical ? 0 : (uint32_t)id->number;
		if (!id->is_physical || !before || i >= before->id_count ||
		    !same_prefix(before, profile, i) || strcmp(before->ids[i].name, id->name) != 0)
			continue;
		id->logical =
		    before->ids[i].logical + (before->ids[i].number != id->number ? 1 : 0);
	}
}

int sn_hpcx_profiles_build(struct sn_hpcx_out *out)
{
	uint32_t count = sonde_db_profile_count(out->db);
	bool has_runs = false;
	out->profiles = sn_arena_array(&out->arena, struct sn_hpcx_out_profile, (size_t)count + 1);
	if (!out->profiles)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		has_runs = has_runs || sonde_db_profile(out->db, i)->run > 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_db_profile *record = sonde_db_profile(out->db, i);
		struct sn_hpcx_out_profile *profile = out->profiles + i;
		profile->profile = i;
		if (!parse_tuple(sonde_db_string(out->db, record->thread), profile))
			set_ids(out, record, has_runs, profile);
	}
	out->profile_count = count;
	qsort(out->profiles, count, sizeof(*out->profiles), compare_profiles);
	list_kinds(out);
	for (size_t i = 0; i < count; i++)
		number_ids(out, i);
	return 0;
}

/*
 * "gpu-kernel" in nanoseconds is "gpu-kernel (sec)", as HPCToolkit has its times; the two metrics
 * of ours that it has as well get its names, because that is what its readers look for.
 */
static const char *metric_name(struct sn_hpcx_out *out, const struct sonde_db_metric *metric,
			       bool is_count, double *divisor)
{
	const char *name = sonde_db_string(out->db, metric->name),
		   *unit = sonde_db_string(out->db, metric->unit);
	*divisor = 1;
	if (is_count)
		return sn_arena_print(&out->arena, "%s:COUNT", name);
	if (strcmp(unit, "1") == 0 || !*unit || sn_text_ends(name, ")"))
		return name;
	if (strcmp(unit, "ns") == 0) {
		*divisor = 1e9;
		unit = "sec";
		name = strcmp(name, "cpu-time") == 0	? "CPUTIME"
		       : strcmp(name, "real-time") == 0 ? "REALTIME"
							: name;
	}
	return sn_arena_print(&out->arena, "%s (%s)", name, unit);
}

/* Whether any of its values consists of more or fewer than one. */
static bool has_counts(const struct sonde_db *db, uint32_t metric)
{
	for (uint32_t profile = 0; profile < sonde_db_profile_count(db); profile++) {
		struct sonde_db_plane plane = sonde_db_profile_plane(db, profile, metric);
		for (size_t first = 0; first < plane.count; first += 512) {
			double counts[512];
			size_t count = plane.count - first < 512 ? plane.count - first : 512;
			sonde_db_plane_numbers(&plane, SONDE_DB_COUNT, first, count, counts);
			for (size_t i = 0; i < count; i++)
				if (counts[i] != 1)
					return true;
		}
	}
	return false;
}

SN_SORT_BY(sort_metrics, struct sn_hpcx_out_metric, const void *,
	   strcmp(a->name, b->name) ?: SN_ORDER(a->metric, b->metric));

int sn_hpcx_metrics_build(struct sn_hpcx_out *out, const struct sn_export_request *request)
{
	out->metrics = sn_arena_array(&out->arena, struct sn_hpcx_out_metric,
				      2 * (size_t)request->metric_count + 1);
	if (!out->metrics)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < request->metric_count; i++) {
		uint32_t metric = request->metrics[i];
		int kinds = has_counts(out->db, metric) ? 2 : 1;
		for (int k = 0; k < kinds; k++) {
			struct sn_hpcx_out_metric *added = out->metrics + out->metric_count++;
			*added = (struct sn_hpcx_out_metric){.metric = metric, .is_count = k == 1};
			added->name = metric_name(out, sonde_db_metric(out->db, metric), k == 1,
						  &added->divisor);
			if (!added->name)
				return SN_ERR_MEMORY;
		}
	}
	sort_metrics(out->metrics, out->metric_count, NULL);
	return 0;
}
