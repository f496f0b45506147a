/* SPDX-License-Identifier: Apache-2.0 */
/* The epochs of a store; see epoch_store.h. */
#include "epoch_store.h"

#include "base/error.h"
#include "base/sort_by.h"
#include "base/table.h"
#include "base/vec.h"
#include "epoch_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A list that changes while its files are opened is read again; each merge changes it once. */
enum { TRIES = 100 };

void sn_epoch_store_close(struct sn_epoch_store *store)
{
	for (size_t i = 0; i < store->count; i++)
		sn_epoch_reader_close(store->epochs[i].reader);
	free(store->epochs);
	*store = (struct sn_epoch_store){0};
}

bool sn_epoch_is_within(const struct sn_epoch_flush *flush, uint64_t since_ns, uint64_t until_ns)
{
	struct sn_epoch_summary summary;
	sn_epoch_summary_init(&summary);
	sn_epoch_summary_add(&summary, flush);
	return summary.end_ns >= since_ns && summary.begin_ns <= until_ns;
}

/* ---- one epoch ---- */

/* A frame that is being written may be there in part: it is whole a moment later. */
static void wait_for_whole(void)
{
	nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* Adds up the parts of a file whose head cannot tell of them. */
static int add_up(struct sn_epoch_info *info, struct sn_error *error)
{
	struct sn_epoch_piece piece;
	int result;
	sn_epoch_summary_init(&info->summary);
	while ((result = sn_epoch_reader_next(info->reader, &piece, error)) > 0)
		if (piece.begins_part)
			sn_epoch_summary_add(&info->summary, piece.flush);
	return result;
}

/* The same, and notes its damage. */
static int scan(struct sn_epoch_info *info, struct sn_error *error)
{
	int result = add_up(info, error);
	for (unsigned tries = 0;
	     !result && tries < 3 && info->is_current && sn_epoch_reader_is_cut(info->reader);
	     tries++) {
		wait_for_whole();
		result = sn_epoch_reader_rewind(info->reader, error);
		if (!result)
			result = add_up(info, error);
	}
	if (result)
		return result;
	if (sn_epoch_reader_damage(info->reader))
		snprintf(info->damage, sizeof(info->damage), "%s",
			 sn_epoch_reader_damage(info->reader));
	return sn_epoch_reader_rewind(info->reader, error);
}

/* Opens it. 0, also where it is damaged; SN_ERR_MISSING if it is gone; or another negative one. */
static int open_epoch(int folder, const struct sn_epoch_entry *entry, struct sn_epoch_info *info,
		      struct sn_error *error)
{
	struct sn_error why = {""};
	int fd = sn_epoch_folder_open_file(folder, entry->name);
	*info = (struct sn_epoch_info){.is_current = !entry->id};
	memcpy(info->name, entry->name, sizeof(info->name));
	sn_epoch_summary_init(&info->summary);
	info->head.id = entry->id;
	if (fd == -ENOENT)
		return SN_ERR_MISSING;
	if (fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", entry->name,
			       strerror(-fd));
	int result = sn_epoch_reader_open(&info->reader, fd, &why);
	if (result == SN_ERR_FORMAT || result == SN_ERR_VERSION) {
		snprintf(info->damage, sizeof(info->damage), "%.250s", why.text);
		return 0;
	}
	if (!result) {
		info->head = *sn_epoch_reader_head(info->reader);
		info->bytes = sn_epoch_reader_file_bytes(info->reader);
		info->summary = info->head.summary;
		if (info->head.level == SN_EPOCH_FLUSHES)
			result = scan(info, &why);
	}
	return result ? sn_fail(error, result, "cannot read '%s': %s", entry->name, why.text) : 0;
}

/* ---- all ---- */

static bool are_same(const struct sn_epoch_entry *a, size_t a_count, const struct sn_epoch_entry *b,
		     size_t b_count)
{
	bool same = a_count == b_count;
	for (size_t i = 0; same && i < a_count; i++)
		same = a[i].inode == b[i].inode && !strcmp(a[i].name, b[i].name);
	return same;
}

static int open_all(struct sn_epoch_store *store, int folder, const struct sn_epoch_entry *entries,
		    size_t count, struct sn_error *error)
{
	int result = 0;
	for (size_t i = 0; i < count && !result; i++) {
		if (sn_vec_reserve(&store->epochs, &store->capacity, store->count + 1) < 0)
			return sn_fail_memory(error);
		result = open_epoch(folder, entries + i, store->epochs + store->count, error);
		if (!result)
			store->count++;
		else if (result == SN_ERR_MISSING)
			result = 0; /* the list has changed, too */
		else
			sn_epoch_reader_close(store->epochs[store->count].reader);
	}
	return result;
}

/* Opens them until the list stays the same meanwhile. */
static int open_consistently(struct sn_epoch_store *store, int folder, struct sn_error *error)
{
	struct sn_epoch_entry *before, *after = NULL;
	size_t before_count, after_count;
	int result = sn_epoch_folder_list(folder, &before, &before_count, error);
	for (unsigned tries = 0; !result; tries++) {
		sn_epoch_store_close(store);
		result = open_all(store, folder, before, before_count, error);
		if (!result)
			result = sn_epoch_folder_list(folder, &after, &after_count, error);
		if (result || tries == TRIES || are_same(before, before_count, after, after_count))
			break;
		free(before);
		before = after;
		before_count = after_count;
		after = NULL;
	}
	free(before);
	free(after);
	return result;
}

SN_SORT_BY(sort_epochs, struct sn_epoch_info, const void *,
	   SN_ORDER_BY(a, b, summary.begin_ns, head.id));

static void leave_out(struct sn_epoch_info *info)
{
	sn_epoch_reader_close(info->reader);
	info->reader = NULL;
	info->name[0] = '\0';
}

/* Names are left empty of what does not belong. */
static void keep_named(struct sn_epoch_store *store)
{
	size_t kept = 0;
	for (size_t i = 0; i < store->count; i++)
		if (store->epochs[i].name[0])
			store->epochs[kept++] = store->epochs[i];
	store->count = kept;
}

/* A merge that was interrupted has left what it replaces. */
static int leave_out_replaced(struct sn_epoch_store *store)
{
	struct sn_table replaced = {0};
	int result = 0;
	for (size_t i = 0; i < store->count; i++) {
		const struct sn_epoch_head *head = &store->epochs[i].head;
		for (uint32_t j = 0; j < head->replace_count && !result; j++)
			if (sn_table_add(&replaced, head->replaces[j]) == SN_TABLE_NONE)
				result = SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < store->count && !result; i++)
		if (sn_table_find(&replaced, store->epochs[i].head.id) != SN_TABLE_NONE)
			leave_out(store->epochs + i);
	sn_table_release(&replaced);
	keep_named(store);
	return result;
}

/* What cannot be read at all, or ends in damage, may have been of any time. An epoch without parts
 * is only in the whole of time. */
static bool may_be_within(const struct sn_epoch_info *info, uint64_t since_ns, uint64_t until_ns)
{
	const struct sn_epoch_summary *summary = &info->summary;
	return *info->damage || (summary->end_ns >= since_ns && summary->begin_ns <= until_ns);
}

int sn_epoch_store_open(struct sn_epoch_store *store, const char *folder, uint64_t since_ns,
			uint64_t until_ns, struct sn_error *error)
{
	struct sn_error why = {""};
	int fd;
	*store = (struct sn_epoch_store){0};
	int result = sn_epoch_folder_open_to_read(folder, &fd, error);
	if (result)
		return result;
	result = open_consistently(store, fd, &why);
	close(fd);
	if (!result && !store->count)
		result = sn_fail(&why, SN_ERR_FORMAT, "it has no epochs");
	if (!result)
		result = sn_fail_code(&why, leave_out_replaced(store));
	store->all = store->count;
	store->first_ns = UINT64_MAX;
	for (size_t i = 0; i < store->count && !result; i++) {
		const struct sn_epoch_summary *summary = &store->epochs[i].summary;
		store->bytes += store->epochs[i].bytes;
		if (summary->begin_ns < store->first_ns)
			store->first_ns = summary->begin_ns;
		if (summary->end_ns > store->last_ns)
			store->last_ns = summary->end_ns;
		if (!may_be_within(store->epochs + i, since_ns, until_ns))
			leave_out(store->epochs + i);
	}
	keep_named(store);
	sort_epochs(store->epochs, store->count, NULL);
	if (!result)
		return 0;
	sn_epoch_store_close(store);
	return sn_fail(error, result, "cannot read the store '%s': %s", folder, why.text);
}

bool sn_epoch_is_store(const char *folder)
{
	struct sn_epoch_entry *entries;
	size_t count;
	int fd;
	if (sn_epoch_folder_open_to_read(folder, &fd, NULL))
		return false;
	bool is_one = !sn_epoch_folder_list(fd, &entries, &count, NULL) && count > 0;
	if (is_one && count == 1 && !entries[0].id) {
		/* "current" is a common name: look into it */
		struct sn_epoch_reader *reader;
		int file = sn_epoch_folder_open_file(fd, entries[0].name);
		is_one = file >= 0 && !sn_epoch_reader_open(&reader, file, NULL);
		if (is_one)
			sn_epoch_reader_close(reader);
	}
	free(entries);
	close(fd);
	return is_one;
}
