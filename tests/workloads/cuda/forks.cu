/* SPDX-License-Identifier: Apache-2.0 */
/* A child of a process whose driver is initialised, which launches, as its parent goes on to do. */
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
__global__ void parent_kernel(float *x) { x[0] = 1; }
__global__ void child_kernel(float *x) { x[0] = 2; }
int main()
{
	float *x;
	cudaMalloc(&x, 4096);
	for (int i = 0; i < 30; i++)
		parent_kernel<<<1, 32>>>(x);
	pid_t child = fork();
	if (!child) {
		for (int i = 0; i < 17; i++)
			child_kernel<<<1, 32>>>(x);
		cudaDeviceSynchronize();
		printf("child %s\n", cudaGetErrorString(cudaGetLastError()));
		fflush(stdout);
		exit(4);
	}
	for (int i = 0; i < 40; i++)
		parent_kernel<<<1, 32>>>(x);
	int status;
	waitpid(child, &status, 0);
	for (int i = 0; i < 5; i++)
		parent_kernel<<<1, 32>>>(x);
	cudaDeviceSynchronize();
	printf("parent %d %s\n", WEXITSTATUS(status), cudaGetErrorString(cudaGetLastError()));
}
