/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and generic signatures. Those of parameters are read to know how many there are.
 */
#include "swift_mangling.h"

#include <stdio.h>
#include <string.h>

/* ---- types ---- */

struct sn_swift_node sn_swift_tuple(struct sn_swift *swift)
{
	struct sn_swift_node node = sn_swift_make(SN_SWIFT_TYPE, "(...)");
	if (sn_swift_pop(swift, SN_SWIFT_EMPTY_LIST, NULL))
		return node;
	for (bool is_first = false; !is_first; node.count++) {
		is_first = sn_swift_pop(swift, SN_SWIFT_FIRST, NULL);
		sn_swift_pop(swift, SN_SWIFT_VARIADIC, NULL);
		sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, NULL); /* its label */
		if (!sn_swift_pop(swift, SN_SWIFT_TYPE, NULL))
			return sn_swift_fail(swift);
	}
	return node;
}

/* Parameters or results: the number of them. */
static uint16_t pop_parameters(struct sn_swift *swift)
{
	struct sn_swift_node type;
	if (sn_swift_pop(swift, SN_SWIFT_EMPTY_LIST, NULL))
		return 0;
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type)) {
		swift->failed = true;
		return 0;
	}
	return type.count > 0 ? type.count : 1;
}

struct sn_swift_node sn_swift_function_type(struct sn_swift *swift)
{
	struct sn_swift_node node = sn_swift_make(SN_SWIFT_TYPE, "(...)");
	while (sn_swift_pop(swift, SN_SWIFT_ANNOTATION, NULL))
		;
	node.is_function_type = true;
	node.count = pop_parameters(swift);
	pop_parameters(swift);
	return node;
}

struct sn_swift_node sn_swift_bound_generic(struct sn_swift *swift)
{
	struct sn_swift_node type, nominal;
	const char *arguments = "";
	do {
		while (sn_swift_pop(swift, SN_SWIFT_TYPE, &type))
			arguments =
			    sn_swift_join(swift, type.text, *arguments ? ", " : "", arguments, "");
		if (sn_swift_pop(swift, SN_SWIFT_EMPTY_LIST, NULL))
			break;
	} while (sn_swift_pop(swift, SN_SWIFT_FIRST, NULL) && !swift->failed);
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &nominal) || !nominal.is_nominal)
		return sn_swift_fail(swift);
	nominal.text =
	    *arguments ? sn_swift_join(swift, nominal.text, "<", arguments, ">") : nominal.text;
	sn_swift_remember(swift, nominal);
	return nominal;
}

/* A, B, ...; A1 of an inner level. */
struct sn_swift_node sn_swift_generic_parameter(struct sn_swift *swift)
{
	char name[16] = "A";
	int depth = 0, index = 0;
	if (sn_swift_eat(swift, 'd')) {
		depth = sn_swift_index_of(swift) + 1;
		index = sn_swift_index_of(swift);
	} else if (!sn_swift_eat(swift, 'z')) {
		index = sn_swift_index_of(swift) + 1;
	}
	if (swift->failed || index > 25)
		return sn_swift_fail(swift);
	name[0] = (char)('A' + index);
	if (depth > 0)
		snprintf(name + 1, sizeof(name) - 1, "%d", depth);
	return sn_swift_make(SN_SWIFT_TYPE, sn_swift_join(swift, name, "", "", ""));
}

/* A.Element and the like; the protocol that declares it is not shown. */
static struct sn_swift_node associated_type(struct sn_swift *swift, struct sn_swift_node base)
{
	struct sn_swift_node name;
	sn_swift_pop(swift, SN_SWIFT_TYPE, NULL);
	if (!sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, &name))
		return sn_swift_fail(swift);
	struct sn_swift_node node =
	    sn_swift_make(SN_SWIFT_TYPE, sn_swift_join(swift, base.text, ".", name.text, ""));
	sn_swift_remember(swift, node);
	return node;
}

struct sn_swift_node sn_swift_archetype(struct sn_swift *swift)
{
	static const struct sn_swift_node first = {.kind = SN_SWIFT_TYPE, .text = "A"};
	switch (sn_swift_next(swift)) {
	case 'z':
		return associated_type(swift, first);
	case 'y':
		return associated_type(swift, sn_swift_generic_parameter(swift));
	case 'r':
		return sn_swift_make(SN_SWIFT_TYPE, "some");
	case 'R':
		sn_swift_index_of(swift);
		return sn_swift_make(SN_SWIFT_TYPE, "some");
	}
	return sn_swift_fail(swift);
}

