/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the scheme of a symbol, and cuts full names down for people; see demangle.h. */
#include "demangle.h"
#include "base/buffer.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>

/* A template argument list is shown up to this length, longer ones as <...>. */
#define ARGUMENTS_SHOWN_MAX 40
#define NESTING_MAX	    256

/* Of the C++ ABI; <cxxabi.h> declares it for C++ only. */
extern char *__cxa_demangle(const char *symbol, char *out, size_t *length, int *status);

static char *demangle_cplus(const char *symbol)
{
	int status;
	if (!sn_text_begins(symbol, "_Z") || strlen(symbol) > SN_DEMANGLE_SYMBOL_MAX)
		return NULL;
	return __cxa_demangle(symbol, NULL, NULL, &status);
}

/* What compilers append to the symbol of a part or a clone of a function. */
static size_t length_without_suffixes(const char *symbol)
{
	static const char *const suffixes[] = {"cold",	   "part",	 "constprop", "isra",
					       "lto_priv", "localalias", "llvm",      "warm",
					       "hot",	   "ifunc"};
	size_t length = strlen(symbol);
	const char *version = strchr(symbol, '@');
	if (version && version != symbol)
		length = (size_t)(version - symbol);
	for (;;) {
		size_t end = length;
		/* ".0.5" */
		while (end > 2 && isxdigit((unsigned char)symbol[end - 1])) {
			size_t digits = end;
			while (digits > 1 && isxdigit((unsigned char)symbol[digits - 1]))
				digits--;
			if (symbol[digits - 1] != '.')
				break;
			end = digits - 1;
		}
		size_t word = end;
		while (word > 1 &&
		       (isalpha((unsigned char)symbol[word - 1]) || symbol[word - 1] == '_'))
			word--;
		if (word < 2 || symbol[word - 1] != '.')
			return length;
		bool is_known = false;
		for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
			is_known |= strlen(suffixes[i]) == end - word &&
				    strncmp(symbol + word, suffixes[i], end - word) == 0;
		if (!is_known)
			return length;
		length = word - 1;
	}
}

char *sn_demangle(const char *symbol)
{
	char *name = sn_demangle_rust(symbol);
	if (!name)
		name = demangle_cplus(symbol);
	if (!name)
		name = sn_demangle_swift(symbol);
	return name;
}

/* Default arguments of the standard library say nothing. */
static bool is_default_argument(const char *text, size_t length)
{
	static const char *const defaults[] = {"std::allocator<", "std::char_traits<",
					       "std::less<",	  "std::equal_to<",
					       "std::hash<",	  "std::default_delete<"};
	while (length > 0 && *text == ' ') {
		text++;
		length--;
	}
	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (length > strlen(defaults[i]) &&
		    strncmp(text, defaults[i], strlen(defaults[i])) == 0)
			return true;
	return false;
}

