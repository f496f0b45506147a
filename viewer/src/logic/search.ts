/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searching frames, and what share of the whole the found ones cover. A frame is found by its name
 * or by FILE:LINE, its own or of an operation that it computes. A plain query ignores case unless it contains a capital letter.
 */
import type { Profile } from '../format/decode.ts';
import type { Keys } from './keys.ts';
import type { Weights } from './stats.ts';

export type Matcher = (text: string) => boolean;

/* Throws a SyntaxError where a regular expression is not one. */
export function compileQuery(query: string, regex: boolean): Matcher | undefined {
	if (query === '') return undefined;
	const exact = /[A-Z]/.test(query);
	if (regex) {
		const pattern = new RegExp(query, exact ? 'u' : 'iu');
		return (text) => pattern.test(text);
	}
	if (exact) return (text) => text.includes(query);
	const lower = query.toLowerCase();
	return (text) => text.toLowerCase().includes(lower);
}

/* 1 for each frame that is found. */
export function matchFrames(profile: Profile, matcher: Matcher): Uint8Array {
	const { frames, strings } = profile;
	const found = new Uint8Array(frames.count);
	const names = new Map<number, boolean>();
	for (let f = 0; f < frames.count; f++) {
		const name = frames.name[f]!;
		let hit = names.get(name);
		if (hit === undefined) names.set(name, (hit = matcher(strings[name]!)));
		if (!hit && frames.file[f]! >= 0) hit = matcher(`${strings[frames.file[f]!]}:${frames.line[f]}`);
		if (!hit) hit = profile.operations.get(f)?.some(({ name, file, line }) => matcher(name) || (file !== '' && matcher(`${file}:${line}`)));
		found[f] = hit ? 1 : 0;
	}
	return found;
}

/* 1 for each key of which a frame is found. */
export function matchKeys(keys: Keys, frames: Uint8Array): Uint8Array {
	const found = new Uint8Array(keys.count);
	frames.forEach((hit, frame) => {
		if (hit) found[keys.ofFrame[frame]!] = 1;
	});
	return found;
}

/* Weight of all paths on which a found frame lies; a path counts once. */
export function matchedWeight(profile: Profile, weights: Weights, frames: Uint8Array): number {
	const { count, end, frame } = profile.contexts;
	let weight = 0;
	for (let c = 1; c < count; ) {
		if (frames[frame[c]!]) {
			weight += weights.inclusive[c]!;
			c = end[c]!;
		} else {
			c++;
		}
	}
	return weight;
}
