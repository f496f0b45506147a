/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rust symbols. The legacy scheme is C++'s nested name with a hash as its last part and escapes in
 * the others; the v0 scheme (RFC 2603) has a grammar of its own with back references.
 *
 * Hashes and disambiguators are not shown.
 */
#include "demangle.h"
#include "base/buffer.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- legacy: _ZN 4core 3fmt 5Write 17h0123456789abcdefE ---- */

static bool is_hash(const char *part, size_t length)
{
	if (length != 17 || part[0] != 'h')
		return false;
	for (size_t i = 1; i < length; i++)
		if (!isdigit((unsigned char)part[i]) && !(part[i] >= 'a' && part[i] <= 'f'))
			return false;
	return true;
}

static void add_utf8(struct sn_buffer *out, uint32_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	unsigned first = more ? 0xff00u >> (more + 1) & 0xff : 0; /* says how many follow */
	sn_buffer_byte(out, (unsigned char)(first | c >> 6 * more));
	while (more-- > 0)
		sn_buffer_byte(out, (unsigned char)(0x80 | (c >> 6 * more & 63)));
}

/* Of Unicode, and nothing that a terminal would obey. */
static bool is_shown(uint64_t c)
{
	return c >= 0x20 && (c < 0x7f || c > 0x9f) && (c < 0xd800 || c > 0xdfff) && c <= 0x10ffff;
}

static size_t add_legacy_escape(struct sn_buffer *out, const char *at, size_t length)
{
	static const struct {
		const char *code, *text;
	} escapes[] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
		       {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		size_t bytes = strlen(escapes[i].code);
		if (length >= bytes && strncmp(at, escapes[i].code, bytes) == 0) {
			sn_buffer_text(out, escapes[i].text);
			return bytes;
		}
	}
	unsigned value = 0;
	size_t digits = 0;
	if (length < 4 || at[1] != 'u')
		return 0;
	while (2 + digits < length && digits < 6 && isxdigit((unsigned char)at[2 + digits])) {
		char c = at[2 + digits++];
		value = value * 16 +
			(unsigned)(isdigit((unsigned char)c) ? c - '0' : (c | 32) - 'a' + 10);
	}
	if (digits == 0 || 2 + digits >= length || at[2 + digits] != '$' || !is_shown(value))
		return 0;
	add_utf8(out, value);
	return digits + 3;
}

static void add_legacy_part(struct sn_buffer *out, const char *part, size_t length)
{
	/* a leading underscore keeps an escape from beginning an identifier */
	size_t at = length >= 2 && part[0] == '_' && part[1] == '$' ? 1 : 0;
	while (at < length) {
		size_t taken = 0;
		if (part[at] == '$') {
			taken = add_legacy_escape(out, part + at, length - at);
		} else if (part[at] == '.' && at + 1 < length && part[at + 1] == '.') {
			sn_buffer_text(out, "::");
			taken = 2;
		}
		if (taken == 0)
			sn_buffer_byte(out, part[at]);
		at += taken ? taken : 1;
	}
}

static char *demangle_legacy(const char *symbol)
{
	struct sn_buffer out = {0};
	const char *at = symbol + 3;
	bool has_hash = false;
	while (isdigit((unsigned char)*at) && !has_hash) {
		char *rest;
		unsigned long length = strtoul(at, &rest, 10);
		if (length == 0 || length > strlen(rest)) {
			out.failed = true;
			break;
		}
		has_hash = rest[length] == 'E' && is_hash(rest, length);
		if (!has_hash) {
			if (out.count > 0)
				sn_buffer_text(&out, "::");
			add_legacy_part(&out, rest, length);
		}
		at = rest + length;
	}
	out.failed |= !has_hash || at[0] != 'E' || (at[1] != '\0' && at[1] != '.') || !out.count;
	return sn_buffer_detach(&out);
}

/* ---- v0 ---- */

#define V0_DEPTH_MAX 200
/* back references can make small symbols stand for huge ones */
#define V0_STEPS_MAX 100000
#define V0_BYTES_MAX (1u << 20)

struct v0 {
	const char *symbol; /* after "_R" */
	size_t length;
	size_t at;
	unsigned depth;
	unsigned steps;
	uint64_t lifetimes; /* bound by for<...> around here */
	bool failed;
	bool is_silent; /* parse, but do not print */
	struct sn_buffer out;
};

