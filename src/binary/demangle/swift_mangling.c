/* SPDX-License-Identifier: Apache-2.0 */
#include "swift_mangling.h"

#include "demangle.h"
#include "binary/text.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>

static const struct sn_swift_node no_node;

struct sn_swift_node sn_swift_fail(struct sn_swift *swift)
{
	swift->failed = true;
	return no_node;
}

/* Text made of up to four pieces, in the arena. */
const char *sn_swift_join(struct sn_swift *swift, const char *a, const char *b, const char *c,
			  const char *d)
{
	char *text = swift->arena + swift->arena_used;
	size_t room = SN_SWIFT_ARENA_BYTES - swift->arena_used;
	int length = snprintf(text, room, "%s%s%s%s", a, b, c, d);
	if (length < 0 || (size_t)length + 1 > room) {
		swift->failed = true;
		return "";
	}
	swift->arena_used += (size_t)length + 1;
	return text;
}

struct sn_swift_node sn_swift_make(enum sn_swift_kind kind, const char *text)
{
	return (struct sn_swift_node){.kind = kind, .text = text};
}

void sn_swift_push(struct sn_swift *swift, struct sn_swift_node node)
{
	if (swift->depth == SN_SWIFT_STACK_MAX || swift->steps++ > SN_SWIFT_STEPS_MAX)
		swift->failed = true;
	else
		swift->stack[swift->depth++] = node;
}

static bool is_top(const struct sn_swift *swift, enum sn_swift_kind kind)
{
	return swift->depth > 0 && swift->stack[swift->depth - 1].kind == kind;
}

bool sn_swift_pop(struct sn_swift *swift, enum sn_swift_kind kind, struct sn_swift_node *node)
{
	if (!is_top(swift, kind))
		return false;
	swift->depth--;
	if (node)
		*node = swift->stack[swift->depth];
	return true;
}

void sn_swift_remember(struct sn_swift *swift, struct sn_swift_node node)
{
	if (swift->substitution_count == SN_SWIFT_SUBSTITUTIONS_MAX)
		swift->failed = true;
	else
		swift->substitutions[swift->substitution_count++] = node;
}

bool sn_swift_eat(struct sn_swift *swift, char c)
{
	if (*swift->at != c)
		return false;
	swift->at++;
	return true;
}

char sn_swift_next(struct sn_swift *swift)
{
	if (*swift->at == '\0') {
		swift->failed = true;
		return '\0';
	}
	return *swift->at++;
}

/* A decimal number, or -1. */
int sn_swift_natural(struct sn_swift *swift)
{
	int value = 0;
	if (!isdigit((unsigned char)*swift->at))
		return -1;
	while (isdigit((unsigned char)*swift->at) && value < (int)SN_DEMANGLE_SYMBOL_MAX)
		value = value * 10 + (*swift->at++ - '0');
	return value;
}

/* "_" is 0, "0_" is 1, ... */
int sn_swift_index_of(struct sn_swift *swift)
{
	if (sn_swift_eat(swift, '_'))
		return 0;
	int value = sn_swift_natural(swift);
	if (value < 0 || !sn_swift_eat(swift, '_'))
		swift->failed = true;
	return value + 1;
}

/* ---- identifiers ---- */

/* Words of an identifier can be referred to by later ones. */
static void add_words(struct sn_swift *swift, const char *text, size_t length)
{
	size_t start = SIZE_MAX;
	for (size_t i = 0; i <= length; i++) {
		char c = i < length ? text[i] : '\0', previous = i > 0 ? text[i - 1] : '\0';
		bool is_end = c == '_' || c == '\0' ||
			      (!isupper((unsigned char)previous) && isupper((unsigned char)c));
		if (start != SIZE_MAX && is_end) {
			if (i - start >= 2 && swift->word_count < SN_SWIFT_WORDS_MAX) {
				swift->words[swift->word_count].text = text + start;
				swift->words[swift->word_count++].length = i - start;
			}
			start = SIZE_MAX;
		}
		if (start == SIZE_MAX && c != '\0' && c != '_' && !isdigit((unsigned char)c))
			start = i;
	}
}

static void add_substituted_words(struct sn_swift *swift, struct sn_text *text, bool *has_words)
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

