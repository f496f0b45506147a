/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of metrics: weights of every context for one metric, and full statistics of sets of
 * contexts. Exclusive values are given; inclusive ones are merged from the descendants' values.
 */
import type { Contexts, Metric, Profile, Values } from '../format/decode.ts';

export type Measure = 'sum' | 'count';

/* One metric's weight at every context. */
export interface Weights {
	readonly exclusive: Float64Array;
	readonly inclusive: Float64Array;
	readonly total: number;
}

export function weigh(profile: Profile, metric: Metric | undefined, measure: Measure): Weights {
	const { count, parent } = profile.contexts;
	const exclusive = new Float64Array(count);
	if (metric) {
		const values = metric.stats[measure];
		metric.contexts.forEach((context, i) => {
			exclusive[context] = Math.max(0, values[i]!);
		});
	}
	const inclusive = exclusive.slice();
	for (let c = count - 1; c > 0; c--) inclusive[parent[c]!]! += inclusive[c]!;
	return { exclusive, inclusive, total: inclusive[0] ?? 0 };
}

export interface Stat {
	count: number;
	sum: number;
	min: number;
	max: number;
	sumSquares: number;
}

export function emptyStat(): Stat {
	return { count: 0, sum: 0, min: Infinity, max: -Infinity, sumSquares: 0 };
}

export function meanOf(stat: Stat): number {
	return stat.count > 0 ? stat.sum / stat.count : 0;
}

/* Of the population. Rounding may make the variance slightly negative. */
export function deviationOf(stat: Stat): number {
	if (stat.count <= 0) return 0;
	const mean = meanOf(stat);
	return Math.sqrt(Math.max(0, stat.sumSquares / stat.count - mean * mean));
}

function take(into: Stat, metric: Values, i: number): void {
	const { count, sum, min, max, sumSquares } = metric.stats;
	into.count += count[i]!;
	into.sum += sum[i]!;
	into.min = Math.min(into.min, min[i]!);
	into.max = Math.max(into.max, max[i]!);
	into.sumSquares += sumSquares[i]!;
}

/* Position of the first entry of `sorted` that is not below `value`. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
	let low = 0;
	let high = sorted.length;
	while (low < high) {
		const middle = (low + high) >>> 1;
		if (sorted[middle]! < value) low = middle + 1;
		else high = middle;
	}
	return low;
}

/* Merges the exclusive values of the contexts first .. end - 1 into `into`. */
export function mergeRange(into: Stat, metric: Values, first: number, end: number): void {
	const { contexts } = metric;
	for (let i = lowerBound(contexts, first); i < contexts.length && contexts[i]! < end; i++) take(into, metric, i);
}

/* Values of a metric at a set of contexts of which none descends from another. */
export function statOfContexts(contexts: Contexts, metric: Metric, set: Iterable<number>): Stat {
	const stat = emptyStat();
	for (const c of set) mergeRange(stat, metric, c, contexts.end[c]!);
	return stat;
}

/* Exclusive values of a metric at any set of contexts. */
export function ownStat(metric: Values, set: Iterable<number>): Stat {
	const stat = emptyStat();
	for (const c of set) mergeRange(stat, metric, c, c + 1);
	return stat;
}
