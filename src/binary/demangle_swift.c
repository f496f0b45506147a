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
#include "text.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

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

/* ---- operands ---- */

#define STACK_MAX	  128
#define SUBSTITUTIONS_MAX 256
#define WORDS_MAX	  26
#define ARENA_BYTES	  (64u << 10)
#define STEPS_MAX	  5000

enum kind {
	NODE_IDENTIFIER,
	NODE_CONTEXT, /* a module, or an entity that others can be in */
	NODE_TYPE,
	NODE_EMPTY_LIST,
	NODE_FIRST,	 /* marks the first element of a list */
	NODE_ANNOTATION, /* throws, async, ... of a function type */
	NODE_SIGNATURE,	 /* generic */
	NODE_REQUIREMENT,
	NODE_VARIADIC,
	NODE_SPECIALIZATION, /* and other attributes of the whole symbol */
};

struct node {
	enum kind kind;
	bool is_nominal; /* a type that others can be in */
	bool is_function_type;
	uint16_t count; /* elements of a tuple, parameters of a function type */
	const char *text;
};

struct swift {
	const char *at;
	bool is_old; /* _T0: labels are part of tuples */
	bool failed;
	unsigned depth, substitution_count, word_count, steps;
	size_t arena_used;
	struct node stack[STACK_MAX];
	struct node substitutions[SUBSTITUTIONS_MAX];
	struct {
		const char *text;
		size_t length;
	} words[WORDS_MAX];
	char arena[ARENA_BYTES];
};

static const struct node no_node;

static struct node fail(struct swift *swift)
{
	swift->failed = true;
	return no_node;
}

/* Text made of up to four pieces, in the arena. */
static const char *join(struct swift *swift, const char *a, const char *b, const char *c,
			const char *d)
{
	char *text = swift->arena + swift->arena_used;
	size_t room = ARENA_BYTES - swift->arena_used;
	int length = snprintf(text, room, "%s%s%s%s", a, b, c, d);
	if (length < 0 || (size_t)length + 1 > room) {
		swift->failed = true;
		return "";
	}
	swift->arena_used += (size_t)length + 1;
	return text;
}

static struct node make(enum kind kind, const char *text)
{
	return (struct node){.kind = kind, .text = text};
}

static void push(struct swift *swift, struct node node)
{
	if (swift->depth == STACK_MAX || swift->steps++ > STEPS_MAX)
		swift->failed = true;
	else
		swift->stack[swift->depth++] = node;
}

static bool is_top(const struct swift *swift, enum kind kind)
{
	return swift->depth > 0 && swift->stack[swift->depth - 1].kind == kind;
}

static bool pop(struct swift *swift, enum kind kind, struct node *node)
{
	if (!is_top(swift, kind))
		return false;
	swift->depth--;
	if (node)
		*node = swift->stack[swift->depth];
	return true;
}

static void remember(struct swift *swift, struct node node)
{
	if (swift->substitution_count == SUBSTITUTIONS_MAX)
		swift->failed = true;
	else
		swift->substitutions[swift->substitution_count++] = node;
}

static bool eat(struct swift *swift, char c)
{
	if (*swift->at != c)
		return false;
	swift->at++;
	return true;
}

static char next(struct swift *swift)
{
	if (*swift->at == '\0') {
		swift->failed = true;
		return '\0';
	}
	return *swift->at++;
}

/* A decimal number, or -1. */
static int natural(struct swift *swift)
{
	int value = 0;
	if (!isdigit((unsigned char)*swift->at))
		return -1;
	while (isdigit((unsigned char)*swift->at) && value < (int)SN_DEMANGLE_SYMBOL_MAX)
		value = value * 10 + (*swift->at++ - '0');
	return value;
}

/* "_" is 0, "0_" is 1, ... */
static int index_of(struct swift *swift)
{
	if (eat(swift, '_'))
		return 0;
	int value = natural(swift);
	if (value < 0 || !eat(swift, '_'))
		swift->failed = true;
	return value + 1;
}