static char closing(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

/* "operator<" and its like: the length of the operator's own characters after the word. */
static size_t operator_symbol_bytes(const char *at)
{
	static const char *const symbols[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "<<",
					      ">>",  "<=",  ">=",  "->",  "<",	">"};
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (strncmp(at, symbols[i], strlen(symbols[i])) == 0)
			return strlen(symbols[i]);
	return 0;
}

static bool is_word_at(const char *start, const char *at, const char *word)
{
	size_t length = strlen(word);
	unsigned char before = at > start ? (unsigned char)at[-1] : ' ';
	return strncmp(at, word, length) == 0 && !isalnum(before) && before != '_' &&
	       !isalnum((unsigned char)at[length]) && at[length] != '_';
}

/*
 * The end of the group that opens at `at`: one past its closing bracket, or NULL. Knows that "->"
 * and operator> close nothing, and that inside parentheses < and > may compare.
 */
static const char *group_end(const char *start, const char *at)
{
	char stack[NESTING_MAX];
	unsigned depth = 0;
	for (; *at; at++) {
		switch (*at) {
		case 'o':
			if (is_word_at(start, at, "operator")) {
				at += 8;
				at += operator_symbol_bytes(at);
				at--;
			}
			break;
		case '-':
			at += at[1] == '>';
			break;
		case '(':
		case '[':
		case '{':
		case '<':
			if (depth == NESTING_MAX)
				return NULL;
			stack[depth++] = closing(*at);
			break;
		case ')':
		case ']':
		case '}':
		case '>':
			/* a '<' that compared is still open when its parenthesis closes */
			while (*at != '>' && depth > 0 && stack[depth - 1] == '>')
				depth--;
			if (depth == 0 || (stack[depth - 1] != *at && *at != '>'))
				return NULL;
			if (stack[depth - 1] == *at && --depth == 0)
				return at + 1;
			break;
		}
	}
	return NULL;
}

static void shorten_into(struct sn_buffer *out, const char *start, const char *end, bool is_type,
			 unsigned depth);

/* Copies <...>, shortened, dropping default arguments; as <...> where it is still long. */
static void add_arguments(struct sn_buffer *out, const char *open, const char *end, unsigned depth)
{
	size_t mark = out->count;
	const char *at = open + 1, *last = end - 1;
	bool is_first = true;
	sn_buffer_byte(out, '<');
	while (at < last) {
		const char *stop = at;
		while (stop < last && *stop != ',') {
			const char *inner = NULL;
			if (*stop == '-' && stop[1] == '>')
				inner = stop + 2;
			else if (strchr("([{<", *stop))
				inner = group_end(open, stop);
			stop = inner && inner <= last ? inner : stop + 1;
		}
		while (at < stop && *at == ' ')
			at++;
		if (!is_default_argument(at, (size_t)(stop - at))) {
			if (!is_first)
				sn_buffer_text(out, ", ");
			shorten_into(out, at, stop, true, depth + 1);
			is_first = false;
		}
		at = stop + 1;
	}
	while (out->count > mark + 1 && out->bytes[out->count - 1] == ' ')
		sn_buffer_cut(out, out->count - 1);
	sn_buffer_byte(out, '>');
	if (!out->failed && out->count - mark > ARGUMENTS_SHOWN_MAX) {
		sn_buffer_cut(out, mark);
		sn_buffer_text(out, "<...>");
	}
}

/* After a parameter list: " const", " &", "[abi:...]". */
static const char *skip_qualifiers(const char *at, const char *end)
{
	static const char *const words[] = {" const",	 " volatile", " restrict",
					    " noexcept", " &&",	      " &"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);
		if ((size_t)(end - at) >= length && strncmp(at, words[i], length) == 0) {
			at += length;
			i = (size_t)-1;
		}
	}
	return at;
}

/* "operator" and what belongs to it: a symbol, new, delete, a literal, a type. */
static const char *add_operator(struct sn_buffer *out, const char *at, const char *end,
				unsigned depth)
{
	sn_buffer_text(out, "operator");
	at += 8;
	size_t bytes = operator_symbol_bytes(at);
	if (bytes == 0 && *at == ' ') {
		/* a conversion or new or delete: up to the parameter list */
		const char *stop = at + 1;
		while (stop < end && *stop != '(') {
			const char *inner = *stop == '<' ? group_end(at, stop) : NULL;
			stop = inner && inner <= end ? inner : stop + 1;
		}
		sn_buffer_byte(out, ' ');
		shorten_into(out, at + 1, stop, true, depth + 1);
		return stop;
	}
	while (bytes == 0 && at < end && ispunct((unsigned char)*at) && *at != '(' && *at != '<') {
		sn_buffer_byte(out, *at);
		at++;
	}
	sn_buffer_put(out, at, bytes);
	at += bytes;
	return at + 1 < end && at[0] == ' ' && at[1] == '<' ? at + 1 : at;
}

/* "{lambda(int)#1}" as "{lambda#1}"; the like with 'lambda'. */
static void add_braces(struct sn_buffer *out, const char *at, const char *end)
{
	while (at < end) {
		const char *inner = *at == '(' ? group_end(at, at) : NULL;
		if (inner && inner <= end) {
			at = inner;
			continue;
		}
		sn_buffer_byte(out, *at++);
	}
}

/*
 * Copies [start, end) shortened. A name (not is_type) loses what precedes its last space outside
 * brackets (the return type) and its parameter lists; a type keeps both.
 */
