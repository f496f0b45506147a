/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel coordinates: where bins lie on their axes, what a brush holds, and which bands are drawn. */
import type { Axis, AxisBin, Parallel } from '../format/causal.ts';
import { formatValue } from './units.ts';

/* The groups that are brushed on an axis, first and last. */
export type Brush = readonly [first: number, last: number];
export type Brushes = ReadonlyMap<number, Brush>;

/* From 0, the lower end of an axis, to 1. */
export type Stretch = readonly [low: number, high: number];

export interface Band {
	readonly left: Stretch;
	readonly right: Stretch;
	readonly rows: number;
}

/* The most that a category is tall where lines meet it: else it would be a block. */
const TALLEST = 0.035;

/* All bins of an axis are equally tall; those of a category stand from the top, the most frequent first. */
export function stretchOfBins(axis: Axis, first: number, last: number): Stretch {
	const count = axis.bins.length;
	return axis.scale === 'category' ? [(count - 1 - last) / count, (count - first) / count] : [first / count, (last + 1) / count];
}

export function binsOfGroups(axis: Axis, first: number, last: number): readonly [first: number, last: number] {
	const of = axis.bins.flatMap(({ group }, i) => (group >= first && group <= last ? [i] : []));
	return [of[0] ?? 0, of.at(-1) ?? 0];
}

export function stretchOfBrush(axis: Axis, [first, last]: Brush): Stretch {
	return stretchOfBins(axis, ...binsOfGroups(axis, first, last));
}

export function binAt(axis: Axis, place: number): number {
	const count = axis.bins.length;
	const bin = Math.min(count - 1, Math.max(0, Math.floor(place * count)));
	return axis.scale === 'category' ? count - 1 - bin : bin;
}

/* The brush from one place of an axis to another: whole groups. */
export function brushBetween(axis: Axis, from: number, to: number): Brush {
	const [a, b] = [from, to].map((place) => axis.bins[binAt(axis, place)]!.group) as [number, number];
	return [Math.min(a, b), Math.max(a, b)];
}

/* Where lines meet a bin, in the middle of what it takes on the axis. */
function meeting(axis: Axis, first: number, last: number): Stretch {
	const [low, high] = stretchOfBins(axis, first, last);
	const isNamed = axis.bins[first]!.name !== undefined || (axis.values && first === last);
	const half = Math.min(high - low, isNamed ? TALLEST : 1) / 2;
	return [(low + high) / 2 - half, (low + high) / 2 + half];
}

/* For each two adjacent axes the bands between their bins, of all rows. */
export function bandsOfAll({ axes, pairs }: Parallel): Band[][] {
	return pairs.map((pair, i) => {
		const bands: Band[] = [];
		for (let at = 0; at < pair.length; at += 3)
			bands.push({ left: meeting(axes[i]!, pair[at]!, pair[at]!), right: meeting(axes[i + 1]!, pair[at + 1]!, pair[at + 1]!), rows: pair[at + 2]! });
		return bands;
	});
}

export interface Brushed {
	readonly rows: number;
	readonly bands: Band[][]; /* between groups */
}

/* The rows that all brushes hold. */
export function bandsOfBrush({ axes, cells }: Parallel, brushes: Brushes): Brushed {
	const step = axes.length + 1;
	const pairs = axes.slice(1).map(() => new Map<number, number>());
	let rows = 0;
	for (let at = 0; at < cells.length; at += step) {
		let isHeld = true;
		for (const [axis, [first, last]] of brushes) if (cells[at + axis]! < first || cells[at + axis]! > last) isHeld = false;
		if (!isHeld) continue;
		const count = cells[at + axes.length]!;
		rows += count;
		for (let i = 0; i < pairs.length; i++) {
			const key = cells[at + i]! * 256 + cells[at + i + 1]!;
			pairs[i]!.set(key, (pairs[i]!.get(key) ?? 0) + count);
		}
	}
	const meet = axes.map((axis) => Array.from({ length: axis.group_count }, (_, group) => meeting(axis, ...binsOfGroups(axis, group, group))));
	const bands = pairs.map((pair, i) => [...pair].map(([key, count]) => ({ left: meet[i]![key >> 8]!, right: meet[i + 1]![key & 255]!, rows: count })));
	return { rows, bands };
}

/* Between two axes that stand `width` apart, the rows at each point, row by row from the top of an axis that is
 * `height` tall. Each column holds every row once: a band is spread over what it is tall there. */
export function densityOf(bands: readonly Band[], width: number, height: number): Float32Array {
	const density = new Float32Array(width * height);
	for (const { left, right, rows } of bands) {
		for (let x = 0; x < width; x++) {
			const t = (x + 0.5) / width;
			const part = t * t * (3 - 2 * t);
			const top = (1 - (left[1] + (right[1] - left[1]) * part)) * height;
			const bottom = Math.max((1 - (left[0] + (right[0] - left[0]) * part)) * height, top + 1e-3);
			const each = rows / (bottom - top);
			for (let y = Math.max(0, Math.floor(top)); y < bottom && y < height; y++)
				density[y * width + x]! += each * (Math.min(bottom, y + 1) - Math.max(top, y));
		}
	}
	return density;
}

