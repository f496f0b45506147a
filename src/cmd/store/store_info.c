/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde info` of a store: how much it holds of which time, and what is missing. */
#include "store.h"

#include "base/text.h"
#include "cmd/command.h"
#include "format/epoch/epoch_store.h"
#include "show/json.h"
#include "show/number.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAMAGED_MAX = 10, CAUSES_MAX = 64 };

/* A rate at which samples were taken. */
struct kind {
	char event[64];
	uint64_t period, samples;
	bool is_time;
};

struct cause {
	char name[64];
	uint64_t count;
};

struct totals {
	struct kind kinds[CAUSES_MAX];
	struct cause causes[CAUSES_MAX];
	size_t kind_count, cause_count;
	uint64_t flushes, samples, lost, watched_ns, own_cpu_ns, own_bytes, counts;
	size_t levels[SN_EPOCH_LEVELS], damaged;
};

static void add_kind(struct totals *totals, const struct sn_epoch_flush *flush)
{
	size_t i = 0;
	while (i < totals->kind_count &&
	       (totals->kinds[i].period != flush->period ||
		strncmp(totals->kinds[i].event, flush->event, sizeof(totals->kinds->event) - 1)))
		i++;
	if (i == CAUSES_MAX)
		return;
	struct kind *kind = totals->kinds + i;
	if (i == totals->kind_count) {
		*kind = (struct kind){.period = flush->period, .is_time = flush->is_time};
		snprintf(kind->event, sizeof(kind->event), "%s", flush->event);
		totals->kind_count++;
	}
	kind->samples += flush->samples;
}

static void add_losses(struct totals *totals, const struct sn_epoch_flush *flush)
{
	for (uint32_t j = 0; j < flush->loss_count; j++) {
		const struct sn_epoch_loss *loss = flush->losses + j;
		size_t i = 0;
		totals->lost += loss->count;
		while (i < totals->cause_count && strncmp(totals->causes[i].name, loss->cause,
							  sizeof(totals->causes->name) - 1))
			i++;
		if (i == CAUSES_MAX)
			continue;
		if (i == totals->cause_count) {
			totals->causes[i].count = 0;
			snprintf(totals->causes[i].name, sizeof(totals->causes->name), "%s",
				 loss->cause);
			totals->cause_count++;
		}
		totals->causes[i].count += loss->count;
	}
}

static void add_flush(struct totals *totals, const struct sn_epoch_flush *flush)
{
	totals->flushes += flush->flushes;
	totals->samples += flush->samples;
	totals->watched_ns += flush->watched_ns;
	totals->own_cpu_ns += flush->own_cpu_ns;
	if (flush->own_bytes > totals->own_bytes)
		totals->own_bytes = flush->own_bytes;
	add_kind(totals, flush);
	add_losses(totals, flush);
}

/* Reads all of an epoch, so that damage is found. */
static int read_epoch(struct totals *totals, struct sn_epoch_info *info, struct sn_error *error)
{
	struct sn_epoch_piece piece;
	int result = 0;
	while (info->reader && (result = sn_epoch_reader_next(info->reader, &piece, error)) > 0) {
		if (piece.begins_part)
			add_flush(totals, piece.flush);
		totals->counts += piece.count_count + piece.stack_count;
	}
	if (!result && info->reader && !*info->damage && !info->is_current &&
	    sn_epoch_reader_damage(info->reader))
		snprintf(info->damage, sizeof(info->damage), "%s",
			 sn_epoch_reader_damage(info->reader));
	totals->damaged += *info->damage != '\0';
	totals->levels[info->head.level]++;
	return result;
}

static const char *time_text(uint64_t time_ns, const char *form, char text[40])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;
	bool is_utc = strchr(form, 'Z') != NULL;
	if (!(is_utc ? gmtime_r : localtime_r)(&seconds, &parts) ||
	    !strftime(text, 40, form, &parts))
		snprintf(text, 40, "?");
	return text;
}

static void print_time(const char *label, uint64_t time_ns)
{
	char text[40];
	printf("  %-12s %s\n", label, time_text(time_ns, "%Y-%m-%d %H:%M:%S", text));
}

static void print_damage(const struct sn_epoch_store *store, size_t damaged)
{
	size_t shown = 0;
	if (!damaged)
		return;
	puts("\nDamaged");
	for (size_t i = 0; i < store->count && shown < DAMAGED_MAX; i++)
		if (*store->epochs[i].damage && ++shown)
			printf("  %s: %s\n", store->epochs[i].name, store->epochs[i].damage);
	if (damaged > shown)
		printf("  %zu more\n", damaged - shown);
}

static void print_samples(const struct totals *totals)
{
	puts("\nSamples");
	for (size_t i = 0; i < totals->kind_count; i++) {
		const struct kind *kind = totals->kinds + i;
		printf("  %10s  %s, one every %s\n", sn_number_counted((double)kind->samples).text,
		       sn_shown(kind->event).text,
		       sn_number_text((double)kind->period, kind->is_time ? "ns" : "1").text);
	}
	for (size_t i = 0; i < totals->cause_count; i++)
		if (totals->causes[i].count)
			printf("  %10s  lost: %s\n",
			       sn_number_counted((double)totals->causes[i].count).text,
			       sn_shown(totals->causes[i].name).text);
	if (!totals->lost)
		puts("  none was lost");
}

static void print_text(const char *path, const struct sn_epoch_store *store,
		       const struct totals *totals)
{
	struct sn_style style = sn_terminal_style(stdout);
	printf("%s%s%s\n", style.bold, sn_shown(path).text, style.plain);
	if (store->first_ns <= store->last_ns) {
		print_time("oldest", store->first_ns);
		print_time("newest", store->last_ns);
	}
	printf("  %-12s %zu, %zu of them days, %zu hours\n", "epochs", store->all,
	       totals->levels[SN_EPOCH_DAY], totals->levels[SN_EPOCH_HOUR]);
	printf("  %-12s %s\n", "size", sn_number_text((double)store->bytes, "bytes").text);
	printf("  %-12s %s, %s\n", "watched", sn_number_time((double)totals->watched_ns).text,
	       "by flushes of sonded");
	print_samples(totals);
	if (totals->own_cpu_ns || totals->own_bytes) {
		puts("\nCost of measuring");
		printf("  %-12s %s\n", "time", sn_number_time((double)totals->own_cpu_ns).text);
		printf("  %-12s %s at most\n", "memory",
		       sn_number_text((double)totals->own_bytes, "bytes").text);
	}
	print_damage(store, totals->damaged);
}

static void json_epochs(const struct sn_epoch_store *store, struct sn_json *json)
{
	static const char *const levels[SN_EPOCH_LEVELS] = {"flushes", "sealed", "hour", "day"};
	char text[40];
	sn_json_open(json, "epochs", '[');
	for (size_t i = 0; i < store->count; i++) {
		const struct sn_epoch_info *info = store->epochs + i;
		sn_json_begin(json, '{');
		sn_json_put_text(json, "name", info->name);
		sn_json_put_text(json, "level", levels[info->head.level]);
		sn_json_put_unsigned(json, "bytes", info->bytes);
		if (info->summary.parts) {
			sn_json_put_text(
			    json, "begin",
			    time_text(info->summary.begin_ns, "%Y-%m-%dT%H:%M:%SZ", text));
			sn_json_put_text(
			    json, "end",
			    time_text(info->summary.end_ns, "%Y-%m-%dT%H:%M:%SZ", text));
			sn_json_put_unsigned(json, "samples", info->summary.samples);
			sn_json_put_unsigned(json, "lost", info->summary.lost);
		}
		if (*info->damage)
			sn_json_put_text(json, "damage", info->damage);
		sn_json_end(json, '}');
	}
	sn_json_end(json, ']');
}

static void print_json(const struct sn_epoch_store *store, const struct totals *totals)
{
	struct sn_json json = {.out = stdout};
	sn_json_begin(&json, '{');
	sn_json_put_unsigned(&json, "bytes", store->bytes);
	sn_json_put_unsigned(&json, "samples", totals->samples);
	sn_json_put_unsigned(&json, "flushes", totals->flushes);
	sn_json_put_unsigned(&json, "watched_ns", totals->watched_ns);
	sn_json_put_unsigned(&json, "own_cpu_ns", totals->own_cpu_ns);
	sn_json_put_unsigned(&json, "own_bytes", totals->own_bytes);
	sn_json_put_unsigned(&json, "counts", totals->counts);
	sn_json_open(&json, "rates", '[');
	for (size_t i = 0; i < totals->kind_count; i++) {
		sn_json_begin(&json, '{');
		sn_json_put_text(&json, "event", totals->kinds[i].event);
		sn_json_put_unsigned(&json, "period", totals->kinds[i].period);
		sn_json_put_unsigned(&json, "samples", totals->kinds[i].samples);
		sn_json_end(&json, '}');
	}
	sn_json_end(&json, ']');
	sn_json_open(&json, "lost", '{');
	for (size_t i = 0; i < totals->cause_count; i++)
		sn_json_put_unsigned(&json, totals->causes[i].name, totals->causes[i].count);
	sn_json_end(&json, '}');
	json_epochs(store, &json);
	sn_json_end(&json, '}');
	putchar('\n');
}

int sn_store_info(const char *path, bool is_json)
{
	struct sn_epoch_store store;
	struct sn_error error = {""};
	struct totals *totals = calloc(1, sizeof(*totals));
	if (!totals)
		return sn_command_fail("out of memory");
	int result = sn_epoch_store_open(&store, path, 0, UINT64_MAX, &error);
	for (size_t i = 0; i < store.count && !result; i++)
		result = read_epoch(totals, store.epochs + i, &error);
	if (!result && is_json)
		print_json(&store, totals);
	else if (!result)
		print_text(path, &store, totals);
	sn_epoch_store_close(&store);
	free(totals);
	return result ? sn_command_fail("%s", error.text) : SN_EXIT_DONE;
}
