/* SPDX-License-Identifier: Apache-2.0 */
/* The payload's encoder in TypeScript: makes pages for tests without a database (docs/format/html.md). */

export interface SampleFrame {
	kind: string;
	name: string;
	module?: string;
	file?: string;
	line?: number;
	functionLine?: number;
	flags?: number;
	user?: boolean;
	source?: string;
}

export interface SampleOperation {
	frame: number;
	name: string;
	path: string;
	file?: string;
	line?: number;
	callers?: string;
}

export interface SampleValue {
	context: number;
	count: number;
	sum: number;
	min: number;
	max: number;
	sumSquares: number;
}

export interface SampleMetric {
	name: string;
	unit: string;
	source: string;
	kind: string;
	period: number;
	counts?: string;
	values: SampleValue[];
	calls?: SampleValue[]; /* where counts is "calls" */
}

export interface Sample {
	properties: Record<string, string>;
	profiles: object[];
	drops: { cause: string; text: string; count: number }[];
	frames: SampleFrame[];
	operations?: SampleOperation[];
	/* Pre-order. */
	contexts: { frame: number; depth: number }[];
	metrics: SampleMetric[];
}

export const KINDS: readonly (readonly [string, string])[] = [
	['unknown', 'other'], ['thread', 'thread'], ['python', 'python'], ['operator', 'operator'], ['region', 'region'],
	['graph-node', 'operator'], ['native', 'native'], ['inlined', 'native'], ['loop', 'native'], ['line', 'native'],
	['gpu-api', 'gpu-api'], ['kernel', 'gpu'], ['gpu-function', 'gpu'], ['gpu-loop', 'gpu'], ['gpu-line', 'gpu'],
	['gpu-instruction', 'gpu'], ['os', 'os'], ['idle', 'idle'],
];

export function varints(values: Iterable<number>, delta = false): Uint8Array {
	const out: number[] = [];
	let previous = 0;
	for (const value of values) {
		let rest = delta ? value - previous : value;
		previous = value;
		while (rest >= 128) {
			out.push((rest % 128) | 0x80);
			rest = Math.floor(rest / 128);
		}
		out.push(rest);
	}
	return Uint8Array.from(out);
}

export function doubles(values: number[]): Uint8Array {
	return new Uint8Array(Float64Array.from(values).buffer);
}

class Writer {
	readonly columns: Record<string, [string, number, number, number]> = {};
	private readonly parts: Uint8Array[] = [];
	private size = 0;

	add(name: string, type: string, bytes: Uint8Array, count: number): void {
		this.columns[name] = [type, this.size, bytes.length, count];
		this.parts.push(bytes);
		this.size += bytes.length;
	}

	numbers(name: string, values: number[], delta = false): void {
		const whole = values.every((value) => Number.isSafeInteger(value) && value >= 0);
		if (whole) this.add(name, delta ? 'delta' : 'varint', varints(values, delta), values.length);
		else this.add(name, 'f64', doubles(values), values.length);
	}

	finish(header: object): Uint8Array {
		const text = new TextEncoder().encode(JSON.stringify(header));
		const start = Math.ceil((16 + text.length) / 8) * 8;
		const out = new Uint8Array(start + this.size);
		out.set(new TextEncoder().encode('SONDEHTM'));
		new DataView(out.buffer).setUint16(8, 1, true);
		new DataView(out.buffer).setUint32(12, text.length, true);
		out.set(text, 16);
		let at = start;
		for (const part of this.parts) {
			out.set(part, at);
			at += part.length;
		}
		return out;
	}
}

export function encode(sample: Sample): Uint8Array {
	const writer = new Writer();
	const strings: string[] = [];
	const ids = new Map<string, number>();
	const id = (text: string): number => {
		if (!ids.has(text)) ids.set(text, strings.push(text) - 1);
		return ids.get(text)!;
	};
	const orNone = (text: string | undefined): number => (text === undefined ? 0 : id(text) + 1);
	const { frames, contexts, metrics } = sample;
	writer.numbers('frame.name', frames.map((f) => id(f.name)));
	writer.numbers('frame.module', frames.map((f) => orNone(f.module)));
	writer.numbers('frame.file', frames.map((f) => orNone(f.file)));
	writer.add('frame.kind', 'u8', Uint8Array.from(frames.map((f) => KINDS.findIndex(([name]) => name === f.kind))), frames.length);
	writer.add('frame.flags', 'u8', Uint8Array.from(frames.map((f) => f.flags ?? 0)), frames.length);
	writer.numbers('frame.line', frames.map((f) => f.line ?? 0));
	writer.numbers('frame.function_line', frames.map((f) => f.functionLine ?? 0));
	writer.numbers('frame.user', frames.map((f) => (f.user ? 1 : 0)));
	writer.numbers('frame.source', frames.map((f) => orNone(f.source)));
	const { operations = [] } = sample;
	if (operations.length > 0) {
		writer.numbers('operation.frame', operations.map((o) => o.frame));
		writer.numbers('operation.name', operations.map((o) => id(o.name)));
		writer.numbers('operation.path', operations.map((o) => id(o.path)));
		writer.numbers('operation.file', operations.map((o) => orNone(o.file)));
		writer.numbers('operation.line', operations.map((o) => o.line ?? 0));
		writer.numbers('operation.callers', operations.map((o) => orNone(o.callers)));
	}
	const encoded = strings.map((text) => new TextEncoder().encode(text));
	writer.numbers('string.length', encoded.map((bytes) => bytes.length));
	const bytes = new Uint8Array(encoded.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of encoded) {
		bytes.set(part, at);
		at += part.length;
	}
	writer.add('string.bytes', 'u8', bytes, bytes.length);
	writer.numbers('context.frame', contexts.map((c) => c.frame));
	writer.numbers('context.depth', contexts.map((c) => c.depth));
	const addValues = (owner: string, values: SampleValue[]): void => {
		writer.numbers(`${owner}.context`, values.map((v) => v.context), true);
		writer.numbers(`${owner}.count`, values.map((v) => v.count));
		writer.numbers(`${owner}.sum`, values.map((v) => v.sum));
		writer.numbers(`${owner}.min`, values.map((v) => v.min));
		writer.numbers(`${owner}.max`, values.map((v) => v.max));
		writer.add(`${owner}.sum_squares`, 'f64', doubles(values.map((v) => v.sumSquares)), values.length);
	};
	metrics.forEach(({ values, calls }, i) => {
		addValues(`metric.${i}`, values);
		if (calls) addValues(`metric.${i}.calls`, calls);
	});
	return writer.finish({
		metric: 0,
		properties: sample.properties,
		profiles: sample.profiles,
		profile_count: sample.profiles.length,
		samples: sample.profiles.reduce((sum: number, profile) => sum + (profile as { samples: number }).samples, 0),
		drops: sample.drops,
		kinds: KINDS.map(([name, layer], number) => ({ number, name, layer })),
		metrics: metrics.map(({ values: _, calls: __, ...rest }) => rest),
		columns: writer.columns,
	});
}
