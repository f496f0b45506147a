/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of a timeline's page: cells, sorting, searching, and what lies where in the picture. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPayload } from '../src/format/decode.ts';
import { decodeTimeline } from '../src/format/timeline.ts';
import type { Picture, Sheet } from '../src/format/timeline.ts';
import { barOf, formatCell, nextSort, partsOf, rowsFound, rowsShown } from '../src/logic/sheet.ts';
import { boxAtPoint, boxBeside, boxFrom, layOutTracks, namesOf, ROW, stretchOf, ticksOf, TOP } from '../src/logic/tracks.ts';

const plain = (text: string): string => text.replace(/[\u2009\u202f\u00a0]/g, ' ');
const column = (unit: string, key = 'x') => ({ key, head: key, unit });

const sheet: Sheet = {
	key: 'waits', title: 'waits', shape: 'table', is_whole: false, row_count: 4, left_out: 0, notes: [],
	columns: [column('', 'device'), column('ns', 'time'), column('ratio', 'share')],
	rows: [['gpu 0', 5, 0.5], ['Gpu 1', null, 0.1], ['host', 7, 1.5], ['gpu 10', 5, 0]],
};

test('cells read as their units say', () => {
	const cases: [string, number | string | null, string][] = [
		['ns', 1234567, '1.23 ms'], ['bytes', 2048, '2.00 KiB'], ['bytes/s', 1048576, '1.00 MiB/s'], ['count', 12345, '12 345'],
		['count', 2.5, '2.50'], ['1', 0.25, '0.25'], ['ratio', 0.421, '42.1 %'], ['ratio', 0, '0 %'], ['ratio', 2.5, '250 %'], ['ratio', -0.1, '−10.0 %'],
		['', 'a < b', 'a < b'], ['ns', null, ''],
	];
	for (const [unit, cell, text] of cases) assert.equal(plain(formatCell(column(unit), cell)), text, `${unit} ${cell}`);
	assert.deepEqual([0.25, 1.5, -1].map((share) => barOf(column('ratio'), share)), [0.25, 1, 0]);
	assert.ok(Number.isNaN(barOf(column('ns'), 5)) && Number.isNaN(barOf(column('ratio'), null)));
});

test('rows are found by their texts, and sorted with what is empty last', () => {
	assert.deepEqual(rowsFound(sheet, '', undefined), [0, 1, 2, 3]);
	assert.deepEqual(rowsFound(sheet, 'GPU', undefined), [0, 1, 3]);
	assert.deepEqual(rowsFound(sheet, '', { column: 1, descending: true }), [2, 0, 3, 1]);
	assert.deepEqual(rowsFound(sheet, '', { column: 1, descending: false }), [0, 3, 2, 1]);
	assert.deepEqual(rowsFound(sheet, 'gpu', { column: 2, descending: false }), [3, 1, 0]);
	assert.deepEqual(rowsFound(sheet, 'none', undefined), []);
});

test('a head sorts by it, then the other way round, then no more', () => {
	const orders = (column: number): unknown[] => {
		const first = nextSort(sheet.columns, undefined, column);
		const second = nextSort(sheet.columns, first, column);
		return [first, second, nextSort(sheet.columns, second, column)];
	};
	assert.deepEqual(orders(1), [{ column: 1, descending: true }, { column: 1, descending: false }, undefined]);
	assert.deepEqual(orders(0), [{ column: 0, descending: false }, { column: 0, descending: true }, undefined]);
	assert.deepEqual(nextSort(sheet.columns, { column: 0, descending: true }, 2), { column: 2, descending: true });
});

test('first rows first, unless few more would be left', () => {
	assert.deepEqual([15, 18, 19, 400].map((found) => rowsShown(sheet, found, false)), [15, 18, 15, 15]);
	assert.equal(rowsShown(sheet, 400, true), 400);
	assert.equal(rowsShown({ ...sheet, is_whole: true }, 60, false), 60);
});

test('a sentence is told apart from what it answers', () => {
	assert.deepEqual(partsOf('Where the time goes: of 402 us, all.'), ['Where the time goes', 'Of 402 µs, all.']);
	assert.deepEqual(partsOf('Which node to change: aten::mm is it.'), ['Which node to change', 'aten::mm is it.']);
	assert.deepEqual(partsOf('aten::mm is it.'), ['', 'aten::mm is it.']);
});

/* Two tracks of one thread and one of a stream: boxes of columns 0..9, 20..29; none; 5..94. */
const picture: Picture = {
	length_ns: 1000, columns: 100, left_out: 0,
	frames: [{ name: 'f', full: 'f', layer: 'native', backward: false }],
	tracks: [{ name: 'thread', boxes: [0, 10, 0, 100, 20, 30, 0, 50] }, { name: '', boxes: [] }, { name: 'stream', boxes: [5, 95, 0, 100] }],
};

