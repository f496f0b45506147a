/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A SYCL program that any compiler of C++ makes: its kernels are source that the runtime compiles. 12 and 5 launches from two
 * lines; 3 that wait for functions of the host, and are handed over when the program waits for them; 3 that a thread of the
 * runtime's hands over; a copy.
 * tests/cli/collect/gpu/test_sycl.py. With "launch COUNT" it only launches, and says how long each took.
 */
#include <sycl/sycl.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <time.h>

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

static sycl::event launch(sycl::queue &queue, const sycl::kernel &kernel, int *values, const sycl::event *after = nullptr)
{
	return queue.submit([&](sycl::handler &handler) { // submits
		if (after)
			handler.depends_on(*after);
		handler.set_args(values);
		handler.parallel_for(sycl::nd_range<1>(1024, 64), kernel);
	});
}

__attribute__((noinline)) static void first(sycl::queue &queue, const sycl::kernel &kernel, int *values)
{
	for (int i = 0; i < 12; i++)
		launch(queue, kernel, values).wait(); // first
	__asm__ volatile("");
}

__attribute__((noinline)) static void second(sycl::queue &queue, const sycl::kernel &kernel, int *values)
{
	for (int i = 0; i < 5; i++)
		launch(queue, kernel, values).wait(); // second
	__asm__ volatile("");
}

__attribute__((noinline)) static void later(sycl::queue &queue, const sycl::kernel &kernel, int *values, bool sleeps)
{
	for (int i = 0; i < 3; i++) {
		auto host = queue.submit([&](sycl::handler &handler) {
			handler.host_task([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
		});
		auto event = launch(queue, kernel, values, &host); // later
		if (sleeps)
			std::this_thread::sleep_for(std::chrono::milliseconds(60));
		event.wait();
	}
	__asm__ volatile("");
}

static double now()
{
	timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The CPU time that a launch costs the program's thread: of the fastest of 20 rounds. */
static void measure(sycl::queue &queue, const sycl::kernel &kernel, int *values, int count)
{
	double best = 1e18;
	for (int round = 0; round < 20; round++) {
		double start = now();
		for (int i = 0; i < count; i++)
			launch(queue, kernel, values);
		best = std::min(best, (now() - start) / count);
		queue.wait();
	}
	std::cout << best << " ns a launch\n";
}

int main(int argc, char **argv)
{
	sycl::queue queue;
	auto bundle = experimental::create_kernel_bundle_from_source(queue.get_context(), experimental::source_language::sycl,
								     source);
	auto kernel = experimental::build(bundle).ext_oneapi_get_kernel("scale");
	int *values = sycl::malloc_shared<int>(1024, queue), *copy = sycl::malloc_host<int>(1024, queue);
	std::fill(values, values + 1024, 0);
	if (argc > 2) {
		measure(queue, kernel, values, std::stoi(argv[2]));
		return 0;
	}
	first(queue, kernel, values);
	second(queue, kernel, values);
	later(queue, kernel, values, false);
	later(queue, kernel, values, true);
	queue.memcpy(copy, values, 4096).wait(); // copies
	std::cout << copy[1000] << "\n";
	sycl::free(values, queue);
	sycl::free(copy, queue);
	return 0;
}
