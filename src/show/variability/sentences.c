/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences about the largest effects. What is within chance, or too small to matter, gets none. */
#include "variability_page.h"

#include "base/sort_by.h"
#include "show/number.h"

#include <math.h>

/* Launches from which anything is said of a kernel. */
enum { LAUNCHES_LEAST = 10 };
/* Sentences of a kind. */
enum { SAME_KIND = 3 };
/* What launches differ from their mean, and by how much durations change. */
#define VARIES_LEAST  0.03
#define CHANGE_LEAST  0.02
/* Of two changes about as large, as there and back again, the first one. */
#define EARLIER_BY    1.2
/* Outliers are few and far off. */
#define OUTLIER_SHARE 0.1
#define OUTLIER_TIMES 1.5
/* A bin against the usual one. */
enum { BINS_LEAST = 10 };
#define BIN_TIMES 3

/* A group with how much it is about. */
struct topic {
	const struct sn_kernel_group *group;
	const struct sn_change *change;
	size_t number; /* of the change */
	double weight;
};

SN_SORT_BY(sort_topics, struct topic, const void *,
	   SN_ORDER(b->weight, a->weight) ?: SN_ORDER(a->group, b->group));

/* "NAME (grid 8x1x1)". */
static struct sn_full_name name_of(const struct sn_variability *result,
				   const struct sn_kernel_group *group)
{
	return sn_variability_full_name(result, group, " (", ")");
}

static struct sn_number share(double value)
{
	return sn_number_part(value, 1);
}

/* "50% longer", "20% shorter". */
struct comparison {
	char text[SN_NUMBER_CHARS + 16];
};
static struct comparison longer(double log_difference)
{
	struct comparison text;
	snprintf(text.text, sizeof(text.text), "%s %s", share(fabs(expm1(log_difference))).text,
		 log_difference > 0 ? "longer" : "shorter");
	return text;
}

static double variation_of(const struct sn_kernel_group *group)
{
	return group->difference_ns * (double)group->durations.total;
}

static double time_of(const struct sn_kernel_group *group)
{
	return (double)group->durations.sum;
}

/* A moment of the run, to the digit in which the next step or bin differs: "118.5 ms". */
static struct sn_number moment(double ns, double step_ns)
{
	struct sn_number text;
	bool is_long = ns >= 1e9 || step_ns >= 1e8;
	double unit = is_long ? 1e9 : 1e6;
	int digits = (int)ceil(log10(unit / (step_ns > 1 ? step_ns : 1)));
	snprintf(text.text, sizeof(text.text), "%.*f %s", digits < 0 ? 0 : digits, ns / unit,
		 is_long ? "s" : "ms");
	return text;
}

/* Groups are in order of their variation. */
static void say_which(const struct sn_variability *result, struct sn_page *page)
{
	double all = 0, most = 0;
	bool has_many = false;
	for (size_t i = 0; i < result->group_count; i++)
		all += variation_of(result->groups + i);
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_kernel_group *one = result->groups + i;
		double relative = one->difference_ns / sn_value_counts_mean(&one->durations);
		if (one->durations.total < LAUNCHES_LEAST || !one->durations.sum)
			continue;
		if (relative >= VARIES_LEAST) {
			sn_page_sentence(
			    page,
			    "%s varies most of the kernels with at least %d launches and a mean "
			    "difference of %s: its %s launches differ from the mean of their "
			    "configuration by %s on average, %s of what all kernels vary%s.",
			    name_of(result, one).text, LAUNCHES_LEAST, share(VARIES_LEAST).text,
			    sn_number_counted((double)one->durations.total).text,
			    share(relative).text, sn_number_part(variation_of(one), all).text,
			    one->is_communication
				? "; it communicates, so that it waits for other devices"
				: "");
			return;
		}
		has_many = true;
		most = relative > most ? relative : most;
	}
	if (has_many)
		sn_page_sentence(page,
				 "No kernel varies much: launches differ from the mean of their "
				 "configuration by at most %s on average.",
				 share(most).text);
}

static void say_change(const struct sn_variability *result, const struct topic *topic,
		       struct sn_page *page)
{
	double span = (double)(result->end_ns - result->start_ns), step = span / result->step_count;
	const struct sn_changes *changes = &topic->group->changes;
	bool ends = topic->number + 1 < changes->count;
	struct sn_number until =
	    moment(ends ? (double)changes->items[topic->number + 1].step * step : 0, step);
	sn_page_sentence(page, "From %s on%s%s, %s takes %s than before.",
			 moment((double)topic->change->step * step, step).text,
			 ends ? " until " : "", ends ? until.text : "",
			 name_of(result, topic->group).text,
			 longer(topic->change->difference).text);
}

/* The largest change of each, those of most time first. */
static size_t list_changes(const struct sn_variability *result, struct topic *topics)
{
	size_t count = 0;
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_kernel_group *one = result->groups + i;
		struct topic topic = {.group = one};
		for (size_t c = 0; c < one->changes.count; c++)
			if (!topic.change || fabs(one->changes.items[c].difference) >
						 EARLIER_BY * fabs(topic.change->difference)) {
				topic.change = one->changes.items + c;
				topic.number = c;
			}
		if (!topic.change || one->durations.total < LAUNCHES_LEAST)
			continue;
		topic.weight = fabs(topic.change->difference) * time_of(one);
		topics[count++] = topic;
	}
	sort_topics(topics, count, NULL);
	return count;
}

