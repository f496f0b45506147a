/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding secrets by their look; see secret.h. A text is walked once from left to right; at each
 * place the rules say how many of the bytes from there are secret. No allocation, no locale.
 */
#include "secret.h"

#include <string.h>

/* ---- letters ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static char lower(char c)
{
	return is_upper(c) ? (char)(c + 32) : c;
}

static bool is_word(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z');
}

static bool is_one_of(char c, const char *set)
{
	for (; *set; set++)
		if (*set == c)
			return true;
	return false;
}

static bool is_blank(char c)
{
	return is_one_of(c, " \t\n\r");
}

/* Of names: what is between blanks, quotes and signs. */
static bool is_of_name(char c)
{
	return is_word(c) || is_one_of(c, "_-.");
}

/* Of tokens. */
static bool is_of_token(char c)
{
	return is_word(c) || is_one_of(c, "_-");
}

static size_t span(const char *text, bool (*is_in)(char c))
{
	size_t length = 0;
	while (text[length] && is_in(text[length]))
		length++;
	return length;
}

static bool begins(const char *text, const char *with)
{
	while (*with && lower(*text) == *with)
		text++, with++;
	return !*with;
}

/* ---- names ---- */

static bool ends(const char *name, size_t length, const char *with)
{
	size_t bytes = strlen(with);
	if (bytes > length)
		return false;
	for (size_t i = 0; i < bytes; i++)
		if (lower(name[length - bytes + i]) != with[i])
			return false;
	return true;
}

/* The last word of a name: behind a sign, or where capitals begin one (accessKey). */
static size_t last_word(const char *name, size_t length)
{
	size_t start = length;
	while (start > 0 && is_word(name[start - 1])) {
		start--;
		if (is_upper(name[start]) && start > 0 && !is_upper(name[start - 1]))
			break;
	}
	return start;
}

static bool is_any(const char *name, size_t length, const char *const *words, bool is_whole)
{
	for (; *words; words++)
		if (ends(name, length, *words) && (!is_whole || strlen(*words) == length))
			return true;
	return false;
}

/* Of tokenizers, which have no secrets. */
static bool is_plain_token(const char *name, size_t length)
{
	static const char *const kinds[] = {"pad", "eos",  "bos",   "unk", "mask",  "sep",
					    "cls", "stop", "start", "end", "image", "special",
					    "sot", "eot",  "next",  "per", "max",   NULL};
	while (length && !is_word(name[length - 1]))
		length--;
	size_t start = last_word(name, length);
	return is_any(name + start, length - start, kinds, true);
}

/* Whether what is called so is secret. */
static bool is_secret_name(const char *name, size_t length)
{
	static const char *const endings[] = {
	    "password",	   "passwd",	 "passphrase",	"secret",	 "secrets",
	    "apikey",	   "accesskey",	 "secretkey",	"privatekey",	 "authkey",
	    "masterkey",   "credential", "credentials", "encryptionkey", "authtoken",
	    "accesstoken", "oauth",	 "storepass",	"keypass",	 NULL};
	static const char *const words[] = {
	    "key",	"pass", "pwd", "pw",  "auth",	"authorization", "sig",	  "signature",
	    "pin",	"otp",	"psk", "jwt", "bearer", "cookie",	 "creds", "passcode",
	    "userpass", "upw",	"opw", NULL};
	while (length && (is_digit(name[length - 1]) || is_one_of(name[length - 1], "_-.")))
		length--;
	size_t start = last_word(name, length);
	if (is_any(name, length, endings, false) ||
	    is_any(name + start, length - start, words, true))
		return true;
	return ends(name, length, "token") && !is_plain_token(name, length - strlen("token"));
}

/* A flag about a secret, which is not followed by one: --no-password, --use-auth-token. */
static bool is_flag(const char *name, size_t length)
{
	static const char *const verbs[] = {"no-",	"use-",	    "use_",    "ask-",	 "with-",
					    "without-", "prompt-",  "show-",   "hide-",	 "require-",
					    "skip-",	"disable-", "enable-", "allow-", NULL};
	while (length && *name == '-')
		name++, length--;
	for (size_t i = 0; verbs[i]; i++)
		if (begins(name, verbs[i]))
			return true;
	return false;
}

/* ---- tokens ---- */

/* Words of services: how they begin, and how many letters and digits follow at least, with the
 * signs _ and - among them or without. */