/* ---- identifiers ---- */

/* Words of an identifier can be referred to by later ones. */
static void add_words(struct swift *swift, const char *text, size_t length)
{
	size_t start = SIZE_MAX;
	for (size_t i = 0; i <= length; i++) {
		char c = i < length ? text[i] : '\0', previous = i > 0 ? text[i - 1] : '\0';
		bool is_end = c == '_' || c == '\0' ||
			      (!isupper((unsigned char)previous) && isupper((unsigned char)c));
		if (start != SIZE_MAX && is_end) {
			if (i - start >= 2 && swift->word_count < WORDS_MAX) {
				swift->words[swift->word_count].text = text + start;
				swift->words[swift->word_count++].length = i - start;
			}
			start = SIZE_MAX;
		}
		if (start == SIZE_MAX && c != '\0' && c != '_' && !isdigit((unsigned char)c))
			start = i;
	}
}

static void add_substituted_words(struct swift *swift, struct sn_text *text, bool *has_words)
{
	while (*has_words && isalpha((unsigned char)*swift->at)) {
		char c = *swift->at++;
		unsigned word = (unsigned)(islower((unsigned char)c) ? c - 'a' : c - 'A');
		*has_words = islower((unsigned char)c) != 0;
		if (word >= swift->word_count) {
			swift->failed = true;
			return;
		}
		sn_text_add(text, swift->words[word].text, swift->words[word].length);
	}
}

static struct node identifier(struct swift *swift)
{
	struct sn_text text = {0};
	bool has_words = eat(swift, '0');
	if (has_words && *swift->at == '0') /* punycode */
		return fail(swift);
	do {
		add_substituted_words(swift, &text, &has_words);
		if (swift->failed || eat(swift, '0'))
			break;
		int length = natural(swift);
		if (length <= 0 || (size_t)length > strlen(swift->at)) {
			swift->failed = true;
			break;
		}
		sn_text_add(&text, swift->at, (size_t)length);
		add_words(swift, swift->at, (size_t)length);
		swift->at += length;
	} while (has_words);
	char *taken = sn_text_take(&text);
	if (!taken || swift->failed) {
		free(taken);
		return fail(swift);
	}
	struct node node = make(NODE_IDENTIFIER, join(swift, taken, "", "", ""));
	free(taken);
	remember(swift, node);
	return node;
}

/* ---- substitutions ---- */

/* The standard library's types by letter; lower case first. */
static const char *standard_type(char c)
{
	static const char *const lower[26] = {"Array",
					      "Bool",
					      NULL,
					      "Double",
					      "Decodable",
					      "Float",
					      NULL,
					      "Set",
					      "Int",
					      "Numeric",
					      "RandomAccessCollection",
					      "Collection",
					      "RangeReplaceableCollection",
					      "Range",
					      NULL,
					      "UnsafeMutablePointer",
					      "Optional",
					      "UnsafeMutableBufferPointer",
					      "Substring",
					      "IteratorProtocol",
					      "UInt",
					      "UnsafeMutableRawPointer",
					      "UnsafeMutableRawBufferPointer",
					      "Strideable",
					      "StringProtocol",
					      "BinaryInteger"};
	static const char *const upper[26] = {"AutoreleasingUnsafeMutablePointer",
					      "BinaryFloatingPoint",
					      NULL,
					      "Dictionary",
					      "Encodable",
					      "FloatingPoint",
					      "RandomNumberGenerator",
					      "Hashable",
					      "DefaultIndices",
					      "Character",
					      "BidirectionalCollection",
					      "Comparable",
					      "MutableCollection",
					      "ClosedRange",
					      "ObjectIdentifier",
					      "UnsafePointer",
					      "Equatable",
					      "UnsafeBufferPointer",
					      "String",
					      "Sequence",
					      "UnsignedInteger",
					      "UnsafeRawPointer",
					      "UnsafeRawBufferPointer",
					      "RangeExpression",
					      "RawRepresentable",
					      "SignedInteger"};
	if (c >= 'a' && c <= 'z')
		return lower[c - 'a'];
	return c >= 'A' && c <= 'Z' ? upper[c - 'A'] : NULL;
}

