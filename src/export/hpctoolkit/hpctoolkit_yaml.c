/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/default.yaml of an HPCToolkit database: which of the numbers in it are shown, and how
 * they are computed from the statistics that are there.
 */
#include "hpctoolkit.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

static void put(struct sn_hpcx_bytes *yaml, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct sn_hpcx_bytes *yaml, const char *format, ...)
{
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(line))
		yaml->failed = true;
	else
		sn_hpcx_put(yaml, line, (size_t)length);
}

static void put_quoted(struct sn_hpcx_bytes *yaml, const char *text)
{
	sn_hpcx_put(yaml, "\"", 1);
	while (*text) {
		size_t length = sn_utf8_length(text);
		uint32_t hidden = sn_utf8_hidden(text);
		if (*text == '"' || *text == '\\')
			sn_hpcx_put(yaml, "\\", 1);
		if (length == 0 || hidden)
			put(yaml, "\\u%04x", hidden ? hidden : 0xfffd);
		else
			sn_hpcx_put(yaml, text, length);
		text += length ? length : 1;
	}
	sn_hpcx_put(yaml, "\"", 1);
}

static const char *const scopes[SN_HPCX_SCOPES] = {"point", "function", "lex_aware", "execution"};
static const struct {
	const char *name, *formula, *combine;
} statistics[SN_HPCX_STATISTICS] = {[SN_HPCX_COUNT] = {"count", "1", "sum"},
				    [SN_HPCX_SUM] = {"sum", "$$", "sum"},
				    [SN_HPCX_SQUARES] = {"squares", "($$^2)", "sum"},
				    [SN_HPCX_MIN] = {"min", "$$", "min"},
				    [SN_HPCX_MAX] = {"max", "$$", "max"}};

static void write_inputs(const struct sn_hpcx_out *out, struct sn_hpcx_bytes *yaml)
{
	put(yaml, "version: 0\ninputs:\n");
	for (size_t i = 0; i < out->metric_count; i++) {
		for (unsigned scope = SN_HPCX_FUNCTION; scope < SN_HPCX_SCOPES; scope++) {
			for (unsigned s = 0; s < SN_HPCX_STATISTICS; s++) {
				put(yaml, "  - &m%zu-%s-%s\n    metric: ", i, statistics[s].name,
				    scopes[scope]);
				put_quoted(yaml, out->metrics[i].name);
				put(yaml, "\n    scope: %s\n    formula: \"%s\"\n    combine: %s\n",
				    scopes[scope], statistics[s].formula, statistics[s].combine);
			}
		}
	}
}

/* A statistic of metric `number` in a scope, of the numbers that are stored. */
static void put_formula(struct sn_hpcx_bytes *yaml, const char *statistic, size_t number,
			const char *scope)
{
	char mean[128], deviation[512];
	snprintf(mean, sizeof(mean), "{/: [*m%zu-sum-%s, *m%zu-count-%s]}", number, scope, number,
		 scope);
	snprintf(deviation, sizeof(deviation),
		 "{sqrt: [{-: [{/: [*m%zu-squares-%s, *m%zu-count-%s]}, {^: [%s, 2]}]}]}", number,
		 scope, number, scope, mean);
	if (strcmp(statistic, "Sum") == 0)
		put(yaml, "*m%zu-sum-%s\n", number, scope);
	else if (strcmp(statistic, "Mean") == 0)
		put(yaml, "%s\n", mean);
	else if (strcmp(statistic, "StdDev") == 0)
		put(yaml, "%s\n", deviation);
	else if (strcmp(statistic, "CfVar") == 0)
		put(yaml, "{/: [%s, %s]}\n", deviation, mean);
	else
		put(yaml, "*m%zu-%s-%s\n", number, strcmp(statistic, "Min") == 0 ? "min" : "max",
		    scope);
}

void sn_hpcx_write_yaml(const struct sn_hpcx_out *out, struct sn_hpcx_bytes *yaml)
{
	static const char *const shown[] = {"Sum", "Mean", "StdDev", "CfVar", "Min", "Max"};
	write_inputs(out, yaml);
	put(yaml, "roots:\n");
	for (size_t i = 0; i < out->metric_count; i++) {
		put(yaml, "  - name: ");
		put_quoted(yaml, out->metrics[i].name);
		put(yaml, "\n    description: ");
		put_quoted(yaml, out->metrics[i].name);
		put(yaml, "\n    variants:\n");
		for (size_t s = 0; s < sizeof(shown) / sizeof(*shown); s++) {
			put(yaml, "      %s:\n        render: [number%s]\n        formula:\n",
			    shown[s], s == 0 ? ", percent" : "");
			put(yaml, "          inclusive:\n            standard: ");
			put_formula(yaml, shown[s], i, "execution");
			put(yaml, "          exclusive:\n            custom: ");
			put_formula(yaml, shown[s], i, "lex_aware");
			put(yaml, "            standard: ");
			put_formula(yaml, shown[s], i, "function");
		}
	}
}
