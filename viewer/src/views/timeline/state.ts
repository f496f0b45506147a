/* SPDX-License-Identifier: Apache-2.0 */
/* What a timeline's page remembers, and what its views are given. */
import type { Timeline } from '../../format/timeline.ts';
import type { Theme } from '../../logic/colour.ts';
import type { Sort } from '../../logic/sheet.ts';
import type { BoxAt } from '../../logic/tracks.ts';
import type { Changed, Common, Store } from '../../store.ts';

/* Of any page with sheets. */
export interface SheetsState extends Common {
	readonly query: string; /* rows with it alone are shown */
	readonly sorts: ReadonlyMap<string, Sort>; /* by sheet; as they came without */
	readonly whole: ReadonlySet<string>; /* sheets of which all rows are shown */
	readonly wide: ReadonlySet<string>; /* and those of which all columns are */
}

export const INITIAL_SHEETS: SheetsState = { theme: 'auto', help: false, query: '', sorts: new Map(), whole: new Set(), wide: new Set() };

export interface SheetsApp {
	readonly timeline: Pick<Timeline, 'sheets' | 'curves_left_out'>;
	readonly store: { readonly state: SheetsState; update(patch: Partial<SheetsState>): void };
}

export interface TimelineState extends SheetsState {
	readonly selected: BoxAt | null;
}

export const INITIAL_TIMELINE: TimelineState = { ...INITIAL_SHEETS, selected: null };

export interface TimelineApp {
	readonly timeline: Timeline;
	readonly store: Store<TimelineState>;
	readonly theme: () => Theme;
	readonly announce: (text: string) => void;
}

export interface TimelineView {
	readonly element: HTMLElement;
	/* `changed` is empty where all is to be shown anew. */
	update(state: TimelineState, changed: Changed<TimelineState>): void;
}
