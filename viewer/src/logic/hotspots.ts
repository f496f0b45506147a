/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flat tables: what each function, line, operator or kernel costs, wherever it is called from.
 *
 * Total counts a path once, however often the entry recurs on it. Own is the exclusive cost for
 * functions and source lines. For the user's own lines, Python lines and operators, which hand their
 * work to the code below them, own is the cost of the paths on which the entry is the innermost of
 * its category: the C code that a Python line runs is that line's.
 */
import type { Profile } from '../format/decode.ts';
import { isLoop, kindOf, layerOf } from './keys.ts';
import type { Keys } from './keys.ts';
import type { Weights } from './stats.ts';

export type Category = 'yours' | 'functions' | 'python' | 'operators' | 'gpu' | 'lines';

export const CATEGORIES: readonly { id: Category; label: string; own: string }[] = [
	{ id: 'yours', label: 'Your lines', own: 'Own: where this is the innermost line of your code, with all library code it runs' },
	{ id: 'functions', label: 'Functions', own: 'Own: in the function itself, without what it calls' },
	{ id: 'python', label: 'Python', own: 'Own: where this is the innermost Python line, with the native code it runs' },
	{ id: 'operators', label: 'Operators', own: 'Own: where this is the innermost operator, with the code it runs' },
	{ id: 'gpu', label: 'GPU', own: 'Own: of the kernel or copy itself' },
	{ id: 'lines', label: 'Lines', own: 'Own: at this line itself, without what it calls' },
];

export interface HotSpot {
	readonly key: number; /* of the category's granularity */
	readonly frame: number;
	readonly own: number;
	readonly total: number;
}

export function inCategory(profile: Profile, frame: number, category: Category): boolean {
	const layer = layerOf(profile, frame);
	/* What is measured in a loop belongs to the function, or the line in it, around the loop. */
	const inLoop = isLoop(profile, frame);
	switch (category) {
		case 'yours':
			return profile.frames.user[frame] === 1 && profile.frames.line[frame]! > 0 && !inLoop;
		case 'python':
			return kindOf(profile, frame) === 'python';
		case 'operators':
			return layer === 'operator';
		case 'gpu':
			return layer === 'gpu';
		case 'lines':
			return profile.frames.line[frame]! > 0 && !inLoop;
		case 'functions':
			return layer !== 'thread' && !inLoop;
	}
}

export function isByLine(category: Category): boolean {
	return category === 'yours' || category === 'python' || category === 'lines';
}

export function granularityOf(category: Category): 'function' | 'line' {
	return isByLine(category) ? 'line' : 'function';
}

/* Entries with a cost, most own cost first. `keys` has the category's granularity. */
export function hotSpots(profile: Profile, weights: Weights, keys: Keys, category: Category): HotSpot[] {
	const { count, frame, parent, end } = profile.contexts;
	const innermost = category === 'yours' || category === 'python' || category === 'operators';
	const member = new Uint8Array(profile.frames.count);
	for (let f = 0; f < member.length; f++) member[f] = inCategory(profile, f, category) ? 1 : 0;
	const own = new Float64Array(keys.count);
	const total = new Float64Array(keys.count);
	const openUntil = new Uint32Array(keys.count);
	const owner = new Int32Array(count).fill(-1);
	for (let c = 1; c < count; c++) {
		const f = frame[c]!;
		const key = keys.ofFrame[f]!;
		owner[c] = member[f] ? key : innermost || isLoop(profile, f) ? owner[parent[c]!]! : -1;
		if (owner[c]! >= 0) own[owner[c]!]! += weights.exclusive[c]!;
		if (member[f] && c >= openUntil[key]!) {
			total[key]! += weights.inclusive[c]!;
			openUntil[key] = end[c]!;
		}
	}
	const spots: HotSpot[] = [];
	for (let key = 0; key < keys.count; key++)
		if (total[key]! > 0) spots.push({ key, frame: keys.frame[key]!, own: own[key]!, total: total[key]! });
	return spots.sort((a, b) => b.own - a.own || b.total - a.total);
}

/* Exclusive weight of each layer. */
export function layerShares(profile: Profile, weights: Weights): Map<string, number> {
	const { count, frame } = profile.contexts;
	const shares = new Map<string, number>();
	for (let c = 0; c < count; c++) {
		const layer = layerOf(profile, frame[c]!);
		shares.set(layer, (shares.get(layer) ?? 0) + weights.exclusive[c]!);
	}
	return shares;
}
