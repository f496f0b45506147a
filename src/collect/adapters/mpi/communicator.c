/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators, by handle: found without a lock, made known under one. A name is a hash of who the
 * members are and of how many communicators of just these members were made before; see mpi.h.
 */
#include "mpi.h"

#include "collect/arena.h"
#include "collect/property.h"

#include <sched.h>
#include <string.h>

#define COMMUNICATORS 1024u
#define PROBES	      16u
#define GONE	      1u /* of a handle: somebody else may have the place */

#define REAL(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) known;                                                      \
		sn_mpi_real(&known, name);                                                         \
	})

static struct sn_mpi_communicator all[COMMUNICATORS];
static _Atomic int lock;

/* How many communicators have had these members. */
static struct {
	uint64_t members, count;
} made[COMMUNICATORS];

typedef int ask_comm(sn_word, void *);
typedef int translate(sn_word, int, const int *, sn_word, int *);

static void take_lock(void)
{
	/* acquire and release: the tables as the last holder left them */
	while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
		sched_yield();
}

static struct sn_mpi_communicator *find(sn_word handle)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct sn_mpi_communicator *one =
		    all + (sn_message_mix(handle) + probe) % COMMUNICATORS;
		if (atomic_load_explicit(&one->handle, memory_order_acquire) == handle)
			return one;
	}
	return NULL;
}

static struct sn_mpi_communicator *find_place(sn_word handle)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct sn_mpi_communicator *one =
		    all + (sn_message_mix(handle) + probe) % COMMUNICATORS;
		if (atomic_load_explicit(&one->handle, memory_order_relaxed) <= GONE)
			return one;
	}
	return NULL;
}

/* ---- members ---- */

/* The ranks in MPI_COMM_WORLD of the members, or of those on the other side; false where they
 * cannot be had. */
static bool read_members(const struct sn_mpi_library *library, sn_word handle, bool others,
			 struct sn_mpi_communicator *one, uint64_t *hash)
{
	ask_comm *group_of =
	    (ask_comm *)(others ? REAL("PMPI_Comm_remote_group") : REAL("PMPI_Comm_group"));
	ask_comm *world_of = (ask_comm *)REAL("PMPI_Comm_group"),
		 *size_of = (ask_comm *)REAL("PMPI_Group_size");
	int (*release)(void *) = (int (*)(void *))REAL("PMPI_Group_free");
	translate *ranks_in = (translate *)REAL("PMPI_Group_translate_ranks");
	sn_word group = 0, world = 0;
	int size = 0;
	if (!group_of || !world_of || !size_of || !release || !ranks_in ||
	    group_of(handle, &group) || world_of(library->world, &world))
		return false;
	bool is_read = !size_of(group, &size) && size > 0;
	if (is_read && (uint32_t)size > one->capacity) {
		/* what was there is kept: somebody may be looking at it */
		one->world = sn_pages_map((size_t)size * sizeof(int32_t));
		one->capacity = one->world ? (uint32_t)size : 0;
		is_read = one->world != NULL;
	}
	for (int i = 0; i < size && is_read; i++)
		is_read = !ranks_in(group, 1, &i, world, one->world + i);
	release(&group);
	release(&world);
	one->size = is_read ? (uint32_t)size : 0;
	*hash = 0;
	for (int i = 0; i < size && is_read; i++)
		*hash = sn_message_mix(*hash + (uint32_t)one->world[i] + 1);
	return is_read;
}

static uint64_t count_before(uint64_t members)
{
	for (unsigned probe = 0; probe < COMMUNICATORS; probe++) {
		size_t place = (members + probe) % COMMUNICATORS;
		if (made[place].count && made[place].members != members)
			continue;
		made[place].members = members;
		return made[place].count++;
	}
	return UINT64_MAX; /* more than anybody will have */
}

static bool describe(const struct sn_mpi_library *library, sn_word handle,
		     struct sn_mpi_communicator *one)
{
	ask_comm *rank_in = (ask_comm *)REAL("PMPI_Comm_rank"),
		 *is_between = (ask_comm *)REAL("PMPI_Comm_test_inter");
	uint64_t members, others = 0;
	int rank = 0, between = 0;
	if (!rank_in || !is_between || rank_in(library->world, &rank) ||
	    is_between(handle, &between) || !read_members(library, handle, false, one, &members) ||
	    (between && !read_members(library, handle, true, one, &others)))
		return false;
	/* the same from both sides */
	members += others;
	uint64_t before = count_before(members);
	one->rank = (uint32_t)rank;
	one->name = (uint32_t)sn_message_mix(members + before * 0x9e3779b97f4a7c15u) | 1;
	atomic_store_explicit(&one->collectives, 0, memory_order_relaxed);
	return before != UINT64_MAX;
}

/* Under the lock. */
static struct sn_mpi_communicator *add(const struct sn_mpi_library *library, sn_word handle)
{
	struct sn_mpi_communicator *one = find_place(handle);
	if (!one || !describe(library, handle, one))
		return NULL;
	/* release: who finds the handle finds all of it */
	atomic_store_explicit(&one->handle, handle, memory_order_release);
	return one;
}

static struct sn_mpi_communicator *look_up(sn_word handle)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	if (!library || handle == library->no_communicator || handle <= GONE)
		return NULL;
	take_lock();
	/* the world is the first of its members */
	struct sn_mpi_communicator *world = find(library->world);
	if (!world) {
		world = add(library, library->world);
		if (world && !sn_property_has("rank"))
			sn_property_set_rank(world->rank);
	}
	struct sn_mpi_communicator *one = find(handle);
	if (world && !one)
		one = add(library, handle);
	atomic_store_explicit(&lock, 0, memory_order_release);
	return one;
}

struct sn_mpi_communicator *sn_mpi_communicator(sn_word handle)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	if (library && library->handle_bytes == 4)
		handle = (uint32_t)handle;
	struct sn_mpi_communicator *one = find(handle);
	return __builtin_expect(one != NULL, 1) ? one : look_up(handle);
}

void sn_mpi_communicator_made(const void *handle)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	if (library && sn_messages_are_wanted())
		look_up(sn_mpi_handle(library, handle, 0));
}

void sn_mpi_communicator_gone(sn_word handle)
{
	take_lock();
	struct sn_mpi_communicator *one = handle > GONE ? find(handle) : NULL;
	if (one)
		atomic_store_explicit(&one->handle, GONE, memory_order_relaxed);
	atomic_store_explicit(&lock, 0, memory_order_release);
}

uint32_t sn_mpi_world_rank(const struct sn_mpi_communicator *communicator, int rank)
{
	return rank >= 0 && (uint32_t)rank < communicator->size && communicator->world[rank] >= 0
		   ? (uint32_t)communicator->world[rank]
		   : SN_MESSAGE_ANYBODY;
}
