/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swift symbols ($s, $S, _T0: the scheme of Swift 4 and later).
 *
 * The common grammar is read here: modules, nested and generic types, functions with their labels,
 * initialisers, accessors, closures, extensions, thunks. A mangling is postfix: operands are
 * pushed, operators combine what lies on top, and what has a name may be referred to again, hence
 * the shape of this file. Names are given the way people write them,
 * `Module.Type.function(label:_:)`: types of parameters are read but not shown. What lies beyond
 * this grammar is left to the Swift runtime's own demangler where one is installed, and else keeps
 * its mangled name.
 */
#include "demangle.h"
#include "swift_mangling.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the runtime's demangler ---- */

/* The result is malloc'ed where out is NULL; NULL if not a Swift symbol. */
typedef char *swift_demangle_function(const char *symbol, size_t length, char *out,
				      size_t *out_length, uint32_t flags);

static swift_demangle_function *runtime_demangle;

static void find_runtime(void)
{
	static const char *const libraries[] = {"libswiftDemangle.so", "libswiftCore.so"};
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !runtime_demangle; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		if (library)
			runtime_demangle =
			    (swift_demangle_function *)dlsym(library, "swift_demangle");
	}
}

/* ---- names and contexts ---- */

static struct sn_swift_node entity(struct sn_swift *swift, struct sn_swift_node context,
				   const char *name, const char *more)
{
	return sn_swift_make(SN_SWIFT_CONTEXT, sn_swift_join(swift, context.text, ".", name, more));
}

static struct sn_swift_node nominal_type(struct sn_swift *swift)
{
	struct sn_swift_node name, context;
	if (!sn_swift_pop_name(swift, &name) || !sn_swift_pop_context(swift, &context))
		return sn_swift_fail(swift);
	struct sn_swift_node node =
	    sn_swift_make(SN_SWIFT_TYPE, sn_swift_join(swift, context.text, ".", name.text, ""));
	node.is_nominal = true;
	sn_swift_remember(swift, node);
	return node;
}

/* The discriminator of a private or local declaration is not shown. */
static void local_identifier(struct sn_swift *swift)
{
	struct sn_swift_node name, discriminator;
	if (sn_swift_eat(swift, 'L')) {
		if (!sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, &discriminator) ||
		    !sn_swift_pop_name(swift, &name))
			swift->failed = true;
	} else if (sn_swift_eat(swift, 'l')) {
		/* of a nameless declaration, such as an initialiser: nothing stays */
		if (!sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, NULL))
			swift->failed = true;
		return;
	} else {
		if (isalpha((unsigned char)*swift->at))
			swift->at++;
		else
			sn_swift_index_of(swift);
		if (!sn_swift_pop_name(swift, &name))
			swift->failed = true;
	}
	if (!swift->failed)
		sn_swift_push(swift, name);
}

static struct sn_swift_node operator_name(struct sn_swift *swift)
{
	static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
	struct sn_swift_node name;
	char kind = sn_swift_next(swift), text[64];
	const char *fixity = kind == 'i' ? " infix" : kind == 'p' ? " prefix" : " postfix";
	size_t length;
	if (!strchr("ipP", kind) || !sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, &name))
		return sn_swift_fail(swift);
	for (length = 0; name.text[length] && length < sizeof(text) - 1; length++) {
		char c = name.text[length];
		text[length] = c >= 'a' && c <= 'z' ? characters[c - 'a'] : c;
	}
	text[length] = '\0';
	return sn_swift_make(SN_SWIFT_IDENTIFIER, sn_swift_join(swift, text, fixity, "", ""));
}

/* ---- functions ---- */

/* "(a:_:)" of a function with that many parameters, from the labels below its type. */
static const char *labels(struct sn_swift *swift, const struct sn_swift_node *type)
{
	const char *text = ":)";
	if (swift->is_old)
		return "";
	if (sn_swift_pop(swift, SN_SWIFT_EMPTY_LIST, NULL)) {
		text = "";
		for (unsigned i = 0; i < type->count && i < 64; i++)
			text = sn_swift_join(swift, "_:", text, "", "");
		return sn_swift_join(swift, "(", text, ")", "");
	}
	if (type->count == 0)
		return "()";
	for (unsigned i = 0; i < type->count; i++) {
		struct sn_swift_node label = sn_swift_make(SN_SWIFT_FIRST, "_");
		if (!sn_swift_pop(swift, SN_SWIFT_FIRST, NULL) &&
		    !sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, &label)) {
			swift->failed = true;
			return "";
		}
		text = sn_swift_join(swift, label.text, i > 0 ? ":" : "", text, "");
	}
	return sn_swift_join(swift, "(", text, "", "");
}

