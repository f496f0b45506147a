/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts: decoding, trees, statistics, search, tables, addresses. Known answers throughout. */
import assert from 'node:assert/strict';
import { deflateSync } from 'node:zlib';
import { test } from 'node:test';
import { decodeProfile, linkContexts, openPayload, unpack } from '../src/format/decode.ts';
import type { Formula, Profile, Step } from '../src/format/decode.ts';
import { formulaAt } from '../src/logic/formula.ts';
import { fromHash, toHash } from '../src/logic/hash.ts';
import { hotSpots, layerShares } from '../src/logic/hotspots.ts';
import { buildKeys } from '../src/logic/keys.ts';
import type { Granularity } from '../src/logic/keys.ts';
import { nameOf } from '../src/logic/label.ts';
import { hit, layOut } from '../src/logic/layout.ts';
import { lossesOf } from '../src/logic/losses.ts';
import { sourcesOf } from '../src/logic/sources.ts';
import { foundNodes, Model } from '../src/logic/model.ts';
import { between, shifted, viewOf, zoomedAt } from '../src/logic/motion.ts';
import { statsOf } from '../src/logic/node-stats.ts';
import { compileQuery, matchedWeight, matchFrames } from '../src/logic/search.ts';
import { deviationOf, lowerBound, meanOf, weigh } from '../src/logic/stats.ts';
import { foldLayers, ROOT, Tree } from '../src/logic/tree.ts';
import type { Direction } from '../src/logic/tree.ts';
import { INITIAL, Store } from '../src/store.ts';
import { encode } from './encode.ts';
import { compiled, deep, large, sampleOf } from './samples.ts';
import type { Node } from './samples.ts';

const decode = (bytes: Uint8Array): Profile => decodeProfile(openPayload(bytes));

const py = (name: string, line: number, children: Node[] = [], cpu: number[] = []): Node =>
	({ frame: { kind: 'python', name, file: '/app/a.py', line, functionLine: 1 }, children, values: { 'cpu-time': cpu } });
const native = (name: string, cpu: number[] = [], children: Node[] = []): Node =>
	({ frame: { kind: 'native', name, module: '/lib/libx.so' }, children, values: { 'cpu-time': cpu } });
const op = (name: string, children: Node[]): Node => ({ frame: { kind: 'operator', name }, children });

/*
 * main:10 ── f:3 ── op add ── work 10+20
 *         │      └─ work 4
 * main:12 ── f:3 ── work 6
 * rec:20 ── rec:20 ── rec:20 7      (recursion)
 */
function small(): Profile {
	return decode(encode(sampleOf({
		frame: { kind: 'unknown', name: '' },
		children: [
			py('main', 10, [py('f', 3, [op('add', [native('work', [10, 20])]), native('work', [4])])]),
			py('main', 12, [py('f', 3, [native('work', [6])])]),
			py('rec', 20, [py('rec', 20, [py('rec', 20, [], [7])])]),
		],
	}, ['cpu-time', 'page-faults'])));
}

function treeOf(profile: Profile, direction: Direction, granularity: Granularity = 'line', folded: string[] = []): Tree {
	const weights = weigh(profile, profile.metrics[0], 'sum');
	return new Tree(profile, buildKeys(profile, granularity), weights, foldLayers(profile, weights, new Set(folded)), direction);
}

/* "name=weight/own(children...)" */
function show(tree: Tree, node = ROOT): string {
	const { first, count } = tree.children(node);
	const inner = Array.from({ length: count }, (_, i) => show(tree, first + i)).join(' ');
	const name = node === ROOT ? 'All' : nameOf(tree.profile, tree.frameOf(node));
	return `${name}=${tree.weight[node]}/${tree.own[node]}${inner ? `(${inner})` : ''}`;
}

