/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices is the host's, and what lies where is kept in a sorted table. */
#include "inside.h"
#include "table.h"

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
	int holder;   /* of managed memory: the device where it is, -1 on the host */
	char *line;   /* that has allocated it; NULL: it is not managed */
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
	return place >= FAKE_DEVICE;
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
		struct region region = {(uintptr_t)memory,
					size,
					place,
					device,
					true,
					-1,
					place == FAKE_MANAGED ? fake_table_here() : NULL};
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
		free(region->line);
		take_out(region);
	}
	fake_unlock();
	return known;
}

void fake_memory_end_managed(int device)
{
	fake_lock();
	for (size_t at = count; at-- > 0;) {
		struct region *region = &regions[at];
		if (region->place != FAKE_MANAGED || region->device != device)
			continue;
		munmap((void *)region->start, region->bytes);
		used[device] -= region->bytes;
		free(region->line);
		take_out(region);
	}
	fake_unlock();
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
	add((struct region){(uintptr_t)address, bytes, FAKE_PINNED, 0, false, -1, NULL});
	fake_unlock();
}

void fake_memory_declare(void *address, size_t bytes)
{
	fake_lock();
	add((struct region){(uintptr_t)address, bytes, FAKE_DEVICE, -1, false, -1, NULL});
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

/* ---- managed memory ---- */

#define PIECE		   (2u << 20)
#define FAULT_NS	   12000u
#define PIECE_FIRST_NS	   8000u
#define PIECE_BYTES_PER_NS 20u

static uint64_t tell_managed(const struct region *region, struct fake_managed what, uint64_t ns)
{
	bool is_moved = what.kind == FAKE_TO_DEVICE || what.kind == FAKE_TO_HOST;
	what.end_ns = what.start_ns + ns;
	fake_table_add_managed(&what, region->line, is_moved ? what.value : 0);
	if (fake_listener.managed)
		fake_listener.managed(&what);
	return what.end_ns;
}

static uint64_t move_piece(const struct region *region, size_t at, struct fake_managed what,
			   bool faults, uintptr_t pc)
{
	size_t bytes = region->bytes - at < PIECE ? region->bytes - at : PIECE;
	what.address = region->start + at;
	if (faults) {
		struct fake_managed fault = what;
		fault.kind = pc ? FAKE_HOST_FAULTS : FAKE_DEVICE_FAULTS;
		fault.value = pc ? pc : 1 + at / PIECE % 4;
		what.start_ns = tell_managed(region, fault, pc ? 0 : FAULT_NS);
	}
	what.value = bytes;
	return tell_managed(region, what, PIECE_FIRST_NS + bytes / PIECE_BYTES_PER_NS);
}

void fake_memory_move(const void *address, int device, bool faults, uintptr_t pc, uint64_t start_ns)
{
	fake_lock();
	struct region *region = region_of(address);
	bool moves = region && region->line && region->holder != device;
	struct fake_managed what = {.kind = device < 0 ? FAKE_TO_HOST : FAKE_TO_DEVICE,
				    .start_ns = start_ns,
				    .device = device < 0 && region ? region->holder : device};
	for (size_t at = 0; moves && at < region->bytes; at += PIECE)
		what.start_ns = move_piece(region, at, what, faults, pc);
	if (moves)
		region->holder = device;
	fake_unlock();
	if (moves)
		fake_sleep_until(what.start_ns);
}

void fake_host_touches(const void *address)
{
	fake_memory_move(address, -1, true, (uintptr_t)__builtin_return_address(0) - 1,
			 fake_now_ns());
}
