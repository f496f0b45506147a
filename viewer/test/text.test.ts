/* SPDX-License-Identifier: Apache-2.0 */
/* Names, numbers and colours. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contrast, INK, LAYERS, layerColour, moduleColour, oklch } from '../src/logic/colour.ts';
import type { Rgb } from '../src/logic/colour.ts';
import { fit, lastComponent, spellings, withoutParameters, withoutTemplates } from '../src/logic/label.ts';
import { formatShare, formatTime, formatValue } from '../src/logic/units.ts';

const plain = (text: string): string => text.replace(/\u2009|\u202f|\u00a0/g, ' ');

test('parameters are dropped, names that hold parentheses are not', () => {
	for (const [name, short] of [
		['f(int, char const*) const', 'f'],
		['std::vector<int, std::allocator<int> >::push_back(int const&)', 'std::vector<int, std::allocator<int> >::push_back'],
		['(anonymous namespace)::run(int)', '(anonymous namespace)::run'],
		['a::(anonymous namespace)::run(int)', 'a::(anonymous namespace)::run'],
		['S::operator()(int) const', 'S::operator()'],
		['bool operator< <int>(int)', 'bool operator< <int>'],
		['main', 'main'],
		['run<void (int)>(int)', 'run<void (int)>'],
		['f()::{lambda(int)#1}::operator()(int) const', 'f()::{lambda(int)#1}::operator()'],
	] as const) assert.equal(withoutParameters(name), short);
});

test('template arguments are dropped', () => {
	assert.equal(withoutTemplates('std::vector<std::pair<int, int> >::size'), 'std::vector::size');
	assert.equal(withoutTemplates('S::operator->'), 'S::operator->');
	for (const name of ['<module>', 'main.<locals>.<lambda>', 'a::<impl T>::b']) assert.equal(withoutTemplates(name), name);
});

test('the last component of a name', () => {
	for (const [name, last] of [
		['at::native::addmm', 'addmm'],
		['void at::native::gemm', 'gemm'],
		['torch.nn.Linear.forward', 'forward'],
		['aten::mm', 'mm'],
		['<module>', '<module>'],
		['main.<locals>.<lambda>', '<lambda>'],
		['operator()', 'operator()'],
		['S::operator()', 'operator()'],
		['cblas_sgemm', 'cblas_sgemm'],
	] as const) assert.equal(lastComponent(name), last);
});

test('ever shorter spellings, then the end of the name', () => {
	const list = spellings('void at::native::gemm<float, long>(long, long)');
	assert.deepEqual(list, ['void at::native::gemm<float, long>(long, long)', 'void at::native::gemm<float, long>', 'void at::native::gemm', 'at::native::gemm', 'native::gemm', 'gemm']);
	assert.equal(spellings('at::_ops::conv2d::call(at::Tensor const&)').at(-2), 'conv2d::call');
	const measure = (text: string): number => text.length;
	assert.equal(fit(list, 100, measure), list[0]);
	assert.equal(fit(list, 25, measure), 'void at::native::gemm');
	assert.equal(fit(list, 4, measure), 'gemm');
	assert.equal(fit(['convolution_backward'], 9, measure), '…backward');
	assert.equal(fit(['convolution'], 2, measure), '');
	assert.deepEqual(spellings('loop at loop_shares.c:12'), ['loop at loop_shares.c:12', 'loop :12', ':12']);
	assert.deepEqual(spellings('main thread'), ['main thread']);
	assert.deepEqual(spellings('libtorch_cpu.so.1.13.0+0x2112a20'), ['libtorch_cpu.so.1.13.0+0x2112a20', '+0x2112a20']);
});

test('numbers carry a unit that suits their size', () => {
	for (const [ns, text] of [[0, '0 ns'], [999, '999 ns'], [1500, '1.50 µs'], [2.5e6, '2.50 ms'], [12.34e9, '12.3 s'], [999.9e6, '1.00 s'], [150e9, '2 min 30 s'], [7260e9, '2 h 1 min']] as const)
		assert.equal(plain(formatTime(ns)), text);
	assert.equal(plain(formatValue(1536, 'bytes')), '1.50 KiB');
	assert.equal(plain(formatValue(12, 'bytes')), '12 B');
	assert.equal(plain(formatValue(1234567, '1')), '1.23 M');
	assert.equal(plain(formatValue(12345, '1')), '12 345');
	assert.equal(plain(formatValue(2500, 'cycles')), '2.50 kcycles');
	assert.equal(plain(formatValue(0.755, 'ratio')), '75.5 %');
	assert.equal(plain(formatValue(2048, 'bytes/s')), '2.00 KiB/s');
	assert.equal(plain(formatValue(0.00123, '1')), '0.00123');
	assert.equal(plain(formatValue(NaN, 'ns')), '–');
});

test('shares are never rounded to nothing', () => {
	for (const [part, whole, text] of [[1, 3, '33.3 %'], [1, 1, '100 %'], [1, 1e9, '< 0.01 %'], [0, 5, '0 %'], [1, 500, '0.20 %'], [1, 0, '–']] as const)
		assert.equal(plain(formatShare(part, whole)), text);
});

test('text on every box has a contrast of 4.5 or more', () => {
	const inks: Record<string, Rgb> = {};
	for (const [theme, hex] of Object.entries(INK)) inks[theme] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb;
	for (const theme of ['light', 'dark'] as const) {
		for (let i = 0; i < 60; i++) {
			for (const { id } of LAYERS)
				for (const backward of [false, true]) assert.ok(contrast(layerColour(id, `f${i}`, theme, backward), inks[theme]!) >= 4.5, `${id} ${theme}`);
			assert.ok(contrast(moduleColour(`m${i}`, 'f', theme), inks[theme]!) >= 4.5);
		}
	}
});

test('OKLCH to sRGB at its known corners', () => {
	assert.deepEqual(oklch(1, 0, 0), [255, 255, 255]);
	assert.deepEqual(oklch(0, 0, 0), [0, 0, 0]);
	const red = oklch(0.6279554, 0.2576833, 29.2338812);
	assert.ok(Math.abs(red[0] - 255) <= 1 && red[1] <= 1 && red[2] <= 1);
});
