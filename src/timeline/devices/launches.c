/* SPDX-License-Identifier: Apache-2.0 */
/* Launching calls sorted by link, in memory or in a file that is read by pages. */
#include "launches.h"

#include "base/search.h"
#include "base/vec.h"

/* The unit of reading, and the number of pages that the cache can hold. */
enum { PAGE_LAUNCHES = 128, CACHE_PAGES = 512 };

struct sn_launch_page {
	size_t number; /* number + 1; 0: empty */
	struct sn_launch items[PAGE_LAUNCHES];
};

/* A record while sorting: by link, start, and order of arrival. */
enum { LINK, START, ORDER, END, PROFILE, WORDS, KEY_WORDS = END };

void sn_launches_init(struct sn_launches *launches, size_t memory_bytes)
{
	*launches = (struct sn_launches){
	    .memory_bytes = memory_bytes,
	    .last_page = SIZE_MAX,
	};
	sn_external_sort_init(&launches->sorted, WORDS, KEY_WORDS, launches->memory_bytes);
	launches->file = (struct sn_spill){.folder = launches->sorted.file.folder, .fd = -1};
}

void sn_launches_release(struct sn_launches *launches)
{
	sn_external_sort_release(&launches->sorted);
	if (launches->file.folder)
		sn_spill_close(&launches->file);
	free(launches->items);
	free(launches->firsts);
	free(launches->cache);
	*launches = (struct sn_launches){0};
}

int sn_launches_add(struct sn_launches *launches, uint32_t profile,
		    const struct sonde_event_block *block, struct sn_error *error)
{
	int result = 0;
	for (size_t i = 0; i < block->count && block->links && !result; i++) {
		uint64_t record[WORDS] = {
		    [LINK] = block->links[i],
		    [START] = block->starts_ns[i],
		    [ORDER] = launches->sorted.total,
		    [END] = block->ends_ns[i],
		    [PROFILE] = profile,
		};
		/* an end of 0 marks a call without a known time */
		if (record[LINK] && record[END])
			result = sn_external_sort_add(&launches->sorted, record, error);
	}
	return result;
}

/* Appends a launch; if `is_in_file`, `items` holds only the current page. */
static int append(struct sn_launches *launches, const uint64_t *record, bool is_in_file,
		  struct sn_error *error)
{
	size_t place = is_in_file ? launches->count % PAGE_LAUNCHES : launches->count;
	if (is_in_file && !place && launches->count)
		sn_spill_write(&launches->file, launches->items,
			       PAGE_LAUNCHES * sizeof(*launches->items));
	if (launches->file.failed)
		return sn_spill_finish(&launches->file, error);
	if (sn_vec_reserve(&launches->items, &launches->capacity, place + 1) < 0 ||
	    (launches->count % PAGE_LAUNCHES == 0 &&
	     sn_vec_push(&launches->firsts, &launches->page_capacity, &launches->page_count,
			 record[LINK])))
		return sn_fail_memory(error);
	launches->items[place] =
	    (struct sn_launch){record[LINK], record[START], record[END], (uint32_t)record[PROFILE]};
	launches->count++;
	return 0;
}

static int end_file(struct sn_launches *launches, struct sn_error *error)
{
	size_t last = (launches->count - 1) % PAGE_LAUNCHES + 1; /* of the last page */
	sn_spill_write(&launches->file, launches->items, last * sizeof(*launches->items));
	int result = sn_spill_finish(&launches->file, error);
	free(launches->items);
	launches->items = NULL;
	launches->cache = calloc(CACHE_PAGES, sizeof(*launches->cache));
	if (!launches->cache && !result)
		result = sn_fail_memory(error);
	return result;
}

int sn_launches_finish(struct sn_launches *launches, struct sn_error *error)
{
	struct sn_external_sort *sorted = &launches->sorted;
	bool is_in_file = sorted->total * sizeof(*launches->items) > launches->memory_bytes / 2;
	uint64_t record[WORDS], last = 0;
	int result = sn_external_sort_finish(sorted, error), found = 0;
	while (!result && (found = sn_external_sort_next(sorted, record, error)) > 0) {
		if (record[LINK] != last)
			result = append(launches, record, is_in_file, error);
		last = record[LINK];
	}
	result = result ? result : found;
	sn_external_sort_release(sorted);
	return !result && is_in_file ? end_file(launches, error) : result;
}

/* ---- looking up ---- */

/* The page that has the link if any has; SIZE_MAX if it is before the first page. */
static size_t page_of(struct sn_launches *launches, uint64_t link)
{
	size_t low = 0, high = launches->page_count, last = launches->last_page;
	/* links are mostly looked up in ascending order, so the last page and the next
	 * are tried first */
	if (last < high && launches->firsts[last] <= link) {
		if (last + 1 == high || launches->firsts[last + 1] > link)
			return last;
		low = last + 1;
		if (low + 1 == high || launches->firsts[low + 1] > link)
			high = low + 1;
	}
	return launches->last_page = sn_search_from(p, low, high, launches->firsts[p] <= link) - 1;
}

static const struct sn_launch *read_page(struct sn_launches *launches, size_t number, size_t count)
{
	struct sn_launch_page *page = launches->cache + number % CACHE_PAGES;
	if (page->number == number + 1)
		return page->items;
	page->number = 0;
	if (!launches->failed)
		launches->failed =
		    sn_spill_read(&launches->file, page->items, count * sizeof(*page->items),
				  number * sizeof(page->items), &launches->why);
	if (launches->failed)
		return NULL;
	page->number = number + 1;
	return page->items;
}

const struct sn_launch *sn_launches_find(struct sn_launches *launches, uint64_t link)
{
	size_t number = link && !launches->failed ? page_of(launches, link) : SIZE_MAX;
	if (number == SIZE_MAX)
		return NULL;
	size_t first = number * PAGE_LAUNCHES, count = launches->count - first;
	count = count < PAGE_LAUNCHES ? count : PAGE_LAUNCHES;
	const struct sn_launch *items =
	    launches->cache ? read_page(launches, number, count) : launches->items + first;
	size_t found = items ? sn_search(i, count, items[i].link < link) : count;
	return found < count && items[found].link == link ? items + found : NULL;
}

int sn_launches_check(const struct sn_launches *launches, struct sn_error *error)
{
	return sn_fail_again(error, launches->failed, &launches->why);
}