struct sn_swift_node sn_swift_protocol_list(struct sn_swift *swift)
{
	struct sn_swift_node type;
	const char *text = "";
	if (sn_swift_pop(swift, SN_SWIFT_EMPTY_LIST, NULL))
		return sn_swift_make(SN_SWIFT_TYPE, "Any");
	for (bool is_first = false; !is_first && !swift->failed;) {
		struct sn_swift_node name, context;
		is_first = sn_swift_pop(swift, SN_SWIFT_FIRST, NULL);
		if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type)) {
			if (!sn_swift_pop_name(swift, &name) ||
			    !sn_swift_pop_context(swift, &context))
				return sn_swift_fail(swift);
			type.text = sn_swift_join(swift, context.text, ".", name.text, "");
		}
		text = sn_swift_join(swift, type.text, *text ? " & " : "", text, "");
	}
	return sn_swift_make(SN_SWIFT_TYPE, text);
}

struct sn_swift_node sn_swift_special_type(struct sn_swift *swift)
{
	struct sn_swift_node type;
	switch (sn_swift_next(swift)) {
	case 'E': /* not escaping */
	case 'K': /* autoclosure */
	case 'A':
	case 'f':
	case 'U':
	case 'B':
	case 'C':
		return sn_swift_function_type(swift);
	case 'D':
	case 'o':
	case 'u':
	case 'w':
		return sn_swift_pop(swift, SN_SWIFT_TYPE, &type) ? type : sn_swift_fail(swift);
	case 'p':
		return sn_swift_pop(swift, SN_SWIFT_TYPE, &type)
			   ? sn_swift_make(SN_SWIFT_TYPE, "Any.Type")
			   : sn_swift_fail(swift);
	case 'l':
		return sn_swift_protocol_list(swift);
	}
	return sn_swift_fail(swift);
}

void sn_swift_annotation(struct sn_swift *swift)
{
	switch (sn_swift_next(swift)) {
	case 'K': /* throws a type */
	case 'c': /* on a global actor */
		if (!sn_swift_pop(swift, SN_SWIFT_TYPE, NULL))
			swift->failed = true;
		/* fall through */
	case 'a':
	case 'b':
	case 'A':
	case 'C':
	case 'T':
		sn_swift_push(swift, sn_swift_make(SN_SWIFT_ANNOTATION, "async"));
		break;
	case 'i': /* isolated and sending parameters: the type stays */
	case 'u':
		break;
	default:
		swift->failed = true;
	}
}

struct sn_swift_node sn_swift_builtin_type(struct sn_swift *swift)
{
	char c = sn_swift_next(swift);
	if (c == 'i' || c == 'f') {
		sn_swift_natural(swift);
		return sn_swift_eat(swift, '_') ? sn_swift_make(SN_SWIFT_TYPE, "Builtin.Int")
						: sn_swift_fail(swift);
	}
	return strchr("bBoOpwt", c) && c ? sn_swift_make(SN_SWIFT_TYPE, "Builtin")
					 : sn_swift_fail(swift);
}

/* ---- generic signatures ---- */

void sn_swift_requirement(struct sn_swift *swift)
{
	char c = sn_swift_next(swift);
	bool has_protocol = strchr("cCbBtTsSmMlL", c) == NULL;
	bool is_layout = c && strchr("mMlL", c);
	if (strchr("cCtTmMpP", c) && c) {
		struct sn_swift_node base = sn_swift_generic_parameter(swift);
		if (strchr("CTMP", c)) {
			sn_swift_fail(swift); /* chains of associated types */
			return;
		}
		associated_type(swift, base);
	} else if (strchr("BSLQ", c) && c) {
		if (!sn_swift_pop(swift, SN_SWIFT_TYPE, NULL))
			swift->failed = true;
	} else {
		if (!(strchr("bsl", c) && c))
			swift->at--;
		sn_swift_generic_parameter(swift);
	}
	if (is_layout) {
		char layout = sn_swift_next(swift);
		if (strchr("em", layout) && layout)
			sn_swift_index_of(swift);
	} else if (has_protocol && !sn_swift_pop(swift, SN_SWIFT_TYPE, NULL)) {
		struct sn_swift_node name, context;
		if (!sn_swift_pop_name(swift, &name) || !sn_swift_pop_context(swift, &context))
			swift->failed = true;
	} else if (!has_protocol && !sn_swift_pop(swift, SN_SWIFT_TYPE, NULL)) {
		swift->failed = true;
	}
	sn_swift_push(swift, sn_swift_make(SN_SWIFT_REQUIREMENT, ""));
}

struct sn_swift_node sn_swift_generic_signature(struct sn_swift *swift, bool has_counts)
{
	while (has_counts && !sn_swift_eat(swift, 'l') && !swift->failed)
		if (!sn_swift_eat(swift, 'z'))
			sn_swift_index_of(swift);
	while (sn_swift_pop(swift, SN_SWIFT_REQUIREMENT, NULL))
		;
	return sn_swift_make(SN_SWIFT_SIGNATURE, "");
}