test('boxes lie where they are drawn, beside names or below them', () => {
	const wide = layOutTracks(picture, 1200);
	assert.deepEqual([wide.left, wide.width, wide.rows.map(({ top }) => top)], [200, 1000, [TOP, TOP + ROW, TOP + 2 * ROW + 6]]);
	const at = (x: number, y: number) => boxAtPoint(picture, wide, x, y);
	assert.deepEqual(at(200, TOP), { track: 0, box: 0 });
	assert.deepEqual(at(200 + 299, TOP + ROW - 1), { track: 0, box: 1 });
	assert.equal(at(200 + 150, TOP), null);
	assert.equal(at(199, TOP), null);
	assert.equal(at(200, TOP + ROW), null);
	assert.deepEqual(at(200 + 500, TOP + 2 * ROW + 6), { track: 2, box: 0 });
	const narrow = layOutTracks(picture, 360);
	assert.equal(narrow.left, 0);
	assert.ok(narrow.rows[0]!.top > narrow.rows[0]!.nameTop && narrow.height > wide.height);
	assert.equal(boxFrom(picture.tracks[0]!, 10), 1);
	assert.equal(boxFrom(picture.tracks[0]!, 30), 2);
});

test('names of boxes get shorter as people read them', () => {
	const names = (layer: string, name: string) => namesOf({ name, full: name, layer, backward: false });
	assert.deepEqual(names('python', 'model.py:12 Net.forward'), ['model.py:12 Net.forward', 'Net.forward']);
	assert.deepEqual(names('region', 'nn.Module: Net_0'), ['nn.Module: Net_0']);
	assert.equal(names('gpu', 'void at::native::gemm<float>(int)').at(-1), 'gemm');
});

test('arrow keys lead from box to box, over empty rows', () => {
	const go = (at: Parameters<typeof boxBeside>[1], key: string) => boxBeside(picture, at, `Arrow${key}`);
	assert.deepEqual(go(null, 'Down'), { track: 0, box: 0 });
	assert.deepEqual(go({ track: 0, box: 0 }, 'Right'), { track: 0, box: 1 });
	assert.deepEqual(go({ track: 0, box: 1 }, 'Right'), { track: 0, box: 1 });
	assert.deepEqual(go({ track: 0, box: 1 }, 'Down'), { track: 2, box: 0 });
	assert.deepEqual(go({ track: 2, box: 0 }, 'Down'), { track: 2, box: 0 });
	assert.deepEqual(go({ track: 2, box: 0 }, 'Up'), { track: 0, box: 0 });
	assert.equal(boxBeside({ ...picture, tracks: [] }, null, 'ArrowDown'), null);
});

test('boxes of one frame that touch are one stretch', () => {
	const track = { name: '', boxes: [0, 1, 0, 10, 1, 9, 0, 100, 9, 10, 0, 50, 10, 20, 1, 100, 30, 31, 1, 100] };
	const of = (box: number) => {
		const { first, end, busyColumns, firstBox, endBox } = stretchOf(track, box);
		return [first, end, busyColumns, firstBox, endBox];
	};
	for (const box of [0, 1, 2]) assert.deepEqual(of(box), [0, 10, 8.6, 0, 3]);
	assert.deepEqual(of(3), [10, 20, 10, 3, 4]);
	assert.deepEqual(of(4), [30, 31, 1, 4, 5]);
	assert.deepEqual(boxBeside({ ...picture, tracks: [track] }, { track: 0, box: 1 }, 'ArrowRight'), { track: 0, box: 3 });
	assert.deepEqual(boxBeside({ ...picture, tracks: [track] }, { track: 0, box: 3 }, 'ArrowLeft'), { track: 0, box: 2 });
});

test('times stand at round distances', () => {
	assert.deepEqual(ticksOf(1000, 800), [0, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]);
	assert.deepEqual(ticksOf(8.4e6, 320), [0, 2.5e6, 5e6, 7.5e6]);
	assert.deepEqual(ticksOf(0, 320), []);
});

test('data that is not whole is refused', () => {
	const payload = (header: object): Uint8Array => {
		const text = new TextEncoder().encode(JSON.stringify(header));
		const bytes = new Uint8Array(Math.ceil((16 + text.length) / 8) * 8);
		bytes.set(new TextEncoder().encode('SONDEHTM\u0001\u0000\u0002\u0000'));
		new DataView(bytes.buffer).setUint32(12, text.length, true);
		bytes.set(text, 16);
		return bytes;
	};
	assert.throws(() => decodeTimeline(openPayload(payload({ page: 'timeline', sheets: [] }))), /not whole/);
	assert.equal(decodeTimeline(openPayload(payload({ page: 'timeline', sheets: [sheet], picture }))).sheets[0]!.key, 'waits');
});
