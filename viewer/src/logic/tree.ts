/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree that a flame graph shows: contexts merged by key, top-down from the program's start or
 * bottom-up from the functions that cost. Nodes are made when they are first looked at: a bottom-up
 * tree in full would be larger than the profile by the depth of its stacks.
 *
 * Frames of folded layers are left out: their own cost goes to the nearest caller that is shown.
 *
 * Costs: expanding a node is linear in the contexts it stands for.
 */
import type { Profile } from '../format/decode.ts';
import { layerOf } from './keys.ts';
import type { Keys } from './keys.ts';
import type { Weights } from './stats.ts';

export type Direction = 'top-down' | 'bottom-up';

/* Contexts as shown with some layers folded. */
export interface Visibility {
	readonly shown: Int32Array; /* the context itself, or its nearest ancestor that is shown */
	readonly own: Float64Array; /* exclusive weight, with that of folded frames below */
}

export function foldLayers(profile: Profile, weights: Weights, folded: ReadonlySet<string>): Visibility {
	const { count, frame, parent } = profile.contexts;
	const shown = new Int32Array(count);
	const own = new Float64Array(count);
	for (let c = 0; c < count; c++) {
		const hidden = c > 0 && folded.size > 0 && folded.has(layerOf(profile, frame[c]!));
		shown[c] = hidden ? shown[parent[c]!]! : c;
		own[shown[c]!]! += weights.exclusive[c]!;
	}
	return { shown, own };
}

export const ROOT = 0;

export class Tree {
	/* Parallel arrays by node. Children of a node are contiguous, heaviest first. */
	readonly key: number[] = [-1];
	readonly parent: number[] = [-1];
	readonly depth: number[] = [0];
	readonly weight: number[] = [];
	readonly own: number[] = [];
	/* Where the node begins, as a share of the whole; its width is weight / total. */
	readonly start: number[] = [0];
	private readonly firstChild: number[] = [-1];
	private readonly childCount: number[] = [0];
	/* Contexts of each node: a stretch of the pools. `origin` holds whose weight counts. */
	private readonly itemFirst: number[] = [0];
	private readonly itemCount: number[] = [];
	private readonly item: number[] = [];
	private readonly origin: number[] = [];
	/* Scratch of one expansion, by key. */
	private readonly slotOfKey: Int32Array;

	constructor(
		readonly profile: Profile,
		readonly keys: Keys,
		readonly weights: Weights,
		readonly visibility: Visibility,
		readonly direction: Direction,
	) {
		this.slotOfKey = new Int32Array(keys.count).fill(-1);
		if (direction === 'top-down') {
			this.item.push(0);
			this.origin.push(0);
		}
		this.itemCount.push(this.item.length);
		this.weight.push(weights.total);
		this.own.push(direction === 'top-down' ? (visibility.own[0] ?? 0) : 0);
	}

	get total(): number {
		return this.weights.total;
	}

	get size(): number {
		return this.key.length;
	}

	width(node: number): number {
		return this.total > 0 ? this.weight[node]! / this.total : 1;
	}

	/* First child and number of children; expands the node on the first call. */
	children(node: number): { first: number; count: number } {
		if (this.firstChild[node] === -1) this.expand(node);
		return { first: this.firstChild[node]!, count: this.childCount[node]! };
	}

	isExpanded(node: number): boolean {
		return this.firstChild[node] !== -1;
	}

	/* The contexts that a node stands for; bottom-up: those whose exclusive values it adds up. */
	contextsOf(node: number): number[] {
		if (node === ROOT && this.direction === 'bottom-up') return [0];
		const first = this.itemFirst[node]!;
		return this.origin.slice(first, first + this.itemCount[node]!);
	}

	frameOf(node: number): number {
		return node === ROOT ? (this.profile.contexts.frame[0] ?? 0) : this.keys.frame[this.key[node]!]!;
	}

	/* Keys from below the root to the node. */
	pathOf(node: number): number[] {
		const path: number[] = [];
		for (let n = node; n > ROOT; n = this.parent[n]!) path.push(this.key[n]!);
		return path.reverse();
	}

	/* Nodes from the root to the node, both included. */
	nodesTo(node: number): number[] {
		const nodes: number[] = [];
		for (let n = node; n >= ROOT; n = this.parent[n]!) nodes.push(n);
		return nodes.reverse();
	}

	/* The deepest node that exists along a path of keys. */
	find(path: readonly number[]): number {
		let node = ROOT;
		for (const key of path) {
			const child = this.childByKey(node, key);
			if (child < 0) break;
			node = child;
		}
		return node;
	}

