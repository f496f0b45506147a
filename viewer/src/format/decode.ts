/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the data that an exported page carries (docs/format/html.md).
 *
 * The page holds base64 text of a deflated payload:
 *
 *     0   8  magic "SONDEHTM"
 *     8   2  major version, 1; another major cannot be read
 *    10   2  minor version; a higher minor only adds
 *    12   4  length of the JSON header in bytes
 *    16   .  JSON header, UTF-8, then zero bytes up to a multiple of 8
 *     .   .  column data; a column's offset in the header counts from here
 *
 * The header's "columns" maps NAME to [type, offset, bytes, count]. Types: "u8"; "f64"; "varint",
 * unsigned LEB128; "delta", LEB128 of the difference to the value before. An id that may be missing
 * is stored plus one, zero meaning none. Unknown columns and header members are ignored.
 *
 * Contexts come in pre-order with their depth alone; parents and ends follow from it. Metrics hold
 * exclusive statistics only; inclusive ones are merged from them (logic/stats.ts).
 */

export interface Stats {
	readonly count: Float64Array;
	readonly sum: Float64Array;
	readonly min: Float64Array;
	readonly max: Float64Array;
	readonly sumSquares: Float64Array;
}

/* Contexts with a value, ascending; the statistics run parallel to them. */
export interface Values {
	readonly contexts: Uint32Array;
	readonly stats: Stats;
}

export interface Metric extends Values {
	readonly name: string;
	readonly unit: string;
	readonly source: string;
	readonly kind: string;
	readonly period: number;
	readonly counts: string; /* what a value is: "samples", "events", "calls" or "sums" */
	/* Of one that counts calls: their whole lengths, which are never added up over contexts. */
	readonly calls: Values | null;
}

/* One step of a formula in postfix order: a number (null: empty), an operation, or a metric's value. */
export type Step = number | null | string | readonly [metric: number, scope: string, part: string];

export interface Formula {
	readonly name: string;
	readonly text: string;
	readonly about: string;
	readonly unit: string;
	readonly scale: number; /* to the unit */
	readonly steps: readonly Step[] | null; /* null: needs values by profile, which a page has not */
}

export interface FrameKind {
	readonly name: string;
	readonly layer: string;
}

export interface Frames {
	readonly count: number;
	readonly kind: Uint8Array;
	readonly flags: Uint8Array;
	readonly name: Uint32Array; /* string */
	readonly module: Int32Array; /* string of the module's path; -1 none */
	readonly file: Int32Array; /* string; -1 none */
	readonly line: Uint32Array; /* 0 unknown */
	readonly functionLine: Uint32Array; /* 0 unknown */
	readonly user: Uint8Array; /* 1: the user's own code, not a library's */
	readonly source: Int32Array; /* string: the line's text; -1 not at hand */
}

/* What a compiled computation is made of: an operation that the program wrote. */
export interface Operation {
	readonly name: string;
	readonly path: string; /* its name with those of what it is part of: "jit(step)/sin" */
	readonly file: string; /* '' unknown */
	readonly line: number; /* 0 unknown */
	readonly callers: string; /* "main.py:12 <module> > main.py:10 step"; '' unknown */
}

/* Context c's descendants are c + 1 .. end[c] - 1. Context 0 is the root, its own parent. */
export interface Contexts {
	readonly count: number;
	readonly frame: Uint32Array;
	readonly depth: Uint32Array;
	readonly parent: Uint32Array;
	readonly end: Uint32Array;
}

export interface Thread {
	readonly host: string;
	readonly program: string;
	readonly thread: string;
	readonly rank: number;
	readonly pid: number;
	readonly tid: number;
	readonly device: boolean;
	readonly start_ns: number;
	readonly end_ns: number;
	readonly cpu_ns: number;
	readonly samples: number;
}

export interface Drop {
	readonly cause: string;
	readonly text: string;
	readonly count: number;
}

export interface Profile {
	readonly properties: ReadonlyMap<string, string>;
	readonly threads: readonly Thread[];
	readonly threadCount: number; /* of which `threads` may list the first only */
	readonly samples: number; /* of all threads */
	readonly drops: readonly Drop[];
	readonly kinds: readonly FrameKind[]; /* by number */
	readonly strings: readonly string[];
	readonly frames: Frames;
	readonly operations: ReadonlyMap<number, readonly Operation[]>; /* of frames that are computations, in the program's order */
	readonly contexts: Contexts;
	readonly metrics: readonly Metric[];
	readonly formulas: readonly Formula[];
	readonly firstMetric: number; /* the one to show first */
	readonly firstFormula: number; /* -1 none */
}