test('decode gives back what was encoded', () => {
	const sample = large(2000);
	const profile = decode(encode(sample));
	assert.equal(profile.contexts.count, 2000);
	sample.contexts.forEach(({ frame, depth }, c) => {
		assert.equal(profile.contexts.frame[c], frame);
		assert.equal(profile.contexts.depth[c], depth);
	});
	assert.deepEqual([...profile.metrics[0]!.contexts], sample.metrics[0]!.values.map((v) => v.context));
	assert.deepEqual([...profile.metrics[0]!.stats.sumSquares], sample.metrics[0]!.values.map((v) => v.sumSquares));
	assert.deepEqual([...profile.metrics[1]!.stats.max], sample.metrics[1]!.values.map((v) => v.max));
	const f = sample.frames[77]!;
	assert.equal(profile.strings[profile.frames.name[77]!], f.name);
	assert.equal(profile.frames.functionLine[77], f.functionLine ?? 0);
	assert.equal(profile.frames.module[77]! >= 0 ? profile.strings[profile.frames.module[77]!] : undefined, f.module);
});

test('varints reach beyond 32 bits', () => {
	const sum = 2 ** 52 + 12345;
	const profile = decode(encode(sampleOf(py('x', 1, [], [sum]), ['cpu-time'])));
	assert.equal(profile.metrics[0]!.stats.sum[0], sum);
});

test('pre-order contexts get parents and ends', () => {
	const linked = linkContexts(new Uint32Array(6), Uint32Array.from([0, 1, 2, 2, 1, 2]));
	assert.deepEqual([...linked.parent], [0, 0, 1, 1, 0, 4]);
	assert.deepEqual([...linked.end], [6, 4, 3, 4, 6, 6]);
	assert.throws(() => linkContexts(new Uint32Array(3), Uint32Array.from([0, 2, 1])), /pre-order/);
	assert.throws(() => linkContexts(new Uint32Array(2), Uint32Array.from([0, 0])), /pre-order/);
});

test('damaged data is refused with a reason', () => {
	const bytes = encode(large(100));
	assert.throws(() => decode(bytes.subarray(0, 10)), /no Sonde data/);
	assert.throws(() => decode(bytes.subarray(0, bytes.length - 3)), /cut short/);
	const newer = bytes.slice();
	newer[8] = 9;
	assert.throws(() => decode(newer), /version 9/);
});

test('unpack inflates base64, and takes plain data', async () => {
	const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
	assert.deepEqual(await unpack(`${deflateSync(bytes).toString('base64')}\n`, 'deflate'), bytes);
	assert.deepEqual(await unpack(Buffer.from(bytes).toString('base64'), 'none'), bytes);
	await assert.rejects(unpack('AAAA', 'brotli'), /unknown encoding/);
});

test('top-down by line, python lines and function', () => {
	const profile = small();
	const lines = 'main=34/0(f=34/0(add=30/0(work=30/30) work=4/4)) rec=7/0(rec=7/0(rec=7/7)) main=6/0(f=6/0(work=6/6))';
	assert.equal(show(treeOf(profile, 'top-down')), `All=47/0(${lines})`);
	assert.equal(show(treeOf(profile, 'top-down', 'python')), `All=47/0(${lines})`);
	assert.equal(show(treeOf(profile, 'top-down', 'function')),
		'All=47/0(main=40/0(f=40/0(add=30/0(work=30/30) work=10/10)) rec=7/0(rec=7/0(rec=7/7)))');
});

test('folding a layer moves its cost to the callers', () => {
	const profile = small();
	assert.equal(show(treeOf(profile, 'top-down', 'function', ['native'])),
		'All=47/0(main=40/0(f=40/10(add=30/30)) rec=7/0(rec=7/0(rec=7/7)))');
	assert.equal(show(treeOf(profile, 'top-down', 'function', ['python'])), 'All=47/7(add=30/0(work=30/30) work=10/10)');
	assert.equal(show(treeOf(profile, 'bottom-up', 'function', ['native', 'operator'])), 'All=47/0(f=40/40(main=40/0) rec=7/7(rec=7/0(rec=7/0)))');
});