	childByKey(node: number, key: number): number {
		const { first, count } = this.children(node);
		for (let child = first; child < first + count; child++) if (this.key[child] === key) return child;
		return -1;
	}

	private expand(node: number): void {
		const items: number[] = [];
		const origins: number[] = [];
		const amounts: number[] = [];
		if (this.direction === 'top-down') this.gatherCallees(node, items, origins, amounts);
		else this.gatherCallers(node, items, origins, amounts);
		this.addChildren(node, items, origins, amounts);
	}

	private gatherCallees(node: number, items: number[], origins: number[], amounts: number[]): void {
		const { end } = this.profile.contexts;
		const { shown } = this.visibility;
		const { inclusive } = this.weights;
		const first = this.itemFirst[node]!;
		for (let i = first; i < first + this.itemCount[node]!; i++) {
			const context = this.item[i]!;
			const last = end[context]!;
			for (let c = context + 1; c < last; ) {
				if (!(inclusive[c]! > 0)) {
					c = end[c]!;
				} else if (shown[c] !== c) {
					c++; /* folded: its callees take its place */
				} else {
					items.push(c);
					origins.push(c);
					amounts.push(inclusive[c]!);
					c = end[c]!;
				}
			}
		}
	}

	private gatherCallers(node: number, items: number[], origins: number[], amounts: number[]): void {
		const { parent, count } = this.profile.contexts;
		const { shown, own } = this.visibility;
		const add = (context: number, origin: number): void => {
			items.push(context);
			origins.push(origin);
			amounts.push(own[origin]!);
		};
		if (node === ROOT) {
			for (let c = 0; c < count; c++) if (own[c]! > 0) add(c, c);
			return;
		}
		const first = this.itemFirst[node]!;
		for (let i = first; i < first + this.itemCount[node]!; i++) {
			const context = this.item[i]!;
			if (context === 0) continue;
			const caller = shown[parent[context]!]!;
			if (caller !== 0) add(caller, this.origin[i]!);
		}
	}

	/* Groups items by key into new nodes, heaviest first. */
	private addChildren(node: number, items: number[], origins: number[], amounts: number[]): void {
		const { frame } = this.profile.contexts;
		const { ofFrame } = this.keys;
		const keys: number[] = [];
		const sums: number[] = [];
		const counts: number[] = [];
		for (let i = 0; i < items.length; i++) {
			const key = ofFrame[frame[items[i]!]!]!;
			let slot = this.slotOfKey[key]!;
			if (slot < 0) {
				slot = this.slotOfKey[key] = keys.length;
				keys.push(key);
				sums.push(0);
				counts.push(0);
			}
			sums[slot]! += amounts[i]!;
			counts[slot]!++;
		}
		const order = keys.map((_, slot) => slot).sort((a, b) => sums[b]! - sums[a]! || keys[a]! - keys[b]!);
		this.firstChild[node] = this.size;
		this.childCount[node] = order.length;
		const next = this.placeChildren(node, order, keys, sums, counts);
		for (let i = 0; i < items.length; i++) {
			const slot = this.slotOfKey[ofFrame[frame[items[i]!]!]!]!;
			const at = next[slot]!++;
			this.item[at] = items[i]!;
			this.origin[at] = origins[i]!;
		}
		this.sumOwn(node);
		for (const key of keys) this.slotOfKey[key] = -1;
	}

	/* Makes the nodes; returns for each slot where its items go. */
	private placeChildren(node: number, order: number[], keys: number[], sums: number[], counts: number[]): number[] {
		const next: number[] = [];
		let start = this.start[node]!;
		let at = this.item.length;
		for (const slot of order) {
			this.key.push(keys[slot]!);
			this.parent.push(node);
			this.depth.push(this.depth[node]! + 1);
			this.weight.push(sums[slot]!);
			this.own.push(0);
			this.start.push(start);
			this.firstChild.push(-1);
			this.childCount.push(0);
			this.itemFirst.push(at);
			this.itemCount.push(counts[slot]!);
			next[slot] = at;
			at += counts[slot]!;
			start += this.total > 0 ? sums[slot]! / this.total : 0;
		}
		return next;
	}

	private sumOwn(node: number): void {
		const { first, count } = this.children(node);
		for (let child = first; child < first + count; child++) {
			if (this.direction === 'bottom-up') {
				if (node === ROOT) this.own[child] = this.weight[child]!;
				continue;
			}
			let own = 0;
			const start = this.itemFirst[child]!;
			for (let i = start; i < start + this.itemCount[child]!; i++) own += this.visibility.own[this.item[i]!]!;
			this.own[child] = own;
		}
	}
}