static const struct {
	const char *prefix;
	unsigned char least;
	bool has_signs;
} token_forms[] = {
    {"ghp_", 20, false},     {"gho_", 20, false},     {"ghu_", 20, false},
    {"ghs_", 20, false},     {"ghr_", 20, false},     {"github_pat_", 20, true},
    {"glpat-", 16, true},    {"gldt-", 16, true},     {"glrt-", 16, true},
    {"hf_", 20, false},	     {"sk_live_", 12, false}, {"sk_test_", 12, false},
    {"rk_live_", 12, false}, {"xoxb-", 10, true},     {"xoxp-", 10, true},
    {"xoxa-", 10, true},     {"xoxr-", 10, true},     {"xoxs-", 10, true},
    {"xapp-", 10, true},     {"AIza", 30, true},      {"ya29.", 16, true},
    {"npm_", 20, false},     {"pypi-", 30, true},     {"dop_v1_", 20, false},
    {"SG.", 20, true},	     {"nvapi-", 16, true},    {"tskey-", 10, true},
    {"hvs.", 20, true},	     {"dckr_pat_", 16, true}, {"r8_", 20, false},
    {"gsk_", 20, false},     {"eyJ", 24, true},	      {"AGE-SECRET-KEY-1", 20, false},
};

/* The rest of a token behind its prefix; a JWT has parts, joined by dots. */
static size_t rest_of_token(const char *text, bool has_signs)
{
	bool (*is_in)(char) = has_signs ? is_of_token : is_word;
	size_t length = span(text, is_in);
	while (length && has_signs && text[length] == '.' && is_of_token(text[length + 1]))
		length += 1 + span(text + length + 1, is_in);
	return length;
}

static size_t token_of_form(const char *text)
{
	for (size_t i = 0; i < sizeof(token_forms) / sizeof(*token_forms); i++) {
		size_t prefix = strlen(token_forms[i].prefix);
		if (strncmp(text, token_forms[i].prefix, prefix))
			continue;
		size_t rest = rest_of_token(text + prefix, token_forms[i].has_signs);
		if (rest >= token_forms[i].least)
			return prefix + rest;
	}
	return 0;
}

static bool is_of_base64(char c)
{
	return is_word(c) || is_one_of(c, "/+");
}

struct letters {
	bool upper, lower, digit;
};

static struct letters letters_of(const char *text, size_t length)
{
	struct letters has = {false, false, false};
	for (size_t i = 0; i < length; i++) {
		has.upper |= is_upper(text[i]);
		has.digit |= is_digit(text[i]);
		has.lower |= text[i] >= 'a' && text[i] <= 'z';
	}
	return has;
}

/* "sk-" begins names as well (sk-learn-...): a key has digits and capitals, or a long word. */
static size_t key_of_sk(const char *text)
{
	if (strncmp(text, "sk-", 3))
		return 0;
	size_t length = span(text + 3, is_of_token), longest = 0;
	for (size_t i = 0; i < length; i++) {
		size_t word = span(text + 3 + i, is_word);
		longest = word > longest ? word : longest;
	}
	struct letters has = letters_of(text + 3, length);
	return longest >= 20 || (length >= 20 && has.upper && has.digit) ? 3 + length : 0;
}

/* AKIA and its like with 16 capitals and digits; a secret key has 40 letters of base64, large ones,
 * small ones and digits among them, and hardly a slash. */
static size_t key_of_aws(const char *text)
{
	static const char *const prefixes[] = {"AKIA", "ASIA", "AGPA", "AIDA", "AROA",
					       "ANPA", "ABIA", "ACCA", NULL};
	size_t length = span(text, is_word), slashes = 0;
	for (size_t i = 0; prefixes[i] && length == 20; i++)
		if (!strncmp(text, prefixes[i], 4) && !letters_of(text, length).lower)
			return length;
	length = span(text, is_of_base64);
	for (size_t i = 0; i < length; i++)
		slashes += text[i] == '/';
	struct letters has = letters_of(text, length);
	return length == 40 && has.upper && has.lower && has.digit && slashes < 4 ? length : 0;
}

static size_t token_at(const char *text)
{
	size_t length = token_of_form(text);
	if (!length)
		length = key_of_sk(text);
	return length ? length : key_of_aws(text);
}

/* ---- values ---- */

/* The bytes up to `quote`, if there is one, else to a blank or a sign that separates parameters. */
static size_t value_length(const char *value, char quote)
{
	size_t length = 0;
	for (; value[length]; length++) {
		if (quote && value[length] == quote)
			return length;
		if (!quote && (is_blank(value[length]) || is_one_of(value[length], "&;,\"'})]")))
			return length;
		if (quote && value[length] == '\\' && value[length + 1])
			length++;
	}
	return length;
}

/* Where a walk through a text is. */
struct place {
	const char *text;  /* what is left */
	const char *start; /* of the whole */
	bool is_argument;  /* the whole is one argument */
	bool is_first;	   /* no name has come before */
	struct sn_secrets *secrets;
};

static char before(const struct place *place)
{
	return place->text > place->start ? place->text[-1] : 0;
}

