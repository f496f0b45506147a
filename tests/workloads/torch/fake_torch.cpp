/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with functions of known names, places and lines, some named as PyTorch's entry points,
 * for the tests of analysis. They are found with dlsym; none is ever run.
 */

/* Two functions without a gap: the first byte of the second is where a call ending the first
 * returns. */
asm(".text\n"
    ".globl sonde_first\n.type sonde_first, @function\nsonde_first:\nnop\nnop\n"
    ".size sonde_first, 2\n"
    ".globl sonde_second\n.type sonde_second, @function\nsonde_second:\nnop\nret\n"
    ".size sonde_second, 2\n");

volatile int sonde_counter;

static inline __attribute__((always_inline)) void inner()
{
	asm volatile(".globl sonde_in_inner\nsonde_in_inner:\nnop");
	sonde_counter++;
}

extern "C" __attribute__((visibility("default"))) void sonde_outer()
{
	sonde_counter++;
	inner(); /* the line that test_analyze.c expects */
}

namespace at
{
namespace _ops
{
struct add_Tensor {
	static int call(int);
	static int redispatch(int);
};
int add_Tensor::call(int n)
{
	return n + sonde_counter;
}
int add_Tensor::redispatch(int n)
{
	return n - sonde_counter;
}
struct sum_dim_IntList {
	static int call(int);
};
int sum_dim_IntList::call(int n)
{
	return n * sonde_counter;
}
struct sum {
	static int call(int);
};
int sum::call(int n)
{
	return n ^ sonde_counter;
}
} // namespace _ops
} // namespace at

namespace torch
{
namespace autograd
{
namespace generated
{
struct AddmmBackward0 {
	int apply(int);
};
int AddmmBackward0::apply(int n)
{
	return n | sonde_counter;
}
} // namespace generated
} // namespace autograd
} // namespace torch
