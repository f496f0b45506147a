/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of a page of causes: its tables, what belongs to a variable, bins, bands and brushes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Axis, Causes, Edge, Graph, OverTime, Parallel, TimeBin } from '../src/format/causal.ts';
import { decodeCauses } from '../src/format/causal.ts';
import { edgeName, factsOf, formatEffect, pixelsOf, relatedEdges, sheetsOf, stepOf, stripOf, topBins } from '../src/logic/causes.ts';
import { bandsOfAll, bandsOfBrush, binAt, brushBetween, brushText, darkness, densityOf, labelsOf, stretchOfBins, stretchOfBrush } from '../src/logic/parallel.ts';

const plain = (text: string): string => text.replace(/[\u2009\u202f\u00a0]/g, ' ');
const edge = (from: string, to: string, directed = true, share: number | null = 0.1): Edge =>
	({ from, to, directed, effect: 0.4, effect_low: 0.31, effect_high: 0.5, frequency: 0.97, share });
const graph: Graph = {
	target: null, causes: [],
	nodes: ['a', 'b', 'c', 'd', 'e'],
	edges: [edge('a', 'b'), edge('b', 'c', true, 0.5), edge('c', 'd'), edge('a', 'e'), edge('e', 'c', false, null)],
	undetermined: ['x', { from: 'a', to: 'b', directed: false, why: 'too few rows' }],
	baselines: { sort_by_variance: ['c', 'a'], r2_sort: [{ name: 'b', r2: 0.25 }], empty_graph: [], shd: 7, groups: { x: 1.5, y: ['p', 'q'] } },
};
const causes: Causes = { title: 't', sentences: [], graph, picture: '', kernels: [], unit: 'ns', bins: [], rankedBy: 'duration_ns', overTime: null, parallel: null };

test('a header is read with what is in it', () => {
	const open = (header: object) => decodeCauses({ header: { page: 'causal', title: 't', sentences: [], ...header } as never, data: new Uint8Array() });
	assert.deepEqual(open({}), { ...causes, graph: null });
	const numbered = { nodes: ['a', 'b'], edges: [{ ...edge('', ''), from: 1, to: 0 }] };
	assert.equal(open({ graph: numbered }).graph!.edges[0]!.from, 'b');
	assert.equal(open({ variability: { graph: numbered, kernels: [{ name: 'k' }] } }).graph!.edges[0]!.to, 'a');
	assert.equal(open({ graph: numbered, picture: '<svg/>', arrows: [1, 0] }).picture, '<svg/>');
	for (const arrows of [[0, 1], [1, 0, 0, 1], []]) assert.throws(() => open({ graph: numbered, picture: '<svg/>', arrows }), /not that of the graph/);
	assert.throws(() => open({ picture: '<svg/>', arrows: [] }), /not that of the graph/);
	assert.throws(() => open({ sentences: undefined }), /not whole/);
});

test('an edge tells its effect, interval, share and frequency', () => {
	assert.deepEqual(factsOf(graph.edges[1]!).map(([name, value]) => [name, plain(value)]),
		[['Effect', '+0.4'], ['95 % of the samples', '+0.31 to +0.5'], ['Explains of the variance', '50.0 %'], ['In samples', '97.0 %']]);
	assert.deepEqual(factsOf({ ...graph.edges[0]!, effect: null, effect_low: null, effect_high: null, share: null, frequency: null }), [['Effect', 'no sign']]);
	assert.deepEqual([0.123456, -2, 0].map(formatEffect), ['+0.123', '−2', '0']);
	assert.deepEqual([graph.edges[0]!, graph.edges[4]!].map(edgeName), ['a → b', 'e – c']);
});

test('a variable has the edges of its causes and effects, near and far', () => {
	const related = (node: number): number[] => [...relatedEdges(graph, node)].sort();
	assert.deepEqual(related(0), [0, 1, 2, 3]);
	assert.deepEqual(related(3), [0, 1, 2]);
	assert.deepEqual(related(2), [0, 1, 2, 4]);
	assert.deepEqual(related(4), [3, 4]);
	const round: Graph = { ...graph, edges: [edge('a', 'b'), edge('b', 'a')] };
	assert.deepEqual([...relatedEdges(round, 0)].sort(), [0, 1]);
});

