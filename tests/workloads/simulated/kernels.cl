/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that each do one thing, in one text for OpenCL C, CUDA and HIP: a line has the same number wherever it is compiled, so that what a
 * simulator counts for a line is compared with what Sonde shows for it (docs/design/fakes.md). A line that ends in "loop" is inside of a loop. */
#if defined(__OPENCL_VERSION__)
#define KERNEL	 kernel
#define GLOBAL	 global
#define SHARED	 local
#define CONSTANT constant
#define INLINE	 __attribute__((always_inline)) static inline
#define BARRIER	 barrier(CLK_LOCAL_MEM_FENCE)
#define LANE	 (int)get_local_id(0)
#define INDEX	 (int)get_global_id(0)
#else
#define KERNEL	 extern "C" __global__
#define GLOBAL
#define SHARED	 __shared__
#define CONSTANT __constant__ const
#define INLINE	 __device__ __forceinline__ static
#define BARRIER	 __syncthreads()
#if defined(__HIP__)
#define LANE  (int)__builtin_amdgcn_workitem_id_x()
#define INDEX (int)hip_index()
#else
#define LANE  (int)threadIdx.x
#define INDEX (int)(blockIdx.x * blockDim.x + threadIdx.x)
#endif
#endif
#define ONCE _Pragma("unroll 1")

CONSTANT float steps[64] = {1, 4, 2, 8, 5, 7, 1, 4, 2, 8, 5, 7, 3, 6, 9, 3, 6, 9, 1, 4, 2, 8, 5, 7, 1, 4, 2, 8, 5, 7, 3, 6,
			    9, 3, 6, 9, 1, 4, 2, 8, 5, 7, 1, 4, 2, 8, 5, 7, 3, 6, 9, 3, 6, 9, 1, 4, 2, 8, 5, 7, 1, 4, 2, 8};

INLINE float blend(float x, float y)
{
	return x * y + 0.25f; // loop
}

KERNEL void compute(GLOBAL float *out, GLOBAL const float *in, int n)
{
	float x = in[INDEX], y = in[INDEX + 1];
	ONCE
	for (int i = 0; i < n; i++) {
		x = blend(x, y);
		y = y * 0.5f + x; // loop
	}
	out[INDEX] = x + y;
}

KERNEL void strided(GLOBAL float *out, GLOBAL const float *in, int n)
{
	float sum = 0;
	ONCE
	for (int i = 0; i < n; i++)
		sum += in[(INDEX * 32 + i * 8192) & 65535]; // loop
	out[INDEX] = sum;
}

KERNEL void banks(GLOBAL float *out, GLOBAL const float *in, int n)
{
	SHARED float tile[1024];
	float sum = 0;
	ONCE
	for (int i = 0; i < 1024; i += 64)
		tile[LANE + i] = in[LANE + i]; // loop
	BARRIER;
	ONCE
	for (int i = 0; i < n; i++)
		sum += tile[(LANE * 32 + i) & 1023]; // loop
	out[INDEX] = sum;
}

KERNEL void diverge(GLOBAL float *out, GLOBAL const float *in, int n)
{
	float x = in[INDEX];
	if (LANE & 1) {
		ONCE
		for (int i = 0; i < n; i++)
			x = x * x + 0.5f; // loop
	} else {
		ONCE
		for (int i = 0; i < 2 * n; i++)
			x = x * 0.75f - 2; // loop
	}
	out[INDEX] = x;
}

KERNEL void convert(GLOBAL float *out, GLOBAL const int *in, int n)
{
	float sum = 0;
	ONCE
	for (int i = 0; i < n; i++)
		sum += steps[in[INDEX + i] & 63]; // loop
	out[INDEX] = sum;
}

KERNEL void chase(GLOBAL int *out, GLOBAL const int *next, int n)
{
	int at = INDEX * 3;
	ONCE
	for (int i = 0; i < n; i++)
		at = next[at] & 65535; // loop
	out[INDEX] = at;
}
