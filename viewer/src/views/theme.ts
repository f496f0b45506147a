/* SPDX-License-Identifier: Apache-2.0 */
/* Light or dark: what the reader chose, else as the system is; on paper always light. */
import type { Theme } from '../logic/colour.ts';
import type { Common, Store } from '../store.ts';

const THEMES = ['auto', 'light', 'dark'] as const;

export function nextTheme<S extends Common>(store: Store<S>, announce: (text: string) => void): void {
	const theme = THEMES[(THEMES.indexOf(store.state.theme) + 1) % THEMES.length]!;
	store.update({ theme } as Partial<S>);
	announce(`Theme: ${theme}`);
}

/* Sets the document's theme from now on, with an event "sonde-theme" where the system or the medium
 * changes it. Returns what tells the theme in force. */
export function keepTheme<S extends Common>(store: Store<S>): () => Theme {
	const dark = matchMedia('(prefers-color-scheme: dark)');
	let printing = false;
	const theme = (): Theme => {
		if (printing) return 'light';
		return store.state.theme === 'auto' ? (dark.matches ? 'dark' : 'light') : store.state.theme;
	};
	const apply = (): void => {
		document.documentElement.dataset['theme'] = theme();
	};
	const changed = (): void => {
		apply();
		dispatchEvent(new Event('sonde-theme'));
	};
	dark.addEventListener('change', changed);
	for (const [event, value] of [['beforeprint', true], ['afterprint', false]] as const) {
		addEventListener(event, () => {
			printing = value;
			changed();
		});
	}
	apply();
	store.subscribe((_state, names) => {
		if (names.has('theme')) apply();
	});
	return theme;
}
