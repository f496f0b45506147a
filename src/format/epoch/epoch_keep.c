/* SPDX-License-Identifier: Apache-2.0 */
/* Merging and deleting sealed epochs; see epoch_keep.h. */
#include "epoch_keep.h"

#include "base/sort_by.h"
#include "epoch_folder.h"
#include "epoch_merge.h"
#include "epoch_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HOUR_NS	  UINT64_C(3600000000000)
#define DAY_NS	  (24 * HOUR_NS)
#define GROUP_MAX 1024 /* a day of epochs of 90 s */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec time = {0};
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void read_boot_id(uint8_t id[16])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	unsigned byte;
	for (unsigned i = 0; file && i < 16; i++) {
		if (fscanf(file, "%2x", &byte) != 1)
			break;
		id[i] = (uint8_t)byte;
		if (i == 3 || i == 5 || i == 7 || i == 9)
			fgetc(file);
	}
	if (file)
		fclose(file);
}

void sn_epoch_now(struct sn_epoch_moment *now)
{
	*now = (struct sn_epoch_moment){clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_BOOTTIME), {0}};
	read_boot_id(now->boot_id);
}

void sn_epoch_keep_sync(int folder, bool is_off)
{
	if (!is_off)
		(void)!fsync(folder);
}

/* ---- what is there ---- */

static int list(struct sn_epoch_keep *keep, struct sn_epoch_store *store, struct sn_error *error)
{
	return sn_epoch_store_open(store, keep->path, 0, UINT64_MAX, error);
}

static bool is_listed(const struct sn_epoch_store *store, const char *name)
{
	for (size_t i = 0; i < store->count; i++)
		if (!strcmp(store->epochs[i].name, name))
			return true;
	return false;
}

int sn_epoch_keep_tidy(const char *path, int folder, uint64_t *next_id, struct sn_error *error)
{
	struct sn_epoch_store store = {0};
	struct sn_epoch_entry *entries;
	size_t count;
	unlinkat(folder, SN_EPOCH_MERGING, 0);
	unlinkat(folder, SN_EPOCH_STARTING, 0);
	int result = sn_epoch_folder_list(folder, &entries, &count, error);
	if (!result && count)
		result = sn_epoch_store_open(&store, path, 0, UINT64_MAX, error);
	*next_id = 1;
	for (size_t i = 0; i < count && !result; i++) {
		if (entries[i].id >= *next_id)
			*next_id = entries[i].id + 1;
		/* a store has all of them but those that another one replaces */
		if (!is_listed(&store, entries[i].name))
			unlinkat(folder, entries[i].name, 0);
	}
	free(entries);
	sn_epoch_store_close(&store);
	return result;
}

/* ---- deleting ---- */

uint64_t sn_epoch_age(const struct sn_epoch_summary *summary, const struct sn_epoch_moment *moment)
{
	bool is_same_boot = summary->end_boot_ns && !memcmp(summary->boot_id, moment->boot_id, 16);
	uint64_t now = is_same_boot ? moment->boot_ns : moment->real_ns;
	uint64_t end = is_same_boot ? summary->end_boot_ns : summary->end_ns;
	return now > end ? now - end : 0;
}

/* When it ended; of what cannot be read, when it was written. */
static void find_end(const struct sn_epoch_keep *keep, struct sn_epoch_info *info)
{
	struct stat status;
	if (!info->summary.parts &&
	    !fstatat(keep->folder, info->name, &status, AT_SYMLINK_NOFOLLOW)) {
		info->summary.end_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000;
		info->bytes = (uint64_t)status.st_size;
	}
}

SN_SORT_BY(sort_by_end, struct sn_epoch_info, const void *, SN_ORDER_BY(a, b, summary.end_ns));

/* Deletes what is too old, and then the oldest until the rest is small enough. */
static int delete_old(struct sn_epoch_keep *keep, struct sn_error *error)
{
	const struct sn_epoch_policy *policy = &keep->policy;
	struct sn_epoch_store store;
	int result = list(keep, &store, error);
	if (result)
		return result;
	uint64_t bytes = 0;
	for (size_t i = 0; i < store.count; i++) {
		find_end(keep, store.epochs + i);
		bytes += store.epochs[i].bytes;
	}
	sort_by_end(store.epochs, store.count, NULL);
	for (size_t i = 0; i < store.count && !result; i++) {
		const struct sn_epoch_info *info = store.epochs + i;
		bool is_old =
		    policy->keep_ns && sn_epoch_age(&info->summary, &keep->now) > policy->keep_ns;
		bool is_much = policy->keep_bytes && bytes > policy->keep_bytes;
		if (info->is_current || !(is_old || is_much))
			continue;
		if (unlinkat(keep->folder, info->name, 0) < 0)
			result = sn_fail(error, SN_ERR_IO, "cannot delete '%s/%s': %s", keep->path,
					 info->name, strerror(errno));
		bytes -= info->bytes;
	}
	sn_epoch_store_close(&store);
	return result;
}

/* ---- merging ---- */

/* Epochs that become one. */
struct group {
	struct sn_epoch_info *members[GROUP_MAX];
	struct sn_epoch_reader *readers[GROUP_MAX];
	size_t count;
	uint32_t level;
};

/* Whether somebody still wants its flushes one by one. */
static bool is_held(const struct sn_epoch_keep *keep, const struct sn_epoch_info *info)
{
	const struct sn_epoch_policy *policy = &keep->policy;
	return policy->unmerged_ns && info->head.level == SN_EPOCH_FLUSHES &&
	       info->head.id >= policy->unmerged_from &&
	       sn_epoch_age(&info->summary, &keep->now) < policy->unmerged_ns;
}