static struct node optional_of(struct swift *swift)
{
	struct node type;
	if (!pop(swift, NODE_TYPE, &type))
		return fail(swift);
	struct node node = make(NODE_TYPE, join(swift, "Swift.Optional<", type.text, ">", ""));
	node.is_nominal = true;
	remember(swift, node);
	return node;
}

static struct node standard_substitution(struct swift *swift)
{
	if (eat(swift, 'o'))
		return make(NODE_CONTEXT, "__C");
	if (eat(swift, 'C'))
		return make(NODE_CONTEXT, "__C_Synthesized");
	if (eat(swift, 'g'))
		return optional_of(swift);
	int repeat = natural(swift);
	/* "Sc" begins the second table: the concurrency library's */
	bool is_second = eat(swift, 'c');
	char c = next(swift);
	const char *name = is_second ? NULL : standard_type(c);
	if (is_second && c == 'T')
		name = "Task";
	else if (is_second && c == 'A')
		name = "Actor";
	if (!name || repeat > STACK_MAX)
		return fail(swift);
	struct node node = make(NODE_TYPE, join(swift, "Swift.", name, "", ""));
	node.is_nominal = true;
	while (repeat-- > 1)
		push(swift, node);
	return node;
}

static struct node substitution(struct swift *swift)
{
	int repeat = -1;
	while (!swift->failed) {
		char c = next(swift);
		if (isalpha((unsigned char)c)) {
			unsigned index = (unsigned)(islower((unsigned char)c) ? c - 'a' : c - 'A');
			if (index >= swift->substitution_count || repeat > STACK_MAX)
				break;
			while (repeat-- > 1)
				push(swift, swift->substitutions[index]);
			if (isupper((unsigned char)c))
				return swift->substitutions[index];
			push(swift, swift->substitutions[index]);
			repeat = -1;
		} else if (c == '_') {
			unsigned index = (unsigned)(repeat + 27);
			if (index >= swift->substitution_count)
				break;
			return swift->substitutions[index];
		} else {
			swift->at--;
			repeat = natural(swift);
			if (repeat < 0)
				break;
		}
	}
	return fail(swift);
}

/* ---- names and contexts ---- */

static bool pop_name(struct swift *swift, struct node *name)
{
	return pop(swift, NODE_IDENTIFIER, name);
}

/* What an entity is in: a module, a type, a function. */
static bool pop_context(struct swift *swift, struct node *context)
{
	if (is_top(swift, NODE_TYPE) && !swift->stack[swift->depth - 1].is_nominal)
		return false;
	return pop(swift, NODE_CONTEXT, context) || pop(swift, NODE_TYPE, context) ||
	       pop(swift, NODE_IDENTIFIER, context);
}

static struct node entity(struct swift *swift, struct node context, const char *name,
			  const char *more)
{
	return make(NODE_CONTEXT, join(swift, context.text, ".", name, more));
}

static struct node nominal_type(struct swift *swift)
{
	struct node name, context;
	if (!pop_name(swift, &name) || !pop_context(swift, &context))
		return fail(swift);
	struct node node = make(NODE_TYPE, join(swift, context.text, ".", name.text, ""));
	node.is_nominal = true;
	remember(swift, node);
	return node;
}

/* The discriminator of a private or local declaration is not shown. */
static void local_identifier(struct swift *swift)
{
	struct node name, discriminator;
	if (eat(swift, 'L')) {
		if (!pop(swift, NODE_IDENTIFIER, &discriminator) || !pop_name(swift, &name))
			swift->failed = true;
	} else if (eat(swift, 'l')) {
		/* of a nameless declaration, such as an initialiser: nothing stays */
		if (!pop(swift, NODE_IDENTIFIER, NULL))
			swift->failed = true;
		return;
	} else {
		if (isalpha((unsigned char)*swift->at))
			swift->at++;
		else
			index_of(swift);
		if (!pop_name(swift, &name))
			swift->failed = true;
	}
	if (!swift->failed)
		push(swift, name);
}

