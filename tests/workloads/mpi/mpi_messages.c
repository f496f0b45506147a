/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that exchange messages of known sizes: mpi_messages CASE. Rank 0 prints what came out.
 *
 *	ring		MESSAGES blocking ones to the next rank; rank 1 is LATE_MS late with message 7
 *	requests	the same, nonblocking, completed in another order than they were posted in
 *	anybody		rank 0 receives from anybody, blocking and with several requests open
 *	persistent	the same, over and over with persistent requests
 *	probed		received after MPI_Mprobe, as mpi4py does
 *	exchange	MPI_Sendrecv in communicators made of others, whose ranks are in reverse order
 *	collectives	rank 1 is late at the third; then half of the ranks among themselves
 *	threads		several threads of each rank at once, a communicator each
 *	pingpong N	N round trips between two ranks of BYTES bytes; prints nanoseconds for each
 *	killed		rank 1 is killed with a message on the way to it
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGES = 20, LATE_MS = 400, LARGE = 1 << 20, THREADS = 3 };

static int rank, size;
static double numbers[LARGE];

static void late(void)
{
	nanosleep(&(struct timespec){0, LATE_MS * 1000000L}, NULL);
}

/* Doubles of message `i` from a rank. */
static int length(int from, int i)
{
	return 10 * (i + 1) + from;
}

static double ring(void)
{
	double sum = 0;
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	for (int i = 0; i < MESSAGES; i++) {
		MPI_Status status;
		int count;
		if (rank == 1 && i == 7)
			late();
		numbers[0] = rank + i;
		if (rank)
			MPI_Recv(numbers, length(last, i), MPI_DOUBLE, last, i % 3, MPI_COMM_WORLD,
				 i % 2 ? &status : MPI_STATUS_IGNORE);
		MPI_Send(numbers, length(rank, i), MPI_DOUBLE, next, i % 3, MPI_COMM_WORLD);
		if (!rank) {
			MPI_Recv(numbers, LARGE, MPI_DOUBLE, last, MPI_ANY_TAG, MPI_COMM_WORLD,
				 &status);
			MPI_Get_count(&status, MPI_DOUBLE, &count);
			sum += numbers[0] + count + status.MPI_SOURCE + status.MPI_TAG;
		}
	}
	return sum;
}

static double requests(void)
{
	static double received[MESSAGES][LARGE / MESSAGES];
	MPI_Request all[2 * MESSAGES];
	MPI_Status statuses[2 * MESSAGES];
	int next = (rank + 1) % size, last = (rank + size - 1) % size, done = 0, flag = 0, at;
	for (int i = 0; i < MESSAGES; i++) {
		MPI_Irecv(received[i], length(last, i), MPI_DOUBLE, last, i % 3, MPI_COMM_WORLD,
			  all + i);
		if (rank == 1 && i == 7)
			late();
		MPI_Isend(numbers, length(rank, i), MPI_DOUBLE, next, i % 3, MPI_COMM_WORLD,
			  all + MESSAGES + i);
	}
	MPI_Wait(all + 12, MPI_STATUS_IGNORE); /* before others of its kind */
	while (!flag)
		MPI_Test(all + 9, &flag, statuses);
	MPI_Waitany(3, all + 15, &at, MPI_STATUS_IGNORE);
	MPI_Waitsome(2, all + 18, &done, (int[2]){0}, statuses);
	MPI_Waitall(2 * MESSAGES, all, rank % 2 ? statuses : MPI_STATUSES_IGNORE);
	return received[MESSAGES - 1][0] + 1;
}

