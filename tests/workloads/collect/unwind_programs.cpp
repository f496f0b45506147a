/* SPDX-License-Identifier: Apache-2.0 */
/* What C++ programs do: exceptions through many frames, containers, streams, sorting, recursion. */
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
struct Guard {
	int &count;
	~Guard() { count--; }
};

int depth_now;

int thrower(int depth, int at)
{
	Guard guard{++depth_now};
	if (depth == at)
		throw std::runtime_error("as asked at " + std::to_string(depth));
	std::string copy(static_cast<size_t>(depth + 20), 'x');
	return thrower(depth + 1, at) + static_cast<int>(copy.size());
}

int catcher(int at)
{
	try {
		return thrower(0, at);
	} catch (const std::exception &error) {
		return static_cast<int>(std::string(error.what()).size());
	}
}

int containers(int size)
{
	std::map<std::string, std::shared_ptr<std::vector<int>>> map;
	for (int number = 0; number < size; number++) {
		auto &entry = map[std::to_string(number * 7919 % size)];
		entry = std::make_shared<std::vector<int>>(100);
		std::generate(entry->begin(), entry->end(), [seed = number]() mutable {
			return seed = seed * 1103515245 + 12345;
		});
		std::sort(entry->begin(), entry->end(), std::greater<int>());
	}
	return static_cast<int>(map.size());
}

size_t streams()
{
	std::ostringstream out;
	for (int number = 0; number < 200; number++)
		out << number << ' ' << number * 0.5 << '\n';
	return std::regex_replace(out.str().substr(0, 600), std::regex("[0-9]+\\.5"), "half").size();
}
} // namespace

int main(int count, char **arguments)
{
	double seconds = count > 1 ? std::stod(arguments[1]) : 1;
	auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
	size_t sum = 0;
	for (int round = 0; std::chrono::steady_clock::now() < end; round++)
		sum += static_cast<size_t>(catcher(round % 30) + containers(40)) + streams();
	return sum == 0;
}