static struct node operator_name(struct swift *swift)
{
	static const char characters[] = "& @/= >    <*!|+?%-~   ^ .";
	struct node name;
	char kind = next(swift), text[64];
	const char *fixity = kind == 'i' ? " infix" : kind == 'p' ? " prefix" : " postfix";
	size_t length;
	if (!strchr("ipP", kind) || !pop(swift, NODE_IDENTIFIER, &name))
		return fail(swift);
	for (length = 0; name.text[length] && length < sizeof(text) - 1; length++) {
		char c = name.text[length];
		text[length] = c >= 'a' && c <= 'z' ? characters[c - 'a'] : c;
	}
	text[length] = '\0';
	return make(NODE_IDENTIFIER, join(swift, text, fixity, "", ""));
}

/* ---- types ---- */

static struct node tuple(struct swift *swift)
{
	struct node node = make(NODE_TYPE, "(...)");
	if (pop(swift, NODE_EMPTY_LIST, NULL))
		return node;
	for (bool is_first = false; !is_first; node.count++) {
		is_first = pop(swift, NODE_FIRST, NULL);
		pop(swift, NODE_VARIADIC, NULL);
		pop(swift, NODE_IDENTIFIER, NULL); /* its label */
		if (!pop(swift, NODE_TYPE, NULL))
			return fail(swift);
	}
	return node;
}

/* Parameters or results: the number of them. */
static uint16_t pop_parameters(struct swift *swift)
{
	struct node type;
	if (pop(swift, NODE_EMPTY_LIST, NULL))
		return 0;
	if (!pop(swift, NODE_TYPE, &type)) {
		swift->failed = true;
		return 0;
	}
	return type.count > 0 ? type.count : 1;
}

static struct node function_type(struct swift *swift)
{
	struct node node = make(NODE_TYPE, "(...)");
	while (pop(swift, NODE_ANNOTATION, NULL))
		;
	node.is_function_type = true;
	node.count = pop_parameters(swift);
	pop_parameters(swift);
	return node;
}

static struct node bound_generic(struct swift *swift)
{
	struct node type, nominal;
	const char *arguments = "";
	do {
		while (pop(swift, NODE_TYPE, &type))
			arguments = join(swift, type.text, *arguments ? ", " : "", arguments, "");
		if (pop(swift, NODE_EMPTY_LIST, NULL))
			break;
	} while (pop(swift, NODE_FIRST, NULL) && !swift->failed);
	if (!pop(swift, NODE_TYPE, &nominal) || !nominal.is_nominal)
		return fail(swift);
	nominal.text = *arguments ? join(swift, nominal.text, "<", arguments, ">") : nominal.text;
	remember(swift, nominal);
	return nominal;
}

/* A, B, ...; A1 of an inner level. */
static struct node generic_parameter(struct swift *swift)
{
	char name[16] = "A";
	int depth = 0, index = 0;
	if (eat(swift, 'd')) {
		depth = index_of(swift) + 1;
		index = index_of(swift);
	} else if (!eat(swift, 'z')) {
		index = index_of(swift) + 1;
	}
	if (swift->failed || index > 25)
		return fail(swift);
	name[0] = (char)('A' + index);
	if (depth > 0)
		snprintf(name + 1, sizeof(name) - 1, "%d", depth);
	return make(NODE_TYPE, join(swift, name, "", "", ""));
}

/* A.Element and the like; the protocol that declares it is not shown. */
static struct node associated_type(struct swift *swift, struct node base)
{
	struct node name;
	pop(swift, NODE_TYPE, NULL);
	if (!pop(swift, NODE_IDENTIFIER, &name))
		return fail(swift);
	struct node node = make(NODE_TYPE, join(swift, base.text, ".", name.text, ""));
	remember(swift, node);
	return node;
}