struct identifier {
	const char *text;
	size_t length;
	bool is_punycode;
	uint64_t disambiguator;
};

static void add_path(struct v0 *v0, bool in_value);
static void add_type(struct v0 *v0);
static void add_const(struct v0 *v0);

static void add(struct v0 *v0, const char *string)
{
	if (!v0->is_silent)
		sn_buffer_text(&v0->out, string);
}

static char peek(const struct v0 *v0)
{
	return v0->at < v0->length ? v0->symbol[v0->at] : '\0';
}

static bool eat(struct v0 *v0, char c)
{
	if (peek(v0) != c || c == '\0')
		return false;
	v0->at++;
	return true;
}

static char next(struct v0 *v0)
{
	char c = peek(v0);
	if (c == '\0')
		v0->failed = true;
	else
		v0->at++;
	return c;
}

static bool enter(struct v0 *v0)
{
	if (v0->failed || v0->out.count > V0_BYTES_MAX || v0->depth >= V0_DEPTH_MAX ||
	    v0->steps++ > V0_STEPS_MAX)
		v0->failed = true;
	else
		v0->depth++;
	return !v0->failed;
}

static uint64_t read_base62(struct v0 *v0)
{
	uint64_t value = 0;
	if (eat(v0, '_'))
		return 0;
	while (!v0->failed) {
		char c = next(v0);
		unsigned digit;
		if (c == '_')
			return value + 1;
		if (isdigit((unsigned char)c))
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'z')
			digit = (unsigned)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'Z')
			digit = (unsigned)(c - 'A') + 36;
		else
			break;
		if (value > (UINT64_MAX - 62) / 62)
			break;
		value = value * 62 + digit;
	}
	v0->failed = true;
	return 0;
}

static uint64_t read_optional(struct v0 *v0, char tag)
{
	return eat(v0, tag) ? read_base62(v0) + 1 : 0;
}

static struct identifier read_identifier(struct v0 *v0)
{
	struct identifier id = {.disambiguator = read_optional(v0, 's')};
	id.is_punycode = eat(v0, 'u');
	size_t length = 0;
	if (!isdigit((unsigned char)peek(v0)))
		v0->failed = true;
	if (eat(v0, '0')) {
		length = 0;
	} else {
		while (isdigit((unsigned char)peek(v0)) && length < SN_DEMANGLE_SYMBOL_MAX)
			length = length * 10 + (size_t)(next(v0) - '0');
	}
	eat(v0, '_');
	if (length > v0->length - v0->at) {
		v0->failed = true;
		return id;
	}
	id.text = v0->symbol + v0->at;
	id.length = length;
	v0->at += length;
	return id;
}

static uint32_t punycode_adapt(uint32_t delta, uint32_t count, bool is_first)
{
	uint32_t k = 0;
	delta = is_first ? delta / 700 : delta / 2;
	delta += delta / count;
	while (delta > 455) {
		delta /= 35;
		k += 36;
	}
	return k + 36 * delta / (delta + 38);
}

/* RFC 3492, with '_' for its '-'. False if it is not punycode or longer than names get. */
static bool punycode(const struct identifier *id, uint32_t *chars, uint32_t *count, uint32_t max)
{
	const char *basic_end = memrchr(id->text, '_', id->length);
	const char *at = basic_end ? basic_end + 1 : id->text, *end = id->text + id->length;
	uint32_t used = 0, code = 128, bias = 72, i = 0;
	for (const char *c = id->text; basic_end && c < basic_end && used < max; c++)
		chars[used++] = (unsigned char)*c;
	while (at < end) {
		uint32_t old = i, weight = 1;
		for (uint32_t k = 36;; k += 36) {
			if (at >= end)
				return false;
			char c = *at++;
			uint32_t digit;
			if (c >= 'a' && c <= 'z')
				digit = (uint32_t)(c - 'a');
			else if (isdigit((unsigned char)c))
				digit = (uint32_t)(c - '0') + 26;
			else
				return false;
			if (digit > (UINT32_MAX - i) / weight)
				return false;
			i += digit * weight;
			uint32_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
			if (digit < least)
				break;
			if (weight > UINT32_MAX / (36 - least))
				return false;
			weight *= 36 - least;
		}
		bias = punycode_adapt(i - old, used + 1, old == 0);
		code += i / (used + 1);
		i %= used + 1;
		if (used >= max || code > 0x10ffff)
			return false;
		memmove(chars + i + 1, chars + i, (used - i) * sizeof(*chars));
		chars[i++] = code;
		used++;
	}
	*count = used;
	return true;
}

