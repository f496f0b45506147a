// SPDX-License-Identifier: Apache-2.0
// C++ that throws, catches, destroys and allocates, for test_unwind_step.
#include "unwind_step_cases.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

volatile int destroyed;

struct Guard {
	std::string text;
	explicit Guard(int n) : text(static_cast<size_t>(n), 'x')
	{
	}
	~Guard()
	{
		destroyed = destroyed + static_cast<int>(text.size());
	}
};

struct Shape {
	virtual ~Shape() = default;
	virtual int area(int depth) const = 0;
};

struct Square final : Shape {
	int side;
	explicit Square(int s) : side(s)
	{
	}
	__attribute__((noinline)) int area(int depth) const override
	{
		Guard guard(depth + 20);
		if (depth == 0)
			throw std::runtime_error("deep");
		Square inner(side - 1);
		const Shape *shape = &inner;
		return shape->area(depth - 1) + side;
	}
};

} // namespace

void step_cxx_throw(void)
{
	for (int round = 0; round < 2; round++) {
		try {
			Guard guard(40);
			std::unique_ptr<Shape> shape = std::make_unique<Square>(5);
			destroyed = shape->area(3);
		} catch (const std::exception &error) {
			destroyed = destroyed + error.what()[0];
		}
	}
}

void step_cxx_strings(void)
{
	std::map<std::string, std::vector<int>> table;
	for (int index = 0; index < 12; index++)
		table["key" + std::to_string(index % 5)].push_back(index);
	for (const auto &entry : table)
		destroyed = destroyed + static_cast<int>(entry.second.size());
}
