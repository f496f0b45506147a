/* SPDX-License-Identifier: Apache-2.0 */
/* A page of causes: its tables, what belongs to a variable, and the bins that are drawn. */
import type { Causes, Edge, Graph, OverTime, TargetCause, TimeBin } from '../format/causal.ts';
import type { Cell, Column, Sheet } from '../format/timeline.ts';
import { formatShare, formatValue } from './units.ts';

const TOP_BINS = 5;

export function formatEffect(value: number): string {
	return `${value > 0 ? '+' : value < 0 ? '−' : ''}${Number(Math.abs(value).toPrecision(3))}`;
}

function rangeOf(low: number | null, high: number | null, format: (value: number) => string = formatEffect): string {
	return low === null || high === null ? '' : `${format(low)} to ${format(high)}`;
}

/* An effect in the unit of what it is on. */
export function formatChange(value: number, unit: string): string {
	return unit === '1' ? formatEffect(value) : `${value > 0 ? '+' : value < 0 ? '−' : ''}${formatValue(Math.abs(value), unit)}`;
}

export function intervalOf(edge: Pick<Edge, 'effect_low' | 'effect_high'>): string {
	return rangeOf(edge.effect_low, edge.effect_high);
}

/* What a note at an edge tells: names with values. */
export function factsOf(edge: Edge): [name: string, value: string][] {
	const facts: [string, string][] = [['Effect', edge.effect === null ? 'no sign' : formatEffect(edge.effect)]];
	if (intervalOf(edge)) facts.push(['95 % of the samples', intervalOf(edge)]);
	if (edge.share !== null) facts.push(['Explains of the variance', formatShare(edge.share, 1)]);
	if (edge.frequency !== null) facts.push(['In samples', formatShare(edge.frequency, 1)]);
	return facts;
}

export function edgeName(edge: Pick<Edge, 'from' | 'to' | 'directed'>): string {
	return `${edge.from} ${edge.directed ? '→' : '–'} ${edge.to}`;
}

/* The edges by which one comes from a variable to its causes, and to its effects, near and far. An
 * edge without a direction counts only at the variable itself. */
export function relatedEdges(graph: Graph, node: number): Set<number> {
	const name = graph.nodes[node]!;
	const related = new Set<number>();
	for (const upwards of [true, false]) {
		const seen = new Set([name]);
		const open = [name];
		while (open.length > 0) {
			const at = open.pop()!;
			graph.edges.forEach((edge, i) => {
				const [near, far] = upwards ? [edge.to, edge.from] : [edge.from, edge.to];
				if (near !== at || !edge.directed) return;
				related.add(i);
				if (!seen.has(far)) open.push(far);
				seen.add(far);
			});
		}
	}
	graph.edges.forEach((edge, i) => {
		if (!edge.directed && (edge.from === name || edge.to === name)) related.add(i);
	});
	return related;
}

/* ---- tables ---- */

function sheet(key: string, title: string, columns: readonly Column[], rows: readonly (readonly Cell[])[], notes: readonly string[] = []): Sheet {
	return { key, title, shape: 'table', is_whole: false, columns, rows, row_count: rows.length, left_out: 0, notes };
}

const text = (key: string, head: string): Column => ({ key, head, unit: '' });

const OVER_ALL_WAYS = 'Effect size: over all ways, of one standard deviation of the cause in standard deviations, of ranks.';