static struct node archetype(struct swift *swift)
{
	static const struct node first = {.kind = NODE_TYPE, .text = "A"};
	switch (next(swift)) {
	case 'z':
		return associated_type(swift, first);
	case 'y':
		return associated_type(swift, generic_parameter(swift));
	case 'r':
		return make(NODE_TYPE, "some");
	case 'R':
		index_of(swift);
		return make(NODE_TYPE, "some");
	}
	return fail(swift);
}

static struct node protocol_list(struct swift *swift)
{
	struct node type;
	const char *text = "";
	if (pop(swift, NODE_EMPTY_LIST, NULL))
		return make(NODE_TYPE, "Any");
	for (bool is_first = false; !is_first && !swift->failed;) {
		struct node name, context;
		is_first = pop(swift, NODE_FIRST, NULL);
		if (!pop(swift, NODE_TYPE, &type)) {
			if (!pop_name(swift, &name) || !pop_context(swift, &context))
				return fail(swift);
			type.text = join(swift, context.text, ".", name.text, "");
		}
		text = join(swift, type.text, *text ? " & " : "", text, "");
	}
	return make(NODE_TYPE, text);
}

static struct node special_type(struct swift *swift)
{
	struct node type;
	switch (next(swift)) {
	case 'E': /* not escaping */
	case 'K': /* autoclosure */
	case 'A':
	case 'f':
	case 'U':
	case 'B':
	case 'C':
		return function_type(swift);
	case 'D':
	case 'o':
	case 'u':
	case 'w':
		return pop(swift, NODE_TYPE, &type) ? type : fail(swift);
	case 'p':
		return pop(swift, NODE_TYPE, &type) ? make(NODE_TYPE, "Any.Type") : fail(swift);
	case 'l':
		return protocol_list(swift);
	}
	return fail(swift);
}

static void annotation(struct swift *swift)
{
	switch (next(swift)) {
	case 'K': /* throws a type */
	case 'c': /* on a global actor */
		if (!pop(swift, NODE_TYPE, NULL))
			swift->failed = true;
		/* fall through */
	case 'a':
	case 'b':
	case 'A':
	case 'C':
	case 'T':
		push(swift, make(NODE_ANNOTATION, "async"));
		break;
	case 'i': /* isolated and sending parameters: the type stays */
	case 'u':
		break;
	default:
		swift->failed = true;
	}
}

static struct node builtin_type(struct swift *swift)
{
	char c = next(swift);
	if (c == 'i' || c == 'f') {
		natural(swift);
		return eat(swift, '_') ? make(NODE_TYPE, "Builtin.Int") : fail(swift);
	}
	return strchr("bBoOpwt", c) && c ? make(NODE_TYPE, "Builtin") : fail(swift);
}

/* ---- generic signatures ---- */

static void requirement(struct swift *swift)
{
	char c = next(swift);
	bool has_protocol = strchr("cCbBtTsSmMlL", c) == NULL;
	bool is_layout = c && strchr("mMlL", c);
	if (strchr("cCtTmMpP", c) && c) {
		struct node base = generic_parameter(swift);
		if (strchr("CTMP", c)) {
			fail(swift); /* chains of associated types */
			return;
		}
		associated_type(swift, base);
	} else if (strchr("BSLQ", c) && c) {
		if (!pop(swift, NODE_TYPE, NULL))
			swift->failed = true;
	} else {
		if (!(strchr("bsl", c) && c))
			swift->at--;
		generic_parameter(swift);
	}
	if (is_layout) {
		char layout = next(swift);
		if (strchr("em", layout) && layout)
			index_of(swift);
	} else if (has_protocol && !pop(swift, NODE_TYPE, NULL)) {
		struct node name, context;
		if (!pop_name(swift, &name) || !pop_context(swift, &context))
			swift->failed = true;
	} else if (!has_protocol && !pop(swift, NODE_TYPE, NULL)) {
		swift->failed = true;
	}
	push(swift, make(NODE_REQUIREMENT, ""));
}

