/* SPDX-License-Identifier: Apache-2.0 */
/* Which source files the page holds lines of: whoever passes it on should know. */
import type { Profile } from '../format/decode.ts';

/* Their paths in order, and how many lines there are of each. */
export function sourcesOf(profile: Profile): [file: string, lines: number][] {
	const { count, file, line, source } = profile.frames;
	const lines = new Map<string, Set<number>>();
	for (let frame = 0; frame < count; frame++) {
		if (source[frame]! < 0) continue;
		const name = file[frame]! >= 0 ? profile.strings[file[frame]!]! : '';
		const known = lines.get(name) ?? new Set();
		lines.set(name, known.add(line[frame]!));
	}
	return [...lines].map(([name, known]): [string, number] => [name, known.size])
		.sort(([a], [b]) => (a < b ? -1 : 1));
}