/* The quote that stands there, behind which it goes on; or 0. */
static char quote_at(const char *text, size_t *at)
{
	return is_one_of(text[*at], "\"'") ? text[(*at)++] : 0;
}

/* The value that begins at `at`: to its own quote, or to that around its name. */
static size_t value_at(const struct place *place, size_t *at)
{
	char quote = quote_at(place->text, at);
	if (quote)
		return value_length(place->text + *at, quote);
	char around = before(place);
	if (around && is_one_of(around, "\"'"))
		return value_length(place->text + *at, around);
	if (place->is_argument && place->is_first)
		return strlen(place->text + *at);
	return value_length(place->text + *at, 0);
}

/* To the end of the line, or of what is quoted: "Authorization: Basic dXNlcg==". */
static size_t header_length(const struct place *place, size_t at)
{
	char around = before(place);
	size_t length = 0;
	for (const char *text = place->text + at; text[length] && text[length] != '\n'; length++)
		if (text[length] == around || is_one_of(text[length], "\"'"))
			break;
	return length;
}

/* --password VALUE: in this text, or in the argument that follows. */
static size_t value_behind(const struct place *place, size_t name, size_t *at)
{
	if (*place->text != '-' || is_flag(place->text, name))
		return 0;
	if (!place->text[name])
		place->secrets->is_next = true;
	if (!is_blank(place->text[name]))
		return 0;
	*at = name;
	while (is_blank(place->text[*at]))
		++*at;
	if (place->text[*at] == '-')
		return 0;
	char quote = quote_at(place->text, at);
	return value_length(place->text + *at, quote);
}

/* What is secret of the value that a name has, and where that begins. 0: it has none. */
static size_t value_of_name(const struct place *place, size_t name, size_t *at)
{
	const char *text = place->text;
	/* "name": value, as in JSON and Python */
	bool is_quoted = is_one_of(text[name], "\"'") && text[name] == before(place);
	*at = name + is_quoted;
	while (is_quoted && text[*at] == ' ')
		++*at;
	if (text[*at] != '=' && text[*at] != ':')
		return is_quoted ? 0 : value_behind(place, name, at);
	if (!strncmp(text + *at, "://", 3))
		return 0;
	bool is_header = text[*at] == ':' && text[*at + 1] == ' ' && !is_quoted;
	++*at;
	while (text[*at] == ' ' || text[*at] == '=')
		++*at;
	if (is_header && !is_one_of(text[*at], "\"'"))
		return header_length(place, *at);
	if (!is_quoted || is_one_of(text[*at], "\"'"))
		return value_at(place, at);
	return value_length(text + *at, 0);
}

/* user:password@ behind "://", or a long word before the @ without a colon. */
static size_t password_of_url(const char *text, size_t *at)
{
	size_t end, colon = 0, last = 0;
	if (strncmp(text, "://", 3))
		return 0;
	for (end = 3; text[end] && !is_blank(text[end]) && !is_one_of(text[end], "/?#\"'"); end++) {
		if (text[end] == ':' && !colon)
			colon = end;
		if (text[end] == '@')
			last = end;
	}
	*at = colon && colon < last ? colon + 1 : 3;
	return last && (*at > 3 || last - 3 >= 16) ? last - *at : 0;
}

/* "Bearer X" where no header's name stands before it. */
static size_t value_of_scheme(const char *text, size_t *at)
{
	static const char *const schemes[] = {"bearer ", "basic ", NULL};
	for (size_t i = 0; schemes[i]; i++) {
		if (!begins(text, schemes[i]))
			continue;
		*at = strlen(schemes[i]);
		size_t length = value_length(text + *at, 0);
		/* words of a sentence are shorter */
		return length >= 8 ? length : 0;
	}
	return 0;
}

/* ---- options of one letter ---- */

/* Programs by the beginning of their names, and their options that take a secret. Of programs that
 * are not here no such option is one: -p is a port, a path or a precision more often. */
static const struct {
	const char *program, *letters;
} programs[] = {
    {"mysql", "p"},	{"mariadb", "p"},   {"sshpass", "p"},
    {"mongo", "p"},	{"login", "p"},	    {"7z", "p"},
    {"rar", "p"},	{"unrar", "p"},	    {"zip", "P"},
    {"unzip", "P"},	{"redis-cli", "a"}, {"ldap", "w"},
    {"curl", "uU"},	{"sqlcmd", "P"},    {"ipmitool", "P"},
    {"smbclient", "U"}, {"lftp", "u"},	    {"http", "a"},
    {"snmp", "AX"},	{"cqlsh", "p"},	    {"mosquitto_", "P"},
    {"bcp", "P"},	{"freebcp", "P"},   {"tsql", "P"},
    {"osql", "P"},	{"unar", "p"},	    {"lsar", "p"},
    {"ncftp", "p"},	{"rdesktop", "p"},  {"rabbitmqadmin", "p"},
    {"rpcclient", "U"}, {"winexe", "U"},    {"pkcs11-tool", "p"},
};

