/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the profile and the state: keys, weights, the tree, what a search finds. The
 * last results are kept, since most changes of the state leave most of them as they are.
 */
import type { Formula, Metric, Profile } from '../format/decode.ts';
import type { MarkedSpot, State } from '../store.ts';
import { granularityOf, hotSpots, inCategory, layerShares } from './hotspots.ts';
import type { Category, HotSpot } from './hotspots.ts';
import { buildKeys } from './keys.ts';
import type { Granularity, Keys } from './keys.ts';
import { compileQuery, matchedWeight, matchFrames, matchKeys } from './search.ts';
import { weigh } from './stats.ts';
import type { Measure, Weights } from './stats.ts';
import { foldLayers, ROOT, Tree } from './tree.ts';

/* A box is marked as hot from this share of the whole in its own code. */
export const HOT_SHARE = 0.02;

export interface Found {
	readonly frames: Uint8Array;
	readonly keys: Uint8Array;
	readonly weight: number;
}

class Kept<T> {
	private readonly values = new Map<string, T>();

	constructor(private readonly limit: number) {}

	get(key: string, make: () => T): T {
		let value = this.values.get(key);
		if (value !== undefined) return value;
		if (this.values.size >= this.limit) this.values.delete(this.values.keys().next().value!);
		value = make();
		this.values.set(key, value);
		return value;
	}
}

export class Model {
	private readonly keptKeys = new Kept<Keys>(3);
	private readonly keptWeights = new Kept<Weights>(4);
	private readonly keptTrees = new Kept<Tree>(2);
	private readonly keptFrames = new Kept<Uint8Array>(4);
	private readonly keptFound = new Kept<Found>(4);
	private readonly keptSpots = new Kept<HotSpot[]>(8);

	constructor(readonly profile: Profile) {}

	keys(granularity: Granularity): Keys {
		return this.keptKeys.get(granularity, () => buildKeys(this.profile, granularity));
	}

	metric(state: State): Metric | undefined {
		return this.profile.metrics[state.metric];
	}

	formula(state: State): Formula | undefined {
		return this.profile.formulas[state.formula];
	}

	weights(metric: number, measure: Measure): Weights {
		return this.keptWeights.get(`${metric} ${measure}`, () => weigh(this.profile, this.profile.metrics[metric], measure));
	}

	/* The unit of what is weighed. */
	unit(state: State): string {
		return state.measure === 'count' ? '1' : (this.metric(state)?.unit ?? '1');
	}

	tree(state: State): Tree {
		const { metric, measure, granularity, direction, folded } = state;
		const key = [metric, measure, granularity, direction, ...[...folded].sort()].join(' ');
		return this.keptTrees.get(key, () => {
			const weights = this.weights(metric, measure);
			const visibility = foldLayers(this.profile, weights, folded);
			return new Tree(this.profile, this.keys(granularity), weights, visibility, direction);
		});
	}

	/* What the search finds; undefined without a query or with one that is not valid. */
	found(state: State): Found | undefined {
		if (state.query === '' || this.queryError(state)) return undefined;
		const frames = this.keptFrames.get(`search ${state.regex} ${state.query}`, () =>
			matchFrames(this.profile, compileQuery(state.query, state.regex)!));
		return this.foundBy(`search ${state.regex} ${state.query}`, frames, state);
	}

	queryError(state: State): string {
		try {
			compileQuery(state.query, state.regex);
			return '';
		} catch (error) {
			return error instanceof Error ? error.message : String(error);
		}
	}

	/* The frames of the marked hot spot. */
	marked(state: State): Found | undefined {
		const spot = state.marked;
		if (!spot) return undefined;
		const name = `marked ${spot.category} ${spot.key}`;
		return this.foundBy(name, this.keptFrames.get(name, () => this.framesOf(spot)), state);
	}

	spots(state: State, category: Category): HotSpot[] {
		const { metric, measure } = state;
		return this.keptSpots.get(`${metric} ${measure} ${category}`, () =>
			hotSpots(this.profile, this.weights(metric, measure), this.keys(granularityOf(category)), category));
	}

	/* Categories that have frames at all, whatever the metric. */
	hasCategory(category: Category): boolean {
		for (let f = 0; f < this.profile.frames.count; f++) if (inCategory(this.profile, f, category)) return true;
		return false;
	}

	layers(state: State): Map<string, number> {
		return layerShares(this.profile, this.weights(state.metric, state.measure));
	}

	private framesOf(spot: MarkedSpot): Uint8Array {
		const keys = this.keys(granularityOf(spot.category));
		return keys.ofFrame.reduce((mask, key, frame) => {
			if (key === spot.key) mask[frame] = 1;
			return mask;
		}, new Uint8Array(this.profile.frames.count));
	}

	private foundBy(name: string, frames: Uint8Array, state: State): Found {
		return this.keptFound.get(`${name} ${state.metric} ${state.measure} ${state.granularity}`, () => ({
			frames,
			keys: matchKeys(this.keys(state.granularity), frames),
			weight: matchedWeight(this.profile, this.weights(state.metric, state.measure), frames),
		}));
	}
}

/*
 * The nodes with a found key, heaviest first, without those below another found node. A bottom-up
 * tree is searched where it is already expanded, a top-down one in full.
 */
export function foundNodes(tree: Tree, found: Found, expandAll: boolean): number[] {
	const nodes: number[] = [];
	const waiting = [ROOT];
	for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
		if (node !== ROOT && found.keys[tree.key[node]!]) {
			nodes.push(node);
		} else if (expandAll || node === ROOT || tree.isExpanded(node)) {
			const { first, count } = tree.children(node);
			for (let child = first; child < first + count; child++) waiting.push(child);
		}
	}
	return nodes.sort((a, b) => tree.weight[b]! - tree.weight[a]! || a - b);
}
