/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analysis by the ranks of an MPI job; see comm.h. MPI counts in int, so longer messages are
 * sent in parts. An error of MPI itself ends the job, which is MPI's default.
 */
#include "comm.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifndef PART_BYTES /* tests have small ones */
#define PART_BYTES (1u << 30)
#endif

enum { TAG_LENGTH = 1, TAG_BYTES, TAG_EXCHANGE };

static int rank, size = 1;
static bool has_begun, is_one_host = true;

/* Everybody compares its host's name with that of rank 0. */
static void compare_hosts(void)
{
	char mine[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
	const char *forced = getenv("SONDE_MPI_HOSTS");
	int length;
	MPI_Get_processor_name(mine, &length);
	memcpy(first, mine, sizeof(first));
	MPI_Bcast(first, sizeof(first), MPI_CHAR, 0, MPI_COMM_WORLD);
	int differs = strncmp(mine, first, sizeof(first)) || (forced && !strcmp(forced, "many"));
	MPI_Allreduce(MPI_IN_PLACE, &differs, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	is_one_host = !differs;
}

void sn_comm_begin(void)
{
	int provided;
	has_begun = true;
	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	compare_hosts();
}

bool sn_comm_is_split(void)
{
	static const char *const sizes[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
	bool is_job = false;
	for (size_t index = 0; index < sizeof(sizes) / sizeof(*sizes); index++)
		is_job = is_job || (getenv(sizes[index]) && atoi(getenv(sizes[index])) > 1);
	return is_job && size == 1;
}

static bool comm_is_one_host(void)
{
	return is_one_host;
}

void sn_comm_end(void)
{
	if (has_begun)
		MPI_Finalize();
	has_begun = false;
}

static unsigned comm_rank(void)
{
	return (unsigned)rank;
}

static unsigned comm_size(void)
{
	return (unsigned)size;
}

static void *must(void *memory)
{
	if (!memory)
		MPI_Abort(MPI_COMM_WORLD, 128);
	return memory;
}

static void comm_broadcast(void *bytes, size_t length)
{
	for (size_t at = 0; at < length && size > 1; at += PART_BYTES) {
		size_t part = length - at < PART_BYTES ? length - at : PART_BYTES;
		MPI_Bcast((char *)bytes + at, (int)part, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
}

void sn_comm_broadcast_part(struct sn_peer_part *part)
{
	uint64_t length = part->length;
	if (size == 1)
		return;
	MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
	if (rank) {
		part->length = length;
		part->bytes = must(malloc(length + 1));
	}
	comm_broadcast(part->bytes, length);
}

static void comm_send(unsigned to, const void *bytes, size_t length)
{
	uint64_t announced = length;
	MPI_Send(&announced, 1, MPI_UINT64_T, (int)to, TAG_LENGTH, MPI_COMM_WORLD);
	for (size_t at = 0; at < length; at += PART_BYTES) {
		size_t part = length - at < PART_BYTES ? length - at : PART_BYTES;
		MPI_Send((const char *)bytes + at, (int)part, MPI_BYTE, (int)to, TAG_BYTES,
			 MPI_COMM_WORLD);
	}
}

static void comm_receive(unsigned from, struct sn_peer_part *part)
{
	uint64_t length;
	MPI_Recv(&length, 1, MPI_UINT64_T, (int)from, TAG_LENGTH, MPI_COMM_WORLD,
		 MPI_STATUS_IGNORE);
	part->length = length;
	part->bytes = must(malloc(length + 1));
	for (size_t at = 0; at < length; at += PART_BYTES) {
		size_t some = length - at < PART_BYTES ? length - at : PART_BYTES;
		MPI_Recv((char *)part->bytes + at, (int)some, MPI_BYTE, (int)from, TAG_BYTES,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
}

static struct sn_peer_part *comm_gather(const void *bytes, size_t length)
{
	if (rank) {
		comm_send(0, bytes, length);
		return NULL;
	}
	struct sn_peer_part *parts = must(calloc((size_t)size, sizeof(*parts)));
	parts[0] = (struct sn_peer_part){must(malloc(length + 1)), length};
	if (length)
		memcpy(parts[0].bytes, bytes, length);
	for (int i = 1; i < size; i++)
		comm_receive((unsigned)i, parts + i);
	return parts;
}

/* In `size` steps: in step i each rank sends to the i-th after it and receives from the i-th before
 * it, so that no rank waits for more than one. */
static void comm_exchange(const struct sn_peer_part *out, struct sn_peer_part *in)
{
	for (int step = 0; step < size; step++) {
		int to = (rank + step) % size, from = (rank + size - step) % size;
		uint64_t sent = out[to].length, coming;
		MPI_Sendrecv(&sent, 1, MPI_UINT64_T, to, TAG_EXCHANGE, &coming, 1, MPI_UINT64_T,
			     from, TAG_EXCHANGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		in[from] = (struct sn_peer_part){must(malloc(coming + 1)), coming};
		for (size_t at = 0; at < sent || at < coming; at += PART_BYTES) {
			size_t give = at < sent ? sent - at : 0,
			       take = at < coming ? coming - at : 0;
			give = give < PART_BYTES ? give : PART_BYTES;
			take = take < PART_BYTES ? take : PART_BYTES;
			/* no rank waits for a missing part */
			MPI_Sendrecv((char *)out[to].bytes + (give ? at : 0), (int)give, MPI_BYTE,
				     give ? to : MPI_PROC_NULL, TAG_EXCHANGE,
				     (char *)in[from].bytes + (take ? at : 0), (int)take, MPI_BYTE,
				     take ? from : MPI_PROC_NULL, TAG_EXCHANGE, MPI_COMM_WORLD,
				     MPI_STATUS_IGNORE);
		}
	}
}

uint64_t sn_comm_sum(uint64_t value)
{
	uint64_t sum;
	if (size == 1)
		return value;
	MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	return sum;
}

static void comm_or(uint64_t *words, size_t count)
{
	enum { MOST = PART_BYTES / sizeof(*words) };
	for (size_t at = 0; at < count && size > 1; at += MOST) {
		size_t part = count - at < MOST ? count - at : MOST;
		MPI_Allreduce(MPI_IN_PLACE, words + at, (int)part, MPI_UINT64_T, MPI_BOR,
			      MPI_COMM_WORLD);
	}
}

static int comm_agree(int code, struct sn_error *error)
{
	int mine = code ? rank : size, first;
	struct sn_error text = {""};
	if (size == 1)
		return code;
	MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (first == size)
		return 0;
	if (first == rank && error)
		text = *error;
	MPI_Bcast(&code, 1, MPI_INT, first, MPI_COMM_WORLD);
	MPI_Bcast(&text, sizeof(text), MPI_BYTE, first, MPI_COMM_WORLD);
	if (error)
		*error = text;
	return code;
}

const struct sn_peers *sn_comm(void)
{
	static const struct sn_peers peers = {
	    .rank = comm_rank,
	    .size = comm_size,
	    .is_one_host = comm_is_one_host,
	    .broadcast = comm_broadcast,
	    .gather = comm_gather,
	    .exchange = comm_exchange,
	    .send = comm_send,
	    .receive = comm_receive,
	    .merge_bits = comm_or,
	    .agree = comm_agree,
	};
	return &peers;
}
