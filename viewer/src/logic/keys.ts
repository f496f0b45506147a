/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counts as "the same" frame. Databases tell frames apart down to the instruction; people think
 * in functions or lines. A key stands for all frames that one granularity does not tell apart.
 */
import type { Profile } from '../format/decode.ts';

/* python: Python by line, everything else by function. */
export type Granularity = 'function' | 'python' | 'line';

export const FLAG_BACKWARD = 8;
export const FLAG_ITERATION = 16;
const FLAG_TRUNCATED = 4;
const TOLD_APART = FLAG_BACKWARD | FLAG_ITERATION | FLAG_TRUNCATED;

export interface Keys {
	readonly granularity: Granularity;
	readonly count: number;
	readonly ofFrame: Uint32Array;
	readonly frame: Uint32Array; /* a frame of each key, for its names */
}

export function isBackward(profile: Profile, frame: number): boolean {
	return (profile.frames.flags[frame]! & FLAG_BACKWARD) !== 0;
}

export function layerOf(profile: Profile, frame: number): string {
	return profile.kinds[profile.frames.kind[frame]!]?.layer ?? 'other';
}

export function kindOf(profile: Profile, frame: number): string {
	return profile.kinds[profile.frames.kind[frame]!]?.name ?? 'unknown';
}

export function isLoop(profile: Profile, frame: number): boolean {
	const kind = kindOf(profile, frame);
	return kind === 'loop' || kind === 'gpu-loop';
}

/* Whether a granularity tells this frame's lines apart. */
export function byLine(profile: Profile, frame: number, granularity: Granularity): boolean {
	return granularity === 'line' || (granularity === 'python' && kindOf(profile, frame) === 'python');
}

export function buildKeys(profile: Profile, granularity: Granularity): Keys {
	const { frames } = profile;
	const known = new Map<string, number>();
	const ofFrame = new Uint32Array(frames.count);
	const first: number[] = [];
	for (let f = 0; f < frames.count; f++) {
		/* Machine code is named by its module: its file may be that of an inlined header. */
		const place = frames.module[f]! >= 0 ? `m${frames.module[f]}` : `f${frames.file[f]}`;
		const line = byLine(profile, f, granularity) ? `:${frames.file[f]}:${frames.line[f]}` : '';
		const identity =
			`${frames.kind[f]},${frames.flags[f]! & TOLD_APART},${frames.name[f]},` +
			`${frames.functionLine[f]},${place}${line}`;
		let key = known.get(identity);
		if (key === undefined) {
			key = first.length;
			known.set(identity, key);
			first.push(f);
		}
		ofFrame[f] = key;
	}
	return { granularity, count: first.length, ofFrame, frame: Uint32Array.from(first) };
}