test('bottom-up begins with the exclusive costs', () => {
	const tree = treeOf(small(), 'bottom-up');
	assert.equal(show(tree), 'All=47/0(work=40/40(add=30/0(f=30/0(main=30/0)) f=10/0(main=6/0 main=4/0)) rec=7/7(rec=7/0(rec=7/0)))');
});

test('bottom-up totals equal the flat exclusive sums of a large profile', () => {
	const profile = decode(encode(large(5000, 3)));
	const tree = treeOf(profile, 'bottom-up', 'function');
	const flat = new Map(hotSpots(profile, tree.weights, tree.keys, 'functions').filter((s) => s.own > 0).map((s) => [s.key, s.own]));
	const { first, count } = tree.children(ROOT);
	assert.equal(count, flat.size);
	for (let node = first; node < first + count; node++) assert.equal(tree.weight[node], flat.get(tree.key[node]!));
});

test('children are sorted, adjacent, and never wider than their parent', () => {
	for (const direction of ['top-down', 'bottom-up'] as const) {
		const tree = treeOf(decode(encode(large(3000, 5))), direction, 'function');
		for (let node = 0; node < Math.min(tree.size, 4000); node++) {
			const { first, count } = tree.children(node);
			let sum = 0;
			for (let child = first; child < first + count; child++) {
				assert.ok(child === first || tree.weight[child]! <= tree.weight[child - 1]!);
				assert.ok(Math.abs(tree.start[child]! - tree.start[node]! - sum / tree.total) < 1e-9);
				sum += tree.weight[child]!;
			}
			assert.ok(sum <= tree.weight[node]!);
		}
	}
});

test('a path of keys finds its node, or the deepest there is', () => {
	const tree = treeOf(small(), 'top-down');
	const { first } = tree.children(ROOT);
	const inner = tree.children(tree.children(first).first).first;
	assert.equal(tree.find(tree.pathOf(inner)), inner);
	assert.equal(tree.find([...tree.pathOf(first), 9999]), first);
	assert.deepEqual(tree.nodesTo(inner).length, 4);
});

test('statistics of a node, inclusive and exclusive', () => {
	const profile = small();
	const tree = treeOf(profile, 'top-down', 'function');
	const main = tree.children(ROOT).first;
	const { inclusive, exclusive } = statsOf(tree, main, profile.metrics[0]!);
	assert.deepEqual([inclusive.count, inclusive.sum, inclusive.min, inclusive.max], [4, 40, 4, 20]);
	assert.equal(meanOf(inclusive), 10);
	assert.ok(Math.abs(deviationOf(inclusive) - Math.sqrt(38)) < 1e-12); /* 10 20 4 6 around 10 */
	assert.equal(exclusive.count, 0);
	assert.equal(statsOf(tree, main, profile.metrics[1]!).inclusive.count, 0);
	const folded = treeOf(profile, 'top-down', 'function', ['native']);
	const f = folded.children(folded.children(ROOT).first).first;
	assert.deepEqual([statsOf(folded, f, profile.metrics[0]!).exclusive.sum, statsOf(folded, f, profile.metrics[0]!).inclusive.sum], [10, 40]);
	const up = treeOf(profile, 'bottom-up', 'function');
	assert.equal(statsOf(up, up.children(ROOT).first, profile.metrics[0]!).exclusive.sum, 40);
});

