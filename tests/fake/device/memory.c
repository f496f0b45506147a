/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices is the host's, and what lies where is kept in a sorted table. */
#include "inside.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

struct region {
	uintptr_t start;
	size_t bytes;
	enum fake_place place;
	int device;
	bool is_ours; /* and not merely pinned */
};

static struct region *regions;
static size_t count, room;
static size_t used[FAKE_MOST_DEVICES];

/* The place of the first region that begins after the address. */
static size_t place_after(uintptr_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (regions[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct region *region_of(const void *address)
{
	size_t place = place_after((uintptr_t)address);
	struct region *region = place ? &regions[place - 1] : NULL;
	return region && (uintptr_t)address - region->start < region->bytes ? region : NULL;
}

static void add(struct region region)
{
	size_t place = place_after(region.start);
	if (count == room) {
		room = room ? 2 * room : 256;
		regions = realloc(regions, room * sizeof(*regions));
	}
	memmove(&regions[place + 1], &regions[place], (count - place) * sizeof(*regions));
	regions[place] = region;
	count++;
}

static void take_out(struct region *region)
{
	size_t place = (size_t)(region - regions);
	memmove(region, region + 1, (count - place - 1) * sizeof(*regions));
	count--;
}

size_t fake_device_memory_used(int device)
{
	fake_lock();
	size_t bytes = used[device];
	fake_unlock();
	return bytes;
}

static bool is_of_device(enum fake_place place)
{
	return place == FAKE_DEVICE || place == FAKE_MANAGED;
}

static void tell(const struct region *region, bool is_freed)
{
	if (fake_listener.memory)
		fake_listener.memory((const void *)region->start, region->bytes, region->place,
				     region->device, is_freed);
}

void *fake_memory_new(size_t bytes, enum fake_place place, int device)
{
	size_t size = (bytes ? bytes + PAGE - 1 : PAGE) & ~(size_t)(PAGE - 1);
	void *memory = NULL;
	fake_lock();
	if (size >= bytes &&
	    (!is_of_device(place) || size <= fake_device_memory() - used[device])) {
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			memory = NULL;
	}
	if (memory) {
		used[device] += is_of_device(place) ? size : 0;
		struct region region = {(uintptr_t)memory, size, place, device, true};
		add(region);
		tell(&region, false);
	}
	fake_unlock();
	return memory;
}

bool fake_memory_free(void *address)
{
	fake_lock();
	struct region *region = region_of(address);
	bool known = region && region->is_ours && region->start == (uintptr_t)address;
	if (known) {
		tell(region, true);
		munmap(address, region->bytes);
		used[region->device] -= is_of_device(region->place) ? region->bytes : 0;
		take_out(region);
	}
	fake_unlock();
	return known;
}

enum fake_place fake_memory_place(const void *address, void **start, size_t *bytes, int *device)
{
	fake_lock();
	struct region *region = region_of(address);
	enum fake_place place = region ? region->place : FAKE_PAGEABLE;
	if (start)
		*start = region ? (void *)region->start : NULL;
	if (bytes)
		*bytes = region ? region->bytes : 0;
	if (device)
		*device = region ? region->device : 0;
	fake_unlock();
	return place;
}

void fake_memory_pin(void *address, size_t bytes)
{
	fake_lock();
	add((struct region){(uintptr_t)address, bytes, FAKE_PINNED, 0, false});
	fake_unlock();
}

void fake_memory_unpin(void *address)
{
	fake_lock();
	struct region *region = region_of(address);
	if (region && !region->is_ours)
		take_out(region);
	fake_unlock();
}
