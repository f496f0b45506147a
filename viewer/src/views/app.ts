/* SPDX-License-Identifier: Apache-2.0 */
/* What every view is given, and the actions that several of them share. */
import type { Model } from '../logic/model.ts';
import type { Tree } from '../logic/tree.ts';
import type { Changed, State, Store } from '../store.ts';

export interface View {
	readonly element: HTMLElement;
	update(state: State, changed: Changed): void;
}

export class App {
	/* Where Escape goes back to. */
	private readonly past: Pick<State, 'zoom' | 'direction' | 'selected'>[] = [];

	constructor(
		readonly model: Model,
		readonly store: Store,
		readonly announce: (text: string) => void,
	) {}

	get state(): State {
		return this.store.state;
	}

	get tree(): Tree {
		return this.model.tree(this.state);
	}

	zoomTo(node: number): void {
		const path = this.tree.pathOf(node);
		if (path.join() !== this.state.zoom.join()) this.remember();
		this.store.update({ zoom: path, selected: path });
	}

	select(node: number): void {
		this.store.update({ selected: this.tree.pathOf(node) });
	}

	reset(): void {
		if (this.state.zoom.length > 0) this.remember();
		this.store.update({ zoom: [], selected: null });
	}

	setDirection(direction: State['direction']): void {
		if (direction === this.state.direction) return;
		this.remember();
		this.store.update({ direction, zoom: [], selected: null });
	}

	/* Shows bottom-up who calls the frame of a key. */
	showCallers(key: number): void {
		this.remember();
		this.store.update({ direction: 'bottom-up', zoom: [key], selected: [key] });
	}

	showCallersOfFrame(frame: number): void {
		this.showCallers(this.model.keys(this.state.granularity).ofFrame[frame]!);
	}

	/* Marks every box of a frame's function; a second time takes the marks away. */
	markFrame(frame: number): void {
		const key = this.model.keys('function').ofFrame[frame]!;
		const { marked } = this.state;
		const again = marked?.category === 'functions' && marked.key === key;
		this.store.update({ marked: again ? null : { category: 'functions', key }, query: '' });
	}

	/* Keys differ between granularities: the zoom starts anew. */
	setGranularity(granularity: State['granularity']): void {
		this.past.length = 0;
		this.store.update({ granularity, zoom: [], selected: null });
	}

	/* One step back: close what is open, then the last zoom, then all of it. */
	back(): void {
		const { state } = this;
		const before = this.past.pop();
		if (state.help) this.store.update({ help: false });
		else if (before) this.store.update(before);
		else if (state.zoom.length > 0) this.store.update({ zoom: [], selected: null });
		else this.store.update({ selected: null, marked: null, query: '' });
	}

	/* Leads to the next (1) or previous (-1) of the nodes found. */
	step(nodes: readonly number[], by: 1 | -1): void {
		if (nodes.length === 0) return;
		const { selected, query } = this.state;
		const at = selected ? nodes.indexOf(this.tree.find(selected)) : -1;
		const next = at < 0 ? (by > 0 ? 0 : nodes.length - 1) : (at + by + nodes.length) % nodes.length;
		const node = nodes[next]!;
		const zoomed = this.tree.nodesTo(node).includes(this.tree.find(this.state.zoom));
		this.store.update({ selected: this.tree.pathOf(node), zoom: zoomed ? this.state.zoom : [] });
		this.announce(`${next + 1} of ${nodes.length}${query ? ` for ${query}` : ''}`);
	}

	/* What Escape went back to is no longer where one came from. */
	forget(): void {
		this.past.length = 0;
	}

	private remember(): void {
		const { zoom, direction, selected } = this.state;
		this.past.push({ zoom, direction, selected });
	}
}
