/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is executed: its name and the numbers of its devices, asked of the plugin once for each. Programs that compile and
 * drop ever more have few names, so what is known of one is kept by what it says.
 */
#include "pjrt.h"

#include "collect/core/hash.h"
#include "collect/core/keep.h"
#include "collect/core/word_table.h"

#include <string.h>

#define LOADED_BITS   14u /* that are not destroyed */
#define NAMES_MOST    4096u
#define NAME_MOST     256u
#define LIST_BITS     8u
#define DEVICES_KNOWN 64u

static struct sn_word_table loaded_ones = {.bits = LOADED_BITS};
static _Atomic(struct sn_pjrt_executable *) lists[1u << LIST_BITS];
static _Atomic uint32_t name_count;

void sn_pjrt_executables_init(void)
{
	sn_word_prepare(&loaded_ones);
}

/* ---- devices ---- */

uint16_t sn_pjrt_device(const struct sn_pjrt_made *plugin, void *device)
{
	static struct {
		_Atomic(void *) device;
		_Atomic uint32_t number;
	} known[DEVICES_KNOWN];
	typeof(&known[0]) place = &known[((uintptr_t)device >> 4) % DEVICES_KNOWN];
	if (atomic_load_explicit(&place->device, memory_order_acquire) == device)
		return (uint16_t)atomic_load_explicit(&place->number, memory_order_relaxed);
	struct sn_pjrt_about of = SN_PJRT_NEW(sn_pjrt_about, .object = device);
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_DESCRIPTION, &of))
		return 0;
	struct sn_pjrt_about id = SN_PJRT_NEW(sn_pjrt_about, .object = of.result.object);
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_DESCRIPTION_ID, &id) || id.result.number < 0)
		return 0;
	void *nothing = NULL;
	/* whoever is second at a place asks each time */
	if (atomic_compare_exchange_strong(&place->device, &nothing, (void *)1)) {
		atomic_store_explicit(&place->number, (uint32_t)id.result.number,
				      memory_order_relaxed);
		atomic_store_explicit(&place->device, device, memory_order_release);
	}
	return (uint16_t)id.result.number;
}

static void ask_devices(const struct sn_pjrt_made *plugin, void *loaded,
			struct sn_pjrt_executable *found)
{
	struct sn_pjrt_list devices = SN_PJRT_NEW(sn_pjrt_list, .object = loaded);
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_DEVICES, &devices) || !devices.first)
		return;
	for (size_t i = 0; i < devices.count && i < SN_PJRT_DEVICES; i++)
		found->devices[found->device_count++] =
		    sn_pjrt_device(plugin, ((void *const *)devices.first)[i]);
}

/* ---- names ---- */

static bool is_same(const struct sn_pjrt_executable *one, const struct sn_pjrt_executable *other)
{
	return one->hash == other->hash && one->length == other->length &&
	       one->device_count == other->device_count &&
	       !memcmp(one->devices, other->devices, sizeof(one->devices)) &&
	       !memcmp(one->name, other->name, one->length);
}

/* That which says the same, made where there is none; NULL without memory or for too many. */
static const struct sn_pjrt_executable *kept(struct sn_pjrt_executable *found)
{
	found->hash =
	    sn_hash_mix(sn_hash_text(found->name, found->length),
			sn_hash_text((const char *)found->devices, sizeof(found->devices)));
	_Atomic(struct sn_pjrt_executable *) *list = &lists[found->hash % (1u << LIST_BITS)];
	struct sn_pjrt_executable *first = atomic_load_explicit(list, memory_order_acquire);
	for (struct sn_pjrt_executable *one = first; one; one = one->next)
		if (is_same(one, found))
			return one;
	if (atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed) >= NAMES_MOST)
		return NULL;
	struct sn_pjrt_executable *made = sn_keep(sizeof(*made) + found->length + 1);
	if (!made)
		return NULL;
	memcpy(made, found, sizeof(*made) + found->length);
	made->next = first;
	/* release: complete before it is found; threads that race may keep one twice */
	while (!atomic_compare_exchange_weak_explicit(list, &made->next, made, memory_order_release,
						      memory_order_relaxed))
		continue;
	return made;
}

static void ask_name(const struct sn_pjrt_made *plugin, void *executable,
		     struct sn_pjrt_executable *found)
{
	struct sn_pjrt_list name = SN_PJRT_NEW(sn_pjrt_list, .object = executable);
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_EXECUTABLE_NAME, &name) || !name.first)
		return;
	found->length = (uint32_t)(name.count < NAME_MOST ? name.count : NAME_MOST);
	memcpy(found->name, name.first, found->length);
}

static __attribute__((noinline)) const struct sn_pjrt_executable *
ask(const struct sn_pjrt_made *plugin, void *loaded)
{
	union {
		struct sn_pjrt_executable found;
		char room[sizeof(struct sn_pjrt_executable) + NAME_MOST + 1];
	} it = {.room = {0}};
	struct sn_pjrt_about of = SN_PJRT_NEW(sn_pjrt_about, .object = loaded);
	if (!sn_pjrt_ask(plugin, SN_PJRT_AT_EXECUTABLE, &of))
		return NULL;
	ask_name(plugin, of.result.object, &it.found);
	ask_devices(plugin, loaded, &it.found);
	struct sn_pjrt_object done = SN_PJRT_NEW(sn_pjrt_object, .object = of.result.object);
	sn_pjrt_ask(plugin, SN_PJRT_AT_EXECUTABLE_DESTROY, &done);
	return it.found.length ? kept(&it.found) : NULL;
}

const struct sn_pjrt_executable *sn_pjrt_executable(const struct sn_pjrt_made *plugin, void *loaded)
{
	if (!loaded || !loaded_ones.slots)
		return NULL;
	const struct sn_word_slot *slot = sn_word_find(&loaded_ones, (uintptr_t)loaded);
	if (__builtin_expect(!slot, 0)) {
		/* it is asked about once, also where that fails */
		if (!sn_word_add(&loaded_ones, (uintptr_t)loaded, 0))
			return NULL;
		sn_word_set(&loaded_ones, (uintptr_t)loaded, (uintptr_t)ask(plugin, loaded));
	}
	return (const struct sn_pjrt_executable *)sn_word_get(&loaded_ones, (uintptr_t)loaded);
}

void sn_pjrt_executable_forget(void *loaded)
{
	uintptr_t value;
	if (loaded && loaded_ones.slots)
		sn_word_remove(&loaded_ones, (uintptr_t)loaded, &value);
}
