/* SPDX-License-Identifier: Apache-2.0 */
/* The status line of MPI for `sonde info`: implementation, rank, size and recorded calls; see
 * mpi.h.
 */
#include "mpi.h"

#include "collect/core/adapter.h"
#include "collect/core/line.h"
#include "collect/record/property.h"

#include <errno.h>

static _Atomic uint64_t counts[SN_MPI_COUNTED];
static _Atomic int state_of_learning; /* 0 not yet, 1 somebody does, 2 known */
static uint32_t own_rank, world_size;
static const char *name, *reason;

void sn_mpi_counted(enum sn_mpi_counted what)
{
	/* relaxed: they mean nothing but themselves */
	atomic_fetch_add_explicit(&counts[what], 1, memory_order_relaxed);
}

bool sn_mpi_has_begun(void)
{
	typedef int ask(int *);
	int is_begun = 0;
	ask *begun = SN_MPI_REAL(ask, "PMPI_Initialized");
	return begun && !begun(&is_begun) && is_begun;
}

/* Not after MPI_Finalize either. */
static bool has_world(void)
{
	typedef int ask(int *);
	int is_over = 0;
	ask *over = SN_MPI_REAL(ask, "PMPI_Finalized");
	return sn_mpi_has_begun() && over && !over(&is_over) && !is_over;
}

static bool ask_world(void)
{
	typedef int ask(sn_word, int *);
	const struct sn_mpi_library *library = sn_mpi_library();
	ask *rank_in = SN_MPI_REAL(ask, "PMPI_Comm_rank"),
	    *size_of = SN_MPI_REAL(ask, "PMPI_Comm_size");
	int rank = -1, size = -1;
	if (!library || !rank_in || !size_of || !has_world() || rank_in(library->world, &rank) ||
	    size_of(library->world, &size) || rank < 0 || size < 1)
		return false;
	own_rank = (uint32_t)rank;
	world_size = (uint32_t)size;
	return true;
}

void sn_mpi_learn(void)
{
	int state = 0;
	if (__builtin_expect(atomic_load_explicit(&state_of_learning, memory_order_relaxed) != 0,
			     1))
		return;
	if (!atomic_compare_exchange_strong(&state_of_learning, &state, 1))
		return;
	bool is_known = ask_world();
	name = sn_mpi_library_name();
	if (!sn_mpi_library())
		reason = ": calls are measured, but how it lays out messages is not known";
	if (is_known && !sn_property_has("rank"))
		sn_property_set_number("rank", own_rank);
	/* release: a thread that sees the state sees what was learned */
	atomic_store_explicit(&state_of_learning, is_known || reason ? 2 : 0, memory_order_release);
}

/* ---- the line ---- */

static _Atomic bool is_there;

static int attach(void)
{
	bool found = sn_real_symbol("PMPI_Get_library_version") != NULL;
	atomic_store_explicit(&is_there, found, memory_order_relaxed);
	return found ? 0 : -EAGAIN;
}

static void add_count(struct sn_line *line, enum sn_mpi_counted what, const char *text)
{
	uint64_t count = atomic_load_explicit(&counts[what], memory_order_relaxed);
	if (!count)
		return;
	sn_line_add(line, ", ");
	sn_line_add_number(line, count);
	sn_line_add(line, text);
}

static const char *mpi_status(void)
{
	static char text[512];
	struct sn_line line = SN_LINE(text);
	if (atomic_load_explicit(&state_of_learning, memory_order_acquire) != 2)
		return atomic_load_explicit(&is_there, memory_order_relaxed)
			   ? "the program has made no call of MPI that is measured"
			   : "no MPI in this process";
	SN_LINE_ADD(&line, name, reason);
	if (world_size) {
		sn_line_add(&line, ", rank ");
		sn_line_add_number(&line, own_rank);
		sn_line_add(&line, " of ");
		sn_line_add_number(&line, world_size);
	}
	add_count(&line, SN_MPI_CALLS, " calls");
	add_count(&line, SN_MPI_SENT, " messages sent");
	add_count(&line, SN_MPI_RECEIVED, " received");
	add_count(&line, SN_MPI_COLLECTIVES, " collectives");
	add_count(&line, SN_MPI_ACCESSES, " one-sided accesses");
	add_count(&line, SN_MPI_FILES, " reads and writes of files");
	return text;
}

const struct sn_adapter sn_adapter_mpi = {
    .name = "mpi",
    .attach = attach,
    .status = mpi_status,
};
