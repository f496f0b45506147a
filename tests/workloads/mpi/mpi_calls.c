/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What MPI programs call beside sending and receiving, with known answers: mpi_calls CASE... Rank 0
 * prints what came out. Made for three ranks.
 *
 *	together	nonblocking collectives; rank 1 is LATE_MS late at the first, which the others
 *			wait for WORK_MS after they have begun it
 *	neighbours	in a ring
 *	memory		one-sided: fences, locks, requests
 *	epochs		rank 1 posts LATE_MS late, then rank 0 completes LATE_MS late
 *	again		persistent collectives, messages in parts, large counts: where there are any
 *	cancelled	receives that are cancelled, requests that are freed
 *	communicators	of all kinds, with messages in each
 *	types		derived types, absolute addresses, MPI_PROC_NULL
 *	files		shared by all
 *	errors		calls that fail and return
 *	threads		collectives and one-sided calls of several threads at once
 *	cost N CALL	nanoseconds for one of: allreduce iallreduce barrier put fetch
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LATE_MS = 400, WORK_MS = 100, ROUNDS = 10, THREADS = 3, ROOM = 64 };

static int rank, size;
static double in[ROOM * 4], out[ROOM * 4];
static int counts[ROOM], places[ROOM];

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
}

/* ---- all together ---- */

static double together(void)
{
	MPI_Request all[20];
	MPI_Datatype types[ROOM];
	int flag = 0, at, done;
	for (int i = 0; i < size; i++) {
		counts[i] = 2;
		places[i] = 2 * i;
		types[i] = MPI_DOUBLE;
	}
	for (int i = 0; i < ROOM; i++)
		in[i] = rank + 1;
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		pause_ms(LATE_MS);
	MPI_Iallreduce(in, out, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, all);
	if (rank != 1)
		pause_ms(WORK_MS);
	MPI_Wait(all, MPI_STATUS_IGNORE);
	double sum = out[0];

	MPI_Ibarrier(MPI_COMM_WORLD, all);
	while (!flag)
		MPI_Test(all, &flag, MPI_STATUS_IGNORE);
	MPI_Ibcast(in, 5, MPI_DOUBLE, 0, MPI_COMM_WORLD, all);
	MPI_Bcast(in, 6, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* between begin and end of another */
	MPI_Wait(all, MPI_STATUS_IGNORE);

	MPI_Ireduce(in, out, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, all);
	MPI_Igather(in, 2, MPI_DOUBLE, out + 8, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD, all + 1);
	MPI_Igatherv(in, 2, MPI_DOUBLE, out + 16, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD,
		     all + 2);
	MPI_Waitall(3, all, MPI_STATUSES_IGNORE);
	MPI_Iscatter(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, all);
	MPI_Iscatterv(in, counts, places, MPI_DOUBLE, out + 8, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD,
		      all + 1);
	MPI_Iallgather(in, 2, MPI_DOUBLE, out + 16, 2, MPI_DOUBLE, MPI_COMM_WORLD, all + 2);
	for (int i = 0; i < 3; i++)
		MPI_Waitany(3, all, &at, MPI_STATUS_IGNORE);
	MPI_Iallgatherv(in, 2, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, MPI_COMM_WORLD, all);
	MPI_Ialltoall(in, 2, MPI_DOUBLE, out + 8, 2, MPI_DOUBLE, MPI_COMM_WORLD, all + 1);
	MPI_Ialltoallv(in, counts, places, MPI_DOUBLE, out + 16, counts, places, MPI_DOUBLE,
		       MPI_COMM_WORLD, all + 2);
	for (int left = 3; left; left -= done > 0 ? done : 0)
		MPI_Waitsome(3, all, &done, (int[3]){0}, MPI_STATUSES_IGNORE);
	for (int i = 0; i < size; i++)
		places[i] = 2 * i * (int)sizeof(double);
	MPI_Ialltoallw(in, counts, places, types, out, counts, places, types, MPI_COMM_WORLD, all);
	MPI_Ireduce_scatter(in, out + 8, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, all + 1);
	MPI_Ireduce_scatter_block(in, out + 16, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, all + 2);
	MPI_Iscan(in, out + 24, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, all + 3);
	MPI_Iexscan(in, out + 32, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, all + 4);
	for (flag = 0; !flag;)
		MPI_Testall(5, all, &flag, MPI_STATUSES_IGNORE);
	/* where the result is, the values are as well */
	MPI_Allreduce(MPI_IN_PLACE, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Gather(rank ? in : MPI_IN_PLACE, 3, MPI_DOUBLE, in, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 3, MPI_DOUBLE, MPI_COMM_WORLD);
	return sum + out[0];
}

static double neighbours(void)
{
	MPI_Comm ring;
	MPI_Request request;
	MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &ring);
	in[0] = in[1] = rank;
	MPI_Neighbor_allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring);
	double sum = out[0] + out[1];
	MPI_Ineighbor_alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, ring, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_free(&ring);
	return sum + out[0] + out[1];
}

