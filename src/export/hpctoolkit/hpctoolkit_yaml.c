/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/default.yaml of an HPCToolkit database: which of the numbers in it are shown, and how
 * they are computed from the statistics that are there.
 */
#include "hpctoolkit.h"

#include "base/escape.h"

#include <stdio.h>

static void write_inputs(const struct sn_hpcx_out *out, struct sn_buffer *yaml)
{
	sn_buffer_print(yaml, "version: 0\ninputs:\n");
	for (size_t i = 0; i < out->metric_count; i++) {
		for (unsigned scope = SN_HPCX_FUNCTION; scope < SN_HPCX_SCOPES; scope++) {
			for (unsigned s = 0; s < SN_HPCX_STATISTICS; s++) {
				sn_buffer_print(yaml, "  - &m%zu-%s-%s\n    metric: ", i,
						sn_hpcx_statistics[s].name,
						sn_hpcx_scopes[scope].name);
				sn_quote_put(yaml, SN_ESCAPE_JSON, out->metrics[i].name);
				sn_buffer_print(
				    yaml, "\n    scope: %s\n    formula: \"%s\"\n    combine: %s\n",
				    sn_hpcx_scopes[scope].name, sn_hpcx_statistics[s].formula,
				    sn_hpcx_statistics[s].combine);
			}
		}
	}
}

/* A statistic of metric `number` in a scope, of the numbers that are stored. */
static void put_formula(struct sn_buffer *yaml, const char *statistic, size_t number,
			const char *scope)
{
	char mean[128], deviation[512];
	snprintf(mean, sizeof(mean), "{/: [*m%zu-sum-%s, *m%zu-count-%s]}", number, scope, number,
		 scope);
	snprintf(deviation, sizeof(deviation),
		 "{sqrt: [{-: [{/: [*m%zu-squares-%s, *m%zu-count-%s]}, {^: [%s, 2]}]}]}", number,
		 scope, number, scope, mean);
	if (strcmp(statistic, "Sum") == 0)
		sn_buffer_print(yaml, "*m%zu-sum-%s\n", number, scope);
	else if (strcmp(statistic, "Mean") == 0)
		sn_buffer_print(yaml, "%s\n", mean);
	else if (strcmp(statistic, "StdDev") == 0)
		sn_buffer_print(yaml, "%s\n", deviation);
	else if (strcmp(statistic, "CfVar") == 0)
		sn_buffer_print(yaml, "{/: [%s, %s]}\n", deviation, mean);
	else
		sn_buffer_print(yaml, "*m%zu-%s-%s\n", number,
				strcmp(statistic, "Min") == 0 ? "min" : "max", scope);
}

void sn_hpcx_write_yaml(const struct sn_hpcx_out *out, struct sn_buffer *yaml)
{
	static const char *const shown[] = {"Sum", "Mean", "StdDev", "CfVar", "Min", "Max"};
	write_inputs(out, yaml);
	sn_buffer_print(yaml, "roots:\n");
	for (size_t i = 0; i < out->metric_count; i++) {
		sn_buffer_print(yaml, "  - name: ");
		sn_quote_put(yaml, SN_ESCAPE_JSON, out->metrics[i].name);
		sn_buffer_print(yaml, "\n    description: ");
		sn_quote_put(yaml, SN_ESCAPE_JSON, out->metrics[i].name);
		sn_buffer_print(yaml, "\n    variants:\n");
		for (size_t s = 0; s < sizeof(shown) / sizeof(*shown); s++) {
			sn_buffer_print(yaml,
					"      %s:\n        render: [number%s]\n        formula:\n",
					shown[s], s == 0 ? ", percent" : "");
			sn_buffer_print(yaml, "          inclusive:\n            standard: ");
			put_formula(yaml, shown[s], i, "execution");
			sn_buffer_print(yaml, "          exclusive:\n            custom: ");
			put_formula(yaml, shown[s], i, "lex_aware");
			sn_buffer_print(yaml, "            standard: ");
			put_formula(yaml, shown[s], i, "function");
		}
	}
}
