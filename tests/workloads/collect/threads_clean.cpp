// SPDX-License-Identifier: Apache-2.0
// A program of threads without a race: what a sanitizer reports of it, the collector has caused. Prints "done".
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::mutex lock;
static std::map<std::string, long> counts;
static std::atomic<long> total;

static void work(int number)
{
	for (int round = 0; round < 60; round++) {
		auto text = std::make_unique<std::string>("thread " + std::to_string(number % 3));
		long sum = 0;
		for (int step = 0; step < 200000; step++) {
			sum += step ^ number;
			__asm__ volatile("" : "+r"(sum));
		}
		total.fetch_add(sum);
		std::lock_guard<std::mutex> guard(lock);
		counts[*text] += sum;
	}
}

int main()
{
	for (int generation = 0; generation < 5; generation++) {
		std::vector<std::thread> threads;
		for (int number = 0; number < 6; number++)
			threads.emplace_back(work, number);
		for (auto &thread : threads)
			thread.join();
	}
	std::puts(counts.size() == 3 && total ? "done" : "wrong");
	return 0;
}
