/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that the page remembers, in one place. Views read it and change it through update(); nothing
 * else keeps state. Zoom and selection are paths of keys, which survive a change of metric.
 */
import type { Category } from './logic/hotspots.ts';
import type { Granularity } from './logic/keys.ts';
import type { Measure } from './logic/stats.ts';
import type { Direction } from './logic/tree.ts';

export interface State {
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
	readonly theme: 'auto' | 'light' | 'dark';
	readonly help: boolean;
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

export type Changed = ReadonlySet<keyof State>;
type Listener = (state: State, changed: Changed) => void;

export class Store {
	private readonly listeners: Listener[] = [];

	constructor(public state: State) {}

	subscribe(listener: Listener): void {
		this.listeners.push(listener);
	}

	update(patch: Partial<State>): void {
		const before = this.state;
		const after = { ...before, ...patch };
		const changed = new Set<keyof State>();
		for (const name of Object.keys(patch) as (keyof State)[]) if (before[name] !== after[name]) changed.add(name);
		if (changed.size === 0) return;
		this.state = after;
		for (const listener of this.listeners) listener(after, changed);
	}
}