static size_t word_length(const char *text)
{
	size_t length = 0;
	while (text[length] && !is_blank(text[length]) && !is_one_of(text[length], "\"'"))
		length++;
	return length;
}

static void note_program(struct sn_secrets *secrets, const char *word, size_t length)
{
	const char *base = word;
	for (size_t i = 0; i < length; i++)
		if (word[i] == '/')
			base = word + i + 1;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		size_t bytes = strlen(programs[i].program);
		if ((size_t)(word + length - base) >= bytes &&
		    !strncmp(base, programs[i].program, bytes))
			secrets->letters = programs[i].letters;
	}
}

/* Only what follows user: or user% is secret, where there is such a sign. */
static size_t after_user(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (is_one_of(text[i], ":%,"))
			return i + 1;
	return 0;
}

/* -pSECRET and -p SECRET of the program that was named last. mysql takes the first alone, and the
 * second is then the name of a database, which goes as well. */
static size_t value_of_letter(const struct place *place, size_t *at)
{
	const char *text = place->text, *letters = place->secrets->letters;
	size_t word = word_length(text);
	if (*text != '-') {
		note_program(place->secrets, text, word);
		return 0;
	}
	if (!letters || word < 2 || !is_one_of(text[1], letters))
		return 0;
	*at = 2;
	if (word == 2 && !text[2])
		place->secrets->is_next = true;
	while (is_blank(text[*at]))
		++*at;
	if (word == 2 && text[*at] == '-')
		return 0;
	char quote = quote_at(text, at);
	bool is_whole = place->is_argument && text == place->start && word > 2;
	size_t length = is_whole ? strlen(text + *at) : value_length(text + *at, quote);
	size_t user = after_user(text + *at, length);
	*at += user;
	return length - user;
}

/* ---- a text ---- */

struct writer {
	char *text;
	size_t bytes, length;
};

static void put(struct writer *writer, const char *text, size_t length)
{
	for (size_t i = 0; i < length && writer->length + 1 < writer->bytes; i++)
		writer->text[writer->length++] = text[i];
	writer->text[writer->length] = 0;
}

/* The length of the secret that stands `*at` bytes from here; 0 where here begins none. */
static size_t secret_at(struct place *place, size_t *at)
{
	char last = before(place);
	size_t length = 0;
	*at = 0;
	if (!last || is_blank(last) || is_one_of(last, "\"'"))
		length = value_of_letter(place, at);
	if (!length && *place->text == ':')
		length = password_of_url(place->text, at);
	if (!length && is_word(*place->text) && !is_of_base64(last)) {
		*at = 0;
		length = token_at(place->text);
	}
	if (length || !is_of_name(*place->text) || is_of_name(last))
		return length;
	length = value_of_scheme(place->text, at);
	size_t name = span(place->text, is_of_name);
	if (!length && is_secret_name(place->text, name))
		length = value_of_name(place, name, at);
	place->is_first = false;
	return length;
}

static void mask(struct place *place, struct writer *writer)
{
	writer->text[0] = 0;
	while (*place->text) {
		size_t at, length = secret_at(place, &at);
		put(writer, place->text, length ? at : 1);
		if (length)
			put(writer, SN_SECRET_MASK, strlen(SN_SECRET_MASK));
		place->text += length ? at + length : 1;
	}
}

/* -----BEGIN ... PRIVATE KEY----- and all that follows. */
static bool is_private_key(const char *text)
{
	return strstr(text, "-----BEGIN ") && strstr(text, "PRIVATE KEY");
}

void sn_secret_mask(struct sn_secrets *secrets, const char *argument, char *masked, size_t bytes)
{
	struct writer writer = {masked, bytes, 0};
	bool is_secret = secrets->is_next && *argument != '-';
	secrets->is_next = false;
	if (is_secret || is_private_key(argument)) {
		size_t user =
		    is_secret && secrets->letters ? after_user(argument, strlen(argument)) : 0;
		put(&writer, argument, user);
		put(&writer, SN_SECRET_MASK, strlen(SN_SECRET_MASK));
		return;
	}
	mask(&(struct place){argument, argument, true, true, secrets}, &writer);
}

void sn_secret_mask_line(const char *line, char *masked, size_t bytes)
{
	struct writer writer = {masked, bytes, 0};
	struct sn_secrets secrets = {0};
	if (is_private_key(line))
		put(&writer, SN_SECRET_MASK, strlen(SN_SECRET_MASK));
	else
		mask(&(struct place){line, line, false, true, &secrets}, &writer);
}