/* Densities that differ by this are told apart; less is as pale as can be seen, for rare rows are those of interest. */
const RANGE = 1e4;
const PALEST = 0.07;

/* How dark a density is drawn, from 0 to 1: by the logarithm. */
export function darkness(density: number, most: number): number {
	if (!(density > 0)) return 0;
	return Math.max(PALEST, 1 + Math.log(density / most) / Math.log(RANGE));
}

export interface AxisLabel {
	readonly at: number;
	readonly text: string;
}

const middleOf = (axis: Axis, bin: number): number => stretchOfBins(axis, bin, bin).reduce((sum, end) => sum + end / 2, 0);

/* The numbers that an axis has between two of its bins, if they are few. */
function valuesWithin(axis: Axis, first: AxisBin, last: AxisBin): readonly number[] {
	return (axis.values ?? []).filter((value) => first.low !== undefined && last.high !== undefined && value >= first.low && value < last.high);
}

/* The values themselves, where lines meet the bins that they are in; those that come too near to the one before give way. */
function labelsOfValues(axis: Axis, most: number): AxisLabel[] {
	const labels: AxisLabel[] = [];
	axis.bins.forEach((bin, i) => {
		const values = valuesWithin(axis, bin, bin);
		const at = middleOf(axis, i);
		if (values.length === 0 || labels.some((label) => Math.abs(label.at - at) <= 0.6 / most)) return;
		const ends = values.length > 1 ? [values[0]!, values.at(-1)!] : values;
		labels.push({ at, text: ends.map((value) => formatEdge(value, axis.unit)).join('–') });
	});
	return labels;
}

/* A label at bins of an axis, at most `most` of them. */
export function labelsOf(axis: Axis, most: number): AxisLabel[] {
	const middle = (i: number): number => middleOf(axis, i);
	const named = axis.bins.flatMap((bin, i) => (bin.name === undefined ? [] : [{ at: middle(i), text: bin.name }]));
	if (axis.scale === 'category') {
		const every = Math.ceil(named.length / most);
		return named.filter((_, i) => i % every === 0);
	}
	if (axis.values) return [...labelsOfValues(axis, most), ...named];
	const numbers = axis.bins.flatMap((bin, i) => (bin.low === undefined ? [] : [i]));
	const every = Math.max(1, Math.ceil(numbers.length / Math.max(1, most - named.length)));
	const labels = numbers.filter((_, k) => k % every === 0).map((i) => ({ at: stretchOfBins(axis, i, i)[0], text: formatEdge(axis.bins[i]!.low!, axis.unit) }));
	const last = numbers.at(-1);
	if (last !== undefined) labels.push({ at: stretchOfBins(axis, last, last)[1], text: formatEdge(axis.bins[last]!.high!, axis.unit) });
	/* names stand above all, then the end's label; one that comes too near gives way */
	const isFree = (label: AxisLabel, of: readonly AxisLabel[]): boolean => of.every(({ at }) => Math.abs(at - label.at) > 0.6 / most);
	const end = labels.slice(-1).filter((label) => isFree(label, named));
	return [...labels.slice(0, -1).filter((label) => isFree(label, [...named, ...end])), ...end, ...named];
}

/* Numbers that would round to nothing keep two digits. */
function formatEdge(value: number, unit: string): string {
	return value !== 0 && Math.abs(value) < 0.1 ? `${Number(value.toPrecision(2))}${unit.length > 1 ? ` ${unit}` : ''}` : formatValue(value, unit);
}

function nameOfBin(axis: Axis, bin: AxisBin, end: 'low' | 'high'): string {
	return bin.name ?? formatEdge(bin[end]!, axis.unit);
}

/* What a brush holds of an axis, in words. */
export function brushText(axis: Axis, brush: Brush): string {
	const [first, last] = binsOfGroups(axis, ...brush);
	const [a, b] = [axis.bins[first]!, axis.bins[last]!];
	if (axis.scale === 'category') return `${axis.name}: ${axis.bins.slice(first, last + 1).map(({ name }) => name).join(', ')}`;
	const values = valuesWithin(axis, a, b);
	if (values.length > 0) return `${axis.name}: ${values.map((value) => formatEdge(value, axis.unit)).join(', ')}`;
	if (a.name !== undefined && first === last) return `${axis.name}: ${a.name}`;
	return `${axis.name}: ${nameOfBin(axis, a, 'low')} to ${nameOfBin(axis, b, 'high')}`;
}