/* ---- memory of others ---- */

static double memory(void)
{
	double *mine, result = 0, mark = 0;
	MPI_Win window;
	MPI_Request request;
	int next = (rank + 1) % size;
	MPI_Win_allocate(ROOM * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
			 &mine, &window);
	memset(mine, 0, ROOM * sizeof(double));
	in[0] = rank + 1;
	MPI_Win_fence(0, window);
	for (int i = 0; i < ROUNDS; i++)
		MPI_Put(in, 4, MPI_DOUBLE, next, 0, 4, MPI_DOUBLE, window);
	MPI_Win_fence(0, window);
	MPI_Get(out, 5, MPI_DOUBLE, next, 0, 5, MPI_DOUBLE, window);
	MPI_Get(out, 5, MPI_DOUBLE, MPI_PROC_NULL, 0, 5, MPI_DOUBLE, window);
	MPI_Win_fence(0, window);
	double sum = out[0];
	MPI_Accumulate(in, 1, MPI_DOUBLE, 0, 8, 1, MPI_DOUBLE, MPI_SUM, window);
	MPI_Win_fence(0, window);

	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
	MPI_Put(in, 2, MPI_DOUBLE, 0, 16 + 2 * rank, 2, MPI_DOUBLE, window);
	MPI_Win_flush(0, window);
	MPI_Win_unlock(0, window);
	MPI_Win_lock_all(0, window);
	MPI_Get_accumulate(in, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, 0, 24, 2, MPI_DOUBLE, MPI_SUM,
			   window);
	MPI_Win_flush_local(0, window);
	MPI_Fetch_and_op(in, &result, MPI_DOUBLE, 0, 32, MPI_SUM, window);
	MPI_Win_flush_all(window);
	long one = 1, seen, none = 0;
	MPI_Compare_and_swap(&one, &none, &seen, MPI_LONG, 0, 40 + rank, window);
	MPI_Win_flush_local_all(window);
	MPI_Rput(in, 3, MPI_DOUBLE, next, 48, 3, MPI_DOUBLE, window, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Rget(out, 3, MPI_DOUBLE, rank, 48, 3, MPI_DOUBLE, window, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_sync(window);
	MPI_Win_unlock_all(window);
	MPI_Barrier(MPI_COMM_WORLD);
	mark = mine[8];
	MPI_Win_free(&window);
	return sum + mark;
}

static double epochs(void)
{
	MPI_Group world, other;
	MPI_Win window;
	int who = rank == 0;
	double *mine;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Win_allocate(4 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &mine,
			 &window);
	MPI_Group_incl(world, 1, &who, &other);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 2 && rank < 2; i++) {
		if (rank == 0) {
			in[0] = 7 + i;
			MPI_Win_start(other, 0, window);
			MPI_Put(in, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, window);
			if (i)
				pause_ms(LATE_MS);
			MPI_Win_complete(window);
		} else {
			if (!i)
				pause_ms(LATE_MS);
			MPI_Win_post(other, 0, window);
			MPI_Win_wait(window);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Bcast(mine, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
	double result = mine[0];
	MPI_Win_free(&window);
	MPI_Group_free(&other);
	MPI_Group_free(&world);
	return result;
}

/* ---- again and again ---- */

static double again(void)
{
	double sum = 0;
#if MPI_VERSION >= 4
	MPI_Request all[2], *barrier = all + 1, parts[2];
	MPI_Status status;
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	in[0] = 1;
	MPI_Allreduce_init(in, out, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, all);
	MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, all + 1);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Start(all);
		MPI_Wait(all, MPI_STATUS_IGNORE);
		MPI_Startall(1, barrier);
		MPI_Waitall(1, barrier, &status);
		sum += out[0];
	}
	MPI_Request_free(all);
	MPI_Request_free(all + 1);
	MPI_Psend_init(in, 4, 8, MPI_DOUBLE, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, parts);
	MPI_Precv_init(out, 4, 8, MPI_DOUBLE, last, 3, MPI_COMM_WORLD, MPI_INFO_NULL, parts + 1);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Startall(2, parts);
		for (int part = 0; part < 4; part++)
			MPI_Pready(part, parts[0]);
		MPI_Waitall(2, parts, MPI_STATUSES_IGNORE);
		sum += out[0];
	}
	MPI_Request_free(parts);
	MPI_Request_free(parts + 1);
	/* other functions, whose counts are MPI_Count */
	MPI_Count length = 11;
	MPI_Isendrecv(in, 3, MPI_DOUBLE, next, 4, out, 3, MPI_DOUBLE, last, 4, MPI_COMM_WORLD,
		      parts);
	MPI_Wait(parts, MPI_STATUS_IGNORE);
	MPI_Irecv_c(out, length, MPI_DOUBLE, last, 5, MPI_COMM_WORLD, parts);
	MPI_Send_c(in, length, MPI_DOUBLE, next, 5, MPI_COMM_WORLD);
	MPI_Wait(parts, MPI_STATUS_IGNORE);
	MPI_Allreduce_c(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	sum += out[0];
#endif
	return sum;
}

static double cancelled(void)
{
	MPI_Request first, second;
	MPI_Status status;
	double sum = 0;
	int is_cancelled, other = !rank;
	if (rank > 1)
		return 0;
	/* the first of three is given up, then the last of two */
	MPI_Irecv(out, 8, MPI_DOUBLE, other, 9, MPI_COMM_WORLD, &first);
	MPI_Irecv(out + 8, 8, MPI_DOUBLE, other, 9, MPI_COMM_WORLD, &second);
	MPI_Cancel(&first);
	MPI_Wait(&first, &status);
	MPI_Test_cancelled(&status, &is_cancelled);
	sum += is_cancelled;
	MPI_Irecv(out + 16, 8, MPI_DOUBLE, other, 9, MPI_COMM_WORLD, &first);
	MPI_Cancel(&first);
	MPI_Wait(&first, MPI_STATUS_IGNORE);
	MPI_Sendrecv(in, 1, MPI_DOUBLE, other, 8, out + 24, 1, MPI_DOUBLE, other, 8, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	for (int i = 1; i <= 3; i++) {
		MPI_Isend(in, i, MPI_DOUBLE, other, 9, MPI_COMM_WORLD, &first);
		MPI_Request_free(&first);
	}
	MPI_Wait(&second, &status);
	MPI_Recv(out, 8, MPI_DOUBLE, other, 9, MPI_COMM_WORLD, &status);
	MPI_Recv(out, 8, MPI_DOUBLE, other, 9, MPI_COMM_WORLD, &status);
	int count;
	MPI_Get_count(&status, MPI_DOUBLE, &count);
	return sum + count;
}

/* ---- communicators and types ---- */

/* A message to the next rank, of as many doubles. */
static void pass_on(MPI_Comm comm, int length)
{
	int own, members, is_between;
	MPI_Comm_test_inter(comm, &is_between);
	MPI_Comm_rank(comm, &own);
	MPI_Comm_size(comm, &members);
	if (is_between)
		MPI_Comm_remote_size(comm, &members);
	int to = is_between ? 0 : (own + 1) % members,
	    from = is_between ? 0 : (own + members - 1) % members;
	if (is_between && own)
		to = from = MPI_PROC_NULL;
	MPI_Sendrecv(in, length, MPI_DOUBLE, to, 2, out, length, MPI_DOUBLE, from, 2, comm,
		     MPI_STATUS_IGNORE);
}

static double communicators(void)
{
	MPI_Comm made[8], half;
	MPI_Group world, two;
	MPI_Request request;
	int count = 0;
	MPI_Comm_dup(MPI_COMM_WORLD, made + count++);
	MPI_Comm_idup(MPI_COMM_WORLD, made + count++, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL,
			    made + count++);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 2, (int[]){2, 0}, &two);
	MPI_Comm_create(MPI_COMM_WORLD, two, made + count++);
	made[count] = MPI_COMM_NULL;
	if (rank != 1)
		MPI_Comm_create_group(MPI_COMM_WORLD, two, 5, made + count);
	count++;
	MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 1 ? 0 : 1, 6, made + count++);
	MPI_Intercomm_merge(made[count - 1], rank == 1, made + count);
	count++;
	for (int i = 0; i < count; i++)
		if (made[i] != MPI_COMM_NULL)
			pass_on(made[i], i + 1);
	pass_on(MPI_COMM_WORLD, 20);
	for (int i = 0; i < count; i++)
		if (made[i] != MPI_COMM_NULL)
			MPI_Comm_free(made + i);
	MPI_Comm_free(&half);
	MPI_Group_free(&two);
	MPI_Group_free(&world);
	return count;
}

static double types(void)
{
	MPI_Datatype every_other, placed;
	MPI_Aint at;
	MPI_Status status;
	int next = (rank + 1) % size, last = (rank + size - 1) % size;
	MPI_Type_vector(10, 1, 2, MPI_DOUBLE, &every_other); /* 80 bytes of 152 */
	MPI_Type_commit(&every_other);
	MPI_Get_address(in, &at);
	MPI_Type_create_hindexed(1, (int[]){6}, &at, MPI_DOUBLE, &placed);
	MPI_Type_commit(&placed);
	in[0] = 5;
	MPI_Sendrecv(in, 2, every_other, next, 1, out, 20, MPI_DOUBLE, last, 1, MPI_COMM_WORLD,
		     &status);
	MPI_Sendrecv(MPI_BOTTOM, 1, placed, next, 1, out, 6, MPI_DOUBLE, last, 1, MPI_COMM_WORLD,
		     &status);
	MPI_Send(in, 3, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
	MPI_Recv(out + 30, 3, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
	int is_nobody = status.MPI_SOURCE == MPI_PROC_NULL;
	MPI_Sendrecv(NULL, 0, MPI_DOUBLE, next, 1, NULL, 0, MPI_DOUBLE, last, 1, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	MPI_Type_free(&every_other);
	MPI_Type_free(&placed);
	return out[0] + is_nobody;
}

static double files(void)
{
	MPI_File file;
	MPI_Request request;
	MPI_Status status;
	const char *path = getenv("MPI_CALLS_FILE");
	double sum = 0;
	for (int i = 0; i < ROOM; i++)
		in[i] = rank + 1;
	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	if (rank == 1)
		pause_ms(LATE_MS);
	MPI_File_write_at_all(file, rank * 64, in, 8, MPI_DOUBLE, &status);
	MPI_File_iwrite_at(file, 1000 + rank * 64, in, 4, MPI_DOUBLE, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_File_write_at(file, 2000 + rank * 64, in, 2, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_sync(file);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_File_read_at_all(file, (rank + 1) % size * 64, out, 8, MPI_DOUBLE, &status);
	sum += out[0];
	MPI_File_seek(file, 2000 + 64 * (size - 1), MPI_SEEK_SET);
	MPI_File_read(file, out, 8, MPI_DOUBLE, &status); /* there are two */
	int count;
	MPI_Get_count(&status, MPI_DOUBLE, &count);
	MPI_File_close(&file);
	return sum + count;
}

/* ---- what goes wrong ---- */

static int handled;
static void handle(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	handled++;
}

static int class_of(int code)
{
	int class;
	MPI_Error_class(code, &class);
	return class;
}

static double errors(void)
{
	MPI_Comm own;
	MPI_Errhandler handler;
	MPI_Request requests[2];
	MPI_Status statuses[2];
	double right = 0;
	int other = !rank;
	MPI_Comm_dup(MPI_COMM_WORLD, &own);
	MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of requests */
#ifdef OPEN_MPI /* others may be built to trust their callers */
	right += class_of(MPI_Send(in, 1, MPI_DOUBLE, size + 7, 1, own)) == MPI_ERR_RANK;
	right += class_of(MPI_Send(in, 1, MPI_DOUBLE, other, -5, own)) == MPI_ERR_TAG;
	right += class_of(MPI_Send(in, -1, MPI_DOUBLE, other, 1, own)) == MPI_ERR_COUNT;
	right += class_of(MPI_Send(in, 1, MPI_DATATYPE_NULL, other, 1, own)) == MPI_ERR_TYPE;
	right += class_of(MPI_Recv(in, 1, MPI_DOUBLE, size + 7, 1, own, MPI_STATUS_IGNORE)) ==
		 MPI_ERR_RANK;
	right += class_of(MPI_Allreduce(in, out, -1, MPI_DOUBLE, MPI_SUM, own)) == MPI_ERR_COUNT;
#endif
	MPI_Comm_create_errhandler(handle, &handler);
	MPI_Comm_set_errhandler(own, handler);
#ifdef OPEN_MPI
	MPI_Isend(in, 1, MPI_DOUBLE, -77, 1, own, requests);
	right += handled == 1;
#endif
	if (rank < 2) {
		/* one that is too long for its receive, among two */
		MPI_Irecv(out, 1, MPI_DOUBLE, other, 1, own, requests);
		MPI_Irecv(out + 8, 4, MPI_DOUBLE, other, 2, own, requests + 1);
		MPI_Send(in, 4, MPI_DOUBLE, other, 1, own);
		MPI_Send(in, 4, MPI_DOUBLE, other, 2, own);
		int code = MPI_Waitall(2, requests, statuses);
		if (statuses[1].MPI_ERROR == MPI_ERR_PENDING)
			MPI_Wait(requests + 1, MPI_STATUS_IGNORE);
		right += class_of(code) == MPI_ERR_IN_STATUS &&
			 class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE;
		/* and what comes after is as if nothing had been */
		MPI_Sendrecv(in, 3, MPI_DOUBLE, other, 1, out, 3, MPI_DOUBLE, other, 1, own,
			     statuses);
	}
	MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, own);
	MPI_Errhandler_free(&handler);
	MPI_Comm_free(&own);
	return right;
}

/* ---- threads ---- */

struct worker {
	MPI_Comm comm;
	MPI_Win window;
	double *memory;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	double mine = 1, sum, got;
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Request request;
		MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, worker->comm, &request);
		MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, worker->window);
		MPI_Get(&got, 1, MPI_DOUBLE, rank, 0, 1, MPI_DOUBLE, worker->window);
		MPI_Win_unlock(rank, worker->window);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Barrier(worker->comm);
	}
	return NULL;
}

static double threads(void)
{
	static struct worker workers[THREADS];
	pthread_t all[THREADS];
	for (int i = 0; i < THREADS; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
		MPI_Win_allocate(32, 8, MPI_INFO_NULL, workers[i].comm, &workers[i].memory,
				 &workers[i].window);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(all + i, NULL, work, workers + i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	for (int i = 0; i < THREADS; i++) {
		MPI_Win_free(&workers[i].window);
		MPI_Comm_free(&workers[i].comm);
	}
	return 1;
}

/* ---- cost ---- */

static void call_once(const char *call, MPI_Win window)
{
	MPI_Request request;
	if (!strcmp(call, "allreduce")) {
		MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	} else if (!strcmp(call, "iallreduce")) {
		MPI_Iallreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	} else if (!strcmp(call, "barrier")) {
		MPI_Barrier(MPI_COMM_WORLD);
	} else if (!strcmp(call, "put")) {
		MPI_Put(in, 1, MPI_DOUBLE, !rank, 0, 1, MPI_DOUBLE, window);
		MPI_Win_flush(!rank, window);
	} else {
		MPI_Fetch_and_op(in, out, MPI_DOUBLE, !rank, 1, MPI_SUM, window);
		MPI_Win_flush(!rank, window);
	}
}

static double cost(int count, const char *call)
{
	struct timespec begin, end;
	double best = 1e18, *mine;
	MPI_Win window;
	MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
	memset(mine, 0, 64);
	MPI_Win_lock_all(0, window);
	for (int turn = 0; turn < 5; turn++) {
		MPI_Barrier(MPI_COMM_WORLD);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (int i = 0; i < count; i++)
			call_once(call, window);
		clock_gettime(CLOCK_MONOTONIC, &end);
		double ns = ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
			     (double)(end.tv_nsec - begin.tv_nsec)) /
			    count;
		best = ns < best ? ns : best;
	}
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	return best;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double (*run)(void);
	} cases[] = {{"together", together},
		     {"neighbours", neighbours},
		     {"memory", memory},
		     {"epochs", epochs},
		     {"again", again},
		     {"cancelled", cancelled},
		     {"communicators", communicators},
		     {"types", types},
		     {"files", files},
		     {"errors", errors},
		     {"threads", threads}};
	int provided;
	if (argc < 2)
		return 2;
	MPI_Init_thread(&argc, &argv,
			strcmp(argv[1], "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE,
			&provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(argv[1], "cost")) {
		double ns = cost(atoi(argv[2]), argv[3]);
		if (!rank)
			printf("%.1f\n", ns);
	}
	for (int at = 1; at < argc; at++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			if (!strcmp(argv[at], cases[i].name)) {
				double result = cases[i].run();
				if (!rank)
					printf("%s %g\n", cases[i].name, result);
			}
	MPI_Finalize();
	return 0;
}