test('tables: edges, baselines beside them, what is undetermined', () => {
	const [edges, baselines, undetermined] = sheetsOf(causes);
	assert.deepEqual(edges!.rows[1], ['b', '→', 'c', '+0.4', '+0.31 to +0.5', 0.5, 0.97]);
	assert.equal(edges!.rows[4]![1], '–');
	assert.deepEqual(baselines!.columns.map(({ head }) => head), ['this graph', 'sort by variance', 'r2 sort', 'empty graph', 'shd', 'groups']);
	assert.deepEqual(baselines!.rows.slice(0, 2), [['b → c', 'c', 'b (0.25)', 'none', '7', 'x (1.5)'], ['a → b', 'a', null, null, null, 'y: p, q']]);
	assert.deepEqual(undetermined!.rows, [['x'], ['a – b too few rows']]);
	const beside = { found: { edges: 3, same_pairs: 3, score: -90 }, empty: { edges: 0, same_pairs: 0, score: -100 } };
	const [, counted] = sheetsOf({ ...causes, graph: { ...causes.graph!, baselines: beside } });
	assert.deepEqual(counted!.columns.map(({ head }) => head), ['graph', 'edges', 'same pairs', 'score']);
	assert.deepEqual(counted!.rows, [['found', 3, 3, 10], ['empty', 0, 0, 0]]);
	const nothing = sheetsOf({ ...causes, graph: { target: null, causes: [], nodes: ['a'], edges: [], undetermined: [], baselines: {} } });
	assert.match(nothing[0]!.notes[0]!, /Nothing found/);
	assert.deepEqual(nothing[1]!.rows, [['none']]);
	assert.deepEqual(sheetsOf({ ...causes, graph: null }), []);
});

test('tables: what the target depends on', () => {
	const cause = { cause: 'a', effect: 0.8, effect_low: 0.7, effect_high: 0.9, frequency: 1, share: 0.6, adjusted: { change: 12.5, change_low: 11, change_high: 14 } };
	const text = { cause: 'kind', effect: null, effect_low: null, effect_high: null, frequency: 0.5, share: 0.1, adjusted: { change: null, change_low: null, change_high: null } };
	const [found] = sheetsOf({ ...causes, graph: { ...graph, target: 'time', causes: [cause, text] } });
	assert.equal(found!.title, 'what time depends on');
	assert.deepEqual(found!.rows, [['a', 0.6, '+0.8', '+0.7 to +0.9', '+12.5', '+11 to +14', 1], ['kind', 0.1, 'no sign', '', '', '', 0.5]]);
	assert.equal(found!.notes.length, 2);
	const inUnit = sheetsOf({ ...causes, graph: { ...graph, target: 'time_ns', target_unit: 'ns', causes: [{ ...cause, adjusted: { change: -12500, change_low: -14000, change_high: -11000 } }] } })[0]!;
	assert.deepEqual(inUnit.rows[0]!.slice(4, 6).map((cell) => String(cell).replace(/\s/g, ' ')), ['−12.5 µs', '−14.0 µs to −11.0 µs']);
	const older = sheetsOf({ ...causes, graph: { ...graph, target: 'time', causes: [{ ...cause, adjusted: null }] } })[0]!;
	assert.deepEqual([older.rows[0], older.notes.length], [['a', 0.6, '+0.8', '+0.7 to +0.9', 1], 1]);
});

test('tables: kernels by what the JSON has, first what says which one varies', () => {
	const [kernels] = sheetsOf({ ...causes, graph: null, kernels: [
		{ name: 'k', grid: [8, 1, 1], configuration: { grid: 8, block: [1, 2] }, min_ns: 1, count: 3, mean_ns: 5, cv: 0.5, p50: 2, places: [] }, { name: 'l', drift: 12, drift_significant: true }, { name: 'm', drift: 30, drift_significant: false }] });
	assert.deepEqual(kernels!.columns.map(({ key, unit, is_minor }) => `${key}:${unit}${is_minor ? ' minor' : ''}`),
		['name:', 'configuration:', 'count:count', 'mean_ns:ns', 'cv:ratio', 'p50:ns', 'drift:ratio', 'grid: minor', 'min_ns:ns minor', 'places: minor', 'drift_significant: minor']);
	assert.deepEqual(kernels!.rows.map((row) => row.slice(0, 7)), [['k', 'grid (8), block: 1, 2', 3, 5, 0.5, 2, null], ['l', null, null, null, null, null, 0.12], ['m', null, null, null, null, null, null]]);
	const [plain] = sheetsOf({ ...causes, graph: null, unit: '1', kernels: [{ name: 'k', mean_ns: 0.5 }] });
	assert.deepEqual(plain!.columns.map(({ unit }) => unit), ['', '1']);
});

