/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SYCL program that any compiler of C++ makes: its kernel is source that the runtime compiles.
 * tests/cli/collect/test_opencl_loaders.py: 12 launches from one function, 5 from another.
 */
#include <sycl/sycl.hpp>

#include <iostream>

namespace experimental = sycl::ext::oneapi::experimental;

static const std::string source = R"(
#include <sycl/sycl.hpp>
namespace oneapi = sycl::ext::oneapi;
namespace experimental = oneapi::experimental;
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((experimental::nd_range_kernel<1>))
void scale(int *values)
{
	values[oneapi::this_work_item::get_nd_item<1>().get_global_linear_id()] += 2;
}
)";

static void launch(sycl::queue &queue, const sycl::kernel &kernel, int *values)
{
	queue.submit([&](sycl::handler &handler) {
		handler.set_args(values);
		handler.parallel_for(sycl::nd_range<1>(1024, 64), kernel);
	});
	queue.wait();
}

__attribute__((noinline)) static void first(sycl::queue &queue, const sycl::kernel &kernel,
					    int *values)
{
	for (int i = 0; i < 12; i++)
		launch(queue, kernel, values);
	__asm__ volatile("");
}

__attribute__((noinline)) static void second(sycl::queue &queue, const sycl::kernel &kernel,
					     int *values)
{
	for (int i = 0; i < 5; i++)
		launch(queue, kernel, values);
	__asm__ volatile("");
}

int main()
{
	sycl::queue queue;
	auto bundle = experimental::create_kernel_bundle_from_source(
	    queue.get_context(), experimental::source_language::sycl, source);
	auto kernel = experimental::build(bundle).ext_oneapi_get_kernel("scale");
	int *values = sycl::malloc_shared<int>(1024, queue);
	std::fill(values, values + 1024, 0);
	first(queue, kernel, values);
	second(queue, kernel, values);
	std::cout << values[1000] << "\n";
	sycl::free(values, queue);
	return 0;
}