function causeSheet(graph: Graph): Sheet | null {
	const { target, causes } = graph;
	const inUnit = (value: number): string => formatChange(value, graph.target_unit ?? '1');
	if (target === null || causes.length === 0) return null;
	const hasChange = causes.some(({ adjusted }) => adjusted);
	const columns = [text('cause', 'cause'), { key: 'share', head: 'of the variance', unit: 'ratio' }, text('effect', 'effect size'), text('interval', '95 % of the samples'),
		...(hasChange ? [text('change', 'change'), text('change_interval', '95 % interval')] : []), { key: 'frequency', head: 'in samples', unit: 'ratio' }];
	const changeOf = ({ adjusted }: TargetCause): Cell[] => [typeof adjusted?.change === 'number' ? inUnit(adjusted.change) : '',
		rangeOf(adjusted?.change_low ?? null, adjusted?.change_high ?? null, inUnit)];
	const rows = causes.map((one) => [one.cause, one.share, one.effect === null ? 'no sign' : formatEffect(one.effect), intervalOf(one),
		...(hasChange ? changeOf(one) : []), one.frequency]);
	const change = `Change: of ${target} in its unit for one standard deviation of the cause, by double machine learning.`;
	return sheet('causes', `what ${target} depends on`, columns, rows, [OVER_ALL_WAYS, ...(hasChange ? [change] : [])]);
}

/* What was set from outside and is no cause: its effect is known all the same. */
function mainEffectSheet({ target, causes, main_effects = [] }: Graph): Sheet | null {
	const listed = new Set(causes.map(({ cause }) => cause));
	const rest = main_effects.filter(({ column }) => !listed.has(column));
	if (target === null || rest.length === 0) return null;
	const columns = [text('column', 'column'), { key: 'share', head: 'of the variance', unit: 'ratio' }, text('effect', 'effect size'), text('interval', '95 % of the samples'),
		{ key: 'frequency', head: 'in samples', unit: 'ratio' }];
	return sheet('main_effects', `set from outside, and no cause of ${target} in most samples`, columns,
		rest.map((one) => [one.column, one.share, one.effect === null ? 'no sign' : formatEffect(one.effect), intervalOf(one), one.frequency]));
}

function edgeSheet(graph: Graph): Sheet {
	const columns = [text('from', 'cause'), text('arrow', ''), text('to', 'effect'), text('effect', 'effect size'), text('interval', '95 % of the samples'),
		{ key: 'share', head: 'of the variance', unit: 'ratio' }, { key: 'frequency', head: 'in samples', unit: 'ratio' }];
	const rows = graph.edges.map((edge) => [edge.from, edge.directed ? '→' : '–', edge.to, edge.effect === null ? 'no sign' : formatEffect(edge.effect),
		intervalOf(edge), edge.share, edge.frequency]);
	return sheet('edges', 'edges of the graph', columns, rows, rows.length > 0 ? [] : ['Nothing found: no edge of the graph is certain enough.']);
}

/* One entry of a list of any kind, as text. */
function itemText(item: unknown): string {
	if (item === null || typeof item !== 'object') return String(item);
	const { from, to, directed, name, node, variable, ...rest } = item as Record<string, unknown>;
	const what = from !== undefined && to !== undefined ? `${from} ${directed === false ? '–' : '→'} ${to}` : String(name ?? node ?? variable ?? '');
	const number = Object.values(rest).find((value) => typeof value === 'number');
	const why = Object.values(rest).find((value) => typeof value === 'string');
	return [what, ...(number === undefined ? [] : [`(${Number((number as number).toPrecision(3))})`]), ...(why ? [String(why)] : [])].filter((part) => part).join(' ');
}

function itemsOf(value: unknown): string[] {
	if (Array.isArray(value)) return value.map(itemText);
	if (value !== null && typeof value === 'object') {
		return Object.entries(value).map(([name, one]) => (typeof one === 'number' ? `${name} (${Number(one.toPrecision(3))})`
			: Array.isArray(one) ? `${name}: ${one.map(itemText).join(', ') || 'none'}` : `${name}: ${itemText(one)}`));
	}
	return [String(value)];
}

type Numbers = Readonly<Record<string, number>>;

function areNumbers(value: unknown): value is Numbers {
	return value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0 &&
		Object.values(value).every((one) => typeof one === 'number');
}

const EASY = 'A simple way that finds the same shows that the data is easy, not that the graph is right.';

