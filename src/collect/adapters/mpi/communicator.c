/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of communicators, windows and files by handle: looked up without a lock, added under
 * one. A name is a hash of the members' ranks and of how many communicators of just these members
 * were created before; see mpi.h.
 */
#include "mpi.h"

#include "collect/core/arena.h"
#include "collect/core/lock.h"

#include <string.h>

#define COMMUNICATORS 1024u
#define PROBES	      16u
#define GONE	      1u /* of a handle: the place may be reused */

static struct sn_mpi_communicator all[COMMUNICATORS];

/* How many communicators have had these members. */
static struct {
	uint64_t members, count;
} member_counts[COMMUNICATORS];

typedef int ask_comm(sn_word, void *);
typedef int translate(sn_word, int, const int *, sn_word, int *);
typedef int free_group(void *);

static struct sn_mpi_communicator *place_of(sn_word handle, unsigned probe)
{
	return all + (sn_message_mix(handle) + probe) % COMMUNICATORS;
}

static struct sn_mpi_communicator *find(sn_word handle)
{
	for (unsigned probe = 0; probe < PROBES; probe++) {
		struct sn_mpi_communicator *one = place_of(handle, probe);
		if (atomic_load_explicit(&one->handle, memory_order_acquire) == handle)
			return one;
	}
	return NULL;
}

static struct sn_mpi_communicator *find_place(sn_word handle)
{
	for (unsigned probe = 0; probe < PROBES; probe++)
		if (atomic_load_explicit(&place_of(handle, probe)->handle, memory_order_relaxed) <=
		    GONE)
			return place_of(handle, probe);
	return NULL;
}

/* ---- members ---- */

/* The old record is kept: a thread may be reading it. */
static bool make_room(struct sn_mpi_communicator *one, uint32_t size)
{
	if (size > one->capacity) {
		one->world = sn_pages_map((size_t)size * sizeof(*one->world));
		one->capacity = one->world ? size : 0;
	}
	return size <= one->capacity;
}

/* The ranks in MPI_COMM_WORLD of the members, or of those on the other side; false where they
 * cannot be had. */
static bool read_members(const struct sn_mpi_library *library, sn_word handle, bool others,
			 struct sn_mpi_communicator *one, uint64_t *hash)
{
	ask_comm *group_of = others ? SN_MPI_REAL(ask_comm, "PMPI_Comm_remote_group")
				    : SN_MPI_REAL(ask_comm, "PMPI_Comm_group");
	ask_comm *world_of = SN_MPI_REAL(ask_comm, "PMPI_Comm_group"),
		 *size_of = SN_MPI_REAL(ask_comm, "PMPI_Group_size");
	free_group *release = SN_MPI_REAL(free_group, "PMPI_Group_free");
	translate *ranks_in = SN_MPI_REAL(translate, "PMPI_Group_translate_ranks");
	sn_word group = 0, world = 0;
	int size = 0;
	if (!group_of || !world_of || !size_of || !release || !ranks_in ||
	    group_of(handle, &group) || world_of(library->world, &world))
		return false;
	bool is_read = !size_of(group, &size) && size > 0;
	is_read = is_read && make_room(one, (uint32_t)size);
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
		if (member_counts[place].count && member_counts[place].members != members)
			continue;
		member_counts[place].members = members;
		return member_counts[place].count++;
	}
	return UINT64_MAX; /* more than there will ever be */
}

/* `reserved`: the place that was counted before; SN_MPI_NOT_RESERVED: now. */
static bool describe(const struct sn_mpi_library *library, sn_word handle,
		     struct sn_mpi_communicator *one, uint64_t reserved)
{
	ask_comm *rank_in = SN_MPI_REAL(ask_comm, "PMPI_Comm_rank"),
		 *is_between = SN_MPI_REAL(ask_comm, "PMPI_Comm_test_inter");
	uint64_t members, others = 0;
	int rank = 0, local = 0, between = 0;
	if (!rank_in || !is_between || rank_in(library->world, &rank) || rank_in(handle, &local) ||
	    is_between(handle, &between) || !read_members(library, handle, false, one, &members) ||
	    (between && !read_members(library, handle, true, one, &others)))
		return false;
	/* the same from both sides */
	one->members = members + others;
	uint64_t before = reserved == SN_MPI_NOT_RESERVED ? count_before(one->members) : reserved;
	one->rank = (uint32_t)rank;
	one->local_rank = (uint32_t)local;
	one->is_between = between;
	one->epochs = NULL;
	one->name = (uint32_t)sn_message_mix(one->members + before * 0x9e3779b97f4a7c15u) | 1;
	atomic_store_explicit(&one->collectives, 0, memory_order_relaxed);
	atomic_store_explicit(&one->children, 0, memory_order_relaxed);
	return before != UINT64_MAX;
}

/* ---- by handle ---- */

/* Windows and files may have the handles of communicators. */
static sn_word key_of(sn_word handle, enum sn_mpi_kind kind)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	if (library && library->handle_bytes == sizeof(uint32_t) && kind != SN_MPI_FILE)
		handle = (uint32_t)handle;
	return kind == SN_MPI_COMMUNICATOR ? handle : sn_message_mix(handle + kind) | 1u << 1;
}