test('calls are counted where values contain each other', () => {
	const sample = sampleOf(py('main', 1, [{ frame: { kind: 'operator', name: 'aten::linear' }, values: { 'real-time': [4] },
		children: [{ frame: { kind: 'operator', name: 'aten::addmm' }, values: { 'real-time': [10, 12] } }] }]), ['real-time']);
	const [linear, addmm] = [sample.contexts.length - 2, sample.contexts.length - 1];
	sample.metrics[0]!.counts = 'calls';
	sample.metrics[0]!.calls = [
		{ context: linear, count: 1, sum: 26, min: 26, max: 26, sumSquares: 676 },
		{ context: addmm, count: 2, sum: 22, min: 10, max: 12, sumSquares: 244 }];
	const profile = decode(encode(sample));
	const tree = treeOf(profile, 'top-down', 'function');
	const outer = tree.children(ROOT).first;
	const { inclusive, counted } = statsOf(tree, outer, profile.metrics[0]!);
	assert.deepEqual([inclusive.sum, inclusive.count], [26, 3]);
	assert.deepEqual([counted.count, meanOf(counted), counted.min], [1, 26, 26]);
	assert.equal(statsOf(tree, ROOT, profile.metrics[0]!).counted.count, 0);
	const mean = { name: 'm', text: '', about: '', unit: 'ns', scale: 1, steps: [[0, 'place', 'mean']] } as unknown as Formula;
	assert.equal(formulaAt(tree, outer, mean, false), 26);
	assert.equal(formulaAt(tree, outer, mean, true), 4);
	assert.ok(Number.isNaN(formulaAt(tree, ROOT, mean, false)));
});

test('weights by count', () => {
	const profile = small();
	assert.equal(weigh(profile, profile.metrics[0], 'count').total, 5);
	assert.equal(weigh(profile, undefined, 'sum').total, 0);
});

test('hot spots: own, total, recursion once, innermost Python line', () => {
	const profile = small();
	const weights = weigh(profile, profile.metrics[0], 'sum');
	const table = (category: 'functions' | 'python' | 'operators', granularity: Granularity): string[] =>
		hotSpots(profile, weights, buildKeys(profile, granularity), category)
			.map((s) => `${nameOf(profile, s.frame)}:${profile.frames.line[s.frame]} ${s.own} ${s.total}`);
	assert.deepEqual(table('functions', 'function'), ['work:0 40 40', 'rec:20 7 7', 'main:10 0 40', 'f:3 0 40', 'add:0 0 30']);
	assert.deepEqual(table('python', 'line'), ['f:3 40 40', 'rec:20 7 7', 'main:10 0 34', 'main:12 0 6']);
	assert.deepEqual(table('operators', 'function'), ['add:0 30 30']);
	assert.deepEqual(Object.fromEntries(layerShares(profile, weights)), { other: 0, python: 7, operator: 0, native: 40 });
});

test('search: plain, with case, by file and line, by expression', () => {
	const profile = small();
	const weights = weigh(profile, profile.metrics[0], 'sum');
	const share = (query: string, regex = false): number =>
		matchedWeight(profile, weights, matchFrames(profile, compileQuery(query, regex)!));
	assert.equal(share('WORK'.toLowerCase()), 40);
	assert.equal(share('WORK'), 0);
	assert.equal(share('a.py:12'), 6);
	assert.equal(share('^(add|rec)$', true), 37);
	assert.equal(share('main'), 40);
	assert.equal(share('rec'), 7);
	assert.equal(compileQuery('', false), undefined);
	assert.throws(() => compileQuery('(', true), SyntaxError);
});

test('a computation is found by its operations', () => {
	const profile = decode(encode(compiled()));
	const weights = weigh(profile, profile.metrics[0], 'sum');
	const share = (query: string): number =>
		matchedWeight(profile, weights, matchFrames(profile, compileQuery(query, true)!));
	assert.deepEqual([...profile.operations.values()].map((list) => list.map(({ name, line }) => `${name} ${line}`)),
		[['sin 7', 'add 8', 'broadcast 0'], ['dot_general 9']]);
	assert.equal(share('^sin$'), 150e6);
	assert.equal(share('step.py:7$'), 150e6);
	assert.equal(share('^dot_general$'), 50e6);
	assert.equal(share('^cos$'), 0);
});

