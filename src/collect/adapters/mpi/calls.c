/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of the functions in calls.def. Each does the real work, of the next definition
 * of its name, whatever happens to ours; see mpi.h. What is left out is not lost: its samples have
 * their native frames.
 *
 * Functions that only look whether something is there (MPI_Test, MPI_Iprobe) are called in loops:
 * they are no regions, and are recorded where they find something done.
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
	switch (of->words) {
	case 1:
		return real(w[0]);
	case 2:
		return real(w[0], w[1]);
	case 3:
		return real(w[0], w[1], w[2]);
	case 4:
		return real(w[0], w[1], w[2], w[3]);
	case 5:
		return real(w[0], w[1], w[2], w[3], w[4]);
	case 6:
		return real(w[0], w[1], w[2], w[3], w[4], w[5]);
	case 7:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6]);
	case 8:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
	case 9:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8]);
	case 10:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9]);
	case 11:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10]);
	case 12:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
			    w[11]);
	case 13:
		return real(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10],
			    w[11], w[12]);
	}
	return NO_FUNCTION;
}

int sn_mpi_enter(const struct sn_mpi_entry *entry)
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

/* Arguments by position. */
#define WORDS_1	      sn_word a
#define WORDS_2	      WORDS_1, sn_word b
#define WORDS_3	      WORDS_2, sn_word c
#define WORDS_4	      WORDS_3, sn_word d
#define WORDS_5	      WORDS_4, sn_word e
#define WORDS_6	      WORDS_5, sn_word f
#define WORDS_7	      WORDS_6, sn_word g
#define WORDS_8	      WORDS_7, sn_word h
#define WORDS_9	      WORDS_8, sn_word i
#define WORDS_10      WORDS_9, sn_word j
#define WORDS_11      WORDS_10, sn_word k
#define WORDS_12      WORDS_11, sn_word l
#define WORDS_13      WORDS_12, sn_word m
#define NAMES_1	      a
#define NAMES_2	      NAMES_1, b
#define NAMES_3	      NAMES_2, c
#define NAMES_4	      NAMES_3, d
#define NAMES_5	      NAMES_4, e
#define NAMES_6	      NAMES_5, f
#define NAMES_7	      NAMES_6, g
#define NAMES_8	      NAMES_7, h
#define NAMES_9	      NAMES_8, i
#define NAMES_10      NAMES_9, j
#define NAMES_11      NAMES_10, k
#define NAMES_12      NAMES_11, l
#define NAMES_13      NAMES_12, m
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
	SN_EXPORT int symbol(WORDS_##words);                                                       \
	int symbol(WORDS_##words)                                                                  \
	{                                                                                          \
		sn_word all[] = {NAMES_##words};                                                   \
		return sn_mpi_enter(                                                               \
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