/* A row of numbers for each graph: how many edges, how many as in the one found, the score above that without edges. */
function baselineNumbers(baselines: readonly (readonly [string, Numbers])[]): Sheet {
	const keys = [...new Set(baselines.flatMap(([, one]) => Object.keys(one)))];
	const none = baselines.find(([name]) => name === 'empty')?.[1].score ?? 0;
	const columns = [text('graph', 'graph'), ...keys.map((key) => ({ key, head: key.replace(/_/g, ' '), unit: key === 'score' ? '1' : 'count' }))];
	const rows = baselines.map(([name, one]) => [name.replace(/_/g, ' '), ...keys.map((key) => (key === 'score' ? one[key]! - none : one[key] ?? null))]);
	return sheet('baselines', 'beside it: what simpler ways find', columns, rows, ['Score: above that of no edges, in natural logarithms of the likelihood.', EASY]);
}

/* The graph beside what simpler ways say of the same data, each from its first to its last. */
function baselineSheet(graph: Graph): Sheet {
	const names = Object.keys(graph.baselines);
	const numbers = Object.entries(graph.baselines).filter((entry): entry is [string, Numbers] => areNumbers(entry[1]));
	if (names.length > 0 && numbers.length === names.length) return baselineNumbers(numbers);
	const ordered = [...graph.edges].sort((a, b) => (b.share ?? -1) - (a.share ?? -1)).map(edgeName);
	const lists = [ordered, ...names.map((name) => itemsOf(graph.baselines[name]))];
	const columns = [text('graph', 'this graph'), ...names.map((name) => text(`baseline_${name}`, name.replace(/_/g, ' ')))];
	const length = Math.max(...lists.map((list) => list.length), 1);
	const rows = Array.from({ length }, (_, i) => lists.map((list) => list[i] ?? (i === 0 ? 'none' : null)));
	return sheet('baselines', 'beside it: what simpler ways find', columns, rows,
		[EASY]);
}

function undeterminedSheet(graph: Graph): Sheet | null {
	if (graph.undetermined.length === 0) return null;
	return sheet('undetermined', 'what the data does not determine', [text('what', 'undetermined')], graph.undetermined.map((item) => [itemText(item)]));
}

/* The unit of a number by its name in the JSON; `unit` is that of durations. */
function unitOf(key: string, unit: string): string {
	if (/_ns$/.test(key) || /^p\d+$/.test(key) || key === 'mad' || key === 'median') return unit;
	if (key === 'cv' || key === 'share' || key === 'drift') return 'ratio';
	return /count|outliers|rank/.test(key) ? 'count' : '1';
}

/* What says which kernel varies, in this order; the rest is shown when it is asked for. */
const KERNEL_COLUMNS: readonly (readonly [key: string, head: string])[] = [['name', 'kernel'], ['configuration', 'configuration'], ['count', 'launches'],
	['mean_ns', 'mean'], ['std_ns', 'std'], ['cv', 'std/mean'], ['p50', 'p50'], ['p99', 'p99'], ['outliers', 'outliers'], ['drift', 'drift']];

type Kernel = Causes['kernels'][number];

/* A drift that may be chance is none. */
function valueOf(kernel: Kernel, key: string): unknown {
	if (key !== 'drift') return kernel[key];
	return typeof kernel.drift === 'number' && kernel.drift_significant !== false ? kernel.drift / 100 : null;
}

function kernelCell(value: unknown): Cell {
	if (value === null || value === undefined) return null;
	if (typeof value === 'number' || typeof value === 'string') return value;
	return Array.isArray(value) ? value.map(itemText).join(', ') : typeof value === 'object' ? itemsOf(value).join(', ') : String(value);
}