const MAGIC = 'SONDEHTM';
const MAJOR = 1;
const FIXED_BYTES = 16;

/* The header's members depend on the page that it is for. */
export interface Payload {
	readonly header: { readonly page?: string };
	readonly data: Uint8Array; /* columns */
}

type ColumnEntry = readonly [type: string, offset: number, bytes: number, count: number];

/* Of a profile's page. */
interface Header {
	readonly metric: number;
	readonly properties: Record<string, string>;
	readonly profiles: readonly Thread[];
	readonly profile_count: number;
	readonly samples: number;
	readonly drops: readonly Drop[];
	readonly kinds: readonly { number: number; name: string; layer: string }[];
	readonly metrics: readonly { name: string; unit: string; source: string; kind: string; counts: string; period: number }[];
	readonly formulas?: readonly Formula[];
	readonly formula?: number;
	readonly columns: Record<string, ColumnEntry>;
}

class Columns {
	constructor(
		private readonly entries: Record<string, ColumnEntry>,
		private readonly data: Uint8Array,
	) {}

	has(name: string): boolean {
		return name in this.entries;
	}

	bytes(name: string): { type: string; bytes: Uint8Array; count: number } {
		const entry = this.entries[name];
		if (!entry) throw new Error(`the data lacks the column ${name}`);
		const [type, offset, length, count] = entry;
		if (offset + length > this.data.length) throw new Error(`the column ${name} is cut short`);
		return { type, bytes: this.data.subarray(offset, offset + length), count };
	}

	/* Fills `out`, or a new array, with the column's numbers, each plus `bias`. */
	read<T extends { [index: number]: number }>(name: string, make: (count: number) => T, bias = 0): T {
		const { type, bytes, count } = this.bytes(name);
		const out = make(count);
		if (type === 'u8') for (let i = 0; i < count; i++) out[i] = bytes[i]! + bias;
		else if (type === 'f64') readDoubles(bytes, count, out);
		else if (type === 'varint' || type === 'delta') readVarints(name, bytes, count, type === 'delta', bias, out);
		else throw new Error(`the column ${name} has the unknown type ${type}`);
		return out;
	}
}

function readDoubles(bytes: Uint8Array, count: number, out: { [index: number]: number }): void {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	for (let i = 0; i < count; i++) out[i] = view.getFloat64(i * 8, true);
}

function readVarints(name: string, bytes: Uint8Array, count: number, delta: boolean, bias: number,
	out: { [index: number]: number }): void {
	let at = 0;
	let previous = 0;
	for (let i = 0; i < count; i++) {
		let value = 0;
		let scale = 1;
		let byte: number;
		do {
			if (at >= bytes.length) throw new Error(`the column ${name} is cut short`);
			byte = bytes[at++]!;
			value += (byte & 0x7f) * scale; /* not <<: values reach 2^53 */
			scale *= 128;
		} while (byte & 0x80);
		if (delta) previous = value += previous;
		out[i] = value + bias;
	}
}

function readStrings(columns: Columns): string[] {
	const lengths = columns.read('string.length', (n) => new Uint32Array(n));
	const { bytes } = columns.bytes('string.bytes');
	const decoder = new TextDecoder();
	const strings: string[] = [];
	let at = 0;
	for (const length of lengths) {
		strings.push(decoder.decode(bytes.subarray(at, at + length)));
		at += length;
	}
	return strings;
}

const u32 = (n: number): Uint32Array => new Uint32Array(n);
const i32 = (n: number): Int32Array => new Int32Array(n);
const u8 = (n: number): Uint8Array => new Uint8Array(n);
const f64 = (n: number): Float64Array => new Float64Array(n);

function readFrames(columns: Columns): Frames {
	const name = columns.read('frame.name', u32);
	return {
		count: name.length,
		kind: columns.read('frame.kind', u8),
		flags: columns.read('frame.flags', u8),
		name,
		module: columns.read('frame.module', i32, -1),
		file: columns.read('frame.file', i32, -1),
		line: columns.read('frame.line', u32),
		functionLine: columns.read('frame.function_line', u32),
		user: columns.read('frame.user', u8),
		source: columns.read('frame.source', i32, -1),
	};
}