test('found nodes come heaviest first and not below one another', () => {
	const profile = small();
	const model = new Model(profile);
	const state = { ...INITIAL, query: 'main|f$|work', regex: true, granularity: 'line' as const };
	const tree = model.tree(state);
	const nodes = foundNodes(tree, model.found(state)!, true);
	assert.deepEqual(nodes.map((n) => tree.weight[n]), [34, 6]);
	assert.equal(model.queryError({ ...state, query: '(' }) === '', false);
	assert.equal(model.found({ ...state, query: '(' }), undefined);
});

test('what is kept is of the state that it was made for', () => {
	const profile = small();
	const model = new Model(profile);
	assert.notEqual(model.tree(INITIAL), model.tree({ ...INITIAL, folded: new Set(['python']) }));
	const found = (granularity: Granularity): number => model.found({ ...INITIAL, query: 'main', granularity })!.keys.length;
	assert.deepEqual([found('line'), found('function'), found('line')],
		(['line', 'function', 'line'] as const).map((granularity) => model.keys(granularity).count));
});

test('layout: visible boxes, remainders, and no cost lost from a row', () => {
	const tree = treeOf(decode(encode(large(20000, 9))), 'top-down', 'function');
	const layout = layOut(tree, { from: 0, to: 1 }, 1000, 2);
	assert.ok(layout.boxCount < 12000);
	const row = layout.rows[1]!;
	const sum = row.reduce((total, box) => total + box.weight, 0);
	assert.ok(Math.abs(sum - tree.total) <= tree.total * 2e-3 + tree.own[ROOT]!);
	for (const boxes of layout.rows) {
		boxes.forEach((box, i) => {
			assert.ok(box.rest > 0 || box.right - box.left >= 2);
			assert.ok(i === 0 || box.left >= boxes[i - 1]!.right - 1e-6);
		});
	}
	const box = row[0]!;
	assert.equal(hit(layout, 1, (box.left + box.right) / 2), box);
	assert.equal(hit(layout, 9999, 5), undefined);
	const zoomed = layOut(tree, viewOf(tree, box.node), 1000, 2);
	assert.ok(Math.abs(zoomed.rows[1]![0]!.right - zoomed.rows[1]![0]!.left - 1000) < 1e-6);
});

test('layout: what is left of a stretch is left out, what is narrow is one box, edges belong to the right', () => {
	const leaves = [50, 40, 3, 3, 2, 1, 1].map((weight, i) => native(`n${i}`, [weight]));
	const tree = treeOf(decode(encode(sampleOf(py('main', 1, leaves), ['cpu-time']))), 'top-down', 'function');
	const whole = layOut(tree, { from: 0, to: 1 }, 100, 2.5).rows[1]!;
	assert.deepEqual(whole.map((box) => [Math.round(box.left), Math.round(box.right), box.rest, box.weight]),
		[[0, 50, 0, 50], [50, 90, 0, 40], [90, 93, 0, 3], [93, 96, 0, 3], [96, 100, 3, 4]]);
	const layout = layOut(tree, { from: 0.6, to: 0.7 }, 100, 2.5);
	assert.deepEqual(layout.rows[1]!.map((box) => box.weight), [40]);
	const boxes = layOut(tree, { from: 0, to: 1 }, 1000, 1);
	assert.equal(hit(boxes, 1, boxes.rows[1]![0]!.right), boxes.rows[1]![1]);
	assert.equal(hit(boxes, 1, -1), undefined);
});

test('children of one weight come in the order of their names\u2019 first frames', () => {
	const tree = treeOf(decode(encode(sampleOf(py('main', 1, ['b', 'a', 'c'].map((name) => native(name, [5]))), ['cpu-time']))), 'top-down', 'function');
	const { first, count } = tree.children(ROOT);
	assert.deepEqual(Array.from({ length: count }, (_, i) => nameOf(tree.profile, tree.frameOf(first + i))), ['b', 'a', 'c']);
});