test('an axis of few values is labelled by them', () => {
	const bins = Array.from({ length: 57 }, (_, i) => ({ low: 16 + 2 * i, high: 18 + 2 * i, rows: 1, group: i }));
	const axis: Axis = { name: 'NWG', unit: '1', scale: 'linear', group_count: 57, bins, values: [16, 32, 64, 128] };
	const labels = labelsOf(axis, 14);
	assert.deepEqual(labels.map(({ text }) => text), ['16', '32', '64', '128']);
	/* where lines meet them: in the middle of their bins */
	assert.deepEqual(labels.map(({ at }) => Math.round(at * 57 * 2)), [1, 17, 49, 113]);
	assert.equal(brushText(axis, [0, 8]), 'NWG: 16, 32');
	assert.deepEqual(labelsOf({ ...axis, values: undefined }, 14).map(({ text }) => text).slice(0, 2), ['16', '26']);
	const near = { ...axis, values: [16, 18, 22, 23, 128] };
	assert.deepEqual(labelsOf(near, 14).map(({ text }) => text), ['16', '22–23', '128']);
	const zero: Axis = { ...axis, bins: [{ name: '0 or less', rows: 3, group: 0 }, ...bins.map((bin) => ({ ...bin, group: bin.group + 1 }))] };
	assert.deepEqual(labelsOf(zero, 14).at(-1)!.text, '0 or less');
});

test('what was set from outside and is no cause has a table of its own', () => {
	const effectOf = (column: string, frequency: number) => ({ column, effect: 0.02, effect_low: -0.1, effect_high: 0.1, frequency, share: 0.001 });
	const cause = { cause: 'a', effect: 0.8, effect_low: 0.7, effect_high: 0.9, frequency: 1, share: 0.6, adjusted: null };
	const both = { ...graph, target: 'time', causes: [cause], main_effects: [effectOf('a', 1), effectOf('b', 0.1)] };
	const rest = sheetsOf({ ...causes, graph: both }).find(({ key }) => key === 'main_effects')!;
	assert.deepEqual(rest.rows, [['b', 0.001, '+0.02', '−0.1 to +0.1', 0.1]]);
	assert.equal(sheetsOf({ ...causes, graph: { ...both, main_effects: [effectOf('a', 1)] } }).find(({ key }) => key === 'main_effects'), undefined);
});

test('a strip keeps the step that varies most at each place', () => {
	const overTime: OverTime = { start_ns: 1000, bins: 200, bins_each: 2, step_ns: 10, std_ns: Array.from({ length: 100 }, (_, i) => (i === 57 ? 20 : i === 44 ? null : 2)) };
	const strip = stripOf(overTime, 10);
	assert.equal(strip.most, 20);
	assert.deepEqual(strip.columns.map((step) => overTime.std_ns[step!]), [2, 2, 2, 2, 2, 20, 2, 2, 2, 2]);
	const wide = stripOf(overTime, 1000);
	assert.deepEqual([wide.columns[569], wide.columns[570], wide.columns[579], wide.columns[580]], [56, 57, 57, 58]);
	assert.deepEqual([wide.columns[439], wide.columns[440], wide.columns[449], wide.columns[450]], [43, null, null, 45]);
	assert.equal(stripOf({ ...overTime, target_std: overTime.std_ns.map(() => 7) }, 10).most, 7);
});

test('a step has at least a pixel, and all of them have all pixels', () => {
	assert.deepEqual([pixelsOf(0, 3, 10), pixelsOf(1, 3, 10), pixelsOf(2, 3, 10)], [[0, 3], [3, 6], [6, 10]]);
	assert.deepEqual([pixelsOf(4, 10, 3), pixelsOf(9, 10, 3)], [[1, 2], [2, 3]]);
});

test('a bin lies in the step of its middle, and the first five are marked', () => {
	const overTime: OverTime = { start_ns: 1.7e18, bins: 4, bins_each: 2, step_ns: 20000, std_ns: [1, 1] };
	const bins: TimeBin[] = Array.from({ length: 6 }, (_, i) => ({ start_ns: 1.7e18 + i * 10000, end_ns: 1.7e18 + (i + 1) * 10000, variance: 4, rank: 6 - i }));
	assert.deepEqual(bins.map((bin) => stepOf(overTime, bin)), [0, 0, 1, 1, 2, 2]);
	assert.deepEqual(topBins(bins).map(({ rank }) => rank), [1, 2, 3, 4, 5]);
});

/* Four bins of numbers in two groups, three categories, numbers with 0 and missing. */
const numbers: Axis = { name: 'start', unit: 'ns', scale: 'linear', group_count: 2, bins: [0, 1, 2, 3].map((i) => ({ low: i, high: i + 1, rows: 1, group: i >> 1 })) };
const kinds: Axis = { name: 'kind', unit: '', scale: 'category', group_count: 3, bins: ['HtoD', 'DtoH', 'other'].map((name, i) => ({ name, rows: 1, group: i })) };
const sizes: Axis = {
	name: 'size', unit: 'bytes', scale: 'log', group_count: 3,
	bins: [{ name: '0 or less', rows: 1, group: 0 }, { low: 1, high: 2, rows: 1, group: 1 }, { low: 2, high: 4, rows: 1, group: 1 }, { name: 'missing', rows: 1, group: 2 }],
};
const parallel: Parallel = {
	rows: 10, axes: [numbers, kinds, sizes],
	pairs: [[0, 0, 3, 1, 0, 2, 3, 2, 5], [0, 0, 5, 2, 2, 4, 2, 3, 1]],
	cells: [0, 0, 0, 5, 1, 2, 1, 4, 1, 2, 2, 1],
};

