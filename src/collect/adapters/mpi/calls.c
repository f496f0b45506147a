/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of the functions in calls.def. Each calls the next definition of its name, even
 * if the collector fails; see mpi.h. Samples in functions that are not wrapped have their native
 * frames.
 *
 * Functions that only poll (MPI_Test, MPI_Iprobe) are called in loops: they are no regions, and are
 * recorded only if they find a message or a completed request.
 */
#include "mpi.h"

#include <string.h>

#define NO_FUNCTION 16 /* MPI_ERR_OTHER, of those that we know */

/* Words travel alike to functions of any prototype. */
typedef int any_function(sn_word, ...);

enum { PLAIN = 2 }; /* from here on in `reals`: those without _c */

static bool is_large(const struct sn_mpi_entry *entry, uint8_t argument)
{
	return argument && (int64_t)sn_mpi_word(entry, argument) > INT32_MAX;
}

/* Of a function whose counts are MPI_Count, and which the library has not, the one whose counts are
 * int; NULL where these are too large for it. */
static any_function *find_plain(const struct sn_mpi_entry *entry)
{
	const struct sn_mpi_function *of = entry->function;
	const char *wide = of->name + !entry->is_profiling;
	size_t length = strlen(wide);
	char name[64];
	if (length < 3 || length >= sizeof(name) || strcmp(wide + length - 2, "_c") != 0 ||
	    is_large(entry, of->sent.count) || is_large(entry, of->received.count) ||
	    is_large(entry, of->amount.count) || is_large(entry, of->in_place.count))
		return NULL;
	memcpy(name, wide, length - 2);
	name[length - 2] = 0;
	return (any_function *)sn_real_symbol_once(of->reals + PLAIN + entry->is_profiling, name);
}

static any_function *find(const struct sn_mpi_entry *entry)
{
	const struct sn_mpi_function *of = entry->function;
	bool is_plain = atomic_load_explicit(of->reals + PLAIN + entry->is_profiling,
					     memory_order_relaxed) != NULL;
	any_function *real =
	    is_plain ? NULL
		     : (any_function *)sn_real_symbol_once(of->reals + entry->is_profiling,
							   of->name + !entry->is_profiling);
	return real ? real : find_plain(entry);
}

int sn_mpi_do(const struct sn_mpi_entry *entry)
{
	const struct sn_mpi_function *of = entry->function;
	any_function *real = find(entry);
	const sn_word *w = entry->words;
	if (!real)
		return NO_FUNCTION;
	/* a function leaves alone what it is handed beyond its arguments: six travel in registers
	 */
	if (of->words <= 6)
		return real(w[0], w[1], w[2], w[3], w[4], w[5]);
	if (of->words <= 9)
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]);
	return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
		    w[12]);
}

static int enter(const struct sn_mpi_entry *entry)
{
	struct sn_mpi_call call;
	if (!sn_measuring() || !sn_mpi_begin(&call, entry))
		return sn_mpi_do(entry);
	return entry->function->run ? entry->function->run(&call) : sn_mpi_run(&call);
}

/* ---- the table ---- */

#define AMOUNT(how, ...)                                                                           \
	{                                                                                          \
		how, __VA_ARGS__                                                                   \
	}
#define NOTHING		AMOUNT(SN_MPI_NOTHING, 0, 0, 0)
/* of a buffer, a count and a type, which are arguments */
#define ONE(...)	AMOUNT(SN_MPI_ONE, __VA_ARGS__)
#define EACH(...)	AMOUNT(SN_MPI_EACH, __VA_ARGS__)
#define SUM(...)	AMOUNT(SN_MPI_SUM, __VA_ARGS__)
#define TYPES(...)	AMOUNT(SN_MPI_TYPES, __VA_ARGS__)
#define OWN(...)	AMOUNT(SN_MPI_OWN, __VA_ARGS__)
#define NEAR_EACH(...)	AMOUNT(SN_MPI_NEAR | SN_MPI_EACH, __VA_ARGS__)
#define NEAR_SUM(...)	AMOUNT(SN_MPI_NEAR | SN_MPI_SUM, __VA_ARGS__)
#define NEAR_TYPES(...) AMOUNT(SN_MPI_NEAR | SN_MPI_TYPES, __VA_ARGS__)

