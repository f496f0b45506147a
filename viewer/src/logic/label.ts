/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of frames in little space. What tells functions apart stands at the end of their names, so
 * parameters, template arguments and namespaces are given up first, in that order, then the front.
 */
import type { Profile } from '../format/decode.ts';
import { byLine, FLAG_BACKWARD, FLAG_ITERATION, isLoop, kindOf } from './keys.ts';
import type { Granularity } from './keys.ts';

export type MeasureText = (text: string) => number;

export function baseName(path: string): string {
	return path.slice(path.lastIndexOf('/') + 1);
}

/* The name as the program spells it. */
export function nameOf(profile: Profile, frame: number): string {
	const { frames, strings } = profile;
	const name = strings[frames.name[frame]!];
	if (name) return name;
	return kindOf(profile, frame) === 'unknown' ? 'All' : `[${kindOf(profile, frame)}]`;
}

export function fileOf(profile: Profile, frame: number): string {
	const file = profile.frames.file[frame]!;
	return file >= 0 ? profile.strings[file]! : '';
}

export function moduleOf(profile: Profile, frame: number): string {
	const module = profile.frames.module[frame]!;
	return module >= 0 ? profile.strings[module]! : '';
}

/* The text of the frame's line, where the page has it. */
export function sourceOf(profile: Profile, frame: number): string {
	const source = profile.frames.source[frame]!;
	return source >= 0 ? profile.strings[source]! : '';
}

/* FILE:LINE at line granularity and of a graph's node, which has one line; FILE:FUNCTION_LINE else; '' where the file is unknown. */
export function placeOf(profile: Profile, frame: number, granularity: Granularity, full = false): string {
	const file = fileOf(profile, frame);
	if (!file) return '';
	const { line, functionLine } = profile.frames;
	const hasLine = byLine(profile, frame, granularity) || kindOf(profile, frame) === 'graph-node';
	const shown = hasLine ? line[frame]! : functionLine[frame]!;
	return (full ? file : baseName(file)) + (shown > 0 ? `:${shown}` : '');
}

export function markOf(profile: Profile, frame: number): string {
	const flags = profile.frames.flags[frame]!;
	const kind = kindOf(profile, frame);
	if (flags & FLAG_BACKWARD) return 'backward';
	if (flags & FLAG_ITERATION) return 'iteration';
	return kind === 'inlined' || kind === 'loop' ? kind : '';
}

/* The end of the bracket that opens at `at`, or the text's length. */
function closing(text: string, at: number, open: string, close: string): number {
	let depth = 0;
	for (let i = at; i < text.length; i++) {
		if (text[i] === open) depth++;
		else if (text[i] === close && text[i - 1] !== '-' && --depth === 0) return i;
	}
	return text.length;
}

/* Not "operator<", "operator->", "operator()": those brackets are the name. */
function isOperatorName(text: string, at: number): boolean {
	return /\boperator[<>=\-]*$/.test(text.slice(Math.max(0, at - 12), at));
}

/* Brackets that follow a name only: not Python's "f.<locals>", not Rust's "<impl T>::f". */
function withoutBrackets(text: string, open: string, close: string, put: string): string {
	let out = '';
	for (let i = 0; i < text.length; i++) {
		if (text[i] !== open || !/[\w\s]/.test(text[i - 1] ?? '') || isOperatorName(text, i)) {
			out += text[i];
			continue;
		}
		i = closing(text, i, open, close);
		out += put;
	}
	return out;
}

/* "f(int) const" to "f"; "(anonymous namespace)::f" and "operator()" stay. */
export function withoutParameters(name: string): string {
	for (let i = 1; i < name.length; i++) {
		if (name[i] === '<' && !isOperatorName(name, i)) {
			i = closing(name, i, '<', '>');
		} else if (name[i] === '{') {
			i = closing(name, i, '{', '}');
		} else if (name[i] === '(' && !isOperatorName(name, i)) {
			const end = closing(name, i, '(', ')');
			if (!name.startsWith('::', end + 1)) return name.slice(0, i);
			i = end;
		}
	}
	return name;
}