static struct node generic_signature(struct swift *swift, bool has_counts)
{
	while (has_counts && !eat(swift, 'l') && !swift->failed)
		if (!eat(swift, 'z'))
			index_of(swift);
	while (pop(swift, NODE_REQUIREMENT, NULL))
		;
	return make(NODE_SIGNATURE, "");
}

/* ---- functions ---- */

/* "(a:_:)" of a function with that many parameters, from the labels below its type. */
static const char *labels(struct swift *swift, const struct node *type)
{
	const char *text = ":)";
	if (swift->is_old)
		return "";
	if (pop(swift, NODE_EMPTY_LIST, NULL)) {
		text = "";
		for (unsigned i = 0; i < type->count && i < 64; i++)
			text = join(swift, "_:", text, "", "");
		return join(swift, "(", text, ")", "");
	}
	if (type->count == 0)
		return "()";
	for (unsigned i = 0; i < type->count; i++) {
		struct node label = make(NODE_FIRST, "_");
		if (!pop(swift, NODE_FIRST, NULL) && !pop(swift, NODE_IDENTIFIER, &label)) {
			swift->failed = true;
			return "";
		}
		text = join(swift, label.text, i > 0 ? ":" : "", text, "");
	}
	return join(swift, "(", text, "", "");
}

static struct node plain_function(struct swift *swift)
{
	struct node name, context;
	pop(swift, NODE_SIGNATURE, NULL);
	struct node type = function_type(swift);
	const char *shown = labels(swift, &type);
	if (swift->failed || !pop_name(swift, &name) || !pop_context(swift, &context))
		return fail(swift);
	return entity(swift, context, name.text, shown);
}

static struct node initializer(struct swift *swift, const char *name)
{
	struct node type, context;
	if (!pop(swift, NODE_TYPE, &type))
		return fail(swift);
	const char *shown = labels(swift, &type);
	if (swift->failed || !pop_context(swift, &context))
		return fail(swift);
	return entity(swift, context, name, shown);
}

static struct node closure(struct swift *swift, const char *name)
{
	struct node context;
	char number[16];
	int index = index_of(swift);
	if (!pop(swift, NODE_TYPE, NULL) || !pop_context(swift, &context))
		return fail(swift);
	snprintf(number, sizeof(number), "#%d}", index + 1);
	return entity(swift, context, name, number);
}

static struct node special_function(struct swift *swift)
{
	struct node context;
	switch (next(swift)) {
	case 'C':
	case 'c':
		return initializer(swift, "init");
	case 'U':
		return closure(swift, "{closure");
	case 'u':
		return closure(swift, "{implicit closure");
	case 'D':
	case 'd':
		return pop_context(swift, &context) ? entity(swift, context, "deinit", "")
						    : fail(swift);
	case 'Z':
	case 'E':
	case 'e':
		return pop_context(swift, &context) ? entity(swift, context, "deinit", "")
						    : fail(swift);
	case 'i':
	case 'P':
	case 'W':
		return pop_context(swift, &context) ? entity(swift, context, "{initializer}", "")
						    : fail(swift);
	case 'A':
		index_of(swift);
		return pop_context(swift, &context)
			   ? entity(swift, context, "{default argument}", "")
			   : fail(swift);
	}
	return fail(swift);
}

static struct node accessor(struct swift *swift, struct node variable)
{
	static const struct {
		char letter;
		const char *name;
	} accessors[] = {{'g', ".getter"},	{'s', ".setter"}, {'M', ".modify"}, {'r', ".read"},
			 {'w', ".willset"},	{'W', ".didset"}, {'G', ".getter"}, {'i', ".init"},
			 {'m', ".materialize"}, {'x', ".modify"}, {'y', ".read"},   {'p', ""}};
	char c = next(swift);
	if (c == 'a' || c == 'l') {
		next(swift);
		return make(NODE_CONTEXT, join(swift, variable.text, ".addressor", "", ""));
	}
	for (size_t i = 0; i < sizeof(accessors) / sizeof(accessors[0]); i++)
		if (accessors[i].letter == c)
			return make(NODE_CONTEXT,
				    join(swift, variable.text, accessors[i].name, "", ""));
	return fail(swift);
}