test('a stack of 50,000 frames is laid out and searched', () => {
	const profile = decode(encode(deep(50000)));
	const model = new Model(profile);
	const tree = model.tree(INITIAL);
	assert.equal(layOut(tree, { from: 0, to: 1 }, 1000, 2).rows.length, 50001);
	assert.equal(foundNodes(tree, model.found({ ...INITIAL, query: 'recurse' })!, true).length, 1);
});

test('an empty metric gives an empty layout', () => {
	const profile = small();
	const weights = weigh(profile, profile.metrics[1], 'sum');
	const tree = new Tree(profile, buildKeys(profile, 'line'), weights, foldLayers(profile, weights, new Set()), 'top-down');
	assert.equal(layOut(tree, { from: 0, to: 1 }, 1000, 2).boxCount, 0);
});

test('motion starts and ends exactly, and keeps to the way', () => {
	const a = { from: 0, to: 1 };
	const b = { from: 0.3, to: 0.3005 };
	for (const [t, view] of [[0, a], [1, b]] as const) {
		const at = between(a, b, t);
		assert.ok(Math.abs(at.from - view.from) < 1e-12 && Math.abs(at.to - view.to) < 1e-12);
	}
	const middle = between(a, b, 0.5);
	assert.ok(middle.from > 0 && middle.from < 0.3 && middle.to > 0.3005 && middle.to < 1);
	assert.ok(Math.abs((middle.to - middle.from) / Math.sqrt(b.to - b.from) - 1) < 1e-9); /* halfway by factors */
	assert.deepEqual(between(b, b, 0.5), b);
	assert.deepEqual(zoomedAt(a, 0.5, 0.5), { from: 0.25, to: 0.75 });
	assert.deepEqual(zoomedAt({ from: 0.9, to: 1 }, 1, 20), { from: 0, to: 1 });
	assert.deepEqual(shifted({ from: 0.5, to: 0.75 }, 4), { from: 0.75, to: 1 });
});

test('formulas are evaluated on what was merged for a node', () => {
	const profile = small();
	const tree = treeOf(profile, 'top-down', 'function');
	const of = (...steps: Step[]): Formula => ({ name: 'x', text: '', about: '', unit: '1', scale: 1, steps });
	const main = tree.children(ROOT).first; /* both lines of main: 10, 20, 4 and 6 */
	const at = (formula: Formula, node = main, exclusive = false): number => formulaAt(tree, node, formula, exclusive);
	const metric = (part: string, scope = 'place'): Step => [0, scope, part];
	const sum = metric('sum');
	for (const [formula, expected] of [
		[of(sum), 40], [of(metric('count')), 4], [of(metric('mean')), 10], [of(metric('min')), 4], [of(metric('max')), 20],
		[of(metric('dev')), Math.sqrt(38)], [of(sum, metric('count'), '/'), 10], [{ ...of(sum, 8, '/'), scale: 1000 }, 5000],
		[of(sum, 15, '-', 'negate', 'abs', 'sqrt'), 5], [of(sum, 0, '/'), NaN], [of(sum, 0, '/', 7, 'ifempty'), 7],
		[of(sum, 39, '>', 1, 2, 'if'), 1], [of(sum, 40, '>', 1, 2, 'if'), 2], [of(sum, 40, '>='), 1], [of(sum, 40, '<'), 0],
		[of(sum, 40, '<='), 1], [of(sum, 40, '='), 1], [of(sum, 40, '<>'), 0], [of(sum, null, '<'), NaN],
		[of(sum, 3, 'min'), 3], [of(sum, 3, 'max'), 40], [of(sum, 2, '^'), 1600], [of(sum, 0, '*', 'log'), NaN],
		[of(sum, 40, '/', 'exp', 'log'), 1], [of(metric('sum', 'exclusive')), NaN], [of([1, 'place', 'sum']), NaN],
		[of(sum, 0, '*', 7, 'ifempty'), 0], [of(sum, 0, '/', 0, '^'), NaN], [of(sum, -1, '*', 1, 2, 'if'), 1],
	] as const) assert.equal(at(formula), expected, JSON.stringify(formula.steps));
	assert.equal(at(of(sum), main, true), NaN); /* main itself has no value */
	assert.equal(at(of(metric('sum', 'inclusive')), main, true), 40);
	assert.equal(at({ ...of(sum), steps: null }), NaN);
	assert.throws(() => at(of(sum, 'sinh-of-two', 'x')), /unknown to this page/);
});