static bool is_excluded(const struct sn_epoch_keep *keep, const struct sn_epoch_info *info)
{
	return info->is_current || is_held(keep, info) || !info->reader || *info->damage ||
	       sn_table_find(&keep->damaged, info->head.id) != SN_TABLE_NONE;
}

/* The epochs below a level that began in the same span of time as the first of them, if that ended so long ago; none
 * unless there are `least`. */
static bool find_group(const struct sn_epoch_keep *keep, struct sn_epoch_store *store,
		       struct group *group, size_t least, uint64_t span_ns, uint64_t age_ns)
{
	for (size_t first = 0; first < store->count; first++) {
		uint64_t span = store->epochs[first].summary.begin_ns / span_ns;
		group->count = 0;
		if (keep->now.real_ns < age_ns || (keep->now.real_ns - age_ns) / span_ns <= span)
			continue;
		for (size_t i = first; i < store->count && group->count < GROUP_MAX; i++) {
			struct sn_epoch_info *info = store->epochs + i;
			if (!is_excluded(keep, info) && info->head.level < group->level &&
			    info->summary.begin_ns / span_ns == span)
				group->members[group->count++] = info;
		}
		if (group->count >= least)
			return true;
	}
	return false;
}

/* An epoch whose flushes are not merged yet; else what became an hour or a day. */
static bool find_work(const struct sn_epoch_keep *keep, struct sn_epoch_store *store,
		      struct group *group)
{
	for (size_t i = 0; i < store->count; i++) {
		struct sn_epoch_info *info = store->epochs + i;
		if (is_excluded(keep, info) || info->head.level != SN_EPOCH_FLUSHES ||
		    !info->summary.parts)
			continue;
		*group = (struct group){{info}, {NULL}, 1, SN_EPOCH_SEALED};
		return true;
	}
	group->level = SN_EPOCH_DAY;
	if (find_group(keep, store, group, 2, DAY_NS, keep->policy.day_age_ns))
		return true;
	group->level = SN_EPOCH_HOUR;
	return find_group(keep, store, group, 2, HOUR_NS, keep->policy.hour_age_ns);
}

static int delete_members(const struct sn_epoch_keep *keep, const struct group *group,
			  struct sn_error *error)
{
	int result = 0;
	for (size_t i = 0; i < group->count; i++)
		if (unlinkat(keep->folder, group->members[i]->name, 0) < 0)
			result = sn_fail(error, SN_ERR_IO, "cannot delete '%s/%s': %s", keep->path,
					 group->members[i]->name, strerror(errno));
	return result;
}

/* Writes the merged epoch; nothing is left of it after a failure. *damaged is a member that is, or the count. */
static int write_group(struct sn_epoch_keep *keep, struct group *group, size_t *damaged,
		       struct sn_error *error)
{
	char name[SN_EPOCH_NAME_BYTES];
	uint64_t begin_ns = 0;
	int fd = sn_epoch_folder_create(keep->folder, SN_EPOCH_MERGING, keep->group_reads);
	*damaged = group->count;
	if (fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot merge epochs in '%s': %s", keep->path,
			       strerror(-fd));
	for (size_t i = 0; i < group->count; i++)
		group->readers[i] = group->members[i]->reader;
	const struct sn_epoch_merging merging = {
	    .readers = group->readers,
	    .reader_count = group->count,
	    .id = keep->next_id,
	    .level = group->level,
	    .memory_bytes = keep->policy.memory_bytes,
	    .spill_folder = keep->path,
	};
	size_t number;
	int result = sn_epoch_merge(&merging, fd, &begin_ns, &number, error);
	if (result == SN_ERR_FORMAT)
		*damaged = number;
	if (!result && !keep->no_sync && fsync(fd) < 0)
		result = sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	close(fd);
	sn_epoch_name_make(name, begin_ns, merging.id);
	if (!result && renameat(keep->folder, SN_EPOCH_MERGING, keep->folder, name) < 0)
		result = sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	if (!result) {
		keep->next_id++;
		sn_epoch_keep_sync(keep->folder, keep->no_sync);
		return 0;
	}
	unlinkat(keep->folder, SN_EPOCH_MERGING, 0);
	return sn_fail_prefix(error, result, "cannot merge epochs in '%s'", keep->path);
}

/* 1 after some work, 0 if there is none, or a negative enum sn_err. */
static int merge_some(struct sn_epoch_keep *keep, struct sn_error *error)
{
	struct group group;
	struct sn_epoch_store store;
	size_t damaged;
	int result = list(keep, &store, error);
	if (result)
		return result;
	if (find_work(keep, &store, &group)) {
		result = write_group(keep, &group, &damaged, error);
		if (!result)
			result = delete_members(keep, &group, error);
		else if (damaged < group.count) /* it stays as it is; the others go on */
			result = sn_table_add(&keep->damaged, group.members[damaged]->head.id) ==
					 SN_TABLE_NONE
				     ? sn_fail_memory(error)
				     : 0;
		result = result ? result : 1;
	}
	sn_epoch_store_close(&store);
	return result;
}

int sn_epoch_keep(struct sn_epoch_keep *keep, struct sn_error *error)
{
	struct sn_error why;
	int merged, result = delete_old(keep, error);
	while (!result && (merged = merge_some(keep, error)) != 0)
		result = merged < 0 ? merged : 0;
	sn_table_release(&keep->damaged);
	int again = delete_old(keep, result ? &why : error);
	return result ? result : again;
}