static struct sn_swift_node plain_function(struct sn_swift *swift)
{
	struct sn_swift_node name, context;
	sn_swift_pop(swift, SN_SWIFT_SIGNATURE, NULL);
	struct sn_swift_node type = sn_swift_function_type(swift);
	const char *shown = labels(swift, &type);
	if (swift->failed || !sn_swift_pop_name(swift, &name) ||
	    !sn_swift_pop_context(swift, &context))
		return sn_swift_fail(swift);
	return entity(swift, context, name.text, shown);
}

static struct sn_swift_node initializer(struct sn_swift *swift, const char *name)
{
	struct sn_swift_node type, context;
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type))
		return sn_swift_fail(swift);
	const char *shown = labels(swift, &type);
	if (swift->failed || !sn_swift_pop_context(swift, &context))
		return sn_swift_fail(swift);
	return entity(swift, context, name, shown);
}

static struct sn_swift_node closure(struct sn_swift *swift, const char *name)
{
	struct sn_swift_node context;
	char number[16];
	int index = sn_swift_index_of(swift);
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, NULL) || !sn_swift_pop_context(swift, &context))
		return sn_swift_fail(swift);
	snprintf(number, sizeof(number), "#%d}", index + 1);
	return entity(swift, context, name, number);
}

static struct sn_swift_node special_function(struct sn_swift *swift)
{
	struct sn_swift_node context;
	switch (sn_swift_next(swift)) {
	case 'C':
	case 'c':
		return initializer(swift, "init");
	case 'U':
		return closure(swift, "{closure");
	case 'u':
		return closure(swift, "{implicit closure");
	case 'D':
	case 'd':
		return sn_swift_pop_context(swift, &context) ? entity(swift, context, "deinit", "")
							     : sn_swift_fail(swift);
	case 'Z':
	case 'E':
	case 'e':
		return sn_swift_pop_context(swift, &context) ? entity(swift, context, "deinit", "")
							     : sn_swift_fail(swift);
	case 'i':
	case 'P':
	case 'W':
		return sn_swift_pop_context(swift, &context)
			   ? entity(swift, context, "{initializer}", "")
			   : sn_swift_fail(swift);
	case 'A':
		sn_swift_index_of(swift);
		return sn_swift_pop_context(swift, &context)
			   ? entity(swift, context, "{default argument}", "")
			   : sn_swift_fail(swift);
	}
	return sn_swift_fail(swift);
}

static struct sn_swift_node accessor(struct sn_swift *swift, struct sn_swift_node variable)
{
	static const struct {
		char letter;
		const char *name;
	} accessors[] = {{'g', ".getter"},	{'s', ".setter"}, {'M', ".modify"}, {'r', ".read"},
			 {'w', ".willset"},	{'W', ".didset"}, {'G', ".getter"}, {'i', ".init"},
			 {'m', ".materialize"}, {'x', ".modify"}, {'y', ".read"},   {'p', ""}};
	char c = sn_swift_next(swift);
	if (c == 'a' || c == 'l') {
		sn_swift_next(swift);
		return sn_swift_make(SN_SWIFT_CONTEXT,
				     sn_swift_join(swift, variable.text, ".addressor", "", ""));
	}
	for (size_t i = 0; i < sizeof(accessors) / sizeof(accessors[0]); i++)
		if (accessors[i].letter == c)
			return sn_swift_make(
			    SN_SWIFT_CONTEXT,
			    sn_swift_join(swift, variable.text, accessors[i].name, "", ""));
	return sn_swift_fail(swift);
}

static struct sn_swift_node variable(struct sn_swift *swift)
{
	struct sn_swift_node type, name, context;
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type))
		return sn_swift_fail(swift);
	if (type.is_function_type)
		labels(swift, &type);
	if (!sn_swift_pop_name(swift, &name) || !sn_swift_pop_context(swift, &context))
		return sn_swift_fail(swift);
	return accessor(swift, entity(swift, context, name.text, ""));
}

static struct sn_swift_node subscript(struct sn_swift *swift)
{
	struct sn_swift_node type, context;
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type))
		return sn_swift_fail(swift);
	const char *shown = labels(swift, &type);
	if (swift->failed || !sn_swift_pop_context(swift, &context))
		return sn_swift_fail(swift);
	return accessor(swift, entity(swift, context, "subscript", shown));
}

static struct sn_swift_node extension(struct sn_swift *swift)
{
	struct sn_swift_node module, type;
	sn_swift_pop(swift, SN_SWIFT_SIGNATURE, NULL);
	if (!sn_swift_pop(swift, SN_SWIFT_CONTEXT, &module) &&
	    !sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, &module))
		return sn_swift_fail(swift);
	return sn_swift_pop(swift, SN_SWIFT_TYPE, &type) && type.is_nominal ? type
									    : sn_swift_fail(swift);
}