static struct node variable(struct swift *swift)
{
	struct node type, name, context;
	if (!pop(swift, NODE_TYPE, &type))
		return fail(swift);
	if (type.is_function_type)
		labels(swift, &type);
	if (!pop_name(swift, &name) || !pop_context(swift, &context))
		return fail(swift);
	return accessor(swift, entity(swift, context, name.text, ""));
}

static struct node subscript(struct swift *swift)
{
	struct node type, context;
	if (!pop(swift, NODE_TYPE, &type))
		return fail(swift);
	const char *shown = labels(swift, &type);
	if (swift->failed || !pop_context(swift, &context))
		return fail(swift);
	return accessor(swift, entity(swift, context, "subscript", shown));
}

static struct node extension(struct swift *swift)
{
	struct node module, type;
	pop(swift, NODE_SIGNATURE, NULL);
	if (!pop(swift, NODE_CONTEXT, &module) && !pop(swift, NODE_IDENTIFIER, &module))
		return fail(swift);
	return pop(swift, NODE_TYPE, &type) && type.is_nominal ? type : fail(swift);
}

/* ---- thunks and metadata: what is said of a whole symbol ---- */

static struct node prefixed(struct swift *swift, const char *prefix)
{
	struct node of;
	if (!pop_context(swift, &of))
		return fail(swift);
	return make(NODE_CONTEXT, join(swift, prefix, of.text, "", ""));
}

static struct node specialization(struct swift *swift)
{
	while (pop(swift, NODE_FIRST, NULL) || pop(swift, NODE_TYPE, NULL) ||
	       pop(swift, NODE_EMPTY_LIST, NULL) || pop(swift, NODE_SIGNATURE, NULL))
		;
	eat(swift, 'q');
	if (!isdigit((unsigned char)next(swift)))
		return fail(swift);
	struct node of;
	return pop(swift, NODE_CONTEXT, &of) ? of : fail(swift);
}

static struct node signature_specialization(struct swift *swift)
{
	struct node of;
	eat(swift, 'q');
	if (!isdigit((unsigned char)next(swift)) || !pop(swift, NODE_CONTEXT, &of))
		return fail(swift);
	/* one letter or two for each argument, then the result's */
	while (isalpha((unsigned char)*swift->at))
		swift->at++;
	if (!eat(swift, '_') || !isalpha((unsigned char)next(swift)))
		return fail(swift);
	return of;
}

static struct node witness(struct swift *swift)
{
	struct node of;
	if (!pop(swift, NODE_CONTEXT, &of))
		return fail(swift);
	/* the conformance lies below: what is not shown */
	swift->depth = 0;
	return make(NODE_CONTEXT, join(swift, "protocol witness for ", of.text, "", ""));
}

static struct node thunk(struct swift *swift)
{
	struct node of;
	char c = next(swift);
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
		index_of(swift);
		/* fall through */
	case 'o':
	case 'O':
	case 'm':
	case 'j':
	case 'q':
	case 'u':
	case 'D':
		return pop(swift, NODE_CONTEXT, &of) ? of : fail(swift);
	}
	return fail(swift);
}

static struct node metadata(struct swift *swift)
{
	switch (next(swift)) {
	case 'a':
		return prefixed(swift, "type metadata accessor for ");
	case 'r':
		return prefixed(swift, "type metadata completion function for ");
	case 'i':
		return prefixed(swift, "type metadata instantiation function for ");
	}
	return fail(swift);
}

