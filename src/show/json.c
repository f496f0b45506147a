/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON writer; see json.h. */
#include "json.h"

#include "base/escape.h"
#include "number.h"

#include <math.h>

void sn_json_quote(FILE *out, const char *text)
{
	sn_quote_write(out, SN_ESCAPE_JSON, text);
}

static void separate(struct sn_json *json)
{
	if (json->needs_comma)
		putc_unlocked(',', json->out);
	json->needs_comma = true;
}

void sn_json_begin(struct sn_json *json, char bracket)
{
	separate(json);
	putc_unlocked(bracket, json->out);
	json->needs_comma = false;
}

void sn_json_end(struct sn_json *json, char bracket)
{
	putc_unlocked(bracket, json->out);
	json->needs_comma = true;
}

void sn_json_key(struct sn_json *json, const char *key)
{
	separate(json);
	sn_json_quote(json->out, key);
	putc_unlocked(':', json->out);
	json->needs_comma = false;
}

void sn_json_string(struct sn_json *json, const char *text)
{
	if (!text) {
		sn_json_null(json);
		return;
	}
	separate(json);
	sn_quote_write(json->out, json->is_shown ? SN_ESCAPE_QUOTED : SN_ESCAPE_JSON, text);
}

void sn_json_number(struct sn_json *json, double value)
{
	char text[SN_NUMBER_CHARS];
	separate(json);
	fputs(sn_number_exact(value, text), json->out);
}

void sn_json_unsigned(struct sn_json *json, uint64_t value)
{
	separate(json);
	fprintf(json->out, "%llu", (unsigned long long)value);
}

void sn_json_bool(struct sn_json *json, bool value)
{
	separate(json);
	fputs(value ? "true" : "false", json->out);
}

void sn_json_null(struct sn_json *json)
{
	separate(json);
	fputs("null", json->out);
}

void sn_json_put_text(struct sn_json *json, const char *key, const char *text)
{
	sn_json_key(json, key);
	sn_json_string(json, text);
}

void sn_json_put_number(struct sn_json *json, const char *key, double value)
{
	sn_json_key(json, key);
	sn_json_number(json, value);
}

void sn_json_put_known(struct sn_json *json, const char *key, double value)
{
	sn_json_key(json, key);
	if (isnan(value))
		sn_json_null(json);
	else
		sn_json_number(json, value);
}

void sn_json_put_id(struct sn_json *json, const char *key, uint32_t id)
{
	sn_json_put_known(json, key, id == SONDE_NONE ? (double)NAN : id);
}

void sn_json_put_stat(struct sn_json *json, const struct sonde_db_stat *stat)
{
	sn_json_numbers(json, {"count", stat->count}, {"sum", stat->sum}, {"min", stat->min},
			{"max", stat->max}, {"mean", sonde_db_stat_mean(stat)},
			{"std", sonde_db_stat_deviation(stat)});
}

void sn_json_put_unsigned(struct sn_json *json, const char *key, uint64_t value)
{
	sn_json_key(json, key);
	sn_json_unsigned(json, value);
}

void sn_json_put_bool(struct sn_json *json, const char *key, bool value)
{
	sn_json_key(json, key);
	sn_json_bool(json, value);
}

void sn_json_open(struct sn_json *json, const char *key, char bracket)
{
	sn_json_key(json, key);
	sn_json_begin(json, bracket);
}

void sn_json_put_numbers(struct sn_json *json, const struct sn_json_keyed_number *members,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		sn_json_put_number(json, members[i].key, members[i].value);
}

void sn_json_put_texts(struct sn_json *json, const struct sn_json_keyed_text *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sn_json_put_text(json, members[i].key, members[i].text);
}
