/* SPDX-License-Identifier: Apache-2.0 */
/* See summary.h. */
#include "summary.h"

#include "base/sort_by.h"
#include "base/vec.h"

#include <string.h>

#define LEAST_PART 1e-6 /* of a function; below it is what rounding leaves */

SN_SORT_BY(sort_reasons, struct sn_summary_reason, const void *,
	   SN_ORDER_BY(b, a, value) ?: strcmp(a->why, b->why));

static int add_reason(struct sn_annotate_summary *summary, const char *why, double value)
{
	summary->value += value;
	for (size_t i = 0; i < summary->reason_count; i++)
		if (!strcmp(summary->reasons[i].why, why)) {
			summary->reasons[i].value += value;
			return 0;
		}
	return sn_vec_push(&summary->reasons, &summary->reason_capacity, &summary->reason_count,
			   (struct sn_summary_reason){why, value});
}

static int add_gaps(struct sn_annotate_summary *summary, const struct sn_annotate_gap *gaps,
		    size_t count)
{
	int result = 0;
	for (size_t i = 0; !result && i < count; i++)
		result = add_reason(summary, gaps[i].why, gaps[i].value);
	return result;
}

static int add_function(struct sn_annotate_summary *summary,
			const struct sn_annotated_function *function)
{
	double each = function->samples > 0 ? function->value / function->samples : 0;
	double told = function->rest * each;
	if (!function->is_modelled)
		return add_reason(summary, "no model of its processor", function->value);
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		told += function->parts[cause] * each;
	for (int cause = 0; cause < SN_CAUSE_COUNT; cause++)
		summary->parts[cause] += function->parts[cause] * each;
	summary->rest += function->rest * each;
	summary->value += told;
	return function->value - told > LEAST_PART * function->value
		   ? add_reason(summary, "code that cannot be decoded", function->value - told)
		   : 0;
}

int sn_annotate_sum_up(const struct sn_annotation *annotation,
		       const struct sn_annotate_request *request,
		       struct sn_annotate_summary *summary)
{
	int result = 0;
	*summary = (struct sn_annotate_summary){0};
	for (size_t i = 0; !result && i < annotation->function_count; i++)
		result = add_function(summary, &annotation->functions[i]);
	if (!result && annotation->not_shown > 0)
		result = add_reason(summary, "functions beyond the limit", annotation->not_shown);
	if (!result && !request->function)
		result = add_gaps(summary, annotation->gaps, annotation->gap_count);
	if (!result && !request->function && !request->image)
		result = add_gaps(summary, annotation->others, annotation->other_count);
	sort_reasons(summary->reasons, summary->reason_count, NULL);
	return result;
}