struct sn_swift_node sn_swift_identifier(struct sn_swift *swift)
{
	struct sn_text text = {0};
	bool has_words = sn_swift_eat(swift, '0');
	if (has_words && *swift->at == '0') /* punycode */
		return sn_swift_fail(swift);
	do {
		add_substituted_words(swift, &text, &has_words);
		if (swift->failed || sn_swift_eat(swift, '0'))
			break;
		int length = sn_swift_natural(swift);
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
		return sn_swift_fail(swift);
	}
	struct sn_swift_node node =
	    sn_swift_make(SN_SWIFT_IDENTIFIER, sn_swift_join(swift, taken, "", "", ""));
	free(taken);
	sn_swift_remember(swift, node);
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

static struct sn_swift_node optional_of(struct sn_swift *swift)
{
	struct sn_swift_node type;
	if (!sn_swift_pop(swift, SN_SWIFT_TYPE, &type))
		return sn_swift_fail(swift);
	struct sn_swift_node node = sn_swift_make(
	    SN_SWIFT_TYPE, sn_swift_join(swift, "Swift.Optional<", type.text, ">", ""));
	node.is_nominal = true;
	sn_swift_remember(swift, node);
	return node;
}

struct sn_swift_node sn_swift_standard_substitution(struct sn_swift *swift)
{
	if (sn_swift_eat(swift, 'o'))
		return sn_swift_make(SN_SWIFT_CONTEXT, "__C");
	if (sn_swift_eat(swift, 'C'))
		return sn_swift_make(SN_SWIFT_CONTEXT, "__C_Synthesized");
	if (sn_swift_eat(swift, 'g'))
		return optional_of(swift);
	int repeat = sn_swift_natural(swift);
	/* "Sc" begins the second table: the concurrency library's */
	bool is_second = sn_swift_eat(swift, 'c');
	char c = sn_swift_next(swift);
	const char *name = is_second ? NULL : standard_type(c);
	if (is_second && c == 'T')
		name = "Task";
	else if (is_second && c == 'A')
		name = "Actor";
	if (!name || repeat > SN_SWIFT_STACK_MAX)
		return sn_swift_fail(swift);
	struct sn_swift_node node =
	    sn_swift_make(SN_SWIFT_TYPE, sn_swift_join(swift, "Swift.", name, "", ""));
	node.is_nominal = true;
	while (repeat-- > 1)
		sn_swift_push(swift, node);
	return node;
}

struct sn_swift_node sn_swift_substitution(struct sn_swift *swift)
{
	int repeat = -1;
	while (!swift->failed) {
		char c = sn_swift_next(swift);
		if (isalpha((unsigned char)c)) {
			unsigned index = (unsigned)(islower((unsigned char)c) ? c - 'a' : c - 'A');
			if (index >= swift->substitution_count || repeat > SN_SWIFT_STACK_MAX)
				break;
			while (repeat-- > 1)
				sn_swift_push(swift, swift->substitutions[index]);
			if (isupper((unsigned char)c))
				return swift->substitutions[index];
			sn_swift_push(swift, swift->substitutions[index]);
			repeat = -1;
		} else if (c == '_') {
			unsigned index = (unsigned)(repeat + 27);
			if (index >= swift->substitution_count)
				break;
			return swift->substitutions[index];
		} else {
			swift->at--;
			repeat = sn_swift_natural(swift);
			if (repeat < 0)
				break;
		}
	}
	return sn_swift_fail(swift);
}

/* ---- names and contexts ---- */

bool sn_swift_pop_name(struct sn_swift *swift, struct sn_swift_node *name)
{
	return sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, name);
}

/* What an entity is in: a module, a type, a function. */
bool sn_swift_pop_context(struct sn_swift *swift, struct sn_swift_node *context)
{
	if (is_top(swift, SN_SWIFT_TYPE) && !swift->stack[swift->depth - 1].is_nominal)
		return false;
	return sn_swift_pop(swift, SN_SWIFT_CONTEXT, context) ||
	       sn_swift_pop(swift, SN_SWIFT_TYPE, context) ||
	       sn_swift_pop(swift, SN_SWIFT_IDENTIFIER, context);
}