test('bins stand on their axes, categories from the top', () => {
	assert.deepEqual(stretchOfBins(numbers, 1, 2), [0.25, 0.75]);
	assert.deepEqual(stretchOfBins(kinds, 0, 0), [2 / 3, 1]);
	assert.deepEqual([0, 0.3, 0.99, 1, 2, -1].map((at) => binAt(numbers, at)), [0, 1, 3, 3, 3, 0]);
	assert.deepEqual([0.1, 0.9].map((at) => binAt(kinds, at)), [2, 0]);
});

test('a brush takes whole groups, and its rows are counted', () => {
	assert.deepEqual(brushBetween(numbers, 0.3, 0.1), [0, 0]);
	assert.deepEqual(brushBetween(numbers, 0.3, 0.6), [0, 1]);
	assert.deepEqual(stretchOfBrush(numbers, [1, 1]), [0.5, 1]);
	const rowsOf = (...brushes: [number, [number, number]][]): number => bandsOfBrush(parallel, new Map(brushes)).rows;
	assert.equal(rowsOf([0, [1, 1]]), 5);
	assert.equal(rowsOf([2, [1, 1]]), 4);
	assert.equal(rowsOf([0, [1, 1]], [2, [2, 2]]), 1);
	assert.equal(rowsOf([1, [0, 1]]), 5);
	assert.equal(rowsOf([0, [0, 0]], [1, [2, 2]]), 0);
	const { bands } = bandsOfBrush(parallel, new Map([[1, [2, 2]]]));
	assert.deepEqual(bands.map((pair) => pair.map(({ rows }) => rows)), [[5], [4, 1]]);
	assert.deepEqual(bands[0]![0]!.left, [0.5, 1]);
	assert.deepEqual(bandsOfAll(parallel).map((pair) => pair.map(({ rows }) => rows)), [[3, 2, 5], [5, 4, 1]]);
});

test('a brush is told in words', () => {
	assert.equal(plain(brushText(numbers, [0, 0])), 'start: 0 ns to 2 ns');
	assert.equal(brushText(kinds, [0, 1]), 'kind: HtoD, DtoH');
	assert.equal(brushText(sizes, [0, 0]), 'size: 0 or less');
	assert.equal(plain(brushText(sizes, [1, 2])), 'size: 1 B to missing');
});

test('in each column of a density all rows are there once', () => {
	const [bands] = bandsOfAll(parallel);
	const [width, height] = [40, 90];
	const density = densityOf(bands!, width, height);
	for (let x = 0; x < width; x++) {
		let sum = 0;
		for (let y = 0; y < height; y++) sum += density[y * width + x]!;
		assert.ok(Math.abs(sum - 10) < 1e-3, `${x} ${sum}`);
	}
	/* bands of 3 and 2 rows begin in the lower half, that of 5 in the upper quarter */
	const left = Array.from({ length: height }, (_, y) => density[y * width]!);
	assert.ok(Math.abs(left.slice(0, 24).reduce((a, b) => a + b) - 5) < 0.2 && Math.abs(left.slice(44).reduce((a, b) => a + b) - 5) < 0.2);
	assert.deepEqual([0, 10, 1000].map((one) => Number(darkness(one, 1000).toFixed(9))), [0, 0.5, 1]);
	assert.ok(darkness(1e-9, 1000) > 0.05);
});

test('labels keep apart, names first', () => {
	const labels = labelsOf(sizes, 8);
	assert.deepEqual(labels.map(({ text }) => plain(text)), ['1 B', '2 B', '4 B', '0 or less', 'missing']);
	const fine: Axis = { ...numbers, bins: Array.from({ length: 64 }, (_, i) => ({ low: i, high: i + 1, rows: 1, group: i })) };
	const places = labelsOf(fine, 14).map(({ at }) => at).sort((a, b) => a - b);
	assert.ok(places.length > 8 && places.length <= 15 && places.at(-1) === 1);
	places.slice(1).forEach((at, i) => assert.ok(at - places[i]! > 0.04));
	assert.equal(labelsOf({ ...kinds, bins: Array.from({ length: 30 }, (_, i) => ({ name: `k${i}`, rows: 1, group: i })) }, 10).length, 10);
});
