/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the page that the data is for, or says why it cannot be shown. */
import { decodeProfile, openPayload, unpack } from './format/decode.ts';
import { decodeCauses } from './format/causal.ts';
import { decodeTimeline } from './format/timeline.ts';
import { createCausesPage } from './views/causal/page.ts';
import type { CausesPage } from './views/causal/page.ts';
import { createPage } from './views/page.ts';
import type { Page } from './views/page.ts';
import { createTimelinePage } from './views/timeline/page.ts';
import type { TimelinePage } from './views/timeline/page.ts';

declare global {
	interface Window {
		/* The running page, for tests and for the browser's console. */
		sonde?: Page | TimelinePage | CausesPage;
	}
}

function fail(error: unknown): void {
	const note = document.createElement('p');
	note.className = 'failure';
	note.textContent = `This report cannot be shown: ${error instanceof Error ? error.message : String(error)}.`;
	document.getElementById('app')!.replaceChildren(note);
}

async function start(): Promise<void> {
	performance.mark('sonde:start');
	const data = document.getElementById('sonde-data')!;
	const bytes = await unpack(data.textContent ?? '', data.dataset['encoding'] ?? '');
	data.textContent = '';
	performance.mark('sonde:unpacked');
	const payload = openPayload(bytes);
	const into = document.getElementById('app')!;
	if (payload.header.page === 'timeline') window.sonde = createTimelinePage(decodeTimeline(payload), into);
	else if (payload.header.page === 'causal') window.sonde = createCausesPage(decodeCauses(payload), into);
	else window.sonde = createPage(decodeProfile(payload), into);
	requestAnimationFrame(() => {
		performance.mark('sonde:shown');
		performance.measure('sonde:load', 'sonde:start', 'sonde:shown');
	});
}

start().catch(fail);