static void add_identifier(struct v0 *v0, const struct identifier *id)
{
	uint32_t chars[256], count = 0;
	if (v0->is_silent || v0->failed)
		return;
	if (id->is_punycode && punycode(id, chars, &count, 256)) {
		for (uint32_t i = 0; i < count; i++)
			add_utf8(&v0->out, chars[i]);
	} else {
		sn_buffer_put(&v0->out, id->text, id->length);
	}
}

/* Runs `print` at an earlier place of the symbol, which must lie before the reference. */
static void back_reference(struct v0 *v0, void (*print)(struct v0 *))
{
	size_t here = v0->at - 1;
	uint64_t target = read_base62(v0);
	if (v0->failed || target >= here) {
		v0->failed = true;
		return;
	}
	if (v0->is_silent)
		return;
	size_t resume = v0->at;
	v0->at = (size_t)target;
	print(v0);
	v0->at = resume;
}

static void add_lifetime(struct v0 *v0, uint64_t index)
{
	char name[32] = "'_";
	if (index > 0 && index <= v0->lifetimes) {
		uint64_t depth = v0->lifetimes - index;
		if (depth < 26) {
			name[1] = (char)('a' + depth);
			name[2] = '\0';
		}
	}
	add(v0, name);
}

static void add_generic_argument(struct v0 *v0)
{
	if (eat(v0, 'L'))
		add_lifetime(v0, read_base62(v0));
	else if (eat(v0, 'K'))
		add_const(v0);
	else
		add_type(v0);
}

static void add_list(struct v0 *v0, void (*element)(struct v0 *), unsigned *count)
{
	for (*count = 0; !v0->failed && !eat(v0, 'E'); ++*count) {
		if (*count > 0)
			add(v0, ", ");
		element(v0);
	}
}

static void add_path_value(struct v0 *v0)
{
	add_path(v0, true);
}

static void add_path_type(struct v0 *v0)
{
	add_path(v0, false);
}

static void add_nested(struct v0 *v0, bool in_value)
{
	char space = next(v0);
	add_path(v0, in_value);
	struct identifier id = read_identifier(v0);
	if (isupper((unsigned char)space)) {
		add(v0, "::{");
		if (space == 'C')
			add(v0, "closure");
		else if (space == 'S')
			add(v0, "shim");
		else
			add(v0, (char[]){space, '\0'});
		if (id.length > 0) {
			add(v0, ":");
			add_identifier(v0, &id);
		}
		if (!v0->is_silent)
			sn_buffer_print(&v0->out, "#%llu}", (unsigned long long)id.disambiguator);
	} else if (id.length > 0) {
		add(v0, "::");
		add_identifier(v0, &id);
	}
}

/* The path of an impl itself names nothing. */
static void skip_impl_path(struct v0 *v0)
{
	bool was_silent = v0->is_silent;
	read_optional(v0, 's');
	v0->is_silent = true;
	add_path(v0, false);
	v0->is_silent = was_silent;
}

static void add_path(struct v0 *v0, bool in_value)
{
	unsigned count;
	if (!enter(v0))
		return;
	switch (next(v0)) {
	case 'C': {
		struct identifier id = read_identifier(v0);
		add_identifier(v0, &id);
		break;
	}
	case 'N':
		add_nested(v0, in_value);
		break;
	case 'M':
		skip_impl_path(v0);
		add(v0, "<");
		add_type(v0);
		add(v0, ">");
		break;
	case 'X':
		skip_impl_path(v0);
		/* fall through */
	case 'Y':
		add(v0, "<");
		add_type(v0);
		add(v0, " as ");
		add_path(v0, false);
		add(v0, ">");
		break;
	case 'I':
		add_path(v0, in_value);
		add(v0, in_value ? "::<" : "<");
		add_list(v0, add_generic_argument, &count);
		add(v0, ">");
		break;
	case 'B':
		back_reference(v0, in_value ? add_path_value : add_path_type);
		break;
	default:
		v0->failed = true;
	}
	v0->depth--;
}