/* Arguments by position: parameters `of` a type, or without one their names. */
#define LIST_1(of)    of a
#define LIST_2(of)    LIST_1(of), of b
#define LIST_3(of)    LIST_2(of), of c
#define LIST_4(of)    LIST_3(of), of d
#define LIST_5(of)    LIST_4(of), of e
#define LIST_6(of)    LIST_5(of), of f
#define LIST_7(of)    LIST_6(of), of g
#define LIST_8(of)    LIST_7(of), of h
#define LIST_9(of)    LIST_8(of), of i
#define LIST_10(of)   LIST_9(of), of j
#define LIST_11(of)   LIST_10(of), of k
#define LIST_12(of)   LIST_11(of), of l
#define LIST_13(of)   LIST_12(of), of m
/* As many as sn_mpi_do hands on. */
#define ROOM(words)   ((words) <= 6 ? 6 : (words) <= 9 ? 9 : 13)
/* ... and one more */
#define AFTER_1	      2
#define AFTER_2	      3
#define AFTER_3	      4
#define AFTER_4	      5
#define AFTER_5	      6
#define AFTER_6	      7
#define AFTER_7	      8
#define AFTER_8	      9
#define AFTER_9	      10
#define AFTER_10      11
#define AFTER_11      12
#define AFTER_12      13
#define AFTER_(words) AFTER_##words
#define AFTER(words)  AFTER_(words)

#define SYMBOL(symbol, function, words, is_profiling)                                              \
	SN_EXPORT int symbol(LIST_##words(sn_word));                                               \
	int symbol(LIST_##words(sn_word))                                                          \
	{                                                                                          \
		sn_word all[ROOM(words)] = {LIST_##words()};                                       \
		return enter(                                                                      \
		    &(struct sn_mpi_entry){&function, all, SN_CALLER_STACK, is_profiling});        \
	}
#define FUNCTION_(function, count, ...)                                                            \
	static _Atomic(void *) reals_of_##function[4];                                             \
	static const struct sn_mpi_function about_##function = {                                   \
	    .name = "PMPI_" #function, .reals = reals_of_##function, .words = count, __VA_ARGS__}; \
	SYMBOL(MPI_##function, about_##function, count, false)                                     \
	SYMBOL(PMPI_##function, about_##function, count, true)
/* once more, for `count` to be a number when it is pasted */
#define FUNCTION(function, count, ...) FUNCTION_(function, count, __VA_ARGS__)

#define SN_MPI(function, count, ...) FUNCTION(function, count, __VA_ARGS__)
#define SN_MPI_SIZED(function, count, ...)                                                         \
	FUNCTION(function, count, __VA_ARGS__)                                                     \
	FUNCTION(function##_c, count, __VA_ARGS__, .is_wide = true)
#define SN_MPI_ALL(function, later, count, comm, all, in)                                          \
	SN_MPI(function, count, .together = comm, .amount = all, .in_place = in)                   \
	SN_MPI(I##later, AFTER(count), .together = comm, .amount = all, .in_place = in,            \
	       .request = AFTER(count))                                                            \
	SN_MPI(function##_init, AFTER(AFTER(count)), .together = comm, .amount = all,              \
	       .in_place = in, .request = AFTER(AFTER(count)), .is_prepared = true)
#define SN_MPI_ALL_SIZED(function, later, count, comm, all, in)                                    \
	SN_MPI_SIZED(function, count, .together = comm, .amount = all, .in_place = in)             \
	SN_MPI_SIZED(I##later, AFTER(count), .together = comm, .amount = all, .in_place = in,      \
		     .request = AFTER(count))                                                      \
	SN_MPI_SIZED(function##_init, AFTER(AFTER(count)), .together = comm, .amount = all,        \
		     .in_place = in, .request = AFTER(AFTER(count)), .is_prepared = true)
#include "calls.def"
