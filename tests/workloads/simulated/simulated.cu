/* SPDX-License-Identifier: Apache-2.0 */
/* Launches each kernel of kernels.cl once, for CUDA, for HIP (simulated.hip includes this) and for a simulator of CUDA (docs/design/fakes.md). */
#include <cstdio>
#include <vector>

#include "kernels.cl"

enum { ITEMS = 128, GROUP = 64, WORDS = 65536, TURNS = 16 };

int main()
{
	std::vector<float> values(WORDS, 0.5f);
	std::vector<int> indices(WORDS);
	for (int i = 0; i < WORDS; i++)
		indices[i] = i * 4099;
	float *in, *out;
	int *next;
	cudaMalloc((void **)&in, WORDS * sizeof(*in));
	cudaMalloc((void **)&next, WORDS * sizeof(*next));
	cudaMalloc((void **)&out, ITEMS * sizeof(*out));
	cudaMemcpy(in, values.data(), WORDS * sizeof(*in), cudaMemcpyHostToDevice);
	cudaMemcpy(next, indices.data(), WORDS * sizeof(*next), cudaMemcpyHostToDevice);
	compute<<<ITEMS / GROUP, GROUP>>>(out, in, TURNS);
	strided<<<ITEMS / GROUP, GROUP>>>(out, in, TURNS);
	banks<<<ITEMS / GROUP, GROUP>>>(out, in, TURNS);
	diverge<<<ITEMS / GROUP, GROUP>>>(out, in, TURNS);
	convert<<<ITEMS / GROUP, GROUP>>>(out, next, TURNS);
	chase<<<ITEMS / GROUP, GROUP>>>((int *)out, next, TURNS);
	cudaDeviceSynchronize();
	printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