test('an address keeps the state', () => {
	const formula = { name: 'mean_time', text: '', about: '', unit: 'ns', scale: 1, steps: [1] };
	const profile = { metrics: small().metrics, formulas: [{ ...formula, name: 'cv', steps: null }, formula] };
	const state = {
		...INITIAL, metric: 1, formula: 1, direction: 'bottom-up' as const, query: 'a&b=c', regex: true, zoom: [1, 40, 3],
		folded: new Set(['native', 'os']), category: 'python' as const,
	};
	const restored = { ...INITIAL, ...fromHash(`#${toHash(state, INITIAL, profile)}`, INITIAL, profile) };
	assert.deepEqual(restored, state);
	assert.equal(toHash(INITIAL, INITIAL, profile), '');
	assert.deepEqual({ ...INITIAL, ...fromHash('#metric=nonsense&zoom=*&view=sideways', INITIAL, profile) }, INITIAL);
	assert.equal(fromHash('#formula=cv', INITIAL, profile).formula, -1); /* cannot be shown */
	const first = { ...INITIAL, formula: 1 };
	assert.equal(fromHash(`#${toHash(INITIAL, first, profile)}`, first, profile).formula, -1);
	assert.equal(fromHash(`#${toHash({ ...first, metric: 1 }, first, profile)}`, first, profile).formula, 1);
});

test('the store tells what changed, and only then', () => {
	const store = new Store(INITIAL);
	const seen: string[] = [];
	store.subscribe((_state, changed) => seen.push([...changed].join()));
	store.update({ query: 'x', metric: 0 });
	store.update({ query: 'x' });
	store.update({ metric: 1, query: '' });
	assert.deepEqual(seen, ['query', 'metric,query']);
});

test('the files are listed that the page has lines of', () => {
	const line = (file: string, number: number, source: string | undefined, children: Node[] = []): Node =>
		({ frame: { kind: 'python', name: 'f', file, line: number, functionLine: 1, user: true, ...(source ? { source } : {}) }, children, values: { 'cpu-time': [5] } });
	const profile = decode(encode(sampleOf(line('/app/b.py', 3, 'x = 1', [line('/app/a.py', 4, 'y = 2'), line('/app/b.py', 5, 'z = 3'), line('/app/c.py', 6, undefined)]), ['cpu-time'])));
	assert.deepEqual(sourcesOf(profile), [['/app/a.py', 1], ['/app/b.py', 2]]);
	assert.deepEqual(sourcesOf(decode(encode(sampleOf(py('x', 1, [], [5]), ['cpu-time'])))), []);
});

test('losses are put against the samples', () => {
	const profile = decode(encode(sampleOf(py('x', 1, [], [5]), ['cpu-time'], {
		drops: [{ cause: 'a', text: 'A', count: 24 }, { cause: 'b', text: 'B', count: 0 }],
	})));
	const losses = lossesOf(profile);
	assert.equal(losses.drops.length, 1);
	assert.equal(losses.share, 24 / 2424);
	const several = [1, 7, 3].map((count) => ({ cause: `c${count}`, text: '', count }));
	const sorted = lossesOf(decode(encode(sampleOf(py('x', 1, [], [5]), ['cpu-time'], { drops: several }))));
	assert.deepEqual(sorted.drops.map((drop) => drop.count), [7, 3, 1]);
	assert.equal(losses.why, '');
});

