/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a page remembers, in one place. Views read it and change it through update(); nothing
 * else keeps state. In a profile's page zoom and selection are paths of keys, which survive a change
 * of metric.
 */
import type { Category } from './logic/hotspots.ts';
import type { Granularity } from './logic/keys.ts';
import type { Measure } from './logic/stats.ts';
import type { Direction } from './logic/tree.ts';

/* What every page has. */
export interface Common {
	readonly theme: 'auto' | 'light' | 'dark';
	readonly help: boolean;
}

/* Of a profile's page. */
export interface State extends Common {
	readonly metric: number;
	readonly formula: number; /* shown beside the metric that gives the widths; -1 none */
	readonly measure: Measure;
	readonly direction: Direction;
	readonly granularity: Granularity;
	readonly colour: 'layer' | 'module';
	readonly folded: ReadonlySet<string>; /* layers left out of the graph */
	readonly dimmedBut: string; /* the layer under the pointer in the legend; '' none */
	readonly query: string;
	readonly regex: boolean;
	readonly marked: MarkedSpot | null; /* the entry of the hot spots whose boxes are highlighted */
	readonly zoom: readonly number[];
	readonly selected: readonly number[] | null;
	readonly category: Category;
	readonly sort: 'own' | 'total';
}

export interface MarkedSpot {
	readonly category: Category;
	readonly key: number;
}

export const INITIAL: State = {
	metric: 0,
	formula: -1,
	measure: 'sum',
	direction: 'top-down',
	granularity: 'python',
	colour: 'layer',
	folded: new Set(),
	dimmedBut: '',
	query: '',
	regex: false,
	marked: null,
	zoom: [],
	selected: null,
	category: 'functions',
	sort: 'own',
	theme: 'auto',
	help: false,
};

export type Changed<S = State> = ReadonlySet<keyof S>;
type Listener<S> = (state: S, changed: Changed<S>) => void;

export class Store<S extends object = State> {
	private readonly listeners: Listener<S>[] = [];

	constructor(public state: S) {}

	subscribe(listener: Listener<S>): void {
		this.listeners.push(listener);
	}

	update(patch: Partial<S>): void {
		const before = this.state;
		const after = { ...before, ...patch };
		const changed = new Set<keyof S>();
		for (const name of Object.keys(patch) as (keyof S)[]) if (before[name] !== after[name]) changed.add(name);
		if (changed.size === 0) return;
		this.state = after;
		for (const listener of this.listeners) listener(after, changed);
	}
}