static double anybody(void)
{
	double sum = 0;
	MPI_Request all[8];
	for (int i = 0; i < MESSAGES && rank; i++)
		MPI_Send(&sum, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
	for (int i = 0; i < 8 * (size - 1) && rank; i++)
		MPI_Send(numbers, rank, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
	if (rank)
		return 0;
	for (int i = 0; i < MESSAGES * (size - 1); i++) {
		MPI_Recv(numbers, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		sum++;
	}
	/* the last of those that are open is done first */
	for (int turn = 0; turn < (size - 1) * (size - 1); turn++) {
		for (int i = 0; i < 8; i++)
			MPI_Irecv(numbers + 8 * i, 8, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD,
				  all + i);
		for (int i = 8; i--;)
			MPI_Wait(all + i, MPI_STATUS_IGNORE);
		sum += 8;
	}
	return sum;
}

static double persistent(void)
{
	MPI_Request both[2];
	double other[64];
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	MPI_Send_init(numbers, 17, MPI_DOUBLE, next, 5, MPI_COMM_WORLD, both);
	MPI_Recv_init(other, 64, MPI_DOUBLE, last, 5, MPI_COMM_WORLD, both + 1);
	for (int i = 0; i < MESSAGES; i++) {
		numbers[0] = i;
		if (i % 2) {
			MPI_Startall(2, both);
		} else {
			MPI_Start(both + 1);
			MPI_Start(both);
		}
		MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
	}
	MPI_Request_free(both);
	MPI_Request_free(both + 1);
	return other[0];
}

static double probed(void)
{
	double sum = 0;
	for (int i = 0; i < MESSAGES; i++) {
		if (rank) {
			MPI_Send(numbers, length(rank, i), MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
			continue;
		}
		for (int from = 1; from < size; from++) {
			MPI_Message message;
			MPI_Status status;
			int count;
			MPI_Mprobe(MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &message, &status);
			MPI_Get_count(&status, MPI_DOUBLE, &count);
			MPI_Mrecv(numbers, count, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
			sum += count;
		}
	}
	return sum;
}

static double exchange(void)
{
	MPI_Comm turned, copy, half;
	double other[64];
	int mine, to;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	MPI_Comm_dup(turned, &copy);
	MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 1 : MPI_UNDEFINED, rank, &half);
	MPI_Comm_rank(copy, &mine);
	to = (mine + 1) % size;
	for (int i = 0; i < MESSAGES; i++) {
		MPI_Comm comm = i % 2 ? turned : copy; /* the same tags in both */
		MPI_Sendrecv(numbers, 2 + i % 2, MPI_DOUBLE, to, 6, other, 64, MPI_DOUBLE,
			     (mine + size - 1) % size, 6, comm, MPI_STATUS_IGNORE);
	}
	MPI_Sendrecv_replace(numbers, 9, MPI_DOUBLE, rank ? MPI_PROC_NULL : 1, 7,
			     rank == 1 ? 0 : MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (half != MPI_COMM_NULL)
		MPI_Comm_free(&half);
	MPI_Comm_free(&copy);
	MPI_Comm_free(&turned);
	return other[0] + mine;
}

static double collectives(void)
{
	double mine = rank + 1, sum = 0;
	MPI_Comm half;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	for (int i = 0; i < 5; i++) {
		if (rank == 1 && i == 2)
			late();
		MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Bcast(numbers, 100, MPI_DOUBLE, 0, half);
	MPI_Barrier(half);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Comm_free(&half);
	return sum;
}

static MPI_Comm thread_comms[THREADS];

static void *exchange_in_thread(void *argument)
{
	double other[8], mine[8] = {0};
	MPI_Comm comm = *(MPI_Comm *)argument;
	for (int i = 0; i < MESSAGES; i++) {
		MPI_Request request;
		MPI_Irecv(other, 8, MPI_DOUBLE, (rank + size - 1) % size, 1, comm, &request);
		MPI_Send(mine, 1 + i % 8, MPI_DOUBLE, (rank + 1) % size, 1, comm);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	return NULL;
}

static double threads(void)
{
	pthread_t all[THREADS];
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, thread_comms + i);
	for (int i = 0; i < THREADS; i++)
		pthread_create(all + i, NULL, exchange_in_thread, thread_comms + i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	return 1;
}

static double killed(void)
{
	for (int i = 0; i < 5; i++)
		if (rank == 0)
			MPI_Send(numbers, length(0, i), MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
		else if (rank == 1)
			MPI_Recv(numbers, LARGE, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI_Send(numbers, 7, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
	/* a checkpoint, which comes with samples, has been: ranks and contexts are known */
	for (time_t end = time(NULL) + 4; time(NULL) < end;)
		numbers[0] += 1;
	if (rank == 1)
		kill(getpid(), SIGKILL);
	sleep(30);
	return 0;
}

static double pingpong(int count, int bytes)
{
	struct timespec begin, end;
	double best = 1e18;
	char *buffer = (char *)numbers;
	for (int turn = 0; turn < 5; turn++) {
		MPI_Barrier(MPI_COMM_WORLD);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (int i = 0; i < count && rank < 2; i++) {
			if (rank == 0)
				MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(buffer, bytes, MPI_CHAR, !rank, 0, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			if (rank == 1)
				MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		}
		clock_gettime(CLOCK_MONOTONIC, &end);
		double ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
			     (double)(end.tv_nsec - begin.tv_nsec)) /
			    count;
		best = ns < best ? ns : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double (*run)(void);
	} cases[] = {{"ring", ring},
		     {"requests", requests},
		     {"anybody", anybody},
		     {"persistent", persistent},
		     {"probed", probed},
		     {"exchange", exchange},
		     {"collectives", collectives},
		     {"threads", threads},
		     {"killed", killed}};
	int provided;
	double result = -1;
	if (argc < 2)
		return 2;
	MPI_Init_thread(&argc, &argv,
			strcmp(argv[1], "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
			&provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int at = 1; at < argc; at++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			if (!strcmp(argv[at], cases[i].name)) {
				result = cases[i].run();
				if (!rank)
					printf("%s %g\n", cases[i].name, result);
			}
	if (!strcmp(argv[1], "pingpong")) {
		result = pingpong(argc > 2 ? atoi(argv[2]) : 1000, argc > 3 ? atoi(argv[3]) : 8);
		if (!rank)
			printf("%.1f\n", result);
	}
	MPI_Finalize();
	return result < 0;
}
