/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that compute for as much CPU time as each other, but for rank 2: "mpi_shares SECONDS TIMES" has it compute for
 * TIMES as long. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

volatile double sum;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static __attribute__((noinline)) void compute(double seconds)
{
	double end = now() + seconds;
	while (now() < end)
		for (int i = 0; i < 100000; i++)
			sum += i;
}

int main(int count, char **arguments)
{
	int rank;
	MPI_Init(&count, &arguments);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	compute(atof(arguments[1]) * (rank == 2 ? atof(arguments[2]) : 1));
	MPI_Finalize();
	return 0;
}
