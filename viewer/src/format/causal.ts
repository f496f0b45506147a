/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a page of causes carries (docs/format/html.md): the JSON of the commands as it was printed,
 * the picture of the graph, and histograms for parallel coordinates. All of it may be absent.
 */
import type { Payload } from './decode.ts';

export interface Edge {
	readonly from: string;
	readonly to: string;
	readonly directed: boolean;
	readonly effect: number | null;
	readonly effect_low: number | null;
	readonly effect_high: number | null;
	readonly frequency: number | null;
	readonly share: number | null;
}

/* What the target depends on over all ways. */
export interface TargetCause {
	readonly cause: string;
	readonly effect: number | null;
	readonly effect_low: number | null;
	readonly effect_high: number | null;
	readonly frequency: number | null;
	readonly share: number | null;
	readonly adjusted: { readonly change: number | null; readonly change_low: number | null; readonly change_high: number | null } | null;
}

/* What was set from outside, whether or not it is a cause. */
export interface MainEffect {
	readonly column: string;
	readonly effect: number | null;
	readonly effect_low: number | null;
	readonly effect_high: number | null;
	readonly frequency: number;
	readonly share: number | null;
}

export interface Graph {
	readonly target: string | null;
	readonly target_unit?: string | null;
	readonly causes: readonly TargetCause[];
	readonly main_effects?: readonly MainEffect[];
	readonly nodes: readonly string[];
	readonly edges: readonly Edge[];
	readonly undetermined: readonly unknown[];
	readonly baselines: Readonly<Record<string, unknown>>;
}

export interface TimeBin {
	readonly start_ns: number;
	readonly end_ns: number;
	readonly variance: number;
	readonly rank: number | null; /* 1: the greatest */
}

/* The whole range in steps of bins, and of each the greatest that one of its bins has; null: none has launches. */
export interface OverTime {
	readonly start_ns: number;
	readonly bins: number;
	readonly bins_each: number; /* of a step */
	readonly step_ns: number;
	readonly std_ns: readonly (number | null)[];
	readonly target_std?: readonly (number | null)[]; /* where bins are ranked by a target */
}

export interface AxisBin {
	readonly name?: string;
	readonly low?: number;
	readonly high?: number;
	readonly rows: number;
	readonly group: number;
}

export interface Axis {
	readonly name: string;
	readonly unit: string;
	readonly scale: 'linear' | 'log' | 'category';
	readonly group_count: number;
	readonly bins: readonly AxisBin[];
	readonly values?: readonly number[]; /* all numbers, where they are few */
}

export interface Parallel {
	readonly rows: number;
	readonly axes: readonly Axis[];
	readonly pairs: readonly (readonly number[])[]; /* of each two axes: bin, bin, rows, ... */
	readonly cells: readonly number[]; /* a group for each axis, rows, ... */
}

export interface Causes {
	readonly title: string;
	readonly sentences: readonly string[];
	readonly graph: Graph | null;
	readonly picture: string; /* SVG; '' none */
	readonly kernels: readonly Readonly<Record<string, unknown>>[];
	readonly unit: string; /* of their durations */
	readonly bins: readonly TimeBin[]; /* those that vary most */
	readonly rankedBy: string; /* bins: the column of launches whose variance it is */
	readonly overTime: OverTime | null;
	readonly parallel: Parallel | null;
}

interface Header {
	readonly title: string;
	readonly sentences: readonly string[];
	readonly picture?: string;
	readonly arrows?: readonly number[];
	readonly graph?: Partial<Graph>;
	readonly variability?: {
		readonly kernels?: readonly Readonly<Record<string, unknown>>[];
		readonly unit?: string;
		readonly bins?: readonly TimeBin[];
		readonly bins_ranked_by?: string;
		readonly over_time?: OverTime;
		readonly graph?: Partial<Graph> | null;
		readonly parallel?: Parallel | null;
	};
	readonly parallel?: Parallel;
}

function wholeGraph(graph: Partial<Graph> | null | undefined): Graph | null {
	if (!graph) return null;
	const nodes = graph.nodes ?? [];
	/* an edge may name its ends by their numbers */
	const nameOf = (end: unknown): string => (typeof end === 'number' ? nodes[end] ?? '' : String(end));
	const edges = (graph.edges ?? []).map((edge) => ({ ...edge, from: nameOf(edge.from), to: nameOf(edge.to) }));
	return { target: graph.target ?? null, target_unit: graph.target_unit ?? null, causes: graph.causes ?? [], main_effects: graph.main_effects ?? [], nodes, edges, undetermined: graph.undetermined ?? [], baselines: graph.baselines ?? {} };
}

/* A picture of another graph than that of the JSON would tell of effects that it does not have. */
function checkPicture(header: Header, graph: Graph | null): void {
	const arrows = header.arrows ?? [];
	const isSame = graph && arrows.length === 2 * graph.edges.length &&
		graph.edges.every(({ from, to }, i) => graph.nodes[arrows[2 * i]!] === from && graph.nodes[arrows[2 * i + 1]!] === to);
	if (!isSame) throw new Error('the picture is not that of the graph');
}

export function decodeCauses(payload: Payload): Causes {
	const header = payload.header as unknown as Header;
	if (!Array.isArray(header.sentences)) throw new Error('the causes are not whole');
	const { variability } = header;
	const graph = wholeGraph(header.graph ?? variability?.graph);
	if (header.picture) checkPicture(header, graph);
	return {
		title: header.title, sentences: header.sentences, graph, picture: header.picture ?? '',
		kernels: variability?.kernels ?? [], unit: variability?.unit ?? 'ns', bins: variability?.bins ?? [], rankedBy: variability?.bins_ranked_by ?? 'duration_ns',
		overTime: variability?.over_time ?? null, parallel: header.parallel ?? variability?.parallel ?? null,
	};
}