function readOperations(columns: Columns, strings: readonly string[]): Map<number, Operation[]> {
	const operations = new Map<number, Operation[]>();
	if (!columns.has('operation.frame')) return operations;
	const frame = columns.read('operation.frame', u32);
	const name = columns.read('operation.name', u32);
	const path = columns.read('operation.path', u32);
	const file = columns.read('operation.file', i32, -1);
	const line = columns.read('operation.line', u32);
	const callers = columns.read('operation.callers', i32, -1);
	const text = (string: number): string => strings[string] ?? '';
	frame.forEach((f, i) => {
		const list = operations.get(f) ?? [];
		operations.set(f, list);
		list.push({
			name: text(name[i]!), path: text(path[i]!), file: text(file[i]!), line: line[i]!, callers: text(callers[i]!),
		});
	});
	return operations;
}

/* Parents and ends of contexts in pre-order, from their depths. */
export function linkContexts(frame: Uint32Array, depth: Uint32Array): Contexts {
	const count = depth.length;
	const parent = new Uint32Array(count);
	const end = new Uint32Array(count);
	const open: number[] = [];
	for (let c = 0; c < count; c++) {
		const d = depth[c]!;
		if (c > 0 && (d === 0 || d > open.length)) throw new Error('the contexts are not in pre-order');
		while (open.length > d) end[open.pop()!] = c;
		parent[c] = d > 0 ? open[d - 1]! : c;
		open.push(c);
	}
	for (const c of open) end[c] = count;
	return { count, frame, depth, parent, end };
}

function readValues(columns: Columns, owner: string): Values {
	const column = (part: string): Float64Array => columns.read(`${owner}.${part}`, f64);
	return {
		contexts: columns.read(`${owner}.context`, u32),
		stats: {
			count: column('count'),
			sum: column('sum'),
			min: column('min'),
			max: column('max'),
			sumSquares: column('sum_squares'),
		},
	};
}

function readMetric(columns: Columns, index: number, header: Header): Metric {
	const metric = header.metrics[index]!;
	const calls = metric.counts === 'calls' ? readValues(columns, `metric.${index}.calls`) : null;
	return { ...metric, calls, ...readValues(columns, `metric.${index}`) };
}

/* The parts of a payload. Throws an Error that says what is wrong with it. */
export function openPayload(bytes: Uint8Array): Payload {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const text = new TextDecoder();
	if (bytes.length < FIXED_BYTES || text.decode(bytes.subarray(0, 8)) !== MAGIC)
		throw new Error('the page carries no Sonde data');
	const major = view.getUint16(8, true);
	if (major !== MAJOR) throw new Error(`the data has version ${major}, this page reads ${MAJOR}`);
	const length = view.getUint32(12, true);
	const header = JSON.parse(text.decode(bytes.subarray(FIXED_BYTES, FIXED_BYTES + length))) as Payload['header'];
	return { header, data: bytes.subarray(Math.ceil((FIXED_BYTES + length) / 8) * 8) };
}

/* The profile of a payload without a `page`. Throws an Error that says what is wrong with it. */
export function decodeProfile(payload: Payload): Profile {
	const header = payload.header as unknown as Header;
	const columns = new Columns(header.columns, payload.data);
	const kinds: FrameKind[] = [];
	const strings = readStrings(columns);
	for (const { number, name, layer } of header.kinds) kinds[number] = { name, layer };
	return {
		properties: new Map(Object.entries(header.properties)),
		threads: header.profiles,
		threadCount: header.profile_count,
		samples: header.samples,
		drops: header.drops,
		kinds,
		strings,
		frames: readFrames(columns),
		operations: readOperations(columns, strings),
		contexts: linkContexts(columns.read('context.frame', u32), columns.read('context.depth', u32)),
		metrics: header.metrics.map((_, index) => readMetric(columns, index, header)),
		formulas: header.formulas ?? [],
		firstMetric: header.metric,
		firstFormula: header.formula ?? -1,
	};
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
	const binary = atob(text.trim());
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/* The payload of a page's data element: base64 of bytes that are deflated (zlib) or plain. */
export async function unpack(text: string, encoding: string): Promise<Uint8Array> {
	const bytes = fromBase64(text);
	if (encoding === 'none') return bytes;
	if (encoding !== 'deflate') throw new Error(`the data has the unknown encoding ${encoding}`);
	if (typeof DecompressionStream === 'undefined')
		throw new Error('this browser is too old: it lacks DecompressionStream (2023)');
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}
