/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formulas over metrics: evaluated at a node from the statistics that were merged for it, never
 * added up (docs/design/formulas.md). Empty is NaN, and makes empty what is computed of it. The
 * same rules as src/lib/db/formula.c.
 */
import type { Formula, Step } from '../format/decode.ts';
import { statsOf } from './node-stats.ts';
import type { NodeStats } from './node-stats.ts';
import { deviationOf, meanOf } from './stats.ts';
import type { Stat } from './stats.ts';
import type { Tree } from './tree.ts';

const finite = (value: number): number => (Number.isFinite(value) ? value : NaN);
/* Neither is empty. */
const both = (of: (a: number, b: number) => number) => (a: number, b: number): number =>
	Number.isNaN(a) || Number.isNaN(b) ? NaN : of(a, b);

const OF_ONE: Readonly<Record<string, (a: number) => number>> = {
	negate: (a) => -a,
	sqrt: (a) => (a < 0 ? NaN : Math.sqrt(a)),
	abs: Math.abs,
	log: (a) => (a > 0 ? Math.log(a) : NaN),
	exp: Math.exp,
};

const OF_TWO: Readonly<Record<string, (a: number, b: number) => number>> = {
	'+': (a, b) => a + b,
	'-': (a, b) => a - b,
	'*': (a, b) => a * b,
	'/': (a, b) => (b === 0 ? NaN : a / b),
	'^': both((a, b) => a ** b),
	'<': both((a, b) => Number(a < b)),
	'<=': both((a, b) => Number(a <= b)),
	'>': both((a, b) => Number(a > b)),
	'>=': both((a, b) => Number(a >= b)),
	'=': both((a, b) => Number(a === b)),
	'<>': both((a, b) => Number(a !== b)),
	min: both(Math.min),
	max: both(Math.max),
	ifempty: (a, b) => (Number.isNaN(a) ? b : a),
};

const PARTS: Readonly<Record<string, (stat: Stat) => number>> = {
	sum: (stat) => stat.sum,
	count: (stat) => stat.count,
	min: (stat) => (stat.count > 0 ? stat.min : NaN),
	max: (stat) => (stat.count > 0 ? stat.max : NaN),
	mean: (stat) => (stat.count > 0 ? meanOf(stat) : NaN),
	dev: (stat) => (stat.count > 0 ? deviationOf(stat) : NaN),
};

type MetricStep = readonly [metric: number, scope: string, part: string];

const isMetricStep = (step: Step): step is MetricStep => Array.isArray(step);

function statFor(step: MetricStep, stats: (metric: number) => NodeStats, exclusive: boolean, part = 'sum'): Stat {
	const { inclusive, exclusive: own, counted } = stats(step[0]);
	if (step[1] === 'exclusive' || (step[1] === 'place' && exclusive)) return own;
	return part === 'sum' ? inclusive : counted;
}

function operate(name: string, stack: number[]): number {
	const last = stack.pop()!;
	if (OF_ONE[name]) return finite(OF_ONE[name](last));
	const before = stack.pop()!;
	if (OF_TWO[name]) return finite(OF_TWO[name](before, last));
	if (name !== 'if') throw new Error(`formulas with ${name} are unknown to this page`);
	const condition = stack.pop()!;
	return Number.isNaN(condition) ? NaN : condition !== 0 ? before : last;
}

/* NaN: empty, as where none of the formula's metrics has a value. */
export function evaluate(formula: Formula, stats: (metric: number) => NodeStats, exclusive: boolean): number {
	const steps = formula.steps ?? [null];
	const metrics = steps.filter(isMetricStep);
	if (metrics.length > 0 && !metrics.some((step) => statFor(step, stats, exclusive).count > 0)) return NaN;
	const stack: number[] = [];
	for (const step of steps) {
		if (isMetricStep(step)) stack.push(PARTS[step[2]]!(statFor(step, stats, exclusive, step[2])));
		else stack.push(typeof step === 'string' ? operate(step, stack) : (step ?? NaN));
	}
	return finite(stack[0]! * formula.scale);
}

export function formulaAt(tree: Tree, node: number, formula: Formula, exclusive: boolean): number {
	return evaluate(formula, (metric) => statsOf(tree, node, tree.profile.metrics[metric]!), exclusive);
}