static struct node witness_table(struct swift *swift)
{
	static const struct {
		char letter;
		const char *prefix;
	} outlined[] = {{'y', "outlined copy of "},   {'e', "outlined consume of "},
			{'r', "outlined retain of "}, {'s', "outlined release of "},
			{'b', "outlined init of "},   {'c', "outlined init of "},
			{'d', "outlined assign of "}, {'f', "outlined assign of "},
			{'h', "outlined destroy of "}};
	if (!eat(swift, 'O'))
		return fail(swift);
	char c = next(swift);
	pop(swift, NODE_SIGNATURE, NULL);
	for (size_t i = 0; i < sizeof(outlined) / sizeof(outlined[0]); i++)
		if (outlined[i].letter == c)
			return prefixed(swift, outlined[i].prefix);
	return fail(swift);
}

/* ---- operators ---- */

static struct node type_in_place(struct swift *swift, const char *suffix)
{
	struct node type;
	if (!pop(swift, NODE_TYPE, &type))
		return fail(swift);
	return *suffix ? make(NODE_TYPE, join(swift, type.text, suffix, "", "")) : type;
}

/* What a letter makes of the stack's top; the letter is consumed. */
static struct node run_operator(struct swift *swift, char c)
{
	struct node node;
	switch (c) {
	case 'A':
		return substitution(swift);
	case 'B':
		return builtin_type(swift);
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
		return bound_generic(swift);
	case 'M':
		return metadata(swift);
	case 'Q':
		return archetype(swift);
	case 'S':
		return standard_substitution(swift);
	case 'T':
		return thunk(swift);
	case 'W':
		return witness_table(swift);
	case 'X':
		return special_type(swift);
	case 'Z': /* static */
		return pop(swift, NODE_CONTEXT, &node) ? node : fail(swift);
	case 'c':
		return function_type(swift);
	case 'f':
		return special_function(swift);
	case 'i':
		return subscript(swift);
	case 'l':
	case 'r':
		return generic_signature(swift, c == 'r');
	case 'm':
		return type_in_place(swift, ".Type");
	case 'h':
	case 'n':
	case 'z': /* how a parameter is passed */
		return type_in_place(swift, "");
	case 'o':
		return operator_name(swift);
	case 'p':
		return protocol_list(swift);
	case 'q':
		return generic_parameter(swift);
	case 's':
		return make(NODE_CONTEXT, "Swift");
	case 't':
		return tuple(swift);
	case 'u':
		return pop(swift, NODE_SIGNATURE, NULL) ? type_in_place(swift, "") : fail(swift);
	case 'v':
		return variable(swift);
	case 'x':
		return make(NODE_TYPE, "A");
	}
	return fail(swift);
}

static void run_one(struct swift *swift)
{
	struct node node;
	if (isdigit((unsigned char)*swift->at)) {
		node = identifier(swift);
		push(swift, node);
		return;
	}
	char c = next(swift);
	switch (c) {
	case 'L':
		local_identifier(swift);
		return;
	case 'R':
		requirement(swift);
		return;
	case 'Y':
		annotation(swift);
		return;
	case 'K':
		push(swift, make(NODE_ANNOTATION, "throws"));
		return;
	case 'd':
		push(swift, make(NODE_VARIADIC, "..."));
		return;
	case 'y':
		push(swift, make(NODE_EMPTY_LIST, ""));
		return;
	case '_':
		push(swift, make(NODE_FIRST, ""));
		return;
	}
	node = run_operator(swift, c);
	push(swift, node);
}

static char *demangle_own(const char *mangling, bool is_old)
{
	char *name = NULL;
	struct swift *swift = calloc(1, sizeof(*swift));
	if (!swift)
		return NULL;
	swift->at = mangling;
	swift->is_old = is_old;
	/* a suffix such as .resume.0 belongs to the object file */
	while (*swift->at && *swift->at != '.' && !swift->failed)
		run_one(swift);
	if (!swift->failed && swift->depth == 1 && swift->stack[0].kind == NODE_CONTEXT &&
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