/* ---- thunks and metadata: what is said of a whole symbol ---- */

static struct sn_swift_node prefixed(struct sn_swift *swift, const char *prefix)
{
	struct sn_swift_node of;
	if (!sn_swift_pop_context(swift, &of))
		return sn_swift_fail(swift);
	return sn_swift_make(SN_SWIFT_CONTEXT, sn_swift_join(swift, prefix, of.text, "", ""));
}

static struct sn_swift_node specialization(struct sn_swift *swift)
{
	while (sn_swift_pop(swift, SN_SWIFT_FIRST, NULL) ||
	       sn_swift_pop(swift, SN_SWIFT_TYPE, NULL) ||
	       sn_swift_pop(swift, SN_SWIFT_EMPTY_LIST, NULL) ||
	       sn_swift_pop(swift, SN_SWIFT_SIGNATURE, NULL))
		;
	sn_swift_eat(swift, 'q');
	if (!isdigit((unsigned char)sn_swift_next(swift)))
		return sn_swift_fail(swift);
	struct sn_swift_node of;
	return sn_swift_pop(swift, SN_SWIFT_CONTEXT, &of) ? of : sn_swift_fail(swift);
}

static struct sn_swift_node signature_specialization(struct sn_swift *swift)
{
	struct sn_swift_node of;
	sn_swift_eat(swift, 'q');
	if (!isdigit((unsigned char)sn_swift_next(swift)) ||
	    !sn_swift_pop(swift, SN_SWIFT_CONTEXT, &of))
		return sn_swift_fail(swift);
	/* one letter or two for each argument, then the result's */
	while (isalpha((unsigned char)*swift->at))
		swift->at++;
	if (!sn_swift_eat(swift, '_') || !isalpha((unsigned char)sn_swift_next(swift)))
		return sn_swift_fail(swift);
	return of;
}

static struct sn_swift_node witness(struct sn_swift *swift)
{
	struct sn_swift_node of;
	if (!sn_swift_pop(swift, SN_SWIFT_CONTEXT, &of))
		return sn_swift_fail(swift);
	/* the conformance lies below: what is not shown */
	swift->depth = 0;
	return sn_swift_make(SN_SWIFT_CONTEXT,
			     sn_swift_join(swift, "protocol witness for ", of.text, "", ""));
}

static struct sn_swift_node thunk(struct sn_swift *swift)
{
	struct sn_swift_node of;
	char c = sn_swift_next(swift);
	switch (c) {
	case 'A':
		return prefixed(swift, "partial apply for ");
	case 'W':
		return witness(swift);
	case 'g':
	case 'G':
		return specialization(swift);
	case 'f':
		return signature_specialization(swift);
	case 'Y':
	case 'Q': /* where an asynchronous function goes on */
		sn_swift_index_of(swift);
		/* fall through */
	case 'o':
	case 'O':
	case 'm':
	case 'j':
	case 'q':
	case 'u':
	case 'D':
		return sn_swift_pop(swift, SN_SWIFT_CONTEXT, &of) ? of : sn_swift_fail(swift);
	}
	return sn_swift_fail(swift);
}

static struct sn_swift_node metadata(struct sn_swift *swift)
{
	switch (sn_swift_next(swift)) {
	case 'a':
		return prefixed(swift, "type metadata accessor for ");
	case 'r':
		return prefixed(swift, "type metadata completion function for ");
	case 'i':
		return prefixed(swift, "type metadata instantiation function for ");
	}
	return sn_swift_fail(swift);
}

static struct sn_swift_node witness_table(struct sn_swift *swift)
{
	static const struct {
		char letter;
		const char *prefix;
	} outlined[] = {{'y', "outlined copy of "},   {'e', "outlined consume of "},
			{'r', "outlined retain of "}, {'s', "outlined release of "},
			{'b', "outlined init of "},   {'c', "outlined init of "},
			{'d', "outlined assign of "}, {'f', "outlined assign of "},
			{'h', "outlined destroy of "}};
	if (!sn_swift_eat(swift, 'O'))
		return sn_swift_fail(swift);
	char c = sn_swift_next(swift);
	sn_swift_pop(swift, SN_SWIFT_SIGNATURE, NULL);
	for (size_t i = 0; i < sizeof(outlined) / sizeof(outlined[0]); i++)
		if (outlined[i].letter == c)
			return prefixed(swift, outlined[i].prefix);
	return sn_swift_fail(swift);
}

/* ---- operators ---- */

static struct sn_swift_node type_in_place(struct sn_swift *swift, const char *suffix)
{
	struct sn_swift_node type;
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type))
		return sn_swift_fail(swift);
	return *suffix
		   ? sn_swift_make(SN_SWIFT_TYPE, sn_swift_join(swift, type.text, suffix, "", ""))
		   : type;
}

