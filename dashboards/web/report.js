/*
 * What a report does beside being read: the list of all events with filters, the values of one, lanes that can be zoomed
 * into, and the player of the session's terminal. The page is whole without it.
 *
 * What a session made stands in the page as data and gets into the document by textContent alone.
 */
(() => {
const {rows, kinds, classes, object, whole, parse, valuesOf, narrowed, line, wordsOf} = page;
const at = id => document.getElementById(id);
const make = (name, className, text) => {
	const element = document.createElement(name);
	if (className)
		element.className = className;
	if (text !== undefined)
		element.textContent = text;
	return element;
};
const button = (text, label, press) => {
	const element = make('button', '', text);
	element.type = 'button';
	element.onclick = press;
	if (label)
		element.setAttribute('aria-label', label);
	return element;
};
const seconds = us => (us / 1e6).toFixed(6);

/* ---- the list: only the rows in sight are in the document ---- */

const HEIGHT = 22, MOST = 1400000; /* rows that a browser can scroll over */
const list = at('list'), bar = make('div', 'bar'), input = make('input'), count = make('span', 'note');
const view = make('div', 'view'), sheet = make('div'), detail = make('div', 'detail');
const heard = {pick: () => {}, range: () => {}}; /* who else has to know */
let shown = [], picked = -1, range = null;

input.type = 'search';
input.placeholder = 'kind:exec argv~curl path:/etc/* net.dst:10.0.0.0/8 attack:T1059* not exit:0';
input.setAttribute('aria-label', 'filter');
input.spellcheck = false;
count.setAttribute('aria-live', 'polite');
view.tabIndex = 0;
view.setAttribute('role', 'listbox');
view.setAttribute('aria-label', 'events');
detail.hidden = true;
bar.append(input, button('clear', 'no filter', () => { range = null; heard.range(); input.value = ''; filter(); remember(); }), count);
view.append(sheet);
list.append(bar, view, detail);

function rowElement(n) {
	const row = rows[shown[n]], kind = kinds[row[3]];
	const element = make('div', 'row');
	element.append(make('span', 'dim', seconds(row[1]).padStart(13) + ' ' + String(row[2] === null ? '' : row[2]).padStart(7) + '  '),
		make('span', 'of-' + classes[row[3]], kind.padEnd(19)), ' ' + row[4]);
	element.setAttribute('role', 'option');
	element.classList.toggle('picked', n === picked);
	element.setAttribute('aria-selected', String(n === picked));
	element.classList.toggle('bad', /^(gap|coverage|unknown)$/.test(kind));
	element.style.top = n * HEIGHT + 'px';
	element.onclick = () => pick(n, true);
	return element;
}

function draw() {
	const first = Math.max(0, Math.floor(view.scrollTop / HEIGHT) - 5);
	const last = Math.min(shown.length, first + Math.ceil(view.clientHeight / HEIGHT) + 10);
	const fresh = [];
	for (let n = first; n < last; n++)
		fresh.push(rowElement(n));
	sheet.replaceChildren(...fresh);
}

/* The values of a record, each a way to its like. */
function showDetail(i) {
	const table = make('dl');
	for (const [name, text, term] of valuesOf(i)) {
		const value = make('dd');
		if (term === null) {
			value.textContent = text;
		} else {
			const all = button(text === '' ? '(empty)' : text.length > 2000 ? text.slice(0, 2000) + ' …' : text, '', () => narrow(term));
			all.className = 'value';
			all.title = 'only events with ' + term;
			value.append(all, button('not', 'only events without ' + term, () => narrow('not ' + term)));
		}
		table.append(make('dt', '', name), value);
	}
	const raw = make('details');
	raw.append(make('summary', '', 'the whole record'), make('pre', '', whole(i)));
	detail.replaceChildren(table, raw);
	detail.hidden = false;
}

function narrow(term) {
	input.value = narrowed(input.value, term);
	filter();
	remember();
	view.focus({preventScroll: true});
}

function pick(n, open) {
	if (!shown.length)
		return;
	picked = Math.max(0, Math.min(shown.length - 1, n));
	const top = picked * HEIGHT;
	if (top < view.scrollTop)
		view.scrollTop = top;
	else if (top + HEIGHT > view.scrollTop + view.clientHeight)
		view.scrollTop = top + HEIGHT - view.clientHeight;
	if (open || !detail.hidden) {
		showDetail(shown[picked]);
		remember();
	}
	heard.pick(shown[picked]);
	draw();
}

function remember() {
	const parts = new URLSearchParams();
	if (input.value)
		parts.set('filter', input.value);
	if (range)
		parts.set('time', range.map(us => Math.round(us)).join('-'));
	if (picked >= 0 && !detail.hidden)
		parts.set('seq', rows[shown[picked]][0]);
	const hash = '#' + (parts.toString() || 'events');
	if (hash !== location.hash)
		history.replaceState(null, '', hash);
}

function filter() {
	let wants;
	try {
		wants = parse(input.value);
		input.removeAttribute('aria-invalid');
	} catch (error) {
		if (error.position === undefined)
			throw error;
		input.setAttribute('aria-invalid', 'true');
		count.textContent = 'at character ' + (error.position + 1) + ': ' + error.message;
		return;
	}
	const begun = performance.now();
	shown = [];
	let gaps = 0;
	for (let i = 0; i < rows.length; i++) {
		if (range && (rows[i][1] < range[0] || rows[i][1] > range[1]))
			continue;
		if (wants(i))
			shown.push(i);
		else if (kinds[rows[i][3]] === 'gap' && ++gaps)
			shown.push(i); /* a filter hides no hole */
	}
	shown.length = Math.min(shown.length, MOST);
	count.textContent = shown.length - gaps + ' of ' + rows.length + (gaps ? ', and ' + gaps + ' gaps' : '');
	sheet.style.height = shown.length * HEIGHT + 'px';
	picked = -1;
	detail.hidden = true;
	view.scrollTop = 0;
	draw();
	list.dataset.ms = (performance.now() - begun).toFixed(1);
}

let waiting = 0;
input.oninput = () => {
	clearTimeout(waiting);
	waiting = setTimeout(() => { filter(); remember(); }, 60);
};
view.onscroll = draw;
new ResizeObserver(draw).observe(view);
document.addEventListener('keydown', event => {
	if (event.key === '/' && document.activeElement.tagName !== 'INPUT') {
		input.focus();
		input.select();
		event.preventDefault();
	} else if (event.key === 'Escape') {
		detail.hidden = true;
		view.focus({preventScroll: true});
		remember();
	}
});
view.addEventListener('keydown', event => {
	const far = Math.max(1, Math.floor(view.clientHeight / HEIGHT) - 1);
	const to = {ArrowDown: picked + 1, ArrowUp: picked - 1, PageDown: picked + far, PageUp: picked - far, Home: 0, End: shown.length - 1}[event.key];
	if (to !== undefined)
		pick(to, false);
	else if (event.key === 'Enter')
		pick(picked, true);
	else
		return;
	event.preventDefault();
});

/* ---- lanes: a part of the time, drawn from the records in it ---- */

const lanes = at('lanes');
if (lanes && rows.length) {
	const left = Number(lanes.dataset.left), width = Number(lanes.dataset.width), length = Number(lanes.dataset.ns) / 1000, high = Number(lanes.dataset.high);
	const svg = (name, attributes) => {
		const element = document.createElementNS('http://www.w3.org/2000/svg', name);
		for (const [key, value] of Object.entries(attributes))
			element.setAttribute(key, value);
		return element;
	};
	const names = lanes.dataset.lanes.split(' '), original = [...lanes.querySelectorAll('path.bars')], drawn = [];
	const [start, end] = lanes.querySelectorAll('text.time'), whole = [start.textContent, end.textContent];
	const mark = svg('rect', {class: 'range', y: 0, height: names.length * high, width: 0}), here = svg('path', {class: 'here', d: ''});
	const PARTS = 480;
	let span = [0, length], from = null;

	lanes.tabIndex = 0;
	lanes.append(mark, here);
	const x = us => left + (us - span[0]) / (span[1] - span[0]) * width;
	const isWhole = () => span[0] <= 0 && span[1] >= length;

	function counted() {
		const counts = names.map(() => new Uint32Array(PARTS));
		for (const row of rows) {
			if (row[1] < span[0] || row[1] >= span[1])
				continue;
			const part = Math.floor((row[1] - span[0]) / (span[1] - span[0]) * PARTS), kind = kinds[row[3]];
			const lane = names.indexOf(classes[row[3]]);
			if (lane >= 0)
				counts[lane][part]++;
			if (kind === 'gap' || kind === 'limit')
				counts[names.indexOf(kind + 's')][part]++;
		}
		return counts;
	}

	function bars(counts, top, name) {
		const most = counts.reduce((a, b) => Math.max(a, b), 0);
		let d = '';
		for (let i = 0; i < PARTS; i++) {
			if (!counts[i])
				continue;
			const h = 2 + Math.round((high - 6) * counts[i] / most);
			d += 'M' + (left + i * width / PARTS) + ' ' + (top + high - 2) + 'h' + width / PARTS + 'v-' + h + 'h-' + width / PARTS + 'z';
		}
		return svg('path', {class: 'bars ' + name, d});
	}

	function redraw() {
		drawn.splice(0).forEach(element => element.remove());
		original.forEach(element => { element.style.display = isWhole() ? '' : 'none'; });
		if (!isWhole())
			counted().forEach((counts, n) => drawn.push(bars(counts, n * high, names[n])));
		drawn.forEach(element => lanes.insertBefore(element, mark));
		start.textContent = isWhole() ? whole[0] : seconds(span[0]) + ' s';
		end.textContent = isWhole() ? whole[1] : seconds(span[1]) + ' s';
		place();
	}

	let place = () => {};
	heard.pick = i => {
		place = () => {
			const inside = rows[i][1] >= span[0] && rows[i][1] <= span[1];
			here.setAttribute('d', inside ? 'M' + x(rows[i][1]) + ' 0v' + names.length * high : '');
		};
		place();
	};
	function zoom(a, b) {
		const least = Math.max(1, length / 1e7);
		a = Math.max(0, a);
		b = Math.min(length, b);
		if (b - a < least)
			return;
		span = [a, b];
		range = isWhole() ? null : span;
		redraw();
		filter();
		remember();
	}
	heard.range = () => { span = range || [0, length]; redraw(); };

	const timeAt = event => {
		const box = lanes.getBoundingClientRect(), full = lanes.viewBox.baseVal, scale = Math.min(box.width / full.width, box.height / full.height);
		const part = ((event.clientX - box.left - (box.width - scale * full.width) / 2) / scale - left) / width;
		return span[0] + Math.max(0, Math.min(1, part)) * (span[1] - span[0]);
	};
	lanes.onpointerdown = event => { from = timeAt(event); lanes.setPointerCapture(event.pointerId); };
	lanes.onpointermove = event => {
		if (from === null)
			return;
		const to = timeAt(event);
		mark.setAttribute('x', Math.min(x(from), x(to)));
		mark.setAttribute('width', Math.abs(x(from) - x(to)));
	};
	lanes.onpointerup = event => {
		const to = timeAt(event), a = from;
		from = null;
		mark.setAttribute('width', 0);
		if (a !== null && Math.abs(x(a) - x(to)) > 4)
			zoom(Math.min(a, to), Math.max(a, to));
	};
	lanes.ondblclick = () => zoom(0, length);
	lanes.addEventListener('wheel', event => {
		if (!event.ctrlKey && document.activeElement !== lanes)
			return; /* a page that is scrolled by stays as it is */
		const middle = timeAt(event), factor = event.deltaY > 0 ? 1.5 : 1 / 1.5;
		event.preventDefault();
		zoom(middle - (middle - span[0]) * factor, middle + (span[1] - middle) * factor);
	}, {passive: false});
	lanes.addEventListener('keydown', event => {
		const size = span[1] - span[0], middle = (span[0] + span[1]) / 2;
		const shift = by => { const a = Math.max(0, Math.min(length - size, span[0] + by)); zoom(a, a + size); };
		const does = {'+': () => zoom(middle - size / 4, middle + size / 4), '=': () => zoom(middle - size / 4, middle + size / 4),
			'-': () => zoom(middle - size, middle + size), '0': () => zoom(0, length), Escape: () => zoom(0, length),
			ArrowLeft: () => shift(-size / 4), ArrowRight: () => shift(size / 4)}[event.key];
		if (!does || event.ctrlKey)
			return;
		does();
		event.preventDefault();
		event.stopPropagation();
	});
	at('lanes-note').textContent = 'Each lane is drawn to its own height. Drag to zoom, double-click for all; with the keyboard: + and − zoom, arrows move, 0 for all. The list below shows the part that is drawn.';
}

/* ---- the player of the session's terminal ---- */

const frames = [];
for (let i = 0; i < rows.length; i++)
	if (/^(output|input|exec\.start)$/.test(kinds[rows[i][3]]))
		frames.push(i);

if (frames.some(i => kinds[rows[i][3]] === 'output')) {
	const KEEP = 200, IDLE = 2e6; /* a copy every so many frames; a pause that is longer is played as one of so long */
	const section = make('section'), screen = make('pre', 'screen'), controls = make('div', 'bar');
	const slider = make('input'), speed = make('select'), clock = make('span', 'note');
	const play = button('play', 'play or pause', () => toggle());
	const last = rows[frames[frames.length - 1]][1], kept = [];
	let terminal = new Terminal(), decoders = {}, position = 0, playing = 0, now = 0, before = 0, drawing = false;

	section.id = 'terminal';
	section.append(make('h2', '', 'Terminal'), screen, controls);
	slider.type = 'range';
	slider.min = 0;
	slider.max = last;
	slider.step = 1;
	slider.setAttribute('aria-label', 'time');
	speed.setAttribute('aria-label', 'speed');
	for (const times of [0.25, 0.5, 1, 2, 4, 16, 64])
		speed.append(new Option(times + '×', times, times === 1, times === 1));
	screen.tabIndex = 0;
	screen.setAttribute('aria-label', 'what the terminal showed; space plays, arrows go five seconds');
	controls.append(play, slider, speed, clock);
	at('timeline').after(section);
	const link = make('a', '', 'Terminal');
	link.href = '#terminal';
	document.querySelector('nav a[href="#tree"]').before(link);

	function bytesOf(base64) {
		return Uint8Array.from(atob(base64), c => c.charCodeAt(0));
	}

	function take(i) {
		const event = object(i);
		if (event.columns && event.rows)
			terminal.resize(Number(event.columns), Number(event.rows));
		if (event.kind !== 'output' || event.data === undefined)
			return;
		const stream = event.stream || '';
		decoders[stream] = decoders[stream] || new TextDecoder();
		const text = decoders[stream].decode(event.data_b64 ? bytesOf(event.data_b64) : new TextEncoder().encode(event.data), {stream: true});
		terminal.write(stream === 'tty' ? text : text.replace(/\n/g, '\r\n'));
	}

	/* Bring it to the last frame at or before a time. */
	function seek(us) {
		let low = 0, high = frames.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			rows[frames[middle]][1] <= us ? low = middle + 1 : high = middle;
		}
		if (low < position) {
			const copy = kept[Math.floor(low / KEEP)];
			terminal = copy ? copy.copy() : new Terminal();
			position = copy ? Math.floor(low / KEEP) * KEEP : 0;
			decoders = {};
		}
		while (position < low) {
			if (position % KEEP === 0 && !kept[position / KEEP])
				kept[position / KEEP] = terminal.copy();
			take(frames[position++]);
		}
		now = us;
		if (!drawing)
			requestAnimationFrame(show);
		drawing = true;
	}

	function show() {
		drawing = false;
		screen.replaceChildren(...terminal.lines().flatMap(pieces => [...pieces.map(([text, style]) => style ? make('span', style, text) : text), '\n']));
		slider.value = now;
		slider.setAttribute('aria-valuetext', seconds(now) + ' seconds');
		clock.textContent = seconds(now) + ' of ' + seconds(last) + ' s';
	}

	function tick(time) {
		if (!playing)
			return;
		let to = now + (time - before) * 1000 * Number(speed.value);
		before = time;
		if (position < frames.length && rows[frames[position]][1] - to > IDLE)
			to = rows[frames[position]][1] - IDLE;
		seek(Math.min(to, last));
		if (now >= last)
			toggle();
		else
			playing = requestAnimationFrame(tick);
	}

	function toggle() {
		if (playing) {
			cancelAnimationFrame(playing);
			playing = 0;
			const n = shown.findIndex(i => rows[i][1] >= now);
			if (n >= 0)
				pick(n, false);
		} else {
			if (now >= last)
				seek(0);
			before = performance.now();
			playing = requestAnimationFrame(tick);
		}
		play.textContent = playing ? 'pause' : 'play';
	}

	slider.oninput = () => seek(Number(slider.value));
	screen.addEventListener('keydown', event => {
		const does = {' ': toggle, ArrowLeft: () => seek(Math.max(0, now - 5e6)), ArrowRight: () => seek(Math.min(last, now + 5e6)),
			Home: () => seek(0), End: () => seek(last)}[event.key];
		if (!does)
			return;
		does();
		event.preventDefault();
	});
	const others = heard.pick;
	heard.pick = i => {
		others(i);
		if (!playing)
			seek(rows[i][1]);
	};
	seek(last);
}

/* ---- tables ---- */

for (const table of document.querySelectorAll('table')) {
	const body = table.tBodies[0];
	if (body.rows.length < 8)
		continue;
	const box = make('input');
	const above = make('div', 'bar');
	box.type = 'search';
	box.placeholder = 'rows that contain';
	box.setAttribute('aria-label', 'filter of the table');
	box.oninput = () => {
		const text = box.value.toLowerCase();
		for (const row of body.rows)
			row.hidden = !row.textContent.toLowerCase().includes(text);
	};
	above.append(box);
	table.before(above);
}

/* ---- records are read while nobody waits, so that the first filter by a word is fast ---- */

let ready = 0;

function readAhead(deadline) {
	while (ready < rows.length && deadline.timeRemaining() > 2) {
		const end = Math.min(rows.length, ready + 200);
		while (ready < end)
			wordsOf(ready++);
	}
	if (ready < rows.length)
		requestIdleCallback(readAhead);
}

if (window.requestIdleCallback)
	requestIdleCallback(readAhead);

/* ---- links: from a technique to its events, and to a filter and a record ---- */

for (const link of document.querySelectorAll('a[data-filter]')) {
	link.onclick = () => {
		input.value = link.dataset.filter;
		filter();
		remember();
		view.focus({preventScroll: true});
	};
}

function goThere() {
	const asked = new URLSearchParams(location.hash.slice(1));
	const time = /^([0-9]+)-([0-9]+)$/.exec(asked.get('time') || '');
	if (time) {
		range = [Number(time[1]), Number(time[2])];
		heard.range();
	}
	input.value = asked.get('filter') || '';
	filter();
	if (!asked.has('seq'))
		return;
	const n = shown.findIndex(i => rows[i][0] === Number(asked.get('seq')));
	if (n >= 0)
		pick(n, true);
	at('events').scrollIntoView();
}

list.append(make('p', 'note', 'Keys: / filter, arrows, Page Up and Down, Home and End, Enter for the values of a record, Tab to them, Enter on one to filter by it, Escape.'));
goThere();
})();
