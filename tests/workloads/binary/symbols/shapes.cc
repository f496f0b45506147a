// SPDX-License-Identifier: Apache-2.0
// C++ names and inlining, for tests of symbols; see chain.c.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

typedef int sink(int);

namespace shapes
{
template <class T> struct Box {
	T value;
	explicit Box(T v) : value(v)
	{
	}
	__attribute__((always_inline)) int
	visit(sink *call) const // declares shapes::Box<int>::visit
	{
		return call(value) + 1; // mark shapes::Box<int>::visit
	}
};

namespace
{
struct Shape {
	virtual ~Shape()
	{
	}
	virtual double area() const = 0;
};
struct Square : Shape {
	double side;
	explicit Square(double s) : side(s)
	{
	}
	double area() const override
	{
		return side * side;
	}
};
struct Circle : Shape {
	double radius;
	explicit Circle(double r) : radius(r < 0 ? 0 : r)
	{
	}
	double area() const override
	{
		return 3.14 * radius * radius;
	}
};
int twice(int x)
{
	return x * 2 + 1;
}
template <class T> T clamp_to(T v, T low, T high)
{
	return v < low ? low : high < v ? high : v;
}
} // namespace

__attribute__((noinline)) int
visit_all(sink *call, const std::vector<int> &values) // declares shapes::visit_all
{
	int sum = 0;
	for (int value : values) {
		Box<int> box(value);
		sum += box.visit(call); // mark shapes::visit_all
	}
	return sum;
}

__attribute__((noinline)) int sort_all(std::vector<int> &values)
{
	int sum = 0;
	std::sort(values.begin(), values.end(), [](int a, int b) { return twice(a) < twice(b); });
	for (int value : values)
		sum += clamp_to(value, -5, 100);
	return sum;
}

__attribute__((noinline)) double areas(int count)
{
	std::vector<Shape *> all;
	for (int i = 0; i < count; i++) {
		if (i & 1)
			all.push_back(new Square(i));
		else
			all.push_back(new Circle(i));
	}
	double total = 0;
	for (Shape *shape : all) {
		total += shape->area();
		delete shape;
	}
	return total;
}

__attribute__((noinline)) std::map<std::string, int>
count_words(const std::vector<std::string> &words)
{
	std::map<std::string, int> counts;
	for (const std::string &word : words)
		counts[word]++;
	if (counts.size() > 100000)
		throw std::string("too many");
	return counts;
}
} // namespace shapes

extern "C" int sn_fixture_shapes(sink *call, int x)
{
	std::vector<int> values{x, 3, 1, 2};
	std::function<int(int)> add = [&](int y) { return shapes::sort_all(values) + y; };
	int sum = shapes::visit_all(call, values) + add(x);
	std::vector<std::string> words{"a", "b", "a"};
	return sum + (int)shapes::count_words(words).size() + (int)shapes::areas(x);
}