test('why a measurement is incomplete is said as the database says it', () => {
	const whyOf = (properties: Record<string, string>): string =>
		lossesOf(decode(encode(sampleOf(py('x', 1, [], [5]), ['cpu-time'], { properties })))).why;
	assert.equal(whyOf({ complete: 'false', incomplete: 'a part was not measured' }), 'a part was not measured');
	assert.equal(whyOf({ complete: 'false' }), 'it is not known why');
	assert.equal(whyOf({ complete: 'true', incomplete: 'stale' }), '');
	assert.equal(whyOf({}), '');
});

test('lower bound', () => {
	assert.deepEqual([0, 1, 2, 5, 6].map((value) => lowerBound([1, 2, 5], value)), [0, 0, 1, 2, 3]);
});

test('the user\u2019s lines own the library code below them', () => {
	const own = (name: string, line: number, children: Node[], cpu: number[] = []): Node =>
		({ frame: { kind: 'python', name, file: '/home/a.py', line, functionLine: 1, user: true, source: `${name}()` }, children, values: { 'cpu-time': cpu } });
	const profile = decode(encode(sampleOf(own('main', 9, [own('step', 4, [py('lib', 1, [native('work', [50])])], [1]), native('work', [3])]), ['cpu-time'])));
	/* The root stands for everything: only what lies below it is a line. */
	const spots = hotSpots(profile, weigh(profile, profile.metrics[0], 'sum'), buildKeys(profile, 'line'), 'yours');
	assert.deepEqual(spots.map((s) => [nameOf(profile, s.frame), s.own, s.total]), [['step', 51, 51]]);
	assert.equal(profile.strings[profile.frames.source[spots[0]!.frame]!], 'step()');
});

test('a loop is of the function around it, and no line of its own', () => {
	const loop: Node = { frame: { kind: 'loop', name: 'loop at a.c:7', module: '/lib/libx.so', file: '/home/a.c', line: 7, user: true }, children: [native('leaf', [3])], values: { 'cpu-time': [40] } };
	const around: Node = { frame: { kind: 'native', name: 'f', module: '/lib/libx.so', file: '/home/a.c', line: 5, user: true }, children: [loop], values: { 'cpu-time': [2] } };
	const profile = decode(encode(sampleOf(py('main', 1, [around]), ['cpu-time'])));
	const weights = weigh(profile, profile.metrics[0], 'sum');
	const of = (category: 'functions' | 'yours' | 'lines', granularity: Granularity): [string, number, number][] =>
		hotSpots(profile, weights, buildKeys(profile, granularity), category).map((s) => [nameOf(profile, s.frame), s.own, s.total]);
	assert.deepEqual(of('functions', 'function'), [['f', 42, 45], ['leaf', 3, 3]]);
	assert.deepEqual(of('yours', 'line'), [['f', 45, 45]]);
	assert.deepEqual(of('lines', 'line'), [['f', 42, 45]]);
});

test('functions of one name are told apart by where they begin, cut paths from whole ones', () => {
	const f = (functionLine: number, flags: number): Node =>
		({ frame: { kind: 'python', name: 'f', file: '/a.py', line: 9, functionLine, flags }, values: { 'cpu-time': [1] } });
	const profile = decode(encode(sampleOf(py('main', 1, [f(3, 0), f(8, 0), f(3, 4)]), ['cpu-time'])));
	assert.equal(buildKeys(profile, 'function').count, 4);
});

test('the root of a bottom-up tree has all there is', () => {
	const tree = treeOf(small(), 'bottom-up', 'function');
	const { inclusive, exclusive } = statsOf(tree, ROOT, tree.profile.metrics[0]!);
	assert.equal(inclusive.sum, tree.total);
	assert.equal(exclusive.sum, 0);
});
