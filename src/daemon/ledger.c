/* SPDX-License-Identifier: Apache-2.0 */
/* See ledger.h. */
#include "ledger.h"

#include "cgroup.h"

#include "base/sort_by.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

SN_SORT_BY(sort_counts, struct sn_ledger_count, const void *, SN_ORDER(a->key, b->key));

/* Distinct addresses between two flushes: 16 MB at most with their index. */
enum { COUNTS_MOST = 1 << 18 };

int sn_ledger_init(struct sn_ledger *ledger)
{
	*ledger = (struct sn_ledger){0};
	ledger->turn[0] = calloc(1, sizeof(*ledger->turn[0]));
	ledger->turn[1] = calloc(1, sizeof(*ledger->turn[1]));
	return ledger->turn[0] && ledger->turn[1] ? 0 : SN_ERR_MEMORY;
}

static void release_turn(struct sn_ledger_turn *turn)
{
	sn_intern_release(&turn->names);
	sn_table_release(&turn->cgroups);
}

void sn_ledger_release(struct sn_ledger *ledger)
{
	for (int i = 0; i < 2; i++) {
		if (ledger->turn[i])
			release_turn(ledger->turn[i]);
		free(ledger->turn[i]);
	}
	sn_table_release(&ledger->index);
	free(ledger->counts);
}

void sn_ledger_forget(struct sn_ledger *ledger, unsigned turn)
{
	release_turn(ledger->turn[turn]);
	memset(ledger->turn[turn], 0, sizeof(*ledger->turn[turn]));
}

/* ---- counts ---- */

int sn_ledger_add(void *context, uint32_t number, uint32_t address, uint32_t count)
{
	struct sn_ledger *ledger = context;
	uint64_t key = sn_table_pair(number, address);
	uint32_t before = ledger->index.count, at = SN_TABLE_NONE;
	if (sn_vec_reserve(&ledger->counts, &ledger->capacity, (size_t)before + 1) == 0)
		at = sn_table_add(&ledger->index, key);
	if (at == SN_TABLE_NONE) {
		ledger->lost += count;
		return 0;
	}
	if (at == before)
		ledger->counts[at] = (struct sn_ledger_count){.key = key};
	ledger->counts[at].count += count;
	ledger->samples += count;
	return 0;
}

const struct sn_ledger_count *sn_ledger_sorted(struct sn_ledger *ledger)
{
	sort_counts(ledger->counts, ledger->index.count, NULL);
	return ledger->counts;
}

void sn_ledger_clear(struct sn_ledger *ledger)
{
	sn_table_clear(&ledger->index);
	ledger->samples = 0;
}

bool sn_ledger_is_full(const struct sn_ledger *ledger)
{
	return ledger->index.count >= COUNTS_MOST;
}

/* ---- pairs ---- */

static struct sn_ledger_turn *turn_of(const struct sn_ledger *ledger, uint32_t number)
{
	return ledger->turn[number / SN_PAIR_TURN_BIT & 1];
}

/* "/usr/bin/env" of "env", "bin", "usr". The number of that name; SN_NO_NAME where there is none. */
static uint32_t add_path(struct sn_intern *names, const char *parts, uint32_t bytes)
{
	char path[SN_PATH_BYTES + 1];
	size_t at = sizeof(path);
	for (uint32_t begin = 0; begin < bytes && begin < SN_PATH_BYTES;) {
		size_t length = strnlen(parts + begin, SN_PATH_BYTES - begin);
		if (length + 1 > at)
			break;
		at -= length;
		memcpy(path + at, parts + begin, length);
		path[--at] = '/';
		begin += (uint32_t)length + 1;
	}
	return at == sizeof(path) ? SN_NO_NAME
				  : sn_intern_add_text(names, path + at, sizeof(path) - at);
}

static uint32_t add_cgroup(struct sn_ledger_turn *turn, uint64_t cgroup)
{
	uint32_t known = sn_table_find(&turn->cgroups, cgroup);
	if (known != SN_TABLE_NONE)
		return known;
	char path[PATH_MAX];
	sn_cgroup_path(cgroup, path, sizeof(path));
	uint32_t name = sn_intern_add_text(&turn->names, path, strlen(path));
	return name == SN_INTERN_NONE || sn_table_put(&turn->cgroups, cgroup, name) < 0 ? SN_NO_NAME
											: name;
}

int sn_ledger_tell(void *context, const struct sn_announced *told)
{
	struct sn_ledger *ledger = context;
	struct sn_ledger_turn *turn = turn_of(ledger, told->number);
	struct sn_ledger_pair *pair = &turn->pair[told->number % SN_PAIRS_OF_TURN];
	*pair = (struct sn_ledger_pair){
	    .key = told->pair,
	    .process_start_ns = told->process_start_ns,
	    .image_bytes = told->image_bytes,
	    .image_mtime_ns = told->image_mtime_ns,
	    .pid = told->pid,
	    .image = add_path(&turn->names, told->image_path, told->image_path_bytes),
	    .program = add_path(&turn->names, told->program_path, told->program_path_bytes),
	    .cgroup = add_cgroup(turn, told->pair.cgroup),
	    .build_id_bytes = (uint8_t)told->build_id_bytes,
	    .image_is_deleted = told->image_is_deleted,
	};
	memcpy(pair->build_id, told->build_id, sizeof(pair->build_id));
	return 0;
}

const struct sn_ledger_pair *sn_ledger_pair(const struct sn_ledger *ledger, uint32_t number)
{
	const struct sn_ledger_pair *pair =
	    &turn_of(ledger, number)->pair[number % SN_PAIRS_OF_TURN];
	return pair->key.kind ? pair : NULL;
}

const char *sn_ledger_name(const struct sn_ledger *ledger, uint32_t number, uint32_t name)
{
	return name == SN_NO_NAME ? "" : sn_intern_at(&turn_of(ledger, number)->names, name, NULL);
}