static size_t list_drifts(const struct sn_variability *result, struct topic *topics)
{
	size_t count = 0;
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_kernel_group *one = result->groups + i;
		double drift = fabs(one->drift.whole.value);
		/* a change explains it better */
		if (one->drift_counts && !one->changes.count && drift >= CHANGE_LEAST &&
		    one->durations.total >= LAUNCHES_LEAST)
			topics[count++] =
			    (struct topic){.group = one, .weight = drift * time_of(one)};
	}
	sort_topics(topics, count, NULL);
	return count;
}

static size_t list_outliers(const struct sn_variability *result, struct topic *topics)
{
	size_t count = 0;
	for (size_t i = 0; i < result->group_count; i++) {
		const struct sn_kernel_group *one = result->groups + i;
		const struct sn_outliers *outliers = &one->outliers;
		double median = exp(one->spread.median), above = (double)outliers->above;
		bool is_few = above <= OUTLIER_SHARE * (double)one->durations.total;
		if (outliers->above && is_few && one->durations.total >= LAUNCHES_LEAST &&
		    outliers->above_sum >= OUTLIER_TIMES * median * above)
			topics[count++] = (struct topic){
			    .group = one, .weight = outliers->above_sum - median * above};
	}
	sort_topics(topics, count, NULL);
	return count;
}

static void say_outliers(const struct sn_variability *result, const struct sn_kernel_group *group,
			 struct sn_page *page)
{
	double above = (double)group->outliers.above, median = exp(group->spread.median);
	sn_page_sentence(
	    page,
	    "%s of %s launches of %s are outliers, which took %.3g times the median on average.",
	    sn_number_counted(above).text, sn_number_counted((double)group->durations.total).text,
	    name_of(result, group).text, group->outliers.above_sum / above / median);
}

static void say_kernels(const struct sn_variability *result, struct topic *topics,
			struct sn_page *page)
{
	size_t count = list_changes(result, topics);
	for (size_t i = 0; i < count && i < SAME_KIND; i++)
		say_change(result, topics + i, page);
	count = list_drifts(result, topics);
	for (size_t i = 0; i < count && i < SAME_KIND; i++) {
		const struct sn_steps_estimate *whole = &topics[i].group->drift.whole;
		double sign = whole->value > 0 ? 1 : -1;
		sn_page_sentence(
		    page,
		    "%s takes %s at the end of the run than at its begin (%s to %s), by a steady "
		    "drift.",
		    name_of(result, topics[i].group).text, longer(whole->value).text,
		    share(fmax(0, sign * expm1(sign > 0 ? whole->low : whole->high))).text,
		    share(sign * expm1(sign > 0 ? whole->high : whole->low)).text);
	}
	count = list_outliers(result, topics);
	for (size_t i = 0; i < count && i < SAME_KIND; i++)
		say_outliers(result, topics[i].group, page);
}

static void say_place(const struct sn_variability *result, struct sn_page *page)
{
	const struct sn_variability_place *slowest = NULL;
	for (size_t i = 0; i < result->place_count; i++) {
		const struct sn_variability_place *one = result->places + i;
		if (one->pace_counts && one->pace.value >= CHANGE_LEAST &&
		    (!slowest || one->pace.value > slowest->pace.value))
			slowest = one;
	}
	if (slowest)
		sn_page_sentence(page, "The same kernels take %s on %s than elsewhere (%s to %s).",
				 longer(slowest->pace.value).text, slowest->name,
				 share(fmax(0, expm1(slowest->pace.low))).text,
				 share(expm1(slowest->pace.high)).text);
}

static void say_when(const struct sn_variability *result, struct sn_page *page)
{
	if (result->used_bins < BINS_LEAST)
		return;
	const struct sn_variability_bin *bin = result->bins + result->by_adjusted[0];
	if (bin->count < SN_BIN_LEAST || bin->adjusted < VARIES_LEAST ||
	    bin->adjusted < BIN_TIMES * result->usual_adjusted)
		return;
	sn_page_sentence(
	    page,
	    "Kernels were furthest from their medians between %s and %s: by %s, and by %s in a "
	    "usual part of the run; the tenth "
	    "that is furthest left out.",
	    moment((double)bin->start_ns, (double)result->bin_ns).text,
	    moment((double)(bin->start_ns + result->bin_ns), (double)result->bin_ns).text,
	    share(expm1(bin->adjusted)).text, share(expm1(result->usual_adjusted)).text);
}

void sn_variability_sentences(const struct sn_variability *result, struct sn_page *page)
{
	struct topic *topics = malloc((result->group_count + 1) * sizeof(*topics));
	page->has_failed |= !topics;
	if (!topics)
		return;
	say_which(result, page);
	say_kernels(result, topics, page);
	say_place(result, page);
	say_when(result, page);
	free(topics);
}
