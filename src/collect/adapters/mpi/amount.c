/* SPDX-License-Identifier: Apache-2.0 */
/* The number of bytes that a call moves, from counts and types that it has accepted; see calls.def.
 * */
#include "mpi.h"

#include <string.h>

typedef int ask_two(sn_word, int *);

uint64_t sn_mpi_count(const struct sn_mpi_entry *entry, uint8_t argument)
{
	sn_word word = sn_mpi_word(entry, argument);
	int64_t count = entry->function->is_wide ? (int64_t)word : (int)word;
	return count > 0 ? (uint64_t)count : 0;
}

static uint64_t count_at(const struct sn_mpi_entry *entry, uint8_t argument, size_t index)
{
	const unsigned char *counts = sn_mpi_pointer(entry, argument);
	int64_t wide;
	int narrow;
	if (entry->function->is_wide) {
		memcpy(&wide, counts + index * sizeof(wide), sizeof(wide));
	} else {
		memcpy(&narrow, counts + index * sizeof(narrow), sizeof(narrow));
		wide = narrow;
	}
	return wide > 0 ? (uint64_t)wide : 0;
}

/* To how many a rank gives in the topology of its communicator. */
static size_t count_neighbours(sn_word comm, const struct sn_mpi_communicator *among)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	typedef int ask_graph(sn_word, int, int *);
	typedef int ask_three(sn_word, int *, int *, int *);
	ask_two *topology = SN_MPI_REAL(ask_two, "PMPI_Topo_test");
	ask_two *dimensions = SN_MPI_REAL(ask_two, "PMPI_Cartdim_get");
	ask_graph *of_graph = SN_MPI_REAL(ask_graph, "PMPI_Graph_neighbors_count");
	ask_three *of_distributed = SN_MPI_REAL(ask_three, "PMPI_Dist_graph_neighbors_count");
	int kind = 0, count = 0, from = 0, is_weighted;
	if (!topology || !dimensions || !of_graph || !of_distributed || topology(comm, &kind))
		return 0;
	if (kind == library->cartesian)
		return dimensions(comm, &count) || count < 0 ? 0 : (size_t)count * 2;
	if (kind == library->graph)
		return of_graph(comm, (int)among->local_rank, &count) || count < 0 ? 0
										   : (size_t)count;
	return of_distributed(comm, &from, &count, &is_weighted) || count < 0 ? 0 : (size_t)count;
}

static uint64_t sum_of(const struct sn_mpi_entry *entry, const struct sn_mpi_amount *amount,
		       size_t members)
{
	const struct sn_mpi_library *library = sn_mpi_library();
	bool has_types = (amount->how & ~SN_MPI_NEAR) == SN_MPI_TYPES;
	uint64_t type = has_types ? 1 : sn_mpi_type_bytes(sn_mpi_word(entry, amount->type)),
		 sum = 0;
	for (size_t i = 0; i < members; i++) {
		uint64_t count = count_at(entry, amount->count, i);
		if (has_types && count)
			type = sn_mpi_type_bytes(
			    sn_mpi_handle(library, sn_mpi_pointer(entry, amount->type), i));
		sum += count * type;
	}
	return sum;
}

uint64_t sn_mpi_amount(const struct sn_mpi_entry *entry, const struct sn_mpi_communicator *among)
{
	const struct sn_mpi_function *of = entry->function;
	const struct sn_mpi_amount *amount = &of->amount;
	if (amount->buffer && sn_mpi_word(entry, amount->buffer) == sn_mpi_library()->in_place)
		amount = &of->in_place;
	/* of two groups the one that gives nothing need not say how much */
	if (!amount->how || (of->together && among && among->is_between))
		return 0;
	size_t members = !among ? 1
			 : amount->how & SN_MPI_NEAR
			     ? count_neighbours(sn_mpi_word(entry, of->together), among)
			     : among->size;
	switch (amount->how & ~SN_MPI_NEAR) {
	case SN_MPI_SUM:
	case SN_MPI_TYPES:
		return sum_of(entry, amount, members);
	case SN_MPI_OWN:
		return (among ? count_at(entry, amount->count, among->local_rank) : 0) *
		       sn_mpi_type_bytes(sn_mpi_word(entry, amount->type));
	case SN_MPI_ONE:
		members = 1;
	}
	return (amount->count ? sn_mpi_count(entry, amount->count) : 1) * members *
	       sn_mpi_type_bytes(sn_mpi_word(entry, amount->type));
}