static const char *basic_type(char c)
{
	static const char *const names[26] = {
	    ['a' - 'a'] = "i8",	  ['b' - 'a'] = "bool",	 ['c' - 'a'] = "char",
	    ['d' - 'a'] = "f64",  ['e' - 'a'] = "str",	 ['f' - 'a'] = "f32",
	    ['h' - 'a'] = "u8",	  ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
	    ['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",	 ['n' - 'a'] = "i128",
	    ['o' - 'a'] = "u128", ['p' - 'a'] = "_",	 ['s' - 'a'] = "i16",
	    ['t' - 'a'] = "u16",  ['u' - 'a'] = "()",	 ['v' - 'a'] = "...",
	    ['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",	 ['z' - 'a'] = "!"};
	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* for<'a, 'b>; the caller unbinds them again. */
static uint64_t add_binder(struct v0 *v0)
{
	uint64_t count = read_optional(v0, 'G');
	if (count == 0 || count > 64)
		return 0;
	add(v0, "for<");
	for (uint64_t i = 0; i < count; i++) {
		if (i > 0)
			add(v0, ", ");
		v0->lifetimes++;
		add_lifetime(v0, 1);
	}
	add(v0, "> ");
	return count;
}

static void add_function_type(struct v0 *v0)
{
	uint64_t bound = add_binder(v0);
	unsigned count;
	if (eat(v0, 'U'))
		add(v0, "unsafe ");
	if (eat(v0, 'K')) {
		add(v0, "extern \"");
		if (eat(v0, 'C')) {
			add(v0, "C");
		} else {
			struct identifier id = read_identifier(v0);
			for (size_t i = 0; i < id.length && !v0->failed; i++)
				add(v0, (char[]){id.text[i] == '_' ? '-' : id.text[i], '\0'});
		}
		add(v0, "\" ");
	}
	add(v0, "fn(");
	add_list(v0, add_type, &count);
	add(v0, ")");
	if (!eat(v0, 'u')) {
		add(v0, " -> ");
		add_type(v0);
	}
	v0->lifetimes -= bound;
}

/* A trait, whose generic arguments go on with the associated types it binds. */
static bool add_trait_open(struct v0 *v0);

static void add_trait_reference(struct v0 *v0)
{
	add_trait_open(v0);
}

static bool add_trait_open(struct v0 *v0)
{
	bool is_open = false;
	unsigned count = 0;
	if (!enter(v0))
		return false;
	if (eat(v0, 'B')) {
		back_reference(v0, add_trait_reference);
	} else if (eat(v0, 'I')) {
		add_path(v0, false);
		add(v0, "<");
		add_list(v0, add_generic_argument, &count);
		is_open = true;
	} else {
		add_path(v0, false);
	}
	v0->depth--;
	return is_open;
}

static void add_dyn_trait(struct v0 *v0)
{
	bool is_open = add_trait_open(v0);
	while (!v0->failed && eat(v0, 'p')) {
		add(v0, is_open ? ", " : "<");
		is_open = true;
		struct identifier id = read_identifier(v0);
		add_identifier(v0, &id);
		add(v0, " = ");
		add_type(v0);
	}
	if (is_open)
		add(v0, ">");
}

static void add_dyn(struct v0 *v0)
{
	add(v0, "dyn ");
	uint64_t bound = add_binder(v0);
	for (unsigned i = 0; !v0->failed && !eat(v0, 'E'); i++) {
		if (i > 0)
			add(v0, " + ");
		add_dyn_trait(v0);
	}
	v0->lifetimes -= bound;
	if (!eat(v0, 'L')) {
		v0->failed = true;
		return;
	}
	uint64_t lifetime = read_base62(v0);
	if (lifetime > 0) {
		add(v0, " + ");
		add_lifetime(v0, lifetime);
	}
}

static void add_reference(struct v0 *v0, const char *mutability)
{
	add(v0, "&");
	if (eat(v0, 'L')) {
		uint64_t lifetime = read_base62(v0);
		if (lifetime > 0) {
			add_lifetime(v0, lifetime);
			add(v0, " ");
		}
	}
	add(v0, mutability);
	add_type(v0);
}

static void add_compound_type(struct v0 *v0, char tag)
{
	unsigned count;
	switch (tag) {
	case 'R':
	case 'Q':
		add_reference(v0, tag == 'Q' ? "mut " : "");
		break;
	case 'P':
	case 'O':
		add(v0, tag == 'P' ? "*const " : "*mut ");
		add_type(v0);
		break;
	case 'A':
	case 'S':
		add(v0, "[");
		add_type(v0);
		if (tag == 'A') {
			add(v0, "; ");
			add_const(v0);
		}
		add(v0, "]");
		break;
	case 'T':
		add(v0, "(");
		add_list(v0, add_type, &count);
		add(v0, count == 1 ? ",)" : ")");
		break;
	case 'F':
		add_function_type(v0);
		break;
	case 'D':
		add_dyn(v0);
		break;
	case 'B':
		back_reference(v0, add_type);
		break;
	default:
		v0->at--; /* a named type is a path */
		add_path(v0, false);
	}
}

static void add_type(struct v0 *v0)
{
	if (!enter(v0))
		return;
	char tag = next(v0);
	const char *basic = basic_type(tag);
	if (basic)
		add(v0, basic);
	else if (!v0->failed)
		add_compound_type(v0, tag);
	v0->depth--;
}

/* A character as Rust writes it within its quotes. */
static void add_const_char(struct v0 *v0, uint64_t c)
{
	static const char escapes[] = {
	    ['\0'] = '0', ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r', ['\''] = '\'', ['\\'] = '\\'};
	sn_buffer_byte(&v0->out, '\'');
	if (c < sizeof(escapes) && escapes[c])
		sn_buffer_print(&v0->out, "\\%c", escapes[c]);
	else if (is_shown(c))
		add_utf8(&v0->out, (uint32_t)c);
	else
		sn_buffer_print(&v0->out, "\\u{%llx}", (unsigned long long)c);
	sn_buffer_byte(&v0->out, '\'');
}

static void add_const_number(struct v0 *v0, char type)
{
	bool is_negative = eat(v0, 'n');
	uint64_t value = 0;
	size_t begin = v0->at;
	while (isxdigit((unsigned char)peek(v0)) && !isupper((unsigned char)peek(v0))) {
		char c = next(v0);
		value = value * 16 + (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
	}
	size_t digits = v0->at - begin;
	if (!eat(v0, '_')) {
		v0->failed = true;
		return;
	}
	if (type == 'b') {
		add(v0, value ? "true" : "false");
		return;
	}
	if (is_negative)
		add(v0, "-");
	if (digits > 16) { /* more than fits: as it is written */
		add(v0, "0x");
		if (!v0->is_silent)
			sn_buffer_put(&v0->out, v0->symbol + begin, digits);
		return;
	}
	if (v0->is_silent)
		return;
	if (type == 'c')
		add_const_char(v0, value);
	else
		sn_buffer_print(&v0->out, "%llu", (unsigned long long)value);
}

static void add_const(struct v0 *v0)
{
	if (!enter(v0))
		return;
	char tag = next(v0);
	if (tag == 'B')
		back_reference(v0, add_const);
	else if (tag == 'p')
		add(v0, "_");
	else if (strchr("ahilmnostxyjbc", tag) && tag)
		add_const_number(v0, tag);
	else
		v0->failed =
		    true; /* structural constants are unstable and in no release's symbols */
	v0->depth--;
}

static char *demangle_v0(const char *symbol)
{
	struct v0 v0 = {.symbol = symbol + 2};
	/* a suffix such as .llvm.123 is not the name's */
	v0.length = strcspn(v0.symbol, ".$");
	if (isdigit((unsigned char)peek(&v0))) /* an encoding version: none is defined */
		return NULL;
	add_path(&v0, true);
	if (!v0.failed && v0.at < v0.length) {
		v0.is_silent = true; /* the crate that instantiated it */
		add_path(&v0, false);
	}
	v0.out.failed |= v0.failed || v0.at != v0.length || !v0.out.count;
	return sn_buffer_detach(&v0.out);
}

char *sn_demangle_rust(const char *symbol)
{
	if (strlen(symbol) > SN_DEMANGLE_SYMBOL_MAX)
		return NULL;
	if (strncmp(symbol, "_ZN", 3) == 0)
		return demangle_legacy(symbol);
	if (strncmp(symbol, "_R", 2) == 0 && isupper((unsigned char)symbol[2]))
		return demangle_v0(symbol);
	return NULL;
}
