/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels in namespaces, of templates, lambdas and C, with long names. */
#include <cstdio>
#include <tuple>
#include <vector>
#include <utility>
template <typename F> __global__ void apply(F f, float *x) { f(x); }
template <int N> struct Deep { using type = std::tuple<typename Deep<N - 1>::type, typename Deep<N - 1>::type>; };
template <> struct Deep<0> { using type = int; };
template <typename T> __global__ void deep(float *x) { x[0] = sizeof(T); }
template <int... I> __global__ void many(float *x, std::integer_sequence<int, I...>) { x[0] = (I + ...); }
namespace { __global__ void anonymous(float *x) { x[0] = 3; } }
static __global__ void internal(float *x) { x[0] = 4; }
struct Functor { __host__ __device__ void operator()(float *x) const { x[0] = 6; } };
namespace a { namespace b { template <typename T, typename U = std::vector<T>> __global__ void nested(float *x) { x[0] = 1; } } }
int main()
{
	float *x;
	cudaMalloc(&x, 4096);
	for (int i = 0; i < 5; i++)
		apply<<<1, 32>>>([] __device__ (float *y) { y[0] = 1; }, x);
	for (int i = 0; i < 6; i++)
		apply<<<1, 32>>>([=] __device__ (float *y) { y[0] = i; }, x);
	apply<<<1, 32>>>(Functor(), x);
	for (int i = 0; i < 3; i++)
		deep<Deep<7>::type><<<1, 32>>>(x);
	many<<<1, 32>>>(x, std::make_integer_sequence<int, 900>());
	anonymous<<<1, 32>>>(x);
	internal<<<1, 32>>>(x);
	a::b::nested<unsigned long long><<<1, 32>>>(x);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