export function withoutTemplates(name: string): string {
	return name.includes('<') ? withoutBrackets(name, '<', '>', '') : name;
}

/* Where the components of a name begin: after "::", "." or a space outside brackets. */
function componentStarts(name: string): number[] {
	const starts = [0];
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i]!;
		if ('<({['.includes(c) && !isOperatorName(name, i)) depth++;
		else if ('>)}]'.includes(c) && name[i - 1] !== '-' && depth > 0) depth--;
		else if (depth > 0) continue;
		else if (name.startsWith('::', i) && i + 2 < name.length) starts.push(i + 2);
		else if ((c === '.' || c === ' ') && /[\w>)\]]/.test(name[i - 1] ?? '') && /[A-Za-z_<]/.test(name[i + 1] ?? '') &&
			!name.slice(0, i).endsWith('operator')) starts.push(i + 1);
	}
	return starts;
}

/* "void a::b::f" to "f". */
export function lastComponent(name: string): string {
	return name.slice(componentStarts(name).pop());
}

/* Ends of a name that are tried, each a component shorter. */
const MOST_TAILS = 3;

/* Ever shorter spellings, the first the fullest. */
export function spellings(name: string): string[] {
	/* Code without a symbol, MODULE+0xOFFSET: the offset tells it apart. */
	const offset = /\+0x[0-9a-f]+$/.exec(name);
	if (offset) return [name, name.slice(offset.index)];
	/* A loop is told apart by its line: "loop at solver.c:12" is "loop :12", not "c:12". */
	const loop = /^loop at .*(:\d+)$/.exec(name);
	if (loop) return [name, `loop ${loop[1]!}`, loop[1]!];
	const bare = withoutParameters(name);
	const plain = withoutTemplates(bare);
	/* Only a name with brackets or scopes is taken apart: "main thread" is two words. */
	const tails = /[<(:.]/.test(name) ? componentStarts(plain).slice(-MOST_TAILS).map((start) => plain.slice(start)) : [];
	const list = [name, bare, plain, ...tails];
	return list.filter((text, i) => text !== '' && list.indexOf(text) === i);
}

/* The fullest spelling that fits, else the end of the shortest behind an ellipsis, or its front before one; '' if none. */
export function fit(options: readonly string[], room: number, measure: MeasureText, keeps: 'end' | 'front' = 'end'): string {
	for (const text of options) if (measure(text) <= room) return text;
	const text = options[options.length - 1] ?? '';
	const left = room - measure('…');
	const part = (length: number): string => (keeps === 'end' ? text.slice(text.length - length) : text.slice(0, length));
	let low = 0;
	let high = text.length;
	while (low < high) {
		const middle = (low + high + 1) >>> 1;
		if (measure(part(middle)) <= left) low = middle;
		else high = middle - 1;
	}
	return low < 2 ? '' : keeps === 'end' ? `…${part(low)}` : `${part(low)}…`;
}

/* Spellings of a frame's box: name with place and mark, then ever less. */
export function boxSpellings(profile: Profile, frame: number, granularity: Granularity): string[] {
	const name = nameOf(profile, frame);
	const kind = kindOf(profile, frame);
	const mark = markOf(profile, frame);
	const list = spellings(name);
	/* The name says what it is and where; the lines inside of it are those of the function's box. */
	if (isLoop(profile, frame)) return list;
	const place = kind === 'python' || byLine(profile, frame, granularity) ? placeOf(profile, frame, granularity) : '';
	const marked = mark ? list.slice(0, 1).map((text) => `${text} · ${mark}`) : [];
	const short = list[list.length - 1]!;
	/* The line is what tells siblings at line granularity apart: it goes after the file's name. */
	const line = byLine(profile, frame, granularity) ? place.slice(place.lastIndexOf(':')) : '';
	const placed = place ? [`${short}  ${place}`] : [];
	const lined = line.startsWith(':') ? [`${list[0]} ${line}`, `${short} ${line}`] : [];
	return [...(place ? [`${list[0]}  ${place}`] : []), ...placed, ...lined, ...marked, ...list];
}
