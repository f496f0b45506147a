// SPDX-License-Identifier: Apache-2.0
// Operators of a library of the user's own, registered in the ways that C++ has. Each burns `n` rounds.
#include <ATen/ATen.h>
#include <torch/library.h>

static at::Tensor burn(const at::Tensor &x, int64_t n)
{
	volatile double value = 1.0;
	for (int64_t i = 0; i < n; i++)
		value = value * 1.0000001 + 1e-9;
	return x.clone();
}

/* It calls another one by the dispatcher, as libraries do. */
static at::Tensor outer(const at::Tensor &x, int64_t n)
{
	static auto inner = c10::Dispatcher::singleton()
				.findSchemaOrThrow("known::inner", "")
				.typed<at::Tensor(const at::Tensor &, int64_t)>();
	return inner.call(x, n);
}

static void boxed(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack)
{
	auto n = stack->at(stack->size() - 1).toInt();
	auto x = stack->at(stack->size() - 2).toTensor();
	torch::jit::drop(*stack, 2);
	stack->push_back(burn(x, n));
}

TORCH_LIBRARY(known, library)
{
	library.def("inner(Tensor x, int n) -> Tensor");
	library.def("outer(Tensor x, int n) -> Tensor");
	library.def("boxed.overload(Tensor x, int n) -> Tensor");
	library.def("composite(Tensor x, int n) -> Tensor", &burn);
	library.def("raising(Tensor x, int n) -> Tensor");
}

TORCH_LIBRARY_IMPL(known, CPU, library)
{
	library.impl("inner", &burn);
	library.impl("outer", TORCH_FN(outer));
	library.impl("boxed.overload", torch::CppFunction::makeFromBoxedFunction<&boxed>());
	library.impl("raising", [](const at::Tensor &x, int64_t n) -> at::Tensor {
		burn(x, n);
		TORCH_CHECK(false, "as it must");
	});
}
