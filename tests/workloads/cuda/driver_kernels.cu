/* SPDX-License-Identifier: Apache-2.0 */
/* Of driver.cu. */
extern "C" __global__ void plain_kernel(float *x, int n) { x[n] = 1; }
template <typename T> __global__ void typed_kernel(T *x) { x[0] = 2; }
template __global__ void typed_kernel<float>(float *);
extern "C" __global__ void cooperative_kernel(float *x) { x[0] = 3; }
