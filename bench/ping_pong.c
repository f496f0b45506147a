/* SPDX-License-Identifier: Apache-2.0 */
/* What a message between two ranks costs: prints the latency in us of 8 bytes, and GB/s of 4 MiB. Compiled by variability_scaling.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SMALL = 8, LARGE = 4 << 20 };

/* Seconds of one way. */
static double one_way(char *bytes, int length, int times)
{
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	double begin = MPI_Wtime();
	for (int i = 0; i < 2 * times; i++) {
		if (i % 2 == rank)
			MPI_Send(bytes, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD);
		else
			MPI_Recv(bytes, length, MPI_BYTE, !rank, 0, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
	}
	return (MPI_Wtime() - begin) / (2 * times);
}

int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	char *bytes = calloc(1, LARGE);
	one_way(bytes, SMALL, 1000);
	double small = one_way(bytes, SMALL, 10000), large = one_way(bytes, LARGE, 100);
	if (!rank)
		printf("%g %g\n", small * 1e6, LARGE / large / 1e9);
	free(bytes);
	MPI_Finalize();
	return 0;
}