/* Under the lock. */
static struct sn_mpi_communicator *add(const struct sn_mpi_library *library, sn_word handle,
				       uint64_t reserved)
{
	struct sn_mpi_communicator *one = find_place(handle);
	if (!one || !describe(library, handle, one, reserved))
		return NULL;
	/* release: who finds the handle finds all of it */
	atomic_store_explicit(&one->handle, handle, memory_order_release);
	return one;
}

static struct sn_mpi_communicator *look_up(sn_word handle, uint64_t reserved)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	if (!library || handle == library->no_communicator || handle <= GONE)
		return NULL;
	sn_lock_acquire(SN_LOCK_MPI_COMMUNICATORS);
	/* the world is the first of its members */
	struct sn_mpi_communicator *world = find(library->world);
	if (!world && sn_mpi_has_begun())
		world = add(library, library->world, SN_MPI_NOT_RESERVED);
	struct sn_mpi_communicator *one = find(handle);
	if (world && !one)
		one = add(library, handle, reserved);
	sn_lock_release(SN_LOCK_MPI_COMMUNICATORS);
	return one;
}

struct sn_mpi_communicator *sn_mpi_communicator(sn_word handle)
{
	handle = key_of(handle, SN_MPI_COMMUNICATOR);
	struct sn_mpi_communicator *one = find(handle);
	return __builtin_expect(one != NULL, 1) ? one : look_up(handle, SN_MPI_NOT_RESERVED);
}

struct sn_mpi_communicator *sn_mpi_known(sn_word handle, enum sn_mpi_kind kind)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	sn_word key = key_of(handle, kind);
	struct sn_mpi_communicator *one = find(key);
	if (__builtin_expect(one != NULL, 1) || kind != SN_MPI_COMMUNICATOR)
		return one;
	return key == library->world || key == library->self ? look_up(key, SN_MPI_NOT_RESERVED)
							     : NULL;
}

uint64_t sn_mpi_communicator_reserve(const struct sn_mpi_communicator *parent)
{
	sn_lock_acquire(SN_LOCK_MPI_COMMUNICATORS);
	uint64_t before = count_before(parent->members);
	sn_lock_release(SN_LOCK_MPI_COMMUNICATORS);
	return before;
}

void sn_mpi_communicator_created(const void *handle, uint64_t reserved)
{
	look_up(sn_mpi_handle(sn_mpi_library(), handle, 0), reserved);
}

void sn_mpi_child_created(struct sn_mpi_communicator *parent, sn_word handle, enum sn_mpi_kind kind)
{
	sn_word key = key_of(handle, kind);
	uint64_t number = atomic_fetch_add_explicit(&parent->children, 1, memory_order_relaxed);
	sn_lock_acquire(SN_LOCK_MPI_COMMUNICATORS);
	struct sn_mpi_communicator *one = find_place(key);
	if (one && make_room(one, parent->size)) {
		one->name = (uint32_t)sn_message_mix(parent->name + (number + 1) * 4 + kind) | 1;
		one->members = parent->members;
		one->rank = parent->rank;
		one->local_rank = parent->local_rank;
		one->size = parent->size;
		one->is_between = parent->is_between;
		one->epochs = NULL;
		memcpy(one->world, parent->world, parent->size * sizeof(*one->world));
		atomic_store_explicit(&one->collectives, 0, memory_order_relaxed);
		/* release: who finds the handle finds all of it */
		atomic_store_explicit(&one->handle, key, memory_order_release);
	}
	sn_lock_release(SN_LOCK_MPI_COMMUNICATORS);
}

void sn_mpi_freed(sn_word handle, enum sn_mpi_kind kind)
{
	sn_word key = key_of(handle, kind);
	sn_lock_acquire(SN_LOCK_MPI_COMMUNICATORS);
	struct sn_mpi_communicator *one = key > GONE ? find(key) : NULL;
	if (one)
		atomic_store_explicit(&one->handle, GONE, memory_order_relaxed);
	sn_lock_release(SN_LOCK_MPI_COMMUNICATORS);
}

uint32_t sn_mpi_world_rank(const struct sn_mpi_communicator *communicator, int rank)
{
	return rank >= 0 && (uint32_t)rank < communicator->size && communicator->world[rank] >= 0
		   ? (uint32_t)communicator->world[rank]
		   : SN_MESSAGE_ANYBODY;
}

size_t sn_mpi_group_ranks(sn_word group, uint32_t *ranks, size_t room)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	ask_comm *world_of = SN_MPI_REAL(ask_comm, "PMPI_Comm_group"),
		 *size_of = SN_MPI_REAL(ask_comm, "PMPI_Group_size");
	free_group *release = SN_MPI_REAL(free_group, "PMPI_Group_free");
	translate *ranks_in = SN_MPI_REAL(translate, "PMPI_Group_translate_ranks");
	sn_word world = 0;
	int size = 0;
	size_t count = 0;
	if (!world_of || !size_of || !release || !ranks_in || size_of(group, &size) || size < 0 ||
	    (size_t)size > room || world_of(library->world, &world))
		return 0;
	for (int i = 0, rank = 0; i < size; i++)
		if (!ranks_in(group, 1, &i, world, &rank) && rank >= 0)
			ranks[count++] = (uint32_t)rank;
	release(&world);
	return count;
}