/* What a letter makes of the stack's top; the letter is consumed. */
static struct sn_swift_node run_operator(struct sn_swift *swift, char c)
{
	struct sn_swift_node node;
	switch (c) {
	case 'A':
		return sn_swift_substitution(swift);
	case 'B':
		return sn_swift_builtin_type(swift);
	case 'C':
	case 'V':
	case 'O':
	case 'P':
	case 'a':
		return nominal_type(swift);
	case 'E':
		return extension(swift);
	case 'F':
		return plain_function(swift);
	case 'G':
		return sn_swift_bound_generic(swift);
	case 'M':
		return metadata(swift);
	case 'Q':
		return sn_swift_archetype(swift);
	case 'S':
		return sn_swift_standard_substitution(swift);
	case 'T':
		return thunk(swift);
	case 'W':
		return witness_table(swift);
	case 'X':
		return sn_swift_special_type(swift);
	case 'Z': /* static */
		return sn_swift_pop(swift, SN_SWIFT_CONTEXT, &node) ? node : sn_swift_fail(swift);
	case 'c':
		return sn_swift_function_type(swift);
	case 'f':
		return special_function(swift);
	case 'i':
		return subscript(swift);
	case 'l':
	case 'r':
		return sn_swift_generic_signature(swift, c == 'r');
	case 'm':
		return type_in_place(swift, ".Type");
	case 'h':
	case 'n':
	case 'z': /* how a parameter is passed */
		return type_in_place(swift, "");
	case 'o':
		return operator_name(swift);
	case 'p':
		return sn_swift_protocol_list(swift);
	case 'q':
		return sn_swift_generic_parameter(swift);
	case 's':
		return sn_swift_make(SN_SWIFT_CONTEXT, "Swift");
	case 't':
		return sn_swift_tuple(swift);
	case 'u':
		return sn_swift_pop(swift, SN_SWIFT_SIGNATURE, NULL) ? type_in_place(swift, "")
								     : sn_swift_fail(swift);
	case 'v':
		return variable(swift);
	case 'x':
		return sn_swift_make(SN_SWIFT_TYPE, "A");
	}
	return sn_swift_fail(swift);
}

static void run_one(struct sn_swift *swift)
{
	struct sn_swift_node node;
	if (isdigit((unsigned char)*swift->at)) {
		node = sn_swift_identifier(swift);
		sn_swift_push(swift, node);
		return;
	}
	char c = sn_swift_next(swift);
	switch (c) {
	case 'L':
		local_identifier(swift);
		return;
	case 'R':
		sn_swift_requirement(swift);
		return;
	case 'Y':
		sn_swift_annotation(swift);
		return;
	case 'K':
		sn_swift_push(swift, sn_swift_make(SN_SWIFT_ANNOTATION, "throws"));
		return;
	case 'd':
		sn_swift_push(swift, sn_swift_make(SN_SWIFT_VARIADIC, "..."));
		return;
	case 'y':
		sn_swift_push(swift, sn_swift_make(SN_SWIFT_EMPTY_LIST, ""));
		return;
	case '_':
		sn_swift_push(swift, sn_swift_make(SN_SWIFT_FIRST, ""));
		return;
	}
	node = run_operator(swift, c);
	sn_swift_push(swift, node);
}

static char *demangle_own(const char *mangling, bool is_old)
{
	char *name = NULL;
	struct sn_swift *swift = calloc(1, sizeof(*swift));
	if (!swift)
		return NULL;
	swift->at = mangling;
	swift->is_old = is_old;
	/* a suffix such as .resume.0 belongs to the object file */
	while (*swift->at && *swift->at != '.' && !swift->failed)
		run_one(swift);
	if (!swift->failed && swift->depth == 1 && swift->stack[0].kind == SN_SWIFT_CONTEXT &&
	    strchr(swift->stack[0].text, '.'))
		name = strdup(swift->stack[0].text);
	free(swift);
	return name;
}

char *sn_demangle_swift(const char *symbol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t length = strlen(symbol), prefix = 0;
	bool is_old = strncmp(symbol, "_T0", 3) == 0;
	if (strncmp(symbol, "$s", 2) == 0 || strncmp(symbol, "$S", 2) == 0)
		prefix = 2;
	else if (is_old || strncmp(symbol, "_$s", 3) == 0 || strncmp(symbol, "_$S", 3) == 0)
		prefix = 3;
	if (prefix == 0 || length > SN_DEMANGLE_SYMBOL_MAX)
		return NULL;
	char *name = demangle_own(symbol + prefix, is_old);
	if (name)
		return name;
	pthread_once(&once, find_runtime);
	return runtime_demangle ? runtime_demangle(symbol, length, NULL, NULL, 0) : NULL;
}