function kernelSheet({ kernels, unit }: Pick<Causes, 'kernels' | 'unit'>): Sheet | null {
	if (kernels.length === 0) return null;
	const keys = new Set(kernels.flatMap((kernel) => Object.keys(kernel)));
	const hasValue = (key: string): boolean => kernels.some((kernel) => kernelCell(valueOf(kernel, key)) !== null);
	/* drifts are told of where there is a time, also if none is above chance */
	const isTold = (key: string): boolean => key === 'name' || hasValue(key) || (key === 'drift' && kernels.some(({ drift }) => typeof drift === 'number'));
	const first = KERNEL_COLUMNS.filter(([key]) => keys.has(key) && isTold(key));
	const known = new Set(KERNEL_COLUMNS.map(([key]) => key));
	const rest = [...keys].filter((key) => !known.has(key) && hasValue(key)).map((key) => [key, key.replace(/_ns$/, '').replace(/_/g, ' ')] as const);
	const columns = [...first, ...rest].map(([key, head], i) => ({
		key, head, is_minor: i >= first.length,
		unit: kernels.some((kernel) => typeof valueOf(kernel, key) === 'number') ? unitOf(key, unit) : '',
	}));
	const rows = kernels.map((kernel) => columns.map(({ key }) => kernelCell(valueOf(kernel, key))));
	return sheet('kernels', 'kernels', columns, rows, first.some(([key]) => key === 'drift') ? ['Drift: over the whole time, where it is above chance.'] : []);
}

export function topBins(bins: readonly TimeBin[]): TimeBin[] {
	return bins.filter(({ rank }) => rank !== null && rank >= 1 && rank <= TOP_BINS).sort((a, b) => a.rank! - b.rank!);
}

function binSheet({ bins, overTime, rankedBy }: Causes): Sheet | null {
	if (bins.length === 0) return null;
	const begin = overTime?.start_ns ?? Math.min(...bins.map(({ start_ns }) => start_ns));
	const columns = [{ key: 'rank', head: 'rank', unit: 'count' }, { key: 'start', head: 'start', unit: 'ns' }, { key: 'length', head: 'length', unit: 'ns' },
		{ key: 'deviation', head: 'standard deviation', unit: 'ns' }];
	return sheet('top_bins', `bins that vary most by ${rankedBy}`, columns,
		topBins(bins).map((bin) => [bin.rank, bin.start_ns - begin, bin.end_ns - bin.start_ns, Math.sqrt(bin.variance)]), ['Standard deviation: of durations.']);
}

export function sheetsOf(causes: Causes): Sheet[] {
	const { graph } = causes;
	const all = [graph && causeSheet(graph), graph && mainEffectSheet(graph), graph && edgeSheet(graph), graph && baselineSheet(graph), graph && undeterminedSheet(graph), kernelSheet(causes), binSheet(causes)];
	return all.filter((one) => one !== null);
}

/* ---- the strip of bins ---- */

export interface Strip {
	readonly most: number; /* greatest standard deviation */
	readonly columns: readonly (number | null)[]; /* of the steps that lie in it, the one that varies most; null: without launches */
}

/* The standard deviations by which bins are ranked, of each step. */
export function deviationsOf(overTime: OverTime): readonly (number | null)[] {
	return overTime.target_std ?? overTime.std_ns;
}

/* Where a step of so many lies among the pixels of a strip: from, and up to but not including. */
export function pixelsOf(step: number, steps: number, width: number): [from: number, to: number] {
	const from = Math.floor((step * width) / steps);
	return [from, Math.max(from + 1, Math.floor(((step + 1) * width) / steps))];
}

export function stripOf(overTime: OverTime, width: number): Strip {
	const deviations = deviationsOf(overTime);
	const columns: (number | null)[] = Array.from({ length: Math.max(1, width) }, () => null);
	let most = 0;
	deviations.forEach((deviation, step) => {
		if (deviation === null) return;
		most = Math.max(most, deviation);
		const [from, to] = pixelsOf(step, deviations.length, columns.length);
		for (let x = from; x < to; x++) {
			const before = columns[x];
			if (before === null || before === undefined || deviations[before]! < deviation) columns[x] = step;
		}
	});
	return { most, columns };
}

/* The step in which a bin lies. */
export function stepOf(overTime: OverTime, bin: TimeBin): number {
	return Math.floor((bin.start_ns + 0.5 * (bin.end_ns - bin.start_ns) - overTime.start_ns) / overTime.step_ns);
}
