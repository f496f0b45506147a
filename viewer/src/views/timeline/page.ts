/* SPDX-License-Identifier: Apache-2.0 */
/* Composes the page of `sonde timeline -o PAGE.html` and ties it to the store and the keyboard. */
import type { Timeline } from '../../format/timeline.ts';
import { baseName } from '../../logic/label.ts';
import { partsOf } from '../../logic/sheet.ts';
import { formatTime } from '../../logic/units.ts';
import { Store } from '../../store.ts';
import type { Changed } from '../../store.ts';
import { h } from '../dom.ts';
import { headerBar } from '../header.ts';
import { helpDialog } from '../help.ts';
import { keepTheme, nextTheme } from '../theme.ts';
import { createSheets } from './sheets.ts';
import type { Sheets } from './sheets.ts';
import { INITIAL_TIMELINE } from './state.ts';
import type { TimelineApp, TimelineState, TimelineView } from './state.ts';
import { Tracks } from './tracks.ts';

const KEYS: readonly (readonly [string, string])[] = [
	['/', 'search the tables'],
	['n, N', 'next, previous table'],
	['← → ↑ ↓', 'in the timeline: from box to box; in a curve: along it'],
	['Enter', 'in the timeline: find the rows with the name of the box'],
	['Esc', 'close what is open, end the search'],
	['t', 'theme'],
	['?', 'this help'],
];

const READING: readonly string[] = [
	'The sentences are the answer in short. The tables and curves below are what they rest on; docs and sonde-timeline(1) say what the words mean.',
	'In the timeline each row is a lane of a stream or thread; time runs to the right. A box is paler where its events take only part of the time that is drawn as one column.',
	'The head of a column sorts the table: once by it, twice the other way round, three times as it was. A bar behind a share is as long as the share of the cell.',
];

export interface TimelinePage {
	readonly store: Store<TimelineState>;
	readonly tracks: Tracks;
	/* Until the tables are there, which come after the first picture. */
	readonly ready: Promise<void>;
}

function lead(sentences: readonly string[]): HTMLElement | null {
	if (sentences.length === 0) return null;
	return h('section', { class: 'lead', 'aria-label': 'In short' }, ...sentences.map((sentence) => {
		const [what, answer] = partsOf(sentence);
		return h('p', {}, what && h('b', {}, what), answer);
	}));
}

function listenToKeys(app: TimelineApp, tracks: Tracks, sheets: Sheets): void {
	const { store } = app;
	const bound: Record<string, () => void> = {
		'/': () => sheets.search.select(),
		'?': () => store.update({ help: true }),
		t: () => nextTheme(store, app.announce),
		n: () => sheets.step(1),
		N: () => sheets.step(-1),
	};
	const onTracks = (key: string): boolean => {
		const { selected } = store.state;
		if (key.startsWith('Arrow')) tracks.arrow(key);
		else if (key === 'Enter' && selected) store.update({ query: tracks.nameAt(selected) });
		else return false;
		return true;
	};
	document.addEventListener('keydown', (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
		const target = event.target as HTMLElement;
		if (event.key === 'Escape') {
			if (target === sheets.search) sheets.search.blur();
			store.update(store.state.help ? { help: false } : { query: '', selected: null });
		} else if (target.matches('input') || store.state.help) return;
		else if (target.id === 'tracks' && onTracks(event.key)) { /* done */ }
		else if (bound[event.key]) bound[event.key]!();
		else return;
		event.preventDefault();
	});
}

export function createTimelinePage(timeline: Timeline, into: HTMLElement): TimelinePage {
	const store = new Store(INITIAL_TIMELINE);
	const spoken = h('div', { class: 'spoken', 'aria-live': 'polite' });
	const app: TimelineApp = {
		timeline, store, theme: keepTheme(store),
		announce: (text) => {
			spoken.textContent = text;
		},
	};
	const { picture } = timeline;
	const facts: [string, string][] = [['Duration', formatTime(picture.length_ns)], ['Drawn', `${picture.tracks.length} of ${picture.tracks.length + picture.left_out} rows`]];
	const program = baseName(timeline.program ?? '');
	const header = headerBar(store, app.announce, {
		madeBy: 'sonde timeline', name: timeline.title, facts, badges: [],
		beside: program && program !== timeline.title ? h('code', { class: 'command', title: timeline.program }, program) : null,
	});
	const tracks = new Tracks(app);
	const help = helpDialog(store, READING, KEYS);
	const main = h('main', {}, lead(timeline.sentences), tracks.element);
	const answers = h('div', { class: 'answers' }, h('div', { class: 'contents' }), main);
	document.body.classList.add('flows');
	into.replaceChildren(header.element, answers, help.element, tracks.note.element, spoken);
	const views: Pick<TimelineView, 'update'>[] = [header, tracks, help];
	const show = (state: TimelineState, changed: Changed<TimelineState>): void => {
		for (const view of views) view.update(state, changed);
	};
	show(store.state, new Set());
	store.subscribe(show);
	addEventListener('sonde-theme', () => tracks.update(store.state, new Set()));
	const showSheets = (): void => {
		const sheets = createSheets(app);
		answers.firstElementChild!.replaceWith(sheets.contents);
		main.append(sheets.element);
		views.push(sheets);
		sheets.update(store.state, new Set());
		listenToKeys(app, tracks, sheets);
		/* The place that the address names was not there yet when the browser looked for it. */
		if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
	};
	const ready = new Promise<void>((done) => {
		requestAnimationFrame(() => setTimeout(() => {
			showSheets();
			done();
		}));
	});
	return { store, tracks, ready };
}
