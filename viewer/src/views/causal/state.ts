/* SPDX-License-Identifier: Apache-2.0 */
/* What a page of causes remembers, and what its views are given. */
import type { Causes } from '../../format/causal.ts';
import type { Theme } from '../../logic/colour.ts';
import type { Brushes } from '../../logic/parallel.ts';
import type { Changed, Store } from '../../store.ts';
import { INITIAL_SHEETS } from '../timeline/state.ts';
import type { SheetsState } from '../timeline/state.ts';

export interface CausesState extends SheetsState {
	readonly chosen: number; /* the node whose causes and effects alone are shown; -1 none */
	readonly brushes: Brushes; /* by axis */
}

export const INITIAL_CAUSES: CausesState = { ...INITIAL_SHEETS, chosen: -1, brushes: new Map() };

export interface CausesApp {
	readonly causes: Causes;
	readonly store: Store<CausesState>;
	readonly theme: () => Theme;
	readonly announce: (text: string) => void;
}

export interface CausesView {
	readonly element: HTMLElement;
	/* `changed` is empty where all is to be shown anew. */
	update(state: CausesState, changed: Changed<CausesState>): void;
}
