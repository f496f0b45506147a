/* SPDX-License-Identifier: Apache-2.0 */
/* A device that is sampled over time: "works" launches a kernel now and then for 300 ms, and stops measuring in the middle with "stops"; "waits" asks
 * nothing of CUDA between two launches; "devices" uses two by turns; "fork" has a child that uses none; "dies" ends by a signal; "status" returns 5. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <sonde/sonde.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void work(float *x)
{
	x[threadIdx.x] += 1;
}

static float *x[2];

static void launch(int device)
{
	if (cudaSetDevice(device) || (!x[device] && cudaMalloc(&x[device], 1024 * sizeof(float))))
		exit(77);
	work<<<1, 256>>>(x[device]); // work
}

static void work_for(int rounds, int devices)
{
	for (int i = 0; i < rounds; i++) {
		launch(i % devices);
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "works";
	work_for(15, !strcmp(how, "devices") ? 2 : 1);
	if (!strcmp(how, "stops"))
		sonde_stop();
	if (!strcmp(how, "waits"))
		usleep(400000);
	if (!strcmp(how, "fork")) {
		fflush(stdout);
		int status;
		if (!fork())
			_exit(3);
		wait(&status);
		printf("child %d\n", WEXITSTATUS(status));
	}
	work_for(15, !strcmp(how, "devices") ? 2 : 1);
	if (!strcmp(how, "dies"))
		raise(SIGKILL);
	cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
	return strcmp(how, "status") ? 0 : 5;
}