static void shorten_into(struct sn_buffer *out, const char *start, const char *end, bool is_type,
			 unsigned depth)
{
	size_t mark = out->count;
	if (depth > 64) {
		sn_buffer_text(out, "...");
		return;
	}
	for (const char *at = start; at < end;) {
		/* most characters begin nothing */
		if ((isalnum((unsigned char)*at) && *at != 'o' && *at != 's') || *at == '_' ||
		    *at == ':') {
			sn_buffer_byte(out, *at++);
			continue;
		}
		const char *inner = strchr("([{<", *at) ? group_end(start, at) : NULL;
		if (inner && inner > end)
			inner = NULL;
		if (*at == 'o' && is_word_at(start, at, "operator")) {
			at = add_operator(out, at, end, depth);
		} else if (strncmp(at, "std::__cxx11::", 14) == 0) {
			sn_buffer_text(out, "std::");
			at += 14;
		} else if (strncmp(at, "(anonymous namespace)", 21) == 0) {
			sn_buffer_put(out, at, 21);
			at += 21;
		} else if (*at == '<' && inner) {
			if (at == start || at[-1] == ' ' ||
			    at[-1] == ':') /* Rust: <T as Trait>::f */
				shorten_into(out, at, at + 1, true, depth + 1),
				    shorten_into(out, at + 1, inner, true, depth + 1);
			else
				add_arguments(out, at, inner, depth);
			at = inner;
		} else if (*at == '{' && inner) {
			add_braces(out, at, inner);
			at = inner;
		} else if (*at == '[' && inner && (strncmp(at, "[abi:", 5) == 0)) {
			at = inner;
		} else if (*at == '(' && inner && !is_type && (at[1] == '*' || at[1] == '&')) {
			/* void (*name(int))(char): the name of what returns a function */
			sn_buffer_cut(out, mark);
			shorten_into(out, at + 2, inner - 1, false, depth + 1);
			return;
		} else if (*at == '(' && inner && !is_type) {
			bool is_decltype = at - start >= 8 && strncmp(at - 8, "decltype", 8) == 0;
			is_decltype |= at - start >= 9 && strncmp(at - 9, "decltype ", 9) == 0;
			at = is_decltype ? inner : skip_qualifiers(inner, end);
		} else if (*at == ' ' && !is_type) {
			if (strncmp(at, " [clone", 7) == 0)
				return;
			sn_buffer_cut(out, mark);
			at++;
		} else {
			sn_buffer_byte(out, *at++);
		}
	}
}

/* "vtable for X" and the like are said of X. */
static const char *skip_special_prefix(const char *name)
{
	static const char *const prefixes[] = {"vtable for ",
					       "VTT for ",
					       "typeinfo for ",
					       "typeinfo name for ",
					       "guard variable for ",
					       "non-virtual thunk to ",
					       "virtual thunk to ",
					       "covariant return thunk to ",
					       "reference temporary #0 for ",
					       "TLS init function for ",
					       "TLS wrapper function for "};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return name + strlen(prefixes[i]);
	return name;
}

char *sn_demangle_shorten(const char *name)
{
	struct sn_buffer out = {0};
	const char *body = skip_special_prefix(name);
	sn_buffer_put(&out, name, (size_t)(body - name));
	size_t mark = out.count;
	shorten_into(&out, body, body + strlen(body), false, 0);
	/* a shape not understood: better too long than wrong */
	if (!out.failed && out.count == mark)
		sn_buffer_text(&out, body);
	return sn_buffer_detach(&out);
}

/*
 * The scopes that a symbol begins with, up to the first template arguments: for symbols that the
 * C++ library refuses because of their length (beyond about 1,000 characters). NULL if there are
 * none.
 */
static char *outline(const char *symbol)
{
	struct sn_buffer out = {0};
	const char *at = symbol + 2;
	if (!sn_text_begins(symbol, "_Z") || strlen(symbol) < 512)
		return NULL;
	at += *at == 'N';
	at += strspn(at, "rVKRO");
	if (strncmp(at, "St", 2) == 0) {
		sn_buffer_text(&out, "std");
		at += 2;
	}
	while (isdigit((unsigned char)*at)) {
		char *name;
		unsigned long length = strtoul(at, &name, 10);
		if (length == 0 || length > strlen(name))
			break;
		if (out.count > 0)
			sn_buffer_text(&out, "::");
		if (strncmp(name, "_GLOBAL__N_1", length) == 0)
			sn_buffer_text(&out, "(anonymous namespace)");
		else
			sn_buffer_put(&out, name, length);
		at = name + length;
	}
	if (out.count > 0 && *at != 'E' && *at != '\0')
		sn_buffer_text(&out, "<...>");
	out.failed |= !out.count;
	return sn_buffer_detach(&out);
}

char *sn_demangle_short(const char *symbol)
{
	size_t length = length_without_suffixes(symbol);
	char *plain = strndup(symbol, length);
	if (!plain)
		return NULL;
	char *name = sn_demangle_swift(plain);
	if (!name) {
		char *full = sn_demangle(plain);
		name = full ? sn_demangle_shorten(full) : outline(plain);
		free(full);
	}
	if (!name)
		return plain;
	free(plain);
	return name;
}
