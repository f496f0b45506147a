/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by the names of their entry points; see operators.h. */
#include "operators.h"

#include "format/torch_name.h"

#include <stdio.h>
#include <string.h>

static bool from_dispatcher(const char *symbol, struct sn_operator *found)
{
	size_t length;
	found->is_backward = false;
	return sn_torch_operator_name(symbol, found->name, sizeof(found->name), &length) ==
	       SN_TORCH_CALL;
}

/* The one identifier between `prefix` and `suffix` that makes up the whole name; 0 for anything
 * else. */
static size_t between(const char *name, const char *prefix, const char *suffix,
		      const char **identifier)
{
	size_t length = strlen(name), before = strlen(prefix), after = strlen(suffix);
	if (length <= before + after || memcmp(name, prefix, before) ||
	    memcmp(name + length - after, suffix, after))
		return 0;
	size_t between_length = length - before - after;
	*identifier = name + before;
	bool is_nested =
	    memchr(*identifier, ':', between_length) || memchr(*identifier, '<', between_length);
	return is_nested ? 0 : between_length;
}

static bool from_backward_node(const char *name, struct sn_operator *found)
{
	const char *identifier, *prefix = "";
	size_t length = between(name, "torch::autograd::generated::", "::apply", &identifier);
	if (!length) {
		/* a node written by hand: PyTorch's profiler keeps its namespace */
		prefix = "torch::autograd::";
		length = between(name, prefix, "::apply", &identifier);
	}
	/* what runs Python's own functions: the collector has their names */
	bool is_wrapper = length == strlen("PyNode") && memcmp(identifier, "PyNode", length) == 0;
	if (!length || length > 200 || is_wrapper)
		return false;
	snprintf(found->name, sizeof(found->name), "%s%.*s", prefix, (int)length, identifier);
	found->is_backward = true;
	return true;
}

const char *sn_region_from_python(const char *file, const char *function)
{
	static const char compiler[] = "torch/_dynamo/convert_frame.py";
	size_t length = file ? strlen(file) : 0, tail = sizeof(compiler) - 1;
	if (!function || strcmp(function, "_compile") || length < tail ||
	    strcmp(file + length - tail, compiler))
		return NULL;
	return "torch.compile";
}

bool sn_operator_from_symbol(const char *name, const char *linkage_name, struct sn_operator *found)
{
	return from_dispatcher(linkage_name ? linkage_name : name, found) ||
	       from_backward_node(name, found);
}
