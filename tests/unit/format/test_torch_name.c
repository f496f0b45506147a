/* SPDX-License-Identifier: Apache-2.0 */
/* Operator names from symbols of libtorch_cpu, against the names PyTorch's schemas give them. */
#include "format/torch_name.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void expect(const char *structure, const char *name)
{
	char symbol[256], found[128];
	size_t length;
	snprintf(symbol, sizeof(symbol), "_ZN2at4_ops%zu%s4callERKNS_6TensorE", strlen(structure),
		 structure);
	assert_int_equal(sn_torch_operator_name(symbol, found, sizeof(found), &length),
			 SN_TORCH_CALL);
	assert_string_equal(found, name);
	assert_int_equal(length, strlen(name));
}

static void overloads_are_cut(void **state)
{
	expect("addmm", "aten::addmm");
	expect("add_Tensor", "aten::add");
	expect("add__Tensor", "aten::add_");
	expect("_log_softmax", "aten::_log_softmax");
	expect("sum_dim_IntList", "aten::sum");
	expect("sum_IntList_out", "aten::sum");
	expect("nll_loss2d_forward_output", "aten::nll_loss2d_forward");
	expect("cat_names", "aten::cat");
	expect("__and___Tensor", "aten::__and__");
	expect("linalg_vector_norm_out", "aten::linalg_vector_norm");
}

static void names_that_look_cut_stay_whole(void **state)
{
	expect("_log_softmax_backward_data", "aten::_log_softmax_backward_data");
	expect("index_reduce_out", "aten::index_reduce");
	expect("numpy_T", "aten::numpy_T");
	expect("broadcast_to", "aten::broadcast_to");
}

static void other_symbols_are_none(void **state)
{
	char name[64];
	size_t length;
	static const char *const symbols[] = {
	    "",	      "_ZN2at4_ops",	    "_ZN2at4_ops5addmm", "_ZN2at4_ops5addmm5otherE",
	    "malloc", "_ZN2at4_ops900call", "_ZN2at5addmmE",	 "_ZN2at4_ops0call"};
	for (size_t index = 0; index < sizeof(symbols) / sizeof(*symbols); index++)
		assert_int_equal(
		    sn_torch_operator_name(symbols[index], name, sizeof(name), &length),
		    SN_TORCH_NO_ENTRY);
	assert_int_equal(
	    sn_torch_operator_name("_ZN2at4_ops5addmm10redispatchEN3c1014DispatchKeySetE", name,
				   sizeof(name), &length),
	    SN_TORCH_REDISPATCH);
}

static void a_long_name_is_cut(void **state)
{
	char name[12];
	size_t length;
	assert_int_equal(
	    sn_torch_operator_name("_ZN2at4_ops9transpose4callE", name, sizeof(name), &length),
	    SN_TORCH_CALL);
	assert_string_equal(name, "aten::trans");
	assert_int_equal(length, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(overloads_are_cut),
	    cmocka_unit_test(names_that_look_cut_stay_whole),
	    cmocka_unit_test(other_symbols_are_none),
	    cmocka_unit_test(a_long_name_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
